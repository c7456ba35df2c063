"""Runs a command, and ends it with all its children when it takes too long.

    python3 environment/limit.py MINUTES COMMAND...
"""

import os
import signal
import subprocess
import sys


def main():
    minutes, command = float(sys.argv[1]), sys.argv[2:]
    child, received = None, None

    def end(how):
        try:
            os.killpg(child.pid, how)
        except ProcessLookupError:
            pass

    def receive(number, _):
        nonlocal received
        received = number
        if child:
            end(number)

    for s in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(s) != signal.SIG_IGN:  # as nohup sets it
            signal.signal(s, receive)
    child = subprocess.Popen(command, start_new_session=True)
    if received:  # while the child was made
        end(received)
    try:
        status = child.wait(minutes * 60)
    except subprocess.TimeoutExpired:
        end(signal.SIGKILL)
        sys.exit(f"stopped after its limit of {minutes:g} minutes: {' '.join(command)}")
    sys.exit(status if status >= 0 else 128 - status)


if __name__ == "__main__":
    main()

"""Stands between Jupyter and GoNB, and adds a line to errors that newcomers meet.

    python relay.py CONNECTION_FILE KERNELS_FILE

Jupyter talks to the relay by the connection file that it made, and the kernel, which
is the relay's parent, by KERNELS_FILE, which the relay writes. Messages are passed on
until the kernel has ended. Two things happen meanwhile:

- The error of a cell that does not compile gets a hint below it, where HINTS has one:
  what Go says is right, and says nothing of cells.
- Nothing is passed on before what the kernel broadcasts arrives: what is said before
  somebody listens is lost.

When the kernel has ended, so does a cell that is still running: killed, the kernel
cannot see to that itself.
"""

import hashlib
import hmac
import json
import os
import pathlib
import re
import signal
import socket
import sys
import threading
import time
import uuid

import zmq

HINTS = [
    (re.compile(r"expected declaration, found|non-declaration statement outside function body"),
     "Hint: statements stand below a line with %% and declarations above it. Is that line missing in this cell?"),
    (re.compile(r"\bundefined: (\w+)(?![\w.])"),
     "Hint: each cell is a program of its own, and what it sets below its %% ends with it. "
     "Declare {0} above a %%, as a function for example, and run that cell first."),
]
CHANNELS = ["shell", "control", "stdin"]
MARK, SELF = b"<IDS|MSG>", b"relay"


def hint(message):
    """The line for a message of the compiler, or None."""
    for pattern, line in HINTS:
        if m := pattern.search(message):
            return line.format(*m.groups())
    return None


def main():
    kernel = os.getppid()
    outer = json.loads(pathlib.Path(sys.argv[1]).read_text())
    context = zmq.Context()
    towards = {c: opened(context, zmq.ROUTER, outer, c) for c in CHANNELS}
    broadcast, heart = opened(context, zmq.PUB, outer, "iopub"), opened(context, zmq.REP, outer, "hb")
    threading.Thread(target=beat, args=(heart,), daemon=True).start()

    inner = dict(outer, transport="tcp", ip="127.0.0.1")
    taken = [socket.create_server(("127.0.0.1", 0)) for _ in range(5)]
    for channel, s in zip([*CHANNELS, "iopub", "hb"], taken):
        inner[channel + "_port"] = s.getsockname()[1]
        s.close()
    path = pathlib.Path(sys.argv[2])
    beside = path.with_suffix(".tmp")
    beside.touch(mode=0o600)
    beside.write_text(json.dumps(inner))
    beside.rename(path)  # from here on the kernel starts

    kernels = {c: opened(context, zmq.DEALER, inner, c) for c in CHANNELS}
    heard = opened(context, zmq.SUB, inner, "iopub")
    key = outer["key"].encode()
    try:
        awaken(key, kernels["shell"], heard, kernel)
        relay(key, towards, kernels, broadcast, heard, kernel)
    except BaseException:
        # Without the relay the kernel cannot be reached any more.
        if os.getppid() == kernel:
            os.kill(kernel, signal.SIGTERM)
        raise
    finally:
        path.unlink(missing_ok=True)
        path.parent.rmdir()
        if os.getpgrp() == kernel:  # as Jupyter starts it: the rest of the group are its cells
            os.killpg(kernel, signal.SIGKILL)


def opened(context, kind, connection, channel):
    s = context.socket(kind)
    s.linger = 1000
    s.sndhwm = s.rcvhwm = 0
    at = f'{connection["transport"]}://{connection["ip"]}{"-" if connection["transport"] == "ipc" else ":"}{connection[channel + "_port"]}'
    if kind in (zmq.ROUTER, zmq.PUB, zmq.REP):
        s.bind(at)
        return s
    if kind == zmq.DEALER:
        s.identity = SELF  # the same on all channels: the kernel asks for input by it
    else:
        s.subscribe(b"")
    s.reconnect_ivl = 10  # milliseconds: the kernel is just about to listen
    s.connect(at)
    return s


def beat(heart):
    while True:
        heart.send(heart.recv())


def signed(key, parts):
    """The four parts of a message behind the mark and their signature."""
    digest = hmac.new(key, b"".join(parts), hashlib.sha256).hexdigest().encode() if key else b""
    return [MARK, digest, *parts]


def awaken(key, shell, heard, kernel):
    """Asks the kernel for its state until an answer is broadcast."""
    while os.getppid() == kernel:
        header = {"msg_id": uuid.uuid4().hex, "msg_type": "kernel_info_request", "session": SELF.decode(),
                  "username": "", "date": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()), "version": "5.3"}
        shell.send_multipart([SELF, *signed(key, [json.dumps(header).encode(), b"{}", b"{}", b"{}"])])
        if heard.poll(200):
            return


def relay(key, towards, kernels, broadcast, heard, kernel):
    poller = zmq.Poller()
    for s in [*towards.values(), *kernels.values(), heard]:
        poller.register(s, zmq.POLLIN)
    to = {towards[c]: kernels[c] for c in CHANNELS} | {kernels[c]: towards[c] for c in CHANNELS}
    while os.getppid() == kernel:
        for s, _ in poller.poll(1000):
            parts = s.recv_multipart()
            if s is heard:
                broadcast.send_multipart(hinted(key, parts))
            elif parts[0] != SELF:  # the answers to awaken
                to[s].send_multipart(parts)


def hinted(key, parts):
    """The broadcast, with a hint if it is an error that has one."""
    at = parts.index(MARK) if MARK in parts else len(parts)
    if len(parts) < at + 6 or json.loads(parts[at + 2]).get("msg_type") != "error":
        return parts
    content = json.loads(parts[at + 5])
    line = hint(content.get("evalue", ""))
    if line is None:
        return parts
    content["evalue"] = content["evalue"].rstrip("\n") + "\n" + line
    content["traceback"] = [*content["traceback"], line]
    return [*parts[:at], *signed(key, [*parts[at + 2:at + 5], json.dumps(content).encode()]), *parts[at + 6:]]


if __name__ == "__main__":
    main()

"""Passes messages between Jupyter and GoNB, and adds hints to common errors.

    python relay.py CONNECTION_FILE KERNELS_FILE

Jupyter connects to the relay through CONNECTION_FILE. The kernel, which is the parent of
the relay, connects through KERNELS_FILE, which the relay writes. The relay passes messages
on until the kernel ends, and does three more things:

- If a cell does not compile and HINTS has a hint for the error, it adds the hint. The
  message of Go is right, but does not mention cells.
- It passes nothing on before the first broadcast of the kernel arrives, because messages
  that are sent before both sides listen are lost.
- When the kernel has ended, it ends a cell that is still running. A kernel that was
  killed cannot do that itself.
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
     "Hint: statements belong below a line with %%, declarations above it. Is this line missing?"),
    (re.compile(r"\bundefined: (\w+)(?![\w.])"),
     "Hint: each cell is a program of its own, and values from below its %% end with it. "
     "Declare {0} above the %% of a cell, for example as a function, and run that cell first."),
]
CHANNELS = ["shell", "control", "stdin"]
MARK, SELF = b"<IDS|MSG>", b"relay"


def hint(message):
    """Returns the hint for a message of the compiler, or None."""
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
        # Without the relay nothing can reach the kernel.
        if os.getppid() == kernel:
            os.kill(kernel, signal.SIGTERM)
        raise
    finally:
        path.unlink(missing_ok=True)
        path.parent.rmdir()
        if os.getpgrp() == kernel:  # as started by Jupyter: the other processes of the group are cells
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
        s.identity = SELF  # the same on all channels: the kernel uses it to ask for input
    else:
        s.subscribe(b"")
    s.reconnect_ivl = 10  # milliseconds: the kernel will listen soon
    s.connect(at)
    return s


def beat(heart):
    while True:
        heart.send(heart.recv())


def signed(key, parts):
    """Returns a message: the mark, the signature, and its four parts."""
    digest = hmac.new(key, b"".join(parts), hashlib.sha256).hexdigest().encode() if key else b""
    return [MARK, digest, *parts]


def awaken(key, shell, heard, kernel):
    """Asks the kernel for its state until it broadcasts an answer."""
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
    """Returns the broadcast message, with a hint if it is an error for which there is one."""
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

"""Passes messages between Jupyter and GoNB, adds hints to common errors, and helps to complete names.

    python relay.py CONNECTION_FILE KERNELS_FILE

Jupyter connects to the relay through CONNECTION_FILE. The kernel, which is the parent of
the relay, connects through KERNELS_FILE, which the relay writes. The relay passes messages
on until the kernel ends, and does some more things:

- If a cell does not compile and HINTS has a hint for the error, it adds the hint. The
  message of Go is right, but does not mention cells.
- If a name shall be completed or explained, it adds the brackets that are still missing,
  because gopls says little about a file that it cannot parse. It removes names that gopls
  finds several times, in a package and with its tests, and those of tests.
- If a cell prints without end, it drops what would fill the memory and the page.
- When the kernel is idle for the first time, for three seconds, it asks for a completion,
  because gopls needs seconds for the first answer, and cells wait for it.
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
     "Declare {0} above the %% of a cell, for example as a function, and run that cell first. "
     "If {0} is a package that no cell imports, a name that is taken from it does not exist."),
    (re.compile(r"assignment mismatch: 1 variable but (\S+) returns 2 values|multiple-value (\S+?)\(.* \(value of type \(.*error\)\)"),
     "Hint: {0} returns two values. If the second is an error, nb.Must({0}(…)) is the first alone, and shows the error if there is one."),
]
CHANNELS = ["shell", "control", "stdin"]

MOST = 1_000_000  # characters that are shown of what a cell prints to stdout, and of stderr

# What only the tests of a package can use.
TESTS = re.compile("(Test|Benchmark|Fuzz|Example)[A-Z_]")

# Strings, characters, comments and brackets of Go.
TOKEN = re.compile(r"""//[^\n]*|/\*.*?(?:\*/|\Z)|"(?:\\.|[^"\\\n])*"?|`[^`]*`?|'(?:\\.|[^'\\\n])*'?|[(){}\[\]]""", re.S)
CLOSING = {"(": ")", "[": "]", "{": "}"}

# What most cells of the course import.
FIRST = """import (
	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/adams"
	"github.com/probode/probode/pkg/probode/problems"
	"github.com/probode/probode/pkg/viz/nb"
	"github.com/probode/probode/pkg/viz/plots"
)
%%
nb.Show(plots.Bands(nb.Must(probode.Integrate(nb.Context(), problems.Logistic(), adams.Moulton{}, 1, probode.Settings{}))))
nb."""
MARK, SELF = b"<IDS|MSG>", b"relay"


def hint(message):
    """Returns the hint for a message of the compiler, or None."""
    for pattern, line in HINTS:
        if m := pattern.search(message):
            return line.format(*filter(None, m.groups()))
    return None


def closed(code, cursor):
    """Returns the code with the brackets that are missing, those that are open at the cursor
    behind the cursor, and the place of the call or the value in which the cursor is."""
    before, behind, late = [], [], []
    for m in TOKEN.finditer(code):
        stack = before if m.start() < cursor else behind
        if m[0] in CLOSING:
            stack.append(m)
        elif m[0] in CLOSING.values():
            if stack:
                stack.pop()
            else:
                late.append(m[0])
    missing, around = "", cursor
    for m in before:
        if re.match(r"\w", code[m.start() - 1:m.start()]):
            around = m.start()
    for m in reversed(before):
        if late and late[0] == CLOSING[m[0]]:
            late.pop(0)
        else:
            missing += CLOSING[m[0]]
    return code[:cursor] + missing + code[cursor:] + "".join(CLOSING[m[0]] for m in reversed(behind)), around


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
        ask(key, shell, "kernel_info_request", {})
        if heard.poll(200):
            return


def ask(key, shell, kind, content):
    header = {"msg_id": uuid.uuid4().hex, "msg_type": kind, "session": SELF.decode(),
              "username": "", "date": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()), "version": "5.3"}
    shell.send_multipart([SELF, *signed(key, [json.dumps(header).encode(), b"{}", b"{}", json.dumps(content).encode()])])


def relay(key, towards, kernels, broadcast, heard, kernel):
    poller = zmq.Poller()
    for s in [*towards.values(), *kernels.values(), heard]:
        poller.register(s, zmq.POLLIN)
    to = {towards[c]: kernels[c] for c in CHANNELS} | {kernels[c]: towards[c] for c in CHANNELS}
    seen, warm = {"state": "idle"}, False
    while os.getppid() == kernel:
        ready = poller.poll(1000 if warm else 3000)
        if not ready and not warm and seen["state"] == "idle":
            warm = True
            ask(key, kernels["shell"], "complete_request", {"code": FIRST, "cursor_pos": len(FIRST)})
        for s, _ in ready:
            parts = s.recv_multipart()
            # The kernel answers the relay's own questions, too.
            if (s is heard or parts[0] != SELF) and (parts := changed(key, parts, seen)):
                (broadcast if s is heard else to[s]).send_multipart(parts)


def changed(key, parts, seen):
    """Returns the message with the changes that CHANGES has for its kind, or None if it is not passed on."""
    at = parts.index(MARK) if MARK in parts else len(parts)
    change = CHANGES.get(json.loads(parts[at + 2]).get("msg_type")) if len(parts) >= at + 6 else None
    if change is None:
        return parts
    content = change(json.loads(parts[at + 5]), json.loads(parts[at + 3]).get("msg_id"), seen)
    return content and [*parts[:at], *signed(key, [*parts[at + 2:at + 5], json.dumps(content).encode()]), *parts[at + 6:]]


def hinted(content, *_):
    if line := hint(content.get("evalue", "")):
        content["evalue"] = content["evalue"].rstrip("\n") + "\n" + line
        content["traceback"].append(line)
    return content


def completed(content, *_):
    return dict(content, code=closed(content["code"], content["cursor_pos"])[0])


def explained(content, *_):
    code, cursor = content["code"], content["cursor_pos"]
    whole, around = closed(code, cursor)
    return dict(content, code=whole, cursor_pos=cursor if re.search(r"\w", code[max(cursor - 1, 0):cursor + 1]) else around)


def distinct(content, *_):
    return dict(content, matches=[name for name in dict.fromkeys(content["matches"]) if not TESTS.match(name)])


def noted(content, _, seen):
    seen["state"] = content["execution_state"]
    return content


def shown(content, cell, seen):
    """Returns the part of the text that is shown; seen has the cell and the length so far of each stream."""
    was, length = seen.get(content["name"], (cell, 0))
    length = length if was == cell else 0
    seen[content["name"]] = cell, length + len(content["text"])
    if length > MOST:
        return None
    if length + len(content["text"]) > MOST:
        content["text"] = content["text"][:MOST - length] + f"\nThe cell prints more than {MOST} characters: the rest is not shown.\n"
    return content


CHANGES = {"error": hinted, "complete_request": completed, "inspect_request": explained, "complete_reply": distinct, "stream": shown, "status": noted}


if __name__ == "__main__":
    main()

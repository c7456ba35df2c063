"""Mends the copy of GoNB in a folder. environment/lab builds the kernel from this copy.

    python mend.py FOLDER

Each of the mended places is there once in the version that tools.mod names. If one is not,
nothing is built: look whether the new version of GoNB needs it.
"""

import pathlib
import sys

MENDS = [
    # A message that contains "a: b: main.go:7" ended the kernel: its third part is no column.
    ("goexec/gonberror.go", 'strings.Repeat(" ", col-1)', 'strings.Repeat(" ", max(col-1, 0))'),
    # With -raw_error nobody reads the lines that are collected here. A long line without an
    # end would take a time that is quadratic in its length.
    ("goexec/execcode.go", "\tw.lineBuffer.Write(p)\n", "\tif w.state.rawError {\n\t\treturn n, nil\n\t}\n\tw.lineBuffer.Write(p)\n"),
    # A place in the generated file becomes the line of the cell; the path of the file helps nobody.
    ("goexec/execcode.go", "bytes.Join([][]byte{cellText, match}, nil)", "bytes.TrimSpace(cellText)"),
    # A cell that ends its computation and shows what it has may need a while on a busy
    # machine. A second interrupt reaches the cell, too; it ends a cell that does not.
    ("jpyexec/jpyexec.go", "WaitToKill = 5 * time.Second", "WaitToKill = 2 * time.Minute"),
    ("jpyexec/jpyexec.go", "\t\texec.Msg.Kernel().UnsubscribeInterrupt(interruptId)\n", ""),
    # An interrupt while a cell is compiled was lost.
    ("kernel/kernel.go", "func (k *Kernel) CallInterruptSubscribers() {\n", "func (k *Kernel) CallInterruptSubscribers() {\n\tk.Interrupted.Store(true)\n"),
    ("goexec/execcode.go", "\t// Execute compiled code.\n",
     '\tif s.Kernel != nil && s.Kernel.Interrupted.Load() {\n\t\treturn errors.New("interrupted before the cell ran")\n\t}\n'),
    # The first completion waited twelve seconds for gopls, and gave up after eight more.
    ("goexec/goplsclient/exec.go", "\t\t\tcase <-time.After(ConnectTimeout):", "\t\t\tcase <-time.After(50 * time.Millisecond):"),
    ("goexec/goplsclient/exec.go", "\t\t<-time.After(ConnectTimeout)", "\t\t<-time.After(50 * time.Millisecond)"),
    ("goexec/goplsclient/conn.go", "CommunicationTimeout = 8000 *", "CommunicationTimeout = 60000 *"),
    # A kernel that was killed left its gopls behind.
    ("goexec/goplsclient/exec.go", '"-listen", addr)', '"-listen", addr, "-listen.timeout", "10s")'),
    # What gopls cannot explain has no explanation, instead of the error of gopls.
    ("goexec/inspect.go", 'return kernel.MIMEMap{string(protocol.MIMETextPlain): strings.Join(parts, "\\n\\n")}, nil',
     'klog.Info(strings.Join(parts, "\\n\\n"))\n\t\treturn kernel.MIMEMap{}, nil'),
]


def main():
    for name, old, new in MENDS:
        path = pathlib.Path(sys.argv[1], "internal", name)
        text = path.read_text()
        if text.count(old) != 1:
            sys.exit(f"{path} contains {old!r} {text.count(old)} times: want once")
        path.write_text(text.replace(old, new))


if __name__ == "__main__":
    main()

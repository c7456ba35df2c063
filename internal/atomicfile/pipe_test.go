//go:build unix

package atomicfile

import (
	"io"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// A pipe is written to and stays a pipe, as /dev/null and a terminal do, which root
// could replace. Writing to a pipe that no process reads is an error, and does not wait.
func TestWriteToPipe(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := Write(path, text("x")); err == nil {
		t.Error("no error without a reader")
	}
	got := make(chan string)
	r, err := os.OpenFile(path, os.O_RDWR, 0) // does not wait for a writer
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	go func() {
		b := make([]byte, 100)
		n, _ := io.ReadAtLeast(r, b, 1)
		got <- string(b[:n])
	}()
	if err := Write(path, text("through")); err != nil {
		t.Fatal(err)
	}
	if s := <-got; s != "through" {
		t.Errorf("the reader has %q", s)
	}
	if info, err := os.Lstat(path); err != nil || info.Mode().Type() != os.ModeNamedPipe || names(t, filepath.Dir(path)) != "[pipe]" {
		t.Errorf("%v is left, %v", info, err)
	}
}

//go:build unix

package store

import (
	"context"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Files of others, under the names of ours, are neither written nor waited for.
func TestForeignFiles(t *testing.T) {
	s := streamed(40)
	s.Draws, s.Chains = 20, 1
	const precious = "precious\n"
	names := []string{"chain-1.lock", "chain-1.csv.part", "chain-1.state", "chain-1.state.tmp", "chain-1.csv.part.tmp", "chain-1.csv"}
	for what, put := range map[string]func(path, elsewhere string) error{
		"a link":       func(path, elsewhere string) error { return os.Symlink(elsewhere, path) },
		"a loose link": func(path, _ string) error { return os.Symlink("nowhere", path) },
		"another name": func(path, elsewhere string) error { return os.Link(elsewhere, path) },
		"a file":       func(path, _ string) error { return os.WriteFile(path, []byte(precious), 0o644) },
		"a short file": func(path, _ string) error { return os.WriteFile(path, []byte("x"), 0o644) },
		"a pipe":       func(path, _ string) error { return syscall.Mkfifo(path, 0o644) },
		"a folder":     func(path, _ string) error { return os.Mkdir(path, 0o755) },
	} {
		for _, name := range names {
			if what == "a loose link" && name == "chain-1.state" {
				continue // there is no such state; and it is replaced, not followed
			}
			what := what + " as " + name
			dir, other := t.TempDir(), filepath.Join(t.TempDir(), "other")
			if err := os.WriteFile(other, []byte(precious), 0o644); err != nil {
				t.Fatal(err)
			}
			path := filepath.Join(dir, name)
			if err := put(path, other); err != nil {
				t.Fatal(err)
			}
			before, err := os.Lstat(path)
			if err != nil {
				t.Fatal(err)
			}
			end := make(chan error, 1)
			go func() { end <- run(context.Background(), walkers(0), dir, s) }()
			select {
			case err = <-end:
			case <-time.After(10 * time.Second):
				t.Fatalf("%s: nothing happens", what)
			}
			after, e := os.Lstat(path)
			if err == nil || strings.Contains(err.Error(), "\n") || !strings.Contains(err.Error(), "chain-1.") {
				t.Errorf("%s: error %v", what, err)
			}
			if e != nil || !os.SameFile(before, after) || before.Size() != after.Size() {
				t.Errorf("%s: it has changed, %v", what, e)
			}
			if data, err := os.ReadFile(other); string(data) != precious {
				t.Errorf("%s: the file behind it is %q, %v", what, data, err)
			}
			if strings.HasPrefix(what, "a pipe") {
				go func() { _, err := Read(dir); end <- err }()
				select {
				case err := <-end:
					if err == nil {
						t.Errorf("%s: Read gives draws", what)
					}
				case <-time.After(10 * time.Second):
					t.Fatalf("%s: Read waits", what)
				}
			}
		}
	}
}

// limitFiles makes files that grow beyond a number of bytes an error in this process, as
// on a full disk.
func limitFiles(bytes int) {
	signal.Ignore(syscall.SIGXFSZ)
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: uint64(bytes), Max: uint64(bytes)}); err != nil {
		panic(err)
	}
}

// A disk that is full ends the run with what was saved, and the run goes on when
// there is room.
func TestRunDiskFull(t *testing.T) {
	calm, dir := t.TempDir(), t.TempDir()
	mustStream(t, calm, streamed(1))
	cmd, stderr := child(t, dir, 1, 2, 0, 150000)
	if err := cmd.Wait(); err == nil || !strings.Contains(stderr.String(), "file too large") {
		t.Fatalf("error %v: %s", err, stderr)
	}
	mustStream(t, dir, streamed(1))
	same(t, "after the disk was full", contents(t, dir), contents(t, calm))
}

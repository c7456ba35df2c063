//go:build unix

package store

import (
	"bytes"
	"context"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/probode/probode/pkg/probode/mcmc"
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

// If another program cuts, removes or replaces the draws of a chain while it runs, the run
// ends with an error, or its files have the bytes of a run that was left alone.
func TestDrawsChangedFromOutside(t *testing.T) {
	s := streamed(60)
	s.Draws, s.Chains, s.Workers = 2000, 1, 1
	calm := t.TempDir()
	mustStream(t, calm, s)
	want := contents(t, calm)
	whole := want["chain-1.csv"]
	put := func(path, text string) error { return os.WriteFile(path, []byte(text), 0o644) }
	replace := func(path string, make func(path string) error) error {
		if err := make(path + ".new"); err != nil {
			return err
		}
		return os.Rename(path+".new", path)
	}
	steps := s.BurnIn + s.Draws*s.Thin
	for what, c := range map[string]struct {
		change func(path string) error
		lost   bool // the draws cannot be saved
	}{
		"emptied":       {func(path string) error { return os.Truncate(path, 0) }, true},
		"cut":           {func(path string) error { info, _ := os.Stat(path); return os.Truncate(path, info.Size()/2) }, true},
		"cut by a byte": {func(path string) error { info, _ := os.Stat(path); return os.Truncate(path, info.Size()-1) }, true},
		"longer":        {func(path string) error { info, _ := os.Stat(path); return os.Truncate(path, info.Size()+1) }, true},
		"overwritten":   {func(path string) error { return put(path, whole) }, true},
		"removed":       {os.Remove, false},
		"replaced by a copy": {func(path string) error {
			return replace(path, func(p string) error { return put(p, whole[:len(whole)/3]) })
		}, false},
		"replaced by another's": {func(path string) error { return replace(path, func(p string) error { return put(p, "a,b\n1,2\n") }) }, false},
		"replaced by a link": {func(path string) error {
			return replace(path, func(p string) error { return os.Symlink("nowhere", p) })
		}, false},
		"replaced by a pipe": {func(path string) error {
			return replace(path, func(p string) error { return syscall.Mkfifo(p, 0o644) })
		}, false},
		"a digit is another one": {changeDigit, true},
	} {
		for at, checkpoint := range map[int]time.Duration{steps / 2: 1, steps/2 + 1: time.Hour, steps: time.Hour} {
			s.Checkpoint = checkpoint
			dir := t.TempDir()
			step := 0
			var failed error
			err := run(context.Background(), func(i int) mcmc.Kernel {
				return &observed{walkers(0)(i).(*walker), func() {
					if step++; step == at {
						failed = c.change(filepath.Join(dir, "chain-1.csv.part"))
					}
				}}
			}, dir, s)
			if failed != nil {
				t.Fatalf("%s: %v", what, failed)
			}
			if err == nil {
				same(t, what, contents(t, dir), want)
			} else if !c.lost || strings.Contains(err.Error(), "\n") || !strings.Contains(err.Error(), "chain-1.csv.part") {
				t.Errorf("%s at iteration %d of %d: error %v", what, at, steps, err)
			}
		}
	}
}

// changeDigit changes the last digit of a file in place.
func changeDigit(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	data, err := io.ReadAll(f)
	if i := bytes.LastIndexAny(data, "0123456789"); err == nil && i >= 0 {
		_, err = f.WriteAt([]byte{data[i] ^ 1}, int64(i))
	}
	return err
}

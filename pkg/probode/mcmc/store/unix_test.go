//go:build darwin || dragonfly || freebsd || illumos || linux || netbsd || openbsd

package store

import (
	"context"
	"fmt"
	"hash/crc64"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// sealed adds the checksum.
func sealed(text string) string {
	return fmt.Sprintf("%s# checksum = %016x\n", text, crc64.Checksum([]byte(text), crcTable))
}

// Files of others, under the names of ours, are neither written nor waited for.
func TestForeignFiles(t *testing.T) {
	s := streamed(40)
	s.Draws, s.Chains = 20, 1
	const precious = "precious\n"
	names := []string{"chain-1.csv.part", "chain-1.state", "chain-1.state.tmp", "chain-1.csv.part.tmp", "chain-1.csv"}
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

// A file that says what a terminal would obey, a checksum in other letters, and
// numbers that would make a long message, are refused in a short line.
func TestUnfriendlyHeaders(t *testing.T) {
	s := streamed(41)
	s.Draws, s.Chains = 20, 2
	dir := t.TempDir()
	mustStream(t, dir, s)
	good := contents(t, dir)
	text := func(name string) string { return good[name][:strings.Index(good[name], "# checksum")] }
	one := text("chain-1.csv")
	change := func(old, new string) map[string]string {
		if !strings.Contains(one, old) {
			t.Fatalf("no %q", old)
		}
		return map[string]string{"chain-1.csv": sealed(strings.Replace(one, old, new, 1)), "chain-2.csv": good["chain-2.csv"]}
	}
	for what, c := range map[string]struct {
		files map[string]string
		want  string
	}{
		"an escape":             {change("standard normal", "\x1b]0;owned\a"), "comment"},
		"a turn of direction":   {change("standard normal", "a\u202eb"), "comment"},
		"an escape in a column": {change("y.1,", "y\x1b[2J,"), "columns"},
		"a million chains":      {map[string]string{"chain-1.csv": sealed(strings.Replace(one, "num_chains = 2", "num_chains = 1000000", 1))}, "lacks 999999 of 1000000 chains: chain-2.csv, chain-3.csv, chain-4.csv, chain-5.csv, chain-6.csv, chain-7.csv, and 999993 more"},
		"two million chains":    {change("num_chains = 2", "num_chains = 2000000"), "want at most 1000000"},
		"a long value":          {change("standard normal", strings.Repeat("long ", 3000)+"x"), "model is long long"},
		"a long key":            {change("# model = ", "# "+strings.Repeat("k", 10000)+" = "), "…"},
		"a long number":         {change("num_chains = 2", "num_chains = "+strings.Repeat("9", 10000)), "num_chains is"},
		"a long first line":     {map[string]string{"chain-1.csv": strings.Repeat("x", 1<<20)}, "first line"},
		"other letters": {map[string]string{"chain-1.csv": func() string {
			whole := good["chain-1.csv"]
			return whole[:len(whole)-17] + strings.ToUpper(whole[len(whole)-17:])
		}(), "chain-2.csv": good["chain-2.csv"]}, "checksum"},
	} {
		if what == "other letters" && strings.ToUpper(good["chain-1.csv"][len(good["chain-1.csv"])-17:]) == good["chain-1.csv"][len(good["chain-1.csv"])-17:] {
			t.Fatal("a checksum without letters: take another seed")
		}
		dir := t.TempDir()
		fill(t, dir, c.files)
		got, err := Read(dir)
		if got != nil || err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %.300v, want %q", what, err, c.want)
			continue
		}
		if message := strings.ReplaceAll(err.Error(), dir, ""); len(message) > 700 || strings.ContainsAny(message, "\n\x1b\a\u202e") {
			t.Errorf("%s: %d characters: %.400q", what, len(message), message)
		}
	}
}

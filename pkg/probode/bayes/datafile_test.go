//go:build unix

package bayes_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/probode/probode/pkg/probode/bayes"
)

// What is no file of a table is an error of one line, which is not waited for.
func TestReadFile(t *testing.T) {
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	err := errors.Join(os.WriteFile(in("good"), []byte("t,y\n1,2\n"), 0o600), os.WriteFile(in("empty"), nil, 0o600), syscall.Mkfifo(in("pipe"), 0o600),
		os.Symlink("good", in("link")), os.Symlink("loop", in("loop")), os.WriteFile(in("long"), nil, 0o600), os.Truncate(in("long"), 1<<40))
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"good":  "",
		"link":  "",
		"empty": "data: the file is empty: want a header row",
		"none":  "no such file or directory",
		"":      "it is a directory: want a regular file",
		"pipe":  "it is a pipe: want a regular file",
		"loop":  "too many levels of symbolic links",
		"long":  "the file contains NUL bytes: want text in UTF-8",
	} {
		d, err := bayes.ReadFile(in(name), "t", "y")
		if want == "" && (err != nil || len(d.T) != 1) || want != "" && (err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), dir)) {
			t.Errorf("%s: %v, %v, want %q", name, d, err, want)
		}
	}
}

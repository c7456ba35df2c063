//go:build unix

package plainfile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// What is not a regular file of at most so many bytes is an error that says why, and that
// names the file. Links are followed, or refused.
func TestRead(t *testing.T) {
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	if err := errors.Join(os.WriteFile(in("file"), []byte("12345"), 0o600), os.Symlink("file", in("link")), os.Symlink("none", in("loose")),
		os.Symlink("/dev/zero", in("device")), os.WriteFile(in("long"), nil, 0o600), os.Truncate(in("long"), 1<<40)); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ name, want, unlinked string }{
		{"file", "", ""},
		{"link", "", "it is a link: want a regular file"},
		{"loose", "no such file", "it is a link: want a regular file"},
		{"device", "it is a device: want a regular file", "it is a link: want a regular file"},
		{"none", "no such file", "no such file"},
		{".", "it is a directory: want a regular file", "it is a directory: want a regular file"},
		{"long", "the file is larger than the limit of 0 MiB", "the file is larger than the limit of 0 MiB"},
	} {
		for want, read := range map[*string]func(string, int64) ([]byte, error){&c.want: Read, &c.unlinked: ReadUnlinked} {
			data, err := read(in(c.name), 5)
			var at *fs.PathError
			switch {
			case *want == "" && (err != nil || string(data) != "12345"):
				t.Errorf("%s: %q, %v", c.name, data, err)
			case *want != "" && (data != nil || !errors.As(err, &at) || at.Path != in(c.name) || !strings.Contains(err.Error(), *want)):
				t.Errorf("%s: %q, error %v, want %q", c.name, data, err, *want)
			}
			if _, err := read(in("file"), 4); err == nil {
				t.Error("five bytes are read as four")
			}
		}
	}
}

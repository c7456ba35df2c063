package atomicfile

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"
)

func text(s string) func(io.Writer) error {
	return func(w io.Writer) error { _, err := io.WriteString(w, s); return err }
}

func names(t *testing.T, dir string) string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, e := range entries {
		out = append(out, e.Name())
	}
	return fmt.Sprint(out)
}

// A write that fails half-way leaves the old file, or none, and nothing beside it.
func TestWrite(t *testing.T) {
	failed := errors.New("failed")
	half := func(w io.Writer) error { io.WriteString(w, "half"); return failed }
	for what, write := range map[string]func(path string, write func(io.Writer) error) error{
		"Write":    Write,
		"Replace":  Replace,
		"WriteVia": func(path string, write func(io.Writer) error) error { return WriteVia(path+".tmp", path, write) },
	} {
		dir := t.TempDir()
		path := filepath.Join(dir, "a.csv")
		if err := write(path, half); err != failed || names(t, dir) != "[]" {
			t.Errorf("%s: error %v, files %s after a failure, want none", what, err, names(t, dir))
		}
		for _, want := range []string{"old", "new and longer"} {
			if err := write(path, text(want)); err != nil {
				t.Fatal(err)
			}
			if err := write(path, half); err != failed {
				t.Errorf("%s: error %v, want that of the write", what, err)
			}
			data, err := os.ReadFile(path)
			info, _ := os.Stat(path)
			if string(data) != want || err != nil || names(t, dir) != "[a.csv]" || info.Mode().Perm() != 0o644 {
				t.Errorf("%s: %q, %v, %v, files %s", what, data, err, info.Mode(), names(t, dir))
			}
		}
		if err := write(filepath.Join(dir, "none", "a"), text("")); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s: error %v in a folder that is not there", what, err)
		}
	}
}

// What is linked under the temporary name stays as it is.
func TestWriteViaFollowsNoLink(t *testing.T) {
	dir := t.TempDir()
	precious, tmp, path := filepath.Join(dir, "precious"), filepath.Join(dir, "a.tmp"), filepath.Join(dir, "a")
	if err := os.WriteFile(precious, []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(precious, tmp); err != nil {
		t.Fatal(err)
	}
	if err := WriteVia(tmp, path, text("x")); err != nil {
		t.Fatal(err)
	}
	if data, _ := os.ReadFile(precious); string(data) != "precious" || names(t, dir) != "[a precious]" {
		t.Errorf("%q in the linked file, files %s", data, names(t, dir))
	}
}

// A link leads to the file that is written; Replace takes its place.
func TestWriteFollowsLinks(t *testing.T) {
	dir := t.TempDir()
	target, link := filepath.Join(dir, "target"), filepath.Join(dir, "link")
	if err := os.WriteFile(target, []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("target", link); err != nil {
		t.Fatal(err)
	}
	content := func() string { data, _ := os.ReadFile(target); return string(data) }
	info := func() os.FileMode { i, _ := os.Lstat(link); return i.Mode().Type() }
	if err := Write(link, text("new")); err != nil || content() != "new" || info() != os.ModeSymlink || names(t, dir) != "[link target]" {
		t.Errorf("%v, %q in the target, the link is %v, files %s", err, content(), info(), names(t, dir))
	}
	if err := Replace(link, text("newer")); err != nil || content() != "new" || info() != 0 {
		t.Errorf("%v, %q in the target, the link is %v after Replace", err, content(), info())
	}
}

// What standard output goes to is not replaced, under whatever name.
func TestWriteToStandardOutput(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "out")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	defer func(f *os.File) { os.Stdout = f }(os.Stdout)
	os.Stdout = f
	fmt.Print("before ")
	if err := Write(path, text("written ")); err != nil {
		t.Fatal(err)
	}
	fmt.Print("after")
	if data, err := os.ReadFile(path); string(data) != "before written after" || names(t, dir) != "[out]" {
		t.Errorf("%q, %v, files %s", data, err, names(t, dir))
	}
}

func TestMkdirAll(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "b", "c")
	for range 2 {
		if err := MkdirAll(dir); err != nil {
			t.Fatal(err)
		}
	}
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		t.Errorf("%v, %v", info, err)
	}
	file := filepath.Join(dir, "file")
	if err := Write(file, text("")); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{file, filepath.Join(file, "d")} {
		if MkdirAll(path) == nil {
			t.Errorf("%s is taken for a directory", path)
		}
	}
}

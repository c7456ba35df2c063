//go:build unix

package main

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// within runs a command, which must end in time.
func within(t *testing.T, args string) error {
	t.Helper()
	end := make(chan error, 1)
	go func() { end <- run(context.Background(), strings.Fields(args), new(bytes.Buffer)) }()
	select {
	case err := <-end:
		return err
	case <-time.After(20 * time.Second):
		t.Fatalf("%s: nothing happens", args)
		return nil
	}
}

// A file that is no plain file of a bounded size is neither waited for nor shown nor
// copied, whether a user names it or it has the name of a file in a study's folder.
func TestForeignFilesAreNotRead(t *testing.T) {
	inFolder(t, "counts.yaml", counts)
	if err := run(context.Background(), strings.Fields("sample -model counts.yaml -scheme deterministic -chains 2 -draws 20 -burn-in 20 -quiet -dir study"), new(bytes.Buffer)); err != nil {
		t.Fatal(err)
	}
	const secret = "a secret"
	if err := errors.Join(os.WriteFile("other", []byte(secret), 0o600), syscall.Mkfifo("pipe", 0o600),
		os.WriteFile("long", nil, 0o600), os.Truncate("long", 1<<40), os.Symlink("pipe", "link"), os.Symlink("/dev/zero", "device")); err != nil {
		t.Fatal(err)
	}
	absolute := func(name string) string { path, _ := filepath.Abs(name); return path }
	for what, put := range map[string]func(path string) error{
		"a pipe":             func(path string) error { return syscall.Mkfifo(path, 0o600) },
		"a link to a device": func(path string) error { return os.Symlink("/dev/zero", path) },
		"a link to a pipe":   func(path string) error { return os.Symlink(absolute("pipe"), path) },
		"a link to a file":   func(path string) error { return os.Symlink(absolute("other"), path) },
		"a folder":           func(path string) error { return os.Mkdir(path, 0o755) },
		"a long file":        func(path string) error { return os.Link("long", path) },
	} {
		for name, verbs := range map[string][]string{
			"caution.txt":   {"summary study", "merge new study", "merge new.zarr study"},
			"chain-1.csv":   {"summary study", "merge new study", "merge new.zarr study"},
			"chain-1.state": {"merge new study"},
		} {
			path := filepath.Join("study", name)
			kept, _ := os.ReadFile(path)
			os.Remove(path)
			if err := put(path); err != nil {
				t.Fatal(err)
			}
			for _, args := range verbs {
				err := within(t, args)
				if err == nil || !strings.Contains(err.Error(), name) || strings.Contains(err.Error(), "\n") || strings.Contains(err.Error(), secret) {
					t.Errorf("%s: %s is %s: error %v", args, name, what, err)
				}
				for _, made := range []string{"new", "new.zarr"} {
					if _, err := os.Lstat(made); err == nil {
						t.Errorf("%s: %s is %s, and %s was made", args, name, what, made)
						os.RemoveAll(made)
					}
				}
			}
			os.Remove(path)
			if kept != nil {
				if err := os.WriteFile(path, kept, 0o644); err != nil {
					t.Fatal(err)
				}
			}
		}
	}

	for _, file := range []string{"pipe", "link", "device", "long", "study"} {
		for _, args := range []string{
			"fit -model counts.yaml -start FILE", "sample -model counts.yaml -dir s -start FILE", "assess -model counts.yaml -steps 0.5 -start FILE",
			"likelihood -model FILE", "assess -case influenza -step 1 -data FILE", "sample -case influenza -dir s -data FILE", "likelihood FILE/none",
		} {
			err := within(t, strings.ReplaceAll(args, "FILE", file))
			if err == nil || strings.Contains(err.Error(), "\n") {
				t.Errorf("%s with %s: error %v, want one line", args, file, err)
			}
		}
	}

	// A new caution takes the place of a link, and the file behind it stays.
	if err := os.Symlink(absolute("other"), "study/caution.txt"); err != nil {
		t.Fatal(err)
	}
	if err := writeCautions("study", []string{"true"}); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile("other"); string(text) != secret || err != nil {
		t.Errorf("the file behind a link is now %q, %v", text, err)
	}
}

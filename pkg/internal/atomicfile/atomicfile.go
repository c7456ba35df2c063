// Package atomicfile writes files so that under a name there is either the old
// file or the whole new one, whatever happens.
package atomicfile

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// Write makes a file of what write writes, with the permissions 0644, and gives it
// the name path when all of it is on the disk. If that fails, path is as it was,
// and nothing else is left behind; after a kill there may be a file whose name is
// that of path, a dot, digits, and .tmp.
//
// A link stands for the file that it leads to. What is there and is no file, such as
// /dev/null, a terminal, or a pipe that somebody reads from, is written to and stays
// what it is; so does the file that standard output or standard error goes to, whose
// name may be /dev/stdout.
func Write(path string, write func(io.Writer) error) error {
	info, err := os.Stat(path)
	if err == nil {
		for _, f := range []*os.File{os.Stdout, os.Stderr} {
			if at, err := f.Stat(); err == nil && os.SameFile(at, info) {
				return write(f)
			}
		}
	}
	if to, err := filepath.EvalSymlinks(path); err == nil {
		path = to
	}
	if err == nil && !info.Mode().IsRegular() && !info.IsDir() {
		f, err := os.OpenFile(path, os.O_WRONLY|nonBlocking, 0)
		if err != nil && info.Mode().Type() == os.ModeNamedPipe {
			return fmt.Errorf("%s is a pipe that nobody reads from: %w", path, err)
		}
		if err != nil {
			return err
		}
		err = write(f)
		return errors.Join(err, f.Close())
	}
	return Replace(path, write)
}

// Replace is Write, but for that a link, a pipe or a device makes room for the file.
func Replace(path string, write func(io.Writer) error) error {
	tmp, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*.tmp")
	if err != nil {
		return err
	}
	return finish(path, tmp, write)
}

// WriteVia is Replace by way of the file tmp in the folder of path, which no other
// process may use: what an earlier call left there is removed.
func WriteVia(tmp, path string, write func(io.Writer) error) error {
	if err := os.Remove(tmp); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	f, err := os.OpenFile(tmp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644) // through no link
	if err != nil {
		return err
	}
	return finish(path, f, write)
}

func finish(path string, tmp *os.File, write func(io.Writer) error) error {
	err := write(tmp)
	if err == nil {
		err = tmp.Chmod(0o644)
	}
	if err == nil {
		err = tmp.Sync()
	}
	if e := tmp.Close(); err == nil {
		err = e
	}
	if err == nil {
		err = os.Rename(tmp.Name(), path)
	}
	if err != nil {
		os.Remove(tmp.Name())
		return err
	}
	return SyncDir(filepath.Dir(path))
}

// MkdirAll makes a directory, and those above it that are missing, so that they
// outlast a loss of power.
func MkdirAll(dir string) error {
	dir = filepath.Clean(dir)
	if info, err := os.Stat(dir); err == nil && info.IsDir() {
		return nil
	}
	if above := filepath.Dir(dir); above != dir {
		if err := MkdirAll(above); err != nil {
			return err
		}
	}
	err := os.Mkdir(dir, 0o755)
	if errors.Is(err, os.ErrExist) { // made by another process meanwhile, or no directory
		if info, e := os.Stat(dir); e == nil && info.IsDir() {
			return nil
		}
	}
	if err != nil {
		return err
	}
	return SyncDir(filepath.Dir(dir))
}

// Package atomicfile replaces a file in one step: a program that opens the file gets
// either the old content or the complete new content.
package atomicfile

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// Write creates a file with the permissions 0644, calls write to fill it, and renames the
// file to `path` once its whole content is on the disk. If there is an error, the old
// file is unchanged, and the new file is removed. If the process is killed, the
// unfinished new file may remain. The name of the unfinished file is that of the old
// file, followed by a dot, digits and .tmp.
//
// If `path` is a link, Write replaces the file to which it points. If `path` is
// /dev/null, a terminal, or a pipe from which a process reads, the content is written
// directly to `path`. If `path` names the standard output or the standard error of the
// process, as /dev/stdout does, the content is written directly to this output.
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
		f, err := os.OpenFile(path, os.O_WRONLY|NonBlocking, 0)
		if err != nil && info.Mode().Type() == os.ModeNamedPipe {
			return fmt.Errorf("no process reads from the pipe %s: %w", path, err)
		}
		if err != nil {
			return err
		}
		err = write(f)
		return cmp.Or(err, f.Close())
	}
	return Replace(path, write)
}

// Replace is like Write, but a link, a pipe or a device at `path` is replaced by the new
// file.
func Replace(path string, write func(io.Writer) error) error {
	tmp, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*.tmp")
	if err != nil {
		return err
	}
	return finish(path, tmp, write)
}

// WriteVia is like Replace, but the caller chooses the name of the unfinished file,
// `tmp`. The files `tmp` and `path` must be in the same directory. WriteVia removes any
// file that already has the name `tmp`, so no other process may use this name.
func WriteVia(tmp, path string, write func(io.Writer) error) error {
	if err := os.Remove(tmp); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	f, err := os.OpenFile(tmp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644) // does not follow a link
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
		err = Rename(tmp.Name(), path)
	}
	if err != nil {
		os.Remove(tmp.Name())
	}
	return err
}

// Rename changes the name of a closed file or of a directory; the parent directory must
// stay the same. If a file with the new name exists, Rename replaces it.
func Rename(from, to string) error {
	if err := rename(from, to); err != nil {
		return err
	}
	return SyncDir(filepath.Dir(to))
}

// MkdirAll makes a directory and its missing parent directories, and makes sure that they
// survive a power failure.
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
	if errors.Is(err, os.ErrExist) { // another process has made it, or it is not a directory
		if info, e := os.Stat(dir); e == nil && info.IsDir() {
			return nil
		}
	}
	if err != nil {
		return err
	}
	return SyncDir(filepath.Dir(dir))
}

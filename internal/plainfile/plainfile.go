// Package plainfile reads files that somebody else may have put where a file is expected.
// A pipe could block for ever, and a device need not end, so both are refused.
package plainfile

import (
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/probode/probode/internal/atomicfile"
)

// Open opens a regular file, or the regular file to which a link points, for reading. The
// error for anything else is a *fs.PathError that says what it is.
func Open(path string) (*os.File, error) { return open(path, os.Stat) }

// OpenUnlinked is like Open, but refuses a link. It is for the files of a folder whose
// names this program has chosen: a link there leads to a file of somebody else.
func OpenUnlinked(path string) (*os.File, error) { return open(path, os.Lstat) }

// Stat returns the description of a regular file, and the errors of OpenUnlinked.
func Stat(path string) (os.FileInfo, error) { return regular(path, os.Lstat) }

// Read returns the content of a file that Open opens. If the file has more than `most`
// bytes, Read returns an error.
func Read(path string, most int64) ([]byte, error) { return read(path, most, os.Stat) }

// ReadUnlinked returns the content of a file that OpenUnlinked opens. If the file has more
// than `most` bytes, ReadUnlinked returns an error.
func ReadUnlinked(path string, most int64) ([]byte, error) { return read(path, most, os.Lstat) }

func open(path string, stat func(string) (os.FileInfo, error)) (*os.File, error) {
	before, err := regular(path, stat) // because opening some devices has an effect
	if err != nil {
		return nil, err
	}
	f, err := os.OpenFile(path, os.O_RDONLY|atomicfile.NonBlocking, 0)
	if err != nil {
		return nil, err
	}
	if after, err := f.Stat(); err != nil || !os.SameFile(before, after) {
		f.Close()
		return open(path, stat) // the path has been given to another file
	}
	return f, nil
}

func regular(path string, stat func(string) (os.FileInfo, error)) (os.FileInfo, error) {
	info, err := stat(path)
	if err != nil || info.Mode().IsRegular() {
		return info, err
	}
	what := "no regular file"
	switch mode := info.Mode(); {
	case mode.IsDir():
		what = "a directory"
	case mode&os.ModeSymlink != 0:
		what = "a link"
	case mode&os.ModeNamedPipe != 0:
		what = "a pipe"
	case mode&os.ModeDevice != 0:
		what = "a device"
	}
	return nil, &fs.PathError{Op: "open", Path: path, Err: fmt.Errorf("it is %s: want a regular file", what)}
}

func read(path string, most int64, stat func(string) (os.FileInfo, error)) ([]byte, error) {
	f, err := open(path, stat)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var data []byte
	info, err := f.Stat()
	if err == nil && info.Size() <= most {
		data, err = io.ReadAll(io.LimitReader(f, most+1)) // the file may grow
	}
	if err == nil && max(info.Size(), int64(len(data))) > most {
		err = &fs.PathError{Op: "read", Path: path, Err: fmt.Errorf("the file is larger than the limit of %d MiB", most>>20)}
	}
	if err != nil {
		return nil, err
	}
	return data, nil
}

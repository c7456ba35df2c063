package store

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/probode/probode/internal/plainfile"
)

// A directory may contain files that other programs wrote, but that have the same names as
// the files of this package. The package reads and writes only regular files, and writes
// only to those that begin in the same way as the files that it creates.

// openForWriting refuses symbolic links, which could lead to a file of another program.
func openForWriting(path string) (*os.File, error) {
	if _, err := plainfile.Stat(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	return os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
}

// replaceable wants a regular file that begins with `magic`, or none.
func replaceable(path, magic string) error {
	f, err := plainfile.OpenUnlinked(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	first := make([]byte, len(magic))
	n, err := io.ReadFull(f, first)
	if err != nil && err != io.EOF && err != io.ErrUnexpectedEOF {
		return err
	}
	if string(first[:n]) != magic[:n] {
		return fmt.Errorf("%s does not belong to this study: move it elsewhere", path)
	}
	return nil
}

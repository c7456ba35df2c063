package store

import (
	"errors"
	"fmt"
	"io"
	"os"
)

// A directory may contain files that other programs wrote, but that have the same names as
// the files of this package.
// The package writes only to regular files that begin in the same way as the files that
// it creates. The package does not open pipes or devices, because reading from them could
// block for ever.

// openForReading opens a regular file, or the regular file to which a link points. For
// any other kind of file, openForReading returns an error.
func openForReading(path string) (*os.File, error) {
	if _, err := plain(path, os.Stat); err != nil {
		return nil, err
	}
	return os.Open(path)
}

// openForWriting opens a regular file for writing, and creates the file if it does not
// exist. The function returns an error if the path is a symbolic link, or if the file
// has another hard link. Writing to such a path could change a file of another program.
func openForWriting(path string) (*os.File, error) {
	if _, err := plain(path, os.Lstat); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && names(info) > 1 {
		err = fmt.Errorf("%s has more than one hard link and does not belong to this study: move it elsewhere", path)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// The function plain() returns the FileInfo of a regular file, and an error for any other
// kind of file. The argument `stat` is os.Stat or os.Lstat.
func plain(path string, stat func(string) (os.FileInfo, error)) (os.FileInfo, error) {
	info, err := stat(path)
	if err != nil {
		return nil, err
	}
	what := "no plain file"
	switch mode := info.Mode(); {
	case mode.IsRegular():
		return info, nil
	case mode&os.ModeSymlink != 0:
		what = "a link"
	case mode&os.ModeNamedPipe != 0:
		what = "a pipe"
	case mode.IsDir():
		what = "a directory"
	}
	return nil, fmt.Errorf("%s is %s and does not belong to this study: move it elsewhere", path, what)
}

// The function replaceable() returns an error if a file must not be replaced. A file may
// be replaced if it is a regular file that begins with the string `magic`, or if it does
// not exist.
func replaceable(path, magic string) error {
	_, err := plain(path, os.Lstat)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	f, err := os.Open(path)
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

package store

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
)

// What is in the directory of a study may be of others: only plain files that begin
// as this package's do are written to, and nothing is waited for.

// openForReading opens a plain file. Links are followed; a pipe or a device, which
// could keep the reader waiting for ever, is an error.
func openForReading(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|nonBlocking, 0)
	if err != nil {
		return nil, err
	}
	if err := plain(f); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// openForWriting opens a plain file, or makes it. What has another name, or is
// reached by a link, is an error: somebody else's file may be behind it.
func openForWriting(path string) (*os.File, error) {
	if info, err := os.Lstat(path); err == nil && !info.Mode().IsRegular() {
		return nil, notOurs(path, info.Mode())
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|nonBlocking|noFollow, 0o644)
	if err != nil {
		return nil, err
	}
	err = plain(f)
	if err == nil {
		err = oneName(f)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

func plain(f *os.File) error {
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = notOurs(f.Name(), info.Mode())
	}
	return err
}

func notOurs(path string, mode os.FileMode) error {
	what := "no plain file"
	switch {
	case mode&os.ModeSymlink != 0:
		what = "a link"
	case mode&os.ModeNamedPipe != 0:
		what = "a pipe"
	case mode.IsDir():
		what = "a directory"
	}
	return fmt.Errorf("%s is %s and not a file of this study: move it away", path, what)
}

// begun looks at the draws of a chain that has no state. It is an error unless
// there is nothing but a header, or a part of one, so that nothing is lost if the
// chain begins.
func begun(f *os.File, partPath, statePath string) error {
	t, err := scan(io.NewSectionReader(f, 0, 1<<62), everything, nil)
	foreign := func(why string) error {
		return fmt.Errorf("%s is not a file of this study (%s): move it away", partPath, why)
	}
	switch {
	case len(t.header) == 0 && t.columns == nil: // not a whole line
		first := make([]byte, min(t.size, maxFirst))
		if _, e := f.ReadAt(first, 0); e != nil && !errors.Is(e, io.EOF) {
			return e
		}
		if own := fmt.Sprintf("# format = %s%d\n", formatPrefix, formatVersion); strings.HasPrefix(own, string(first)) {
			return nil
		}
		if err == nil {
			err = errors.New("it has no header")
		}
		return foreign(err.Error())
	case err != nil:
		return foreign(err.Error())
	case t.body() > 0:
		return fmt.Errorf("%s is missing beside %s: the chain cannot be resumed; remove both to draw it again", statePath, partPath)
	}
	return nil
}

// replaceable tells what is wrong with a file that is about to be replaced: it has to
// begin as those of this package do.
func replaceable(path, magic string) error {
	info, err := os.Lstat(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return notOurs(path, info.Mode())
	}
	f, err := openForReading(path)
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
		return fmt.Errorf("%s is not a file of this study: move it away", path)
	}
	return nil
}

package store

import (
	"errors"
	"fmt"
	"os"
	"runtime"

	"github.com/gofrs/flock"

	"github.com/probode/probode/internal/plainfile"
)

var errLocked = errors.New("another process is already working on this chain")

// lock locks an empty file. The operating system releases it when the process ends, even
// if it is killed. The file then remains, and the next process locks it.
func lock(path string) (*flock.Flock, error) {
	switch info, err := plainfile.Stat(path); {
	case err != nil && !errors.Is(err, os.ErrNotExist):
		return nil, err
	case err == nil && info.Size() > 0:
		return nil, fmt.Errorf("%s does not belong to this study: move it elsewhere", path)
	}
	l := flock.New(path)
	ok, err := l.TryLock()
	if err != nil {
		return nil, fmt.Errorf("%s cannot be locked: %w", path, err)
	}
	// The process that held the lock may have removed the file after this process opened
	// it.
	if ok {
		mine, err := l.Stat()
		there, e := os.Stat(path)
		ok = err == nil && e == nil && os.SameFile(mine, there)
		if !ok {
			l.Unlock()
		}
	}
	if !ok {
		return nil, errLocked
	}
	return l, nil
}

func unlock(l *flock.Flock) {
	// Windows cannot remove an open file, so on Windows the lock is released before the
	// file is removed. On all other systems, the file is removed before the lock is
	// released, so that no other process can lock the file before it is removed.
	if runtime.GOOS == "windows" {
		defer os.Remove(l.Path())
	} else {
		os.Remove(l.Path())
	}
	l.Unlock()
}

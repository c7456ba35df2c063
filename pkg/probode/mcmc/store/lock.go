package store

import (
	"errors"
	"fmt"
	"os"
	"runtime"

	"github.com/gofrs/flock"
)

var errLocked = errors.New("another process is already working on this chain")

// lock reserves a chain for this process. It locks the file at path, which has no other
// purpose. The system releases the lock when the process ends, even if it is killed.
// The file then remains, and the next process uses it again.
func lock(path string) (*flock.Flock, error) {
	switch info, err := plain(path, os.Lstat); {
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

// unlock releases a lock and removes its file.
func unlock(l *flock.Flock) {
	// Windows does not remove an open file. On other systems the file must be removed
	// before the lock is released; otherwise another process might have locked the file by
	// then.
	if runtime.GOOS == "windows" {
		defer os.Remove(l.Path())
	} else {
		os.Remove(l.Path())
	}
	l.Unlock()
}

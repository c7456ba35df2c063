package atomicfile

import (
	"errors"
	"os"
	"syscall"
	"time"
)

const nonBlocking = 0

// rename tries again for two seconds: Windows neither moves nor replaces a file that
// somebody has open, such as a virus scanner, and few keep one open for long.
func rename(from, to string) error {
	const sharingViolation = syscall.Errno(32)
	for wait := time.Millisecond; ; wait *= 2 {
		err := os.Rename(from, to)
		if !errors.Is(err, syscall.ERROR_ACCESS_DENIED) && !errors.Is(err, sharingViolation) || wait > time.Second {
			return err
		}
		time.Sleep(wait)
	}
}

// SyncDir does nothing: Windows keeps a journal of what is made, renamed and removed,
// and has no call by which a program could wait for a folder.
func SyncDir(string) error { return nil }

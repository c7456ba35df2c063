package atomicfile

import (
	"errors"
	"os"
	"syscall"
	"time"
)

// If another program has the file open, rename keeps trying for about one second.
// Windows neither moves nor replaces a file that another program has open. A virus
// scanner, for example, may briefly open a file that has just been written.
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

// SyncDir does nothing, because Windows has no call that waits until a change to a folder
// is on the disk. Windows records changes to folders in a journal.
func SyncDir(string) error { return nil }

package atomicfile

import (
	"errors"
	"os"
	"syscall"
	"time"
)

// If another program has the file open, rename keeps trying for up to two seconds.
// Windows neither moves nor replaces a file that another program has open. Virus
// scanners, for example, open the files of other programs, but only for a short time.
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
// is on the disk. Windows records such changes in a journal.
func SyncDir(string) error { return nil }

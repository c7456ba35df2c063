package atomicfile

import (
	"errors"
	"os"
	"syscall"
	"time"
)

// rename tries for a second while another program, such as a virus scanner, has the file
// open.
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

//go:build !windows

package atomicfile

import (
	"os"
	"syscall"
)

// nonBlocking makes it an error to open a pipe that nobody reads from.
const nonBlocking = syscall.O_NONBLOCK

func rename(from, to string) error { return os.Rename(from, to) }

// SyncDir writes the names in a directory to the disk, so that files that were made,
// renamed or removed there remain so after a loss of power.
func SyncDir(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	err = f.Sync()
	if e := f.Close(); err == nil {
		err = e
	}
	return err
}

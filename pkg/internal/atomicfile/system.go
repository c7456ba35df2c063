//go:build !windows

package atomicfile

import (
	"os"
	"syscall"
)

// nonBlocking makes the opening of a pipe that nobody reads from an error, and no wait.
const nonBlocking = syscall.O_NONBLOCK

// SyncDir makes what has been made, renamed or removed in a directory outlast a
// loss of power.
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

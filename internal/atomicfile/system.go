//go:build !windows

package atomicfile

import "os"

func rename(from, to string) error { return os.Rename(from, to) }

// SyncDir flushes the entries of a directory to the disk, so that a power failure does
// not undo the creation, renaming or removal of a file.
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

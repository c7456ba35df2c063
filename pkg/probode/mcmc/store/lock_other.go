//go:build !(darwin || dragonfly || freebsd || illumos || linux || netbsd || openbsd)

package store

import (
	"errors"
	"os"
)

const nonBlocking, noFollow = 0, 0

// lock fails: without a lock that ends with the process, two processes could
// write one chain.
func lock(*os.File) error {
	return errors.New("chains can be written to files only where there is flock, as on Linux and macOS")
}

func oneName(*os.File) error { return nil }

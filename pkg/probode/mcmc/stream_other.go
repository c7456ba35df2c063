//go:build !(darwin || dragonfly || freebsd || illumos || linux || netbsd || openbsd)

package mcmc

import (
	"errors"
	"os"
)

// lock fails: without a lock that ends with the process, two processes could
// write one chain.
func lock(*os.File) error {
	return errors.New("chains can be written to files only where there is flock, as on Linux and macOS")
}

//go:build darwin || dragonfly || freebsd || illumos || linux || netbsd || openbsd

package mcmc

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// lock takes f for this process alone, until it is closed or the process ends.
func lock(f *os.File) error {
	err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return errLocked
	}
	if err != nil {
		return fmt.Errorf("no lock: %w", err)
	}
	return nil
}

//go:build unix

package store

import (
	"os"
	"syscall"
)

// The function names() returns the number of hard links to a file.
func names(info os.FileInfo) int {
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		return int(s.Nlink)
	}
	return 1
}

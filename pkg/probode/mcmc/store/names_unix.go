//go:build unix

package store

import (
	"os"
	"syscall"
)

// names returns how many names a file has, which is its number of hard links.
func names(info os.FileInfo) int {
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		return int(s.Nlink)
	}
	return 1
}

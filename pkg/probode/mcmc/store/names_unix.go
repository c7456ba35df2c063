//go:build unix

package store

import (
	"os"
	"syscall"
)

func names(info os.FileInfo) int {
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		return int(s.Nlink)
	}
	return 1
}

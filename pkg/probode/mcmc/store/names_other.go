//go:build !unix

package store

import "os"

// names returns 1, because on this operating system Go does not report how many names
// (hard links) a file has.
func names(os.FileInfo) int { return 1 }

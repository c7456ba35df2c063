//go:build !unix

package store

import "os"

// The function names() returns 1, because on this operating system Go does not report the
// number of hard links to a file.
func names(os.FileInfo) int { return 1 }

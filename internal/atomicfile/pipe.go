//go:build unix

package atomicfile

import "syscall"

// nonBlocking makes it an error to open a pipe that nobody reads from.
const nonBlocking = syscall.O_NONBLOCK

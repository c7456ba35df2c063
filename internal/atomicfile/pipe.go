//go:build unix

package atomicfile

import "syscall"

// nonBlocking makes it an error to open a pipe that no process reads.
const nonBlocking = syscall.O_NONBLOCK

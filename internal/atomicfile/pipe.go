//go:build unix

package atomicfile

import "syscall"

// With the flag nonBlocking, opening a pipe fails if no process reads from it.
const nonBlocking = syscall.O_NONBLOCK

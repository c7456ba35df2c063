//go:build unix

package atomicfile

import "syscall"

// With the flag NonBlocking, opening a pipe fails if no process reads from it.
const NonBlocking = syscall.O_NONBLOCK

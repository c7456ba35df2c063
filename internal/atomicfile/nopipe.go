//go:build !unix

package atomicfile

// nonBlocking is zero, since Windows and WebAssembly have no named pipes among the files.
const nonBlocking = 0

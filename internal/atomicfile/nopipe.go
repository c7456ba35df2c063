//go:build !unix

package atomicfile

// nonBlocking is zero, since the file systems of Windows and WebAssembly have no named
// pipes.
const nonBlocking = 0

//go:build !unix

package atomicfile

// NonBlocking is zero, since the file systems of Windows and WebAssembly have no named
// pipes.
const NonBlocking = 0

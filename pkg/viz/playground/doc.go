// Package playground computes the figures of a web page on which a reader changes the
// settings of a solver and sees the effect at once. The package draws nothing and does
// not depend on a browser: a Figure turns the values of its controls into sentences and
// descriptions of charts. The program in the folder wasm is this package compiled for
// WebAssembly. The JavaScript of the page passes the values of the controls to this
// program, and draws the charts.
//
// A WebAssembly program has only one thread, and Go does not preempt a goroutine that is
// computing. Figure.Advance is therefore called repeatedly, and each call computes only
// for a short time.
package playground

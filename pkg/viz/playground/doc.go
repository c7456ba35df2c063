// Package playground holds the figures of a page on which a reader turns the knobs of a
// solver and sees at once what changes. It draws nothing and does not depend on a
// browser: a Figure turns the values of its knobs into descriptions of charts and
// sentences. The program in the folder wasm is this package compiled for WebAssembly; the
// JavaScript of the site draws the charts and passes on the values of the knobs.
//
// WebAssembly has one thread, and there Go does not preempt a goroutine that is
// computing. So a Figure does its work in pieces: see Figure.Advance.
package playground

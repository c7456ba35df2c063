//go:build js && wasm

// Command wasm is the program of the playground, compiled to WebAssembly. The program
// defines the JavaScript function probodeAnswer, which takes a message from the page and
// returns the answer: see playground.Page.
package main

import (
	"syscall/js"

	"github.com/probode/probode/pkg/viz/playground"
)

func main() {
	var page playground.Page
	js.Global().Set("probodeAnswer", js.FuncOf(func(_ js.Value, args []js.Value) any {
		return page.Answer(args[0].String())
	}))
	select {}
}

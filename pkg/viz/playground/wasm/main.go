//go:build js && wasm

// Command wasm is the playground, to be compiled to WebAssembly. It gives the page one
// function, probodeAnswer, which answers a message: see playground.Page.
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

//go:build !js

// Command wasm, built for systems other than WebAssembly, reads a message from each line
// of standard input and writes the answer to a line of standard output. Tests compare
// these answers with those of the same program in a browser.
package main

import (
	"bufio"
	"fmt"
	"os"

	"github.com/probode/probode/pkg/viz/playground"
)

func main() {
	var page playground.Page
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(nil, 1<<26)
	for in.Scan() {
		fmt.Println(page.Answer(in.Text()))
	}
}

//go:build !js

// Command wasm, when built for a system other than WebAssembly, communicates through
// standard input and output. Each line of the input is a message, and each line of the
// output is the answer to a message. Tests compare the answers of this program with those
// of the WebAssembly program in a browser.
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

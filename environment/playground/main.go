// Command playground builds the playground, a web page whose figures are computed in the
// reader's browser:
//
//	go run ./environment/playground [-out environment/playground/built]
//
// The command writes the files of the page to the folder given by the flag -out. The file
// playground.js is the script of the page. The file program.js contains the worker and
// the compressed WebAssembly program. The WebAssembly program is stored in a script,
// because a page that was opened from a local file can load scripts but not WebAssembly
// files. The file index.html is a page with all figures. If the script environment/lab
// has downloaded ECharts, the command copies ECharts to the same folder. If ECharts has
// not been downloaded, the page loads ECharts from a CDN. The files depend only on the
// sources and the version of Go. If the sources and the version of Go have not changed,
// the program is not compressed again.
package main

import (
	"bytes"
	"compress/flate"
	"context"
	"crypto/sha256"
	"encoding/ascii85"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/probode/probode/internal/shell"
	"github.com/probode/probode/pkg/viz"
	"github.com/probode/probode/pkg/viz/playground"
)

const sources = "environment/playground"

func main() {
	shell.Main("playground", func(_ context.Context, args []string) error {
		flags := flag.NewFlagSet("playground", flag.ContinueOnError)
		out := flags.String("out", sources+"/built", "folder for the files")
		if err := shell.Parse(flags, args); err != nil {
			return err
		}
		return build(*out)
	})
}

func build(out string) error {
	if err := os.MkdirAll(out, 0o755); err != nil {
		return err
	}
	texts := map[string]string{}
	for _, path := range []string{"pkg/viz/loader.js", sources + "/playground.js", sources + "/playground.css", sources + "/worker.js", sources + "/page.html"} {
		text, err := os.ReadFile(path)
		if err != nil {
			return fmt.Errorf("%w: run this program in the top folder of the repository", err)
		}
		texts[filepath.Base(path)] = string(text)
	}
	style, err := json.Marshal(texts["playground.css"])
	if err != nil {
		return err
	}
	// The code that loads ECharts is the same as in the figures of package viz.
	script := `window.probodeECharts = window.probodeECharts || document.currentScript.src.replace(/[^/]*$/, "echarts.min.js");` + "\n" +
		texts["loader.js"] + strings.Replace(texts["playground.js"], `"STYLES"`, string(style), 1)
	var boxes strings.Builder
	for _, name := range playground.Names() {
		fmt.Fprintf(&boxes, "<h2 id=\"%[1]s\">%[1]s</h2>\n<div data-play=\"%[1]s\"><p>This figure needs JavaScript and WebAssembly.</p></div>\n", name)
	}
	page := viz.Guard(strings.Replace(texts["page.html"], "{{figures}}", boxes.String(), 1))
	files := map[string][]byte{"playground.js": []byte(script), "index.html": []byte(page)}
	for from, to := range map[string]string{"echarts.min.js": "echarts.min.js", "LICENSE": "echarts-LICENSE", "NOTICE": "echarts-NOTICE"} {
		if text, err := os.ReadFile("environment/echarts/" + from); err == nil {
			files[to] = text
		}
	}
	for name, text := range files {
		if err := shell.WriteFile(filepath.Join(out, name), text); err != nil {
			return err
		}
	}
	return program(filepath.Join(out, "program.js"), texts["worker.js"])
}

// program does not write a script again that has the hash of program and worker in its
// first line.
func program(path, worker string) error {
	wasm, err := compiled()
	if err != nil {
		return err
	}
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return err
	}
	support, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(root)), "lib", "wasm", "wasm_exec.js"))
	if err != nil {
		return err
	}
	text, err := json.Marshal(string(support) + worker)
	if err != nil {
		return err
	}
	first := fmt.Appendf(nil, "// %x\n", sha256.Sum256(append(bytes.Clone(wasm), text...)))
	if old, err := os.ReadFile(path); err == nil && bytes.HasPrefix(old, first) {
		return nil
	}
	var packed bytes.Buffer
	z, _ := flate.NewWriter(&packed, flate.BestCompression)
	if _, err := z.Write(wasm); err != nil {
		return err
	}
	if err := z.Close(); err != nil {
		return err
	}
	// Five characters encode four bytes. In a JavaScript string, the characters " and \
	// would have to be escaped. The letters v and w, which Ascii85 does not use, replace
	// the characters " and \.
	digits := make([]byte, ascii85.MaxEncodedLen(packed.Len()))
	digits = digits[:ascii85.Encode(digits, packed.Bytes())]
	digits = bytes.ReplaceAll(bytes.ReplaceAll(digits, []byte(`"`), []byte("v")), []byte(`\`), []byte("w"))
	content := fmt.Appendf(nil, "%swindow.probodeProgram = {worker: %s, packed: \"%s\", size: %d};\n", first, text, digits, packed.Len())
	fmt.Printf("playground: the size of the program is %.1f MB, %.1f MB after compression, and %.1f MB as text in a JavaScript file\n", float64(len(wasm))/1e6, float64(packed.Len())/1e6, float64(len(content))/1e6)
	return shell.WriteFile(path, content)
}

// hot is the package whose functions are inlined: without them elsewhere, the compressed
// program is a tenth smaller, and ensembles take at most 1.5 % longer.
const hot = "github.com/probode/probode/pkg/probode/adams"

// compiled has neither the path of the repository nor the hash of the commit.
func compiled() ([]byte, error) {
	dir, err := os.MkdirTemp("", "probode-playground-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "probode.wasm")
	args := []string{"build", "-trimpath", "-buildvcs=false", "-ldflags=-s -w", "-gcflags=all=-l", "-gcflags=" + hot + "="}
	c := exec.Command("go", append(args, "-o", file, "./pkg/viz/playground/wasm")...)
	c.Env = append(os.Environ(), "GOOS=js", "GOARCH=wasm", "GOWASM=", "GOFLAGS=", "GOEXPERIMENT=")
	if text, err := c.CombinedOutput(); err != nil {
		return nil, errors.Join(err, errors.New(strings.TrimSpace(string(text))))
	}
	return os.ReadFile(file)
}

// Command packages writes the documentation of this module's packages as JSON, from which
// environment/site/build.py makes pages:
//
//	go run ./environment/site/packages
//
// For each package, the command writes the doc comment, every exported declaration with
// its comment, and the examples from the test files. The declarations, comments and
// examples are written as HTML. For the search index of the site, the command also writes
// the comments as plain text. The names of exported declarations link to their
// documentation.
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/doc"
	"go/parser"
	"go/token"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"sort"
	"strings"
)

type page struct {
	ImportPath string
	Path       string // within the module
	Name       string
	Synopsis   string
	File       string // the name of the page
	HTML       string
	Text       string
	Symbols    []symbol
}

// listed has the fields that are needed from go list.
type listed struct {
	Dir, ImportPath, Name              string
	GoFiles, TestGoFiles, XTestGoFiles []string
	Module                             struct{ Path string }
}

// course leaves out packages that a user has added, such as the program euler from the
// README.
var course = []string{"./pkg/...", "./internal/...", "./reproduce/...", "./environment/..."}

func main() {
	log.SetFlags(0)
	log.SetPrefix("packages: ")
	pages, err := build(".", course)
	if err != nil {
		log.Fatal(err)
	}
	out := json.NewEncoder(os.Stdout)
	out.SetEscapeHTML(false)
	if err := out.Encode(pages); err != nil {
		log.Fatal(err)
	}
}

func build(folder string, patterns []string) ([]page, error) {
	all, err := list(folder, patterns)
	if err != nil {
		return nil, err
	}
	files := map[string]string{} // of the pages, by import path
	for _, l := range all {
		files[l.ImportPath] = fileOf(l)
	}
	var pages []page
	for _, l := range all {
		fset := token.NewFileSet()
		p, err := parse(fset, l)
		if err != nil {
			return nil, err
		}
		w := newWriter(fset, p, files)
		pages = append(pages, page{
			ImportPath: l.ImportPath, Path: strings.TrimPrefix(l.ImportPath, l.Module.Path+"/"), Name: l.Name,
			Synopsis: p.Synopsis(p.Doc), File: files[l.ImportPath],
			HTML: w.page(), Text: p.Doc, Symbols: w.symbols,
		})
	}
	sort.Slice(pages, func(i, j int) bool { return pages[i].Path < pages[j].Path })
	return pages, nil
}

func list(folder string, patterns []string) ([]listed, error) {
	cmd := exec.Command("go", append([]string{"list", "-json=Dir,ImportPath,Name,GoFiles,TestGoFiles,XTestGoFiles,Module"}, patterns...)...)
	cmd.Dir = folder
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w: %s", err, bytes.TrimSpace(stderr.Bytes()))
	}
	var all []listed
	for dec := json.NewDecoder(bytes.NewReader(out)); dec.More(); {
		var l listed
		if err := dec.Decode(&l); err != nil {
			return nil, err
		}
		all = append(all, l)
	}
	return all, nil
}

// fileOf returns the name of the file that documents a package; for pkg/probode/bayes it
// is package-probode.bayes.html.
func fileOf(l listed) string {
	path := strings.TrimPrefix(strings.TrimPrefix(l.ImportPath, l.Module.Path+"/"), "pkg/")
	return "package-" + strings.ReplaceAll(path, "/", ".") + ".html"
}

func parse(fset *token.FileSet, l listed) (*doc.Package, error) {
	var files []*ast.File
	for _, names := range [][]string{l.GoFiles, l.TestGoFiles, l.XTestGoFiles} {
		for _, name := range names {
			f, err := parser.ParseFile(fset, filepath.Join(l.Dir, name), nil, parser.ParseComments)
			if err != nil {
				return nil, err
			}
			files = append(files, f)
		}
	}
	return doc.NewFromFiles(fset, files, l.ImportPath)
}

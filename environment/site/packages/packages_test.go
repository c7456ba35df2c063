package main

import (
	"go/ast"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// Every link of a page leads to a heading of that page or to a page that there is,
// every exported name has its place, and examples are there with their output.
func TestPages(t *testing.T) {
	pages, err := build("../../..", []string{"./pkg/probode", "./pkg/probode/problems", "./pkg/probode/bayes"})
	if err != nil {
		t.Fatal(err)
	}
	ids := map[string]map[string]bool{}
	for _, p := range pages {
		ids[p.File] = map[string]bool{}
		for _, m := range regexp.MustCompile(`id="([^"]+)"`).FindAllStringSubmatch(p.HTML, -1) {
			if ids[p.File][m[1]] {
				t.Errorf("%s: two places %q", p.Path, m[1])
			}
			ids[p.File][m[1]] = true
		}
	}
	for _, p := range pages {
		if len(p.Symbols) < 10 {
			t.Errorf("%s: only %d names", p.Path, len(p.Symbols))
		}
		for _, s := range p.Symbols {
			if !ids[p.File][s.Anchor] || !ast.IsExported(s.Name) {
				t.Errorf("%s: %s has no place %q", p.Path, s.Name, s.Anchor)
			}
		}
		across := 0
		for _, m := range regexp.MustCompile(`href="([^"#]*)#?([^"]*)"`).FindAllStringSubmatch(p.HTML, -1) {
			to := m[1]
			if strings.HasPrefix(to, "http") {
				continue
			}
			if to == "" {
				to = p.File
			} else {
				across++
			}
			if ids[to] == nil || m[2] != "" && !ids[to][m[2]] {
				t.Errorf("%s: dead link %s", p.Path, m[0])
			}
		}
		if p.Name != "probode" && across == 0 {
			t.Errorf("%s: no link to package probode", p.Path)
		}
	}
	if p := pages[0].HTML; !strings.Contains(p, "<summary>Example") || !strings.Contains(p, `<pre class="output">`) {
		t.Error("no example with its output")
	}
}

// The program of the README, saved where the README says, is no package of the module.
func TestPackagesOfReader(t *testing.T) {
	root := t.TempDir()
	for path, text := range map[string]string{
		"go.mod":                       "module example.org/course\n",
		"pkg/solver/solver.go":         "package solver\n",
		"internal/files/files.go":      "package files\n",
		"reproduce/main.go":            "package main\n",
		"environment/release/main.go":  "package main\n",
		"euler/main.go":                "package main\n",
		"own/homework/second/solve.go": "package second\n",
	} {
		path = filepath.Join(root, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	pages, err := build(root, course)
	if err != nil {
		t.Fatal(err)
	}
	var paths []string
	for _, p := range pages {
		paths = append(paths, p.Path)
	}
	if want := []string{"environment/release", "internal/files", "pkg/solver", "reproduce"}; !slices.Equal(paths, want) {
		t.Errorf("the site documents %v, want %v", paths, want)
	}
}

func TestUnknownPackage(t *testing.T) {
	if _, err := build(".", []string{"./nosuch"}); err == nil || !strings.Contains(err.Error(), "nosuch") {
		t.Errorf("got %v, want an error that names the package", err)
	}
}

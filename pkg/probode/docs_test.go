package probode_test

import (
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// The page on adding a method shows the code of the example, which is compiled
// and run.
func TestPageShowsTheExample(t *testing.T) {
	page, err := os.ReadFile("../../docs/adding-a-method.md")
	if err != nil {
		t.Fatal(err)
	}
	code, err := os.ReadFile("example_method_test.go")
	if err != nil {
		t.Fatal(err)
	}
	at := -1
	for _, begin := range []string{"type Verlet struct{}", "// reverse goes", "// oscillator is"} {
		next := strings.Index(string(code), begin)
		if next < at || next < 0 {
			t.Fatal("the example has changed its form")
		}
		if at >= 0 && !strings.Contains(string(page), strings.TrimSpace(string(code[at:next]))) {
			t.Errorf("docs/adding-a-method.md does not show the code of example_method_test.go before %q", begin)
		}
		at = next
	}
}

// The rule on imports and the list of files in the package documentation.
func TestPackage(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil || len(files) < 10 {
		t.Fatal(files, err)
	}
	doc, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		if name != "doc.go" && !strings.Contains(string(doc), " "+name) {
			t.Errorf("doc.go does not mention %s", name)
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ImportsOnly)
		if err != nil {
			t.Fatal(err)
		}
		for _, i := range f.Imports {
			path, _ := strconv.Unquote(i.Path.Value)
			first, _, _ := strings.Cut(path, "/")
			rest, ours := strings.CutPrefix(path, "github.com/probode/probode/pkg/")
			switch {
			case !strings.Contains(first, "."): // the standard library
			case ours && (rest == "probode/linalg" || rest == "probode/field" || strings.HasPrefix(rest, "internal/") || strings.HasPrefix(rest, "probode/internal/")):
			default:
				t.Errorf("%s imports %s", name, path)
			}
		}
	}
}

// Imports run from one ring to itself and to the rings before it: numerics, inference,
// verdict, and the doors, which are all that is not named here.
func TestRings(t *testing.T) {
	rings := []string{
		"internal linalg field adams methods filter gp reference calibrate steplaw problems catalog",
		"mcmc bayes matching internal/estimate",
		"bayes/certify bayes/assess bayes/sbc",
		"internal/filterbench internal/likelihoodbench",
	}
	ring := func(dir string) (of int) {
		longest := 0
		for i, names := range rings {
			for _, d := range strings.Fields(names) {
				if strings.HasPrefix(dir+"/", d+"/") && len(d) > longest {
					of, longest = i, len(d)
				}
			}
		}
		if longest == 0 && dir != "." {
			of = len(rings) - 1
		}
		return of
	}
	files, err := filepath.Glob("*.go")
	for dir := "*/"; err == nil && len(dir) < 10; dir += "*/" {
		var more []string
		more, err = filepath.Glob(dir + "*.go")
		files = append(files, more...)
	}
	if err != nil || len(files) < 300 {
		t.Fatal(files, err)
	}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ImportsOnly)
		if err != nil {
			t.Fatal(err)
		}
		for _, i := range f.Imports {
			path, _ := strconv.Unquote(i.Path.Value)
			if to, ours := strings.CutPrefix(path, "github.com/probode/probode/pkg/probode/"); ours && ring(to) > ring(filepath.ToSlash(filepath.Dir(name))) {
				t.Errorf("%s imports %s", name, to)
			}
		}
	}
}

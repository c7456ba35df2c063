package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/probode/probode/pkg/probode/bayes/cases"
	"github.com/probode/probode/pkg/probode/catalog"
	"github.com/probode/probode/pkg/probode/problems"
)

// helpOf returns the help of a command, and the flags that it lists.
func helpOf(verb string) (text string, flags []string) {
	var out strings.Builder
	run(context.Background(), []string{verb, "-help-all"}, &out) // the error is that help was asked for
	for _, m := range regexp.MustCompile(`(?m)^  -([a-z-]+)`).FindAllStringSubmatch(out.String(), -1) {
		flags = append(flags, m[1])
	}
	return out.String(), flags
}

// The documents, and the examples in the help of the commands, name only flags, problems,
// cases, methods and schemes that exist, whether in a command line or on their own.
func TestDocumentsNameWhatExists(t *testing.T) {
	texts := map[string]string{}
	pages, err := filepath.Glob("../../../../docs/*.md")
	if err != nil || len(pages) < 15 {
		t.Fatalf("%d pages: %v", len(pages), err)
	}
	for _, page := range append(pages, "../../../../README.md", "../../model/MODELFILE.md") {
		content, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		texts[filepath.Base(page)] = string(content)
	}
	flags, every := map[string][]string{}, []string{"help"}
	for _, c := range commands {
		if c.name == "version" {
			continue
		}
		texts[c.name+" -help"], flags[c.name] = helpOf(c.name)
		every = append(every, flags[c.name]...)
	}
	check := map[string]func(value string) error{
		"problem": func(v string) error { _, err := problems.Named(v); return err },
		"case":    func(v string) error { _, err := cases.Named(v); return err },
		"method": func(list string) error {
			var errs []error
			for _, v := range methodList(list) {
				_, err := catalog.Parse(v)
				errs = append(errs, err)
			}
			return errors.Join(errs...)
		},
		"scheme": func(v string) error { _, err := samplerNamed(v); return err },
	}
	line := regexp.MustCompile("(?:^|[`\n]|&& |  )probode ([a-z]+)((?: [^`\n]*)?)")
	option := regexp.MustCompile(`(?:^|\s)-([a-z][a-z-]*)(?:[ =]([^\s|]+))?`)
	alone := regexp.MustCompile("`-([a-z][a-z-]+)[^`]*`")
	lines, words := 0, 0
	for name, text := range texts {
		text = strings.ReplaceAll(text, "\\\n", " ")
		for _, m := range line.FindAllStringSubmatch(text, -1) {
			verb, rest := m[1], m[2]
			rest, _, _ = strings.Cut(rest, "#")
			rest, _, _ = strings.Cut(rest, "&&")
			if flags[verb] == nil { // prose
				continue
			}
			for _, o := range option.FindAllStringSubmatch(rest, -1) {
				lines++
				if o[1] != "help" && !slices.Contains(flags[verb], o[1]) {
					t.Errorf("%s: probode %s%s: there is no flag -%s", name, verb, rest, o[1])
				}
				special := o[1] == "method" && verb == "solve" && o[2] == "reference"
				if known := check[o[1]]; known != nil && !special && o[2] != strings.ToUpper(o[2]) {
					if err := known(o[2]); err != nil {
						t.Errorf("%s: probode %s%s: %v", name, verb, rest, err)
					}
				}
			}
		}
		for _, m := range alone.FindAllStringSubmatch(text, -1) {
			if words++; !slices.Contains(every, m[1]) {
				t.Errorf("%s: %s: no command has the flag -%s", name, m[0], m[1])
			}
		}
	}
	if lines < 150 || words < 60 {
		t.Errorf("%d flags in command lines and %d on their own: want more, or the search for them is wrong", lines, words)
	}
}

// The links between the documents lead to files that exist. The builder of the site checks
// those in docs, too, but not those in the files beside it.
func TestLinksOfDocuments(t *testing.T) {
	root := filepath.FromSlash("../../../../")
	links := 0
	for _, pattern := range []string{"*.md", "docs/*.md", "notebooks/*.md", "pkg/probode/model/*.md"} {
		pages, err := filepath.Glob(root + pattern)
		if err != nil || pages == nil {
			t.Fatalf("%s: %v", pattern, err)
		}
		for _, page := range pages {
			text, err := os.ReadFile(page)
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range regexp.MustCompile(`\]\(([^)#:\s]+)[^):]*\)`).FindAllSubmatch(text, -1) {
				links++
				if _, err := os.Stat(filepath.Join(filepath.Dir(page), string(m[1]))); err != nil {
					t.Errorf("%s: %v", filepath.Base(page), err)
				}
			}
		}
	}
	if links < 200 {
		t.Errorf("%d links", links)
	}
}

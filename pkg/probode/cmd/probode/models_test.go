package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// The model files that the documents show are those in the folder models, and the
// commands for the model of yeast that take no time print what the page has.
func TestModelsOfTheDocuments(t *testing.T) {
	read := func(name string) string {
		text, err := os.ReadFile(filepath.FromSlash("../../../../" + name))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	block := regexp.MustCompile("(?s)```yaml\n(.*?)```")
	for page, model := range map[string]string{
		"docs/fit-a-model.md":      "models/yeast.yaml",
		"docs/from-stan.md":        "models/lynx-hare.yaml",
		"docs/from-r-or-python.md": "models/lynx-hare.yaml",
		"docs/from-petab.md":       "models/lynx-hare.yaml",
		"README.md":                "models/yeast.yaml",
	} {
		if m := block.FindStringSubmatch(read(page)); m == nil || m[1] != read(model) {
			t.Errorf("%s does not show %s", page, model)
		}
	}
	page := read("docs/fit-a-model.md")
	t.Chdir(filepath.FromSlash("../../../../models"))
	var out strings.Builder
	if err := run(t.Context(), []string{"fit", "-model", "yeast.yaml", "-profiles"}, &out); err != nil {
		t.Fatal(err)
	}
	// How close to zero the slope comes is rounding, and the column is as wide as its number.
	spaces, slope := regexp.MustCompile(` +`), regexp.MustCompile(`\S+ optimum`)
	without := func(text string) string {
		return slope.ReplaceAllString(spaces.ReplaceAllString(text, " "), "optimum")
	}
	if !strings.Contains(without(page), without(out.String())) {
		t.Errorf("docs/fit-a-model.md does not have\n%s", out.String())
	}
}

// The README shows what its commands print.
func TestREADME(t *testing.T) {
	if testing.Short() {
		t.Skip("assesses two models, which takes ten seconds")
	}
	readme, err := os.ReadFile(filepath.FromSlash("../../../../README.md"))
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(filepath.FromSlash("../../../../models"))
	found := regexp.MustCompile("probode (assess .*)\n```\n\n```text\n((?s:.*?))```").FindAllStringSubmatch(string(readme), -1)
	if len(found) != 2 {
		t.Fatalf("%d commands with their output", len(found))
	}
	for _, m := range found {
		var out strings.Builder
		if err := run(t.Context(), strings.Fields(m[1]), &out); err != nil || out.String() != m[2] {
			t.Errorf("%s prints (error %v)\n%s", m[1], err, out.String())
		}
	}
}

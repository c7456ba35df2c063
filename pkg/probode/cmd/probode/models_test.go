package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// The model files that the documents show are those in the folder models.
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
}

// The pages show what their commands print: every line of a block of text is one that the
// command before it prints, with -v if there is a second block.
func TestDocumentsShowWhatCommandsPrint(t *testing.T) {
	models, err := filepath.Abs(filepath.FromSlash("../../../../models"))
	if err != nil {
		t.Fatal(err)
	}
	// How close to zero a slope comes is rounding, a time is that of a machine, and a column
	// is as wide as its numbers.
	changes := regexp.MustCompile(`\S+ (optimum|matters|negligible)$`)
	plain := func(line string) string {
		return changes.ReplaceAllString(strings.Join(strings.Fields(line), " "), "$1")
	}
	for _, p := range []struct {
		page, dir string
		blocks    int
	}{{"README.md", "models", 2}, {"docs/fit-a-model.md", "models", 10}, {"docs/from-stan.md", ".", 1}} {
		content, err := os.ReadFile(filepath.FromSlash("../../../../" + p.page))
		if err != nil {
			t.Fatal(err)
		}
		t.Run(p.page, func(t *testing.T) {
			t.Chdir(t.TempDir())
			if err := os.CopyFS("models", os.DirFS(models)); err != nil {
				t.Fatal(err)
			}
			t.Chdir(p.dir)
			blocks := 0
			for _, part := range strings.Split(string(content), "```sh\n")[1:] {
				commands, rest, _ := strings.Cut(part, "```")
				texts := regexp.MustCompile("(?s)```text\n(.*?)```").FindAllStringSubmatch(rest, -1)
				slow := !strings.Contains(commands, "-profiles")
				if len(texts) == 0 || strings.Contains(commands, "'") || slow && testing.Short() {
					continue
				}
				printed := map[string]bool{}
				for _, command := range regexp.MustCompile(`(?m)(?:^|&& )probode ([^&\n]+)`).FindAllStringSubmatch(commands, -1) {
					args := strings.Fields(command[1])
					if len(texts) > 1 && args[0] == "assess" {
						args = slices.Insert(args, 1, "-v")
					}
					var out strings.Builder
					if err := run(t.Context(), args, &out); err != nil {
						t.Fatalf("%s: %v", command[1], err)
					}
					for line := range strings.Lines(out.String()) {
						printed[plain(line)] = true
					}
				}
				for _, text := range texts {
					blocks++
					for line := range strings.Lines(text[1]) {
						if line = plain(line); line != "…" && !printed[line] && !strings.HasPrefix(line, "probode: ") {
							t.Errorf("%sprints no line %q", commands, line)
						}
					}
				}
			}
			if blocks != p.blocks && !testing.Short() {
				t.Errorf("%d blocks of text: want %d", blocks, p.blocks)
			}
		})
	}
}

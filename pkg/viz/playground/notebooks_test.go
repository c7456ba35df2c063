package playground

import (
	"encoding/json"
	"math"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// A live figure of a notebook names two or three knobs. Each link in the text that moves
// knobs names a live figure of this notebook, its knobs and values that they can have.
func TestFiguresOfNotebooks(t *testing.T) {
	files, err := filepath.Glob("../../../notebooks/[0-9]*.ipynb")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	play := regexp.MustCompile(`nb\.Play\("\w+", map\[string\]any\{([^}]*)\}`)
	link, n := regexp.MustCompile(`\]\(#(\w+)\?([^)]+)\)`), 0
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var nb struct {
			Cells []struct {
				Type   string `json:"cell_type"`
				Source []string
			}
		}
		if err := json.Unmarshal(text, &nb); err != nil {
			t.Fatal(err)
		}
		var prose, code strings.Builder
		for _, c := range nb.Cells {
			if c.Type == "code" {
				code.WriteString(strings.Join(c.Source, ""))
			} else {
				prose.WriteString(strings.Join(c.Source, ""))
			}
		}
		for _, m := range play.FindAllStringSubmatch(code.String(), -1) {
			if knobs := strings.Count(m[1], ":"); knobs < 2 || knobs > 3 {
				t.Errorf("%s: %s names %d knobs", filepath.Base(file), m[0], knobs)
			}
		}
		for _, m := range link.FindAllStringSubmatch(prose.String(), -1) {
			n++
			if strings.Count(code.String(), `nb.Play("`+m[1]+`"`) != 1 {
				t.Errorf("%s: %s does not lead to one figure", filepath.Base(file), m[0])
				continue
			}
			query, err := url.ParseQuery(m[2])
			if err != nil {
				t.Fatal(err)
			}
			values := map[string]any{}
			for name, all := range query { // as in playground.js
				values[name] = all[0]
				if v, err := strconv.ParseFloat(all[0], 64); err == nil {
					values[name] = v
				} else if all[0] == "true" || all[0] == "false" {
					values[name] = all[0] == "true"
				}
			}
			f, err := Open(m[1])
			if err != nil {
				t.Fatal(err)
			}
			if err := f.Set(values); err != nil {
				t.Errorf("%s: %s: %v", filepath.Base(file), m[0], err)
				continue
			}
			for name, v := range values {
				if got := f.named(name).Value; got != v {
					t.Errorf("%s: %s sets %s to %v", filepath.Base(file), m[0], name, got)
				}
			}
			f.Close()
		}
	}
	if n < 10 {
		t.Errorf("%d links", n)
	}
}

// The reference takes at least 60 % of the height of each axis, and leaves it nowhere.
func TestAxesOfPaths(t *testing.T) {
	for name, i := range integrable {
		f := opened[*paths](t, "paths")
		if err := f.Set(map[string]any{"problem": name, "paths": 2.}); err != nil {
			t.Fatal(err)
		}
		finished(t, f.Figure)
		d := len(i.states)
		for k, axis := range i.states {
			low, high := math.Inf(1), math.Inf(-1)
			for j := k; j < len(f.truth.X); j += d {
				low, high = min(low, f.truth.X[j]), max(high, f.truth.X[j])
			}
			if low < axis[0] || high > axis[1] || high-low < 0.6*(axis[1]-axis[0]) {
				t.Errorf("%s, component %d: from %.3g to %.3g on an axis from %v to %v", name, k, low, high, axis[0], axis[1])
			}
		}
	}
}

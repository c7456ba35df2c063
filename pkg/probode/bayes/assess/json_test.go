package assess_test

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/bayes/assess"
	"github.com/probode/probode/pkg/probode/bayes/certify"
	"github.com/probode/probode/pkg/probode/bayes/sample"
	"github.com/probode/probode/pkg/probode/mcmc"
	"github.com/probode/probode/pkg/probode/methods"
)

// documented returns the names in the first column of the table of docs/json.md
// under a heading.
func documented(t *testing.T, heading string) map[string]bool {
	t.Helper()
	text, err := os.ReadFile("../../../../docs/json.md")
	if err != nil {
		t.Fatal(err)
	}
	_, part, ok := strings.Cut(string(text), "\n## "+heading+"\n")
	if !ok {
		t.Fatalf("docs/json.md has no part %q", heading)
	}
	part, _, _ = strings.Cut(part, "\n## ")
	names := map[string]bool{}
	quoted := regexp.MustCompile("`([^`]+)`")
	for line := range strings.Lines(part) {
		if cells := strings.Split(line, "|"); len(cells) > 2 {
			for _, m := range quoted.FindAllStringSubmatch(cells[1], -1) {
				names[m[1]] = true
			}
		}
	}
	return names
}

// flatten adds the names in a value to those that are there. byName are objects whose
// names are those of parameters.
func flatten(names map[string]bool, at string, v any, byName map[string]bool) {
	switch v := v.(type) {
	case map[string]any:
		for name, w := range v {
			next := strings.TrimPrefix(at+"."+name, ".")
			if byName[at] {
				next = at + ".*"
			}
			flatten(names, next, w, byName)
		}
	case []any:
		for _, w := range v {
			flatten(names, at+"[]", w, byName)
		}
		if len(v) == 0 {
			names[at+"[]"] = true
		}
	default:
		names[at] = true
	}
}

// matches reports the names that only the documentation or only the output has.
// What holds others needs no line of its own.
func matches(t *testing.T, heading string, texts ...[]byte) {
	t.Helper()
	want, got := documented(t, heading), map[string]bool{}
	byName := map[string]bool{}
	for name := range want {
		if of, ok := strings.CutSuffix(name, ".*"); ok {
			byName[of] = true
		}
	}
	for _, text := range texts {
		var v any
		if err := json.Unmarshal(text, &v); err != nil {
			t.Fatal(err)
		}
		flatten(got, "", v, byName)
	}
	for _, name := range slices.Sorted(maps.Keys(got)) {
		if !want[name] {
			t.Errorf("%s: %s is written and not documented", heading, name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(want)) {
		holds := false
		for other := range got {
			holds = holds || strings.HasPrefix(other, name+".") || strings.HasPrefix(other, name+"[]")
		}
		if !got[name] && !holds {
			t.Errorf("%s: %s is documented and not written", heading, name)
		}
	}
}

// Every name of docs/json.md is written, and no other. Three reports together have all of
// them: one of steps, one of tolerances with noise, and one with two modes.
func TestJSONIsAsDocumented(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	chains := mcmc.Settings{Draws: 200, Seed: 2}
	loose := within(1e-2)
	loose[0].Method = methods.RungeKutta{}
	var texts [][]byte
	for _, a := range []*assess.Report{
		assessed(t, assessPosterior(0.25), assess.Settings{Candidates: at(0.125, 0.25), Chains: chains}),
		assessed(t, assessPosterior(0.25), assess.Settings{Candidates: loose, Noise: sample.Hamiltonian{}, Chains: chains}),
		assessed(t, caseOf(t, "alias"), assess.Settings{Candidates: at(0.05), MaxDraws: 200, Chains: chains}),
	} {
		var text bytes.Buffer
		if err := a.WriteJSON(&text); err != nil {
			t.Fatal(err)
		}
		texts = append(texts, text.Bytes())
		for _, x := range a.Candidates {
			mass := 0.0
			for _, m := range x.Modes {
				mass += m.Mass
			}
			if !(mass > 0) {
				t.Errorf("%v: masses sum to %g", x, mass)
			}
		}
	}
	matches(t, "assess", texts...)

	all := certify.Certificates{Model: "m", Threshold: 0.1}
	var err error
	ctx, p, c := context.Background(), assessPosterior(0.25), certify.Settings{Modes: [][]float64{{1}}}
	if all.All, err = certify.Each(ctx, p, []probode.Setup{{Mesh: probode.Uniform(0.25)}, {Mesh: probode.Adaptive{Tolerance: probode.Tolerance{Relative: 1e-3}}}}, c); err != nil {
		t.Fatal(err)
	}
	if all.Enough, err = certify.LargestEnough(ctx, p, certify.EnoughSettings{Settings: c, Number: 5}); err != nil {
		t.Fatal(err)
	}
	var text bytes.Buffer
	if err := all.WriteJSON(&text); err != nil {
		t.Fatal(err)
	}
	matches(t, "certify", text.Bytes())
}

package problems

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/probode/probode/pkg/probode"
)

// Named returns the problem with the given name: for example, lotka-volterra for
// LotkaVolterra. Named ignores the case of letters, and treats punctuation as hyphens. In
// addition to the names of the problems that All returns, Named accepts fhn for
// FitzHughNagumo. Named also accepts hires, rober, orego, vdpol and plei, with the
// parameters and time spans of the Test Set for Initial Value Problem Solvers. The error
// lists all names.
//
// Source: Mazzia & Magherini, Test Set for Initial Value Problem Solvers,
// release 2.4.
func Named(name string) (*probode.Problem, error) {
	key := typed(name)
	if p, ok := testSet[key]; ok {
		return p(), nil
	}
	names := namesOfAll()
	if i := slices.Index(names, key); i >= 0 {
		return All()[i], nil
	}
	if r := []rune(name); len(r) > 40 {
		name = string(r[:40]) + "…"
	}
	return nil, fmt.Errorf("no problem %q: want one of %s", name, strings.Join(Names(), ", "))
}

// Names returns the known problem names in alphabetical order.
func Names() []string {
	names := namesOfAll()
	for name := range testSet {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// testSet maps short names to functions that return the problems. All these names except
// fhn come from the Test Set for Initial Value Problem Solvers.
var testSet = map[string]func() *probode.Problem{
	"hires": HIRES,
	"rober": func() *probode.Problem { return over(Robertson(), 0, 1e11) },
	"orego": func() *probode.Problem { return over(Oregonator(), 0, 360) },
	"vdpol": func() *probode.Problem { return over(VanDerPol(1e6), 0, 2) },
	"plei":  Pleiades,
	"fhn":   FitzHughNagumo,
}

func over(p *probode.Problem, from, to float64) *probode.Problem {
	p.Span = [2]float64{from, to}
	return p
}

func namesOfAll() []string {
	var names []string
	for _, p := range All() {
		name, more, _ := strings.Cut(p.Name, "(")
		name = typed(name)
		if slices.Contains(names, name) {
			// An earlier problem already has this name, so the first word or number in
			// parentheses is appended to the name. For example, Lotka–Volterra (20, 20)
			// becomes lotka-volterra-20.
			n, _, _ := strings.Cut(typed(more), "-")
			name += "-" + n
		}
		names = append(names, name)
	}
	return names
}

// typed keeps lower-case letters, digits and hyphens.
func typed(name string) string {
	words := strings.FieldsFunc(strings.ToLower(strings.ReplaceAll(name, "é", "e")), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r)
	})
	return strings.Join(words, "-")
}

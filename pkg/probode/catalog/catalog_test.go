package catalog

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/problems"
)

func TestParse(t *testing.T) {
	for name, want := range map[string]string{
		"ab1": "AB1", "ab5": "AB5", "am0": "AM0 (newton)", "AM4": "AM4 (newton)", "am2,current": "AM2 (current)",
		" am1 , predictor ": "AM1 (predictor)", "rk4": "RK4", "heun3": "Heun3", "midpoint": "midpoint", "dp5": "DP5",
		"ek0": "EK0(3)", "ek1,5": "EK1(5)", "ckf,2": "CKF(2)", "gauss1": "Gauss1", "gauss2": "Gauss2", "radau3": "Radau3", "radau5": "Radau5", "interrogation": "interrogation", "block": "block",
		"random:gauss1": "Gauss1, random steps", "random:am1,current": "AM1 (current), random steps",
	} {
		m, err := Parse(name)
		if err != nil || m.String() != want {
			t.Errorf("%q: %v, %v, want %s", name, m, err, want)
		}
	}
	for _, name := range Names() {
		m, err := Parse(name)
		if err != nil {
			t.Errorf("%q: %v", name, err)
			continue
		}
		if _, err := probode.Integrate(t.Context(), problems.Logistic(), m, 1, probode.Settings{StepSize: 0.0625}); err != nil {
			t.Error(err)
		}
	}
	for _, name := range []string{"", "ab0", "ab6", "am5", "ab1,current", "am1,", "am1,exact", "gauss3", "random:", "random:ab2", "random:random:rk4", "random:block", "random:interrogation", "radau", "rk4,x"} {
		if m, err := Parse(name); err == nil {
			t.Errorf("%q is taken for %v", name, m)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, name := range Names() {
		f.Add(name)
		f.Add("random:" + name)
		f.Add(name + ",current")
	}
	f.Add(strings.Repeat("ä", 200))
	f.Add("a\nb\x00\xff")
	f.Fuzz(func(t *testing.T, name string) {
		m, err := Parse(name)
		if err != nil {
			text := err.Error()
			if strings.Contains(text, "\n") || !utf8.ValidString(text) || utf8.RuneCountInString(text) > 4*80+2+len(Help)+100 {
				t.Fatalf("error %q", text)
			}
			return
		}
		p := problems.FitzHughNagumo()
		g, err := probode.UniformGrid(p, nil, 0.125)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := probode.NewSolver(p, m, g, 1e-3); err != nil {
			t.Fatalf("%q: %v", name, err)
		}
	})
}

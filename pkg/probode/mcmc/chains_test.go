package mcmc

import (
	"math"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
)

// by hand: two chains of five draws of two parameters.
func small() *Chains {
	return &Chains{
		Names: []string{"a", "θ₂"},
		Draws: [][][]float64{
			{{1, 10}, {2, 30}, {3, 20}, {4, 50}, {5, 40}},
			{{6, 10}, {7, 20}, {8, 30}, {9, 40}, {10, 50}},
		},
	}
}

func TestChainsViews(t *testing.T) {
	c := small()
	if got, want := c.Parameter(1), [][]float64{{10, 30, 20, 50, 40}, {10, 20, 30, 40, 50}}; !reflect.DeepEqual(got, want) {
		t.Errorf("parameter %v, want %v", got, want)
	}
	pooled := c.Pooled()
	if len(pooled) != 10 || pooled[5][0] != 6 || &pooled[9][1] != &c.Draws[1][4][1] {
		t.Errorf("pooled draws %v", pooled)
	}
}

func TestSummary(t *testing.T) {
	c := small()
	s := c.Summary()
	// 1 to 10: the sum of squares about the mean is 10·99/12; quantiles
	// interpolate between order statistics at 9p.
	m := s[0]
	for _, v := range []struct {
		name      string
		got, want float64
	}{
		{"mean", m.Mean, 5.5},
		{"sd", m.SD, math.Sqrt(82.5 / 9)},
		{"2.5 %", m.Q025, 1 + 9*0.025},
		{"50 %", m.Median, 5.5},
		{"97.5 %", m.Q975, 1 + 9*0.975},
		{"mcse", m.MCSE, MCSEMean(c.Parameter(0))},
		{"bulk", m.BulkESS, BulkESS(c.Parameter(0))},
		{"tail", m.TailESS, TailESS(c.Parameter(0))},
		{"rhat", m.RHat, RHat(c.Parameter(0))},
	} {
		if !(math.Abs(v.got-v.want) <= 1e-14*math.Abs(v.want)) { // some roundings
			t.Errorf("%s = %v, want %v", v.name, v.got, v.want)
		}
	}
	if s[1].Name != "θ₂" || s[1].Mean != 30 {
		t.Errorf("second parameter %+v", s[1])
	}
}

// Columns line up, whatever the names and numbers; the combining hat counts for
// nothing.
func TestSummaryTable(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	c := &Chains{Names: []string{"a", "a longer name", "θ₂"}}
	for range 4 {
		var chain [][]float64
		for range 1000 {
			chain = append(chain, []float64{1e5 + rng.NormFloat64(), 1e-7 * rng.NormFloat64(), math.NaN()})
		}
		c.Draws = append(c.Draws, chain)
	}
	lines := strings.Split(strings.TrimSuffix(c.Summary().String(), "\n"), "\n")
	for _, l := range lines {
		if n := len([]rune(strings.ReplaceAll(l, "\u0302", ""))); n != len([]rune(lines[1])) {
			t.Errorf("line of %d characters, want %d:\n%s", n, len([]rune(lines[1])), strings.Join(lines, "\n"))
		}
	}
	t.Logf("\n%v", c)
}

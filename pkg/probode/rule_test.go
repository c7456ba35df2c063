package probode

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"
)

// A score is largest where variance and squared error are equal, and its pull is
// its derivative: against central differences, with an error of 1e-5² relative.
func TestRuleDerivative(t *testing.T) {
	for _, r := range []Rule{Bhattacharyya, LogScore} {
		at := func(v, e2 float64) float64 {
			s, _ := r.match([]float64{math.Log(v)}, []float64{math.Log(e2)})
			return s
		}
		if s := at(3, 3); math.Abs(s) > 1e-15 {
			t.Errorf("%v: score %g where they are equal, want 0", r, s)
		}
		for _, c := range [][2]float64{{1, 1}, {2, 1}, {1, 3}, {1e-3, 0.2}} {
			up, down := r.pull(c[0], c[1])
			h := 1e-5 * c[0]
			// Both pulls of a point may come with a common factor.
			got, want := up-down, (at(c[0]+h, c[1])-at(c[0]-h, c[1]))/(2*h)
			if f := 2.; math.Abs(got-f*want) > 1e-6*(up+down) {
				t.Errorf("%v at %v: pull %g, %g times the derivative is %g", r, c, got, f, f*want)
			}
		}
	}
	if got := Rule(7).String(); got != "Rule(7)" {
		t.Errorf("unknown rule: %q", got)
	}
}

// The scales by component are those that made the errors: of 4000 points with
// three shares of variance each, errors drawn with α = (.5, 0, 8). The standard
// errors are √2 α/√(points that a share dominates), some 5 %; at 5 of them false
// alarms 1e-6. One scale that does not matter stays as it is.
func TestDivide(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	want := []float64{0.5, 0, 8}
	shares := make([][]float64, 4)
	var e2 []float64
	for j := range shares {
		shares[j] = make([]float64, 4000)
	}
	for k := range 4000 {
		v := 0.
		for j, a := range want {
			shares[j][k] = math.Exp(2 * rng.NormFloat64())
			v += a * shares[j][k]
		}
		z := rng.NormFloat64()
		e2 = append(e2, v*z*z)
	}
	alphas := []float64{1, 1, 1, 1}
	LogScore.divide(alphas, shares, e2)
	if math.Abs(alphas[0]/want[0]-1) > 0.3 || alphas[1] > 0.05 || math.Abs(alphas[2]/want[2]-1) > 0.25 || alphas[3] != 1 {
		t.Errorf("scales %.3g, want %v and 1", alphas, want)
	}
	mean := 0.
	for k := range e2 {
		v := 0.
		for j, a := range alphas {
			v += a * shares[j][k]
		}
		mean += e2[k] / v / 4000
	}
	if math.Abs(mean-1) > 1e-3 { // the tolerance of the iteration
		t.Errorf("mean square %.5f, want 1", mean)
	}
	// With errors that are exactly the variances both rules find the scales.
	for _, r := range []Rule{Bhattacharyya, LogScore} {
		for k := range e2 {
			e2[k] = 0.5*shares[0][k] + 8*shares[2][k]
		}
		alphas := []float64{1, 1, 1, 1}
		r.divide(alphas, shares, e2)
		if math.Abs(alphas[0]/0.5-1) > 0.02 || alphas[1] > 0.01 || math.Abs(alphas[2]/8-1) > 0.02 {
			t.Errorf("%v: scales %.4g, want .5, 0, 8", r, alphas)
		}
	}
}

func TestFits(t *testing.T) {
	c := &calibrator{solver: &Solver{d: 3}, used: []int{0, 3, 6, 9, 2}, loge2: []float64{0, 0, 0, 0, math.Log(100)}}
	got := c.fits([]float64{0, 0, math.Log(2), math.Log(0.5), 0})
	want := []Fit{{-1, 5, (1 + 1 + .5 + 2 + 100) / 5, [2]float64{.2, .8}}, {0, 4, 4.5 / 4, [2]float64{.25, 1}}, {2, 1, 100, [2]float64{0, 0}}}
	if len(got) != len(want) {
		t.Fatalf("%d fits, want %d: %v", len(got), len(want), got)
	}
	for i, w := range want {
		if g := got[i]; g.Component != w.Component || g.Points != w.Points || math.Abs(g.MeanSquare-w.MeanSquare) > 1e-12 || g.Within != w.Within {
			t.Errorf("fit %d is %+v, want %+v", i, g, w)
		}
	}
	if s := got[1].String(); !strings.Contains(s, "within 1 sd 25 %") {
		t.Errorf("%q", s)
	}
}

package mcmc

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"
)

// covariance returns the proposal's covariance UᵀU.
func covariance(p *Proposal) *mat.SymDense {
	d := len(p.z)
	u := mat.NewTriDense(d, mat.Upper, p.factor.Data)
	out := mat.NewSymDense(d, nil)
	for i := range d {
		for j := i; j < d; j++ {
			var sum float64
			for k := range i + 1 {
				sum += u.At(k, i) * u.At(k, j)
			}
			out.SetSym(i, j, sum)
		}
	}
	return out
}

// The rule, iteration by iteration: the first covariance, when it is refreshed,
// from which positions, and when no more.
func TestAdaptiveMetropolisRule(t *testing.T) {
	const d = 3
	rng := rand.New(rand.NewPCG(1, 1))
	for name, rule := range map[string]AdaptiveMetropolis{
		"default": {},
		"all set": {Scale: []float64{0.02, 0.07, 0.05}, AdaptAfter: 20, Every: 7, StopAfter: 300, Epsilon: 1e-3},
		"at once": {AdaptAfter: 1, Every: 1},
		"never":   {Scale: []float64{1, 2, 3}, AdaptAfter: -1},
	} {
		after, every, factor, eps := rule.AdaptAfter, rule.Every, 2.38*2.38/d, rule.Epsilon
		if after == 0 {
			after = 1000
		}
		if every == 0 {
			every = 10
		}
		if eps == 0 {
			eps = 1e-8
		}
		want := mat.NewSymDense(d, nil)
		for i := range d {
			sd := 1.0
			if rule.Scale != nil {
				sd = rule.Scale[i]
			}
			want.SetSym(i, i, factor*sd*sd)
		}

		p := rule.New(d)
		var seen []float64
		x := []float64{100, 0, -1}
		for n := 0; n <= 1100; n++ {
			refresh := rule.AdaptAfter >= 0 && n >= 2 && n >= after && (n-after)%every == 0 && (rule.StopAfter == 0 || n <= rule.StopAfter)
			if refresh {
				stat.CovarianceMatrix(want, mat.NewDense(n, d, seen), nil)
				want.ScaleSym(factor, want)
				for i := range d {
					want.SetSym(i, i, want.At(i, i)+factor*eps)
				}
			}
			// A one-pass and a two-pass covariance of a thousand
			// positions that lie 100 from zero and 1 apart.
			if got := covariance(p); !mat.EqualApprox(got, want, 1e-10) {
				t.Fatalf("%s: after %d iterations the covariance is\n%v\nwant\n%v", name, n, mat.Formatted(got), mat.Formatted(want))
			}
			x[0] += 0.3 * rng.NormFloat64()
			x[1] = 0.5*x[1] + rng.NormFloat64()
			x[2] = x[1] - rng.Float64()
			seen = append(seen, x...)
			p.Observe(x, 1)
		}
	}
}

// Steps have mean zero and the covariance that the rule states: with U known from
// the test above, second moments of N = 200 000 steps have known variances: two
// variances and a covariance at z = 4.5 have a false-alarm rate of
// 3·2·Φ(−4.5) = 2e-5.
func TestProposeCovariance(t *testing.T) {
	p := AdaptiveMetropolis{Scale: []float64{1, 2}, AdaptAfter: 3, Every: 1, StopAfter: 3}.New(2)
	for _, x := range [][]float64{{0, 0}, {1, 2}, {2, 1}} {
		p.Observe(x, 1)
	}
	v := covariance(p)
	rng := rand.New(rand.NewPCG(1, 2))
	const n = 200000
	x, y := []float64{5, -5}, make([]float64, 2)
	var s [2][2]float64
	for range n {
		p.Propose(y, x, rng)
		for i := range 2 {
			for j := range 2 {
				s[i][j] += (y[i] - x[i]) * (y[j] - x[j]) / n
			}
		}
	}
	for i := range 2 {
		for j := i; j < 2; j++ {
			// var(aᵢaⱼ) = VᵢᵢVⱼⱼ + Vᵢⱼ² for Gaussian a.
			sd := math.Sqrt((v.At(i, i)*v.At(j, j) + v.At(i, j)*v.At(i, j)) / n)
			if z := (s[i][j] - v.At(i, j)) / sd; math.Abs(z) > 4.5 {
				t.Errorf("covariance of steps %d, %d: %v, want %v (z = %.1f)", i, j, s[i][j], v.At(i, j), z)
			}
		}
	}
}

// A covariance that cannot be factored leaves the proposal as it was.
func TestProposalKeepsFactor(t *testing.T) {
	for name, positions := range map[string][][]float64{
		"singular": {{0, 0}, {1, 1}},          // ε below is lost in rounding
		"overflow": {{0, 0}, {1e200, -1e200}}, // so is the square in infinity
	} {
		p := AdaptiveMetropolis{AdaptAfter: 2, Every: 1, Epsilon: 1e-300}.New(2)
		before := covariance(p)
		for _, x := range positions {
			p.Observe(x, 1)
		}
		if after := covariance(p); !mat.Equal(before, after) {
			t.Errorf("%s: covariance went from\n%v\nto\n%v", name, mat.Formatted(before), mat.Formatted(after))
		}
	}
}

func TestProposalPanics(t *testing.T) {
	mustPanic(t, "no dimension", func() { AdaptiveMetropolis{}.New(0) })
	mustPanic(t, "too few scales", func() { AdaptiveMetropolis{Scale: []float64{1}}.New(2) })
	mustPanic(t, "zero scale", func() { AdaptiveMetropolis{Scale: []float64{1, 0}}.New(2) })
	mustPanic(t, "negative interval", func() { AdaptiveMetropolis{Every: -1}.New(2) })
	p := AdaptiveMetropolis{}.New(2)
	mustPanic(t, "wrong length", func() { p.Observe([]float64{1}, 1) })
	mustPanic(t, "wrong length", func() { p.Propose(make([]float64, 2), []float64{1}, rand.New(rand.NewPCG(1, 1))) })
}

package mcmc_test

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/probode/probode/pkg/probode/mcmc"
	"github.com/probode/probode/pkg/probode/mcmc/diag"
)

// Two modes, one of them skew, eight of their standard deviations apart, in three
// dimensions: their shares and the means within each come out although the rule
// has the weights, places and covariances wrong. Seven numbers within four standard
// errors: a false alarm in 4e-4.
func TestModeJumping(t *testing.T) {
	const share = 0.3
	skew := func(x []float64) float64 { // N(0, I) in x₁, x₂ − x₁²/4, x₃
		v := x[1] - x[0]*x[0]/4
		return -(x[0]*x[0] + v*v + x[2]*x[2]) / 2
	}
	far := []float64{9, 9, 9}
	flat := func(x []float64) float64 { // sd ½
		var s float64
		for i := range x {
			s += (x[i] - far[i]) * (x[i] - far[i])
		}
		return -2*s + 3*math.Ln2
	}
	target := func(x []float64) (float64, error) {
		a, b := math.Log(share)+skew(x), math.Log(1-share)+flat(x)
		m := max(a, b)
		return m + math.Log(math.Exp(a-m)+math.Exp(b-m)), nil
	}
	unit := mat.NewSymDense(3, []float64{1.4, 0.2, 0, 0.2, 0.8, 0, 0, 0, 1})
	small := mat.NewSymDense(3, []float64{0.3, 0, 0, 0, 0.2, 0.05, 0, 0.05, 0.3})
	rule := mcmc.ModeJumping{Modes: []mcmc.GaussianMode{
		{Mean: []float64{0.1, 0.2, 0}, Cov: unit, Weight: 1},
		{Mean: []float64{9.1, 8.9, 9}, Cov: small, Weight: 1},
	}}
	c, err := mcmc.Run(context.Background(), func(int) mcmc.Kernel { return &mcmc.Metropolis{Target: target, Proposal: rule, BurnIn: 500} }, mcmc.Settings{
		Draws: 10000, Chains: 4, BurnIn: 500, Seed: 3,
		Start: func(i int, _ *rand.Rand) []float64 {
			if i%2 == 0 {
				return []float64{0, 0, 0}
			}
			return far
		}})
	if err != nil {
		t.Fatal(err)
	}
	check := func(what string, f func(x []float64) float64, want float64) {
		t.Helper()
		var series [][]float64
		var sum, n float64
		for _, chain := range c.Draws {
			var s []float64
			for _, x := range chain {
				s = append(s, f(x))
				sum += f(x)
				n++
			}
			series = append(series, s)
		}
		if z := (sum/n - want) / diag.MCSEMean(series); !(math.Abs(z) < 4) {
			t.Errorf("%s: %.4f, want %.4f: %.1f standard errors", what, sum/n, want, z)
		}
	}
	near := func(x []float64) float64 {
		if x[2] < 4.5 {
			return 1
		}
		return 0
	}
	check("share", near, share)
	for i, want := range []float64{0, 0.25, 0} {
		check("mean in the skew mode", func(x []float64) float64 { return near(x) * (x[i] - want) }, 0)
		check("mean in the other", func(x []float64) float64 { return (1 - near(x)) * (x[i] - far[i]) }, 0)
	}
	var moves mcmc.Moves
	for _, s := range c.Stats {
		moves.Proposed += s.Proposed
		moves.Accepted += s.Accepted
	}
	if moves.Rate() < 0.2 {
		t.Errorf("%.2f of the moves are accepted", moves.Rate())
	}
}

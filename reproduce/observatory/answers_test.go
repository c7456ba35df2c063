package main

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/probode/probode/pkg/probode/mcmc"
)

// chainsOf returns four chains of independent Gaussian draws.
func chainsOf(rng *rand.Rand, n int, mean, sd float64) *mcmc.Chains {
	c := &mcmc.Chains{Names: []string{"a"}}
	for range 4 {
		var chain [][]float64
		for range n {
			chain = append(chain, []float64{mean + sd*rng.NormFloat64()})
		}
		c.Draws = append(c.Draws, chain)
	}
	return c
}

// N(½, 1.2²) against N(0, 1): bias and width in closed form. 40,000 independent draws each:
// standard errors of the bias 1.2·√2/200 = .008, of the ratio .006; at 5 of them false alarms
// are 2e-6.
func TestCompare(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 3))
	accurate, got := chainsOf(rng, 10000, 0, 1), chainsOf(rng, 10000, 0.5, 1.2)
	a := unknown[answer]()
	a.compare(accurate, got)
	if a.Parameter != "a" || math.Abs(a.Bias-0.5) > 0.04 || math.Abs(a.Ratio[1]-1.2) > 0.03 || a.Ratio[0] != a.Ratio[1] || !math.IsNaN(a.KHat) {
		t.Errorf("%+v: want a bias of .5 and a width of 1.2", a)
	}
	if math.Abs(a.Bias-0.5) > 5*a.BiasSE || a.BiasSE > 0.02 {
		t.Errorf("bias %.4f ± %.4f", a.Bias, a.BiasSE)
	}
	// Weights that turn the one distribution into the other remove the bias.
	got.LogWeights, got.KHat = make([][]float64, 4), 0.4
	for c, chain := range got.Draws {
		for _, d := range chain {
			got.LogWeights[c] = append(got.LogWeights[c], distuv.Normal{Sigma: 1}.LogProb(d[0])-distuv.Normal{Mu: 0.5, Sigma: 1.2}.LogProb(d[0]))
		}
	}
	var w answer
	w.compare(accurate, got)
	if math.Abs(w.Bias) > 0.05 || math.Abs(w.Ratio[0]-1) > 0.05 || w.KHat != 0.4 {
		t.Errorf("weighted: %+v: want no difference", w)
	}
}

// Every question has a model whose density is positive at the truth's side of
// the prior, with the data at the times, and steps that divide.
func TestQuestions(t *testing.T) {
	seen := map[string]bool{}
	for i := range questions {
		q := &questions[i]
		if seen[q.name] {
			t.Errorf("%s is there twice", q.name)
		}
		seen[q.name] = true
		p, err := q.model(context.Background(), 1)
		if err != nil {
			t.Fatalf("%s: %v", q.name, err)
		}
		if data := p.Experiments[0].Data; len(data.Y) != len(q.times) || p.StepSize()*fineness != q.step {
			t.Errorf("%s: %d rows for %d times, step %g", q.name, len(data.Y), len(q.times), p.StepSize())
		}
		again, err := q.model(context.Background(), 1)
		if err != nil || again.Experiments[0].Data.Y[0][0] != p.Experiments[0].Data.Y[0][0] {
			t.Errorf("%s: other data from the same seed: %v", q.name, err)
		}
	}
}

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

// N(½, 1.2²) against N(0, 1): bias, width and the total variation over the bins
// in closed form. 40,000 independent draws each: standard errors of the bias
// 1.2·√2/200 = .008, of the ratio .006, of the total variation below .004; at 5 of
// them false alarms are 2e-6.
func TestCompare(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 3))
	accurate, got := chainsOf(rng, 10000, 0, 1), chainsOf(rng, 10000, 0.5, 1.2)
	var a answer
	nan(&a)
	a.compare(accurate, got)
	want := 0.
	x, y := distuv.Normal{Sigma: 1}, distuv.Normal{Mu: 0.5, Sigma: 1.2}
	last := 0.
	for b := 1; b <= bins; b++ {
		next := 1.
		if b < bins {
			next = y.CDF(x.Quantile(float64(b) / bins))
		}
		want += math.Abs(next-last-1./bins) / 2
		last = next
	}
	if a.parameter != "a" || math.Abs(a.bias-0.5) > 0.04 || math.Abs(a.widest-1.2) > 0.03 || a.narrowest != a.widest || math.Abs(a.variation-want) > 0.02 {
		t.Errorf("%+v: want a bias of .5, a width of 1.2, a total variation of %.3f", a, want)
	}
	if math.Abs(a.bias-0.5) > 5*a.biasSE || a.biasSE > 0.02 {
		t.Errorf("bias %.4f ± %.4f", a.bias, a.biasSE)
	}
	// Weights that take the one to the other leave what equal distributions have,
	// some more for the weights: ten bins of √(.09/40000) each.
	got.LogWeights = make([][]float64, 4)
	for c, chain := range got.Draws {
		for _, d := range chain {
			got.LogWeights[c] = append(got.LogWeights[c], x.LogProb(d[0])-y.LogProb(d[0]))
		}
	}
	var w answer
	w.compare(accurate, got)
	if w.variation > 0.02 || math.Abs(w.bias) > 0.05 {
		t.Errorf("weighted: %+v: want no difference", w)
	}
	// And so do draws of the same distribution: the floor is their mean.
	var floor, variation float64
	for range 20 {
		var e answer
		e.compare(accurate, chainsOf(rng, 500, 0, 1))
		floor += e.floor / 20
		variation += e.variation / 20
	}
	if math.Abs(variation/floor-1) > 0.25 { // 20 of them, with an sd of a quarter each
		t.Errorf("total variation of equals %.4f, said to be %.4f", variation, floor)
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

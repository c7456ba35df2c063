package sample_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/adams"
	"github.com/probode/probode/pkg/probode/bayes"
	"github.com/probode/probode/pkg/probode/bayes/sample"
	"github.com/probode/probode/pkg/probode/mcmc"
	"github.com/probode/probode/pkg/probode/problems"
)

// The posterior of the FitzHugh–Nagumo parameters with the solver's error in
// the model.
func ExampleRun() {
	fhn := problems.FitzHughNagumo()
	post := &bayes.Posterior{
		Model: bayes.Model{
			Experiments: []bayes.Experiment{{
				Problem: fhn,
				Data: &bayes.Data{
					T: []float64{2, 4, 6, 8},
					Y: [][]float64{{1.9, 0.0}, {1.6, -0.6}, {-1.7, -0.4}, {-1.3, 0.9}},
				},
				Errors: []bayes.Likelihood{bayes.Gaussian{Sigma: bayes.Known(0.1)}},
			}},
		},
		Setup: probode.Setup{Method: adams.Moulton{}, Mesh: probode.Uniform(0.1), Alpha: 0.15},
	}
	for k := range fhn.Theta {
		post.Params = append(post.Params, bayes.Param{Name: fhn.ParamName(k), Prior: distuv.Uniform{Min: 0, Max: 10}})
	}
	chains, err := sample.Run(context.Background(), post, sample.PCNWithinGibbs{}, mcmc.Settings{
		Draws: 100, Chains: 2, Seed: 1,
		Start: func(_ int, rng *rand.Rand) []float64 {
			return []float64{0.2, 0.2, 3 + 0.1*rng.NormFloat64()}
		},
	})
	if err != nil {
		panic(err)
	}
	fmt.Println(chains.Names, len(chains.Draws), "chains of", len(chains.Draws[0]))
	// Output: [theta1 theta2 theta3] 2 chains of 100
}

// growth is logistic growth from an unknown start, observed with errors of
// unknown size, by a coarse step of Euler's method.
func growth() *bayes.Posterior {
	logistic := &probode.Problem{
		Name: "logistic growth", States: []string{"cells"}, Params: []string{"rate", "capacity"},
		X0: []float64{0.5}, Theta: []float64{1, 10}, Span: [2]float64{0, 8}, Autonomous: true,
		F: func(f []float64, _ float64, x, theta []float64) {
			f[0] = theta[0] * x[0] * (1 - x[0]/theta[1])
		},
	}
	return &bayes.Posterior{
		Model: bayes.Model{
			Params: []bayes.Param{
				{Name: "rate", Prior: distuv.LogNormal{Mu: 0, Sigma: 0.5}},
				{Name: "capacity", Prior: distuv.LogNormal{Mu: math.Log(10), Sigma: 0.5}},
				{Name: "cells0", Prior: bayes.Positive(0.5, 0.3)},
				{Name: "sigma", Prior: bayes.Positive(0, 0.3)},
			},
			Experiments: []bayes.Experiment{{
				Problem: logistic.UnknownStart(),
				Data: &bayes.Data{
					T: []float64{0.4, 1.1, 2.3, 3.1, 4.2, 5.5, 6.3, 7.9},
					Y: [][]float64{{0.68}, {1.29}, {3.55}, {5.02}, {8.1}, {8.8}, {9.9}, {9.6}},
				},
				Errors: []bayes.Likelihood{bayes.LogNormal{Sigma: bayes.Unknown("sigma")}},
			}},
		},
		Setup: probode.Setup{Method: adams.Bashforth{}, Mesh: probode.Uniform(0.5)},
	}
}

// What would a good solver have said? Draws of a coarse step are weighted to
// stand for the posterior of an accurate one.
func ExampleReweight() {
	ctx, p := context.Background(), growth()
	p.Method, p.Mesh = adams.Moulton{Steps: 1}, probode.Uniform(1)
	coarse, err := sample.Run(ctx, p, sample.Deterministic{}, mcmc.Settings{Seed: 1})
	if err != nil {
		panic(err)
	}
	accurate, err := sample.Reweight(ctx, p, coarse, probode.Setup{}, 0)
	if err != nil {
		panic(err)
	}
	fmt.Println("can the weights be trusted?", accurate.KHat < 0.7)
	a, b := coarse.Summary()[0], accurate.Summary()[0]
	fmt.Println("is the rate off by more than a fifth of its standard deviation?", math.Abs(b.Mean-a.Mean) > a.SD/5)
	// Output:
	// can the weights be trusted? true
	// is the rate off by more than a fifth of its standard deviation? true
}

// One model, several samplers, one call.
func ExampleCompare() {
	p := growth()
	p.Alpha = 0.3
	results, err := sample.Compare(context.Background(), p,
		[]sample.Sampler{sample.Deterministic{}, sample.PCNWithinGibbs{}}, mcmc.Settings{Draws: 500, Seed: 1})
	if err != nil {
		panic(err)
	}
	for _, r := range results {
		fmt.Printf("%v: %.0f solves a draw\n", r.Sampler, r.Solves)
	}
	// Output:
	// deterministic: 1 solves a draw
	// pcn: 2 solves a draw
}

// New data from the posterior, the solver's error included.
func ExamplePredict() {
	p := growth()
	p.Alpha = 0.3
	chains, err := sample.Run(context.Background(), p, sample.PCNWithinGibbs{}, mcmc.Settings{Seed: 1})
	if err != nil {
		panic(err)
	}
	new, err := bayes.Predict(context.Background(), p, chains, nil, 2)
	if err != nil {
		panic(err)
	}
	lo, hi := new[0].Quantiles(0, 0.05), new[0].Quantiles(0, 0.95)
	inside := 0
	for n, y := range p.Experiments[0].Data.Y {
		if lo[n] < y[0] && y[0] < hi[n] {
			inside++
		}
	}
	fmt.Println(inside, "of", len(lo), "observations lie in their intervals of 90 %")
	// Output: 8 of 8 observations lie in their intervals of 90 %
}

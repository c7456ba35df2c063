package mcmc_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/probode/probode/pkg/probode/mcmc"
)

// The posterior of a normal mean μ and log standard deviation from twelve
// observations, under a flat prior. Then (μ − x̄)/(s/√12) has Student's t
// distribution with 11 degrees of freedom: the mean of μ is x̄ = 5.175, its sd
// s/√12 · √(11/9) = 0.142.
func ExampleRun() {
	data := []float64{4.9, 5.6, 5.1, 4.4, 5.9, 5.2, 4.7, 5.0, 5.5, 4.8, 5.3, 5.7}
	target := func(x []float64) (float64, error) {
		mu, logSD := x[0], x[1]
		logp := -float64(len(data)) * logSD
		for _, v := range data {
			z := (v - mu) / math.Exp(logSD)
			logp -= z * z / 2
		}
		return logp, nil
	}

	chains, err := mcmc.Run(context.Background(), func(int) mcmc.Kernel {
		return &mcmc.Metropolis{Target: target, Proposal: mcmc.AdaptiveMetropolis{Scale: []float64{0.1, 0.1}}}
	}, mcmc.Settings{
		Names: []string{"mu", "log sd"},
		Draws: 10000,
		Seed:  1,
		Start: func(_ int, rng *rand.Rand) []float64 {
			return []float64{5 + rng.NormFloat64(), rng.NormFloat64()}
		},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, m := range chains.Summary() {
		fmt.Printf("%-6s mean %4.1f, sd %.2f, mixed %v\n", m.Name, m.Mean, m.SD, m.RHat < 1.01)
	}
	// Output:
	// mu     mean  5.2, sd 0.14, mixed true
	// log sd mean -0.8, sd 0.22, mixed true
}

// Run until the posterior means are worth a thousand independent draws.
func ExampleRun_minESS() {
	chains, err := mcmc.Run(context.Background(), func(int) mcmc.Kernel {
		return &mcmc.Metropolis{Target: func(x []float64) (float64, error) { return -x[0] * x[0] / 2, nil }}
	}, mcmc.Settings{
		Draws:    500, // the ESS is looked at every 500 draws
		MinESS:   1000,
		MaxDraws: 20000,
		Seed:     1,
		Start:    func(_ int, rng *rand.Rand) []float64 { return []float64{3 * rng.NormFloat64()} },
	})
	fmt.Println(chains.Summary()[0].BulkESS >= 1000, chains.Capped, err)
	// Output: true false <nil>
}

// A target that cannot be evaluated everywhere. Such moves are rejected, and
// counted: three in ten here, and what is sampled is the target cut off at 2.
func ExampleLogDensity() {
	errDiverged := errors.New("solution diverged")
	var target mcmc.LogDensity = func(x []float64) (float64, error) {
		if x[0] <= 0 {
			return math.Inf(-1), nil // outside the support: no failure
		}
		if x[0] > 2 {
			return 0, errDiverged
		}
		return -x[0], nil
	}
	k := &mcmc.Metropolis{Target: target, Proposal: mcmc.AdaptiveMetropolis{AdaptAfter: -1}}
	rng := rand.New(rand.NewPCG(1, 1))
	fmt.Println(k.Init([]float64{-1}, rng))
	fmt.Println(k.Init([]float64{3}, rng))
	if err := k.Init([]float64{1}, rng); err != nil {
		fmt.Println(err)
		return
	}
	for range 10000 {
		k.Step(rng)
	}
	s := k.Stats()
	fmt.Printf("accepted %.1f, failed %.1f\n", s.Rate(), float64(s.Failed)/float64(s.Proposed))
	// Output:
	// mcmc: target at [-1]: the density is zero: want a point at which it is positive
	// mcmc: target at [3]: solution diverged
	// accepted 0.2, failed 0.3
}

// A kernel of one's own takes the proposal alone: propose, decide, observe. Here
// the target is uniform on the unit square about zero.
func ExampleProposal() {
	rng := rand.New(rand.NewPCG(1, 1))
	p := mcmc.AdaptiveMetropolis{Scale: []float64{0.1, 0.1}}.New(2)
	x, y := []float64{0, 0}, []float64{0, 0}
	accepted := 0
	const n = 20000
	for range n {
		p.Propose(y, x, rng)
		probability := 0.0
		if math.Abs(y[0]) < 0.5 && math.Abs(y[1]) < 0.5 {
			accepted++
			probability = 1
			copy(x, y)
		}
		p.Observe(x, probability)
	}
	fmt.Printf("accepted %.1f\n", float64(accepted)/n)
	// Output: accepted 0.4
}

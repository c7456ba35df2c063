package mcmc_test

import (
	"bytes"
	"context"
	"math"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/probode/probode/pkg/probode/mcmc"
	"github.com/probode/probode/pkg/probode/mcmc/diag"
)

func splitRun(t *testing.T, kernel mcmc.SplitHMC, s mcmc.Settings) *mcmc.Chains {
	t.Helper()
	if s.Start == nil {
		s.Start = func(_ int, rng *rand.Rand) []float64 {
			x := make([]float64, len(kernel.Mean))
			for i := range x {
				x[i] = kernel.Mean[i] + 2*math.Sqrt(kernel.Cov.At(i, i))*rng.NormFloat64()
			}
			return x
		}
	}
	c, err := mcmc.Run(context.Background(), func(int) mcmc.Kernel {
		k := kernel
		k.BurnIn = s.BurnIn
		return &k
	}, s)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// A Gaussian target with known mean and covariance: every move is accepted, one evaluation
// makes a draw, and draws are nearly independent, as are their squares. A false alarm of
// the moments has a probability of 2e-4, as in TestNUTSGaussian.
func TestSplitHMCGaussian(t *testing.T) {
	const d, draws = 120, 500
	target, mean, sd := normalTarget(d, 100, true)
	calls := 0
	counted := func(grad, x []float64) (float64, error) {
		calls++
		return target(grad, x)
	}
	out := splitRun(t, mcmc.SplitHMC{Target: counted, Mean: mean, Cov: linkedCov(sd)}, mcmc.Settings{Draws: draws, BurnIn: 50, Seed: 1, Workers: 1})
	checkMoments(t, out, mean, sd, 5)
	if out.Stats[0].Accepted != out.Stats[0].Proposed {
		t.Errorf("accepted: %+v", out.Stats[0])
	}
	// In the beginning a path has two or three parts, so that the burn-in takes a little more.
	if n := 4 * (draws + 50); calls > n+200 {
		t.Errorf("%d evaluations for %d iterations", calls, n)
	}
	for i := range 3 {
		x := out.Parameter(i)
		bulk := diag.BulkESS(x)
		for c := range x {
			for k, v := range x[c] {
				x[c][k] = math.Abs(v - mean[i])
			}
		}
		if folded := diag.BulkESS(x); bulk < 1400 || folded < 1200 {
			t.Errorf("coordinate %d has %.0f effective draws, and %.0f of the distance from the mean", i, bulk, folded)
		}
	}
}

// The logarithms of Gamma(3, 1) variables are skewed and have the mean ψ(3), the variance
// ψ′(3), the mode log 3 and the curvature 3 there. With 2·20 numbers and 4.7 standard
// errors, a false alarm has a probability of 1e-4.
func TestSplitHMCSkewed(t *testing.T) {
	const d = 20
	target := func(grad, x []float64) (logp float64, err error) {
		for i, v := range x {
			logp += 3*v - math.Exp(v)
			grad[i] = 3 - math.Exp(v)
		}
		return logp, nil
	}
	k := mcmc.SplitHMC{Target: target, Cov: mat.NewSymDense(d, nil)}
	var mean, sd []float64
	for i := range d {
		k.Mean = append(k.Mean, math.Log(3))
		k.Cov.(*mat.SymDense).SetSym(i, i, 1./3)
		mean = append(mean, 1.5-0.57721566490153286) // 1 + 1/2 − γ
		sd = append(sd, math.Sqrt(math.Pi*math.Pi/6-1.25))
	}
	out := splitRun(t, k, mcmc.Settings{Draws: 1500, BurnIn: 200, Seed: 2})
	checkMoments(t, out, mean, sd, 4.7)
	if s := out.Stats[0]; s.Accepted < s.Proposed/2 || s.Accepted == s.Proposed {
		t.Errorf("accepted: %+v", s)
	}
}

// The same draws for any number of workers, and from any iteration on, if the state is
// written and read back into a new kernel. An iteration allocates nothing.
func TestSplitHMCResumes(t *testing.T) {
	const d = 5
	target, mean, sd := normalTarget(d, 10, true)
	mean[0]++ // so that moves are rejected
	kernel := mcmc.SplitHMC{Target: target, Mean: mean, Cov: linkedCov(sd), BurnIn: 20}
	run := func(workers int) *mcmc.Chains {
		return splitRun(t, kernel, mcmc.Settings{Draws: 20, BurnIn: 20, Seed: 3, Workers: workers})
	}
	if !reflect.DeepEqual(run(1).Draws, run(4).Draws) {
		t.Error("the draws depend on the number of workers")
	}
	k, other := kernel, kernel
	source, otherSource := rand.NewPCG(1, 2), rand.NewPCG(3, 4)
	rng, otherRNG := rand.New(source), rand.New(otherSource)
	for _, err := range []error{k.Init(make([]float64, d), rng), other.Init(mean, otherRNG)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	state := func(k *mcmc.SplitHMC) []byte {
		a := mcmc.NewArchive(nil)
		k.State(a)
		return bytes.Clone(a.Bytes())
	}
	for n := range 40 {
		a := mcmc.NewArchive(state(&k))
		other.State(a)
		*otherSource = *source
		k.Step(rng)
		other.Step(otherRNG)
		if a.Err() != nil || !bytes.Equal(state(&k), state(&other)) {
			t.Fatalf("iteration %d is another after the state was read", n+1)
		}
	}
	if n := testing.AllocsPerRun(20, func() { k.Step(rng) }); n != 0 {
		t.Errorf("%g allocations in an iteration", n)
	}
}

// Half of a Gaussian cannot be evaluated: the failures are counted, and the rest is
// sampled. The mean of N(0, 1) above −1 is φ(1)/Φ(1), and the variance about 0 is 1 − φ(1)/Φ(1).
func TestSplitHMCFailures(t *testing.T) {
	target := func(grad, x []float64) (float64, error) {
		grad[0] = -x[0]
		if x[0] < -1 {
			return 0, errNone
		}
		return -x[0] * x[0] / 2, nil
	}
	k := mcmc.SplitHMC{Target: target, Mean: []float64{0}, Cov: linkedCov([]float64{1})}
	out := splitRun(t, k, mcmc.Settings{Draws: 2000, BurnIn: 100, Seed: 4, Start: func(int, *rand.Rand) []float64 { return []float64{0} }})
	const mean = 0.28759997
	checkMoments(t, out, []float64{mean}, []float64{math.Sqrt(1 - mean - mean*mean)}, 4.2)
	if out.Stats[0].Failed == 0 {
		t.Error("no failures are counted")
	}
	if err := k.Init([]float64{-2}, rand.New(rand.NewPCG(1, 1))); err == nil || !strings.Contains(err.Error(), "no solution") {
		t.Errorf("a start that fails: %v", err)
	}
}

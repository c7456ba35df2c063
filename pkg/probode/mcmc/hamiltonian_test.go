package mcmc_test

import (
	"bytes"
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/probode/probode/pkg/probode/mcmc"
	"github.com/probode/probode/pkg/probode/mcmc/diag"
)

// bent is a target in 2 + rest coordinates, of which the first two are described. Under it
// a ~ N(3, 2²), b | a ~ N(a²/10, 1), and the others are N(0, 1), except that the first of
// them has the mean a/5.
func bent(grad, x []float64) (float64, error) {
	a, b, c := (x[0]-3)/2, x[1]-x[0]*x[0]/10, x[2]-x[0]/5
	if grad != nil {
		clear(grad)
		grad[0] = -a/2 + b*x[0]/5 + c/5
		grad[1] = -b
		grad[2] = -c + x[2] // with respect to N(0, I)
	}
	return -(a*a+b*b+c*c)/2 + x[2]*x[2]/2, nil
}

func hamiltonianRun(t *testing.T, target mcmc.GradientDensity, precision float64, s mcmc.Settings) *mcmc.Chains {
	t.Helper()
	s.Start = func(_ int, rng *rand.Rand) []float64 {
		x := make([]float64, 30)
		for i := range x {
			x[i] = rng.NormFloat64()
		}
		return x
	}
	s.BurnIn = 300
	c, err := mcmc.Run(context.Background(), func(int) mcmc.Kernel {
		return &mcmc.Hamiltonian{Target: target, BurnIn: s.BurnIn, Mean: []float64{2, 1}, Learned: 1,
			Information: mat.NewSymDense(2, []float64{precision, 0, 0, 1})}
	}, s)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// The mean and the standard deviation of a, b, c and a coordinate of the rest are those of
// the closed form, with guesses of the standard deviation of a that are right, and wrong by
// a factor of 3: 16 checks of 4.5 standard errors, a false alarm in 1.1e-4.
func TestHamiltonianMoments(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	// E b = E a²/10 = 1.3; var b = 1 + var(a²)/100, where var(a²) = 2·2⁴ + 4·3²·2².
	mean := []float64{3, 1.3, 0.6, 0}
	sd := []float64{2, math.Sqrt(1 + 1.76), math.Sqrt(1 + 4./25), 1}
	for _, precision := range []float64{1. / 4, 9. / 4} {
		c := hamiltonianRun(t, bent, precision, mcmc.Settings{Draws: 4000, Seed: 3})
		summary := c.Summary()
		for k := range mean {
			m := summary[k]
			if z := (m.Mean - mean[k]) / m.MCSE; !(math.Abs(z) < 4.5) {
				t.Errorf("precision %g: mean %d is %g, want %g: %.1f standard errors", precision, k, m.Mean, mean[k], z)
			}
			x := make([][]float64, len(c.Draws))
			for i, draws := range c.Draws {
				for _, d := range draws {
					x[i] = append(x[i], d[k])
				}
			}
			if z := (m.SD - sd[k]) / diag.MCSESD(x); !(math.Abs(z) < 4.5) {
				t.Errorf("precision %g: sd %d is %g, want %g: %.1f standard errors", precision, k, m.SD, sd[k], z)
			}
			if m.BulkESS < 1000 {
				t.Errorf("precision %g: coordinate %d has %.0f effective draws of 16000", precision, k, m.BulkESS)
			}
		}
	}
}

// The draws do not depend on the number of workers. Paths that leave the region in which
// the target can be evaluated are rejected and counted, and no draw is outside.
func TestHamiltonianFailures(t *testing.T) {
	half := func(grad, x []float64) (float64, error) {
		if x[0] < 3 {
			return 0, errors.New("no solution")
		}
		return bent(grad, x)
	}
	s := mcmc.Settings{Draws: 300, Seed: 5}
	s.Workers = 1
	run := func() *mcmc.Chains {
		s.Start = nil
		return hamiltonianRun(t, func(grad, x []float64) (float64, error) {
			y := append([]float64(nil), x...)
			y[0] += 6 // the starts are inside
			return half(grad, y)
		}, 1./4, s)
	}
	one := run()
	s.Workers = 2
	if two := run(); !reflect.DeepEqual(one.Draws, two.Draws) {
		t.Error("the draws depend on the number of workers")
	}
	failed := 0
	for i, draws := range one.Draws {
		failed += one.Stats[i].Failed
		for _, d := range draws {
			if d[0] < -3 {
				t.Fatalf("a draw at %g, where the target cannot be evaluated", d[0])
			}
		}
	}
	if failed == 0 {
		t.Error("no path failed")
	}
}

// fixed returns a kernel with a Gaussian approximation that it does not correct.
func fixed(target mcmc.GradientDensity, mean []float64, cov *mat.SymDense) mcmc.Hamiltonian {
	var chol mat.Cholesky
	var information mat.SymDense
	if !chol.Factorize(cov) || chol.InverseTo(&information) != nil {
		panic("the covariance is singular")
	}
	return mcmc.Hamiltonian{Mean: mean, Information: &information, Target: func(grad, x []float64) (float64, error) {
		if grad == nil {
			grad = make([]float64, len(x))
		}
		return target(grad, x)
	}}
}

// fixedRun starts the chains two standard deviations of a coordinate from its mean, on
// average, if s has no starts.
func fixedRun(t *testing.T, kernel mcmc.Hamiltonian, sd []float64, s mcmc.Settings) *mcmc.Chains {
	t.Helper()
	if s.Start == nil {
		s.Start = func(_ int, rng *rand.Rand) []float64 {
			x := make([]float64, len(kernel.Mean))
			for i := range x {
				x[i] = kernel.Mean[i] + 2*sd[i]*rng.NormFloat64()
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
func TestHamiltonianFixedGaussian(t *testing.T) {
	const d, draws = 120, 500
	target, mean, sd := normalTarget(d, 100, true)
	calls := 0
	counted := func(grad, x []float64) (float64, error) {
		calls++
		return target(grad, x)
	}
	out := fixedRun(t, fixed(counted, mean, linkedCov(sd)), sd, mcmc.Settings{Draws: draws, BurnIn: 50, Seed: 1, Workers: 1})
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
func TestHamiltonianSkewed(t *testing.T) {
	const d = 20
	target := func(grad, x []float64) (logp float64, err error) {
		for i, v := range x {
			logp += 3*v - math.Exp(v)
			grad[i] = 3 - math.Exp(v)
		}
		return logp, nil
	}
	cov := mat.NewSymDense(d, nil)
	var mode, mean, sd []float64
	for i := range d {
		mode = append(mode, math.Log(3))
		cov.SetSym(i, i, 1./3)
		mean = append(mean, 1.5-0.57721566490153286) // 1 + 1/2 − γ
		sd = append(sd, math.Sqrt(math.Pi*math.Pi/6-1.25))
	}
	out := fixedRun(t, fixed(target, mode, cov), sd, mcmc.Settings{Draws: 1500, BurnIn: 200, Seed: 2})
	checkMoments(t, out, mean, sd, 4.7)
	if s := out.Stats[0]; s.Accepted < s.Proposed/2 || s.Accepted == s.Proposed {
		t.Errorf("accepted: %+v", s)
	}
}

// The same draws for any number of workers, and from any iteration on, if the state is
// written and read back into a new kernel. An iteration allocates nothing.
func TestHamiltonianResumes(t *testing.T) {
	const d = 5
	target, mean, sd := normalTarget(d, 10, true)
	mean[0]++ // so that moves are rejected
	kernel := fixed(target, mean, linkedCov(sd))
	kernel.BurnIn = 20
	run := func(workers int) *mcmc.Chains {
		return fixedRun(t, kernel, sd, mcmc.Settings{Draws: 20, BurnIn: 20, Seed: 3, Workers: workers})
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
	state := func(k *mcmc.Hamiltonian) []byte {
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
func TestHamiltonianFixedFailures(t *testing.T) {
	target := func(grad, x []float64) (float64, error) {
		grad[0] = -x[0]
		if x[0] < -1 {
			return 0, errNone
		}
		return -x[0] * x[0] / 2, nil
	}
	k := fixed(target, []float64{0}, linkedCov([]float64{1}))
	out := fixedRun(t, k, nil, mcmc.Settings{Draws: 2000, BurnIn: 100, Seed: 4, Start: func(int, *rand.Rand) []float64 { return []float64{0} }})
	const mean = 0.28759997
	checkMoments(t, out, []float64{mean}, []float64{math.Sqrt(1 - mean - mean*mean)}, 4.2)
	if out.Stats[0].Failed == 0 {
		t.Error("no failures are counted")
	}
	if err := k.Init([]float64{-2}, rand.New(rand.NewPCG(1, 1))); err == nil || !strings.Contains(err.Error(), "no solution") {
		t.Errorf("a start that fails: %v", err)
	}
}

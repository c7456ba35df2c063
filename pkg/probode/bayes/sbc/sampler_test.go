package sbc_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/bayes"
	"github.com/probode/probode/pkg/probode/bayes/sample"
	"github.com/probode/probode/pkg/probode/bayes/sbc"
	"github.com/probode/probode/pkg/probode/mcmc"
)

// elliptical is a sampler made outside of the package: θ and ξ are moved by
// elliptical slices [Murray, Adams & MacKay 2010] through the present point and a
// draw of N(0, I), for parameters whose priors are N(0, 1) on the unconstrained
// scale, as that of log θ of a log-normal one is. It has nothing to tune.
type elliptical struct{}

func (elliptical) String() string { return "elliptical slices" }

func (elliptical) Algorithm() sample.Algorithm {
	return sample.Algorithm{Target: sample.Joint, Kernel: newSlice, Check: func(d *bayes.Density) error {
		if d.Posterior().Alpha == 0 {
			return errors.New("elliptical slices: there is no noise to sample")
		}
		return nil
	}}
}

func newSlice(d *bayes.Density, _ mcmc.AdaptiveMetropolis, _ int) mcmc.Kernel {
	n := d.Dim() + d.NoiseLen()
	return &slice{d: d, x: make([]float64, n), other: make([]float64, n), next: make([]float64, n),
		theta: make([]float64, d.Dim()), fit: make([]float64, len(d.Expected()))}
}

// A slice is the kernel: x holds the unconstrained θ, and ξ.
type slice struct {
	d              *bayes.Density
	x, other, next []float64
	theta, fit     []float64
	logPrior, ll   float64
	stats          mcmc.Stats
}

// at evaluates the likelihood at x.
func (k *slice) at(x []float64) float64 {
	k.logPrior = k.d.Constrain(k.theta, x[:k.d.Dim()])
	ll, err := k.d.LogLikelihood(k.theta, x[k.d.Dim():])
	if err != nil {
		k.stats.Failed++
		return math.Inf(-1)
	}
	return ll
}

func (k *slice) Init(theta []float64, rng *rand.Rand) error {
	k.stats = mcmc.Stats{}
	for i := range k.x {
		k.x[i] = rng.NormFloat64()
	}
	if err := k.d.Unconstrain(k.x[:len(theta)], theta); err != nil {
		return err
	}
	if k.ll = k.at(k.x); math.IsInf(k.ll, 0) || math.IsNaN(k.ll) {
		return fmt.Errorf("the log likelihood is %g", k.ll)
	}
	copy(k.fit, k.d.Expected())
	return nil
}

func (k *slice) Step(rng *rand.Rand) {
	for i := range k.other {
		k.other[i] = rng.NormFloat64()
	}
	level := k.ll - rng.ExpFloat64()
	angle := 2 * math.Pi * rng.Float64()
	lo, hi := angle-2*math.Pi, angle
	for {
		k.stats.Proposed++
		sin, cos := math.Sincos(angle)
		for i, v := range k.x {
			k.next[i] = cos*v + sin*k.other[i]
		}
		if ll := k.at(k.next); ll > level || hi-lo < 1e-12 {
			k.x, k.next, k.ll = k.next, k.x, ll
			copy(k.fit, k.d.Expected())
			k.stats.Accepted++
			return
		}
		if angle < 0 {
			lo = angle
		} else {
			hi = angle
		}
		angle = lo + (hi-lo)*rng.Float64()
	}
}

func (k *slice) Position() []float64 { return k.theta }
func (k *slice) Stats() mcmc.Stats   { return k.stats }

func (k *slice) Generate(dst []float64) { k.d.Generate(dst, k.logPrior+k.ll, k.theta, k.fit) }

func (k *slice) State(a *mcmc.Archive) {
	a.Floats(k.x)
	a.Floats(k.theta)
	a.Floats(k.fit)
	a.Float(&k.logPrior)
	a.Float(&k.ll)
	a.Stats(&k.stats)
}

// A sampler from outside agrees with pCN through Compare, on four standard errors
// of one mean and one sd each (a false alarm in 1.3e-4), is right by calibration,
// and its draws can have weights.
func TestSamplerFromOutside(t *testing.T) {
	p := growth()
	p.Params = p.Params[:1]
	p.Params[0].Prior = standardLog
	p.Experiments[0].Errors = []bayes.Likelihood{bayes.Gaussian{Sigma: bayes.Known(0.5)}}
	results, err := sample.Compare(context.Background(), p, []sample.Sampler{sample.PCNWithinGibbs{}, elliptical{}}, mcmc.Settings{Draws: 3000, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	a, b := results[0].Chains.Summary()[0], results[1].Chains.Summary()[0]
	if z := (a.Mean - b.Mean) / math.Hypot(a.MCSE, b.MCSE); math.Abs(z) > 4 {
		t.Errorf("means %g and %g, %.1f standard errors apart", a.Mean, b.Mean, z)
	}
	if z := (a.SD - b.SD) / math.Hypot(a.MCSESD, b.MCSESD); math.Abs(z) > 4 {
		t.Errorf("sds %g and %g, %.1f standard errors apart", a.SD, b.SD, z)
	}
	if results[1].Solves < 1.5 {
		t.Errorf("%g solves a draw", results[1].Solves)
	}
	if _, err := sample.Reweight(context.Background(), p, results[1].Chains, probode.Setup{}, 0); err != nil {
		t.Error(err)
	}
	r, err := sbc.Run(context.Background(), p, elliptical{}, sbc.Settings{Sets: 60, Ranks: 9, BurnIn: 200, Seed: 3})
	if err != nil {
		t.Fatal(err)
	}
	for k, name := range r.Names {
		if r.P(k) < 1e-5 {
			t.Errorf("%s: P = %.1g", name, r.P(k))
		}
	}
	p.Alpha = 0
	if _, err := sample.Run(context.Background(), p, elliptical{}, mcmc.Settings{}); err == nil {
		t.Error("no noise: no error")
	}
}

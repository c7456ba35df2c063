package sample_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/bayes"
	"github.com/probode/probode/pkg/probode/bayes/modes"
	"github.com/probode/probode/pkg/probode/bayes/sample"
	"github.com/probode/probode/pkg/probode/mcmc"
)

// fragile is a Likelihood that panics when it has been asked often enough.
type fragile struct {
	bayes.Gaussian
	left *int
}

func (f fragile) LogProb(y, m float64, own []float64) float64 {
	if *f.left--; *f.left == 0 {
		panic("likelihood broke")
	}
	return f.Gaussian.LogProb(y, m, own)
}

// A function of the model that panics in the middle of a run is an error with its
// place and the stack, and the draws before it are those of a run that goes on.
func TestPanicsKeepDraws(t *testing.T) {
	s := mcmc.Settings{Chains: 1, Draws: 500, BurnIn: -1, Seed: 1, Start: func(int, *rand.Rand) []float64 { return []float64{1} }}
	whole, err := sample.Run(context.Background(), decayPosterior(0.2, decayY), sample.PCNWithinGibbs{Proposal: walk, Blocks: -1}, s)
	if err != nil {
		t.Fatal(err)
	}
	for name, break_ := range map[string]func(p *bayes.Posterior){
		"F": func(p *bayes.Posterior) {
			left := 9000
			f := p.Experiments[0].Problem.F
			p.Experiments[0].Problem.F = func(dst []float64, t float64, x, theta []float64) {
				if left--; left == 0 {
					panic("F broke")
				}
				f(dst, t, x, theta)
			}
		},
		"likelihood": func(p *bayes.Posterior) {
			left := 2000
			p.Experiments[0].Errors = []bayes.Likelihood{fragile{p.Experiments[0].Errors[0].(bayes.Gaussian), &left}}
		},
		"Observe": func(p *bayes.Posterior) {
			left := 2000
			p.Experiments[0].Observe = func(dst []float64, _ float64, x, _ []float64) {
				if left--; left == 0 {
					panic("Observe broke")
				}
				dst[0] = x[0]
			}
		},
	} {
		p := decayPosterior(0.2, decayY)
		break_(p)
		c, err := sample.Run(context.Background(), p, sample.PCNWithinGibbs{Proposal: walk, Blocks: -1}, s)
		var panicked *probode.PanicError
		if !errors.As(err, &panicked) || !strings.Contains(err.Error(), name+" broke") || !strings.Contains(err.Error(), "theta = ") || !strings.Contains(err.Error(), "fault_test.go") {
			t.Errorf("%s: error %v", name, err)
			continue
		}
		if c == nil || len(c.Draws[0]) < 20 || len(c.Draws[0]) >= 500 {
			t.Errorf("%s: the draws are lost", name)
			continue
		}
		if got := c.Draws[0]; !slices.EqualFunc(got, whole.Draws[0][:len(got)], slices.Equal) {
			t.Errorf("%s: %d draws, which are not those of the whole run", name, len(got))
		}
	}
}

// careless is a sampler whose kernel panics.
type careless struct{ sample.Deterministic }

func (s careless) Algorithm() sample.Algorithm {
	a := s.Deterministic.Algorithm()
	kernel := a.Kernel
	a.Kernel = func(d *bayes.Density, walk mcmc.AdaptiveMetropolis, burnIn int) mcmc.Kernel {
		return &carelessKernel{Kernel: kernel(d, walk, burnIn)}
	}
	return a
}

type carelessKernel struct {
	mcmc.Kernel
	n int
}

func (k *carelessKernel) Step(rng *rand.Rand) {
	if k.n++; k.n > 50 {
		panic("sampler broke")
	}
	k.Kernel.Step(rng)
}
func (k *carelessKernel) Generate(dst []float64) { k.Kernel.(mcmc.Generator).Generate(dst) }

func TestPanicOfASampler(t *testing.T) {
	c, err := sample.Run(context.Background(), decayPosterior(0, decayY), careless{sample.Deterministic{Proposal: walk}}, mcmc.Settings{BurnIn: -1, Draws: 500, Workers: 4})
	if err == nil || !strings.Contains(err.Error(), "sampler broke") || len(c.Draws[0]) > 50 {
		t.Errorf("error %v", err)
	}
}

// A context that ends is obeyed in the middle of a path that takes long, and the
// iteration that was broken off does not count.
func TestContextWithinAPath(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // in which only a sleep takes time
		p := decayPosterior(0, decayY)
		p.Mesh = probode.Uniform(0.02)
		f := p.Experiments[0].Problem.F
		slow := false
		p.Experiments[0].Problem.F = func(dst []float64, t float64, x, theta []float64) {
			if slow {
				time.Sleep(40 * time.Millisecond) // 100 steps take 4 s, and the check of the first one half a second
			}
			f(dst, t, x, theta)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		s := mcmc.Settings{Chains: 1, Draws: 1000, BurnIn: -1, Seed: 1, Start: func(int, *rand.Rand) []float64 { slow = true; return []float64{1} }}
		began := time.Now()
		_, err := sample.Run(ctx, p, sample.Deterministic{Proposal: walk}, s)
		if took := time.Since(began); err == nil || took < 2*time.Second || took > 3*time.Second {
			t.Errorf("%v after %v", err, took)
		}
	})
}

// What is nil is one clear line.
func TestNil(t *testing.T) {
	p := decayPosterior(0, decayY)
	ctx := context.Background()
	for name, f := range map[string]func() error{
		"posterior":                 func() error { _, err := sample.Run(ctx, nil, sample.Deterministic{}, mcmc.Settings{}); return err },
		"sampler":                   func() error { _, err := sample.Run(ctx, p, nil, mcmc.Settings{}); return err },
		"posterior of a density":    func() error { _, err := bayes.NewDensity(context.Background(), nil); return err },
		"posterior of a mode":       func() error { _, err := modes.Find(ctx, nil, modes.Settings{}); return err },
		"posterior of a prediction": func() error { _, err := bayes.Predict(context.Background(), nil, nil, nil, 1); return err },
		"chains of a prediction":    func() error { _, err := bayes.Predict(context.Background(), p, nil, nil, 1); return err },
		"chains of weights":         func() error { _, err := sample.Reweight(ctx, p, nil, probode.Setup{}, 0); return err },
	} {
		if err := f(); err == nil || !strings.Contains(err.Error(), "nil") || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

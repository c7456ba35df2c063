package assess_test

import (
	"math"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/bayes"
	"github.com/probode/probode/pkg/probode/bayes/assess"
	"github.com/probode/probode/pkg/probode/bayes/cases"
	"github.com/probode/probode/pkg/probode/mcmc"
)

func caseOf(t *testing.T, name string) *bayes.Posterior {
	t.Helper()
	c, err := cases.Named(name)
	if err != nil {
		t.Fatal(err)
	}
	return c.Posterior()
}

// dragonMass returns the share of the posterior of the dragons at step h that lies
// beyond β1 = 3, by quadrature: the paths are y = b + (1 − b) R(hβ1)ⁿ, b = β0/β1.
func dragonMass(p *bayes.Posterior, h float64) float64 {
	x := p.Experiments[0]
	logp := func(b, beta1 float64) float64 {
		z := h * beta1
		r := 1 - z + z*z/2 - z*z*z/6 + z*z*z*z/24
		lp := p.Params[0].Prior.LogProb(b*beta1) + p.Params[1].Prior.LogProb(beta1) + math.Log(beta1)
		for i, t := range x.Data.T {
			m := b + (1-b)*math.Pow(r, math.Round(t/h))
			lp -= (x.Data.Y[i][0] - m) * (x.Data.Y[i][0] - m) / 0.02
		}
		return lp
	}
	top := math.Inf(-1)
	sum := func(f func(lp, beta1 float64)) {
		for b := 9.0; b < 11; b += 0.01 {
			for beta1 := 0.5; beta1 < 12; beta1 += 0.002 {
				f(logp(b, beta1), beta1)
			}
		}
	}
	sum(func(lp, _ float64) { top = max(top, lp) })
	var all, far float64
	sum(func(lp, beta1 float64) {
		w := math.Exp(lp - top)
		if all += w; beta1 > 3 {
			far += w
		}
	})
	return far / all
}

// The dragons are found out at h = ½ whatever the seed, with the phantom where it is
// and the mass that quadrature gives it, and below β1 = 10 there is none at h = ¼.
func TestDragons(t *testing.T) {
	for _, name := range []string{"dragons", "dragons-uniform"} {
		p := caseOf(t, name)
		want := dragonMass(p, 0.5)
		for seed := range uint64(3) {
			a := assessed(t, p, assess.Settings{Steps: []float64{0.5, 0.25}, Weighed: 400, Sampler: bayes.Deterministic{},
				Chains: mcmc.Settings{Draws: 1500, MinESS: 3000, Seed: seed}, Calibrate: probode.CalibrateSettings{Paths: 50}})
			st := a.Steps[0]
			if v := st.Deterministic.Verdict(); v != assess.Matters {
				t.Errorf("%s, seed %d: %v", name, seed, v)
			}
			found := false
			for _, m := range st.Modes {
				if m.Phantom {
					// 3000 effective draws know the share to .008.
					found = math.Abs(m.Theta[1]-4.911) < 0.01 && math.Abs(m.Mass-want) < 0.03
				}
			}
			if !found {
				t.Errorf("%s, seed %d: modes %+v, want a phantom at 4.911 of %.3f", name, seed, st.Modes, want)
			}
			if !contains(a.Warnings, "phantom: at h = 0.5") {
				t.Errorf("%s: warnings %q", name, a.Warnings)
			}
		}
	}
	p := caseOf(t, "dragons")
	p.Params[1].Prior = bayes.Truncated{Of: distuv.LogNormal{Sigma: 2}, Max: 10}
	a := assessed(t, p, assess.Settings{Steps: []float64{0.25}, Weighed: 400, Sampler: bayes.Deterministic{}, Chains: mcmc.Settings{Draws: 1500, Seed: 1}, Calibrate: probode.CalibrateSettings{Paths: 50}})
	if v := a.Steps[0].Deterministic.Verdict(); v != assess.Negligible || len(a.Steps[0].Modes) != 1 {
		t.Errorf("h = 0.25 below β1 = 10: %v, modes %+v", v, a.Steps[0].Modes)
	}
}

// Both modes of the oscillator are in the reference posterior, half each, and none
// is a phantom: .5 within .05, ten standard errors of a share that changes in a
// tenth of 24 000 iterations.
func TestAlias(t *testing.T) {
	a := assessed(t, caseOf(t, "alias"), assess.Settings{Steps: []float64{0.05}, Weighed: 400, Sampler: bayes.Deterministic{}, Chains: mcmc.Settings{Draws: 1500, Seed: 1}, Calibrate: probode.CalibrateSettings{Paths: 50}})
	if v := a.Steps[0].Deterministic.Verdict(); v != assess.Negligible {
		t.Errorf("%v: %q", v, a.Warnings)
	}
	for _, modes := range [][]assess.Mode{a.Steps[0].Modes, a.ReferenceModes} {
		if len(modes) != 2 {
			t.Fatalf("modes %+v", modes)
		}
		for _, m := range modes {
			if w := min(math.Abs(m.Theta[0]-1.3), math.Abs(m.Theta[0]-2*math.Pi+1.3)); w > 0.01 || math.Abs(m.Mass-0.5) > 0.05 || m.Phantom {
				t.Errorf("mode %+v", m)
			}
		}
	}
}

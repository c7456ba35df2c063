package assess_test

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/bayes"
	"github.com/probode/probode/pkg/probode/bayes/assess"
	"github.com/probode/probode/pkg/probode/mcmc"
)

// decays returns the model of thirteen independent decays, each with a rate of its own.
func decays(step float64) *bayes.Posterior {
	const n = 13
	p := assessPosterior(step)
	p.Params = nil
	x := &p.Experiments[0]
	x.Problem.X0, x.Problem.Theta = make([]float64, n), make([]float64, n)
	x.Data = &bayes.Data{T: assessTimes}
	x.Errors = nil
	for k := range n {
		p.Params = append(p.Params, bayes.Param{Name: fmt.Sprintf("theta%d", k+1), Prior: assessPrior})
		x.Problem.X0[k], x.Problem.Theta[k] = 1, 1
		x.Errors = append(x.Errors, bayes.Gaussian{Sigma: bayes.Known(assessSigma)})
	}
	for _, y := range assessY {
		row := make([]float64, n)
		for k := range row {
			row[k] = y
		}
		x.Data.Y = append(x.Data.Y, row)
	}
	x.Problem.F = func(f []float64, _ float64, x, th []float64) {
		for k := range f {
			f[k] = -th[k] * x[k]
		}
	}
	return p
}

// Thirteen independent decays are sampled with gradients, once for the accurate posterior
// and the step 1/64, whose effects are known by quadrature: 26 numbers within 4.5 standard
// errors, false alarms 2e-4. The first 500 draws of a chain are too few for a verdict. The step 1/4 is too far off for weights. It is sampled by
// itself, and matters.
func TestSharedDraws(t *testing.T) {
	a := quick(t, decays(1./64), assess.Settings{Steps: []float64{0.25, 1. / 64}, Auto: true, MaxDraws: 2000, Weighed: 1000, Accurate: probode.Setup{Method: probode.RungeKutta{}, Mesh: probode.Uniform(1. / 64)},
		Chains: mcmc.Settings{Draws: 500, BurnIn: 500, Seed: 2}})
	coarse, fine := a.Steps[0].Deterministic, a.Steps[1].Deterministic
	if !strings.HasSuffix(fine.Sampler, "weighted") || fine.Verdict != assess.Negligible || fine.Draws <= 500 {
		t.Fatalf("%v", a)
	}
	if coarse.Sampler != "deterministic" || coarse.Verdict == assess.Negligible {
		t.Errorf("%s at h = 1/4: %v", coarse.Sampler, coarse.Verdict)
	}
	mean, sd := assessMoments(t, 0, 0)
	meanH, sdH := assessMoments(t, 1./64, 0)
	for k, e := range fine.Effects {
		s := e.Mean
		z, w := (s.Bias-(meanH-mean)/sd)/s.BiasSE, (s.Ratio-sdH/sd)/s.RatioSE
		if !(math.Abs(z) < 4.5 && math.Abs(w) < 4.5) || s.BiasSE > 0.02 {
			t.Errorf("parameter %d: %+v, want bias %.4f and ratio %.4f", k, s, (meanH-mean)/sd, sdH/sd)
		}
	}
}

// If the time is not sufficient for sampling with gradients, the report has no verdict,
// but the reason and D.
func TestSharedDrawsTakeTooLong(t *testing.T) {
	p := decays(1. / 64)
	a, err := assess.Run(t.Context(), p, assess.Settings{Auto: true, MaxTime: time.Nanosecond, Accurate: probode.Setup{Method: probode.RungeKutta{}, Mesh: probode.Uniform(1. / 64)}, Steps: []float64{1. / 64}})
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(a.Answer(), "could not be sampled within 1ns") || !strings.Contains(a.Answer(), "\nD is 0.18 at h = 0.01562") || a.Largest != 0 {
		t.Errorf("%v", a)
	}
}

package assess_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"gonum.org/v1/gonum/stat"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/bayes"
	"github.com/probode/probode/pkg/probode/bayes/assess"
	"github.com/probode/probode/pkg/probode/mcmc"
	"github.com/probode/probode/pkg/probode/methods"
	"github.com/probode/probode/pkg/viz/plots"
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

// Thirteen independent decays are sampled with gradients, once for the reference posterior
// and the step 1/64, whose effects are known by quadrature: 26 numbers within 4.5 standard
// errors, false alarms 2e-4. The first 500 draws of a chain are too few for a verdict. The step 1/4 is too far off for weights. It is sampled by
// itself, and matters.
func TestSharedDraws(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	a := quick(t, decays(1./64), assess.Settings{Steps: []float64{0.25, 1. / 64}, Auto: true, MaxDraws: 2000, Weighed: 1000, Accurate: probode.Setup{Method: methods.RungeKutta{}, Mesh: probode.Uniform(1. / 64)},
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
	a, err := assess.Run(t.Context(), p, assess.Settings{Auto: true, MaxTime: time.Nanosecond, Accurate: probode.Setup{Method: methods.RungeKutta{}, Mesh: probode.Uniform(1. / 64)}, Steps: []float64{1. / 64}})
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(a.Answer(), "could not be sampled within 1ns") || !strings.Contains(a.Answer(), "\nD is 0.18 at h = 0.01562") || a.Largest != 0 {
		t.Errorf("%v", a)
	}
}

// Twenty draws from each chain represent no posterior, but they bound the effect of the
// error: at h = 1/1024 it is negligible, at h = 1/64 it is not. The true shifts of the means
// and the true ratios of the standard deviations, known by quadrature, respect the bounds. One
// of the 80 draws repeats the draw before it, so there are 79 points.
func TestBound(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	a := quick(t, decays(1./1024), assess.Settings{Steps: []float64{1. / 64, 1. / 1024}, Weighed: 80, Accurate: probode.Setup{Method: methods.RungeKutta{}, Mesh: probode.Uniform(1. / 64)},
		Chains: mcmc.Settings{Draws: 20, BurnIn: 200, Seed: 2}})
	coarse, fine := a.Steps[0].Bound, a.Steps[1].Bound
	if coarse == nil || fine == nil || coarse.Verdict != assess.Undecided || fine.Verdict != assess.Negligible || a.Largest != 1./1024 {
		t.Fatalf("%+v, %+v\n%v", coarse, fine, a)
	}
	if s := a.Answer(); !strings.Contains(s, "In the region that the chains have visited, the solver's error does not matter at any setting up to h = 0.0009766") || !strings.Contains(s, "No verdict is possible at h = 0.01562") {
		t.Error(s)
	}
	// At 48 points the differences vary as little, but so few points prove nothing.
	few := quick(t, decays(1./512), assess.Settings{Steps: []float64{1. / 512}, Weighed: 80, Accurate: probode.Setup{Method: methods.RungeKutta{}, Mesh: probode.Uniform(1. / 64)},
		Chains: mcmc.Settings{Draws: 12, BurnIn: 200, Seed: 2}})
	if b := few.Steps[0].Bound; b == nil || b.Points > 48 || b.Ratio() > 1.1 || b.Verdict != assess.Undecided || strings.Contains(few.Answer(), "In the region that the chains have visited") {
		t.Errorf("%+v, %v", b, few)
	}
	if page, err := plots.AssessmentHTML(a, "decays"); err != nil || strings.Contains(page, "bias of the median") || strings.Count(page, "0.0009766\n") < 13 {
		t.Errorf("%v, the page has a figure without data, or a table without the step that is small enough:\n%s", err, page)
	}
	mean, sd := assessMoments(t, 0, 0)
	for i, b := range []*assess.Bound{coarse, fine} {
		meanH, sdH := assessMoments(t, a.Steps[i].StepSize, 0)
		if shift, ratio := math.Abs(meanH-mean)/sd, math.Exp(math.Abs(math.Log(sdH/sd))); shift > b.Shift() || ratio > b.Ratio() || b.Points != 79 {
			t.Errorf("%v: shift %.3g, ratio %.3g, bounds %.3g and %.3g at %d points", a.Steps[i], shift, ratio, b.Shift(), b.Ratio(), b.Points)
		}
	}
}

// The bounds hold for any weights of a thousand random distributions, and random weights
// reach a large part of each of them.
func TestBoundOfAnyDistribution(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	for _, r := range []float64{0.05, 0.2, 1} {
		b := assess.Bound{Range: [2]float64{-r, 0}}
		var shift, ratio, probability float64 // the largest parts of the bounds
		for range 1000 {
			n := 2 + rng.IntN(4)
			p, q, x := make([]float64, n), make([]float64, n), make([]float64, n)
			for k := range n {
				p[k], x[k] = math.Pow(rng.Float64(), 4), rng.NormFloat64()
				q[k] = p[k] * math.Exp(-r*float64(rng.IntN(2)))
			}
			mp, sp := moments(p, x)
			mq, sq := moments(q, x)
			var tv, sum, sumQ float64
			for k := range n {
				sum, sumQ = sum+p[k], sumQ+q[k]
			}
			for k := range n {
				tv += math.Abs(p[k]/sum-q[k]/sumQ) / 2
			}
			shift, probability = max(shift, math.Abs(mq-mp)/sp/b.Shift()), max(probability, tv/b.Probability())
			ratio = max(ratio, math.Abs(math.Log(sq/sp))/math.Log(b.Ratio()))
		}
		for _, v := range []float64{shift, ratio, probability} {
			if v > 1+1e-9 || v < 0.8 {
				t.Errorf("range %g: the largest parts of the bounds are %.4f, %.4f and %.4f", r, shift, ratio, probability)
			}
		}
	}
}

// moments returns the mean and the sd of x with the weights p.
func moments(p, x []float64) (mean, sd float64) {
	mean, variance := stat.PopMeanVariance(x, p)
	return mean, math.Sqrt(variance)
}

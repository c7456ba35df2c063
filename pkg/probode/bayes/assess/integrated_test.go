package assess_test

import (
	"math"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat/distmv"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/adams"
	"github.com/probode/probode/pkg/probode/bayes"
	"github.com/probode/probode/pkg/probode/bayes/assess"
	"github.com/probode/probode/pkg/probode/bayes/cases"
	"github.com/probode/probode/pkg/probode/bayes/marginal"
	"github.com/probode/probode/pkg/probode/bayes/sample"
	"github.com/probode/probode/pkg/probode/filter"
	"github.com/probode/probode/pkg/probode/mcmc"
)

// filterMoments returns the mean and the standard deviation of θ if the solution of
// x′ = −θx is an integrated Wiener process of order 1 that satisfies the equation at the
// times of the data, from one dense Gaussian distribution for each θ.
func filterMoments(t *testing.T, kappa2 float64) (mean, sd float64) {
	t.Helper()
	const h, points, n = 0.5, 4, 2000
	noise := mat.NewDense(2, 2, []float64{h * h * h / 3, h * h / 2, h * h / 2, h})
	noise.Scale(kappa2, noise)
	var w, w1, w2 float64
	for i := range n {
		theta := -1 + 4*float64(i)/n
		// The states (x, x′) at all times, before conditioning.
		m, cov := mat.NewVecDense(2*points, nil), mat.NewDense(2*points, 2*points, nil)
		power := func(k int) *mat.Dense { return mat.NewDense(2, 2, []float64{1, h * float64(k), 0, 1}) }
		for a := range points {
			m.SetVec(2*a, 1-theta*h*float64(a+1))
			m.SetVec(2*a+1, -theta)
			for b := range points {
				sum := mat.NewDense(2, 2, nil)
				for k := range min(a, b) + 1 {
					var term mat.Dense
					term.Product(power(a-k), noise, power(b-k).T())
					sum.Add(sum, &term)
				}
				cov.Slice(2*a, 2*a+2, 2*b, 2*b+2).(*mat.Dense).Copy(sum)
			}
		}
		// The rows of pick are x at all times, followed by the residuals x′ + θx.
		pick := mat.NewDense(2*points, 2*points, nil)
		for a := range points {
			pick.Set(a, 2*a, 1)
			pick.Set(points+a, 2*a, theta)
			pick.Set(points+a, 2*a+1, 1)
		}
		var joint, gain, centre mat.Dense
		joint.Product(pick, cov, pick.T())
		centre.Mul(pick, m)
		x, xz, z := joint.Slice(0, points, 0, points), joint.Slice(0, points, points, 2*points), joint.Slice(points, 2*points, points, 2*points)
		if err := gain.Solve(z, xz.T()); err != nil {
			t.Fatal(err)
		}
		var shift, less mat.Dense
		shift.Mul(gain.T(), centre.Slice(points, 2*points, 0, 1))
		less.Mul(xz, &gain)
		at, spread := make([]float64, points), mat.NewSymDense(points, nil)
		for a := range points {
			at[a] = centre.At(a, 0) - shift.At(a, 0)
			for b := a; b < points; b++ {
				spread.SetSym(a, b, x.At(a, b)-less.At(a, b))
			}
			spread.SetSym(a, a, spread.At(a, a)+assessSigma*assessSigma)
		}
		dist, ok := distmv.NewNormal(at, spread, nil)
		if !ok {
			t.Fatal("covariance is not positive definite")
		}
		p := math.Exp(dist.LogProb(assessY) + assessPrior.LogProb(theta))
		w += p
		w1 += p * theta
		w2 += p * theta * theta
	}
	mean = w1 / w
	return mean, math.Sqrt(w2/w - mean*mean)
}

// Fenrir and DALTON, judged on a linear problem whose posteriors are known: 3·2 checks at
// 4.5 standard errors, 4e-5. With a tiny κ² the posterior is as narrow as if the solver
// were exact, and it is off by -0.075 sd. With a large one it is twice too wide. In both
// cases the report says that κ² does not suit the solver.
func TestIntegratedAgainstQuadrature(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	mean, sd := assessMoments(t, 0, 0)
	for _, c := range []struct {
		of     bayes.Integral
		kappa2 float64
	}{{marginal.Fenrir, 1e-6}, {marginal.Fenrir, 3}, {marginal.DALTON, 3}} {
		p := assessPosterior(0.5)
		p.Method, p.Alpha = filter.EK{Q: 1}, c.kappa2
		a := assessed(t, p, assess.Settings{Candidates: at(0.5), Noise: sample.Deterministic{Integral: c.of}, MaxDraws: 600, Chains: mcmc.Settings{Draws: 600, Seed: 1}})
		m, s := filterMoments(t, c.kappa2)
		bias, ratio := (m-mean)/sd, s/sd
		x := a.Candidates[1]
		e := x.Inference.Effects[0].Mean
		if z := (e.Bias - bias) / math.Hypot(e.BiasSE, 0.02*bias); !(math.Abs(z) <= 4.5) {
			t.Errorf("%v, κ² = %g: bias %.4f, want %.4f (%.1f standard errors)", c.of, c.kappa2, e.Bias, bias, z)
		}
		if z := (e.Ratio - ratio) / e.RatioSE; !(math.Abs(z) <= 4.5) {
			t.Errorf("%v, κ² = %g: sd ratio %.4f, want %.4f (%.1f standard errors)", c.of, c.kappa2, e.Ratio, ratio, z)
		}
		if c.kappa2 > 1 && x.Verdict != assess.Matters || !contains(a.Warnings(), "does not match") {
			t.Errorf("%v, κ² = %g: verdict %v, warnings %q", c.of, c.kappa2, x.Verdict, a.Warnings())
		}
	}
}

// The reference posterior has two modes, and a coarse filter damps the fast oscillation of
// one of them. The remaining mode must not be called right.
func TestIntegratedMissesAMode(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	c, err := cases.Named("alias")
	if err != nil {
		t.Fatal(err)
	}
	p := c.Posterior()
	p.Method = filter.EK{Q: 2}
	a := assessed(t, p, assess.Settings{Candidates: at(0.5), Noise: sample.Deterministic{Integral: marginal.Fenrir}, MaxDraws: 1200, Chains: mcmc.Settings{Draws: 300, Seed: 1}})
	if x := a.Candidates[1]; x.Verdict != assess.Matters || x.Inference.Sampler != "fenrir" {
		t.Errorf("verdict on %+v\n%v", x, a)
	}
}

// Where the method does not apply, one line says why, before anything is computed.
func TestIntegratedErrors(t *testing.T) {
	for _, c := range []struct {
		want   string
		change func(p *bayes.Posterior, s *assess.Settings)
	}{
		{"want ek0, ek1 or ckf", func(p *bayes.Posterior, _ *assess.Settings) { p.Method = adams.Moulton{} }},
		{"scaled by local errors", func(p *bayes.Posterior, _ *assess.Settings) { p.Scaling = probode.ScaleLocal }},
		{"is not on the grid", func(_ *bayes.Posterior, s *assess.Settings) { s.Candidates = at(0.4) }},
		{"want bayes.Gaussian or bayes.LogNormal", func(p *bayes.Posterior, _ *assess.Settings) {
			p.Experiments[0].Errors = []bayes.Likelihood{bayes.Laplace{Scale: bayes.Known(1)}}
		}},
	} {
		p, s := assessPosterior(0.5), assess.Settings{Candidates: at(0.5), Noise: sample.Deterministic{Integral: marginal.Fenrir}}
		p.Method = filter.EK{Q: 1}
		c.change(p, &s)
		if _, err := assess.Run(t.Context(), p, s); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("error %v: want one with %q", err, c.want)
		}
	}
	p := assessPosterior(0.5)
	p.Method = filter.EK{Q: 1}
	if _, err := sample.Run(t.Context(), p, sample.Deterministic{Integral: marginal.Fenrir}, mcmc.Settings{Draws: 10}); err == nil || !strings.Contains(err.Error(), "κ²) is 0") {
		t.Errorf("error %v: want one about κ²", err)
	}
}

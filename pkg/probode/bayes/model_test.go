package bayes_test

import (
	"context"
	"math"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/adams"
	"github.com/probode/probode/pkg/probode/bayes"
	"github.com/probode/probode/pkg/probode/bayes/sample"
	"github.com/probode/probode/pkg/probode/mcmc"
	"github.com/probode/probode/pkg/probode/mcmc/diag"
	"github.com/probode/probode/pkg/probode/methods"
)

// fromAbove is the distribution of 2 − x for exponential x, to have a support that ends
// above.
type fromAbove struct{}

func (fromAbove) LogProb(x float64) float64 { return distuv.Exponential{Rate: 1}.LogProb(2 - x) }
func (fromAbove) Quantile(p float64) float64 {
	return 2 - distuv.Exponential{Rate: 1}.Quantile(1-p)
}
func (fromAbove) CDF(x float64) float64 { return 1 - distuv.Exponential{Rate: 1}.CDF(2-x) }

// uniformLog is the distribution of a number whose logarithm is uniform.
type uniformLog struct{ min, max float64 }

func (d uniformLog) LogProb(x float64) float64 {
	if x < d.min || x > d.max {
		return math.Inf(-1)
	}
	return -math.Log(x * math.Log(d.max/d.min))
}
func (d uniformLog) CDF(x float64) float64 { return math.Log(x/d.min) / math.Log(d.max/d.min) }
func (d uniformLog) Quantile(p float64) float64 {
	switch p {
	case 0:
		return d.min
	case 1:
		return d.max
	}
	return d.min * math.Pow(d.max/d.min, p)
}

type withCDF interface {
	bayes.Distribution
	CDF(float64) float64
}

// A half-normal distribution has no CDF method of its own.
type halfNormal struct{ bayes.Truncated }

func (halfNormal) CDF(x float64) float64 { return math.Erf(x / 0.7 / math.Sqrt2) }

var dists = map[string]withCDF{
	"normal":        distuv.Normal{Mu: 1, Sigma: 2},
	"log-normal":    distuv.LogNormal{Mu: -1, Sigma: 0.5},
	"half-normal":   halfNormal{bayes.Positive(0, 0.7)},
	"exponential":   distuv.Exponential{Rate: 3},
	"gamma":         distuv.Gamma{Alpha: 2, Beta: 3},
	"inverse gamma": distuv.InverseGamma{Alpha: 3, Beta: 2},
	"beta":          distuv.Beta{Alpha: 2, Beta: 5},
	"uniform":       distuv.Uniform{Min: -1, Max: 3},
	"own":           fromAbove{},
	"uniform log":   uniformLog{1e-5, 1e5},
}

// Each transform inverts, and its Jacobian is the derivative by central
// differences of width 1e-5, whose error is 1e-10 of a third derivative and
// 1e-16/1e-5 of rounding, relative to the ends of the support. On the logarithmic scale
// the third derivative is up to (log(max/min)/4)³ θ, 190 times θ, and a sixth of that counts.
func TestTransforms(t *testing.T) {
	for name, dist := range dists {
		to, from := transform(t, bayes.Param{Name: "p", Prior: dist})
		for _, u := range []float64{-5, -1.3, 0, 0.4, 3} {
			theta, lj := to(u)
			if back := from(theta); math.Abs(back-u) > 1e-11 {
				t.Errorf("%s: %g → %g → %g", name, u, theta, back)
			}
			a, _ := to(u - 1e-5)
			b, _ := to(u + 1e-5)
			tol := 1e-9 * math.Max(1, math.Exp(u))
			if _, ok := dist.(uniformLog); ok {
				tol = 1e-8 * theta
			}
			if got, want := math.Exp(lj), (b-a)/2e-5; math.Abs(math.Abs(want)-got) > tol {
				t.Errorf("%s: Jacobian %g at u = %g, want %g", name, got, u, want)
			}
			if lp := dist.LogProb(theta); math.IsInf(lp, 0) || math.IsNaN(lp) {
				t.Errorf("%s: log density %g at %g, inside of the support", name, lp, theta)
			}
		}
		to, _ = transform(t, bayes.Param{Name: "p", Prior: dist, Natural: true})
		if theta, lj := to(0.3); theta != 0.3 || lj != 0 {
			t.Errorf("%s: Natural transforms", name)
		}
	}
}

// A prior that is uniform in the logarithm is moved by the logit of its place on the
// logarithmic scale, so it has the logistic density there. A uniform prior between
// positive bounds has the logistic density on the linear scale.
func TestLogarithmIsUniform(t *testing.T) {
	for _, u := range []float64{-30, -4, 0, 1, 30} {
		p := 1 / (1 + math.Exp(-u))
		want := -math.Abs(u) - 2*math.Log1p(math.Exp(-math.Abs(u)))
		for _, d := range []withCDF{uniformLog{1e-5, 1e3}, uniformLog{2, 3}, uniformLog{1e300, 1.7e308}, distuv.Uniform{Min: 1, Max: 1e6}} {
			to, _ := transform(t, bayes.Param{Name: "p", Prior: d})
			theta, lj := to(u)
			if got := d.LogProb(theta) + lj; math.Abs(d.CDF(theta)-p) > 1e-14 || math.Abs(got-want) > 1e-12 {
				t.Errorf("%v at %g: θ = %g, probability %g, log density %g: want %g and %g", d, u, theta, d.CDF(theta), got, p, want)
			}
		}
	}
}

// transform returns the transform of a parameter, with its log Jacobian, and the inverse.
func transform(t *testing.T, p bayes.Param) (to func(u float64) (theta, logJacobian float64), from func(theta float64) float64) {
	t.Helper()
	post := flatLikelihood(p.Prior)
	post.Params[0] = p
	e, err := bayes.NewDensity(context.Background(), post)
	if err != nil {
		t.Fatal(err)
	}
	x := make([]float64, 1)
	return func(u float64) (float64, float64) {
			lp := e.Constrain(x, []float64{u})
			return x[0], lp - p.Prior.LogProb(x[0])
		}, func(theta float64) float64 {
			_ = e.Unconstrain(x, []float64{theta})
			return x[0]
		}
}

// The density on the unconstrained scale, Jacobian included, integrates to one:
// the trapezoidal rule of width 0.01 on [−40, 40] converges geometrically for
// what is smooth and decays exponentially. Far out neither end makes a NaN.
func TestPriorsAreNormalised(t *testing.T) {
	for name, dist := range dists {
		e, err := bayes.NewDensity(context.Background(), flatLikelihood(dist))
		if err != nil {
			t.Fatal(err)
		}
		theta := make([]float64, 1)
		var sum float64
		for i := -4000; i <= 4000; i++ {
			sum += 0.01 * math.Exp(e.Constrain(theta, []float64{float64(i) / 100}))
		}
		if math.Abs(sum-1) > 1e-6 {
			t.Errorf("%s: integral %v", name, sum)
		}
		for _, u := range []float64{-800, 800} {
			if math.IsNaN(e.Constrain(theta, []float64{u})) {
				t.Errorf("%s: log density is NaN at %g", name, u)
			}
		}
	}
}

// kolmogorov returns √n times the distance of the empirical distribution of
// values u from the uniform one. It exceeds x with probability 2 exp(−2x²) at
// most: for 2.7 with 9e-7.
func kolmogorov(u []float64) float64 {
	slices.Sort(u)
	var d float64
	n := float64(len(u))
	for i, v := range u {
		d = max(d, float64(i+1)/n-v, v-float64(i)/n)
	}
	return d * math.Sqrt(n)
}

// Draws of priors against their distribution functions: 9 checks of 9e-7.
func TestDrawsOfPriors(t *testing.T) {
	for name, dist := range dists {
		p := flatLikelihood(dist)
		rng := probode.Stream(1)
		var u []float64
		for range 5000 {
			u = append(u, dist.CDF(p.DrawPrior(rng)[0]))
		}
		if d := kolmogorov(u); d > 2.7 {
			t.Errorf("%s: Kolmogorov's statistic is %.2f", name, d)
		}
	}
}

func TestTruncated(t *testing.T) {
	d := bayes.Truncated{Of: distuv.Normal{Mu: 1, Sigma: 2}, Min: 0, Max: 2}
	if d.Quantile(0) != 0 || d.Quantile(1) != 2 || math.Abs(d.Quantile(0.5)-1) > 1e-12 {
		t.Errorf("quantiles %g, %g, %g", d.Quantile(0), d.Quantile(0.5), d.Quantile(1))
	}
	if !math.IsInf(d.LogProb(-1e-9), -1) || !math.IsInf(d.LogProb(2.1), -1) {
		t.Error("density outside of the support")
	}
	for _, mu := range []float64{0, 1, -1, 7} {
		if q := bayes.Positive(mu, 0.3).Quantile(0); q != 0 {
			t.Errorf("Positive begins at %g", q)
		}
	}
}

// A likelihood with what to integrate or sum it over.
var likelihoods = []struct {
	l      bayes.Likelihood
	m      float64
	own    []float64
	counts bool
	lo, hi float64
}{
	{bayes.Gaussian{}, -0.3, []float64{0.7}, false, -20, 20},
	{bayes.LogNormal{}, 2, []float64{0.5}, false, 0, 200},
	{bayes.Laplace{}, 1, []float64{0.6}, false, -30, 32},
	{bayes.StudentT{}, 1, []float64{5, 0.3}, false, -60, 60},
	{bayes.Poisson{}, 3.7, nil, true, 0, 200},
	{bayes.Poisson{}, 120, nil, true, 0, 1000},
	{bayes.NegativeBinomial{}, 8, []float64{1.5}, true, 0, 2000},
	{bayes.NegativeBinomial{}, 90, []float64{20}, true, 0, 2000},
}

// Densities and probabilities add up to one. Tails beyond the range hold less
// than 1e-9; the trapezoidal rule of 200001 points is right to 1e-8.
func TestLikelihoodsAreNormalised(t *testing.T) {
	for _, c := range likelihoods {
		width := 1.0
		if !c.counts {
			width = (c.hi - c.lo) / 200000
		}
		var sum float64
		for y := c.lo; y <= c.hi; y += width {
			sum += width * math.Exp(c.l.LogProb(y, c.m, c.own))
		}
		if math.Abs(sum-1) > 1e-7 {
			t.Errorf("%T of mean %g: sum %v", c.l, c.m, sum)
		}
		if c.counts && !math.IsInf(c.l.LogProb(1.5, c.m, c.own), -1) {
			t.Errorf("%T: 1.5 is a count", c.l)
		}
	}
}

// Draws against the distribution function summed from LogProb, made continuous
// for counts by a uniform number: Kolmogorov's test, 7 checks of 9e-7. The
// function of the densities is summed to 1e-4, far below 2.7/√5000.
func TestDrawsOfLikelihoods(t *testing.T) {
	for _, c := range likelihoods {
		rng := probode.Stream(2)
		n, width := int(c.hi-c.lo)+1, 1.0
		if !c.counts {
			n = 200001
			width = (c.hi - c.lo) / 200000
		}
		cdf := make([]float64, n+1) // below point i
		for i := range n {
			cdf[i+1] = cdf[i] + width*math.Exp(c.l.LogProb(c.lo+float64(i)*width, c.m, c.own))
		}
		var u []float64
		for range 5000 {
			y := c.l.Rand(c.m, c.own, rng)
			i := min(max(0, int(math.Round((y-c.lo)/width))), n-1)
			if c.counts && y != math.Trunc(y) {
				t.Fatalf("%T: drew %g", c.l, y)
			}
			u = append(u, cdf[i]+(cdf[i+1]-cdf[i])*rng.Float64())
		}
		if d := kolmogorov(u); d > 2.7 {
			t.Errorf("%T of mean %g: Kolmogorov's statistic is %.2f", c.l, c.m, d)
		}
	}
}

// What cannot be has probability zero, and is not drawn.
func TestLikelihoodsAtTheirLimits(t *testing.T) {
	rng := probode.Stream(1)
	for _, c := range []struct {
		l    bayes.Likelihood
		y, m float64
		own  []float64
		want float64
	}{
		{bayes.Gaussian{}, 1, 1, []float64{0}, math.Inf(-1)},
		{bayes.Gaussian{}, 1, 1, []float64{-2}, math.Inf(-1)},
		{bayes.LogNormal{}, 0, 1, []float64{1}, math.Inf(-1)},
		{bayes.LogNormal{}, 1, -1, []float64{1}, math.Inf(-1)},
		{bayes.StudentT{}, 1, 1, []float64{0, 1}, math.Inf(-1)},
		{bayes.Poisson{}, 0, 0, nil, 0},
		{bayes.Poisson{}, 1, 0, nil, math.Inf(-1)},
		{bayes.Poisson{}, 1, -1, nil, math.Inf(-1)},
		{bayes.NegativeBinomial{}, 0, 0, []float64{2}, 0},
		{bayes.NegativeBinomial{}, -1, 2, []float64{2}, math.Inf(-1)},
	} {
		if got := c.l.LogProb(c.y, c.m, c.own); got != c.want {
			t.Errorf("%T: log probability %g of %g at %g with %g: want %g", c.l, got, c.y, c.m, c.own, c.want)
		}
	}
	for _, l := range []bayes.Likelihood{bayes.LogNormal{}, bayes.Poisson{}, bayes.NegativeBinomial{}} {
		if y := l.Rand(-1, []float64{1}, rng); !math.IsNaN(y) {
			t.Errorf("%T: drew %g of mean −1", l, y)
		}
	}
	for _, bad := range []float64{0, -3, math.NaN()} {
		for _, l := range []bayes.Likelihood{bayes.Gaussian{}, bayes.LogNormal{}, bayes.Laplace{}, bayes.StudentT{}, bayes.NegativeBinomial{}} {
			for at := range l.Own() {
				own := []float64{1, 1}
				own[at] = bad
				if y := l.Rand(2, own, rng); !math.IsNaN(y) {
					t.Errorf("%T: drew %g with %g", l, y, own)
				}
				if lp := l.LogProb(2, 2, own); !math.IsInf(lp, -1) {
					t.Errorf("%T: log probability %g with %g", l, lp, own)
				}
			}
		}
	}
}

// The negative binomial distribution against Poisson's, and Student's t against the
// Gaussian: the difference is
//
//	((y−m)² − y)/2φ + O(1/φ²)   and   (r⁴ − 2r² − 1)/4ν + O(1/ν²),
//
// in which the second-order terms are below (y+m)³/φ² and (1+r²)³/ν². Rounding is
// that of terms of the size of y log y, and of r².
func TestLimitsOfLikelihoods(t *testing.T) {
	for _, big := range []float64{1e4, 1e6, 1e9, 1e12, 1e16, 1e18, 1e100} {
		for _, c := range [][2]float64{{0, 3}, {3, 3}, {7, 2.5}, {150, 120}, {1000, 1100}} {
			y, m := c[0], c[1]
			got := bayes.NegativeBinomial{}.LogProb(y, m, []float64{big}) - bayes.Poisson{}.LogProb(y, m, nil)
			want := ((y-m)*(y-m) - y) / (2 * big)
			if tol := math.Pow(y+m, 3)/big/big + 1e-15*(10+y)*math.Log(10+y); math.Abs(got-want) > tol {
				t.Errorf("φ = %g, y = %g, m = %g: %g more than Poisson's, want %g ± %.2g", big, y, m, got, want, tol)
			}
		}
		for _, r := range []float64{0, 0.3, 1, 5, 20} {
			got := bayes.StudentT{}.LogProb(1+2*r, 1, []float64{big, 2}) - bayes.Gaussian{}.LogProb(1+2*r, 1, []float64{2})
			want := (math.Pow(r, 4) - 2*r*r - 1) / (4 * big)
			if tol := math.Pow(1+r*r, 3)/big/big + 1e-15*(10+r*r); math.Abs(got-want) > tol {
				t.Errorf("ν = %g, r = %g: %g more than the Gaussian, want %g ± %.2g", big, r, got, want, tol)
			}
		}
	}
}

// idle is a problem with parameters that its equation does not see, so that
// without data the posterior is the prior.
func idle(params ...string) *probode.Problem {
	return &probode.Problem{Name: "idle", Params: params, X0: []float64{1}, Theta: make([]float64, len(params)), Span: [2]float64{0, 1},
		F: func(f []float64, _ float64, _, _ []float64) { f[0] = 0 }}
}

var nothing = &bayes.Data{T: []float64{1}, Y: [][]float64{{math.NaN()}}}

// Without data the draws are those of the prior, moved on the scale of the
// logarithm or logit or on the natural one: this holds if and only if the
// Jacobian is right. u = CDF(θ) has mean 1/2 and variance 1/12; 9 distributions, 2 scales
// and 2 checks of 4.5 standard errors: 36·7e-6 = 2.5e-4.
func TestPriorsByTransforms(t *testing.T) {
	var names []string
	for name := range dists {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, natural := range []bool{false, true} {
		for _, name := range names {
			dist := dists[name]
			p := &bayes.Posterior{
				Model: bayes.Model{
					Params:      []bayes.Param{{Name: "p", Prior: dist, Natural: natural}},
					Experiments: []bayes.Experiment{{Problem: idle("p"), Data: nothing, Errors: []bayes.Likelihood{bayes.Gaussian{bayes.Known(1)}}}},
				},
				Setup: probode.Setup{Method: adams.Bashforth{}, Mesh: probode.Uniform(1)},
			}
			scale := 1.0
			if natural {
				scale = dist.Quantile(0.84) - dist.Quantile(0.5)
			}
			c, err := sample.Run(context.Background(), p, sample.Deterministic{Proposal: &mcmc.AdaptiveMetropolis{Scale: []float64{scale}}}, mcmc.Settings{Draws: 5000})
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			u, r := c.Parameter(0), c.Parameter(0)
			for i := range u {
				for k := range u[i] {
					u[i][k] = dist.CDF(u[i][k])
					r[i][k] = math.Pow(u[i][k]-0.5, 2)
				}
			}
			all, squares := slices.Concat(u...), slices.Concat(r...)
			if z := (stat.Mean(all, nil) - 0.5) / diag.MCSEMean(u); math.Abs(z) > 4.5 {
				t.Errorf("%s, natural %v: mean of CDF(θ) %.1f standard errors off", name, natural, z)
			}
			if z := (stat.Mean(squares, nil) - 1./12) / diag.MCSEMean(r); math.Abs(z) > 4.5 {
				t.Errorf("%s, natural %v: variance of CDF(θ) %.1f standard errors off", name, natural, z)
			}
		}
	}
}

// logLikelihoodAt returns the log likelihood of p at θ without noise.
func logLikelihoodAt(t *testing.T, p *bayes.Posterior, theta ...float64) (float64, *bayes.Density) {
	t.Helper()
	e, err := bayes.NewDensity(context.Background(), p)
	if err != nil {
		t.Fatal(err)
	}
	ll, err := e.LogLikelihood(theta, nil)
	if err != nil {
		t.Fatal(err)
	}
	return ll, e
}

// sloped is x′ = slope from start, solved without an error by every method.
func sloped(span float64) *probode.Problem {
	p := &probode.Problem{Name: "sloped", States: []string{"x"}, Params: []string{"slope"}, X0: []float64{3}, Theta: []float64{2}, Span: [2]float64{0, span},
		F: func(f []float64, _ float64, _, th []float64) { f[0] = th[0] }}
	return p
}

// Two experiments on grids of their own share what has one name, and each has
// what is its own: a start, a size of errors, a distribution, missing values, times
// between the grid points, and an observable that depends on θ.
func TestExperimentsShareParameters(t *testing.T) {
	flat := distuv.Normal{Mu: 0, Sigma: 10}
	size := distuv.LogNormal{Mu: 0, Sigma: 1}
	p := &bayes.Posterior{
		Model: bayes.Model{
			Params: []bayes.Param{{Name: "v", Prior: flat}, {Name: "x0", Prior: flat}, {Name: "gain", Prior: flat}, {Name: "sigma", Prior: size}, {Name: "tau", Prior: size}},
			Experiments: []bayes.Experiment{
				{Problem: sloped(2).UnknownStart(), Params: []string{"v", "x0"},
					Data:   &bayes.Data{T: []float64{0, 0.37, 2}, Y: [][]float64{{1}, {math.NaN()}, {4}}},
					Errors: []bayes.Likelihood{bayes.Gaussian{bayes.Unknown("sigma")}}},
				{Name: "second", Problem: sloped(3), Params: []string{"v"},
					Data:    &bayes.Data{T: []float64{0.21, 3}, Y: [][]float64{{8, 5}, {20, 7}}},
					Observe: func(dst []float64, _ float64, x, theta []float64) { dst[0], dst[1] = theta[2]*x[0], x[0]*x[0] },
					Errors:  []bayes.Likelihood{bayes.Gaussian{bayes.Unknown("tau")}, bayes.Poisson{}}},
			},
		},
		Setup: probode.Setup{Method: methods.RungeKutta{}, Mesh: probode.Uniform(0.7)},
	}
	v, x0, gain, sigma, tau := 1.5, 0.8, 2.5, 0.6, 1.1
	ll, e := logLikelihoodAt(t, p, v, x0, gain, sigma, tau)
	want := distuv.Normal{Mu: x0, Sigma: sigma}.LogProb(1) + distuv.Normal{Mu: x0 + 2*v, Sigma: sigma}.LogProb(4)
	fit := []float64{x0, x0 + 0.37*v, x0 + 2*v}
	for n, at := range []float64{0.21, 3} {
		m := 3 + at*v
		fit = append(fit, gain*m, m*m)
		want += distuv.Normal{Mu: gain * m, Sigma: tau}.LogProb([]float64{8, 20}[n]) + distuv.Poisson{Lambda: m * m}.LogProb([]float64{5, 7}[n])
	}
	if math.Abs(ll-want) > 1e-10 {
		t.Errorf("log likelihood %v, want %v", ll, want)
	}
	for i := range fit {
		if math.Abs(e.Expected()[i]-fit[i]) > 1e-12*10 {
			t.Errorf("fit %v, want %v", e.Expected(), fit)
			break
		}
	}
	generated := make([]float64, len(e.Quantities()))
	e.Generate(generated, 0, []float64{v, x0, gain, sigma, tau}, e.Expected())
	terms := generated[1+len(fit):] // one value is missing
	var sum float64
	for _, l := range terms {
		sum += l
	}
	if len(terms) != len(fit)-1 {
		t.Errorf("%d terms of %d values, one of them missing", len(terms), len(fit))
	}
	if math.Abs(sum-want) > 1e-10 {
		t.Errorf("terms add up to %v, want %v", sum, want)
	}
	// Steps divide the spans 2 and 3 and are at most 0.7.
	for i, want := range []float64{2. / 3, 0.6} {
		if h, _ := e.Part(i).Grid().Solver().Grid().Uniform(); math.Abs(h-want) > 1e-12 {
			t.Errorf("step %g of experiment %d, want %g", h, i+1, want)
		}
	}
}

// Columns that are named after states are those, in whatever order. Names that
// are all others are taken in order if there are as many as states, and never
// guessed at otherwise.
func TestColumnsAreNamedAfterStates(t *testing.T) {
	for _, c := range []struct {
		states, names []string
		columns       int
		want          []float64 // the expected values, at (1, 2, 3)
		err           string
	}{
		{[]string{"a", "b", "c"}, []string{"b"}, 1, []float64{2}, ""},
		{[]string{"a", "b", "c"}, []string{"c", "a"}, 2, []float64{3, 1}, ""},
		{[]string{"a", "b", "c"}, []string{"a_obs", "b_obs", "c_obs"}, 3, []float64{1, 2, 3}, ""},
		{[]string{"a", "b", "c"}, nil, 2, []float64{1, 2}, ""},
		{nil, []string{"weight"}, 1, []float64{1}, ""},
		{[]string{"a", "b", "c"}, []string{"weight"}, 1, nil, `the column "weight" of the data is none of the states a, b, c`},
		{[]string{"a", "b", "c"}, []string{"c", "weight"}, 2, nil, `the column "weight" of the data is none of the states a, b, c`},
		{[]string{"a", "b", "c"}, []string{"c", "b", "weight"}, 3, nil, `the column "weight" of the data is none of the states a, b, c`},
		{[]string{"a", "b", "c"}, []string{"c", "b"}, 1, nil, "the number of names is 2 and the number of columns is 1"},
	} {
		problem := &probode.Problem{Name: "three", States: c.states, X0: []float64{1, 2, 3}, Theta: []float64{0}, Span: [2]float64{0, 1},
			F: func(f []float64, _ float64, _, th []float64) { f[0], f[1], f[2] = th[0], th[0], th[0] }}
		p := &bayes.Posterior{
			Model: bayes.Model{
				Params:      []bayes.Param{{Name: "theta1", Prior: distuv.Normal{Sigma: 1}}},
				Experiments: []bayes.Experiment{{Problem: problem, Data: &bayes.Data{T: []float64{0}, Y: [][]float64{make([]float64, c.columns)}, Names: c.names}, Errors: []bayes.Likelihood{bayes.Gaussian{bayes.Known(1)}}}},
			},
			Setup: probode.Setup{Method: adams.Bashforth{}, Mesh: probode.Uniform(1)},
		}
		if c.err != "" {
			if _, err := bayes.NewDensity(context.Background(), p); err == nil || !strings.Contains(err.Error(), c.err) {
				t.Errorf("%q: error %v, want %q", c.names, err, c.err)
			}
			continue
		}
		if _, e := logLikelihoodAt(t, p, 0); !slices.Equal(e.Expected(), c.want) {
			t.Errorf("%q: expected %g, want %g", c.names, e.Expected(), c.want)
		}
	}
}

// town is an epidemic x = (S, I) of which a share rho is seen by Observe, with the
// name of the rate as a parameter of the caller's choice.
func town(rate, share string) *bayes.Posterior {
	p := &probode.Problem{Name: "town", States: []string{"S", "I"}, Params: []string{"beta"}, X0: []float64{1000, 0}, Theta: []float64{0.5}, Span: [2]float64{0, 4},
		F: func(f []float64, time float64, x, th []float64) {
			f[0] = -th[0]*x[0]*x[1]/1000 - 1
			f[1] = -f[0] - 0.2*x[1]
		}}
	return &bayes.Posterior{
		Model: bayes.Model{
			Params: []bayes.Param{{Name: rate, Prior: distuv.LogNormal{Mu: -1, Sigma: 0.5}}, {Name: share, Prior: distuv.Beta{Alpha: 2, Beta: 2}}},
			Experiments: []bayes.Experiment{{Name: "A", Problem: p, Params: []string{"beta"}, Data: &bayes.Data{T: []float64{1, 2, 4}, Y: [][]float64{{1}, {2}, {3}}},
				Observe: func(dst []float64, _ float64, x, theta []float64) { dst[0] = theta[1] * x[1] },
				Errors:  []bayes.Likelihood{bayes.Gaussian{bayes.Known(1)}}}},
		},
		Setup: probode.Setup{Method: methods.RungeKutta{}, Mesh: probode.Uniform(0.5), Alpha: 1},
	}
}

// What stays at its nominal value can be told.
func TestHeld(t *testing.T) {
	p := town("beta", "rho")
	if got := p.Held(); got != "" {
		t.Errorf("%q is held", got)
	}
	p.Experiments = append(p.Experiments, p.Experiments[0])
	p.Experiments[1].Name, p.Experiments[1].Params = "", []string{""}
	if got, want := p.Held(), "held at their nominal values: beta = 0.5 (experiment 2)"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	p.Experiments = p.Experiments[1:]
	if got, want := p.Held(), "held at their nominal values: beta = 0.5"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// An α with a prior scales the noise: with ξ given, x(1) = x₀ + θ + √α Σ h^{3/2} ξᵢ
// by forward Euler, whose noise is α h³ in a step.
func TestUnknownAlpha(t *testing.T) {
	p := &bayes.Posterior{
		Model: bayes.Model{
			Params: []bayes.Param{{Name: "slope", Prior: distuv.Normal{Sigma: 1}}, {Name: "alpha", Prior: distuv.Exponential{Rate: 1}}},
			Experiments: []bayes.Experiment{{Problem: sloped(1), Data: &bayes.Data{T: []float64{1}, Y: [][]float64{{0}}},
				Errors: []bayes.Likelihood{bayes.Gaussian{bayes.Known(1)}}}},
		},
		Setup:      probode.Setup{Method: adams.Bashforth{}, Mesh: probode.Uniform(0.5)},
		AlphaParam: "alpha",
	}
	_, e := logLikelihoodAt(t, p, 1, 0.3)
	for _, alpha := range []float64{0.3, 2, 0} {
		if _, err := e.LogLikelihood([]float64{1, alpha}, []float64{0.4, -1.5}); err != nil {
			t.Fatal(err)
		}
		if want := 3 + 1 + math.Sqrt(alpha)*math.Pow(0.5, 1.5)*(0.4-1.5); math.Abs(e.Expected()[0]-want) > 1e-12 {
			t.Errorf("α = %g: expected %v, want %v", alpha, e.Expected()[0], want)
		}
	}
	// The posterior of α is known: y − x₀ ~ N(0, α/4 + 1 + var slope).
	c, err := sample.Run(context.Background(), p, sample.PCNWithinGibbs{}, mcmc.Settings{Draws: 10000})
	if err != nil {
		t.Fatal(err)
	}
	var w, w1 float64
	for i := range 40000 {
		a := (float64(i) + 0.5) / 1000 // up to 40, beyond which lies e⁻⁴⁰
		q := math.Exp(-a) * distuv.Normal{Mu: 3, Sigma: math.Sqrt(2 + a/4)}.Prob(0)
		w, w1 = w+q, w1+a*q
	}
	// One check: 7e-6.
	if m := c.Summary()[1]; math.Abs(m.Mean-w1/w) > 4.5*m.MCSE {
		t.Errorf("mean of α %.4f ± %.4f, want %.4f", m.Mean, m.MCSE, w1/w)
	}
}

// What is wrong with a model is said in one line that names it.
func TestBadPosterior(t *testing.T) {
	good := func() *bayes.Posterior {
		return &bayes.Posterior{
			Model: bayes.Model{
				Params: []bayes.Param{{Name: "slope", Prior: distuv.Normal{Mu: 1, Sigma: 1}}, {Name: "sigma", Prior: distuv.Exponential{Rate: 1}}},
				Experiments: []bayes.Experiment{{Problem: sloped(1), Data: &bayes.Data{T: []float64{0.5, 1}, Y: [][]float64{{1}, {2}}},
					Errors: []bayes.Likelihood{bayes.Gaussian{bayes.Unknown("sigma")}}}},
			},
			Setup: probode.Setup{Method: adams.Bashforth{}, Mesh: probode.Uniform(0.5), Alpha: 1},
		}
	}
	if _, err := bayes.NewDensity(context.Background(), good()); err != nil {
		t.Fatal(err)
	}
	for want, change := range map[string]func(p *bayes.Posterior){
		"a Posterior needs Params, Experiments":       func(p *bayes.Posterior) { p.Mesh = nil },
		"the method is nil":                           func(p *bayes.Posterior) { p.Method = nil },
		"parameter 1 has no name":                     func(p *bayes.Posterior) { p.Params[0].Name = "" },
		`two parameters are named "slope"`:            func(p *bayes.Posterior) { p.Params[1].Name = "slope" },
		`parameter "sigma" has no Prior`:              func(p *bayes.Posterior) { p.Params[1].Prior = nil },
		`errors of column 1: no parameter "sgima"`:    func(p *bayes.Posterior) { p.Experiments[0].Errors[0] = bayes.Gaussian{bayes.Unknown("sgima")} },
		`parameter "slpoe" is not used`:               func(p *bayes.Posterior) { p.Params[0].Name = "slpoe" },
		`no parameter "speed": the model has slope, `: func(p *bayes.Posterior) { p.Experiments[0].Params = []string{"speed"} },
		`AlphaParam: no parameter "alpha"`:            func(p *bayes.Posterior) { p.AlphaParam = "alpha" },
		"Alpha is -1":                                 func(p *bayes.Posterior) { p.Alpha = -1 },
		"experiment 1: want Problem, Data and Errors": func(p *bayes.Posterior) { p.Experiments[0].Data = nil },
		"the length of Params is 2: want 1":           func(p *bayes.Posterior) { p.Experiments[0].Params = []string{"slope", "sigma"} },
		"the length of Errors is 2 and the number of columns is 1": func(p *bayes.Posterior) {
			p.Experiments[0].Errors = []bayes.Likelihood{bayes.Poisson{}, bayes.Poisson{}}
		},
		"set Observe to a function": func(p *bayes.Posterior) { p.Experiments[0].Data.Y = [][]float64{{1, 2}, {1, 2}} },
		"Sigma is 0":                func(p *bayes.Posterior) { p.Experiments[0].Errors[0] = bayes.Gaussian{} },
		"errors of column 1: the value 1.5 at t = 0.5": func(p *bayes.Posterior) {
			p.Experiments[0].Data.Y[0][0] = 1.5
			p.Experiments[0].Errors[0] = bayes.Poisson{}
		},
		`experiment "late": data: time 1 comes after`:                  func(p *bayes.Posterior) { p.Experiments[0].Name, p.Experiments[0].Data.T = "late", []float64{2, 1} },
		"time 1.5 is outside the span":                                 func(p *bayes.Posterior) { p.Experiments[0].Data.T[1] = 1.5 },
		"step is 2":                                                    func(p *bayes.Posterior) { p.Mesh = probode.Uniform(2) },
		`the prior of "slope" has the log density`:                     func(p *bayes.Posterior) { p.Params[0].Prior = bayes.Positive(-50, 1) },
		"has the support [1, 1]":                                       func(p *bayes.Posterior) { p.Params[0].Prior = distuv.Uniform{Min: 1, Max: 1} },
		`prior of "slope", Gamma{Alpha: 0, Beta: 0}, cannot be used: `: func(p *bayes.Posterior) { p.Params[0].Prior = distuv.Gamma{} },
		`prior of "slope", Beta{Alpha: 0, Beta: 0}, cannot be used: `:  func(p *bayes.Posterior) { p.Params[0].Prior = distuv.Beta{} },
		"the number of steps is 9: want 0 to 4":                        func(p *bayes.Posterior) { p.Method = adams.Moulton{Steps: 9} },
		"the number of steps is -1: want 1 to 5":                       func(p *bayes.Posterior) { p.Method = adams.Bashforth{Steps: -1} },
		"the rows are empty":                                           func(p *bayes.Posterior) { p.Experiments[0].Data.Y = [][]float64{{}, {}} },
		"the number of names is 2 and the number of columns is 1":      func(p *bayes.Posterior) { p.Experiments[0].Data.Names = []string{"x", "y"} },
		"errors of column 1: the distribution is nil":                  func(p *bayes.Posterior) { p.Experiments[0].Errors = []bayes.Likelihood{nil} },
		`the prior of "sigma" extends down to −∞, but the parameter is Sigma of Gaussian, which must be positive: want one of positive numbers`: func(p *bayes.Posterior) { p.Params[1].Prior = distuv.Normal{Mu: 1, Sigma: 5} },
		`the prior of "sigma" extends down to -1, but the parameter is Sigma of StudentT`: func(p *bayes.Posterior) {
			p.Params[1].Prior = distuv.Uniform{Min: -1, Max: 1}
			p.Experiments[0].Errors[0] = bayes.StudentT{Nu: bayes.Known(4), Sigma: bayes.Unknown("sigma")}
		},
		`the prior of "sigma" extends down to −∞, but the parameter is Nu of StudentT`: func(p *bayes.Posterior) {
			p.Params[1].Prior = distuv.Normal{Mu: 1, Sigma: 5}
			p.Experiments[0].Errors[0] = bayes.StudentT{Nu: bayes.Unknown("sigma"), Sigma: bayes.Known(1)}
		},
		`the prior of "sigma" extends down to −∞, but the parameter is Phi of NegativeBinomial`: func(p *bayes.Posterior) {
			p.Params[1].Prior = distuv.Normal{Mu: 1, Sigma: 5}
			p.Experiments[0].Errors[0] = bayes.NegativeBinomial{bayes.Unknown("sigma")}
		},
		`the prior of "a" extends down to −∞, but the parameter is α, which cannot be negative: want one of positive numbers`: func(p *bayes.Posterior) {
			p.Params = append(p.Params, bayes.Param{Name: "a", Prior: distuv.Normal{Mu: 0.05, Sigma: 0.1}, Natural: true})
			p.AlphaParam = "a"
		},
	} {
		p := good()
		change(p)
		_, err := sample.Run(context.Background(), p, sample.Deterministic{}, mcmc.Settings{})
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("error %v, want one line with %q", err, want)
		}
	}
	p := good()
	p.Alpha = 0
	if _, err := sample.Run(context.Background(), p, sample.PCNWithinGibbs{}, mcmc.Settings{}); err == nil || !strings.Contains(err.Error(), "Alpha is 0") {
		t.Errorf("error %v", err)
	}
}

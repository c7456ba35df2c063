package bayes_test

import (
	"context"
	"math"
	"strings"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/adams"
	"github.com/probode/probode/pkg/probode/bayes"
)

// extreme are priors on whose unconstrained scale numbers overflow, underflow or are
// rounded to an end of the support.
var extreme = []bayes.Distribution{
	distuv.Normal{Mu: 0, Sigma: 1e300}, distuv.LogNormal{Mu: 600, Sigma: 30}, distuv.Exponential{Rate: 1e-300}, distuv.Exponential{Rate: 1e300},
	distuv.Gamma{Alpha: 1, Beta: 1}, distuv.Gamma{Alpha: 0.01, Beta: 1}, distuv.InverseGamma{Alpha: 3, Beta: 2}, distuv.StudentsT{Mu: 0, Sigma: 1, Nu: 2},
	distuv.Beta{Alpha: 1, Beta: 1}, distuv.Beta{Alpha: 2, Beta: 1}, distuv.Beta{Alpha: 1, Beta: 2}, distuv.Beta{Alpha: 0.5, Beta: 3},
	distuv.Uniform{Min: 1e299, Max: 1e300}, distuv.Uniform{Min: -1e300, Max: 1e300}, distuv.Uniform{Min: 1e-300, Max: 1e300}, uniformLog{1e-300, 1e3},
	bayes.Positive(-8, 1), bayes.Truncated{Of: distuv.Normal{Mu: 0, Sigma: 1}, Min: math.Inf(-1), Max: -30},
	distuv.Laplace{Mu: 3, Scale: 1}, distuv.Weibull{K: 2, Lambda: 1}, fromAbove{},
}

// The gradient of the log prior density is that of differences wherever the density is
// positive and θ has digits to spare next to the ends of its support. Farther out it is not
// NaN. On the unconstrained scale the densities are smooth over one unit, or over one
// standard deviation.
func TestPriorSlopesFarOut(t *testing.T) {
	for _, prior := range extreme {
		e, err := bayes.NewDensity(context.Background(), flatLikelihood(prior))
		if err != nil {
			t.Errorf("%+v: %v", prior, err)
			continue
		}
		theta, du := []float64{0}, []float64{0}
		for _, u := range []float64{-1e300, -1e4, -600, -40, -37, -5, 0.3, 5, 30, 36, 38, 100, 600, 1e4, 1e300} {
			lp := e.Constrain(theta, []float64{u})
			if math.IsNaN(lp) || math.IsInf(lp, 1) {
				t.Errorf("%+v: log density %g at u = %g", prior, lp, u)
			}
			if _, err := e.Gradient(du, nil, []float64{u}, nil); err != nil || math.IsNaN(du[0]) {
				t.Errorf("%+v: slope %g at u = %g, %v", prior, du[0], u, err)
			}
			if math.IsInf(lp, -1) || math.Abs(u) > 5 {
				continue
			}
			width := 1.0
			if n, is := prior.(distuv.Normal); is {
				width = n.Sigma
			}
			h := 1e-2 * width
			at := func(u float64) float64 { return e.Constrain(theta, []float64{u}) }
			want := derivative(at, u, width)
			if up, down := at(u+h), at(u-h); math.IsInf(up, -1) || math.IsInf(down, -1) {
				continue // next to the end of the support
			}
			if !(math.Abs(du[0]-want) <= 1e-6*(1/width+math.Abs(want))) {
				t.Errorf("%+v: slope %.10g at u = %g: want %.10g", prior, du[0], u, want)
			}
		}
	}
}

// Constrain and Unconstrain are inverse to each other at quantiles of the prior near its
// ends, and an end itself is an error. The rounding error of u is that of the logarithms
// that are subtracted, which are as large as 1,400 here.
func TestUnconstrainInverts(t *testing.T) {
	for _, prior := range extreme {
		e, err := bayes.NewDensity(context.Background(), flatLikelihood(prior))
		if err != nil {
			t.Fatal(err)
		}
		u, theta, slope := []float64{0}, []float64{0}, []float64{0}
		for _, prob := range []float64{1e-12, 1e-3, 0.3, 0.5, 0.9, 0.999, 1 - 1e-9} {
			x := prior.Quantile(prob)
			if x == prior.Quantile(0) || x == prior.Quantile(1) || math.Abs(x) < 1e-305 || math.Abs(x) > 1e305 {
				continue // no other numbers there, or not all digits
			}
			if err := e.Unconstrain(u, []float64{x}); err != nil {
				t.Errorf("%+v: %v", prior, err)
				continue
			}
			e.Constrain(theta, u)
			e.Slopes(slope, u)
			if tol := 4e-15*math.Abs(x) + 3e-13*math.Abs(slope[0]); !(math.Abs(theta[0]-x) <= tol) {
				t.Errorf("%+v: %.17g → %.17g → %.17g", prior, x, u[0], theta[0])
			}
			if got, want := e.PriorQuantile(0, prob), u[0]; got != want {
				t.Errorf("%+v: the quantile at %g is %g on the unconstrained scale: want %g", prior, prob, got, want)
			}
		}
		for _, end := range []float64{prior.Quantile(0), prior.Quantile(1), math.NaN()} {
			if err := e.Unconstrain(u, []float64{end}); err == nil {
				t.Errorf("%+v: the end %g has the unconstrained value %g: want an error", prior, end, u[0])
			}
		}
	}
}

// A normal distribution that is cut off far above or below its mean is compared with Mills'
// ratio: the mass beyond z is φ(z)/z (1 − 1/z² + 3/z⁴ − 15/z⁶ + …), with an error below
// 105/z⁸, and quantiles are those of its exponential tail to first order in 1/z².
func TestTruncatedFarOut(t *testing.T) {
	inf := math.Inf(1)
	for _, z := range []float64{8, 12, 30, 37} {
		mass := -z*z/2 - math.Log(2*math.Pi)/2 - math.Log(z) + math.Log1p((-1+(3-15/(z*z))/(z*z))/(z*z))
		for _, c := range []struct {
			d     bayes.Truncated
			sign  float64
			scale float64
		}{
			{bayes.Truncated{Of: distuv.Normal{Mu: 1, Sigma: 2}, Min: 1 + 2*z, Max: inf}, 1, 2},
			{bayes.Truncated{Of: distuv.Normal{Mu: 1, Sigma: 2}, Min: -inf, Max: 1 - 2*z}, -1, 2},
		} {
			x := 1 + c.sign*2*(z+0.1)
			if got, want := c.d.LogProb(x), (distuv.Normal{Mu: 1, Sigma: 2}).LogProb(x)-mass; !(math.Abs(got-want) <= 105/math.Pow(z, 8)+1e-12) {
				t.Errorf("%v: log density %.12g: want %.12g", c.d, got, want)
			}
			var last float64
			for i, p := range []float64{1e-3, 0.1, 0.5, 0.5000001, 0.9, 0.999} {
				q := c.d.Quantile(p)
				beyond := math.Abs(q-1)/2 - z
				s := 1 - p // probability further out
				if c.sign < 0 {
					s = p
				}
				want := -math.Log(s) / z // to first order
				if !(math.Abs(beyond/want-1) <= (2-math.Log(s))/(z*z)) {
					t.Errorf("%v: the quantile at %g is %g beyond the end: want %g", c.d, p, beyond, want)
				}
				if i > 0 && !(q > last) {
					t.Errorf("%v: the quantile at %g is %g, not above %g", c.d, p, q, last)
				}
				last = q
			}
		}
	}
}

// The density of a truncated distribution integrates to the probability between two of its
// quantiles, in the body, on one side and far from the mean. The midpoint rule with 20,000
// nodes has an error of 1e-9 of the second derivative.
func TestTruncatedQuantiles(t *testing.T) {
	normal := distuv.Normal{Mu: 1, Sigma: 2}
	for _, d := range []bayes.Truncated{
		{Of: normal, Min: 0, Max: 2}, {Of: normal, Min: 3, Max: 3.5}, {Of: normal, Min: -9, Max: -6}, {Of: normal, Min: 15, Max: 22},
		{Of: distuv.Gamma{Alpha: 2, Beta: 1}, Min: 1, Max: 4}, {Of: distuv.Exponential{Rate: 2}, Min: 3, Max: math.Inf(1)}, bayes.Positive(-4, 1),
	} {
		for _, p := range [][2]float64{{0.1, 0.2}, {0.01, 0.9}, {0.4, 0.95}} {
			a, b := d.Quantile(p[0]), d.Quantile(p[1])
			const n = 20000
			var sum float64
			for i := range n {
				sum += (b - a) / n * math.Exp(d.LogProb(a+(b-a)*(float64(i)+0.5)/n))
			}
			if want := p[1] - p[0]; !(math.Abs(sum-want) < 1e-7) {
				t.Errorf("%v: the probability between the quantiles at %g is %.9f", d, p, sum)
			}
		}
	}
}

// With a parameter for each form of transform, the log density is the sum of the log
// priors and log Jacobians, in any order of the parameters, and each slope belongs to its
// own parameter.
func TestPriorsAddUp(t *testing.T) {
	names := []string{"a", "b", "c", "d", "e"}
	priors := []bayes.Distribution{distuv.Normal{Mu: 1, Sigma: 2}, distuv.Gamma{Alpha: 2, Beta: 3}, fromAbove{}, distuv.Beta{Alpha: 2, Beta: 5}, uniformLog{1e-5, 1e5}}
	u := []float64{0.4, -1.2, 0.3, 2, -3}
	p := &bayes.Posterior{
		Model: bayes.Model{Experiments: []bayes.Experiment{{Problem: idle(names...), Data: nothing, Errors: []bayes.Likelihood{bayes.Gaussian{Sigma: bayes.Known(1)}}}}},
		Setup: probode.Setup{Method: adams.Bashforth{}, Mesh: probode.Uniform(1)},
	}
	var want float64
	var slopes []float64
	for k, prior := range priors {
		p.Params = append(p.Params, bayes.Param{Name: names[k], Prior: prior})
		one, err := bayes.NewDensity(context.Background(), flatLikelihood(prior))
		if err != nil {
			t.Fatal(err)
		}
		lp := one.Constrain([]float64{0}, u[k:k+1])
		want += lp
		du := []float64{0}
		if _, err := one.Gradient(du, nil, u[k:k+1], nil); err != nil {
			t.Fatal(err)
		}
		slopes = append(slopes, du[0])
	}
	e, err := bayes.NewDensity(context.Background(), p)
	if err != nil {
		t.Fatal(err)
	}
	du := make([]float64, len(u))
	got, err := e.Gradient(du, nil, u, nil)
	if err != nil || !(math.Abs(got-want) < 1e-12) {
		t.Errorf("log density %.15g, %v: want %.15g", got, err, want)
	}
	for k := range u {
		if !(math.Abs(du[k]-slopes[k]) < 1e-12) {
			t.Errorf("slope %d is %.15g: want %.15g", k, du[k], slopes[k])
		}
	}
}

// A distribution that is cut off where next to nothing is left is refused, in one line,
// unless the probability that is left has all its digits.
func TestTruncatedToNothing(t *testing.T) {
	inf := math.Inf(1)
	for _, c := range []struct {
		prior   bayes.Truncated
		refused bool
	}{
		{bayes.Truncated{Of: distuv.Gamma{Alpha: 2, Beta: 1}, Min: 38, Max: inf}, true},  // 4e-16
		{bayes.Truncated{Of: distuv.Gamma{Alpha: 2, Beta: 1}, Min: 100, Max: inf}, true}, // 0
		{bayes.Truncated{Of: distuv.Gamma{Alpha: 2, Beta: 1}, Min: 10, Max: inf}, false},
		{bayes.Truncated{Of: distuv.Gamma{Alpha: 2, Beta: 1}, Min: 0, Max: 1e-9}, false}, // 5e-19 at the lower end
		{bayes.Truncated{Of: distuv.Beta{Alpha: 1, Beta: 5}, Min: 0.999, Max: 1}, true},  // 1e-15
		{bayes.Truncated{Of: distuv.Normal{Mu: 0, Sigma: 1}, Min: 20, Max: inf}, false},
		{bayes.Truncated{Of: distuv.Normal{Mu: 0, Sigma: 1}, Min: -inf, Max: -20}, false},
		{bayes.Truncated{Of: distuv.Normal{Mu: 0, Sigma: 1}, Min: 60, Max: inf}, true},
		{bayes.Truncated{Of: distuv.Uniform{Min: 0, Max: 1}, Min: 2, Max: 3}, true},
	} {
		_, err := bayes.NewDensity(context.Background(), flatLikelihood(c.prior))
		if (err != nil) != c.refused || err != nil && strings.Contains(err.Error(), "\n") {
			t.Errorf("%v: error %v, want one: %t", c.prior, err, c.refused)
		}
	}
}

// A parameter that is moved on its natural scale has the density zero outside the support
// of its prior, and a slope of zero there.
func TestNaturalOutsideTheSupport(t *testing.T) {
	for name, prior := range dists {
		p := flatLikelihood(prior)
		p.Params[0].Natural = true
		e, err := bayes.NewDensity(context.Background(), p)
		if err != nil {
			t.Fatal(err)
		}
		low, high := prior.Quantile(0), prior.Quantile(1)
		var points []float64
		if !math.IsInf(low, -1) {
			points = append(points, low-1e-3, low-1e6, -1e300)
		}
		if !math.IsInf(high, 1) {
			points = append(points, high+1e-3, high+1e6, 1e300)
		}
		for _, u := range points {
			du := []float64{1}
			if lp, err := e.Gradient(du, nil, []float64{u}, nil); err != nil || !math.IsInf(lp, -1) || du[0] != 0 {
				t.Errorf("%s at %g: log density %g, slope %g, %v", name, u, lp, du[0], err)
			}
		}
		if lp, err := e.LogPosterior([]float64{prior.Quantile(0.4)}, nil); err != nil || !(math.Abs(lp-prior.LogProb(prior.Quantile(0.4))) < 1e-12) {
			t.Errorf("%s inside: log density %g, %v", name, lp, err)
		}
	}
}

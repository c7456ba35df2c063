package bayes_test

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/bayes"
)

// everyLaw holds each likelihood with values of m and own at which it is tested.
var everyLaw = []struct {
	of bayes.SlopedLikelihood
	m  []float64
	at [][]float64 // own
}{
	{bayes.Gaussian{}, []float64{-3, 0, 0.2, 1e6}, [][]float64{{1e-3}, {0.7}, {40}}},
	{bayes.LogNormal{}, []float64{1e-6, 0.2, 3, 1e6}, [][]float64{{0.01}, {0.7}, {4}}},
	{bayes.Laplace{}, []float64{-3, 0, 0.2, 1e6}, [][]float64{{1e-3}, {0.7}, {40}}},
	{bayes.StudentT{}, []float64{-3, 0, 0.2, 1e6}, [][]float64{{0.6, 0.1}, {1, 2}, {4, 1e-3}, {31, 0.5}, {33, 0.5}, {300, 1}}},
	{bayes.Poisson{}, []float64{1e-6, 0.2, 3, 250, 1e6}, [][]float64{nil}},
	{bayes.NegativeBinomial{}, []float64{1e-6, 0.2, 3, 250, 1e5}, [][]float64{{0.05}, {1}, {15.9}, {16.1}, {3000}}},
	{bayes.Binomial{}, []float64{1e-6, 0.2, 3, 11.9999}, [][]float64{{12}, {13}, {200}, {1e5}}},
}

// each calls do at every point of everyLaw, with an observation drawn there.
func each(do func(of bayes.SlopedLikelihood, y, m float64, own []float64)) {
	for i, c := range everyLaw {
		for j, m := range c.m {
			for k, own := range c.at {
				rng := probode.Stream(uint64(i), uint64(j), uint64(k))
				for range 5 {
					do(c.of, c.of.Rand(m, own, rng), m, own)
				}
			}
		}
	}
}

// directly returns the log density of y and the size of the terms in its sum, from the
// densities of distuv and, for counts, from products in place of gamma functions.
func directly(of bayes.Likelihood, y, m float64, own []float64) (lp, size float64) {
	sum := func(terms ...float64) {
		for _, v := range terms {
			lp, size = lp+v, size+math.Abs(v)
		}
	}
	switch of.(type) {
	case bayes.Gaussian:
		sum(distuv.Normal{Mu: m, Sigma: own[0]}.LogProb(y))
	case bayes.LogNormal:
		sum(distuv.Normal{Mu: 0, Sigma: own[0]}.LogProb(math.Log(y/m)), -math.Log(y))
	case bayes.Laplace:
		sum(distuv.Laplace{Mu: m, Scale: own[0]}.LogProb(y))
	case bayes.StudentT:
		sum(distuv.StudentsT{Mu: m, Sigma: own[1], Nu: own[0]}.LogProb(y))
	case bayes.Poisson:
		sum(-m)
		for k := 1.0; k <= y; k++ {
			sum(math.Log(m / k))
		}
	case bayes.NegativeBinomial:
		phi := own[0]
		sum(-phi * math.Log1p(m/phi))
		for k := 0.0; k < y; k++ {
			sum(math.Log((phi + k) / (k + 1) * (m / (phi + m))))
		}
	case bayes.Binomial:
		n := own[0]
		sum((n - y) * math.Log1p(-m/n))
		for k := 1.0; k <= y; k++ {
			sum(math.Log((n - y + k) / k * (m / n)))
		}
	}
	return lp, size
}

// gammas returns the size of the gamma functions in the log probability of a count.
func gammas(of bayes.Likelihood, y float64, own []float64) float64 {
	switch of.(type) {
	case bayes.Poisson, bayes.NegativeBinomial:
		return y * math.Log(1+y)
	case bayes.Binomial:
		return own[0] * math.Log(own[0])
	}
	return 0
}

// LogProb agrees with other formulas for the same distribution. Rounding is 1e-15 of the
// terms in the sums, and a few 1e-16 of the gamma functions of counts.
func TestLawsDirectly(t *testing.T) {
	each(func(of bayes.SlopedLikelihood, y, m float64, own []float64) {
		got := of.LogProb(y, m, own)
		want, size := directly(of, y, m, own)
		tol := 2e-14 * (10 + size)
		if tol += 1e-15 * gammas(of, y, own); !(math.Abs(got-want) <= tol) {
			t.Errorf("%T at y = %g, m = %g, own = %g: log density %.15g: want %.15g", of, y, m, own, got, want)
		}
	})
}

// derivative returns the derivative of f at x by Richardson extrapolation of central
// differences, from steps of a hundredth of the given width. The error is 1e-12 of the sixth
// power of the width times the seventh derivative.
func derivative(f func(float64) float64, x, width float64) float64 {
	central := func(h float64) float64 {
		up, down := x+h, x-h
		return (f(up) - f(down)) / (up - down)
	}
	h := width / 100
	a, b, c := central(h), central(h/2), central(h/4)
	ab, bc := (4*b-a)/3, (4*c-b)/3
	return (16*bc - ab) / 15
}

// Slope is the derivative of LogProb with respect to m and each element of own. The widths
// are smaller than the distance to the edge of where the law is defined. Rounding is 1e-16
// of the terms of the log density over the step, and the error of the differences is about
// 1e-12 of the log density over the width.
func TestLawsSlopes(t *testing.T) {
	each(func(of bayes.SlopedLikelihood, y, m float64, own []float64) {
		at := append([]float64{m}, own...)
		got := make([]float64, len(at))
		of.Slope(got, y, m, own)
		lp, size := directly(of, y, m, own)
		size += math.Abs(lp) + 10
		for i, v := range at {
			width := math.Abs(v)
			if i == 0 {
				switch of.(type) {
				case bayes.Gaussian, bayes.StudentT:
					width = own[len(own)-1]
				case bayes.LogNormal:
					width = v * own[0]
				case bayes.Laplace:
					if width = min(own[0], 50*math.Abs(y-m)); width == 0 {
						return
					}
				case bayes.Binomial:
					width = min(v, own[0]-v)
				}
			}
			if _, is := of.(bayes.Binomial); is && i == 1 {
				if width = own[0] - max(m, y); width < 1e-9 {
					continue // y = n: there is no density for a smaller n
				}
			}
			want := derivative(func(x float64) float64 {
				at[i] = x
				return of.LogProb(y, at[0], at[1:])
			}, v, width)
			at[i] = v
			tol := 1e-9*math.Abs(want) + 3e-11*(size+gammas(of, y, own)/100)/width
			if !(math.Abs(got[i]-want) <= tol) {
				t.Errorf("%T at y = %g, m = %g, own = %g: derivative %d is %.12g: want %.12g ± %.2g", of, y, m, own, i, got[i], want, tol)
			}
		}
	})
}

// spans calls do with nodes and weights for an integral over the distribution at (m, own):
// all counts that matter, or the trapezoidal rule in a variable in which the integrand
// decays faster than exponentially.
func spans(of bayes.Likelihood, m float64, own []float64, do func(y, weight float64)) {
	switch of.(type) {
	case bayes.Poisson, bayes.NegativeBinomial:
		counts(do)
	case bayes.Binomial:
		for y := 0.0; y <= own[0]; y++ {
			do(y, 1)
		}
	case bayes.LogNormal:
		for z := -12.0; z <= 12; z += 0.01 {
			y := m * math.Exp(own[0]*z)
			do(y, 0.01*own[0]*y)
		}
	default:
		scale := own[len(own)-1]
		for i := -3000; i < 3000; i++ { // symmetric about m, without m itself
			x := 0.02 * (float64(i) + 0.5)
			do(m+scale*math.Sinh(x), 0.02*scale*math.Cosh(x))
		}
	}
}

// The Fisher information is the variance of the slopes, and these have the mean zero. The
// sums and integrals leave out less than 1e-8. At its kink the slope of Laplace's
// distribution jumps, and the rule has an error of the order of its squared step, 4e-4,
// over 24.
func TestLawsInformation(t *testing.T) {
	for _, c := range everyLaw {
		for _, m := range c.m {
			for _, own := range c.at {
				if _, is := c.of.(bayes.NegativeBinomial); m > 300 || len(own) > 0 && (own[0] > 1e4 || is && m*m/own[0] > 1e4) {
					continue // too many counts, or no digits left beside a large m
				}
				n := 1 + len(own)
				g, mean := make([]float64, n), make([]float64, n)
				want, got := make([]float64, n*n), make([]float64, n*n)
				spans(c.of, m, own, func(y, weight float64) {
					lp := c.of.LogProb(y, m, own)
					if !(lp > -600) {
						return
					}
					c.of.Slope(g, y, m, own)
					p := weight * math.Exp(lp)
					for i, a := range g {
						mean[i] += p * a
						for j, b := range g {
							want[i*n+j] += p * a * b
						}
					}
				})
				if !c.of.(bayes.Informer).Information(got, m, own) {
					t.Errorf("%T at %g, %g: no information", c.of, m, own)
				}
				for i := range n {
					if size := math.Sqrt(want[i*n+i]); !(math.Abs(mean[i]) < 1e-4*size+1e-15) && !discreteIn(c.of, i) {
						t.Errorf("%T at %g, %g: the mean of slope %d is %.2g of its sd", c.of, m, own, i, mean[i]/size)
					}
					for j := range n {
						v := got[i*n+j]
						if math.IsNaN(v) {
							continue
						}
						if size := math.Sqrt(want[i*n+i] * want[j*n+j]); !(math.Abs(v-want[i*n+j]) < 3e-3*size) {
							t.Errorf("%T at %g, %g: information (%d, %d) is %g: want %g", c.of, m, own, i, j, v, want[i*n+j])
						}
					}
				}
			}
		}
	}
}

// discreteIn reports whether number i is one on which the possible observations depend.
func discreteIn(of bayes.Likelihood, i int) bool {
	_, is := of.(bayes.Binomial)
	return is && i == 1
}

// What does not define a distribution has the log density −Inf and no draws, whatever the
// observation: scales that are zero, negative, infinite or NaN, and expected values that
// are not finite, such as the logarithm of a state that is not positive. No finite
// arguments, however large or small, make LogProb NaN or +Inf, or cause a panic.
func TestLawsAtExtremes(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	values := []float64{nan, inf, -inf, 0, 1, -1, 3, 1e-300, 1e300, -1e300, math.MaxFloat64, 1e8, 1e16}
	finite := func(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }
	for _, c := range everyLaw {
		own := make([]float64, len(c.of.Own()))
		var try func(k int)
		try = func(k int) {
			if k < len(own) {
				for _, own[k] = range values {
					try(k + 1)
				}
				return
			}
			if _, is := c.of.(bayes.Binomial); is && (own[0] == 0 || own[0] > 1e17) {
				return // without trials a count of 0 is certain; gamma functions of 1e300 overflow
			}
			for _, m := range values {
				defined := finite(m)
				for _, v := range own {
					defined = defined && v > 0 && finite(v)
				}
				if !defined {
					if y := c.of.Rand(m, own, probode.Stream(1)); !math.IsNaN(y) {
						t.Errorf("%T at m = %g, own = %g: draws %g: want NaN", c.of, m, own, y)
					}
				}
				for _, y := range values {
					if !finite(y) || y > 1e17 { // gamma functions of larger counts overflow
						continue
					}
					lp := c.of.LogProb(y, m, own)
					if math.IsNaN(lp) || math.IsInf(lp, 1) || !defined && !math.IsInf(lp, -1) {
						t.Errorf("%T at y = %g, m = %g, own = %g: log density %g", c.of, y, m, own, lp)
					}
				}
			}
		}
		try(0)
	}
}

// The log density of log-normal errors depends on y and m only through y/m, apart from −log y:
// also if y/m overflows or underflows, or σy underflows.
func TestLogNormalScales(t *testing.T) {
	var of bayes.LogNormal
	for _, c := range []struct{ y, m, sigma float64 }{
		{1e200, 1e-200, 300}, {1e-200, 1e200, 300}, {1e-300, 1e-300, 1e-30}, {1e-300, 2e-300, 0.5}, {1e300, 1e300, 1e100},
	} {
		z := (math.Log(c.y) - math.Log(c.m)) / c.sigma
		want := -z*z/2 - math.Log(c.sigma) - math.Log(c.y) - math.Log(2*math.Pi)/2
		if got := of.LogProb(c.y, c.m, []float64{c.sigma}); !(math.Abs(got-want) <= 1e-12*math.Abs(want)) {
			t.Errorf("y = %g, m = %g, σ = %g: log density %.15g: want %.15g", c.y, c.m, c.sigma, got, want)
		}
		slope := make([]float64, 2)
		of.Slope(slope, c.y, c.m, []float64{c.sigma})
		if want := z / c.sigma; !(math.Abs(slope[0]*c.m-want) <= 1e-12*math.Abs(want)) {
			t.Errorf("y = %g, m = %g, σ = %g: slope in log m %.15g: want %.15g", c.y, c.m, c.sigma, slope[0]*c.m, want)
		}
	}
}

// Draws have the mean and the variance of their law, also where generators change their
// method: for large counts, many trials, and shares near 0 and 1. With 4,000 draws the mean
// has an error of sd/63, and a variance one of 2.3 % times √((kurtosis − 1)/2). A negative
// binomial distribution has the largest kurtosis, 3 + 6/φ + 1/var, below 16 here, which
// gives 6.1 %. 4.5 of these errors in 2·11 checks are exceeded with the probability 1.5e-4.
func TestMomentsOfDraws(t *testing.T) {
	for _, c := range []struct {
		of  bayes.Likelihood
		m   float64
		own []float64
		v   float64
	}{
		{bayes.Poisson{}, 0.3, nil, 0.3},
		{bayes.Poisson{}, 9.9, nil, 9.9},
		{bayes.Poisson{}, 1e4, nil, 1e4},
		{bayes.Poisson{}, 1e9, nil, 1e9},
		{bayes.NegativeBinomial{}, 50, []float64{0.5}, 50 + 5000},
		{bayes.NegativeBinomial{}, 1e6, []float64{2}, 1e6 + 5e11},
		{bayes.NegativeBinomial{}, 100, []float64{1e12}, 100},
		{bayes.Binomial{}, 5, []float64{10}, 2.5},
		{bayes.Binomial{}, 9.5, []float64{10}, 0.475},
		{bayes.Binomial{}, 30, []float64{1e4}, 30 * (1 - 30e-4)},
		{bayes.Binomial{}, 9000, []float64{1e4}, 900},
	} {
		const n = 4000
		rng := probode.Stream(3)
		var sum, square float64
		for range n {
			e := c.of.Rand(c.m, c.own, rng) - c.m
			sum, square = sum+e, square+e*e
		}
		kurtosis := 3 + 1/c.v
		if len(c.own) > 0 {
			kurtosis = 3 + 6/c.own[0] + 1/c.v
		}
		if z := sum / math.Sqrt(n*c.v); !(math.Abs(z) < 4.5) {
			t.Errorf("%T at %g, %g: the mean of the draws is %.1f standard errors off", c.of, c.m, c.own, z)
		}
		if z := (square/n/c.v - 1) / math.Sqrt((kurtosis-1)/n); !(math.Abs(z) < 4.5) {
			t.Errorf("%T at %g, %g: the variance of the draws is %.1f standard errors off", c.of, c.m, c.own, z)
		}
	}
}

// The number of successes among many trials that rarely succeed is nearly a Poisson count.
// The difference of the log probabilities is (y − (y−m)²)/2n + O(1/n²), as if n were −φ of
// a negative binomial distribution. The second-order term is below (y+m)³/n². Rounding is
// that of y log n.
func TestBinomialIsNearlyPoisson(t *testing.T) {
	for _, n := range []float64{1e5, 1e7, 1e9, 1e12, 1e15} {
		for _, c := range [][2]float64{{0, 3}, {3, 3}, {7, 2.5}, {150, 120}} {
			y, m := c[0], c[1]
			got := bayes.Binomial{}.LogProb(y, m, []float64{n}) - bayes.Poisson{}.LogProb(y, m, nil)
			want := -((y-m)*(y-m) - y) / (2 * n)
			if tol := math.Pow(y+m, 3)/n/n + 1e-15*(10+y)*math.Log(n); !(math.Abs(got-want) <= tol) {
				t.Errorf("n = %g, y = %g, m = %g: %g more than Poisson's: want %g ± %.2g", n, y, m, got, want, tol)
			}
		}
	}
}

// The probabilities of a binomial law add up to one, and the mean is m. Successes and
// failures are symmetric.
func TestBinomialIsNormalised(t *testing.T) {
	for _, n := range []float64{1, 2, 17, 1000} {
		for _, share := range []float64{0, 1e-9, 0.3, 0.5, 0.999, 1} {
			m := share * n
			var sum, mean float64
			for y := 0.0; y <= n; y++ {
				p := math.Exp(bayes.Binomial{}.LogProb(y, m, []float64{n}))
				sum, mean = sum+p, mean+y*p
				if q := math.Exp(bayes.Binomial{}.LogProb(n-y, n-m, []float64{n})); !(math.Abs(p-q) < 1e-12) {
					t.Errorf("n = %g, m = %g, y = %g: probability %g, of as many failures %g", n, m, y, p, q)
				}
			}
			if !(math.Abs(sum-1) < 1e-11 && math.Abs(mean-m) < 1e-11*n) {
				t.Errorf("n = %g, m = %g: the sum is %.15g and the mean is %.15g", n, m, sum, mean)
			}
		}
	}
}

// cumulatives are the laws with a distribution function, with values of own.
var cumulatives = []struct {
	of  bayes.Cumulative
	own []float64
}{
	{bayes.Gaussian{}, []float64{0.7}},
	{bayes.LogNormal{}, []float64{0.7}},
	{bayes.Laplace{}, []float64{0.7}},
	{bayes.StudentT{}, []float64{0.6, 0.7}},
	{bayes.StudentT{}, []float64{3.5, 0.7}},
	{bayes.StudentT{}, []float64{200, 0.7}},
}

// The derivative of the distribution function is the density, from far below the expected
// value, where the probability is e⁻⁸⁰⁰, to far above, where it is 1. The derivatives of
// the logarithms are those of differences. The one with respect to ν is itself a
// difference, with an error of 1e-8.
func TestLogCDFIsIntegralOfDensity(t *testing.T) {
	const m = 2.1
	for _, c := range cumulatives {
		_, positive := c.of.(bayes.LogNormal)
		for _, z := range []float64{-40, -30.001, -29.999, -12, -3, -0.5, 0.01, 0.5, 3, 7} {
			y := m + 0.7*z
			if positive {
				y = m * math.Exp(0.7*z)
			}
			at := append([]float64{y, m}, c.own...)
			log := func(i int) (slope float64) {
				v := at[i]
				width := 0.7 / max(1, math.Abs(z))
				switch {
				case i > 1:
					width = v / max(1, z*z)
				case positive:
					width *= v
				}
				defer func() { at[i] = v }()
				return derivative(func(x float64) float64 {
					at[i] = x
					return c.of.LogTail(nil, at[0], at[1], at[2:], false)
				}, v, width)
			}
			lp := c.of.LogTail(nil, y, m, c.own, false)
			name := fmt.Sprintf("%T, own = %g, z = %g", c.of, c.own, z)
			if !(lp <= 0) || math.IsInf(lp, -1) {
				t.Errorf("%s: log P(Y ≤ y) = %g", name, lp)
				continue
			}
			// Where the probability is nearly 1, its logarithm has few digits: an error of
			// 1e-16 over a step of a few thousandths.
			rounding := 1e-11 * max(1, math.Abs(lp)*1e-3) * max(1, math.Abs(z))
			hazard := math.Exp(c.of.LogProb(y, m, c.own) - lp)
			if got := log(0); !(math.Abs(got-hazard) <= 1e-7*hazard+rounding/min(1, y*y)) {
				t.Errorf("%s: d/dy of log P is %.10g: want the density over P, %.10g", name, got, hazard)
			}
			slope := make([]float64, 1+len(c.own))
			if again := c.of.LogTail(slope, y, m, c.own, false); again != lp {
				t.Errorf("%s: log P is %g with slopes and %g without", name, again, lp)
			}
			for i, got := range slope {
				if want := log(1 + i); !(math.Abs(got-want) <= 1e-7*math.Abs(want)+max(1e-10, rounding*10)) {
					t.Errorf("%s: slope %d is %.10g: want %.10g", name, i, got, want)
				}
			}
		}
	}
}

// The two tails add up to one, and an interval has the difference of two tails, also where
// the tails differ in their last digits, on both sides: far out, the probability of [z, z +
// w] with a standard deviation of 1 is about φ(z)/z (1 − e^(−zw)) [Abramowitz & Stegun
// 1964, 26.2.12], up to 3/z² of it.
func TestUpperTailsAndIntervals(t *testing.T) {
	for _, c := range cumulatives {
		for _, y := range []float64{0.3, 1.9, 2.1, 2.8, 5} {
			below, above := c.of.LogTail(nil, y, 2.1, c.own, false), c.of.LogTail(nil, y, 2.1, c.own, true)
			if sum := math.Exp(below) + math.Exp(above); math.Abs(sum-1) > 1e-14 {
				t.Errorf("%T: the tails at %g add up to %.15g", c.of, y, sum)
			}
			between := bayes.Interval{Of: c.of}.LogProb(y, 2.1, append(slices.Clip(c.own), 0.2, y))
			if want := math.Exp(below) - math.Exp(c.of.LogTail(nil, 0.2, 2.1, c.own, false)); math.Abs(math.Exp(between)-want) > 1e-14 {
				t.Errorf("%T: P(0.2 ≤ Y ≤ %g) = %.15g: want %.15g", c.of, y, math.Exp(between), want)
			}
		}
	}
	const z, w = 30, 0.1
	want := -z*z/2. - 0.5*math.Log(2*math.Pi) - math.Log(z) + math.Log(-math.Expm1(-z*w-w*w/2))
	for _, i := range [][2]float64{{z, z + w}, {-z - w, -z}} {
		if got := (bayes.Interval{Of: bayes.Gaussian{}}).LogProb(i[0], 0, []float64{1, i[0], i[1]}); math.Abs(got-want) > 3./(z*z) {
			t.Errorf("log P(%g ≤ Y ≤ %g) = %g: want %g", i[0], i[1], got, want)
		}
	}
}

// Where nothing is defined, and for a NaN among the arguments, a censored value has the
// density zero. A limit that lies infinitely far away in terms of the scale is either
// certain or impossible, and no argument causes a panic.
func TestCensoredAtExtremes(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	for _, c := range cumulatives {
		of := bayes.Censored{Of: c.of, Limit: 1}
		for _, m := range []float64{nan, 1e300, -1e300, 0, 1, 1e-300, 1e8} {
			for _, scale := range []float64{nan, inf, 0, -1, 1e-300, 1, 1e300} {
				own := append([]float64(nil), c.own...)
				own[len(own)-1] = scale
				for _, y := range []float64{-1e300, 0, 1, math.Nextafter(1, 2), 5} {
					lp := of.LogProb(y, m, own)
					if math.IsNaN(lp) || math.IsInf(lp, 1) || y <= 1 && lp > 0 {
						t.Errorf("%T at y = %g, m = %g, own = %g: log density %g", c.of, y, m, own, lp)
					}
					if (math.IsNaN(m) || !(scale > 0)) && !math.IsInf(lp, -1) {
						t.Errorf("%T at y = %g, m = %g, own = %g: log density %g: want −Inf", c.of, y, m, own, lp)
					}
				}
			}
		}
	}
}

// A value exactly at the limit is below it: it counts with the probability of all values
// up to the limit, and its neighbour above with the density. All values below are alike.
func TestCensoredAtLimit(t *testing.T) {
	for _, c := range cumulatives {
		of := bayes.Censored{Of: c.of, Limit: 1.7}
		want := c.of.LogTail(nil, 1.7, 2.1, c.own, false)
		for _, y := range []float64{1.7, 1.6, 0, -1e9} {
			if got := of.LogProb(y, 2.1, c.own); got != want {
				t.Errorf("%T: log density %g at %g: want %g", c.of, got, y, want)
			}
		}
		above := math.Nextafter(1.7, 2)
		if got, want := of.LogProb(above, 2.1, c.own), c.of.LogProb(above, 2.1, c.own); got != want {
			t.Errorf("%T: log density %g just above the limit: want %g", c.of, got, want)
		}
	}
}

// The probability of the event below the limit and the density above it add up to one.
// The trapezoidal rule above the limit has an error below 1e-7 with 1e5 nodes; Student's t
// distribution is left out because its tail is too long for that.
func TestCensoredIsNormalised(t *testing.T) {
	for _, c := range cumulatives[:3] {
		for _, limit := range []float64{-1, 0.3, 2.1, 4} {
			of := bayes.Censored{Of: c.of, Limit: limit}
			sum := math.Exp(of.LogProb(limit, 2.1, c.own))
			const n = 100000
			from, to := math.Nextafter(limit, 9), 80.0
			if _, is := c.of.(bayes.LogNormal); is {
				from = max(from, 1e-9)
			}
			h := (to - from) / n
			for i := range n + 1 {
				w := h
				if i == 0 || i == n {
					w = h / 2
				}
				sum += w * math.Exp(of.LogProb(from+float64(i)*h, 2.1, c.own))
			}
			if !(math.Abs(sum-1) < 1e-6) {
				t.Errorf("%T with the limit %g: the sum is %.9f", c.of, limit, sum)
			}
		}
	}
}

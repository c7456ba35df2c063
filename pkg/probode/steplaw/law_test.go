package steplaw_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat/distmv"

	. "github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/adams"
	"github.com/probode/probode/pkg/probode/problems"
	"github.com/probode/probode/pkg/probode/steplaw"
)

// oneStep is p restarted at z and ended after one step.
func oneStep(p *Problem, z []float64, h float64) *Problem {
	q := *p
	q.X0, q.Start, q.Span = z, nil, [2]float64{p.Span[0], p.Span[0] + h}
	return &q
}

// scalar is the problem x′ = f(x) in one dimension.
func scalar(f, df func(x float64) float64) *Problem {
	return &Problem{Name: "scalar", X0: []float64{1}, Span: [2]float64{0, 1}, Autonomous: true,
		F:  func(dst []float64, _ float64, x, _ []float64) { dst[0] = f(x[0]) },
		FJ: func(dst, jac []float64, _ float64, x, _ []float64) { dst[0], jac[0] = f(x[0]), df(x[0]) },
	}
}

// solver returns a Solver on the uniform grid of step h.
func solver(t testing.TB, p *Problem, m Method, h, alpha float64) *Solver {
	t.Helper()
	g, err := UniformGrid(p, nil, h)
	if err != nil {
		t.Fatal(err)
	}
	s, err := NewSolver(p, m, g, alpha)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// stepAt is the distribution of the first step of m from z.
func stepAt(t testing.TB, p *Problem, m Method, z []float64, h, alpha float64) *steplaw.Law {
	t.Helper()
	s := solver(t, oneStep(p, z, h), m, h, alpha)
	l, err := steplaw.New(s, 0, z, p.Theta)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func moments(t testing.TB, l *steplaw.Law) *steplaw.Moments {
	t.Helper()
	m, err := l.Moments()
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// near fails unless got and want agree to tol, relative to the larger of
// scale and |want|.
func near(t testing.TB, what string, got, want, scale, tol float64) {
	t.Helper()
	if !(math.Abs(got-want) <= tol*max(scale, math.Abs(want))) {
		t.Errorf("%s is %.12g: want %.12g to %g", what, got, want, tol)
	}
}

// The formulas of sections 2.2 and 2.4, written down with gonum's matrices, on
// a problem that is neither linear nor autonomous and for methods with a past.
func TestStepFormulas(t *testing.T) {
	p := problems.FitzHughNagumo()
	autonomous := p.F
	fj := p.FJ
	p.Autonomous = false
	p.F = func(f []float64, t float64, x, th []float64) { autonomous(f, t, x, th); f[1] += math.Sin(3 * t) }
	p.FJ = func(f, j []float64, t float64, x, th []float64) { fj(f, j, t, x, th); f[1] += math.Sin(3 * t) }
	const h, alpha, i = 0.1, 0.3, 17
	for steps := range 5 {
		for _, lin := range []adams.Linearization{adams.Newton, adams.Current, adams.Predictor} {
			m := adams.Moulton{Steps: steps, Linearize: lin}
			s := solver(t, p, m, h, alpha)
			z := make([]float64, s.PathLen())
			xi := make([]float64, s.NoiseLen())
			DrawNoise(xi, 1, 0)
			clear(xi[2*i:]) // from here on the path is classical
			if err := s.Solve(z, p.Theta, xi); err != nil {
				t.Fatal(err)
			}
			zi, next := z[2*i:2*i+2], z[2*i+2:2*i+4]
			l, err := steplaw.New(s, i, z[:2*i+2], p.Theta)
			if err != nil {
				t.Fatal(err)
			}
			for k := range next {
				// The same operations in the same order, up to Newton's tolerance.
				near(t, fmt.Sprintf("%v: mean[%d]", m, k), l.Mean[k], next[k], 1, 1e-13)
			}
			bNext, bPast := adams.MoultonCoefficients(steps)
			f, centre := make([]float64, 2), []float64{zi[0], zi[1]}
			past := make([]float64, 2) // Σ_j β_j F_{i−j}
			for j, b := range bPast {
				p.F(f, s.Times()[i-j], z[2*(i-j):2*(i-j)+2], p.Theta)
				past[0] += b * f[0]
				past[1] += b * f[1]
			}
			if lin == adams.Predictor {
				for j, b := range adams.BashforthCoefficients(max(1, steps)) {
					p.F(f, s.Times()[i-j], z[2*(i-j):2*(i-j)+2], p.Theta)
					centre[0] += h * b * f[0]
					centre[1] += h * b * f[1]
				}
			}
			jac := mat.NewDense(2, 2, nil)
			p.FJ(f, jac.RawMatrix().Data, s.Times()[i+1], centre, p.Theta)
			var hmat, gamma, hinv, gjac, cov mat.Dense
			scale := alpha * math.Pow(h, float64(2*steps+1))
			hmat.Mul(jac, jac.T())
			hmat.Scale(scale, &hmat)
			gamma.Scale(-1, jac)
			for k := range 2 {
				gamma.Set(k, k, gamma.At(k, k)+1/(h*bNext))
			}
			if err := hinv.Inverse(&hmat); err != nil {
				t.Fatal(err)
			}
			if err := gjac.Solve(&gamma, jac); err != nil {
				t.Fatal(err)
			}
			cov.Mul(&gjac, gjac.T())
			cov.Scale(scale, &cov)
			for a := range 2 {
				for b := range 2 {
					near(t, fmt.Sprintf("%v: cov[%d,%d]", m, a, b), l.Cov.At(a, b), cov.At(a, b), cov.At(0, 0), 1e-12)
				}
			}
			// A state some standard deviations away. At s = 4 the noise is 10⁻⁵
			// of the state, and the difference quotient in r loses as much.
			x := []float64{l.Mean[0] + 2*math.Sqrt(l.Cov.At(0, 0)), l.Mean[1] - math.Sqrt(l.Cov.At(1, 1))}
			p.F(f, s.Times()[i+1], x, p.Theta)
			r := make([]float64, 2)
			for k := range r {
				r[k] = ((x[k]-zi[k])/h-past[k])/bNext - f[k]
			}
			got := make([]float64, 2)
			l.Residual(got, x)
			for k := range r {
				near(t, fmt.Sprintf("%v: r[%d]", m, k), got[k], r[k], 1, 1e-11)
			}
			rv := mat.NewVecDense(2, r)
			near(t, fmt.Sprintf("%v: log density", m), l.LogDensity(x), -mat.Inner(rv, &hinv, rv)/2, 1, 1e-5)
			normal, ok := distmv.NewNormal(l.Mean, l.Cov, nil)
			if !ok {
				t.Fatalf("%v: Cov is not positive definite", m)
			}
			near(t, fmt.Sprintf("%v: log Gaussian", m), l.LogGaussian(x), normal.LogProb(x), 1, 1e-6)
		}
	}
}

// For a linear f the exact distribution is the Gaussian one: the same density, by way
// of a normaliser from quadrature, and the same moments.
func TestStepLinear(t *testing.T) {
	oscillator := &Problem{Name: "oscillator", X0: []float64{1, 0}, Span: [2]float64{0, 1},
		F: func(f []float64, _ float64, x, _ []float64) { f[0], f[1] = x[1]-0.2*x[0], -4*x[0]+math.Cos(1) }}
	decay := scalar(func(x float64) float64 { return -3 * x }, func(float64) float64 { return -3 })
	for _, lin := range []adams.Linearization{adams.Newton, adams.Current, adams.Predictor} {
		for _, p := range []*Problem{oscillator, decay} {
			z := p.X0
			l := stepAt(t, p, adams.Moulton{Linearize: lin}, z, 0.25, 0.5)
			m := moments(t, l)
			// The rule is asked for 10⁻¹⁰ of the integral; differences of F
			// give J to some 10⁻⁸.
			const tol = 1e-6
			for k := range z {
				sd := math.Sqrt(l.Cov.At(k, k))
				near(t, "mean", m.Mean[k], l.Mean[k], sd, tol)
				near(t, "skewness", m.Skewness[k], 0, 1, tol)
				for j := range z {
					near(t, "covariance", m.Cov.At(k, j), l.Cov.At(k, j), sd*math.Sqrt(l.Cov.At(j, j)), tol)
				}
			}
			x := make([]float64, len(z))
			for k := range x {
				x[k] = l.Mean[k] + 1.5*math.Sqrt(l.Cov.At(k, k))
			}
			near(t, "log density", l.LogDensity(x)-m.LogNormalizer, l.LogGaussian(x), 1, tol)
		}
	}
}

// With f(z) = (z − Zᵢ)/h − g(z) backward Euler has r(z) = g(z), so that densities
// with known moments can be made.
func TestStepKnownDensities(t *testing.T) {
	const h, alpha = 0.5, 0.4

	// r = z³ at Zᵢ = 1 by f = 2z − z³ − 2: p ∝ exp(−z⁶/2η²) with
	// η² = αh f′(1)² = αh. Around its triple root nothing is Gaussian.
	p := scalar(func(x float64) float64 { return 2*x - x*x*x - 2 }, func(x float64) float64 { return 2 - 3*x*x })
	m := moments(t, stepAt(t, p, adams.Moulton{Linearize: adams.Current}, []float64{1}, h, alpha))
	a := 1 / (2 * alpha * h)
	near(t, "∫exp(−az⁶)", m.LogNormalizer, math.Log(math.Gamma(1./6)/3)-math.Log(a)/6, 1, 1e-8)
	near(t, "mean", m.Mean[0], 0, 1, 1e-8)
	near(t, "variance", m.Cov.At(0, 0), math.Gamma(0.5)/math.Gamma(1./6)*math.Pow(a, -1./3), 0, 1e-8)
	near(t, "skewness", m.Skewness[0], 0, 1, 1e-8)

	// r = z² − 1 at Zᵢ = ½ by f = 2z − z²: two modes. Sums over a fine grid
	// converge exponentially for an analytic integrand that decays.
	p = scalar(func(x float64) float64 { return 2*x - x*x }, func(x float64) float64 { return 2 - 2*x })
	l := stepAt(t, p, adams.Moulton{}, []float64{0.5}, h, alpha)
	m = moments(t, l)
	b := 1 / (2 * alpha * h)
	var sum, second float64
	const dx = 1e-3
	for x := -4.0; x <= 4; x += dx {
		w := math.Exp(-b * (x*x - 1) * (x*x - 1))
		sum += w * dx
		second += w * x * x * dx
	}
	near(t, "normaliser", m.LogNormalizer, math.Log(sum), 1, 1e-8)
	near(t, "mean", m.Mean[0], 0, 1, 1e-8)
	near(t, "variance", m.Cov.At(0, 0), second/sum, 0, 1e-8)
	if roots := l.Roots(); len(roots) != 2 {
		t.Errorf("z² − 1 has the roots %v", roots)
	}
}

// Two modes, at ±1, that are 50 standard deviations apart: r = 25(z² − 1) at
// Zᵢ = 1. The one that Newton's method does not find carries half of the mass.
func TestStepFarModes(t *testing.T) {
	g := func(x float64) float64 { return 25 * (x*x - 1) }
	p := scalar(func(x float64) float64 { return 2*x - g(x) - 2 }, func(x float64) float64 { return 2 - 50*x })
	// η = √(αh)·48 = 2, against a slope of 50 at either root.
	l := stepAt(t, p, adams.Moulton{}, []float64{1}, 0.5, 2*math.Pow(2./48, 2))
	m := moments(t, l)
	near(t, "mean", m.Mean[0], 0, 1, 1e-8) // g is even
	// Laplace: each mode has the variance (η/50)² = 1.6e-3, to a share of the
	// order of that variance.
	near(t, "normaliser", m.LogNormalizer, math.Log(2*math.Sqrt(2*math.Pi)*2/50), 1, 5e-3)
}

// With a nonlinear f, backward Euler has more roots at distances of order 1/h. Every peak
// has its share of the mass, however far away it is.
func TestFarRoots(t *testing.T) {
	// r is a parabola for f = a x + b x², so the density is symmetric about its vertex.
	parabola := func(a, b, h float64) float64 { return (1/h - a) / (2 * b) }
	for _, c := range []struct{ a, b, z, h, alpha float64 }{
		{2, -2. / 3, 0.7, 1e-3, 0.05},
		{2, -2. / 3, 0.1, 0.1, 1e-3},
		{2, -2. / 3, 50, 1e-3, 0.05},
		{0, 1, 0.1, 1e-4, 1}, // the second root is at 10⁵ times the size of the state
		{1, -1e-6, 2, 0.1, 0.05},
		{1, -1e-6, 2, 1, 1e-3}, // both roots are far from the mean of Current
	} {
		p := scalar(func(x float64) float64 { return c.a*x + c.b*x*x }, func(x float64) float64 { return c.a + 2*c.b*x })
		for _, lin := range []adams.Linearization{adams.Newton, adams.Current} {
			m := moments(t, stepAt(t, p, adams.Moulton{Linearize: lin}, []float64{c.z}, c.h, c.alpha))
			near(t, fmt.Sprintf("%v, %v: mean", c, lin), m.Mean[0], parabola(c.a, c.b, c.h), math.Sqrt(m.Cov.At(0, 0)), 1e-5)
		}
	}
	// For f = x + x³ from 0 the peaks at 0 and ±√(1/h − 1) have the slopes 1/h − 1 and
	// −2 (1/h − 1), so the shares ½, ¼ and ¼, up to terms of the order of the variance
	// of a peak.
	p := scalar(func(x float64) float64 { return x + x*x*x }, func(x float64) float64 { return 1 + 3*x*x })
	m := moments(t, stepAt(t, p, adams.Moulton{}, []float64{0}, 1e-3, 1e-3))
	near(t, "variance with three peaks", m.Cov.At(0, 0), 999./2, 0, 1e-6)

	// Lotka–Volterra from (1.2, 0.7). The first equation, with the solution of the second
	// one for y, is a quadratic equation for x. The shares are 1/|det Γ|.
	const h, x0, y0 = 0.01, 1.2, 0.7
	lv := &Problem{Name: "lv", X0: []float64{x0, y0}, Span: [2]float64{0, 1}, Autonomous: true,
		F: func(f []float64, _ float64, x, _ []float64) { f[0], f[1] = x[0]-x[0]*x[1], x[0]*x[1]-x[1] },
		FJ: func(f, j []float64, _ float64, x, _ []float64) {
			f[0], f[1] = x[0]-x[0]*x[1], x[0]*x[1]-x[1]
			j[0], j[1], j[2], j[3] = 1-x[1], -x[0], x[1], x[0]-1
		}}
	a, b, c := -(1-h)*h, (1-h)*(1+h)+h*y0+x0*h, -x0*(1+h)
	q := -(b + math.Sqrt(b*b-4*a*c)) / 2
	var total float64
	want := make([]float64, 2)
	for _, x := range []float64{q / a, c / q} {
		y := y0 / (1 - h*(x-1))
		share := 1 / math.Abs((1/h-1+y)*(1/h+1-x)+x*y)
		total += share
		want[0] += share * x
		want[1] += share * y
	}
	m = moments(t, stepAt(t, lv, adams.Moulton{}, lv.X0, h, 1e-3))
	for k := range want {
		// Curvature changes the shares by the variance of a peak in its own units, some 10⁻⁴.
		near(t, "mean of Lotka–Volterra", m.Mean[k], want[k]/total, math.Sqrt(m.Cov.At(k, k)), 1e-3)
	}

	// The second peak is too narrow for floating-point numbers.
	p = scalar(func(x float64) float64 { return x - 1e-6*x*x }, func(x float64) float64 { return 1 - 2e-6*x })
	if _, err := stepAt(t, p, adams.Moulton{}, []float64{0.7}, 1e-4, 1e-3).Moments(); err == nil || !strings.Contains(err.Error(), "too narrow") {
		t.Errorf("a peak without a width: %v", err)
	}
}

// Numbers that are known from an independent computation: backward Euler on
// FitzHugh–Nagumo with α = 0.2, stated to two digits.
func TestStepFitzHughNagumo(t *testing.T) {
	p := problems.FitzHughNagumo()
	m := adams.Moulton{Linearize: adams.Current}
	check := func(what string, got, want, tol float64) {
		t.Helper()
		near(t, what, got, want, 0, tol)
	}

	l := stepAt(t, p, m, []float64{0, 0.5}, 0.3, 0.2)
	x := moments(t, l)
	sd := math.Sqrt(x.Cov.At(0, 0))
	check("h = 0.3: exact mean of V less the root, in sd", (x.Mean[0]-l.Roots()[0][0])/sd, -0.7, 0.05)
	check("h = 0.3: Gaussian mean of V less the exact one, in sd", (l.Mean[0]-x.Mean[0])/sd, 3.7, 0.02)
	check("h = 0.3: ratio of the variances of V", l.Cov.At(0, 0)/x.Cov.At(0, 0), 10, 0.02)

	// In the first step from the initial state.
	l = stepAt(t, p, m, p.X0, 0.1, 0.2)
	x = moments(t, l)
	check("h = 0.1: ratio of the variances of V", l.Cov.At(0, 0)/x.Cov.At(0, 0), 0.88, 0.01)
	check("h = 0.1: exact mean of V less the Gaussian one, in Gaussian sd", (x.Mean[0]-l.Mean[0])/math.Sqrt(l.Cov.At(0, 0)), 0.13, 0.04)
}

// The quadrature against a sum over a fixed fine grid, where the distribution is bent
// (h = 0.3).
func TestMomentsAgainstGrid(t *testing.T) {
	p := problems.FitzHughNagumo()
	for _, z := range [][]float64{{0, 0.5}, {2, 0}, {1.5, -0.8}} {
		l := stepAt(t, p, adams.Moulton{}, z, 0.3, 0.2)
		m := moments(t, l)
		g := newGrid(l, m, 600)
		var mean, second [2]float64
		for i, v := range g.v {
			for j, r := range g.r {
				w := g.w[i*len(g.r)+j]
				for k, x := range [2]float64{v - m.Mean[0], r - m.Mean[1]} {
					mean[k] += w * x
					second[k] += w * x * x
				}
			}
		}
		// A sum over a uniform grid converges exponentially for a smooth
		// density that vanishes at the edges; edges at 14 sd leave nothing.
		near(t, "normaliser", m.LogNormalizer, g.log, 1, 1e-7)
		for k := range 2 {
			v := m.Cov.At(k, k)
			near(t, "mean", mean[k], 0, math.Sqrt(v), 1e-7)
			near(t, "variance", second[k], v, v, 1e-7)
		}
	}
}

// A grid holds a distribution in two dimensions on uniform points, normalised.
type grid struct {
	v, r []float64
	w    []float64 // shares of the sum
	log  float64   // ln of the integral
}

// newGrid makes a grid of n×n points up to 14 sd from the mean.
func newGrid(l *steplaw.Law, m *steplaw.Moments, n int) *grid {
	axis := func(k int) []float64 {
		x := make([]float64, n)
		for i := range x {
			x[i] = m.Mean[k] + math.Sqrt(m.Cov.At(k, k))*14*(2*float64(i)/float64(n-1)-1)
		}
		return x
	}
	g := &grid{v: axis(0), r: axis(1), w: make([]float64, n*n)}
	var sum float64
	for i, v := range g.v {
		for j, r := range g.r {
			w := math.Exp(l.LogDensity([]float64{v, r}))
			g.w[i*n+j] = w
			sum += w
		}
	}
	for i := range g.w {
		g.w[i] /= sum
	}
	g.log = math.Log(sum * (g.v[1] - g.v[0]) * (g.r[1] - g.r[0]))
	return g
}

// How fast the exact distribution becomes the Gaussian one as h → 0, in standard
// deviations. Relative to its mean it has the scale σ = O(h^{s+3/2}), and
//
//	Γ(z) = Γ + O(z − c):    variance ratio − 1 = O(h·h),
//	curvature of r:         shift of the mean  = O(h·σ) from the root.
//
// Current leaves its remainder O(h²) in r, which is O(h^{3/2−s}) standard
// deviations: for s ≥ 2 the Gaussian approximation of Current moves away from the exact
// one as h decreases.
func TestStepRates(t *testing.T) {
	p := problems.FitzHughNagumo()
	for _, c := range []struct {
		m    adams.Moulton
		rate float64 // of the shift of V
	}{
		{adams.Moulton{}, 2.5},
		{adams.Moulton{Steps: 1}, 3.5},
		{adams.Moulton{Linearize: adams.Current}, 1.5},
		{adams.Moulton{Steps: 1, Linearize: adams.Current}, 0.5},
		{adams.Moulton{Steps: 2, Linearize: adams.Current}, -0.5},
	} {
		var shift, ratio [2]float64
		for n, h := range []float64{0.01, 0.005} {
			q := *p
			q.Span[1] = 4 * h
			s := solver(t, &q, c.m, h, 0.2)
			z := make([]float64, s.PathLen())
			if err := s.Solve(z, p.Theta, nil); err != nil {
				t.Fatal(err)
			}
			l, err := steplaw.New(s, 2, z, p.Theta)
			if err != nil {
				t.Fatal(err)
			}
			m := moments(t, l)
			shift[n] = math.Abs(m.Mean[0]-l.Mean[0]) / math.Sqrt(m.Cov.At(0, 0))
			ratio[n] = math.Abs(l.Cov.At(0, 0)/m.Cov.At(0, 0) - 1)
		}
		// The next term is O(h), a few hundredths, and the quadrature is good to
		// 10⁻⁹ sd where the least shift is some 10⁻⁸.
		if got := math.Log2(shift[0] / shift[1]); math.Abs(got-c.rate) > 0.1 {
			t.Errorf("%v: shift %.3g, then %.3g sd: order %.2f, want %.1f", c.m, shift[0], shift[1], got, c.rate)
		}
		if got := math.Log2(ratio[0] / ratio[1]); c.m.Linearize == adams.Newton && math.Abs(got-2) > 0.1 {
			t.Errorf("%v: variance off by %.3g, then %.3g: order %.2f, want 2", c.m, ratio[0], ratio[1], got)
		}
	}
}

func TestStepRefuses(t *testing.T) {
	lorenz := problems.Lorenz63()
	x0 := lorenz.X0
	l := stepAt(t, lorenz, adams.Moulton{}, x0, 0.01, 0.1)
	if _, err := l.Moments(); err == nil || !strings.Contains(err.Error(), "want 1 or 2 for quadrature") {
		t.Errorf("three components: %v", err)
	}
	s := solver(t, lorenz, adams.Bashforth{Steps: 2}, 0.01, 0.1)
	if _, err := steplaw.New(s, 1, make([]float64, 6), lorenz.Theta); err == nil || !strings.Contains(err.Error(), "adams.Moulton") {
		t.Errorf("explicit method: %v", err)
	}
	s = solver(t, lorenz, adams.Moulton{}, 0.01, 0)
	if _, err := steplaw.New(s, 0, x0, lorenz.Theta); err == nil || !strings.Contains(err.Error(), "alpha > 0") {
		t.Errorf("alpha = 0: %v", err)
	}
	s.SetAlpha(1)
	for what, f := range map[string]func(){
		"step":  func() { steplaw.New(s, s.Steps(), make([]float64, s.PathLen()), lorenz.Theta) },
		"z":     func() { steplaw.New(s, 1, x0, lorenz.Theta) },
		"theta": func() { steplaw.New(s, 0, x0, nil) },
		"state": func() { l.LogDensity(x0[:2]) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("a wrong %s does not panic", what)
				}
			}()
			f()
		}()
	}
}

// One step of backward Euler on FitzHugh–Nagumo that is too long for its
// Gaussian approximation.
func ExampleNew() {
	p := problems.FitzHughNagumo()
	g, err := UniformGrid(p, nil, 0.25)
	if err != nil {
		panic(err)
	}
	s, err := NewSolver(p, adams.Moulton{Linearize: adams.Current}, g, 0.2)
	if err != nil {
		panic(err)
	}
	step, err := steplaw.New(s, 0, []float64{0, 0.5}, p.Theta)
	if err != nil {
		panic(err)
	}
	exact, err := step.Moments()
	if err != nil {
		panic(err)
	}
	fmt.Printf("mean of V  Gaussian %.2f  exact %.2f  root of r %.2f\n", step.Mean[0], exact.Mean[0], step.Roots()[0][0])
	fmt.Printf("sd of V    Gaussian %.2f  exact %.2f\n", math.Sqrt(step.Cov.At(0, 0)), math.Sqrt(exact.Cov.At(0, 0)))
	// Output:
	// mean of V  Gaussian 1.22  exact 0.59  root of r 0.80
	// sd of V    Gaussian 0.72  exact 0.38
}

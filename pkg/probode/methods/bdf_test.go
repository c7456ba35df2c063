package methods_test

import (
	"context"
	"errors"
	"math"
	"math/cmplx"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	. "github.com/probode/probode/pkg/probode/methods"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/adams"
	"github.com/probode/probode/pkg/probode/linalg"
	"github.com/probode/probode/pkg/probode/problems"
	"github.com/probode/probode/pkg/probode/steplaw"
)

// uneven returns a grid over the span of p whose neighbouring steps have ratios
// between 1/most and most, from a random start, and n steps.
func uneven(t testing.TB, p *probode.Problem, n int, most float64, seed uint64) *probode.Grid {
	t.Helper()
	rng := rand.New(rand.NewPCG(seed, 7))
	times, at, h := []float64{}, 0.0, 1.0
	for range n {
		times = append(times, at)
		r := math.Pow(most, 2*rng.Float64()-1)
		if h*r > 3 || h*r < 1./3 {
			r = 1 / r
		}
		h *= r
		at += h
	}
	for k := range times {
		times[k] = p.Span[0] + times[k]*(p.Span[1]-p.Span[0])/at
	}
	g, err := probode.NewGrid(p, nil, times)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// The formulas are exact for polynomials of their degree, on grids of steps with
// ratios up to four, which need other coefficients at each step, and in the steps
// in which they start.
func TestBDFIsExactForPolynomials(t *testing.T) {
	for k := 1; k <= 5; k++ {
		p := &probode.Problem{Name: "polynomial", X0: []float64{1, 2}, Span: [2]float64{0, 1},
			F: func(dst []float64, t float64, x, _ []float64) {
				dst[0] = 0
				for j := 1; j <= k; j++ {
					dst[0] += float64(j*j) * math.Pow(t, float64(j-1))
				}
				dst[1] = 0
			}}
		want := 1.0
		for j := 1; j <= k; j++ {
			want += float64(j)
		}
		for seed := range uint64(5) {
			most := []float64{4, 2, 1.5, 1.2, 1.1}[k-1]
			z := path(t, p, BDF{Steps: k}, uneven(t, p, 25, most, seed), 0, nil)
			if off := math.Abs(end(z, 2)[0] - want); off > 1e-12 {
				t.Errorf("BDF%d: off by %.2g", k, off)
			}
			for i := 1; i < len(z); i += 2 {
				if z[i] != 2 { // what does not move stays to the last bit
					t.Fatalf("BDF%d: %.17g at row %d, want 2", k, z[i], i/2)
				}
			}
		}
	}
}

// The orders hold on uneven grids, and those of several steps each restart, too.
func TestBDFOrdersOnUnevenGrids(t *testing.T) {
	p := pendulum()
	want := end(path(t, p, Radau{}, uniform(t, p, 1./512), 0, nil), 2)
	for k := 1; k <= 5; k++ {
		m := BDF{Steps: k}
		for seed := range uint64(3) {
			g := uneven(t, p, 100, 1.15, seed).Refine()
			coarse := distance(end(path(t, p, m, g, 0, nil), 2), want)
			fine := distance(end(path(t, p, m, g.Refine().Refine(), 0, nil), 2), want)
			if order := math.Log2(coarse/fine) / 2; math.Abs(order-float64(k)) > 0.25 {
				t.Errorf("%v: order %.2f (errors %.2g, %.2g)", m, order, coarse, fine)
			}
		}
	}
}

// BDF1 is the backward Euler method, and so are its noise and its equation.
func TestBDF1IsBackwardEuler(t *testing.T) {
	p := problems.FitzHughNagumo()
	for _, g := range []*probode.Grid{uniform(t, p, 0.05), uneven(t, p, 400, 3, 1)} {
		xi := make([]float64, 2*g.Steps())
		probode.DrawNoise(xi, 3, 0)
		for _, noise := range [][]float64{nil, xi} {
			if off := distance(path(t, p, BDF{Steps: 1}, g, 0.1, noise), path(t, p, adams.Moulton{}, g, 0.1, noise)); off > 1e-11 {
				t.Errorf("off by %.2g", off)
			}
		}
	}
}

// The regions of stability are those of the formulas: inside of the wedge of
// angle α every step damps, and a few degrees outside of it some step does not
// [HW96, table V.2.1].
func TestBDFStability(t *testing.T) {
	for k, alpha := range []float64{90, 90, 86.03, 73.35, 51.84} {
		k++
		grows := func(degrees float64) bool {
			worst := 0.0
			for e := -1.5; e < 3; e += 0.05 { // h = 1, so that |hλ| = 10^e
				lambda := cmplx.Rect(math.Pow(10, e), math.Pi-degrees*math.Pi/180)
				p := &probode.Problem{Name: "oscillator", Autonomous: true, X0: []float64{1, 0.3}, Span: [2]float64{0, 1500},
					F: func(dst []float64, _ float64, x, _ []float64) {
						dst[0] = real(lambda)*x[0] - imag(lambda)*x[1]
						dst[1] = imag(lambda)*x[0] + real(lambda)*x[1]
					}}
				p.FJ = func(f, j []float64, t float64, x, theta []float64) {
					p.F(f, t, x, theta)
					j[0], j[1], j[2], j[3] = real(lambda), -imag(lambda), imag(lambda), real(lambda)
				}
				s, err := probode.NewSolver(p, BDF{Steps: k}, uniform(t, p, 1), 0)
				if err != nil {
					t.Fatal(err)
				}
				z := make([]float64, s.PathLen())
				if err := s.Solve(z, nil, nil); err != nil {
					t.Fatal(err)
				}
				if before := math.Hypot(z[1000], z[1001]); before > 0 {
					worst = max(worst, math.Hypot(z[len(z)-2], z[len(z)-1])/before)
				}
			}
			return worst > 1
		}
		if grows(alpha - 0.5) {
			t.Errorf("BDF%d: grows at %g°", k, alpha-0.5)
		}
		if outside := alpha + 0.5; k > 2 && !grows(outside) {
			t.Errorf("BDF%d: damps at %g°", k, outside)
		}
	}
}

// Estimates of the local error are those of a step from an exact past, up to the
// share of that error which the next state brings into them: 1 + γ/(k+1).
func TestBDFLocalError(t *testing.T) {
	decay := &probode.Problem{Name: "decay", X0: []float64{1}, Span: [2]float64{0, 1}, Autonomous: true,
		F: func(dst []float64, _ float64, x, _ []float64) { dst[0] = -x[0] }}
	for k := 1; k <= 5; k++ {
		for _, g := range []*probode.Grid{uniform(t, decay, 1./32), uneven(t, decay, 40, 1.1, 2)} {
			s, err := BDF{Steps: k}.Stepper(decay, g)
			if err != nil {
				t.Fatal(err)
			}
			exact := make([]float64, g.Steps()+1)
			for i, at := range g.Times() {
				exact[i] = math.Exp(-at)
			}
			const i = 20
			next, errs := make([]float64, 1), make([]float64, 1)
			var one probode.Step
			for j := range i + 1 {
				one = stepOf(g, j, exact, next, nil)
				if err := s.Step(&one); err != nil {
					t.Fatal(err)
				}
			}
			if err := s.LocalError(errs, &one); err != nil {
				t.Fatal(err)
			}
			if ratio := errs[0] / (next[0] - exact[i+1]); !(ratio > 1 && ratio < 1.75) {
				t.Errorf("BDF%d: estimated %.3g, made %.3g", k, errs[0], next[0]-exact[i+1])
			}
		}
	}
}

// The steps in which a formula starts have errors below those that follow, and
// are estimated so.
func TestBDFStartIsAccurate(t *testing.T) {
	p := pendulum()
	for k := 2; k <= 5; k++ {
		g := uniform(t, p, 1./16)
		s, err := BDF{Steps: k}.Stepper(p, g)
		if err != nil {
			t.Fatal(err)
		}
		z := path(t, p, BDF{Steps: k}, g, 0, nil)
		errs := make([]float64, 2)
		var first, later float64
		for i := range 3 * k {
			one := stepOf(g, i, z, make([]float64, 2), p.Theta)
			if err := s.Step(&one); err != nil {
				t.Fatal(err)
			}
			if err := s.LocalError(errs, &one); err != nil {
				t.Fatal(err)
			}
			if size := math.Hypot(errs[0], errs[1]); i < k {
				first = max(first, size)
			} else {
				later = max(later, size)
			}
		}
		if !(first > 0 && first < later) {
			t.Errorf("BDF%d: errors up to %.2g at the start and %.2g behind it", k, first, later)
		}
	}
}

// The noise of a step is Γ⁻¹J times the scaled normals, of standard deviation
// h^{k+1/2} in the state, and that of a path falls with h to the k.
func TestBDFNoise(t *testing.T) {
	p := problems.FitzHughNagumo()
	p.Span[1] = 3
	for k := 1; k <= 5; k++ {
		m := BDF{Steps: k}
		s, err := probode.NewSolver(p, m, uniform(t, p, 0.05), 0.3)
		if err != nil {
			t.Fatal(err)
		}
		z, xi := make([]float64, s.PathLen()), make([]float64, s.NoiseLen())
		if err := s.SolvePath(z, p.Theta, xi, 1, 0); err != nil {
			t.Fatal(err)
		}
		const i = 50
		normals := xi[2*i : 2*i+2]
		step, one, err := s.Stepper(i, z, p.Theta)
		if err != nil {
			t.Fatal(err)
		}
		scale := one.Scale
		if want := math.Sqrt(0.3) * math.Pow(0.05, float64(k)-0.5); math.Abs(scale[0]/want-1) > 1e-12 {
			t.Errorf("%v: scale %g, want %g", m, scale[0], want)
		}
		var eq probode.ImplicitStep
		if err := step.Implicit(&eq, one); err != nil {
			t.Fatal(err)
		}
		f, lu := make([]float64, 2), linalg.NewLU(eq.J)
		p.F(f, one.End, eq.Mean, p.Theta)
		for c := range f {
			if r := eq.Inv*eq.Mean[c] - eq.Known[c] - f[c]; math.Abs(r) > 1e-11*eq.Inv {
				t.Errorf("%v: the mean leaves %g of its equation", m, r)
			}
		}
		noise := make([]float64, 2)
		eq.J.AddMul(noise, 1, []float64{scale[0] * normals[0], scale[1] * normals[1]})
		if !lu.Factorize(eq.Inv, eq.J) {
			t.Fatal("singular")
		}
		lu.Solve(noise)
		for c, v := range noise {
			if off := math.Abs(eq.Mean[c] + v - z[2*i+2+c]); off > 1e-12 {
				t.Errorf("%v: a step is off by %.2g", m, off)
			}
		}
		if step, one, err = s.Stepper(0, z, p.Theta); err != nil {
			t.Fatal(err)
		}
		if err := step.Implicit(&eq, one); k > 1 && !errors.Is(err, probode.ErrStarting) {
			t.Errorf("%v: the first step: %v", m, err)
		}
		// The sd of 400 paths is known to 3.5 %, and log2 of a ratio over two
		// halvings to .04: .25 is six times that.
		spread := func(h float64) float64 {
			ens, err := probode.Integrate(context.Background(), p, m, 400, probode.Settings{StepSize: h, Alpha: 1e-2, Seed: 5, Times: []float64{2}})
			if err != nil {
				t.Fatal(err)
			}
			return ens.SD[0][0]
		}
		if k > 3 {
			continue // at steps that show it a spread of order 4 is below rounding of the equation
		}
		if order := math.Log2(spread(0.02)/spread(0.005)) / 2; math.Abs(order-float64(k)) > 0.25 {
			t.Errorf("%v: the spread falls with h to the %.2f", m, order)
		}
	}
}

// Steps that are a hundred times as long as the one before: the formula starts
// again, and the error is that of the long steps.
func TestBDFSurvivesJumpsOfTheStep(t *testing.T) {
	p := pendulum()
	want := end(path(t, p, Radau{}, uniform(t, p, 1./512), 0, nil), 2)
	var times []float64
	for _, at := range []float64{0.5, 1.5, 2.5} {
		for j := range 20 {
			times = append(times, at+1e-4*float64(j))
		}
		for j := range 20 {
			times = append(times, at+0.002+0.01*float64(j), 0.25+at+0.03*float64(j))
		}
	}
	slices.Sort(times)
	g, err := probode.NewGrid(p, nil, times)
	if err != nil {
		t.Fatal(err)
	}
	for k := 2; k <= 5; k++ {
		// The gaps up to t = 0.5 and from 3.3 on are single long steps of Radau5,
		// which leave 4e-5 of the error.
		if off := distance(end(path(t, p, BDF{Steps: k}, g, 0, nil), 2), want); off > 5e-5+2e-3/math.Pow(8, float64(k-2)) {
			t.Errorf("BDF%d: off by %.2g", k, off)
		}
	}
}

// Grids that are shorter than the start, and those on which formulas are not
// stable, are refused, for those alone.
func TestBDFRefusesGrids(t *testing.T) {
	p := pendulum()
	for k := 1; k <= 5; k++ {
		_, short := probode.NewSolver(p, BDF{Steps: k}, uniform(t, p, 4/float64(k)), 0)
		_, long := probode.NewSolver(p, BDF{Steps: k}, uniform(t, p, 4/float64(k+1)), 0)
		if (short == nil) != (k == 1) || long != nil {
			t.Errorf("BDF%d on a grid of %d steps: %v; on one more: %v", k, k, short, long)
		}
	}
	brief := *p
	brief.Span[1] = brief.Span[0] + 0.01
	mesh := probode.Frozen{Tolerance: probode.Tolerance{Absolute: []float64{100}}}
	g, err := probode.Setup{Method: BDF{Steps: 5}, Mesh: mesh}.Grid(context.Background(), &brief, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	if g.Steps() > 5 {
		t.Errorf("%d steps: want so few that all are of the start", g.Steps())
	} else if _, err := probode.NewSolver(&brief, BDF{Steps: 5}, g, 0); err != nil {
		t.Errorf("a run that ended before BDF began: %v", err)
	}
	for k, ratio := range []float64{3, 2.3, 1.45, 1.25, 1.1} { // just inside
		k++
		for _, c := range []struct {
			ratio float64
			fine  bool
		}{{ratio, true}, {1.3 * ratio, k <= 1 || 1.3*ratio > 1+math.Sqrt2}} {
			times, h := []float64{4}, 4.
			for h > 1e-10 && len(times) < 200 {
				h /= c.ratio
				times = append(times, h)
			}
			g, err := probode.NewGrid(p, nil, times)
			if err != nil {
				t.Fatal(err)
			}
			_, err = probode.NewSolver(p, BDF{Steps: k}, g, 0)
			if (err == nil) != c.fine || err != nil && !strings.Contains(err.Error(), "grow too fast") {
				t.Errorf("BDF%d, ratio %g: %v", k, c.ratio, err)
			}
		}
	}
}

// The study of the exact distribution of a step serves BDF: its Gaussian
// approximation has the moments that draws of the step have.
func TestBDFStepDistribution(t *testing.T) {
	p := problems.FitzHughNagumo()
	p.Span[1] = 4
	for _, m := range []BDF{{Steps: 1}, {Steps: 2}, {Steps: 4}} {
		s, err := probode.NewSolver(p, m, uniform(t, p, 0.1), 0.2)
		if err != nil {
			t.Fatal(err)
		}
		z := make([]float64, s.PathLen())
		if err := s.Solve(z, p.Theta, nil); err != nil {
			t.Fatal(err)
		}
		const i = 20
		dist, err := steplaw.New(s, i, z, p.Theta)
		if err != nil {
			t.Fatal(err)
		}
		step, one, err := s.Stepper(i, z, p.Theta)
		if err != nil {
			t.Fatal(err)
		}
		// The noise is linear in ξ, so that two unit vectors tell its covariance.
		var cov [2][2]float64
		for k := range 2 {
			xi, next := make([]float64, 2), make([]float64, 2)
			xi[k] = 1
			one.Xi, one.Next = xi, next
			if err := step.Step(one); err != nil {
				t.Fatal(err)
			}
			for a := range 2 {
				for b := range 2 {
					cov[a][b] += (next[a] - dist.Mean[a]) * (next[b] - dist.Mean[b])
				}
			}
		}
		for a := range 2 {
			if off := math.Abs(dist.Mean[a] - z[2*i+2+a]); off > 1e-12 {
				t.Errorf("%v: mean off by %.2g", m, off)
			}
			for b := range 2 {
				if want := dist.Cov.At(a, b); math.Abs(cov[a][b]-want) > 1e-6*math.Abs(want) {
					t.Errorf("%v: covariance %d, %d is %.6g, want %.6g", m, a, b, cov[a][b], want)
				}
			}
		}
	}
}

package steplaw_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"sort"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mathext"
	"gonum.org/v1/gonum/stat/distuv"

	. "github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/adams"
	"github.com/probode/probode/pkg/probode/problems"
	"github.com/probode/probode/pkg/probode/steplaw"
)

// draws returns n independent draws of the first step under the exact
// distribution, by the chain: each is a path of one step.
func draws(t testing.TB, p *Problem, m steplaw.Exact, z []float64, h, alpha float64, n int) []float64 {
	t.Helper()
	e, err := m.Draw(context.Background(), oneStep(p, z, h), n, steplaw.Settings{Mesh: Uniform(h), Alpha: alpha, Seed: 11, KeepPaths: true})
	if err != nil || e.Failed > 0 {
		t.Fatalf("%d failed: %v", e.Failed, err)
	}
	out := make([]float64, 0, n*len(z))
	for _, path := range e.Paths {
		out = append(out, path[len(z):]...)
	}
	return out
}

// gaussianDraws is draws of the Gaussian approximation.
func gaussianDraws(t testing.TB, p *Problem, m Method, z []float64, h, alpha float64, n int) []float64 {
	t.Helper()
	s := solver(t, oneStep(p, z, h), m, h, alpha)
	path, xi := make([]float64, s.PathLen()), make([]float64, s.NoiseLen())
	out := make([]float64, 0, n*len(z))
	for k := range n {
		if err := s.SolvePath(path, p.Theta, xi, 11, uint64(k)); err != nil {
			t.Fatal(err)
		}
		out = append(out, path[len(z):]...)
	}
	return out
}

// The moments of the chain against quadrature. Current and Newton begin at
// different Gaussians and have the same exact distribution; from Current at h = 0.3 the
// start is up to 3.7 sd away, for which 200 sweeps are given.
//
// 12 settings with 4 numbers each at z = 4.8: 48·2·Φ(−4.8) = 8e-5 false
// alarms, the fourth moments being estimated.
func TestExactMoments(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	p := problems.FitzHughNagumo()
	const n, z = 2000, 4.8
	for _, h := range []float64{0.1, 0.3} {
		for _, x := range [][]float64{{-1, 1}, {0, 0.5}, {-1, -0.5}} {
			for _, lin := range []adams.Linearization{adams.Newton, adams.Current} {
				m := steplaw.Exact{Method: adams.Moulton{Linearize: lin}}
				if h == 0.3 {
					m.Sweeps = 200
				}
				want := moments(t, stepAt(t, p, m.Method, x, h, 0.2))
				got := draws(t, p, m, x, h, 0.2, n)
				for k := range 2 {
					sd := math.Sqrt(want.Cov.At(k, k))
					var mean, second, fourth float64
					for i := k; i < len(got); i += 2 {
						y := (got[i] - want.Mean[k]) / sd
						mean += y / n
						second += y * y / n
						fourth += y * y * y * y / n
					}
					if math.Abs(mean) > z/math.Sqrt(n) {
						t.Errorf("%v h = %g from %v: mean of component %d is off by %.3f sd", m, h, x, k, mean)
					}
					if se := math.Sqrt((fourth - second*second) / n); math.Abs(second-1) > z*se {
						t.Errorf("%v h = %g from %v: variance of component %d is off by %.3f ± %.3f", m, h, x, k, second-1, se)
					}
				}
			}
		}
	}
}

// From (2, 0) with h = 0.3 a shelf of small r far from the root, where V < 0,
// holds 1.6 % of the distribution and half of the variance of V. The default number of
// sweeps finds an eighth of it, and that is what Exact warns of; 1600 find
// it. One number at z = 4.5: 7e-6 false alarms.
func TestExactFarTail(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	p := problems.FitzHughNagumo()
	m := steplaw.Exact{Sweeps: 1600}
	x := []float64{2, 0}
	l := stepAt(t, p, m.Method, x, 0.3, 0.2)
	g := newGrid(l, moments(t, l), 600)
	var want float64
	for i, v := range g.v {
		if v < 0 {
			for _, w := range g.w[i*len(g.r) : (i+1)*len(g.r)] {
				want += w
			}
		}
	}
	const n = 3000
	var got float64
	z := draws(t, p, m, x, 0.3, 0.2, n)
	for i := 0; i < len(z); i += 2 {
		if z[i] < 0 {
			got += 1. / n
		}
	}
	if se := math.Sqrt(want * (1 - want) / n); math.Abs(got-want) > 4.5*se {
		t.Errorf("P(V < 0) is %.4f: want %.4f ± %.4f", got, want, se)
	}
}

// rosenblatt turns draws from the distribution of g into pairs of numbers that are
// independent and uniform: U₁ = P(V ≤ v), U₂ = P(R ≤ r | V = v). Both
// distribution functions come from sums over the grid, the second in the
// nearest column.
func (g *grid) rosenblatt(x []float64) [][2]float64 {
	n := len(g.r)
	columns := make([]float64, n) // distribution function of V at the right edges of columns
	var sum float64
	for i := range columns {
		for _, w := range g.w[i*n : (i+1)*n] {
			sum += w
		}
		columns[i] = sum
	}
	// between interpolates a distribution function that is known at the right
	// edges of cells of width dx around points from x0 on.
	between := func(below, mass, x, point, dx float64) float64 {
		return below + mass*min(1, max(0, (x-point)/dx+0.5))
	}
	out := make([][2]float64, 0, len(x)/2)
	dv, dr := g.v[1]-g.v[0], g.r[1]-g.r[0]
	for k := 0; k < len(x); k += 2 {
		i := min(n-1, max(0, int(math.Round((x[k]-g.v[0])/dv))))
		j := min(n-1, max(0, int(math.Round((x[k+1]-g.r[0])/dr))))
		var below float64
		if i > 0 {
			below = columns[i-1]
		}
		u1 := between(below, columns[i]-below, x[k], g.v[i], dv)
		var left, total float64
		for m, w := range g.w[i*n : (i+1)*n] {
			if m < j {
				left += w
			}
			total += w
		}
		u2 := 0.5
		if total > 0 { // a draw far outside has not even a column
			u2 = between(left, g.w[i*n+j], x[k+1], g.r[j], dr) / total
		}
		out = append(out, [2]float64{u1, u2})
	}
	return out
}

// chiSquare is the χ² statistic of pairs of uniform numbers on 8×8 cells.
func chiSquare(u [][2]float64) float64 {
	var count [64]float64
	for _, p := range u {
		count[min(7, int(8*p[0]))*8+min(7, int(8*p[1]))]++
	}
	want := float64(len(u)) / 64
	var sum float64
	for _, c := range count {
		sum += (c - want) * (c - want) / want
	}
	return sum
}

// Draws of the chain, with the default number of sweeps, against the distribution on a
// grid of the test's own: Rosenblatt's transform and χ² with 63 degrees of freedom, 1e-6
// false alarms for each of 4 tests.
// At h = 0.3 the Newton start is 0.7 sd off and the distribution is strongly bent.
func TestExactDistribution(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	p := problems.FitzHughNagumo()
	critical := distuv.ChiSquared{K: 63}.Quantile(1 - 1e-6)
	for _, c := range []struct {
		h      float64
		x      []float64
		sweeps int
	}{
		{0.1, []float64{-1, 1}, 0},
		{0.1, []float64{-1, -0.5}, 0},
		{0.1, []float64{2, 0}, 0},
		{0.3, []float64{0, 0.5}, 200},
	} {
		n := 10000
		if c.sweeps > 0 {
			n = 3000
		}
		m := steplaw.Exact{Sweeps: c.sweeps}
		l := stepAt(t, p, m.Method, c.x, c.h, 0.2)
		// 800 columns over 28 sd: the nearest is within 0.018 sd, which
		// changes P(R | V) by a few 10⁻³ at most, and by as much up as down.
		g := newGrid(l, moments(t, l), 800)
		if got := chiSquare(g.rosenblatt(draws(t, p, m, c.x, c.h, 0.2, n))); got > critical {
			t.Errorf("h = %g from %v: chain has χ² = %.1f, critical %.1f", c.h, c.x, got, critical)
		}
		// The test has power: the Gaussian approximation fails it.
		if got := chiSquare(g.rosenblatt(gaussianDraws(t, p, m.Method, c.x, c.h, 0.2, n))); got < critical {
			t.Errorf("h = %g from %v: the Gaussian approximation passes with χ² = %.1f", c.h, c.x, got)
		}
	}
}

// kolmogorov returns √n·sup|Fₙ − F| for values u that should be uniform. Its
// critical value for 1e-6 false alarms is √(−½ ln 5e-7) = 2.694.
func kolmogorov(u []float64) float64 {
	sort.Float64s(u)
	n := float64(len(u))
	var sup float64
	for i, v := range u {
		sup = max(sup, float64(i+1)/n-v, v-float64(i)/n)
	}
	return sup * math.Sqrt(n)
}

const kolmogorovCritical = 2.694

// The distribution p ∝ exp(−z⁶/2η²) of TestStepKnownDensities, whose distribution
// function is an incomplete gamma function: P(|Z| ≤ z) = P(1/6, z⁶/2η²). The
// Gaussian start has its mean at 1/3. 1e-6 false alarms.
func TestExactKnownDensity(t *testing.T) {
	const h, alpha, n = 0.5, 0.4, 5000
	p := scalar(func(x float64) float64 { return 2*x - x*x*x - 2 }, func(x float64) float64 { return 2 - 3*x*x })
	m := steplaw.Exact{Method: adams.Moulton{Linearize: adams.Current}, Sweeps: 400}
	chain := draws(t, p, m, []float64{1}, h, alpha, n)
	u := make([]float64, n)
	for i, x := range chain {
		within := mathext.GammaIncReg(1./6, math.Pow(x, 6)/(2*alpha*h))
		u[i] = 0.5 + math.Copysign(0.5*within, x)
	}
	if got := kolmogorov(u); got > kolmogorovCritical {
		t.Errorf("Kolmogorov–Smirnov statistic %.2f", got)
	}
}

// The departure of a step is that of quadrature.
func TestDeparture(t *testing.T) {
	p := scalar(func(x float64) float64 { return 2*x - x*x*x - 2 }, func(x float64) float64 { return 2 - 3*x*x })
	m := steplaw.Exact{Method: adams.Moulton{Linearize: adams.Current}, Sweeps: 400}
	l := stepAt(t, p, m.Method, []float64{1}, 0.5, 0.4)
	want, unit := moments(t, l), math.Sqrt(l.Cov.At(0, 0))
	departure := max(math.Abs(want.Mean[0]-l.Mean[0])/unit, math.Abs(math.Sqrt(want.Cov.At(0, 0))/unit-1))
	e, err := m.Draw(context.Background(), oneStep(p, []float64{1}, 0.5), 2000, steplaw.Settings{Mesh: Uniform(0.5), Alpha: 0.4, Seed: 4})
	if err != nil {
		t.Fatal(err)
	}
	// The mean and the sd of 2000 paths have errors of at most 1/√2000 = 0.022.
	if got := e.Departure[0]; len(e.Departure) != 1 || math.Abs(got-departure) > 0.1 || departure < 0.3 {
		t.Errorf("departures %v: want %.3f", e.Departure, departure)
	}
}

// Where does the Gaussian approximation of backward Euler fail on
// FitzHugh–Nagumo?
func ExampleExact_Draw() {
	p := problems.FitzHughNagumo()
	m := steplaw.Exact{Method: adams.Moulton{Linearize: adams.Current}}
	ens, err := m.Draw(context.Background(), p, 100, steplaw.Settings{Mesh: Uniform(0.1), Alpha: 0.2, Seed: 1})
	if err != nil {
		panic(err)
	}
	worst := slices.Index(ens.Departure, slices.Max(ens.Departure))
	fmt.Printf("worst at t = %.1f\n", ens.T[worst])
	fmt.Println("fit for use there:", ens.Departure[worst] < 0.5)
	// Output:
	// worst at t = 0.7
	// fit for use there: false
}

// For a linear f the exact distribution is the Gaussian one. The standardised noise of
// 400 paths then has a mean of 0 ± 1/20 in each of some 40 steps.
func TestExactLinear(t *testing.T) {
	p := &Problem{Name: "oscillator", X0: []float64{1, 0}, Span: [2]float64{0, 4}, Autonomous: true,
		F: func(f []float64, _ float64, x, _ []float64) { f[0], f[1] = x[1]-0.2*x[0], -4*x[0] },
		FJ: func(f, j []float64, _ float64, x, _ []float64) {
			f[0], f[1] = x[1]-0.2*x[0], -4*x[0]
			j[0], j[1], j[2] = -0.2, 1, -4
		}}
	for _, am := range []adams.Moulton{{}, {Linearize: adams.Current}, {Steps: 4}, {Steps: 3, Linearize: adams.Predictor}} {
		m := steplaw.Exact{Method: am, Sweeps: 20}
		e, err := m.Draw(context.Background(), p, 400, steplaw.Settings{Mesh: Uniform(0.1), Alpha: 0.3, Seed: 1})
		if err != nil {
			t.Fatal(err)
		}
		start := am.Steps - 1
		for i, a := range e.Departure {
			if i < start && !math.IsNaN(a) || i >= start && !(a < 0.25) {
				t.Errorf("%v: step %d has the departure %g", m, i, a)
			}
		}
	}
}

func TestExactWorkers(t *testing.T) {
	p := problems.FitzHughNagumo()
	var first *steplaw.Draws
	for _, workers := range []int{1, 2, 5} {
		e, err := steplaw.Exact{Sweeps: 10}.Draw(context.Background(), p, 70,
			steplaw.Settings{Mesh: Uniform(0.1), Alpha: 0.2, Seed: 3, Workers: workers, KeepPaths: true})
		if err != nil {
			t.Fatal(err)
		}
		if first == nil {
			first = e
			continue
		}
		if !reflect.DeepEqual(first.Paths, e.Paths) || !reflect.DeepEqual(first.Mean, e.Mean) {
			t.Errorf("%d workers change the paths", workers)
		}
		if !reflect.DeepEqual(first.Departure, e.Departure) {
			t.Errorf("%d workers change the departure", workers)
		}
	}
	// The first paths do not depend on how many there are.
	e, err := steplaw.Exact{Sweeps: 10}.Draw(context.Background(), p, 42, steplaw.Settings{Mesh: Uniform(0.1), Alpha: 0.2, Seed: 3, KeepPaths: true})
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(e.Paths, first.Paths[:42]) {
		t.Error("of 42 paths some differ from those of 70")
	}
}

// What a step allocates does not grow with the number of steps.
func TestExactAllocations(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	for _, lin := range []adams.Linearization{adams.Newton, adams.Current, adams.Predictor} {
		m := steplaw.Exact{Method: adams.Moulton{Steps: 1, Linearize: lin}, Sweeps: 5}
		allocations := func(paths int) float64 {
			return testing.AllocsPerRun(3, func() {
				if _, err := m.Draw(context.Background(), problems.FitzHughNagumo(), paths,
					steplaw.Settings{Mesh: Uniform(0.1), Alpha: 0.01, Workers: 1}); err != nil {
					t.Fatal(err)
				}
			})
		}
		// Another block of 16 paths of 200 steps: two for the generator of a
		// path, and the block's moments and report.
		if a, b := allocations(16), allocations(32); b > a+100 {
			t.Errorf("%v: %g allocations for 16 paths, %g for 32", lin, a, b)
		}
	}
}

func TestExactErrors(t *testing.T) {
	ctx := context.Background()
	exact := steplaw.Exact{Method: adams.Moulton{Linearize: adams.Current}}
	set := steplaw.Settings{Mesh: Uniform(0.5), Alpha: 0.1, Seed: 1}

	p := problems.Robertson()
	p.Span = [2]float64{0, 1}
	if _, err := exact.Draw(ctx, p, 4, set); !errors.Is(err, steplaw.ErrSingularH) {
		t.Errorf("conserved quantity: %v", err)
	}
	sine := scalar(func(x float64) float64 { return 2*x + math.Sin(x) }, func(x float64) float64 { return 2 + math.Cos(x) })
	if _, err := exact.Draw(ctx, sine, 4, set); !errors.Is(err, steplaw.ErrImproper) {
		t.Errorf("bounded r: %v", err)
	}
	// The first path shows it, and the others, which would take years, are not waited for.
	if _, err := exact.Draw(ctx, sine, 1e9, set); !errors.Is(err, steplaw.ErrImproper) {
		t.Errorf("bounded r: %v", err)
	}
	for what, bad := range map[string]steplaw.Settings{
		"alpha is 0: want": {Mesh: Uniform(0.5)},
		"the mesh is nil":  {Alpha: 0.1},
		"workers is -1":    {Mesh: Uniform(0.5), Alpha: 0.1, Workers: -1},
	} {
		if _, err := exact.Draw(ctx, problems.FitzHughNagumo(), 4, bad); err == nil || !strings.Contains(err.Error(), what) {
			t.Errorf("%+v: %v: want %q", bad, err, what)
		}
	}
	ended, end := context.WithCancel(ctx)
	end()
	if _, err := exact.Draw(ended, problems.FitzHughNagumo(), 4, steplaw.Settings{Mesh: Uniform(0.1), Alpha: 0.1}); !errors.Is(err, context.Canceled) {
		t.Errorf("an ended context: %v", err)
	}
	if _, err := (steplaw.Exact{Sweeps: -1}).Draw(ctx, problems.FitzHughNagumo(), 4, set); err == nil || !strings.Contains(err.Error(), "sweeps is -1: want") {
		t.Errorf("-1 sweeps: %v", err)
	}
}

func BenchmarkExact(b *testing.B) {
	p := problems.FitzHughNagumo()
	set := steplaw.Settings{Mesh: Uniform(0.1), Alpha: 0.2, Seed: 1, Workers: 1}
	b.ReportAllocs()
	const paths, steps, moves = 16, 200, 100
	for b.Loop() {
		if _, err := (steplaw.Exact{}).Draw(context.Background(), p, paths, set); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*paths*steps*moves), "ns/move")
}

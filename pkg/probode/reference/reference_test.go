package reference

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/problems"
)

// rules are those of problems that are not stiff, and that are.
var rules = map[bool]family{false: explicit, true: implicit}

func accurate(t *testing.T, p *probode.Problem, times []float64, s Settings) *Solution {
	t.Helper()
	r, err := Solve(context.Background(), p, times, s)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func relative(tol float64) probode.Tolerance { return probode.Tolerance{Relative: tol} }

// uniform returns n times that end with t1 and leave out t0.
func uniform(t0, t1 float64, n int) []float64 {
	times := make([]float64, n)
	for i := range times {
		times[i] = t0 + (t1-t0)*float64(i+1)/float64(n)
	}
	return times
}

// forced returns x′ = −λ(x − cos t) − sin t, x(0) = 1, whose solution is cos t
// for any λ: not autonomous, and stiff for a large λ (Prothero & Robinson).
func forced(lambda float64) *probode.Problem {
	return &probode.Problem{
		Name: "forced",
		F: func(dst []float64, t float64, x, theta []float64) {
			dst[0] = -theta[0]*(x[0]-math.Cos(t)) - math.Sin(t)
		},
		X0: []float64{1}, Span: [2]float64{0, 10}, Theta: []float64{lambda},
	}
}

func TestClosedForms(t *testing.T) {
	// x′ = x cos t.
	grow := &probode.Problem{
		Name: "x cos t",
		F: func(dst []float64, t float64, x, _ []float64) {
			dst[0] = x[0] * math.Cos(t)
		},
		X0: []float64{1}, Span: [2]float64{0, 10},
	}
	cos := func(t float64) []float64 { return []float64{math.Cos(t)} }
	for _, test := range []struct {
		p     *probode.Problem
		stiff bool
		want  func(t float64) []float64
		tol   float64 // relative to 1 + |x|
	}{
		// Errors of 1e-14 in each of some tens of steps, multiplied by how the
		// problem spreads them.
		{problems.Logistic(), false, logistic, 1e-14},
		{problems.Logistic(), true, logistic, 1e-14},
		{grow, false, func(t float64) []float64 { return []float64{math.Exp(math.Sin(t))} }, 5e-14},
		{grow, true, func(t float64) []float64 { return []float64{math.Exp(math.Sin(t))} }, 5e-14},
		{forced(1), false, cos, 5e-14},
		{forced(1), true, cos, 5e-14},
		// The expansion in powers of h holds for λh → 0, and the rule is exact
		// for λh → ∞; in between, the estimate of a step sees less of its error.
		{forced(1e3), true, cos, 1e-11},
		{forced(1e8), true, cos, 1e-11},
		// Rounding errors in an orbit's period grow like t.
		{problems.Kepler(0.6), false, kepler, 1e-11},
		{problems.Kepler(0.6), true, kepler, 1e-11},
	} {
		times := uniform(test.p.Span[0], test.p.Span[1], 11)
		r := accurate(t, test.p, times, Settings{fixed: rules[test.stiff]})
		d := test.p.Dim()
		for i, at := range times {
			for k, want := range test.want(at) {
				got := r.X[i*d+k]
				if e := math.Abs(got - want); !(e <= test.tol*(1+math.Abs(want))) {
					t.Errorf("%s, stiff %t: component %d at t = %g is %.17g, want %.17g: error %.2g, estimate %.2g",
						test.p.Name, test.stiff, k, at, got, want, e, r.Error[i*d+k])
				}
			}
		}
	}
}

func logistic(t float64) []float64 { return []float64{1 / (1 + 9*math.Exp(-3*t))} }

// kepler solves Kepler's equation E − e sin E = t by Newton's method.
func kepler(t float64) []float64 {
	const e = 0.6
	anomaly := t
	for range 50 {
		anomaly -= (anomaly - e*math.Sin(anomaly) - t) / (1 - e*math.Cos(anomaly))
	}
	s, c := math.Sincos(anomaly)
	b := math.Sqrt(1 - e*e)
	r := 1 - e*c
	return []float64{c - e, b * s, -s / r, b * c / r}
}

// fitzHughNagumo holds (V, R) at t = 1, …, 20, by the Taylor series of mpmath
// 1.4.1 (odefun) with 34 digits and tolerance 1e-28, the parameters being the
// doubles nearest to 0.2.
var fitzHughNagumo = []float64{
	1.83568726256271679376, 0.97397320102944983938,
	1.90873053235482184633, 0.33580021435907364572,
	1.67211224868868056017, -0.1992464576050952965,
	1.38119850882234931215, -0.6158344783540964906,
	0.91947900011967141474, -0.8904808381405535605,
	-1.2991477705610251000, -0.8248064393281610439,
	-1.8262137765462765831, -0.1101052892589249352,
	-1.5017972927185194672, 0.50010403432460696113,
	-0.9681512070210203598, 0.94053142048318155578,
	1.69707986757077844001, 0.94954418244354263416,
	1.90282465460185614012, 0.32009971879633503373,
	1.66527314084175787772, -0.2118983299942165872,
	1.37214143439520882767, -0.6251628967116431801,
	0.90081196240639247159, -0.8951923682709245754,
	-1.4062715800440730350, -0.8095908535970397338,
	-1.8187010259601753633, -0.0920022015469093553,
	-1.4915809139836102076, 0.51424198176180089914,
	-0.9458154038402719483, 0.94911103448870230685,
	1.77160609405200673869, 0.93426679152943197474,
	1.89694180101471056464, 0.30448103689492578680,
}

// The accuracy that the rest of the package relies on: 1e-13 on the running
// example, against an independent solver and by the estimate of its own.
func TestFitzHughNagumo(t *testing.T) {
	const tol = 1e-13
	p := problems.FitzHughNagumo()
	for _, n := range []int{20, 51200} {
		r := accurate(t, p, uniform(0, 20, n), Settings{})
		for i := 1; i <= 20; i++ {
			for k := range 2 {
				row := i*n/20 - 1
				got, want := r.X[row*2+k], fitzHughNagumo[(i-1)*2+k]
				if !(math.Abs(got-want) <= tol) {
					t.Errorf("%d times: x[%d](%d) = %.17g, want %.17g", n, k, i, got, want)
				}
			}
		}
		for k := range 2 {
			if e := r.Error[2*n-2+k]; !(e > 0 && e <= 100*tol) { // an upper one
				t.Errorf("%d times: estimate of component %d is %g: want it in (0, %g]", n, k, e, 100*tol)
			}
		}
		// Rows of 2, 4 and 6 substeps are enough where the output is dense, or
		// of 4, 6 and 8 in the second integration: 13 and 19 evaluations.
		if r.evaluations > 32*n+20000 {
			t.Errorf("%d times took %d evaluations", n, r.evaluations)
		}
	}
}

// The global error falls with the tolerance, about in proportion, and halving
// it does what it says: the estimate is not far below the error.
func TestConvergence(t *testing.T) {
	p := problems.FitzHughNagumo()
	times := uniform(0, 20, 20)
	for _, stiff := range []bool{false, true} {
		last := math.Inf(1)
		for _, tol := range []float64{1e-4, 1e-6, 1e-8, 1e-10, 1e-12} {
			r := accurate(t, p, times, Settings{Tolerance: relative(tol), fixed: rules[stiff]})
			var e, est float64
			for i, want := range fitzHughNagumo {
				e = max(e, math.Abs(r.X[i]-want))
				est = max(est, r.Error[i])
			}
			// The jumps of V multiply errors by about 100, and the error of a
			// step in the last row is less than the estimate.
			if !(e <= 500*tol && e < last/3) {
				t.Errorf("stiff %t, tolerance %g: error %.2g after %.2g", stiff, tol, e, last)
			}
			if !(e <= 10*est) {
				t.Errorf("stiff %t, tolerance %g: error %.2g, but estimated as %.2g", stiff, tol, e, est)
			}
			last = e
		}
	}
}

// Where output times cut every step short, the error must not grow with their
// number, and the estimate must not vanish.
func TestManyTimes(t *testing.T) {
	for _, stiff := range []bool{false, true} {
		p := problems.LotkaVolterra()
		few := accurate(t, p, uniform(0, 10, 10), Settings{fixed: rules[stiff]})
		for _, n := range []int{100, 1000, 20000} {
			many := accurate(t, p, uniform(0, 10, n), Settings{fixed: rules[stiff]})
			for i := range 10 {
				for k := range 2 {
					// States of up to 8; the tolerance of the second test above.
					got, want := many.X[((i+1)*n/10-1)*2+k], few.X[2*i+k]
					if !(math.Abs(got-want) <= 5e-13) {
						t.Errorf("stiff %t, %d times: x[%d](%d) = %.16g, with 10 times %.16g", stiff, n, k, i+1, got, want)
					}
				}
			}
			if many.Error[2*n-1] == 0 {
				t.Errorf("stiff %t, %d times: the estimate is zero", stiff, n)
			}
		}
	}
}

func TestStiff(t *testing.T) {
	vdp := problems.VanDerPol(1e6)
	rober := problems.Robertson()
	rober.Span[1] = 1e11
	orego := problems.Oregonator()
	orego.Span[1] = 360
	for _, test := range []struct {
		p    *probode.Problem
		time float64
		want []float64
		tol  float64 // relative to each component
	}{
		// The reference solutions of Hairer & Wanner's test set; van der Pol,
		// Oregonator and HIRES are confirmed to 1e-12 by scipy 1.17.1 (Radau
		// with rtol 1e-12; DOP853 with rtol 2.3e-14 for HIRES). Errors per step
		// of 1e-12 in some thousands of steps, which the problems damp or
		// multiply; after 1e11, y₁ and y₂ of Robertson's problem are so far
		// below their largest values that they are accurate in absolute terms.
		{vdp, 2, []float64{0.1706167732170483e1, -0.8928097010247975}, 1e-9},
		{orego, 360, []float64{0.1000814870318523e1, 0.1228178521549917e4, 0.1320554942846706e3}, 1e-10},
		{problems.HIRES(), 321.8122, []float64{0.7371312573325668e-3, 0.1442485726316185e-3, 0.5888729740967575e-4, 0.1175651343283149e-2, 0.2386356198831331e-2, 0.6238968252742796e-2, 0.2849998395185769e-2, 0.2850001604814231e-2}, 1e-11},
		{rober, 1e11, []float64{0.2083340149701255e-7, 0.8333360770334713e-13, 0.9999999791665050}, 1e-7},
	} {
		for _, fj := range []bool{true, false} {
			p := *test.p
			if !fj {
				p.FJ = nil
			}
			r := accurate(t, &p, []float64{test.time}, Settings{Tolerance: relative(1e-12)})
			for k, want := range test.want {
				e := math.Abs(r.X[k] - want)
				if !(e <= test.tol*math.Abs(want)) || !(e <= r.Error[k]+1e-12*math.Abs(want)) {
					t.Errorf("%s, FJ %t: %s = %.16g at t = %g, want %.16g: error %.2g, estimate %.2g",
						p.Name, fj, p.StateName(k), r.X[k], test.time, want, e, r.Error[k])
				}
			}
		}
	}
}

// Both rules, and Jacobians given, dense or banded, and by differences, lead
// to the same solution.
func TestRulesAgree(t *testing.T) {
	brus := problems.Brusselator(100)
	brus.Span[1] = 2
	vdp := problems.VanDerPol(1e3)
	vdp.Span[1] = 2
	for _, p := range []*probode.Problem{vdp, brus} {
		times := uniform(0, 2, 2)
		want := accurate(t, p, times, Settings{})
		differences := *p
		differences.FJ = nil
		variants := []*probode.Problem{p, &differences}
		if p.Band != nil {
			dense := differences
			dense.Band = nil
			dense.Span[1] = 0.01
			variants = append(variants, &dense)
		}
		for _, q := range variants {
			ts, ref := times, want
			if q.Span[1] != p.Span[1] {
				ts = []float64{q.Span[1]}
				ref = accurate(t, p, ts, Settings{})
			}
			got := accurate(t, q, ts, Settings{fixed: implicit})
			for i, w := range ref.X {
				// vdp stands after its first jump, whose slope is 1e3.
				if !(math.Abs(got.X[i]-w) <= 1e-12*(1+math.Abs(w))) {
					t.Errorf("%s, FJ %t: X[%d] = %.16g, explicitly %.16g", p.Name, q.FJ != nil, i, got.X[i], w)
				}
			}
		}
	}
}

func TestTimes(t *testing.T) {
	p := problems.Logistic()
	r := accurate(t, p, []float64{0, 0.5, 2}, Settings{})
	if r.X[0] != 0.1 || r.Error[0] != 0 {
		t.Errorf("at t0 the state is %g ± %g, want 0.1", r.X[0], r.Error[0])
	}
	again := accurate(t, p, []float64{0, 0.5, 2}, Settings{})
	if !slices.Equal(r.X, again.X) || !slices.Equal(r.Error, again.Error) {
		t.Error("two calls differ")
	}
	other := accurate(t, p, []float64{2}, Settings{Theta: []float64{1.5, 1}})
	// (r, t) = (1.5, 2) is (3, 1).
	if want := logistic(1)[0]; math.Abs(other.X[0]-want) > 1e-14 {
		t.Errorf("with Theta: %g, want %g", other.X[0], want)
	}
	if r := accurate(t, p, nil, Settings{}); len(r.X) != 0 {
		t.Errorf("no times gave %d states", len(r.X))
	}
	// The initial state may depend on θ.
	k := accurate(t, problems.Kepler(0.6), []float64{2 * math.Pi}, Settings{Theta: []float64{0.2}})
	if math.Abs(k.X[0]-0.8) > 1e-12 {
		t.Errorf("Kepler with e = 0.2 is at %g after a period, want 0.8", k.X[0])
	}
}

func TestErrors(t *testing.T) {
	blowUp := &probode.Problem{
		Name: "blow-up",
		F:    func(dst []float64, _ float64, x, _ []float64) { dst[0] = x[0] * x[0] },
		X0:   []float64{1}, Span: [2]float64{0, 2},
	}
	root := &probode.Problem{
		Name: "root",
		F:    func(dst []float64, _ float64, x, _ []float64) { dst[0] = math.Sqrt(x[0]) },
		X0:   []float64{-1}, Span: [2]float64{0, 2},
	}
	done, cancel := context.WithCancel(context.Background())
	cancel()
	ctx := context.Background()
	for _, test := range []struct {
		name  string
		ctx   context.Context
		p     *probode.Problem
		times []float64
		s     Settings
		want  []string // parts of the message
	}{
		{"before", ctx, problems.Logistic(), []float64{-1}, Settings{}, []string{"times[0] is -1", "[0, 2]"}},
		{"behind", ctx, problems.Logistic(), []float64{1, 2.1}, Settings{}, []string{"times[1] is 2.1", "[0, 2]"}},
		{"not a number", ctx, problems.Logistic(), []float64{math.NaN()}, Settings{}, []string{"times[0] is NaN"}},
		{"twice", ctx, problems.Logistic(), []float64{1, 1}, Settings{}, []string{"times[1] is 1 and follows 1", "increasing"}},
		{"tolerance", ctx, problems.Logistic(), []float64{1}, Settings{Tolerance: relative(1e-17)}, []string{"tolerance is 1e-17", "1e-15"}},
		{"blow-up", ctx, blowUp, []float64{2}, Settings{}, []string{"t = 1", "may not exist after this time"}},
		{"blow-up", ctx, blowUp, []float64{2}, Settings{fixed: implicit}, []string{"t = 1", "may not exist after this time"}},
		{"not finite", ctx, root, []float64{2}, Settings{}, []string{"f is not finite", "F is NaN or infinite at t = 0"}},
		{"stiff", ctx, problems.VanDerPol(1e5), []float64{2}, Settings{MaxSteps: 1000}, []string{"more than 1000 steps"}},
	} {
		r, err := Solve(test.ctx, test.p, test.times, test.s)
		if err == nil || r != nil {
			t.Errorf("%s: no error", test.name)
			continue
		}
		for _, part := range append(test.want, test.p.Name) {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("%s: %q does not say %q", test.name, err, part)
			}
		}
	}
	if _, err := Solve(done, problems.Logistic(), []float64{1}, Settings{}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: error is %v", err)
	}
}

func BenchmarkReference(b *testing.B) {
	p := problems.FitzHughNagumo()
	times := uniform(0, 20, 51200)
	for b.Loop() {
		if _, err := Solve(context.Background(), p, times, Settings{}); err != nil {
			b.Fatal(err)
		}
	}
}

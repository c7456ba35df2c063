package reference

import (
	"context"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/problems"
)

// until returns p with another end of its span.
func until(p *probode.Problem, end float64) *probode.Problem {
	p.Span[1] = end
	return p
}

// The error that is claimed at loose tolerances is above the true one, as far
// as that is known from a tight one, for all problems, at other θ and times,
// with and without a Jacobian.
func TestClaim(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 5))
	all := append(problems.All(), problems.Influenza(),
		problems.VanDerPol(1e3), until(problems.VanDerPol(1e6), 2),
		until(problems.Robertson(), 1e11), until(problems.Oregonator(), 360), until(problems.Lorenz63(), 3),
		forced(1), forced(100), forced(1e5), forced(1e8))
	for _, p := range all {
		for range 2 {
			theta := append([]float64(nil), p.Theta...)
			for k := range theta {
				theta[k] *= 1 + 0.1*(rng.Float64()-0.5)
			}
			length := p.Span[1] - p.Span[0]
			times := []float64{p.Span[0] + length*(0.1+0.4*rng.Float64()), p.Span[0] + length*(0.5+0.5*rng.Float64())}
			tight := accurate(t, p, times, Settings{Theta: theta, Tolerance: relative(1e-13)})
			for tol := 1e-3; tol > 1e-12; tol *= math.Pow(10, -1-2*rng.Float64()) {
				q := *p
				if rng.IntN(2) == 0 {
					q.FJ = nil
				}
				r := accurate(t, &q, times, Settings{Theta: theta, Tolerance: relative(tol)})
				for i, x := range r.X {
					if e := math.Abs(x - tight.X[i]); e > r.Error[i]+tight.Error[i] {
						t.Errorf("%s, θ = %v, FJ %t, tolerance %.3g: x[%d](%.6g) = %.10g has an error of %.3g above the claimed %.3g",
							p.Name, theta, q.FJ != nil, tol, i%p.Dim(), times[i/p.Dim()], x, e, r.Error[i])
					}
				}
			}
		}
	}
}

// A chaotic solution whose digits are all lost is not claimed to be known.
func TestClaimOfChaos(t *testing.T) {
	p := until(problems.Lorenz63(), 60)
	r := accurate(t, p, []float64{60}, Settings{Tolerance: relative(1e-10)})
	for k, e := range r.Error {
		if !(e > 10) {
			t.Errorf("Lorenz 63 at t = 60: component %d is claimed to be known to %.3g", k, e)
		}
	}
}

// With Global the tolerances bound the claimed error.
func TestGlobal(t *testing.T) {
	for _, test := range []struct {
		p   *probode.Problem
		tol probode.Tolerance
	}{
		{problems.FitzHughNagumo(), relative(1e-4)},
		{problems.FitzHughNagumo(), relative(1e-10)},
		{problems.LotkaVolterra(), probode.Tolerance{Relative: 1e-6, Absolute: []float64{1e-8}}},
		{problems.LotkaVolterra(), probode.Tolerance{Absolute: []float64{1e-5, 1e-9}}},
		{until(problems.Robertson(), 1e11), relative(1e-5)},
		{until(problems.VanDerPol(1e6), 2), probode.Tolerance{Relative: 1e-6, Absolute: []float64{1e-6}}},
		{problems.HIRES(), relative(1e-8)},
		{until(problems.Oregonator(), 360), relative(1e-6)},
		{problems.RestrictedThreeBody(), probode.Tolerance{Relative: 1e-4, Absolute: []float64{1e-4}}},
	} {
		times := uniform(test.p.Span[0], test.p.Span[1], 5)
		tight := accurate(t, test.p, times, Settings{Tolerance: relative(1e-12)})
		r := accurate(t, test.p, times, Settings{Tolerance: test.tol, Global: true})
		d := test.p.Dim()
		peak := make([]float64, d)
		for i, x := range r.X {
			k := i % d
			peak[k] = max(peak[k], math.Abs(x))
			permitted := test.tol.Relative * math.Abs(x)
			switch len(test.tol.Absolute) {
			case 0:
				permitted += test.tol.Relative / 1000 * peak[k]
			case 1:
				permitted += test.tol.Absolute[0]
			default:
				permitted += test.tol.Absolute[k]
			}
			if r.Error[i] > permitted || math.Abs(x-tight.X[i]) > permitted+tight.Error[i] {
				t.Errorf("%s, %v: x[%d](%g) = %.10g: claim %.3g, true error %.3g, permitted %.3g", test.p.Name, test.tol, k, times[i/d], x, r.Error[i], math.Abs(x-tight.X[i]), permitted)
			}
		}
	}
	// What double precision cannot give is an error.
	_, err := Solve(context.Background(), until(problems.Lorenz63(), 60), []float64{60}, Settings{Tolerance: relative(1e-6), Global: true})
	if err == nil || !strings.Contains(err.Error(), "want a larger tolerance") {
		t.Errorf("Lorenz 63 to 1e-6 at t = 60: error %v", err)
	}
}

// Which family is used is found out: today's problems cost about what the
// better one costs.
func TestFamilies(t *testing.T) {
	// x′ = −λ(x − cos t): 840,307 evaluations where steps are explicit.
	lambda := &probode.Problem{
		Name: "λ = 2e4",
		F:    func(dst []float64, t float64, x, _ []float64) { dst[0] = -2e4 * (x[0] - math.Cos(t)) },
		X0:   []float64{0}, Span: [2]float64{0, 5},
	}
	for _, test := range []struct {
		p    *probode.Problem
		tol  float64
		most int // evaluations
	}{
		{lambda, 1e-8, 40000},
		{problems.Brusselator(100), 1e-8, 20000},
		{until(problems.VanDerPol(1e6), 2), 1e-8, 80000},
		{until(problems.Robertson(), 1e11), 1e-8, 40000},
	} {
		r := accurate(t, test.p, []float64{test.p.Span[1]}, Settings{Tolerance: relative(test.tol)})
		if r.evaluations > test.most || r.implicit < r.steps/4 {
			t.Errorf("%s: %d evaluations, %d of %d steps implicit", test.p.Name, r.evaluations, r.implicit, r.steps)
		}
	}
	for _, p := range []*probode.Problem{problems.LotkaVolterra(), problems.Kepler(0.6), problems.Pleiades(), problems.Lorenz63()} {
		auto := accurate(t, p, []float64{p.Span[1]}, Settings{})
		fixed := accurate(t, p, []float64{p.Span[1]}, Settings{fixed: explicit})
		if float64(auto.evaluations) > 1.3*float64(fixed.evaluations) {
			t.Errorf("%s: %d evaluations, %d without looking for stiffness", p.Name, auto.evaluations, fixed.evaluations)
		}
	}
}

// A fast component that has decayed to nothing, with no digit right, takes nothing
// from the claim for a slow one.
func TestClaimBesideDecay(t *testing.T) {
	p := &probode.Problem{
		Name: "fast and slow", X0: []float64{1, 1}, Span: [2]float64{0, 60}, Autonomous: true,
		F: func(f []float64, _ float64, x, _ []float64) { f[0], f[1] = -2000*x[0], -0.08*x[1]+x[0]*x[1] },
		FJ: func(f, j []float64, _ float64, x, _ []float64) {
			f[0], f[1] = -2000*x[0], -0.08*x[1]+x[0]*x[1]
			j[0], j[1], j[2], j[3] = -2000, 0, x[1], -0.08+x[0]
		},
	}
	for _, s := range []Settings{{Tolerance: relative(1e-10), Global: true}, {Tolerance: relative(1e-10)}} {
		for _, times := range [][]float64{{0, 20, 40, 60}, {20, 40, 60}, {0.05, 60}} {
			s, err := Solve(context.Background(), p, times, s)
			if err != nil {
				t.Fatal(err)
			}
			for i, at := range times {
				want := math.Exp(-0.08*at + (1-math.Exp(-2000*at))/2000)
				if got, e := s.X[2*i+1], s.Error[2*i+1]; math.Abs(got-want) > e || e > 1e-7*want {
					t.Errorf("at %g of %v: %v, off by %.2g, with a claim of %.2g", at, times, got, got-want, e)
				}
			}
		}
	}
}

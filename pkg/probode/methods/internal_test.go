package methods

import (
	"math"
	"slices"
	"testing"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/internal/vector"
	"github.com/probode/probode/pkg/probode/problems"
)

func mustUniform(t *testing.T, p *probode.Problem, h float64) *probode.Grid {
	t.Helper()
	g, err := probode.UniformGrid(p, nil, h)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// The weights of Radau5's error estimate are those of Hairer and Wanner, up to the factor
// γ/h of the filter.
func TestErrorWeights(t *testing.T) {
	root := math.Sqrt(6)
	for j, want := range []float64{-(13 + 7*root) / 3, (-13 + 7*root) / 3, -1. / 3} {
		if e := radau3.e[j]; math.Abs(e-want) > 1e-13 {
			t.Errorf("weight %d is %.15g, want %.15g", j, e, want)
		}
	}
}

// On equal steps the coefficients are the classical ones [HNW93, §III.1].
func TestBDFCoefficients(t *testing.T) {
	p := problems.FitzHughNagumo()
	for k, c := range [][]float64{{1, 1}, {2, 3, 4, -1}, {6, 11, 18, -9, 2}, {12, 25, 48, -36, 16, -3}, {60, 137, 300, -300, 200, -75, 12}} {
		k++
		b, err := newBDF(BDF{Steps: k}, p, mustUniform(t, p, 1./16))
		if err != nil {
			t.Fatal(err)
		}
		one := probode.Step{X: p.X0}
		for i := range 20 {
			one.T, one.End, one.H = float64(i)/16, float64(i+1)/16, 1./16
			b.step(&one)
		}
		b.k = k
		b.set(19, &one)
		weights := append([]float64{}, c[1:]...)
		if math.Abs(b.gamma-c[0]/c[1]) > 1e-15 {
			t.Errorf("BDF%d: γ is %.17g, want %g/%g", k, b.gamma, c[0], c[1])
		}
		if k == 1 {
			continue
		}
		weights = weights[1:]
		for j := range k - 1 { // b.known[j] are sums from the end
			tail := 0.0
			for _, w := range weights[j+1:] {
				tail += w / c[1]
			}
			if math.Abs(b.known[j+1]-tail) > 1e-14 {
				t.Errorf("BDF%d: weight %d is %.17g, want %.17g", k, j+1, b.known[j+1], tail)
			}
		}
	}
}

// The transposed equations of the stages have the same solution with one Jacobian for all
// stages and with one for each, also with a band.
func TestReverseStagesDirectly(t *testing.T) {
	for _, p := range []*probode.Problem{problems.VanDerPol(5), problems.Brusselator(5), problems.HIRES()} {
		for m, table := range []*collocation{radau3, radau2, gauss2} {
			h := (p.Span[1] - p.Span[0]) / 2000
			s, err := newImplicit(p, table)
			if err != nil {
				t.Fatal(err)
			}
			x := make([]float64, p.Dim())
			p.Initial(x, p.Theta)
			a := probode.NewAdjoint(p)
			a.Next, a.X, a.Theta = make([]float64, len(x)), make([]float64, len(x)), make([]float64, len(p.Theta))
			probode.DrawNoise(a.Next, 1, 1)
			if err := s.back(a, &probode.Step{T: p.Span[0], End: p.Span[0] + h, H: h, X: x, Theta: p.Theta}); err != nil {
				t.Fatal(err)
			}
			want := slices.Clone(s.reverse.mu)
			s.eq.x, s.eq.theta = x, p.Theta
			if err := s.reverse.direct(s, a.Next); err != nil {
				t.Fatal(err)
			}
			if d := furthest(want, s.reverse.mu); !(d <= 1e-10*vector.MaxAbs(want)) {
				t.Errorf("%s, %v: %v directly: want %v", p.Name, m, s.reverse.mu, want)
			}
		}
	}
}

// furthest returns the largest difference of two elements.
func furthest(a, b []float64) (d float64) {
	for k, v := range a {
		d = max(d, math.Abs(v-b[k]))
	}
	return d
}

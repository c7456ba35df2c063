package model

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/methods"
	"github.com/probode/probode/pkg/probode/reference"
)

// The rates of these models jump at times that move with p. Each model is integrated by
// hand. The gradient is that of the log-likelihood of x with the standard deviation .5.
func TestGradientsOfJumps(t *testing.T) {
	floorOfTime := func(t, p float64) float64 { n := math.Floor(t / p); return p*n*(n-1)/2 + n*(t-n*p) }
	for _, c := range []struct {
		rate, start string
		x           func(t, p float64) float64
	}{
		{"floor(time / p)", "0", floorOfTime},
		{"0.5 * ceil(time / p)", "0", func(t, p float64) float64 { return (floorOfTime(t, p) + t) / 2 }},
		{"time % p", "0", func(t, p float64) float64 { return t*t/2 - p*floorOfTime(t, p) }},
		{"quotient(0.5 - time, p)", "0", func(t, p float64) float64 { return -floorOfTime(t-0.5, p) }},
		{"heaviside(time - p * floor(time / p) - p / 2)", "0", func(t, p float64) float64 {
			n := math.Floor(t / p)
			return n*p/2 + max(0, t-n*p-p/2)
		}},
		// With this p, rounding makes the argument of sign zero just before its jump.
		{"sign(time / p + 0.25 - 1.0510164450309092)", "0", func(t, p float64) float64 {
			at := p * (1.0510164450309092 - 0.25)
			return t - 2*min(t, at)
		}},
		{"-p * (1.5 + 0.5 * sign(x))", "1", func(t, p float64) float64 { return max(1-2*p*t, (1-2*p*t)/2) }},
		{"p * (2 + floor(x))", "0", func(t, p float64) float64 {
			for n := 0.0; ; n++ {
				if after := t - 1/(p*(2+n)); after < 0 {
					return n + p*(2+n)*t
				} else {
					t = after
				}
			}
		}},
		{"1 + x % p", "0", func(t, p float64) float64 {
			n := math.Floor(t / math.Log1p(p))
			return n*p + math.Expm1(t-n*math.Log1p(p))
		}},
		// A condition on the time makes another part of the rate jump.
		{"floor(x + piecewise(1, time - p > 1, 0))", "0.5", func(t, p float64) float64 {
			t = max(0, t-1-p)
			return 0.5 + t + max(0, t-0.5) + max(0, t-1)
		}},
		{"piecewise(p, floor(x) + floor(time) < 1, 0.1)", "0.2", func(t, p float64) float64 { return 0.2 + p*min(t, 1) + 0.1*max(0, t-1) }},
		{"piecewise(p, x + piecewise(1, floor(time) == 1, 0) < 1.6 + floor(p), 0.1)", "0.2", func(t, p float64) float64 {
			at := 1 + 1.3/p // when x reaches 1.6
			return 0.2 + p*min(t, 1) + 0.1*max(0, min(t, 2)-1) + p*max(0, min(t, at)-2) + 0.1*max(0, t-at)
		}},
	} {
		times, data := []float64{0.7, 1.9, 2.83}, []float64{0.3, 1.5, 2.2}
		text := fmt.Sprintf("parameters:\n  - {parameterId: p, nominalValue: 0.5296595121038247, lowerBound: 0.1, upperBound: 10}\n"+
			"odes:\n  - {stateId: x, rightHandSide: %q, initialValue: %s}\n"+
			"observables:\n  - {observableId: ox, observableFormula: x, noiseFormula: 0.5}\ndata: |\n  time,ox\n", c.rate, c.start)
		for i, at := range times {
			text += fmt.Sprintf("  %v,%v\n", at, data[i])
		}
		m, err := Parse("m", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		l, err := m.LogLikelihood(LikelihoodSettings{})
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range []float64{0.5296595121038247, 0.77} {
			v, err := l.At(t.Context(), []float64{p}, true)
			if err != nil {
				t.Errorf("%s: %v", c.rate, err)
				continue
			}
			const h = 1e-6
			value, slope := 0.0, 0.0
			for i, at := range times {
				z := (data[i] - c.x(at, p)) / 0.5
				value -= z*z/2 + math.Log(0.5*math.Sqrt(2*math.Pi))
				slope += z / 0.5 * (c.x(at, p+h) - c.x(at, p-h)) / (2 * h)
			}
			// The error of the slope is about 1e-9; that of the gradient is relative to 1e-7.
			if math.Abs(v.LogLikelihood-value) > 1e-6 || math.Abs(v.Gradient[0]-slope) > 1e-5*(1+math.Abs(slope)) {
				t.Errorf("%s at p = %g: log-likelihood %.9g and slope %.9g: want %.9g and %.9g", c.rate, p, v.LogLikelihood, v.Gradient[0], value, slope)
			}
		}
	}
}

// An event puts x on the threshold of sign, where y does not change.
func TestEventOnThreshold(t *testing.T) {
	const text = `odes:
  - {stateId: x, rightHandSide: "0", initialValue: 1}
  - {stateId: y, rightHandSide: "sign(x)", initialValue: 0}
events:
  - {eventId: e, time: 1, assignments: {x: TO}}
observables:
  - {observableId: oy, observableFormula: y, noiseFormula: 1}
data: |
  time,oy
  3,0
`
	for to, y := range map[string]float64{"0": 1, "x - 2": -1, "5": 3} {
		m, err := Parse("m", []byte(strings.Replace(text, "TO", to, 1)))
		if err != nil {
			t.Fatal(err)
		}
		l, err := m.LogLikelihood(LikelihoodSettings{})
		if err != nil {
			t.Fatal(err)
		}
		v, err := l.At(t.Context(), nil, false)
		if want := -y*y/2 - math.Log(2*math.Pi)/2; err != nil || math.Abs(v.LogLikelihood-want) > 1e-8 {
			t.Errorf("x = %s: log-likelihood %v, %v: want %v", to, v, err, want)
		}
	}
}

// Every solver that ends steps at jumps passes a threshold at zero, or within rounding
// errors of it, although the size of the state says nothing there about the length of a
// step. The rate is p above the threshold and q below it. If the
// solution has to stay at the threshold, a solver stays there, too, or refuses.
func TestJumpsNearZero(t *testing.T) {
	tol := probode.Tolerance{Relative: 1e-9}
	absolute := probode.Tolerance{Relative: 1e-6, Absolute: []float64{1e-9}}
	setups := []probode.Setup{{Mesh: reference.Accurate{}}, {Mesh: reference.Accurate{Tolerance: absolute}}}
	for _, m := range []probode.Method{methods.RungeKutta{Tableau: methods.DormandPrince}, methods.Radau{}, methods.BDF{}} {
		setups = append(setups, probode.Setup{Method: m, Mesh: probode.Adaptive{Tolerance: tol}}, probode.Setup{Method: m, Mesh: probode.Adaptive{Tolerance: absolute}.InParts(2)})
	}
	for _, c := range []struct{ start, threshold, p, q float64 }{
		{1, 0, -2, -1}, {1, 0, -1, -2}, {-1, 0, 1, 2}, {-1, 0, 2, 1},
		{1, 0.3, -2, -1}, {1, -0.3, -2, -1}, {-1, 1e-9, 2, 1}, {1, 1e-15, -2, -1}, {-1, -1e-15, 1, 2},
		{-1, 0, -1, 1}, // slides
	} {
		for _, size := range []float64{1e-6, 1, 1e6} {
			for _, pace := range []float64{0.37, 0.55, 1.7, 3} {
				start, c, p, q := size*c.start, size*c.threshold, size*pace*c.p, size*pace*c.q
				m, err := Parse("m", fmt.Appendf(nil, `odes:
  - {stateId: x, rightHandSide: "piecewise(%v, x > %v, %v)", initialValue: %v}
observables:
  - {observableId: ox, observableFormula: x, noiseFormula: 1}
data: |
  time,ox
  3,0
`, p, c, q, start))
				if err != nil {
					t.Fatal(err)
				}
				odes, err := m.ODEs()
				if err != nil {
					t.Fatal(err)
				}
				first := q
				if start > c {
					first = p
				}
				want := start + first*3
				if at := (c - start) / first; at < 3 {
					want = c + (p+q-first)*(3-at)
				}
				for _, s := range setups {
					x := make([]float64, 1)
					path, err := s.Bind(t.Context(), odes[0], nil, []float64{3})
					if err == nil {
						err = path.States(t.Context(), x, nil, nil)
					}
					if p*q < 0 {
						if err == nil && math.Abs(x[0]-c) > 0.01*size {
							t.Errorf("rates %g and %g, %v: x = %g: want %g, or an error", p, q, s, x[0], c)
						}
					} else if err != nil || math.Abs(x[0]-want) > 1e-5*size {
						t.Errorf("start %g, threshold %g, rates %g and %g, %v: x = %g, %v: want %g", start, c, p, q, s, x[0], err, want)
					}
				}
			}
		}
	}
}

package kinks

import (
	"math"
	"testing"

	"gonum.org/v1/gonum/mat"
)

// A curve is s(x) + w |c(x)| of two coordinates.
type curve struct {
	w     float64
	s, c  func(x, y float64) (f float64, slope [2]float64)
	calls int
}

func (c *curve) Value(x []float64) (float64, []float64) {
	c.calls++
	s, _ := c.s(x[0], x[1])
	u, _ := c.c(x[0], x[1])
	return s + c.w*math.Abs(u), []float64{c.w * u}
}

func (c *curve) Expand(x []float64) *Point {
	_, gradient := c.s(x[0], x[1])
	u, slope := c.c(x[0], x[1])
	row := []float64{c.w * slope[0], c.w * slope[1]}
	p := &Point{Gradient: gradient[:], U: []float64{c.w * u}, J: [][]float64{row}, Curvature: mat.NewSymDense(2, nil), Metric: mat.NewSymDense(2, []float64{1, 0, 0, 1})}
	add(p.Metric, 1, row)
	return p
}

// One kink cannot hold two coordinates: the curvature along it, which nobody tells, has to
// be learnt, and the kink is bent. The minima are those of a line on the unit circle and
// of the valley that Rosenbrock's function has when its square is an absolute value.
func TestBentKinks(t *testing.T) {
	circle := curve{w: 10, s: func(x, _ float64) (float64, [2]float64) { return x, [2]float64{1, 0} },
		c: func(x, y float64) (float64, [2]float64) { return x*x + y*y - 1, [2]float64{2 * x, 2 * y} }}
	valley := curve{w: 8, s: func(x, _ float64) (float64, [2]float64) { return (1 - x) * (1 - x), [2]float64{2*x - 2, 0} },
		c: func(x, y float64) (float64, [2]float64) { return x*x - y, [2]float64{2 * x, -1} }}
	for _, test := range []struct {
		f    *curve
		want [2]float64
	}{{&circle, [2]float64{-1, 0}}, {&valley, [2]float64{1, 1}}} {
		for _, from := range [][]float64{{0.8, 0.6}, {3, -2}, {-1.5, 2}, {0.1, -4}} {
			test.f.calls = 0
			f, _ := test.f.Value(from)
			s := NewSearch(from, f, test.f.Expand(from))
			done := false
			for range 100 {
				if done = s.Step(test.f, 1e-12); done {
					break
				}
			}
			slope, met := s.Slope(1e-6, nil)
			// What is promised is half the curvature times the square of the distance.
			if !done || math.Hypot(s.X[0]-test.want[0], s.X[1]-test.want[1]) > 1e-5 || met != 1 || slope > 1e-4 || s.Left() > 1e-8 {
				t.Errorf("from %v: %v after %d values, slope %v at %d kinks, left %v: want %v", from, s.X, test.f.calls, slope, met, s.Left(), test.want)
			}
			if test.f.calls > 150 {
				t.Errorf("from %v: %d values", from, test.f.calls)
			}
			t.Logf("from %v: %d values", from, test.f.calls)
		}
	}
	// On the way nothing is an optimum.
	x := []float64{0, 1}
	f, _ := circle.Value(x)
	if s := NewSearch(x, f, circle.Expand(x)); s.Left() < 0.1 {
		t.Errorf("the point %v promises %v", x, s.Left())
	}
}

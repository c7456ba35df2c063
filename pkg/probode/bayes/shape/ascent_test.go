package shape_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/probode/probode/pkg/probode/bayes/shape"
)

// ascend returns the end of an ascent within ±bound.
func ascend(f shape.Function, x []float64, bound float64) *shape.Ascent {
	a := &shape.Ascent{Point: shape.Point{X: x, Value: f.Value(x)}, Tolerance: 1e-12}
	for range x {
		a.Low, a.High = append(a.Low, -bound), append(a.High, bound)
	}
	for !a.Done && a.Steps < 500 {
		a.Step(f)
	}
	return a
}

// Within bounds, the maximum of a Gaussian density satisfies the conditions of Karush, Kuhn
// and Tucker: no slope inside, and at a bound none that points inwards. The slope of a point
// whose predicted rise is 1e-12 is at most √(2·1e-12·λ), with λ < 200 for these matrices.
func TestAscentBounds(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	active := 0
	for try := range 40 {
		n := 1 + try%8
		f, mode := gaussian(n, rng)
		x := make([]float64, n)
		for k := range x {
			x[k] = 2 * (rng.Float64() - 0.5)
		}
		a := ascend(f, x, 2)
		if !f.Expand(&a.Point) {
			t.Fatal("no expansion")
		}
		outside := false
		for k, v := range a.X {
			g := a.Gradient.AtVec(k)
			outside = outside || math.Abs(mode[k]) > 2
			if math.Abs(v) == 2 {
				active++
				if g*v < -1e-4 {
					t.Errorf("%d: coordinate %d is at %g with the slope %g: want a slope outwards", try, k, v, g)
				}
			} else if math.Abs(g) > 1e-4 {
				t.Errorf("%d: coordinate %d is at %g with the slope %g: want none", try, k, v, g)
			}
		}
		if rise, slope := a.Left(1); rise > 1e-9 || slope > 1e-4 {
			t.Errorf("%d: rise %g and slope %g left: want none", try, rise, slope)
		}
		if !outside && mat.Norm(a.Gradient, 2) > 1e-4 {
			t.Errorf("%d: not at the mode inside the bounds", try)
		}
	}
	if active == 0 {
		t.Error("no bound was ever active")
	}
}

// Rosenbrock's function as residuals has its maximum at (1, 1); from the usual start, a
// method that follows its curved valley needs a few dozen steps.
func TestAscentInValley(t *testing.T) {
	f := &density{
		residuals: func(x []float64) []float64 { return []float64{10 * (x[1] - x[0]*x[0]), 1 - x[0]} },
		jacobian: func(x []float64) *mat.Dense {
			return mat.NewDense(2, 2, []float64{-20 * x[0], 10, -1, 0})
		},
	}
	a := ascend(f, []float64{-1.2, 1}, 10)
	if math.Hypot(a.X[0]-1, a.X[1]-1) > 1e-5 || a.Steps > 60 {
		t.Errorf("%v after %d steps: want (1, 1)", a.X, a.Steps)
	}
}

// If the residuals stay large, Fisher's information is far from the curvature, and steps
// with it alone converge slowly or not at all [Dennis, Gay & Welsch 1981]. For residuals
// (x, λx² + x − 1 + c) the ratio of the missing curvature to the information is about 2λc.
func TestAscentLargeResiduals(t *testing.T) {
	const lambda, c = 1.5, 3
	f := &density{
		residuals: func(x []float64) []float64 { return []float64{x[0], lambda*x[0]*x[0] + x[0] + c} },
		jacobian:  func(x []float64) *mat.Dense { return mat.NewDense(2, 1, []float64{1, 2*lambda*x[0] + 1}) },
	}
	a := ascend(f, []float64{2}, 10)
	// −½(x² + (λx² + x + c)²) is largest where x + (λx² + x + c)(2λx + 1) = 0, and that has
	// one root, found by bisection.
	low, high := -1.0, 1.0
	for range 60 {
		if x := (low + high) / 2; x+(lambda*x*x+x+c)*(2*lambda*x+1) > 0 {
			high = x
		} else {
			low = x
		}
	}
	if math.Abs(a.X[0]-low) > 1e-6 || a.Steps > 25 {
		t.Errorf("%v after %d steps: want %v", a.X, a.Steps, low)
	}
}

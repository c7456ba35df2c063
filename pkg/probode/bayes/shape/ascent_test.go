package shape_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/bayes"
	"github.com/probode/probode/pkg/probode/bayes/shape"
	"github.com/probode/probode/pkg/probode/methods"
)

// A density is a log density for tests, −½|r(x)|² with residuals r, whose information is JᵀJ.
type density struct {
	residuals func(x []float64) []float64
	jacobian  func(x []float64) *mat.Dense
	outside   func(x []float64) bool // where it has no derivatives; may be nil
	expanded  int
}

func (f *density) Value(x []float64) float64 {
	var v float64
	for _, r := range f.residuals(x) {
		v -= r * r / 2
	}
	return v
}

func (f *density) Expand(p *shape.Point) bool {
	if f.expanded++; f.outside != nil && f.outside(p.X) {
		return false
	}
	n, j, r := len(p.X), f.jacobian(p.X), f.residuals(p.X)
	p.Gradient, p.Information = mat.NewVecDense(n, nil), mat.NewSymDense(n, nil)
	p.Gradient.MulVec(j.T(), mat.NewVecDense(len(r), r))
	p.Gradient.ScaleVec(-1, p.Gradient)
	p.Information.SymOuterK(1, j.T())
	return true
}

func (f *density) Follow(*shape.Point, []float64) bool { return false }

// gaussian returns a random Gaussian density in n coordinates, with its mode.
func gaussian(n int, rng *rand.Rand) (f *density, mode []float64) {
	j := mat.NewDense(n, n, nil)
	for i := range n {
		mode = append(mode, 3*rng.NormFloat64())
		for k := range n {
			j.Set(i, k, rng.NormFloat64())
		}
		j.Set(i, i, j.At(i, i)+2)
	}
	return &density{
		residuals: func(x []float64) []float64 {
			d, r := mat.NewVecDense(n, nil), mat.NewVecDense(n, nil)
			for k := range x {
				d.SetVec(k, x[k]-mode[k])
			}
			r.MulVec(j, d)
			return r.RawVector().Data
		},
		jacobian: func([]float64) *mat.Dense { return j },
	}, mode
}

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
		if try%2 == 1 { // even coordinates are not coupled to odd ones
			j := f.jacobian(nil)
			for i := range n {
				for k := 1 - i%2; k < n; k += 2 {
					j.Set(i, k, 0)
				}
			}
		}
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

// If the residuals stay large, the Fisher information is far from the curvature, and
// steps with it alone converge slowly or not at all [Dennis, Gay & Welsch 1981]. For
// residuals (x, λx² + x − 1 + c) the ratio of the missing curvature to the information is
// about 2λc.
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

// An ascent in a plane ends where the gradient is normal to the plane, without leaving it.
func TestAscentInAPlane(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 3))
	for try := range 50 {
		n := 2 + rng.IntN(5)
		p := &bayes.Posterior{Setup: probode.Setup{Method: methods.RungeKutta{}, Mesh: probode.Uniform(1)}}
		rows, y, normal := mat.NewDense(n, n, nil), make([]float64, n), make([]float64, n)
		for k := range n {
			p.Params = append(p.Params, bayes.Param{Name: fmt.Sprint(k), Prior: distuv.Normal{Sigma: 10}})
			y[k], normal[k] = rng.NormFloat64(), rng.NormFloat64()
			for j := range n {
				rows.Set(k, j, rng.NormFloat64())
			}
		}
		p.Experiments = []bayes.Experiment{{
			Problem: &probode.Problem{F: func(f []float64, _ float64, _, _ []float64) { f[0] = 0 }, X0: []float64{0}, Span: [2]float64{0, 1}},
			Data:    &bayes.Data{T: []float64{1}, Y: [][]float64{y}},
			Observe: func(dst []float64, _ float64, _, theta []float64) {
				mat.NewVecDense(n, dst).MulVec(rows, mat.NewVecDense(n, theta))
			},
			Errors: []bayes.Likelihood{bayes.Gaussian{Sigma: bayes.Known(1)}},
		}}
		e, err := bayes.NewDensity(t.Context(), p)
		if err != nil {
			t.Fatal(err)
		}
		unit := mat.NewVecDense(n, normal)
		unit.ScaleVec(1/unit.Norm(2), unit)
		f := shape.NewSurface(e)
		f.Normal = normal
		a := f.Ascent(make([]float64, n), f.Value(make([]float64, n)))
		a.Climb(t.Context(), f, 1e-9, 100)
		f.Normal = nil
		f.Expand(&a.Point)
		if away := math.Abs(mat.Dot(unit, mat.NewVecDense(n, a.X))); away > 0.01 {
			t.Errorf("%d: the ascent ends %g away from its plane", try, away)
		}
		along := mat.VecDenseCopyOf(a.Gradient)
		along.AddScaledVec(along, -mat.Dot(unit, a.Gradient), unit)
		if rise := mat.Dot(along, along) / mat.Trace(a.Information); rise > 0.01 {
			t.Errorf("%d: a rise of about %g is left within the plane", try, rise)
		}
	}
}

// The same function in other units of the coordinates: each step leads to the same point.
func TestAscentUnits(t *testing.T) {
	f := &density{
		residuals: func(x []float64) []float64 { return []float64{10 * (x[1] - x[0]*x[0]), 1 - x[0]} },
		jacobian:  func(x []float64) *mat.Dense { return mat.NewDense(2, 2, []float64{-20 * x[0], 10, -1, 0}) },
	}
	unit := []float64{1000, 0.03}
	natural := func(x []float64) []float64 { return []float64{x[0] / unit[0], x[1] / unit[1]} }
	g := &density{
		residuals: func(x []float64) []float64 { return f.residuals(natural(x)) },
		jacobian: func(x []float64) *mat.Dense {
			j := f.jacobian(natural(x))
			for i := range 2 {
				for k, u := range unit {
					j.Set(i, k, j.At(i, k)/u)
				}
			}
			return j
		},
	}
	inf := math.Inf(1)
	bounds := [2][]float64{{-inf, -inf}, {inf, inf}}
	a := &shape.Ascent{Point: shape.Point{X: []float64{-1.2, 1}}, Low: bounds[0], High: bounds[1], Tolerance: 1e-12}
	b := &shape.Ascent{Point: shape.Point{X: []float64{-1.2 * unit[0], unit[1]}}, Low: bounds[0], High: bounds[1], Tolerance: 1e-12, Unit: unit}
	a.Value, b.Value = f.Value(a.X), g.Value(b.X)
	for !a.Done && a.Steps < 100 {
		a.Step(f)
		b.Step(g)
		if x := natural(b.X); math.Hypot(x[0]-a.X[0], x[1]-a.X[1]) > 1e-6 {
			t.Fatalf("step %d leads to %v in units of the coordinates: want %v", a.Steps, x, a.X)
		}
	}
	if !b.Done || math.Hypot(a.X[0]-1, a.X[1]-1) > 1e-5 {
		t.Errorf("%v after %d steps: want (1, 1)", a.X, a.Steps)
	}
}

// A corrected derivative may be wrong. If no step along it leads uphill, or none seems to be
// left, the ascent computes the derivatives anew, so it ends at the same place.
func TestAscentWithOldDerivatives(t *testing.T) {
	f := &density{
		residuals: func(x []float64) []float64 { return []float64{10 * (x[1] - x[0]*x[0]), 1 - x[0]} },
		jacobian:  func(x []float64) *mat.Dense { return mat.NewDense(2, 2, []float64{-20 * x[0], 10, -1, 0}) },
	}
	for _, g := range []shape.Function{stale{f, -1}, stale{f, 0}} {
		if a := ascend(g, []float64{-1.2, 1}, 10); math.Hypot(a.X[0]-1, a.X[1]-1) > 1e-5 {
			t.Errorf("%v after %d steps: want (1, 1)", a.X, a.Steps)
		}
	}
}

// stale multiplies the old gradient by a factor instead of computing a new one.
type stale struct {
	*density
	factor float64
}

func (f stale) Follow(p *shape.Point, _ []float64) bool {
	p.Gradient.ScaleVec(f.factor, p.Gradient)
	return true
}

// An ascent that meets a point without derivatives has failed.
func TestAscentWithoutDerivatives(t *testing.T) {
	f, mode := gaussian(2, rand.New(rand.NewPCG(4, 4)))
	f.outside = func([]float64) bool { return true }
	if a := ascend(f, []float64{mode[0] + 3, mode[1] - 2}, math.Inf(1)); !a.Failed {
		t.Errorf("the ascent ends at %v: want a failure", a.X)
	}
}

// flats is a density with kinks, −Σ |wᵢ(yᵢ − aᵢ·x)| − ½ c|x|².
type flats struct {
	y, w []float64
	a    [][]float64
	c    float64
}

func (f *flats) Value(x []float64) float64 {
	v := -f.c / 2 * mat.Dot(mat.NewVecDense(len(x), x), mat.NewVecDense(len(x), x))
	for i, y := range f.y {
		v -= math.Abs(f.w[i] * (y - dot(f.a[i], x)))
	}
	return v
}

func dot(a, b []float64) float64 {
	return mat.Dot(mat.NewVecDense(len(a), a), mat.NewVecDense(len(b), b))
}

func (f *flats) Expand(p *shape.Point) bool {
	n := len(p.X)
	p.Gradient, p.Information, p.Curvature = mat.NewVecDense(n, nil), mat.NewSymDense(n, nil), mat.NewSymDense(n, nil)
	p.U, p.J = nil, nil
	for k := range n {
		p.Gradient.SetVec(k, -f.c*p.X[k])
		p.Curvature.SetSym(k, k, f.c)
	}
	p.Information.CopySym(p.Curvature)
	for i, y := range f.y {
		row := make([]float64, n)
		for k, a := range f.a[i] {
			row[k] = -f.w[i] * a
		}
		p.U, p.J = append(p.U, f.w[i]*(y-dot(f.a[i], p.X))), append(p.J, row)
		p.Information.SymRankOne(p.Information, 1, mat.NewVecDense(n, row))
	}
	return true
}

func (f *flats) Follow(*shape.Point, []float64) bool { return false }

// The ascent ends at the mode of a density with kinks: no point nearby is higher, in any of
// many directions and at any distance. The information at the mode stands for the curvature.
func TestAscentToAKink(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 5))
	for try := range 100 {
		n, rows := 1+rng.IntN(4), 5+rng.IntN(20)
		f := &flats{c: math.Pow(10, -4*rng.Float64())}
		for range rows {
			a := make([]float64, n)
			for k := range a {
				a[k] = rng.NormFloat64()
			}
			f.a, f.y, f.w = append(f.a, a), append(f.y, 2*rng.NormFloat64()), append(f.w, 0.2+rng.ExpFloat64())
		}
		c := ascend(f, make([]float64, n), math.Inf(1))
		other := make([]float64, n)
		for m := range 300 {
			for k := range other {
				other[k] = c.X[k] + math.Pow(10, -float64(m%6))*rng.NormFloat64()
			}
			if higher := f.Value(other) - c.Value; higher > 1e-6 {
				t.Fatalf("%d: %g higher at %v than at the end %v", try, higher, other, c.X)
			}
		}
		cov, _, err := c.Laplace(nil, nil)
		var product mat.Dense
		if err != nil || cov == nil {
			t.Fatalf("%d: no approximation: %v", try, err)
		}
		product.Mul(cov, c.Information)
		for i := range n {
			for j := range n {
				want := 0.0
				if i == j {
					want = 1
				}
				if math.Abs(product.At(i, j)-want) > 1e-4 {
					t.Fatalf("%d: covariance times information is %v", try, mat.Formatted(&product))
				}
			}
		}
	}
}

package shape_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/probode/probode/pkg/probode/bayes/shape"
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

func (f *density) Follow(p *shape.Point, _ []float64) bool { return f.Expand(p) }

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

func climb(f shape.Function, c *shape.Climb) {
	c.Value = f.Value(c.X)
	for range 200 {
		if c.Step(f, false); c.Done {
			return
		}
	}
}

// One step leads to the mode of a Gaussian density, and a second one finds that nothing is
// left to rise.
func TestClimbOfAGaussian(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for range 50 {
		n := 1 + rng.IntN(8)
		f, mode := gaussian(n, rng)
		c := &shape.Climb{Point: shape.Point{X: make([]float64, n)}}
		climb(f, c)
		if !c.Done || c.Failed || c.Steps > 2 || shape.Distance(c.X, mode, c.Information) > 1e-6 {
			t.Errorf("%d coordinates: at %.4f after %d steps, want %.4f", n, c.X, c.Steps, mode)
		}
	}
}

// The climb follows Rosenbrock's curved ridge to its top at (1, 1).
func TestClimbAlongACurvedRidge(t *testing.T) {
	f := &density{
		residuals: func(x []float64) []float64 { return []float64{1 - x[0], 10 * (x[1] - x[0]*x[0])} },
		jacobian:  func(x []float64) *mat.Dense { return mat.NewDense(2, 2, []float64{-1, 0, -20 * x[0], 10}) },
	}
	c := &shape.Climb{Point: shape.Point{X: []float64{-1.2, 1}}}
	climb(f, c)
	c.Polish(f)
	if !c.Done || math.Hypot(c.X[0]-1, c.X[1]-1) > 1e-5 || c.Value < -1e-10 {
		t.Errorf("ends at %v with %g after %d steps", c.X, c.Value, c.Steps)
	}
}

// Within walls the climb ends at the constrained optimum: where a coordinate is at a wall the
// density rises beyond it, and in the others the gradient is zero.
func TestClimbWithinWalls(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 2))
	walls := 0
	for try := range 100 {
		n := 1 + rng.IntN(5)
		f, _ := gaussian(n, rng)
		c := &shape.Climb{Point: shape.Point{X: make([]float64, n)}}
		for range n {
			c.Low, c.High = append(c.Low, -rng.ExpFloat64()), append(c.High, rng.ExpFloat64())
		}
		climb(f, c)
		f.Expand(&c.Point)
		for k, x := range c.X {
			scale := math.Sqrt(c.Information.At(k, k))
			switch g := c.Gradient.AtVec(k) / scale; {
			case x < c.Low[k] || x > c.High[k]:
				t.Errorf("%d: coordinate %d is %g, outside [%g, %g]", try, k, x, c.Low[k], c.High[k])
			case x == c.Low[k] && g < 0, x == c.High[k] && g > 0:
				walls++
			case math.Abs(g) > 0.05: // a rise of 10⁻³ is not sought
				t.Errorf("%d: slope %g in coordinate %d at %g, inside [%g, %g]", try, g, k, x, c.Low[k], c.High[k])
			}
		}
	}
	if walls == 0 {
		t.Error("no climb ended at a wall")
	}
}

// A climb in a plane ends where the gradient is normal to the plane, without leaving it.
func TestClimbInAPlane(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 3))
	for try := range 50 {
		n := 2 + rng.IntN(5)
		f, _ := gaussian(n, rng)
		normal := make([]float64, n)
		for k := range normal {
			normal[k] = rng.NormFloat64()
		}
		unit := mat.NewVecDense(n, normal)
		unit.ScaleVec(1/unit.Norm(2), unit)
		c := &shape.Climb{Point: shape.Point{X: make([]float64, n)}, Normal: normal}
		climb(f, c)
		f.Expand(&c.Point)
		if away := math.Abs(mat.Dot(unit, mat.NewVecDense(n, c.X))); away > 0.01 {
			t.Errorf("%d: the climb ends %g away from its plane", try, away)
		}
		along := mat.VecDenseCopyOf(c.Gradient)
		along.AddScaledVec(along, -mat.Dot(unit, c.Gradient), unit)
		if rise := mat.Dot(along, along) / mat.Trace(c.Information); rise > 0.01 {
			t.Errorf("%d: a rise of about %g is left within the plane", try, rise)
		}
	}
}

// A climb that begins where there are no derivatives looks for a place that has them, if it
// may, and fails otherwise.
func TestClimbWithoutDerivativesAtTheStart(t *testing.T) {
	for _, first := range []bool{true, false} {
		f, mode := gaussian(2, rand.New(rand.NewPCG(4, 4)))
		f.outside = func(x []float64) bool { return math.Hypot(x[0]-mode[0], x[1]-mode[1]) > 1 }
		c := &shape.Climb{Point: shape.Point{X: []float64{mode[0] + 3, mode[1] - 2}}}
		c.Value = f.Value(c.X)
		for n := 0; n < 100 && !c.Done; n++ {
			c.Step(f, first)
		}
		if c.Failed == first || first && math.Hypot(c.X[0]-mode[0], c.X[1]-mode[1]) > 0.1 {
			t.Errorf("simplex %v: failed %v at %v, mode %v", first, c.Failed, c.X, mode)
		}
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

func (f *flats) Follow(p *shape.Point, _ []float64) bool { return f.Expand(p) }

// The climb ends at the mode of a density with kinks: no point nearby is higher, in any of
// many directions and at any distance. The information at the mode stands for the curvature.
func TestClimbToAKink(t *testing.T) {
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
		c := &shape.Climb{Point: shape.Point{X: make([]float64, n)}}
		climb(f, c)
		c.Polish(f)
		other := make([]float64, n)
		for m := range 300 {
			for k := range other {
				other[k] = c.X[k] + math.Pow(10, -float64(m%6))*rng.NormFloat64()
			}
			if higher := f.Value(other) - c.Value; higher > 1e-6 {
				t.Fatalf("%d: %g higher at %v than at the end %v", try, higher, other, c.X)
			}
		}
		cov, _, err := c.Laplace(nil)
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

package shape_test

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/probode/probode/pkg/probode/bayes/shape"
)

// each evaluates a density at many points.
func each(f func(x []float64) float64) func([][]float64) ([]float64, error) {
	return func(points [][]float64) (out []float64, err error) {
		for _, x := range points {
			out = append(out, f(x))
		}
		return out, nil
	}
}

// The approximation of a Gaussian density is its own covariance, also on a ridge whose
// standard deviations differ by up to 10⁵, with or without a first guess, from values or
// from gradients. Gradients save the values: only those at the mode and those for the
// first axes are left.
func TestLaplaceOfAGaussian(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for try := range 60 {
		n := 1 + rng.IntN(4)
		q := mat.NewDense(n, n, nil)
		for i := range n {
			for k := range n {
				q.Set(i, k, rng.NormFloat64())
			}
		}
		var qr mat.QR
		qr.Factorize(q)
		qr.QTo(q)
		want, precision := mat.NewSymDense(n, nil), mat.NewSymDense(n, nil)
		for k := range n {
			sd := math.Pow(10, -5*rng.Float64())
			want.SymRankOne(want, sd*sd, q.ColView(k))
			precision.SymRankOne(precision, 1/(sd*sd), q.ColView(k))
		}
		p := shape.Point{X: make([]float64, n)}
		if try%2 == 0 {
			p.Information = precision
		}
		values := 0
		var gradients func([][]float64) ([][]float64, error)
		if try%4 > 1 {
			gradients = func(points [][]float64) (out [][]float64, err error) {
				for _, x := range points {
					var g mat.VecDense
					g.MulVec(precision, mat.NewVecDense(n, x))
					g.ScaleVec(-1, &g)
					out = append(out, g.RawVector().Data)
				}
				return out, nil
			}
		}
		cov, near, err := p.Laplace(each(func(x []float64) float64 {
			values++
			v := mat.NewVecDense(n, x)
			return 7 - mat.Inner(v, precision, v)/2
		}), gradients)
		if try%4 == 2 && values != 1 {
			t.Errorf("%d: %d values beside the gradients: want 1", try, values)
		}
		if err != nil || cov == nil || near != cov {
			t.Fatalf("%d: %v, %v, %v", try, cov, near, err)
		}
		for i := range n {
			for j := range n {
				if math.Abs(cov.At(i, j)-want.At(i, j)) > 1e-4*math.Sqrt(want.At(i, i)*want.At(j, j)) {
					t.Errorf("%d: covariance\n%v\nwant\n%v", try, mat.Formatted(cov), mat.Formatted(want))
				}
			}
		}
	}
}

// The logarithm u of a gamma distributed number with shape a and rate b has the log density
// au − be^u, a mode at log(a/b), and the curvature a there. The error of the differences is a
// quarter of the fourth derivative times their squared step, 10⁻⁴ of a variance, over 6.
func TestLaplaceOfALogGamma(t *testing.T) {
	for _, a := range []float64{0.5, 3, 40, 1e6} {
		const b = 2.5
		p := shape.Point{X: []float64{math.Log(a / b)}}
		cov, _, err := p.Laplace(each(func(x []float64) float64 { return a*x[0] - b*math.Exp(x[0]) }), nil)
		if err != nil || cov == nil || math.Abs(a*cov.At(0, 0)-1) > 1e-4 {
			t.Errorf("a = %g: variance %v, %v, want %g", a, cov, err, 1/a)
		}
	}
}

// A direction without curvature has no covariance; its shape has a standard deviation of 10
// there. At a saddle the wrong sign does not count. Where the density ends there is nothing,
// and an error of the density is handed on.
func TestLaplaceWithoutCurvature(t *testing.T) {
	for name, c := range map[string]struct{ first, second, want float64 }{
		"a flat direction": {4, 0, 100},
		"a saddle":         {4, -0.25, 4},
	} {
		p := shape.Point{X: []float64{1, 2}}
		cov, near, err := p.Laplace(each(func(x []float64) float64 {
			return -(c.first*(x[0]-1)*(x[0]-1) + c.second*(x[1]-2)*(x[1]-2)) / 2
		}), nil)
		if err != nil || cov != nil || near == nil || math.Abs(near.At(0, 0)-0.25) > 1e-4 || math.Abs(near.At(1, 1)/c.want-1) > 1e-3 {
			t.Errorf("%s: %v, %v, %v", name, cov, near, err)
		}
	}
	p := shape.Point{X: []float64{0}}
	if cov, near, err := p.Laplace(each(func(x []float64) float64 { return math.Inf(-1) }), nil); cov != nil || near != nil || err != nil {
		t.Errorf("no density: %v, %v, %v", cov, near, err)
	}
	broken := errors.New("broken")
	if _, _, err := p.Laplace(func(points [][]float64) ([]float64, error) { return make([]float64, len(points)), broken }, nil); err != broken {
		t.Errorf("error %v", err)
	}
}

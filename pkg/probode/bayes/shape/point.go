// Package shape is about a log density near a point: its expansion, the climb to a mode,
// and the Gaussian approximation there.
package shape

import (
	"math"

	"gonum.org/v1/gonum/mat"
)

// A Point is a log density near X, to first order with what is known beforehand of its
// second. Without kinks it is
//
//	f(X+d) ≈ Value + Gradient·d − ½ dᵀ Information d.
//
// Where the log density has kinks, as with Laplace errors, Gradient leaves them out, and
// they stand beside it as they are:
//
//	f(X+d) ≈ Value + Gradient·d − ½ dᵀ Curvature d − Σᵢ (|U[i] + J[i]·d| − |U[i]|).
type Point struct {
	X           []float64
	Value       float64       // log density
	Gradient    *mat.VecDense // without kinks
	Information *mat.SymDense // Fisher's, kinks included, with the curvature of the priors
	U           []float64     // kinks; nil without any
	J           [][]float64   // their derivatives, a row for each
	Curvature   *mat.SymDense // the part of Information that is not at kinks; nil without kinks
}

// Slope returns the gradient with that of the kinks, at a kink the mean of both sides.
func (p *Point) Slope() *mat.VecDense {
	out := mat.VecDenseCopyOf(p.Gradient)
	for i, u := range p.U {
		if u != 0 {
			out.AddScaledVec(out, -math.Copysign(1, u), mat.NewVecDense(len(p.J[i]), p.J[i]))
		}
	}
	return out
}

// A Function is a log density that can be expanded.
type Function interface {
	// Value returns the log density at x, −∞ where it cannot be computed.
	Value(x []float64) float64

	// Expand sets the expansion at p.X, and reports whether it could.
	Expand(p *Point) bool

	// Follow sets the expansion at p.X, where Value was asked for last, from that at the
	// point before, without new derivatives where it can; it reports whether it could.
	Follow(p *Point, before []float64) bool
}

// Distance returns √((a−b)ᵀ M (a−b)): with M an information, in standard deviations.
func Distance(a, b []float64, m mat.Symmetric) float64 {
	diff := mat.NewVecDense(len(a), nil)
	for k := range a {
		diff.SetVec(k, a[k]-b[k])
	}
	return math.Sqrt(max(0, mat.Inner(diff, m, diff)))
}

// clipped returns v, or the wall of coordinate k if v is beyond it. A point that is beyond
// already need not come back.
func (p *Point) clipped(k int, v float64, low, high []float64) float64 {
	if low == nil {
		return v
	}
	return min(max(v, min(low[k], p.X[k])), max(high[k], p.X[k]))
}

// Package shape expands a log density about a point, climbs to a mode of the density, and
// computes the Gaussian approximation at the mode.
package shape

import (
	"math"

	"gonum.org/v1/gonum/mat"
)

// A Point is a quadratic expansion of a log density about X, with the Fisher information
// in place of the second derivatives. Without kinks it is
//
//	f(X+d) ≈ Value + Gradient·d − ½ dᵀ Information d.
//
// If the measurement errors have a Laplace distribution, the log density has kinks.
// Gradient does not include the kinks, which are separate terms of the expansion:
//
//	f(X+d) ≈ Value + Gradient·d − ½ dᵀ Curvature d − Σᵢ (|U[i] + J[i]·d| − |U[i]|).
type Point struct {
	X           []float64
	Value       float64       // log density
	Gradient    *mat.VecDense // without kinks
	Information *mat.SymDense // Fisher information, including kinks, plus the curvature of the priors
	U           []float64     // kinks; nil if there are none
	J           [][]float64   // derivatives of U, one row per kink
	Curvature   *mat.SymDense // the part of Information without kinks; nil if there are none
}

// Slope returns the gradient, including the contributions of the kinks. At a kink, Slope
// returns the mean of the two one-sided gradients.
func (p *Point) Slope() *mat.VecDense {
	out := mat.VecDenseCopyOf(p.Gradient)
	for i, u := range p.U {
		if u != 0 {
			out.AddScaledVec(out, -math.Copysign(1, u), mat.NewVecDense(len(p.J[i]), p.J[i]))
		}
	}
	return out
}

// A Function is a log density that can be expanded about a point.
type Function interface {
	// Value returns the log density at x, or −∞ if it cannot be computed.
	Value(x []float64) float64

	// Expand computes the expansion at p.X, and reports whether it succeeded.
	Expand(p *Point) bool

	// Follow tries to compute the expansion at p.X from the expansion at the previous
	// point, without new derivatives. Follow may be called only if the last call to Value
	// was at p.X. Follow reports whether it succeeded.
	Follow(p *Point, before []float64) bool
}

// Distance returns √((a−b)ᵀ M (a−b)): if M is an information matrix, the distance is in
// standard deviations.
func Distance(a, b []float64, m mat.Symmetric) float64 {
	diff := mat.NewVecDense(len(a), nil)
	for k := range a {
		diff.SetVec(k, a[k]-b[k])
	}
	return math.Sqrt(max(0, mat.Inner(diff, m, diff)))
}

// Inverse returns the inverse of an information matrix on the unconstrained scale, or nil if
// the computation fails. Standard deviations above 10 in some direction are reduced to 10.
func Inverse(information *mat.SymDense) mat.Symmetric {
	var eigen mat.EigenSym
	if !eigen.Factorize(information, true) {
		return nil
	}
	var vectors mat.Dense
	eigen.VectorsTo(&vectors)
	out := mat.NewSymDense(information.SymmetricDim(), nil)
	for i, v := range eigen.Values(nil) {
		out.SymRankOne(out, 1/max(v, 1./(flat*flat)), vectors.ColView(i))
	}
	return out
}

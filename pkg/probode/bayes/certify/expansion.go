package certify

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/probode/probode/pkg/probode/bayes"
	"github.com/probode/probode/pkg/probode/bayes/compare"
	"github.com/probode/probode/pkg/probode/bayes/shape"
)

// An expansion is a Gaussian approximation near θ: expected data m linear in the
// parameters u, with the Fisher information W of the likelihood, C⁻¹ = Gᵀ W G +
// information on the likelihood's own parameters + precision of the prior, where G =
// ∂m/∂u.
type expansion struct {
	shape.Point
	x       *compare.Solver
	data    []shape.Datum
	own     []int         // indices of the parameters of likelihoods
	theta   []float64     // X on the natural scale
	dtheta  []float64     // dθ/du, by parameter
	m       []float64     // expected values of the data
	slope   *mat.VecDense // slope of the log density, including kinks
	crossed *mat.SymDense // the part of C⁻¹ between own and other parameters; nil if it is left out
	chol    mat.Cholesky  // Cholesky factor of C⁻¹

	// The mixed derivatives that cross() returns are added to C⁻¹. If the sum is not
	// positive definite, the field `indefinite` holds the sum, and C is computed without
	// the mixed derivatives. Otherwise `indefinite` is nil.
	indefinite *mat.SymDense

	cov *mat.SymDense // C
	sd  []float64     // square roots of the diagonal of C

	// curved holds, for each datum, the curvature of its negative log density as a function
	// of its expected value. This curvature is the Fisher information, except for data whose
	// log density has a kink (see average).
	curved []float64
}

// expand takes central differences with the steps `widths` (nil: 1e-4) if the solver has
// no derivatives.
func expand(x *compare.Solver, u, widths []float64) (*expansion, error) {
	d := len(u)
	l := &expansion{x: x, own: ownParams(x.Density.Posterior()), theta: make([]float64, d), dtheta: make([]float64, d)}
	l.X = slices.Clone(u)
	lp := x.Density.Constrain(l.theta, u)
	if math.IsInf(lp, -1) {
		return nil, errors.New("certify: the density of the prior is zero at this point")
	}
	at := x.At(l.theta)
	if at.Err != nil {
		return nil, at.Err
	}
	if ll := at.LogLikelihood; math.IsNaN(ll) || math.IsInf(ll, 0) {
		return nil, errors.New("certify: the likelihood is zero")
	}
	l.m, l.Value = at.Expected, lp+at.LogLikelihood
	for k := range x.Surface().Steps {
		if x.Surface().Steps[k] = 1e-4; widths != nil {
			x.Surface().Steps[k] = widths[k]
		}
	}
	if !x.Surface().Expand(&l.Point) {
		return nil, cmp.Or(x.Context().Err(), errNoDerivatives)
	}
	l.data = x.Surface().Data()
	x.Density.Slopes(l.dtheta, u)
	for k := range d {
		// If neither the data nor the prior determines a coordinate, adding 1e-4 to the
		// diagonal makes its standard deviation 100.
		l.Information.SetSym(k, k, l.Information.At(k, k)+1e-4)
		if l.U != nil {
			l.Curvature.SetSym(k, k, l.Curvature.At(k, k)+1e-4)
		}
	}
	l.slope = l.Slope()
	crossed, both := l.cross(x), mat.NewSymDense(d, nil)
	if both.AddSym(crossed, l.Information); l.chol.Factorize(both) {
		l.crossed = crossed
	} else if l.indefinite = both; !l.chol.Factorize(l.Information) {
		return nil, errors.New("certify: the posterior cannot be approximated by a Gaussian at this point: its precision is not positive definite")
	}
	l.cov = mat.NewSymDense(d, nil)
	if err := l.chol.InverseTo(l.cov); err != nil {
		return nil, fmt.Errorf("certify: the posterior cannot be approximated by a Gaussian at this point: %w", err)
	}
	l.average()
	for k := range d {
		l.sd = append(l.sd, math.Sqrt(l.cov.At(k, k)))
	}
	return l, nil
}

var errNoDerivatives = errors.New("certify: the derivatives of the posterior are not known at this point, because the equations could not be solved at nearby points")

func ownParams(p *bayes.Posterior) (own []int) {
	for k, q := range p.Params {
		if slices.ContainsFunc(p.Experiments, func(x bayes.Experiment) bool {
			return slices.ContainsFunc(x.Errors, func(l bayes.Likelihood) bool {
				return slices.ContainsFunc(l.Own(), func(v bayes.Value) bool { return v.Name == q.Name })
			})
		}) {
			own = append(own, k)
		}
	}
	return own
}

// average sets `curved`. The curvature of w|r|, the negative log density of a residual r,
// is zero but for the kink, where the slope jumps by 2w. With the sd τ of the expected
// value, its mean 2w φ(r/τ)/τ replaces the Fisher information.
func (l *expansion) average() {
	for _, o := range l.data {
		c := o.Information
		row := mat.NewVecDense(len(o.Jacobian), o.Jacobian)
		if o.Kinked && o.Slope != 0 {
			if tau := math.Sqrt(mat.Inner(row, l.cov, row)); tau > 0 {
				z := o.U / o.Slope / tau
				c = 2 * math.Abs(o.Slope) * math.Exp(-z*z/2) / math.Sqrt(2*math.Pi) / tau
			}
		}
		l.curved = append(l.curved, c)
	}
}

// cross returns −Σᵢ ∂²log p(yᵢ | mᵢ)/∂own∂m ∂mᵢ/∂u. It is zero on average over data sets,
// and says at a mode how the balance of data and prior depends on σ: the larger σ, the
// farther the prior pulls. Where a kink makes a term jump at a mode, its average, zero,
// replaces it.
func (l *expansion) cross(x *compare.Solver) *mat.SymDense {
	out := mat.NewSymDense(len(l.X), nil)
	theta, v := make([]float64, len(l.X)), slices.Clone(l.X)
	for _, k := range l.own {
		const h = 1e-3
		for _, sign := range []float64{-1, 1} {
			v[k] = l.X[k] + sign*h
			x.Density.Constrain(theta, v)
			for i, o := range x.Surface().DataAt(l.m, theta) {
				if o.Information == 0 || o.Kinked {
					continue
				}
				for j, g := range l.data[i].Jacobian {
					if !slices.Contains(l.own, j) {
						out.SetSym(j, k, out.At(j, k)-sign*o.Score/(2*h)*g)
					}
				}
			}
		}
		v[k] = l.X[k]
	}
	return out
}

func (l *expansion) widths() []float64 {
	out := make([]float64, len(l.sd))
	for k, sd := range l.sd {
		out[k] = min(0.01*sd, 0.01)
	}
	return out
}

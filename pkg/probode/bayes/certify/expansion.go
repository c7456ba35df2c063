package certify

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/probode/probode/pkg/probode/bayes"
	"github.com/probode/probode/pkg/probode/bayes/shape"
)

// A expansion is a posterior near one θ, as if the expected values m of the data were
// linear there and their errors Gaussian with Fisher's information W of the likelihood:
//
//	C⁻¹ = Gᵀ W G + that of the likelihood's own parameters + that of the prior,   G = ∂m/∂u.
type expansion struct {
	shape.Point
	x       *evaluator
	data    []shape.Datum
	own     []int         // parameters of likelihoods
	theta   []float64     // X on the natural scale
	dtheta  []float64     // dθ/du, by parameter
	m       []float64     // expected values
	slope   *mat.VecDense // of the log density, kinks included
	crossed *mat.SymDense // what is between own parameters and others in C⁻¹; nil if nothing is
	chol    mat.Cholesky  // of C⁻¹

	// indefinite is C⁻¹ with what is between own parameters and others where that has no
	// inverse, and is left out of C⁻¹; nil elsewhere.
	indefinite *mat.SymDense

	cov *mat.SymDense // C
	sd  []float64     // roots of its diagonal

	// curved are the curvatures of −log density in the expected values, by datum: the
	// information, but for kinks.
	curved []float64
}

// linearise expands the posterior by x at u. widths are the half widths of the
// differences where derivatives have to be taken by them, nil for 1e-4.
func expand(x *evaluator, u, widths []float64) (*expansion, error) {
	d := len(u)
	l := &expansion{x: x, own: ownParams(x.density.Posterior()), theta: make([]float64, d), dtheta: make([]float64, d)}
	l.X = slices.Clone(u)
	lp := x.density.Constrain(l.theta, u)
	if math.IsInf(lp, -1) {
		return nil, errors.New("certify: the density of the prior is zero")
	}
	m, ll, err := x.at(l.theta)
	if err != nil {
		return nil, err
	}
	if math.IsNaN(ll) || math.IsInf(ll, 0) {
		return nil, errors.New("certify: the likelihood is zero")
	}
	l.m, l.Value = m, lp+ll
	for k := range x.surface.Steps {
		if x.surface.Steps[k] = 1e-4; widths != nil {
			x.surface.Steps[k] = widths[k]
		}
	}
	if !x.surface.Expand(&l.Point) {
		return nil, cmp.Or(x.ctx.Err(), errNoDerivatives)
	}
	l.data = x.surface.Data()
	x.density.Slopes(l.dtheta, u)
	for k := range d {
		// What nothing determines is flat up to ten on the unconstrained scale.
		l.Information.SetSym(k, k, l.Information.At(k, k)+1e-4)
		if l.U != nil {
			l.Curvature.SetSym(k, k, l.Curvature.At(k, k)+1e-4)
		}
	}
	l.slope = l.Slope()
	crossed, both := l.cross(x), mat.NewSymDense(d, nil)
	if both.AddSym(crossed, l.Information); l.chol.Factorize(both) {
		l.crossed = crossed
	} else if !l.chol.Factorize(l.Information) {
		return nil, errors.New("certify: the posterior has no Gaussian shape there: its precision is not positive definite")
	}
	if l.crossed == nil {
		l.indefinite = both
	}
	l.cov = mat.NewSymDense(d, nil)
	if err := l.chol.InverseTo(l.cov); err != nil {
		return nil, fmt.Errorf("certify: the posterior has no Gaussian shape there: %w", err)
	}
	l.average()
	for k := range d {
		l.sd = append(l.sd, math.Sqrt(l.cov.At(k, k)))
	}
	return l, nil
}

var errNoDerivatives = errors.New("certify: the posterior has no derivatives there: the equations could not be solved around it")

// ownParams returns the parameters that are numbers of likelihoods.
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

// average sets curved. A kink is all the curvature that its datum has: 2w at r = 0, with w
// its slope. Over a Gaussian posterior in which the expected value has the standard
// deviation τ, that is met with the density φ(r/τ)/τ, which takes the place of Fisher's
// information.
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

// cross returns the mixed derivatives of −log likelihood along own parameters and the
// others, −Σᵢ ∂²log p(yᵢ | mᵢ)/∂own∂m ∂mᵢ/∂u. They are zero on the average over data; at a
// mode they are the pull of the prior on the others, which gives more if σ grows. Where the
// log density has kinks the average has to do, for at a mode some of these derivatives are
// anything between two numbers.
func (l *expansion) cross(x *evaluator) *mat.SymDense {
	out := mat.NewSymDense(len(l.X), nil)
	theta, v := make([]float64, len(l.X)), slices.Clone(l.X)
	for _, k := range l.own {
		const h = 1e-3
		for _, sign := range []float64{-1, 1} {
			v[k] = l.X[k] + sign*h
			x.density.Constrain(theta, v)
			for i, o := range x.surface.DataAt(l.m, theta) {
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

// widths are those of differences that suit the posterior itself.
func (l *expansion) widths() []float64 {
	out := make([]float64, len(l.sd))
	for k, sd := range l.sd {
		out[k] = min(0.01*sd, 0.01)
	}
	return out
}

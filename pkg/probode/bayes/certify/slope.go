package certify

import (
	"math"

	"gonum.org/v1/gonum/mat"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/bayes"
)

// The derivative G of the expected values. Those of a path come along with its
// steps for about the price of a solve each. The accurate solver has none; for it
// those of the Dormand–Prince method stand in, on steps that are chosen at the
// place, if it expects the same of the data there. Otherwise G is a central
// difference of the solver itself.

const (
	// slopeTolerance is that of the steps which stand in for the accurate solver,
	// and slopeSteps the most of them: beyond, a problem is stiff.
	slopeTolerance, slopeSteps = 1e-6, 20000
	// slopeError is the D at which what they expect is the same.
	slopeError = 0.01
)

// tangents sets G from derivatives of the path, and reports whether it could.
func (l *linearised) tangents(x *expecter) bool {
	e := x.e
	if x.s.Accurate {
		if e = x.standIn(); e == nil {
			return false
		}
		defer e.Hold(l.theta)()
	}
	defer e.Bind(x.ctx)()
	d := len(l.u)
	along := make([]float64, d*d)
	for k, v := range l.dtheta {
		along[k*d+k] = v
	}
	dst := make([]float64, len(e.Expected())*d)
	if e.Tangents(dst, l.theta, along) != nil {
		return false
	}
	if x.s.Accurate {
		if _, err := e.LogLikelihood(l.theta, nil); err != nil {
			return false
		}
		var sum float64
		for i, o := range l.data {
			delta := e.Expected()[o.at] - l.m[o.at]
			sum += l.weight[i] * delta * delta
		}
		if !(math.Sqrt(sum) < slopeError) {
			return false
		}
	}
	for _, v := range dst {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return false
		}
	}
	l.jac = mat.NewDense(max(len(l.data), 1), d, nil)
	for i, o := range l.data {
		l.jac.SetRow(i, dst[o.at*d:(o.at+1)*d])
	}
	return true
}

// standIn is the density that stands in for the accurate solver, nil if there is
// none.
func (x *expecter) standIn() *bayes.Density {
	if !x.stood {
		x.stood = true
		q := *x.p
		q.Method = probode.RungeKutta{Tableau: probode.DormandPrince}
		q.Mesh, q.GridAt = probode.Adaptive{Tolerance: probode.Tolerance{Relative: slopeTolerance}, MaxSteps: slopeSteps}, nil
		if e, err := bayes.NewDensity(&q); err == nil {
			x.stand = e
		}
	}
	return x.stand
}

// differences sets G by central differences of x.
func (l *linearised) differences(x *expecter, by *bayes.Density, widths []float64) (err error) {
	d := len(l.u)
	l.jac = mat.NewDense(max(len(l.data), 1), d, nil)
	theta, v := make([]float64, d), append([]float64(nil), l.u...)
	for k := range d {
		h := 1e-4
		if widths != nil {
			h = widths[k]
		}
		var side [2][]float64
		for i, sign := range []float64{-1, 1} {
			v[k] = l.u[k] + sign*h
			by.Constrain(theta, v)
			if side[i], _, err = x.at(theta); err != nil {
				return err
			}
		}
		v[k] = l.u[k]
		for i, o := range l.data {
			l.jac.Set(i, k, (side[1][o.at]-side[0][o.at])/(2*h))
		}
	}
	return nil
}

package certify

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/probode/probode/pkg/probode/bayes"
	"github.com/probode/probode/pkg/probode/bayes/shape"
)

// A kink is the term −|u + slope·dm| of the log density of a datum; smooth is the
// derivative of the other terms in m.
type kink struct{ u, slope, smooth float64 }

// kink returns that of a datum, which is bound, if it has one.
func (o *datum) kink(m []float64) (k kink, ok bool) {
	by, ok := o.l.(bayes.Kinked)
	if !ok {
		return k, false
	}
	at := m[o.at]
	r, slope, weight, ok := by.Kink(o.y, at, o.own)
	if !ok {
		return k, false
	}
	h := 1e-5 * math.Abs(at)
	if slope != 0 {
		h = min(max(h, 1e-5/math.Abs(weight*slope)), max(1e-4*math.Abs(at), 1e-9/math.Abs(weight*slope)))
	}
	smooth := func(m float64) float64 {
		r, _, _, _ := by.Kink(o.y, m, o.own)
		return o.l.LogProb(o.y, m, o.own) + weight*math.Abs(r)
	}
	k = kink{weight * r, weight * slope, (smooth(at+h) - smooth(at-h)) / (2 * h)}
	return k, !math.IsNaN(k.smooth) && !math.IsInf(k.smooth, 0)
}

// bend sets kinks, with the curvature that is not at them. precision is the
// information, and score the slopes that the gradient has of the data.
func (l *linearised) bend(precision *mat.SymDense, score []float64) {
	n := len(l.u)
	gradient := mat.NewVecDense(n, nil)
	gradient.CopyVec(l.gradient)
	p := &shape.Point{X: l.u, Value: l.logp, Gradient: gradient, Information: mat.NewSymDense(n, nil)}
	curvature := mat.NewSymDense(n, nil)
	curvature.CopySym(precision)
	for i := range l.data {
		o := &l.data[i]
		o.bind(l.p, l.theta, l.m)
		k, ok := o.kink(l.m)
		if !ok {
			continue
		}
		row := l.jac.RowView(i)
		gradient.AddScaledVec(gradient, k.smooth-score[i], row)
		curvature.SymRankOne(curvature, -l.weight[i], row)
		j := mat.NewVecDense(n, nil)
		j.ScaleVec(k.slope, row)
		p.U, p.J = append(p.U, k.u), append(p.J, j.RawVector().Data)
	}
	if p.U == nil {
		return
	}
	p.Curvature = curvature
	p.Information.CopySym(precision)
	l.kinks = p
	l.average()
}

// average sets curved. A kink is all the curvature that its datum has: 2w at r = 0, with w
// its slope. Over a Gaussian posterior, of which the expected value has the standard
// deviation τ, that is met with the density φ(r/τ)/τ, which takes the place of Fisher's
// information.
func (l *linearised) average() {
	l.curved = slices.Clone(l.weight)
	for i := range l.data {
		o := &l.data[i]
		o.bind(l.p, l.theta, l.m)
		row := l.jac.RowView(i)
		tau := math.Sqrt(mat.Inner(row, l.cov, row))
		if k, ok := o.kink(l.m); ok && k.slope != 0 && tau > 0 {
			z := k.u / k.slope / tau
			l.curved[i] = 2 * math.Abs(k.slope) * math.Exp(-z*z/2) / math.Sqrt(2*math.Pi) / tau
		}
	}
}

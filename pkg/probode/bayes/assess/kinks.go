package assess

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/probode/probode/pkg/probode/bayes"
	"github.com/probode/probode/pkg/probode/internal/kinks"
)

// The way to a mode where the log density has kinks: there it has no gradient that is
// zero, and kinks.Search knows what it has instead.

// A kink is −|u + slope·dm| of the log density of a datum; smooth is the derivative in m
// of what is left.
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
	p := &kinks.Point{}
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
	gradient.ScaleVec(-1, gradient)
	p.Gradient, p.Curvature, p.Metric = gradient.RawVector().Data, curvature, mat.NewSymDense(n, nil)
	p.Metric.CopySym(precision)
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

// A surface is −log density as a kinks.Function.
type surface struct {
	x     *expecter
	by    *bayes.Density
	l     *linearised // the last expansion
	theta []float64
}

// Value is kinks.Function's.
func (s *surface) Value(u []float64) (float64, []float64) {
	lp := s.by.Constrain(s.theta, u)
	if math.IsInf(lp, 0) {
		return math.Inf(1), nil
	}
	m, ll, err := s.x.at(s.theta)
	if err != nil || math.IsNaN(ll) || math.IsInf(ll, 0) {
		return math.Inf(1), nil
	}
	var out []float64
	for i := range s.l.data {
		o := &s.l.data[i]
		o.bind(s.l.p, s.theta, m)
		if k, ok := o.kink(m); ok {
			out = append(out, k.u)
		}
	}
	return -lp - ll, out
}

// Expand is kinks.Function's.
func (s *surface) Expand(u []float64) *kinks.Point {
	l, err := linearise(s.x, s.by, slices.Clone(u), s.l.widths())
	if err != nil || l.kinks == nil {
		return nil
	}
	s.l = l
	return l.kinks
}

// descend goes from l to the mode as climb does.
func descend(x *expecter, by *bayes.Density, l *linearised) (*linearised, bool, error) {
	at := &surface{x: x, by: by, l: l, theta: make([]float64, len(l.u))}
	s := kinks.NewSearch(l.u, -l.logp, l.kinks)
	// A hundredth of a standard deviation.
	const enough = 0.01 * 0.01 / 2
	for range 50 {
		done := s.Step(at, enough)
		if x.ctx.Err() != nil {
			return nil, false, x.ctx.Err()
		}
		if done {
			break
		}
	}
	return at.l, s.Left() < enough, nil
}

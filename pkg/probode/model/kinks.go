package model

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/probode/probode/pkg/probode/internal/kinks"
)

// The log-likelihood of Laplace errors is −|r|/s − ln 2s + …, which has a kink where a
// residual r is zero. An optimum lies at kinks as a rule, as a median does at one of the
// data: no gradient is zero there, but zero is among the slopes that the kinks have
// between their two sides.

// A bend is −log-likelihood of some rows, near some parameters, in those that are
// estimated: with U = r/s of the Laplace rows, in J of which s stays. What s does is in
// Gradient and Curvature, the latter Fisher's information.
type bend struct{ kinks.Point }

func newBend(n int) *bend {
	return &bend{kinks.Point{Gradient: make([]float64, n), Curvature: mat.NewSymDense(n, nil), Metric: mat.NewSymDense(n, nil)}}
}

// bends has the likelihood compute bends beside gradients if it has kinks, and says
// whether it has.
func (l *Likelihood) bends() (kinks bool) {
	for _, q := range l.parts {
		kinks = kinks || slices.ContainsFunc(q.e.Rows, func(r Row) bool { return r.Distribution == Laplace })
	}
	for _, q := range l.parts {
		q.bends = kinks
	}
	return kinks
}

// residual returns g(y) − g(f), and the derivative of g at f.
func (r *Row) residual(f float64) (d, slope float64) {
	switch r.Scale {
	case Log:
		return math.Log(r.Value) - math.Log(f), 1 / f
	case Log10:
		return math.Log10(r.Value) - math.Log10(f), 1 / (f * math.Ln10)
	}
	return r.Value - f, 1
}

// add adds a row with the values of its formulas and their derivatives.
func (b *bend) add(r *Row, f, s float64, df, ds []float64) {
	_, score, scoreS := r.logDensity(f, s)
	d, slope := r.residual(f)
	location, scale := make([]float64, len(df)), make([]float64, len(df))
	for i := range df {
		location[i], scale[i] = -slope*df[i]/s, ds[i]/s
		b.Gradient[i] -= scoreS * ds[i]
		if r.Distribution != Laplace {
			b.Gradient[i] -= score * df[i]
		}
	}
	twice := 2.
	if r.Distribution == Laplace {
		twice = 1
		b.U, b.J, b.Scale = append(b.U, d/s), append(b.J, location), append(b.Scale, scale)
	} else {
		b.Curvature.SymRankOne(b.Curvature, 1, mat.NewVecDense(len(df), location))
	}
	b.Metric.SymRankOne(b.Metric, 1, mat.NewVecDense(len(df), location))
	for _, m := range []*mat.SymDense{b.Curvature, b.Metric} {
		m.SymRankOne(m, twice, mat.NewVecDense(len(df), scale))
	}
}

// join adds another bend.
func (b *bend) join(o *bend) {
	for i, v := range o.Gradient {
		b.Gradient[i] += v
	}
	b.Curvature.AddSym(b.Curvature, o.Curvature)
	b.Metric.AddSym(b.Metric, o.Metric)
	for k, u := range o.U {
		b.U, b.J, b.Scale = append(b.U, u), append(b.J, slices.Clone(o.J[k])), append(b.Scale, slices.Clone(o.Scale[k]))
	}
}

// rescale takes derivatives to those for other parameters, with the given slopes.
func (b *bend) rescale(slope []float64) {
	for i, a := range slope {
		b.Gradient[i] *= a
		for k := range b.U {
			b.J[k][i] *= a
			b.Scale[k][i] *= a
		}
		for j, c := range slope[:i+1] {
			b.Curvature.SetSym(i, j, b.Curvature.At(i, j)*a*c)
			b.Metric.SetSym(i, j, b.Metric.At(i, j)*a*c)
		}
	}
}

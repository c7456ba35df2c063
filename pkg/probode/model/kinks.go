package model

import (
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/probode/probode/pkg/probode/bayes"
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

// add adds a row with the values of its formulas and their derivatives.
func (b *bend) add(r *Row, of bayes.Differentiable, m float64, own []float64, derivatives [][]float64) {
	n := len(derivatives)
	score, info := make([]float64, n), make([]float64, n*n)
	of.Slope(score, r.Value, m, own)
	of.(bayes.Informer).Information(info, m, own)
	first := 0
	if r.Distribution == Laplace {
		d, slope, weight, _ := of.(bayes.Kinked).Kink(r.Value, m, own)
		first = 1
		location, scale := slices.Clone(derivatives[0]), slices.Clone(derivatives[1])
		floats.Scale(slope*weight, location)
		floats.Scale(weight, scale)
		b.U, b.J, b.Scale = append(b.U, d*weight), append(b.J, location), append(b.Scale, scale)
	}
	for i, x := range derivatives {
		if i >= first {
			floats.AddScaled(b.Gradient, -score[i], x)
		}
		for j, y := range derivatives[:i+1] {
			v := info[i*n+j]
			for k, to := range []*mat.SymDense{b.Curvature, b.Metric} {
				switch {
				case v == 0 || k == 0 && j < first:
				case i == j:
					to.SymRankOne(to, v, mat.NewVecDense(len(x), x))
				default:
					to.RankTwo(to, v, mat.NewVecDense(len(x), x), mat.NewVecDense(len(y), y))
				}
			}
		}
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

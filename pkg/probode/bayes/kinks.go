package bayes

import (
	"math"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/probode/probode/pkg/probode/bayes/shape"
)

// A Kinked is a Likelihood whose log density has a kink, as Laplace's distribution has one
// at m = y: the log density is −weight·|r| plus a smooth function, and r depends on y and m
// alone. Modes usually lie at such kinks, where the density has no gradient. A likelihood
// that embeds a Kinked one needs a Kink method of its own.
type Kinked interface {
	Likelihood
	// Kink returns r, its derivative in m, and weight; ok is false where there is no
	// kink at these values.
	Kink(y, m float64, own []float64) (r, slope, weight float64, ok bool)
}

// bend sets the kink of the cell of y, and removes its slope from the score.
func (c *cell) bend(l *columnErrors, y, m, spread float64) {
	c.bent = false
	by, ok := l.Likelihood.(Kinked)
	if !ok {
		return
	}
	r, slope, weight, ok := by.Kink(y, m, l.own)
	if !ok {
		return
	}
	smooth := func(m float64) float64 {
		r, _, _, _ := by.Kink(y, m, l.own)
		return l.LogProb(y, m, l.own) + weight*math.Abs(r)
	}
	h := l.width(y, m, spread)
	if s := (smooth(m+h) - smooth(m-h)) / (2 * h); !math.IsNaN(s) && !math.IsInf(s, 0) {
		c.bent, c.u, c.slope, c.score[0] = true, weight*r, weight*slope, s
	}
}

// bend sets the kinks at p. The curvature without them is Fisher's information without that
// of the locations which have kinks, and with what the priors add.
func (s *scoring) bend(p *shape.Point, priors []float64) {
	n := len(priors)
	p.U, p.J, p.Curvature = nil, nil, nil
	row := func(part *part, at int) []float64 {
		out, w := make([]float64, n), len(part.cols)
		for m, k := range part.cols {
			out[k] = part.jac[at*w+m]
		}
		return out
	}
	for i := range s.parts {
		part := &s.parts[i]
		for _, c := range part.cells {
			if !c.bent || len(part.cols) == 0 {
				continue
			}
			j := row(part, c.at)
			floats.Scale(c.slope, j)
			p.U, p.J = append(p.U, c.u), append(p.J, j)
		}
	}
	if p.U == nil {
		return
	}
	p.Curvature = mat.NewSymDense(n, nil)
	for i := range s.parts {
		part := &s.parts[i]
		for _, c := range part.cells {
			for a := range c.n {
				for b := range a + 1 {
					v := c.info[a*c.n+b]
					if v == 0 || c.bent && b == 0 || len(part.cols) == 0 {
						continue
					}
					x := mat.NewVecDense(n, row(part, c.at+a))
					if a == b {
						p.Curvature.SymRankOne(p.Curvature, v, x)
					} else {
						p.Curvature.RankTwo(p.Curvature, v, x, mat.NewVecDense(n, row(part, c.at+b)))
					}
				}
			}
		}
	}
	for k, v := range priors {
		p.Curvature.SetSym(k, k, p.Curvature.At(k, k)+v)
	}
}

package bayes

import (
	"math"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/probode/probode/pkg/probode/internal/kinks"
)

// A Kinked is a Likelihood the log density of which has a kink, as that of Laplace's
// distribution has where y is expected: it is −weight·|r| and something smooth, where
// r depends on y and m alone. Modes are at such kinks as a rule, where no gradient is
// zero. A likelihood that embeds one has to have a Kink of its own.
type Kinked interface {
	Likelihood
	// Kink returns r, its derivative in m, and weight; ok is false where there is no
	// kink at these values.
	Kink(y, m float64, own []float64) (r, slope, weight float64, ok bool)
}

// bend sets the kink of the cell of y, and takes its slope out of the score.
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

// bend returns what assemble has found with the kinks as they are, nil without any. The
// curvature is the information, less that on locations at kinks; priors are what the
// priors add.
func (s *scoring) bend(priors []float64) *kinks.Point {
	n := len(priors)
	p := &kinks.Point{Curvature: mat.NewSymDense(n, nil)}
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
		return nil
	}
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
	p.Metric = mat.NewSymDense(n, nil)
	p.Metric.CopySym(s.precision)
	for k, v := range priors {
		p.Curvature.SetSym(k, k, p.Curvature.At(k, k)+v)
		p.Gradient = append(p.Gradient, -s.gradient.AtVec(k))
	}
	return p
}

// A slope is −log density as a kinks.Function. With a normal it keeps to a plane.
type slope struct {
	s      *scoring
	normal []float64
}

// Value is kinks.Function's.
func (l slope) Value(x []float64) (float64, []float64) {
	f := l.s.density(x)
	if math.IsInf(f, 0) {
		return math.Inf(1), nil
	}
	var u []float64
	for i, r := range l.s.e.runs {
		part, columns := &l.s.parts[i], len(r.errors)
		for k := range part.cells {
			if !part.cells[k].bent || len(part.cols) == 0 {
				continue
			}
			e := &r.errors[k%columns]
			v, _, weight, _ := e.Likelihood.(Kinked).Kink(r.x.Data.Y[k/columns][k%columns], r.fit[k], e.own)
			u = append(u, weight*v)
		}
	}
	return -f, u
}

// Expand is kinks.Function's.
func (l slope) Expand(x []float64) *kinks.Point {
	if !l.s.expand(x) || l.s.point == nil {
		return nil
	}
	return l.point()
}

// point returns the last expansion, as steep as the plane has it.
func (l slope) point() *kinks.Point {
	p := l.s.point
	if l.normal == nil {
		return p
	}
	n := mat.NewVecDense(len(l.normal), l.normal)
	for _, row := range append([][]float64{p.Gradient}, p.J...) {
		v := mat.NewVecDense(len(row), row)
		v.AddScaledVec(v, -mat.Dot(v, n), n)
	}
	p.Curvature.SymRankOne(p.Curvature, 1e4*mat.Trace(p.Metric), n)
	return p
}

// descend makes a step of a climb where the density has kinks.
func (c *climb) descend(tolerance float64) {
	c.done = c.kinks.Step(slope{c.s, c.normal}, tolerance/2)
	copy(c.u, c.kinks.X)
	c.f, c.gain = -c.kinks.F, 2*c.kinks.Gain
	c.remember()
}

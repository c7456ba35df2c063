package bayes

import (
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/bayes/shape"
)

// A cell holds the contribution of one value of the data, whose n locations begin at
// at: the score, which is the derivative of the log probability with respect to these
// locations, and Fisher's information, n×n.
type cell struct {
	at, n       int
	score, info []float64
	closed      Informer // nil if the information has to be estimated

	certain bool // the value has probability 1 and no information, for example a count of 0 if 0 is expected

	// The term −|u + slope·dm| of the log density, which has a kink and is not part of the
	// score.
	bent     bool
	u, slope float64
}

// cells returns the cells of an experiment.
func (r *Part) cells() []cell {
	var out []cell
	at := 0
	closed := make([]Informer, len(r.errors))
	n := make([]int, len(r.errors))
	for k, l := range r.errors {
		if by, ok := l.Likelihood.(Informer); ok {
			// If the description belongs to an embedded likelihood, so does the information,
			// which may be wrong here.
			if _, ok := description(l.Likelihood); ok || by.Describe().Of == nil {
				closed[k] = by
			}
		}
		n[k] = 1
		for i := range l.own {
			if l.open(i) {
				n[k]++
			}
		}
	}
	for range r.x.Data.T {
		for k := range r.errors {
			out = append(out, cell{at: at, n: n[k], score: make([]float64, n[k]), info: make([]float64, n[k]*n[k]), closed: closed[k]})
			at += n[k]
		}
	}
	return out
}

// information sets score and information of the cells of a part. If the information has
// no closed form, it is the mean of the squared gradient over data drawn from the
// distributions.
func (s *Surface) information(p *part, r *Part, rng *rand.Rand) {
	c := len(r.errors)
	for n, row := range r.x.Data.Y {
		for k, y := range row {
			l, m, cell := &r.errors[k], r.fit[n*c+k], &p.cells[n*c+k]
			clear(cell.score)
			clear(cell.info)
			if cell.bent, cell.certain = false, false; math.IsNaN(y) {
				continue
			}
			l.at(r.fit[n*c:])
			if s.closed(cell, l, m) {
				if !l.gradient(cell.score, y, m, 1/math.Sqrt(cell.info[0])) {
					clear(cell.score)
				}
			} else {
				clear(cell.info)
				if l.estimate(cell.score, cell.info, y, m, s.Draws, rng) == 0 {
					cell.certain = l.LogProb(y, m, l.own) == 0
				}
			}
			cell.bend(l, y, m, 1/math.Sqrt(cell.info[0]))
		}
	}
}

// estimate writes the gradient of the log probability of y to g, and to f the
// information, which is the mean of the squared gradient over draws. It returns the
// number of draws that have a gradient.
func (l *columnErrors) estimate(g, f []float64, y, m float64, draws int, rng *rand.Rand) (count float64) {
	q := len(g)
	ys := make([]float64, draws)
	var spread float64
	for i := range ys {
		ys[i] = l.Rand(m, l.own, rng)
		spread += math.Abs(ys[i]-m) / float64(draws)
	}
	for _, yi := range ys {
		if !l.gradient(g, yi, m, spread) {
			continue
		}
		count++
		for i := range q {
			for j := range q {
				f[i*q+j] += g[i] * g[j]
			}
		}
	}
	for i := range f {
		f[i] /= max(1, count)
	}
	if !l.gradient(g, y, m, spread) {
		clear(g)
	}
	return count
}

// closed writes the information on m and the unknown own numbers, if it has a closed
// form.
func (s *Surface) closed(c *cell, l *columnErrors, m float64) bool {
	if c.closed == nil {
		return false
	}
	n := 1 + len(l.own)
	if cap(s.full) < n*n {
		s.full = make([]float64, n*n)
	}
	s.full = s.full[:n*n]
	clear(s.full)
	if !c.closed.Information(s.full, m, l.own) {
		return false
	}
	s.which = append(s.which[:0], 0)
	for i := range l.own {
		if l.open(i) {
			s.which = append(s.which, 1+i)
		}
	}
	for a, i := range s.which {
		for b, j := range s.which {
			v := s.full[i*n+j]
			if math.IsNaN(v) || math.IsInf(v, 0) {
				return false
			}
			c.info[a*c.n+b] = v
		}
	}
	return true
}

// width returns the width of differences in m. If m is near zero, the width is small
// only if the density ends at zero; otherwise such a small difference would consist of
// rounding errors.
func (l *columnErrors) width(y, m, spread float64) float64 {
	h := 1e-5 * (math.Abs(m) + spread)
	if m > 0 && h > m/2 {
		if beyond := l.LogProb(y, -m, l.own); math.IsNaN(beyond) || math.IsInf(beyond, 0) {
			h = m / 2
		}
	}
	return h
}

// gradient writes the derivatives of log p(y | m, own) with respect to m and the
// unknown own parameters, and reports whether they are finite.
func (l *columnErrors) gradient(dst []float64, y, m, spread float64) bool {
	if l.exact != nil {
		if lp := l.LogProb(y, m, l.own); math.IsNaN(lp) || math.IsInf(lp, 0) {
			return false
		}
		slope := make([]float64, 1+len(l.own))
		l.exact.Slope(slope, y, m, l.own)
		q := 1
		for i := range l.own {
			if l.open(i) {
				dst[q] = slope[1+i]
				q++
			}
		}
		dst[0] = slope[0]
		return !slices.ContainsFunc(dst, func(g float64) bool { return math.IsNaN(g) || math.IsInf(g, 0) })
	}
	h := l.width(y, m, spread)
	dst[0] = (l.LogProb(y, m+h, l.own) - l.LogProb(y, m-h, l.own)) / (2 * h)
	q := 1
	for i := range l.own {
		if !l.open(i) {
			continue
		}
		at := l.own[i]
		h := 1e-5 * math.Abs(at)
		if h == 0 {
			h = 1e-5
		}
		l.own[i] = at + h
		up := l.LogProb(y, m, l.own)
		l.own[i] = at - h
		dst[q] = (up - l.LogProb(y, m, l.own)) / (2 * h)
		l.own[i] = at
		q++
	}
	return !slices.ContainsFunc(dst, func(g float64) bool { return math.IsNaN(g) || math.IsInf(g, 0) })
}

// bend sets the kink of the cell, and removes its slope from the score.
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

// bend sets the kinks at p. The curvature without the kinks is Fisher's information of
// the priors and of all locations without kinks.
func (s *Surface) bend(p *shape.Point, priors []float64) {
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

// A Datum is an expected value on which the distribution of an observation depends: the
// value that is observed, or that of another column which is a number of its
// likelihood. A missing value of the data has none.
type Datum struct {
	At          int       // in Density.Expected
	Jacobian    []float64 // derivatives of the expected value in the coordinates
	Score       float64   // derivative of the log probability; at a kink the mean of both sides
	Information float64   // Fisher's information on the expected value
	Certain     bool      // the observation has probability 1 here

	// If Kinked, the log probability has the term −|U + Slope·dm|.
	Kinked   bool
	U, Slope float64
}

// Data returns the data at the last point of Expand, by experiment, row and column.
func (s *Surface) Data() []Datum {
	var out []Datum
	for i := range s.parts {
		out = s.data(out, i, s.parts[i].cells, s.parts[i].jac)
	}
	return out
}

// DataAt returns the data for the given expected values, without Jacobians, with the
// own numbers of the likelihoods from theta.
func (s *Surface) DataAt(expected, theta []float64) []Datum {
	was := slices.Clone(s.e.fit)
	defer copy(s.e.fit, was)
	copy(s.e.fit, expected)
	rng := probode.Stream(0x73636f7265)
	var out []Datum
	for i, r := range s.e.parts {
		s.e.bind(r, theta)
		p := part{cells: r.cells()}
		s.information(&p, r, rng)
		out = s.data(out, i, p.cells, nil)
	}
	return out
}

// data appends the data of part i to out; jac may be nil.
func (s *Surface) data(out []Datum, i int, cells []cell, jac []float64) []Datum {
	r, cols := s.e.parts[i], s.parts[i].cols
	first := 0 // first expected value of the row
	for _, before := range s.e.parts[:i] {
		first += len(before.fit)
	}
	for n, row := range r.x.Data.Y {
		for k, y := range row {
			if math.IsNaN(y) {
				continue
			}
			c := &cells[n*len(row)+k]
			add := func(column, m int) {
				o := Datum{At: first + column, Score: c.score[m], Information: c.info[m*c.n+m], Certain: c.certain}
				if jac != nil {
					o.Jacobian = make([]float64, len(s.Steps))
					for j, to := range cols {
						o.Jacobian[to] = jac[(c.at+m)*len(cols)+j]
					}
				}
				if c.bent && m == 0 {
					o.Kinked, o.U, o.Slope = true, c.u, c.slope
					if c.u != 0 {
						o.Score -= math.Copysign(1, c.u) * c.slope
					}
				}
				out = append(out, o)
			}
			add(k, 0)
			m := 1
			for j, column := range r.errors[k].column {
				if column >= 0 {
					add(column, m)
				}
				if r.errors[k].open(j) {
					m++
				}
			}
		}
		first += len(row)
	}
	return out
}

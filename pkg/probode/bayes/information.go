package bayes

import (
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/mathext"
)

// An Informer is a Describer with Fisher's information in closed form; without it
// that is estimated from draws.
type Informer interface {
	Describer
	// Information writes the expected information of one observation on m and the
	// numbers of Own, row-major of length (1 + len(own))², and reports whether
	// there is one at these values.
	Information(dst []float64, m float64, own []float64) bool
}

// Information is 1/σ² on m and 2/σ² on σ.
func (Gaussian) Information(dst []float64, _ float64, own []float64) bool {
	v := 1 / (own[0] * own[0])
	dst[0], dst[1], dst[2], dst[3] = v, 0, 0, 2*v
	return own[0] > 0
}

// Information is 1/(mσ)² on m and 2/σ² on σ.
func (LogNormal) Information(dst []float64, m float64, own []float64) bool {
	v := 1 / (own[0] * own[0])
	dst[0], dst[1], dst[2], dst[3] = v/(m*m), 0, 0, 2*v
	return own[0] > 0 && m > 0
}

// Information is 1/b² on m and on b.
func (Laplace) Information(dst []float64, _ float64, own []float64) bool {
	v := 1 / (own[0] * own[0])
	dst[0], dst[1], dst[2], dst[3] = v, 0, 0, v
	return own[0] > 0
}

// Information is 1/m on m.
func (Poisson) Information(dst []float64, m float64, _ []float64) bool {
	dst[0] = 1 / m
	return m > 0
}

// Information is, with s = (ν + 1)(ν + 3) and ψ₁ the trigamma function, (ν+1)²/(sσ²) on m,
// 2ν(ν+1)/(sσ²) on σ, −2/(sσ) between ν and σ, and
//
//	¼ (ψ₁(ν/2) − ψ₁((ν+1)/2)) − (ν+5)/(2νs)
//
// on ν [Lange, Little & Taylor 1989]. Above ν = 100, where the last difference is lost
// in rounding, it has none.
func (StudentT) Information(dst []float64, _ float64, own []float64) bool {
	nu, sigma := own[0], own[1]
	if !(nu > 0 && nu < 100 && sigma > 0) {
		return false
	}
	s := (nu + 1) * (nu + 3)
	clear(dst)
	dst[0] = (nu + 1) * (nu + 1) / (s * sigma * sigma)
	dst[4] = (mathext.Zeta(2, nu/2)-mathext.Zeta(2, (nu+1)/2))/4 - (nu+5)/(2*nu*s)
	dst[5] = -2 / (s * sigma)
	dst[7] = dst[5]
	dst[8] = 2 * nu * (nu + 1) / (s * sigma * sigma)
	return true
}

// Information is φ/(m(m+φ)) on m and
//
//	Σ_{j≥0} P(y > j)/(φ + j)² − m/(φ(φ + m))
//
// on φ [Lawless 1987]; none where the sum would have more than 10⁴ terms, or the
// difference lose its digits.
func (NegativeBinomial) Information(dst []float64, m float64, own []float64) bool {
	phi := own[0]
	if !(m > 0 && phi > 0 && phi < 1e4) || math.IsInf(m, 1) {
		return false
	}
	clear(dst)
	dst[0] = phi / (m * (m + phi))
	// The probability of j follows from that of j−1.
	p := math.Exp(-phi * math.Log1p(m/phi))
	above, sum, terms := 1.0, 0.0, 0
	for ; above > 1e-10; terms++ {
		if terms == 10000 || p < 1e-280 {
			return false
		}
		j := float64(terms)
		above -= p
		sum += max(above, 0) / ((phi + j) * (phi + j))
		p *= (phi + j) / (j + 1) * m / (m + phi)
	}
	dst[3] = sum - m/(phi*(phi+m))
	return dst[3] > 1e-9*sum
}

// A cell is what one value of the data tells of its locations, those from at to
// at+n−1: the score, the derivative of the log probability in them, and Fisher's
// information, n×n.
type cell struct {
	at, n       int
	score, info []float64
	closed      Informer // nil if the information has to be estimated

	// A kink that is left out of the score: −|u + slope·dm| of the log density.
	bent     bool
	u, slope float64
}

// cells lays out those of a run.
func (r *run) cells() []cell {
	var out []cell
	at := 0
	closed := make([]Informer, len(r.errors))
	n := make([]int, len(r.errors))
	for k, l := range r.errors {
		if by, ok := l.Likelihood.(Informer); ok {
			// One that describes another likelihood has the methods of that.
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

// information sets score and information of the cells of a part, the information as
// the mean of the squared gradient over data that the distributions draw where it is
// not in closed form.
func (s *scoring) information(p *part, r *run, rng *rand.Rand) {
	c := len(r.errors)
	for n, row := range r.x.Data.Y {
		for k, y := range row {
			l, m, cell := &r.errors[k], r.fit[n*c+k], &p.cells[n*c+k]
			clear(cell.score)
			clear(cell.info)
			if cell.bent = false; math.IsNaN(y) {
				continue
			}
			l.at(r.fit[n*c:])
			if s.closed(cell, l, m) {
				if !l.gradient(cell.score, y, m, 1/math.Sqrt(cell.info[0])) {
					clear(cell.score)
				}
			} else {
				clear(cell.info)
				l.estimate(cell.score, cell.info, y, m, s.draws, rng)
			}
			cell.bend(l, y, m, 1/math.Sqrt(cell.info[0]))
		}
	}
}

// estimate writes the gradient of the log probability of y to g and the information
// to f, as the mean of the squared gradient over draws.
func (l *columnErrors) estimate(g, f []float64, y, m float64, draws int, rng *rand.Rand) {
	q := len(g)
	ys := make([]float64, draws)
	var spread float64
	for i := range ys {
		ys[i] = l.Rand(m, l.own, rng)
		spread += math.Abs(ys[i]-m) / float64(draws)
	}
	count := 0.0
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
}

// closed writes the information on m and the own numbers that are unknown, if it has a
// closed form.
func (s *scoring) closed(c *cell, l *columnErrors, m float64) bool {
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

// width is that of differences in m. Beside an m near zero it is narrow only where the
// density ends at zero: elsewhere so small a difference would be rounding.
func (l *columnErrors) width(y, m, spread float64) float64 {
	h := 1e-5 * (math.Abs(m) + spread)
	if m > 0 && h > m/2 {
		if beyond := l.LogProb(y, -m, l.own); math.IsNaN(beyond) || math.IsInf(beyond, 0) {
			h = m / 2
		}
	}
	return h
}

// gradient writes the derivatives of log p(y | m, own) in m and in the own
// parameters that are unknown, and reports whether they are finite.
func (l *columnErrors) gradient(dst []float64, y, m, spread float64) bool {
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
	for _, g := range dst {
		if math.IsNaN(g) || math.IsInf(g, 0) {
			return false
		}
	}
	return true
}

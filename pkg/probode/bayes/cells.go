package bayes

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/probode/probode/pkg/probode/internal/vector"
)

// A Cell holds the contribution of one data value to the derivatives of the log density.
// The distribution of the value depends on one or more numbers, which are called its
// locations (see Part.Locations). At is the index of the first location. The contribution
// of a missing value is zero.
type Cell struct {
	At          int
	Columns     []int     // for each location, the column whose expected value it is; −1 for a parameter
	Score       []float64 // derivatives of the log probability with respect to the locations
	Information []float64 // matrix of the Fisher information about the locations

	// Certain is true if the data value has probability 1 and therefore contains no
	// information. An example is a count of 0 whose expected value is 0.
	Certain bool

	// If Kinked is true, the log probability contains the term −|U + Slope × dm|, where
	// dm is the change in the expected value. The derivative of −|U + Slope × dm| is not
	// part of Score.
	Kinked   bool
	U, Slope float64
}

// Cells returns one cell for each data value, ordered by row and column. Score fills the
// cells.
func (r *Part) Cells() []Cell {
	var out []Cell
	at := 0
	columns := make([][]int, len(r.errors))
	for k, l := range r.errors {
		columns[k] = []int{k}
		for i := range l.own {
			if l.open(i) {
				columns[k] = append(columns[k], l.column[i])
			}
		}
	}
	for range r.x.Data.T {
		for k := range r.errors {
			n := len(columns[k])
			out = append(out, Cell{At: at, Columns: columns[k], Score: make([]float64, n), Information: make([]float64, n*n)})
			at += n
		}
	}
	return out
}

// Locations appends to dst the numbers that determine the distribution of each data
// value. All numbers are those of the last evaluation of the log likelihood. The first
// number for each data value is the expected value. The other numbers are the parameters
// of the model and the expected values of other columns on which the likelihood depends.
func (r *Part) Locations(dst []float64) []float64 {
	c := len(r.errors)
	for n, t := range r.x.Data.T {
		for k, l := range r.errors {
			dst = append(dst, r.fit[n*c+k])
			own := l.at(t, r.fit[n*c:])
			for i, v := range own {
				if l.open(i) {
					dst = append(dst, v)
				}
			}
		}
	}
	return dst
}

// Depends describes the effect of parameter k. The result `any` is true if the locations
// may depend on parameter k. The result `solved` is true if the equations must be solved
// again when parameter k changes. The argument `noisy` says whether α scales any
// component of ξ, so that a change in α changes the solution.
func (r *Part) Depends(k int, noisy bool) (any, solved bool) {
	solved = slices.Contains(r.param, k) || noisy && k == r.e.alpha
	own := slices.ContainsFunc(r.errors, func(l columnErrors) bool { return slices.Contains(l.param, k) })
	return solved || own || r.x.Observe != nil, solved
}

// Score computes the derivatives of the log density and stores them in `cells`. Score
// uses the locations from the last evaluation of the log likelihood. If the Fisher
// information has no closed form, it is estimated by the mean of the squared score of
// simulated data values. The argument `draws` is the number of simulated values.
func (r *Part) Score(cells []Cell, draws int, rng *rand.Rand) {
	c := len(r.errors)
	for n, row := range r.x.Data.Y {
		for k, y := range row {
			l, m, cell := &r.errors[k], r.fit[n*c+k], &cells[n*c+k]
			clear(cell.Score)
			clear(cell.Information)
			if cell.Kinked, cell.Certain = false, false; math.IsNaN(y) {
				continue
			}
			l.at(r.x.Data.T[n], r.fit[n*c:])
			if cell.inform(l, m) {
				if !l.gradient(cell.Score, y, m, 1/math.Sqrt(cell.Information[0])) {
					clear(cell.Score)
				}
			} else {
				clear(cell.Information)
				cell.Certain = l.estimate(cell.Score, cell.Information, y, m, draws, rng) && l.LogProb(y, m, l.own) == 0
				if cell.Certain { // no other value is possible, whatever the slope says
					clear(cell.Information)
				}
			}
			cell.bend(l, y, m, 1/math.Sqrt(cell.Information[0]))
		}
	}
}

// estimate returns the gradient g of the log probability, and the mean of its outer
// product over draws as the Fisher information f. `same` says that all draws equal y.
func (l *columnErrors) estimate(g, f []float64, y, m float64, draws int, rng *rand.Rand) (same bool) {
	q := len(g)
	ys := make([]float64, draws)
	same = true
	var spread, count float64
	for i := range ys {
		ys[i] = l.Rand(m, l.own, rng)
		same = same && ys[i] == y
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
	return same
}

func (c *Cell) inform(l *columnErrors, m float64) bool {
	n := 1 + len(l.own)
	full := l.scratch()
	if l.informer == nil || !l.informer.Information(full, m, l.own) {
		return false
	}
	at := 0
	for i := range n {
		for j := range n {
			if l.location(i) && l.location(j) {
				c.Information[at] = full[i*n+j]
				at++
			}
		}
	}
	return vector.Finite(c.Information)
}

// width is smaller near m = 0 if the density is undefined below. Otherwise rounding would
// dominate.
func (l *columnErrors) width(y, m, spread float64) float64 {
	h := 1e-5 * (math.Abs(m) + spread)
	if m > 0 && h > m/2 {
		if beyond := l.LogProb(y, -m, l.own); math.IsNaN(beyond) || math.IsInf(beyond, 0) {
			h = m / 2
		}
	}
	return h
}

func (l *columnErrors) gradient(dst []float64, y, m, spread float64) bool {
	if l.exact != nil {
		if lp := l.LogProb(y, m, l.own); math.IsNaN(lp) || math.IsInf(lp, 0) {
			return false
		}
		slope := l.scratch()[:1+len(l.own)]
		l.exact.Slope(slope, y, m, l.own)
		q := 0
		for i, v := range slope {
			if l.location(i) {
				dst[q] = v
				q++
			}
		}
		return vector.Finite(dst)
	}
	h := l.width(y, m, spread)
	dst[0] = (l.LogProb(y, m+h, l.own) - l.LogProb(y, m-h, l.own)) / (2 * h)
	q := 1
	for i := range l.own {
		if !l.open(i) {
			continue
		}
		at := l.own[i]
		h := cmp.Or(1e-5*math.Abs(at), 1e-5)
		l.own[i] = at + h
		up := l.LogProb(y, m, l.own)
		l.own[i] = at - h
		dst[q] = (up - l.LogProb(y, m, l.own)) / (2 * h)
		l.own[i] = at
		q++
	}
	return vector.Finite(dst)
}

// bend describes a kink, and takes the slope of the smooth part as the score.
func (c *Cell) bend(l *columnErrors, y, m, spread float64) {
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
		c.Kinked, c.U, c.Slope, c.Score[0] = true, weight*r, weight*slope, s
	}
}

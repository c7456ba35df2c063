// Package gp contains two solvers that treat an initial value problem as Gaussian process
// regression on values of f, as the first probabilistic solvers did [C16, HH14, S91].
// These solvers are used in the same way as those of package methods. The two solvers are
// intended only for comparison. Both solvers have order one. A path of n steps takes
// O(n²) operations and O(n²) memory.
//
// In both solvers, each component of x′ is a Gaussian process with mean zero and
// covariance
//
//	cov(x′(t), x′(u)) = α h exp(−(t−u)² / 2ℓ²),   x(t) = x(t₀) + ∫ x′.
//
// The components are independent of each other. Each component is conditioned on values
// of f at the grid points, and these values are treated as exact. Interrogation evaluates
// f at draws of the state, one after another; Block evaluates f at the mean of the
// process, at all grid points together. The weights of the values of f, and the
// covariances after conditioning, depend only on the grid. These weights and covariances
// are computed once, when a solver is created.
//
// The factor h in the covariance makes the spread of the paths O(h), which is also the
// order of the error. Chkrebtii et al. recommend this factor.
//
// References: [C16] Chkrebtii, Campbell, Calderhead & Girolami, Bayesian Analysis 11,
// 1239; [HH14] Hennig & Hauberg, AISTATS 2014; [S91] Skilling, in Maximum Entropy and
// Bayesian Methods, Seattle 1991.
package gp

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/internal/vector"
)

const (
	maxSteps  = 2000 // of a segment; the tables of a solver then take less than 100 MB
	maxLength = 1.5  // with 1.75 and more, paths of Interrogation grow without bound
)

// regression is the process with α = 1, given x′ at τ. Times are in steps from the start
// of the segment.
type regression struct {
	length float64
	tau    []float64
	chol   cholesky // of the covariance of the derivatives
}

func newRegression(p *probode.Problem, g *probode.Grid, from, to int, length float64) (*regression, error) {
	n := to - from
	switch {
	case !(length >= 0.5 && length <= maxLength):
		return nil, fmt.Errorf("the length scale (Length) is %g steps: want 0.5 to %g", length, maxLength)
	case n > maxSteps:
		return nil, fmt.Errorf("there are %d consecutive steps without an event: want at most %d", n, maxSteps)
	}
	r := &regression{length: length}
	mean := (g.Place(to) - g.Place(from)) / float64(n)
	for i := from; i <= to; i++ {
		r.tau = append(r.tau, (g.Place(i)-g.Place(from))/mean)
		if k := i - from; k > 0 && math.Abs(math.Log2(r.tau[k]-r.tau[k-1])) > 1 {
			return nil, fmt.Errorf("the step to t = %.6g is %.3g times as long as the mean step: use nearly equal steps", g.Times()[i], r.tau[k]-r.tau[k-1])
		}
	}
	return r, nil
}

// primitive is P with P″(x) = exp(−x²/2ℓ²).
func (r *regression) primitive(x float64) float64 {
	u := x / (math.Sqrt2 * r.length)
	return r.length*math.Sqrt(math.Pi/2)*x*math.Erf(u) + r.length*r.length*math.Exp(-u*u)
}

func (r *regression) slopes(t, u float64) float64 {
	x := (t - u) / r.length
	return math.Exp(-x * x / 2)
}

func (r *regression) states(t, u float64) float64 {
	return r.primitive(t) + r.primitive(u) - r.primitive(t-u) - r.primitive(0)
}

// observe conditions on x′ at the next time in τ. Covariances over more than nine length
// scales are below rounding.
func (r *regression) observe() {
	n := len(r.chol)
	var c []float64
	for j := range n {
		if r.tau[n]-r.tau[j] < 9*r.length {
			c = append(c, r.slopes(r.tau[n], r.tau[j]))
		}
	}
	r.chol = r.chol.add(c, 1)
}

// state returns L⁻¹c for the covariances c of x(t) with the derivatives so far.
func (r *regression) state(t float64) []float64 {
	scale := math.Sqrt2 * r.length
	c := make([]float64, len(r.chol))
	for j := range c {
		u := r.tau[j]
		c[j] = r.length * math.Sqrt(math.Pi/2) * (math.Erf((t-u)/scale) + math.Erf(u/scale))
	}
	r.chol.forward(c)
	return c
}

// weights returns L⁻ᵀc for what state returned: the weights of the derivatives in the
// conditional mean minus the initial state.
func (r *regression) weights(c []float64) []float64 {
	w := slices.Clone(c)
	for i := len(w) - 1; i >= 0; i-- {
		row := r.chol[i]
		m := len(row) - 1
		w[i] /= row[m]
		for j, l := range row[:m] {
			w[i-m+j] -= l * w[i]
		}
	}
	return w
}

// A cholesky has the ends of the rows of L up to the diagonal. Elements before are zero.
type cholesky [][]float64

// add appends a variable of variance v, with covariances c with the last ones. Its
// conditional variance is kept above rounding.
func (l cholesky) add(c []float64, v float64) cholesky {
	first := len(l) - len(c)
	for i := range c {
		row := l[first+i]
		m := min(len(row)-1, i)
		c[i] = (c[i] - vector.Dot(row[len(row)-1-m:len(row)-1], c[i-m:i])) / row[len(row)-1]
	}
	return append(l, append(c, math.Sqrt(max(v-vector.Dot(c, c), 1e-14*v))))
}

func (l cholesky) forward(v []float64) {
	for i := range v {
		m := len(l[i]) - 1
		v[i] = (v[i] - vector.Dot(l[i][:m], v[i-m:i])) / l[i][m]
	}
}

type stepper struct {
	p      *probode.Problem
	g      *probode.Grid
	tables map[int]*table // by the grid point at which a segment begins
	d      int

	from, to int
	first    []float64
	rows     []float64 // row-major
}

// A table depends only on the grid. The unit of time is the step.
type table struct {
	weights [][]float64 // a row of weights of f for each state after the first
	root    [][]float64 // a row of factors of ξ for each state after the first
}

// newStepper shares a table between successive segments with the same relative times.
func newStepper(p *probode.Problem, g *probode.Grid, length float64, make func(*regression) *table) (*stepper, error) {
	if g == nil {
		return nil, errors.New("the steps are not known before the run: use a fixed grid")
	}
	length = cmp.Or(length, 1)
	s := &stepper{p: p, g: g, d: p.Dim(), tables: map[int]*table{}}
	var last *regression
	for from, to := 0, 0; from <= g.Steps(); from = to + 1 {
		if from, to = g.Segment(from); from == to {
			continue
		}
		r, err := newRegression(p, g, from, to, length)
		if err != nil {
			return nil, err
		}
		if last != nil && slices.EqualFunc(r.tau, last.tau, func(a, b float64) bool { return math.Abs(a-b) < 1e-9 }) {
			s.tables[from] = s.tables[s.from]
			continue
		}
		s.tables[from], s.from, last = make(r), from, r
	}
	return s, nil
}

func (s *stepper) begin(i int, x []float64) *table {
	s.from, s.to = s.g.Segment(i)
	s.first = append(s.first[:0], x...)
	if n := (s.to - s.from + 1) * s.d; n > len(s.rows) {
		s.rows = make([]float64, n)
	}
	return s.tables[s.from]
}

func (s *stepper) h() float64 {
	t := s.g.Times()
	return (t[s.to] - t[s.from]) / float64(s.to-s.from)
}

// mean is the first state of the segment plus h times the weighted sum of f.
func (s *stepper) mean(dst, weights []float64) {
	copy(dst, s.first)
	h := s.h()
	for j, w := range weights {
		for k := range dst {
			dst[k] += h * w * s.rows[j*s.d+k]
		}
	}
}

func (s *stepper) memory() int {
	most := 0
	for from := range s.tables {
		_, to := s.g.Segment(from)
		most = max(most, to-from+1)
	}
	return 1 + s.d*(1+most)
}

func (s *stepper) save(dst []float64) {
	dst[0] = float64(s.from)
	copy(dst[1:], s.first)
	copy(dst[1+s.d:], s.rows)
}

func (s *stepper) restore(src []float64) {
	s.begin(int(src[0]), src[1:1+s.d])
	copy(s.rows, src[1+s.d:])
}

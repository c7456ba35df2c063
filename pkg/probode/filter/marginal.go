package filter

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/internal/vector"
)

// A Row holds the observations at one time, and describes their distribution for states
// near x. The values are independent and Gaussian, and their means are linear in the
// state.
type Row struct {
	Y      []float64 // NaN where a value is missing
	Mean   []float64 // expected values at x
	Slopes []float64 // derivatives of Mean with respect to x, a row of d for each value
	SD     []float64 // standard deviations
}

// A Marginal computes predictive distributions of observations, in which the uncertain
// solution is integrated out. Each value is predicted from the equation and from the
// values that were predicted before it, so the product of the predictive densities is the
// likelihood p(Y | θ).
//
// Fenrir [T22] starts from the posterior distribution of the solution given the equation.
// Fenrir then conditions the solution on the data, from the last observation to the
// first. The alternative, DALTON [WL24], computes
//
//	log p(Y, Z) − log p(Z)
//
// with two filters that run forwards in time. The first filter is conditioned on the data
// Y and on the residuals Z of the equation. The second filter is conditioned only on the
// residuals. The first filter linearises f at predictions that use the data, which
// improves the linearisation. If f is affine, DALTON and Fenrir agree.
//
// A Marginal contains workspace, so only one goroutine may use it at a time.
type Marginal struct {
	dalton bool
	solver *probode.Solver
	pass   *pass
	owner  []int // the block of each component of the state, or −1
	path   []float64
	rows   map[int]int // the row of data at a grid point
	times  []float64   // of the rows
	kappa  float64
	row    Row
	look   func(n int, x []float64, r *Row)
	dst    []float64
	beliefs
	x []float64 // the mean of the state, given the data so far

	// DALTON counts the data values. The field `fit` is their log density minus the log
	// density that they would have if they were predicted exactly.
	values int
	fit    float64
}

// beliefs are about each block, before and after a step back, with their workspace.
type beliefs struct {
	own, earlier []belief
	wide, toward []float64
}

// NewMarginal returns a Marginal for c observed values at each of the given times, which
// must be points of the grid g. If the time of an event depends on θ, a change of θ can
// move grid points. Predict returns an error if an observation time is no longer a grid
// point.
func NewMarginal(p *probode.Problem, m EK, g *probode.Grid, times []float64, c int, dalton bool) (*Marginal, error) {
	index, err := g.Index(times)
	if err != nil {
		return nil, err
	}
	d := p.Dim()
	out := &Marginal{dalton: dalton, pass: &pass{EK: m, joint: m.Jacobian == Cubature || len(p.Events) > 0}, rows: map[int]int{}, times: times, x: make([]float64, d),
		row: Row{make([]float64, c), make([]float64, c), make([]float64, c*d), make([]float64, c)}}
	for n, i := range index {
		if _, ok := out.rows[i]; ok {
			return nil, fmt.Errorf("filter: two of the times fall on the same grid point, %g", times[n])
		}
		out.rows[i] = n
	}
	return out, out.prepare(p, g)
}

func (m *Marginal) prepare(p *probode.Problem, g *probode.Grid) (err error) {
	if m.solver, err = probode.NewSolver(p, m.pass, g, 0); err != nil {
		return err
	}
	m.path, m.owner = make([]float64, m.solver.PathLen()), slices.Repeat([]int{-1}, p.Dim())
	for k, part := range m.pass.run.parts {
		for _, c := range part {
			m.owner[c] = k
		}
	}
	blocks := len(m.pass.run.blocks)
	m.own, m.earlier = make([]belief, blocks), make([]belief, blocks)
	return nil
}

// errCoupled is about observations that would make the blocks dependent.
var errCoupled = errors.New("an observation depends on several blocks")

// Predict computes the predictive distribution of each observed value at each time, and
// writes its mean and its standard deviation to dst. look writes the observations with
// time index n to r, and describes their distribution for states near x. The log
// likelihood is `extra` plus the sum of the log predictive densities of all values that
// are not missing. For Fenrir, `extra` is zero. The argument `alpha` is the diffusion κ²
// > 0.
//
// Only DALTON supports measurement errors that are not Gaussian. If the errors are not
// Gaussian, look() describes a Gaussian approximation of their distribution. The
// approximation is made near the posterior mode of the solution. settled reports whether
// the Gaussian approximation has converged. The argument x of settled() is the mean of
// the solution given all the data, with one row for each time. As long as settled()
// returns false, Predict repeats the pass over the data. If all measurement errors are
// Gaussian, `settled` is nil.
func (m *Marginal) Predict(ctx context.Context, dst, theta []float64, alpha float64, look func(n int, x []float64, r *Row), settled func(x []float64) bool) (extra float64, err error) {
	c := len(m.row.Y)
	if len(dst) != 2*len(m.rows)*c {
		panic(fmt.Sprintf("filter: dst has length %d: want 2·%d·%d, a mean and a standard deviation for each time and value", len(dst), len(m.rows), c))
	}
	if !(alpha > 0) || math.IsInf(alpha, 1) {
		return 0, fmt.Errorf("filter: the diffusion is %g: want a finite number > 0", alpha)
	}
	m.kappa, m.dst, m.look = math.Sqrt(alpha), dst, look
	predict := func() (float64, error) {
		defer m.solver.Bind(ctx)()
		if m.dalton {
			return m.both(theta, alpha, settled)
		}
		m.pass.kept, m.pass.linked = true, true
		if err := m.solve(theta, nil); err != nil {
			return 0, err
		}
		return 0, m.backwards(true, func(n int) error { return m.condition(n, m.x) })
	}
	if extra, err = predict(); errors.Is(err, errCoupled) {
		m.pass.joint = true // from now on
		if err := m.prepare(m.pass.run.p, m.pass.run.g); err != nil {
			return 0, err
		}
		extra, err = predict()
	}
	return extra, err
}

func (m *Marginal) both(theta []float64, alpha float64, settled func(x []float64) bool) (extra float64, err error) {
	m.pass.kept, m.pass.linked = false, false
	if err := m.solve(theta, nil); err != nil {
		return 0, err
	}
	extra = floats.Sum(m.pass.run.square)/alpha/2 + m.pass.run.volume()
	m.pass.kept, m.pass.linked = settled != nil, settled != nil
	for repeat := true; repeat; {
		m.fit, m.values = 0, 0
		if err := m.solve(theta, m.observe); err != nil {
			return 0, err
		}
		repeat = settled != nil && !settled(m.smoothed())
	}
	// If derivatives are approximated by finite differences, the linearised equations in
	// the two passes differ slightly. The resulting error is proportional to `square`,
	// the sum of the squared residuals. If `square` is equal to `limit`, the log
	// likelihood has an error of about 0.01.
	run := m.pass.run
	limit := 1e13 * math.Pow(10, -0.8*max(0, float64(run.Q-3))) // for exact derivatives
	switch {
	case len(run.p.Events) > 0:
		limit = min(limit, 1e3)
	case run.Jacobian == Cubature || run.lin != nil && !run.lin.Exact():
		limit = min(limit, 1e7)
	}
	if square := floats.Sum(run.square) / alpha; square > limit {
		return 0, fmt.Errorf("filter: with the diffusion %g the squared residuals add up to %.2g: want at most %g, for the rounding errors of DALTON", alpha, square, limit)
	}
	extra -= floats.Sum(run.square)/alpha/2 + run.volume()
	// If both filters used the same linearisation, the likelihood would be largest for
	// data that are equal to their predictions. Because the linearisations differ, the
	// computed likelihood of the observed data may be slightly above the likelihood of
	// perfectly predicted data. If the computed likelihood is far above that of perfectly
	// predicted data, the filter that does not use the data has diverged.
	if m.fit+extra > float64(m.values) {
		return 0, fmt.Errorf("filter: the two filters of DALTON disagree on %d data by a factor of e^%.3g: want a smaller step, or Fenrir", m.values, m.fit+extra)
	}
	return extra, nil
}

func (m *Marginal) solve(theta []float64, observe func(*recording, int, []float64) error) error {
	m.pass.again()
	m.pass.observe = observe
	m.pass.run.kappa = m.kappa
	err := m.solver.Solve(m.path, theta, nil)
	if err == nil {
		err = m.moved()
	}
	if _, ok := m.rows[len(m.solver.Times())-1]; ok && err == nil {
		err = m.pass.run.finish(m.path, theta)
	}
	first, _ := m.pass.run.g.Segment(0)
	if n, ok := m.rows[0]; ok && first > 0 && err == nil { // the pass begins after an event at the start
		copy(m.x, m.path)
		m.look(n, m.x, &m.row)
		for v, mean := range m.row.Mean {
			at := 2 * (n*len(m.row.Mean) + v)
			m.dst[at], m.dst[at+1] = mean, m.row.SD[v]
		}
	}
	return err
}

// moved refuses grid points with data that have moved with the time of an event.
func (m *Marginal) moved() error {
	grid := m.solver.Times()
	span := grid[len(grid)-1] - grid[0]
	for i, n := range m.rows {
		if math.Abs(grid[i]-m.times[n]) > 1e-9*span {
			return fmt.Errorf("filter: the time of an event has changed, so the observation time %g is no longer a grid point: make a new grid for this θ", m.times[n])
		}
	}
	return nil
}

// Work returns the number of solver steps in a call of Predict that repeats no pass.
func (m *Marginal) Work() int {
	if m.dalton {
		return 2 * m.solver.Steps()
	}
	return m.solver.Steps()
}

// backwards follows a forward pass. During visit, m.x is the mean of the state and
// m.own[k] the distribution of the normal variates of block k, which visit may condition
// on data.
func (m *Marginal) backwards(covariance bool, visit func(n int) error) error {
	run := m.pass.run
	last := len(run.chains[0].points) - 1
	for k, c := range run.chains {
		m.own[k] = unknown(c.points[last].rows)
		if !covariance {
			m.own[k].factor = nil
		}
	}
	for i := last; ; i-- {
		at := run.chains[0].points[i].index
		if n, ok := m.rows[at]; ok {
			copy(m.x, m.path[at*len(m.x):])
			for k, c := range run.chains {
				c.recall(i)
				for j, to := range run.parts[k] {
					m.x[to] = (c.z[j] + vector.Dot(m.own[k].mean, c.errors(j))) * c.level(j, c.unit)
				}
			}
			if err := visit(n); err != nil {
				return err
			}
		}
		if i == 0 {
			return nil
		}
		for k, c := range run.chains {
			l := c.stored(i)
			m.earlier[k] = m.earlier[k].resized(l.before)
			l.back(m.earlier[k], m.own[k], &m.wide)
			if !covariance {
				m.earlier[k].factor = nil
			}
			m.own[k], m.earlier[k] = m.earlier[k], m.own[k]
		}
	}
}

func (m *Marginal) smoothed() []float64 {
	d := len(m.x)
	x := make([]float64, len(m.rows)*d)
	copy(x, m.path[:d]) // stays if the pass begins after an event at the start
	_ = m.backwards(false, func(n int) error {
		copy(x[n*d:], m.x)
		return nil
	})
	return x
}

func (m *Marginal) observe(run *recording, i int, x []float64) error {
	if n, ok := m.rows[i]; ok {
		return m.condition(n, x)
	}
	return nil
}

// condition takes the values of row n one after another, expected at x by look. Fenrir
// conditions normal variates, and DALTON coordinates.
func (m *Marginal) condition(n int, x []float64) error {
	r, d, c, run := &m.row, len(x), len(m.row.Y), m.pass.run
	m.look(n, x, r)
	for v, y := range r.Y {
		slopes, mean := r.Slopes[v*d:(v+1)*d], r.Mean[v]
		k := -1 // the block that is observed
		for c, s := range slopes {
			if to := m.owner[c]; s != 0 && to >= 0 && to != k {
				if k >= 0 {
					return errCoupled
				}
				k = to
			}
		}
		k = max(k, 0)
		b := run.blocks[k]
		m.toward = resize(m.toward, 2*len(b.z))
		seen := m.toward[:b.rows] // the value as a function of the normal variates
		clear(seen)
		for j, from := range run.parts[k] {
			z, level := b.z[j], b.level(j, b.unit)
			column := b.errors(j)
			if !m.dalton {
				z += vector.Dot(m.own[k].mean, column)
			}
			mean += slopes[from] * (z*level - x[from])
			vector.AddScaled(seen, slopes[from]*level, column)
		}
		if !m.dalton {
			whole := m.toward[len(b.z):][:b.rows]
			clear(whole)
			for j, s := range seen {
				vector.AddScaled(whole[:j+1], s, m.own[k].factor[j*b.rows:])
			}
			seen = whole
		}
		root := m.kappa * b.root
		sd := math.Hypot(r.SD[v], root*length(seen))
		m.dst[2*(n*c+v)], m.dst[2*(n*c+v)+1] = mean, sd
		if math.IsNaN(y) {
			continue
		}
		z := (y - mean) / sd
		m.fit -= z*z/2 + math.Log(sd/r.SD[v])
		m.values++
		if b.rows > 0 {
			m.update(k, seen, r.SD[v]/root, y-mean)
		}
	}
	return nil
}

// update conditions block k on a value: `sd` is that of the error divided by the scale s
// of link, `residual` the difference to its mean, and `seen` its derivative with respect
// to s u.
func (m *Marginal) update(k int, seen []float64, sd, residual float64) {
	b, n, rows := m.pass.run.blocks[k], len(m.pass.run.blocks[k].z), len(seen)
	own, next := &m.own[k], &m.pass.run.chains[k].next
	factor, columns, more := b.r, n, 0
	if !m.dalton {
		factor, columns = own.factor, rows
	} else if m.pass.linked {
		more = next.before // the link must lead to the normal variates after the update
	}
	height := next.after + next.rest
	tall := rows + 1
	m.wide = resize(m.wide, tall*(1+columns+more))
	clear(m.wide)
	m.wide[0] = sd
	copy(m.wide[1:], seen)
	for j := range columns {
		copy(m.wide[(1+j)*tall+1:], factor[j*rows:][:min(j+1, rows)])
	}
	for j := range more {
		copy(m.wide[(1+columns+j)*tall+1:], next.a[j*height:j*height+rows])
	}
	triangularize(m.wide, tall, tall, 1+columns, 1+columns+more)
	step := residual / m.wide[0]
	for j := range columns {
		column := m.wide[(1+j)*tall:][:tall]
		copy(factor[j*rows:], column[1:min(j+2, tall)])
		clear(factor[j*rows+min(j+1, rows) : (j+1)*rows])
		if m.dalton {
			b.z[b.columns[j]] += step * column[0]
		} else {
			own.mean[j] += step * column[0]
		}
	}
	for j := range more {
		column := m.wide[(1+columns+j)*tall:][:tall]
		next.drift[j] += step * column[0]
		copy(next.a[j*height:], column[1:])
	}
}

package filter

import (
	"context"
	"fmt"
	"math"

	"github.com/probode/probode/pkg/probode"
)

// A Row holds the observations at one time, with their distribution near a state x: the
// values are independent and Gaussian, with means that are linear in the state.
type Row struct {
	Y      []float64 // NaN where a value is missing
	Mean   []float64 // expected values at x
	Slopes []float64 // derivatives of Mean with respect to x, a row of d for each value
	SD     []float64 // standard deviations
}

// A Marginal predicts observations with the uncertainty of the solution integrated out.
// Each value is predicted from the equation and from the values that were used before it,
// so the product of the predictive densities is the likelihood p(Y | θ).
//
// Working backwards in time, Fenrir [T22] takes the posterior distribution of the
// solution given the equation, and conditions it on the data. The alternative is DALTON
// [WL24], with
//
//	log p(Y, Z) − log p(Z)
//
// from two filters that run forwards in time: the first sees the data Y and the residuals
// Z of the equation, and the second sees only the residuals. Each linearises f at its own
// predictions, so the data improve the linearisation. If f is affine, DALTON and Fenrir
// agree.
//
// A Marginal owns its workspace and serves one goroutine.
type Marginal struct {
	dalton bool
	solver *probode.Solver
	pass   *pass
	path   []float64
	rows   map[int]int // the row of data at a grid point
	kappa  float64
	row    Row
	look   func(n int, x []float64, r *Row)
	dst    []float64
	wide   []float64 // workspace of updates

	// For DALTON: the number of values, and their log density minus that of values that
	// are predicted exactly.
	values int
	fit    float64
	sum    []float64
	x      []float64
}

// NewMarginal returns a Marginal for c values at each of the given times, which must be
// points of the grid g.
func NewMarginal(p *probode.Problem, m EK, g *probode.Grid, times []float64, c int, dalton bool) (*Marginal, error) {
	index, err := g.Index(times)
	if err != nil {
		return nil, err
	}
	d := p.Dim()
	out := &Marginal{dalton: dalton, pass: &pass{EK: m, joint: true}, rows: map[int]int{}, sum: make([]float64, (m.Q+1)*d+1), x: make([]float64, d),
		row: Row{make([]float64, c), make([]float64, c), make([]float64, c*d), make([]float64, c)}}
	for n, i := range index {
		if _, ok := out.rows[i]; ok {
			return nil, fmt.Errorf("filter: two of the times fall on the same grid point, %g", times[n])
		}
		out.rows[i] = n
	}
	if out.solver, err = probode.NewSolver(p, out.pass, g, 0); err != nil {
		return nil, err
	}
	out.path = make([]float64, out.solver.PathLen())
	return out, nil
}

// For each time and value, Predict writes to dst the mean and the standard deviation of
// the predictive distribution. The function look describes the values with index n near
// the state x. The log likelihood is the sum of the log densities of all values that are
// not missing, plus the result extra, which is zero for Fenrir. The argument alpha is the
// diffusion κ² > 0.
//
// Only DALTON can treat errors that are not Gaussian. Then look describes Gaussian errors
// that approximate them near the mode of the solution given the data. The function
// settled, which is nil otherwise, checks this approximation. Its argument x is the mean
// given all the data, with one row for each time. While settled returns false, the pass
// over the data is repeated.
func (m *Marginal) Predict(ctx context.Context, dst, theta []float64, alpha float64, look func(n int, x []float64, r *Row), settled func(x []float64) bool) (extra float64, err error) {
	c := len(m.row.Y)
	if len(dst) != 2*len(m.rows)*c {
		panic(fmt.Sprintf("filter: dst has length %d: want 2·%d·%d, for the times and values", len(dst), len(m.rows), c))
	}
	if !(alpha > 0) || math.IsInf(alpha, 1) {
		return 0, fmt.Errorf("filter: the diffusion is %g: want a finite number > 0", alpha)
	}
	defer m.solver.Bind(ctx)()
	m.kappa, m.dst, m.look = math.Sqrt(alpha), dst, look
	run := m.pass.run
	if !m.dalton {
		if err := m.solve(theta, nil); err != nil {
			return 0, err
		}
		m.backwards(func(n int, z, rows []float64) []float64 {
			m.look(n, m.x, &m.row)
			return m.condition(run.blocks[0], n, z, rows, m.x)
		})
		return 0, nil
	}
	if err := m.solve(theta, nil); err != nil {
		return 0, err
	}
	extra = run.square[0]/alpha/2 + run.logDet
	for repeat := true; repeat; {
		m.fit, m.values = 0, 0
		if err := m.solve(theta, m.observe); err != nil {
			return 0, err
		}
		repeat = settled != nil && !settled(m.smoothed())
	}
	// Where derivatives are approximated by differences, the two passes use slightly
	// different equations, and so the error of the result is proportional to the squared
	// residuals. At these limits the error of the result is about 0.01.
	limit := 1e13
	switch {
	case len(run.p.Events) > 0:
		limit = 1e3
	case run.Jacobian == Cubature || run.lin != nil && !run.lin.Exact():
		limit = 1e7
	}
	if square := run.square[0] / alpha; square > limit {
		return 0, fmt.Errorf("filter: the diffusion %g is so small that the rounding errors of DALTON dominate: the squared residuals are %.2g in its units, and the limit is %g: want a larger one, or Fenrir", alpha, square, limit)
	}
	extra -= run.square[0]/alpha/2 + run.logDet
	// If both filters had the same linearisation, no data could be more likely than data that
	// are predicted exactly. They may be a little more likely, because the linearisations
	// differ; where the first filter diverges, the difference has no meaning.
	if m.fit+extra > float64(m.values) {
		return 0, fmt.Errorf("filter: the two filters of DALTON disagree, and %d data would be e^%.3g times as likely as if they were predicted exactly: want a smaller step, or Fenrir", m.values, m.fit+extra)
	}
	return extra, nil
}

// solve makes a pass.
func (m *Marginal) solve(theta []float64, observe func(*recording, int, []float64) error) error {
	m.pass.again()
	m.pass.observe = observe
	m.pass.run.kappa = m.kappa
	return m.solver.Solve(m.path, theta, nil)
}

// Work returns the number of steps that a prediction takes.
func (m *Marginal) Work() int {
	if m.dalton {
		return 2 * m.solver.Steps()
	}
	return m.solver.Steps()
}

// The method backwards follows the distribution of the solution in the last pass,
// backwards in time. At each time with data it calls visit, with the state in m.x and the
// mean z and the factor rows of its distribution. The function may change z, and returns
// the new factor; nil means that the covariance is no longer needed.
func (m *Marginal) backwards(visit func(n int, z, rows []float64) []float64) {
	ch := m.pass.run.chains[0]
	last := len(ch.points) - 1
	z, rows := append([]float64(nil), ch.points[last].z...), ch.points[last].rows
	var k backward
	for i := last; ; i-- {
		if n, ok := m.rows[ch.points[i].index]; ok {
			copy(m.x, m.path[ch.points[i].index*len(m.x):])
			for j, k := range m.pass.run.parts[0] {
				m.x[k] = z[j] * ch.level(j, ch.unit)
			}
			rows = visit(n, z, rows)
		}
		if i == 0 {
			return
		}
		k.before(ch, &ch.points[i-1], i)
		k.pull(z, &ch.points[i-1], ch.points[i].z)
		if rows != nil {
			rows = k.pullRows(rows)
		}
	}
}

// smoothed returns the mean of the state at the observation times, given the equation and
// all the data.
func (m *Marginal) smoothed() []float64 {
	d := len(m.x)
	x := make([]float64, len(m.rows)*d)
	m.backwards(func(n int, _, _ []float64) []float64 {
		copy(x[n*d:], m.x)
		return nil
	})
	return x
}

// observe conditions the filter on the data at grid point i.
func (m *Marginal) observe(run *recording, i int, x []float64) error {
	n, ok := m.rows[i]
	if !ok {
		return nil
	}
	b := run.blocks[0]
	m.look(n, x, &m.row)
	rows := m.condition(b, n, b.z, b.r[:b.rows*b.q*b.w], x)
	copy(b.r, rows)
	return nil
}

// condition replaces a distribution with mean z by its conditional distribution given the
// data in m.row, one value after another, and returns the rows of the new factor. In
// DALTON the rows are those of a block, without z₁.
func (m *Marginal) condition(b *block, n int, z, rows, x []float64) []float64 {
	r, d, c, part := &m.row, len(x), len(m.row.Y), m.pass.run.parts[0]
	root := b.scale(m.kappa)
	length := len(b.z)
	if m.dalton {
		length -= b.w
	}
	count := len(rows) / length
	for k, y := range r.Y {
		slopes := r.Slopes[k*d : (k+1)*d]
		mean := r.Mean[k]
		for j, k := range part {
			mean += slopes[k] * (z[j]*b.level(j, b.unit) - x[k])
		}
		m.wide = resize(m.wide, (count+1)*(length+1))
		clear(m.wide[:length+1])
		m.wide[0] = r.SD[k] / root
		for i := range count {
			row := m.wide[(i+1)*(length+1) : (i+2)*(length+1)]
			copy(row[1:], rows[i*length:])
			row[0] = 0
			for j, k := range part {
				row[0] += slopes[k] * row[1+j] * b.level(j, b.unit)
			}
		}
		var size float64
		for i := range count + 1 {
			size = math.Hypot(size, m.wide[i*(length+1)])
		}
		m.dst[2*(n*c+k)], m.dst[2*(n*c+k)+1] = mean, root*size
		if !math.IsNaN(y) {
			z := (y - mean) / (root * size)
			m.fit -= z*z/2 + math.Log(root*size/r.SD[k])
			m.values++
		}
		if math.IsNaN(y) || count == 0 {
			continue
		}
		triangularize(m.wide, count+1, length+1, m.sum)
		clearBelow(m.wide, count+1, length+1)
		if step := (y - mean) / m.wide[0]; m.dalton {
			b.move(z, step, m.wide[1:length+1])
		} else {
			add(z, step, m.wide[1:length+1])
		}
		for i := range count {
			copy(rows[i*length:(i+1)*length], m.wide[(i+1)*(length+1)+1:(i+2)*(length+1)])
		}
	}
	return rows
}

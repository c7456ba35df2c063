package adams

import (
	"fmt"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/internal/vector"
	"github.com/probode/probode/pkg/probode/methods"
)

// A history holds the data common to the steppers of all multistep methods. A history
// contains the values F_i, F_{i−1}, … of the current segment. A history also contains a
// stepper of the classical Runge–Kutta method. The Runge–Kutta method takes the first
// steps of each segment, until there are enough values of f for the multistep method.
type history struct {
	p     *probode.Problem
	g     *probode.Grid
	d     int
	first int       // number of steps that Runge–Kutta takes
	begin int       // grid point at which the segment begins
	last  int       // the last step that was taken
	f     []float64 // F at grid point i, in row i mod 8
	start probode.Stepper
	local probode.Estimator // estimates errors if there are too few earlier steps

	slopes *slopes   // for the derivatives of steps
	back   []float64 // gradients with respect to F_i, as in f; nil before the first use
}

// newHistory returns the history for a method that uses s values of f. The grid must have
// more steps than the method has starting steps.
func newHistory(p *probode.Problem, g *probode.Grid, s int) (history, error) {
	m := history{p: p, g: g, d: p.Dim(), first: max(0, s-1), f: make([]float64, 8*p.Dim())}
	if n := g.Steps(); !g.Grows() && m.first >= n {
		return m, fmt.Errorf("a %d-step method needs %d starting steps, but the grid has only %d steps: use a smaller step", s, m.first, n)
	}
	var err error
	m.start, err = methods.RungeKutta{}.Stepper(p, g)
	return m, err
}

func (m *history) row(i int) []float64 { return row(m.f, i&7, m.d) }

// The method add() adds c Σ_j β_j F_{i−j} to dst.
func (m *history) add(dst []float64, c float64, beta []float64, i int) {
	for j, b := range beta {
		b *= c
		for k, v := range m.row(i - j)[:len(dst)] {
			dst[k] += b * v
		}
	}
}

func (m *history) Start(i int, _, _ []float64) error {
	m.begin = i
	clear(m.back)
	return nil
}

// Recall evaluates f at the states that later steps use, and at one more state for the
// error estimate.
func (m *history) Recall(from, i int, z, theta []float64) {
	m.begin, m.last = from, i-1
	for j := max(from, i-m.first-1); j < i; j++ {
		m.p.F(m.row(j), m.g.Times()[j], row(z, j, m.d), theta)
	}
}

// The method starting() reports whether step i is taken by the Runge–Kutta method. A
// one-step method has no starting steps, so it need not store the grid point at which the
// segment began.
func (m *history) starting(i int) bool { return m.first > 0 && i < m.begin+m.first }

// The method quiet() reports whether the starting steps of the current segment have no
// noise. In the first segment, starting steps have no noise, as in the experiments of
// [T18]. The starting steps after an event have noise. If there are many events, such as
// doses of a drug, there are also many starting steps, and their errors must not be
// ignored.
func (m *history) quiet() bool { return m.begin == 0 }

// startStep takes a starting step without noise.
func (m *history) startStep(dst []float64, i int, x, theta []float64) error {
	m.p.F(m.row(i), m.g.Times()[i], x, theta)
	return m.start.Step(dst, i, x, theta, nil, nil)
}

// Memory returns how many numbers Save stores: one for the grid point at which the
// segment began, and the rest for the past values that the next step uses. For a one-step
// method, the result is 0.
func (m *history) Memory() int {
	if m.first == 0 {
		return 0
	}
	return 1 + m.first*m.d
}

func (m *history) Save(dst []float64) {
	if m.first == 0 {
		return
	}
	dst[0] = float64(m.begin)
	for j := range m.first {
		copy(dst[1+j*m.d:], m.row(m.last-j+8))
	}
}

func (m *history) Restore(i int, src []float64) {
	if m.first == 0 {
		return
	}
	m.begin = int(src[0])
	m.last = i - 1
	for j := range m.first {
		copy(m.row(i-1-j+8), src[1+j*m.d:1+(j+1)*m.d])
	}
}

// The method versus() evaluates f at the state in the argument `next`, and then computes
// a state at the end of step i by the implicit formula c. The method writes the
// difference between `next` and the computed state to dst.
func (m *history) versus(c *table, dst []float64, i int, x, next, theta []float64) error {
	h, beta := m.g.H(i), c.at(i)
	m.p.F(dst, m.g.Times()[i+1], next, theta)
	for k, f := range dst {
		dst[k] = next[k] - x[k] - h*beta[0]*f
	}
	m.add(dst, -h, beta[1:], i)
	return nil
}

// The method doubled() estimates the local error of a one-step method by step doubling.
func (m *history) doubled(of probode.Method, dst []float64, i int, x, next, theta []float64) error {
	if m.local == nil {
		step, err := probode.Doubled{Method: of}.Stepper(m.p, m.g)
		if err != nil {
			return err
		}
		m.local = step.(probode.Estimator)
	}
	return m.local.LocalError(dst, i, x, next, theta)
}

// The type `slopes` holds the derivatives of past values of f as M×d matrices: df[i mod
// 8] is the derivative of F_i.
type slopes struct {
	diff    *probode.Differentiator
	df      [8][]float64
	v, u, w []float64
}

// The method differentiator() allocates memory for derivatives in `count` directions.
func (m *history) differentiator(count int, jacobian bool) *slopes {
	if m.slopes == nil {
		m.slopes = &slopes{diff: probode.NewDifferentiator(m.p, jacobian), v: make([]float64, m.d), u: make([]float64, m.d), w: make([]float64, m.d)}
	}
	if len(m.slopes.df[0]) != count*m.d {
		for k := range m.slopes.df {
			m.slopes.df[k] = make([]float64, count*m.d)
		}
	}
	return m.slopes
}

// differentiateStart differentiates a starting step.
func (m *history) differentiateStart(dnext []float64, i int, x, next, theta []float64, tg *probode.Tangents) error {
	m.differentiateSlope(i, x, theta, tg)
	return m.start.(probode.Differentiable).Differentiate(dnext, i, x, next, theta, nil, nil, tg)
}

// differentiateSlope computes and stores the derivatives of F_i.
func (m *history) differentiateSlope(i int, x, theta []float64, tg *probode.Tangents) {
	s := m.slopes
	s.diff.At(m.g.Times()[i], x, theta, m.row(i))
	for k := range tg.M {
		dtheta, dx, dt, _ := tg.Direction(k)
		s.diff.Along(row(s.df[i&7], k, m.d), dx, dtheta, dt)
	}
}

// addSlopes adds c Σ_j β_j dF_{i−j} for direction k to dst.
func (m *history) addSlopes(dst []float64, c float64, beta []float64, i, k int) {
	for j, b := range beta {
		vector.AddScaled(dst, b*c, row(m.slopes.df[(i-j)&7], k, m.d))
	}
}

// The method reverse() allocates memory for the gradients with respect to past values of
// f.
func (m *history) reverse() {
	if m.back == nil {
		m.back = make([]float64, 8*m.d)
	}
}

// backRow returns the gradient with respect to F_i.
func (m *history) backRow(i int) []float64 { return row(m.back, i&7, m.d) }

// reverseSum propagates gradients back through the sum c Σ_j β_j F_{i−j}. The argument
// lambda is the gradient with respect to the sum.
func (m *history) reverseSum(c float64, beta []float64, i int, lambda []float64) {
	for j, b := range beta {
		vector.AddScaled(m.backRow(i-j), b*c, lambda)
	}
}

// reverseSlope propagates gradients back through F_i. Call reverseSlope after all steps
// that use F_i have been reversed.
func (m *history) reverseSlope(a *probode.Adjoint, i int, x, theta []float64) {
	a.Field(a.X, m.backRow(i), m.g.Times()[i], 0, x, theta)
	clear(m.backRow(i))
}

// reverseStart propagates gradients back through a starting step.
func (m *history) reverseStart(a *probode.Adjoint, i int, x, next, theta []float64) error {
	m.reverseSlope(a, i, x, theta)
	return m.start.(probode.Reverser).Reverse(a, i, x, next, theta, nil, nil)
}

// The function row() returns row i of a path.
func row(z []float64, i, d int) []float64 { return z[i*d : (i+1)*d : (i+1)*d] }

// The function part() returns row i of xi, or nil if xi is nil.
func part(xi []float64, i, d int) []float64 {
	if xi == nil {
		return nil
	}
	return row(xi, i, d)
}

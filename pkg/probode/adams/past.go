package adams

import (
	"fmt"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/field"
	"github.com/probode/probode/pkg/probode/internal/vector"
	"github.com/probode/probode/pkg/probode/methods"
)

// A history has the values F_i, F_{i−1}, … of the current segment, whose steps count from
// 0. The classical Runge–Kutta method takes its first steps.
type history struct {
	p       *probode.Problem
	d       int
	uniform bool       // all steps have the same length
	first   int        // number of steps that Runge–Kutta takes
	n       int        // number of known values of f
	f       []float64  // F_i, in row i mod 8
	t       [8]float64 // the time at which step i begins, in element i mod 8
	start   *probode.Stepper
	local   func(dst []float64, s *probode.Step) error // estimates errors if there are too few earlier steps
	plain   probode.Step                               // a step without noise
	one     probode.Step                               // a step of a run

	slopes *slopes   // for the derivatives of steps
	back   []float64 // gradients with respect to F_i, as in f; nil before the first use
}

func newHistory(p *probode.Problem, g *probode.Grid, s int) (history, error) {
	m := history{p: p, d: p.Dim(), first: max(0, s-1), f: make([]float64, 8*p.Dim())}
	if g != nil && m.first >= g.Steps() {
		return m, fmt.Errorf("a %d-step method needs %d starting steps, but the grid has only %d steps: use a smaller step", s, m.first, g.Steps())
	}
	if g != nil {
		_, m.uniform = g.Uniform()
	}
	var err error
	m.start, err = methods.RungeKutta{}.Stepper(p, g)
	return m, err
}

func (m *history) stepper() *probode.Stepper {
	s := &probode.Stepper{Start: m.begin}
	if m.first > 0 {
		s.Memory, s.Save, s.Restore = 1+m.first*(1+m.d), m.save, m.restore
	}
	return s
}

func (m *history) row(i int) []float64 { return row(m.f, i&7, m.d) }

// add adds c Σ_j β_j F_{i−j} to dst.
func (m *history) add(dst []float64, c float64, beta []float64, i int) {
	for j, b := range beta {
		b *= c
		for k, v := range m.row(i - j)[:len(dst)] {
			dst[k] += b * v
		}
	}
}

func (m *history) begin(*probode.Step) error {
	m.n = 0
	clear(m.back)
	return nil
}

// step returns the number of the step that begins at t. One before the last takes its
// place.
func (m *history) step(t float64) (i int) {
	for m.n > 0 && m.t[(m.n-1)&7] >= t {
		m.n--
	}
	i = m.n
	m.t[i&7] = t
	m.n++
	return i
}

func (m *history) last() int { return m.n - 1 }

func (m *history) starting(i int) bool { return i < m.first }

func (m *history) startStep(i int, s *probode.Step) error {
	m.p.F(m.row(i), s.T, s.X, s.Theta)
	return m.start.Step(m.quiet(s))
}

func (m *history) quiet(s *probode.Step) *probode.Step {
	m.plain = *s
	m.plain.Xi, m.plain.Scale = nil, nil
	return &m.plain
}

func (m *history) save(dst []float64) {
	dst[0] = float64(m.n)
	for j := 1; j <= m.first; j++ {
		own := dst[1+(j-1)*(1+m.d):]
		own[0] = m.t[(m.n-j)&7]
		copy(own[1:1+m.d], m.row(m.n-j))
	}
}

func (m *history) restore(src []float64) {
	m.n = int(src[0])
	for j := 1; j <= m.first; j++ {
		own := src[1+(j-1)*(1+m.d):]
		m.t[(m.n-j)&7] = own[0]
		copy(m.row(m.n-j), own[1:1+m.d])
	}
}

// versus compares s.Next with the state by the implicit formula c.
func (m *history) versus(c *table, dst []float64, i int, s *probode.Step) error {
	beta := c.at(m, i, s.End)
	m.p.F(dst, s.End, s.Next, s.Theta)
	for k, f := range dst {
		dst[k] = s.Next[k] - s.X[k] - s.H*beta[0]*f
	}
	m.add(dst, -s.H, beta[1:], i)
	return nil
}

func (m *history) doubled(of probode.Method, dst []float64, s *probode.Step) error {
	if m.local == nil {
		step, err := probode.Doubled{Method: of}.Stepper(m.p, nil)
		if err != nil {
			return err
		}
		m.local = step.LocalError
	}
	return m.local(dst, s)
}

type slopes struct {
	diff    *field.Differentiator
	df      [8][]float64
	v, u, w []float64
}

func (m *history) differentiator(count int, jacobian bool) *slopes {
	if m.slopes == nil {
		m.slopes = &slopes{diff: field.NewDifferentiator(m.p.Field(), jacobian), v: make([]float64, m.d), u: make([]float64, m.d), w: make([]float64, m.d)}
	}
	if len(m.slopes.df[0]) != count*m.d {
		for k := range m.slopes.df {
			m.slopes.df[k] = make([]float64, count*m.d)
		}
	}
	return m.slopes
}

func (m *history) differentiateStart(dnext []float64, i int, s *probode.Step, tg *probode.Tangents) error {
	m.differentiateSlope(i, s, tg)
	return m.start.Differentiate(dnext, m.quiet(s), tg)
}

func (m *history) differentiateSlope(i int, s *probode.Step, tg *probode.Tangents) {
	w := m.slopes
	w.diff.At(s.T, s.X, s.Theta, m.row(i))
	for k := range tg.M {
		dtheta, dx, dt, _ := tg.Direction(k)
		w.diff.Along(row(w.df[i&7], k, m.d), dx, dtheta, dt)
	}
}

func (m *history) addSlopes(dst []float64, c float64, beta []float64, i, k int) {
	for j, b := range beta {
		vector.AddScaled(dst, b*c, row(m.slopes.df[(i-j)&7], k, m.d))
	}
}

func (m *history) reverse(a *probode.Adjoint) (i int) {
	if m.back == nil {
		m.back = make([]float64, 8*m.d)
	}
	if !m.uniform {
		for i = max(0, a.Before-m.first); i <= a.Before; i++ { // the times that coefficients depend on
			m.t[i&7] = a.Times[i]
		}
	}
	return a.Before
}

func (m *history) backRow(i int) []float64 { return row(m.back, i&7, m.d) }

func (m *history) reverseSum(c float64, beta []float64, i int, lambda []float64) {
	for j, b := range beta {
		vector.AddScaled(m.backRow(i-j), b*c, lambda)
	}
}

// reverseSlope comes after all steps that use F_i.
func (m *history) reverseSlope(a *probode.Adjoint, i int, s *probode.Step) {
	lambda := m.backRow(i)
	a.Field(a.X, lambda, s.T, 0, s.X, s.Theta)
	clear(lambda)
}

func (m *history) reverseStart(a *probode.Adjoint, i int, s *probode.Step) error {
	m.reverseSlope(a, i, s)
	return m.start.Reverse(a, m.quiet(s))
}

func row(z []float64, i, d int) []float64 { return z[i*d : (i+1)*d : (i+1)*d] }

func part(xi []float64, i, d int) []float64 {
	if xi == nil {
		return nil
	}
	return row(xi, i, d)
}

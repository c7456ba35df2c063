package model

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"

	"github.com/probode/probode/pkg/internal/text"
	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/model/internal/equations"
	"github.com/probode/probode/pkg/probode/model/internal/expr"
)

// ODE returns the initial value problem of an experiment of p. The parameters are
//
//	θ = the values of all p.Params on the linear scale, in their order.
//
// The span extends from the start of the model to the last finite time in the rows of
// data. If no row has a finite time after the start, the span is one unit of time long.
// F, FJ and FTheta are exact, allocate no memory after their first calls, and may be
// called by any number of goroutines. If a banded Jacobian costs less than a dense one,
// Band is not nil. Events contains the events of the experiment and the switches. A
// switch is a time at which f changes its form. If an event and a measurement have the
// same time, the measurement is made before the event, unless SeenAfter of the event is
// true.
//
// Theta contains the nominal values. A parameter without a nominal value has the value 0
// if nothing in p uses it; otherwise ODE returns an error.
//
// If preequilibration precedes the experiment, Start computes the steady state. Computing
// the steady state allocates memory and takes as long as a solve. If there is no steady
// state, x₀ is NaN, and solvers return an error.
func (p *File) ODE(e *Instance) (*probode.Problem, error) {
	c, err := p.compile(e)
	if err != nil {
		return nil, err
	}
	theta := p.Nominal()
	if err := p.complete(theta); err != nil {
		return nil, err
	}
	c.ode.Theta = theta
	if h := c.ode.Hybrid; h != nil {
		h.Theta, h.Span = theta, c.ode.Span
	}
	return c.ode, nil
}

// ODEs returns the initial value problems of p.Instances, in the same order (see ODE).
func (p *File) ODEs() ([]*probode.Problem, error) {
	list, err := p.Instances()
	if err != nil {
		return nil, err
	}
	out := make([]*probode.Problem, len(list))
	for i, e := range list {
		if out[i], err = p.ODE(e); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func (p *File) paramNames() []string {
	names := make([]string, len(p.Params))
	for i, q := range p.Params {
		names[i] = q.ID
	}
	return names
}

// Nominal returns the nominal values of all parameters, in the form that LogLikelihood.At
// takes. The value is NaN for a parameter that has no nominal value.
func (p *File) Nominal() []float64 {
	theta := make([]float64, len(p.Params))
	for i, q := range p.Params {
		theta[i] = q.Nominal
	}
	return theta
}

// complete refuses a parameter that is used and not finite, and sets an unused one to 0.
func (p *File) complete(theta []float64) error {
	var used map[string]bool
	var missing []string
	for i, v := range theta {
		if v-v == 0 {
			continue
		}
		if used == nil {
			used = map[string]bool{}
			for _, m := range p.Models {
				m.uses(used)
			}
		}
		if q := &p.Params[i]; used[q.ID] {
			if math.IsNaN(v) && math.IsNaN(q.Nominal) {
				missing = append(missing, text.Clip(q.ID))
				continue
			}
			return fmt.Errorf("parameter %s is %g: want a finite number", text.Clip(q.ID), v)
		}
		theta[i] = 0
	}
	if missing != nil {
		return fmt.Errorf("the values of %s are missing: want them, or a nominalValue for each in the file", strings.Join(missing, ", "))
	}
	return nil
}

type compiledInstance struct {
	e      *Instance
	title  string
	params []string // parameters of the problem
	moves  []int    // indices of the parameters on which states depend
	poles  func(s *system) []expr.Pole

	ode *probode.Problem
	pre *steadyFinder // steady state of preequilibration; nil if there is none
	end *steadyFinder // steady state of ode
}

func (p *File) compile(e *Instance) (*compiledInstance, error) {
	c := &compiledInstance{e: e, params: p.paramNames(), title: e.model.Name, poles: p.poles(e.model.start)}
	if c.title == "" {
		c.title = p.Name
	}
	if e.Condition != "" {
		c.title += ", " + e.Condition
	}
	c.title = text.Clip(c.title)
	if len(e.states) == 0 {
		return nil, fmt.Errorf("%s has no states: want a model with at least one differential equation", c.title)
	}
	end := e.model.start
	for _, r := range e.rows {
		if !math.IsInf(r.time, 1) {
			end = max(end, r.time)
		}
	}
	if end == e.model.start {
		end++
	}
	moving := map[string]bool{}
	e.system.symbols(moving)
	if e.pre != nil {
		e.pre.symbols(moving)
	}
	for i, id := range c.params {
		if moving[id] {
			c.moves = append(c.moves, i)
		}
	}
	if e.pre != nil {
		pre := c.system(e.pre)
		pre.Name += ", preequilibration at " + text.Clip(e.preequilibration)
		c.pre = newSteadyFinder(pre, c.moves)
		c.pre.period = c.period()
	}
	c.ode = c.system(&e.system)
	plain := *c.ode
	c.end = newSteadyFinder(&plain, c.moves)
	c.ode.Span[1] = end
	if e.hybrid != nil {
		c.ode.Hybrid = c.system(e.hybrid)
	}
	return c, nil
}

func (c *compiledInstance) period() func(theta []float64) (float64, []float64) {
	if c.e.period == nil {
		return nil
	}
	inputs := append([]string{expr.Time}, c.params...)
	at, slopes := scalar(c.e.period, inputs), derivatives(inputs, []*expr.Node{c.e.period}, c.params)
	return func(theta []float64) (float64, []float64) {
		slope := make([]float64, len(c.params))
		slopes().eval(nil, slope, 0, nil, theta)
		return at(0, nil, theta), slope
	}
}

func (s *system) symbols(to map[string]bool) {
	addSymbols(to, slices.Concat(s.initial, s.rates, s.switches)...)
	for _, e := range s.events {
		addSymbols(to, e.Time, e.Trigger, e.Priority)
		for _, j := range e.Jumps {
			addSymbols(to, j.Value)
		}
	}
}

// system converts s to a Problem, whose span is one unit of time. It starts from the
// steady state of c.pre, if that is not nil.
func (c *compiledInstance) system(s *system) *probode.Problem {
	d, n, start := len(s.states), len(c.params), c.e.model.start
	inputs := append(append([]string{expr.Time}, s.states...), c.params...)
	q := &probode.Problem{Name: c.title, X0: make([]float64, d), Span: [2]float64{start, start + 1}, TimeUnit: c.e.model.TimeUnit,
		States: c.stateNames(s), Params: c.params, Theta: make([]float64, n), Symbolic: true}
	q.Autonomous = !slices.Contains(expr.SymbolsOf(s.rates...), expr.Time)

	for k, r := range s.rates {
		if v, ok := r.Const(); ok && v == 0 {
			q.Noiseless = append(q.Noiseless, k)
		}
	}

	c.rates(q, s, inputs)
	q.Band = band(s)
	both := lazily(inputs, s.rates, func() [][]*expr.Node { return expr.Jacobian(s.rates, s.states) }, inJacobian(q), c.params...)
	q.FJ = func(f, jac []float64, t float64, x, theta []float64) { both().eval(f, jac, t, x, theta) }
	if n > 0 {
		slopes := derivatives(inputs, s.rates, c.params, c.params...)
		q.FTheta = func(dst []float64, t float64, x, theta []float64) { slopes().eval(nil, dst, t, x, theta) }
		q.Pullback = pullback(q, inputs, s.rates)
	}
	c.start(q, s, inputs)
	c.events(q, s, inputs)
	return q
}

// poles returns a function that lists the poles that a solution could pass: those whose
// denominators do not depend on parameters alone.
func (p *File) poles(start float64) func(s *system) []expr.Pole {
	positive := map[string]bool{expr.Time: start >= 0}
	for _, q := range p.Params {
		positive[q.ID] = q.Lower >= 0 || q.Scale == Log || q.Scale == Log10
	}
	return func(s *system) []expr.Pole {
		list := expr.Poles(func(name string) bool { return positive[name] }, s.rates...)
		return slices.DeleteFunc(list, func(pole expr.Pole) bool {
			return !slices.ContainsFunc(pole.Zero.Symbols(), func(name string) bool { return name == expr.Time || slices.Contains(s.states, name) })
		})
	}
}

func (c *compiledInstance) rates(q *probode.Problem, s *system, inputs []string) {
	plain := newProgram(inputs, s.rates, c.params...)
	q.F = plain.eval
	outputs := slices.Clone(s.rates)
	for _, pole := range c.poles(s) {
		q.Poles, outputs = append(q.Poles, text.Clip(pole.Part.String())), append(outputs, pole.Zero)
	}
	if q.Poles == nil {
		return
	}
	both := sync.OnceValue(func() *program { return newProgram(inputs, outputs, c.params...) })
	q.F = func(dst []float64, t float64, x, theta []float64) {
		if len(dst) > len(x) {
			both().eval(dst, t, x, theta)
			return
		}
		plain.eval(dst, t, x, theta)
	}
}

// pullback returns NaN if a derivative is not finite, which it may be in an inactive
// branch of a formula.
func pullback(q *probode.Problem, inputs []string, rates []*expr.Node) func(dx, dtheta, lambda []float64, t float64, x, theta []float64) float64 {
	gradient := gradientOf(inputs, rates, q.Params...)
	return func(dx, dtheta, lambda []float64, t float64, x, theta []float64) (dt float64) {
		g := gradient()
		m := g.take(t, x, theta[:len(q.Theta)], lambda...)
		defer g.pool.Put(m)
		for _, v := range m.out {
			if v-v != 0 {
				return v - v
			}
		}
		return g.add(dx, dtheta, m.out)
	}
}

// gradientOf returns a program for the gradient of a weighted sum with respect to time,
// states and parameters, which are its inputs before the weights.
func gradientOf(inputs []string, of []*expr.Node, held ...string) func() *scatter {
	weights := weights(len(of))
	gradient := func() [][]*expr.Node { return [][]*expr.Node{expr.Gradient(of, weights, inputs, held...)} }
	return lazily(slices.Concat(inputs, weights), nil, gradient, func(_, j int) int { return j }, held...)
}

// weightName begins the names of weights, and no other name.
const weightName = "weight "

func weights(n int) []string {
	names := make([]string, n)
	for i := range names {
		names[i] = fmt.Sprint(weightName, i)
	}
	return names
}

// add adds the parts of a gradient to dx and dtheta, and returns that with respect to
// time.
func (s *scatter) add(dx, dtheta, out []float64) (dt float64) {
	for k, v := range out {
		switch i := s.place[k]; {
		case i == 0:
			dt = v
		case i <= len(dx):
			dx[i-1] += v
		default:
			dtheta[i-1-len(dx)] += v
		}
	}
	return dt
}

// start sets the initial state and its derivatives. From a steady state x*, these are
// ∂x₀/∂θ + ∂x₀/∂x* ∂x*/∂θ.
func (c *compiledInstance) start(q *probode.Problem, s *system, inputs []string) {
	d, n := len(s.states), len(c.params)
	initial := newProgram(inputs, s.initial)
	slopes := derivatives(inputs, s.initial, append(slices.Clone(s.states), c.params...))
	pre, none := c.pre, make([]float64, d)
	q.Start = func(x0, theta []float64) {
		before := none
		if pre != nil {
			before, _ = pre.state(theta, false)
		}
		initial.eval(x0, 0, before, theta)
	}
	q.StartTheta = func(dst, theta []float64) {
		before, slope := none, []float64(nil)
		if pre != nil {
			before, slope = pre.state(theta, true)
		}
		own := make([]float64, d*(d+n))
		slopes().eval(nil, own, 0, before, theta)
		for k := range d {
			row := own[k*(d+n):][:d+n]
			copy(dst[k*n:(k+1)*n], row[d:])
			for i := range slope {
				dst[k*n+i%n] += row[i/n] * slope[i]
			}
		}
	}
}

func derivatives(inputs []string, of []*expr.Node, names []string, held ...string) func() *scatter {
	return lazily(inputs, nil, func() [][]*expr.Node { return expr.Jacobian(of, names) }, func(i, j int) int { return i*len(names) + j }, held...)
}

func (c *compiledInstance) stateNames(s *system) []string {
	names := slices.Clone(s.states)
	for i := range c.e.model.States {
		st := &c.e.model.States[i]
		if k := slices.Index(names, st.ID); k >= 0 && st.Unit != "" {
			names[k] += " [" + text.Clip(st.Unit) + "]"
		}
	}
	return names
}

// band returns nil if dense elimination is cheaper. Elimination with row exchanges in a
// band with kl diagonals below and ku above the main one costs d kl (kl+ku) operations
// instead of d³/3.
func band(s *system) *probode.Bandwidth {
	b, d := probode.Bandwidth{}, len(s.states)
	column := map[string]int{}
	for j, id := range s.states {
		column[id] = j
	}
	for i, r := range s.rates {
		for _, name := range r.Symbols() {
			if j, ok := column[name]; ok {
				b.Lower, b.Upper = max(b.Lower, i-j), max(b.Upper, j-i)
			}
		}
	}
	if d < 8 || 6*(b.Lower+1)*(b.Lower+b.Upper+1) > d*d {
		return nil
	}
	return &b
}

func inJacobian(q *probode.Problem) func(i, j int) int {
	if b := q.Band; b != nil {
		return func(i, j int) int { return i*(b.Lower+b.Upper+1) + j - i + b.Lower }
	}
	return func(i, j int) int { return i*q.Dim() + j }
}

func (c *compiledInstance) events(q *probode.Problem, s *system, inputs []string) {
	add := func(n *expr.Node, name string, after bool, fit func(t float64) float64, e probode.Event) {
		e.Name, e.SeenAfter = name, !after
		if v, known := n.Const(); known {
			e.Time = fit(v)
		} else {
			at := scalar(n, append([]string{expr.Time}, c.params...))
			e.When = func(theta []float64) float64 { return fit(at(0, nil, theta)) }
		}
		q.Events = append(q.Events, e)
	}
	// The switches come first, so that a jump at the time of a switch is applied after
	// the switch.
	for k, n := range s.switches {
		never := func(t float64) float64 {
			if t != t { // 0/0: the condition never changes
				return math.Inf(1)
			}
			return t
		}
		add(n, "switch", s.strict[0] <= k && k < s.strict[1], never, probode.Event{})
	}
	for _, t := range s.knots {
		q.Events = append(q.Events, probode.Event{Name: "knot of an input", Time: t, Knot: true})
	}
	for _, e := range s.events {
		jump := c.jump(s, e.Jumps, inputs)
		if e.Trigger != nil {
			margin, _ := e.Trigger.Margin()
			jump.Trigger = scalar(margin, inputs)
			if e.Priority != nil {
				jump.Priority = scalar(e.Priority, inputs)
			}
			jump.Name, jump.AtStart, jump.SeenAfter = "event "+text.Clip(e.ID), e.Early == equations.Late, true
			q.Events = append(q.Events, jump)
			continue
		}
		early, start := e.Early, q.Span[0]
		fit := func(t float64) float64 {
			switch {
			case t > start || t != t || early == equations.AtStart:
				return t
			case early == equations.Late:
				return start
			}
			return math.Inf(-1) // the event is missed
		}
		add(e.Time, "event "+text.Clip(e.ID), e.After, fit, jump)
	}
}

func scalar(n *expr.Node, inputs []string) func(t float64, x, theta []float64) float64 {
	p := newProgram(inputs, []*expr.Node{n})
	return func(t float64, x, theta []float64) float64 {
		var v [1]float64
		p.eval(v[:], t, x, theta)
		return v[0]
	}
}

// jump sets Jump and JumpPullback. If two jumps set the same state, the later one takes
// effect.
func (c *compiledInstance) jump(s *system, jumps []equations.Jump, inputs []string) (e probode.Event) {
	values, index := make([]*expr.Node, len(jumps)), make([]int, len(jumps))
	for k, j := range jumps {
		values[k], index[k] = j.Value, slices.Index(s.states, j.State)
	}
	p := newProgram(inputs, values)
	e.Jump = func(x []float64, t float64, theta []float64) {
		m := p.take(t, x, theta)
		for k, v := range m.out {
			x[index[k]] = v
		}
		p.pool.Put(m)
	}
	gradient, n := gradientOf(inputs, values, c.params...), len(c.params)
	e.JumpPullback = func(lambda, dtheta, x []float64, t float64, theta []float64) float64 {
		g := gradient()
		var buffer [16]float64
		weights := append(buffer[:0], make([]float64, len(index))...)
		for k := len(index) - 1; k >= 0; k-- {
			weights[k], lambda[index[k]] = lambda[index[k]], 0
		}
		m := g.take(t, x, theta[:n], weights...)
		defer g.pool.Put(m)
		return g.add(lambda, dtheta, m.out)
	}
	return e
}

// A program may be used by any number of goroutines, a machine by one.
type program struct {
	pool sync.Pool
}

type machine struct {
	*expr.Program
	in, out []float64
}

// newProgram compiles expressions of an Instance, which always can be. The parameters in
// `held` often keep their values from one evaluation to the next.
func newProgram(inputs []string, outputs []*expr.Node, held ...string) *program {
	c, err := expr.Compile(inputs, outputs, held...)
	if err != nil {
		panic("model: " + err.Error())
	}
	p := &program{}
	p.pool.New = func() any {
		return &machine{c.Clone(), make([]float64, len(inputs)), make([]float64, len(outputs))}
	}
	return p
}

// take evaluates the program on a machine that the caller must put back into the pool. The
// weights follow theta. Without them, elements of theta beyond the program's parameters are
// ignored.
func (p *program) take(t float64, x, theta []float64, weights ...float64) *machine {
	m := p.pool.Get().(*machine)
	m.in[0] = t
	n := 1 + copy(m.in[1:], x)
	n += copy(m.in[n:], theta)
	copy(m.in[n:], weights)
	m.Eval(m.out, m.in)
	return m
}

func (p *program) eval(dst []float64, t float64, x, theta []float64) {
	m := p.take(t, x, theta)
	copy(dst, m.out)
	p.pool.Put(m)
}

// A scatter evaluates a vector and a sparse matrix; `place` has the position of each of
// its entries.
type scatter struct {
	*program
	first int
	place []int
}

// lazily compiles at the first call, because explicit methods never need the derivatives
// of a large model.
func lazily(inputs []string, vector []*expr.Node, matrix func() [][]*expr.Node, place func(i, j int) int, held ...string) func() *scatter {
	return sync.OnceValue(func() *scatter {
		s := &scatter{first: len(vector)}
		outputs := slices.Clone(vector)
		for i, row := range matrix() {
			for j, n := range row {
				if n != nil {
					outputs = append(outputs, n)
					s.place = append(s.place, place(i, j))
				}
			}
		}
		s.program = newProgram(inputs, outputs, held...)
		return s
	})
}

func (s *scatter) eval(vector, matrix []float64, t float64, x, theta []float64) {
	m := s.take(t, x, theta)
	copy(vector, m.out[:s.first])
	for k, i := range s.place {
		matrix[i] = m.out[s.first+k]
	}
	s.pool.Put(m)
}

// within sets the context of later searches for steady states.
func (c *compiledInstance) within(ctx context.Context) {
	c.end.within(ctx)
	if c.pre != nil {
		c.pre.within(ctx)
	}
}

func (c *compiledInstance) unsettled() error {
	if c.pre != nil {
		if err := c.pre.failed(); err != nil {
			return err
		}
	}
	return c.end.failed()
}

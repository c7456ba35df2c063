package probode

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/probode/probode/pkg/probode/field"
)

// A Problem is an initial value problem with parameters θ,
//
//	x′(t) = f(t, x; θ),   x(t₀) = x₀(θ),   t ∈ [t₀, t₁],
//
// for a state x ∈ ℝᵈ. The functions of a Problem take θ as an argument, and the Problem
// stores nothing between calls. Any number of goroutines can use one Problem at the same
// time if its functions may be called concurrently.
//
// Do not change a Problem after a Grid or a Solver has been made for it, because Grids
// and Solvers keep a pointer to their Problem. Change a copy of the Problem instead. Note
// that a copy shares the elements of Events, X0 and Theta with the original Problem.
type Problem struct {
	// Name appears in messages and figures.
	Name string

	// F writes f(t, x; θ) to dst. The slices dst and x have length d, the length of X0. F
	// must not modify x or theta, or keep a reference to them. If f jumps at a known
	// time, declare an event in Events. If f jumps when a state crosses a threshold, set
	// Hybrid. Without Hybrid, derivatives of a path do not take into account that the
	// time of the jump depends on θ, and methods that use values from earlier steps, such
	// as filters, may be wrong after the jump.
	F func(dst []float64, t float64, x, theta []float64)

	// FJ, if not nil, writes f(t, x; θ) to `f`, and the Jacobian ∂f/∂x to `jac`. An
	// implicit step needs both results, which often have most of their terms in common.
	// Set FJ if speed is important. On entry jac is zero. If Band is nil, jac is a d×d
	// matrix in row-major order:
	//
	//	jac[i*d+j] = ∂fᵢ/∂xⱼ.
	//
	// If Band is set, jac is stored as a row-major band of width kl+ku+1:
	//
	//	jac[i*(kl+ku+1) + j−i+kl] = ∂fᵢ/∂xⱼ   for  −kl ≤ j−i ≤ ku.
	//
	// If FJ is nil, the Jacobian is computed by finite differences of F. Elements that are
	// NaN or infinite, as the derivative of x^½ at 0, are replaced by differences, too. If
	// the derivative of a path depends on them, it does not exist, and an error says so.
	FJ func(f, jac []float64, t float64, x, theta []float64)

	// FTheta, if not nil, writes ∂f/∂θ to dst in row-major order, with a row for each
	// component of f: dst[i*len(theta)+j] = ∂fᵢ/∂θⱼ. On entry dst is zero. FTheta is used
	// for derivatives of a path; if it is nil, these derivatives are computed with finite
	// differences of F.
	FTheta func(dst []float64, t float64, x, theta []float64)

	// Pullback, if not nil, computes the derivatives of the scalar λᵀf(t, x; θ) with
	// respect to x, θ and t. Pullback adds the derivatives with respect to x to dx, adds
	// those with respect to θ to dtheta, and returns the derivative with respect to t.
	// Pullback is used instead of FJ and FTheta to compute gradients of functions of a
	// path: see Solver.Gradient. If there are many parameters, Pullback takes much less
	// time than filling and multiplying the matrices ∂f/∂x and ∂f/∂θ. A Pullback that
	// cannot compute the derivatives, or finds an infinite one, must return NaN and add nothing; in this case FJ and
	// FTheta are used instead.
	Pullback func(dx, dtheta, lambda []float64, t float64, x, theta []float64) (dt float64)

	// Poles names parts of f that may be infinite, such as fractions. If there are any,
	// F may be called with a dst of length d + len(Poles), and then also writes, after f,
	// the denominator of each: a continuous function of (t, x, θ) that is zero where the
	// part is infinite. No solver steps across such a zero, or uses f beyond it, unless f
	// stays finite there, as V/(exp(V) − 1) does. A run that cannot go on without this
	// ends with an error. It does not matter if F leaves the denominators as they are.
	Poles []string

	// X0 is the initial state; its length is the dimension d.
	X0 []float64

	// Start, if not nil, computes the initial state for θ, and writes it to x0. The
	// result of Start replaces the values of X0, but the length of X0 still determines d.
	// An unknown initial value is treated like any other parameter.
	Start func(x0, theta []float64)

	// StartTheta, if not nil, computes the derivative of the initial state with respect
	// to θ, and writes it to dst in row-major order, with a row for each component of the
	// state. On entry dst is zero. If StartTheta is nil, Start is differentiated by
	// finite differences.
	StartTheta func(dst, theta []float64)

	// Span holds t₀ < t₁.
	Span [2]float64

	// Events holds the events of the problem, in any order. At an event, the state jumps
	// or the formula for f changes. F is never evaluated exactly at the time of an event.
	// If a step begins or ends at an event, F is evaluated one ulp inside the step.
	Events []Event

	// Hybrid, if not nil, is an equivalent problem in which f jumps only at events. Set
	// Hybrid if f jumps when a component of the state crosses a threshold. The state of
	// Hybrid is the state of this problem, followed by additional components that select
	// the branch of f. The additional components change only at events with a Trigger, so
	// f is smooth between events. Adaptive and package reference solve Hybrid in place of
	// this problem. Frozen refuses the problem, because the times of the jumps depend on
	// θ. On a grid that does not depend on the solution, only one-step methods solve it:
	// they step across the jumps. The fields Span and Theta of Hybrid are ignored.
	Hybrid *Problem

	// Theta is the nominal parameter vector, which is used if the caller gives none.
	// Theta is nil for a problem without parameters.
	Theta []float64

	// Band, if not nil, says that the Jacobian is banded. If Band is set, an implicit
	// step costs O(d kl (kl+ku)) instead of O(d³).
	Band *Bandwidth

	// Autonomous is true if f does not depend on t. If Autonomous is true, an implicit
	// multistep method needs one fewer evaluation of f per step.
	Autonomous bool

	// Noiseless lists the indices of the state components whose derivative is always 0.
	// Noiseless components change only at Events. Every method computes Noiseless
	// components exactly, and adds no noise to them.
	Noiseless []int

	// Symbolic is true if a program has derived FJ, FTheta, Pullback, Band, Autonomous and
	// Noiseless from formulas of f. A Solver then does not compare them with F, because it
	// could find only rounding errors. Code that replaces F or one of them sets it to false.
	Symbolic bool

	// States and Params name the components of x and θ. If States is nil, the names are
	// x1, x2, …. If Params is nil, the names are theta1, theta2, …. The unit of a state,
	// if it has one, is written in brackets after the name of the state.
	States, Params []string

	// TimeUnit is the unit of t in the axis labels of figures; it may be empty.
	TimeUnit string

	window   *field.Window      // of a problem as steppers see it: see Wrapped
	replaced *field.Replacement // likewise
	jumps    bool               // f jumps within steps: see SolveHybrid
	shown    int                // in a Hybrid, the dimension of the original problem; otherwise 0
}

// Bandwidth gives the numbers of sub- and superdiagonals of a banded Jacobian.
type Bandwidth struct {
	Lower, Upper int // kl, ku ≥ 0
}

// Field returns f with its derivatives, as methods use it: see field.NewLinearizer and
// field.NewDifferentiator.
func (p *Problem) Field() *field.Field {
	d := p.Dim()
	f := &field.Field{F: p.F, FJ: p.FJ, FTheta: p.FTheta, Pullback: p.Pullback, Dim: d, Params: len(p.Theta),
		Lower: d - 1, Upper: d - 1, Autonomous: p.Autonomous, Length: p.Span[1] - p.Span[0], Window: p.window, Replaced: p.replaced}
	if b := p.Band; b != nil {
		f.Banded, f.Lower, f.Upper = true, b.Lower, b.Upper
	}
	return f
}

// Wrapped returns a copy of p whose functions F, FJ, FTheta and Pullback are called in the
// way that w says. The nominal value of an additional parameter is 0. The other functions
// of the copy get all parameters.
func (p *Problem) Wrapped(w field.Wrap) *Problem {
	q, f := *p, p.Field().Wrapped(w)
	q.F, q.FJ, q.FTheta, q.Pullback, q.window = f.F, f.FJ, f.FTheta, f.Pullback, f.Window
	if w.More > 0 {
		q.Theta, q.Params = append(slices.Clone(p.Theta), make([]float64, w.More)...), nil
	}
	return &q
}

// CheckJacobian compares FJ at (t, x, θ) with F and with finite differences of F: see
// field.CheckJacobian.
func (p *Problem) CheckJacobian(t float64, x, theta []float64) error {
	if err := p.Field().CheckJacobian(t, x, theta); err != nil {
		return fmt.Errorf("%s: %w", p.Title(), err)
	}
	return nil
}

// Dim returns d, the dimension of the state.
func (p *Problem) Dim() int { return len(p.X0) }

// StateName returns the name of the state component x[k].
func (p *Problem) StateName(k int) string {
	if k < len(p.States) {
		return p.States[k]
	}
	return fmt.Sprintf("x%d", k+1)
}

// ParamName returns the name of the parameter theta[k].
func (p *Problem) ParamName(k int) string {
	if k < len(p.Params) {
		return p.Params[k]
	}
	return fmt.Sprintf("theta%d", k+1)
}

// Initial writes x₀(θ) to dst, which has length d.
func (p *Problem) Initial(dst, theta []float64) {
	if p.Start != nil {
		p.Start(dst, theta)
		return
	}
	copy(dst, p.X0)
}

// UnknownStart returns a copy of p in which initial values are additional parameters. The
// arguments are the components whose initial values become parameters; without arguments,
// all initial values become parameters. The additional parameters follow the parameters
// of p:
//
//	θ′ = (θ, x₀ₖ, …).
//
// UnknownStart makes it possible to infer initial values from data. The nominal value of
// an additional parameter is the initial value that follows from the nominal θ. The name
// of the initial value of hare is hare0, and the name of the initial value of x1 is x1_0.
// The name of an additional parameter does not include the unit of the component. The
// functions of p do not receive the additional parameters. UnknownStart panics if a
// component does not exist, or if p already has a parameter with the name of an
// additional parameter.
func (p *Problem) UnknownStart(components ...int) *Problem {
	if len(components) == 0 {
		components = make([]int, p.Dim())
		for k := range components {
			components[k] = k
		}
	}
	components = slices.Clone(components)
	start := make([]float64, p.Dim())
	p.Initial(start, p.Theta)
	n := len(p.Theta)
	var names []string // of all parameters
	for k := range n {
		names = append(names, p.ParamName(k))
	}
	var values []float64
	for _, k := range components {
		if k < 0 || k >= p.Dim() {
			panic(fmt.Sprintf("probode: UnknownStart: there is no component %d, because %s has %d components", k, p.Name, p.Dim()))
		}
		name := startName(p.StateName(k))
		if slices.Contains(names, name) {
			panic(fmt.Sprintf("probode: UnknownStart: the initial value of component %d cannot become a parameter, because %s already has a parameter named %s", k, p.Name, name))
		}
		names, values = append(names, name), append(values, start[k])
	}
	q := p.widened(names[n:], values)
	q.StartTheta, q.Hybrid = nil, nil
	known := q.Start
	q.Start = func(x0, theta []float64) {
		known(x0, theta)
		for m, k := range components {
			x0[k] = theta[n+m]
		}
	}
	return q
}

// widened returns a copy of p with additional parameters. The additional parameters have
// the given names and nominal values, and follow the parameters of p. The functions of p
// are still called with only the original θ.
func (p *Problem) widened(names []string, values []float64) *Problem {
	known, n, all := *p, len(p.Theta), len(p.Theta)+len(values) // a later change of p must not affect q
	known.X0 = slices.Clone(p.X0)
	q := known.Wrapped(field.Wrap{More: len(values)})
	if p.Hybrid != nil {
		q.Hybrid = p.Hybrid.widened(names, values)
	}
	copy(q.Theta[n:], values)
	q.Params = nil
	for k := range n {
		q.Params = append(q.Params, p.ParamName(k))
	}
	q.Params = append(q.Params, names...)
	q.Start = func(x0, theta []float64) { known.Initial(x0, theta[:n:n]) }
	if p.StartTheta != nil {
		q.StartTheta = func(dst, theta []float64) {
			known.StartTheta(dst[:n*len(known.X0)], theta[:n:n])
			field.Widen(dst, n, all)
		}
	}
	q.Events = slices.Clone(p.Events)
	for k, e := range q.Events { // e is a copy, which does not change
		if e.When != nil {
			q.Events[k].When = func(theta []float64) float64 { return e.When(theta[:n:n]) }
		}
		if e.Trigger != nil {
			q.Events[k].Trigger = func(t float64, x, theta []float64) float64 { return e.Trigger(t, x, theta[:n:n]) }
		}
		if e.Priority != nil {
			q.Events[k].Priority = func(t float64, x, theta []float64) float64 { return e.Priority(t, x, theta[:n:n]) }
		}
		if e.Jump != nil {
			q.Events[k].Jump = func(x []float64, t float64, theta []float64) { e.Jump(x, t, theta[:n:n]) }
		}
		if e.JumpPullback != nil {
			q.Events[k].JumpPullback = func(lambda, dtheta, x []float64, t float64, theta []float64) float64 {
				return e.JumpPullback(lambda, dtheta[:n:n], x, t, theta[:n:n])
			}
		}
	}
	return q
}

// startName returns the name of the parameter that is the initial value of the given
// state.
func startName(state string) string {
	if i := strings.IndexAny(state, "(["); i > 0 {
		state = strings.TrimSpace(state[:i]) // the unit
	}
	if strings.TrimRight(state, "0123456789") != state {
		state += "_" // x10 could be a state
	}
	return state + "0"
}

// Title returns the name of p for messages, or "problem" if it has none.
func (p *Problem) Title() string {
	if p == nil || p.Name == "" {
		return "problem"
	}
	return p.Name
}

// Parameters returns a copy of the given θ, or of Theta if the given θ is nil. It is an
// error if θ has the wrong length, or if a component of θ is not a finite number.
func (p *Problem) Parameters(given []float64) ([]float64, error) {
	if given == nil {
		given = p.Theta
	}
	if len(given) != len(p.Theta) {
		return nil, fmt.Errorf("%s: %d parameters: want %d", p.Title(), len(given), len(p.Theta))
	}
	for k, v := range given {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return nil, fmt.Errorf("%s: parameter %s is %g: want a finite number", p.Title(), p.ParamName(k), v)
		}
	}
	return slices.Clone(given), nil
}

// Validate returns an error that names the first mistake in p.
func (p *Problem) Validate() error {
	if p == nil {
		return errors.New("probode: the problem is nil")
	}
	d := p.Dim()
	name := p.Title()
	switch {
	case p.F == nil:
		return fmt.Errorf("%s: F is nil: want the vector field", name)
	case d == 0:
		return fmt.Errorf("%s: X0 is empty: its length must be the dimension of the state, even if Start is set", name)
	case !(p.Span[0] < p.Span[1] && p.Span[1]-p.Span[0] < TooLarge):
		return fmt.Errorf("%s: Span is [%g, %g]: want t0 < t1 with t1 − t0 < %g", name, p.Span[0], p.Span[1], TooLarge)
	case p.States != nil && len(p.States) != d:
		return fmt.Errorf("%s: States has %d names, but the state has %d components", name, len(p.States), d)
	case p.Params != nil && len(p.Params) != len(p.Theta):
		return fmt.Errorf("%s: Params has %d names, but Theta has %d components", name, len(p.Params), len(p.Theta))
	case p.Band != nil && (p.Band.Lower < 0 || p.Band.Upper < 0 || p.Band.Lower >= d || p.Band.Upper >= d):
		return fmt.Errorf("%s: Band is (%d, %d): want both numbers in [0, %d)", name, p.Band.Lower, p.Band.Upper, d)
	}
	if h := p.Hybrid; h != nil && h.Dim() < d {
		return fmt.Errorf("%s: the dimension of Hybrid is %d: want at least %d, the dimension of this problem", name, h.Dim(), d)
	}
	for _, k := range p.Noiseless {
		if k < 0 || k >= d {
			return fmt.Errorf("%s: Noiseless contains %d: want numbers in [0, %d)", name, k, d)
		}
	}
	for k := range p.Events {
		if e := &p.Events[k]; e.When == nil && math.IsNaN(e.Time) {
			return fmt.Errorf("%s: %s: Time is NaN: want a number", name, e.title(k))
		}
	}
	for k, x := range p.X0 {
		if math.IsNaN(x) || math.IsInf(x, 0) {
			return fmt.Errorf("%s: X0[%d] is %g: want a finite number", name, k, x)
		}
	}
	return nil
}

package probode

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// A Problem is an initial value problem with parameters θ,
//
//	x′(t) = f(t, x; θ),   x(t₀) = x₀(θ),   t ∈ [t₀, t₁],
//
// for a state x ∈ ℝᵈ. It is a value without state: θ is handed in, so one
// Problem serves any number of goroutines as long as its functions do.
type Problem struct {
	// Name appears in messages and figures.
	Name string

	// F writes f(t, x; θ) into dst. dst and x have the length d of X0;
	// x and theta must not be changed or kept.
	F func(dst []float64, t float64, x, theta []float64)

	// FJ, if not nil, writes f(t, x; θ) into f and its Jacobian ∂f/∂x into
	// jac in one pass. Most of the work of the two is often shared, and an
	// implicit step asks for both: where speed matters, give FJ. jac is zero
	// on entry. It is d×d, row-major,
	//
	//	jac[i*d+j] = ∂fᵢ/∂xⱼ,
	//
	// or, if Band is set, in row-major band storage of width kl+ku+1,
	//
	//	jac[i*(kl+ku+1) + j−i+kl] = ∂fᵢ/∂xⱼ   for  −kl ≤ j−i ≤ ku.
	//
	// With FJ nil the Jacobian is taken by finite differences of F.
	FJ func(f, jac []float64, t float64, x, theta []float64)

	// X0 is the initial state; its length is the dimension d.
	X0 []float64

	// Start, if not nil, writes the initial state for θ into x0, and takes
	// the place of X0, whose length is still d. An unknown initial value is
	// an ordinary parameter.
	Start func(x0, theta []float64)

	// Span holds t₀ < t₁.
	Span [2]float64

	// Theta is the nominal parameter value: the one that is used where the
	// caller gives none. nil for a problem without parameters.
	Theta []float64

	// Band says that the Jacobian is banded; nil is dense. A step then costs
	// O(d·kl·(kl+ku)) in place of O(d³).
	Band *Band

	// Autonomous says that f does not depend on t, which spares an implicit
	// multistep method one evaluation of f in each step.
	Autonomous bool

	// States and Params name the components of x and θ; nil stands for
	// x1, x2, … and theta1, theta2, …. Units of the state, if any, belong in
	// brackets behind its name.
	States, Params []string

	// TimeUnit is the unit of t for the axes of figures; it may be empty.
	TimeUnit string
}

// Band gives the number of sub- and superdiagonals of a banded Jacobian.
type Band struct {
	Lower, Upper int // kl, ku ≥ 0
}

// Dim returns d, the dimension of the state.
func (p *Problem) Dim() int { return len(p.X0) }

// StateName returns the name of component k of the state, counted from 0.
func (p *Problem) StateName(k int) string {
	if k < len(p.States) {
		return p.States[k]
	}
	return fmt.Sprintf("x%d", k+1)
}

// ParamName returns the name of component k of θ, counted from 0.
func (p *Problem) ParamName(k int) string {
	if k < len(p.Params) {
		return p.Params[k]
	}
	return fmt.Sprintf("theta%d", k+1)
}

// Initial writes x₀(θ) into dst, of length d.
func (p *Problem) Initial(dst, theta []float64) {
	if p.Start != nil {
		p.Start(dst, theta)
		return
	}
	copy(dst, p.X0)
}

// UnknownStart returns a copy of p with the initial values of the given
// components of the state, of all if none is given, as further parameters
// behind those of p,
//
//	θ′ = (θ, x₀ₖ, …),
//
// so that they can be inferred as any other. Their nominal values are those of
// p, and their names those of the states without a unit, with 0 behind: hare0
// for hare, x1_0 for x1. F and FJ of p see θ alone. It panics if p has no such
// component, or has a parameter of that name already.
func (p *Problem) UnknownStart(components ...int) *Problem {
	if len(components) == 0 {
		components = make([]int, p.Dim())
		for k := range components {
			components[k] = k
		}
	}
	components = slices.Clone(components)
	known, n := *p, len(p.Theta) // p may change later, q shall not

	q := known
	start := make([]float64, p.Dim())
	p.Initial(start, p.Theta)
	q.Theta = slices.Clone(p.Theta)
	q.Params = make([]string, n)
	for k := range n {
		q.Params[k] = p.ParamName(k)
	}
	for _, k := range components {
		if k < 0 || k >= p.Dim() {
			panic(fmt.Sprintf("probode: UnknownStart of component %d: %s has %d", k, p.Name, p.Dim()))
		}
		name := startName(p.StateName(k))
		if slices.Contains(q.Params, name) {
			panic(fmt.Sprintf("probode: UnknownStart of component %d: %s has a parameter %s already", k, p.Name, name))
		}
		q.Params = append(q.Params, name)
		q.Theta = append(q.Theta, start[k])
	}
	q.Start = func(x0, theta []float64) {
		known.Initial(x0, theta[:n:n])
		for m, k := range components {
			x0[k] = theta[n+m]
		}
	}
	if p.F != nil {
		q.F = func(dst []float64, t float64, x, theta []float64) { known.F(dst, t, x, theta[:n:n]) }
	}
	if p.FJ != nil {
		q.FJ = func(f, jac []float64, t float64, x, theta []float64) { known.FJ(f, jac, t, x, theta[:n:n]) }
	}
	return &q
}

// startName is the name of the initial value of the state with the given name.
func startName(state string) string {
	if i := strings.IndexAny(state, "(["); i > 0 {
		state = strings.TrimSpace(state[:i]) // the unit
	}
	if strings.TrimRight(state, "0123456789") != state {
		state += "_" // x10 is a state, too
	}
	return state + "0"
}

// Validate reports the first thing that keeps p from being solved.
func (p *Problem) Validate() error {
	d := p.Dim()
	name := p.Name
	if name == "" {
		name = "problem"
	}
	switch {
	case p.F == nil:
		return fmt.Errorf("%s: F is nil: give the vector field", name)
	case d == 0:
		return fmt.Errorf("%s: X0 is empty: its length is the dimension of the state, also where Start is set", name)
	case !(p.Span[0] < p.Span[1]) || math.IsInf(p.Span[0], 0) || math.IsInf(p.Span[1], 0):
		return fmt.Errorf("%s: Span is [%g, %g]: want finite t0 < t1", name, p.Span[0], p.Span[1])
	case p.States != nil && len(p.States) != d:
		return fmt.Errorf("%s: %d names in States for %d components", name, len(p.States), d)
	case p.Params != nil && len(p.Params) != len(p.Theta):
		return fmt.Errorf("%s: %d names in Params for %d components of Theta", name, len(p.Params), len(p.Theta))
	case p.Band != nil && (p.Band.Lower < 0 || p.Band.Upper < 0 || p.Band.Lower >= d || p.Band.Upper >= d):
		return fmt.Errorf("%s: Band is (%d, %d): want each in [0, %d)", name, p.Band.Lower, p.Band.Upper, d)
	}
	for k, x := range p.X0 {
		if math.IsNaN(x) || math.IsInf(x, 0) {
			return fmt.Errorf("%s: X0[%d] is %g: want a finite number", name, k, x)
		}
	}
	return nil
}

// CheckJacobian compares FJ at (t, x, θ) with F and with central differences
// of F, and names the first entry that disagrees by more than 10⁻³ of the
// largest entry of its row. Central differences are good to about 10⁻⁶, so
// that what is reported is a slip of the pen. With FJ nil it returns nil.
func (p *Problem) CheckJacobian(t float64, x, theta []float64) error {
	if p.FJ == nil {
		return nil
	}
	const tol = 1e-3
	d := p.Dim()
	m := newJacobian(d, p.Band)
	f, fx := make([]float64, d), make([]float64, d)
	p.FJ(f, m.a, t, x, theta)
	p.F(fx, t, x, theta)
	for i := range f {
		if math.Abs(f[i]-fx[i]) > 1e-9*(math.Abs(f[i])+math.Abs(fx[i]))+1e-12*maxAbs(fx) {
			return fmt.Errorf("%s: FJ gives f[%d] = %g where F gives %g, at t = %g, x = %.4g", p.Name, i, f[i], fx[i], t, x)
		}
	}
	fd := newJacobian(d, p.Band)
	newDifferencer(p).jacobian(fd, t, x, theta, true)
	for i := range d {
		var row float64
		for j := range d {
			row = max(row, math.Abs(fd.at(i, j)))
		}
		for j := range d {
			got, want := m.at(i, j), fd.at(i, j)
			if !(math.Abs(got-want) <= tol*row+1e-9*(1+math.Abs(fx[i]))) {
				return fmt.Errorf("%s: FJ gives ∂f[%d]/∂x[%d] = %g where differences of F give %g, at t = %g, x = %.4g", p.Name, i, j, got, want, t, x)
			}
		}
	}
	return nil
}

// checkBand looks for entries outside the declared band by dense one-sided
// differences at (t, x, θ).
func (p *Problem) checkBand(t float64, x, theta []float64) error {
	if p.Band == nil {
		return nil
	}
	dense := *p
	dense.Band = nil
	d := p.Dim()
	m := newJacobian(d, nil)
	newDifferencer(&dense).jacobian(m, t, x, theta, false)
	scale := maxAbs(m.a)
	for i := range d {
		for j := range d {
			if (j-i > p.Band.Upper || i-j > p.Band.Lower) && math.Abs(m.at(i, j)) > 1e-6*scale {
				return fmt.Errorf("%s: the Jacobian has entries outside Band (%d, %d): ∂f[%d]/∂x[%d] is %.3g at t = %g", p.Name, p.Band.Lower, p.Band.Upper, i, j, m.at(i, j), t)
			}
		}
	}
	return nil
}

// A differencer takes Jacobians by finite differences of F without
// allocating. Columns of a banded Jacobian that share no row are shifted
// together, so that kl+ku+1 evaluations of F are enough whatever d is
// (Curtis, Powell & Reid 1974).
type differencer struct {
	p          *Problem
	x, f0, f1  []float64
	step       []float64
	low, up, g int // kl, ku, number of groups
}

func newDifferencer(p *Problem) *differencer {
	d := p.Dim()
	q := &differencer{p: p, low: d - 1, up: d - 1, g: d,
		x: make([]float64, d), f0: make([]float64, d), f1: make([]float64, d), step: make([]float64, d)}
	if p.Band != nil {
		q.low, q.up = p.Band.Lower, p.Band.Upper
		q.g = min(d, q.low+q.up+1)
	}
	return q
}

// jacobian fills m with ∂f/∂x at (t, x, θ) by forward or central differences.
// The increment balances truncation against rounding: ε^{1/2} of the
// component for forward, ε^{1/3} for central differences.
func (q *differencer) jacobian(m *jacobian, t float64, x, theta []float64, central bool) {
	const sqrtEps, cbrtEps = 1.4901161193847656e-08, 6.055454452393343e-06
	eps := sqrtEps
	if central {
		eps = cbrtEps
	}
	// A component that happens to be zero still needs an increment of the
	// size that is natural for the state.
	floor := 1e-3 * maxAbs(x)
	if floor == 0 {
		floor = 1
	}
	for j := range x {
		h := eps * max(math.Abs(x[j]), floor)
		q.step[j] = (x[j] + h) - x[j] // a difference that is exact in floating point
	}
	if !central {
		q.p.F(q.f0, t, x, theta)
	}
	d := len(x)
	for g := range q.g {
		copy(q.x, x)
		for j := g; j < d; j += q.g {
			q.x[j] = x[j] + q.step[j]
		}
		q.p.F(q.f1, t, q.x, theta)
		width := 1.0
		if central {
			for j := g; j < d; j += q.g {
				q.x[j] = x[j] - q.step[j]
			}
			q.p.F(q.f0, t, q.x, theta)
			width = 2
		}
		for j := g; j < d; j += q.g {
			for i := max(0, j-q.up); i <= min(d-1, j+q.low); i++ {
				m.set(i, j, (q.f1[i]-q.f0[i])/(width*q.step[j]))
			}
		}
	}
}

// evaluator gives f and J together, from FJ or by differences.
type evaluator struct {
	p    *Problem
	diff *differencer // nil if the problem has FJ
}

func newEvaluator(p *Problem) evaluator {
	if p.FJ != nil {
		return evaluator{p: p}
	}
	return evaluator{p: p, diff: newDifferencer(p)}
}

func (e *evaluator) fj(f []float64, m *jacobian, t float64, x, theta []float64) {
	if e.diff == nil {
		clear(m.a)
		e.p.FJ(f, m.a, t, x, theta)
		return
	}
	e.diff.jacobian(m, t, x, theta, false)
	copy(f, e.diff.f0)
}

func maxAbs(x []float64) float64 {
	var m float64
	for _, v := range x {
		m = max(m, math.Abs(v))
	}
	return m
}

// finite reports whether every element of x is a finite number.
func finite(x []float64) bool {
	for _, v := range x {
		if v-v != 0 { // NaN for NaN and ±Inf
			return false
		}
	}
	return true
}

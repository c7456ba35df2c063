package probode

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime/debug"
	"slices"
	"strings"
	"sync/atomic"
)

// A Solver computes paths Z of one problem with one method on one grid. The
// path is a deterministic function of θ and of the standard normals ξ behind
// its noise,
//
//	Z = Z(θ, ξ),   ξ ∈ ℝ^{N×n},
//
// with n normals a step, and ξ = 0 gives the classical method. Everything else
// in this module is written on top of that function. A Solver owns its
// workspace: a solve does not allocate, and two goroutines need two Solvers
// (see Clone).
type Solver struct {
	p, inside *Problem // as given, and as steppers see it: see Problem.segmented
	m         Method
	g         *Grid
	d         int
	noise     Noise
	alpha     []float64
	step      Stepper

	scaling Scaling
	unit    []float64 // ScaleLocal: l √(T/h), N×d
	powers  []float64 // ScaleStep on a grid of steps that differ: h^p, one a step
	scale   []float64 // of the normals of the present step
	fixed   bool      // scale is the same for all steps

	f       []float64 // of the search for the reason of a failure
	jac     *Matrix
	now     *segment     // the one that F may see
	stop    *atomic.Bool // set when the context of Bind ends; shared by clones
	cause   func() error
	checked bool // the promises of the problem were looked at

	tangents *tangentRun // of SolveTangents
}

// Scaling chooses how the size of the noise goes with the step.
type Scaling int

const (
	// ScaleDefault is ScaleLocal on grids that come from an error-controlled
	// run, and ScaleStep on all others and for a method with a Streamer.
	ScaleDefault Scaling = iota
	// ScaleStep is the noise of the method itself, of scale √α h^p.
	ScaleStep
	// ScaleLocal adds √α l √(T/h) ξ to the state after each step, where l is
	// the size of the local error of the step and component on the classical
	// path at the θ for which the Solver was made, h the step and T the span:
	// with α = 1 as much as the local errors would sum up to if they all had
	// the same sign. It serves any method.
	ScaleLocal
)

// NewSolver returns a Solver for p with method m on grid g, with noise scale
// alpha ≥ 0, which multiplies a variance. A user's FJ and Band are compared
// with F at the start, and along the first path that is solved: a mistake in
// them is an error.
func NewSolver(p *Problem, m Method, g *Grid, alpha float64) (*Solver, error) {
	if err := p.Validate(); err != nil {
		return nil, err
	}
	switch {
	case m == nil:
		return nil, fmt.Errorf("%s: the method is nil", p.title())
	case g == nil:
		return nil, fmt.Errorf("%s: the grid is nil", p.title())
	case g.span != p.Span:
		return nil, fmt.Errorf("%s: a grid over [%g, %g] for a span of [%g, %g]", p.title(), g.span[0], g.span[1], p.Span[0], p.Span[1])
	case !(alpha >= 0) || math.IsInf(alpha, 1):
		return nil, fmt.Errorf("%s: alpha is %g: want a finite number ≥ 0", p.title(), alpha)
	}
	s := &Solver{p: p, m: m, d: p.Dim(), noise: m.Noise(p.Dim()), alpha: []float64{alpha}, stop: new(atomic.Bool)}
	if err := p.fits(g, s.noise); err != nil {
		return nil, err
	}
	if err := p.checkStart(); err != nil {
		return nil, err
	}
	if err := s.on(g); err != nil {
		return nil, err
	}
	if s.byDefault() == ScaleLocal {
		s.scaling = ScaleLocal
		s.setUnit(g.local)
	}
	s.rescale()
	return s, nil
}

// on gives s a stepper on g, or on a copy of g that moves with θ.
func (s *Solver) on(g *Grid) (err error) {
	s.g = g.clone()
	s.inside, s.now = s.p, new(segment)
	if len(s.g.events) > 0 {
		s.inside = s.p.segmented(s.now)
	}
	s.step, err = s.m.Stepper(s.inside, s.g)
	if err != nil {
		return fmt.Errorf("%s: %v: %w", s.p.title(), s.m, err)
	}
	return nil
}

// Clone returns an independent Solver of the same problem, method, grid and
// noise. A context that s is bound to stops it, too.
func (s *Solver) Clone() *Solver {
	c := *s
	c.tangents = nil
	if err := c.on(s.g); err != nil {
		panic("probode: " + err.Error()) // s was made with the same arguments
	}
	c.alpha = slices.Clone(s.alpha)
	c.scale = slices.Clone(s.scale)
	c.f, c.jac = nil, nil
	return &c
}

// Problem returns the problem that s solves.
func (s *Solver) Problem() *Problem { return s.p }

// Method returns the method of s.
func (s *Solver) Method() Method { return s.m }

// Grid returns the grid of s. If event times depend on θ it moves with every
// solve.
func (s *Solver) Grid() *Grid { return s.g }

// Alpha returns the noise scale α, that of the first component if they differ.
func (s *Solver) Alpha() float64 { return s.alpha[0] }

// SetAlpha changes the noise scale: one number ≥ 0 for all components of the
// state, or one for each. It panics at another number of them, and where the
// normals of the method do not belong to components and more than one is
// given.
func (s *Solver) SetAlpha(alpha ...float64) {
	if len(alpha) != 1 && (len(alpha) != s.d || s.scaling != ScaleLocal && !s.noise.ByComponent) {
		panic(fmt.Sprintf("probode: %d noise scales: want 1, or %d where the noise of %v is by component", len(alpha), s.d, s.m))
	}
	s.alpha = append(s.alpha[:0], alpha...)
	s.rescale()
}

// SetScaling changes how the size of the noise goes with the step. For
// ScaleLocal on a grid that has no local errors of its own they are measured
// along the classical path at θ, which may fail as a solve may.
func (s *Solver) SetScaling(scaling Scaling, theta []float64) error {
	if scaling == ScaleDefault {
		scaling = s.byDefault()
	}
	if scaling == ScaleLocal && s.Streams() {
		return fmt.Errorf("%s, %v: noise by local errors would leave out the noise of the method's own stream: want ScaleStep", s.p.title(), s.m)
	}
	if scaling == ScaleLocal && s.unit == nil {
		local := s.g.local
		if local == nil {
			var err error
			if local, err = s.localErrors(theta); err != nil {
				return err
			}
		}
		s.setUnit(local)
	}
	s.scaling = scaling
	s.rescale()
	return nil
}

// Scaling returns how the size of the noise goes with the step: ScaleStep or
// ScaleLocal.
func (s *Solver) Scaling() Scaling {
	if s.scaling == ScaleLocal {
		return ScaleLocal
	}
	return ScaleStep
}

// byDefault is what ScaleDefault stands for.
func (s *Solver) byDefault() Scaling {
	if s.Streams() || s.g.local == nil {
		return ScaleStep
	}
	return ScaleLocal
}

// setUnit sets the scales of ScaleLocal for α = 1.
func (s *Solver) setUnit(local []float64) {
	span := s.g.span[1] - s.g.span[0]
	s.unit = make([]float64, len(local))
	for i := range s.g.Steps() {
		if h := s.g.H(i); h > 0 {
			c := math.Sqrt(span / h)
			for k := i * s.d; k < (i+1)*s.d; k++ {
				s.unit[k] = c * local[k]
			}
		}
	}
}

// rescale follows a change of α or of the kind of scaling.
func (s *Solver) rescale() {
	if n := s.normals(); len(s.scale) != n {
		s.scale = make([]float64, n)
	}
	if s.fixed = false; s.scaling == ScaleLocal {
		return
	}
	if h, ok := s.g.Uniform(); ok {
		s.fixed = true
		s.noise.scales(s.scale, s.alpha, h)
	} else if !s.g.moving && s.powers == nil {
		s.powers = make([]float64, s.g.Steps())
		for i := range s.powers {
			s.powers[i] = math.Pow(s.g.H(i), s.noise.Exponent)
		}
	}
}

// scaleAt sets scale for step i.
func (s *Solver) scaleAt(i int) {
	switch {
	case s.fixed:
	case s.scaling == ScaleLocal:
		root := math.Sqrt(s.alpha[0])
		for k, u := range s.unit[i*s.d : (i+1)*s.d] {
			if len(s.alpha) > 1 {
				root = math.Sqrt(s.alpha[k])
			}
			s.scale[k] = root * u
		}
	case s.powers != nil && len(s.alpha) == 1:
		v := math.Sqrt(s.alpha[0]) * s.powers[i]
		for k := range s.scale {
			s.scale[k] = v
		}
	default:
		s.noise.scales(s.scale, s.alpha, s.g.H(i))
	}
}

// normals is n, the number of normals a step.
func (s *Solver) normals() int {
	if s.scaling == ScaleLocal {
		return s.d
	}
	return s.noise.Normals
}

// Times returns the grid t₀, …, t_N. It must not be changed.
func (s *Solver) Times() []float64 { return s.g.t }

// Steps returns N, the number of steps.
func (s *Solver) Steps() int { return s.g.Steps() }

// PathLen returns (N+1)·d, the length of a path.
func (s *Solver) PathLen() int { return len(s.g.t) * s.d }

// NoiseLen returns N·n, the length of ξ, for n normals a step.
func (s *Solver) NoiseLen() int { return s.Steps() * s.normals() }

// Normals returns n, the number of normals a step.
func (s *Solver) Normals() int { return s.normals() }

// Startup returns the number of steps at the beginning of a path that carry no
// noise, events among them. The first of the grid points that do is that with
// index Startup() + 1.
func (s *Solver) Startup() int {
	n := 0
	if s.scaling != ScaleLocal {
		n = min(s.noise.Quiet, s.g.seg[0].to)
	}
	for n < s.Steps() && s.g.t[n] == s.g.t[n+1] {
		n++
	}
	return n
}

// MemoryLen returns the length of what SolveFrom keeps of the past: zero for a
// one-step method.
func (s *Solver) MemoryLen() int {
	if r, ok := s.step.(Rememberer); ok {
		return r.Memory()
	}
	return 0
}

// Bind makes solves of s, and of the Solvers cloned from it later, end soon
// after ctx does, with the error of ctx, in the middle of a path. release
// undoes that.
func (s *Solver) Bind(ctx context.Context) (release func()) {
	stop := new(atomic.Bool)
	s.stop, s.cause = stop, func() error { return context.Cause(ctx) }
	end := context.AfterFunc(ctx, func() { stop.Store(true) })
	if ctx.Err() != nil {
		stop.Store(true)
	}
	return func() {
		end()
		if s.stop == stop { // not that of a later call
			s.stop = new(atomic.Bool)
		}
	}
}

// Solve writes Z(θ, ξ) into z, row-major: z[i*d+k] is component k at time tᵢ.
// Row i of xi, of n normals, drives the step from tᵢ to t_{i+1}; rows of steps
// without noise, as those of events and those in which a multistep method
// starts, are not used. xi nil stands for ξ = 0.
//
// The error is a *SolveError if θ or f is not finite, if the path leaves the
// numbers that make sense, if a step fails, or if a function of the problem
// panics; z then holds the path up to that step. A method that needs more
// randomness than ξ is refused with a non-nil xi: see SolvePath. Solve panics
// if a length is wrong.
func (s *Solver) Solve(z, theta, xi []float64) error {
	if err := s.refuseStream(xi); err != nil {
		return err
	}
	return s.run(z, nil, theta, xi, 0, s.Steps())
}

// SolveFrom takes the steps from, …, to−1 of a path of which z holds the row
// of t_from, and writes those up to that of t_to, where 0 ≤ from ≤ to ≤ N. A
// step number is that of its row in xi, and z, theta and xi have the lengths
// that Solve wants. With from = 0 the row of t₀ is written, too.
//
// memory, of length MemoryLen, holds what the method knows of the past: that
// at t_from on entry, unless from is 0, and that at t_to on return. A path
// that is solved in pieces is the same, bit for bit, as one that Solve
// computes, and each piece may continue another path, as in a particle filter.
// Errors and panics are those of Solve.
func (s *Solver) SolveFrom(z, memory, theta, xi []float64, from, to int) error {
	if from < 0 || from > to || to > s.Steps() {
		panic(fmt.Sprintf("probode: steps %d to %d: want 0 ≤ from ≤ to ≤ %d", from, to, s.Steps()))
	}
	if len(memory) != s.MemoryLen() {
		panic(fmt.Sprintf("probode: memory has length %d: want %d", len(memory), s.MemoryLen()))
	}
	if err := s.refuseStream(xi); err != nil {
		return err
	}
	return s.run(z, memory, theta, xi, from, to)
}

// Streams reports whether paths need more randomness than ξ: see Streamer.
func (s *Solver) Streams() bool {
	_, ok := s.step.(Streamer)
	return ok
}

func (s *Solver) refuseStream(xi []float64) error {
	if xi != nil && s.Streams() {
		return fmt.Errorf("%s, %v: this method needs more randomness than ξ and does not depend on θ continuously: use it in ensembles, and another one for inference", s.p.title(), s.m)
	}
	return nil
}

// SolvePath draws ξ for the path with the given number into xi and solves with
// it. The same (seed, path) is the same path wherever and whenever it is
// computed.
func (s *Solver) SolvePath(z, theta, xi []float64, seed, path uint64) error {
	if len(xi) != s.NoiseLen() {
		panic(fmt.Sprintf("probode: xi has length %d: want N·n = %d", len(xi), s.NoiseLen()))
	}
	DrawNoise(xi, seed, path)
	return s.solveDrawn(z, theta, xi, seed, path)
}

// solveDrawn is SolvePath with the ξ of the path at hand.
func (s *Solver) solveDrawn(z, theta, xi []float64, seed, path uint64) error {
	if r, ok := s.step.(Streamer); ok {
		r.Seed(seed, path)
	}
	return s.run(z, nil, theta, xi, 0, s.Steps())
}

// Stepper returns the Stepper of s with the past of the path z at step i, as
// it is before that step, and the scales of the step's normals; of z only rows
// up to i are read. It is for the study of single steps, and not for events,
// which are none.
func (s *Solver) Stepper(i int, z, theta []float64) (step Stepper, scale []float64, err error) {
	if i < 0 || i >= s.Steps() {
		panic(fmt.Sprintf("probode: step %d: want one in [0, %d)", i, s.Steps()))
	}
	if err := s.MoveTo(theta); err != nil {
		return nil, nil, err
	}
	from, _ := s.g.Segment(i)
	if from > i {
		panic(fmt.Sprintf("probode: step %d is an event", i))
	}
	*s.now = s.g.seg[s.g.segment(i+1)].now
	if err := s.step.Start(from, row(z, from, s.d), theta); err != nil {
		return nil, nil, s.fail(from, theta, row(z, from, s.d), err)
	}
	if r, ok := s.step.(Recaller); ok {
		r.Recall(from, i, z, theta)
	} else {
		next := make([]float64, s.d)
		for j := from; j < i; j++ {
			if err := s.step.Step(next, j, row(z, j, s.d), theta, nil, nil); err != nil {
				return nil, nil, s.fail(j, theta, row(z, j, s.d), err)
			}
		}
	}
	s.scaleAt(i)
	return s.step, s.scale, nil
}

// MoveTo brings the grid to θ, where event times depend on it; a solve does so
// by itself.
func (s *Solver) MoveTo(theta []float64) (err error) {
	at := s.p.Span[0]
	defer s.p.recovered(&err, &at, nil, theta)
	if err := s.g.move(theta); err != nil {
		return s.fail(0, theta, nil, err)
	}
	return nil
}

// run solves the steps from, …, to−1.
func (s *Solver) run(z, memory, theta, xi []float64, from, to int) (err error) {
	d := s.d
	switch {
	case len(z) != s.PathLen():
		panic(fmt.Sprintf("probode: z has length %d: want (N+1)·d = %d", len(z), s.PathLen()))
	case len(theta) != len(s.p.Theta):
		panic(fmt.Sprintf("probode: theta has length %d: want %d, that of Problem.Theta", len(theta), len(s.p.Theta)))
	case xi != nil && len(xi) != s.NoiseLen():
		panic(fmt.Sprintf("probode: xi has length %d: want N·n = %d", len(xi), s.NoiseLen()))
	}
	if !finite(theta) {
		return s.fail(from, theta, nil, ErrParameter)
	}
	i := from
	defer func() { // what panics is a function of the problem
		if v := recover(); v != nil {
			err = s.fail(i, theta, row(z, i, d), &PanicError{v, stack()})
		}
	}()
	if s.g.moving {
		if err := s.g.move(theta); err != nil {
			return s.fail(from, theta, nil, err)
		}
	}
	if from == 0 {
		s.p.Initial(z[:d], theta)
		if !sane(z[:d]) {
			return s.fail(0, theta, z[:d], ErrStart)
		}
	} else if len(memory) > 0 {
		s.step.(Rememberer).Restore(from, memory)
	}
	n := s.normals()
	tangents := s.tangents
	if tangents != nil && !tangents.live {
		tangents = nil
	}
	if tangents != nil {
		tangents.start(theta)
	}
	for j := s.g.segment(from); i < to; j++ {
		seg := &s.g.seg[j]
		*s.now = seg.now
		if i == seg.from && i < seg.to {
			if err := s.step.Start(i, row(z, i, d), theta); err != nil {
				return s.fail(i, theta, row(z, i, d), err)
			}
		}
		for end := min(to, seg.to); i < end; {
			if s.stop.Load() {
				return s.fail(i, theta, row(z, i, d), s.cause())
			}
			if tangents != nil {
				err = s.advanceTangents(z, i, j, n, theta, xi)
				if err == nil {
					i++
				}
			} else {
				i, err = s.advance(z, i, end, n, theta, xi)
			}
			if err != nil {
				return s.fail(i, theta, row(z, i, d), err)
			}
		}
		if i < to { // the event behind the segment
			copy(row(z, i+1, d), row(z, i, d))
			if tangents != nil {
				tangents.jump(j, i, row(z, i, d), theta, s.g.t[i])
			}
			if e := s.g.events[j]; e.inside && e.event.Jump != nil {
				e.event.Jump(row(z, i+1, d), s.g.t[i], theta)
				if !sane(row(z, i+1, d)) {
					return s.fail(i, theta, row(z, i, d), fmt.Errorf("%w: after %s", ErrDiverged, e.title))
				}
			}
			i++
		}
	}
	if len(memory) > 0 {
		s.step.(Rememberer).Save(memory)
	}
	if !s.checked && from == 0 && to == s.Steps() {
		s.checked = true
		return s.checkPath(z, theta)
	}
	return nil
}

// advance makes one step, or several with a Runner, of those up to end. It
// returns the number of the next step, or of the one that failed.
func (s *Solver) advance(z []float64, i, end, n int, theta, xi []float64) (int, error) {
	if r, ok := s.step.(Runner); ok && (s.fixed || xi == nil) && r.Runs() {
		const most = 32 // between two looks at the context
		to := min(end, i+most)
		return r.Run(z, i, to, theta, xi, s.scale)
	}
	if err := s.single(z, i, n, theta, xi); err != nil {
		return i, err
	}
	return i + 1, nil
}

// advanceTangents makes step i of segment seg, and its derivative.
func (s *Solver) advanceTangents(z []float64, i, seg, n int, theta, xi []float64) error {
	if err := s.single(z, i, n, theta, xi); err != nil {
		return err
	}
	var normals []float64
	if xi != nil {
		normals = xi[i*n : (i+1)*n]
	}
	return s.tangents.step(i, seg, row(z, i, s.d), row(z, i+1, s.d), theta, normals)
}

// single makes step i.
func (s *Solver) single(z []float64, i, n int, theta, xi []float64) error {
	x, next := row(z, i, s.d), row(z, i+1, s.d)
	if s.g.t[i] == s.g.t[i+1] { // in a segment that has closed at this θ
		copy(next, x)
		return nil
	}
	var normals []float64
	if xi != nil {
		normals = xi[i*n : (i+1)*n]
		s.scaleAt(i)
	}
	var err error
	if s.scaling == ScaleLocal {
		err = s.step.Step(next, i, x, theta, nil, nil)
		for k, v := range normals {
			next[k] += s.scale[k] * v
		}
	} else {
		err = s.step.Step(next, i, x, theta, normals, s.scale)
	}
	if err == nil && !sane(next) {
		err = ErrDiverged
	}
	return err
}

// tooLarge is the size of a state at which a method is running away.
const tooLarge = 1e100

// sane reports whether all elements of x are numbers that a state can be.
func sane(x []float64) bool {
	for _, v := range x {
		if !(math.Abs(v) < tooLarge) {
			return false
		}
	}
	return true
}

// What can go wrong in a step. The texts say what to try.
var (
	// ErrDiverged: the path left the finite numbers.
	ErrDiverged = errors.New("the path left the finite numbers: try a smaller step or, for a stiff problem, an implicit method")
	// ErrSingular: the matrix of an implicit step, (hβ₋₁)⁻¹I − J, has no
	// inverse.
	ErrSingular = errors.New("the matrix of the implicit step is singular: try a smaller step")
	// ErrNewton: Newton's method for the implicit equation did not converge.
	ErrNewton = errors.New("no convergence of Newton's method: try a smaller step")
	// ErrField: F or its Jacobian is NaN or infinite at a finite state.
	ErrField = errors.New("f is not finite")
	// ErrParameter: a parameter is NaN or infinite.
	ErrParameter = errors.New("a parameter is not a finite number")
	// ErrStart: the initial state is NaN, infinite or absurdly large.
	ErrStart = errors.New("the initial state is not finite")
	// ErrStretched: event times at this θ stretch a segment of the grid.
	ErrStretched = errors.New("the event times have moved too far from where the grid was made: make it at another θ, or with smaller steps")
)

// A PanicError says that a function of the problem panicked.
type PanicError struct {
	Value any
	Stack []byte
}

func (e *PanicError) Error() string {
	return fmt.Sprintf("panic in a function of the problem: %v", e.Value)
}

// A SolveError says where a path could not be continued.
type SolveError struct {
	Problem string
	Method  Method
	Grid    string    // how the steps were chosen
	Step    int       // index of the step that failed
	T, H    float64   // time at its beginning, and its length
	X       []float64 // state there; nil if there is none
	Theta   []float64
	Err     error // one of the above, of a Stepper, a *PanicError, or that of a context
}

func (e *SolveError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s, %v, %s: step %d at t = %.6g: %v", e.Problem, e.Method, e.Grid, e.Step, e.T, e.Err)
	var p *PanicError
	if errors.As(e.Err, &p) || errors.Is(e.Err, ErrField) || errors.Is(e.Err, ErrParameter) || errors.Is(e.Err, ErrStart) {
		fmt.Fprintf(&b, "; x = %s, theta = %s", short(e.X), short(e.Theta))
	}
	if p != nil {
		fmt.Fprintf(&b, "\n%s", p.Stack)
	}
	return b.String()
}

func (e *SolveError) Unwrap() error { return e.Err }

// short prints the first elements of x.
func short(x []float64) string {
	const most = 8
	if len(x) > most {
		return fmt.Sprintf("%.4g… (%d elements)", x[:most], len(x))
	}
	return fmt.Sprintf("%.4g", x)
}

// fail returns the error for step i in state x, and looks for the reason if
// the path diverged or a matrix was singular: both may be f itself. Samplers
// meet failures often, so that it allocates no more than the error.
func (s *Solver) fail(i int, theta, x []float64, err error) error {
	i = min(i, s.Steps()-1)
	all := new(struct {
		SolveError
		few [16]float64
	})
	kept := append(append(all.few[:0], x...), theta...)
	e := &all.SolveError
	*e = SolveError{Problem: s.p.title(), Method: s.m, Grid: s.g.rule, Step: i, T: s.g.t[i], H: s.g.H(i),
		X: kept[:len(x):len(x)], Theta: kept[len(x):], Err: err}
	if x == nil || !errors.Is(err, ErrDiverged) && !errors.Is(err, ErrSingular) && !errors.Is(err, ErrNewton) {
		return e
	}
	if s.f == nil {
		s.f = make([]float64, s.d)
	}
	for _, t := range [2]float64{s.g.t[i+1], e.T} {
		if s.inside.F(s.f, t, x, theta); !finite(s.f) {
			break
		}
	}
	if !finite(s.f) {
		e.Err = fmt.Errorf("%w: F is %s", ErrField, short(s.f))
	} else if s.p.FJ != nil && s.p.checkDense() == nil && (errors.Is(err, ErrSingular) || errors.Is(err, ErrNewton)) {
		if s.jac == nil {
			s.jac = s.p.NewJacobian()
		}
		clear(s.jac.A)
		if s.inside.FJ(s.f, s.jac.A, s.g.t[i+1], x, theta); !finite(s.f) || !finite(s.jac.A) {
			e.Err = fmt.Errorf("%w: the Jacobian of FJ is NaN or infinite", ErrField)
			return e
		}
	}
	if finite(s.f) && !s.checked { // nor has a path been: it may be a broken promise
		if broken := s.inside.checkAt(e.T, x, theta); broken != nil {
			e.Err = broken
		}
	}
	return e
}

func stack() []byte { return debug.Stack() }

// row returns row i of a path.
func row(z []float64, i, d int) []float64 { return z[i*d : (i+1)*d : (i+1)*d] }

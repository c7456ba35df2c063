package probode

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/probode/probode/pkg/internal/progress"
	"github.com/probode/probode/pkg/internal/text"
	"github.com/probode/probode/pkg/probode/field"
	"github.com/probode/probode/pkg/probode/internal/pole"
	"github.com/probode/probode/pkg/probode/internal/vector"
	"github.com/probode/probode/pkg/probode/linalg"
)

// A Solver computes paths Z of one problem with one method on one grid. The path is a
// deterministic function of θ and of the standard normal variates ξ that determine its
// noise:
//
//	Z = Z(θ, ξ),   ξ ∈ ℝ^{N×n}.
//
// There are n normal variates for each step. For ξ = 0 the path is that of the classical
// method. Most other code in this module is based on the function Z(θ, ξ). A Solver has
// its own workspace, so a solve allocates no memory. Each goroutine needs its own Solver
// (see Clone).
type Solver struct {
	p, inside *Problem // as given, and as steppers get it
	m         Method
	g         *Grid
	d         int
	noise     Noise
	alpha     float64
	step      *Stepper
	one       Step // the current step
	part      Run  // the current steps
	quiet     int  // the number of steps without noise at the beginning

	scaling Scaling
	local   []float64 // l, N×d, once it is known
	unit    []float64 // ScaleLocal: l √N; N×d
	powers  []float64 // ScaleStep on a grid whose steps differ: h^p of each step
	scale   []float64 // of the normal variates of the current step
	added   []float64 // ScaleLocal: the noise of the current steps
	fixed   bool      // scale is the same for all steps

	f        []float64 // f at the state of a failure
	jac      *linalg.Matrix
	lin      *field.Linearizer
	now      *field.Window // the times at which F may be called
	guard    *pole.Guard
	replaced *field.Replacement
	stop     *progress.Stop // of the context of Bind; shared by clones
	cause    func() error
	checked  bool // the promises of the problem were checked

	tangents *tangentRun // of SolveTangents
	reverse  *reverseRun // of Gradient
	follower follower    // of the current path; nil if there is none
}

// A follower computes something along a path. Its functions are called before the first
// step, after each step, and before each jump.
type follower interface {
	start(theta []float64)
	step(i, seg int, z, theta, xi []float64) error
	jump(j, i int, x, theta []float64, t float64)
}

// NewSolver returns a Solver for p with the method m on the grid g. The argument `alpha`
// ≥ 0 is the noise scale; the variance of the noise is proportional to alpha. NewSolver
// compares FJ and Band with F at the start, and returns an error if FJ or Band is wrong.
// The Solver compares FJ and Band with F again at a few points of its first path. Those
// of a Symbolic problem are not compared.
func NewSolver(p *Problem, m Method, g *Grid, alpha float64) (*Solver, error) {
	if err := p.Validate(); err != nil {
		return nil, err
	}
	if err := p.timed(); err != nil {
		return nil, err
	}
	switch {
	case m == nil:
		return nil, fmt.Errorf("%s: the method is nil", p.Title())
	case g == nil:
		return nil, fmt.Errorf("%s: the grid is nil", p.Title())
	case g.span != p.Span:
		return nil, fmt.Errorf("%s: the grid covers [%g, %g], but the span is [%g, %g]", p.Title(), g.span[0], g.span[1], p.Span[0], p.Span[1])
	case !(alpha >= 0) || math.IsInf(alpha, 1):
		return nil, fmt.Errorf("%s: alpha is %g: want a finite number ≥ 0", p.Title(), alpha)
	}
	s := &Solver{p: p, m: m, d: p.Dim(), noise: m.Noise(p.Dim()), alpha: alpha, stop: new(progress.Stop)}
	if err := fits(p, g, s.noise); err != nil {
		return nil, err
	}
	if err := checkStart(p); err != nil {
		return nil, err
	}
	if err := s.on(g); err != nil {
		return nil, err
	}
	if err := p.foreseen(); err != nil && s.step.Memory > 0 { // a one-step method may step across a jump of f
		return nil, fmt.Errorf("%w; %v uses values from earlier steps", err, m)
	}
	if s.byDefault() == ScaleLocal {
		s.scaling, s.local = ScaleLocal, g.local
		s.setUnit()
	}
	s.rescale()
	return s, nil
}

// on creates the Stepper of s for the grid g, or for a copy of g if the grid moves with
// θ.
func (s *Solver) on(g *Grid) (err error) {
	if s.g = g.clone(); g.orders != nil && g.chooser != s.m.String() {
		own := *s.g
		own.orders, s.g = nil, &own
	}
	s.now, s.guard, s.replaced = new(field.Window), pole.New(s.d, s.p.Poles), new(field.Replacement)
	inside := *s.p
	inside.replaced = s.replaced
	if s.inside = &inside; len(s.g.events) > 0 || s.guard != nil {
		s.inside = inside.Wrapped(field.Wrap{Window: s.now, Guard: s.guard})
	}
	s.quiet = min(s.noise.Quiet, s.g.seg[0].to)
	s.step, err = s.m.Stepper(s.inside, s.g)
	if err != nil {
		return fmt.Errorf("%s: %v: %w", s.p.Title(), s.m, err)
	}
	return nil
}

// regrid replaces the grid of a Solver with α = 0.
func (s *Solver) regrid(g *Grid) error {
	if err := fits(s.p, g, s.noise); err != nil {
		return err
	}
	s.tangents, s.reverse, s.powers = nil, nil, nil
	if err := s.on(g); err != nil {
		return err
	}
	s.rescale()
	return nil
}

// Clone returns an independent Solver of the same problem, method, grid and noise. If s
// is bound to a context, the clone is bound to the same context.
func (s *Solver) Clone() *Solver {
	c := *s
	c.tangents, c.reverse, c.follower = nil, nil, nil
	if err := c.on(s.g); err != nil {
		panic("probode: " + err.Error()) // s was made with the same arguments
	}
	c.scale, c.added = slices.Clone(s.scale), nil
	c.f, c.jac, c.lin = nil, nil, nil
	return &c
}

// Problem returns the problem that s solves.
func (s *Solver) Problem() *Problem { return s.p }

// Method returns the method of s.
func (s *Solver) Method() Method { return s.m }

// Grid returns the grid of s. If event times depend on θ, every solve moves the grid
// points.
func (s *Solver) Grid() *Grid { return s.g }

// Times returns the grid t₀, …, t_N. The result must not be changed.
func (s *Solver) Times() []float64 { return s.g.t }

// Steps returns N, the number of steps.
func (s *Solver) Steps() int { return s.g.Steps() }

// PathLen returns (N+1) × d, the length of a path.
func (s *Solver) PathLen() int { return len(s.g.t) * s.d }

// NoiseLen returns N × n, the length of ξ, for n normal variates per step.
func (s *Solver) NoiseLen() int { return s.Steps() * s.Normals() }

// Normals returns n, the number of normal variates per step.
func (s *Solver) Normals() int {
	if s.scaling == ScaleLocal {
		return s.d
	}
	return s.noise.Normals
}

// Startup returns the number of steps without noise at the beginning of a path. Each
// event counts as a step. The first grid point with noise has the index Startup() + 1.
func (s *Solver) Startup() int {
	n := 0
	if s.scaling != ScaleLocal {
		n = s.quiet
	}
	for n < s.Steps() && s.g.t[n] == s.g.t[n+1] {
		n++
	}
	return n
}

// MemoryLen returns the length of the memory that SolveFrom needs: zero for a one-step
// method.
func (s *Solver) MemoryLen() int {
	return s.step.Memory
}

// Bind binds s to ctx. Once ctx is done, any computation by s stops soon and returns the
// error of ctx. Solvers that are cloned from s after Bind also obey ctx. release undoes
// the binding. If Bind is called several times, the release functions must be called in
// reverse order.
func (s *Solver) Bind(ctx context.Context) (release func()) {
	before, cause := s.stop, s.cause
	stop, end := progress.NewStop(ctx)
	s.stop, s.cause = stop, func() error { return context.Cause(ctx) }
	return func() {
		end()
		if s.stop == stop { // stop does not belong to a later call
			s.stop, s.cause = before, cause
		}
	}
}

// Solve computes Z(θ, ξ), and writes it to z in row-major order: z[i*d+k] is component k
// at time tᵢ. Row i of xi holds the n normal variates of the step from tᵢ to t_{i+1}.
// Solve ignores the rows of steps without noise, such as events and the first steps of a
// multistep method. If xi is nil, ξ is 0.
//
// The error is a *SolveError if θ or f is not finite, if the path diverges, if a step
// fails, or if a function of the problem panics. If there is an error, z holds the path
// up to the step that failed. Solve panics if a slice has the wrong length.
func (s *Solver) Solve(z, theta, xi []float64) error {
	return s.run(z, nil, theta, xi, 0, s.Steps())
}

// SolveFrom computes the steps i of a path with from ≤ i < to, where 0 ≤ from ≤ to ≤ N.
// On entry z holds the row of t_from, and SolveFrom writes the rows after it, up to the
// row of t_to. If `from` is 0, SolveFrom also writes the row of t₀. Row i of xi belongs
// to step i. The slices z, theta and xi must have the lengths that Solve requires.
//
// The argument `memory`, of length MemoryLen, holds the values that the method stores
// about earlier steps. On entry `memory` must describe the steps before t_from, unless
// `from` is 0. On return `memory` describes the steps before t_to. A path that is
// computed in pieces equals the path of Solve bit for bit. In a particle filter, for
// example, each call of SolveFrom may continue a different path. SolveFrom returns an
// error in the same cases as Solve, and panics if an argument has the wrong length or is
// out of range.
func (s *Solver) SolveFrom(z, memory, theta, xi []float64, from, to int) error {
	if from < 0 || from > to || to > s.Steps() {
		panic(fmt.Sprintf("probode: from is %d and to is %d: want 0 ≤ from ≤ to ≤ %d", from, to, s.Steps()))
	}
	if len(memory) != s.MemoryLen() {
		panic(fmt.Sprintf("probode: memory has length %d: want %d", len(memory), s.MemoryLen()))
	}
	return s.run(z, memory, theta, xi, from, to)
}

// SolvePath draws ξ for path number `path`, stores ξ in xi, and computes the path. The
// same values of `seed` and `path` always give the same path.
func (s *Solver) SolvePath(z, theta, xi []float64, seed, path uint64) error {
	if len(xi) != s.NoiseLen() {
		panic(fmt.Sprintf("probode: xi has length %d: want N·n = %d", len(xi), s.NoiseLen()))
	}
	DrawNoise(xi, seed, path)
	return s.Solve(z, theta, xi)
}

// Stepper returns the Stepper of s, ready to take step i of the path z, and this step,
// without normal variates but with their scales. Stepper takes the steps of the segment
// before step i again, and reads the rows of z only up to row i. The Stepper is useful for
// the study of single steps. Stepper panics if step i is the jump at an event.
func (s *Solver) Stepper(i int, z, theta []float64) (*Stepper, *Step, error) {
	if i < 0 || i >= s.Steps() {
		panic(fmt.Sprintf("probode: the index of the step is %d: want an index in [0, %d)", i, s.Steps()))
	}
	if err := s.MoveTo(theta); err != nil {
		return nil, nil, err
	}
	from, _ := s.g.Segment(i)
	if from > i {
		panic(fmt.Sprintf("probode: step %d is an event", i))
	}
	s.now.Interval = s.g.seg[s.g.segment(i+1)].now
	next := make([]float64, s.d)
	z = append(slices.Clone(z[:(i+1)*s.d]), next...)
	if err := s.begin(from, z, theta); err != nil {
		return nil, nil, s.Fail(from, theta, row(z, from, s.d), err)
	}
	for j := from; j < i; j++ {
		one := s.at(j, z, theta)
		one.Next = next
		if err := s.step.Step(one); err != nil {
			return nil, nil, s.Fail(j, theta, row(z, j, s.d), err)
		}
	}
	s.scaleAt(i)
	step := s.at(i, z, theta)
	step.Scale = s.scale
	return s.step, step, nil
}

// at returns step i of the path z, without noise.
func (s *Solver) at(i int, z, theta []float64) *Step {
	one := &s.one // assigning the fields is faster than assigning a Step
	one.T, one.End, one.H, one.Order, one.Index = s.g.t[i], s.g.t[i+1], s.g.H(i), s.g.Order(i), i
	one.X, one.Next, one.Theta, one.Xi, one.Scale = row(z, i, s.d), row(z, i+1, s.d), theta, nil, nil
	return one
}

// taken returns step i of the path z with its normal variates. The noise of ScaleLocal is
// not part of the step: its result is the state before the noise was added, in `clean`.
func (s *Solver) taken(i int, z, theta, xi, clean []float64) *Step {
	one := s.at(i, z, theta)
	switch {
	case xi == nil:
	case s.scaling == ScaleLocal:
		copy(clean, one.Next)
		for k, v := range xi {
			clean[k] -= s.scale[k] * v
		}
		one.Next = clean
	default:
		one.Xi, one.Scale = xi, s.scale
	}
	return one
}

// begin starts the segment whose first step is step i of the path z.
func (s *Solver) begin(i int, z, theta []float64) error {
	if s.step.Start == nil {
		return nil
	}
	one := s.at(i, z, theta)
	one.Next = nil
	return s.step.Start(one)
}

// MoveTo adapts the grid to θ if event times depend on θ. Solve adapts the grid
// automatically.
func (s *Solver) MoveTo(theta []float64) (err error) {
	at := s.p.Span[0]
	defer s.p.recovered(&err, &at, nil, theta)
	if err := s.g.move(theta); err != nil {
		return s.Fail(0, theta, nil, err)
	}
	return nil
}

// row returns row i of a path.
func row(z []float64, i, d int) []float64 { return z[i*d : (i+1)*d : (i+1)*d] }

// run takes the steps `from`, …, `to`−1.
func (s *Solver) run(z, memory, theta, xi []float64, from, to int) (err error) {
	d := s.d
	switch {
	case len(z) != s.PathLen():
		panic(fmt.Sprintf("probode: z has length %d: want (N+1)·d = %d", len(z), s.PathLen()))
	case len(theta) != len(s.p.Theta):
		panic(fmt.Sprintf("probode: theta has length %d: want %d, the length of Problem.Theta", len(theta), len(s.p.Theta)))
	case xi != nil && len(xi) != s.NoiseLen():
		panic(fmt.Sprintf("probode: xi has length %d: want N·n = %d", len(xi), s.NoiseLen()))
	}
	if s.alpha == 0 {
		xi = nil // also where a scale is infinite
	}
	if !vector.Finite(theta) {
		return s.Fail(from, theta, nil, ErrParameter)
	}
	i := from
	defer func() { // a function of the problem may panic
		if v := recover(); v != nil {
			err = s.Fail(i, theta, row(z, i, d), &PanicError{v, stack()})
		}
	}()
	if s.g.moving {
		if err := s.g.move(theta); err != nil {
			return s.Fail(from, theta, nil, err)
		}
	}
	if from == 0 {
		s.p.Initial(z[:d], theta)
		if !sane(z[:d]) {
			return s.Fail(0, theta, z[:d], ErrStart)
		}
	} else if len(memory) > 0 {
		s.step.Restore(memory)
	}
	defer s.guard.End()
	n := s.Normals()
	if s.follower != nil {
		s.follower.start(theta)
	}
	for j := s.g.segment(from); i < to; j++ {
		seg := &s.g.seg[j]
		s.now.Interval = seg.now
		if i < seg.to {
			s.guard.Begin(s.g.t[i], row(z, i, d), theta)
		}
		if i == seg.from && i < seg.to {
			if err := s.begin(i, z, theta); err != nil {
				return s.Fail(i, theta, row(z, i, d), err)
			}
		}
		for end := min(to, seg.to); i < end; {
			if s.stop.Ended() {
				return s.Fail(i, theta, row(z, i, d), s.cause())
			}
			i, err = s.advance(z, i, end, j, n, theta, xi)
			if err != nil || !s.guard.Pass(s.g.t[i], row(z, i, d)) {
				if met := s.guard.Met(); met != "" {
					err = fmt.Errorf("%w: %s", ErrField, met)
				}
			}
			if err != nil {
				return s.Fail(i, theta, row(z, i, d), err)
			}
		}
		if i < to { // the event after the segment
			copy(row(z, i+1, d), row(z, i, d))
			if s.follower != nil {
				s.follower.jump(j, i, row(z, i, d), theta, s.g.t[i])
			}
			if e := s.g.events[j]; e.inside && e.event.Jump != nil {
				e.event.Jump(row(z, i+1, d), s.g.t[i], theta)
				if !sane(row(z, i+1, d)) {
					return s.Fail(i, theta, row(z, i, d), fmt.Errorf("%w: after %s", ErrDiverged, e.title))
				}
			}
			i++
		}
	}
	if len(memory) > 0 {
		s.step.Save(memory)
	}
	if !s.checked && from == 0 && to == s.Steps() {
		s.checked = true
		return s.checkPath(z, theta)
	}
	return nil
}

// advance takes one step of segment seg or, if the Stepper can take several steps in one
// call, several steps with an index below the argument `end`. The result is the index of
// the next step, or of the step that failed.
func (s *Solver) advance(z []float64, i, end, seg, n int, theta, xi []float64) (int, error) {
	local := s.scaling == ScaleLocal
	if s.step.Run != nil && s.g.h > 0 && s.follower == nil && (xi == nil || local || s.fixed && i >= s.quiet) {
		const most = 32 // steps between two checks of the context
		to := min(end, i+most)
		s.part = Run{T: s.g.t[i : to+1], H: s.g.h, Z: z[i*s.d : (to+1)*s.d], Theta: theta}
		switch {
		case xi != nil && local:
			s.part.Added = s.localNoise(xi[i*n:to*n], i)
		case xi != nil:
			s.part.Xi, s.part.Scale = xi[i*n:to*n], s.scale
		}
		taken, err := s.step.Run(&s.part)
		return i + taken, err
	}
	err := s.single(z, i, n, theta, xi)
	if err == nil && s.follower != nil {
		err = s.follower.step(i, seg, z, theta, s.normalsOf(xi, i, n))
	}
	if err != nil {
		return i, err
	}
	return i + 1, nil
}

// normalsOf returns the normal variates of step i, or nil if the step has no noise. The
// noise that is scaled by local errors begins with the first step.
func (s *Solver) normalsOf(xi []float64, i, n int) []float64 {
	if xi == nil || i < s.quiet && s.scaling != ScaleLocal {
		return nil
	}
	return xi[i*n : (i+1)*n]
}

// single takes step i.
func (s *Solver) single(z []float64, i, n int, theta, xi []float64) error {
	one, normals := s.at(i, z, theta), s.normalsOf(xi, i, n)
	next := one.Next
	if one.T == one.End { // the segment has length zero at this θ
		copy(next, one.X)
		return nil
	}
	if normals != nil {
		s.scaleAt(i)
		if s.scaling != ScaleLocal {
			one.Xi, one.Scale = normals, s.scale
		}
	}
	err := s.step.Step(one)
	if s.scaling == ScaleLocal {
		for k, v := range normals {
			next[k] += s.scale[k] * v
		}
	}
	if err == nil && !sane(next) {
		err = ErrDiverged
	}
	return err
}

// checkPath checks whether the fields of the problem are consistent at a few points of a
// path.
func (s *Solver) checkPath(z, theta []float64) error {
	const points = 5
	n := s.Steps()
	for k := 1; k <= points; k++ {
		if s.stop.Ended() {
			return s.Fail(n, theta, nil, s.cause())
		}
		i := (2*k - 1) * n / (2 * points)
		from, to := s.g.Segment(i)
		if i == to {
			continue // an event
		}
		s.now.Interval = s.g.seg[s.g.segment(min(i+1, to))].now
		if s.g.t[i] == s.g.t[i+1] || from == to {
			continue
		}
		if err := checkAt(s.inside, s.g.t[i], row(z, i, s.d), theta); err != nil {
			return err
		}
	}
	return nil
}

// Fail returns the *SolveError for a failure of step i, which began at the state x. If
// the path diverged or a matrix was singular, Fail checks whether the cause is a wrong
// value of f or of its Jacobian. Failures are frequent in samplers, so Fail allocates
// nothing but the error.
func (s *Solver) Fail(i int, theta, x []float64, err error) error {
	i = min(i, s.Steps()-1)
	all := new(struct {
		SolveError
		few [16]float64
	})
	kept := append(append(all.few[:0], x...), theta...)
	e := &all.SolveError
	*e = SolveError{problem: s.p.Title(), method: s.m, grid: s.g.rule, Step: i, T: s.g.t[i],
		x: kept[:len(x):len(x)], theta: kept[len(x):], Err: err}
	if x == nil || !errors.Is(err, ErrDiverged) && !errors.Is(err, ErrSingular) && !errors.Is(err, ErrNewton) {
		return e
	}
	if s.f == nil {
		s.f = make([]float64, s.d)
	}
	for _, t := range [2]float64{s.g.t[i+1], e.T} {
		if s.inside.F(s.f, t, x, theta); !vector.Finite(s.f) {
			break
		}
	}
	if !vector.Finite(s.f) {
		e.Err = fmt.Errorf("%w: F is %s", ErrField, text.Vector(s.f))
	} else if s.p.FJ != nil && s.p.Field().CheckDense(2) == nil && (errors.Is(err, ErrSingular) || errors.Is(err, ErrNewton)) {
		if s.jac == nil {
			s.jac, s.lin = s.p.Field().NewJacobian(), field.NewLinearizer(s.inside.Field())
		}
		s.lin.FJ(s.f, s.jac, s.g.t[i+1], x, theta)
		if !vector.Finite(s.f) || !vector.Finite(s.jac.A) {
			e.Err = fmt.Errorf("%w: the Jacobian that FJ returns has elements that are NaN or infinite", ErrField)
			return e
		}
	}
	if vector.Finite(s.f) && !s.checked { // no path has been checked yet: the problem may break a promise
		if broken := checkAt(s.inside, e.T, x, theta); broken != nil {
			e.Err = broken
		}
	}
	return e
}

// TooLarge is the limit for the absolute value of a component. A path that reaches this
// limit is regarded as diverged, and Stepper.Run returns ErrDiverged.
const TooLarge = 1e100

// A SolveError says at which step a path failed.
type SolveError struct {
	Step  int       // index of the step that failed
	T     float64   // time at its beginning
	x     []float64 // state at that time; nil if there is none
	theta []float64
	Err   error // one of the errors above, an error of a Stepper or a context, or a *PanicError

	problem, grid string
	method        Method
}

func (e *SolveError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s, %v, %s: step %d at t = %.6g: %v", e.problem, e.method, e.grid, e.Step, e.T, e.Err)
	var p *PanicError
	if errors.As(e.Err, &p) || errors.Is(e.Err, ErrField) || errors.Is(e.Err, ErrParameter) || errors.Is(e.Err, ErrStart) {
		fmt.Fprintf(&b, "; x = %s, theta = %s", text.Vector(e.x), text.Vector(e.theta))
	}
	return b.String()
}

func (e *SolveError) Unwrap() error { return e.Err }

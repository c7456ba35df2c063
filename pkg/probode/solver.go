package probode

import (
	"errors"
	"fmt"
	"math"
	"slices"
)

// A Solver computes paths Z of one problem with one method on one uniform
// grid. The path is a deterministic function of θ and of the standard normals
// ξ behind its noise,
//
//	Z = Z(θ, ξ),   ξ ∈ ℝ^{N×d},
//
// and ξ = 0 gives the classical method. Everything else in this module is
// written on top of that function. A Solver owns its workspace: a solve does
// not allocate, and two goroutines need two Solvers (see Clone).
type Solver struct {
	p     *Problem
	m     Method
	d     int
	h     float64
	alpha float64
	scale float64 // √α h^{ρ/2}
	t     []float64
	past  past
	start *rungeKutta // takes the first steps, without noise
	first int         // number of those
	step  stepper
}

// NewSolver returns a Solver for p with method m on the grid tᵢ = t₀ + i·h,
// h = step, with noise scale alpha ≥ 0, which multiplies a variance. The step
// must divide the span; the error names the nearest ones that do. A user's FJ
// is compared with F at the start, and a mistake in it is an error.
func NewSolver(p *Problem, m Method, step, alpha float64) (*Solver, error) {
	if err := p.Validate(); err != nil {
		return nil, err
	}
	t, err := Grid(p.Span, step)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", p.Name, err)
	}
	if !(alpha >= 0) || math.IsInf(alpha, 1) {
		return nil, fmt.Errorf("%s: alpha is %g: want a finite number ≥ 0", p.Name, alpha)
	}
	x0 := make([]float64, p.Dim())
	p.Initial(x0, p.Theta)
	if err := p.CheckJacobian(p.Span[0], x0, p.Theta); err != nil {
		return nil, err
	}
	if err := p.checkBand(p.Span[0], x0, p.Theta); err != nil {
		return nil, err
	}
	return newSolver(p, m, t, alpha)
}

// newSolver is NewSolver for arguments that have been checked.
func newSolver(p *Problem, m Method, t []float64, alpha float64) (*Solver, error) {
	d, n := p.Dim(), len(t)-1
	if m.startup() >= n {
		return nil, fmt.Errorf("%s: %v takes %d steps to start and the grid has %d: want a smaller step", p.Name, m, m.startup(), n)
	}
	s := &Solver{p: p, m: m, d: d, h: (t[n] - t[0]) / float64(n), t: t, first: m.startup()}
	if _, ok := m.(RungeKutta); !ok {
		s.past = past{f: make([]float64, n*d), d: d}
		s.start = newRungeKutta(s, RK4)
	}
	s.SetAlpha(alpha)
	s.step = m.stepper(s)
	return s, nil
}

// Grid returns the times t₀, t₀ + h, …, t₁. It is an error if h does not
// divide the span to within 10⁻⁹ of a step count.
func Grid(span [2]float64, h float64) ([]float64, error) {
	length := span[1] - span[0]
	n := math.Round(length / h)
	switch {
	case !(h > 0) || math.IsInf(h, 1):
		return nil, fmt.Errorf("step is %g: want a finite number > 0", h)
	case h > length*(1+1e-9):
		return nil, fmt.Errorf("step is %g: want at most the span, %g", h, length)
	case n > 1e9:
		return nil, fmt.Errorf("step is %g: %g steps over the span of %g are more than 1e9", h, n, length)
	case math.Abs(length/h-n) > 1e-9*n:
		below := math.Floor(length / h)
		return nil, fmt.Errorf("step %g does not divide the span [%g, %g]: want for example %.10g or %.10g",
			h, span[0], span[1], length/below, length/(below+1))
	}
	t := make([]float64, int(n)+1)
	for i := range t {
		t[i] = span[0] + length*float64(i)/n
	}
	return t, nil
}

// Clone returns an independent Solver of the same problem, method, grid and
// noise scale.
func (s *Solver) Clone() *Solver {
	c, err := newSolver(s.p, s.m, s.t, s.alpha)
	if err != nil {
		panic("probode: " + err.Error()) // s was made with the same arguments
	}
	return c
}

// Problem returns the problem that s solves.
func (s *Solver) Problem() *Problem { return s.p }

// Method returns the method of s.
func (s *Solver) Method() Method { return s.m }

// Step returns the step size h.
func (s *Solver) Step() float64 { return s.h }

// Alpha returns the noise scale α.
func (s *Solver) Alpha() float64 { return s.alpha }

// SetAlpha changes the noise scale α ≥ 0. It is the only thing about a Solver
// that can change.
func (s *Solver) SetAlpha(alpha float64) {
	s.alpha = alpha
	s.scale = math.Sqrt(alpha) * math.Pow(s.h, float64(s.m.NoiseExponent())/2)
}

// Times returns the grid t₀, …, t_N. It must not be changed.
func (s *Solver) Times() []float64 { return s.t }

// Steps returns N, the number of steps.
func (s *Solver) Steps() int { return len(s.t) - 1 }

// Startup returns the number of steps at the beginning that are taken by RK4
// without noise, since a multistep method has no past yet. The first of the
// grid points that carry noise is that with index Startup() + 1.
func (s *Solver) Startup() int { return s.first }

// PathLen returns (N+1)·d, the length of a path.
func (s *Solver) PathLen() int { return len(s.t) * s.d }

// NoiseLen returns N·d, the length of ξ.
func (s *Solver) NoiseLen() int { return s.Steps() * s.d }

// Solve writes Z(θ, ξ) into z, row-major: z[i*d+k] is component k at time tᵢ.
// Row i of xi, xi[i*d:(i+1)*d], drives the step from tᵢ to t_{i+1}; the rows
// of the first Startup() steps are not used. xi nil stands for ξ = 0.
//
// The error is a *SolveError if the path leaves the finite numbers, if Γ is
// singular, or if Newton's method does not converge; z then holds the path up
// to that step. With the exact law a path is not a function of ξ alone, and
// Solve refuses a non-nil xi: see SolvePath. Solve panics if a length is
// wrong.
func (s *Solver) Solve(z, theta, xi []float64) error {
	return s.SolveFrom(z, theta, xi, 0, s.Steps())
}

// SolveFrom takes the steps from, …, to−1 of a path of which z holds the rows
// up to that of t_from, and writes those up to that of t_to, where
// 0 ≤ from ≤ to ≤ N. A step number is that of its row in xi, and z, theta and
// xi have the lengths that Solve wants. With from = 0 the row of t₀ is written,
// too.
//
// A path that is solved in pieces is the same, bit for bit, as one that Solve
// computes, since nothing of the pieces before is kept: f is evaluated again
// at the Startup() grid points before t_from. These and that of t_from are all
// of the past that is read, so that each piece may continue another path, with
// other ξ, as in a particle filter. Errors and panics are those of Solve.
func (s *Solver) SolveFrom(z, theta, xi []float64, from, to int) error {
	if xi != nil && len(xi) != s.NoiseLen() {
		panic(fmt.Sprintf("probode: xi has length %d: want N·d = %d", len(xi), s.NoiseLen()))
	}
	if from < 0 || from > to || to > s.Steps() {
		panic(fmt.Sprintf("probode: steps %d to %d: want 0 ≤ from ≤ to ≤ %d", from, to, s.Steps()))
	}
	if xi != nil && s.exact() != nil {
		return fmt.Errorf("%s, %v: the exact law needs more randomness than ξ and does not depend on θ continuously: use it in ensembles, and the Gaussian law (Exact: nil) for inference", s.p.Name, s.m)
	}
	return s.run(z, theta, xi, from, to)
}

// SolvePath draws ξ for the path with the given number into xi and solves
// with it, under the Gaussian or the exact law. The same (seed, path) is the
// same path wherever and whenever it is computed.
func (s *Solver) SolvePath(z, theta, xi []float64, seed, path uint64) error {
	if len(xi) != s.NoiseLen() {
		panic(fmt.Sprintf("probode: xi has length %d: want N·d = %d", len(xi), s.NoiseLen()))
	}
	DrawNoise(xi, seed, path)
	if e := s.exact(); e != nil {
		e.seed(seed, path)
	}
	return s.solve(z, theta, xi)
}

func (s *Solver) exact() *exactSampler {
	if a, ok := s.step.(*adamsMoulton); ok {
		return a.exact
	}
	return nil
}

func (s *Solver) solve(z, theta, xi []float64) error {
	return s.run(z, theta, xi, 0, s.Steps())
}

// run is SolveFrom under the Gaussian or the exact law.
func (s *Solver) run(z, theta, xi []float64, from, to int) error {
	if len(z) != s.PathLen() {
		panic(fmt.Sprintf("probode: z has length %d: want (N+1)·d = %d", len(z), s.PathLen()))
	}
	if len(theta) != len(s.p.Theta) {
		panic(fmt.Sprintf("probode: theta has length %d: want %d, that of Problem.Theta", len(theta), len(s.p.Theta)))
	}
	d := s.d
	if from == 0 {
		s.p.Initial(z[:d], theta)
		if !finite(z[:d]) {
			return &SolveError{s.p.Name, s.m, s.h, 0, s.t[0], ErrDiverged}
		}
	}
	// A method of n steps needs F of n−1 grid points before the present one,
	// which is also how many it takes to start.
	for i := max(0, from-s.first); i < from; i++ {
		s.recall(i, z, theta)
	}
	var noise []float64
	for i := from; i < to; i++ {
		var err error
		if i < s.first {
			if err = s.start.step(i, z, theta, nil); err == nil {
				copy(s.past.row(i), s.start.k[0])
			}
		} else {
			if xi != nil {
				noise = xi[i*d : (i+1)*d]
			}
			err = s.step.step(i, z, theta, noise)
		}
		if err == nil && !finite(z[(i+1)*d:(i+2)*d]) {
			err = ErrDiverged
		}
		if err != nil {
			return &SolveError{s.p.Name, s.m, s.h, i, s.t[i], err}
		}
	}
	return nil
}

// recall sets Fᵢ of the past by the same evaluation as step i does: F and FJ
// may round differently.
func (s *Solver) recall(i int, z, theta []float64) {
	fi, zi := s.past.row(i), row(z, i, s.d)
	if a, ok := s.step.(*adamsMoulton); ok && i >= s.first && a.lin != Predictor && a.currentIsOld && a.eval.diff == nil {
		a.eval.fj(fi, a.jac, s.t[i+1], zi, theta)
		return
	}
	s.p.F(fi, s.t[i], zi, theta)
}

// What can go wrong in a step. The texts say what to try.
var (
	// ErrDiverged: the path left the finite numbers.
	ErrDiverged = errors.New("the path left the finite numbers: try a smaller step or, for a stiff problem, AdamsMoulton of 0 or 1 steps")
	// ErrSingular: Γ = (hβ₋₁)⁻¹I − J has no inverse.
	ErrSingular = errors.New("(hβ₋₁)⁻¹I − J is singular or not finite: try a smaller step")
	// ErrNewton: Newton's method for the implicit equation did not converge.
	ErrNewton = errors.New("no convergence of Newton's method: try a smaller step, or Linearize: Current")
)

// A SolveError says where a path could not be continued.
type SolveError struct {
	Problem string
	Method  Method
	H       float64 // step size
	Step    int     // index of the step that failed
	T       float64 // time at its beginning
	Err     error   // ErrDiverged, ErrSingular, ErrNewton or one of the exact law
}

func (e *SolveError) Error() string {
	return fmt.Sprintf("%s, %v, h = %g: step %d at t = %.6g: %v", e.Problem, e.Method, e.H, e.Step, e.T, e.Err)
}

func (e *SolveError) Unwrap() error { return e.Err }

// Index returns the indices of times in the grid, of all grid points if times
// is nil. The error names the first time that is not a grid point.
func (s *Solver) Index(times []float64) ([]int, error) {
	if times == nil {
		all := make([]int, len(s.t))
		for i := range all {
			all[i] = i
		}
		return all, nil
	}
	index := make([]int, len(times))
	for n, t := range times {
		i, _ := slices.BinarySearch(s.t, t-s.h/2)
		if i == len(s.t) || math.Abs(s.t[i]-t) > 1e-9*max(s.h, math.Abs(t)) {
			return nil, fmt.Errorf("time %g is not on the grid of step %g over [%g, %g]", t, s.h, s.t[0], s.t[len(s.t)-1])
		}
		index[n] = i
	}
	return index, nil
}

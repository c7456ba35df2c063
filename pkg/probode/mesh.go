package probode

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
)

// A Mesh is a rule by which a grid is made for a problem: Uniform, Through,
// Frozen, or one of your own.
type Mesh interface {
	// Grid returns the grid for p, to be solved by m, at θ. times are those at
	// which the solution will be asked for; nil if any will do.
	Grid(ctx context.Context, p *Problem, m Method, theta, times []float64) (*Grid, error)
	// String says what the rule is, in a few words.
	String() string
}

// Uniform is the Mesh of the given step size h: the steps between two events are
// equal, and the largest up to h that divide the time between them, so that a step
// need not divide the span. The times of the data are interpolated; where they lie
// among events with few steps between them, let the steps go Through them. The grid
// says which step it took, see Grid.String.
type Uniform float64

func (h Uniform) Grid(_ context.Context, p *Problem, _ Method, theta, _ []float64) (*Grid, error) {
	return UniformGrid(p, theta, float64(h))
}

func (h Uniform) String() string { return fmt.Sprintf("h = %g", float64(h)) }

// Through is the Mesh of steps of at most the given size through the times at
// which the solution will be asked for: see GridThrough.
type Through float64

func (h Through) Grid(_ context.Context, p *Problem, _ Method, theta, times []float64) (*Grid, error) {
	return GridThrough(p, theta, times, float64(h))
}

func (h Through) String() string { return fmt.Sprintf("h ≤ %g, through the times", float64(h)) }

// A Tolerance bounds the local error of a step, component by component, by
// Absolute + Relative·|x|.
type Tolerance struct {
	Relative float64
	// Absolute has one element for all components or one for each; nil stands
	// for Relative times the larger of 1/1000 of the largest size of the
	// component so far and 10⁻⁶ of that of any component. A component that is
	// smaller than that all the time, as a trace substance among others, needs
	// an Absolute of its own. For the first step from a state that is all zero
	// the size to which the step would lead over the whole span counts.
	Absolute []float64
}

func (t Tolerance) check(d int) error {
	if !(t.Relative >= 0) || math.IsInf(t.Relative, 1) {
		return fmt.Errorf("relative tolerance is %g: want a finite number ≥ 0", t.Relative)
	}
	if t.Absolute != nil && len(t.Absolute) != 1 && len(t.Absolute) != d {
		return fmt.Errorf("%d absolute tolerances: want 1 or %d, one a component", len(t.Absolute), d)
	}
	for _, a := range t.Absolute {
		if !(a >= 0) || math.IsInf(a, 1) || a == 0 && t.Relative == 0 {
			return fmt.Errorf("absolute tolerance is %g: want a finite number > 0, or 0 with a relative one", a)
		}
	}
	if t.Absolute == nil && t.Relative == 0 {
		return fmt.Errorf("the tolerances are zero: want a relative or an absolute one > 0")
	}
	return nil
}

// size returns the error that component k may have, of a state that has the
// values a and b at the ends of a step and was at most peak before, and top in
// any component.
func (t Tolerance) size(k int, a, b, peak, top float64) float64 {
	x := max(math.Abs(a), math.Abs(b))
	switch len(t.Absolute) {
	case 0:
		return t.Relative * max(x, 1e-3*peak, 1e-6*top, math.SmallestNonzeroFloat64/t.Relative)
	case 1:
		k = 0
	}
	return t.Absolute[k] + t.Relative*x
}

func (t Tolerance) String() string {
	switch len(t.Absolute) {
	case 0:
		return fmt.Sprintf("rtol = %g", t.Relative)
	case 1:
		return fmt.Sprintf("rtol = %g, atol = %g", t.Relative, t.Absolute[0])
	}
	return fmt.Sprintf("rtol = %g, atol by component", t.Relative)
}

// Measured is the Mesh of another one together with the local errors of the
// classical path at the θ that its grid is made for, as an error-controlled run
// has them: noise on it is ScaleLocal by default, the same for every θ that is
// solved on it. For a Mesh whose grids have local errors it changes nothing.
type Measured struct{ Mesh Mesh }

func (l Measured) String() string { return l.Mesh.String() + ", local errors measured" }

// Grid makes the grid and takes the classical path on it, which may fail as any
// solve may.
func (l Measured) Grid(ctx context.Context, p *Problem, m Method, theta, times []float64) (*Grid, error) {
	g, err := l.Mesh.Grid(ctx, p, m, theta, times)
	if err != nil || g.local != nil {
		return g, err
	}
	if theta, err = p.Parameters(theta); err != nil {
		return nil, err
	}
	s, err := NewSolver(p, m, g, 0)
	if err != nil {
		return nil, err
	}
	defer s.Bind(ctx)()
	if err := s.SetScaling(ScaleLocal, theta); err != nil {
		return nil, err
	}
	measured := *g.clone()
	measured.local = s.local
	return &measured, nil
}

// Frozen is the Mesh of an error-controlled run of the classical method at one
// θ, which all of θ and ξ are then solved on, so that Z stays smooth in θ. The
// points go through the times that are asked for, and through events.
//
// The run knows f where it has called it: a pulse in f that is shorter than the
// steps around it may leave no trace. Declare it as events, or set Max.
//
// Noise on such a grid is scaled by the local errors that the run has found: see
// ScaleDefault.
type Frozen struct {
	Tolerance
	// Theta is where the run is made; nil stands for the θ that Grid is called with.
	Theta []float64
	// First and Max are the length of the first step and the largest one; zero
	// leaves them to the controller.
	First, Max float64
	// MaxSteps bounds the number of steps; zero means 10⁶.
	MaxSteps int
}

func (f Frozen) String() string { return f.Tolerance.String() }

func (f Frozen) Grid(ctx context.Context, p *Problem, m Method, theta, times []float64) (*Grid, error) {
	if f.Theta != nil {
		theta = f.Theta
	}
	if err := p.Validate(); err != nil {
		return nil, err
	}
	if ctx == nil {
		return nil, errors.New("probode: the context is nil")
	}
	if m == nil {
		return nil, fmt.Errorf("%s: the method is nil", p.Title())
	}
	theta, err := p.Parameters(theta)
	if err != nil {
		return nil, err
	}
	fail := func(err error) (*Grid, error) {
		return nil, fmt.Errorf("%s, %v, %v: %w", p.Title(), m, f, err)
	}
	if err := f.check(p.Dim()); err != nil {
		return fail(err)
	}
	if !(f.First >= 0) || !(f.Max >= 0) || f.MaxSteps < 0 {
		return fail(fmt.Errorf("first step %g, largest %g, at most %d steps: want numbers ≥ 0", f.First, f.Max, f.MaxSteps))
	}
	// The events and times, which every grid has, divide the work.
	fixed, err := NewGrid(p, theta, times)
	if err != nil {
		return nil, err
	}
	c, err := newController(p, m, f, theta, fixed)
	if err != nil {
		return fail(err)
	}
	if err := c.run(ctx); err != nil {
		return fail(err)
	}
	g, err := NewGrid(p, theta, c.times)
	if err != nil {
		return nil, err
	}
	if len(c.local) != g.Steps()*p.Dim() {
		return fail(errTooShort)
	}
	g.rule, g.local, g.tol = f.String(), c.local, &f.Tolerance
	if slices.Max(c.orders) > 0 {
		g.orders = c.orders
	}
	return g, nil
}

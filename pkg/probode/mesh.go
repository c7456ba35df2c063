package probode

import (
	"context"
	"fmt"
)

// Uniform is the Mesh with steps of size h. Events divide the span into segments. If the
// length of a segment is not a multiple of h, the segment is divided into equal steps
// shorter than h. On a problem without events, Grid.String gives the actual size of the
// steps. The states at the observation times are interpolated. If events lie close
// together, use Through, which needs no interpolation.
type Uniform float64

func (h Uniform) grid(_ context.Context, p *Problem, _ Method, theta, _ []float64) (*Grid, error) {
	return UniformGrid(p, theta, float64(h))
}

// Bind makes the grid.
func (h Uniform) Bind(ctx context.Context, s Setup, p *Problem, at, times []float64) (Path, error) {
	return bindGrid(ctx, h, s, p, at, times)
}

func (h Uniform) String() string { return fmt.Sprintf("h = %g", float64(h)) }

// Through is the Mesh whose steps end at the observation times and at events. Between two
// consecutive times of observations or events, the steps have equal length, which is at
// most the given size.
type Through float64

func (h Through) grid(_ context.Context, p *Problem, _ Method, theta, times []float64) (*Grid, error) {
	return gridThrough(p, theta, times, float64(h))
}

// Bind makes the grid.
func (h Through) Bind(ctx context.Context, s Setup, p *Problem, at, times []float64) (Path, error) {
	return bindGrid(ctx, h, s, p, at, times)
}

func (h Through) String() string { return fmt.Sprintf("h ≤ %g, through the times", float64(h)) }

// Frozen is a Mesh whose grid comes from a single error-controlled run of the classical
// method at one θ. The same grid is used for all θ and ξ, so that Z is smooth in θ. The
// grid includes the requested times and the events.
//
// The run evaluates f at only a few points in each step, so it may miss a pulse in f that
// is shorter than the steps around it. If f contains a short pulse, declare the ends of
// the pulse as events, or set Max.
//
// By default the noise on a Frozen grid is scaled by the local errors of the run: see
// ScaleDefault.
type Frozen struct {
	Tolerance
	// Max bounds the length of a step; zero means no bound.
	Max float64
	// MaxSteps bounds the number of steps; zero means 10⁶.
	MaxSteps int
}

func (f Frozen) String() string { return f.Tolerance.String() }

// Bind makes the error-controlled run.
func (f Frozen) Bind(ctx context.Context, s Setup, p *Problem, at, times []float64) (Path, error) {
	return bindGrid(ctx, f, s, p, at, times)
}

func (f Frozen) grid(ctx context.Context, p *Problem, m Method, theta, times []float64) (*Grid, error) {
	return f.run(ctx, p, m, theta, times, true)
}

// run performs the error-controlled run at theta, and returns its grid. If the argument
// `local` is true, the grid also contains the local errors, which scale the noise.
// Computing local errors can take as long as the run itself.
func (f Frozen) run(ctx context.Context, p *Problem, m Method, theta, times []float64, local bool) (*Grid, error) {
	if err := p.Validate(); err != nil {
		return nil, err
	}
	if err := p.foreseen(); err != nil {
		return nil, err
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
	if !(f.Max >= 0) || f.MaxSteps < 0 {
		return fail(fmt.Errorf("the maximum step is %g and the maximum number of steps is %d: want numbers ≥ 0", f.Max, f.MaxSteps))
	}
	// The times of events and the requested times divide the run into parts.
	fixed, err := NewGrid(p, theta, times)
	if err != nil {
		return nil, err
	}
	c, err := newController(p, m, f, theta, fixed)
	if err != nil {
		return fail(err)
	}
	if !local {
		c.made = nil
	}
	if err := c.run(ctx); err != nil {
		return fail(err)
	}
	g, err := c.grid(p, theta)
	if err != nil {
		return fail(err)
	}
	if local {
		g.local = c.local
	}
	return g, nil
}

// Fixed is the Mesh with the steps of a given grid.
type Fixed struct{ *Grid }

func (f Fixed) grid(context.Context, *Problem, Method, []float64, []float64) (*Grid, error) {
	return f.Grid, nil
}

// Bind returns a Path on the grid.
func (f Fixed) Bind(ctx context.Context, s Setup, p *Problem, at, times []float64) (Path, error) {
	return bindGrid(ctx, f, s, p, at, times)
}

// StepSize returns the step size of a Uniform or Through mesh, and 0 for any other mesh.
func (s Setup) StepSize() float64 {
	switch m := s.Mesh.(type) {
	case Uniform:
		return float64(m)
	case Through:
		return float64(m)
	}
	return 0
}

// WithStepSize returns s with steps of size h. If s.Mesh has Through, the new Mesh is
// Through(h); otherwise it is Uniform(h).
func (s Setup) WithStepSize(h float64) Setup {
	if _, ok := s.Mesh.(Through); ok {
		s.Mesh = Through(h)
	} else {
		s.Mesh = Uniform(h)
	}
	return s
}

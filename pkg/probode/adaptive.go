package probode

import (
	"context"
	"fmt"
	"slices"
)

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

	parts int // the number of equal parts in which each step is taken; 0 means 1
}

func (f Frozen) String() string { return f.Tolerance.String() }

// Bind makes the error-controlled run.
func (f Frozen) Bind(ctx context.Context, s Setup, p *Problem, at, times []float64) (Path, error) {
	return bindGrid(ctx, f, s, p, at, times)
}

// grid makes the run. The grid contains the local errors, which scale the noise; computing
// them can take as long as the run itself.
func (f Frozen) grid(ctx context.Context, p *Problem, m Method, theta, times []float64) (*Grid, error) {
	theta, err := f.check(p, m, theta)
	if err != nil {
		return nil, err
	}
	if err := p.foreseen(); err != nil {
		return nil, err
	}
	fail := func(err error) (*Grid, error) {
		return nil, fmt.Errorf("%s, %v, %v: %w", p.Title(), m, f, err)
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
	if err := c.run(ctx); err != nil {
		return fail(err)
	}
	g, err := c.grid(p, theta)
	if err != nil {
		return fail(err)
	}
	g.local = c.local
	return g, nil
}

// check returns θ, or an error if no run can begin.
func (f Frozen) check(p *Problem, m Method, theta []float64) ([]float64, error) {
	if err := p.Validate(); err != nil {
		return nil, err
	}
	if m == nil {
		return nil, fmt.Errorf("%s: the method is nil", p.Title())
	}
	err := f.Tolerance.check(p.Dim())
	if err == nil && (!(f.Max >= 0) || f.MaxSteps < 0) {
		err = fmt.Errorf("the maximum step is %g and the maximum number of steps is %d: want numbers ≥ 0", f.Max, f.MaxSteps)
	}
	if err != nil {
		return nil, fmt.Errorf("%s, %v, %v: %w", p.Title(), m, f, err)
	}
	return p.Parameters(theta)
}

// Adaptive is a Mesh whose steps are chosen anew at every θ, by an error-controlled run
// of the classical method. Adaptive corresponds to the common practice of calling an
// adaptive solver whenever the likelihood is evaluated. The solution meets the tolerance
// at every θ, but is discontinuous at every θ at which a step changes from accepted to
// rejected, or at which the number of iterations of an implicit method changes. Adaptive
// cannot add noise to the solution: the number of steps changes with θ, but ξ has a fixed
// length. If the solution must be smooth in θ, or must include noise, use Frozen instead.
//
// Adaptive finds the times of events that have a Trigger. If a Trigger becomes positive
// within a step, the step is repeated with other lengths until it ends just after the
// Trigger has become positive. The end of the step is later than the event by at most a
// few units in the last place of t. If several Triggers become positive in one step, the
// step ends when the first of them becomes positive. At the end of the step, the jump is
// applied and the method is restarted. Hold returns a Path whose event times depend on θ,
// and whose derivatives include this dependence. If such an event happens exactly at an
// observation, the solution has no derivative there, unless neither the state nor f jumps.
// A run ends with an error if the times of
// an event accumulate, as the impact times of a bouncing ball do.
//
// A run also ends with an error if the solution runs away, if it or its slope becomes
// infinite, if f is not finite beyond a state, or if a tolerance cannot be met because of
// rounding errors; the error says which. Towards a pole, the steps shrink in proportion to
// its distance; a state that grows exponentially exceeds TooLarge after 230 times its time
// constant. So such a run ends after some thousand steps, unless the solution also
// oscillates. In any case a run ends after MaxSteps steps, or four times as many attempts;
// an attempt of DP5 takes 6 evaluations of F, and one of Radau5 usually 10 to 30.
type Adaptive struct {
	Tolerance
	// Max bounds the length of a step. Zero means 1/128 of the span if f depends on time,
	// because a longer step could pass over a smooth pulse in f, and otherwise no bound.
	// +Inf means no bound.
	Max float64
	// MaxSteps bounds the number of steps of a run, in addition to the number of times at
	// which a step must end, such as those of data. Zero means 10⁶. The number of steps
	// always has a bound, because a sampler may propose a θ at which a run would take a
	// very long time.
	MaxSteps int

	parts int // see Frozen
}

// InParts returns a Mesh that chooses steps by the same rules, but takes each of them in n
// equal parts, and solves the equations of implicit steps up to rounding errors. The
// difference between the solutions in one part and in two shows the error of both, whatever
// has limited the steps: the tolerance, Max, or the times at which a step must end.
func (a Adaptive) InParts(n int) Adaptive {
	a.parts = n
	return a
}

func (a Adaptive) frozen(p *Problem) Frozen {
	if a.Max == 0 && !p.Autonomous {
		a.Max = (p.Span[1] - p.Span[0]) / 128
	}
	return Frozen(a)
}

func (a Adaptive) String() string { return a.Tolerance.String() + ", again at every θ" }

// Bind returns a Path whose grid contains the given times. The Path implements Holdable.
// Bind runs the method at the given θ, and returns an error if the tolerance cannot be
// met at this θ.
func (a Adaptive) Bind(ctx context.Context, s Setup, p *Problem, at, times []float64) (Path, error) {
	m := s.Method
	at, err := Frozen(a).check(p, m, at)
	if err != nil {
		return nil, err
	}
	if p.Hybrid != nil {
		return a.bindHybrid(ctx, m, p, at, times)
	}
	path, err := a.bind(ctx, m, p, at, times)
	if err != nil {
		return nil, err
	}
	return path, nil
}

func (a Adaptive) bind(ctx context.Context, m Method, p *Problem, at, times []float64) (*adaptivePath, error) {
	path := &adaptivePath{p: p, m: m, set: a.frozen(p), times: times}
	if err := path.place(at); err != nil {
		return nil, err
	}
	if err := path.States(ctx, make([]float64, len(times)*p.visible()), at, nil); err != nil {
		return nil, err
	}
	path.sizes = slices.Clone(path.c.yard.Scale)
	x := make([]float64, p.Dim())
	p.Initial(x, at)
	for k, v := range x {
		if v != 0 {
			path.sizes[k] = 0
		}
	}
	path.last = nil
	return path, nil
}

// adaptivePath chooses new steps at every θ.
type adaptivePath struct {
	p     *Problem
	m     Method
	set   Frozen
	times []float64
	fixed *Grid // the events and times
	index []int // of the times in fixed
	c     *controller
	last  []float64 // θ of the last run; nil if it failed
	sizes []float64 // see controller; those at the θ of Bind, so that a path does not depend on earlier θ
	held  *gridPath // the result of Hold, unless the problem has triggers
}

func (s *adaptivePath) Clone() Path {
	c := *s
	c.c, c.fixed, c.last, c.held = nil, s.fixed.clone(), nil, nil
	return &c
}

// place builds the grid from the times and events.
func (s *adaptivePath) place(theta []float64) (err error) {
	if s.fixed, err = NewGrid(s.p, theta, s.times); err != nil {
		return err
	}
	s.index, err = s.fixed.Index(s.times)
	return err
}

// States returns an error if the tolerance cannot be met, if too many steps are needed,
// if F is not finite, or if ctx is done. States does not run the method again if the last
// run was at the same θ.
func (s *adaptivePath) States(ctx context.Context, dst, theta, _ []float64) error {
	d, shown := s.p.Dim(), s.p.visible()
	if len(dst) != len(s.times)*shown {
		panic(fmt.Sprintf("probode: dst has length %d: want %d times × %d components", len(dst), len(s.times), shown))
	}
	if err := s.run(ctx, theta); err != nil {
		return err
	}
	for n, i := range s.index {
		copy(row(dst, n, shown), row(s.c.hit, i, d))
	}
	return nil
}

// run runs the adaptive solver at theta, unless the last run was at the same theta.
func (s *adaptivePath) run(ctx context.Context, theta []float64) error {
	theta, err := s.p.Parameters(theta)
	if err != nil || s.last != nil && slices.Equal(s.last, theta) {
		return err
	}
	s.last = nil
	if s.fixed.moving {
		if err := s.place(theta); err != nil {
			return err
		}
	}
	if s.c == nil {
		if s.c, err = newController(s.p, s.m, s.set, theta, s.fixed); err != nil {
			return fmt.Errorf("%s, %v, %v: %w", s.p.Title(), s.m, s.set, err)
		}
		s.c.made, s.c.loose = nil, s.set.parts == 0 // no noise is scaled by these errors, and this path is not differentiated
	}
	s.c.theta, s.c.fixed, s.c.sizes = theta, s.fixed, s.sizes
	if err := s.c.run(ctx); err != nil {
		return fmt.Errorf("%s, %v, %v: %w", s.p.Title(), s.m, s.set, err)
	}
	s.last = slices.Clone(theta)
	return nil
}

// Hold runs the method at theta, and returns a Path with the grid of this run. Only the
// first Hold checks the problem.
func (s *adaptivePath) Hold(ctx context.Context, theta []float64) (Path, error) {
	if err := s.run(ctx, theta); err != nil {
		return nil, err
	}
	if s.c.watch != nil {
		return s.holdLocated(ctx, s.last)
	}
	g, err := s.c.grid(s.p, s.last)
	if err != nil {
		return nil, err
	}
	if s.held == nil {
		path, err := Setup{Method: s.m, Mesh: Fixed{g}}.Bind(ctx, s.p, theta, s.times)
		if err != nil {
			return nil, err
		}
		s.held = path.(*gridPath)
	} else if err := s.held.regrid(g); err != nil {
		return nil, err
	}
	if s.held.solver.checked && !s.c.rough && slices.Equal(g.t, s.c.times) {
		s.held.know(s.last, s.c.path, s.c.work)
	}
	return s.held, nil
}

// holdLocated returns the Path at theta on the grid of the last run. The events are at
// the times that the last run found.
func (s *adaptivePath) holdLocated(ctx context.Context, theta []float64) (Path, error) {
	met := map[int]bool{} // the events at the times of observations, and whether they are smooth
	for _, m := range s.c.meetings {
		if slices.Contains(s.index, m.point) {
			met[m.fired] = m.smooth
		}
	}
	q, crossings, which := s.p.located(s.c.watch.Fired, met)
	at, times := slices.Clone(theta), slices.Clone(s.times)
	for _, c := range crossings {
		at = append(at, c.Time)
	}
	for n, i := range s.index {
		times[n] = s.c.seen[i]
	}
	g, err := s.c.grid(q, at)
	if err != nil {
		return nil, err
	}
	path, err := Setup{Method: s.m, Mesh: Fixed{g}}.Bind(ctx, q, at, times)
	if err != nil {
		return nil, err
	}
	return newLocatedPath(path.(*gridPath), s.p, at, crossings, which), nil
}

func (s *adaptivePath) NoiseLen() int { return 0 }

// Work includes rejected steps.
func (s *adaptivePath) Work() int {
	if s.c == nil {
		return 0
	}
	return s.c.work
}

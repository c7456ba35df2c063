package probode

import (
	"context"
	"errors"
	"fmt"
	"slices"
)

// A Path solves a problem with the settings of a Setup. For given θ and ξ, the Path
// computes the states at the times that were passed to Bind. A Path has its own
// workspace, so two goroutines must not use it at the same time. The interfaces below
// describe capabilities that a Path may have: Tangential, Reversible, Holdable and
// Gridded.
type Path interface {
	// States computes the states at the times that were passed to Bind, and writes them
	// to dst in row-major order: dst[n*d+k] is component k at the time with index n. The
	// argument `xi`, of length NoiseLen, holds the standard normal variates ξ of the
	// noise; nil stands for ξ = 0, the classical solution. States returns an error if the
	// solve fails, or if ctx is done before the solve is complete.
	States(ctx context.Context, dst, theta, xi []float64) error

	// NoiseLen returns the length of ξ, or 0 if there is no noise.
	NoiseLen() int

	// Work returns the number of steps of the last solve, including rejected ones.
	// Derivatives are not counted.
	Work() int

	// Clone returns an independent Path for another goroutine.
	Clone() Path
}

// Tangential is a Path that can compute derivatives of its states.
type Tangential interface {
	Path
	// Tangents computes the same states as States, and also the derivatives of these
	// states along M directions in θ. The noise ξ is held fixed. The derivatives are
	// written to ddst. Row m of the M×p matrix dtheta is direction m, and
	// ddst[m*len(dst):(m+1)*len(dst)] holds the derivatives along this direction. The
	// error is errors.ErrUnsupported if the states have no derivative.
	Tangents(ctx context.Context, dst, ddst, theta, dtheta, xi []float64) error
}

// Reversible is a Path that can compute gradients of functions of its states.
type Reversible interface {
	Path
	// Gradient computes the gradient of Σₙ wₙᵀxₙ and stores it in g. The vector xₙ is the
	// state at the time with index n, and wₙ is the corresponding part of w. The last
	// call of States must have computed the states for the same theta and xi. If w is the
	// gradient of a function with respect to the states, g is the gradient of that
	// function with respect to θ and ξ. The error is errors.ErrUnsupported if the states
	// cannot be differentiated.
	Gradient(ctx context.Context, g *Gradient, w, theta, xi []float64) error
}

// Holdable is a Path that is discontinuous in θ, for example because its steps depend on
// θ. Hold returns a smooth Path that can replace this Path near a given θ.
type Holdable interface {
	Path
	// Hold returns a Path that is smooth in θ. Its states at θ = theta are those of this
	// Path, up to a small fraction of the error that the tolerance permits. The result is
	// valid until the next call of Hold.
	Hold(ctx context.Context, theta []float64) (Path, error)
}

// Gridded is a Path on a grid. Solver gives access to the Solver of the Path. A particle
// filter, for example, uses this Solver to compute the path in pieces.
type Gridded interface {
	Path
	// Solver returns the Solver that computes the Path. If the grid of the Path moves
	// with θ, the grid of this Solver moves in the same way.
	Solver() *Solver
	// Interpolator returns an Interpolator, which takes a path of the Solver and
	// interpolates the states at the times that were passed to Bind.
	Interpolator() *Interpolator
}

// gridPath is a Path on a grid.
type gridPath struct {
	solver  *Solver
	at      *Interpolator
	times   []float64
	z       []float64
	known   []float64 // θ, if z is the path at θ without a solve; otherwise nil
	w, wt   []float64 // gradients with respect to z and to the times, see Gradient
	work    int
	done    <-chan struct{} // of the context that the solver is bound to
	release func()
}

func newGridPath(s *Solver, times []float64) (*gridPath, error) {
	at, err := s.Interpolator(times)
	if err != nil {
		return nil, err
	}
	return &gridPath{solver: s, at: at, times: times, z: make([]float64, s.PathLen())}, nil
}

// regrid replaces the grid of g, so that g need not check the problem again.
func (g *gridPath) regrid(grid *Grid) (err error) {
	if err = g.solver.regrid(grid); err != nil {
		return err
	}
	if g.at, err = g.solver.Interpolator(g.times); err != nil {
		return err
	}
	g.z, g.w, g.wt, g.known = make([]float64, g.solver.PathLen()), nil, nil, nil
	return nil
}

// know sets the path at θ to z, which took the given number of steps.
func (g *gridPath) know(theta, z []float64, work int) {
	g.known, g.work = theta, work
	copy(g.z, z)
}

// follow binds the solver to ctx, so that a solve ends when ctx is done. To save time,
// the method does nothing if ctx is the context of the last solve.
func (g *gridPath) follow(ctx context.Context) {
	done := ctx.Done()
	if done == g.done {
		return
	}
	if g.release != nil {
		g.release()
		g.release = nil
	}
	if g.done = done; done != nil {
		g.release = g.solver.Bind(ctx)
	}
}

func (g *gridPath) States(ctx context.Context, dst, theta, xi []float64) error {
	if g.known == nil || xi != nil || !slices.Equal(theta, g.known) {
		g.follow(ctx)
		g.work, g.known = g.solver.Steps(), nil
		if err := g.solver.Solve(g.z, theta, xi); err != nil {
			return err
		}
	}
	g.at.At(dst, g.z)
	return nil
}

func (g *gridPath) Tangents(ctx context.Context, dst, ddst, theta, dtheta, xi []float64) error {
	g.work, g.known = 0, nil
	moving := g.solver.g.moving
	if moving && g.solver.step.Differentiate == nil {
		// The differences would be those of moving points.
		return fmt.Errorf("%s: %v has no derivatives if the time of an event depends on θ: use a method such as Radau5 (%w)", g.solver.p.Title(), g.solver.m, errors.ErrUnsupported)
	}
	if len(dst) == 0 || len(ddst)%len(dst) != 0 {
		panic(fmt.Sprintf("probode: ddst has length %d: want a multiple of %d", len(ddst), len(dst)))
	}
	g.follow(ctx)
	g.work = g.solver.Steps()
	m, p := len(ddst)/len(dst), len(theta)
	if m == 0 {
		return g.States(ctx, dst, theta, xi)
	}
	// To save memory, compute the derivatives in only a few directions at a time.
	const most = 1 << 24
	each := max(1, min(m, most/len(g.z)))
	dt := make([]float64, len(g.solver.g.t))
	for first := 0; first < m; first += each {
		n := min(each, m-first)
		dz := make([]float64, n*len(g.z))
		if err := g.solver.SolveTangents(g.z, dz, theta, dtheta[first*p:(first+n)*p], xi); err != nil {
			return err
		}
		for k := range n {
			to := row(ddst, first+k, len(dst))
			if g.at.At(to, row(dz, k, len(g.z))); moving {
				g.solver.tangents.times(dt, k)
				g.at.still(to, g.z, dt)
			}
		}
	}
	g.at.At(dst, g.z)
	return nil
}

// Gradient propagates gradients back through the steps: see Solver.Gradient.
func (g *gridPath) Gradient(ctx context.Context, to *Gradient, w, theta, xi []float64) error {
	g.follow(ctx)
	if g.w == nil {
		g.w = make([]float64, len(g.z))
		if g.solver.g.moving {
			g.wt = make([]float64, len(g.solver.g.t))
		}
	}
	clear(g.w)
	clear(g.wt)
	g.at.scatter(g.w, g.wt, w, g.z)
	return g.solver.gradient(to, g.w, g.wt, g.z, theta, xi)
}

func (g *gridPath) NoiseLen() int               { return g.solver.NoiseLen() }
func (g *gridPath) Work() int                   { return g.work }
func (g *gridPath) Solver() *Solver             { return g.solver }
func (g *gridPath) Interpolator() *Interpolator { return g.at }

func (g *gridPath) Clone() Path {
	g.follow(context.Background()) // the clone is independent of the context of g
	c, err := newGridPath(g.solver.Clone(), slices.Clone(g.times))
	if err != nil {
		panic("probode: " + err.Error()) // g was made with the same times
	}
	return c
}

package probode

import (
	"context"
	"errors"
	"fmt"
	"slices"
)

// A Mesh says how the steps of a Setup are chosen. Uniform, Through, Frozen and
// Adaptive are meshes, and so are a Grid and reference.Accurate; one of your own is
// used in their place everywhere.
type Mesh interface {
	// Bind prepares solutions of p by s for the given times, at which the states are
	// asked for; nil stands for all grid points, of a mesh that has a grid. at is the
	// θ at which a grid is frozen and local errors are measured, nil for the nominal
	// one. What takes long is done here, once; other goroutines work with clones.
	Bind(ctx context.Context, s Setup, p *Problem, at, times []float64) (Path, error)

	// String says what the mesh is, in the words of the command.
	String() string
}

// A Path is a problem that is solved by a Setup: the states at the times that it was
// bound for, as a function of θ and ξ. It owns its workspace and serves one
// goroutine. The interfaces below are abilities that a Path may have: Tangential,
// Holdable, Gridded and Scalable.
type Path interface {
	// States writes the states at the times into dst, row-major: dst[n*d+k] is
	// component k at time n. xi, of length NoiseLen, holds the standard normals ξ
	// behind the noise; nil is ξ = 0, the classical solution. The error is that of a
	// solve that failed, or of ctx, which ends a solve in the middle.
	States(ctx context.Context, dst, theta, xi []float64) error

	// NoiseLen returns the length of ξ; 0 if there is no noise.
	NoiseLen() int

	// Work returns the number of steps that the last solve took, rejected ones
	// included and directions of a derivative left out.
	Work() int

	// Clone returns an independent Path for another goroutine.
	Clone() Path
}

// Tangential is a Path that has derivatives of its states.
type Tangential interface {
	Path
	// Tangents is States, and writes the derivatives of the states along M directions
	// in θ, with ξ fixed, into ddst: direction m, which is row m of the M×p dtheta,
	// has the block m of len(dst) numbers. The error is errors.ErrUnsupported where
	// the states have no derivative.
	Tangents(ctx context.Context, dst, ddst, theta, dtheta, xi []float64) error
}

// Holdable is a Path that jumps as a function of θ, as one whose steps are chosen
// again at every θ does, and has a smooth one that can stand in for it near a point.
type Holdable interface {
	Path
	// Hold returns the Path that is smooth in θ and the same at theta.
	Hold(ctx context.Context, theta []float64) (Path, error)
}

// Gridded is a Path that a Solver computes on a grid, so that it can be solved in
// pieces, as a particle filter does.
type Gridded interface {
	Path
	// Solver returns the solver, whose α and whose moving grid the Path shares.
	Solver() *Solver
	// Interpolator gives the states at the times for a path of the Solver.
	Interpolator() *Interpolator
}

// Scalable is a Path whose noise scale α can change, as where it is a parameter.
type Scalable interface {
	Path
	SetAlpha(alpha float64)
}

// gridPath is a Path on a grid.
type gridPath struct {
	solver  *Solver
	at      *Interpolator
	times   []float64
	z       []float64
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

// follow has solves end with ctx. To look whether it is another context than that of
// the last solve costs less than to bind the solver at each.
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
	g.follow(ctx)
	g.work = g.solver.Steps()
	if err := g.solver.Solve(g.z, theta, xi); err != nil {
		return err
	}
	g.at.At(dst, g.z)
	return nil
}

func (g *gridPath) Tangents(ctx context.Context, dst, ddst, theta, dtheta, xi []float64) error {
	g.work = 0
	moving := g.solver.g.moving
	if _, ok := g.solver.step.(Differentiable); moving && !ok {
		return errors.ErrUnsupported // differences are those of points that move
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
	// As many directions at a time as take a bounded memory.
	const most = 1 << 24
	each := max(1, min(m, most/len(g.z)))
	one := make([]float64, len(g.z))
	for first := 0; first < m; first += each {
		n := min(each, m-first)
		dz := make([]float64, n*len(g.z))
		if err := g.solver.SolveTangents(g.z, dz, theta, dtheta[first*p:(first+n)*p], xi); err != nil {
			return err
		}
		if moving {
			g.solver.tangents.still(g.z, dz, theta)
		}
		for k := range n {
			for i := range one {
				one[i] = dz[i*n+k]
			}
			g.at.At(ddst[(first+k)*len(dst):(first+k+1)*len(dst)], one)
		}
	}
	g.at.At(dst, g.z)
	return nil
}

func (g *gridPath) NoiseLen() int               { return g.solver.NoiseLen() }
func (g *gridPath) Work() int                   { return g.work }
func (g *gridPath) Solver() *Solver             { return g.solver }
func (g *gridPath) Interpolator() *Interpolator { return g.at }
func (g *gridPath) SetAlpha(alpha float64)      { g.solver.SetAlpha(alpha) }

func (g *gridPath) Clone() Path {
	g.follow(context.Background()) // a clone does not end with g
	c, err := newGridPath(g.solver.Clone(), slices.Clone(g.times))
	if err != nil {
		panic("probode: " + err.Error()) // g was made with the same times
	}
	return c
}

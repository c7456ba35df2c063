package bayes

import (
	"fmt"

	"github.com/probode/probode/pkg/probode"
)

// A posterior whose Mesh is probode.Adaptive is solved by runs that choose their
// steps again at every θ: its log density jumps where a step is taken or rejected.
// Derivatives are those on the grid of one θ, held.

// newAgain returns the solver of x under error control, nil if its grid stays.
func (p *Posterior) newAgain(x *Experiment) (*probode.AdaptiveSolver, error) {
	if mesh, ok := p.Mesh.(probode.Adaptive); ok {
		return mesh.Solver(x.Problem, p.Method, x.Data.T)
	}
	return nil, nil
}

// solveAgain solves a run that is bound to θ on a grid of its own.
func (e *Density) solveAgain(r *run) error {
	err := r.again.Solve(e.ctx, r.state, r.theta)
	*e.work += r.again.Steps()
	return err
}

// Hold has all solves on the grids that error control finds at theta, until release
// is called, so that differences around theta are those of a smooth function. It
// does nothing where grids stay anyway, or where none can be found at theta: the
// solve there fails, too.
func (e *Density) Hold(theta []float64) (release func()) {
	var free []func()
	for _, r := range e.runs {
		if r.again == nil || r.held || e.accurate != nil {
			continue
		}
		e.bind(r, theta)
		if unbind := e.hold(r); unbind != nil {
			free = append(free, unbind, func() { r.held = false })
		}
	}
	return func() {
		for _, f := range free {
			f()
		}
	}
}

// hold makes the grid of a run at its θ, nil if there is none.
func (e *Density) hold(r *run) func() {
	grid, err := e.p.Mesh.Grid(e.ctx, r.x.Problem, e.p.Method, r.theta, r.x.Data.T)
	if err != nil {
		return nil
	}
	solver, err := probode.NewSolver(r.x.Problem, e.p.Method, grid, 0)
	if err != nil {
		return nil
	}
	at, err := solver.Interpolator(r.x.Data.T)
	if err != nil {
		return nil
	}
	r.solver, r.at, r.z, r.held = solver, at, make([]float64, solver.PathLen()), true
	return solver.Bind(e.ctx)
}

// again reports whether the grids of p change with θ, so that ξ has no place.
func (p *Posterior) again() error {
	if m, ok := p.Mesh.(probode.Adaptive); ok {
		return fmt.Errorf("the steps are chosen again at every θ (%v), and noise has no place on grids that change: want probode.Frozen, or Deterministic", m)
	}
	return nil
}

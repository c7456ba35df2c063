package probode

import (
	"context"
	"fmt"
	"math"
	"sync/atomic"

	"github.com/probode/probode/pkg/internal/moments"
	"github.com/probode/probode/pkg/internal/progress"
)

// The score of a noise scale: ensembles at different α with the same noise, and
// how well their variances match the squared error.

// Score returns S(α) for each of alphas, from all of the paths of s: −Inf
// where a path could not be solved, or where the ensemble has no spread.
func Score(ctx context.Context, p *Problem, m Method, alphas []float64, s CalibrateSettings) ([]float64, error) {
	c, err := newCalibrator(ctx, p, m, s)
	if err != nil {
		return nil, err
	}
	defer c.release()
	c.total = len(alphas)
	out := make([]float64, len(alphas))
	for i, a := range alphas {
		if !(a > 0) || math.IsInf(a, 1) {
			return nil, fmt.Errorf("%s: alpha is %g: want a finite number > 0", p.title(), a)
		}
		e, err := c.evaluate(ctx, a, c.s.Paths)
		if err != nil {
			return nil, err
		}
		out[i] = e.score
	}
	return out, nil
}

// A calibrator evaluates the score.
type calibrator struct {
	s       CalibrateSettings
	solver  *Solver
	theta   []float64
	used    []int     // positions in a path that take part
	loge2   []float64 // log E² there
	left    LeftOut
	noise   [][]float64 // ξ of the first paths, drawn when they are first solved
	workers []*worker
	release func()
	done    int
	total   int
}

func newCalibrator(ctx context.Context, p *Problem, m Method, s CalibrateSettings) (c *calibrator, err error) {
	ctx, s.Progress = progress.Counts(ctx, s.Progress, "calibration")
	if s.Paths == 0 {
		s.Paths = 1000
	}
	if s.Bracket == [2]float64{} {
		s.Bracket = [2]float64{1e-6, 1e6}
	}
	if err := checkRun(ctx, p, s.Paths, s.Workers); err != nil {
		return nil, err
	}
	switch {
	case s.Rule != Bhattacharyya && s.Rule != LogScore:
		return nil, fmt.Errorf("%s: %v: want Bhattacharyya or LogScore", p.title(), s.Rule)
	case s.Paths < 2*jackknifeGroups:
		return nil, fmt.Errorf("%s: %d paths: want at least %d to calibrate", p.title(), s.Paths, 2*jackknifeGroups)
	case !(s.Bracket[0] > 0 && s.Bracket[0] < s.Bracket[1]) || math.IsInf(s.Bracket[1], 1):
		return nil, fmt.Errorf("%s: Bracket is [%g, %g]: want 0 < smallest < largest alpha", p.title(), s.Bracket[0], s.Bracket[1])
	}
	grid := Settings{StepSize: s.StepSize, Mesh: s.Mesh, Scaling: s.Scaling, Theta: s.Theta}
	solver, theta, err := grid.solver(ctx, p, m)
	if err != nil {
		return nil, err
	}
	if err := solver.fitsWorkers(min(jackknifeGroups, workerCount(s.Workers))); err != nil {
		return nil, err
	}
	release := solver.Bind(ctx)
	defer func() {
		if err != nil {
			release()
		}
	}()
	c = &calibrator{s: s, solver: solver, theta: theta, release: release, workers: make([]*worker, workerCount(s.Workers))}
	components := s.Components
	if components == nil {
		for k := range solver.d {
			components = append(components, k)
		}
	}
	for _, k := range components {
		if k < 0 || k >= solver.d {
			return nil, fmt.Errorf("%s: component %d in Components: want 0 to %d", p.title(), k, solver.d-1)
		}
	}
	indicator := s.Indicator
	if indicator == nil {
		indicator = Richardson
	}
	z := make([]float64, solver.PathLen())
	if err := solver.run(z, nil, c.theta, nil, 0, solver.Steps()); err != nil {
		return nil, fmt.Errorf("classical solution: %w", err)
	}
	est, err := indicator(ctx, solver, c.theta)
	if err != nil {
		return nil, fmt.Errorf("%s: error indicator: %w", p.title(), err)
	}
	if len(est.E) != len(z) || est.Accuracy != nil && len(est.Accuracy) != len(z) {
		return nil, fmt.Errorf("%s: error indicator: %d errors and %d accuracies: want %d", p.title(), len(est.E), len(est.Accuracy), len(z))
	}
	const small = 1e-4 // see LeftOut
	d := solver.d
	largest := make([]float64, d)
	for i, v := range est.E {
		largest[i%d] = max(largest[i%d], math.Abs(v))
	}
	// The steps in which a multistep method starts are not its own: with noise by
	// local errors they have some, which says nothing of the steps to come.
	quiet := max(solver.Startup(), min(solver.noise.Quiet, solver.Steps()-1))
	for i := quiet + 1; i < len(solver.g.t); i++ {
		for _, k := range components {
			e := math.Abs(est.E[i*d+k])
			switch {
			case !(e > small*largest[k]):
				c.left.Small++
			case est.Accuracy != nil && !(e > 100*est.Accuracy[i*d+k]):
				c.left.Uncertain++
			default:
				c.used = append(c.used, i*d+k)
				c.loge2 = append(c.loge2, 2*math.Log(e))
			}
		}
	}
	if len(c.used) == 0 {
		return nil, fmt.Errorf("%s, %v, %v: the error is nowhere large enough to be matched (%d points below 1e-4 of its largest value, %d not known to 1 %%): take a larger step or a more accurate indicator",
			p.title(), m, solver.g, c.left.Small, c.left.Uncertain)
	}
	c.noise = make([][]float64, min(s.Paths, maxKept/max(1, solver.NoiseLen())))
	return c, nil
}

// maxKept is the number of normals that a calibration keeps, of eight bytes each.
const maxKept = 512 << 20 / 8

func (c *calibrator) warn(out *Calibration) {
	// A few points where an error crosses zero are as it should be.
	if n := c.left.Small + c.left.Uncertain; 10*n > n+len(c.used) {
		out.Warnings = append(out.Warnings, fmt.Sprintf("%d of %d points are not in the score: at %d the error is below 1e-4 of its largest value, at %d it is not known to 1 %%",
			n, n+len(c.used), c.left.Small, c.left.Uncertain))
	}
}

// jackknifeGroups is the number of groups of paths whose moments are kept
// apart. It also is the grain of parallel work.
const jackknifeGroups = 20

// An evaluation is what is known of the ensemble at one α.
type evaluation struct {
	ok    bool      // all paths could be solved
	score float64   // −Inf if not ok, or without spread
	width float64   // as Rule.match has it; 1 if not ok
	logv  []float64 // logarithms of the variances at the used points
	// without[g] is the same at the thinned points, without group g, for an
	// ensemble of all paths.
	without [][]float64
}

// evaluate solves the first n paths at α.
func (c *calibrator) evaluate(ctx context.Context, alpha float64, n int) (evaluation, error) {
	groups, ok, err := c.groups(ctx, alpha, n)
	if err != nil || !ok {
		return evaluation{score: math.Inf(-1), width: 1}, err
	}
	all := moments.NewVector(len(c.used))
	for g := range groups {
		all.Merge(&groups[g])
	}
	e := evaluation{ok: true, logv: make([]float64, len(c.used))}
	for k, m2 := range all.M2 {
		e.logv[k] = math.Log(m2 / float64(all.N-1))
	}
	e.score, e.width = c.s.Rule.match(e.logv, c.loge2)
	if n == c.s.Paths {
		for g := range groups {
			e.without = append(e.without, c.leaveOut(groups, g))
		}
	}
	return e, nil
}

// leaveOut returns the logarithms of the variances of all groups but one, at
// the thinned points.
func (c *calibrator) leaveOut(groups []moments.Vector, out int) []float64 {
	thin := c.thin()
	rest := moments.NewVector((len(c.used) + thin - 1) / thin)
	part := rest.Clone()
	for g := range groups {
		if g == out {
			continue
		}
		part.N = groups[g].N
		for k := range part.Mean {
			part.Mean[k], part.M2[k] = groups[g].Mean[k*thin], groups[g].M2[k*thin]
		}
		rest.Merge(&part)
	}
	for k, m2 := range rest.M2 {
		rest.M2[k] = math.Log(m2 / float64(rest.N-1))
	}
	return rest.M2
}

// thin says that standard errors look at each thin-th of the used points, of
// which there are few thousand then: neighbours in time tell little apart.
func (c *calibrator) thin() int {
	n := (len(c.used) + 3999) / 4000
	if d := c.solver.d; n > 1 && n%d == 0 { // all components
		n++
	}
	return n
}

// groups returns the moments at the used points of the paths 0, …, n−1 in
// groups, and false if a path failed.
func (c *calibrator) groups(ctx context.Context, alpha float64, n int) ([]moments.Vector, bool, error) {
	var out []moments.Vector
	var failed atomic.Bool // of one is enough
	many := min(jackknifeGroups, n)
	err := Ordered(ctx, many, len(c.workers), func(w, g int) moments.Vector {
		if c.workers[w] == nil {
			c.workers[w] = newWorker(c.solver)
		}
		wk := c.workers[w]
		wk.solver.SetAlpha(alpha)
		m := moments.NewVector(len(c.used))
		at := make([]float64, len(c.used))
		for path := g * n / many; path < (g+1)*n/many; path++ {
			if failed.Load() {
				break
			}
			if c.solve(wk, path) != nil {
				failed.Store(true)
				break
			}
			for k, i := range c.used {
				at[k] = wk.z[i]
			}
			m.Add(at)
		}
		return m
	}, func(m moments.Vector) { out = append(out, m) })
	if err == nil && ctx.Err() != nil { // paths that were stopped are not failures
		err = context.Cause(ctx)
	}
	c.done++
	if c.s.Progress != nil && err == nil {
		c.s.Progress(min(c.done, c.total), c.total)
	}
	return out, !failed.Load(), err
}

// solve computes a path with its noise, which is kept if there is room. No two
// goroutines have the same path at once.
func (c *calibrator) solve(w *worker, path int) error {
	xi := w.xi
	if path >= len(c.noise) {
		return w.solver.SolvePath(w.z, c.theta, xi, c.s.Seed, uint64(path))
	}
	if c.noise[path] == nil {
		c.noise[path] = make([]float64, len(xi))
		DrawNoise(c.noise[path], c.s.Seed, uint64(path))
	}
	return w.solver.Solve(w.z, c.theta, c.noise[path])
}

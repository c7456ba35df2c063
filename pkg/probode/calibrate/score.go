package calibrate

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"runtime"
	"sync/atomic"

	"github.com/probode/probode/pkg/internal/memory"
	"github.com/probode/probode/pkg/internal/moments"
	"github.com/probode/probode/pkg/internal/progress"
	"github.com/probode/probode/pkg/probode"
)

// The functions in this file compute the score of a noise scale. Ensembles at different α
// are computed from the same normal variates. The score compares the variances of the
// ensembles with the squared error.

// Score returns S(α) for each α in the argument `alphas`, computed from s.Paths paths.
// The score is −Inf if a path cannot be computed at α, or if the ensemble has no spread.
func Score(ctx context.Context, p *probode.Problem, m probode.Method, alphas []float64, s Settings) ([]float64, error) {
	c, err := newCalibrator(ctx, p, m, s)
	if err != nil {
		return nil, err
	}
	defer c.release()
	c.total = len(alphas)
	out := make([]float64, len(alphas))
	for i, a := range alphas {
		if !(a > 0) || math.IsInf(a, 1) {
			return nil, fmt.Errorf("%s: alpha is %g: want a finite number > 0", p.Title(), a)
		}
		e, err := c.evaluate(ctx, a, c.s.Paths)
		if err != nil {
			return nil, err
		}
		out[i] = e.score
	}
	return out, nil
}

type calibrator struct {
	s       Settings
	solver  *probode.Solver
	d       int // dimension of the state
	theta   []float64
	z       []float64                      // the classical solution
	used    []int                          // elements of a path that contribute to the score
	loge2   []float64                      // log E² of the used elements
	left    struct{ small, uncertain int } // numbers of points left out of the score, by reason
	noise   [][]float64                    // ξ of the first paths, drawn when a path is first computed
	workers []*worker
	release func()
	done    int
	total   int
}

type worker struct {
	solver *probode.Solver
	z, xi  []float64
}

func newCalibrator(ctx context.Context, p *probode.Problem, m probode.Method, s Settings) (c *calibrator, err error) {
	ctx, s.Progress = progress.Counts(ctx, s.Progress, "calibration")
	s.Paths = cmp.Or(s.Paths, 1000)
	if err := s.check(ctx, p); err != nil {
		return nil, err
	}
	c = &calibrator{s: s}
	if err := c.solveOn(ctx, p, m); err != nil {
		return nil, err
	}
	release := c.solver.Bind(ctx)
	defer func() {
		if err != nil {
			release()
		}
	}()
	c.release = release
	z := make([]float64, c.solver.PathLen())
	if err := c.solver.Solve(z, c.theta, nil); err != nil {
		return nil, fmt.Errorf("classical solution: %w", err)
	}
	indicator := s.Indicator
	if indicator == nil {
		indicator = Richardson
	}
	est, err := indicator(ctx, c.solver, c.theta)
	if err != nil {
		return nil, fmt.Errorf("%s: error indicator: %w", p.Title(), err)
	}
	if len(est.E) != len(z) || est.Accuracy != nil && len(est.Accuracy) != len(z) {
		return nil, fmt.Errorf("%s: the lengths of E and Accuracy from the error indicator are %d and %d: want %d for both", p.Title(), len(est.E), len(est.Accuracy), len(z))
	}
	c.z = z
	c.choose(est)
	if len(c.used) == 0 {
		return nil, fmt.Errorf("%s, %v, %v: alpha cannot be calibrated: the error is below 1e-4 of the largest at %d points, and uncertain by 1 %% at %d: want a larger step",
			p.Title(), m, c.solver.Grid(), c.left.small, c.left.uncertain)
	}
	c.noise = make([][]float64, min(s.Paths, maxKept/max(1, c.solver.NoiseLen())))
	return c, nil
}

func (c *calibrator) solveOn(ctx context.Context, p *probode.Problem, m probode.Method) (err error) {
	if c.theta, err = p.Parameters(c.s.Theta); err != nil {
		return err
	}
	mesh := cmp.Or[probode.Mesh](c.s.Mesh, probode.Uniform(c.s.StepSize))
	if c.solver, err = (probode.Setup{Method: m, Mesh: mesh, Scaling: c.s.Scaling}).Solver(ctx, p, c.theta, nil); err != nil {
		return err
	}
	workers := cmp.Or(c.s.Workers, runtime.GOMAXPROCS(0))
	n := min(jackknifeGroups, workers)
	if err := memory.Check(fmt.Sprintf("the paths of %d workers", n), n, c.solver.PathLen()+c.solver.NoiseLen()); err != nil {
		return fmt.Errorf("%s: %w", p.Title(), err)
	}
	c.d, c.workers = p.Dim(), make([]*worker, workers)
	return c.solver.MoveTo(c.theta)
}

// choose leaves out points whose errors are very small, because they cross zero or the
// state has decayed: the score depends on ratios, and a few could determine α*. It leaves
// out errors that are uncertain by 1 %, and the start, which has no noise.
func (c *calibrator) choose(est *Errors) {
	components := c.s.Components
	if components == nil {
		for k := range c.d {
			components = append(components, k)
		}
	}
	const small = 1e-4 // of the largest error of the component
	largest := make([]float64, c.d)
	for i, v := range est.E {
		largest[i%c.d] = max(largest[i%c.d], math.Abs(v))
	}
	// A multistep method starts with steps of another method. With ScaleLocal these steps
	// also have noise, but the size of this noise says nothing about the noise of the
	// later steps.
	quiet := c.solver.Method().Noise(c.d).Quiet
	quiet = max(c.solver.Startup(), min(quiet, c.solver.Steps()-1))
	for i := quiet + 1; i <= c.solver.Steps(); i++ {
		for _, k := range components {
			e := math.Abs(est.E[i*c.d+k])
			switch {
			case !(e > small*largest[k]):
				c.left.small++
			case est.Accuracy != nil && !(e > 100*est.Accuracy[i*c.d+k]):
				c.left.uncertain++
			default:
				c.used = append(c.used, i*c.d+k)
				c.loge2 = append(c.loge2, 2*math.Log(e))
			}
		}
	}
}

// maxKept variates take half a gigabyte.
const maxKept = 512 << 20 / 8

// warn is about the classical solution, whatever the noise.
func (c *calibrator) warn(ctx context.Context, out *NoiseScale) {
	if share := c.lost(); share > 0.5 {
		out.Warnings = append(out.Warnings, fmt.Sprintf("the error of the classical solution is %.0f %% of the standard deviation of the state over time, so alpha* = %.3g means little: take a smaller step", 100*share, out.Alpha))
	}
	usual := math.Exp2(float64(c.solver.Method().Order()))
	if ratio := c.halved(ctx); ratio < math.Sqrt(usual) || ratio > usual*usual*usual {
		out.Warnings = append(out.Warnings, fmt.Sprintf("when the steps are halved, the error falls by a factor of %.2g; for a smooth f, the factor would be about %g. Therefore alpha* = %.3g holds only for these steps: take smaller steps, and declare jumps and pulses of f as events", ratio, usual, out.Alpha))
	}
	// Do not warn if only a few points are omitted: most errors cross zero somewhere, and
	// the points close to the crossing are omitted.
	if n := c.left.small + c.left.uncertain; 10*n > n+len(c.used) {
		out.Warnings = append(out.Warnings, fmt.Sprintf("%d of %d points are left out of the score: at %d points the error is below 1e-4 of the largest error, and at %d points the estimated error is uncertain by 1 %% or more",
			n, n+len(c.used), c.left.small, c.left.uncertain))
	}
}

// lost is the largest ratio, over components, of the root mean square error to the sd
// over the grid points.
func (c *calibrator) lost() float64 {
	all := moments.NewVector(c.d)
	for i := 0; i < len(c.z); i += c.d {
		all.Add(c.z[i : i+c.d])
	}
	square, n := make([]float64, c.d), make([]float64, c.d)
	for k, i := range c.used {
		square[i%c.d] += math.Exp(c.loge2[k])
		n[i%c.d]++
	}
	var share float64
	for k, sd := range all.SD() {
		if n[k] > 0 {
			share = max(share, math.Sqrt(square[k]/n[k])/sd)
		}
	}
	return share
}

// halved returns the factor by which the error decreases with half the steps, or NaN.
func (c *calibrator) halved(ctx context.Context) float64 {
	grid := c.solver.Grid()
	fine, err := probode.NewSolver(c.solver.Problem(), c.solver.Method(), grid.Refine(), 0)
	if err != nil {
		return math.NaN()
	}
	half, err := Richardson(ctx, fine, c.theta)
	if err != nil {
		return math.NaN()
	}
	var before, after float64
	for k, i := range c.used {
		e := half.E[grid.Refined(i/c.d)*c.d+i%c.d]
		before, after = before+math.Exp(c.loge2[k]), after+e*e
	}
	return math.Sqrt(before / after)
}

type evaluation struct {
	ok    bool      // all paths could be computed
	score float64   // −Inf if not ok or if there is no spread
	width float64   // see Criterion.match; 1 if not ok
	logv  []float64 // logarithms of the variances at the used points
	// For each group of paths, the field `without` holds the logarithms of the variances
	// at every n-th point, computed without this group. The number n is the result of
	// calibrator.thin. The field `without` is nil for an ensemble of fewer than
	// Settings.Paths paths.
	without [][]float64
}

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
	e.score, e.width = c.s.Criterion.match(e.logv, c.loge2)
	if n == c.s.Paths {
		for g := range groups {
			e.without = append(e.without, c.leaveOut(groups, g))
		}
	}
	return e, nil
}

// leaveOut returns the log variances without one group of paths, at the points of thin.
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

// thin takes every n-th point for standard errors, at most about four thousand: close
// points add little information.
func (c *calibrator) thin() int {
	n := (len(c.used) + 3999) / 4000
	if d := c.d; n > 1 && n%d == 0 { // a multiple of d would select one component only
		n++
	}
	return n
}

// groups returns false if a path could not be computed.
func (c *calibrator) groups(ctx context.Context, alpha float64, n int) ([]moments.Vector, bool, error) {
	var out []moments.Vector
	var failed atomic.Bool // one failure is enough
	many := min(jackknifeGroups, n)
	err := probode.Ordered(ctx, many, len(c.workers), func(w, g int) moments.Vector {
		if c.workers[w] == nil {
			c.workers[w] = &worker{c.solver.Clone(), make([]float64, c.solver.PathLen()), make([]float64, c.solver.NoiseLen())}
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

// solve keeps the normal variates in c.noise if there is room. No two goroutines compute
// the same path.
func (c *calibrator) solve(w *worker, path int) error {
	xi := w.xi
	if path >= len(c.noise) {
		return w.solver.SolvePath(w.z, c.theta, xi, c.s.Seed, uint64(path))
	}
	if c.noise[path] == nil {
		c.noise[path] = make([]float64, len(xi))
		probode.DrawNoise(c.noise[path], c.s.Seed, uint64(path))
	}
	return w.solver.Solve(w.z, c.theta, c.noise[path])
}

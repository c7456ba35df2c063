// Package calibrate chooses the noise scale α of a probabilistic integrator, so
// that the spread of an ensemble has the size of the error that it stands for.
//
// Let v be the variance of an ensemble at a grid point in a component, and E an
// indicator of the global error of the classical method there. The score S(α) is
// a sum over the points that says how well v matches E²; it is at most 0, and α*
// is where it is largest. There are two scores: see Criterion. The same ξ is used
// for every α, and the noise scales with √α, so that S is a smooth function of
// log α.
package calibrate

import (
	"context"
	"fmt"
	"math"

	"github.com/probode/probode/pkg/probode"
)

// Settings says how Run and Score work.
type Settings struct {
	// StepSize is h, for a uniform grid.
	StepSize float64
	// Mesh, if not nil, makes the grid and takes the place of StepSize.
	Mesh probode.Mesh
	// Scaling says how the size of the noise depends on the step; zero is the
	// default of the grid. ScaleLocal gives the spread that is closest to the
	// error: see docs/calibration.md. α* belongs to the scaling: see
	// Result.Settings.
	Scaling probode.Scaling
	// Criterion is the score that α* maximises; zero is LogScore. The paper
	// takes Bhattacharyya.
	Criterion Criterion
	// Theta is the parameter value; nil means Problem.Theta.
	Theta []float64
	// Indicator is the measure of the error; nil means Richardson.
	// reference.TrueError takes the difference to an accurate solution.
	Indicator Indicator
	// Components are those components of the state, counted from 0, that take
	// part in the score; nil means all.
	Components []int
	// Paths is the size of the ensemble; zero means 1000. The standard error
	// of log α* falls with its square root.
	Paths int
	// Bracket holds the smallest and the largest α considered. Zero means 1e-6
	// and 1e6, and values beyond them if the ensemble is still too wide at the
	// smallest or too narrow at the largest: α* depends on the units of the
	// state, and on a high power of the unit of time.
	Bracket [2]float64
	// Seed determines the noise, which is the same for every α.
	Seed uint64
	// Workers is the number of goroutines; zero means the number of cores. It
	// changes no bit of the result.
	Workers int
	// Progress, if not nil, is called with the number of evaluations of the
	// score done and an upper bound of their number, which grows where the
	// bracket has to.
	Progress func(done, total int)
}

// A Result is what Run finds.
type Result struct {
	// Alpha is α*, and SE its Monte Carlo standard error, by the jackknife
	// over groups of paths, NaN if a path cannot be solved close to α*. α*
	// belongs to the problem, to θ and to the units of the state: with a state
	// ten times as large it is a hundred times as large.
	Alpha, SE float64
	// Scaling is the one that α* is for, never ScaleDefault: see Settings.
	Scaling probode.Scaling
	// SETime is the standard error of α* as an average over the course of one
	// solution, by the jackknife over tenths of the points in the order of
	// time: more paths do not reduce it. It is large where a few errors decide.
	SETime float64
	// Fits says how well the spread at α* fits the errors it was chosen for: at
	// all points, and then by component, of those that take part; nil at an edge
	// where paths cannot be solved.
	Fits []Fit
	// Points is the number of terms of the score, grid points times components.
	// LeftOut counts the terms that are not in it.
	Points  int
	LeftOut LeftOut
	// AtEdge says that the optimum is at an edge of the bracket, so that
	// Alpha is not a maximum of the score. It does not happen with a Bracket
	// of zero as long as α* is in [1e-100, 1e100].
	AtEdge bool
	// Warnings says in words what a user should know about these numbers.
	Warnings []string
}

// Settings returns s with the Scaling and the Alpha of c: an α means nothing
// without the scaling it is for.
func (c *Result) Settings(s probode.Settings) probode.Settings {
	s.Scaling, s.Alpha = c.Scaling, c.Alpha
	return s
}

// LeftOut counts the grid points, times components, that are not in a score,
// by reason. The start and the start-up, where there is no noise, are not
// counted.
type LeftOut struct {
	// Small: the error is below 10⁻⁴ of the largest error in its component.
	// The distance depends on ratios, so that where an error crosses zero or
	// a state decays to nothing a few points would decide alone.
	Small int
	// Uncertain: the error is not known to better than 1 %.
	Uncertain int
}

// Run finds α* for p and m. The error wraps the error of the indicator, of ctx,
// or of the classical solution.
//
// It costs less than ten ensembles of its size: the normals are drawn once and
// kept, up to half a gigabyte of them; a tenth of the paths finds the
// neighbourhood of α*; and all paths are solved at some four values there.
func Run(ctx context.Context, p *probode.Problem, m probode.Method, s Settings) (*Result, error) {
	c, err := newCalibrator(ctx, p, m, s)
	if err != nil {
		return nil, err
	}
	defer c.release()
	out := &Result{Points: len(c.used), LeftOut: c.left, Scaling: c.solver.Scaling()}
	scan, err := c.scan(ctx, s.Bracket == [2]float64{})
	if err != nil {
		return nil, err
	}
	best, last := scan.best, len(scan.curve)-1
	if math.IsInf(scan.curve[best].score, -1) {
		return nil, fmt.Errorf("%s, %v, %v: no alpha in [%.3g, %.3g] has an ensemble with spread in which all paths can be solved", p.Title(), m, c.solver.Grid(), scan.curve[0].alpha, scan.curve[last].alpha)
	}
	if best == 0 || best == last {
		out.AtEdge = true
		out.Alpha, out.SE, out.SETime = scan.curve[best].alpha, math.NaN(), math.NaN()
		out.Warnings = append(out.Warnings, fmt.Sprintf("the score still rises at the edge of the bracket, alpha = %.3g: widen Bracket; if that does not help, the noise of %v does not have the size of its error at %v", out.Alpha, m, c.solver.Grid()))
		e, err := c.evaluate(ctx, out.Alpha, c.s.Paths)
		if err != nil {
			return nil, err
		}
		if e.ok {
			out.Fits = c.fits(e.logv)
		}
		c.warn(out)
		return out, nil
	}
	top, err := c.refine(ctx, scan)
	if err != nil {
		return nil, err
	}
	out.Alpha = math.Exp(top.x)
	out.SE, out.SETime = top.se*out.Alpha, top.time*out.Alpha
	out.Fits = c.fits(top.logv)
	if math.IsNaN(top.se) {
		out.Warnings = append(out.Warnings, fmt.Sprintf("just above alpha = %.3g paths can no longer be solved, which cuts off the score there: take alpha* as a lower bound, or a smaller step", out.Alpha))
	}
	if top.time > 1 {
		out.Warnings = append(out.Warnings, fmt.Sprintf("alpha* = %.3g rests on a small part of the time: without one tenth of the time it would be far from this value (standard error over time %.2g alpha*), and elsewhere the spread may be many times too wide", out.Alpha, top.time))
	}
	if top.se > 0.3 {
		out.Warnings = append(out.Warnings, fmt.Sprintf("alpha* = %.3g is known to some %.0f %% only: a few paths far from the others decide it, and the score may have several maxima; with a smaller step the method is more stable", out.Alpha, 100*top.se))
	}
	if c.s.Progress != nil {
		c.s.Progress(c.total, c.total)
	}
	c.warn(out)
	return out, nil
}

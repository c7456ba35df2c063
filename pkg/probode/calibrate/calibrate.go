// Package calibrate chooses the noise scale α of a probabilistic integrator so that the
// spread of an ensemble is as large as the error of the classical method.
//
// Let v be the variance of one component of an ensemble at a grid point, and E an
// estimate of the global error of the classical method there. The score S(α) measures how
// well v matches E²; it is a sum over grid points and components. The score is at most 0,
// and α* maximises it. There are two scores: see Criterion. The same ξ is used for every
// α, and the noise scales with √α, so that S is a smooth function of log α.
package calibrate

import (
	"context"
	"fmt"
	"math"

	"github.com/probode/probode/pkg/probode"
)

// Settings holds the options of Run and Score.
type Settings struct {
	// StepSize is h, for a uniform grid.
	StepSize float64
	// Mesh, if not nil, generates the grid and takes the place of StepSize.
	Mesh probode.Mesh
	// Scaling says how the size of the noise depends on the step; zero means the default
	// for the grid. ScaleLocal gives the spread that is closest to the error: see
	// docs/calibration.md. The result α* is valid only for this scaling: see
	// NoiseScale.Settings.
	Scaling probode.Scaling
	// Criterion is the score that α* maximises; zero is LogScore. The paper uses
	// Bhattacharyya.
	Criterion Criterion
	// Theta is the parameter value; nil means Problem.Theta.
	Theta []float64
	// Indicator estimates the error; nil means Richardson. The indicator
	// reference.TrueError computes the difference from an accurate solution.
	Indicator Indicator
	// Components are the components of the state, counted from 0, that enter the score;
	// nil means all.
	Components []int
	// Paths is the size of the ensemble; zero means 1000. The standard error of log α* is
	// inversely proportional to the square root of Paths.
	Paths int
	// Seed determines the noise, which is the same for every α.
	Seed uint64
	// Workers is the number of goroutines; zero means the number of cores. The number of
	// goroutines does not change the result.
	Workers int
	// Progress, if not nil, is called with the number of evaluations of the score done so
	// far, and an upper bound on their total number. The bound increases if α* is outside
	// [1e-6, 1e6].
	Progress func(done, total int)
}

// A NoiseScale is the α* that Run has found, with its uncertainty.
type NoiseScale struct {
	// Alpha is α*. SE is the Monte Carlo standard error of α*, computed by the jackknife
	// over groups of paths. SE is NaN if a path cannot be computed at a scale close to
	// α*. The scale α* is valid only for this problem, this θ and these units of the
	// state: if the state is ten times as large in other units, α* is a hundred times as
	// large.
	Alpha, SE float64
	// Scaling is the scaling for which α* was found. Scaling is never ScaleDefault: see
	// Settings.
	Scaling probode.Scaling
	// SETime is the standard error of α* that is due to the limited time span, computed
	// by the jackknife over ten consecutive blocks of the points in the score. Using more
	// paths does not reduce SETime. SETime is large if α* is determined mainly by the
	// errors at a few points.
	SETime float64
	// MeanSquare is the mean of E²/v over the points in the score, and Within[k] is the
	// share of points at which |E| is less than k+1 times the standard deviation √v. For
	// a Gaussian error with that spread, these values are 1, 68 % and 95 %. An error that
	// keeps its sign and grows is not Gaussian, so no α gives all three values.
	MeanSquare float64
	Within     [2]float64
	// Warnings are sentences that a user should read before trusting these numbers.
	Warnings []string
}

// Settings returns s with the Scaling and the Alpha of c, because an α has no meaning
// without its scaling.
func (c *NoiseScale) Settings(s probode.Settings) probode.Settings {
	s.Scaling, s.Alpha = c.Scaling, c.Alpha
	return s
}

// Run finds α* for the problem p and the method m. Errors from the indicator, from ctx
// and from the classical solution are wrapped.
//
// Run costs less than computing ten ensembles of this size. Up to half a gigabyte of
// standard normal numbers are drawn once and kept in memory; all others are drawn again
// whenever they are needed. A tenth of the paths, at most 100, is used to find the
// neighbourhood of α*; all paths are then computed at about four values there.
func Run(ctx context.Context, p *probode.Problem, m probode.Method, s Settings) (*NoiseScale, error) {
	c, err := newCalibrator(ctx, p, m, s)
	if err != nil {
		return nil, err
	}
	defer c.release()
	scan, err := c.scan(ctx)
	if err != nil {
		return nil, err
	}
	least, most := scan.curve[0], scan.curve[len(scan.curve)-1]
	switch best := scan.curve[scan.best]; {
	case math.IsInf(best.score, -1):
		return nil, fmt.Errorf("%s, %v, %v: no alpha in [%.3g, %.3g] gives an ensemble that has a nonzero spread and in which every path can be computed", p.Title(), m, c.solver.Grid(), least.alpha, most.alpha)
	case best == least || best == most:
		return nil, fmt.Errorf("%s, %v, %v: no alpha in [%.3g, %.3g] matches the error: the noise of %v cannot be made as large as the error", p.Title(), m, c.solver.Grid(), least.alpha, most.alpha, m)
	}
	top, err := c.refine(ctx, scan)
	if err != nil {
		return nil, err
	}
	out := &NoiseScale{Alpha: math.Exp(top.x), Scaling: c.solver.Scaling()}
	out.SE, out.SETime = top.se*out.Alpha, top.time*out.Alpha
	out.MeanSquare, out.Within = c.fit(top.logv)
	if math.IsNaN(top.se) {
		out.Warnings = append(out.Warnings, fmt.Sprintf("just above alpha = %.3g, some paths cannot be computed, so the score cannot be evaluated beyond this value, and alpha* is only a lower bound; a smaller step may help", out.Alpha))
	}
	if top.time > 1 {
		out.Warnings = append(out.Warnings, fmt.Sprintf("alpha* = %.3g depends mainly on a small part of the time span: if one tenth of the span is left out, alpha* can be far from this value (its standard error over time is %.2g alpha*), and elsewhere the spread may be many times too wide", out.Alpha, top.time))
	}
	if top.se > 0.3 {
		out.Warnings = append(out.Warnings, fmt.Sprintf("alpha* = %.3g is known only to within about %.0f %%: it is determined by a few outlying paths, and the score may have several maxima; with a smaller step the method is more stable", out.Alpha, 100*top.se))
	}
	if c.s.Progress != nil {
		c.s.Progress(c.total, c.total)
	}
	c.warn(ctx, out)
	return out, nil
}

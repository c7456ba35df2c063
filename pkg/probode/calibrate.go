package probode

import (
	"context"
	"fmt"
	"math"
)

// Calibration chooses the noise scale α so that the spread of the ensemble
// has the size of the error it is there to describe. With vᵢₖ the variance of an
// ensemble at grid point i in component k, and Eᵢₖ an indicator of the global
// error of the classical method there, the score S(α) is the sum over the points
// of how well vᵢₖ matches Eᵢₖ², which is at most 0, and α* is where it is
// largest. There are two: see Rule. The same ξ is used for every α, and the
// noise scales with √α, so that S is a smooth function of log α.

// An Indicator estimates the global error of the classical method of s, at
// θ, on the grid of s.
type Indicator func(ctx context.Context, s *Solver, theta []float64) (*ErrorEstimate, error)

// An ErrorEstimate is what an Indicator gives.
type ErrorEstimate struct {
	// E is the estimated error, row-major (N+1)×d; its sign does not matter.
	E []float64
	// Accuracy is the error of E itself, element by element, as far as it is
	// known; nil if it is not.
	Accuracy []float64
}

// Richardson is the Indicator that needs no accurate solution: the scaled
// difference to the same method with every step cut in halves,
//
//	E = (Z_h − Z_{h/2}) · 2^q / (2^q − 1),
//
// q the order of the method. It is right to leading order in h; its Accuracy
// counts rounding alone.
func Richardson(ctx context.Context, s *Solver, theta []float64) (*ErrorEstimate, error) {
	if err := s.MoveTo(theta); err != nil {
		return nil, err
	}
	fine, err := NewSolver(s.p, s.m, s.g.Refine(), 0)
	if err != nil {
		return nil, err
	}
	defer fine.Bind(ctx)()
	z, y := make([]float64, s.PathLen()), make([]float64, fine.PathLen())
	if err := s.Solve(z, theta, nil); err != nil {
		return nil, err
	}
	if err := fine.Solve(y, theta, nil); err != nil {
		return nil, err
	}
	// Some roundings of the largest state are in the difference, and all of it
	// where the method is exact.
	rounding := make([]float64, s.d)
	for i, v := range z {
		rounding[i%s.d] = max(rounding[i%s.d], 8*epsilon*math.Abs(v))
	}
	e := &ErrorEstimate{E: z, Accuracy: make([]float64, len(z))}
	two := math.Exp2(float64(s.m.Order()))
	for i := range s.g.t {
		at := row(y, s.g.refined(i), s.d)
		for k, v := range row(z, i, s.d) {
			e.E[i*s.d+k] = (v - at[k]) * two / (two - 1)
			e.Accuracy[i*s.d+k] = rounding[k]
		}
	}
	return e, nil
}

// CalibrateSettings says how Calibrate and Score work.
type CalibrateSettings struct {
	// StepSize is h, for a uniform grid.
	StepSize float64
	// Mesh, if not nil, makes the grid and takes the place of StepSize.
	Mesh Mesh
	// Scaling says how the size of the noise depends on the step; zero is the
	// default of the grid. For a spread that one means to believe take
	// ScaleLocal. α* belongs to the scaling: see Calibration.Settings.
	Scaling Scaling
	// Rule says what α* is; zero is LogScore. The paper's is Bhattacharyya.
	Rule Rule
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
	// Bracket holds the smallest and the largest α considered. Zero means
	// 1e-6 and 1e6, and what lies beyond if the ensemble is still too wide at
	// the one or too narrow at the other: which α is right depends on the
	// units of the state, and on a high power of those of time.
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

// A Calibration is the result of Calibrate.
type Calibration struct {
	// Alpha is α*, and SE its Monte Carlo standard error, by the jackknife
	// over groups of paths, NaN if a path cannot be solved close to α*. α*
	// belongs to the problem, to θ and to the units of the state: with a state
	// ten times as large it is a hundred times as large.
	Alpha, SE float64
	// Scaling is the one that α* is for, never ScaleDefault: see Settings.
	Scaling Scaling
	// SETime is the standard error of α* as an average over the course of one
	// solution, by the jackknife over tenths of the points in the order of
	// time: what more paths cannot mend. It is large where a few errors decide.
	SETime float64
	// Fits says how well the spread at α* fits the errors it was chosen for: at
	// all points, and then by component, of those that take part; nil at an edge
	// where paths cannot be solved.
	Fits []Fit
	// Curve is the score on a logarithmic grid over the bracket, from the
	// first tenth of the paths, 100 at most. Curve[i].Score is −Inf where a
	// path failed.
	Curve []ScorePoint
	// Points is the number of terms of the score: of grid points times
	// components. LeftOut counts the terms that are not in it.
	Points  int
	LeftOut LeftOut
	// AtEdge says that the optimum is at an edge of the bracket, so that
	// Alpha is not a maximum of the score. It does not happen with a Bracket
	// of zero as long as α* is in [1e-100, 1e100].
	AtEdge bool
	// Warnings says in words what a user should know about the above.
	Warnings []string
}

// Settings returns s with the Scaling and the Alpha of c: an α means nothing
// without the scaling it is for.
func (c *Calibration) Settings(s Settings) Settings {
	s.Scaling, s.Alpha = c.Scaling, c.Alpha
	return s
}

// A ScorePoint is a value of the score.
type ScorePoint struct{ Alpha, Score float64 }

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

// Calibrate finds α* for p and m at the given step size. The error wraps
// that of the indicator, of ctx, or of the classical solution.
//
// It costs less than ten ensembles of its size: the normals are drawn once and
// kept, up to half a gigabyte of them; a tenth of the paths finds the
// neighbourhood of α*; and all of them are solved at some four values there.
func Calibrate(ctx context.Context, p *Problem, m Method, s CalibrateSettings) (*Calibration, error) {
	c, err := newCalibrator(ctx, p, m, s)
	if err != nil {
		return nil, err
	}
	defer c.release()
	out := &Calibration{Points: len(c.used), LeftOut: c.left, Scaling: c.solver.Scaling()}
	scan, err := c.scan(ctx, s.Bracket == [2]float64{})
	if err != nil {
		return nil, err
	}
	out.Curve = scan.curve
	best, last := scan.best, len(out.Curve)-1
	if math.IsInf(out.Curve[best].Score, -1) {
		return nil, fmt.Errorf("%s, %v, %v: no alpha in [%.3g, %.3g] has an ensemble with spread in which all paths can be solved", p.title(), m, c.solver.g, out.Curve[0].Alpha, out.Curve[last].Alpha)
	}
	if best == 0 || best == last {
		out.AtEdge = true
		out.Alpha, out.SE, out.SETime = out.Curve[best].Alpha, math.NaN(), math.NaN()
		out.Warnings = append(out.Warnings, fmt.Sprintf("the score is still rising at the edge of the bracket, alpha = %.3g: widen Bracket; if that does not help, the noise of %v has the wrong size for its error at %v", out.Alpha, m, c.solver.g))
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
		out.Warnings = append(out.Warnings, fmt.Sprintf("close above alpha = %.3g paths can no longer be solved, which cuts off the score there: take alpha* for a lower bound, or a smaller step", out.Alpha))
	}
	if top.time > 1 {
		out.Warnings = append(out.Warnings, fmt.Sprintf("alpha* = %.3g rests on a small part of the time: without one tenth of it alpha* would be another one by far (standard error over time %.2g alpha*), and elsewhere the spread may be many times too wide", out.Alpha, top.time))
	}
	if top.se > 0.3 {
		out.Warnings = append(out.Warnings, fmt.Sprintf("alpha* = %.3g is known to some %.0f %% only: a few paths that go far astray decide on it, and the score may have several maxima; a smaller step gives a more stable method", out.Alpha, 100*top.se))
	}
	if c.s.Progress != nil {
		c.s.Progress(c.total, c.total)
	}
	c.warn(out)
	return out, nil
}

// Package calibrate chooses the noise scale α of a probabilistic integrator so that the
// spread of an ensemble is as large as the error of the classical method.
//
// Let v be the variance of one component of an ensemble at a grid point, and E an
// estimate of the global error of the classical method there. The score S(α) measures how
// well v matches E²; it is a sum over grid points and components. The score is at most 0,
// and α* maximises it. There are two scores: see Criterion. The same ξ is used for every
// α, and the noise is proportional to √α, so S is a smooth function of log α.
package calibrate

import (
	"context"
	"fmt"
	"math"

	"github.com/probode/probode/pkg/probode"
)

// Run finds α* for the problem p and the method m. Run returns an error that wraps the
// cause if ctx is done, or if the indicator or the classical solution fails.
//
// Run takes about as long as five ensembles of size Settings.Paths. Up to half a gigabyte of
// standard normal numbers are drawn once and kept in memory; any further numbers are drawn
// again whenever they are needed. Run first locates α* roughly with a tenth of the paths
// (at most 100). Run then computes all paths at about four values of α close to α*.
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
	least, most := math.Exp(scan.log(scan.least)), math.Exp(scan.log(scan.most))
	switch best := scan.best; {
	case math.IsInf(scan.points[best].score, -1):
		return nil, fmt.Errorf("%s, %v, %v: no alpha in [%.3g, %.3g] gives an ensemble whose spread is nonzero and whose paths can all be computed", p.Title(), m, c.solver.Grid(), least, most)
	case best == scan.least || best == scan.most:
		return nil, fmt.Errorf("%s, %v, %v: no alpha in [%.3g, %.3g] makes the noise of %v as large as the error", p.Title(), m, c.solver.Grid(), least, most, m)
	}
	top, err := c.refine(ctx, scan)
	if err != nil {
		return nil, err
	}
	out := &NoiseScale{Alpha: math.Exp(top.x), Scaling: c.solver.Scaling()}
	out.SE, out.SETime = top.se*out.Alpha, top.time*out.Alpha
	out.MeanSquare, out.Within = c.fit(top.logv)
	if math.IsNaN(top.se) {
		out.Warnings = append(out.Warnings, fmt.Sprintf("some paths cannot be computed if alpha is slightly larger than %.3g, so alpha* is only a lower bound; a smaller step may help", out.Alpha))
	}
	if top.time > 1 {
		out.Warnings = append(out.Warnings, fmt.Sprintf("alpha* = %.3g depends mainly on a small part of the time span, so the paths may spread much too widely in the rest of the span; the standard error of alpha*, from a jackknife over ten parts of the span, is %.2g times alpha*", out.Alpha, top.time))
	}
	if top.se > 0.3 {
		out.Warnings = append(out.Warnings, fmt.Sprintf("alpha* = %.3g is known only to within about %.0f %%: it is determined by a few outlying paths, and the score may have several maxima; a smaller step may help", out.Alpha, 100*top.se))
	}
	if c.s.Progress != nil {
		c.s.Progress(c.total, c.total)
	}
	c.warn(ctx, out)
	return out, nil
}

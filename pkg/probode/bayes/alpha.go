package bayes

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/calibrate"
)

// A CalibratedAlpha holds the noise scale that was calibrated for the Setup of a
// posterior.
type CalibratedAlpha struct {
	// Alpha is α*, and SE is the standard error of α*. If there are several experiments,
	// α is calibrated for each of them. A Setup has only one α, so α* is the geometric
	// mean of the calibrated values of all experiments.
	Alpha, SE float64

	// Experiments holds the calibration for each experiment.
	Experiments []*calibrate.NoiseScale

	// Warnings holds the warnings from all calibrations.
	Warnings []string
}

// CalibrateAlpha returns the noise scale α* of the posterior p at the parameters theta,
// for example at a mode or a draw; see calibrate.Run. The calibration uses the grids and
// the Scaling of p. If s.Scaling is set, it must be equal to the Scaling of p, because
// the meaning of α depends on the Scaling. If s.Indicator is nil, the solver's error is
// estimated by Richardson extrapolation, which needs no reference solution. Each
// experiment has its own noise, so the calibration errors of different experiments are
// independent. The first experiment uses s.Seed itself, and the others use seeds derived
// from s.Seed.
func CalibrateAlpha(ctx context.Context, p *Posterior, theta []float64, s calibrate.Settings) (*CalibratedAlpha, error) {
	e, err := newPaths(ctx, p)
	if err != nil {
		return nil, err
	}
	if len(theta) != len(p.Params) {
		panic(fmt.Sprintf("bayes: theta has length %d: want %d", len(theta), len(p.Params)))
	}
	seed := s.Seed
	out := &CalibratedAlpha{}
	var sum, square float64
	for i, r := range e.parts {
		e.bind(r, theta)
		if r.grid == nil {
			return nil, fmt.Errorf("bayes: %s: α cannot be calibrated for %v, because noise is added only on a fixed grid: use Uniform or Frozen steps", r.x.title(i), p.Mesh)
		}
		solver := r.grid.Solver()
		if s.Scaling != probode.ScaleDefault && s.Scaling != solver.Scaling() {
			return nil, fmt.Errorf("bayes: %s: Scaling is %v in the settings of the calibration and %v in the Setup: want the same value in both", r.x.title(i), s.Scaling, solver.Scaling())
		}
		set := s
		set.Mesh, set.Theta, set.Scaling = probode.Fixed{Grid: solver.Grid()}, slices.Clone(r.theta), solver.Scaling()
		if i > 0 {
			set.Seed = probode.Stream(seed, uint64(i)).Uint64()
		}
		c, err := calibrate.Run(ctx, r.x.Problem, p.Method, set)
		if err != nil {
			return nil, fmt.Errorf("bayes: %s: α at %s: %w", r.x.title(i), p.Format(theta), err)
		}
		for _, w := range c.Warnings {
			if len(e.parts) > 1 {
				w = r.x.title(i) + ": " + w
			}
			out.Warnings = append(out.Warnings, w)
		}
		out.Experiments = append(out.Experiments, c)
		sum += math.Log(c.Alpha)
		square += (c.SE / c.Alpha) * (c.SE / c.Alpha)
	}
	n := float64(len(e.parts))
	out.Alpha = math.Exp(sum / n)
	out.SE = out.Alpha * math.Sqrt(square) / n
	return out, nil
}

package modes

import (
	"context"
	"errors"
	"slices"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/bayes"
	"github.com/probode/probode/pkg/probode/calibrate"
)

// Calibrate returns a copy of p in which Modes is set and the noise scale Alpha is
// calibrated. Alpha is calibrated at the mode with the largest mass. If p.Modes is nil,
// Calibrate searches for the modes. Calibrate also sets GridAt to the mode with the
// largest mass if p.GridAt is nil, the steps are equal, and p.Scaling is ScaleLocal.
func Calibrate(ctx context.Context, p *bayes.Posterior, s calibrate.Settings) (*bayes.Posterior, *bayes.CalibratedAlpha, error) {
	if p == nil {
		return nil, nil, errors.New("modes: the Posterior is nil")
	}
	q := *p
	var err error
	if q.Modes == nil {
		if q.Modes, err = Find(ctx, p, Settings{Seed: s.Seed, Workers: s.Workers}); err != nil {
			return nil, nil, err
		}
	}
	if q.Scaling == probode.ScaleLocal && q.StepSize() > 0 && q.GridAt == nil {
		q.GridAt = slices.Clone(q.Modes.Modes[0].Theta)
	}
	c, err := bayes.CalibrateAlpha(ctx, &q, q.Modes.Modes[0].Theta, s)
	if err != nil {
		return nil, nil, err
	}
	q.Alpha = c.Alpha
	return &q, c, nil
}

package modes

import (
	"context"
	"math"
	"slices"
	"time"

	"github.com/probode/probode/pkg/internal/progress"
	"github.com/probode/probode/pkg/probode/bayes"
	"github.com/probode/probode/pkg/probode/bayes/shape"
)

// One solution with an accurate solver can cost as much as twenty solutions with
// shape.Lender, the adaptive Radau method. Moreover, the accurate solver provides no
// derivatives. The accurate solver and the Radau method give posteriors with nearly the
// same modes. The search for modes therefore uses the Radau method. The accurate solver
// is used only to refine the modes found with the Radau method.

// findByLender repeats the search with the accurate solver if the two do not agree at the
// modes, or the Radau method fails.
func findByLender(ctx context.Context, p *bayes.Posterior, s Settings) (*bayes.Modes, error) {
	out, err := find(ctx, p.SolvedBy(shape.Lender), s)
	agree := false
	if err == nil {
		agree, err = moveTo(ctx, p, s, out)
	}
	switch {
	case agree:
		return out, nil
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case err == nil:
		given := len(s.From)
		s.From = slices.Concat(s.From, out.Thetas(-1))
		if out, err = find(ctx, p, s); err == nil {
			out.Ends = out.Ends[:given]
		}
		return out, err
	}
	return find(ctx, p, s) // if this fails, too, the error speaks of p
}

// moveTo climbs from modes of another solver to those of p, without those of negligible
// mass. If the log densities do not agree there, m must not be used.
func moveTo(ctx context.Context, p *bayes.Posterior, s Settings, m *bayes.Modes) (agree bool, err error) {
	const equal = 0.01 // largest difference of the log densities
	begin := time.Now()
	ctx, hook := progress.Begin(ctx, "modes")
	if hook != nil {
		defer hook(1, 1, "")
	}
	q, err := newSearch(ctx, p, s, hook)
	if err != nil {
		return false, err
	}
	moved, negligible := make([]*climb, len(m.Modes)), make([]bool, len(m.Modes))
	err = q.each(ctx, len(moved), q.tell(2, "tops"), func(e *bayes.Density, i int) error {
		from := m.Modes[i]
		f, err := e.LogPosterior(from.U, nil)
		switch {
		case from.Mass < math.Exp(-lowest):
			negligible[i] = err != nil || f < from.LogP+1
		case err == nil && math.Abs(f-from.LogP) < equal:
			moved[i] = &climb{Ascent: at(slices.Clone(from.U), f)}
			moved[i].polish(ctx, e)
		}
		return nil
	})
	if err != nil {
		return false, err
	}
	var left []*bayes.Mode
	index := make([]int, len(m.Modes)) // in left
	for i, mode := range m.Modes {
		if index[i] = -1; negligible[i] {
			continue
		}
		index[i], left = len(left), append(left, mode)
		c := moved[i]
		if c == nil || c.Value > mode.LogP+barrier {
			return false, nil
		}
		mode.U, mode.LogMass, mode.LogP = c.X, mode.LogMass+c.Value-mode.LogP, c.Value
		q.all[0].Constrain(mode.Theta, c.X)
	}
	m.Modes = left
	for i, end := range m.Ends {
		if end >= 0 {
			m.Ends[i] = index[end]
		}
	}
	share(m.Modes)
	m.Work, m.Seconds = m.Work+q.work(), m.Seconds+time.Since(begin).Seconds()
	return true, nil
}

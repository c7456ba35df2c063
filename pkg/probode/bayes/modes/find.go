// Package modes searches for the modes of a posterior that is computed without solver
// noise, and assigns draws to these modes.
package modes

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/probode/probode/pkg/internal/progress"
	"github.com/probode/probode/pkg/probode/bayes"
	"github.com/probode/probode/pkg/probode/reference"
)

// The search for modes begins at draws from the prior: some of the draws with the highest
// densities, and some of the other draws. A few searches run first. Later searches stop
// early if they lead to known end points (see lead). Other searches begin at local maxima
// on the coordinate lines through the highest end point. More searches follow as long as
// many of the end points are new. End points that are not separated by a barrier count as
// one mode.

// Find searches for the modes of the posterior without solver noise (ξ = 0). Find returns
// an error if the density is zero at all draws from the prior and at all points of
// s.From. The error says why the density is zero at the first draw. Find panics if the
// length of a point in s.From differs from the number of parameters.
//
// The posterior may have modes that the search has not found; see Missed of the result.
func Find(ctx context.Context, p *bayes.Posterior, s Settings) (*bayes.Modes, error) {
	if p == nil {
		return nil, errors.New("modes: the Posterior is nil")
	}
	if _, ok := p.Mesh.(reference.Accurate); ok {
		return findByLender(ctx, p, s)
	}
	return find(ctx, p, s)
}

func find(ctx context.Context, p *bayes.Posterior, s Settings) (*bayes.Modes, error) {
	begin := time.Now()
	ctx, hook := progress.Begin(ctx, "modes")
	if hook != nil {
		defer hook(1, 1, "") // this is also called after an error
	}
	q, err := newSearch(ctx, p, s, hook)
	if err != nil {
		return nil, err
	}
	e := q.all[0]
	d := len(p.Params)
	for _, x := range s.From {
		if len(x) != d {
			panic(fmt.Sprintf("modes: Find: a point in Settings.From has %d numbers: want %d, one for each parameter", len(x), d))
		}
	}
	q.s.Points = max(0, cmp.Or(s.Points, modePoints))
	if q.free = s.Starts == 0 && s.Points >= 0; s.Starts == 0 {
		// If the dimension is low, a search costs little, so more searches are started.
		q.s.Starts = max(modeStarts, 300/(d+2))
	}

	points, failed, err := q.drawPoints(ctx)
	if err != nil {
		return nil, err
	}
	climbs, left := q.starts(points)
	var from []*climb
	for i, x := range s.From {
		if c, _, _ := start(e, x); c != nil {
			c.from = []int{i}
			from = append(from, c)
		}
	}
	if len(climbs)+len(from) == 0 {
		if err := ended(ctx, e); err != nil {
			return nil, err
		}
		why := errors.New("these draws lie on the edge of the support of the prior")
		if failed != nil {
			if why = e.Explain(failed, nil); why == nil {
				why = errors.New("the density of the prior is zero at this point")
			}
			why = fmt.Errorf("at the first, %s: %w", p.Format(failed), why)
		}
		return nil, fmt.Errorf("modes: the posterior density is zero at all %d draws from the prior: %w", q.tried, why)
	}
	out := &bayes.Modes{SearchCounts: bayes.SearchCounts{Given: len(from), Tried: q.tried, Solved: q.solved}}
	ends, searches, err := q.climb(ctx, from, climbs, left)
	if err != nil {
		return nil, err
	}
	out.Searches = searches
	all, err := q.finish(ctx, ends)
	if err != nil {
		return nil, err
	}
	for range s.From {
		out.Ends = append(out.Ends, -1)
	}
	for k, c := range all {
		for _, i := range c.from {
			out.Ends[i] = k
		}
		out.Modes = append(out.Modes, c.mode)
		if c.mode.Found == 1 {
			out.Once++
		}
	}
	out.Work, out.Seconds = q.work(), time.Since(begin).Seconds()
	return out, nil
}

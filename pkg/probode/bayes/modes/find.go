// Package modes searches for the modes of a posterior without noise, and assigns draws to
// them.
package modes

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"time"

	"github.com/probode/probode/pkg/internal/progress"
	"github.com/probode/probode/pkg/probode/bayes"
	"github.com/probode/probode/pkg/probode/internal/pieces"
)

// The search for modes begins at some draws of the prior, the highest and others. A few
// searches climb first. The later ones stop when the density along their way shows that
// they lead to a known end. Other searches begin at summits on the coordinate lines
// through the highest end. More searches follow as long as many of the ends are new.
// Ends that no barrier separates are one mode.

// Settings says how to search for modes. The zero value is ready for use.
type Settings struct {
	Seed uint64 // of the draws of the prior

	// From holds further starts, such as the modes for another step.
	From [][]float64

	// Workers is the number of goroutines; zero means the number of cores. It does not
	// change the result.
	Workers int

	// Points is the number of draws of the prior at which the density is evaluated, spread
	// evenly over the prior of each parameter: zero means 400, a negative number none.
	// Starts is the number of these from which searches begin. Zero means 24, more in few
	// dimensions, and up to four times as many if the first ends suggest that there are
	// others. Further searches begin where the density rises again along a coordinate
	// through the highest end. No search begins after a sixth of the solves of a run with
	// the default settings, 4 (2000 + 250 d).
	Points, Starts int
}

const (
	modePoints = 400
	modeStarts = 24
	// together is the distance, in standard deviations, below which two searches count as
	// one.
	together = 0.5
	// barrier is the amount by which the log density must fall between two modes.
	barrier = 0.5
	// lowest is the largest difference between the log mass of a mode and the highest one.
	lowest = 14
)

// Find searches for the modes of the posterior without noise. It is an error if the
// density is zero at all draws of the prior and all points of s.From; the error gives
// the reason at the first draw. Find panics if a point does not have one number for
// each parameter.
//
// The posterior may have other modes elsewhere. Missed of the result says how much the
// search may have missed.
func Find(ctx context.Context, p *bayes.Posterior, s Settings) (*bayes.Modes, error) {
	begin := time.Now()
	if ctx == nil {
		return nil, errors.New("modes: the context is nil")
	}
	ctx, hook := progress.Begin(ctx, "modes")
	if hook != nil {
		defer hook(1, 1, "") // also after an error
	}
	q := &search{p: p, s: s, hook: hook}
	var err error
	if q.bound, err = bayes.NewDensity(ctx, p); err != nil {
		return nil, err
	}
	defer q.close()
	e, err := q.take(ctx)
	if err != nil {
		return nil, err
	}
	q.idle = append(q.idle, e)
	d := len(p.Params)
	for _, x := range s.From {
		if len(x) != d {
			panic(fmt.Sprintf("modes: Find from %d numbers: want %d, one for each parameter", len(x), d))
		}
	}
	if q.s.Points == 0 {
		q.s.Points = modePoints
	}
	q.s.Points = max(0, q.s.Points)
	if q.free = s.Starts == 0 && s.Points >= 0; s.Starts == 0 {
		// In few dimensions a search is cheap.
		q.s.Starts = max(modeStarts, 300/(d+2))
	}

	points, failed, err := q.points(ctx)
	if err != nil {
		return nil, err
	}
	solved := len(points)
	climbs, left := q.starts(points)
	var from []*climb
	for i, x := range s.From {
		u := make([]float64, d)
		if e.Unconstrain(u, x) != nil {
			continue
		}
		if f, err := e.LogPosterior(u, nil); err == nil && !math.IsInf(f, 0) && !math.IsNaN(f) {
			from = append(from, &climb{Climb: at(u, f), found: 1, from: []int{i}})
		}
	}
	if len(climbs)+len(from) == 0 {
		if err := ended(ctx, e); err != nil {
			return nil, err
		}
		why := errors.New("they lie on the edge of its support")
		if failed != nil {
			if why = e.Explain(failed, nil); why == nil {
				why = errors.New("the density of the prior is zero there")
			}
			why = fmt.Errorf("at the first, %s: %w", p.Format(failed), why)
		}
		return nil, fmt.Errorf("modes: the posterior density is zero at all of %d draws of the prior: %w", q.tried, why)
	}
	out := &bayes.Modes{Tried: q.tried, Solved: solved}
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
	for k, m := range all {
		for _, i := range m.from {
			out.Ends[i] = k
		}
		out.Modes = append(out.Modes, m.Mode)
		if m.Found == 1 {
			out.Once++
		}
	}
	out.Work, out.Seconds = q.work(), time.Since(begin).Seconds()
	return out, nil
}

// A search is the state of Find.
type search struct {
	p     *bayes.Posterior
	s     Settings
	hook  progress.Hook
	tried int            // draws of the prior
	free  bool           // the search chooses the number of starts
	bound *bayes.Density // each worker has a clone of it

	mu        sync.Mutex
	all, idle []*bayes.Density
	release   []func()
}

// take returns a density that is not in use.
func (q *search) take(ctx context.Context) (*bayes.Density, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if n := len(q.idle); n > 0 {
		e := q.idle[n-1]
		q.idle = q.idle[:n-1]
		return e, nil
	}
	e := q.bound.Clone()
	q.all, q.release = append(q.all, e), append(q.release, e.Bind(ctx))
	return e, nil
}

func (q *search) close() {
	for _, f := range q.release {
		f()
	}
}

// work returns the steps of the solvers, divided by the steps of one solution of all
// equations.
func (q *search) work() float64 {
	steps := 0
	for _, e := range q.all {
		steps += e.Work()
	}
	return float64(steps) / float64(q.all[0].Steps())
}

// each calls do n times in parallel; each worker has its own density.
func (q *search) each(ctx context.Context, n int, tell func(done, total int), do func(e *bayes.Density, i int) error) error {
	var mu sync.Mutex
	var taken []*bayes.Density
	_, err := pieces.Each(ctx, min(q.s.Workers, n), n, tell, func() func(int) error {
		e, err := q.take(ctx)
		if err != nil {
			return func(int) error { return err }
		}
		mu.Lock()
		taken = append(taken, e)
		mu.Unlock()
		return func(i int) error {
			if err := do(e, i); err != nil {
				return err
			}
			return ended(ctx, e)
		}
	})
	q.idle = append(q.idle, taken...)
	return err
}

// values returns the log density at each of the points, −∞ if it cannot be computed.
func (q *search) values(ctx context.Context, points [][]float64) ([]float64, error) {
	const piece = 8
	out := make([]float64, len(points))
	err := q.each(ctx, (len(points)+piece-1)/piece, nil, func(e *bayes.Density, i int) error {
		for k := i * piece; k < min((i+1)*piece, len(points)); k++ {
			f, err := e.LogPosterior(points[k], nil)
			if err != nil || math.IsNaN(f) || math.IsInf(f, 0) {
				f = math.Inf(-1)
			}
			out[k] = f
		}
		return nil
	})
	return out, err
}

// tell returns the progress hook of one of the three parts of a search, nil if there is
// none.
func (q *search) tell(part int, doing string) func(done, total int) {
	if q.hook == nil {
		return nil
	}
	return func(done, total int) {
		q.hook(1000*part+1000*done/max(1, total), 3001, fmt.Sprintf("%s, %d of %d", doing, done, total))
	}
}

// ended returns the reason why the search must stop: the context has ended, or a
// function of the model has panicked.
func ended(ctx context.Context, e *bayes.Density) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return e.Err()
}

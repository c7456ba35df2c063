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

// The search for modes: among draws of the prior some are taken to begin at, the
// highest and others. A few of them go uphill first; the others stop where what they
// see of the density, and the path there, lead to an end that is known. Others begin
// at summits on the lines through the highest end. While many of the ends are new, more
// searches are made; and the ends that no barrier separates are one mode.

// Settings say how modes are looked for. The zero value is ready for use.
type Settings struct {
	Seed uint64 // of the draws of the prior

	// From are points to begin at beside draws of the prior, such as the modes
	// for another step.
	From [][]float64

	// Workers is the number of goroutines; zero means the number of cores. It
	// changes no bit of the result.
	Workers int

	// Points is the number of draws of the prior to look at, zero for 400 and
	// negative for none, spread evenly over the prior of each parameter. Starts is
	// the number of these to search from. Zero means 24, more in few dimensions, and
	// up to four times as many if the ends of the first ones tell that there are
	// others, and as the highest end is found, from where the density rises again
	// along a coordinate; but none begins beyond a sixth of the solves of a run with
	// the default settings, 4 (2000 + 250 d).
	Points, Starts int
}

const (
	modePoints = 400
	modeStarts = 24
	// together is the distance, in standard deviations, at which two searches
	// are taken to be on the same way.
	together = 0.5
	// barrier is how far the log density has to fall between two modes.
	barrier = 0.5
	// lowest is how far below the highest mass one may be.
	lowest = 14
)

// Find looks for the modes of the posterior without noise. It is an error,
// which says what is wrong at the first draw, if the density is positive at none of
// the draws of the prior and the points of s.From. Find panics if a point
// does not have a number for each parameter.
//
// A likelihood can have other modes elsewhere; nobody can promise that there are
// none. bayes.Modes.Once tells how much the search may have missed.
func Find(ctx context.Context, p *bayes.Posterior, s Settings) (*bayes.Modes, error) {
	begin := time.Now()
	if ctx == nil {
		return nil, errors.New("modes: the context is nil")
	}
	ctx, hook := progress.Begin(ctx, "modes")
	if hook != nil {
		defer hook(1, 1, "") // whatever happens, it is over then
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
		return nil, fmt.Errorf("modes: at none of %d draws of the prior has the posterior a positive density: %w", q.tried, why)
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
		m.Tried, m.Solved = out.Tried, out.Solved
		if m.Found == 1 {
			out.Once++
		}
	}
	out.Work, out.Seconds = q.work(), time.Since(begin).Seconds()
	return out, nil
}

// A search is Find at work.
type search struct {
	p     *bayes.Posterior
	s     Settings
	hook  progress.Hook
	tried int            // draws of the prior
	free  bool           // to decide how many searches are made
	bound *bayes.Density // which each worker clones

	mu        sync.Mutex
	all, idle []*bayes.Density
	release   []func()
}

// take returns a density that nobody uses.
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

// work returns the steps that solvers have taken, in units of those of one solution
// of all the equations.
func (q *search) work() float64 {
	steps := 0
	for _, e := range q.all {
		steps += e.Work()
	}
	return float64(steps) / float64(q.all[0].Steps())
}

// each does n pieces of work, each worker with a density of its own.
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

// values returns the log density at each of the points, −∞ where there is none.
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

// tell returns the hook of one of the three parts of a search, nil if nobody wants to
// know.
func (q *search) tell(part int, doing string) func(done, total int) {
	if q.hook == nil {
		return nil
	}
	return func(done, total int) {
		q.hook(1000*part+1000*done/max(1, total), 3001, fmt.Sprintf("%s, %d of %d", doing, done, total))
	}
}

// ended returns why work with e has to stop: the context has ended, or a
// function of the model has panicked.
func ended(ctx context.Context, e *bayes.Density) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return e.Err()
}

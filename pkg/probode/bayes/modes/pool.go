package modes

import (
	"context"
	"fmt"
	"math"
	"sync"

	"github.com/probode/probode/pkg/internal/progress"
	"github.com/probode/probode/pkg/probode/bayes"
	"github.com/probode/probode/pkg/probode/internal/pieces"
)

type search struct {
	p     *bayes.Posterior
	s     Settings
	hook  progress.Hook
	tried int            // draws from the prior that were tried
	free  bool           // the search chooses the number of starts
	bound *bayes.Density // each worker has a clone of it

	mu        sync.Mutex
	all, idle []*bayes.Density
	release   []func()
}

func (q *search) take(ctx context.Context) *bayes.Density {
	q.mu.Lock()
	defer q.mu.Unlock()
	if n := len(q.idle); n > 0 {
		e := q.idle[n-1]
		q.idle = q.idle[:n-1]
		return e
	}
	return q.another(ctx)
}

func (q *search) another(ctx context.Context) *bayes.Density {
	e := q.bound.Clone()
	q.all, q.release = append(q.all, e), append(q.release, e.Bind(ctx))
	return e
}

func (q *search) close() {
	for _, f := range q.release {
		f()
	}
}

// work is in solutions of all equations.
func (q *search) work() float64 {
	steps := 0
	for _, e := range q.all {
		steps += e.Work()
	}
	return float64(steps) / float64(q.all[0].Steps())
}

// each gives each worker a density of its own.
func (q *search) each(ctx context.Context, n int, tell func(done, total int), do func(e *bayes.Density, i int) error) error {
	var mu sync.Mutex
	var taken []*bayes.Density
	_, err := pieces.Each(ctx, min(q.s.Workers, n), n, tell, func() func(int) error {
		e := q.take(ctx)
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

// values is −∞ where it cannot be computed. `of` selects the density of a worker (nil:
// its own).
func (q *search) values(ctx context.Context, points [][]float64, of func(e *bayes.Density) *bayes.Density) ([]float64, error) {
	const piece = 8
	out := make([]float64, len(points))
	err := q.each(ctx, (len(points)+piece-1)/piece, nil, func(e *bayes.Density, i int) error {
		if of != nil {
			e = of(e)
		}
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

// gradients begin with NaN if they cannot be computed.
func (q *search) gradients(ctx context.Context, points [][]float64, of func(e *bayes.Density) *bayes.Density) ([][]float64, error) {
	out := make([][]float64, len(points))
	err := q.each(ctx, len(points), nil, func(e *bayes.Density, i int) error {
		out[i] = make([]float64, len(points[i]))
		if f, err := of(e).Gradient(out[i], nil, points[i], nil); err != nil || math.IsInf(f, 0) {
			out[i][0] = math.NaN()
		}
		return nil
	})
	return out, err
}

func (q *search) tell(part int, doing string) func(done, total int) {
	if q.hook == nil {
		return nil
	}
	return func(done, total int) {
		q.hook(1000*part+1000*done/max(1, total), 3001, fmt.Sprintf("%s, %d of %d", doing, done, total))
	}
}

func ended(ctx context.Context, e *bayes.Density) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return e.Err()
}

package modes

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"runtime"

	"github.com/probode/probode/pkg/internal/progress"
	"github.com/probode/probode/pkg/probode/bayes"
	"github.com/probode/probode/pkg/probode/internal/pieces"
)

type search struct {
	p      *bayes.Posterior
	s      Settings
	hook   progress.Hook
	tried  int              // draws from the prior that were tried
	solved int              // those at which the equations could be solved
	free   bool             // the search chooses the number of starts
	all    []*bayes.Density // one for each worker
	full   int              // steps of the solvers to solve all equations once
}

func newSearch(ctx context.Context, p *bayes.Posterior, s Settings, hook progress.Hook) (*search, error) {
	e, err := bayes.NewDensity(ctx, p)
	if err != nil {
		return nil, err
	}
	q := &search{p: p, s: s, hook: hook}
	for range cmp.Or(s.Workers, runtime.GOMAXPROCS(0)) {
		own := e.Clone()
		own.Bind(ctx)
		q.all = append(q.all, own)
	}
	q.full = q.all[0].Steps()
	return q, nil
}

// work is in solutions of all equations.
func (q *search) work() float64 {
	steps := 0
	for _, e := range q.all {
		steps += e.Work()
	}
	return float64(steps) / float64(q.full)
}

// each gives each worker a density of its own.
func (q *search) each(ctx context.Context, n int, tell func(done, total int), do func(e *bayes.Density, i int) error) error {
	workers := 0
	_, err := pieces.Each(ctx, len(q.all), n, tell, func() func(int) error {
		e := q.all[workers]
		workers++
		return func(i int) error {
			if err := do(e, i); err != nil {
				return err
			}
			return ended(ctx, e)
		}
	})
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

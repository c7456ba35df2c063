package modes

import (
	"cmp"
	"context"
	"math"
	"slices"

	"github.com/probode/probode/pkg/probode/bayes"
)

// Two modes often differ in only a few parameters. For example, solutions with different
// initial values may reach the same orbit after a fast transient. Solutions with
// different frequencies may agree at the observation times. Draws from the prior rarely
// lie in a small basin. The density along a coordinate line through one mode, however,
// usually has a local maximum near the other mode.

// scanned are the probabilities of quantiles of the prior: equally spaced from 0.15 to
// 0.85 for uniform priors, and 0.003 and 0.997 for long tails.
var scanned = []float64{0.003, 0.03, 0.08, 0.15, 0.25, 0.35, 0.45, 0.55, 0.65, 0.75, 0.85, 0.92, 0.97, 0.997}

// scan looks along the coordinate lines through a highest end that is new, and begins at
// most `most` searches at summits beyond a valley that are higher than the best draw of
// the prior.
func (q *search) scan(ctx context.Context, ends []*climb, above float64, most int) ([]*climb, error) {
	var end *climb
	for _, c := range ends {
		if c.Information != nil && (end == nil || c.Value > end.Value) {
			end = c
		}
	}
	if end == nil || end.scanned {
		return nil, nil
	}
	end.scanned = true
	out, err := q.along(ctx, end)
	if err != nil {
		return nil, err
	}
	err = q.each(ctx, len(out), nil, func(e *bayes.Density, i int) error {
		out[i].sharpen(e)
		return nil
	})
	slices.SortStableFunc(out, func(a, b *summit) int { return cmp.Compare(b.f, a.f) })
	var climbs []*climb
	for _, s := range out[:min(most, len(out))] {
		if s.f > above {
			climbs = append(climbs, &climb{Ascent: at(s.u, s.f), found: 1})
		}
	}
	return climbs, err
}

type summit struct {
	u         []float64
	f         float64
	k         int     // index of the coordinate
	low, high float64 // neighbouring values of the coordinate
}

func (s *summit) sharpen(e *bayes.Density) {
	const times = 8
	u := slices.Clone(s.u)
	for range times {
		below, above := s.u[s.k]-s.low, s.high-s.u[s.k]
		if u[s.k] = s.u[s.k] + 0.382*above; below > above {
			u[s.k] = s.u[s.k] - 0.382*below
		}
		f, err := e.LogPosterior(u, nil)
		if err != nil || !(f > s.f) {
			if u[s.k] < s.u[s.k] {
				s.low = u[s.k]
			} else {
				s.high = u[s.k]
			}
			continue
		}
		if u[s.k] < s.u[s.k] {
			s.high = s.u[s.k]
		} else {
			s.low = s.u[s.k]
		}
		s.u[s.k], s.f = u[s.k], f
	}
}

func (q *search) along(ctx context.Context, end *climb) ([]*summit, error) {
	var points [][]float64
	for k := range end.X {
		for _, p := range scanned {
			u := slices.Clone(end.X)
			u[k] = q.all[0].PriorQuantile(k, p)
			points = append(points, u)
		}
	}
	values, err := q.values(ctx, points, nil)
	if err != nil {
		return nil, err
	}
	var out []*summit
	n := len(scanned)
	for k := range end.X {
		line := make([]*climb, n, n+1)
		for i := range line {
			line[i] = &climb{Ascent: at(points[k*n+i], values[k*n+i]), found: 1}
		}
		line = append(line, end)
		slices.SortStableFunc(line, func(a, b *climb) int { return cmp.Compare(a.X[k], b.X[k]) })
		here := slices.Index(line, end)
		// Go through the points on the line in both directions, beginning at the end
		// point.
		for _, way := range [2]int{-1, 1} {
			low := end.Value
			for i := here + way; i >= 0 && i <= n; i += way {
				c := line[i]
				next := &climb{Ascent: at(c.X, math.Inf(-1))}
				if j := i + way; j >= 0 && j <= n {
					next = line[j]
				}
				if before := line[i-way].X[k]; c.Value > next.Value && c.Value > low+barrier && !math.IsInf(c.Value, 0) {
					out = append(out, &summit{u: c.X, f: c.Value, k: k, low: min(before, next.X[k]), high: max(before, next.X[k])})
				}
				low = min(low, c.Value)
			}
		}
	}
	return out, nil
}

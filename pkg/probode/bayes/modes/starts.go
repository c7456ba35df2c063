package modes

import (
	"cmp"
	"context"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/bayes"
)

// drawPoints returns the draws with a positive density, the highest first, and the first
// θ without one. If there are few, it draws up to four times as many.
func (q *search) drawPoints(ctx context.Context) (points []*climb, failed []float64, err error) {
	rng := probode.Stream(q.s.Seed, 0x6d6f6465)
	for round := 0; q.s.Points > 0 && (round == 0 || round < 4 && len(points) > 0 && len(points) < q.s.Starts); round++ {
		some, bad, err := q.look(ctx, rng)
		if err != nil {
			return nil, nil, err
		}
		if failed == nil {
			failed = bad
		}
		q.tried += q.s.Points
		points = append(points, some...)
	}
	slices.SortStableFunc(points, func(a, b *climb) int { return cmp.Compare(b.Value, a.Value) })
	return points, failed, nil
}

// look draws Settings.Points in a Latin hypercube [McKay, Beckman & Conover 1979].
func (q *search) look(ctx context.Context, rng *rand.Rand) (points []*climb, failed []float64, err error) {
	d := len(q.p.Params)
	thetas := make([][]float64, q.s.Points)
	for i := range thetas {
		thetas[i] = make([]float64, d)
	}
	for k := range d {
		// For each parameter, the prior is divided into intervals of equal probability,
		// one for each draw.
		for i, part := range rng.Perm(len(thetas)) {
			at := (float64(rng.Uint64()>>11) + 0.5) / (1 << 53)
			thetas[i][k] = q.p.Params[k].Prior.Quantile((float64(part) + at) / float64(len(thetas)))
		}
	}
	all, edge, solved := make([]*climb, len(thetas)), make([]bool, len(thetas)), make([]bool, len(thetas))
	err = q.each(ctx, len(thetas), q.tell(0, "draws of the prior"), func(e *bayes.Density, i int) error {
		all[i], edge[i], solved[i] = start(e, thetas[i])
		return nil
	})
	if err != nil {
		return nil, nil, err
	}
	for i, c := range all {
		if solved[i] {
			q.solved++
		}
		switch {
		case c != nil:
			points = append(points, c)
		case !edge[i] && failed == nil:
			failed = thetas[i]
		}
	}
	return points, failed, nil
}

// starts chooses up to a third of summits, which are higher than their nearest neighbours
// [Törn & Viitanen 1992], then the highest points, and the last third at even intervals
// of density: even the points nearest to a very narrow mode can be low. It returns the
// others, too.
func (q *search) starts(points []*climb) (out, left []*climb) {
	n := min(q.s.Starts, len(points))
	taken := make([]bool, len(points))
	take := func(i int) {
		if !taken[i] && len(out) < n {
			taken[i] = true
			out = append(out, points[i])
		}
	}
	if len(points) > 0 {
		take(0)
	}
	summits := q.summits(points)
	for _, i := range summits[:min(n/3, len(summits))] {
		take(i)
	}
	for i := 0; i < len(points) && len(out) < 2*n/3; i++ {
		take(i)
	}
	var rest []int
	for i := range points {
		if !taken[i] {
			rest = append(rest, i)
		}
	}
	for i, more := 0, n-len(out); i < more; i++ {
		take(rest[i*len(rest)/more])
	}
	for i, c := range points {
		if !taken[i] {
			left = append(left, c)
		}
	}
	// Let the three kinds of starting points alternate. If the search reaches its cost
	// limit, the last points in the list are not used.
	kinds := (n + 2) / 3
	mixed := make([]*climb, 0, n)
	for i := range kinds {
		for j := i; j < n; j += kinds {
			mixed = append(mixed, out[j])
		}
	}
	return mixed, left
}

// summits measures distances in interquartile ranges of the priors. The points are in
// order of decreasing density.
func (q *search) summits(points []*climb) []int {
	const neighbours = 6
	scale := make([]float64, len(q.p.Params))
	for k := range scale {
		if scale[k] = math.Abs(q.all[0].PriorQuantile(k, 0.75) - q.all[0].PriorQuantile(k, 0.25)); !(scale[k] > 0) || math.IsInf(scale[k], 1) {
			scale[k] = 1
		}
	}
	var out []int
	for i, a := range points {
		var near [neighbours]float64 // squared distances, sorted
		var which [neighbours]int
		for m := range near {
			near[m], which[m] = math.Inf(1), i
		}
		for j, b := range points {
			var r float64
			for k, v := range a.X {
				v = (v - b.X[k]) / scale[k]
				r += v * v
			}
			if j == i || r >= near[neighbours-1] {
				continue
			}
			m := neighbours - 1
			for ; m > 0 && near[m-1] > r; m-- {
				near[m], which[m] = near[m-1], which[m-1]
			}
			near[m], which[m] = r, j
		}
		if !slices.ContainsFunc(which[:], func(j int) bool { return j < i }) {
			out = append(out, i)
		}
	}
	return out
}

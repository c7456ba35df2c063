package modes

import (
	"context"
	"math"
	"slices"

	"github.com/probode/probode/pkg/probode/bayes"
	"github.com/probode/probode/pkg/probode/bayes/shape"
)

// The constants sharePlanned, shareMore and shareMost limit the cost of the whole search.
// The unit of cost is a sampling run with the default settings. The cost includes the
// solves that are needed to compute the modes from the end points.
const (
	sharePlanned = 0.165 // no search begins beyond this share,
	shareMore    = 0.15  // and no additional search beyond this one;
	shareMost    = 0.18  // here the running searches are stopped
)

// climb runs searches in groups, so that later ones can stop on the way to known ends;
// after each group some begin at maxima on the coordinate lines through the highest. From
// w ends of n searches, w (n − 1)/(n − w − 2) are expected in all [Boender & Rinnooy Kan
// 1987]. If that is larger by at least one half, more begin at the remaining points.
func (q *search) climb(ctx context.Context, from, climbs, left []*climb) (ends []*climb, searches int, err error) {
	planned, before := len(climbs), q.work()
	group := max(6, planned/6)
	// room returns the number of searches that can still begin. The argument `share` is the
	// largest permitted cost, as a fraction of the cost of a sampling run. The result is at
	// most the size of a group.
	room := func(share float64) int {
		if !q.free {
			return group
		}
		each := (q.work() - before) / float64(searches)
		return max(0, min(group, int(q.solvesLeft(share, ends)/max(each, 1))))
	}
	top := highest(climbs)
	next, climbs := take(climbs, group)
	for next = append(next, from...); len(next) > 0; {
		searches += len(next)
		if ends, err = q.ascend(ctx, ends, next); err != nil {
			return nil, 0, err
		}
		next = nil
		n := 0.0
		for _, c := range ends {
			n += float64(c.found)
		}
		switch {
		case len(climbs) > 0:
			next, climbs = take(climbs, room(sharePlanned))
		case q.free && searches < 4*planned && room(shareMore) > 0:
			if ends, err = q.distinct(ctx, ends); err != nil {
				return nil, 0, err
			}
			if w := float64(len(ends)); n-w-2 <= 0 || w*(n-1)/(n-w-2) >= w+0.5 {
				next, left = spread(left, room(shareMore))
			}
		}
		if most := min(4, room(sharePlanned)); q.free && most > 0 {
			more, err := q.scan(ctx, ends, top, most)
			if err != nil {
				return nil, 0, err
			}
			next = append(next, more...)
		}
	}
	ends, err = q.distinct(ctx, ends)
	return ends, searches, err
}

// solvesLeft is the permitted share of a sampling run without the solves already done,
// and without those needed for modes: to refine each end that is not far below the
// highest, for its Hessian, and to compare it with others.
func (q *search) solvesLeft(share float64, ends []*climb) float64 {
	top := highest(ends)
	d := float64(len(q.p.Params))
	out := share*4*(2000+250*d) - q.work()
	for _, c := range ends {
		if c.Value > top-lowest {
			out -= 4*d + d*(d+1)
			if !c.apart {
				out -= 20 + 5*(d+1)
			}
		}
	}
	return out
}

func take(climbs []*climb, n int) (first, rest []*climb) {
	n = min(n, len(climbs))
	return slices.Clone(climbs[:n]), climbs[n:]
}

func spread(climbs []*climb, n int) (some, rest []*climb) {
	n = min(n, len(climbs))
	for i, c := range climbs {
		if len(some) < n && i*n/len(climbs) == len(some) {
			some = append(some, c)
		} else {
			rest = append(rest, c)
		}
	}
	return some, rest
}

// ascend returns known and new ends. In each round every search takes some steps. Then
// those that have met are merged, and those that lead to a known end or would take too
// long are stopped.
func (q *search) ascend(ctx context.Context, ends, climbs []*climb) ([]*climb, error) {
	const rounds, each = 25, 3
	all := len(climbs)
	tell := q.tell(1, "searches")
	for round := range rounds {
		if tell != nil {
			tell(all-len(climbs), all)
		}
		if q.free && len(ends) > 0 && q.solvesLeft(shareMost, ends) < 0 {
			climbs = slices.DeleteFunc(climbs, func(c *climb) bool { return len(c.from) == 0 })
		}
		if len(climbs) == 0 {
			break
		}
		err := q.each(ctx, len(climbs), nil, func(e *bayes.Density, i int) error {
			c := climbs[i]
			for k := range each {
				if !c.Done && !(round == 0 && k > 0) {
					c.Step(c.with(e))
				}
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
		var active []*climb
		for _, c := range climbs {
			if c.Done || round == rounds-1 {
				ends = append(ends, c)
			} else {
				active = append(active, c)
			}
		}
		ends = unite(ends)
		active = slices.DeleteFunc(unite(active), func(c *climb) bool {
			k := slices.IndexFunc(ends, func(o *climb) bool { return near(o, c) })
			if k >= 0 {
				ends[k].absorb(c)
			}
			return k >= 0
		})
		if climbs, err = q.lead(ctx, ends, active); err != nil {
			return nil, err
		}
		top := max(highest(ends), highest(climbs))
		climbs = slices.DeleteFunc(climbs, func(c *climb) bool { return c.hopeless(top) })
	}
	return ends, nil
}

// lead removes searches whose undamped step ends much nearer to a known end, unless the
// density falls noticeably on the straight line to it.
func (q *search) lead(ctx context.Context, ends, active []*climb) ([]*climb, error) {
	const tests, points, contraction = 3, 5, 0.4
	to := make([]*climb, len(active))
	err := q.each(ctx, len(active), nil, func(e *bayes.Density, i int) error {
		c := active[i]
		if !c.Known || c.Failed || c.tested == tests {
			return nil
		}
		step, _ := c.Within(math.Inf(1))
		u := make([]float64, len(c.X))
		for k := range u {
			u[k] = c.X[k] + step[k]
		}
		best := math.Inf(1)
		var o *climb
		for _, end := range ends {
			if end.Information == nil || end.Value < c.Value {
				continue
			}
			away := shape.Distance(c.X, end.X, end.Information)
			if after := shape.Distance(u, end.X, end.Information); after < max(contraction*away, together) && after < best {
				best, o = after, end
			}
		}
		if o == nil {
			return nil
		}
		c.tested++
		top := c.Value
		for m := 1; m <= points; m++ {
			t := float64(m) / (points + 1)
			for k := range u {
				u[k] = c.X[k] + t*(o.X[k]-c.X[k])
			}
			f, err := e.LogPosterior(u, nil)
			if err != nil || !(f > top-barrier) {
				return nil
			}
			top = max(top, f)
		}
		to[i] = o
		return nil
	})
	if err != nil {
		return nil, err
	}
	var out []*climb
	for i, c := range active {
		if to[i] != nil {
			to[i].absorb(c)
			continue
		}
		out = append(out, c)
	}
	return out, nil
}

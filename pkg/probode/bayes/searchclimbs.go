package bayes

import (
	"cmp"
	"context"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"
)

// climb takes searches uphill, and returns their ends and how many there were. They
// go in groups, and the later ones are spared most of the way. With as many ends as w
// of n searches have found, as many as
//
//	w (n − 1)/(n − w − 2)
//
// are to be expected in all [Boender & Rinnooy Kan 1987]; if that is half of one more
// than w, other searches follow, from points that are left. What it costs is bounded:
// beyond a seventh of the solves of a run with the default settings no search begins, nor
// one beyond those planned from a ninth on.
func (q *search) climb(ctx context.Context, from, climbs, left []*climb) (ends []*climb, searches int, err error) {
	planned, before := len(climbs), q.work()
	run := float64(4 * (2000 + 250*len(q.p.Params)))
	next, climbs := take(climbs, max(6, planned/4))
	for next = append(next, from...); len(next) > 0; {
		searches += len(next)
		if ends, err = q.ascend(ctx, ends, next); err != nil {
			return nil, 0, err
		}
		n := 0.0
		for _, c := range ends {
			n += float64(c.found)
		}
		switch {
		case len(climbs) > 0 && !(q.free && q.work()-before > run/7):
			next, climbs = take(climbs, max(6, planned/4))
		case len(climbs) > 0 || !q.free || searches >= 4*planned || q.work()-before > run/9:
			next = nil
		default:
			if ends, err = q.distinct(ctx, ends); err != nil {
				return nil, 0, err
			}
			if w := float64(len(ends)); n-w-2 > 0 && w*(n-1)/(n-w-2) < w+0.5 {
				next = nil
				break
			}
			next, left = spread(left, max(6, planned/4))
		}
	}
	ends, err = q.distinct(ctx, ends)
	return ends, searches, err
}

// take returns the first n, or all, and the rest.
func take(climbs []*climb, n int) (first, rest []*climb) {
	n = min(n, len(climbs))
	return slices.Clone(climbs[:n]), climbs[n:]
}

// spread returns n, or all, from all over the climbs, and the rest.
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

// ascend takes searches uphill, beside ends that are known. A round is some steps of
// each; between rounds those that have come together go on as one, and those stop
// whose way leads to a known end.
func (q *search) ascend(ctx context.Context, ends, climbs []*climb) ([]*climb, error) {
	const rounds, each = 25, 3
	all := len(climbs)
	tell := q.tell(1, "searches")
	for round := range rounds {
		if tell != nil {
			tell(all-len(climbs), all)
		}
		if len(climbs) == 0 {
			break
		}
		err := q.each(ctx, len(climbs), nil, func(e *Density, i int) error {
			c := climbs[i]
			for k := range each {
				if !c.done && !(round == 0 && k > 0) {
					c.step(e, round == 0)
				}
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
		var active []*climb
		for _, c := range climbs {
			if c.done || round == rounds-1 {
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
		highest := math.Inf(-1)
		for _, c := range slices.Concat(ends, climbs) {
			highest = max(highest, c.f)
		}
		climbs = slices.DeleteFunc(climbs, func(c *climb) bool { return c.hopeless(highest) })
	}
	return ends, nil
}

// near reports whether two searches are together in the metric of both.
func near(o, c *climb) bool {
	return o.metric != nil && c.metric != nil && distance(o.u, c.u, o.metric) < together && distance(o.u, c.u, c.metric) < together
}

// unite drops of the searches each that is near a higher one.
func unite(climbs []*climb) []*climb {
	slices.SortStableFunc(climbs, func(a, b *climb) int { return cmp.Compare(b.f, a.f) })
	var out []*climb
	for _, c := range climbs {
		if k := slices.IndexFunc(out, func(o *climb) bool { return near(o, c) }); k >= 0 {
			out[k].absorb(c)
			continue
		}
		out = append(out, c)
	}
	return out
}

// lead returns the searches that do not lead to a known end. One does whose next step,
// without damping, would end much nearer to it than it began, if the density rises
// along the straight way there.
func (q *search) lead(ctx context.Context, ends, active []*climb) ([]*climb, error) {
	const tests, points, contraction = 3, 5, 0.4
	to := make([]*climb, len(active))
	err := q.each(ctx, len(active), nil, func(e *Density, i int) error {
		c := active[i]
		if !c.known || c.failed || c.tested == tests {
			return nil
		}
		step := mat.NewVecDense(len(c.u), nil)
		if !c.newton(step, 0) {
			return nil
		}
		u := make([]float64, len(c.u))
		for k := range u {
			u[k] = c.u[k] + step.AtVec(k)
		}
		best := math.Inf(1)
		var o *climb
		for _, end := range ends {
			if end.metric == nil || end.f < c.f {
				continue
			}
			away := distance(c.u, end.u, end.metric)
			if after := distance(u, end.u, end.metric); after < max(contraction*away, together) && after < best {
				best, o = after, end
			}
		}
		if o == nil {
			return nil
		}
		c.tested++
		top := c.f
		for m := 1; m <= points; m++ {
			t := float64(m) / (points + 1)
			for k := range u {
				u[k] = c.u[k] + t*(o.u[k]-c.u[k])
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

package modes

import (
	"cmp"
	"context"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/probode/probode/pkg/probode/bayes"
	"github.com/probode/probode/pkg/probode/bayes/shape"
)

// finish returns the climbs to modes, in order of decreasing mass.
func (q *search) finish(ctx context.Context, climbs []*climb) ([]*climb, error) {
	// An end point far below the highest end point has a negligible mass, unless the peak
	// there is much wider. The information matrix is accurate enough to estimate the
	// width of a peak.
	rough := func(c *climb) float64 {
		var chol mat.Cholesky
		if c.Information == nil || !chol.Factorize(c.Information) {
			return c.Value
		}
		return c.Value - chol.LogDet()/2
	}
	slices.SortStableFunc(climbs, func(a, b *climb) int { return cmp.Compare(rough(b), rough(a)) })
	best, top := rough(climbs[0]), highest(climbs)
	climbs = slices.DeleteFunc(climbs, func(c *climb) bool { return rough(c) < best-lowest-4 && c.Value < top })
	err := q.each(ctx, len(climbs), q.tell(2, "tops"), func(e *bayes.Density, i int) error {
		climbs[i].polish(ctx, e)
		return nil
	})
	if err != nil {
		return nil, err
	}
	// A point from which the density still rises is not a mode. If it is the highest one,
	// it is the best estimate of a mode.
	top = highest(climbs)
	climbs = slices.DeleteFunc(climbs, func(c *climb) bool { return c.rising() && c.Value < top })
	if climbs, err = q.distinct(ctx, climbs); err != nil {
		return nil, err
	}
	var modes []*bayes.Mode
	tell := q.tell(2, "masses")
	for i, c := range climbs {
		m := &bayes.Mode{Theta: make([]float64, len(c.X)), U: c.X, LogP: c.Value, Found: c.found}
		q.all[0].Constrain(m.Theta, c.X)
		release := q.hold(c.s, m.Theta)
		values := func(points [][]float64) ([]float64, error) { return q.values(ctx, points, c.s.Smooth) }
		var gradients func(points [][]float64) ([][]float64, error)
		if c.s.Gradients(q.all[0]) {
			gradients = func(points [][]float64) ([][]float64, error) { return q.gradients(ctx, points, c.s.Smooth) }
		}
		m.Cov, m.Shape, err = c.Laplace(values, gradients)
		release()
		if err != nil {
			return nil, err
		}
		gaussianMass(m)
		c.mode, modes = m, append(modes, m)
		if tell != nil {
			tell(i+1, len(climbs))
		}
	}
	share(modes)
	weighty := slices.DeleteFunc(slices.Clone(modes), func(m *bayes.Mode) bool { return m.Shape == nil || m.Mass < weighed })
	if len(weighty) > 1 {
		if err := q.weigh(ctx, weighty); err != nil {
			return nil, err
		}
		share(modes)
	}
	slices.SortStableFunc(climbs, func(a, b *climb) int { return cmp.Compare(b.mode.LogMass, a.mode.LogMass) })
	return climbs, nil
}

func share(modes []*bayes.Mode) {
	var logs []float64
	for _, m := range modes {
		logs = append(logs, m.LogMass)
	}
	total := floats.LogSumExp(logs)
	for _, m := range modes {
		m.Mass = math.Exp(m.LogMass - total)
	}
}

// hold lets all workers use the grids at theta until release.
func (q *search) hold(s *shape.Surface, theta []float64) (release func()) {
	var free []func()
	for _, e := range q.all {
		free = append(free, s.Smooth(e).Hold(theta))
	}
	return func() {
		for _, f := range free {
			f()
		}
	}
}

// distinct merges ends between which the density stays above e^−½ times the lower one on
// a straight line or a bent path.
func (q *search) distinct(ctx context.Context, climbs []*climb) ([]*climb, error) {
	slices.SortStableFunc(climbs, func(a, b *climb) int { return cmp.Compare(b.Value, a.Value) })
	var out []*climb
	group := make([]int, len(climbs)) // the index in out for each climb
	for n, c := range climbs {
		open := make([]bool, len(out))
		err := q.each(ctx, len(out), nil, func(e *bayes.Density, i int) error {
			open[i] = !(c.apart && out[i].apart) && straight(e, out[i].X, c.X, min(out[i].Value, c.Value)-barrier)
			return nil
		})
		if err != nil {
			return nil, err
		}
		k := slices.Index(open, true)
		if near := nearest(climbs[:n], c); k < 0 && near >= 0 && !(c.apart && climbs[near].apart) {
			err := q.each(ctx, 1, nil, func(e *bayes.Density, _ int) error {
				o := climbs[near]
				if low := min(o.Value, c.Value) - barrier; straight(e, o.X, c.X, low) || bent(e, o.X, c.X, low, 3) {
					k = group[near]
				}
				return nil
			})
			if err != nil {
				return nil, err
			}
		}
		if k >= 0 {
			out[k].absorb(c)
			group[n] = k
			continue
		}
		group[n] = len(out)
		out = append(out, c)
	}
	for _, c := range out {
		c.apart = true
	}
	return out, nil
}

// nearest returns −1 without a metric, and for one parameter, with which no path can
// avoid a barrier.
func nearest(climbs []*climb, c *climb) int {
	k, least := -1, math.Inf(1)
	if len(c.X) < 2 || c.Information == nil {
		return k
	}
	for i, o := range climbs {
		if away := shape.Distance(o.X, c.X, c.Information); away < least {
			k, least = i, away
		}
	}
	return k
}

func straight(e *bayes.Density, a, b []float64, low float64) bool {
	const points = 15
	u := make([]float64, len(a))
	// Test the points in the middle of the line first, because a barrier is most likely
	// there.
	for m := range points {
		at := (points + 1) / 2
		if m%2 == 0 {
			at += m / 2
		} else {
			at -= (m + 1) / 2
		}
		t := float64(at) / (points + 1)
		for k := range u {
			u[k] = a[k] + t*(b[k]-a[k])
		}
		if f, err := e.LogPosterior(u, nil); err != nil || !(f > low) {
			return false
		}
	}
	return true
}

// bent tries a third point: a climb from the midpoint in the plane halfway between a and
// b. A half on which the density is too low is bent again, `times` deep.
func bent(e *bayes.Density, a, b []float64, low float64, times int) bool {
	middle, normal := slices.Clone(a), make([]float64, len(a))
	var length float64
	for k := range a {
		middle[k] = (a[k] + b[k]) / 2
		normal[k] = b[k] - a[k]
		length = math.Hypot(length, normal[k])
	}
	if !(length > 0) {
		return false
	}
	floats.Scale(1/length, normal)
	s := shape.NewSurface(e)
	s.Forward, s.Normal = true, normal
	c := s.Ascent(middle, s.Value(middle))
	c.Tolerance = 0.05
	if math.IsInf(c.Value, 0) {
		return false
	}
	for n := 0; n < 20 && !c.Done && !(c.Value > low+barrier); n++ {
		c.Step(s)
	}
	if !(c.Value > low) {
		return false
	}
	for _, part := range [2][2][]float64{{a, c.X}, {c.X, b}} {
		if !straight(e, part[0], part[1], low) && (times == 0 || !bent(e, part[0], part[1], low, times-1)) {
			return false
		}
	}
	return true
}

func gaussianMass(m *bayes.Mode) {
	m.LogMass = m.LogP
	var chol mat.Cholesky
	if m.Shape != nil && chol.Factorize(m.Shape) {
		m.LogMass += chol.LogDet()/2 + float64(len(m.U))/2*math.Log(2*math.Pi)
	}
}

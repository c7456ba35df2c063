package bayes

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/internal/pieces"
)

// The search for modes: among draws of the prior some are taken to begin at, the
// highest and others; each goes uphill by Fisher scoring with the damping of
// Levenberg and Marquardt, all of them a few steps at a time, so that those which
// come together go on as one; and the ends that no barrier separates are one mode.

// A ModeSearch says how modes are looked for. The zero value is ready for use.
type ModeSearch struct {
	Seed uint64 // of the draws of the prior

	// From are points to begin at beside draws of the prior, such as the modes
	// for another step.
	From [][]float64

	// Solver, if not nil, takes the place of the posterior's method.
	Solver *AccurateSolver

	// Workers is the number of goroutines; zero means the number of cores. It
	// changes no bit of the result.
	Workers int

	// Points is the number of draws of the prior to look at, zero for 400 and
	// negative for none, and Starts the number of these to search from, zero for
	// 24, and more in few dimensions.
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

// FindModes looks for the modes of the posterior without noise. It is an error,
// which says what is wrong at the first draw, if the density is positive at none of
// the draws of the prior and the points of s.From. FindModes panics if a point
// does not have a number for each parameter.
//
// A likelihood can have other modes elsewhere; nobody can promise that there are
// none. Modes.Once tells how much the search may have missed.
func (p *Posterior) FindModes(ctx context.Context, s ModeSearch) (*Modes, error) {
	if ctx == nil {
		return nil, errors.New("bayes: the context is nil")
	}
	p, err := p.withGrids(ctx)
	if err != nil {
		return nil, err
	}
	newOne := func() (*Density, error) {
		if s.Solver != nil {
			return s.Solver.Density(p)
		}
		return newDensity(p)
	}
	e, err := newOne()
	if err != nil {
		return nil, err
	}
	d := len(p.Params)
	for _, x := range s.From {
		if len(x) != d {
			panic(fmt.Sprintf("bayes: FindModes from %d numbers: want %d, one for each parameter", len(x), d))
		}
	}
	if s.Points == 0 {
		s.Points = modePoints
	}
	s.Points = max(0, s.Points)
	if s.Starts == 0 {
		// In few dimensions a search is cheap.
		s.Starts = max(modeStarts, 200/(d+1))
	}
	q := &search{p: p, s: s, newOne: newOne}
	release := e.Bind(ctx)
	defer release()

	points, failed, err := q.points(ctx)
	if err != nil {
		return nil, err
	}
	solved := len(points)
	climbs := q.starts(points)
	for i, x := range s.From {
		u := make([]float64, d)
		if e.Unconstrain(u, x) != nil {
			continue
		}
		if f, err := e.LogPosterior(u, nil); err == nil && !math.IsInf(f, 0) && !math.IsNaN(f) {
			climbs = append(climbs, &climb{u: u, f: f, found: 1, from: []int{i}})
		}
	}
	if len(climbs) == 0 {
		if err := ended(ctx, e); err != nil {
			return nil, err
		}
		why := errors.New("they lie on the edge of its support")
		if failed != nil {
			if why = e.failure(failed, nil); why == nil {
				why = errors.New("the density of the prior is zero there")
			}
			why = fmt.Errorf("at the first, %s: %w", p.format(failed), why)
		}
		return nil, fmt.Errorf("bayes: at none of %d draws of the prior has the posterior a positive density: %w", s.Points, why)
	}
	out := &Modes{Searches: len(climbs), Tried: s.Points, Solved: solved}
	if climbs, err = q.ascend(ctx, climbs); err != nil {
		return nil, err
	}
	if out.Modes, err = q.finish(ctx, e, climbs); err != nil {
		return nil, err
	}
	for range s.From {
		out.Ends = append(out.Ends, -1)
	}
	for k, m := range out.Modes {
		for _, i := range m.from {
			out.Ends[i] = k
		}
		m.Tried, m.Solved = out.Tried, out.Solved
		if m.Found == 1 {
			out.Once++
		}
	}
	return out, nil
}

// A search is FindModes at work.
type search struct {
	p      *Posterior
	s      ModeSearch
	newOne func() (*Density, error)
}

// each does n pieces of work, each worker with a density of its own.
func (q *search) each(ctx context.Context, n int, do func(e *Density, i int) error) error {
	_, err := pieces.Each(ctx, q.s.Workers, n, nil, func() func(int) error {
		e, err := q.newOne()
		if err != nil {
			return func(int) error { return err }
		}
		e.Bind(ctx)
		return func(i int) error {
			if err := do(e, i); err != nil {
				return err
			}
			return ended(ctx, e)
		}
	})
	return err
}

// points evaluates the density at draws of the prior, and returns those where it
// is positive, the highest first, and the first θ that is no good.
func (q *search) points(ctx context.Context) (points []*climb, failed []float64, err error) {
	d := len(q.p.Params)
	rng := probode.Stream(q.s.Seed, 0x6d6f6465)
	thetas := make([][]float64, q.s.Points)
	for i := range thetas {
		thetas[i] = q.p.DrawPrior(rng)
	}
	all, bad := make([]*climb, len(thetas)), make([]bool, len(thetas))
	err = q.each(ctx, len(thetas), func(e *Density, i int) error {
		u := make([]float64, d)
		if e.Unconstrain(u, thetas[i]) != nil {
			return nil
		}
		f, err := e.LogPosterior(u, nil)
		if err == nil && !math.IsInf(f, 0) && !math.IsNaN(f) {
			all[i] = &climb{u: u, f: f, found: 1}
		} else {
			bad[i] = true
		}
		return nil
	})
	if err != nil {
		return nil, nil, err
	}
	for i, c := range all {
		switch {
		case c != nil:
			points = append(points, c)
		case bad[i] && failed == nil:
			failed = thetas[i]
		}
	}
	slices.SortStableFunc(points, func(a, b *climb) int { return cmp.Compare(b.f, a.f) })
	return points, failed, nil
}

// starts takes where to begin: a third are the summits among the points, those
// higher than their nearest neighbours [Törn & Viitanen 1992]; a third the highest
// of the others; and a third from all over the rest, for a mode that is narrow has
// no high point among few draws.
func (q *search) starts(points []*climb) []*climb {
	n := min(q.s.Starts, len(points))
	taken := make([]bool, len(points))
	var out []*climb
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
	for i, left := 0, n-len(out); i < left; i++ {
		take(rest[i*len(rest)/left])
	}
	return out
}

// summits returns which of the points, the highest first, are higher than the
// nearest of the others, in units of the quartiles of the priors.
func (q *search) summits(points []*climb) []int {
	const neighbours = 6
	scale := make([]float64, len(q.p.Params))
	for k := range scale {
		t, _ := q.p.Params[k].transform()
		prior := q.p.Params[k].Prior
		if scale[k] = math.Abs(t.from(prior.Quantile(0.75)) - t.from(prior.Quantile(0.25))); !(scale[k] > 0) || math.IsInf(scale[k], 1) {
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
			for k, v := range a.u {
				v = (v - b.u[k]) / scale[k]
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

// ascend takes all searches uphill. A round is two steps of each; between rounds
// those that have come together go on as one.
func (q *search) ascend(ctx context.Context, climbs []*climb) ([]*climb, error) {
	const rounds, each = 25, 2
	for round := range rounds {
		var active []*climb
		for _, c := range climbs {
			if !c.done {
				active = append(active, c)
			}
		}
		if len(active) == 0 {
			break
		}
		err := q.each(ctx, len(active), func(e *Density, i int) error {
			s := newScoring(e, nil)
			s.forward, s.draws = true, 48
			for range each {
				if c := active[i]; !c.done {
					c.step(s, round == 0)
				}
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
		slices.SortStableFunc(climbs, func(a, b *climb) int { return cmp.Compare(b.f, a.f) })
		climbs = unite(climbs)
	}
	return climbs, nil
}

// unite drops of the searches, the highest first, each that is near a higher one
// in the metric of both.
func unite(climbs []*climb) []*climb {
	var out []*climb
	for _, c := range climbs {
		near := slices.IndexFunc(out, func(o *climb) bool {
			return o.metric != nil && c.metric != nil && distance(o.u, c.u, o.metric) < together && distance(o.u, c.u, c.metric) < together
		})
		if near < 0 {
			out = append(out, c)
			continue
		}
		out[near].absorb(c)
	}
	return out
}

// finish makes modes of the ends.
func (q *search) finish(ctx context.Context, e *Density, climbs []*climb) ([]*Mode, error) {
	// What is far below the highest end holds nothing unless it is wider by as
	// much, which the metric tells well enough.
	rough := func(c *climb) float64 {
		var chol mat.Cholesky
		if c.metric == nil || !chol.Factorize(c.metric) {
			return c.f
		}
		return c.f - chol.LogDet()/2
	}
	slices.SortStableFunc(climbs, func(a, b *climb) int { return cmp.Compare(rough(b), rough(a)) })
	best, highest := math.Inf(-1), math.Inf(-1)
	for _, c := range climbs {
		best, highest = max(best, rough(c)), max(highest, c.f)
	}
	climbs = slices.DeleteFunc(climbs, func(c *climb) bool { return rough(c) < best-lowest-4 && c.f < highest })
	climbs = q.distinct(e, climbs)
	if err := ended(ctx, e); err != nil {
		return nil, err
	}
	modes := make([]*Mode, len(climbs))
	err := q.each(ctx, len(climbs), func(e *Density, i int) error {
		c := climbs[i]
		// The last steps with central differences.
		s := newScoring(e, nil)
		s.draws = 256
		c.done = false
		for range 4 {
			if !c.done {
				c.step(s, false)
			}
		}
		m := &Mode{Theta: make([]float64, len(c.u)), U: c.u, LogP: c.f, Found: c.found, from: c.from}
		e.Constrain(m.Theta, c.u)
		m.Cov, m.shape = laplace(func(u []float64) float64 {
			f, err := e.LogPosterior(u, nil)
			if err != nil || math.IsNaN(f) || math.IsInf(f, 0) {
				return 1e300 // a wall
			}
			return -f
		}, c.u, c.metric)
		m.gaussianMass()
		modes[i] = m
		return nil
	})
	if err != nil {
		return nil, err
	}
	var logs []float64
	for _, m := range modes {
		logs = append(logs, m.LogMass)
	}
	total := floats.LogSumExp(logs)
	for _, m := range modes {
		m.Mass = math.Exp(m.LogMass - total)
	}
	slices.SortStableFunc(modes, func(a, b *Mode) int { return cmp.Compare(b.LogMass, a.LogMass) })
	return modes, nil
}

// distinct unites the ends between which there is no barrier: along the straight
// line the density falls by less than e^−½ below the lower of both.
func (q *search) distinct(e *Density, climbs []*climb) []*climb {
	slices.SortStableFunc(climbs, func(a, b *climb) int { return cmp.Compare(b.f, a.f) })
	const points = 15
	u := make([]float64, len(q.p.Params))
	var out []*climb
	for _, c := range climbs {
		same := slices.IndexFunc(out, func(o *climb) bool {
			for i := 1; i <= points; i++ {
				t := float64(i) / (points + 1)
				for k := range u {
					u[k] = o.u[k] + t*(c.u[k]-o.u[k])
				}
				f, err := e.LogPosterior(u, nil)
				if err != nil || !(f > min(o.f, c.f)-barrier) {
					return false
				}
			}
			return true
		})
		if same < 0 {
			out = append(out, c)
			continue
		}
		out[same].absorb(c)
	}
	return out
}

// ended returns why work with e has to stop: the context has ended, or a
// function of the model has panicked.
func ended(ctx context.Context, e *Density) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return e.Err()
}

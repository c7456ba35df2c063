package model

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/probode/probode/pkg/internal/text"
	"github.com/probode/probode/pkg/probode/bayes/shape"
)

// A ProfileLikelihood is the profile likelihood of a parameter: for each value of the
// parameter, it gives the largest log-likelihood that can be reached by varying the other
// parameters. The values at which the profile exceeds a threshold form a confidence
// interval, even if the likelihood is not Gaussian.
//
// Source: Raue et al. (2009), Bioinformatics 25, 1923.
type ProfileLikelihood struct {
	Parameter string
	Points    []ProfilePoint // by value, including the optimum
	// Lower and Upper are the ends of the confidence interval. An end is open if the
	// profile stays above the threshold up to the bound of the parameter. If a parameter
	// has no bound, a default bound is used. On a logarithmic scale, the default bounds
	// are 10⁻¹⁰ and 10¹⁰ times the value at the optimum. On the linear scale, the
	// distance of a default bound from the optimum is ten units of the search coordinate
	// (see Optimum.Slope). If an end of the interval is open, the data do not bound the
	// parameter on that side. If Err is not nil, a closed end may merely be the point at
	// which the computation of the profile stopped.
	Lower, Upper         float64
	LowerOpen, UpperOpen bool
	// LowerAt and UpperAt list bounds of other parameters that determine a closed end, so
	// that the data alone do not. Where the profile crosses the threshold, the other
	// parameter lies on its bound. If the bound were one unit of the search coordinate
	// farther away, the profile there would be higher by more than a tenth of the
	// threshold, so the end would move by more than about 5 % of its distance from the
	// optimum.
	LowerAt, UpperAt []Bound
	// Elsewhere lists points outside the interval at which the log-likelihood exceeds the
	// threshold. The points are sorted by the value of the parameter. If Elsewhere is not
	// empty, the interval covers only the part of the confidence region around the
	// optimum.
	Elsewhere []ProfilePoint
	Err       error // why the profile is incomplete
}

// Identified reports whether the data identify the parameter. The result is true if Err
// is nil, both ends of the interval are closed, neither end is determined by a bound of
// another parameter, and Elsewhere is empty.
func (p *ProfileLikelihood) Identified() bool {
	return p.Err == nil && !p.LowerOpen && !p.UpperOpen && len(p.LowerAt)+len(p.UpperAt)+len(p.Elsewhere) == 0
}

// A Bound is a bound of a parameter, or an end of the support of its prior.
type Bound struct {
	Parameter string
	Value     float64 // linear
}

// A ProfilePoint is a point of the profile of a parameter.
type ProfilePoint struct {
	Value float64   // linear
	Drop  float64   // how far the profile is below the optimum
	Theta []float64 // values of all parameters on the linear scale
}

// ProfileLikelihoods are the profiles of all estimated parameters.
type ProfileLikelihoods struct {
	Best   Optimum // the optimum: a better one than the given one, if a profile has found it
	Level  float64
	Drop   float64 // the threshold: half the quantile of χ² with one degree of freedom
	ByName []ProfileLikelihood
}

// Profiles computes the profiles of all estimated parameters, starting from the best
// optimum that Fit has found. The argument `level` is the confidence level of the
// intervals. The settings s have the same meaning as for Fit; the fields Starts and
// `From` are not used. If a better point is found on a profile, a new search begins at
// this point, and the profiles are computed again, at most ten times. In the last
// repetition, a profile ends where a better point is found.
//
// Each profile is computed outwards from the best optimum, until the likelihood has
// fallen below the threshold. The likelihood may have a second ridge that is higher than
// the profile. To find a second ridge, Profiles computes up to four further profiles for
// each closed end of an interval, which start at points of `ends`. The points in
// Elsewhere come from `ends` and from the profiles of the other parameters.
//
// At each point of a profile, the log-likelihood is maximised over the other parameters.
// Wherever the profile decreases, the estimated error of the maximum is at most 0.02. The
// ends of the intervals are computed by interpolation. If ctx is done, Profiles returns
// the error of ctx, and the unfinished profiles are marked as incomplete.
//
// Source for steps along curved ridges: Transtrum & Sethna (2012), arXiv:1201.5885.
func (p *File) Profiles(ctx context.Context, ends []Optimum, level float64, s FitSettings) (*ProfileLikelihoods, error) {
	if !(level > 0 && level < 1) {
		return nil, fmt.Errorf("the confidence level is %g: want a number between 0 and 1", level)
	}
	if len(ends) == 0 || ends[0].Err != nil {
		return nil, fmt.Errorf("no search succeeded: profiles can be computed only around the end point of a search")
	}
	const restarts = 10
	best := ends[0]
	s.Starts, s.From = 0, [][]float64{best.Theta}
	problem, err := p.newFit(s)
	if err != nil {
		return nil, err
	}
	for left := restarts; ; left-- {
		out := &ProfileLikelihoods{Best: best, Level: level, Drop: distuv.ChiSquared{K: 1}.Quantile(level) / 2, ByName: make([]ProfileLikelihood, len(problem.free))}
		from := problem.starts()[0]
		sides, err := problem.sides(ctx, from, out.Drop, left > 0)
		higher := (*higherError)(nil)
		if !errors.As(err, &higher) {
			if err == nil {
				err = problem.extend(ctx, sides, from, best, ends, out.Drop)
			}
			if err != nil && ctx.Err() == nil {
				return nil, err
			}
			for i, j := range problem.free {
				out.ByName[i] = problem.profile(p.Params[j].ID, i, from, sides[2*i], sides[2*i+1])
			}
			problem.elsewhere(out, ends)
			return out, ctx.Err()
		}
		s.From = [][]float64{higher.at}
		list, err := p.Fit(ctx, s)
		if err != nil {
			return nil, err
		}
		if list[0].Err != nil {
			return nil, list[0].Err
		}
		if list[0].value() <= best.value() {
			left = 1 // the point was higher only because of the errors of the solver
			continue
		}
		best, problem.set.From = list[0], [][]float64{list[0].Theta}
	}
}

// sides computes both sides of each profile from the optimum at `from`, until ctx is
// done. With `restart`, a point that is better than the optimum ends it with a
// *higherError.
func (f *fitting) sides(ctx context.Context, from []float64, threshold float64, restart bool) ([]side, error) {
	sides := make([]side, 2*len(f.free))
	for i := range sides {
		sides[i] = side{end: from[i/2], err: errStopped}
	}
	return sides, f.each(ctx, len(sides), f.set.Progress, func(s *search, i int) error {
		sides[i] = s.side(from, i/2, float64(2*(i%2)-1), threshold, 0)
		if higher := (*higherError)(nil); restart && errors.As(sides[i].err, &higher) {
			return higher
		}
		return nil
	})
}

// extend looks for a second ridge beyond the closed end of an interval: a profile from
// the best optimum stays on its own ridge, above which another one may rise. It computes
// a profile towards the end from the farthest of those points of `ends` that are above
// the threshold and not yet used. It does so four times, because there may be several
// ridges.
func (f *fitting) extend(ctx context.Context, sides []side, from []float64, best Optimum, ends []Optimum, threshold float64) error {
	const (
		rounds = 4
		apart  = 0.02 // of the widths of the intervals; nearer points are on the same ridge
	)
	type task struct {
		i     int
		x     []float64
		below float64
	}
	// distance measures in units of the widths of the intervals.
	distance := func(x, y []float64) (d float64) {
		for k := range x {
			d = max(d, math.Abs(x[k]-y[k])/max(sides[2*k+1].end-sides[2*k].end, 1e-9*f.boxes[k].unit))
		}
		return d
	}
	for range rounds {
		var tasks []task
		for i := range sides {
			s, k, sign := &sides[i], i/2, float64(2*(i%2)-1)
			if s.open || s.err != nil {
				continue
			}
			var t task
			farthest := apart
			for _, o := range ends {
				if o.Err != nil || best.value()-o.value() >= threshold {
					continue
				}
				x := f.within(o.Theta)
				if sign*(x[k]-s.end) >= 0 {
					continue // outside the interval
				}
				near := distance(x, from)
				for _, y := range s.begun {
					near = min(near, distance(x, y))
				}
				if near > farthest {
					farthest, t = near, task{i, x, max(0, best.value()-o.value())}
				}
			}
			if t.x != nil {
				s.begun = append(s.begun, t.x)
				tasks = append(tasks, t)
			}
		}
		if tasks == nil {
			return nil
		}
		err := f.each(ctx, len(tasks), nil, func(s *search, n int) error {
			t := tasks[n]
			sign := float64(2*(t.i%2) - 1)
			sides[t.i].join(s.side(t.x, t.i/2, sign, threshold, t.below), t.i/2, sign)
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (s *side) join(t side, k int, sign float64) {
	if !(sign*(t.end-s.end) > 0) {
		return
	}
	x, drop := s.x, s.drop
	s.x, s.drop = nil, nil
	for i, p := range x {
		if sign*(p[k]-s.end) <= 0 {
			s.x, s.drop = append(s.x, p), append(s.drop, drop[i])
		}
	}
	for i, p := range t.x {
		if sign*(p[k]-s.end) > 0 {
			s.x, s.drop = append(s.x, p), append(s.drop, t.drop[i])
		}
	}
	s.end, s.open, s.at, s.err = t.end, t.open, t.at, t.err
}

// A higherError reports a point of a profile that is better than its optimum.
type higherError struct {
	name  string
	at    []float64 // values of all parameters on the linear scale
	value float64   // of the named parameter
	by    float64   // log-likelihood
}

func (e *higherError) Error() string {
	return fmt.Sprintf("at %s = %.6g, the log-likelihood is %.3g higher than at the best point found", e.name, e.value, e.by)
}

var errStopped = errors.New("stopped before its end was found")

type side struct {
	from float64     // the optimum
	x    [][]float64 // coordinates
	drop []float64
	end  float64 // of the interval, a coordinate
	open bool
	at   []Bound // as in ProfileLikelihood
	err  error
	// begun lists the points from which extend() computed a profile on this side.
	begun [][]float64
}

// side computes the profile of coordinate k in one direction, down to the threshold. The
// expansion at a point predicts the next one, from which the others are maximised. Steps
// are such that √drop, which is linear for a Gaussian likelihood, increases by a fifth of
// √threshold. `below` says how far the log-likelihood at `from` is below the best.
func (f *search) side(from []float64, k int, sign, threshold, below float64) side {
	const (
		farthest  = 10 // units from the optimum, if there is no bound
		parts     = 5
		most      = 4000 // evaluations
		shortest  = 1e-7
		cliff     = 1e-3 // step over which the profile may fall by any amount
		tolerance = 0.02 // rise that may be left at a point of the profile
		better    = 0.02 // rise from which a point is called higher than the optimum
	)
	bound, unit := f.boxes[k].high, f.boxes[k].unit
	if sign < 0 {
		bound = f.boxes[k].low
	}
	if math.IsInf(bound, 0) {
		bound = from[k] + sign*farthest*unit
	}
	s := side{from: from[k], end: from[k], open: from[k] == bound}
	if !f.solved(f.coarse(), from) {
		s.err = f.failed
		return s
	}
	value := f.Value(from)
	base := value + below
	last := f.around(from, value)
	name := text.Clip(f.p.Params[f.free[k]].ID)
	h, grow, goal, r := min(unit, last.Deviation(f, k)/2), 3.0, math.Sqrt(threshold), math.Sqrt(below)
	for !s.open {
		switch {
		case f.ctx.Err() != nil:
			s.err = errStopped
			return s
		case h < shortest*unit:
			s.err = fmt.Errorf("beyond %s = %.6g, the likelihood cannot be maximised over the other parameters", name, f.boxes[k].linear(last.X[k]))
			return s
		case f.Evaluations > most:
			s.err = fmt.Errorf("more than %d evaluations are needed to continue the profile beyond %s = %.6g", most, name, f.boxes[k].linear(last.X[k]))
			return s
		}
		if rest := math.Abs(bound - last.X[k]); h > 0.9*rest {
			h = rest
		}
		next, left := f.constrained(last, k, sign*h, tolerance)
		drop := base - next.Value
		rise := math.Sqrt(max(0, drop)) - r
		if left > tolerance && (rise > 0.02*goal || drop > threshold) || rise > 2*goal/parts && h > cliff*unit {
			h, grow = h/3, 1.2
			continue
		}
		if -drop > better {
			s.err = &higherError{name, f.all(next.X), f.boxes[k].linear(next.X[k]), -drop}
			return s
		}
		s.add(next.X, k, drop)
		if drop > threshold {
			f.crossing(&s, last, next, k, base, goal, tolerance)
			return s
		}
		r = math.Sqrt(max(0, drop))
		last, s.end = next, next.X[k]
		s.open = next.X[k] == bound
		h *= min(grow, max(0.25, goal/parts/max(rise, 0.02*goal)))
		grow = 3
	}
	return s
}

// crossing ends the side where the drop is goal², between `inside` and `outside`. √drop
// is interpolated, which is exact for a Gaussian likelihood; otherwise the bracket is
// reduced until the value is close, or the others cannot be maximised. The points on the
// way are added to s.
func (f *search) crossing(s *side, inside, outside *shape.Ascent, k int, base, goal, tolerance float64) {
	const (
		most = 20  // points
		ends = 0.1 // of the bracket: the smallest distance of a point from its ends, except for the first point
	)
	root := func(a *shape.Ascent) float64 { return math.Sqrt(max(0, base-a.Value)) }
	between := func(least float64) float64 {
		part := (goal - root(inside)) / (root(outside) - root(inside))
		return min(max(part, least), 1-least) * (outside.X[k] - inside.X[k])
	}
	for n := range most {
		mid, left := f.constrained(inside, k, between(ends*float64(min(n, 1))), tolerance)
		if !(left <= tolerance) {
			break
		}
		s.add(mid.X, k, base-mid.Value)
		if base-mid.Value < goal*goal {
			inside = mid
		} else {
			outside = mid
		}
		if math.Abs(base-mid.Value-goal*goal) <= tolerance/10 {
			break
		}
	}
	s.end = inside.X[k] + between(0)
	nearest := inside
	if root(outside)-goal < goal-root(inside) {
		nearest = outside
	}
	s.at = f.bounds(nearest, k, goal*goal/10)
}

// bounds returns the bounds of coordinates other than k that limit the value at a: one
// unit farther away, it could rise by more than `least`, according to the expansion. A
// rate at a lower bound of 10⁻⁵ that might as well be zero is not such a bound.
func (f *search) bounds(a *shape.Ascent, k int, least float64) (list []Bound) {
	const near = 1e-9
	if !a.Known && !f.Expand(&a.Point) {
		return nil
	}
	defer func(low, high float64) { a.Low[k], a.High[k] = low, high }(a.Low[k], a.High[k])
	a.Low[k], a.High[k] = a.X[k], a.X[k]
	left, _ := a.Left(1)
	for j := range f.boxes {
		for side, ends := range [][]float64{a.Low, a.High} {
			bound := ends[j]
			if j == k || !(math.Abs(a.X[j]-bound) <= near*f.boxes[j].unit) {
				continue
			}
			ends[j] += float64(2*side-1) * f.boxes[j].unit
			if rise, _ := a.Left(1); rise > left+least {
				list = append(list, Bound{f.p.Params[f.free[j]].ID, f.boxes[j].linear(bound)})
			}
			ends[j] = bound
		}
	}
	return list
}

// add omits a point that is close to the last one.
func (s *side) add(x []float64, k int, drop float64) {
	const apart = 0.02 // of the distance from the optimum
	if n := len(s.x); n > 0 && math.Abs(x[k]-s.x[n-1][k]) < apart*math.Abs(x[k]-s.from) && drop < s.drop[n-1]+apart {
		return
	}
	s.x, s.drop = append(s.x, slices.Clone(x)), append(s.drop, drop)
}

// constrained moves coordinate k by h and maximises over the others. `left` is the rise
// that the expansion still predicts, infinite if the value is far below the predicted
// one.
func (f *search) constrained(last *shape.Ascent, k int, h, tolerance float64) (a *shape.Ascent, left float64) {
	const (
		most = 40 // steps
		far  = 10 // the largest permitted difference between the predicted and the actual log-likelihood
	)
	x, promised := last.Toward(f, k, h)
	if x == nil {
		return last, math.Inf(1)
	}
	a = f.around(x, f.Value(x))
	if !(a.Value > promised-far) {
		return a, math.Inf(1)
	}
	low, high := a.Low[k], a.High[k]
	a.Low[k], a.High[k] = x[k], x[k]
	a.Climb(f.ctx, f, tolerance/40, most)
	if !a.Known && !a.Failed {
		a.Known = f.Expand(&a.Point)
	}
	left = math.Inf(1)
	if a.Known {
		left, _ = a.Left(1)
	}
	a.Low[k], a.High[k] = low, high
	return a, left
}

func (f *fitting) profile(name string, k int, from []float64, below, above side) ProfileLikelihood {
	linear := f.boxes[k].linear
	p := ProfileLikelihood{Parameter: name, Lower: linear(below.end), Upper: linear(above.end), LowerOpen: below.open, UpperOpen: above.open, LowerAt: below.at, UpperAt: above.at, Err: below.err}
	if p.Err == nil {
		p.Err = above.err
	}
	p.Points = append(p.Points, ProfilePoint{linear(from[k]), 0, f.all(from)})
	for _, s := range []side{below, above} {
		for i, x := range s.x {
			p.Points = append(p.Points, ProfilePoint{linear(x[k]), s.drop[i], f.all(x)})
		}
	}
	slices.SortFunc(p.Points, byValue)
	return p
}

// elsewhere fills Elsewhere from the ends of searches and the profiles of other
// parameters, with one point for almost equal values.
func (f *fitting) elsewhere(p *ProfileLikelihoods, ends []Optimum) {
	var points []ProfilePoint
	for _, o := range ends {
		if o.Err == nil {
			points = append(points, ProfilePoint{Drop: p.Best.value() - o.value(), Theta: o.Theta})
		}
	}
	for _, q := range p.ByName {
		points = append(points, q.Points...)
	}
	points = slices.DeleteFunc(points, func(point ProfilePoint) bool { return point.Drop >= p.Drop })
	for i := range p.ByName {
		q, scale := &p.ByName[i], f.boxes[i].scale
		low, high := scale.of(q.Lower), scale.of(q.Upper)
		// The ends of the interval are accurate only to about 1 % of its width.
		margin := 1e-2 * (high - low)
		for _, point := range points {
			point.Value = point.Theta[f.free[i]]
			at := scale.of(point.Value)
			known := slices.ContainsFunc(q.Elsewhere, func(other ProfilePoint) bool { return math.Abs(scale.of(other.Value)-at) <= margin })
			if !known && (at < low-margin || at > high+margin) {
				q.Elsewhere = append(q.Elsewhere, point)
			}
		}
		slices.SortFunc(q.Elsewhere, byValue)
	}
}

func byValue(a, b ProfilePoint) int { return cmp.Compare(a.Value, b.Value) }

// Within returns the points at which the log-likelihood is at least the threshold,
// including those in Elsewhere. Each point consists of the values of all parameters. To
// compute a confidence band for a prediction, evaluate the prediction at each point: the
// band extends from the smallest value to the largest. The band is approximate, because
// it is based on profiles of the parameters, not on a profile of the prediction.
func (p *ProfileLikelihoods) Within() [][]float64 {
	list := [][]float64{p.Best.Theta}
	for _, q := range p.ByName {
		for _, point := range slices.Concat(q.Points, q.Elsewhere) {
			if point.Drop <= p.Drop*1.01 {
				list = append(list, point.Theta)
			}
		}
	}
	return list
}

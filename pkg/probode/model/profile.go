package model

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/probode/probode/pkg/internal/text"
	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/bayes/shape"
	"github.com/probode/probode/pkg/probode/internal/pieces"
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
	// profile stays above the threshold up to a bound or, if there is no bound, over ten
	// units of the scale. The data do not determine the parameter on that side.
	Lower, Upper         float64
	LowerOpen, UpperOpen bool
	// Elsewhere contains, in order of the parameter's value, points outside the interval
	// at which the log-likelihood is less than the threshold below its maximum. If there
	// are any, the interval covers only the part of the confidence region around the
	// optimum.
	Elsewhere []ProfilePoint
	Err       error // why the profile is incomplete; an end that was not reached is then open
}

// Identified reports whether both ends of the interval are inside the bounds, and no point
// of the confidence region is known outside the interval.
func (p *ProfileLikelihood) Identified() bool {
	return !p.LowerOpen && !p.UpperOpen && len(p.Elsewhere) == 0
}

// A ProfilePoint is one value of a parameter.
type ProfilePoint struct {
	Value float64   // linear
	Drop  float64   // how far the profile is below the optimum
	Theta []float64 // linear values of all parameters
}

// ProfileLikelihoods are the profiles of all estimated parameters.
type ProfileLikelihoods struct {
	Best   Optimum // the optimum: a better one than the given one, if a profile has found it
	Level  float64
	Drop   float64 // the threshold: half the quantile of χ² with one degree of freedom
	ByName []ProfileLikelihood
}

// Profiles computes the profiles of all estimated parameters, starting from the best
// optimum that Fit has found, for confidence intervals of the given level. The settings s
// have the same meaning as for Fit; Starts and From are not used. If a profile finds a
// better point, a new search begins there, and the profiles are computed again, at most
// three times.
//
// A profile follows the likelihood away from the best end, and stops once it has fallen
// below the threshold. The other ends, and the profiles of the other parameters, tell
// whether the likelihood is above the threshold elsewhere.
//
// Each end of an interval is computed so accurately that the log-likelihood there is
// within 10⁻⁴ of the threshold. If ctx ends, the error is that of ctx.
func (p *File) Profiles(ctx context.Context, ends []Optimum, level float64, s FitSettings) (*ProfileLikelihoods, error) {
	if !(level > 0 && level < 1) {
		return nil, fmt.Errorf("the confidence level is %g: want a number between 0 and 1", level)
	}
	if len(ends) == 0 || ends[0].Err != nil {
		return nil, fmt.Errorf("no search succeeded: want at least one end point of a search, because profiles are computed around it")
	}
	best := ends[0]
	s.Tolerance = probode.Tolerance{Relative: 1e-6}
	s.Starts, s.From = 0, [][]float64{best.Theta}
	problem, err := p.newFit(s)
	if err != nil {
		return nil, err
	}
	const better = 1e-3
	for try := 0; ; try++ {
		out := &ProfileLikelihoods{Best: best, Level: level, Drop: distuv.ChiSquared{K: 1}.Quantile(level) / 2, ByName: make([]ProfileLikelihood, len(problem.free))}
		from := problem.starts()[0]
		sides := make([]side, 2*len(problem.free))
		if _, err := pieces.Each(ctx, s.Workers, len(sides), s.Progress, func() func(int) error {
			f, err := problem.search(ctx)
			return func(i int) error {
				if err == nil {
					sides[i] = f.side(from, i/2, float64(2*(i%2)-1), out.Drop)
				}
				return err
			}
		}); err != nil {
			return nil, err
		}
		top := slices.MaxFunc(sides, func(a, b side) int {
			if a.highest < b.highest {
				return -1
			}
			return 1
		})
		if !(top.highest > better) || try == 3 {
			for i, j := range problem.free {
				out.ByName[i] = problem.profile(p.Params[j].ID, i, from, sides[2*i], sides[2*i+1])
			}
			problem.elsewhere(out, ends)
			return out, ctx.Err()
		}
		s.From = [][]float64{problem.all(top.at)}
		list, err := p.Fit(ctx, s)
		if err != nil {
			return nil, err
		}
		if list[0].Err != nil {
			return nil, list[0].Err
		}
		best, problem.set.From = list[0], [][]float64{list[0].Theta}
	}
}

// A side is one half of a profile, outwards from the optimum.
type side struct {
	x       [][]float64 // coordinates
	drop    []float64
	end     float64 // of the interval, a coordinate
	open    bool
	err     error
	highest float64   // how far the highest point is above the optimum
	at      []float64 // this point
}

// side computes the profile of coordinate k in one direction, until it is below the
// threshold.
func (f *search) side(from []float64, k int, sign, threshold float64) side {
	const (
		farthest = 10 // units from the optimum, if there is no bound
		most     = 60 // points
	)
	bound := f.boxes[k].high
	if sign < 0 {
		bound = f.boxes[k].low
	}
	if math.IsInf(bound, 0) {
		bound = from[k] + sign*farthest
	}
	w := &walk{side: side{open: true, end: bound, at: from}, k: k, sign: sign, bound: bound, goal: math.Sqrt(threshold),
		inside: from[k], outside: math.NaN(), last: from}
	if !f.solved(steps{Tolerance: f.set.Tolerance}, from) {
		w.err = f.failed
		return w.side
	}
	base := f.Value(from)
	// The first step comes from the curvature, if that is known.
	w.h = 0.05
	point := shape.Point{X: slices.Clone(from), Value: base}
	if f.Expand(&point) {
		if sd := 1 / math.Sqrt(point.Information.At(k, k)); sd < 1 {
			w.h = max(1e-6, 0.5*sd)
		}
	}
	for range most {
		if w.err = f.ctx.Err(); w.err != nil {
			break
		}
		to := w.next()
		x := w.start(f, to)
		value, ok := f.constrained(x, w.last, k, to)
		if !ok {
			if w.h /= 4; w.h < 1e-6 {
				w.err = fmt.Errorf("the likelihood cannot be maximised with %s = %g", text.Clip(f.p.Params[f.free[k]].ID), f.boxes[k].linear(to))
				break
			}
			continue
		}
		if w.take(x, base-value) {
			break
		}
	}
	return w.side
}

// A walk is a side in the making. Steps are chosen so that √drop, which is linear for a
// Gaussian likelihood, rises by a fifth of its threshold. Once a point is below the
// threshold, the end is found by the secant method for √drop.
type walk struct {
	side
	k                 int
	sign, bound       float64
	goal              float64 // √threshold
	h                 float64 // the next step
	inside, outside   float64 // values between which the end is; outside is NaN before it is known
	rInside, rOutside float64 // √drop there
	last              []float64
}

func (w *walk) bracketed() bool { return w.outside == w.outside }

// next returns the next value of the coordinate.
func (w *walk) next() float64 {
	if w.bracketed() {
		// Away from both ends, so that every point makes progress.
		part := (w.goal - w.rInside) / (w.rOutside - w.rInside)
		return w.inside + min(max(part, 0.02), 0.98)*(w.outside-w.inside)
	}
	to := w.inside + w.sign*w.h
	if w.sign*(to-w.bound) >= 0 || math.Abs(w.bound-to) < 1e-3*w.h {
		return w.bound
	}
	return to
}

// start returns the point from which the search with the given value begins. It continues in
// the direction of the last two points.
func (w *walk) start(f *search, to float64) []float64 {
	x := slices.Clone(w.last)
	if n := len(w.x); n >= 2 && !w.bracketed() {
		a, b := w.x[n-2], w.x[n-1]
		step := (to - b[w.k]) / (b[w.k] - a[w.k])
		for i := range x {
			x[i] = min(max(x[i]+step*(b[i]-a[i]), f.boxes[i].low), f.boxes[i].high)
		}
	}
	return x
}

// take adds a point to the profile, and reports whether it is the last one.
func (w *walk) take(x []float64, drop float64) (done bool) {
	const (
		parts    = 5
		accuracy = 1e-4
	)
	if -drop > w.highest {
		w.highest, w.at = -drop, slices.Clone(x)
	}
	w.x, w.drop = append(w.x, slices.Clone(x)), append(w.drop, drop)
	to, r, threshold := x[w.k], math.Sqrt(max(0, drop)), w.goal*w.goal
	switch {
	case math.Abs(drop-threshold) <= accuracy*threshold, w.bracketed() && math.Abs(w.outside-w.inside) < 1e-9*(1+math.Abs(w.inside)):
		w.open, w.end = false, to
		return true
	case drop > threshold:
		w.outside, w.rOutside = to, r
		return false
	}
	if rise := r - w.rInside; rise <= 0.02*w.goal {
		w.h *= 4
	} else {
		w.h *= min(4, max(0.25, w.goal/parts/rise))
	}
	w.inside, w.rInside, w.last = to, r, slices.Clone(x)
	return to == w.bound
}

// constrained maximises from x with coordinate k at the given value, and sets x to the
// maximum. If the likelihood cannot be computed at x, the search begins at the point
// other.
func (f *search) constrained(x, other []float64, k int, value float64) (float64, bool) {
	f.held = k
	defer func() { f.held = -1 }()
	a := shape.Ascent{Tolerance: 1e-6}
	for i := range f.boxes {
		low, high := f.boxes[i].low, f.boxes[i].high
		if i == k {
			low, high = value, value
		}
		a.Low, a.High = append(a.Low, low), append(a.High, high)
	}
	for _, start := range [][]float64{x, other} {
		a.X = slices.Clone(start)
		a.X[k] = value
		if a.Value = f.Value(a.X); !math.IsInf(a.Value, -1) {
			break
		}
	}
	if math.IsInf(a.Value, -1) {
		return a.Value, false
	}
	for range f.set.Iterations {
		if a.Done || f.ctx.Err() != nil {
			break
		}
		a.Step(f)
	}
	copy(x, a.X)
	return a.Value, true
}

// profile joins the two halves of a profile.
func (f *fitting) profile(name string, k int, from []float64, below, above side) ProfileLikelihood {
	linear := f.boxes[k].linear
	p := ProfileLikelihood{Parameter: name, Lower: linear(below.end), Upper: linear(above.end), LowerOpen: below.open, UpperOpen: above.open, Err: below.err}
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

// elsewhere fills Elsewhere from the ends of searches, and from the points of the profiles
// of the other parameters. Of points with almost the same value it keeps the first one.
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
		// An end of the interval has an error of less than 10⁻⁴ of the width.
		margin := 1e-3 * (high - low)
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

// byValue compares points of a profile.
func byValue(a, b ProfilePoint) int { return cmp.Compare(a.Value, b.Value) }

// Within returns the points of the profiles, and those elsewhere, at which the
// log-likelihood is below its maximum by at most the threshold, each with the values of
// all parameters. The predictions at these points span a confidence band of each
// prediction. The band is approximate, because the parameters that matter for a prediction
// are profiled, but not the prediction itself.
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

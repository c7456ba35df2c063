package model

import (
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

// A ProfileLikelihood is the profile likelihood of a parameter: for each of its values the largest
// log-likelihood that the other parameters allow. The values with a profile above a
// threshold form a confidence interval, even if the likelihood is not Gaussian.
//
// Source: Raue et al. (2009), Bioinformatics 25, 1923.
type ProfileLikelihood struct {
	Parameter string
	Points    []ProfilePoint // by value, including the optimum
	// Lower and Upper are the ends of the confidence interval. An end is open if the
	// profile stays above the threshold up to a bound, or if there is no bound, over ten
	// units of the scale. The data do not determine the parameter on that side.
	Lower, Upper         float64
	LowerOpen, UpperOpen bool
	Err                  error // why the profile is incomplete; an end that was not reached is then open
}

// Identified reports whether both ends of the interval are inside the bounds.
func (p *ProfileLikelihood) Identified() bool { return !p.LowerOpen && !p.UpperOpen }

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

// Profiles computes the profiles of all estimated parameters about an optimum, for
// confidence intervals of the given level. s is as for Fit; its Starts and From are not
// used. If a profile finds a better point, a new search begins there, and the profiles are
// computed again, at most three times.
//
// Each end of an interval is computed to 10⁻⁴ of the threshold. If ctx ends, the error is
// that of ctx.
func (p *File) Profiles(ctx context.Context, best Optimum, level float64, s FitSettings) (*ProfileLikelihoods, error) {
	if !(level > 0 && level < 1) {
		return nil, fmt.Errorf("the confidence level is %g: want a number between 0 and 1", level)
	}
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
// threshold. Steps are chosen so that √drop, which is linear for a Gaussian likelihood,
// rises by a fifth of its threshold. The end is then found by the secant method for √drop.
func (f *search) side(from []float64, k int, sign, threshold float64) (s side) {
	const (
		parts    = 5
		farthest = 10 // units from the optimum, if there is no bound
		accuracy = 1e-4
		most     = 60 // points
	)
	bound := f.boxes[k].high
	if sign < 0 {
		bound = f.boxes[k].low
	}
	if math.IsInf(bound, 0) {
		bound = from[k] + sign*farthest
	}
	s.at = from
	s.open, s.end = true, bound
	if !f.solved(steps{Tolerance: f.set.Tolerance}, from) {
		s.err = f.failed
		return s
	}
	base := f.Value(from)
	goal := math.Sqrt(threshold)
	root := func(drop float64) float64 { return math.Sqrt(max(0, drop)) }
	// The first step comes from the curvature, if that is known.
	at, last := slices.Clone(from), 0.0
	h := 0.05
	point := shape.Point{X: slices.Clone(from), Value: base}
	if f.Expand(&point) {
		if sd := 1 / math.Sqrt(point.Information.At(k, k)); sd < 1 {
			h = max(1e-6, 0.5*sd)
		}
	}
	inside, outside := from[k], math.NaN()
	rInside, rOutside := 0.0, 0.0
	for range most {
		if s.err = f.ctx.Err(); s.err != nil {
			return s
		}
		to := inside + sign*h
		if outside == outside {
			// The secant, kept away from the ends so that it always makes progress.
			part := (goal - rInside) / (rOutside - rInside)
			to = inside + min(max(part, 0.02), 0.98)*(outside-inside)
		} else if sign*(to-bound) >= 0 || math.Abs(bound-to) < 1e-3*h {
			to = bound
		}
		x := slices.Clone(at)
		if n := len(s.x); n >= 2 && outside != outside { // continue in the direction of the last two points
			step := (to - s.x[n-1][k]) / (s.x[n-1][k] - s.x[n-2][k])
			for i := range x {
				b := &f.boxes[i]
				x[i] = min(max(x[i]+step*(s.x[n-1][i]-s.x[n-2][i]), b.low), b.high)
			}
		}
		value, ok := f.constrained(x, at, k, to)
		if !ok {
			if h /= 4; h < 1e-6 {
				s.err = fmt.Errorf("the likelihood cannot be maximised with %s = %g", text.Clip(f.p.Params[f.free[k]].ID), f.boxes[k].linear(to))
				return s
			}
			continue
		}
		drop := base - value
		if -drop > s.highest {
			s.highest, s.at = -drop, slices.Clone(x)
		}
		s.x, s.drop = append(s.x, slices.Clone(x)), append(s.drop, drop)
		r := root(drop)
		if math.Abs(drop-threshold) <= accuracy*threshold || outside == outside && math.Abs(outside-inside) < 1e-9*(1+math.Abs(inside)) {
			s.open, s.end = false, to
			return s
		}
		if drop > threshold {
			outside, rOutside = to, r
			continue
		}
		if inside, rInside = to, r; outside == outside {
			copy(at, x)
			continue
		}
		copy(at, x)
		if to == bound {
			return s
		}
		switch rise := r - last; {
		case rise <= 0.02*goal:
			h *= 4
		default:
			h *= min(4, max(0.25, goal/parts/rise))
		}
		last = r
	}
	return s
}

// constrained maximises from x with coordinate k at the given value, and sets x to the
// maximum. If the likelihood cannot be computed at x, it begins at other.
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
	slices.SortFunc(p.Points, func(a, b ProfilePoint) int {
		if a.Value < b.Value {
			return -1
		}
		return 1
	})
	return p
}

// Within returns the linear values of all parameters at the points of the profiles whose
// drop is at most the threshold. The predictions at these points span an approximate
// confidence band of each prediction: the parameters that matter for it are profiled, but
// not the prediction itself.
func (p *ProfileLikelihoods) Within() [][]float64 {
	list := [][]float64{p.Best.Theta}
	for _, q := range p.ByName {
		for _, point := range q.Points {
			if point.Drop <= p.Drop*1.01 {
				list = append(list, point.Theta)
			}
		}
	}
	return list
}

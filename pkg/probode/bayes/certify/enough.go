package certify

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/bayes"
)

// EnoughSettings says what LargestEnough searches for.
type EnoughSettings struct {
	Settings

	// Threshold is the largest shift that does not matter, in standard deviations of the
	// Gaussian approximation at the mode; zero means 0.1.
	Threshold float64

	// Strict requires that not only the shifts but also D be below the threshold.
	Strict bool

	// Number is the number of draws from the Gaussian approximations at the modes of the
	// reference's posterior; zero means 50.
	Number int
}

// Enough is the result of LargestEnough.
type Enough struct {
	// Found says whether a sufficiently small step size or tolerance was found. Setup
	// describes the largest such setup in words, and At holds its effects.
	Found bool
	Setup string
	At    Level

	StepSize  float64           // step size of Setup; zero under error control
	Tolerance probode.Tolerance // tolerance of Setup; zero for equal steps

	Levels []Level // all levels that were tried, in decreasing order
	Draws  int     // number of points at which each was tried, including the modes

	// Lost is the number of draws at which the reference failed; Draws does not include
	// them. If more than about one draw in twenty is lost, no level is small enough.
	Lost int
}

// A Level is a step size or tolerance and its effect at the modes and the draws.
type Level struct {
	Size   float64 // step size or relative tolerance; the largest absolute tolerance if the relative one is zero
	D      float64 // no mode and at most one draw in twenty exceeds it; +Inf if too many solves failed
	Shift  float64 // the largest shift of any parameter, exceeded as rarely as D
	Enough bool
}

// LargestEnough searches for the largest step size, or tolerance if the mesh of p has
// one, with which the shift of every parameter stays below the threshold. This must hold
// at the modes, away from them as in a certificate, and at 95 % of the draws around them.
// The ratio of the absolute to the relative tolerance stays the same.
//
// The search starts with a step of one fifth of the shortest time span, or a tolerance of
// 0.1. It then repeatedly divides the step by 2, or the tolerance by √10. Errors need not
// decrease steadily, so the search stops only when three successive levels are small
// enough. It then refines the first of the three.
func LargestEnough(ctx context.Context, p *bayes.Posterior, s EnoughSettings) (*Enough, error) {
	if !(s.Threshold >= 0) || s.Number < 0 {
		panic(fmt.Sprintf("certify: EnoughSettings.Threshold is %g and EnoughSettings.Number is %d: want numbers ≥ 0", s.Threshold, s.Number))
	}
	c, err := s.certifier(ctx, p)
	if err != nil {
		return nil, err
	}
	if s.Modes == nil {
		if s.Modes, err = c.search(p.Setup, s.Seed); err != nil {
			return nil, err
		}
	}
	for _, m := range s.Modes {
		c.AddMode(m)
	}
	all, err := c.Enough(s, p.Setup)
	if err != nil {
		return nil, err
	}
	return all[0], nil
}

// Enough does the same as LargestEnough, but at the modes of c and for several setups. It
// compares all setups at the same draws.
func (c *Certifier) Enough(s EnoughSettings, setups ...probode.Setup) ([]*Enough, error) {
	s.Threshold = cmp.Or(s.Threshold, 0.1)
	draws, lost, err := c.draws(cmp.Or(s.Number, 50), s.Seed)
	if err != nil {
		return nil, err
	}
	var out []*Enough
	for _, coarse := range setups {
		try := &trials{c: c, s: s, coarse: coarse.Or(c.p.Setup), draws: draws, lost: lost}
		e, err := try.search()
		if err != nil {
			return nil, err
		}
		out = append(out, e)
	}
	return out, nil
}

// The type trials holds the step sizes or tolerances that have been tried for one Setup.
type trials struct {
	c      *Certifier
	s      EnoughSettings
	coarse probode.Setup
	draws  []*expansion
	lost   int
	levels []Level
}

// The method search() searches for the largest level that is small enough.
func (t *trials) search() (*Enough, error) {
	shortest, _ := spans(t.c.p)
	size, factor, least := shortest/5, 2.0, shortest/1e5
	_, controlled := tolerance(t.coarse)
	if controlled {
		size, factor, least = 0.1, math.Sqrt(10), 1e-13
	}
	passed := 0
	var best Level
	var above float64
	for ; size > least && passed < 3; size /= factor {
		l, err := t.try(size)
		switch {
		case err != nil:
			return nil, err
		case !l.Enough:
			passed, above = 0, size
		default:
			if passed == 0 {
				best = l
			}
			passed++
		}
	}
	for range 3 {
		if passed < 3 || above == 0 {
			break
		}
		mid := math.Sqrt(best.Size * above)
		if controlled { // a tolerance needs only two digits
			mid, _ = strconv.ParseFloat(strconv.FormatFloat(mid, 'e', 1, 64), 64)
		}
		l, err := t.try(mid)
		if err != nil {
			return nil, err
		}
		if l.Enough {
			best = l
		} else {
			above = mid
		}
	}
	slices.SortFunc(t.levels, func(a, b Level) int { return cmp.Compare(b.Size, a.Size) })
	out := &Enough{Found: passed == 3, Levels: t.levels, Draws: len(t.c.reached()) + len(t.draws), Lost: t.lost}
	if out.Found {
		found := Sized(t.coarse, best.Size)
		out.At, out.Setup = best, describe(found)
		out.StepSize = found.StepSize()
		out.Tolerance, _ = tolerance(found)
	}
	return out, nil
}

// The method try() computes the effects of one step size or tolerance at the modes and at
// the draws.
func (t *trials) try(size float64) (Level, error) {
	l := Level{Size: size, D: math.Inf(1), Shift: math.Inf(1)}
	x, err := newEvaluator(t.c.ctx, t.c.p, Sized(t.coarse, size))
	if err == nil { // there is an error if, for example, no grid can have this step
		l.D, l.Shift = t.effect(x)
	}
	l.Enough = l.Shift < t.s.Threshold && l.D <= limitD && (!t.s.Strict || l.D < t.s.Threshold)
	if l.Enough {
		for _, m := range t.c.reached() {
			if t.c.fill(&m, x) != nil {
				m.Bound = math.Inf(1)
			} else if m.Where == nil {
				continue
			}
			l.Shift = max(l.Shift, m.Bound)
		}
		l.Enough = l.Shift < t.s.Threshold
	}
	t.levels = append(t.levels, l)
	return l, t.c.ctx.Err()
}

// The method effect() returns upper limits for D and for the largest shift of x. These
// limits are not exceeded at any mode, and are exceeded at no more than one in twenty of
// the modes and draws. Both count as infinite at draws where the reference fails.
func (t *trials) effect(x *evaluator) (d, shift float64) {
	modes := t.c.reached()
	var ds, shifts []float64
	for _, m := range modes {
		d, shift := t.at(x, m.at)
		if m.at.misfits() {
			pull, err := m.at.pull(x)
			if err != nil {
				pull = math.Inf(1)
			}
			shift += pull
		}
		ds, shifts = append(ds, d), append(shifts, shift)
	}
	for _, at := range t.draws {
		d, shift := t.at(x, at)
		ds, shifts = append(ds, d), append(shifts, shift)
	}
	for range t.lost {
		ds, shifts = append(ds, math.Inf(1)), append(shifts, math.Inf(1))
	}
	upper := func(x []float64) float64 {
		sorted := slices.Sorted(slices.Values(x))
		return max(sorted[int(math.Ceil(0.95*float64(len(x))))-1], slices.Max(x[:len(modes)]))
	}
	return upper(ds), upper(shifts)
}

// The method at() returns D between x and the reference at a point, and the largest shift
// of any parameter.
func (t *trials) at(x *evaluator, at *expansion) (d, most float64) {
	expected, _, err := x.at(at.theta)
	if err != nil {
		return math.Inf(1), math.Inf(1)
	}
	d, shift := at.shift(expected)
	for _, k := range t.c.assessed {
		most = max(most, math.Abs(shift[k]))
	}
	return d, most
}

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
	"github.com/probode/probode/pkg/probode/bayes/compare"
)

// EnoughSettings holds the options of LargestEnough.
type EnoughSettings struct {
	Settings

	// Threshold is the size below which a shift is taken to be negligible. Threshold is
	// measured in standard deviations of the Gaussian approximation at the mode. Zero
	// means 0.1.
	Threshold float64

	// Number is the number of draws from the Gaussian approximations at the modes of the
	// reference posterior; zero means 50.
	Number int
}

// Enough is the result of LargestEnough.
type Enough struct {
	// Found says whether a sufficiently small step size or tolerance was found. Setup
	// describes in words the setup with the largest step size or tolerance that is small
	// enough. At is the Level of the setup that Setup describes.
	Found bool
	Setup string
	At    Level

	StepSize  float64           // step size of Setup; zero under error control
	Tolerance probode.Tolerance // tolerance of Setup; zero for equal steps

	Levels []Level // all levels that were tried, in decreasing order
	Draws  int     // number of points at which each level was tried, including the modes

	// Lost is the number of draws at which the reference failed; Draws does not include
	// them. If the reference fails at more than about one draw in twenty, no step size or
	// tolerance counts as small enough.
	Lost int
}

// A Level holds a step size or a tolerance, and the effect of the solver's error at the
// modes and at the draws.
type Level struct {
	Size   float64 // step size or relative tolerance; the largest absolute tolerance if the relative one is zero
	D      float64 // limit for D at all modes, and at 95 % of all modes and draws; +Inf if too many solves failed
	Shift  float64 // limit for the largest shift of any parameter at the same points
	Enough bool

	// Phantom is a phantom mode: the posterior computed at this level has this mode, but
	// the reference posterior does not. Phantom is nil if no phantom mode was found, or
	// if no search for modes was made.
	Phantom []float64
}

// LargestEnough searches for the largest step size with which the shift of every
// parameter stays below the threshold. If the mesh of p has a tolerance, LargestEnough
// searches for the largest tolerance instead. The shifts must stay below the threshold
// both at the modes and away from the modes (see Certificate). LargestEnough also
// computes the shifts at draws from the Gaussian approximations at the modes. The shifts
// must stay below the threshold at 95 % or more of all modes and draws. When the
// tolerance changes, the ratio of the absolute to the relative tolerance stays the same.
//
// If the settings contain no modes, LargestEnough searches for the modes of the posterior
// computed with the resulting step size or tolerance. A step size or tolerance is
// rejected if it creates a phantom mode, that is, a mode that the reference posterior
// does not have.
//
// The search starts with a tolerance of 0.1, or with a step size of one fifth of the time
// span of the shortest experiment. The search then repeatedly divides the step size by 2,
// or the tolerance by √10. A smaller step size or tolerance does not always give a
// smaller error. The search therefore stops only when three successive step sizes or
// tolerances are small enough. Finally, the search tries values between the largest value
// that is small enough and the smallest value that is too large.
func LargestEnough(ctx context.Context, p *bayes.Posterior, s EnoughSettings) (*Enough, error) {
	if !(s.Threshold >= 0) || s.Number < 0 {
		panic(fmt.Sprintf("certify: EnoughSettings.Threshold is %g and EnoughSettings.Number is %d: want numbers ≥ 0", s.Threshold, s.Number))
	}
	c, err := s.certifier(ctx, p)
	if err != nil {
		return nil, err
	}
	known := s.Modes
	if known == nil {
		if known, err = c.search(p.Setup, s.Seed); err != nil {
			return nil, err
		}
	}
	if known, err = c.verified(p.Setup, known); err != nil {
		return nil, err
	}
	for _, m := range known {
		c.AddMode(m)
	}
	s.Threshold = cmp.Or(s.Threshold, 0.1)
	draws, lost, err := c.draws(cmp.Or(s.Number, 50), s.Seed)
	if err != nil {
		return nil, err
	}
	t := &trials{c: c, s: s, coarse: p.Setup, draws: draws, lost: lost, look: s.Modes == nil}
	return t.search()
}

type trials struct {
	c      *Certifier
	s      EnoughSettings
	coarse probode.Setup
	draws  []*expansion
	lost   int
	look   bool // search for modes at the level found
	levels []*Level
}

func (t *trials) search() (*Enough, error) {
	const enough = 3 // successive levels
	shortest := shortestSpan(t.c.p)
	size, factor, least := shortest/5, 2.0, shortest/1e5
	_, controlled := compare.Tolerance(t.coarse)
	if controlled {
		size, factor, least = 0.1, math.Sqrt(10), 1e-13
	}
	refined := false
	for {
		for ; size > least && len(t.passed()) < enough; size /= factor {
			if err := t.try(size); err != nil {
				return nil, err
			}
		}
		passed := t.passed()
		if len(passed) < enough {
			break
		}
		// If a search for modes rejects a level, only the smaller levels are tried.
		// Values between two levels are skipped, because each value would require another
		// search for modes.
		for n := 0; n < 3 && !refined; n++ {
			above := t.tooLarge()
			if math.IsInf(above, 1) {
				break
			}
			mid := math.Sqrt(t.passed()[0].Size * above)
			if controlled { // a tolerance needs only two digits
				mid, _ = strconv.ParseFloat(strconv.FormatFloat(mid, 'e', 1, 64), 64)
			}
			if err := t.try(mid); err != nil {
				return nil, err
			}
		}
		refined = true
		best := t.passed()[0]
		if err := t.confirm(best); err != nil {
			return nil, err
		}
		if best.Enough {
			break
		}
	}
	slices.SortFunc(t.levels, func(a, b *Level) int { return cmp.Compare(b.Size, a.Size) })
	out := &Enough{Draws: len(t.c.reached()) + len(t.draws), Lost: t.lost}
	for _, l := range t.levels {
		out.Levels = append(out.Levels, *l)
	}
	if passed := t.passed(); len(passed) >= enough {
		found := compare.Sized(t.coarse, passed[0].Size)
		out.Found, out.At, out.Setup = true, *passed[0], describe(found)
		out.StepSize = found.StepSize()
		out.Tolerance, _ = compare.Tolerance(found)
	}
	return out, nil
}

func (t *trials) tooLarge() float64 {
	size := math.Inf(1)
	for _, l := range t.levels {
		if !l.Enough {
			size = min(size, l.Size)
		}
	}
	return size
}

func (t *trials) passed() (list []*Level) {
	below := t.tooLarge()
	for _, l := range t.levels {
		if l.Size < below {
			list = append(list, l)
		}
	}
	slices.SortFunc(list, func(a, b *Level) int { return cmp.Compare(b.Size, a.Size) })
	return list
}

func (t *trials) try(size float64) error {
	l := &Level{Size: size}
	t.measure(l)
	t.levels = append(t.levels, l)
	return t.c.ctx.Err()
}

func (t *trials) measure(l *Level) {
	l.D, l.Shift = math.Inf(1), math.Inf(1)
	x, err := compare.New(t.c.ctx, t.c.p, compare.Sized(t.coarse, l.Size))
	if err == nil { // there is an error if, for example, no grid can have this step
		l.D, l.Shift = t.effect(x)
	}
	l.Enough = l.Shift < t.s.Threshold && l.D <= limitD
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
}

// confirm rejects a level whose posterior has a mode that the reference lacks, or which
// is too coarse at a newly found mode.
func (t *trials) confirm(l *Level) error {
	if !t.look {
		return nil
	}
	found, err := t.c.search(compare.Sized(t.coarse, l.Size), t.s.Seed)
	if t.c.ctx.Err() != nil {
		return t.c.ctx.Err()
	}
	if err != nil {
		l.Enough = false
		return nil
	}
	if found, err = t.c.verified(compare.Sized(t.coarse, l.Size), found); err != nil {
		return err
	}
	known := len(t.c.reached())
	for _, theta := range found {
		if m := t.c.reach(theta); !(m.Moved < vanished) {
			l.Enough, l.Phantom = false, theta
			return t.c.ctx.Err()
		}
		t.c.AddMode(theta)
	}
	if len(t.c.reached()) > known {
		t.measure(l)
	}
	return t.c.ctx.Err()
}

// effect returns the larger of the maximum at the modes and the 95 % quantile at all
// modes and draws, for D and the shift. A draw at which the reference fails counts as
// infinite.
func (t *trials) effect(x *compare.Solver) (d, shift float64) {
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

func (t *trials) at(x *compare.Solver, at *expansion) (d, most float64) {
	to := x.At(at.theta)
	if to.Err != nil {
		return math.Inf(1), math.Inf(1)
	}
	d, shift := at.shift(to.Expected)
	for _, k := range t.c.assessed {
		most = max(most, math.Abs(shift[k]))
	}
	return d, most
}

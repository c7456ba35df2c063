package certify

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"

	"gonum.org/v1/gonum/mat"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/bayes"
)

// EnoughSettings says what LargestEnough searches for.
type EnoughSettings struct {
	Settings

	// Threshold is the shift, in posterior standard deviations, that does not
	// matter; zero means 0.1.
	Threshold float64

	// Strict requires D itself below the threshold, and not only the shifts.
	Strict bool

	// Number is the number of draws from the Gaussian approximations at the modes of the
	// reference's posterior at which the setting must be enough; zero means 50.
	Number int
}

// Enough is the answer of LargestEnough.
type Enough struct {
	// Found says that a step size or tolerance is enough. Setup is the largest one in
	// words, and At are its numbers.
	Found bool
	Setup string
	At    Level

	StepSize           float64 // of Setup; zero under error control
	Relative, Absolute float64 // tolerances of Setup; zero for equal steps, and for several absolute ones

	// Levels are all settings that were tried, the largest first, and Draws the number
	// of points, modes included, at which each was tried.
	Levels []Level
	Draws  int
	// Lost is the number of further draws at which the reference failed. If these are
	// more than one in twenty, nothing is enough.
	Lost int
}

// A Level is a step size or tolerance with its effect.
type Level struct {
	Size   float64 // step size, or relative tolerance (absolute if that is zero)
	D      float64 // exceeded at one draw in twenty; +Inf where solves failed
	Shift  float64 // largest |Δθ|/sd of all parameters, exceeded at one draw in twenty
	Enough bool
}

// most is the share of draws at which a level must be small enough.
const most = 0.95

// LargestEnough searches for the largest step size, or tolerance if the mesh of p has one,
// with which the shift of every parameter stays below the threshold at the modes and at
// draws around them. The absolute tolerance keeps its ratio to the relative one.
//
// The search goes down by factors of two, or √10 in a tolerance, from a fifth of the
// shortest span or 0.1. Since errors need not fall steadily, it ends at the third
// setting in a row that is enough, and then refines the first of the three.
func LargestEnough(ctx context.Context, p *bayes.Posterior, s EnoughSettings) (*Enough, error) {
	if !(s.Threshold >= 0) || s.Number < 0 {
		panic(fmt.Sprintf("certify: Threshold %g and Number %d of EnoughSettings: want numbers ≥ 0", s.Threshold, s.Number))
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
		c.climb(m)
	}
	all, err := c.Enough(s, p.Setup)
	if err != nil {
		return nil, err
	}
	return all[0], nil
}

// Enough is LargestEnough at the modes of c, for several setups at the same draws.
func (c *Certifier) Enough(s EnoughSettings, setups ...probode.Setup) ([]*Enough, error) {
	s.Threshold = cmp.Or(s.Threshold, 0.1)
	s.Number = cmp.Or(s.Number, 50)
	points, lost, err := c.points(s)
	if err != nil {
		return nil, err
	}
	var out []*Enough
	for _, coarse := range setups {
		e := &Enough{Draws: len(points), Lost: lost}
		if err := c.largest(s, coarse.Or(c.p.Setup), points, e); err != nil {
			return nil, err
		}
		out = append(out, e)
	}
	return out, nil
}

// largest searches for the largest setting that is enough at the points.
func (c *Certifier) largest(s EnoughSettings, coarse probode.Setup, points []point, out *Enough) error {
	_, controlled := tolerance(coarse)
	try := func(size float64) (Level, error) {
		l, err := c.level(Sized(coarse, size), size, points, out.Lost)
		l.Enough = l.Shift < s.Threshold && l.D <= limitD
		if s.Strict {
			l.Enough = l.Enough && l.D < s.Threshold
		}
		out.Levels = append(out.Levels, l)
		return l, err
	}
	shortest, _ := spans(c.p)
	size, factor, least := shortest/5, 2.0, shortest/1e5
	if controlled {
		size, factor, least = 0.1, math.Sqrt(10), 1e-13
	}
	passed := 0
	var best, above float64
	for ; size > least && passed < 3; size /= factor {
		l, err := try(size)
		switch {
		case err != nil:
			return err
		case !l.Enough:
			passed, above = 0, size
		default:
			if passed == 0 {
				best = size
			}
			passed++
		}
	}
	if passed == 3 && above > 0 {
		for range 3 {
			mid := math.Sqrt(best * above)
			if controlled { // two digits are enough of a tolerance
				mid, _ = strconv.ParseFloat(strconv.FormatFloat(mid, 'e', 1, 64), 64)
			}
			l, err := try(mid)
			if err != nil {
				return err
			}
			if l.Enough {
				best = mid
			} else {
				above = mid
			}
		}
	}
	slices.SortFunc(out.Levels, func(a, b Level) int { return cmp.Compare(b.Size, a.Size) })
	if passed == 3 {
		found := Sized(coarse, best)
		out.Found, out.Setup = true, describe(found)
		out.StepSize, out.Relative, out.Absolute = sizes(found)
		out.At = out.Levels[slices.IndexFunc(out.Levels, func(l Level) bool { return l.Size == best })]
	}
	return nil
}

// A point is a θ with the posterior by the reference expanded there.
type point struct {
	at   *expansion
	mode int  // index of the nearest mode
	is   bool // the mode itself
}

// points returns the modes and the draws around them, and the number of draws at which
// the reference failed.
func (c *Certifier) points(s EnoughSettings) (points []point, lost int, err error) {
	var mass []float64
	for i, m := range c.modes {
		if m.at != nil && m.Found {
			var chol mat.Cholesky
			log := m.at.Value
			if chol.Factorize(m.at.cov) {
				log += chol.LogDet() / 2
			}
			points = append(points, point{m.at, i, true})
			mass = append(mass, log)
		}
	}
	if len(points) == 0 {
		return nil, 0, fmt.Errorf("certify: no mode of the posterior by %v was reached", c.reference)
	}
	modes := slices.Clone(points)
	near := func(u []float64, at *expansion) float64 {
		v := mat.NewVecDense(len(u), nil)
		for k := range u {
			v.SetVec(k, (u[k]-at.X[k])/at.sd[k])
		}
		return mat.Norm(v, 2)
	}
	add := func(u []float64) error {
		l, err := expand(c.fine, u, modes[0].at.widths())
		if c.ctx.Err() != nil {
			return c.ctx.Err()
		}
		if err != nil {
			lost++
			return nil
		}
		// The posterior has the shape of the nearest mode.
		best := modes[0]
		for _, m := range modes[1:] {
			if near(u, m.at) < near(u, best.at) {
				best = m
			}
		}
		l.cov, l.sd, l.own = best.at.cov, best.at.sd, nil
		points = append(points, point{at: l, mode: best.mode})
		return nil
	}
	rng := probode.Stream(s.Seed, 0x656e6f756768)
	top := slices.Max(mass)
	var sum float64
	for _, m := range mass {
		sum += math.Exp(m - top)
	}
	z := make([]float64, len(c.p.Params))
	for range s.Number {
		pick, from := rng.Float64()*sum, 0
		for from < len(mass)-1 && pick > math.Exp(mass[from]-top) {
			pick -= math.Exp(mass[from] - top)
			from++
		}
		at := modes[from].at
		var chol mat.Cholesky
		if !chol.Factorize(at.cov) {
			continue // the covariance is singular in floating point
		}
		var l mat.TriDense
		chol.LTo(&l)
		for k := range z {
			z[k] = rng.NormFloat64()
		}
		u := slices.Clone(at.X)
		for i := range u {
			for k := 0; k <= i; k++ {
				u[i] += l.At(i, k) * z[k]
			}
		}
		if err := add(u); err != nil {
			return nil, 0, err
		}
	}
	return points, lost, nil
}

// level tries one size at all points.
func (c *Certifier) level(s probode.Setup, size float64, points []point, lost int) (Level, error) {
	out := Level{Size: size, D: math.Inf(1), Shift: math.Inf(1)}
	x, err := newEvaluator(c.ctx, c.p, s)
	if err != nil {
		if c.ctx.Err() != nil {
			return out, err
		}
		return out, nil // such as a step that no grid can have
	}
	var ds, shifts []float64
	for _, q := range points {
		d, most := math.Inf(1), math.Inf(1)
		m, _, err := x.at(q.at.theta)
		if c.ctx.Err() != nil {
			return out, c.ctx.Err()
		}
		if err == nil {
			var shift []float64
			d, shift = q.at.shift(m)
			most = 0
			for _, k := range c.assessed {
				most = max(most, math.Abs(shift[k]))
			}
			if q.is && q.at.misfits() {
				pull, err := q.at.pull(x, shift)
				if c.ctx.Err() != nil {
					return out, c.ctx.Err()
				} else if err != nil {
					pull = math.Inf(1)
				}
				most += pull
			}
		}
		ds, shifts = append(ds, d), append(shifts, most)
	}
	// Nothing is known at draws where the reference failed.
	for range lost {
		ds, shifts = append(ds, math.Inf(1)), append(shifts, math.Inf(1))
	}
	out.D, out.Shift = upper(ds), upper(shifts)
	// Every mode counts, whatever share of the points it is.
	for i, q := range points {
		if q.is {
			out.D, out.Shift = max(out.D, ds[i]), max(out.Shift, shifts[i])
		}
	}
	return out, nil
}

// upper returns the number that is exceeded in one case of twenty.
func upper(x []float64) float64 {
	s := slices.Sorted(slices.Values(x))
	return s[min(len(s)-1, int(math.Ceil(most*float64(len(s))))-1)]
}

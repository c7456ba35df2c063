package certify

import (
	"context"
	"math"
	"slices"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/bayes"
	"github.com/probode/probode/pkg/probode/internal/pieces"
)

// How accurate the reference is itself. OwnError compares it with a more accurate
// solver; Unseen compares it with many equal steps, which see short pulses of f that a
// solver which chooses its steps may step over, with any tolerance.

const (
	// ManySteps is the number of equal steps, over the longest of the spans, with which
	// the reference must agree. They see every pulse of f that lasts for half a step.
	ManySteps = 1 << 16
	// manyRounded is the relative error that rounding may cause in as many steps.
	manyRounded = ManySteps * 0x1p-52
)

// finer returns a solver more accurate than s: with a hundredth of the tolerance, a
// tenth of the step, or the reference. An accurate solver that did not trust its first
// solution may already have taken a hundredth of its tolerance, so the finer one takes a
// thousandth.
func (s Solver) finer() Solver {
	switch {
	case s.Accurate:
		tol := s.Tolerance.Relative
		if tol == 0 {
			tol = 1e-10
		}
		if s.Tolerance.Relative = max(tol/1000, 1e-13); s.Tolerance.Relative >= tol {
			s.Tolerance.Relative = 10 * tol // nothing is finer: the difference from a looser one bounds the error
		}
	case s.Controlled():
		s.Tolerance.Relative /= 100
		s.Tolerance.Absolute = slices.Clone(s.Tolerance.Absolute)
		for k := range s.Tolerance.Absolute {
			s.Tolerance.Absolute[k] /= 100
		}
	case s.StepSize > 0:
		s.StepSize /= 10
	default:
		s = Solver{Accurate: true}
	}
	return s
}

// many is the classical Runge–Kutta method with ManySteps/fewer equal steps over the
// longest of the spans.
func many(p *bayes.Posterior, fewer float64) Solver {
	longest := 0.0
	for _, x := range p.Experiments {
		longest = math.Max(longest, x.Problem.Span[1]-x.Problem.Span[0])
	}
	return Solver{Method: probode.RungeKutta{}, StepSize: fewer * longest / ManySteps}
}

// steppedOver says whether the reference has stepped over something, from D between it
// and many equal steps, and D between these and a quarter as many. A jump of f leaves an
// error of first order in the many steps, for which a quarter as many are three times
// as far off as the reference; a pulse does not. Where so many explicit steps fail, as
// on a stiff problem, nothing is found.
func steppedOver(d, rest float64) bool { return d > 0.6*rest }

// OwnError returns D between s and a more accurate solver at each of the points; NaN
// where one of the two fails.
func OwnError(ctx context.Context, p *bayes.Posterior, s Solver, points [][]float64, workers int) ([]float64, error) {
	return distances(ctx, p, points, s, s.finer(), 0, workers)
}

// Unseen returns the largest D between s and many equal steps at the points where s
// steps over something that these see, zero if there are none. D below least, or below
// three times the error of s itself, does not count.
func Unseen(ctx context.Context, p *bayes.Posterior, s Solver, points [][]float64, own []float64, least float64, workers int) (float64, error) {
	if len(points) == 0 {
		return 0, nil
	}
	d, err := distances(ctx, p, points, s, many(p, 1), manyRounded, workers)
	if err != nil {
		return 0, err
	}
	rest, err := distances(ctx, p, points, many(p, 4), many(p, 1), manyRounded, workers)
	if err != nil {
		return 0, err
	}
	most := 0.0
	for i, v := range d {
		if v > least && steppedOver(v, rest[i]) && !(v < 3*own[i]) {
			most = math.Max(most, v)
		}
	}
	return most, nil
}

// Sufficient searches for a smaller tolerance or step of s whose own error is at most
// limit at all points.
func Sufficient(ctx context.Context, p *bayes.Posterior, s Solver, points [][]float64, limit float64, workers int) (enough Solver, found bool, err error) {
	for range 8 {
		if s.Accurate {
			tol := s.Tolerance.Relative
			if tol == 0 {
				tol = 1e-10
			}
			if s.Tolerance = (probode.Tolerance{Relative: tol / 10}); tol/10 < 0.99e-12 {
				return s, false, nil // nothing is accurate enough to compare it with
			}
		} else {
			s.StepSize /= 2
		}
		d, err := OwnError(ctx, p, s, points, workers)
		if err != nil {
			return s, false, err
		}
		if !slices.ContainsFunc(d, func(v float64) bool { return !(v <= limit) }) {
			return s, true, nil
		}
	}
	return s, false, nil
}

// distances returns D between two solvers at each of the points, with the information
// at what the finer expects; NaN where one of them fails. Relative differences below
// rounding count as none.
func distances(ctx context.Context, p *bayes.Posterior, points [][]float64, s, finer Solver, rounding float64, workers int) ([]float64, error) {
	out := make([]float64, len(points))
	_, err := pieces.Each(ctx, workers, len(points), nil, func() func(int) error {
		x, err1 := newExpecter(ctx, p, s)
		y, err2 := newExpecter(ctx, p, finer)
		return func(i int) error {
			out[i] = math.NaN()
			if err1 != nil || err2 != nil {
				return nil // such as a step that no grid can have
			}
			m, _, err := x.at(points[i])
			if err != nil {
				return ctx.Err()
			}
			better, _, err := y.at(points[i])
			if err != nil {
				return ctx.Err()
			}
			var d float64
			for _, o := range y.surface.DataAt(better, points[i]) {
				// A value that both expect alike may be certain.
				if delta := m[o.At] - better[o.At]; math.Abs(delta) > rounding*math.Abs(better[o.At]) {
					if o.Certain {
						o.Information = math.Inf(1)
					}
					d += o.Information * delta * delta
				}
			}
			out[i] = math.Sqrt(d)
			return nil
		}
	})
	return out, err
}

// own returns D between the reference and a finer solver at a mode.
func (c *Certifier) own(at *linearised) float64 {
	x, err := newExpecter(c.ctx, c.p, c.reference.finer())
	if err != nil {
		return math.NaN()
	}
	m, _, err := x.at(at.theta)
	if err != nil {
		return math.NaN()
	}
	d, _ := at.shift(m)
	return max(d, c.unseen(at))
}

// unseen is Unseen for an accurate reference at a mode, with a quarter of the steps.
func (c *Certifier) unseen(at *linearised) float64 {
	if !c.reference.Accurate {
		return 0
	}
	var all [2]*linearised
	for i, fewer := range []float64{4, 16} {
		x, err := newExpecter(c.ctx, c.p, many(c.p, fewer))
		if err != nil {
			return 0
		}
		m, _, err := x.at(at.theta)
		if err != nil {
			return 0
		}
		for k, v := range at.m {
			if math.Abs(m[k]-v) <= manyRounded*math.Abs(v) {
				m[k] = v
			}
		}
		other := *at
		other.m = m
		all[i] = &other
	}
	d, _ := at.shift(all[0].m)
	if rest, _ := all[1].shift(all[0].m); d > 0 && steppedOver(d, rest) {
		return d
	}
	return 0
}

package certify

import (
	"context"
	"math"
	"slices"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/bayes"
	"github.com/probode/probode/pkg/probode/bayes/shape"
	"github.com/probode/probode/pkg/probode/internal/pieces"
	"github.com/probode/probode/pkg/probode/reference"
)

// The functions in this file measure the error of the reference itself. OwnError compares
// the reference with a more accurate Setup. Unseen compares the reference with a solution
// computed with many equal steps. Even with a small tolerance, error control may step
// over a short pulse of f. A solution with many equal steps detects such a pulse.

const (
	// ManySteps is the number of equal steps in a solution that checks the reference. The
	// step size is the longest time span divided by ManySteps. The solver evaluates f at
	// both ends and in the middle of each step, so it notices every pulse of f that lasts
	// for at least half a step.
	ManySteps = 1 << 16
	// manyRounded is the relative error by rounding over ManySteps steps.
	manyRounded = ManySteps * 0x1p-52
)

// OwnError returns the discrepancy D between s and a more accurate Setup at each of the
// points. D is NaN at points where one of the two setups fails.
func OwnError(ctx context.Context, p *bayes.Posterior, s probode.Setup, points [][]float64, workers int) ([]float64, error) {
	out := make([]float64, len(points))
	err := atEach(ctx, p, points, workers, []probode.Setup{s, finer(s)}, func(i int, x []*evaluator, expected [][]float64) {
		if out[i] = math.NaN(); expected != nil {
			out[i] = x[1].discrepancy(expected[0], expected[1], points[i], 0)
		}
	})
	return out, err
}

// Unseen returns the largest discrepancy D between the setup s and a solution computed
// with ManySteps equal steps. Unseen considers only those points at which the solution
// with equal steps detects a pulse of f that s misses. Unseen ignores points at which D
// is small: at most `least`, or below three times the error of s. If no points remain,
// Unseen returns zero. The argument `own` holds the error of s at each point.
func Unseen(ctx context.Context, p *bayes.Posterior, s probode.Setup, points [][]float64, own []float64, least float64, workers int) (float64, error) {
	seen := make([]float64, len(points))
	err := atEach(ctx, p, points, workers, []probode.Setup{s, equalSteps(p, ManySteps), equalSteps(p, ManySteps/4)}, func(i int, x []*evaluator, expected [][]float64) {
		if expected != nil {
			seen[i] = steppedOver(x[1], expected, points[i])
		}
	})
	most := 0.0
	for i, d := range seen {
		if d > least && !(d < 3*own[i]) {
			most = max(most, d)
		}
	}
	return most, err
}

// steppedOver returns D between the reference and many equal steps if the reference has
// stepped over a pulse, and else zero. `expected` is from the reference, many steps, and
// a quarter of them. A jump of f has an error proportional to the step, so that the last
// two differ by three times the error of the second. A pulse that was stepped over does
// not follow this pattern.
func steppedOver(many *evaluator, expected [][]float64, theta []float64) float64 {
	d := many.discrepancy(expected[0], expected[1], theta, manyRounded)
	if rest := many.discrepancy(expected[2], expected[1], theta, manyRounded); d > 0.6*rest {
		return d
	}
	return 0
}

// atEach calls do with the data by each setup at each point, nil if one fails, as an
// explicit method may on a stiff problem.
func atEach(ctx context.Context, p *bayes.Posterior, points [][]float64, workers int, setups []probode.Setup, do func(i int, x []*evaluator, expected [][]float64)) error {
	if len(points) == 0 {
		return nil
	}
	_, err := pieces.Each(ctx, workers, len(points), nil, func() func(int) error {
		x, failed := newEvaluators(ctx, p, setups) // it fails, for example, if no grid can have this step
		return func(i int) error {
			all := make([][]float64, len(x))
			err := failed
			for k := 0; k < len(x) && err == nil; k++ {
				all[k], _, err = x[k].at(points[i])
			}
			if err != nil {
				all = nil
			}
			do(i, x, all)
			return ctx.Err()
		}
	})
	return err
}

// discrepancy takes the Fisher information at `finer`, the data of x, and ignores
// differences that rounding explains.
func (x *evaluator) discrepancy(expected, finer, theta []float64, rounding float64) float64 {
	return shape.Discrepancy(x.surface.DataAt(finer, theta), expected, finer, rounding)
}

// Sufficient reduces the tolerance or step size of s, at most eight times, until the
// error measured by OwnError is at most `limit` at all points.
func Sufficient(ctx context.Context, p *bayes.Posterior, s probode.Setup, points [][]float64, limit float64, workers int) (enough probode.Setup, found bool, err error) {
	for range 8 {
		if a, ok := s.Mesh.(reference.Accurate); ok {
			a = reference.Accurate{Tolerance: probode.Tolerance{Relative: accurateTolerance(a) / 10}}
			if s.Mesh = a; a.Relative < 0.99e-12 {
				return s, false, nil // there is no more accurate solution to compare it with
			}
		} else {
			s = Sized(s, Size(s)/2)
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

// ownError returns D between the reference and a more accurate Setup, and with many equal
// steps if the reference has stepped over a pulse. It is NaN if the Setup fails.
func ownError(at *expansion) float64 {
	p := at.x.density.Posterior()
	x, err := newEvaluator(at.x.ctx, p, finer(p.Setup))
	if err != nil {
		return math.NaN()
	}
	m, _, err := x.at(at.theta)
	if err != nil {
		return math.NaN()
	}
	d, _ := at.shift(m)
	steps := ManySteps / 4.
	if d < noDifference {
		steps = ManySteps // both may have stepped over the same pulse
	}
	return max(d, unseen(at, steps))
}

// unseen returns D to equal steps if reference.Accurate has stepped over a pulse, and
// else zero.
func unseen(at *expansion, steps float64) float64 {
	p := at.x.density.Posterior()
	if _, ok := p.Mesh.(reference.Accurate); !ok {
		return 0
	}
	expected := [][]float64{at.m, nil, nil}
	var many *evaluator
	for i, n := range []float64{steps / 4, steps} {
		x, err := newEvaluator(at.x.ctx, p, equalSteps(p, n))
		if err != nil {
			return 0
		}
		if expected[2-i], _, err = x.at(at.theta); err != nil {
			return 0
		}
		many = x
	}
	return steppedOver(many, expected, at.theta)
}

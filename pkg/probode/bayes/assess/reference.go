package assess

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/bayes"
	"github.com/probode/probode/pkg/probode/bayes/certify"
	"github.com/probode/probode/pkg/probode/bayes/modes"
	"github.com/probode/probode/pkg/probode/bayes/sample"
	"github.com/probode/probode/pkg/probode/mcmc/diag"
)

type standard struct {
	*draws
	by     string    // a description of the draws
	usable bool      // the weights can be trusted
	worth  float64   // the number of effective draws that the weighted draws are worth
	heavy  []bool    // by assessed parameter: the tails are too heavy for a mean
	tails  []float64 // by assessed parameter: the tail index
}

func (s *sampling) standard(d *draws, by string) *standard {
	y := &standard{draws: d, by: by, usable: s.usable(d), worth: s.effective(d) * d.kish()}
	for _, k := range s.assessed {
		heavy, index := diag.HeavyTails(d.tails(k))
		y.heavy, y.tails = append(y.heavy, heavy), append(y.tails, index)
	}
	return y
}

func (y *standard) better(z *standard) bool {
	if z == nil || y.whole() != z.whole() {
		return z == nil || y.whole()
	}
	return !(y.khat >= z.khat)
}

// accuratePosterior takes the draws at the smallest step if they miss no part of the
// reference posterior and their weights can be trusted and are even enough, and else the
// best of those by more accurate solvers. It returns nil if no weights can be computed.
func (s *sampling) accuratePosterior(fine *draws, mode []float64) (y *standard, err error) {
	finest := &s.ladder[s.finest()]
	if fine.weights != nil {
		y = s.standard(fine, fmt.Sprintf("the weighted draws at %v", finest))
	}
	var why string
	switch {
	case y != nil && !y.whole():
		why = fmt.Sprintf("because the draws at %v miss part of the reference posterior", finest)
	case y == nil || !y.usable:
		why = fmt.Sprintf("because the draws at %v are too far from the reference posterior (k̂ = %.2f)", finest, fine.khat)
	case s.loss(y) > 1:
		why = fmt.Sprintf("because the weights of the draws at %v are too uneven (k̂ = %.2f)", finest, fine.khat)
	default:
		return y, s.advance(1)
	}
	before := s.pathError(s.of(s.finest()), mode)
	for n, q := range s.finer(mode) {
		// A solver is tried only if its error is less than a third of the error at the
		// smallest step.
		if !(s.pathError(q, mode) < before/3) {
			continue
		}
		if err := s.ctx.Err(); err != nil {
			return y, err
		}
		z, err := s.tryReference(q, s.seed(1000+uint64(n)), fmt.Sprintf("the weighted draws (solver: %v, %s), computed %s", q.Method, setting(q), why))
		if err != nil {
			if s.ctx.Err() != nil {
				return y, err
			}
			continue
		}
		good := z.usable && z.whole()
		if good || z.better(y) {
			y = z
		}
		if good {
			break
		}
	}
	return y, s.advance(1)
}

// loss returns the largest ratio of the standard error of the bias to that of the
// unweighted centre.
func (s *sampling) loss(y *standard) (most float64) {
	for j := range s.assessed {
		most = math.Max(most, y.shifts[byQuantiles][j].CenterSE/y.estimates[byQuantiles][j].CenterSE)
	}
	return most
}

func (s *sampling) tryReference(q *bayes.Posterior, seed uint64, by string) (*standard, error) {
	known, err := modes.Find(s.ctx, q, s.search(s.modes.known))
	if err != nil {
		return nil, err
	}
	d, err := s.sample(q, &pairing{modes: known}, sample.Deterministic{}, s.s.Chains, seed)
	if err != nil {
		return nil, err
	}
	if err := s.weigh(d); err != nil {
		return nil, err
	}
	return s.standard(d, by), nil
}

type referenceError struct {
	d          float64 // the largest D between the reference and a more accurate solver; NaN if it is not known
	points     int     // modes and draws at which d was computed
	unknown    int     // the number of these points at which one of the two failed
	failed     float64 // share of the weighted draws at which the reference failed
	unseen     float64 // D between the reference and very many equal steps, if these detect a pulse that the reference steps over
	sufficient string  // a setup that would be accurate enough if this one is not; empty if none is known
	seconds    float64 // the time of these computations
}

func (r referenceError) enough(threshold float64) bool {
	return r.d <= threshold/10 && r.unknown == 0 && !(r.failed > mostFailed) && r.unseen == 0
}

// checkReference measures the discrepancy D between the reference and a more accurate
// solver at each mode with more than a hundredth of the mass and at up to a hundred
// draws: a solver that is accurate at a mode may fail in the tails. A verdict needs D ≤
// threshold/10 everywhere.
func (s *sampling) checkReference(y *standard) (r referenceError, err error) {
	s.say("the reference solver's own error")
	begin := time.Now()
	var points [][]float64
	if s.modes.reference != nil {
		points = s.modes.reference.Thetas(minor)
	}
	modes := points[:min(len(points), 3)]
	points = append(points, y.resampled(referenceDraws)...)
	unsolved, failed := y.unsolved(10)
	r = referenceError{d: math.NaN(), points: len(points), failed: failed}
	by, workers := s.reference(), s.s.Chains.Workers
	d, err := certify.OwnError(s.ctx, s.p, by, points, workers)
	if err != nil {
		return r, err
	}
	for _, v := range d {
		if math.IsNaN(v) {
			r.unknown++
		} else if !(v <= r.d) {
			r.d = v
		}
	}
	limit := s.s.Threshold / 10
	if r.unseen, err = certify.Unseen(s.ctx, s.p, by, modes, d, limit, workers); err != nil {
		return r, err
	}
	if r.unseen == 0 && y.whole() && !r.enough(s.s.Threshold) {
		if failed > mostFailed {
			points = append(points, unsolved...) // a sufficient setup must also solve the equations at these points
		}
		enough, found, err := certify.Sufficient(s.ctx, s.p, by, worstPoints(points, d), limit, workers)
		if err != nil {
			return r, err
		}
		if found {
			r.sufficient = enough.String()
		}
	}
	r.seconds = time.Since(begin).Seconds()
	return r, nil
}

// worstPoints returns the ten points with unknown or largest D.
func worstPoints(points [][]float64, d []float64) (worst [][]float64) {
	order := make([]int, len(points))
	size := make([]float64, len(points))
	for i := range order {
		order[i], size[i] = i, math.Inf(1)
		if i < len(d) {
			size[i] = nanOr(d[i], math.Inf(1))
		}
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(size[j], size[i]) })
	for _, i := range order[:min(10, len(order))] {
		worst = append(worst, points[i])
	}
	return worst
}

// pathError returns the root mean square error of the classical solution at theta over
// all observations, relative to the largest absolute value of each component, or NaN.
func (s *sampling) pathError(p *bayes.Posterior, theta []float64) float64 {
	coarse, err := solved(s.ctx, p, theta)
	if err != nil {
		return math.NaN()
	}
	fine, err := solved(s.ctx, p.SolvedBy(s.s.Accurate), theta)
	if err != nil {
		return math.NaN()
	}
	var sum float64
	n := 0
	for i, x := range p.Experiments {
		d, state, exact := x.Problem.Dim(), coarse.States(i), fine.States(i)
		scale := make([]float64, d)
		for k, x := range exact {
			scale[k%d] = max(scale[k%d], math.Abs(x))
		}
		for k, x := range exact {
			if c := scale[k%d]; c > 0 {
				e := (state[k] - x) / c
				sum += e * e
				n++
			}
		}
	}
	return math.Sqrt(sum / float64(n))
}

func solved(ctx context.Context, p *bayes.Posterior, theta []float64) (*bayes.Density, error) {
	d, err := bayes.NewDensity(ctx, p)
	if err != nil {
		return nil, err
	}
	_, err = d.LogLikelihood(theta, nil)
	return d, err
}

func (s *sampling) reference() probode.Setup { return s.s.Accurate.Or(s.p.Setup) }

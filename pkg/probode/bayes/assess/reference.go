package assess

import (
	"cmp"
	"math"
	"slices"

	"github.com/probode/probode/pkg/probode/bayes/compare"
)

// A referenceError says how accurate the reference is.
type referenceError struct {
	d          float64 // the largest D between the reference and a more accurate solver; NaN if it is not known
	points     int     // modes and draws at which d was computed
	unknown    int     // the number of these points at which one of the two failed
	unseen     float64 // D between the reference and very many equal steps, if these detect a pulse that the reference steps over
	sufficient string  // a setup that would be accurate enough if this one is not; empty if none is known
}

func (r referenceError) enough(threshold float64) bool {
	return r.d <= threshold/10 && r.unknown == 0 && r.unseen == 0
}

// checkReference measures the error of the reference solver by the discrepancy D between
// the reference and a more accurate solver. D is computed at each mode that has more than
// a hundredth of the mass, and at up to a hundred draws. There is a verdict only if D is
// at most a tenth of the threshold at all of them.
func (s *sampling) checkReference(y *draws) (r referenceError, err error) {
	s.say("the reference solver's own error")
	points := s.modes.reference.Thetas(minor)
	modes := points[:min(len(points), 3)]
	points = append(points, y.resampled(nil, referenceDraws)...)
	r = referenceError{d: math.NaN(), points: len(points)}
	by, workers := s.reference(), s.s.Chains.Workers
	all, err := compare.Points{Posterior: s.p, Theta: points, Workers: workers}.Differences(s.ctx, by, compare.Finer(by))
	if err != nil {
		return r, err
	}
	d := make([]float64, len(all))
	for i, v := range all {
		if d[i] = v.D; math.IsNaN(v.D) {
			r.unknown++
		} else if !(v.D <= r.d) {
			r.d = v.D
		}
	}
	limit := s.s.Threshold / 10
	if y.size() == 1 { // more draws have the same modes
		if r.unseen, err = (compare.Points{Posterior: s.p, Theta: modes, Workers: workers}).Unseen(s.ctx, by, limit); err != nil {
			return r, err
		}
	}
	if r.unseen == 0 && !r.enough(s.s.Threshold) {
		enough, found, err := compare.Points{Posterior: s.p, Theta: worstPoints(points, d), Workers: workers}.Sufficient(s.ctx, by, limit)
		if err != nil {
			return r, err
		}
		if found {
			r.sufficient = described(enough)
		}
	}
	return r, nil
}

// worstPoints returns the ten points with unknown or largest D.
func worstPoints(points [][]float64, d []float64) (worst [][]float64) {
	order := make([]int, len(points))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int {
		return cmp.Compare(nanOr(d[j], math.Inf(1)), nanOr(d[i], math.Inf(1)))
	})
	for _, i := range order[:min(10, len(order))] {
		worst = append(worst, points[i])
	}
	return worst
}

package shape

import (
	"math"
	"slices"

	"github.com/probode/probode/pkg/probode"
)

const (
	// If the solver has no derivatives, those of another method are used. lentTolerance
	// is the tolerance of this method, and lentSteps is its largest number of steps; a
	// problem that needs more steps is stiff.
	lentTolerance, lentSteps = 1e-6, 20000
	// lentError is the largest discrepancy D at which the predictions of this method
	// count as equal to those of the solver.
	lentError = 0.01
)

// along sets the locations at x, and their derivatives from the derivatives of the path.
// It reports whether the path has derivatives. The density must be held at x.
func (s *Surface) along(x []float64) bool {
	d := len(x)
	if d != len(s.theta) {
		return false // there are no derivatives with respect to ξ
	}
	s.place(x)
	slopes, directions := make([]float64, d), make([]float64, d*d)
	s.e.Slopes(slopes, x)
	for k, v := range slopes {
		directions[k*d+k] = v
	}
	all := s.e.Tangents(s.theta, directions)
	if all != nil {
		if math.IsInf(s.unmoved(x), 0) {
			return false
		}
	} else if !math.IsInf(s.Value(x), 0) {
		all = s.lend(directions)
	}
	s.locate()
	if all == nil || slices.ContainsFunc(all, func(rows []float64) bool { return !finite(rows...) }) {
		return false
	}
	for i, rows := range all {
		p := &s.parts[i]
		w := len(p.cols)
		p.jac = make([]float64, len(p.base)*w)
		for j := range p.base {
			for m, k := range p.cols {
				p.jac[j*w+m] = rows[j*d+k]
			}
		}
	}
	return true
}

// lend returns the derivatives of the locations as another method computes them, or nil
// if that method does not predict the same data.
func (s *Surface) lend(directions []float64) [][]float64 {
	if !s.asked {
		s.asked = true
		s.lent, _ = s.e.With(probode.Setup{Method: probode.RungeKutta{Tableau: probode.DormandPrince},
			Mesh: probode.Adaptive{Tolerance: probode.Tolerance{Relative: lentTolerance}, MaxSteps: lentSteps}})
	}
	if s.lent == nil {
		return nil
	}
	defer s.lent.Hold(s.theta)()
	all := s.lent.Tangents(s.theta, directions)
	if _, err := s.lent.LogLikelihood(s.theta, nil); all == nil || err != nil {
		return nil
	}
	if !(Discrepancy(s.Data(), s.lent.Expected(), s.e.Expected(), 0) < lentError) {
		return nil
	}
	return all
}

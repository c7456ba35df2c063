package shape

import (
	"math"
	"slices"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/bayes"
	"github.com/probode/probode/pkg/probode/methods"
)

// lentError bounds the discrepancy D between Lender and an accurate solver for
// derivatives by Lender.
const lentError = 0.01

// Lender is a setup whose derivatives are used if the accurate solver provides none.
var Lender = probode.Setup{Method: methods.Radau{}, Mesh: probode.Adaptive{Tolerance: probode.Tolerance{Relative: 1e-6}, MaxSteps: 20000}}

// along takes the derivatives of the path, on the steps that bayes.Density.Hold has fixed
// at x. Without ∂f/∂θ it fails for the accurate solver: differences of solutions cost
// less.
func (s *Surface) along(x []float64) bool {
	d := len(x)
	own := s.e.Differentiable()
	if s.lent = false; d != len(s.theta) || own && !s.sloped {
		return false // there are no derivatives with respect to ξ
	}
	s.place(x)
	slopes, directions := make([]float64, d), make([]float64, d*d)
	s.e.Slopes(slopes, x)
	for k, v := range slopes {
		directions[k*d+k] = v
	}
	var all [][]float64
	if own {
		if all = s.e.Tangents(s.theta, directions); all == nil || math.IsInf(s.unmoved(x), 0) {
			return false
		}
		s.locate()
	} else {
		if math.IsInf(s.again(x), 0) {
			return false
		}
		s.locate()
		all = s.lend(directions)
	}
	s.lent = !own && all != nil
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

func (s *Surface) locate() {
	rng := probode.Stream(0x73636f7265)
	for i := range s.parts {
		p, r := &s.parts[i], s.e.Part(i)
		p.state = append(p.state[:0], s.e.States(i)...)
		p.base = r.Locations(p.base[:0])
		r.Score(p.cells, s.Draws, rng)
	}
}

// Smooth returns a density that agrees with e near the point where Expand was last
// called. If the derivatives come from Lender, Smooth returns a density that is computed
// with Lender, because Lender costs less than the accurate solver of e. Otherwise Smooth
// returns e itself.
func (s *Surface) Smooth(e *bayes.Density) *bayes.Density {
	if s.lent {
		if other, err := e.With(Lender); err == nil {
			return other
		}
	}
	return e
}

// Gradients reports whether the density Smooth(e) has exact gradients. The steps of e
// must be held fixed (see Density.Hold). A density has exact gradients only if its solver
// provides the derivatives of the path and ∂f/∂θ is known.
func (s *Surface) Gradients(e *bayes.Density) bool {
	return s.sloped && s.Smooth(e).Differentiable()
}

// lend returns nil if Lender fails, or differs too much from the accurate solver.
func (s *Surface) lend(directions []float64) [][]float64 {
	lent, err := s.e.With(Lender)
	if err != nil {
		return nil
	}
	defer lent.Hold(s.theta)()
	all := lent.Tangents(s.theta, directions)
	if _, err := lent.LogLikelihood(s.theta, nil); all == nil || err != nil {
		return nil
	}
	if !(Discrepancy(s.Data(), lent.Expected(), s.e.Expected(), 0) < lentError) {
		return nil
	}
	return all
}

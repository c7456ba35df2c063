package bayes

import (
	"cmp"
	"fmt"
	"slices"

	"gonum.org/v1/gonum/mat"
)

// A Mode is a local maximum of the posterior density on the unconstrained scale. The
// density is computed without solver noise (ξ = 0). A Mode includes the Gaussian
// approximation at the maximum.
type Mode struct {
	Theta []float64 // the mode on the natural scale
	LogP  float64   // log density on the unconstrained scale

	// U is the mode on the unconstrained scale. Cov is the inverse of the Hessian matrix
	// of the negative log density at U. Cov is nil if the Hessian matrix is not positive
	// definite, or if the standard deviation in some direction is above 10 (on the
	// unconstrained scale). If Cov is nil, the mode lies on the boundary of the parameter
	// space, or the data do not determine all parameters. If the density has kinks (see
	// Kinked), the Fisher information replaces the Hessian matrix.
	U   []float64
	Cov *mat.SymDense

	// Mass is the posterior probability near the mode. LogMass is the logarithm of the
	// unnormalised mass, LogP + ½ log det 2πShape. Modes that have at least 0.001 of the
	// mass by these Gaussian approximations are weighed by importance sampling, which
	// divides the sum of their masses anew, to about 6 % of each.
	Mass, LogMass float64

	// Found is the number of searches that ended at this mode.
	Found int

	// Shape is equal to Cov unless Cov is nil. If Cov is nil, Shape is a covariance
	// matrix computed from corrected second derivatives (see shape.Point.Laplace). Shape
	// is nil if no covariance matrix could be computed.
	Shape *mat.SymDense
}

// Modes holds the modes that the searches found, in order of decreasing mass. Two end
// points count as the same mode if a path without a deep valley connects them. On such a
// path, the density stays above e^−½ times the smaller of its values at the two ends.
// End points with a negligible mass are left out. So are end points of unfinished searches,
// from which the density still rises, except the highest of all end points.
type Modes struct {
	Modes []*Mode

	SearchCounts

	// Ends[i] is the index of the mode at which the search from modes.Settings.From[i]
	// ended. The index is −1 if the density at the start was zero, the end point had a
	// negligible mass, or the search was not finished.
	Ends []int

	// Work is the number of solver steps in the search, divided by the number of steps
	// needed to solve all equations once. Seconds is the duration of the search.
	Work, Seconds float64
}

// SearchCounts holds counts that show how thorough a search for modes was.
type SearchCounts struct {
	// Searches is the total number of searches. Given is the number of searches that
	// began at given points, such as modes that earlier searches had found. Once is the
	// number of modes that only one search found. Of any further searches, a fraction of
	// about Once/Searches would end in new modes (see Modes.Missed and Modes.Doubtful).
	Searches, Given, Once int

	// Tried is the number of draws from the prior at which the density was evaluated.
	// Solved is the number of those at which the equations could be solved. The density may
	// be zero there, if the data are impossible.
	Tried, Solved int
}

// Highest returns the mode with the highest density.
func (m *Modes) Highest() *Mode {
	return slices.MaxFunc(m.Modes, func(a, b *Mode) int { return cmp.Compare(a.LogP, b.LogP) })
}

// Thetas returns the first mode and all other modes whose Mass is above `least`. The
// modes are on the natural scale. If `least` is negative, Thetas returns all modes.
func (m *Modes) Thetas(least float64) (out [][]float64) {
	for i, k := range m.Modes {
		if i == 0 || k.Mass > least {
			out = append(out, k.Theta)
		}
	}
	return out
}

// Missed returns a description of the modes that the search may have missed. If there
// are several modes, the text says how many of them only one search found. A mode may
// have been missed if fewer than 1 search in n ends there, and the text gives the number
// n. The text also says if the equations could be solved at fewer than half of the draws
// from the prior.
func (m *Modes) Missed() string {
	out := fmt.Sprintf("%d searches found %d modes; the number of modes found only once is %d", m.Searches, len(m.Modes), m.Once)
	if len(m.Modes) == 1 {
		out = fmt.Sprintf("%d of %d searches ended at this mode, and none ended at another mode with appreciable mass", m.Modes[0].Found, m.Searches)
	}
	return out + "; " + m.Unnoticed()
}

// Unnoticed returns the same text as Missed, but without the numbers of searches and
// modes. If many modes were found only once, the text estimates the fraction of further
// searches that would end in new modes.
func (m *Modes) Unnoticed() string {
	out := ""
	if 10*m.Once > m.Searches && m.Searches > 1 {
		out = fmt.Sprintf("the fraction of further searches that would end in new modes is about %.2g; ", float64(m.Once)/float64(m.Searches))
	}
	// If a search ends in a certain mode with probability 3/n, the probability that none
	// of n independent searches ends there is about e⁻³. Searches from given points are
	// not counted, because they usually end at known modes. Typically, at least three
	// quarters of the counted searches are independent. The rest begin on a coordinate
	// line through the end point of an earlier search.
	if n := (m.Searches - m.Given) / 4; n > 1 {
		out += fmt.Sprintf("if fewer than 1 search in %d ends at a mode, this mode may have been missed, even if its mass is large", n)
	} else {
		out += "other modes may have been missed, because there were few searches"
	}
	if m.Tried > 0 && 2*m.Solved < m.Tried {
		out += fmt.Sprintf("; the equations could be solved at only %d of %d draws from the prior, so modes may have been missed where the equations could not be solved", m.Solved, m.Tried)
	}
	return out
}

// Doubtful reports whether the search is likely to have missed modes. The result is true
// if more than a tenth of the searches ended in modes that no other search reached. In
// that case, about the same fraction of further searches would end in new modes [Good
// 1953]. Doubtful also returns true if the equations could be solved at fewer than half
// of the draws from the prior.
func (m *Modes) Doubtful() bool { return 10*m.Once > m.Searches || 2*m.Solved < m.Tried }

package bayes

import (
	"cmp"
	"fmt"
	"slices"

	"gonum.org/v1/gonum/mat"
)

// A Mode is a local maximum of a posterior density without noise (ξ = 0), on the
// unconstrained scale, with the Gaussian approximation at this maximum.
type Mode struct {
	Theta []float64 // the mode on the natural scale
	LogP  float64   // log density on the unconstrained scale

	// U is the mode on the unconstrained scale. Cov is the inverse of the matrix of
	// second derivatives of −log density at U. Cov is nil if this matrix of second
	// derivatives is not positive definite, or if the standard deviation in some
	// direction is above 10 (on the unconstrained scale). If Cov is nil, the mode lies on
	// the boundary of the parameter space, or the data do not determine all parameters.
	// If the density has kinks (see Kinked), it may have no second derivatives at U, and
	// the Fisher information is used instead.
	U   []float64
	Cov *mat.SymDense

	// Mass is the posterior probability near the mode, computed from the Gaussian
	// approximations at all modes. LogMass is the logarithm of the unnormalised mass,
	// LogP + ½ log det 2πShape.
	Mass, LogMass float64

	// Found is the number of searches that ended at this mode.
	Found int

	// Shape is Cov or, if Cov is nil, a covariance matrix derived from the second
	// derivatives (see shape.Laplace). Shape is nil if no covariance matrix could be
	// computed.
	Shape *mat.SymDense
}

// Modes are the distinct points at which searches ended, beginning with the one that has
// the largest mass. Two end points count as one mode if the density does not fall far
// between them: along a straight line or a bent path, the density stays above e^−½ times
// the lower of the densities at the two points. End points with a negligible mass are
// left out.
type Modes struct {
	Modes []*Mode

	SearchCounts

	// Ends holds, for each search that began at a point of modes.Settings.From, the index
	// of the mode in which the search ended. The index is −1 if the density at the start
	// was zero or the end point had a negligible mass.
	Ends []int

	// One solve means that all equations are solved once. Work is the cost of the search
	// in solves: the total number of solver steps, divided by the number of steps in one
	// solve. Seconds is the duration of the search.
	Work, Seconds float64
}

// SearchCounts holds the numbers that say how thorough a search for modes was.
type SearchCounts struct {
	// Searches is the number of searches. Given is the number of those searches that began
	// at given points, such as modes that earlier searches had found. Once is the number
	// of modes that only one search found. If more searches were made, the fraction that
	// would end in new modes is about Once/Searches; see Modes.Missed and Modes.Doubtful.
	Searches, Given, Once int

	// Tried is the number of draws from the prior at which the density was evaluated.
	// Solved is the number of these draws at which the density was positive.
	Tried, Solved int
}

// Highest returns the mode with the highest density.
func (m *Modes) Highest() *Mode {
	return slices.MaxFunc(m.Modes, func(a, b *Mode) int { return cmp.Compare(a.LogP, b.LogP) })
}

// Thetas returns the parameters, on the natural scale, of the first mode and of all other
// modes whose Mass is above `least`. If `least` is negative, Thetas returns all modes.
func (m *Modes) Thetas(least float64) (out [][]float64) {
	for i, k := range m.Modes {
		if i == 0 || k.Mass > least {
			out = append(out, k.Theta)
		}
	}
	return out
}

// Missed returns a text that says which modes the search may have missed. If there are
// several modes, the text gives the number of those that only one search found. A mode is
// found reliably only if a sufficient fraction of the searches ends in it; the text gives
// the required fraction. If the equations could be solved at fewer than half of the draws
// from the prior, the text says so.
func (m *Modes) Missed() string {
	out := fmt.Sprintf("%d searches found %d modes; the number of modes found only once is %d", m.Searches, len(m.Modes), m.Once)
	if len(m.Modes) == 1 {
		out = fmt.Sprintf("%d of %d searches ended at this mode, and none ended at another mode with appreciable mass", m.Modes[0].Found, m.Searches)
	}
	return out + "; " + m.Unnoticed()
}

// Unnoticed returns the text of Missed without the numbers of searches and modes. A mode
// is found reliably only if enough of the searches end at this mode; the text gives the
// required fraction. If many modes were found only once, the text estimates the fraction
// of further searches that would end in new modes.
func (m *Modes) Unnoticed() string {
	out := ""
	if 10*m.Once > m.Searches && m.Searches > 1 {
		out = fmt.Sprintf("the fraction of further searches that would end in new modes is about %.2g; ", float64(m.Once)/float64(m.Searches))
	}
	// If a search ends in a certain mode with probability 3/n, the probability that none
	// of n independent searches ends there is about e⁻³. Searches from given points find
	// only what was known, so they do not count. Of the others at least three quarters are
	// independent, and the rest begin on a coordinate line through the end point of an
	// earlier search.
	if n := (m.Searches - m.Given) / 4; n > 1 {
		out += fmt.Sprintf("a mode at which fewer than 1 search in %d ends may have been missed, even if its mass is large", n)
	} else {
		out += "other modes may have been missed, because there were few searches"
	}
	if m.Tried > 0 && 2*m.Solved < m.Tried {
		out += fmt.Sprintf("; the equations could be solved at only %d of %d draws from the prior, so modes may have been missed where the equations could not be solved", m.Solved, m.Tried)
	}
	return out
}

// Doubtful reports whether the search has probably missed some modes. The result is true
// if more than a tenth of the searches ended in modes that no other search reached. In
// that case, about the same fraction of further searches would end in new modes [Good
// 1953]. Doubtful also returns true if the equations could be solved at fewer than half
// of the draws from the prior.
func (m *Modes) Doubtful() bool { return 10*m.Once > m.Searches || 2*m.Solved < m.Tried }

package bayes

import (
	"fmt"

	"gonum.org/v1/gonum/mat"
)

// A Mode is a local maximum of the density of a posterior without noise (ξ = 0), on the
// unconstrained scale, with the Gaussian approximation there.
type Mode struct {
	Theta []float64 // the mode on the natural scale
	LogP  float64   // log density on the unconstrained scale

	// U is the mode on the unconstrained scale. Cov is the inverse of the matrix of
	// second derivatives of −log density at U. Cov is nil if that matrix is not positive
	// definite, or if a standard deviation in some direction is above ten. In both cases
	// the mode is at an edge, or the data do not determine all parameters. If the density
	// has kinks (see Kinked), it has no second derivatives there, and the Fisher
	// information takes their place.
	U   []float64
	Cov *mat.SymDense

	// Mass is the share of the posterior that belongs to the mode according to the
	// Gaussian approximations. LogMass is the logarithm of its mass before normalisation,
	// LogP + ½ log det 2πCov.
	Mass, LogMass float64

	// Found is the number of searches that ended here.
	Found int

	// Shape is Cov or, if Cov is nil, the covariance matrix that comes closest to the
	// inverse of the second derivatives. It is nil if there is none.
	Shape *mat.SymDense
}

// Modes are the distinct points at which searches ended, beginning with the one that has
// the largest mass. End points without a barrier between them count as one mode. End
// points with a negligible mass are left out.
type Modes struct {
	Modes []*Mode

	// Searches is the number of searches, and Once is the number of modes in which only
	// one search ended. Once/Searches estimates the share of further searches that would
	// end in new modes; see Missed and Doubtful.
	Searches, Once int

	// Ends holds the indices of the modes in which the searches from modes.Settings.From
	// ended, or −1 if the density at the start was zero or the end point had a negligible
	// mass.
	Ends []int

	// Tried is the number of draws from the prior that were tried as starts, and Solved
	// is the number of those draws at which the density was positive.
	Tried, Solved int

	// Work is the cost of the search: the number of steps of the solvers, divided by the
	// number of steps in one solution of all equations. Seconds is the time it took.
	Work, Seconds float64
}

// Highest returns the mode with the highest density.
func (m *Modes) Highest() *Mode {
	best := m.Modes[0]
	for _, k := range m.Modes {
		if k.LogP > best.LogP {
			best = k
		}
	}
	return best
}

// Missed says in words how much may have been missed. It gives the number of modes that
// only one search found, and the number of draws from the prior at which the equations
// could be solved. It also gives the largest share of the searches that a mode could
// attract and still be missed.
func (m *Modes) Missed() string {
	out := fmt.Sprintf("%d searches found %d modes; the number of modes found only once is %d", m.Searches, len(m.Modes), m.Once)
	if len(m.Modes) == 1 {
		out = fmt.Sprintf("%d of %d searches ended at this mode, and none ended at another mode with a noticeable mass", m.Modes[0].Found, m.Searches)
	}
	return out + "; " + m.Unnoticed()
}

// Unnoticed is the part of Missed that does not count the modes: it says what share of
// further searches would end in other modes, and what share of the searches a mode could
// attract and still be missed.
func (m *Modes) Unnoticed() string {
	out := ""
	if 10*m.Once > m.Searches && m.Searches > 1 {
		out = fmt.Sprintf("a fraction of about %.2g of further searches would end in other modes; ", float64(m.Once)/float64(m.Searches))
	}
	// If a search ends in a certain mode with probability 3/n, the probability that none
	// of n independent searches ends there is about e⁻³. At most a quarter of the
	// searches are not independent of the others, because they begin at points that
	// others have found.
	if n := m.Searches / 4; n > 1 {
		out += fmt.Sprintf("a mode that fewer than 1 search in %d would reach may have been missed, whatever its mass", n)
	} else {
		out += "so few may have missed others"
	}
	if m.Tried > 0 && 2*m.Solved < m.Tried {
		out += fmt.Sprintf("; the equations could be solved at only %d of %d draws from the prior, so modes elsewhere may be missing", m.Solved, m.Tried)
	}
	return out
}

// Doubtful reports whether some modes have probably not been found. This is so if more
// than a tenth of the searches ended in modes that no other search reached, because then
// about the same share of further searches would end in new modes [Good 1953]. This is
// also the case if, for most of the draws from the prior, the equations could not be
// solved.
func (m *Modes) Doubtful() bool { return 10*m.Once > m.Searches || 2*m.Solved < m.Tried }

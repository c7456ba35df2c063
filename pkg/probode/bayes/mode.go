package bayes

import (
	"fmt"

	"gonum.org/v1/gonum/mat"
)

// A Mode is a local maximum of a posterior without noise (ξ = 0) on the
// unconstrained scale, with the Gaussian approximation there.
type Mode struct {
	Theta []float64 // on the natural scale
	LogP  float64   // log density on the unconstrained scale

	// U is the mode on the unconstrained scale and Cov the inverse of the
	// matrix of second derivatives of −log density there. Cov is nil if that
	// matrix is not positive definite, or leaves a direction a standard
	// deviation beyond ten: the mode is at the edge of something, or the data
	// do not determine all parameters. Where the density has kinks (see Kinked), at
	// which there are no such derivatives, Fisher's information takes their place.
	U   []float64
	Cov *mat.SymDense

	// Mass is the share of the posterior that the Gaussian approximations give
	// to the mode, and LogMass the logarithm of its mass before normalisation,
	// LogP + ½ log det 2πCov.
	Mass, LogMass float64

	// Found is the number of searches that ended here.
	Found int

	// Tried is the number of draws of the prior that were looked at for where
	// to begin, and Solved the number of these at which the equations could be
	// solved.
	Tried, Solved int

	// Shape is Cov, or where that is nil the nearest covariance matrix; nil if there is none.
	Shape *mat.SymDense
}

// Modes are the distinct ends of a search, the one with the largest mass first.
// Ends without a barrier between them are one mode, and so are those that the
// search has left too low to hold 1e-6 of the mass left out.
type Modes struct {
	Modes []*Mode

	// Searches is the number of searches that were made, and Once that of the
	// modes which only one of them ended in. Once over Searches is about the share
	// of further searches that would end in new modes; see Missed and Doubtful.
	Searches, Once int

	// Ends are the modes in which the searches from ModeSearch.From ended, −1
	// where the density was zero or the end too low to count.
	Ends []int

	Tried, Solved int // as of a Mode

	// Work is the number of solutions that the search took: its steps, in units of
	// the steps of one solution of all the equations. Seconds is the time.
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

// Missed says in words what a search may have missed: how many of its ends only one
// search has found, of how small a share of the searches a mode might have gone
// unnoticed, and at how many draws of the prior it could see anything.
func (m *Modes) Missed() string {
	out := fmt.Sprintf("%d searches came to %d modes, %d of these only once", m.Searches, len(m.Modes), m.Once)
	if len(m.Modes) == 1 {
		out = fmt.Sprintf("%d of %d searches came here, and none to another mode that counts", m.Modes[0].Found, m.Searches)
	}
	if 10*m.Once > m.Searches && m.Searches > 0 {
		out += fmt.Sprintf("; about %.2g of further searches would come to others", float64(m.Once)/float64(m.Searches))
	}
	// Of n independent searches none comes with a probability of e⁻³ to where 3/n of all
	// do. A quarter, at most, begin at what others have found, and are not independent.
	if n := m.Searches / 4; n > 1 {
		out += fmt.Sprintf("; a mode that fewer than 1 search in %d would reach may have been missed, whatever its mass", n)
	} else {
		out += "; so few may have missed others"
	}
	if m.Tried > 0 && 2*m.Solved < m.Tried {
		out += fmt.Sprintf("; the equations could be solved at %d of %d draws of the prior only, so that modes elsewhere may be missing", m.Solved, m.Tried)
	}
	return out
}

// Doubtful reports whether a search has seen enough to doubt that it has seen all:
// more than a tenth of the searches came to modes that no other came to, which is
// about the share of further ones that would come to new modes [Good 1953]; or at most
// of the draws of the prior the equations could not be solved.
func (m *Modes) Doubtful() bool { return 10*m.Once > m.Searches || 2*m.Solved < m.Tried }

package bayes

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"

	"gonum.org/v1/gonum/mat"

	"github.com/probode/probode/pkg/probode/mcmc"
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

	from  []int         // of ModeSearch.From that ended here
	shape *mat.SymDense // Cov, or the nearest thing to it
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

// leastMass is the mass below which a mode is not spoken of.
const leastMass = 0.01

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

// heavy returns the modes that hold more than leastMass, at least one. Where the
// Gaussian approximation of the highest is none there is no mass to go by, and it
// is alone.
func (m *Modes) heavy() []*Mode {
	if best := m.Highest(); best.Cov == nil {
		return []*Mode{best}
	}
	out := m.Modes[:1:1]
	for _, k := range m.Modes[1:] {
		if k.Mass > leastMass && k.Cov != nil {
			out = append(out, k)
		}
	}
	return out
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

// describe says where chains start.
func (m *Modes) describe(p *Posterior) string {
	heavy := m.heavy()
	if len(heavy) == 1 {
		return fmt.Sprintf("chains start around the mode of the deterministic posterior, %s (%s)", p.format(heavy[0].Theta), m.Missed())
	}
	var all []string
	for _, k := range heavy {
		all = append(all, fmt.Sprintf("%s with %.3g of the mass", p.format(k.Theta), k.Mass))
	}
	return fmt.Sprintf("the deterministic posterior has %d modes: %s (%s); chains start in each in proportion, and jump between them", len(heavy), strings.Join(all, "; "), m.Missed())
}

// FindMode returns the highest of the modes that FindModes finds, from the given
// points too.
func (p *Posterior) FindMode(ctx context.Context, seed uint64, from ...[]float64) (*Mode, error) {
	if p == nil {
		return nil, errors.New("bayes: the Posterior is nil")
	}
	for _, x := range from {
		if len(x) != len(p.Params) {
			panic(fmt.Sprintf("bayes: FindMode from %d numbers: want %d, one for each parameter", len(x), len(p.Params)))
		}
	}
	m, err := p.FindModes(ctx, ModeSearch{Seed: seed, From: from})
	if err != nil {
		return nil, err
	}
	return m.Highest(), nil
}

// gaussianMass sets LogMass.
func (m *Mode) gaussianMass() {
	m.LogMass = m.LogP
	var chol mat.Cholesky
	if m.shape != nil && chol.Factorize(m.shape) {
		m.LogMass += chol.LogDet()/2 + float64(len(m.U))/2*math.Log(2*math.Pi)
	}
}

// Shares returns the share of the draws that belongs to each of the modes of m:
// see Assign. It is an error if the chains are of another model.
func (p *Posterior) Shares(m *Modes, chains *mcmc.Chains) ([]float64, error) {
	all, err := p.Assign(m, chains)
	if err != nil {
		return nil, err
	}
	out, n := make([]float64, len(m.Modes)), 0.0
	for _, c := range all {
		for _, k := range c {
			if k >= 0 {
				out[k]++
				n++
			}
		}
	}
	for k := range out {
		out[k] /= max(1, n)
	}
	return out, nil
}

// Assign returns, by chain and draw, the mode of m that a draw belongs to: the one
// with the largest Gaussian density there, its mass included; −1 where a draw is
// outside of the supports of the priors. It is an error if the chains are of another
// model.
func (p *Posterior) Assign(m *Modes, chains *mcmc.Chains) ([][]int, error) {
	e, err := NewDensity(p)
	if err != nil {
		return nil, err
	}
	if len(chains.Names) != len(p.Params) {
		return nil, fmt.Errorf("bayes: chains of %d parameters: want %d", len(chains.Names), len(p.Params))
	}
	factors := make([]mat.Cholesky, len(m.Modes))
	known := make([]bool, len(m.Modes))
	for k, mode := range m.Modes {
		known[k] = mode.shape != nil && factors[k].Factorize(mode.shape)
	}
	u := make([]float64, len(p.Params))
	diff, solved := mat.NewVecDense(len(u), nil), mat.NewVecDense(len(u), nil)
	nearest := func(theta []float64) int {
		if e.Unconstrain(u, theta) != nil {
			return -1
		}
		best, at := math.Inf(-1), 0
		for k, mode := range m.Modes {
			if !known[k] {
				continue
			}
			for i := range u {
				diff.SetVec(i, u[i]-mode.U[i])
			}
			if factors[k].SolveVecTo(solved, diff) != nil {
				continue
			}
			if f := mode.LogP - mat.Dot(diff, solved)/2; f > best {
				best, at = f, k
			}
		}
		return at
	}
	out := make([][]int, len(chains.Draws))
	for i, c := range chains.Draws {
		out[i] = make([]int, len(c))
		for k, theta := range c {
			out[i][k] = nearest(theta)
		}
	}
	return out, nil
}

package mcmc

import (
	"math"
	"math/rand/v2"
)

// Metropolis is the Metropolis–Hastings kernel. From the position x, the kernel proposes
// a point y drawn from the density q(y | x), and moves to y with probability
//
//	min(1, π(y) q(x | y) / π(x) q(y | x)).
//
// One iteration evaluates the target once. An iteration allocates no memory, except while
// the target is evaluated.
type Metropolis struct {
	Target LogDensity

	Proposal AdaptiveMetropolis

	walk  *Proposal
	x, y  []float64
	logp  float64 // log π(x)
	stats Stats
}

var _ Kernel = (*Metropolis)(nil)

// Init sets the position of the chain to a copy of x, and discards everything that the
// proposal has learned.
func (m *Metropolis) Init(x []float64, _ *rand.Rand) error {
	logp, err := checked(m.Target(x))
	if err := startError(x, logp, err); err != nil {
		return err
	}
	m.walk = m.Proposal.New(len(x))
	m.x = append(m.x[:0], x...)
	m.y = make([]float64, len(x))
	m.logp = logp
	m.stats = Stats{}
	return nil
}

// Step makes one iteration.
func (m *Metropolis) Step(rng *rand.Rand) {
	logq := m.walk.Propose(m.y, m.x, rng)
	logp, err := checked(m.Target(m.y))
	m.stats.Proposed++

	// If U is uniform on (0, 1), −log U has the standard exponential distribution. The
	// variate is drawn even if the outcome is certain, so that the number of variates
	// drawn does not depend on the outcome.
	e := rng.ExpFloat64()
	probability := 0.0
	if err != nil {
		m.stats.Failed++
	} else {
		ratio := logp - m.logp + logq
		probability = math.Exp(min(0, ratio))
		if ratio >= -e {
			m.stats.Accepted++
			m.x, m.y = m.y, m.x
			m.logp = logp
		}
	}
	m.walk.Observe(m.x, probability)
}

// Position returns the position of the chain. The returned slice is valid until the next
// call of Step.
func (m *Metropolis) Position() []float64 { return m.x }

// Stats returns the counts of moves since Init.
func (m *Metropolis) Stats() Stats { return m.stats }

// Evaluate recomputes the log density at the position of the chain. The result is NaN
// if the evaluation fails. See store.Evaluator.
func (m *Metropolis) Evaluate() []float64 {
	logp, _ := checked(m.Target(m.x))
	return []float64{logp}
}

// State stores or restores the position of the chain and everything that the proposal has
// learned.
func (m *Metropolis) State(a *Archive) {
	a.Floats(m.x)
	a.Float(&m.logp)
	a.Stats(&m.stats)
	m.walk.State(a)
}

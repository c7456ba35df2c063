package sample

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/bayes"
	"github.com/probode/probode/pkg/probode/mcmc"
)

// Tempering updates θ by parallel tempering between the posterior and the prior (see
// mcmc.Tempering). The equations are solved without noise, that is, with ξ = 0. Each
// chain has one replica for each inverse temperature β, with the density p(θ) p(Y | θ)^β.
//
// Stationary distribution: p₀(θ | Y). Cost: with ten temperatures, each draw takes 15
// solves. For each draw, the replica at β = 1 makes five moves, and each of the nine
// other replicas makes one; the draw itself is solved once more. If error control chooses
// the steps anew for every θ, the half of the replicas with the smaller values of β has a
// relative tolerance of 10⁻³ and no largest step; swaps between the halves then take one
// more solve. The draws have the distribution of the given solver all the same: see
// mcmc.Tempering.Coarse. Use Tempering if the posterior has several modes, or ridges along
// which other samplers move too slowly. Tempering is also useful for checking other
// samplers.
type Tempering struct {
	// Temperatures is the number of temperatures. Zero means 10.
	Temperatures int
}

func (Tempering) String() string { return "tempering" }

// Algorithm draws from p₀(θ | Y).
func (s Tempering) Algorithm() Algorithm {
	return Algorithm{Target: Classical, Check: s.check, Kernel: s.kernel,
		BurnIn: func(parameters int) int { return 300 + 75*parameters },
		Tuned:  tunedSwaps}
}

func (s Tempering) check(*bayes.Density) error {
	if s.Temperatures < 0 || s.Temperatures == 1 || s.Temperatures > 1000 {
		return fmt.Errorf("sample: %v: Temperatures is %d: want a number from 2 to 1000, or 0 for the default, 10", s, s.Temperatures)
	}
	return nil
}

func (s Tempering) kernel(e *bayes.Density, walk mcmc.AdaptiveMetropolis, burnIn int) mcmc.Kernel {
	k := newNatural(e)
	target := func(e *bayes.Density) func(u []float64) (base, rest float64, err error) {
		return func(u []float64) (base, rest float64, err error) {
			if base = e.Constrain(k.work, u); math.IsInf(base, -1) {
				return base, 0, nil
			}
			rest, err = e.LogLikelihood(k.work, nil)
			return base, rest, err
		}
	}
	tempering := &mcmc.Tempering{BurnIn: burnIn, Temperatures: s.Temperatures, Proposal: walk, Target: target(e),
		Draw: func(u []float64, rng *rand.Rand) {
			for range 100 { // a draw may be rounded to the edge of the support
				if e.Unconstrain(u, e.Posterior().DrawPrior(rng)) == nil {
					return
				}
			}
		}}
	if c := coarse(e); c != nil {
		tempering.Coarse = target(c)
	}
	k.unconstrained = tempering
	return &k
}

// coarse returns a density that is cheaper than e and accurate enough where it is
// multiplied by a small β, or nil if there is none.
func coarse(e *bayes.Density) *bayes.Density {
	const relative = 1e-3
	s := e.Posterior().Setup
	m, controlled := s.Mesh.(probode.Adaptive)
	if !controlled || !(m.Relative > 0 && m.Relative < relative) {
		return nil
	}
	m.Tolerance = m.Times(relative / m.Relative)
	if m.Max == 0 {
		m.Max = math.Inf(1)
	}
	s.Mesh = m
	c, err := e.With(s)
	if err != nil {
		return nil
	}
	return c
}

// unconstrained is implemented by kernels that move on the unconstrained scale.
type unconstrained interface {
	mcmc.Kernel
	LogDensity() float64
}

// natural converts a kernel on the unconstrained scale to a kernel on the natural scale.
type natural struct {
	unconstrained
	e           *bayes.Density
	theta, work []float64
}

func newNatural(e *bayes.Density) natural {
	return natural{nil, e, make([]float64, e.Dim()), make([]float64, e.Dim())}
}

// Init places the chain at θ = x.
func (n *natural) Init(x []float64, rng *rand.Rand) error {
	return n.init(x, rng, n.unconstrained.Init)
}

// init converts x to the unconstrained scale, and passes the result to the function
// `init`.
func (n *natural) init(x []float64, rng *rand.Rand, init func(u []float64, rng *rand.Rand) error) error {
	u := make([]float64, len(x))
	if err := n.e.Unconstrain(u, x); err != nil {
		return err
	}
	err := init(u, rng)
	if err == nil {
		return nil
	}
	if cause := n.e.Explain(x, nil); cause != nil {
		err = cause
	}
	return fmt.Errorf("sample: a chain cannot start at %.4g: %w", x, err)
}

// Position returns θ. The position of the kernel n.unconstrained begins with θ on the
// unconstrained scale.
func (n *natural) Position() []float64 {
	n.e.Constrain(n.theta, n.unconstrained.Position()[:len(n.theta)])
	return n.theta
}

// Generate writes the quantities that Density.Generate computes. If the kernel
// n.unconstrained has statistics, Generate also writes these statistics.
func (n *natural) Generate(dst []float64) {
	theta := n.Position()
	n.e.LogLikelihood(theta, nil) // it was solved before, so there is no error
	n.e.Generate(dst, n.LogDensity(), theta, n.e.Expected())
	if g, ok := n.unconstrained.(mcmc.Generator); ok {
		g.Generate(dst[1:])
	}
}

// tunedSwaps returns the mean probability of a swap for each pair of neighbouring
// temperatures, and how many points have moved from the prior (β = 0) to the posterior (β = 1).
func tunedSwaps(k mcmc.Kernel) (what, value string) {
	rates, trips := k.(*natural).unconstrained.(*mcmc.Tempering).Swaps()
	var all []string
	for _, r := range rates {
		all = append(all, fmt.Sprintf("%.2f", r))
	}
	value = fmt.Sprintf("%s and %d", strings.Join(all, " "), trips)
	if slices.Min(rates) < leastSwaps || trips == 0 {
		value += " (too few: take more Temperatures or draws)"
	}
	return "swap rates between neighbouring temperatures, listed in order of temperature, and the number of points that moved from the prior to the posterior", value
}

// Four chains, each with fewTrips points from the prior, miss a mode that holds a tenth of the
// mass with a probability of 0.002.
const fewTrips = 15

// unexplored returns a warning if the search is likely to have missed modes, and few points have
// come from the prior to the posterior since; otherwise "".
func (j *job) unexplored(k mcmc.Kernel) string {
	if _, is := j.sampler.(Tempering); !is || j.modes == nil || !j.modes.Doubtful() {
		return ""
	}
	if _, trips := k.(*natural).unconstrained.(*mcmc.Tempering).Swaps(); trips >= fewTrips {
		return ""
	}
	return fmt.Sprintf("warning: there may be modes without draws: few points came from the prior to the posterior; %d searches for modes: %s", j.modes.Searches, j.modes.Unnoticed())
}

// A swap rate below leastSwaps triggers a warning.
const leastSwaps = 0.1

package mcmc

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
)

// Settings determine how many chains are run, where they start, and how many iterations
// they perform. All fields except Start may be zero, which means the default value.
type Settings struct {
	// Draws is the number of draws kept from each chain. Zero means 1000.
	Draws int

	// Chains is the number of chains in the run. Zero means 4. With fewer than four
	// chains, R̂ is less likely to reveal poor mixing.
	Chains int

	// BurnIn is the number of iterations that each chain runs before it keeps draws. Zero
	// means 1000; a negative value means no burn-in.
	BurnIn int

	// Thin is the number of iterations per draw: of every Thin consecutive positions,
	// only the last is kept. Zero means 1. Thinning only saves memory.
	Thin int

	// Seed and the index of a chain together determine all random numbers of that chain.
	Seed uint64

	// Start returns a starting point for a chain. Each call must return a new slice. The
	// starting points should be scattered more widely than the target distribution, so
	// that eventual agreement between the chains is evidence of convergence. If a chain
	// cannot start at a point, for example because the density is zero there, Start is
	// called again. Start is called at most 100 times for each chain. Start must not be
	// nil.
	Start func(chain int, rng *rand.Rand) []float64

	// Names are the names of the parameters. Nil means x1, x2, ….
	Names []string

	// Generated holds the names of quantities that are kept with each draw, in addition
	// to the parameters. If Generated is not empty, each kernel must be a Generator that
	// returns one quantity for each name.
	Generated []string

	// If MinESS is positive, the chains run until the bulk effective sample size of all
	// chains together is at least MinESS for every parameter. The effective sample size
	// is computed whenever the number of draws per chain reaches a multiple of Draws, so
	// the result does not depend on the number of workers. If a run stops as soon as the
	// estimated effective sample size is large enough, the estimate is a little too
	// large, especially if it is recomputed often. To keep the bias of the effective
	// sample size small, set Draws to at least a few hundred.
	MinESS float64

	// MaxDraws is the maximum number of draws per chain. A run ends when its chains have
	// MaxDraws draws, even if the effective sample size is still below MinESS. Zero means
	// 100 times Draws. MaxDraws has no effect if MinESS is zero.
	MaxDraws int

	// Only, if not nil, lists the indices of the chains to run. The indices must be
	// distinct numbers from 0 to Chains − 1. The draws of a chain do not depend on which
	// other chains are run, so a run can be split over several machines.
	Only []int

	// Workers is the number of chains that run at the same time. Zero means the number of
	// processors. The number of workers does not change the result.
	Workers int

	// Progress, if not nil, is called about ten times a second and once at the end. The
	// arguments of Progress are the number of iterations completed, the largest number of
	// iterations that the run may need, and a line of text with rates and diagnostics. At
	// the end of a complete run, the arguments `done` and `total` are equal. Only one
	// call of Progress runs at a time, so a slow call can delay the chains.
	Progress func(done, total int, doing string)
}

// startTries is enough if the density is positive at one in ten points drawn from a
// prior: all tries fail with probability 0.9¹⁰⁰ = 3e-5.
const startTries = 100

// WithDefaults returns the settings with zeros replaced by the defaults. WithDefaults
// returns an error if Start is nil, or if a count is out of range.
func (s Settings) WithDefaults() (Settings, error) {
	for _, c := range []struct {
		name  string
		value float64
	}{
		{"Draws", float64(s.Draws)}, {"Chains", float64(s.Chains)}, {"Thin", float64(s.Thin)}, {"MaxDraws", float64(s.MaxDraws)},
		{"Workers", float64(s.Workers)}, {"MinESS", s.MinESS},
	} {
		if !(c.value >= 0) || math.IsInf(c.value, 1) {
			return s, fmt.Errorf("mcmc: %s is %g: want a number ≥ 0", c.name, c.value)
		}
	}
	if s.Start == nil {
		return s, errors.New("mcmc: Settings.Start is nil: want a function that returns a starting point")
	}
	s.Draws = cmp.Or(s.Draws, 1000)
	s.Chains = cmp.Or(s.Chains, 4)
	switch {
	case s.BurnIn == 0:
		s.BurnIn = 1000
	case s.BurnIn < 0:
		s.BurnIn = 0
	}
	s.Thin = cmp.Or(s.Thin, 1)
	s.Workers = cmp.Or(s.Workers, runtime.GOMAXPROCS(0))
	if s.Chains > MaxChains {
		return s, fmt.Errorf("mcmc: %d chains: want at most %d", s.Chains, MaxChains)
	}
	most := (math.MaxInt/s.Chains - s.BurnIn) / s.Thin
	if s.Draws > most {
		return s, fmt.Errorf("mcmc: Draws is %d: want at most %d with Thin %d and BurnIn %d", s.Draws, most, s.Thin, s.BurnIn)
	}
	s.MaxDraws = cmp.Or(s.MaxDraws, 100*min(s.Draws, most/100))
	s.MaxDraws = min(s.MaxDraws, most)
	if s.Only == nil {
		for i := range s.Chains {
			s.Only = append(s.Only, i)
		}
	}
	if len(s.Only) == 0 {
		return s, errors.New("mcmc: Settings.Only has no elements: want nil for all chains, or a list of one or more chain numbers")
	}
	seen := make(map[int]bool, len(s.Only))
	for _, i := range s.Only {
		if i < 0 || i >= s.Chains || seen[i] {
			return s, fmt.Errorf("mcmc: Settings.Only contains chain %d: want distinct numbers from 0 to %d", i, s.Chains-1)
		}
		seen[i] = true
	}
	return s, nil
}

// MaxChains is the largest number of chains that is allowed. MaxChains is far larger than
// any application needs, but a list of that many chains still fits into memory.
const MaxChains = 1_000_000

func (s *Settings) iterations(n int) int { return s.BurnIn + n*s.Thin }

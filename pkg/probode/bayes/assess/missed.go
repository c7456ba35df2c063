package assess

import (
	"cmp"
	"math"

	"gonum.org/v1/gonum/floats"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/bayes"
	"github.com/probode/probode/pkg/probode/bayes/modes"
	"github.com/probode/probode/pkg/probode/bayes/shape"
	"github.com/probode/probode/pkg/probode/internal/pieces"
	"github.com/probode/probode/pkg/probode/reference"
)

// Weights and k̂ contain no information about regions without draws. The functions in
// this file check whether the draws that represent the reference posterior miss a part of
// this posterior. The missed part may be a mode that another search has found. The missed
// part may also be a region in which the solver used for the draws fails, but the
// reference does not. A distant mode whose mass is so small that it contains no draws may
// still change a mean or an sd.

const (
	// starts is the largest number of draws from which missedAround proposes, twice from
	// each.
	starts = 400
	// A point is not reached if its log density is lower than that of all draws by more
	// than `unreached`.
	unreached = 5
	// A move to a log density that is lower than that of all draws by more than
	// `negligible` is practically never accepted.
	negligible = 30
)

func (s *sampling) missed(d *draws) (mass float64, err error) {
	around, err := s.missedAround(d)
	reference := s.modes.reference
	if d.shared {
		reference = d.pair.modes
	}
	if err != nil || reference == nil || len(reference.Modes) < 2 {
		return around, err
	}
	in, err := modes.Assign(d.p, reference, d.few)
	if err != nil {
		return around, nil
	}
	all, shares := 0.0, make([]float64, len(reference.Modes))
	for c := range in {
		for n, at := range in[c] {
			all += d.weights[c][n]
			if at >= 0 {
				shares[at] += d.weights[c][n]
			}
		}
	}
	for k, m := range reference.Modes {
		if m.Mass > minor && shares[k] < counterpart*m.Mass*all {
			mass += m.Mass
		}
	}
	return math.Max(mass, around), nil
}

// missedAround proposes N Metropolis moves for the posterior under d.to from draws of
// d.p. Let n be the expected number of those accepted at points at which the density of
// d.p is almost zero: 2 n/N is approximately the mass of the part without draws. Only at
// these points are the equations solved with d.to, and first with shape.Lender: the
// reference may need a minute for one solution.
func (s *sampling) missedAround(d *draws) (share float64, err error) {
	coarse, err := bayes.NewDensity(s.ctx, d.p)
	if err != nil {
		return 0, err
	}
	fine, err := bayes.NewDensity(s.ctx, s.p.SolvedBy(d.to))
	if err != nil {
		return 0, err
	}
	var first *bayes.Density
	if _, ok := d.to.Mesh.(reference.Accurate); ok {
		if first, err = fine.With(shape.Lender); err != nil {
			return 0, err
		}
	}
	defer coarse.Bind(s.ctx)()
	var u [][]float64
	lowest := math.Inf(1)
	for _, theta := range d.resampled(starts) {
		v := make([]float64, len(theta))
		if coarse.Unconstrain(v, theta) != nil {
			return 0, nil // the draw is at the end of a support
		}
		u = append(u, v)
		if lp, err := coarse.LogPosterior(v, nil); err == nil {
			lowest = math.Min(lowest, lp)
		}
	}
	n := len(s.p.Params)
	if len(u) < 2*n+2 {
		return 0, s.ctx.Err()
	}
	rng := probode.Stream(s.s.Chains.Seed, 0x6c6f7374)
	to := make([][]float64, 2*len(u))
	for i := range to {
		// The difference between two draws has twice the covariance of the posterior, so
		// moves along such differences match the shape of the posterior [ter Braak 2006].
		a, b := u[rng.IntN(len(u))], u[rng.IntN(len(u))]
		to[i] = make([]float64, n)
		for k := range to[i] {
			to[i][k] = u[i%len(u)][k] + 2.38/math.Sqrt(2*float64(n))*(a[k]-b[k])
		}
	}
	shares := make([]float64, len(to))
	_, err = pieces.Each(s.ctx, s.s.Chains.Workers, len(to), nil, func() func(int) error {
		coarse, fine, first := coarse.Clone(), fine.Clone(), first
		coarse.Bind(s.ctx)
		fine.Bind(s.ctx)
		if first != nil {
			first = first.Clone()
			first.Bind(s.ctx)
		}
		return func(i int) error {
			if lp, err := coarse.LogPosterior(to[i], nil); err == nil && lp > lowest-unreached {
				return nil
			}
			if first != nil {
				if lp, err := first.LogPosterior(to[i], nil); err == nil && lp < lowest-negligible {
					return nil
				}
			}
			there, err := fine.LogPosterior(to[i], nil)
			if err != nil || math.IsNaN(there) {
				return nil // the density is unknown; failures of the reference are counted elsewhere
			}
			if here, err := fine.LogPosterior(u[i%len(u)], nil); err == nil {
				shares[i] = math.Exp(math.Min(0, there-here)) / float64(len(u))
			}
			return nil
		}
	})
	return floats.Sum(shares), cmp.Or(err, s.ctx.Err())
}

type unvisited struct {
	size  float64 // the shift that it would cause in the mean or sd of a parameter, in units of the threshold
	theta []float64
	mass  float64 // mass according to the Gaussian approximation
}

// unvisited returns the mode without draws, of the sampled or the reference posterior,
// that could shift the mean or sd most by its Gaussian approximation. The shift is zero
// if all have draws.
func (s *sampling) unvisited(d *draws, y *standard, j int) unvisited {
	own, reference := s.empty(d.pair.modes, d.visited, y, j), s.empty(s.modes.reference, d.visitedReference, y, j)
	if own.size < reference.size {
		return reference
	}
	return own
}

// empty does this for one posterior. `visited` has the share of the draws in each mode,
// if known.
func (s *sampling) empty(m *bayes.Modes, visited []float64, y *standard, j int) (most unvisited) {
	for k := range visited {
		mode := m.Modes[k]
		if visited[k] > 0 || mode.Cov == nil || len(m.Modes) < 2 {
			continue
		}
		if size := s.moved(y.accurate[byMoments][j], mode.Mass, mode.Theta[s.assessed[j]]); size > most.size {
			most = unvisited{size, mode.Theta, mode.Mass}
		}
	}
	return most
}

func (y *standard) meanless(s *sampling, j int) bool {
	return s.empty(s.modes.reference, y.visitedReference, y, j).size > unvisitedSize
}

// moved returns the larger shift, of mean or sd, by a small mass at x, in units of the
// threshold.
func (s *sampling) moved(from CenterSpread, mass, x float64) float64 {
	far := math.Abs(x-from.Center) / from.Spread
	return math.Max(mass*far, math.Log1p(mass*far*far)/2) / s.s.Threshold
}

// unseen returns the mass of a mode that the draws of one of the two would miss with a
// probability of 5 %.
func (s *sampling) unseen(d *draws, y *standard) float64 {
	least := y.worth
	for _, k := range s.assessed {
		least = math.Min(least, nanOr(d.summed.Summary[k].BulkESS, 0))
	}
	return math.Min(1, 3/least)
}

// unseenSize returns the largest shift by an undetected mode in the central 99.9 % of the
// prior, in units of the threshold.
func (s *sampling) unseenSize(d *draws, y *standard, j int) (size float64) {
	for _, p := range []float64{0.0005, 0.9995} {
		size = math.Max(size, s.moved(y.accurate[byMoments][j], s.unseen(d, y), s.p.Params[s.assessed[j]].Prior.Quantile(p)))
	}
	return size
}

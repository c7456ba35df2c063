package assess

import (
	"math"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/bayes"
	"github.com/probode/probode/pkg/probode/bayes/compare"
	"github.com/probode/probode/pkg/probode/bayes/modes"
)

// Weights and k̂ contain no information about regions without draws. The functions in
// this file check whether the draws of the reference posterior miss a part of the
// posterior of a setup: a mode that a search has found, or a region in which the reference
// density is almost zero. A distant mode whose mass is so small that it contains no draws
// may still change a mean or an sd.

const (
	// starts is the largest number of draws from which missedAround proposes, twice from
	// each.
	starts = 400
	// A point is not reached if its log density is lower than that of all draws by more
	// than `unreached`.
	unreached = 5
)

// missed estimates the share of the posterior of a setup that the draws do not reach.
func (s *sampling) missed(w *weighting, y *draws) (mass float64, err error) {
	around, err := s.missedAround(w, y)
	own := w.modes
	if err != nil || own == nil || len(own.Modes) < 2 {
		return around, err
	}
	in, err := modes.Assign(y.p, own, y.all)
	if err != nil {
		return around, nil
	}
	all, shares := 0.0, make([]float64, len(own.Modes))
	for c := range in {
		for n, at := range in[c] {
			all += w.weights[c][n]
			if at >= 0 {
				shares[at] += w.weights[c][n]
			}
		}
	}
	for k, m := range own.Modes {
		if m.Mass > minor && shares[k] < counterpart*m.Mass*all {
			mass += m.Mass
		}
	}
	return math.Max(mass, around), nil
}

// missedAround proposes Metropolis moves for the posterior of a setup, starting from some
// of the weighted draws. Let N be the number of moves, and let n be the expected number of
// accepted moves to points at which the density of the draws is almost zero. The result is
// 2 n/N. If the draws do not reach a part of the posterior of the setup, the result is
// approximately the mass of that part. The equations are solved with the setup only if a
// move leads to a point at which the density of the draws is almost zero.
func (s *sampling) missedAround(w *weighting, y *draws) (share float64, err error) {
	density, err := bayes.NewDensity(s.ctx, y.p)
	if err != nil {
		return 0, err
	}
	n := len(s.p.Params)
	from := y.resampled(w.weights, starts)
	if len(from) < 2*n+2 {
		return 0, s.ctx.Err()
	}
	u := make([][]float64, len(from))
	for i, theta := range from {
		if u[i] = make([]float64, n); density.Unconstrain(u[i], theta) != nil {
			return 0, nil // the draw is at the end of a support
		}
	}
	rng := probode.Stream(s.s.Chains.Seed, 0x6c6f7374)
	for i := range 2 * len(from) {
		// The difference between two draws has twice the covariance of the posterior, so
		// moves along such differences match the shape of the posterior [ter Braak 2006].
		a, b := u[rng.IntN(len(from))], u[rng.IntN(len(from))]
		u = append(u, make([]float64, n))
		for k := range n {
			u[len(from)+i][k] = u[i%len(from)][k] + 2.38/math.Sqrt(2*float64(n))*(a[k]-b[k])
		}
	}
	// logs holds the log densities of the elements of u with the given indices.
	logs := func(setup probode.Setup, index []int) ([]float64, error) {
		points, lp := compare.Points{Posterior: y.p, Workers: s.s.Chains.Workers}, make([]float64, len(index))
		var inside []int
		for i, k := range index {
			theta := make([]float64, n)
			if lp[i] = density.Constrain(theta, u[k]); !math.IsInf(lp[i], -1) {
				points.Theta, inside = append(points.Theta, theta), append(inside, i)
			}
		}
		ll, err := points.LogLikelihoods(s.ctx, setup)
		for i, v := range ll {
			lp[inside[i]] += nanOr(v, math.Inf(-1))
		}
		return lp, err
	}
	all := make([]int, len(u))
	for i := range all {
		all[i] = i
	}
	drawn, err := logs(y.drawn.Setup, all)
	if err != nil {
		return 0, err
	}
	lowest := math.Inf(1)
	for _, lp := range drawn[:len(from)] {
		if !math.IsInf(lp, -1) {
			lowest = math.Min(lowest, lp)
		}
	}
	var far []int // the points at which the density of the draws is almost zero, each after its origin
	for i := len(from); i < len(u); i++ {
		if !(drawn[i] > lowest-unreached) {
			far = append(far, i%len(from), i)
		}
	}
	own, err := logs(w.setup, far)
	for i := 0; i < len(own); i += 2 {
		if !math.IsInf(own[i+1], -1) { // the density is zero where the setup fails
			share += math.Exp(math.Min(0, own[i+1]-own[i])) / float64(len(from))
		}
	}
	return share, err
}

// A hole is a mode without draws.
type hole struct {
	size  float64 // the shift that it would cause in the mean or sd of a parameter, in units of the threshold
	theta []float64
	mass  float64 // estimate of its mass
}

// hole returns the mode in m that contains no draws and could cause the largest shift in
// the mean or sd of the assessed parameter with index j. The shift is computed from the
// Gaussian approximation at the mode. The argument `visited` holds the share of the draws
// in each mode; it is empty if the shares are not known. If all modes contain draws, the
// returned shift is zero.
func (s *sampling) hole(m *bayes.Modes, visited []float64, from CenterSpread, j int) (most hole) {
	for k := range visited {
		mode := m.Modes[k]
		if visited[k] > 0 || mode.Cov == nil || len(m.Modes) < 2 {
			continue
		}
		if size := s.moved(from, mode.Mass, mode.Theta[s.assessed[j]]); size > most.size {
			most = hole{size, mode.Theta, mode.Mass}
		}
	}
	return most
}

// moved returns the effect of a mode of small mass at x: the shift of the mean or the
// shift of the sd, whichever is larger. The shifts are measured in units of the
// threshold.
func (s *sampling) moved(from CenterSpread, mass, x float64) float64 {
	far := math.Abs(x-from.Center) / from.Spread
	return math.Max(mass*far/s.s.Threshold, math.Log1p(mass*far*far)/2/math.Log1p(s.s.Threshold))
}

// unseenMass returns the mass of a mode that n effective draws would miss with a
// probability of 5 %.
func unseenMass(n float64) float64 { return math.Min(1, 3/n) }

// unseenSize returns the largest shift that an undetected mode of the given mass could
// cause in the mean or sd of the assessed parameter with index j, in units of the
// threshold. Only modes in the central 99.9 % of the prior are considered.
func (s *sampling) unseenSize(mass float64, from CenterSpread, j int) (size float64) {
	for _, p := range []float64{0.0005, 0.9995} {
		size = math.Max(size, s.moved(from, mass, s.p.Params[s.assessed[j]].Prior.Quantile(p)))
	}
	return size
}

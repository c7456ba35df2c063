package assess

import (
	"math"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/bayes"
	"github.com/probode/probode/pkg/probode/bayes/modes"
)

// Weights say nothing about regions that no draw has come near, and neither does k̂. So
// the draws that stand for the reference posterior are checked for parts that they miss: a
// mode that another search knows, or a neighbourhood where their solver fails and the
// reference does not. And a mode so small that no draw is in it may still decide on a mean
// or an sd if it is far away.

const (
	// leapers is the number of draws whose neighbourhood is checked, by two moves each.
	leapers = 400
	// mostMissed is the share of the reference posterior that may be missed: cut off from a
	// Gaussian one it makes the sd smaller by 2 %.
	mostMissed = 0.005
	// unreached is how far the log density lies below that of all draws where a solver has
	// next to no density.
	unreached = 5
	// unvisitedSize is the move of a mean or sd, in thresholds, from which a mode without
	// draws leaves a parameter undecided.
	unvisitedSize = 0.5
)

// missed returns about which share of the reference posterior the draws of d do not reach.
func (s *sampling) missed(d *draws) (mass float64, err error) {
	around, err := s.missedAround(d)
	reference := s.modes.reference
	if err != nil || reference == nil || len(reference.Modes) < 2 {
		return around, err
	}
	in, err := modes.Assign(d.p, reference, d.few)
	if err != nil {
		return 0, err
	}
	for k, m := range reference.Modes {
		var sum, all float64
		for c := range in {
			for n, at := range in[c] {
				all += d.weights[c][n]
				if at == k {
					sum += d.weights[c][n]
				}
			}
		}
		if m.Mass > minor && sum < counterpart*m.Mass*all {
			mass += m.Mass
		}
	}
	return math.Max(mass, around), nil
}

// missedAround takes Metropolis moves of the reference posterior from some draws, and
// returns twice the share of those that lead to where the solver of the draws has next to
// no density: about the mass beyond, for a posterior that is cut off. It solves by the
// reference only where the moves would lead there.
func (s *sampling) missedAround(d *draws) (share float64, err error) {
	coarse, err := bayes.NewDensity(s.ctx, d.p)
	if err != nil {
		return 0, err
	}
	defer coarse.Bind(s.ctx)()
	fine, err := bayes.NewDensity(s.ctx, s.p.SolvedBy(s.s.Accurate))
	if err != nil {
		return 0, err
	}
	defer fine.Bind(s.ctx)()
	from, n := d.resampled(leapers), len(s.p.Params)
	var u [][]float64
	all, lowest := mat.NewDense(max(len(from), 1), n, nil), math.Inf(1)
	for i, theta := range from {
		v := make([]float64, n)
		if coarse.Unconstrain(v, theta) != nil {
			return 0, nil // at the end of a support
		}
		u = append(u, v)
		all.SetRow(i, v)
		if lp, err := coarse.LogPosterior(v, nil); err == nil {
			lowest = math.Min(lowest, lp)
		}
	}
	if len(u) < 2*n+2 {
		return 0, s.ctx.Err()
	}
	cov := mat.NewSymDense(n, nil)
	stat.CovarianceMatrix(cov, all, nil)
	var chol mat.Cholesky
	if !chol.Factorize(cov) {
		return 0, s.ctx.Err()
	}
	var l mat.TriDense
	chol.LTo(&l)
	rng := probode.Stream(s.s.Chains.Seed, 0x6c6f7374)
	to, z := make([]float64, n), make([]float64, n)
	for _, v := range append(u, u...) {
		for k := range z {
			z[k] = 2.38 / math.Sqrt(float64(n)) * rng.NormFloat64()
		}
		for i := range to {
			to[i] = v[i]
			for k := 0; k <= i; k++ {
				to[i] += l.At(i, k) * z[k]
			}
		}
		if lp, err := coarse.LogPosterior(to, nil); err == nil && lp > lowest-unreached {
			continue
		}
		there, err := fine.LogPosterior(to, nil)
		if err != nil || math.IsNaN(there) {
			continue // nothing is known there, which Reference.Failed counts
		}
		if here, err := fine.LogPosterior(v, nil); err == nil {
			share += math.Exp(math.Min(0, there-here)) / float64(len(u))
		}
	}
	return share, s.ctx.Err()
}

// unvisited returns, for an effect that would be negligible, the mode without draws that
// moves the mean or sd of assessed parameter j most, by its Gaussian approximation: a mode
// of the step's posterior or of the reference's. Its Size is zero if there is none.
func (s *sampling) unvisited(d *draws, own *bayes.Modes, y *yardstick, j int) (most Unvisited) {
	at := y.exact[j]
	if y.measure(j) == byQuantiles || !(at.sd > 0) {
		return most // quantiles do not move for a mode with a hundredth of the mass
	}
	for _, all := range []*bayes.Modes{own, s.modes.reference} {
		if all == nil || len(all.Modes) < 2 {
			continue
		}
		shares, err := modes.Shares(d.p, all, d.all)
		if err != nil {
			continue
		}
		for k, m := range all.Modes {
			if shares[k] > 0 || m.Cov == nil {
				continue
			}
			far := math.Abs(m.Theta[s.assessed[j]]-at.mean) / at.sd
			size := math.Max(m.Mass*far, math.Log1p(m.Mass*far*far)/2) / s.s.Threshold
			if size > most.Size {
				most = Unvisited{Parameter: s.p.Params[s.assessed[j]].Name, Size: size, Theta: m.Theta, Mass: m.Mass}
			}
		}
	}
	return most
}

// withhold makes undecided what is negligible but for a mode without draws, and returns
// these modes.
func (s *sampling) withhold(d *draws, own *bayes.Modes, y *yardstick, noisy *Inference) (all []Unvisited) {
	for j := range d.summed.Effects {
		e := &d.summed.Effects[j]
		if e.Verdict != Negligible {
			continue
		}
		if m := s.unvisited(d, own, y, j); m.Size > unvisitedSize {
			e.Verdict = Undecided
			if noisy != nil && noisy.Effects[j].Verdict == Negligible {
				noisy.Effects[j].Verdict = Undecided
			}
			all = append(all, m)
		}
	}
	return all
}

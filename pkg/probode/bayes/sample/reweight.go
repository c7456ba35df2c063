package sample

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/probode/probode/pkg/internal/progress"
	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/bayes"
	"github.com/probode/probode/pkg/probode/internal/pieces"
	"github.com/probode/probode/pkg/probode/mcmc"
	"github.com/probode/probode/pkg/probode/mcmc/diag"
	"github.com/probode/probode/pkg/probode/reference"
)

// Reweight assigns importance weights to draws that Run made from p with a coarse solver,
// so that the weighted draws represent the posterior computed with an accurate solver,
//
//	log wₛ = log p(Y | Z_accurate(θₛ)) − log p(Y | Zₛ)
//
// The largest weights are replaced by quantiles of a fitted Pareto distribution [Vehtari
// et al. 2024]. The shape parameter k̂ of the Pareto distribution and the effective
// number of draws show whether the two posteriors are close enough. If the two posteriors
// differ too much, Chains.Warnings says so, and new draws must be made with a smaller
// step. The accurate solver is not called in each iteration of a chain, but only once for
// each distinct θ among the draws.
//
// Reweight is valid for the draws of every sampler that has a Target. The weights vary more
// if the noise of the solver is part of the model. Neither the weights nor k̂ show modes of
// the accurate posterior that contain no draws: package assess searches for them.
//
// The result contains LogWeights, KHat, and the quantities computed with the accurate
// solver. The draws are not copied: the result and the argument `chains` use the same
// slices. If the accurate solver fails at a draw, the weight of this draw is zero, and a
// note says how many such draws there are. Summaries, Predict and LogPredictive use the
// weights.
//
// The argument `accurate` is the setup of the accurate solver (see Posterior.SolvedBy);
// the zero value stands for reference.Accurate. The argument `workers` is the number of
// goroutines, and 0 means the number of cores. The number of goroutines does not change
// the result.
//
// Reweight returns an error if the chains do not belong to p, if they already have
// weights, or if the accurate solver fails at all draws. If ctx is cancelled before all
// weights are computed, the error is ctx.Err(). All chains are then cut to the same
// number of draws, so that every remaining draw has a weight.
func Reweight(ctx context.Context, p *bayes.Posterior, chains *mcmc.Chains, accurate probode.Setup, workers int) (*mcmc.Chains, error) {
	if p == nil || chains == nil {
		return nil, errors.New("sample: an argument of Reweight is nil: want a Posterior and Chains")
	}
	if accurate.Mesh == nil && accurate.Method == nil {
		accurate.Mesh = reference.Accurate{}
	}
	to := p.SolvedBy(accurate)
	bound, err := bayes.NewDensity(ctx, to)
	if err != nil {
		return nil, err
	}
	if chains.LogWeights != nil {
		return nil, errors.New("sample: the chains already have weights: pass the chains as they were before reweighting")
	}
	if err := bound.Check(chains); err != nil {
		return nil, err
	}
	lik := slices.Index(chains.Quantities, "log_lik.1") // index of the first log probability of a value
	if lik < 0 {
		lik = len(chains.Quantities) // all values are missing
	}

	// After a rejection a chain stays at its position. A run of equal consecutive draws
	// needs only one solution of the equations.
	type stay struct{ chain, from, to int }
	var stays []stay
	for c, draws := range chains.Draws {
		for from := 0; from < len(draws); {
			to := from + 1
			for to < len(draws) && slices.Equal(draws[to], draws[from]) {
				to++
			}
			stays = append(stays, stay{c, from, to})
			from = to
		}
	}
	slices.SortStableFunc(stays, func(a, b stay) int { return a.from - b.from })

	out := *chains
	out.Generated, out.LogWeights = nil, nil
	for _, draws := range chains.Draws {
		out.LogWeights = append(out.LogWeights, make([]float64, len(draws)))
		out.Generated = append(out.Generated, make([][]float64, len(draws)))
	}
	inner, hook := progress.Counts(ctx, nil, "accurate solutions")
	done, err := pieces.Each(inner, workers, len(stays), hook, func() func(int) error {
		e := bound.Clone()
		e.Bind(ctx)
		u, at := make([]float64, len(p.Params)), make([]float64, len(p.Params))
		return func(i int) error {
			s := stays[i]
			theta := chains.Draws[s.chain][s.from]
			lp := math.Inf(-1)
			switch err := e.Unconstrain(u, theta); {
			case err == nil:
				lp = e.Constrain(at, u)
			case slices.ContainsFunc(u, math.IsNaN):
				return err // otherwise θ was rounded to an end of the support
			}
			ll, err := e.LogLikelihood(theta, nil)
			switch {
			case ctx.Err() != nil:
				return ctx.Err()
			case e.Err() != nil:
				return e.Err()
			case err != nil || math.IsNaN(ll):
				ll = math.Inf(-1)
				for k := range e.Expected() {
					e.Expected()[k] = math.NaN()
				}
			}
			for k := s.from; k < s.to; k++ {
				g := slices.Clone(chains.Generated[s.chain][k])
				old := 0.0
				for _, l := range g[lik:] {
					old += l
				}
				e.Generate(g, lp+ll, theta, e.Expected())
				out.Generated[s.chain][k] = g
				out.LogWeights[s.chain][k] = ll - old
			}
			return nil
		}
	})
	if err != nil {
		// The elements of `stays` are sorted by the index of their first draw. The
		// equations have been solved for stays[0], …, stays[done−1]. In every chain, all
		// draws before the index stays[done].from have weights.
		n := stays[done].from
		out.Draws = slices.Clone(out.Draws)
		for c := range out.Draws {
			out.Draws[c], out.Generated[c], out.LogWeights[c] = out.Draws[c][:n], out.Generated[c][:n], out.LogWeights[c][:n]
		}
	}

	raw := slices.Concat(out.LogWeights...)
	failed := 0
	for _, w := range raw {
		if math.IsInf(w, -1) {
			failed++
		}
	}
	if failed == len(raw) {
		if err == nil {
			err = fmt.Errorf("sample: reweighting with %v: the accurate solver fails at all %d draws", to.Setup, len(raw))
		}
		return nil, err
	}
	smooth, khat := diag.ParetoSmooth(raw)
	for c := range out.LogWeights {
		n := copy(out.LogWeights[c], smooth)
		smooth = smooth[n:]
	}
	out.KHat = khat
	out.Notes = append(slices.Clone(chains.Notes), fmt.Sprintf("the draws are weighted to represent the posterior of the accurate solver %v", to.Setup))
	if failed > 0 {
		out.Notes = append(out.Notes, fmt.Sprintf("%d of %d draws have weight zero, because the accurate solver fails at these draws", failed, len(raw)))
	}
	return &out, err
}

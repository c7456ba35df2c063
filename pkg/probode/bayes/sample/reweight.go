package sample

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/bayes"
	"github.com/probode/probode/pkg/probode/bayes/compare"
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
// weights, if the accurate solver fails at all draws, or if ctx is cancelled.
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

	points := compare.Points{Posterior: p, Theta: chains.Pooled(), Workers: workers}
	u := make([]float64, len(p.Params))
	for _, theta := range points.Theta {
		if err := bound.Unconstrain(u, theta); err != nil && slices.ContainsFunc(u, math.IsNaN) {
			return nil, err // otherwise θ was rounded to an end of the support
		}
	}
	before := slices.Concat(chains.Generated...)
	raw, generated := make([]float64, len(before)), make([][]float64, len(before))
	err = points.Each(ctx, []probode.Setup{accurate}, func(i int, x []*compare.Solver, at []compare.Solution) {
		e, theta, ll, expected := x[0].Density, points.Theta[i], at[0].LogLikelihood, at[0].Expected
		lp, u, natural := math.Inf(-1), make([]float64, len(theta)), make([]float64, len(theta))
		if e.Unconstrain(u, theta) == nil {
			lp = e.Constrain(natural, u)
		}
		if at[0].Err != nil || math.IsNaN(ll) {
			ll, expected = math.Inf(-1), slices.Repeat([]float64{math.NaN()}, len(e.Expected()))
		}
		g := slices.Clone(before[i])
		raw[i] = ll - floats.Sum(g[lik:])
		e.Generate(g, lp+ll, theta, expected)
		generated[i] = g
	})
	if err != nil {
		return nil, err
	}
	failed := 0
	for _, w := range raw {
		if math.IsInf(w, -1) {
			failed++
		}
	}
	if failed == len(raw) {
		return nil, fmt.Errorf("sample: reweighting with %v: the accurate solver fails at all %d draws", to.Setup, len(raw))
	}
	smooth, khat := diag.ParetoSmooth(raw)
	out := *chains
	out.Generated, out.KHat = nil, khat
	for _, draws := range chains.Draws {
		n := len(draws)
		out.Generated, out.LogWeights = append(out.Generated, generated[:n:n]), append(out.LogWeights, smooth[:n:n])
		generated, smooth = generated[n:], smooth[n:]
	}
	out.Notes = append(slices.Clone(chains.Notes), fmt.Sprintf("the draws are weighted to represent the posterior of the accurate solver %v", to.Setup))
	if failed > 0 {
		out.Notes = append(out.Notes, fmt.Sprintf("%d of %d draws have weight zero, because the accurate solver fails at these draws", failed, len(raw)))
	}
	return &out, nil
}

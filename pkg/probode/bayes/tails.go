package bayes

import (
	"context"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/mcmc"
	"github.com/probode/probode/pkg/probode/mcmc/diag"
)

// HeavyTails returns the indices of the parameters without a finite variance. A parameter
// θ has no finite variance if its prior has none, and if the likelihood tends to a
// constant, or falls slowly, as θ goes to infinity. Then the draws may show no sign of it:
// the part of the posterior where the likelihood is constant may have little mass.
//
// With the density p of the prior, its distribution function F, the likelihood L and a
// normal density ρ fitted to the draws of θ, the probability that θ is above a number q far
// in the tail is the mean over the draws of
//
//	(1 − F(q)) ρ(θ) L(q) / (p(θ) L(θ)),
//
// where the other parameters keep their values [Chen 1994, JASA 89, 818]. With a tail
// c θ^−a, the farthest of S draws is near (c S)^1/a. HeavyTails ignores tails that a million
// draws do not show: those whose share of the variance, up to this distance, is below 2 %.
// Draws with weights are not examined. HeavyTails solves the equations up to 200 times, and
// twice as often for each end of a parameter with a heavy prior.
func HeavyTails(ctx context.Context, p *Posterior, chains *mcmc.Chains) (heavy []int, err error) {
	const (
		draws   = 200
		million = 1e6
		share   = 0.02
	)
	e, err := NewDensity(ctx, p)
	if err != nil || chains.LogWeights != nil {
		return nil, err
	}
	defer e.Bind(ctx)()
	pooled := chains.Pooled()
	if len(pooled) < 25 {
		return nil, nil
	}
	chosen := Resample(chains, min(draws, len(pooled)), probode.Stream(0, 0))
	var here []float64 // log likelihoods
	at := func(theta []float64) float64 {
		ll, err := e.LogLikelihood(theta, nil)
		if err != nil || math.IsNaN(ll) {
			return math.Inf(-1)
		}
		return ll
	}
	for k, q := range p.Params {
		for _, far := range farEnds(q.Prior) {
			if here == nil {
				for _, i := range chosen {
					here = append(here, at(pooled[i]))
				}
			}
			x := diag.Column(chains.Draws, k)
			all := slices.Sorted(slices.Values(slices.Concat(x...)))
			sd := (diag.Quantile(all, 0.75) - diag.Quantile(all, 0.25)) / (2 * distuv.UnitNormal.Quantile(0.75))
			fitted := distuv.Normal{Mu: diag.Quantile(all, 0.5), Sigma: sd}
			var mass [2]float64 // beyond the two points
			for n, i := range chosen {
				theta := slices.Clone(pooled[i])
				log := fitted.LogProb(theta[k]) - q.Prior.LogProb(theta[k]) - here[n]
				for m, end := range far {
					theta[k] = end.at
					mass[m] += end.mass * math.Exp(log+at(theta)) / float64(len(chosen))
				}
				if ctx.Err() != nil {
					return nil, ctx.Err()
				}
			}
			distance := math.Log(far[1].at / far[0].at)
			a := math.Log(mass[0]/mass[1]) / distance
			if !(a > 0 && a < 2) {
				continue // NaN if there is no mass
			}
			c := math.Log(mass[0]) + a*math.Log(math.Abs(far[0].at))
			spread := math.Log(a/(2-a)) + 2/a*c + (2-a)/a*math.Log(million)
			if spread > math.Log(share)+2*math.Log(sd) && !slices.Contains(heavy, k) {
				heavy = append(heavy, k)
			}
		}
	}
	return heavy, nil
}

type farPoint struct{ at, mass float64 }

// farEnds returns two points in each tail of a prior without a finite variance.
func farEnds(prior Distribution) (out [][2]farPoint) {
	const near, far = 0x1p-20, 0x1p-30
	for _, upper := range []bool{false, true} {
		point := func(mass float64) farPoint {
			if upper {
				return farPoint{prior.Quantile(1 - mass), mass}
			}
			return farPoint{prior.Quantile(mass), mass}
		}
		a, b := point(near), point(far)
		if a.at*b.at > 0 && math.Log(near/far) < 2*math.Log(b.at/a.at) {
			out = append(out, [2]farPoint{a, b})
		}
	}
	return out
}

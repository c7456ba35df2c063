package bayes

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"gonum.org/v1/gonum/floats"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/mcmc"
)

// Predict returns draws of the posterior predictive distribution: new data for each
// experiment at the given times, which must be in increasing order. If `times` is nil,
// the observation times are used, including those of missing values. For a figure, use
// the times that FineTimes returns. An experiment is predicted at those times that lie in
// its time span. If a time is after all time spans, the time spans of all experiments are
// extended to it; on a grid that does not depend on θ, this is an error. The argument `chains` must come from a call to
// sample.Run with p. Weighted draws are first resampled systematically in proportion to
// their weights, so all draws of the result have equal weight.
//
// If `times` is nil, the result has one draw for each draw in `chains`, because `chains`
// contains the expected values at the observation times. If `times` is not nil, Predict
// solves the equations again for up to 1000 of the draws, with the Setup of p and without
// noise (ξ = 0). Predict returns an error if the new solutions do not reproduce the
// stored expected values at the observation times. If the draws were made with another
// Setup s, such as that of an accurate solver, pass p.SolvedBy(s) instead of p. If the
// noise of the solver is part of the model, the stored expected values cannot be
// reproduced, because ξ is not stored. For predictions at new times in a model with
// solver noise, add the new times to the data before sampling, as rows in which all
// values are NaN.
func Predict(ctx context.Context, p *Posterior, chains *mcmc.Chains, times []float64, seed uint64) ([]*Prediction, error) {
	e, err := newPaths(ctx, p)
	if err != nil {
		return nil, err
	}
	if err := e.Check(chains); err != nil {
		return nil, err
	}
	rng := probode.Stream(seed, 0x706f7374)
	draws, generated := slices.Concat(chains.Draws...), slices.Concat(chains.Generated...)
	if times != nil {
		return e.predictAt(ctx, times, chains, rng)
	}
	out := e.predictions()
	at := e.statistics(len(chains.Quantities))
	for _, i := range Resample(chains, len(draws), rng) {
		e.predict(out, draws[i], generated[i][at:at+len(e.fit)], rng)
	}
	return out, nil
}

// PredictPrior returns n draws from the prior predictive distribution at the given times
// (see Predict), and the corresponding draws of the parameters. Draws at which the
// equations cannot be solved are left out, and their number is returned. PredictPrior
// panics if n < 0.
func PredictPrior(ctx context.Context, p *Posterior, n int, times []float64, seed uint64) (out []*Prediction, theta [][]float64, failed int, err error) {
	e, err := newPaths(ctx, p)
	if err == nil && times != nil {
		e, err = e.atTimes(ctx, times)
	}
	if err != nil {
		return nil, nil, 0, err
	}
	if n < 0 {
		panic(fmt.Sprintf("bayes: the number of prior predictive draws is %d: want a number ≥ 0", n))
	}
	defer e.Bind(ctx)()
	out = e.predictions()
	xi := make([]float64, e.noise)
	for i := range n {
		rng := probode.Stream(seed, 0x7072696f, uint64(i))
		th := p.DrawPrior(rng)
		normals(xi, rng)
		if _, err := e.LogLikelihood(th, xi); err != nil {
			if ctx.Err() != nil {
				return out, theta, failed, ctx.Err()
			}
			failed++
			continue
		}
		theta = append(theta, th)
		e.predict(out, th, e.fit, rng)
	}
	return out, theta, failed, nil
}

// Check returns an error if the parameters or the stored quantities of `chains` are not
// those of e.
func (e *Density) Check(chains *mcmc.Chains) error {
	if chains == nil {
		return errors.New("bayes: the Chains are nil")
	}
	want, have := e.Quantities(), chains.Quantities
	if len(have) > 0 { // statistics of the sampler follow the log density
		own := slices.DeleteFunc(slices.Clone(have[1:]), func(name string) bool { return strings.HasSuffix(name, "__") })
		have = append(have[:1:1], own...)
	}
	if !slices.Equal(want, have) || !slices.Equal(e.p.Names(), chains.Names) {
		return fmt.Errorf("bayes: the chains belong to a different model: they contain the parameters %s and %d quantities, but the model has the parameters %s and %d quantities",
			strings.Join(chains.Names, ", "), len(chains.Quantities), strings.Join(e.p.Names(), ", "), len(want))
	}
	return nil
}

// LogPredictive returns the logarithm of the posterior predictive density of each data
// value, ordered by experiment, row and column,
//
//	lpdᵢ = log Σₛ wₛ p(yᵢ | θₛ, Zₛ) / Σₛ wₛ,
//
// with the weights wₛ of the draws, which are 1 for unweighted draws. The value is NaN
// for missing data. The sum of the values that are not NaN measures how well the model
// predicts the data to which it was fitted. To compare models, use leave-one-out
// estimates, which ArviZ computes from the exported draws.
func LogPredictive(p *Posterior, chains *mcmc.Chains) ([]float64, error) {
	e, err := NewDensity(context.Background(), p)
	if err != nil {
		return nil, err
	}
	if err := e.Check(chains); err != nil {
		return nil, err
	}
	at := e.statistics(len(chains.Quantities)) + e.values() // index of the first log probability
	generated, logw := slices.Concat(chains.Generated...), slices.Concat(chains.LogWeights...)
	if logw == nil {
		logw = make([]float64, len(generated))
	}
	var out []float64
	for _, r := range e.parts {
		for _, row := range r.x.Data.Y {
			for _, y := range row {
				l := math.NaN()
				if !math.IsNaN(y) && len(generated) > 0 {
					l = logMean(generated, logw, at)
					at++
				}
				out = append(out, l)
			}
		}
	}
	return out, nil
}

// logMean returns the log of the weighted mean of exp(v). Values of zero weight may be
// NaN.
func logMean(generated [][]float64, logw []float64, at int) float64 {
	var x, w []float64
	for s, g := range generated {
		if !math.IsInf(logw[s], -1) {
			x, w = append(x, logw[s]+g[at]), append(w, logw[s])
		}
	}
	return floats.LogSumExp(x) - floats.LogSumExp(w)
}

func normals(dst []float64, rng *rand.Rand) {
	for i := range dst {
		dst[i] = rng.NormFloat64()
	}
}

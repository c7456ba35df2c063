package bayes

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
)

// Simulate returns p with data drawn from the model in place of its own, with the
// same times and missing values, the draw of the prior behind them, and the log
// likelihood there. The data are those of the model that the target is the
// posterior of: with the noise of the solver, by the classical solution, or by the
// accurate one. It is an error if the equations cannot be solved there, or the
// data cannot be.
func Simulate(ctx context.Context, p *Posterior, target Target, rng *rand.Rand) (q *Posterior, theta []float64, ll float64, err error) {
	solved := p
	if target.Distribution == Accurate {
		solved = p.SolvedBy(target.Setup)
	}
	e, err := newDensity(ctx, solved)
	if err != nil {
		return nil, nil, 0, err
	}
	defer e.Bind(ctx)()
	theta, xi := p.DrawPrior(rng), make([]float64, e.noise)
	normals(xi, rng)
	if !target.Noisy() {
		xi = nil
	}
	if _, err = e.LogLikelihood(theta, xi); err != nil {
		return nil, nil, 0, err
	}
	new := e.predictions()
	e.predict(new, theta, e.fit, rng)
	r := *p
	q = &r
	q.Experiments = slices.Clone(p.Experiments)
	for i := range q.Experiments {
		data := *q.Experiments[i].Data
		y := new[i].Y[0]
		for n, row := range data.Y {
			for k, v := range row {
				if math.IsNaN(v) {
					y[n][k] = v
				} else if math.IsNaN(y[n][k]) {
					return nil, nil, 0, fmt.Errorf("the value %g is expected at t = %g, column %d: there is no distribution of errors", new[i].Fit[0][n][k], data.T[n], k+1)
				}
			}
		}
		data.Y = y
		q.Experiments[i].Data = &data
	}
	// The density of the data, which must not be zero: the chain begins here.
	terms := make([]float64, e.observed())
	for i, r := range e.runs {
		r.x = &q.Experiments[i]
	}
	e.pointwise(terms, e.fit, theta)
	for _, l := range terms {
		ll += l
	}
	if math.IsNaN(ll) || math.IsInf(ll, 0) {
		return nil, nil, 0, errors.New("the density of data drawn from the model is zero")
	}
	return q, theta, ll, nil
}

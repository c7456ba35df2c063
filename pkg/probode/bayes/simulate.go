package bayes

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
)

// Simulate returns a copy of p in which simulated data replace the data of p, at the same
// times and with the same missing values. The parameters of the simulation are drawn from
// the prior. Simulate also returns the draw of the parameters, and the log likelihood at
// this draw. The argument `noisy` says whether the solver's noise is part of the model
// that generates the data. Simulate returns an error if the equations cannot be solved
// with the drawn parameters, or if these parameters do not define a distribution of the
// data.
func Simulate(ctx context.Context, p *Posterior, noisy bool, rng *rand.Rand) (q *Posterior, theta []float64, ll float64, err error) {
	e, err := newPaths(ctx, p)
	if err != nil {
		return nil, nil, 0, err
	}
	defer e.Bind(ctx)()
	theta, xi := p.DrawPrior(rng), make([]float64, e.noise)
	normals(xi, rng)
	if !noisy {
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
					return nil, nil, 0, fmt.Errorf("the model predicts the value %g at t = %g in column %d, but the error distribution is not defined for this value", new[i].Fit[0][n][k], data.T[n], k+1)
				}
			}
		}
		data.Y = y
		q.Experiments[i].Data = &data
	}
	// The density of the data at theta must not be zero: sbc.Run starts its chain at
	// theta, and a chain cannot start where the density is zero.
	for i, r := range e.parts {
		r.x = &q.Experiments[i]
	}
	e.pointwise(e.terms, e.fit, theta)
	for _, lp := range e.terms {
		ll += lp
	}
	if math.IsNaN(ll) || math.IsInf(ll, 0) {
		return nil, nil, 0, errors.New("the density of the data is zero under the model that generated them")
	}
	return q, theta, ll, nil
}

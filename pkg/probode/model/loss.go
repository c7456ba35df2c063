package model

import (
	"context"
	"math"
	"time"
)

// A Loss is the effect of a setting of the solver on a log-likelihood.
type Loss struct {
	LogLikelihood float64 // NaN if Err is not nil
	Loss          float64 // LogLikelihood less the accurate one; mostly negative at an optimum

	// D is the distance between the expected data by the setting and by the accurate
	// solution, in units of the noise. With g the scale of a row, it is
	//
	//	D² = Σ ((g(f) − g(f₀))/σ)².
	//
	// To first order no parameter of the posterior moves by more than D of its standard
	// deviations, or √2 D if noise is estimated: see package certify.
	D float64

	Seconds float64
	Err     error // of a solve with this setting: too many steps, for example
}

// Losses compares settings of the solver with the accurate log-likelihood, all of them
// at θ, which is as in LogLikelihood.At. The error is that of the accurate
// log-likelihood, of settings with a mistake, or of ctx.
func (p *File) Losses(ctx context.Context, theta []float64, settings []LikelihoodSettings) (*Evaluation, []Loss, error) {
	l, err := p.LogLikelihood(LikelihoodSettings{})
	if err != nil {
		return nil, nil, err
	}
	right, err := l.At(ctx, theta, false)
	if err != nil {
		return nil, nil, err
	}
	out := make([]Loss, len(settings))
	for i, s := range settings {
		to := &out[i]
		if l, to.Err = p.LogLikelihood(s); to.Err != nil {
			return nil, nil, to.Err
		}
		begin := time.Now()
		v, err := l.At(ctx, theta, false)
		to.Seconds = time.Since(begin).Seconds()
		if ctx.Err() != nil {
			return nil, nil, ctx.Err()
		}
		if to.Err = err; err != nil {
			to.LogLikelihood, to.Loss, to.D = math.NaN(), math.NaN(), math.NaN()
			continue
		}
		to.LogLikelihood, to.Loss = v.LogLikelihood, v.LogLikelihood-right.LogLikelihood
		for j, q := range l.parts {
			a, b := &v.Instances[j], &right.Instances[j]
			for k := range q.e.Rows {
				on := q.e.Rows[k].Scale
				z := (on.Of(a.Simulated[k]) - on.Of(b.Simulated[k])) / b.Noise[k]
				to.D += z * z
			}
		}
		to.D = math.Sqrt(to.D)
	}
	return right, out, nil
}

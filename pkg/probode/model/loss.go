package model

import (
	"context"
	"math"
)

// A Loss compares two log-likelihoods: the one computed with given solver settings, and
// the accurate one.
type Loss struct {
	LogLikelihood float64 // NaN if Err is not nil
	Loss          float64 // LogLikelihood minus the accurate one; usually negative at an optimum

	// D measures how much the solver error changes the predicted data, in units of the
	// noise. Let f be the prediction with these settings, and let f₀ be the accurate
	// prediction. The function g transforms the data to the scale on which the noise σ is
	// defined. D is given by
	//
	//	D² = Σ ((g(f) − g(f₀))/σ)².
	//
	// To first order, the solver error shifts the estimate of each parameter by at most D
	// posterior standard deviations. If the noise is estimated, the bound is √2 D: see
	// package certify.
	D float64

	Err error // error of a failed solve with these settings, for example because of too many steps
}

// Losses computes the accurate log-likelihood at theta. For each element of `settings`,
// Losses also computes the log-likelihood with these settings, and compares it with the
// accurate one. The argument `theta` has the same form as in LogLikelihood.At. It is an
// error if the accurate log-likelihood cannot be computed, or if any of the settings are
// invalid. If ctx is done after the accurate log-likelihood has been computed, Losses
// returns the losses obtained so far and the error of ctx.
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
		v, err := l.At(ctx, theta, false)
		if ctx.Err() != nil {
			return right, out[:i], ctx.Err()
		}
		if to.Err = err; err != nil {
			to.LogLikelihood, to.Loss, to.D = math.NaN(), math.NaN(), math.NaN()
			continue
		}
		to.LogLikelihood, to.Loss = v.LogLikelihood, v.LogLikelihood-right.LogLikelihood
		for j, q := range l.parts {
			a, b := &v.Instances[j], &right.Instances[j]
			for k := range q.e.rows {
				on := q.e.rows[k].scale
				z := (on.of(a.Simulated[k]) - on.of(b.Simulated[k])) / b.Noise[k]
				to.D += z * z
			}
		}
		to.D = math.Sqrt(to.D)
	}
	return right, out, nil
}

package assess

import (
	"math"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/bayes"
)

// information returns the Fisher information of l on the expected value m,
//
//	I(m) = E (∂ log p(y | m) / ∂m)²,   y ~ p(y | m),
//
// the reciprocal of the variance of an error of observation as the solver's error
// has to be measured by it. Student's is that of Lange, Little & Taylor (1989). For a
// likelihood of the caller's own that is no bayes.Informer it is estimated from
// draws, with a relative error of about 3 %.
func information(l bayes.Likelihood, m float64, own []float64) float64 {
	if by, ok := l.(bayes.Informer); ok {
		full := make([]float64, (1+len(own))*(1+len(own)))
		if by.Information(full, m, own) {
			return full[0]
		}
	}
	switch l.(type) {
	case bayes.StudentT:
		nu, sigma := own[0], own[1]
		return (nu + 1) / ((nu + 3) * sigma * sigma)
	case bayes.NegativeBinomial:
		return 1 / (m + m*m/own[0])
	}
	const draws = 2000
	rng := probode.Stream(0x696e666f)
	ys := make([]float64, draws)
	var away float64
	for i := range ys {
		ys[i] = l.Rand(m, own, rng)
		away += math.Abs(ys[i]-m) / draws
	}
	var sum float64
	for _, y := range ys {
		s := slope(l, y, m, own, 1e-4*away)
		sum += s * s
	}
	return sum / draws
}

// slope returns ∂ log p(y | m)/∂m by a central difference of half width h, or
// narrower: of errors on a logarithmic scale that are as large as m, m − h has none.
func slope(l bayes.Likelihood, y, m float64, own []float64, h float64) float64 {
	h = min(h, max(1e-4*math.Abs(m), 1e-10*h))
	return (l.LogProb(y, m+h, own) - l.LogProb(y, m-h, own)) / (2 * h)
}

// A datum is one value of the data with its likelihood.
type datum struct {
	at   int // in the expected values
	y    float64
	l    bayes.Likelihood
	from []bayes.Value // of own
	own  []float64
}

// observed returns the values of the data that are not missing, and the indices
// of the parameters that are numbers of their likelihoods.
func observed(p *bayes.Posterior) (data []datum, own []int) {
	at, seen := 0, map[int]bool{}
	for _, x := range p.Experiments {
		for _, row := range x.Data.Y {
			for k, y := range row {
				l := x.Errors[0]
				if len(x.Errors) > 1 {
					l = x.Errors[k]
				}
				if !math.IsNaN(y) {
					d := datum{at: at, y: y, l: l, from: l.Own()}
					d.own = make([]float64, len(d.from))
					data = append(data, d)
					for _, v := range d.from {
						if i := indexOf(p, v.Name); i >= 0 && !seen[i] {
							seen[i] = true
							own = append(own, i)
						}
					}
				}
				at++
			}
		}
	}
	return data, own
}

// indexOf returns the position of the parameter with the given name, −1 if there
// is none.
func indexOf(p *bayes.Posterior, name string) int {
	for i, q := range p.Params {
		if name != "" && q.Name == name {
			return i
		}
	}
	return -1
}

// bind tells the numbers of the likelihood from theta.
func (d *datum) bind(p *bayes.Posterior, theta []float64) {
	for k, v := range d.from {
		d.own[k] = v.Value
		if i := indexOf(p, v.Name); i >= 0 {
			d.own[k] = theta[i]
		}
	}
}

package bayes

import (
	"fmt"
	"math"
	"math/rand/v2"
)

// DrawPrior returns a draw of the parameters from their priors, for example as the start
// of a chain:
//
//	s.Start = func(_ int, rng *rand.Rand) []float64 { return p.DrawPrior(rng) }
func (p *Posterior) DrawPrior(rng *rand.Rand) []float64 {
	theta := make([]float64, len(p.Params))
	for k := range theta {
		theta[k] = draw(p.Params[k].Prior, rng)
	}
	return theta
}

func (p *Param) support() (t transform, err error) {
	defer func() {
		// The methods of an invalid distribution panic. The error names the parameter
		// and quotes the panic message.
		if r := recover(); r != nil {
			err = fmt.Errorf("bayes: the prior of %q, %s, cannot be used: %v", p.Name, valueText(p.Prior), r)
		}
	}()
	t = transform{lo: p.Prior.Quantile(0), hi: p.Prior.Quantile(1)}
	if !(t.lo < t.hi) {
		return t, fmt.Errorf("bayes: the prior of %q has the support [%g, %g]: want a lower end, Quantile(0), below the upper end, Quantile(1)", p.Name, t.lo, t.hi)
	}
	if d, ok := p.Prior.(Truncated); ok {
		if mass, exact := d.mass(); mass < leastMass && !exact {
			return t, fmt.Errorf("bayes: the prior of %q is truncated to an upper tail with probability %.2g, which is too small to be computed accurately: want a probability of at least %g", p.Name, mass, leastMass)
		}
	}
	median := p.Prior.Quantile(0.5)
	if math.IsNaN(p.Prior.LogProb(median)) || math.IsInf(p.Prior.LogProb(median), 0) {
		// For example, the log density is not finite if a distribution is truncated to an
		// interval on which it has no probability mass.
		return t, fmt.Errorf("bayes: the prior of %q has the log density %g at its median %g: want a finite number", p.Name, p.Prior.LogProb(median), median)
	}
	if ratio := t.hi / t.lo; t.lo > 0 && !math.IsInf(ratio, 1) {
		// Use the transform for which the median of the prior is closer to u = 0, because
		// both transforms to a bounded interval are nearly linear near u = 0.
		log := t
		log.log = true
		t.log = math.Abs(log.from(median)) < math.Abs(t.from(median))
	}
	return t, nil
}

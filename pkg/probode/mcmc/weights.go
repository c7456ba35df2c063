package mcmc

import (
	"fmt"
	"math"

	"github.com/probode/probode/pkg/probode/mcmc/diag"
)

// Weights say how far weighted draws can be trusted.
type Weights struct {
	KHat  float64 // the shape of the tail of the weights, finite moments up to 1/KHat
	Limit float64 // the largest KHat that is allowed: see diag.KHatLimit
	Worth float64 // the smallest effective sample size of all parameters
}

// leastWorth is the smallest effective sample size for which the standard errors of
// weighted draws hold, by measurement: see docs/measured-limits.md.
const leastWorth = 150

// Weights returns how far the weights of c, which must have some, can be trusted.
func (c *Chains) Weights() Weights { return c.weights(c.Summary()) }

func (c *Chains) weights(summary diag.Summary) Weights {
	w := Weights{KHat: c.KHat, Worth: math.Inf(1)}
	for _, m := range summary {
		if m.BulkESS < w.Worth { // false for NaN, the value of a constant
			w.Worth = m.BulkESS
		}
	}
	w.Limit = diag.KHatLimit(w.Worth / diag.Kish(c.LogWeights))
	return w
}

// Trusted reports whether standard errors of the weighted draws hold: k̂ is within its
// limit, and the effective sample size is at least 150.
func (w Weights) Trusted() bool { return w.KHat <= w.Limit && w.Worth >= leastWorth }

func (w Weights) String() string {
	if math.IsNaN(w.KHat) {
		return "worth nothing: none of their weights is positive"
	}
	s := fmt.Sprintf("worth %.0f effective draws, k̂ = %.2f, ", w.Worth, w.KHat)
	switch {
	case !(w.KHat <= w.Limit):
		return s + fmt.Sprintf("above its limit %.2f: not to be trusted, since a few draws have almost all the weight; take a smaller coarse step, so that the two posteriors are closer", w.Limit)
	case !w.Trusted():
		return s + fmt.Sprintf("and standard errors are too small below %d effective draws: take more draws, or a smaller coarse step", leastWorth)
	}
	return s + "which can be trusted"
}

package mcmc

import (
	"fmt"
	"math"

	"github.com/probode/probode/pkg/probode/mcmc/diag"
)

type weights struct {
	kHat  float64 // tail index of the weights, which have finite moments of orders up to 1/kHat
	limit float64 // the largest kHat that is allowed: see diag.KHatLimit
	worth float64 // the smallest effective sample size of all parameters
}

// leastWorth is the smallest effective sample size at which the standard errors of
// weighted draws were found to be reliable: see docs/limits.md.
const leastWorth = 150

func (c *Chains) weights(summary diag.Summary) weights {
	w := weights{kHat: c.KHat, worth: math.Inf(1)}
	for _, m := range summary {
		if m.BulkESS < w.worth { // false for NaN, the value of a constant
			w.worth = m.BulkESS
		}
	}
	_, kish := diag.Weights(c.LogWeights)
	w.limit = diag.KHatLimit(w.worth / kish)
	return w
}

func (w weights) trusted() bool { return w.kHat <= w.limit && w.worth >= leastWorth }

func (w weights) String() string {
	if math.IsNaN(w.kHat) {
		return "worth nothing: no weight is positive"
	}
	s := fmt.Sprintf("worth %.0f effective draws, k̂ = %.2f, ", w.worth, w.kHat)
	switch {
	case !(w.kHat <= w.limit):
		return s + fmt.Sprintf("which is above the limit %.2f, so the result cannot be trusted: a few draws have almost all the weight; use a smaller step for the coarse solver, so that its posterior is closer to that of the accurate solver", w.limit)
	case !w.trusted():
		return s + fmt.Sprintf("but reliable standard errors need %d effective draws: take more draws, or use a smaller step for the coarse solver", leastWorth)
	}
	return s + "which can be trusted"
}

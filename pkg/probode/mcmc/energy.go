package mcmc

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"
)

type hamiltonian struct {
	draws     int
	divergent int
	deep      int     // draws whose path doubled at least ten times
	accept    float64 // mean probability of acceptance
	leaps     float64 // leapfrog steps per draw
	bfmi      float64 // the smallest E-BFMI of all chains
}

const (
	leastBFMI = 0.3 // the limit of Stan
	manyDeep  = 0.05
)

func (c *Chains) hamiltonian() (h hamiltonian, ok bool) {
	at := map[string]int{}
	for _, name := range NUTSQuantities() {
		if at[name] = slices.Index(c.Quantities, name); at[name] < 0 {
			return h, false
		}
	}
	h.bfmi = math.Inf(1)
	for _, chain := range c.Generated {
		var energy []float64
		for _, q := range chain {
			h.draws++
			h.accept += q[at["accept_stat__"]]
			h.leaps += q[at["n_leapfrog__"]]
			if q[at["divergent__"]] > 0 {
				h.divergent++
			}
			if q[at["treedepth__"]] >= 10 {
				h.deep++
			}
			energy = append(energy, q[at["energy__"]])
		}
		if v := bfmi(energy); v < h.bfmi { // false for NaN
			h.bfmi = v
		}
	}
	h.accept /= float64(h.draws)
	h.leaps /= float64(h.draws)
	return h, h.draws > 0
}

// bfmi estimates the energy Bayesian fraction of missing information, Σ (Eₙ − Eₙ₋₁)² / Σ
// (Eₙ − Ē)². New momenta change the energy. If it changes much less from draw to draw
// than over the chain, the chain moves slowly between regions of different density
// [Betancourt 2016].
func bfmi(energy []float64) float64 {
	if len(energy) < 4 {
		return math.NaN()
	}
	mean := stat.Mean(energy, nil)
	var moves, all float64
	for n, v := range energy {
		all += (v - mean) * (v - mean)
		if n > 0 {
			moves += (v - energy[n-1]) * (v - energy[n-1])
		}
	}
	return moves / all
}

func (h hamiltonian) String() string {
	return fmt.Sprintf("NUTS: %.3g leapfrog steps per draw, mean acceptance %.2f, %d divergent paths, E-BFMI at least %.2f", h.leaps, h.accept, h.divergent, h.bfmi)
}

func (h hamiltonian) warn(warn func(string, ...any)) {
	if h.divergent > 0 {
		warn("%d of %d paths were divergent: the leapfrog steps are too long for a narrow part of the posterior, and the draws may miss that part; increase Accept, use more informative priors, or reparametrise, for example with a non-centred parametrisation of a hierarchical model", h.divergent, h.draws)
	}
	if h.bfmi < leastBFMI {
		warn("the E-BFMI is %.2f and should be above %g: the chains move slowly between regions of different density, as in a funnel or with heavy tails; use more informative priors, or reparametrise", h.bfmi, leastBFMI)
	}
	if share := float64(h.deep) / float64(h.draws); share > manyDeep {
		warn("%.0f %% of the paths took more than 1000 leapfrog steps without a U-turn: the posterior is a thousand times as wide in some directions as in others, or the data do not determine some directions; make the burn-in longer, use more informative priors, or fix a parameter", 100*share)
	}
}

package mcmc

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"

	"github.com/probode/probode/pkg/internal/text"
	"github.com/probode/probode/pkg/probode/internal/vector"
	"github.com/probode/probode/pkg/probode/mcmc/diag"
)

// Warnings returns the reasons why the draws may not be trustworthy. Each warning
// describes a problem, explains what it means, and suggests a remedy. A nil result means
// only that no problem was detected; there may still be one. Chains are counted from 1.
// The causes are
//
//   - chains that never moved, or that accept less than one move in a hundred;
//   - a chain at a far lower log density than another, and so in a mode of its own: the
//     quantity "lp__", if it was generated, has its 90 % quantile below the 10 % quantile
//     of the best chain;
//   - one chain, of three or more, whose mean of a parameter is more than a standard
//     deviation away from the other chains, which agree;
//   - in draws of NUTS, divergent paths, an E-BFMI below 0.3, or more than 5 % of paths that
//     doubled ten times;
//   - a parameter with more than 5 % of its draws at an end of their range: nearer to
//     it than a hundredth of the distance between that end and the median, and not in a
//     narrow mode inside the range;
//   - R̂ above 1.01, or effective sample sizes below 100 per chain (Vehtari et al.
//     2021), below which the diagnostics themselves cannot be trusted;
//   - weights that cannot be trusted, or a run that ended before it reached MinESS.
func (c *Chains) Warnings() []string { return c.Report(nil).Warnings }

func (c *Chains) warnings(summary diag.Summary) []string {
	var out []string
	warn := func(format string, a ...any) { out = append(out, fmt.Sprintf(format, a...)) }
	if c.length() == 0 {
		warn("there are no draws: the run ended during the burn-in; let it run longer, or make the burn-in shorter")
		return out
	}

	stuck := make([]bool, len(c.Draws))
	for j, chain := range c.Draws {
		moved := len(chain) < 2 || slices.ContainsFunc(chain, func(x []float64) bool { return !slices.Equal(x, chain[0]) })
		counted := j < len(c.Stats) && c.Stats[j].Proposed > 0
		switch {
		case !moved || counted && c.Stats[j].Accepted == 0:
			stuck[j] = true
			warn("chain %d never moved: its steps are too long, or almost every evaluation near its position fails; start it at the mode, make the burn-in longer, or make the first steps smaller", j+1)
		case counted && c.Stats[j].Rate() < 0.01:
			stuck[j] = true
			warn("chain %d accepted %.2g %% of its moves: its steps are too long for this part of the posterior, which may be a narrow ridge; make the burn-in longer, start at the mode, or use parameters that are less correlated", j+1, 100*c.Stats[j].Rate())
		}
	}

	elsewhere := c.warnModes(warn)
	c.warnApart(warn, summary, stuck, elsewhere)

	for i, name := range c.Names {
		if out != nil {
			break // draws of a chain in another mode pile up, too
		}
		if end, share := pileUp(slices.Concat(c.Parameter(i)...)); share > 0.05 {
			warn("%.0f %% of the draws of %s pile up at %.4g, the end of their range: the posterior ends there, at the edge of the prior or where the likelihood ends, or the data cannot distinguish values near the end from the end itself; check whether the end is intended, use a more informative prior, or fix the parameter", 100*share, text.Printable(name), end)
		}
	}

	if h, ok := c.hamiltonian(); ok {
		h.warn(warn)
	}

	var mixed, few, unknown []string
	var worst float64
	least := math.Inf(1)
	for _, m := range summary {
		switch {
		case math.IsNaN(m.RHat):
			unknown = append(unknown, m.Name)
			continue
		case m.RHat > 1.01:
			mixed = append(mixed, m.Name)
			worst = math.Max(worst, m.RHat)
		}
		if bound := float64(100 * len(c.Draws)); !(m.BulkESS >= bound && m.TailESS >= bound) {
			few = append(few, m.Name)
			least = math.Min(least, math.Min(m.BulkESS, m.TailESS))
		}
	}
	if unknown != nil {
		warn("R̂ cannot be computed for %s: the draws are all equal, some draws are not finite, or a chain has fewer than four draws", text.List(unknown))
	}
	if mixed != nil {
		digits := 3
		if worst < 1.0105 {
			digits = 4 // 1.010 would seem to be below the limit
		}
		warn("R̂ is as high as %.*f, but should be below 1.01: the chains have not mixed for %s; run longer, with a longer burn-in; if that does not help, use parameters that are less correlated, or more informative priors", digits, worst, text.List(mixed))
	}
	if few != nil {
		what := fmt.Sprintf("as low as %.0f in total", least)
		if math.IsNaN(least) {
			what = "undefined in a tail"
		}
		warn("ESS is below 100 per chain (%s), so means, quantiles, R̂ and ESS are uncertain for %s; run longer chains", what, text.List(few))
	}
	if c.LogWeights != nil {
		if w := c.weights(summary); !w.trusted() {
			warn("the weighted draws are %v", w)
		}
	}
	if c.Capped {
		warn("the run reached its maximum number of draws before the required ESS: allow more draws, or make the burn-in longer")
	}
	return out
}

// warnModes is about chains whose log density is far below that of the best, and marks
// them.
func (c *Chains) warnModes(warn func(string, ...any)) []bool {
	elsewhere := make([]bool, len(c.Draws))
	lp := slices.Index(c.Quantities, "lp__")
	if lp < 0 || len(c.Generated) != len(c.Draws) || c.length() < 20 {
		return elsewhere
	}
	sorted := make([][]float64, len(c.Generated))
	best := 0
	for j, chain := range c.Generated {
		for _, q := range chain {
			sorted[j] = append(sorted[j], q[lp])
		}
		if !vector.Finite(sorted[j]) {
			return elsewhere
		}
		slices.Sort(sorted[j])
		if diag.Quantile(sorted[j], 0.5) > diag.Quantile(sorted[best], 0.5) {
			best = j
		}
	}
	for j := range sorted {
		if diag.Quantile(sorted[j], 0.9) < diag.Quantile(sorted[best], 0.1) {
			elsewhere[j] = true
			warn("the log density of chain %d is %.3g below that of chain %d: the chain with the lower density is in another mode, or has not converged yet; start at the mode with the higher density, make the burn-in longer, or use a prior that excludes the other mode", j+1, diag.Quantile(sorted[best], 0.5)-diag.Quantile(sorted[j], 0.5), best+1)
		}
	}
	return elsewhere
}

// warnApart is about chains that do not agree with the others and are not yet marked. A
// few draws far out can move a mean by many standard deviations, so R̂, which depends on
// ranks only, must be large, too.
func (c *Chains) warnApart(warn func(string, ...any), summary diag.Summary, warned ...[]bool) {
	const mixed = 1.05 // R̂ below which chains agree
	if len(c.Draws) < 3 {
		return
	}
	for j := range c.Draws {
		if slices.ContainsFunc(warned, func(s []bool) bool { return s[j] }) {
			continue
		}
		var names []string
		var farthest, here, there float64
		for i, name := range c.Names {
			if !(summary[i].RHat >= mixed) {
				continue
			}
			x := c.Parameter(i)
			others := slices.Delete(slices.Clone(x), j, j+1)
			if !(diag.RHat(others) < mixed) {
				continue
			}
			m, sd := stat.MeanStdDev(slices.Concat(others...), nil)
			mine := stat.Mean(x[j], nil)
			if away := math.Abs(mine-m) / sd; away > 1 {
				names = append(names, name)
				if away > farthest {
					farthest, here, there = away, mine, m
				}
			}
		}
		if names != nil {
			warn("chain %d differs from the others in %s: the means differ by up to %.2g standard deviations (%.4g in this chain, %.4g in the others); this chain is in another mode, or has not converged yet; compare the log densities, start all chains at the mode with the highest density, or make the burn-in longer", j+1, text.List(names), farthest, here, there)
		}
	}
}

// pileUp returns the end of the range of x near which more draws lie, and their share:
// within a hundredth of the distance to the median. It is 0.5 % for a uniform
// distribution, 0.7 % for an exponential one, and often above 10 % if the density grows
// like the inverse of the distance from a bound. A narrow mode inside the range does not
// count. Few of its draws are very close to the end: for a Gaussian 3 sd away, the 5 %
// quantile of the distances is 0.45 times their median, and 0.1 times it where the
// density is constant.
func pileUp(x []float64) (end, share float64) {
	const inside = 0.3
	if !vector.Finite(x) || len(x) < 100 {
		return 0, 0
	}
	x = slices.Clone(x)
	slices.Sort(x)
	median := diag.Quantile(x, 0.5)
	for _, e := range []float64{x[0], x[len(x)-1]} {
		var near []float64
		for _, v := range x {
			if d := math.Abs(v - e); d <= 0.01*math.Abs(median-e) {
				near = append(near, d)
			}
		}
		slices.Sort(near)
		atEnd := diag.Quantile(near, 0.05) <= inside*diag.Quantile(near, 0.5)
		if s := float64(len(near)) / float64(len(x)); s > share && atEnd && x[0] < x[len(x)-1] {
			end, share = e, s
		}
	}
	return end, share
}

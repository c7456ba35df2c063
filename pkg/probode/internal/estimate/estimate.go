// Package estimate estimates the centre and the spread of all draws or of a subset of the
// draws, with or without weights. The package also computes Monte Carlo standard errors
// of these estimates. The centre and the spread are either the median and half the width
// of the central 68 % interval, or the mean and the standard deviation. For a normal
// distribution, both definitions give the same centre and the same spread.
//
// The centre and the logarithm of the spread s are smooth functions of sample means over
// the draws. To first order, the error of each of these estimates is therefore the mean
// of its influence function over the draws [Hampel 1974]. The standard error of this mean
// accounts for the autocorrelation of the chains. The influence functions are
//
//	quantiles  (½ − 1{y ≤ q½})/f(q½)          (I(p₊) − I(p₋))/2s,  I(p) = (p − 1{y ≤ q_p})/f(q_p)
//	moments    y − m                          ½ ((y − m)²/v − 1)
//
// with p± = Φ(±1). For example, the error of a median depends on the effective sample
// size of the indicator 1{y ≤ q}. The density f at a quantile is estimated by a
// difference quotient of nearby quantiles, with the bandwidth of Bofinger (1975).
//
// If the level of a quantile falls into a gap between two modes, the quantile is not a
// smooth function of sample means. For example, a few draws can decide which of two
// symmetric modes contains the median. Therefore a second difference quotient is computed
// from the quantiles at p and p ± z e. Here e is the standard error of the level p, and z
// is about 2 to 3. If the two difference quotients differ by more than a factor of two,
// the second one is used. So a gap between modes increases the standard error of the
// quantile only if the level of the gap lies between p − 3e and p + 3e.
//
// If only a subset of the draws is used, the influence function is zero for all other
// draws. For draws in the subset, the influence function is divided by the fraction of
// draws that belong to the subset.
//
//   - Bofinger, E. (1975). Estimation of a density function using order statistics.
//     Australian Journal of Statistics 17(1), 1–7.
package estimate

import (
	"cmp"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/probode/probode/pkg/probode/mcmc/diag"
)

// low is the level of the lower end of the central 68 % interval.
var low = distuv.UnitNormal.CDF(-1)

// A Measure determines which statistics describe the centre and the spread of the draws.
type Measure int

const (
	Quantiles Measure = iota // median and half the width of the central 68 % interval
	Moments                  // mean and standard deviation
	Measures                 // the number of measures
)

// A Value holds the centre and the spread of a distribution, with standard errors.
type Value struct {
	Center, CenterSE float64
	Spread, SpreadSE float64
}

// A Difference describes how weights change the centre and the spread of a set of draws.
type Difference struct {
	Center, CenterSE float64 // centre under weights minus the centre of the draws
	Ratio, RatioSE   float64 // spread under weights divided by the spread of the draws
}

// A summary has the influence of each draw on the centre and on the log of the spread.
type summary struct {
	center, spread float64
	influence      func(y float64) (center, log float64)
	// jumps says whether the quantile function jumps near the quantile that determines the
	// centre. The field `stretches` says whether the quantile function jumps near the
	// quantiles that determine the spread.
	jumps, stretches bool
}

// summary takes nil for equal weights. levelSE returns the standard error of the fraction
// of draws up to y, the p-quantile.
func (by Measure) summary(x, weights []float64, levelSE func(y, p float64) float64) summary {
	if by == Moments {
		m, v := stat.PopMeanVariance(x, weights)
		return summary{center: m, spread: math.Sqrt(v), influence: func(y float64) (float64, float64) { return y - m, 0.5 * ((y-m)*(y-m)/v - 1) }}
	}
	q := newQuantiles(x, weights)
	mid, lo, hi := q.at(0.5), q.at(low), q.at(1-low)
	slopeMid, jumpMid := q.slope(0.5, levelSE(mid, 0.5))
	slopeLo, jumpLo := q.slope(low, levelSE(lo, low))
	slopeHi, jumpHi := q.slope(1-low, levelSE(hi, 1-low))
	below := func(p, at, slope, y float64) float64 {
		if y <= at {
			p--
		}
		return p * slope
	}
	s := (hi - lo) / 2
	return summary{mid, s, func(y float64) (float64, float64) {
		return below(0.5, mid, slopeMid, y), (below(1-low, hi, slopeHi, y) - below(low, lo, slopeLo, y)) / (2 * s)
	}, jumpMid, jumpLo || jumpHi}
}

// weightedQuantiles are the sorted draws and their levels p: the weights before a draw
// plus half of its own, from 0 to 1.
type weightedQuantiles struct {
	x, p []float64
	size float64 // Kish's effective number of draws
}

func newQuantiles(x, weights []float64) weightedQuantiles {
	if weights == nil {
		x = slices.Clone(x)
		slices.Sort(x)
		return sortedQuantiles(x, nil)
	}
	order := make([]int, len(x))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(i, j int) int { return cmp.Compare(x[i], x[j]) })
	y, w := make([]float64, len(x)), make([]float64, len(x))
	for k, i := range order {
		y[k], w[k] = x[i], weights[i]
	}
	return sortedQuantiles(y, w)
}

// sortedQuantiles does the same for draws that are sorted already. Draws without weight
// are left out, and nil weights are equal.
func sortedQuantiles(x, weights []float64) weightedQuantiles {
	q := weightedQuantiles{x: make([]float64, 0, len(x)), p: make([]float64, 0, len(x))}
	var sum, squares, before, at float64
	for i, v := range x {
		w := 1.0
		if weights != nil {
			w = weights[i]
		}
		if w > 0 {
			if len(q.x) > 0 {
				at += (before + w) / 2
			}
			before = w
			sum += w
			squares += w * w
			q.x, q.p = append(q.x, v), append(q.p, at)
		}
	}
	q.size = sum * sum / squares
	for i := range q.p {
		q.p[i] /= at
	}
	return q
}

// Quantile returns the p-quantile of the draws x with the given weights.
func Quantile(x, weights []float64, p float64) float64 { return newQuantiles(x, weights).at(p) }

func (q weightedQuantiles) at(p float64) float64 {
	n := len(q.x)
	if n < 2 {
		return math.NaN()
	}
	k, _ := slices.BinarySearch(q.p, p)
	k = min(max(k, 1), n-1)
	if !(q.p[k] > q.p[k-1]) {
		return q.x[k]
	}
	return q.x[k-1] + (p-q.p[k-1])/(q.p[k]-q.p[k-1])*(q.x[k]-q.x[k-1])
}

const (
	// If a gap between modes is within z standard errors of the level, least ≤ z ≤ most,
	// the interval of ±z around the quantile should cover it. Its level is 95 % for z =
	// 1.96, and 99.7 % for z = 3.
	least, most = 1.9, 3
	// A quantile is near a gap if the slope by a bandwidth of two to three standard
	// errors is more than `steep` times that by Bofinger's. Elsewhere the ratio is 1 ±
	// 0.15 for 1000 effective draws.
	steep = 2
)

// slope returns the reciprocal of the density at the p-quantile, or NaN for too few
// draws, and whether there is a gap within a few standard errors se.
func (q weightedQuantiles) slope(p, se float64) (slope float64, jump bool) {
	z := distuv.UnitNormal.Quantile(p)
	phi := distuv.UnitNormal.Prob(z)
	width := math.Pow(4.5*math.Pow(phi, 4)/math.Pow(2*z*z+1, 2)/q.size, 0.2)
	width = math.Min(width, 0.75*math.Min(p, 1-p))
	slope = (q.at(p+width) - q.at(p-width)) / (2 * width)
	if !(slope > 0) {
		return math.NaN(), false
	}
	if !(se > 0) {
		return slope, false
	}
	var steepest, central float64
	for z := float64(most); z >= least; z *= 0.85 {
		w := math.Min(z*se, 0.75*math.Min(p, 1-p))
		above, below := (q.at(p+w)-q.at(p))/w, (q.at(p)-q.at(p-w))/w
		steepest = math.Max(steepest, math.Max(above, below))
		central = math.Max(central, (above+below)/2)
	}
	switch {
	case steepest > steep*slope:
		return steepest, true
	case steepest < slope/steep: // a gap lies beyond the error of the level
		return central, false
	}
	return slope, false
}

// part summarises those draws x[c][k] that are marked by in[c][k] = 1. If `in` is nil,
// all draws are used. The second result is a function that returns the influence of draw k
// of chain c, divided by the share of the draws that are used.
func (by Measure) part(x, in [][]float64) (summary, func(c, k int) (center, log float64)) {
	share := 1.0
	if in != nil {
		share = stat.Mean(slices.Concat(in...), nil)
	}
	unit := func(c, k int) float64 {
		if in == nil {
			return 1
		}
		return in[c][k] / share
	}
	s := by.summary(slices.Concat(x...), slices.Concat(in...), func(y, p float64) float64 {
		terms := make([][]float64, len(x))
		for c := range x {
			for k, v := range x[c] {
				term := -p
				if v <= y {
					term++
				}
				terms[c] = append(terms[c], term*unit(c, k))
			}
		}
		return meanSE(terms)
	})
	return s, func(c, k int) (center, log float64) {
		u := unit(c, k)
		if u == 0 {
			return 0, 0
		}
		center, log = s.influence(x[c][k])
		return center * u, log * u
	}
}

// Apply returns the centre and the spread of the draws that `in` selects: in[c][k] is 1
// if x[c][k] is used, and 0 otherwise.
func (by Measure) Apply(x, in [][]float64) Value {
	s, influence := by.part(x, in)
	center, log := make([][]float64, len(x)), make([][]float64, len(x))
	for c := range x {
		for k := range x[c] {
			f, g := influence(c, k)
			center[c], log[c] = append(center[c], f), append(log[c], g)
		}
	}
	return Value{s.center, meanSE(center), s.spread, s.spread * meanSE(log)}
}

// Jumps reports whether the median or an end of the central 68 % interval of the selected
// draws may lie in a gap between modes. If a quantile lies in a gap between modes, more
// draws do not reduce the error of the quantile. The argument `in` selects the draws, as
// in Apply.
func Jumps(x, in [][]float64) bool {
	s, _ := Quantiles.part(x, in)
	return s.jumps || s.stretches
}

// blocks is the number of blocks of the jackknife in Weighed. The relative error of a
// standard error from n blocks is about 1/√(2n), which is 14 % here.
const blocks = 24

// Weighed compares the draws x under the weights `from` with the same draws under the weights
// `to`; nil weights are equal. Only the draws that `in` selects are used. The Difference holds
// the centre under `to` minus that under `from`, and the spread under `to` divided by that
// under `from`. The Value is that under `to`.
//
// The standard errors come from a jackknife that leaves out one block of consecutive
// draws at a time [Künsch 1989]. A linear approximation would be too small: a draw with a
// large weight pulls the estimate towards itself, and its influence then looks small. The
// jackknife sees how far the estimate moves without it. A quantile is no smooth function
// of the draws, for which the jackknife is made: what it says of the difference of two
// medians is several times too large. The share of the draws up to a quantile is smooth.
// The jackknife is therefore applied to it, and the slope of the quantile function makes a
// quantile of a share.
//
//   - Künsch, H. R. (1989). The jackknife and the bootstrap for general stationary
//     observations. Annals of Statistics 17(3), 1217–1241.
func (by Measure) Weighed(x, from, to, in [][]float64) (Difference, Value) {
	var all []draw
	block := 0
	for c := range x {
		last := -1
		for k, v := range x[c] {
			if b := k * blocks / (len(x) * len(x[c])); b != last { // each chain has its own blocks
				last = b
				block++
			}
			if in == nil || in[c][k] == 1 {
				d := draw{v, 1, 1, block - 1}
				if from != nil {
					d.from = from[c][k]
				}
				if to != nil {
					d.to = to[c][k]
				}
				all = append(all, d)
			}
		}
	}
	slices.SortFunc(all, func(a, b draw) int { return cmp.Compare(a.x, b.x) })
	values, before, after := make([]float64, len(all)), make([]float64, len(all)), make([]float64, len(all))
	for i, d := range all {
		values[i], before[i], after[i] = d.x, d.from, d.to
	}
	first, second := func(d draw) float64 { return d.from }, func(d draw) float64 { return d.to }
	var at, end replicas
	if by == Moments {
		at, end = moments(all, block, first), moments(all, block, second)
	} else {
		p, q := sortedQuantiles(values, before), sortedQuantiles(values, after)
		p.size = min(p.size, q.size) // the same bandwidth for both
		q.size = p.size
		at, end = quantiles(p, all, block, first), quantiles(q, all, block, second)
	}
	ratio := end.spread / at.spread
	difference := func(a, b []float64) []float64 { return floats.SubTo(make([]float64, block), a, b) }
	out := Difference{end.center - at.center, jackknife(difference(end.centers, at.centers)), ratio, ratio * jackknife(difference(end.logs, at.logs))}
	if by == Quantiles {
		// The distance between two quantiles with at most one draw between them is as random
		// as that between two draws, which no block knows.
		between := func(k int) float64 {
			one := at.spacing[k]
			return math.Min(math.Abs(end.at[k]-at.at[k]), one) * one
		}
		out.CenterSE = math.Hypot(out.CenterSE, math.Sqrt(between(1)))
		out.RatioSE = math.Hypot(out.RatioSE, ratio*math.Sqrt(between(0)+between(2))/(2*at.spread))
	}
	value := Value{end.center, jackknife(end.centers), end.spread, end.spread * jackknife(end.logs)}
	// If the draws have a gap near a quantile, the two quantiles may lie on different sides of
	// the gap, even if the weights are nearly equal.
	if at.jumps {
		out.CenterSE = math.Max(out.CenterSE, math.Abs(out.Center)/least)
	}
	if at.stretches {
		out.RatioSE = math.Max(out.RatioSE, ratio*math.Abs(math.Log(ratio))/least)
	}
	return out, value
}

// A draw is a selected draw with its weights and its block.
type draw struct {
	x, from, to float64
	block       int
}

// Widen returns the factor for the standard errors of Weighed if the weights have the tail
// index k < 1. The jackknife does not see the part of the tail that no draw has reached. The
// mean excess of a generalised Pareto distribution over its threshold is proportional to
// 1/(1 − k). The farther a draw, the more it moves a mean, but not a quantile, for which
// half of the logarithm is enough.
func (by Measure) Widen(k float64) float64 {
	factor := 1 / (1 - max(k, 0))
	if by == Quantiles {
		return math.Sqrt(factor)
	}
	return factor
}

// jackknife is NaN without numbers, as for draws that are too few.
func jackknife(replicas []float64) float64 {
	_, variance := stat.PopMeanVariance(replicas, nil)
	return math.Sqrt(float64(len(replicas)-1) * variance)
}

// replicas are the centre and the spread of all draws, and centres and logarithms of
// spreads without one block each. The fields `jumps` and `stretches` are those of summary.
type replicas struct {
	center, spread   float64
	centers, logs    []float64
	jumps, stretches bool

	at, spacing [3]float64 // the quantiles, and the mean distance between two draws there
}

func moments(all []draw, block int, weight func(draw) float64) (r replicas) {
	for without := -1; without < block; without++ {
		var x, w []float64
		for _, d := range all {
			if d.block != without {
				x, w = append(x, d.x), append(w, weight(d))
			}
		}
		m, v := stat.PopMeanVariance(x, w)
		if without < 0 {
			r.center, r.spread = m, math.Sqrt(v)
			continue
		}
		r.centers, r.logs = append(r.centers, m), append(r.logs, math.Log(v)/2)
	}
	return r
}

// quantiles takes the quantile function q of the weighted draws. Its centers are relative to
// center, and its logs to that of spread.
func quantiles(q weightedQuantiles, all []draw, block int, weight func(draw) float64) (r replicas) {
	mass, total := make([]float64, block), 0.0
	for _, d := range all {
		mass[d.block] += weight(d)
		total += weight(d)
	}
	var moved [3][]float64 // of the quantiles, without a block
	var jumps [3]bool
	for k, p := range []float64{low, 0.5, 1 - low} {
		r.at[k] = q.at(p)
		in, below := make([]float64, block), 0.0 // the weights up to the quantile, by block
		for _, d := range all {
			if d.x <= r.at[k] {
				in[d.block] += weight(d)
				below += weight(d)
			}
		}
		moved[k] = make([]float64, block)
		for b := range block {
			moved[k][b] = below/total - (below-in[b])/(total-mass[b])
		}
		var slope float64
		slope, jumps[k] = q.slope(p, jackknife(moved[k]))
		floats.Scale(slope, moved[k])
		r.spacing[k] = slope / float64(len(all))
	}
	r.center, r.spread = r.at[1], (r.at[2]-r.at[0])/2
	r.jumps, r.stretches = jumps[1], jumps[0] || jumps[2]
	for b := range block {
		r.centers, r.logs = append(r.centers, moved[1][b]), append(r.logs, (moved[2][b]-moved[0][b])/(2*r.spread))
	}
	return r
}

// meanSE is 0 if all numbers are equal, and else diag.MCSEMean.
func meanSE(x [][]float64) float64 {
	se := diag.MCSEMean(x)
	if math.IsNaN(se) {
		if all := slices.Concat(x...); len(all) > 0 && slices.Max(all) == slices.Min(all) {
			return 0
		}
	}
	return se
}

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

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/probode/probode/pkg/probode/mcmc/diag"
)

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

// A Difference describes how weights change the centre and the spread of a set of draws:
// it holds the difference of the centres and the ratio of the spreads.
type Difference struct {
	Center, CenterSE float64 // centre of the draws minus the centre under weights
	Ratio, RatioSE   float64 // spread of the draws divided by the spread under weights
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
	low := distuv.UnitNormal.CDF(-1)
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
		return equalQuantiles(x)
	}
	type weighed struct{ x, w float64 }
	var all []weighed
	var sum, squares float64
	for i, v := range x {
		if w := weights[i]; w > 0 {
			all = append(all, weighed{v, w})
			sum += w
			squares += w * w
		}
	}
	slices.SortFunc(all, func(a, b weighed) int { return cmp.Compare(a.x, b.x) })
	q := weightedQuantiles{size: sum * sum / squares}
	at := 0.0
	for i, a := range all {
		if i > 0 {
			at += (all[i-1].w + a.w) / 2
		}
		q.x, q.p = append(q.x, a.x), append(q.p, at)
	}
	for i := range q.p {
		q.p[i] /= at
	}
	return q
}

// equalQuantiles only needs to sort.
func equalQuantiles(x []float64) weightedQuantiles {
	q := weightedQuantiles{x: slices.Clone(x), p: make([]float64, len(x)), size: float64(len(x))}
	slices.Sort(q.x)
	for i := range q.p {
		q.p[i] = float64(i) / float64(len(x)-1)
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

// part summarises the draws with in[c][k] = 1 (nil: all) and weights w (nil: equal). The
// function returns the influence of a draw times its weight, divided by the share of the
// draws.
func (by Measure) part(x, w, in [][]float64) (summary, func(c, k int) (center, log float64)) {
	both, share := w, 1.0
	switch {
	case in != nil && w == nil:
		both = in
	case in != nil:
		both = make([][]float64, len(w))
		for i := range w {
			both[i] = make([]float64, len(w[i]))
			for k := range w[i] {
				both[i][k] = w[i][k] * in[i][k]
			}
		}
	}
	if in != nil {
		share = stat.Mean(slices.Concat(both...), nil)
	}
	unit := func(c, k int) float64 {
		if both == nil {
			return 1 / share
		}
		return both[c][k] / share
	}
	s := by.summary(slices.Concat(x...), slices.Concat(both...), func(y, p float64) float64 {
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
	s, influence := by.part(x, nil, in)
	center, log := stretches(x, influence, len(x[0]))
	return Value{s.center, meanSE(center), s.spread, s.spread * meanSE(log)}
}

// Jumps reports whether the median or an end of the central 68 % interval of the selected
// draws may lie in a gap between modes. If a quantile lies in a gap between modes, more
// draws do not reduce the error of the quantile. The argument `in` selects the draws, as
// in Apply.
func Jumps(x, in [][]float64) bool {
	s, _ := Quantiles.part(x, nil, in)
	return s.jumps || s.stretches
}

// Stretches divides each chain of x into n parts, and uses only the draws that `in`
// selects. For each part of a chain, Stretches returns a number in `center` and a number
// in `log`. To first order, the error of the centre is the mean of the numbers in
// `center`, and the error of the logarithm of the spread is the mean of the numbers in
// `log`.
func (by Measure) Stretches(x, in [][]float64, n int) (center, log [][]float64) {
	_, influence := by.part(x, nil, in)
	return stretches(x, influence, n)
}

func stretches(x [][]float64, influence func(c, k int) (center, log float64), n int) (center, log [][]float64) {
	center, log = make([][]float64, len(x)), make([][]float64, len(x))
	for i, c := range x {
		center[i], log[i] = make([]float64, n), make([]float64, n)
		unit := float64(n) / float64(len(c))
		from := 0
		for k := range n {
			var a, b float64
			to := (k + 1) * len(c) / n
			for l := from; l < to; l++ {
				u, v := influence(i, l)
				a += u * unit
				b += v * unit
			}
			center[i][k], log[i][k] = a, b
			from = to
		}
	}
	return center, log
}

// Weighed compares the draws x with the same draws under weights w, whose mean is 1. Only
// the draws that `in` selects are used. Weighed returns a difference D and a ratio R. The
// difference D is the centre of the draws minus the centre of the weighted draws, in
// units of the parameter. The ratio R is the spread of the draws divided by the spread of
// the weighted draws. Let φ and ψ be the influence functions of the centre and of the
// logarithm of the spread, and let φ_w and ψ_w be the same functions for the weighted
// draws. The standard error of D is the standard error of the mean of φ − w φ_w. The
// standard error of log R is the standard error of the mean of ψ − w ψ_w.
//
// The weighted draws represent the posterior of the accurate solver. Weighed also
// estimates the centre and the spread of this posterior. The first estimate of the centre
// is all.Center − D, where all.Center is the centre of all draws. The second estimate of
// the centre is the centre of the weighted draws. Weighed returns the estimate with the
// smaller standard error. In the same way, Weighed chooses between two estimates of the
// logarithm of the spread.
//
// The draws x are a subset of all draws, so all.Center and D are correlated. The standard
// error of all.Center − D is the standard error of the mean of allCenter − (φ − w φ_w).
// The standard error of log(all.Spread / R) is the standard error of the mean of allLog −
// (ψ − w ψ_w). The arguments allCenter and allLog are the results of Stretches for all
// draws. The argument n of Stretches must be the number of draws in each chain of x.
//
// The standard error of the weighted centre is the standard error of the mean of w φ_w.
// The standard error of the logarithm of the weighted spread is the standard error of the
// mean of w ψ_w. If x contains all draws, the first and the second estimates are the
// same. Suppose that the weights are almost zero in a distant mode. The number of draws
// in the distant mode is random, so all.Center and D both have large errors. For such
// weights, the weighted centre is more accurate than all.Center − D.
func (by Measure) Weighed(x, w, in, allCenter, allLog [][]float64, all Value) (Difference, Value) {
	plain, influence := by.part(x, nil, in)
	weighted, influenceW := by.part(x, w, in)
	var phi, psi, restPhi, restPsi, ownPhi, ownPsi [][]float64
	for i := range x {
		n := len(x[i])
		f, g, rf, rg := make([]float64, n), make([]float64, n), make([]float64, n), make([]float64, n)
		of, og := make([]float64, n), make([]float64, n)
		for k := range x[i] {
			a, b := influence(i, k)
			c, d := influenceW(i, k)
			f[k], g[k], of[k], og[k] = a-c, b-d, c, d
			rf[k], rg[k] = allCenter[i][k]-f[k], allLog[i][k]-g[k]
		}
		phi, psi, restPhi, restPsi = append(phi, f), append(psi, g), append(restPhi, rf), append(restPsi, rg)
		ownPhi, ownPsi = append(ownPhi, of), append(ownPsi, og)
	}
	ratio := plain.spread / weighted.spread
	d := Difference{plain.center - weighted.center, meanSE(phi), ratio, ratio * meanSE(psi)}
	// If the draws have a gap near a quantile, the unweighted and the weighted quantile
	// may lie on different sides of the gap, even if the weights are nearly equal. In
	// this case the errors of the two quantiles do not cancel in the difference.
	if plain.jumps || weighted.jumps {
		d.CenterSE = math.Max(d.CenterSE, math.Abs(d.Center)/least)
	}
	if plain.stretches || weighted.stretches {
		d.RatioSE = math.Max(d.RatioSE, ratio*math.Abs(math.Log(ratio))/least)
	}
	center, centerSE := all.Center-d.Center, meanSE(restPhi)
	if se := meanSE(ownPhi); se < centerSE {
		center, centerSE = weighted.center, se
	}
	spread, logSE := all.Spread/ratio, meanSE(restPsi)
	if se := meanSE(ownPsi); se < logSE {
		spread, logSE = weighted.spread, se
	}
	return d, Value{center, centerSE, spread, spread * logSE}
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

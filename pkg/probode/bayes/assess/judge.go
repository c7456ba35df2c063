package assess

import (
	"cmp"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/probode/probode/pkg/probode/bayes/sample"
	"github.com/probode/probode/pkg/probode/internal/estimate"
)

type judge struct {
	*sampling
	threshold float64
	z         float64   // the distance from the threshold that a verdict needs, in standard errors
	y         *standard // nil if the reference posterior is not known
	allowed   bool      // y and the reference can be trusted
}

func (j *judge) judge(d *draws) {
	inf, n := d.summed, len(j.assessed)
	inf.Effects = make([]Effect, n)
	known := make([]bool, n)
	own := j.trusted(d)
	for k, q := range j.quantities {
		e := Effect{Median: j.shift(byQuantiles, d, k, own), Mean: j.shift(byMoments, d, k, own)}
		ok := j.known(d, k)
		if ok {
			e.Median.Verdict = e.Median.judge(j.threshold, j.z)
			e.Mean.Verdict = e.Mean.judge(j.threshold, j.z)
		}
		e.Verdict = e.Median.Verdict
		if q.part >= 0 {
			whole := &inf.Effects[k%n]
			whole.Within = append(whole.Within, e)
			whole.Verdict = worse(whole.Verdict, e.Verdict)
			known[k%n] = known[k%n] && ok
			continue
		}
		// The verdict on the mean and the sd cannot be Negligible if a mode without draws
		// could shift the mean or the sd by more than unvisitedSize times the threshold.
		if e.Mean.Verdict == Negligible && (j.unvisited(d, j.y, k).size > unvisitedSize || j.unseenSize(d, j.y, k) > unvisitedSize) {
			e.Mean.Verdict = Undecided
		}
		e.Gap = e.Median.Verdict == Undecided && (d.gaps[k] || j.y != nil && j.y.gaps[k])
		inf.Effects[k], known[k] = e, ok
	}
	inf.Verdict = Undecided
	if j.allowed {
		inf.Verdict = Negligible
		switch {
		case d.p == nil || d.target == sample.Accurate:
		case d.target == sample.Classical:
			inf.Verdict = verdictOnModes(d.pair.own)
		default:
			inf.Verdict = j.verdictOnShares(d)
		}
	}
	for k := range inf.Effects {
		e := &inf.Effects[k]
		if e.Verdict == Undecided && known[k] && !e.Gap {
			e.Draws = math.Ceil(math.Max(1.1, e.more(j.threshold, j.z)) * float64(inf.Draws))
		}
		inf.Verdict = worse(inf.Verdict, e.Verdict)
	}
}

func (j *judge) known(d *draws, k int) bool {
	return j.allowed && d.sound[k] && j.y.sound[k] && j.y.accurate[byQuantiles][k].Spread > 0
}

// shift takes the estimate with the smaller standard error: the difference between two
// runs or, if its weights can be trusted, that from the weights of the run.
func (j *judge) shift(by estimate.Measure, d *draws, k int, own bool) Shift {
	m, nan := d.estimates[by][k], math.NaN()
	if by == byMoments && j.lacks(d, k) {
		m = unknown()
	}
	if j.y == nil || by == byMoments && !j.moments(d, k) {
		return Shift{CenterSpread: m, Bias: nan, BiasSE: nan, Ratio: nan, RatioSE: nan}
	}
	x := j.y.accurate[by][k]
	s := m.against(x)
	if own {
		if w := d.shifts[by][k]; w.CenterSE/x.Spread < s.BiasSE {
			s.Bias, s.BiasSE, s.Ratio, s.RatioSE = w.Center/x.Spread, w.CenterSE/x.Spread, w.Ratio, w.RatioSE
		}
	}
	// The bias is measured in units of the spread of the reference posterior. The Monte
	// Carlo error of this spread contributes to the standard error of the bias.
	s.BiasSE = math.Hypot(s.BiasSE, s.Bias*x.SpreadSE/x.Spread)
	return s
}

// moments reports whether moments can be compared: not if the tails are too heavy for a
// mean, or a mode without draws would shift them by more than unvisitedSize times the
// threshold.
func (j *judge) moments(d *draws, k int) bool {
	switch n := len(j.assessed); {
	case j.y.heavy[k%n]:
		return false
	case j.quantities[k].part >= 0:
		return true // inside one mode
	}
	return !j.y.meanless(j.sampling, k) && !j.lacks(d, k)
}

func (j *judge) lacks(d *draws, k int) bool {
	return j.y != nil && j.quantities[k].part < 0 && j.empty(d.pair.modes, d.visited, j.y, k).size > unvisitedSize
}

// against compares independent estimates.
func (m CenterSpread) against(x CenterSpread) Shift {
	ratio := m.Spread / x.Spread
	return Shift{CenterSpread: m, Bias: (m.Center - x.Center) / x.Spread, BiasSE: math.Hypot(m.CenterSE, x.CenterSE) / x.Spread,
		Ratio: ratio, RatioSE: ratio * math.Hypot(m.SpreadSE/m.Spread, x.SpreadSE/x.Spread)}
}

// trusted refuses weights if the solver misses a mode: weights and k̂ know nothing of
// regions without draws.
func (j *judge) trusted(d *draws) bool {
	if j.y == nil || !j.usable(d) || !d.whole() {
		return false
	}
	for by := range measures {
		for k := range j.quantities {
			if by == byMoments && j.y.heavy[k%len(j.assessed)] || !d.sound[k] || !j.y.sound[k] {
				continue
			}
			s, x, w := d.estimates[by][k].against(j.y.accurate[by][k]), j.y.accurate[by][k], d.shifts[by][k]
			if math.Abs(s.Bias-w.Center/x.Spread) > astray*s.BiasSE || math.Abs(math.Log(s.Ratio/w.Ratio)) > astray*s.RatioSE/s.Ratio {
				return false
			}
		}
	}
	return true
}

// judge uses intervals of ±z standard errors. With a NaN the verdict is not Negligible.
func (s Shift) judge(threshold, z float64) Verdict {
	bias, ratio := s.sizes(threshold)
	b, r := s.errors(threshold, z)
	switch {
	case bias-b > 1 || ratio-r > 1:
		return Matters
	case bias+b < 1 && ratio+r < 1:
		return Negligible
	}
	return Undecided
}

// errors returns z standard errors in units of the threshold.
func (s Shift) errors(threshold, z float64) (bias, ratio float64) {
	return z * s.BiasSE / threshold, z * s.RatioSE / s.Ratio / math.Log1p(threshold)
}

func (s Shift) sizes(threshold float64) (bias, ratio float64) {
	return math.Abs(s.Bias) / threshold, math.Abs(math.Log(s.Ratio)) / math.Log1p(threshold)
}

func (s Shift) size(threshold float64) float64 {
	bias, ratio := s.sizes(threshold)
	return math.Max(bias, ratio)
}

// more returns the factor by which draws must grow for a verdict, if the estimates do not
// change.
func (e Effect) more(threshold, z float64) float64 {
	least, most := math.Inf(1), 0.0 // the factors needed to show that one effect is above the threshold, or that all are below
	for _, e := range append([]Effect{e}, e.Within...) {
		s := e.Median
		b, r := s.sizes(threshold)
		bias, ratio := s.errors(threshold, z)
		bias, ratio = bias/math.Abs(b-1), ratio/math.Abs(r-1)
		// One effect above the threshold is enough for the verdict Matters.
		if b > 1 {
			least = math.Min(least, bias)
		}
		if r > 1 {
			least = math.Min(least, ratio)
		}
		most = math.Max(most, math.Max(bias, ratio))
	}
	f := math.Min(least, most)
	return f * f
}

// needed returns the draws per chain for a verdict, if the estimates do not change: on
// one parameter with an effect above the threshold, which is enough for Matters, or else
// on all of them. It is NaN if there is a verdict, and +Inf if the number is not known.
func (inf *Inference) needed(threshold float64) float64 {
	if inf.Verdict != Undecided {
		return math.NaN()
	}
	least, most := math.Inf(1), 0.0
	for _, e := range inf.Effects {
		if e.Verdict != Undecided {
			continue
		}
		n := cmp.Or(e.Draws, math.Inf(1))
		if s, _ := e.gravest(threshold); s.size(threshold) > 1 {
			least = math.Min(least, n)
		}
		most = math.Max(most, n)
	}
	if most == 0 {
		return math.Inf(1) // no parameter is undecided, but a mode is
	}
	return math.Min(least, most)
}

// gravest returns the largest of the shifts with the most serious verdict, and the index
// of its mode, or −1 for the whole posterior.
func (e Effect) gravest(threshold float64) (gravest Shift, part int) {
	gravest, part = e.Median, -1
	for k, w := range e.Within {
		s := w.Median
		graver := worse(s.Verdict, gravest.Verdict) == s.Verdict
		if s.Verdict == gravest.Verdict {
			graver = s.size(threshold) > gravest.size(threshold)
		}
		if graver {
			gravest, part = s, k
		}
	}
	return gravest, part
}

// gravest returns the parameter with the largest of the effects with the most serious
// verdict.
func (inf *Inference) gravest(threshold float64) (param int) {
	v := Negligible
	for _, e := range inf.Effects {
		v = worse(v, e.Verdict)
	}
	size := math.Inf(-1)
	for j, e := range inf.Effects {
		s, _ := e.gravest(threshold)
		if n := s.size(threshold); e.Verdict == v && (n > size || math.IsNaN(n)) {
			param, size = j, n
		}
	}
	return param
}

// largest returns zero if the effect is not negligible at the smallest step.
func (a *Report) largest(j int) (size float64, undecidedAbove bool) {
	for _, st := range slices.Backward(a.Steps) {
		v := st.verdict() // a bound holds for all parameters
		if st.Deterministic != nil {
			v = st.Deterministic.Effects[j].Verdict
		} else if st.Bound == nil {
			break
		}
		if v != Negligible {
			return size, v == Undecided
		}
		size = st.Size()
	}
	return size, false
}

func (a *Report) standardErrors() float64 {
	return distuv.UnitNormal.Quantile(1 - (1-a.Confidence)/2/float64(a.Looks))
}

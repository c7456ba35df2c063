package assess

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/probode/probode/pkg/probode/bayes"
	"github.com/probode/probode/pkg/probode/internal/estimate"
)

// result is what is known about the posterior of a candidate, from weights or from a run.
type result struct {
	estimates   [measures][]CenterSpread
	differences *[measures][]estimate.Difference // nil for a run of its own
	sound, gaps []bool
	worth       float64 // effective number of draws

	modes   *bayes.Modes // of the posterior without noise
	visited []float64    // the share of the draws in each of them
}

// known returns what is known about candidate i, or nil.
func (a *assessment) known(i int) *result {
	at := a.setupOf(i)
	if d := a.runs[i]; d != nil {
		return &result{d.estimates, nil, d.sound, d.gaps, a.effective(d), d.p.Modes, d.visited}
	}
	w := a.weightings[at]
	if a.out.Candidates[i].Noisy || w == nil || a.y == nil || !a.represents(w, a.y) {
		return nil
	}
	return &result{w.estimates, &w.differences, a.y.sound, a.y.gaps, a.effective(a.y) * w.kish, nil, nil}
}

// judge judges the candidates. A verdict at an earlier look stands, unless the draws of the
// reference posterior have become doubtful.
func (a *assessment) judge() {
	doubt := a.doubt()
	for i, x := range a.out.Candidates {
		if x.Verdict != Undecided && doubt == "" {
			continue
		}
		x.Verdict, x.Why = Undecided, doubt
		r := a.known(i)
		if r == nil {
			if x.Inference = nil; a.failures[i] != "" {
				x.Why = a.failures[i]
			} else if x.Why == "" {
				x.Why = "no draws"
			}
			continue
		}
		x.Inference = a.inference(i)
		a.effects(x.Inference, r)
		if doubt == "" {
			a.decide(i, x)
		}
	}
}

// doubt says why nothing can be decided. It returns "" if a verdict is possible.
func (a *assessment) doubt() string {
	if a.y == nil {
		return a.why
	}
	if a.stray > mostStray {
		return fmt.Sprintf(saidStray, described(a.drawnBy()), a.strayBy, a.stray)
	}
	if !a.own.enough(a.out.Threshold) {
		return sayDistrust(a.own, a.out.Threshold)
	}
	if !a.mixed(a.y) {
		return fmt.Sprintf(saidUnmixed, a.y.worstRHat(), a.effective(a.y))
	}
	if m := a.emptyMode(a.y); m != nil {
		return fmt.Sprintf(saidEmptyMode, a.out.at(m.Theta), m.Mass)
	}
	return ""
}

// emptyMode returns a mode of the reference posterior that the draws do not enter, or nil.
func (a *assessment) emptyMode(y *draws) *bayes.Mode {
	for k, share := range y.visitedReference {
		if m := a.modes.reference.Modes[k]; m.Cov != nil && m.Mass > minor && share == 0 {
			return m
		}
	}
	return nil
}

// inference returns the description of the draws of candidate i.
func (a *assessment) inference(i int) *Inference {
	if d := a.runs[i]; d != nil {
		x := a.out.Candidates[i]
		if k := slices.Index(a.out.Names, a.p.AlphaParam); x.Noisy && k >= 0 {
			x.Alpha = d.result.Summary[k].Mean
		} else if x.Noisy {
			x.Alpha = d.p.Alpha
		}
		if !x.Noisy {
			a.modes.setups[a.setupOf(i)].visit(d.visited, a.mixed(d))
		}
		return &Inference{KHat: math.NaN(), Sampler: d.sampler(), Summary: d.result.Summary, Draws: len(d.all.Draws[0]), Chains: len(d.all.Draws),
			Solves: int(math.Round(d.result.Work)), Seconds: d.result.Seconds}
	}
	w := a.weightings[a.setupOf(i)]
	return &Inference{Weighted: true, KHat: w.khat, Sampler: a.y.sampler(), Draws: len(a.y.all.Draws[0]), Chains: len(a.y.all.Draws), Seconds: w.seconds}
}

// effects computes the effect on each parameter, with its verdict.
func (a *assessment) effects(inf *Inference, r *result) {
	n := len(a.assessed)
	inf.Effects = make([]Effect, n)
	for k, q := range a.quantities {
		e := Effect{Median: a.shift(byQuantiles, r, k), Mean: a.shift(byMoments, r, k)}
		for by, s := range []*Shift{&e.Median, &e.Mean} {
			if s.Why = a.unknown(estimate.Measure(by), r, k); s.Why != "" {
				s.withoutErrors()
				continue
			}
			s.Verdict, s.Why = s.judge(a.out.Threshold, a.out.standardErrors(), a.unseen(estimate.Measure(by), r, k))
			if by == int(byQuantiles) && s.Verdict == Undecided && (r.gaps[k] || a.y.gaps[k]) {
				s.Why = saidGap
			}
		}
		if e.Verdict = e.Median.Verdict; q.part >= 0 {
			whole := &inf.Effects[k%n]
			whole.Within = append(whole.Within, e)
			whole.Verdict = worse(whole.Verdict, e.Verdict)
			continue
		}
		inf.Effects[k] = e
	}
}

// shift compares quantity k of a candidate with the reference posterior.
func (a *assessment) shift(by estimate.Measure, r *result, k int) Shift {
	m, x := r.estimates[by][k], a.y.estimates[by][k]
	s := Shift{CenterSpread: m, Bias: (m.Center - x.Center) / x.Spread, BiasSE: math.Hypot(m.CenterSE, x.CenterSE) / x.Spread,
		Ratio: m.Spread / x.Spread}
	s.RatioSE = s.Ratio * math.Hypot(m.SpreadSE/m.Spread, x.SpreadSE/x.Spread)
	if r.differences != nil {
		d := r.differences[by][k]
		s.Bias, s.BiasSE, s.Ratio, s.RatioSE = d.Center/x.Spread, d.CenterSE/x.Spread, d.Ratio, d.RatioSE
	}
	// The bias is measured in units of the spread of the reference posterior. The Monte
	// Carlo error of this spread contributes to the standard error of the bias.
	s.BiasSE = math.Hypot(s.BiasSE, s.Bias*x.SpreadSE/x.Spread)
	return s
}

// withoutErrors removes errors that cannot be trusted, so that none is printed.
func (s *Shift) withoutErrors() {
	nan := math.NaN()
	s.CenterSE, s.SpreadSE, s.BiasSE, s.RatioSE = nan, nan, nan, nan
}

// unknown says why the standard errors of quantity k, or the quantity itself, cannot be
// trusted. It returns "" if they can.
func (a *assessment) unknown(by estimate.Measure, r *result, k int) string {
	q, n := a.quantities[k], len(a.assessed)
	switch {
	case !r.sound[k] || !a.y.sound[k]:
		return saidUnsound
	case !(a.y.estimates[byQuantiles][k].Spread > 0):
		return saidEqualDraws
	case by == byQuantiles || q.part >= 0:
		return ""
	case a.heavy[k%n]:
		return fmt.Sprintf(saidHeavy, a.tails[k%n])
	}
	x := a.y.estimates[byMoments][k]
	for _, h := range []hole{a.hole(r.modes, r.visited, x, k), a.hole(a.modes.reference, a.y.visitedReference, x, k)} {
		if h.size > unvisitedSize {
			return fmt.Sprintf(saidUnvisited, a.out.at(h.theta), h.mass, h.size)
		}
	}
	return ""
}

// unseen returns by how many thresholds a mode that is too small to be seen among the draws
// could move quantity k. It moves no quantile, and nothing within the part of another mode.
func (a *assessment) unseen(by estimate.Measure, r *result, k int) float64 {
	if by == byQuantiles || a.quantities[k].part >= 0 {
		return 0
	}
	return a.unseenSize(unseenMass(math.Min(r.worth, a.effective(a.y))), a.y.estimates[by][k], k)
}

// decide gives the verdict on candidate i from its effects and its modes.
func (a *assessment) decide(i int, x *Candidate) {
	f, d := &a.modes.setups[a.setupOf(i)], a.runs[i]
	x.Verdict = Negligible
	switch {
	case d == nil: // the two posteriors have the same modes
	case x.Noisy:
		x.Verdict = a.verdictOnShares(d, f)
	default:
		x.Verdict = verdictOnModes(f.own)
	}
	if x.Verdict == Undecided {
		x.Why = saidModeUndecided
	}
	largest := math.Inf(-1)
	for j, e := range x.Inference.Effects {
		x.Verdict = worse(x.Verdict, e.Verdict)
		if s, _ := e.gravest(a.out.Threshold); e.Verdict == Undecided && !(s.size(a.out.Threshold) <= largest) {
			largest = s.size(a.out.Threshold)
			x.Why = fmt.Sprintf("%s: %s", a.out.Params[j].Name, s.Why)
		}
	}
	if x.Verdict != Undecided {
		x.Why = ""
	}
}

// judge returns the verdict on the bias and on the ratio of the spreads, and the reason
// for no verdict. The verdict is based on intervals of ±z standard errors, and of `unseen`
// thresholds more on both sides. If the bias, the ratio or one of the standard errors is
// NaN, the verdict is Undecided.
func (s Shift) judge(threshold, z, unseen float64) (Verdict, string) {
	bias, ratio := s.sizes(threshold)
	b, r := z*s.BiasSE/threshold, z*s.RatioSE/s.Ratio/math.Log1p(threshold)
	switch {
	case bias-b-unseen > 1 || ratio-r-unseen > 1:
		return Matters, ""
	case bias+b+unseen < 1 && ratio+r+unseen < 1:
		return Negligible, ""
	case unseen > max(b, r):
		return Undecided, saidUnseen
	}
	return Undecided, fmt.Sprintf("bias %s, width × %s, too close to the threshold for the number of draws", plusMinus(s.Bias, s.BiasSE, true), plusMinus(s.Ratio, s.RatioSE, false))
}

func (s Shift) sizes(threshold float64) (bias, ratio float64) {
	return math.Abs(s.Bias) / threshold, math.Abs(math.Log(s.Ratio)) / math.Log1p(threshold)
}

func (s Shift) size(threshold float64) float64 {
	bias, ratio := s.sizes(threshold)
	return math.Max(bias, ratio)
}

// gravest returns the shift with the most serious verdict, in the whole posterior or
// within a mode. Among shifts with equally serious verdicts, gravest returns the largest
// in units of the threshold. The result `part` is the index of the mode, or −1 for the
// whole posterior.
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

// standardErrors returns the number of Monte Carlo standard errors by which an estimate
// must differ from the threshold for a verdict.
func (a *Report) standardErrors() float64 {
	return distuv.UnitNormal.Quantile(1 - (1-a.Confidence)/2/float64(a.Looks))
}

package assess

import (
	"math"

	"github.com/probode/probode/pkg/probode/mcmc/diag"
)

const (
	// Undecided: the Monte Carlo error is too large to tell, or not known, as
	// the chains have not mixed or the accurate posterior is out of reach.
	Undecided Verdict = iota
	// Negligible: the error is below the threshold, by more than two
	// standard errors.
	Negligible
	// Matters: it is above, by more than two standard errors.
	Matters
)

const (
	// decisive is the number of Monte Carlo standard errors that a number
	// must be away from the threshold. A true effect at the threshold itself
	// is then misjudged in one case of forty.
	decisive = 2
	// khatLimit is where the error of weighted means begins to exceed what
	// their standard errors say (Vehtari et al. 2024).
	khatLimit = 0.7
	// mixed and fewest are the R̂ above and the effective draws below which
	// standard errors are not believed.
	mixed, fewest = 1.05, 50
)

// An Effect is what the solver's error does to one parameter.
type Effect struct {
	Bias   float64 // (mean − accurate mean) / accurate sd
	BiasSE float64 // its Monte Carlo standard error
	Ratio  float64 // sd / accurate sd
	// RatioSE is the Monte Carlo standard error of Ratio.
	RatioSE float64
	// Paired says that the numbers come from one set of draws, with and
	// without weights. The error of Bias then is not that of the means.
	Paired  bool
	Verdict Verdict
}

// A Verdict on an error.
type Verdict int

func (v Verdict) String() string { return [...]string{"undecided", "negligible", "matters"}[v] }

// conclude sets what was sampled against the accurate posterior.
func (a *assessor) conclude() {
	for i := range a.out.Steps {
		st := &a.out.Steps[i]
		if st.Deterministic != nil {
			var own []shift
			if st.KHat <= khatLimit {
				own = a.paired[i]
			}
			a.effects(st.Deterministic, own)
		}
		if st.Probabilistic != nil {
			a.effects(st.Probabilistic, nil)
		}
	}
	if a.delayed != nil {
		a.effects(a.delayed, nil)
	}
	a.out.largest()
	a.out.extrapolate()
	a.remedies()
	a.warn()
}

// sound reports whether the standard errors of m can be believed.
func sound(m diag.Marginal) bool { return m.RHat <= mixed && m.BulkESS >= fewest }

func (a *assessor) effects(inf *Inference, own []shift) {
	inf.Effects = nil
	for j, k := range a.assessed {
		q, m := a.out.Params[j], inf.Summary[k]
		e := Effect{
			Bias: (m.Mean - q.Mean) / q.SD, BiasSE: math.Hypot(m.MCSE, q.MeanSE) / q.SD,
			Ratio: m.SD / q.SD,
		}
		e.RatioSE = e.Ratio * math.Hypot(m.MCSESD/m.SD, q.SDSE/q.SD)
		// Of two estimates, one from the difference of two runs and one from
		// the weights of this one, the one with the smaller error.
		if own != nil && own[j].BiasSE/q.SD < e.BiasSE {
			e = own[j].Effect
			e.Bias, e.BiasSE = e.Bias/q.SD, e.BiasSE/q.SD
		}
		// Chains that have not mixed leave neither the accurate mean nor the
		// unit of all biases, the accurate sd, known.
		if a.out.KHat <= khatLimit && sound(m) && sound(a.source.summed.Summary[k]) {
			e.Verdict = e.judge(a.out.Threshold)
		}
		inf.Effects = append(inf.Effects, e)
	}
}

// judge returns the verdict, Undecided also if a number is NaN.
func (e Effect) judge(threshold float64) Verdict {
	bias, biasSE := math.Abs(e.Bias), decisive*e.BiasSE
	ratio, ratioSE := math.Abs(math.Log(e.Ratio)), decisive*e.RatioSE/e.Ratio
	limit := math.Log1p(threshold)
	switch {
	case bias-biasSE > threshold || ratio-ratioSE > limit:
		return Matters
	case bias+biasSE < threshold && ratio+ratioSE < limit:
		return Negligible
	}
	return Undecided
}

// more returns by which factor the number of draws would have to grow for a
// decision, if the numbers stay as they are.
func (e Effect) more(threshold float64) float64 {
	bias := decisive * e.BiasSE / math.Abs(math.Abs(e.Bias)-threshold)
	ratio := decisive * e.RatioSE / e.Ratio / math.Abs(math.Abs(math.Log(e.Ratio))-math.Log1p(threshold))
	if math.Abs(e.Bias) > threshold || math.Abs(math.Log(e.Ratio)) > math.Log1p(threshold) {
		// One that is above decides for itself.
		f := math.Inf(1)
		if math.Abs(e.Bias) > threshold {
			f = bias
		}
		if math.Abs(math.Log(e.Ratio)) > math.Log1p(threshold) {
			f = math.Min(f, ratio)
		}
		return f * f
	}
	f := math.Max(bias, ratio)
	return f * f
}

// Verdict returns the verdict on all parameters: Matters if the error matters
// for one of them, Negligible if for none.
func (inf *Inference) Verdict() Verdict {
	all := Negligible
	for _, e := range inf.Effects {
		switch e.Verdict {
		case Matters:
			return Matters
		case Undecided:
			all = Undecided
		}
	}
	return all
}

// largest finds the largest steps that are small enough.
func (a *Report) largest() {
	for j := range a.Params {
		q := &a.Params[j]
		for i := len(a.Steps) - 1; i >= 0; i-- {
			d := a.Steps[i].Deterministic
			if d == nil {
				break
			}
			if v := d.Effects[j].Verdict; v != Negligible {
				q.UndecidedAbove = v == Undecided
				break
			}
			q.Largest = a.Steps[i].StepSize
		}
	}
	a.Largest = math.Inf(1)
	for _, q := range a.Params {
		a.Largest = math.Min(a.Largest, q.Largest)
	}
}

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
	// decisive is the number of Monte Carlo standard errors from which on
	// something is spoken of that is no verdict.
	decisive = 2
	// khatLimit is the largest k̂ that is trusted of any number of draws.
	khatLimit = 0.7
	// mixed and fewest are the R̂ above and the effective draws below which
	// standard errors are not believed.
	mixed, fewest = 1.05, 50
)

// An Effect is what the solver's error does to one parameter. Of one that is judged
// by quantiles, see Parameter.Quantiles, read median for mean and half the width of
// the central 68 % interval for sd.
type Effect struct {
	Bias   float64 // (mean − accurate mean) / accurate sd
	BiasSE float64 // its Monte Carlo standard error, with that of the unit
	Ratio  float64 // sd / accurate sd
	// RatioSE is the Monte Carlo standard error of Ratio.
	RatioSE float64
	// Paired says that the numbers come from one set of draws, with and
	// without weights. The error of Bias then is not that of the means.
	Paired bool

	// Within are the effects within each of the modes that hold more than a
	// twentieth of the reference posterior, if there are several, in units of
	// the accurate sd there. The Verdict is that on all of them.
	Within  []Effect
	Verdict Verdict

	// Draws is the number of draws of each chain that would decide, if the numbers
	// stay as they are: zero where there is a verdict, or draws do not decide.
	Draws float64
}

// A Verdict on an error.
type Verdict int

func (v Verdict) String() string { return [...]string{"undecided", "negligible", "matters"}[v] }

// conclude sets what was sampled against the accurate posterior.
func (a *assessor) conclude() {
	a.settle()
	for _, t := range a.tried {
		if t.inf != nil {
			a.effects(t.inf, t.paired)
		}
	}
	a.out.largest()
	a.remedies()
	a.warn()
}

// settle finds the effects at each step.
func (a *assessor) settle() {
	for i := range a.out.Steps {
		st := &a.out.Steps[i]
		if i < len(a.runs) && a.runs[i] != nil {
			a.paired[i] = a.chosen(a.runs[i])
		}
		if st.Deterministic != nil {
			var own []shift
			if _, lost := st.phantoms(); st.weighed() && lost < spoken {
				own = a.paired[i]
			}
			a.effects(st.Deterministic, own)
		}
		if st.Probabilistic != nil {
			a.effects(st.Probabilistic, nil)
		}
		a.hold(i)
	}
}

// chosen returns what the weights of d say of each parameter, by what that is judged
// by; nil without weights.
func (a *assessor) chosen(d *draws) []shift {
	if d.weights == nil {
		return nil
	}
	var out []shift
	for j := range a.quantities {
		out = append(out, d.effects[a.measure(j)][j])
	}
	return out
}

// sound reports whether the standard errors of m can be believed.
func sound(m diag.Marginal) bool { return m.RHat <= mixed && m.BulkESS >= fewest }

func (a *assessor) effects(inf *Inference, own []shift) {
	if !a.agree(inf, own) {
		own = nil
	}
	inf.Effects, inf.Estimates = make([]Effect, len(a.assessed)), nil
	known := make([]bool, len(a.assessed))
	for j, q := range a.quantities {
		m := a.found(inf, j)
		e, ok := a.effect(m, j, own)
		if q.part < 0 {
			inf.Effects[j], known[j] = e, ok
			inf.Estimates = append(inf.Estimates, Estimate{m.mean, m.meanSE, m.sd, m.sd * m.logSE})
			continue
		}
		whole := &inf.Effects[j%len(a.assessed)]
		whole.Within = append(whole.Within, e)
		known[j%len(a.assessed)] = known[j%len(a.assessed)] && ok
	}
	for j := range inf.Effects {
		e := &inf.Effects[j]
		for _, part := range e.Within {
			switch {
			case part.Verdict == Matters:
				e.Verdict = Matters
			case part.Verdict == Undecided && e.Verdict == Negligible:
				e.Verdict = Undecided
			}
		}
		if e.Verdict == Undecided && known[j] {
			e.Draws = math.Ceil(math.Max(1.1, e.more(a.out.Threshold, a.out.decisive())) * float64(inf.Draws))
		}
	}
}

// astray is the number of standard errors of the difference of two runs by which
// the weights of one may contradict it. That happens by chance once in 16 000 times.
const astray = 4

// agree reports whether the weights of a run say what its difference from the
// accurate posterior says. Weights know nothing of what no draw has come near, and
// k̂ does not either: with a mode that the solver has lost all seems well.
func (a *assessor) agree(inf *Inference, own []shift) bool {
	if own == nil {
		return false
	}
	for j := range a.quantities {
		m, q, e := a.found(inf, j), a.accurately(j), own[j]
		switch bias := m.mean - q.mean; {
		case !m.sound || !q.sound:
		case math.Abs(bias-e.Bias) > astray*math.Hypot(m.meanSE, q.meanSE):
			return false
		case math.Abs(math.Log(m.sd/q.sd/e.Ratio)) > astray*math.Hypot(m.logSE, q.logSE):
			return false
		}
	}
	return true
}

// effect compares the moments m of quantity j with the accurate ones, and tells
// whether the standard errors are known.
func (a *assessor) effect(m moments, j int, own []shift) (e Effect, known bool) {
	q := a.accurately(j)
	e = Effect{Bias: (m.mean - q.mean) / q.sd, BiasSE: math.Hypot(m.meanSE, q.meanSE) / q.sd, Ratio: m.sd / q.sd}
	e.RatioSE = e.Ratio * math.Hypot(m.logSE, q.logSE)
	// Of two estimates, one from the difference of two runs and one from
	// the weights of this one, the one with the smaller error.
	if own != nil && own[j].BiasSE/q.sd < e.BiasSE {
		e = own[j].Effect
		e.Bias, e.BiasSE = e.Bias/q.sd, e.BiasSE/q.sd
	}
	// The unit of the bias, the accurate sd, has an error of its own.
	e.BiasSE = math.Hypot(e.BiasSE, e.Bias*q.logSE)
	// Chains that have not mixed leave neither the accurate mean nor the
	// unit of all biases, the accurate sd, known.
	if known = a.out.known() && a.out.trusted() && m.sound && q.sound && q.sd > 0; known {
		e.Verdict = e.judgeAt(a.out.Threshold, a.out.decisive())
	}
	return e, known
}

// judgeAt returns the verdict at z standard errors, Undecided also if a number is NaN.
func (e Effect) judgeAt(threshold, z float64) Verdict {
	bias, biasSE := math.Abs(e.Bias), z*e.BiasSE
	ratio, ratioSE := math.Abs(math.Log(e.Ratio)), z*e.RatioSE/e.Ratio
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
// decision at z standard errors, if the numbers stay as they are.
func (e Effect) more(threshold, z float64) float64 {
	all := append([]Effect{e}, e.Within...)
	least, most := math.Inf(1), 0.0 // to show that one is above, and that all are below
	for _, e := range all {
		bias := z * e.BiasSE / math.Abs(math.Abs(e.Bias)-threshold)
		ratio := z * e.RatioSE / e.Ratio / math.Abs(math.Abs(math.Log(e.Ratio))-math.Log1p(threshold))
		// One that is above decides for itself.
		if math.Abs(e.Bias) > threshold {
			least = math.Min(least, bias)
		}
		if math.Abs(math.Log(e.Ratio)) > math.Log1p(threshold) {
			least = math.Min(least, ratio)
		}
		most = math.Max(most, math.Max(bias, ratio))
	}
	f := math.Min(least, most)
	return f * f
}

// DrawsNeeded returns the number of draws of each chain that would decide about all
// parameters, if the numbers stay as they are: of those beyond the threshold the
// least, as one of them is enough, else the most. It is NaN if there is a verdict,
// and +Inf if draws do not decide, or none that are known of.
func (inf *Inference) DrawsNeeded(threshold float64) float64 {
	if inf.Verdict() != Undecided {
		return math.NaN()
	}
	least, most := math.Inf(1), 0.0
	for _, e := range inf.Effects {
		if e.Verdict != Undecided {
			continue
		}
		n := e.Draws
		if n == 0 {
			n = math.Inf(1)
		}
		if e.size(threshold) > 1 {
			least = math.Min(least, n)
		}
		most = math.Max(most, n)
	}
	return math.Min(least, most)
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
			q.Largest = a.Steps[i].Size()
		}
	}
	a.Largest = math.Inf(1)
	for _, q := range a.Params {
		a.Largest = math.Min(a.Largest, q.Largest)
	}
}

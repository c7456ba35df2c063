package assess

import (
	"math"

	"github.com/probode/probode/pkg/probode/mcmc/diag"
)

const (
	// Undecided: the Monte Carlo error is too large for a verdict, or unknown, because the
	// chains have not mixed or the accurate posterior is out of reach.
	Undecided Verdict = iota
	// Negligible: the interval of the error lies below the threshold.
	Negligible
	// Matters: it lies above.
	Matters
)

const (
	// decisive is the number of Monte Carlo standard errors from which something is told
	// that is no verdict.
	decisive = 2
	// mixed and fewest are the R̂ above which, and the effective draws below which, standard
	// errors are not believed.
	mixed, fewest = 1.05, 50
	// astray is the number of standard errors of the difference of two runs by which the
	// weights of one may contradict it. That happens by chance once in 16,000 times.
	astray = 4
)

// A Verdict on an error.
type Verdict int

func (v Verdict) String() string { return [...]string{"undecided", "negligible", "matters"}[v] }

// An Effect is what the solver's error does to one parameter. For a parameter that is
// judged by quantiles, see Parameter.Quantiles, read median for mean and half the width of
// the central 68 % interval for sd.
type Effect struct {
	Bias    float64 // (mean − accurate mean) / accurate sd
	BiasSE  float64 // its Monte Carlo standard error, with that of the unit
	Ratio   float64 // sd / accurate sd
	RatioSE float64 // its Monte Carlo standard error
	// Paired says that the numbers come from one set of draws, with and without weights.
	// BiasSE is then smaller than the error of the means.
	Paired bool

	// Within are the effects within each of the modes that hold more than a twentieth of
	// the reference posterior, if there are several, in units of the accurate sd there. The
	// Verdict is that on all of them.
	Within  []Effect
	Verdict Verdict

	// Draws is the number of draws of each chain that would decide, if the numbers stay as
	// they are: zero where there is a verdict, or draws do not decide.
	Draws float64
}

// sound reports whether the standard errors of m can be believed.
func sound(m diag.Marginal) bool { return m.RHat <= mixed && m.BulkESS >= fewest }

// A judge compares runs with the accurate posterior.
type judge struct {
	threshold  float64
	z          float64 // standard errors that a number must be away from the threshold
	allowed    bool    // whether the accurate posterior is known and the reference trusted
	quantities []quantity
	params     int
	y          *yardstick // nil if nothing is known
}

// measure returns what quantity k is judged by.
func (j *judge) measure(k int) measure {
	if j.y == nil {
		return byMoments
	}
	return j.y.measure(k)
}

// exact returns the accurate moments of quantity k.
func (j *judge) exact(k int) moments {
	if j.y == nil {
		nan := math.NaN()
		return moments{nan, nan, nan, nan, false}
	}
	return j.y.exact[k]
}

// shifts returns what the weights of d say of each quantity, nil without weights.
func (j *judge) shifts(d *draws) (out []shift) {
	if d == nil || d.weights == nil {
		return nil
	}
	for k := range j.quantities {
		out = append(out, d.effects[j.measure(k)][k])
	}
	return out
}

// compare sets the effects and estimates of a run; own are the shifts by its own weights,
// nil if these cannot be trusted.
func (j *judge) compare(d *estimated, own []shift) {
	if !j.agree(d, own) {
		own = nil
	}
	inf := d.summed
	inf.Effects, inf.Estimates = make([]Effect, j.params), nil
	known := make([]bool, j.params)
	for k, q := range j.quantities {
		m := d.found(j.measure(k), k, q)
		e, ok := j.effect(m, k, own)
		if q.part < 0 {
			inf.Effects[k], known[k] = e, ok
			inf.Estimates = append(inf.Estimates, Estimate{m.mean, m.meanSE, m.sd, m.sd * m.logSE})
			continue
		}
		whole := &inf.Effects[k%j.params]
		whole.Within = append(whole.Within, e)
		known[k%j.params] = known[k%j.params] && ok
	}
	for k := range inf.Effects {
		e := &inf.Effects[k]
		for _, part := range e.Within {
			switch {
			case part.Verdict == Matters:
				e.Verdict = Matters
			case part.Verdict == Undecided && e.Verdict == Negligible:
				e.Verdict = Undecided
			}
		}
		if e.Verdict == Undecided && known[k] {
			e.Draws = math.Ceil(math.Max(1.1, e.more(j.threshold, j.z)) * float64(inf.Draws))
		}
	}
}

// agree reports whether the weights of a run say what its difference from the accurate
// posterior says. Weights say nothing about regions that no draw has come near, and k̂ does
// not either: a mode that the solver misses leaves no sign.
func (j *judge) agree(d *estimated, own []shift) bool {
	if own == nil {
		return false
	}
	for k, q := range j.quantities {
		m, x, e := d.found(j.measure(k), k, q), j.exact(k), own[k]
		switch bias := m.mean - x.mean; {
		case !m.sound || !x.sound:
		case math.Abs(bias-e.Bias) > astray*math.Hypot(m.meanSE, x.meanSE):
			return false
		case math.Abs(math.Log(m.sd/x.sd/e.Ratio)) > astray*math.Hypot(m.logSE, x.logSE):
			return false
		}
	}
	return true
}

// effect compares the moments m of quantity k with the accurate ones, and says whether the
// standard errors are known.
func (j *judge) effect(m moments, k int, own []shift) (e Effect, known bool) {
	x := j.exact(k)
	e = Effect{Bias: (m.mean - x.mean) / x.sd, BiasSE: math.Hypot(m.meanSE, x.meanSE) / x.sd, Ratio: m.sd / x.sd}
	e.RatioSE = e.Ratio * math.Hypot(m.logSE, x.logSE)
	// There are two estimates, the difference of two runs and the weights of this one: take
	// the one with the smaller error.
	if own != nil && own[k].BiasSE/x.sd < e.BiasSE {
		e = own[k].Effect
		e.Bias, e.BiasSE = e.Bias/x.sd, e.BiasSE/x.sd
	}
	// The unit of the bias, the accurate sd, has an error of its own.
	e.BiasSE = math.Hypot(e.BiasSE, e.Bias*x.logSE)
	// If chains have not mixed, neither the accurate mean nor the accurate sd is known.
	if known = j.allowed && m.sound && x.sound && x.sd > 0; known {
		e.Verdict = e.judgeAt(j.threshold, j.z)
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
	least, most := math.Inf(1), 0.0 // to show that one is above, or that all are below
	for _, e := range all {
		bias := z * e.BiasSE / math.Abs(math.Abs(e.Bias)-threshold)
		ratio := z * e.RatioSE / e.Ratio / math.Abs(math.Abs(math.Log(e.Ratio))-math.Log1p(threshold))
		// One that is above decides alone.
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
// parameters, if the numbers stay as they are: the least for the parameters beyond the
// threshold, since one of them is enough, else the most. It is NaN if there is a verdict,
// and +Inf if no number of draws is known to decide.
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

// Verdict returns the verdict on all parameters: Matters if the error matters for one of
// them, Negligible if it matters for none.
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

// worst returns the parameter that decides the verdict. If the error matters, it is the one
// farthest beyond the threshold. If the verdict is undecided, it is the parameter beyond
// the threshold that needs fewest draws, since one is enough, or else the one that needs
// most, since all are needed.
func (inf *Inference) worst(threshold float64) (int, Verdict) {
	v := inf.Verdict()
	at, size := 0, math.Inf(-1)
	for j, e := range inf.Effects {
		if e.Verdict != v {
			continue
		}
		s := e.size(threshold)
		if v == Undecided {
			more := e.more(threshold, decisive)
			if s > 1 {
				s = 1e9 / more
			} else {
				s = 1e-9 * more
			}
		}
		if s > size || math.IsNaN(s) {
			at, size = j, s
		}
	}
	return at, v
}

// farthest returns the parameter that is farthest beyond the threshold, of those for which
// the error is known to matter if there are any.
func (inf *Inference) farthest(threshold float64) int {
	j, v := inf.worst(threshold)
	if v == Matters {
		return j
	}
	for k, e := range inf.Effects {
		if e.size(threshold) > inf.Effects[j].size(threshold) {
			j = k
		}
	}
	return j
}

// size returns the larger of both errors in units of the threshold, of the whole posterior
// or within one of its modes.
func (e Effect) size(threshold float64) float64 {
	g, _ := e.gravest(threshold)
	return math.Max(math.Abs(g.Bias)/threshold, math.Abs(math.Log(g.Ratio))/math.Log1p(threshold))
}

// gravest returns, of the effect on the whole posterior and those within its modes, the one
// farthest beyond the threshold, with the mode, −1 for the whole.
func (e Effect) gravest(threshold float64) (Effect, int) {
	within := e.Within
	e.Within = nil
	worst, at := e, -1
	for k, part := range within {
		if part.size(threshold) > worst.size(threshold) {
			worst, at = part, k
		}
	}
	return worst, at
}

// span returns the limits of the size of the worst effect, in units of the threshold, as
// far as the Monte Carlo error tells.
func (inf *Inference) span(threshold float64) (least, most float64) {
	for _, e := range inf.Effects {
		e, _ := e.gravest(threshold)
		b, r := math.Abs(e.Bias)/threshold, math.Abs(math.Log(e.Ratio))/math.Log1p(threshold)
		bSE, rSE := decisive*e.BiasSE/threshold, decisive*e.RatioSE/e.Ratio/math.Log1p(threshold)
		least = math.Max(least, math.Max(b-bSE, r-rSE))
		most = math.Max(most, math.Max(b+bSE, r+rSE))
	}
	return least, most
}

// verdict returns the verdict on step i: that on deterministic inference.
func (a *Report) verdict(i int) Verdict {
	if d := a.Steps[i].Deterministic; d != nil && len(d.Effects) > 0 {
		return d.Verdict()
	}
	return Undecided
}

// largest finds the largest steps that are small enough, by parameter and for all.
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

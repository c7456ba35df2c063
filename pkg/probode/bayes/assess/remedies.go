package assess

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/probode/probode/pkg/internal/text"
	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/bayes"
)

// A Remedy is something that can be done about the solver's error for the model at
// hand, with what it does, as measured, and what it costs.
type Remedy struct {
	Kind string // such as "smaller step": what Reach is taken over
	Name string // with its setting

	// Bias, in sd of the accurate posterior, and Ratio of the sd to the accurate
	// one, are those of the parameter that is worst off.
	Bias, Ratio float64

	// Seconds is the time that 1000 effective draws take on the machine at hand,
	// without the preparation; NaN if it is not known. Reach is that of the
	// cheapest of its Kind that reaches the threshold, NaN if none does.
	Seconds, Reach float64

	// Reaches tells that bias and width are known to be below the threshold.
	Reaches bool

	// Recommended is the cheapest that does, of those that were sampled or need
	// no sampling to be known.
	Recommended bool

	// Note says what else is to be known.
	Note string
}

// remedies lists what can be done, the recommended one first, then those that
// reach the threshold, then others, each by cost.
func (a *assessor) remedies() {
	a.out.Remedies = nil
	if !(a.out.KHat <= khatLimit) {
		return // nothing to measure by
	}
	add := func(r Remedy) { a.out.Remedies = append(a.out.Remedies, r) }
	first := a.out.Steps[a.out.Asked[0]].StepSize
	for i := range a.out.Steps {
		st := &a.out.Steps[i]
		kind, where := "smaller step", fmt.Sprintf("h = %.4g", st.StepSize)
		if st.StepSize >= first*(1-1e-9) {
			kind = "nothing"
		}
		if st.Deterministic == nil {
			continue
		}
		trusted := a.measured(st.Deterministic, kind, "solver trusted, "+where)
		add(trusted)
		if st.Probabilistic != nil {
			add(a.noise(st.Probabilistic, st.Deterministic, where))
		}
		if st.KHat <= khatLimit {
			add(a.reweighting(i, where))
		}
	}
	if len(a.out.Steps) > 1 {
		add(a.extrapolation())
	}
	if a.delayed != nil {
		add(a.measured(a.delayed, "delayed acceptance", a.delayed.Sampler))
	}
	a.out.Remedies = append(a.out.Remedies, a.others...)
	a.out.rank()
}

// rank finds the costs of reaching the threshold, and the recommended remedy.
func (a *Report) rank() {
	reach := map[string]float64{}
	for _, r := range a.Remedies {
		if known, ok := reach[r.Kind]; r.Reaches && (!ok || r.Seconds < known) {
			reach[r.Kind] = r.Seconds
		}
	}
	for i := range a.Remedies {
		r := &a.Remedies[i]
		r.Reach = math.NaN()
		if v, ok := reach[r.Kind]; ok {
			r.Reach = v
		}
	}
	slices.SortStableFunc(a.Remedies, func(x, y Remedy) int {
		if x.Reaches != y.Reaches {
			return map[bool]int{true: -1, false: 1}[x.Reaches]
		}
		return cmp.Compare(nanOr(x.Seconds, math.Inf(1)), nanOr(y.Seconds, math.Inf(1)))
	})
	if len(a.Remedies) > 0 && a.Remedies[0].Reaches && !math.IsNaN(a.Remedies[0].Seconds) {
		a.Remedies[0].Recommended = true
	}
}

// worse returns the bias and ratio of the parameter that is worst off.
func (inf *Inference) worse(threshold float64) (bias, ratio float64) {
	e := inf.Effects[inf.farthest(threshold)]
	return e.Bias, e.Ratio
}

// measured is the remedy of a run.
func (a *assessor) measured(inf *Inference, kind, name string) Remedy {
	r := Remedy{Kind: kind, Name: name, Seconds: 1000 / inf.ESSPerSecond, Reaches: inf.Verdict() == Negligible}
	if math.IsInf(r.Seconds, 0) {
		r.Seconds = math.NaN()
	}
	r.Bias, r.Ratio = inf.worse(a.out.Threshold)
	if inf.Verdict() == Undecided {
		r.Note = "undecided"
	}
	return r
}

// noise is never to be recommended where it is worse than nothing.
func (a *assessor) noise(noisy, trusted *Inference, where string) Remedy {
	r := a.measured(noisy, "noise in the model", "noise in the model, "+where)
	size := func(inf *Inference) float64 { return inf.Effects[inf.farthest(a.out.Threshold)].size(a.out.Threshold) }
	switch x, y := size(noisy), size(trusted); {
	case x >= y:
		r.Reaches = false
		r.Note = fmt.Sprintf("worse than nothing: %.1f times as far off as with the solver trusted at the same step", x/y)
	case r.Reaches && trusted.Verdict() == Negligible:
		r.Note = "not needed: the solver can be trusted at the same step"
	}
	return r
}

// reweighting has the reference posterior itself, as far as its weights tell.
func (a *assessor) reweighting(i int, where string) Remedy {
	st := &a.out.Steps[i]
	r := Remedy{Kind: "reweighting", Name: "reweighting, " + where, Bias: 0, Ratio: 1, Seconds: math.NaN()}
	_, lost := st.phantoms()
	worst := 0.0 // Monte Carlo error that the weights add, in accurate sd
	for j := range a.out.Params {
		if own := a.paired[i]; own != nil {
			worst = math.Max(worst, decisive*own[j].BiasSE/a.out.Params[j].SD)
		}
	}
	r.Reaches = worst < a.out.Threshold && lost < spoken && st.Deterministic.Verdict() != Undecided
	switch {
	case lost >= spoken:
		r.Note = "no weights bring back a mode that the solver has lost"
	case !r.Reaches:
		r.Note = fmt.Sprintf("the weights add an error of %.2g sd: more draws", worst)
	default:
		r.Note = fmt.Sprintf("k̂ = %.2f", st.KHat)
	}
	r.Seconds = 1000/st.Deterministic.ESSPerSecond + 1000*a.referenceSeconds
	return r
}

// extrapolation takes the ladder to h = 0.
func (a *assessor) extrapolation() Remedy {
	r := Remedy{Kind: "extrapolation", Name: "extrapolation in h over the ladder", Bias: math.NaN(), Ratio: math.NaN(), Reaches: true}
	worst := math.Inf(-1)
	for j, q := range a.out.Params {
		x := a.out.Extrapolated[j]
		e := Effect{Bias: (x.Mean - q.Mean) / q.SD, BiasSE: x.MeanSE / q.SD, Ratio: x.SD / q.SD, RatioSE: x.SDSE / q.SD}
		r.Reaches = r.Reaches && e.judge(a.out.Threshold) == Negligible
		if s := e.size(a.out.Threshold); s > worst || math.IsNaN(s) {
			r.Bias, r.Ratio, worst = e.Bias, e.Ratio, s
		}
	}
	for _, st := range a.out.Steps {
		if st.Deterministic != nil {
			r.Seconds += 1000 / st.Deterministic.ESSPerSecond
		}
	}
	r.Note = "means and sds only, no draws"
	return r
}

// tryOthers looks, without sampling, for the step at which other methods would do,
// and times the reference.
func (a *assessor) tryOthers() error {
	a.others = nil
	c := a.certifier
	fine := a.out.Steps[a.finest()].Deterministic
	if c == nil || fine == nil || fine.ESSPerSecond == 0 {
		return a.ctx.Err()
	}
	at := -1
	for i, m := range c.modes {
		if m.at != nil && m.Found {
			at = i
			break
		}
	}
	if at < 0 {
		return nil
	}
	theta := c.modes[at].at.theta
	a.referenceSeconds = timed(c.fine, theta)
	// Effective draws take as many solves with any solver that is good enough.
	solves := float64(fine.Solves) / (fine.ESSPerSecond * fine.Seconds)
	s := EnoughSettings{CertifySettings: CertifySettings{Seed: a.s.Chains.Seed}, Threshold: a.out.Threshold, Number: 10}
	points, err := c.points(s, &Enough{})
	if err != nil {
		return a.ctx.Err()
	}
	for _, m := range []probode.Method{probode.RungeKutta{}, probode.RungeKutta{Tableau: probode.DormandPrince}, probode.AdamsMoulton{Steps: 1}} {
		if m.String() == a.out.Method.String() {
			continue
		}
		s.Coarse = Solver{Method: m}
		out := &Enough{}
		if err := c.largest(s, points, out); err != nil || !out.Found {
			if a.ctx.Err() != nil {
				return a.ctx.Err()
			}
			continue
		}
		x, err := newExpecter(a.ctx, a.p, out.Solver)
		if err != nil {
			continue
		}
		a.others = append(a.others, Remedy{
			Kind: "other method", Name: fmt.Sprintf("%v (foretold)", out.Solver), Bias: out.At.Shift, Ratio: math.NaN(),
			Seconds: 1000 * solves * timed(x, theta), Note: "by the certificate, without sampling: assess it before it is relied on",
		})
	}
	return a.ctx.Err()
}

// timed returns the seconds of one solution, the median of five.
func timed(x *expecter, theta []float64) float64 {
	var all []float64
	for range 5 {
		begin := time.Now()
		if _, _, err := x.at(theta); err != nil {
			return math.NaN()
		}
		all = append(all, time.Since(begin).Seconds())
	}
	slices.Sort(all)
	return all[2]
}

// tryDelayed samples by delayed acceptance, with the largest step before the
// smallest.
func (a *assessor) tryDelayed() error {
	top, f := a.out.Steps[0].StepSize, a.finest()
	st := &a.out.Steps[f]
	if f == 0 || st.Deterministic == nil || a.modes[f] == nil {
		return a.ctx.Err()
	}
	p := a.at(st.StepSize)
	p.Modes = a.modes[f]
	sampler := bayes.DelayedAcceptance{CoarseStep: top}
	d, err := a.sample(p, sampler, a.seed(2000))
	if err != nil {
		return a.ctx.Err() // a sampler that fails is no remedy
	}
	a.delayed = d.summed
	a.delayed.Sampler = fmt.Sprintf("delayed acceptance, h = %.4g before %.4g", top, st.StepSize)
	return a.ctx.Err()
}

// remedyText returns the recommendation and the table of remedies.
func (a *Report) remedyText() string {
	if len(a.Remedies) == 0 {
		return ""
	}
	var b strings.Builder
	if r := a.Remedies[0]; r.Recommended {
		fmt.Fprintf(&b, "Recommended: %s, the cheapest that reaches the threshold, %.2g s for 1000 effective draws.\n", r.Name, r.Seconds)
	} else {
		b.WriteString("None of the remedies that were measured is known to reach the threshold.\n")
	}
	bad := 0
	for _, r := range a.Remedies {
		if strings.HasPrefix(r.Note, "worse than nothing") {
			bad++
		}
	}
	if bad > 0 {
		fmt.Fprintf(&b, "Noise in the model is worse here than ignoring the error, at %d of the steps.\n", bad)
	}
	b.WriteByte('\n')
	rows := [][]string{{"remedy", "bias/sd", "sd ratio", "s per 1000", "to reach", "reaches", "note"}}
	for _, r := range a.Remedies {
		rows = append(rows, []string{r.Name, number("%+.2g", r.Bias), number("%.3g", r.Ratio), number("%.2g", r.Seconds), number("%.2g", r.Reach), map[bool]string{true: "yes", false: "no"}[r.Reaches], r.Note})
	}
	b.WriteString(text.Table(rows, func(i int) bool { return i == 0 || i == 6 }))
	return b.String()
}

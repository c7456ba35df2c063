package assess

import (
	"encoding/csv"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/probode/probode/pkg/probode/bayes"
	"github.com/probode/probode/pkg/probode/mcmc/diag"
)

// What an Report says in words: warnings, the answer, tables.

// warn says what is to be known beside the numbers, and what to do about it.
func (as *assessor) warn() {
	a, p := as.out, as.p
	a.Warnings = nil
	say := func(format string, args ...any) { a.Warnings = append(a.Warnings, fmt.Sprintf(format, args...)) }

	if !(a.KHat <= khatLimit) {
		say("the accurate posterior is not known: k̂ = %.2f for %s, above %.1f, so that no verdict is given: add smaller steps, or take a method of higher order", a.KHat, a.ReferenceBy, khatLimit)
	}
	for _, st := range a.Steps {
		if st.Err != "" {
			say("nothing is known at h = %.4g: %s", st.StepSize, st.Err)
		}
	}
	for i, st := range a.Steps {
		for _, inf := range []*Inference{st.Deterministic, st.Probabilistic} {
			if inf != nil {
				inf.warn(fmt.Sprintf("%s, h = %.4g", inf.Sampler, st.StepSize), say)
			}
		}
		if i == as.finest() && as.source != nil {
			as.warnSource(say)
		}
	}
	a.warnOrder(say)
	for i, st := range a.Steps {
		if as.notes[i] != nil {
			say("α* = %.3g at h = %.4g: %s", st.AlphaStar, st.StepSize, strings.Join(as.notes[i], "; "))
		}
	}
	a.warnAlpha(p, say)

	// An unknown σ fits the solver's error as if it were the data's.
	var taken, names []string
	spreads := p.Spreads()
	for j, q := range a.Params {
		sign, ok := spreads[q.Name]
		if !ok {
			continue
		}
		for _, st := range a.Steps {
			if st.Deterministic == nil || st.Deterministic.Effects[j].Verdict != Matters {
				continue
			}
			if e := st.Deterministic.Effects[j]; sign*e.Bias > a.Threshold+decisive*e.BiasSE {
				taken = append(taken, fmt.Sprintf("%s is %.3g at h = %.4g and accurately %.3g", q.Name, st.Deterministic.marginal(q.Name).Mean, st.StepSize, q.Mean))
				names = append(names, q.Name)
				break
			}
		}
	}
	if taken != nil {
		say("an unknown size of the data's errors hides a bad solver, whose error it takes for theirs (%s): intervals get wider and the fit still looks honest; judge the step by %s, too",
			strings.Join(taken, "; "), strings.Join(names, ", "))
	}
	var off []string
	for _, st := range a.Steps {
		if !st.Exact {
			off = append(off, fmt.Sprintf("%.4g", st.StepSize))
		}
	}
	if off != nil {
		say("with h = %s some observations lie between grid points, where the path is a polynomial through %d of them, with an error of its own that falls like h^%d, the method's like h^%d: that is part of the error assessed; a step that divides the times of the data does without",
			strings.Join(off, ", "), a.Method.Order()+2, a.Method.Order()+2, a.Method.Order())
	}
}

// warn says what is wrong with the chains of a run.
func (inf *Inference) warn(where string, say func(string, ...any)) {
	var rhat, few []string
	worst, least := 0.0, math.Inf(1)
	for _, m := range inf.Summary {
		if !(m.RHat <= 1.01) {
			rhat = append(rhat, m.Name)
			worst = math.Max(worst, m.RHat)
		}
		if ess := math.Min(m.BulkESS, m.TailESS); !(ess >= float64(100*inf.Chains)) {
			few = append(few, m.Name)
			least = math.Min(least, ess)
		}
	}
	switch {
	case few != nil && rhat != nil:
		say("%s: too few effective draws, %.0f where 100 a chain are wanted, and R̂ up to %.3f (%s): more draws (Draws, MinESS), a longer burn-in, or a look at the traces for several modes", where, least, worst, strings.Join(few, ", "))
	case few != nil:
		say("%s: too few effective draws, %.0f where 100 a chain are wanted (%s): run longer (Draws, MinESS)", where, least, strings.Join(few, ", "))
	case rhat != nil:
		say("%s: the chains may not have mixed: R̂ up to %.3f (%s): more draws or a longer burn-in", where, worst, strings.Join(rhat, ", "))
	}
	if share := inf.Failed; share > 0.01 {
		say("%s: %.1f %% of the solves failed, which cuts a piece out of the posterior: a smaller step, an implicit method, or a prior that excludes what cannot be solved", where, 100*share)
	}
}

// warnSource says what is wrong with the chains of the accurate posterior, and of
// which parameters no verdict is given for that.
func (as *assessor) warnSource(say func(string, ...any)) {
	source := as.source.summed
	if source != as.out.Steps[as.finest()].Deterministic {
		source.warn(fmt.Sprintf("the chains behind the accurate posterior, %v with h = %.4g", as.source.p.Method, as.source.p.StepSize), say)
	}
	var lost []string
	for _, k := range as.assessed {
		if m := source.Summary[k]; !sound(m) {
			lost = append(lost, m.Name)
		}
	}
	if lost != nil {
		say("no verdict is given on %s: the chains behind the accurate posterior are too far from a law that they agree on (R̂ above %.2f, or fewer than %d effective draws)", strings.Join(lost, ", "), mixed, fewest)
	}
}

func (a *Report) warnOrder(say func(string, ...any)) {
	want := a.Method.Order()
	// Between the two smallest steps of which both errors are clear of the
	// accurate solution's own.
	for i := len(a.Steps) - 2; i >= 0; i-- {
		c, f := a.Steps[i], a.Steps[i+1]
		if math.IsNaN(c.Order) || f.Error < 1e-8 {
			continue
		}
		switch {
		case c.Error > 0.1:
			say("at h = %.4g the path at the mode is off by %.0f %% of its size: the steps are too large for the error to follow its order, and α to mean anything; add smaller steps", c.StepSize, 100*c.Error)
		case c.Order < float64(want)-0.5:
			cure := "take smaller steps; if the order stays away, f is not smooth enough for the method, or its Jacobian is wrong (Problem.CheckJacobian)"
			say("order lost: from h = %.4g to %.4g the error of the path falls like h^%.1f, where %v should give h^%d: %s", c.StepSize, f.StepSize, c.Order, a.Method, want, cure)
		}
		break
	}
	if order, se, i := a.ShiftOrder(); !math.IsNaN(order) && order+decisive*se < float64(want)-0.5 {
		say("order lost in the posterior: from h = %.4g to %.4g its shift falls like h^%.1f ± %.1f, where %v should give h^%d", a.Steps[i].StepSize, a.Steps[i+1].StepSize, order, se, a.Method, want)
	}
}

// ShiftOrder returns the order at which the shift of the deterministic posterior
// falls between Steps[i] and Steps[i+1], the two smallest of which the shifts are
// known well enough,
//
//	log(bᵢ/bᵢ₊₁) / log(hᵢ/hᵢ₊₁),   b = √(sum of the squared biases),
//
// and its Monte Carlo standard error; NaN if there are none. Of shifts above
// one standard deviation, or ones that are less than three standard errors from
// zero, no order is taken.
func (a *Report) ShiftOrder() (order, se float64, i int) {
	norm := func(inf *Inference) (b, se float64) {
		var v float64
		for _, e := range inf.Effects {
			b += e.Bias * e.Bias
			v += e.Bias * e.Bias * e.BiasSE * e.BiasSE
		}
		b = math.Sqrt(b)
		return b, math.Sqrt(v) / b
	}
	for i := len(a.Steps) - 2; i >= 0; i-- {
		c, f := a.Steps[i], a.Steps[i+1]
		if c.Deterministic == nil || f.Deterministic == nil || !(a.KHat <= khatLimit) {
			continue
		}
		b, bse := norm(c.Deterministic)
		d, dse := norm(f.Deterministic)
		if !(b < 1 && d < 1 && b > 3*bse && d > 3*dse) {
			continue
		}
		unit := math.Log(c.StepSize / f.StepSize)
		return math.Log(b/d) / unit, math.Hypot(bse/b, dse/d) / unit, i
	}
	return math.NaN(), math.NaN(), 0
}

const (
	// alphaSteps and alphaTheta are the factors by which α* may differ
	// between neighbouring steps, and between the mode and draws of the
	// posterior. The noise goes with its root.
	alphaSteps, alphaTheta = 2, 4
)

func (a *Report) warnAlpha(p *bayes.Posterior, say func(string, ...any)) {
	ratio := func(x, y float64) float64 { return math.Exp(math.Abs(math.Log(x / y))) }
	for i := range len(a.Steps) - 1 {
		c, f := a.Steps[i], a.Steps[i+1]
		se := math.Hypot(c.AlphaSE/c.AlphaStar, f.AlphaSE/f.AlphaStar)
		if r := ratio(c.AlphaStar, f.AlphaStar); r > alphaSteps*math.Exp(decisive*nanOr(se, 0)) {
			say("α is not stable in h: α* is %.3g at h = %.4g and %.3g at h = %.4g, a factor of more than %d: at the larger step the error has not the size that the order foretells, and an α of one step is wrong for another",
				c.AlphaStar, c.StepSize, f.AlphaStar, f.StepSize, alphaSteps)
		}
	}
	for _, st := range a.Steps {
		worst := 1.0
		at := math.NaN()
		for _, v := range st.AlphaAt {
			if r := ratio(v, st.AlphaStar); r > worst {
				worst, at = r, v
			}
		}
		if worst > alphaTheta {
			say("α depends on θ: at h = %.4g α* is %.3g at the mode and %.3g at another draw of the posterior, a factor of more than %d: one α for all is a compromise; give α a prior, or take a smaller step", st.StepSize, st.AlphaStar, at, alphaTheta)
		}
		if v := st.Alpha; p.Alpha.Name == "" && p.Alpha.Value > 0 && ratio(v, st.AlphaStar) > alphaTheta {
			say("the given α = %.3g is not the size of the error at h = %.4g, for which α* is %.3g: leave Alpha at zero to have it calibrated", v, st.StepSize, st.AlphaStar)
		}
	}
}

func nanOr(v, other float64) float64 {
	if math.IsNaN(v) {
		return other
	}
	return v
}

// Answer returns the verdict in a few sentences.
func (a *Report) Answer() string {
	var b strings.Builder
	limit := fmt.Sprintf("bias below %.3g posterior sd, sd within %.0f %%, for every parameter", a.Threshold, 100*a.Threshold)
	top := a.Steps[0].StepSize
	switch known := a.KHat <= khatLimit; {
	case !known:
		b.WriteString("Whether the solver's error matters cannot be told: the accurate posterior is out of reach of these steps.\n")
	case a.Largest == top:
		fmt.Fprintf(&b, "The solver's error does not matter at any of the steps, up to h = %.4g (%s).\n", a.Largest, limit)
	case a.Largest > 0:
		fmt.Fprintf(&b, "The solver's error does not matter up to h = %.4g (%s).\n", a.Largest, limit)
	default:
		v := Undecided
		if d := a.Steps[len(a.Steps)-1].Deterministic; d != nil {
			v = d.Verdict()
		}
		if v == Matters {
			fmt.Fprintf(&b, "The solver's error matters at every one of the steps, down to h = %.4g (it would not with: %s).\n", a.Steps[len(a.Steps)-1].StepSize, limit)
		} else {
			fmt.Fprintf(&b, "No step is known to be small enough (%s).\n", limit)
		}
	}
	if !(a.KHat <= khatLimit) {
		return b.String()
	}
	// The next larger step: what is wrong with it.
	for i := len(a.Steps) - 1; i >= 0; i-- {
		st := a.Steps[i]
		if st.StepSize <= a.Largest || st.Deterministic == nil {
			continue
		}
		d := st.Deterministic
		j, v := d.worst(a.Threshold)
		e := d.Effects[j]
		what := fmt.Sprintf("%s is off by %s sd, and its sd is %s of the accurate one", a.Params[j].Name, plusMinus(e.Bias, e.BiasSE, true), plusMinus(e.Ratio, e.RatioSE, false))
		if v == Matters {
			fmt.Fprintf(&b, "At h = %.4g it matters: %s.\n", st.StepSize, what)
			if i == len(a.Steps)-1 {
				shrink := math.Max(math.Abs(e.Bias), math.Abs(math.Log(e.Ratio))) / a.Threshold
				fmt.Fprintf(&b, "If that falls with the order of the method, %d, a step of about %.1g would do.\n", a.Method.Order(), st.StepSize*math.Pow(shrink, -1/float64(a.Method.Order())))
			}
		} else {
			fmt.Fprintf(&b, "At h = %.4g it is undecided: %s; %s.\n", st.StepSize, what, d.needed(j, a.Params[j].Name, a.Threshold))
		}
		if q := st.Probabilistic; q != nil {
			f := q.Effects[j]
			fmt.Fprintf(&b, "There the probabilistic solver (α = %.3g) has %s off by %s of the accurate sd, with an sd %s times as large", st.Alpha, a.Params[j].Name, plusMinus(f.Bias, f.BiasSE, true), plusMinus(f.Ratio, f.RatioSE, false))
			if k := q.farthest(a.Threshold); k != j {
				g := q.Effects[k]
				if math.Abs(g.Bias)/a.Threshold > math.Abs(math.Log(g.Ratio))/math.Log1p(a.Threshold) {
					fmt.Fprintf(&b, "; its worst is %s, off by %s", a.Params[k].Name, plusMinus(g.Bias, g.BiasSE, true))
				} else {
					fmt.Fprintf(&b, "; its worst is %s, with an sd %s times as large", a.Params[k].Name, plusMinus(g.Ratio, g.RatioSE, false))
				}
			}
			b.WriteString(".\n")
		}
		break
	}
	return b.String()
}

// worst returns the parameter that decides the verdict: the one farthest beyond
// the threshold if the error matters. Of an undecided step it is the one that
// wants fewest draws of those beyond, as one of these is enough, and else the one
// that wants most, as all are needed.
func (inf *Inference) worst(threshold float64) (int, Verdict) {
	v := inf.Verdict()
	at, size := 0, math.Inf(-1)
	for j, e := range inf.Effects {
		if e.Verdict != v {
			continue
		}
		s := e.size(threshold)
		if v == Undecided {
			more := e.more(threshold)
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

// farthest returns the parameter that is farthest beyond the threshold, of those
// for which the error is known to matter if there are any.
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

// size returns the larger of both errors in units of the threshold.
func (e Effect) size(threshold float64) float64 {
	return math.Max(math.Abs(e.Bias)/threshold, math.Abs(math.Log(e.Ratio))/math.Log1p(threshold))
}

// marginal returns the draws' own numbers of a parameter.
func (inf *Inference) marginal(name string) diag.Marginal {
	return inf.Summary[slices.IndexFunc(inf.Summary, func(m diag.Marginal) bool { return m.Name == name })]
}

// needed says in words how many draws would decide about parameter j.
func (inf *Inference) needed(j int, name string, threshold float64) string {
	e := inf.Effects[j]
	if !sound(inf.marginal(name)) {
		return "the chains have not mixed, so that nothing can be said of the draws that are needed"
	}
	if e.judge(threshold) != Undecided {
		return "the chains behind the accurate posterior have not mixed"
	}
	f := e.more(threshold)
	switch {
	case math.IsNaN(f) || f > 100:
		return "it lies at the threshold itself, where no reasonable number of draws decides"
	case e.Paired:
		return fmt.Sprintf("to tell, Weighed would have to be about %.1f times as large, and there have to be that many draws", math.Max(f, 1.1))
	}
	return fmt.Sprintf("to tell takes about %s draws of each chain", twoDigits(math.Max(f, 1.1)*float64(inf.Draws)))
}

func twoDigits(v float64) string {
	unit := math.Pow(10, math.Floor(math.Log10(v))-1)
	return fmt.Sprintf("%.0f", math.Ceil(v/unit)*unit)
}

// plusMinus writes a number with its standard error, to two digits of that.
func plusMinus(v, se float64, signed bool) string {
	if math.IsNaN(v) || math.IsNaN(se) {
		return "?"
	}
	digits := 2
	if se > 0 {
		digits = min(4, max(2, 1-int(math.Floor(math.Log10(se)))))
	}
	if signed {
		return fmt.Sprintf("%+.*f ± %.*f", digits, v, digits, se)
	}
	return fmt.Sprintf("%.*f ± %.*f", digits, v, digits, se)
}

// String returns the answer, the tables and the warnings.
func (a *Report) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%v on %s\n\n%s\n%s", a.Method, a.Model, a.Answer(), a.Tables())
	if a.Warnings != nil {
		b.WriteByte('\n')
	}
	for _, w := range a.Warnings {
		fmt.Fprintf(&b, "caution: %s\n", w)
	}
	return b.String()
}

// Tables returns the numbers as tables for a terminal: of the steps, of the
// effects on each parameter, and of the accurate posterior.
func (a *Report) Tables() string {
	var b strings.Builder
	rows := [][]string{{"h", "α", "path error", "order", "k̂", "inference", "solves", "s", "ESS/s", "verdict"}}
	for _, st := range a.Steps {
		head := []string{fmt.Sprintf("%.4g", st.StepSize), number("%.3g", st.Alpha), number("%.2g", st.Error), number("%.1f", st.Order), number("%.2f", st.KHat)}
		for _, inf := range []*Inference{st.Deterministic, st.Probabilistic} {
			if inf == nil {
				continue
			}
			rows = append(rows, append(head, inf.Sampler, fmt.Sprint(inf.Solves), fmt.Sprintf("%.1f", inf.Seconds), fmt.Sprintf("%.0f", inf.ESSPerSecond), inf.Verdict().String()))
			head = make([]string, 5)
		}
		if st.Deterministic == nil {
			rows = append(rows, append(head, "–", "", "", "", "unknown"))
		}
	}
	writeTable(&b, rows)

	// Whether one α does for all of the posterior.
	if rows := a.alphas(); rows != nil {
		b.WriteByte('\n')
		writeTable(&b, rows)
	}

	for _, kind := range []struct {
		title string
		of    func(Effect) string
	}{
		{"bias, in accurate sd", func(e Effect) string { return plusMinus(e.Bias, e.BiasSE, true) }},
		{"sd / accurate sd", func(e Effect) string { return plusMinus(e.Ratio, e.RatioSE, false) }},
	} {
		rows := [][]string{{kind.title, "inference"}}
		for _, st := range a.Steps {
			rows[0] = append(rows[0], fmt.Sprintf("h = %.4g", st.StepSize))
		}
		for j, q := range a.Params {
			name := q.Name
			for _, pick := range []func(Step) *Inference{
				func(st Step) *Inference { return st.Deterministic },
				func(st Step) *Inference { return st.Probabilistic },
			} {
				row, sampler := []string{name, ""}, ""
				for _, st := range a.Steps {
					cell := "–"
					if inf := pick(st); inf != nil {
						cell, sampler = kind.of(inf.Effects[j]), inf.Sampler
					}
					row = append(row, cell)
				}
				if row[1] = sampler; sampler == "" {
					continue
				}
				rows = append(rows, row)
				name = ""
			}
		}
		b.WriteByte('\n')
		writeTable(&b, rows)
	}

	rows = [][]string{{"accurate posterior", "mean", "sd", "largest step that is small enough"}}
	for _, q := range a.Params {
		rows = append(rows, []string{q.Name, number("%.4g", q.Mean), number("%.3g", q.SD), q.LargestStep()})
	}
	b.WriteByte('\n')
	writeTable(&b, rows)
	fmt.Fprintf(&b, "from %s; k̂ = %.2f\n", a.ReferenceBy, a.KHat)
	return b.String()
}

// alphas returns a table of α* at the mode, with its standard error, and at three
// draws of the posterior; nil if nothing was calibrated.
func (a *Report) alphas() [][]string {
	rows := [][]string{{"calibrated α*"}, {"at the mode"}, {"at three draws"}}
	known := false
	for _, st := range a.Steps {
		var at []string
		for _, v := range st.AlphaAt {
			at = append(at, number("%.3g", v))
		}
		mode := number("%.3g", st.AlphaStar)
		if !math.IsNaN(st.AlphaSE) {
			mode += fmt.Sprintf(" ± %.1g", st.AlphaSE)
		}
		known = known || at != nil
		rows[0] = append(rows[0], fmt.Sprintf("h = %.4g", st.StepSize))
		rows[1] = append(rows[1], mode)
		rows[2] = append(rows[2], strings.Join(at, ", "))
	}
	if !known {
		return nil
	}
	return rows
}

// LargestStep returns the largest step that is small enough for the parameter: a
// number, with ≥ before it where a larger one may do, "undecided", or "none".
func (q Parameter) LargestStep() string {
	switch {
	case q.UndecidedAbove && q.Largest > 0:
		return fmt.Sprintf("≥ %.4g", q.Largest)
	case q.UndecidedAbove:
		return "undecided"
	case q.Largest > 0:
		return fmt.Sprintf("%.4g", q.Largest)
	}
	return "none"
}

func number(format string, v float64) string {
	if math.IsNaN(v) {
		return "–"
	}
	return fmt.Sprintf(format, v)
}

// writeTable writes rows with the columns under one another: the first and that of
// the inference to the left, numbers to the right.
func writeTable(b *strings.Builder, rows [][]string) {
	width := func(s string) int {
		// The hat of k̂ is a combining character, which takes no room.
		return utf8.RuneCountInString(s) - strings.Count(s, "\u0302")
	}
	var widths []int
	for _, row := range rows {
		for i, cell := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], width(cell))
		}
	}
	for _, row := range rows {
		line := ""
		for i, cell := range row {
			pad := strings.Repeat(" ", widths[i]-width(cell))
			if i == 0 || rows[0][i] == "inference" {
				line += cell + pad
			} else {
				line += pad + cell
			}
			line += "  "
		}
		b.WriteString(strings.TrimRight(line, " "))
		b.WriteByte('\n')
	}
}

// WriteCSV writes a row for each step, inference and parameter.
func (a *Report) WriteCSV(w io.Writer) error {
	out := csv.NewWriter(w)
	out.Write([]string{"step", "sampler", "parameter", "alpha", "alpha_star", "alpha_star_at_draws", "mean", "sd", "accurate_mean", "accurate_sd",
		"bias", "bias_se", "sd_ratio", "sd_ratio_se", "verdict", "rhat", "bulk_ess", "draws", "solves", "failed", "seconds", "path_error", "khat"})
	for _, st := range a.Steps {
		for _, inf := range []*Inference{st.Deterministic, st.Probabilistic} {
			if inf == nil {
				continue
			}
			var at []string
			for _, v := range st.AlphaAt {
				at = append(at, fmt.Sprintf("%.6g", v))
			}
			for j, q := range a.Params {
				e := inf.Effects[j]
				m := inf.marginal(q.Name)
				row := []string{fmt.Sprint(st.StepSize), inf.Sampler, q.Name, fmt.Sprintf("%.6g", st.Alpha), fmt.Sprintf("%.6g", st.AlphaStar), strings.Join(at, " ")}
				for _, v := range []float64{m.Mean, m.SD, q.Mean, q.SD, e.Bias, e.BiasSE, e.Ratio, e.RatioSE} {
					row = append(row, fmt.Sprintf("%.6g", v))
				}
				row = append(row, e.Verdict.String(), fmt.Sprintf("%.4f", m.RHat), fmt.Sprintf("%.0f", m.BulkESS), fmt.Sprint(inf.Draws*inf.Chains),
					fmt.Sprint(inf.Solves), fmt.Sprintf("%.3g", inf.Failed), fmt.Sprintf("%.3f", inf.Seconds), fmt.Sprintf("%.4g", st.Error), fmt.Sprintf("%.3f", st.KHat))
				out.Write(row)
			}
		}
	}
	out.Flush()
	return out.Error()
}

package certify

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/probode/probode/pkg/internal/text"
)

// The functions in this file write the sentences and tables of certificates.

// Answer returns one answer in two lines: what is certified, and what is not covered. It is
// that of the search for the largest step size or tolerance if there was one. Otherwise it
// is about the first certified setup or, if none is certified, about the last one.
func (c Certificates) Answer() string {
	one := c.of()
	switch {
	case one == nil:
		return "Nothing is certified: no solver was given.\n"
	case c.Enough != nil:
		return c.Enough.verdict() + one.uncovered()
	case !one.checked(c.Threshold):
		return one.Answer(c.Threshold)
	}
	return one.verdict(c.Threshold) + one.uncovered()
}

func (c Certificates) of() *Certificate {
	for _, one := range c.All {
		if one.Certified(c.Threshold) {
			return one
		}
	}
	if len(c.All) == 0 {
		return nil
	}
	return c.All[len(c.All)-1]
}

// String returns the text of Answer, what it rests on, and a table of all setups.
func (c Certificates) String() string {
	var b strings.Builder
	b.WriteString(c.Answer())
	one := c.of()
	if one == nil {
		return b.String()
	}
	if c.Enough == nil && one.checked(c.Threshold) {
		b.WriteString(one.notes(c.Threshold))
	}
	b.WriteString("\n" + table(c.All))
	fmt.Fprintf(&b, "reference: %v; modes:\n", c.All[0].Reference)
	for i, m := range one.Modes {
		if m.Moved < vanished {
			fmt.Fprintf(&b, "  %d  %s\n", i+1, format4(m.Theta))
		}
	}
	if e := c.Enough; e != nil {
		b.WriteString("\n" + e.table())
	}
	return b.String()
}

// String describes the result of the search, and adds a table of all step sizes or
// tolerances that were tried.
func (e *Enough) String() string { return e.verdict() + e.table() }

func (e *Enough) verdict() string {
	if !e.Found {
		return "No step size or tolerance that was tried is small enough.\n"
	}
	tried := ""
	if e.At.Size == e.Levels[0].Size {
		tried = ", the largest that was tried"
	}
	return fmt.Sprintf("Small enough: %v%s. At 95 %% of %d points and at all modes, the shifts are at most %.2g sd and D is at most %.2g.\n", e.Setup, tried, e.Draws, e.At.Shift, e.At.D)
}

func (e *Enough) table() string {
	var b strings.Builder
	if e.Lost > 0 {
		fmt.Fprintf(&b, "The reference failed at %d further draws.\n", e.Lost)
	}
	rows := [][]string{{"size", "D", "largest shift/sd", "enough"}}
	for _, l := range e.Levels {
		enough := map[bool]string{true: "yes", false: "no"}[l.Enough]
		if l.Phantom != nil {
			enough = fmt.Sprintf("no: this posterior has a mode at %s that the reference posterior does not have", format4(l.Phantom))
		}
		rows = append(rows, []string{fmt.Sprintf("%.4g", l.Size), text.Number("%.3g", l.D), text.Number("%.3g", l.Shift), enough})
	}
	b.WriteString(text.Table(rows, func(i int) bool { return false }))
	return b.String()
}

// Answer returns a few lines of text that say what is certified, and what is not.
func (c *Certificate) Answer(threshold float64) string {
	if len(c.Modes) == 0 {
		return "Nothing is certified: no mode was checked.\n"
	}
	if !c.checked(threshold) {
		return c.verdict(threshold)
	}
	return c.verdict(threshold) + c.notes(threshold) + c.uncovered()
}

// checked reports whether the solvers were compared at a mode.
func (c *Certificate) checked(threshold float64) bool {
	if len(c.Modes) == 0 {
		return false
	}
	v := c.Modes[c.Worst(threshold)].verdict(threshold)
	return v != failed && v != unreached
}

func (c *Certificate) verdict(threshold float64) string {
	m := &c.Modes[c.Worst(threshold)]
	switch m.verdict(threshold) {
	case failed:
		return fmt.Sprintf("Nothing is certified for %v: %s.\n", c.Setup, m.Err)
	case unreached:
		return fmt.Sprintf("Nothing is certified for %v: a search that climbed from %s reached no mode of the posterior computed with %v.\n", c.Setup, format4(m.From), c.Reference)
	case inexact:
		return fmt.Sprintf("Nothing is certified for %v: the reference solver, %v, has an error of its own, D = %.2g, which is above one tenth of the threshold of %.3g. Use a more accurate reference solver, or declare jumps of f as events.\n", c.Setup, c.Reference, m.OwnD, threshold)
	case nonlinear:
		return fmt.Sprintf("Nothing is certified for %v: D = %.3g. If D is above %.1f, the shift is not linear in the error, so there is no bound.\n", c.Setup, m.D, limitD)
	case phantom:
		return fmt.Sprintf("Not certified: the posterior computed with %v has a mode at %s that the reference posterior does not have. The nearest mode of the reference posterior is %.0f sd away, at %s, where D is %.2g.\n", c.Setup, format4(m.From), m.Moved, format4(m.Theta), m.D)
	case different:
		return fmt.Sprintf("Not certified: away from the mode the two solvers differ by more than D predicts. At %s, %s. Such differences move a parameter by up to %.2g sd of the Gaussian at the mode, above the threshold %.3g. At the mode D is %.2g.\n", format4(m.Where), c.difference(m), m.Bound, threshold, m.D)
	case above:
		return fmt.Sprintf("Not certified: with %v a parameter may move by up to %.2g sd of the Gaussian at the mode (D = %.2g), above the threshold %.3g. To first order the largest shift is %s.\n", c.Setup, m.Bound, m.D, threshold, c.largest(m))
	case certified:
		return fmt.Sprintf("Certified to first order: with %v no parameter moves by more than %.2g sd of the Gaussian at the mode (D = %.2g, threshold %.3g).\n", c.Setup, m.Bound, m.D, threshold)
	}
	panic("certify: a verdict without words")
}

// notes says what the verdict rests on.
func (c *Certificate) notes(threshold float64) string {
	var b strings.Builder
	m := &c.Modes[c.Worst(threshold)]
	if m.verdict(threshold) == certified && m.Where != nil {
		fmt.Fprintf(&b, "The bound comes from a point away from the mode: at %s, %s.\n", format4(m.Where), c.difference(m))
	}
	if m.D <= 2*limitD {
		fmt.Fprintf(&b, "The two solvers predict distributions of the data that differ by a total variation distance of %.2g and a Kullback–Leibler divergence of %.2g.\n", m.TV, m.KL)
	}
	if m.Misfit > 0 {
		fmt.Fprintf(&b, "The residuals are larger than the measurement errors can explain. When residuals are this large, errors in the derivatives of the solution may move a parameter by another %.2g sd; the bound includes this shift.\n", m.Misfit)
	}
	if d := m.OwnD; d <= threshold/10 {
		fmt.Fprintf(&b, "The reference's own D is %.1g.\n", d)
	}
	if m.Unsolved != nil {
		fmt.Fprintf(&b, "At some points, such as %s, neither solver can solve the equations. The density is taken to be zero there, as it is during sampling.\n", format4(m.Unsolved))
	}
	return b.String()
}

func (c *Certificate) uncovered() string {
	modes := "1 mode"
	if n := len(c.Modes); n > 1 {
		modes = fmt.Sprintf("%d modes", n)
	}
	return fmt.Sprintf("Not covered: posterior widths; any real or phantom mode other than the %s checked here; tails far from the points where the solvers were compared; anything that both solvers miss, such as a pulse between their steps.\n", modes)
}

func (c *Certificate) difference(m *AtMode) string {
	by, than := math.Abs(m.Differ), "lower"
	if m.Differ > 0 {
		than = "higher"
	}
	switch {
	case math.IsInf(m.Differ, -1):
		return "the equations cannot be solved with " + c.Setup
	case math.IsInf(m.Differ, 1):
		return "the reference cannot solve the equations"
	case by > 1000:
		return fmt.Sprintf("the log likelihood minus its value at the mode is more than 1000 %s with %s than with the reference", than, c.Setup)
	}
	return fmt.Sprintf("the log likelihood minus its value at the mode is %.2g %s with %s than with the reference", by, than, c.Setup)
}

func (c *Certificate) sound() bool {
	return !slices.ContainsFunc(c.Modes, func(m AtMode) bool { return m.Err != "" })
}

func (c *Certificate) largest(m *AtMode) string {
	at := 0
	for k, s := range m.Shift {
		if math.Abs(s) > math.Abs(m.Shift[at]) {
			at = k
		}
	}
	if len(m.Shift) == 0 {
		return "none"
	}
	return fmt.Sprintf("that of %s, %+.2g sd", c.Params[at], m.Shift[at])
}

const mostShifts = 6

// mostShifted returns at most mostShifts indices, and the largest shift of the others.
func mostShifted(all []*Certificate) (index []int, others float64) {
	most := make([]float64, len(all[0].Params))
	for k := range most {
		index = append(index, k)
		for _, c := range all {
			for _, m := range c.Modes {
				if m.Shift != nil && m.Moved < vanished {
					most[k] = math.Max(most[k], math.Abs(m.Shift[k]))
				}
			}
		}
	}
	if len(index) <= mostShifts {
		return index, 0
	}
	slices.SortStableFunc(index, func(i, j int) int { return cmp.Compare(most[j], most[i]) })
	others = most[index[mostShifts]]
	index = index[:mostShifts]
	slices.Sort(index)
	return index, others
}

func table(all []*Certificate) string {
	if len(all) == 0 {
		return ""
	}
	rows := [][]string{{"solver", "mode", "D", "bound", "TV"}}
	index, others := mostShifted(all)
	for _, k := range index {
		rows[0] = append(rows[0], "Δ "+all[0].Params[k]+"/sd")
	}
	for _, c := range all {
		head := c.Setup
		for i, m := range c.Modes {
			row := []string{head, fmt.Sprint(i + 1), text.Number("%.3g", m.D), text.Number("%.3g", m.Bound), text.Number("%.2g", m.TV)}
			if m.Moved >= vanished {
				m.Shift = nil
				row = []string{head, "none at " + format4(m.From), "–", "–", "–"}
			}
			for _, k := range index {
				v := math.NaN()
				if m.Shift != nil {
					v = m.Shift[k]
				}
				row = append(row, text.Number("%+.2g", v))
			}
			rows = append(rows, row)
			head = ""
		}
	}
	out := text.Table(rows, func(i int) bool { return i == 0 })
	if n := len(all[0].Params) - len(index); n > 0 {
		out += fmt.Sprintf("%d other parameters are shifted by at most %.2g sd\n", n, others)
	}
	// If all setups failed, Answer gives a reason, and the table gives none.
	wrong := map[string]bool{}
	for _, c := range all {
		if m := c.Modes; slices.ContainsFunc(all, (*Certificate).sound) && !c.sound() && !wrong[m[c.Worst(1)].Err] {
			wrong[m[c.Worst(1)].Err] = true
			out += m[c.Worst(1)].Err + "\n"
		}
	}
	return out
}

package assess

import (
	"encoding/csv"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/probode/probode/pkg/internal/text"
)

// A Table has a header, rows of as many cells, and notes below them; or notes alone. The
// columns of Left hold words, all others numbers.
type Table struct {
	Name   string // "modes", "steps", "alpha", "bias", "sd", "accurate" or "remedies"
	Header []string
	Rows   [][]string
	Left   []int
	Notes  []string
}

// String returns the table with its columns under one another.
func (t Table) String() string {
	out := ""
	if t.Header != nil {
		out = text.Table(append([][]string{t.Header}, t.Rows...), func(k int) bool { return slices.Contains(t.Left, k) })
	}
	for _, n := range t.Notes {
		out += n + "\n"
	}
	return out
}

// String returns the answer, the tables, the advice and the warnings.
func (a *Report) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s on %s\n\n%s%s\n", a.Method, a.Model, a.WithoutSampling(), a.Answer())
	for i, t := range a.Tables() {
		if i > 0 {
			b.WriteByte('\n')
		}
		if t.Name == "remedies" {
			b.WriteString(a.Advice() + "\n")
		}
		b.WriteString(t.String())
	}
	if a.Warnings != nil {
		b.WriteByte('\n')
	}
	for _, w := range a.Warnings {
		fmt.Fprintf(&b, "warning: %s\n", w)
	}
	return b.String()
}

// Tables returns the numbers as tables: of the modes, if there are several, of the
// steps, of the calibrated noise scales, of the effects on each parameter, of the
// accurate posterior, and of the remedies. Empty ones are left out.
func (a *Report) Tables() []Table {
	var out []Table
	for _, t := range []Table{a.modeTable(), a.stepTable(), a.alphaTable(),
		a.effectTable("bias", "bias, in accurate sd", func(e Effect) string { return plusMinus(e.Bias, e.BiasSE, true) }),
		a.effectTable("sd", "sd / accurate sd", func(e Effect) string { return plusMinus(e.Ratio, e.RatioSE, false) }),
		a.accurateTable(), a.remedyTable()} {
		if t.Rows != nil || t.Header == nil && t.Notes != nil {
			out = append(out, t)
		}
	}
	return out
}

// modeTable lists the modes of all steps and of the reference, if there are several;
// else it says what the search at the first step may have missed.
func (a *Report) modeTable() Table {
	several := len(weighty(a.ReferenceModes)) > 1
	for i := range a.Steps {
		several = several || len(weighty(a.Steps[i].Modes)) > 1 || len(a.Steps[i].Missing) > 0
	}
	t := newModeTable()
	if !several {
		if len(a.Steps) == 0 || a.Steps[0].Unsearched == "" {
			return Table{}
		}
		return Table{Name: "modes", Notes: []string{fmt.Sprintf("one mode; %v: %s", &a.Steps[0], a.Steps[0].Unsearched)}}
	}
	for i := range a.Steps {
		st := &a.Steps[i]
		t.modes(st.String(), a.Names, st.Modes, st.Missing)
		if st.Unsearched != "" {
			t.Notes = append(t.Notes, st.String()+": "+st.Unsearched)
		}
	}
	t.modes("reference", a.Names, a.ReferenceModes, nil)
	return t
}

func newModeTable() Table {
	return Table{Name: "modes", Header: []string{"modes", "where", "mass (Gaussian)", "of the draws", "searches", ""}, Left: []int{0, 1, 5}}
}

// modes adds a row for each mode with more than a hundredth of the mass.
func (t *Table) modes(head string, names []string, own, missed []Mode) {
	all := append(weighty(own), missed...)
	for _, m := range all {
		kind := ""
		switch {
		case m.Phantom:
			kind = "phantom"
		case m.Missed:
			kind = "missed"
		}
		t.Rows = append(t.Rows, []string{head, where(names, m.Theta, all), number("%.3g", m.Gaussian), number("%.3g", m.Visited), fmt.Sprint(m.Found), kind})
		head = ""
	}
}

func (a *Report) stepTable() Table {
	t := Table{Name: "steps", Header: []string{a.sizeName(), "α", "path error", "order", "k̂", "inference", "solves", "s", "ESS/s", "verdict"}, Left: []int{0, 5}}
	for i := range a.Steps {
		st := &a.Steps[i]
		head := []string{fmt.Sprintf("%.4g", st.Size()), number("%.3g", st.Alpha), number("%.2g", st.Error), number("%.1f", st.Order), number("%.2f", st.KHat)}
		for _, inf := range st.runs() {
			t.Rows = append(t.Rows, append(head, inf.Sampler, fmt.Sprint(inf.Solves), fmt.Sprintf("%.1f", inf.Seconds), fmt.Sprintf("%.0f", inf.ESSPerSecond), inf.Verdict().String()))
			head = make([]string, 5)
		}
		if st.Deterministic == nil {
			t.Rows = append(t.Rows, append(head, "–", "", "", "", "unknown"))
		}
	}
	return t
}

// alphaTable shows whether one α serves all of the posterior.
func (a *Report) alphaTable() Table {
	t := Table{Name: "alpha", Header: []string{"calibrated α*"}, Rows: [][]string{{"at the mode"}, {"at three draws"}}, Left: []int{0}}
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
		t.Header = append(t.Header, st.String())
		t.Rows[0], t.Rows[1] = append(t.Rows[0], mode), append(t.Rows[1], strings.Join(at, ", "))
	}
	if !known {
		return Table{}
	}
	return t
}

// effectTable shows one number of the effects, in a row for each parameter and sampler.
func (a *Report) effectTable(name, title string, of func(Effect) string) Table {
	t := Table{Name: name, Header: []string{title, "inference"}, Left: []int{0, 1}}
	for _, st := range a.Steps {
		t.Header = append(t.Header, st.String())
	}
	for j, q := range a.Params {
		name := q.Name
		for _, pick := range []func(Step) *Inference{
			func(st Step) *Inference { return st.Deterministic },
			func(st Step) *Inference { return st.Probabilistic },
		} {
			row := []string{name, ""}
			for _, st := range a.Steps {
				cell := "–"
				if inf := pick(st); inf != nil {
					cell, row[1] = of(inf.Effects[j]), inf.Sampler
				}
				row = append(row, cell)
			}
			if row[1] != "" {
				t.Rows = append(t.Rows, row)
				name = ""
			}
		}
	}
	return t
}

func (a *Report) accurateTable() Table {
	t := Table{Name: "accurate", Header: []string{"accurate posterior", "mean", "sd", "largest " + strings.TrimPrefix(a.SizeName(), "step ") + " that is small enough"}, Left: []int{0},
		Notes: []string{fmt.Sprintf("from %s; k̂ = %.2f", a.ReferenceBy, a.KHat)}}
	for _, q := range a.Params {
		if q.Quantiles {
			t.Header = []string{"accurate posterior", "mean or median", "sd or half of 68 %", "largest step that is small enough"}
		}
		t.Rows = append(t.Rows, []string{q.Name, number("%.4g", q.Mean), number("%.3g", q.SD), q.LargestStep()})
	}
	return t
}

func (a *Report) remedyTable() Table {
	t := Table{Name: "remedies", Header: []string{"remedy", "bias/sd", "sd ratio", "s per 1000", "to reach", "reaches", "note"}, Left: []int{0, 6}}
	for _, r := range a.Remedies {
		t.Rows = append(t.Rows, []string{r.Name, number("%+.2g", r.Bias), number("%.3g", r.Ratio), number("%.2g", r.Seconds), number("%.2g", r.Reach), map[bool]string{true: "yes", false: "no"}[r.Reaches], r.Note})
	}
	return t
}

// WriteCSV writes a row for each step, inference and parameter.
func (a *Report) WriteCSV(w io.Writer) error {
	out := csv.NewWriter(w)
	out.Write([]string{"step", "sampler", "parameter", "alpha", "alpha_star", "alpha_star_at_draws", "mean", "sd", "accurate_mean", "accurate_sd",
		"bias", "bias_se", "sd_ratio", "sd_ratio_se", "verdict", "rhat", "bulk_ess", "draws", "solves", "failed", "seconds", "path_error", "khat"})
	for i := range a.Steps {
		st := &a.Steps[i]
		var at []string
		for _, v := range st.AlphaAt {
			at = append(at, fmt.Sprintf("%.6g", v))
		}
		for _, inf := range st.runs() {
			for j, q := range a.Params {
				e := inf.Effects[j]
				m, est := inf.marginal(q.Name), inf.Estimates[j]
				row := []string{fmt.Sprint(st.Size()), inf.Sampler, q.Name, fmt.Sprintf("%.6g", st.Alpha), fmt.Sprintf("%.6g", st.AlphaStar), strings.Join(at, " ")}
				for _, v := range []float64{est.Center, est.Spread, q.Mean, q.SD, e.Bias, e.BiasSE, e.Ratio, e.RatioSE} {
					row = append(row, fmt.Sprintf("%.6g", v))
				}
				out.Write(append(row, e.Verdict.String(), fmt.Sprintf("%.4f", m.RHat), fmt.Sprintf("%.0f", m.BulkESS), fmt.Sprint(inf.Draws*inf.Chains),
					fmt.Sprint(inf.Solves), fmt.Sprintf("%.3g", inf.Failed), fmt.Sprintf("%.3f", inf.Seconds), fmt.Sprintf("%.4g", st.Error), fmt.Sprintf("%.3f", st.KHat)))
			}
		}
	}
	out.Flush()
	return out.Error()
}

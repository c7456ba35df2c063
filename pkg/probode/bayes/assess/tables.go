package assess

import (
	"encoding/csv"
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/probode/probode/pkg/internal/text"
)

// String returns the answer, the tables and the warnings.
func (a *Report) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%v on %s\n\n%s%s\n%s%s", a.Method, a.Model, a.WithoutSampling(), a.Answer(), a.modesText(), a.Tables())
	if a.Warnings != nil {
		b.WriteByte('\n')
	}
	for _, w := range a.Warnings {
		fmt.Fprintf(&b, "warning: %s\n", w)
	}
	return b.String()
}

// Tables returns the numbers as tables for a terminal: of the steps, of the
// effects on each parameter, and of the accurate posterior.
func (a *Report) Tables() string {
	var b strings.Builder
	rows := [][]string{{a.sizeName(), "α", "path error", "order", "k̂", "inference", "solves", "s", "ESS/s", "verdict"}}
	for _, st := range a.Steps {
		head := []string{fmt.Sprintf("%.4g", st.Size()), number("%.3g", st.Alpha), number("%.2g", st.Error), number("%.1f", st.Order), number("%.2f", st.KHat)}
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
			rows[0] = append(rows[0], st.String())
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

	rows = [][]string{{"accurate posterior", "mean", "sd", "largest " + strings.TrimPrefix(a.SizeName(), "step ") + " that is small enough"}}
	for _, q := range a.Params {
		if q.Quantiles {
			rows[0] = []string{"accurate posterior", "mean or median", "sd or half of 68 %", "largest step that is small enough"}
		}
		rows = append(rows, []string{q.Name, number("%.4g", q.Mean), number("%.3g", q.SD), q.LargestStep()})
	}
	b.WriteByte('\n')
	writeTable(&b, rows)
	fmt.Fprintf(&b, "from %s; k̂ = %.2f\n", a.ReferenceBy, a.KHat)
	if t := a.remedyText(); t != "" {
		b.WriteString("\n" + t)
	}
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
		rows[0] = append(rows[0], st.String())
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
	b.WriteString(text.Table(rows, func(i int) bool { return i == 0 || rows[0][i] == "inference" }))
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
				m, est := inf.marginal(q.Name), inf.Estimates[j]
				row := []string{fmt.Sprint(st.Size()), inf.Sampler, q.Name, fmt.Sprintf("%.6g", st.Alpha), fmt.Sprintf("%.6g", st.AlphaStar), strings.Join(at, " ")}
				for _, v := range []float64{est.Center, est.Spread, q.Mean, q.SD, e.Bias, e.BiasSE, e.Ratio, e.RatioSE} {
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

package assess

import (
	"context"
	"encoding/csv"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/probode/probode/pkg/internal/text"
	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/bayes"
	"github.com/probode/probode/pkg/probode/bayes/modes"
	"github.com/probode/probode/pkg/probode/mcmc"
)

// A TextTable has a header, rows with one cell per column, and notes below them. Some
// tables have only notes. Left lists the columns that contain words; all other columns
// contain numbers.
type TextTable struct {
	Name   string // "modes", "steps", "alpha", "median", "interval", "bias", "sd", "accurate" or "remedies"
	Header []string
	Rows   [][]string
	Left   []int
	Notes  []string
}

// String returns the table with aligned columns.
func (t TextTable) String() string {
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
	fmt.Fprintf(&b, "%s on %s\n\n%s\n", a.Method, a.Model, a.Answer())
	for i, t := range a.Tables() {
		if i > 0 {
			b.WriteByte('\n')
		}
		if t.Name == "remedies" {
			b.WriteString(a.Advice() + "\n")
		}
		b.WriteString(t.String())
	}
	warnings := a.Warnings()
	if warnings != nil {
		b.WriteByte('\n')
	}
	for _, w := range warnings {
		fmt.Fprintf(&b, "warning: %s\n", w)
	}
	return b.String()
}

// Tables returns the tables of the report: the steps, the calibrated noise scales, the
// effects on each parameter, the reference posterior, and the remedies. If there are
// several modes, a table of the modes comes first. Empty tables are left out.
func (a *Report) Tables() []TextTable {
	bias := func(s Shift) string { return plusMinus(s.Bias, s.BiasSE, true) }
	ratio := func(s Shift) string { return plusMinus(s.Ratio, s.RatioSE, false) }
	median := func(e Effect) Shift { return e.Median }
	mean := func(e Effect) Shift { return e.Mean }
	all := []TextTable{a.modeTable(), a.stepTable(), a.alphaTable(),
		a.effectTable("median", "bias of medians", median, bias), a.effectTable("interval", "interval / accurate one", median, ratio),
		a.effectTable("bias", "bias of means", mean, bias), a.effectTable("sd", "sd / accurate sd", mean, ratio),
		a.accurateTable(), a.remedyTable()}
	return slices.DeleteFunc(all, func(t TextTable) bool { return t.Rows == nil && (t.Header != nil || t.Notes == nil) })
}

// modeTable has no rows if there is only one mode, but a note on the limits of the
// search.
func (a *Report) modeTable() TextTable {
	several := len(weighty(a.ReferenceModes)) > 1
	for _, st := range a.Steps {
		several = several || len(weighty(st.Modes)) > 1
	}
	t := newModeTable()
	if !several {
		if len(a.Steps) == 0 || a.Steps[0].Unsearched == "" {
			return TextTable{}
		}
		return TextTable{Name: "modes", Notes: []string{fmt.Sprintf("one mode; %v: %s", &a.Steps[0], a.Steps[0].Unsearched)}}
	}
	for _, st := range a.Steps {
		t.modes(st.String(), a.Names, st.Modes)
		if st.Unsearched != "" {
			t.Notes = append(t.Notes, st.String()+": "+st.Unsearched)
		}
	}
	t.modes("reference", a.Names, a.ReferenceModes)
	return t
}

func newModeTable() TextTable {
	return TextTable{Name: "modes", Header: []string{"modes", "where", "mass (Gaussian)", "of the draws", "searches", ""}, Left: []int{0, 1, 5}}
}

// modes leaves out modes, except the first, with up to a hundredth of mass and draws.
func (t *TextTable) modes(head string, names []string, modes []ModeShare) {
	all := weighty(modes)
	for _, m := range all {
		kind := ""
		switch {
		case m.Phantom:
			kind = "phantom"
		case m.Missed:
			kind = "missed"
		}
		t.Rows = append(t.Rows, []string{head, where(names, m.Theta, all), text.Number("%.3g", m.Gaussian), text.Number("%.3g", m.Visited), fmt.Sprint(m.Found), kind})
		head = ""
	}
}

// ModeTable returns a table that compares two sets of modes. The first set, m, contains
// the modes of p. The chains were started near these modes. The second set contains the
// modes of the reference posterior, which is computed with the setup `by`. ModeTable
// searches for the second set with modes.Find. The searches start from the modes in m and
// from draws from the prior. If m contains no second mode with more than a hundredth of
// the mass, ModeTable returns "".
func ModeTable(ctx context.Context, p *bayes.Posterior, m *bayes.Modes, chains *mcmc.Chains, by probode.Setup) (string, error) {
	if len(weighty(shares(m))) < 2 {
		return "", nil
	}
	search := modes.Settings{From: m.Thetas(-1)}
	reference, err := modes.Find(ctx, p.SolvedBy(by), search)
	if err != nil {
		return "", fmt.Errorf("modes of the reference posterior: %w", err)
	}
	paired, err := pair(ctx, p, p.SolvedBy(by), m, reference, search)
	if err != nil {
		return "", err
	}
	visited, err := modes.Shares(p, paired.modes, chains)
	if err != nil {
		return "", err
	}
	paired.visit(visited, false)
	names := p.Names()
	t := newModeTable()
	t.Notes = []string{"as solved: " + m.Missed(), "reference: " + reference.Missed()}
	for _, k := range paired.own {
		if wrong := sayWrongShare(k); wrong != "" {
			t.Notes = append(t.Notes, fmt.Sprintf("caution: the mode at %s %s", where(names, k.Theta, paired.own), wrong))
		}
	}
	t.modes("as solved", names, paired.own)
	t.modes("reference", names, shares(reference))
	return t.String(), nil
}

func (a *Report) stepTable() TextTable {
	t := TextTable{Name: "steps", Header: []string{a.sizeName(), "α", "path error", "order", "k̂", "inference", "solves", "s", "ESS/s", "verdict"}, Left: []int{0, 5}}
	for i := range a.Steps {
		st := &a.Steps[i]
		head := []string{fmt.Sprintf("%.4g", st.Size())}
		for _, c := range []struct{ kind, format string }{{"α", "%.3g"}, {"path error", "%.2g"}, {"order", "%.1f"}, {"k̂", "%.2f"}} {
			head = append(head, text.Number(c.format, a.Claim(c.kind, st.String(), "").Value))
		}
		for _, inf := range st.runs() {
			t.Rows = append(t.Rows, append(head, inf.Sampler, fmt.Sprint(inf.Solves), fmt.Sprintf("%.1f", inf.Seconds), fmt.Sprintf("%.0f", inf.ESSPerSecond), inf.Verdict.String()))
			head = make([]string, 5)
		}
		if b := st.Bound; st.Deterministic == nil && b != nil {
			t.Rows = append(t.Rows, append(head, "bound", "", "", "", b.Verdict.String()))
		} else if st.Deterministic == nil {
			t.Rows = append(t.Rows, append(head, "–", "", "", "", "unknown"))
		}
	}
	return t
}

func (a *Report) alphaTable() TextTable {
	t := TextTable{Name: "alpha", Header: []string{"calibrated α*"}, Rows: [][]string{{"at the mode"}, {"at three draws"}}, Left: []int{0}}
	known := false
	for _, st := range a.Steps {
		c := a.Claim("α*", st.String(), "")
		mode := text.Number("%.3g", c.Value)
		if !math.IsNaN(c.SE) {
			mode += fmt.Sprintf(" ± %.1g", c.SE)
		}
		known = known || !math.IsNaN(c.Value)
		t.Header = append(t.Header, st.String())
		t.Rows[0], t.Rows[1] = append(t.Rows[0], mode), append(t.Rows[1], strings.Join(a.alphaAt(&st), ", "))
	}
	if !known {
		return TextTable{}
	}
	return t
}

func (a *Report) alphaAt(st *Rung) (all []string) {
	for _, c := range a.Claims {
		if c.Kind == "α* at a draw" && c.Step == st.String() {
			all = append(all, text.Number("%.3g", c.Value))
		}
	}
	return all
}

// effectTable has a row for each parameter and sampler.
func (a *Report) effectTable(name, title string, of func(Effect) Shift, cell func(Shift) string) TextTable {
	t := TextTable{Name: name, Header: []string{title, "inference"}, Left: []int{0, 1}}
	for _, st := range a.Steps {
		t.Header = append(t.Header, st.String())
	}
	for j, q := range a.Params {
		name := q.Name
		for _, pick := range []func(Rung) *Inference{
			func(st Rung) *Inference { return st.Deterministic },
			func(st Rung) *Inference { return st.Probabilistic },
		} {
			row, names := []string{name, ""}, []string(nil)
			for _, st := range a.Steps {
				text := "–"
				if inf := pick(st); inf != nil {
					text = cell(of(inf.Effects[j]))
					// If a sampler cannot be used at a step, a different sampler is used
					// at that step.
					if !slices.Contains(names, inf.Sampler) {
						names = append(names, inf.Sampler)
					}
				}
				row = append(row, text)
			}
			if names != nil {
				row[1] = strings.Join(names, ", ")
				t.Rows = append(t.Rows, row)
				name = ""
			}
		}
	}
	return t
}

func (a *Report) accurateTable() TextTable {
	t := TextTable{Name: "accurate", Header: []string{"reference posterior", "median", "half of 68 %", "mean", "sd", "largest " + strings.TrimPrefix(a.SizeName(), "step ") + " that is small enough"}, Left: []int{0}}
	if a.ReferenceBy != "" {
		t.Notes = []string{fmt.Sprintf("from %s; k̂ = %.2f", a.ReferenceBy, a.Claim("k̂", "", "").Value)}
	}
	for j, q := range a.Params {
		row := []string{q.Name, text.Number("%.4g", q.Median.Center), text.Number("%.3g", q.Median.Spread), "–", "–", a.sayLargest(j)}
		if !q.HeavyTails {
			row[3], row[4] = text.Number("%.4g", q.Mean.Center), text.Number("%.3g", q.Mean.Spread)
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// reach returns the cost of the cheapest remedy of this kind that reaches the threshold,
// or NaN.
func (a *Report) reach(kind string) float64 {
	for _, r := range a.Remedies { // they are sorted by cost
		if r.Kind == kind && r.Reaches {
			return r.Seconds
		}
	}
	return math.NaN()
}

func (a *Report) remedyTable() TextTable {
	t := TextTable{Name: "remedies", Header: []string{"remedy", "bias", "interval", "s per 1000", "to reach", "reaches", "note"}, Left: []int{0, 6}}
	measured := func(v, se float64, signed bool) string {
		if math.IsNaN(v) {
			return text.Number("", v)
		}
		return plusMinus(v, se, signed)
	}
	for _, r := range a.Remedies {
		t.Rows = append(t.Rows, []string{r.Name, measured(r.Bias, r.BiasSE, true), measured(r.Ratio, r.RatioSE, false), text.Number("%.2g", r.Seconds), text.Number("%.2g", a.reach(r.Kind)), map[bool]string{true: "yes", false: "no"}[r.Reaches], r.Note})
	}
	return t
}

// WriteCSV writes the claims of the report in CSV format, one row for each claim.
func (a *Report) WriteCSV(w io.Writer) error {
	out := csv.NewWriter(w)
	out.Write([]string{"kind", "step", "run", "parameter", "mode", "value", "se", "limit", "verdict", "sentence"})
	cell := func(v float64) string {
		if math.IsNaN(v) {
			return ""
		}
		return fmt.Sprintf("%.6g", v)
	}
	for _, c := range a.Claims {
		out.Write([]string{c.Kind, c.Step, c.Run, c.Parameter, fmt.Sprint(c.Mode), cell(c.Value), cell(c.SE), cell(c.Limit), c.Verdict.String(), c.Sentence})
	}
	out.Flush()
	return out.Error()
}

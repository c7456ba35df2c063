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
	Name   string // "modes", "candidates", "median", "interval", "bias", "sd" or "reference"
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

// String returns the answer, its details, the tables and the warnings.
func (a *Report) String() string {
	var b strings.Builder
	b.WriteString(a.Answer() + "\n" + a.Details())
	for _, t := range a.Tables() {
		b.WriteString("\n" + t.String())
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

// Tables returns the tables of the report: the candidates, the effects on each parameter,
// and the reference posterior. If there are several modes, a table of the modes comes
// first. Empty tables are left out.
func (a *Report) Tables() []TextTable {
	bias := func(s Shift) string { return plusMinus(s.Bias, s.BiasSE, true) }
	ratio := func(s Shift) string { return plusMinus(s.Ratio, s.RatioSE, false) }
	median := func(e Effect) Shift { return e.Median }
	mean := func(e Effect) Shift { return e.Mean }
	all := []TextTable{a.modeTable(), a.candidateTable(),
		a.effectTable("median", "bias of medians", median, bias), a.effectTable("interval", "interval / accurate one", median, ratio),
		a.effectTable("bias", "bias of means", mean, bias), a.effectTable("sd", "sd / accurate sd", mean, ratio),
		a.referenceTable()}
	return slices.DeleteFunc(all, func(t TextTable) bool { return t.Rows == nil && (t.Header != nil || t.Notes == nil) })
}

// If there is more than one mode, modeTable lists the modes of all candidates and the modes
// of the reference posterior. If there is only one mode, the table has no rows. A note
// then describes the limits of the search for modes of the first candidate.
func (a *Report) modeTable() TextTable {
	several := len(weighty(a.ReferenceModes)) > 1
	for _, x := range a.Candidates {
		several = several || len(weighty(x.Modes)) > 1
	}
	t := newModeTable()
	if !several {
		if x := a.Candidates[0]; x.Unsearched != "" {
			return TextTable{Name: "modes", Notes: []string{fmt.Sprintf("one mode; %v: %s", x, x.Unsearched)}}
		}
		return TextTable{}
	}
	for _, x := range a.Candidates {
		if x.Noisy {
			continue
		}
		t.modes(x.String(), a.Names, x.Modes)
		if x.Unsearched != "" {
			t.Notes = append(t.Notes, x.String()+": "+x.Unsearched)
		}
	}
	t.modes("reference", a.Names, a.ReferenceModes)
	return t
}

func newModeTable() TextTable {
	return TextTable{Name: "modes", Header: []string{"modes", "where", "mass (estimate)", "of the draws", "searches", ""}, Left: []int{0, 1, 5}}
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
		t.Rows = append(t.Rows, []string{head, where(names, m.Theta, all), text.Number("%.3g", m.Estimate), text.Number("%.3g", m.Visited), fmt.Sprint(m.Found), kind})
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

func (a *Report) candidateTable() TextTable {
	t := TextTable{Name: "candidates", Header: []string{"candidate", "α", "k̂", "inference", "s", "verdict"}, Left: []int{0, 3}}
	for _, x := range a.Candidates {
		row := []string{x.String(), "", "", "–", "", "not known"}
		if x.Noisy {
			row[1] = text.Number("%.3g", x.Alpha)
		}
		if inf := x.Inference; inf != nil {
			if row[3], row[4] = inf.by(), fmt.Sprintf("%.1f", inf.Seconds); inf.Weighted && inf.KHat > -1 {
				row[2] = text.Number("%.2f", inf.KHat)
			}
		}
		if x.Verdict != Undecided {
			row[5] = x.Verdict.String()
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// effectTable shows one number for each effect, with a row for each parameter and a column
// for each candidate.
func (a *Report) effectTable(name, title string, of func(Effect) Shift, cell func(Shift) string) TextTable {
	t := TextTable{Name: name, Header: []string{title}, Left: []int{0}}
	known := false
	for _, x := range a.Candidates {
		t.Header = append(t.Header, x.String())
		known = known || x.Inference != nil
	}
	if !known {
		return TextTable{}
	}
	for j, q := range a.Params {
		row := []string{q.Name}
		for _, x := range a.Candidates {
			text := "–"
			if x.Inference != nil {
				text = cell(of(x.Inference.Effects[j]))
			}
			row = append(row, text)
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

func (a *Report) referenceTable() TextTable {
	t := TextTable{Name: "reference", Header: []string{"reference posterior", "median", "half of 68 %", "mean", "sd"}, Left: []int{0}}
	for _, q := range a.Params {
		row := []string{q.Name, text.Number("%.4g", q.Median.Center), text.Number("%.3g", q.Median.Spread), "–", "–"}
		if !q.HeavyTails {
			row[3], row[4] = text.Number("%.4g", q.Mean.Center), text.Number("%.3g", q.Mean.Spread)
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// WriteCSV writes the claims of the report in CSV format, one row for each claim.
func (a *Report) WriteCSV(w io.Writer) error {
	out := csv.NewWriter(w)
	out.Write([]string{"kind", "candidate", "parameter", "mode", "value", "se", "limit", "verdict", "sentence"})
	cell := func(v float64) string {
		if math.IsNaN(v) {
			return ""
		}
		return fmt.Sprintf("%.6g", v)
	}
	for _, c := range a.Claims {
		out.Write([]string{c.Kind, c.Candidate, c.Parameter, fmt.Sprint(c.Mode), cell(c.Value), cell(c.SE), cell(c.Limit), c.Verdict.String(), c.Sentence})
	}
	out.Flush()
	return out.Error()
}

package assess

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/probode/probode/pkg/internal/text"
	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/bayes"
	"github.com/probode/probode/pkg/probode/mcmc"
)

// What is said of modes: where each is, what it weighs by its Gaussian approximation,
// how many of the draws are in it, how many searches ended there, and whether it is
// one of the reference posterior.

// Modes returns a table of the modes m of p, which the chains were drawn around, set
// against those of the posterior by an accurate solver; "" if there is only one that
// holds a hundredth of the mass. It searches from the modes, and from few draws of the
// prior.
func Modes(ctx context.Context, p *bayes.Posterior, m *bayes.Modes, chains *mcmc.Chains, by probode.Setup) (string, error) {
	if len(heavy(modesOf(m))) < 2 {
		return "", nil
	}
	search := bayes.ModeSearch{Points: 60, Starts: 4}
	for _, k := range m.Modes {
		search.From = append(search.From, k.Theta)
	}
	reference, err := p.SolvedBy(by).FindModes(ctx, search)
	if err != nil {
		return "", fmt.Errorf("modes of the reference posterior: %w", err)
	}
	paired, err := pair(ctx, p, m, reference, search)
	if err != nil {
		return "", err
	}
	shares, err := p.Shares(paired.modes, chains)
	if err != nil {
		return "", err
	}
	for k := range paired.own {
		paired.own[k].Visited = shares[k]
	}
	names := make([]string, len(p.Params))
	for k := range names {
		names[k] = p.Params[k].Name
	}
	var b strings.Builder
	rows := [][]string{modeHeader("modes")}
	rows = modeRows(rows, "as solved", names, paired.own, paired.lost)
	b.WriteString(text.Table(modeRows(rows, "reference", names, modesOf(reference), nil), left))
	b.WriteString(m.Missed() + "\n")
	for _, k := range paired.own {
		if wrong := k.wrongShare(); wrong != "" {
			fmt.Fprintf(&b, "caution: the mode at %s %s\n", where(names, k.Theta, paired.own), wrong)
		}
	}
	return b.String(), nil
}

// modesText returns the table of the modes of all steps and of the reference; if there
// is only one everywhere, what the search at the first step may have missed.
func (a *Report) modesText() string {
	several := len(heavy(a.ReferenceModes)) > 1
	for i := range a.Steps {
		several = several || len(heavy(a.Steps[i].Modes)) > 1 || len(a.Steps[i].Lost) > 0
	}
	if !several {
		if len(a.Steps) == 0 || a.Steps[0].Missed == "" {
			return ""
		}
		return fmt.Sprintf("one mode; %v: %s\n\n", &a.Steps[0], a.Steps[0].Missed)
	}
	rows := [][]string{modeHeader("modes")}
	var notes strings.Builder
	for i := range a.Steps {
		st := &a.Steps[i]
		head := st.String()
		rows = modeRows(rows, head, a.Names, st.Modes, st.Lost)
		if st.Missed != "" {
			notes.WriteString(head + ": " + st.Missed + "\n")
		}
	}
	rows = modeRows(rows, "reference", a.Names, a.ReferenceModes, nil)
	return text.Table(rows, left) + notes.String() + "\n"
}

func modeHeader(first string) []string {
	return []string{first, "where", "mass (Gaussian)", "of the draws", "searches", ""}
}

func left(column int) bool { return column < 2 || column == 5 }

// modeRows adds a row for each mode that is spoken of.
func modeRows(rows [][]string, head string, names []string, own, lost []Mode) [][]string {
	all := append(heavy(own), lost...)
	for _, m := range all {
		kind := ""
		switch {
		case m.Phantom:
			kind = "phantom"
		case m.Lost:
			kind = "lost"
		}
		rows = append(rows, []string{head, where(names, m.Theta, all), number("%.3g", m.Gaussian), number("%.3g", m.Visited), fmt.Sprint(m.Found), kind})
		head = ""
	}
	return rows
}

// heavy returns the modes that are spoken of, at least the first.
func heavy(modes []Mode) []Mode {
	var out []Mode
	for k, m := range modes {
		if k == 0 || m.Mass > spoken || m.Gaussian > spoken || m.Visited > spoken {
			out = append(out, m)
		}
	}
	return out
}

// wrongShare says in words that the draws have missed the mode, or have another share
// in it than its Gaussian approximation gives it; "" if neither.
func (m Mode) wrongShare() string {
	if math.IsNaN(m.Visited) || !(max(m.Gaussian, m.Visited) > spoken) {
		return ""
	}
	odds := m.Visited / (1 - m.Visited) / (m.Gaussian / (1 - m.Gaussian))
	switch {
	case m.Visited == 0:
		return fmt.Sprintf("holds %.3g of the mass by its Gaussian approximation, and no draw is in it", m.Gaussian)
	case odds < 1./3 || odds > 3:
		return fmt.Sprintf("holds %.3g of the mass by its Gaussian approximation, and %.3g of the draws are in it: where R̂ is good it is the approximation that is wrong", m.Gaussian, m.Visited)
	}
	return ""
}

// where says at which θ a mode is: of many parameters, by those in which the modes
// differ most.
func where(names []string, theta []float64, all []Mode) string {
	const most = 4
	order := make([]int, len(theta))
	spread := make([]float64, len(theta))
	for k := range theta {
		order[k] = k
		for _, m := range all {
			if d := math.Abs(m.Theta[k] - theta[k]); d > 0 {
				spread[k] = max(spread[k], d/(math.Abs(m.Theta[k])+math.Abs(theta[k])))
			}
		}
	}
	left := ""
	if len(order) > most {
		slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(spread[b], spread[a]) })
		order = order[:most]
		slices.Sort(order)
		left = ", …"
	}
	var out []string
	for _, k := range order {
		out = append(out, fmt.Sprintf("%s = %.4g", text.Printable(names[k]), theta[k]))
	}
	return strings.Join(out, ", ") + left
}

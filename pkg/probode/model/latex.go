package model

import (
	"fmt"
	"slices"
	"strings"

	"github.com/probode/probode/pkg/probode/model/internal/expr"
)

const shownLines = 40

// LaTeX returns the equations of m as text for the math mode of LaTeX. The text contains
// only commands that MathJax supports. The equations are the derivatives and initial
// values of states, the assignments, the events, and the observables with the
// distributions of their measurements. Names with more than one letter are set upright,
// and spelled-out Greek letters become symbols. If there are more than 40 equations of
// one kind, the text contains the first 40 and says how many are omitted.
func (m *Model) LaTeX() string {
	var b strings.Builder
	b.WriteString("\\begin{aligned}\n")
	lines := func(n int, what string, line func(i int)) {
		for i := range min(n, shownLines) {
			line(i)
			b.WriteString(`\\` + "\n")
		}
		if n > shownLines {
			fmt.Fprintf(&b, "&\\text{and %d more %s}\\\\\n", n-shownLines, what)
		}
	}
	lines(len(m.States), "states", func(i int) {
		s := &m.States[i]
		fmt.Fprintf(&b, `\frac{\mathrm{d}\,%[1]s}{\mathrm{d}t} &= %[2]s, & %[1]s(%[4]v) &= %[3]s`, latexName(s.ID), latex(s.Rate), latex(s.Init), m.start)
	})
	lines(len(m.Assignments), "assignments", func(i int) {
		a := &m.Assignments[i]
		fmt.Fprintf(&b, `%s &= %s`, latexName(a.ID), latex(a.Formula))
	})
	lines(len(m.Events), "events", func(i int) {
		e := &m.Events[i]
		if e.Trigger != nil {
			fmt.Fprintf(&b, `%s:\quad `, latex(e.Trigger))
		} else {
			fmt.Fprintf(&b, `t = %s:\quad `, latex(e.Time))
		}
		for k, j := range e.Jumps {
			if k > 0 {
				b.WriteString(`,\; `)
			}
			if k == 0 {
				b.WriteString("&")
			}
			fmt.Fprintf(&b, `%s \leftarrow %s`, latexName(j.State), latex(j.Value))
		}
	})
	lines(len(m.observables), "observables", func(i int) {
		o := &m.observables[i]
		y, f := latexName(o.id), latex(o.formula)
		if o.increase {
			f = `\Delta\left(` + f + `\right)`
		}
		switch o.scale {
		case Log:
			y, f = `\ln `+y, `\ln\left(`+f+`\right)`
		case Log10:
			y, f = `\log_{10} `+y, `\log_{10}\left(`+f+`\right)`
		}
		format, args := latexOf[o.distribution], []any{y, f}
		for _, n := range numbers(o.freedom, o.noise) {
			args = append(args, latex(n))
		}
		fmt.Fprintf(&b, format, args...)
	})
	b.WriteString(`\end{aligned}`)
	return b.String()
}

// latexOf formats the observable, its formula, and the other parameters of the
// distribution.
var latexOf = map[noiseDistribution]string{
	normalNoise:           `%s &\sim \mathrm{N}\left(%s,\; \left[%s\right]^2\right)`,
	laplaceNoise:          `%s &\sim \mathrm{Laplace}\left(%s,\; %s\right)`,
	studentNoise:          `%[1]s &\sim \mathrm{t}_{%[3]s}\left(%[2]s,\; \left[%[4]s\right]^2\right)`,
	poissonNoise:          `%s &\sim \mathrm{Poisson}\left(%s\right)`,
	negativeBinomialNoise: `%s &\sim \mathrm{NB}\left(%s,\; %s\right)`,
	binomialNoise:         `%[1]s &\sim \mathrm{Binomial}\left(n=%[3]s,\; \text{mean}=%[2]s\right)`,
}

func latex(n *expr.Node) string {
	if n == nil {
		return `\text{given by conditions}`
	}
	return n.Simplify().LaTeX(latexName)
}

var greek = strings.Fields("alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi pi rho sigma tau upsilon phi chi psi omega Gamma Delta Theta Lambda Xi Pi Sigma Phi Psi Omega")

// latexName makes the text after the first _ a subscript, without the ID of the
// observable at the end of a placeholder.
func latexName(id string) string {
	if id == expr.Time {
		return "t"
	}
	if at := placeholderRE.FindStringIndex(id); at != nil {
		id = id[:at[1]-1]
	}
	head, index, _ := strings.Cut(id, "_")
	if head == "" {
		head, index = id, ""
	}
	out := `\mathrm{` + strings.ReplaceAll(head, "_", `\_`) + "}"
	switch {
	case slices.Contains(greek, head):
		out = `\` + head
	case len(head) == 1:
		out = head
	}
	switch {
	case index == "":
	case strings.Trim(index, "0123456789") == "":
		out += "_{" + index + "}"
	default:
		out += `_{\mathrm{` + strings.ReplaceAll(index, "_", `\_`) + "}}"
	}
	return out
}

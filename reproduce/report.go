package main

import (
	"fmt"
	"html"
	"strings"
	"time"

	"github.com/probode/probode/internal/shell"
	"github.com/probode/probode/reproduce/internal/page"
)

const head = `<!DOCTYPE html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Implicit Probabilistic Integrators for ODEs, reproduced</title>
<style>
` + page.Style + `details table { font-size: 13px; } details th, details td { padding: .15rem .4rem; }
.claims td { font-size: 15px; } .claims td:first-child { width: 30%; }
.claims .good, .claims .bad { font-weight: 600; }
code { background: #8881; padding: 0 .2em; white-space: nowrap; }
</style>
`

// writeReport counts the claims of the paper that were examined, and those that hold.
func (s *study) writeReport(path string) (holds, of int, err error) {
	var b strings.Builder
	b.WriteString(head)
	b.WriteString("<h1>Implicit Probabilistic Integrators for ODEs, reproduced</h1>\n")
	b.WriteString("<p>Every experiment of Teymur, Lie, Sullivan &amp; Calderhead (NeurIPS 2018), computed again and compared with the paper. The problem is FitzHugh–Nagumo, V′ = θ3 (V − V³/3 + R), R′ = −(V − θ1 + θ2 R)/θ3, θ = (0.2, 0.2, 3), (V, R)(0) = (−1, 1), t ∈ [0, 20], unless stated otherwise.</p>\n")
	if s.quick {
		b.WriteString("<p><b>This report is from a quick run</b>, with fewer step sizes, paths and draws than in the paper.</p>\n")
	}
	sections := make([]*section, len(s.only))
	var claims strings.Builder
	for i, e := range s.only {
		sec, err := s.sectionOf(e)
		if err != nil {
			return 0, 0, fmt.Errorf("report: %s: %w", e.name, err)
		}
		sections[i] = sec
		for _, c := range sec.claims {
			if of++; c[2] == "good" {
				holds++
			}
			fmt.Fprintf(&claims, "<tr><td>%s</td><td>%s</td><td class=%s>%s</td><td><a href=\"#%s\">%s</a></td></tr>\n",
				html.EscapeString(c[0]), html.EscapeString(c[1]), c[2], map[string]string{"good": "holds", "bad": "differs"}[c[2]], e.name, e.name)
		}
	}
	if claims.Len() > 0 {
		fmt.Fprintf(&b, "<h2>The paper's claims</h2>\n<div class=scroll><table class=claims>\n<tr><th>Paper</th><th>Result</th><th></th><th>Evidence</th></tr>\n%s</table></div>\n", claims.String())
	}
	for i, e := range s.only {
		fmt.Fprintf(&b, "<h2 id=%q>%s</h2>\n%s", e.name, html.EscapeString(e.title), sections[i].String())
		var files []string
		for _, t := range e.tables {
			files = append(files, "<code>"+t+".csv</code>")
		}
		fmt.Fprintf(&b, "<p>Numbers: %s. Command: <code>go run ./reproduce -only %s%s</code>. Time: %s on %d workers.</p>\n",
			strings.Join(files, ", "), e.name, s.flags(), s.took[e.name].Round(time.Second/10), s.workers)
	}
	b.WriteString("<h2>Conventions</h2>\n<p>The paper leaves some choices open. Here, multistep methods start with RK4 without noise. Γ and the noise contain the same Jacobian J. For <i>current</i> and <i>newton</i>, J is evaluated at Z_i. For <i>predictor</i>, J is evaluated at the Adams–Bashforth predictor. The noise scale α multiplies a variance. " +
		"Reference solutions come from an extrapolation method. Their global error, estimated from integrations with different steps, is at most 1e-10. The seed determines all random numbers, and no result depends on the number of workers.</p>\n")
	fmt.Fprintf(&b, "<p>Settings: seed %d, data %s, at least %d paths, at least %d iterations.</p>", s.seed, s.dataName(), s.minPaths, s.iterations)
	return holds, of, shell.WriteFile(path, []byte(b.String()))
}

func (s *study) sectionOf(e *experiment) (*section, error) {
	var tables []*table
	for _, name := range e.tables {
		t, err := s.load(name)
		if err != nil {
			return nil, err
		}
		tables = append(tables, t)
	}
	sec := &section{}
	e.section(s, sec, tables)
	return sec, sec.Err
}

package main

import (
	"fmt"
	"html"
	"strings"
	"time"

	"github.com/probode/probode/pkg/viz"
)

// A section of the report, put together from its experiment's files.
type section struct {
	body   strings.Builder
	claims [][3]string // what the paper says, what comes out, verdict
}

func (s *section) text(t string) { fmt.Fprintf(&s.body, "<p>%s</p>\n", t) }

func (s *section) figure(g viz.Graphic, caption string) error {
	h, err := viz.HTML(g)
	if err != nil {
		return err
	}
	fmt.Fprintf(&s.body, "<figure>\n%s", h)
	if caption != "" {
		fmt.Fprintf(&s.body, "<figcaption>%s</figcaption>\n", html.EscapeString(caption))
	}
	s.body.WriteString("</figure>\n")
	return nil
}

// table writes a table whose numbers are aligned right.
func (s *section) table(header []string, rows [][]string) {
	s.body.WriteString("<div class=scroll><table>\n<tr>")
	for _, h := range header {
		fmt.Fprintf(&s.body, "<th>%s</th>", html.EscapeString(h))
	}
	s.body.WriteString("</tr>\n")
	for _, r := range rows {
		s.body.WriteString("<tr>")
		for _, c := range r {
			class := ""
			if c != "" && strings.ContainsRune("0123456789-+N–", []rune(c)[0]) {
				class = " class=n"
			}
			fmt.Fprintf(&s.body, "<td%s>%s</td>", class, html.EscapeString(c))
		}
		s.body.WriteString("</tr>\n")
	}
	s.body.WriteString("</table></div>\n")
}

// folded writes a table that a reader opens to see.
func (s *section) folded(title string, header []string, rows [][]string) {
	fmt.Fprintf(&s.body, "<details><summary>%s</summary>\n", html.EscapeString(title))
	s.table(header, rows)
	s.body.WriteString("</details>\n")
}

// missing says in which cells of a column there is NaN, and why.
func (s *section) missing(t *table, column, why string) {
	var cells []string
	c := t.column(column)
	for _, row := range t.rows {
		if row[c] == "NaN" {
			cells = append(cells, strings.Replace(row[0]+" "+row[1], " none", "", 1)+" at h = "+row[2])
		}
	}
	if cells != nil {
		s.text("NaN marks the cells in which " + why + ": " + strings.Join(cells, ", ") + ".")
	}
}

// claim sets a statement of the paper beside what was found.
func (s *section) claim(paper, here string, holds bool) {
	verdict := "differs"
	if holds {
		verdict = "holds"
	}
	s.claims = append(s.claims, [3]string{paper, here, verdict})
}

const head = `<!DOCTYPE html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Implicit Probabilistic Integrators for ODEs, reproduced</title>
<style>
body { font: 16px/1.5 system-ui, sans-serif; color: #222; background: #fff; max-width: 1120px; margin: 2rem auto; padding: 0 1rem; }
h1 { line-height: 1.2; } h2 { margin-top: 3rem; border-bottom: 1px solid #ccc; }
p { max-width: 50rem; }
figure { margin: 1.5rem 0; } figcaption { color: #555; max-width: 50rem; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-size: 14px; margin: 1rem 0; }
th, td { padding: .2rem .7rem; text-align: left; vertical-align: top; border-bottom: 1px solid #e4e4e4; }
th { border-bottom: 2px solid #999; } td.n { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
details table { font-size: 13px; } details th, details td { padding: .15rem .4rem; }
.claims td { font-size: 15px; } .claims td:first-child { width: 30%; }
.holds { color: #00704f; font-weight: 600; } .differs { color: #b34700; font-weight: 600; }
code { background: #f3f3f3; padding: 0 .2em; }
</style>
`

func (s *study) writeReport(path string) error {
	var b strings.Builder
	b.WriteString(head)
	b.WriteString("<h1>Implicit Probabilistic Integrators for ODEs, reproduced</h1>\n")
	b.WriteString("<p>Every experiment of Teymur, Lie, Sullivan &amp; Calderhead (NeurIPS 2018), computed again: what the paper says beside what comes out. The problem is FitzHugh–Nagumo, V′ = θ3 (V − V³/3 + R), R′ = −(V − θ1 + θ2 R)/θ3, θ = (0.2, 0.2, 3), (V, R)(0) = (−1, 1), t ∈ [0, 20], unless something else is said.</p>\n")
	if s.quick {
		b.WriteString("<p><b>This is the quick form</b>: fewer step sizes, paths and draws than the paper's.</p>\n")
	}
	sections := make([]*section, len(s.only))
	var claims strings.Builder
	for i, e := range s.only {
		sec, err := e.section(s)
		if err != nil {
			return fmt.Errorf("report: %s: %w", e.name, err)
		}
		sections[i] = sec
		for _, c := range sec.claims {
			fmt.Fprintf(&claims, "<tr><td>%s</td><td>%s</td><td class=%s>%s</td><td><a href=\"#%s\">%s</a></td></tr>\n",
				html.EscapeString(c[0]), html.EscapeString(c[1]), c[2], c[2], e.name, e.name)
		}
	}
	if claims.Len() > 0 {
		fmt.Fprintf(&b, "<h2>The paper's claims</h2>\n<div class=scroll><table class=claims>\n<tr><th>The paper</th><th>Here</th><th></th><th>Evidence</th></tr>\n%s</table></div>\n", claims.String())
	}
	for i, e := range s.only {
		fmt.Fprintf(&b, "<h2 id=%q>%s</h2>\n%s", e.name, html.EscapeString(e.title), sections[i].body.String())
		var files []string
		for _, t := range e.tables {
			files = append(files, "<code>"+t+".csv</code>")
		}
		fmt.Fprintf(&b, "<p>Numbers: %s. Command: <code>go run ./reproduce -only %s%s</code>. Time: %s on %d workers.</p>\n",
			strings.Join(files, ", "), e.name, s.flags(), s.took[e.name].Round(time.Second/10), s.workers)
	}
	b.WriteString("<h2>Conventions</h2>\n<p>Where the paper leaves a choice: start-up of multistep methods by RK4 without noise; J in Γ and in the noise at the same point, Z_i for <i>current</i> and <i>newton</i> and the Adams–Bashforth predictor for <i>predictor</i>; the noise scale α multiplies a variance. " +
		"Reference solutions by an extrapolation method with a claimed global error of at most 1e-10, from integrations with different steps. All random numbers follow from the seed, and no number depends on how many workers there are.</p>\n")
	fmt.Fprintf(&b, "<p>Settings: seed %d, data %s, paths at least %d, iterations at least %d.</p>\n</html>\n", s.seed, s.dataName(), s.minPaths, s.iterations)
	return writeFile(path, []byte(b.String()))
}

func (s *study) dataName() string {
	if s.dataFile == "" {
		return "built-in"
	}
	return html.EscapeString(s.dataFile)
}

// flags returns the flags that differ from their defaults, for a command that
// gives the same numbers again.
func (s *study) flags() string {
	var b strings.Builder
	if s.seed != 1 {
		fmt.Fprintf(&b, " -seed %d", s.seed)
	}
	if s.quick {
		b.WriteString(" -quick")
	}
	if s.dataFile != "" {
		fmt.Fprintf(&b, " -data %s", html.EscapeString(s.dataFile))
	}
	if s.minPaths > 0 {
		fmt.Fprintf(&b, " -paths %d", s.minPaths)
	}
	if s.iterations > 0 {
		fmt.Fprintf(&b, " -iterations %d", s.iterations)
	}
	return b.String()
}

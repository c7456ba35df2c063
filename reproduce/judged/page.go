package main

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"slices"
	"strings"

	"github.com/probode/probode/internal/shell"
	"github.com/probode/probode/pkg/viz"
	"github.com/probode/probode/reproduce/internal/page"
)

// writeTable writes a row for each problem, method and tolerance.
func writeTable(name string, list []*result) error {
	var b bytes.Buffer
	w := csv.NewWriter(&b) // to memory, where writing cannot fail
	w.Write(strings.Split("problem,method,rtol,log_likelihood,best,loss,D,certified,small_D,elsewhere,ends,why", ","))
	for _, r := range list {
		if r.Problem != "" {
			w.Write([]string{r.Name, "", "", "", "", "", "", "", "", "", "", r.Problem})
		}
		for _, m := range r.Methods {
			for _, l := range m.Losses {
				row := []string{r.Name, m.Method, fmt.Sprint(l.Tolerance), fmt.Sprintf("%.8g", r.LogLikelihood), fmt.Sprintf("%.8g", r.Best), "", "",
					fmt.Sprint(m.Enough), fmt.Sprint(m.SmallD), fmt.Sprint(m.Elsewhere), fmt.Sprint(m.Ends), l.Failed}
				if l.Failed == "" {
					row[5], row[6], row[11] = fmt.Sprintf("%.3g", l.Loss), fmt.Sprintf("%.3g", l.D), m.Why
				}
				w.Write(row)
			}
		}
	}
	w.Flush()
	return shell.WriteFile(name, b.Bytes())
}

// about explains the table.
const about = "For each method the table says which relative tolerance is enough for every parameter, by a certificate at the best point that was found. A tolerance in brackets has no certificate, for the reason in the last column; D at the best point is below %.2g there, and at all tighter tolerances that were tried. After the tolerance stands at how many other ends of searches D is as small, for problems with such ends: an end counts if its log-likelihood is within %d of the best one. The absolute tolerance of a component is a thousandth of the relative one, times the component's size."

// writePage writes the page: a figure of D by tolerance, and a table of the problems.
func writePage(name string, list []*result) error {
	var p page.Page
	p.WriteString("<!doctype html>\n<html lang=\"en\"><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>A collection, judged</title>\n<style>\n" + page.Style + "</style>\n")
	p.WriteString("<h1>Which tolerance is enough for a published model?</h1>\n")
	p.Text("Each line of the figure is a problem. D is the difference between the predictions of the data with this tolerance and those of an accurate solution, in units of the noise, at the best point that was found. If that point is an optimum and D is below ½, no parameter moves by more than D standard deviations to first order, or √2 D if the noise is estimated. The dashed line is at D = %.2g, where this is a tenth of a standard deviation.", smallD)
	if err := p.Figure(figure(list), "A line ends where the solver fails or time runs out. Values outside of the axis are drawn at its ends."); err != nil {
		return err
	}
	p.Text(about, smallD, near)
	p.Table(`class="scroll"`, header(), rows(list))
	return shell.WriteFile(name, []byte(p.String()))
}

// writeMarkdown writes the table of the page as Markdown.
func writeMarkdown(name string, list []*result) error {
	var b strings.Builder
	line := func(cells []string) { b.WriteString("| " + strings.Join(cells, " | ") + " |\n") }
	fmt.Fprintf(&b, about+"\n\n", smallD, near)
	line(header())
	line(slices.Repeat([]string{"---"}, len(header())))
	for _, row := range rows(list) {
		line(row)
	}
	return shell.WriteFile(name, []byte(b.String()))
}

// figure draws D against the tolerance, with a panel for each method.
func figure(list []*result) viz.Figure {
	f := viz.Figure{Columns: len(methodNames), Height: 420}
	for k, name := range methodNames {
		panel := viz.Panel{Title: name, X: viz.Axis{Label: "relative tolerance", Log: true}, Y: viz.Axis{Label: "D", Log: true}}
		for _, r := range list {
			if k >= len(r.Methods) || r.Methods[k].unused() {
				continue
			}
			var line viz.Line
			for _, l := range r.Methods[k].Losses {
				if l.Failed == "" {
					line.X, line.Y = append(line.X, l.Tolerance), append(line.Y, min(1e4, max(1e-6, l.D)))
				}
			}
			if line.X != nil {
				line.Color, line.Opacity, line.Width, line.Marker = viz.Blue, 0.5, 1.2, viz.Disc
				panel.Layers = append(panel.Layers, line)
			}
		}
		panel.Layers = append(panel.Layers, viz.Guide{At: smallD, Horizontal: true, Dash: viz.Dashed})
		f.Panels = append(f.Panels, panel)
	}
	return f
}

func header() []string {
	h := append([]string{"problem", "states", "parameters", "data", "log-likelihood", "best found"}, methodNames...)
	return append(h, "CPU s", "why not")
}

// rows returns the rows of the table.
func rows(list []*result) (out [][]string) {
	for _, r := range list {
		row := []string{r.Name, count(r.States), count(r.Parameters), count(r.Measurements), "", ""}
		if r.Methods != nil {
			row[4], row[5] = fmt.Sprintf("%.3f", r.LogLikelihood), fmt.Sprintf("%.3f", r.Best)
		}
		for k := range methodNames {
			cell := ""
			if k < len(r.Methods) {
				cell = r.Methods[k].cell()
			}
			row = append(row, cell)
		}
		out = append(out, append(row, fmt.Sprintf("%.0f", r.Seconds), r.reasons()))
	}
	return out
}

func count(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprint(n)
}

// cell returns the tolerance that is enough, in the notation that about explains.
func (b *byMethod) cell() string {
	var s string
	switch {
	case b.Enough > 0:
		s = fmt.Sprintf("%.0e", b.Enough)
	case b.SmallD > 0 && !b.unused():
		s = fmt.Sprintf("(%.0e)", b.SmallD)
	default:
		return "–"
	}
	if b.Ends > 0 {
		s += fmt.Sprintf(", %d of %d", b.Elsewhere, b.Ends)
	}
	return s
}

// reasons returns why something is missing. A reason that several methods have is given
// once.
func (r *result) reasons() string {
	var list []string
	if r.Problem != "" {
		list = append(list, r.Problem)
	}
	by := map[string][]string{}
	for _, m := range r.Methods {
		if m.Why != "" {
			by[m.Why] = append(by[m.Why], m.Method)
		}
	}
	for _, m := range r.Methods {
		if names := by[m.Why]; len(names) > 0 && names[0] == m.Method {
			list = append(list, strings.Join(names, ", ")+": "+m.Why)
		}
	}
	return strings.Join(list, "; ")
}

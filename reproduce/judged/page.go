package main

import (
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"strings"

	"github.com/probode/probode/internal/shell"
	"github.com/probode/probode/pkg/viz"
	"github.com/probode/probode/reproduce/internal/page"
)

const about = "For each method the table gives the largest relative tolerance that is small enough for every parameter. A certificate at the best point confirms each tolerance that has no dagger. A dagger marks a tolerance without a certificate; the last column gives the reason. At a tolerance with a dagger, and at all smaller tolerances that were tried, D at the best point is below the limit of %.2g. “1 of 2” means that D was also computed at two other points, and was below the limit at one of them. Each of the two points is either the end of a search or the point with the nominal parameter values. At both points, the log-likelihood is at most %d below its value at the best point. The absolute tolerance of a component is the relative tolerance multiplied by a thousandth of the largest absolute value of this component. No maximum step length is set."

func writePage(name string, list []*result) error {
	var p page.Page
	p.WriteString("<!doctype html>\n<html lang=\"en\"><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>Verdicts on published models</title>\n<style>\n" + page.Style + "body { max-width: 1400px; }\n.why td:last-child { min-width: 13rem; }\n</style>\n")
	p.WriteString("<h1>Which tolerance is enough for a published model?</h1>\n")
	p.Text("Each line of the figure belongs to one problem. At the best point found, the data are predicted twice: by the solver with the tolerance on the horizontal axis, and by an accurate solution. D is the difference between the two predictions in units of the noise. If the best point is an optimum and D is below ½, then to first order the solver's error moves no parameter by more than D standard deviations. If the noise is estimated, the bound is √2 D standard deviations instead of D. The dashed line is at D = %.2g, where √2 D is a tenth of a standard deviation.", smallD)
	p.Figure(figure(list), "A line ends where the solver fails or the time limit is reached. Values below 10⁻⁶ are drawn at 10⁻⁶, and values above 10⁴ at 10⁴.")
	p.Text(about, smallD, near)
	p.Table(`class="scroll why"`, header(), rows(list))
	p.Text(aboutLosses)
	p.Table(`class="scroll"`, lossHeader(), lossRows(list))
	if p.Err != nil {
		return p.Err
	}
	return shell.WriteFile(name, []byte(p.String()))
}

const aboutLosses = "For each method and each relative tolerance, the table shows the change in the log-likelihood at the best point: the value with the method minus the accurate value. A cell is empty if the time limit was reached before its value was computed."

func writeTables(out string, list []*result) error {
	return errors.Join(
		shell.WriteCSV(filepath.Join(out, "judged.csv"), header(), rows(list)),
		shell.WriteCSV(filepath.Join(out, "losses.csv"), lossHeader(), lossRows(list)))
}

const leastD, mostD = 1e-6, 1e4

func figure(list []*result) viz.Figure {
	f := viz.Figure{Columns: len(methodNames), Height: 420}
	for k, name := range methodNames {
		panel := viz.Panel{Title: name, X: viz.Axis{Label: "relative tolerance", Log: true, Min: 5e-9, Max: 2e-2}, Y: viz.Axis{Label: "D", Log: true, Min: leastD / 2, Max: 2 * mostD}}
		for _, r := range list {
			if k >= len(r.Methods) || r.Methods[k].unused() {
				continue
			}
			var line viz.Line
			for _, l := range r.Methods[k].Losses {
				if l.Failed == "" {
					line.X, line.Y = append(line.X, l.Tolerance), append(line.Y, min(mostD, max(leastD, l.D)))
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
	h := append([]string{"problem", "states, parameters, data", "log-likelihood", "best found"}, methodNames...)
	return append(h, "CPU s", "why not")
}

func rows(list []*result) (out [][]string) {
	for _, r := range list {
		row := []string{r.Name, "", "", ""}
		if r.States > 0 {
			row[1] = fmt.Sprintf("%d, %d, %d", r.States, r.Parameters, r.Measurements)
		}
		if r.Methods != nil {
			row[2], row[3] = logLikelihood(r.LogLikelihood), logLikelihood(r.Best)
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

func logLikelihood(v float64) string {
	if math.Abs(v) >= 1e6 {
		return fmt.Sprintf("%.5g", v)
	}
	return fmt.Sprintf("%.2f", v)
}

func (b *byMethod) cell() string {
	var s string
	switch {
	case b.Enough > 0:
		s = fmt.Sprintf("%.0e", b.Enough)
	case b.SmallD > 0 && !b.unused():
		s = fmt.Sprintf("%.0e †", b.SmallD)
	default:
		return "–"
	}
	if b.Ends > 0 {
		s += fmt.Sprintf(", %d of %d", b.Elsewhere, b.Ends)
	}
	return s
}

func (r *result) reasons() string {
	var list []string
	if r.Problem != "" {
		list = append(list, r.Problem)
	}
	by := map[string][]string{}
	for _, m := range r.Methods {
		if m.Why != "" {
			why := short(m.Why)
			by[why] = append(by[why], m.Method)
		}
	}
	for _, m := range r.Methods {
		if why := short(m.Why); len(by[why]) > 0 && by[why][0] == m.Method {
			list = append(list, strings.Join(by[why], ", ")+": "+why)
		}
	}
	return strings.Join(list, "; ")
}

func lossHeader() []string {
	h := []string{"problem", "method"}
	for _, tol := range tolerances {
		h = append(h, fmt.Sprintf("%.0e", tol))
	}
	return h
}

func lossRows(list []*result) (out [][]string) {
	for _, r := range list {
		for _, m := range r.Methods {
			if len(m.Losses) == 0 || m.unused() {
				continue
			}
			row := make([]string, 2+len(tolerances))
			row[0], row[1] = r.Name, m.Method
			for i, l := range m.Losses {
				switch {
				case l.Failed != "":
					row[2+i] = "fails"
				case math.Abs(l.Loss) < 5e-4:
					row[2+i] = "0.000"
				case math.Abs(l.Loss) < 100:
					row[2+i] = fmt.Sprintf("%.3f", l.Loss)
				default:
					row[2+i] = fmt.Sprintf("%.3g", l.Loss)
				}
			}
			out = append(out, row)
		}
	}
	return out
}

// short leaves out the problem, the solver, the state and advice.
func short(why string) string {
	for _, end := range []string{": want", ", x = ["} {
		if what, _, cut := strings.Cut(why, end); cut {
			what = what[strings.LastIndex(what, ": ")+1:]
			what, _, _ = strings.Cut(what, " (")
			return strings.TrimSpace(what)
		}
	}
	return why
}

package main

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"html"
	"math"
	"strings"

	"github.com/probode/probode/internal/shell"
	"github.com/probode/probode/pkg/viz"
	"github.com/probode/probode/reproduce/internal/page"
)

// writeTable writes a row for each problem, method and tolerance.
func writeTable(name string, list []*result) error {
	var b bytes.Buffer
	w := csv.NewWriter(&b) // to memory, where writing cannot fail
	w.Write(strings.Split("problem,method,rtol,log_likelihood,best,loss,D,enough,elsewhere,ends,why", ","))
	for _, r := range list {
		if r.Problem != "" {
			w.Write([]string{r.Name, "", "", "", "", "", "", "", "", "", r.Problem})
		}
		for _, m := range r.Methods {
			for _, l := range m.Losses {
				row := []string{r.Name, m.Method, fmt.Sprint(l.Tolerance), fmt.Sprintf("%.8g", r.LogLikelihood), fmt.Sprintf("%.8g", r.Best), "", "",
					fmt.Sprint(m.Enough), fmt.Sprint(m.Elsewhere), fmt.Sprint(m.Ends), l.Failed}
				if l.Failed == "" {
					row[5], row[6], row[10] = fmt.Sprintf("%.3g", l.Loss), fmt.Sprintf("%.3g", l.D), m.Why
				}
				w.Write(row)
			}
		}
	}
	w.Flush()
	return shell.WriteFile(name, b.Bytes())
}

// writePage writes the page: a figure of D by tolerance, and a table of the problems.
func writePage(name string, list []*result) error {
	var p page.Page
	p.WriteString("<!doctype html>\n<html lang=\"en\"><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>A collection, judged</title>\n<style>\n" + page.Style + "</style>\n")
	p.WriteString("<h1>Which tolerance is enough for a published model?</h1>\n")
	p.Text("Each line of the figure is a problem. D is the difference between the predictions of the data with this tolerance and those of an accurate solution, in units of the noise, at the best parameters that are known. To first order no parameter moves by more than D standard deviations, or √2 D if the noise is estimated. Where D is below the dashed line, no parameter moves by a tenth of its standard deviation.")
	if err := p.Figure(figure(list), "A line ends where the solver fails or time runs out. Values below 10⁻⁶ are drawn at 10⁻⁶."); err != nil {
		return err
	}
	p.Text("The table says for each method which relative tolerance is enough for every parameter, by a certificate at the best point. In brackets: at how many other ends of searches, with a log-likelihood within %d of the best one, D is below %g with that tolerance. The absolute tolerances are proportional to the size of each component.", near, threshold)
	header := []string{"problem", "states", "parameters", "data", "log-likelihood", "best found"}
	header = append(header, methodNames...)
	p.Table(`class="scroll"`, append(header, "s", ""), rows(list))
	return shell.WriteFile(name, []byte(p.String()))
}

// figure draws D against the tolerance, with a panel for each method.
func figure(list []*result) viz.Figure {
	f := viz.Figure{Columns: len(methodNames), Height: 420}
	for k, name := range methodNames {
		panel := viz.Panel{Title: name, X: viz.Axis{Label: "relative tolerance", Log: true}, Y: viz.Axis{Label: "D", Log: true}}
		for _, r := range list {
			if k >= len(r.Methods) {
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
		panel.Layers = append(panel.Layers, viz.Guide{At: threshold, Horizontal: true, Dash: viz.Dashed})
		f.Panels = append(f.Panels, panel)
	}
	return f
}

// rows returns the rows of the table on the page.
func rows(list []*result) (out [][]string) {
	number := func(v float64) string {
		if math.Abs(v) >= 1e6 {
			return fmt.Sprintf("%.4g", v)
		}
		return fmt.Sprintf("%.3f", v)
	}
	for _, r := range list {
		row := []string{html.EscapeString(r.Name), fmt.Sprint(r.States), fmt.Sprint(r.Parameters), fmt.Sprint(r.Measurements), number(r.LogLikelihood), number(r.Best)}
		why := r.Problem
		for k := range methodNames {
			switch {
			case k >= len(r.Methods):
				row = append(row, "")
			case r.Methods[k].Enough == 0:
				row = append(row, "–")
				if why != "" {
					why += "; "
				}
				why += methodNames[k] + ": " + r.Methods[k].Why
			default:
				m := &r.Methods[k]
				row = append(row, fmt.Sprintf("%.0e (%d/%d)", m.Enough, m.Elsewhere, m.Ends))
			}
		}
		out = append(out, append(row, fmt.Sprintf("%.0f", r.Seconds), html.EscapeString(why)))
	}
	return out
}

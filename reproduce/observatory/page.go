package main

import (
	"bytes"
	_ "embed"
	"fmt"
	"image/color"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"text/template"

	"github.com/probode/probode/internal/shell"
	"github.com/probode/probode/pkg/viz"
	"github.com/probode/probode/reproduce/internal/page"
)

// The functions in this file make the page, a single HTML file with tables and figures of
// the results. Its text is in page.html. On the page, a script ranks the methods and
// draws diagrams for problems of the kind that the reader selects. The script uses the
// same tables that can be downloaded from the page.

//go:embed page.html
var pageText string

//go:embed chooser.js
var chooserScript string

func mark(ok bool) string {
	if ok {
		return "+"
	}
	return "!"
}

func within(v, lo, hi float64, format string) string {
	return mark(v >= lo && v <= hi) + fmt.Sprintf(format, v)
}

func percent(v float64) string { return fmt.Sprintf("%.0f %%", 100*v) }

func short(v float64) string {
	if math.IsNaN(v) {
		return "–"
	}
	return fmt.Sprintf("%.3g", v)
}

func (o *observatory) writePage(rows []row, answers []answer) error {
	briefs := summary(rows)
	small := encode(briefs, 4)
	if err := shell.WriteFile(filepath.Join(o.out, "summary.csv"), small); err != nil {
		return err
	}
	var standings []standing
	judged := 0.
	for _, r := range o.rules {
		if s := stand(rows, r.name); s.cells > 0 {
			standings = append(standings, s)
			judged += s.cells
		}
	}
	inert := strings.NewReplacer("</", `<\/`) // inside of a script element
	data := map[string]any{
		"Style": page.Style, "Script": inert.Replace(chooserScript), "Kinds": kinds, "Recommended": recommended,
		"Problems": len(o.subjects), "Methods": len(o.entrants), "Cells": len(briefs), "Judged": judged, "Others": o.others, "Times": observed, "Solver": solver, "Filter": rodeoFilter, "Fineness": fineness,
		"Rules": rulesTable(standings), "Unreached": unreached(rows), "All": cellsTable(rows),
		"Files": map[string]string{"cells.csv": inert.Replace(string(encode(rows, 6))), "summary.csv": inert.Replace(string(small)),
			"answers.csv": inert.Replace(string(encode(answers, 6)))},
	}
	var err error
	if data["Honesty"], err = honesty(standings); err != nil {
		return err
	}
	if data["Answers"], err = o.answersPart(answers); err != nil {
		return err
	}
	var b bytes.Buffer
	if err := template.Must(template.New("page").Parse(pageText)).Execute(&b, data); err != nil {
		return err
	}
	return shell.WriteFile(filepath.Join(o.out, "observatory.html"), b.Bytes())
}

func rulesTable(standings []standing) string {
	var lines [][]string
	for _, s := range standings {
		lines = append(lines, []string{s.rule, fmt.Sprint(s.cells), fmt.Sprint(s.failed), within(s.geometric, .8, 1.25, "%.2f"), within(s.arithmetic, .8, 1.25, "%.3g"), within(median(s.squares), .8, 1.25, "%.2f"),
			within(100*s.within[0], 60, 80, "%.0f %%"), within(100*s.within[1], 93, 98.5, "%.0f %%"),
			percent(s.coverage[0]), percent(s.coverage[2]),
			within(100*s.near, 95, 100, "%.0f %%"), within(100*s.nearEach, 95, 100, "%.0f %%"), fmt.Sprintf("%.1f %%", 100*s.wide), fmt.Sprintf("%.2f", s.crps), percent(s.se), fmt.Sprintf("%.2g", s.drift)})
	}
	var p page.Page
	p.Table(`class="scroll" id="rules-table"`, []string{"rule", "cells", "fails", "mean square", "arith.", "median", "within 1 sd", "2 sd", "cover 50 %", "90 %", "factor 3", "by component", "too wide", "CRPS", "± of α*", "drift of α*"}, lines)
	return p.String()
}

// honesty has a curve for each rule: coverage on the left, and on the right the root mean
// square of standardised errors by cell, in increasing order.
func honesty(standings []standing) (string, error) {
	coverage := viz.Panel{Title: "coverage, all cells", X: viz.Axis{Label: "stated", Min: 0.4, Max: 1}, Y: viz.Axis{Label: "observed at other parameters", Min: 0.2, Max: 1}}
	square := viz.Panel{Title: "standardised error, sorted", X: viz.Axis{Label: "share of cells", Min: 0, Max: 1}, Y: viz.Axis{Label: "root mean square (1 is honest)", Log: true, Min: 0.03, Max: 40}}
	var lines, sorted []viz.Line
	for _, s := range standings {
		line := viz.Line{Name: s.rule}
		if s.rule == recommended {
			line.Color, line.Width = color.Black, 3
		}
		roots := line
		for i, v := range s.squares {
			roots.X, roots.Y = append(roots.X, (float64(i)+.5)/s.cells), append(roots.Y, math.Sqrt(v))
		}
		line.X, line.Y = levels, s.coverage[:]
		lines, sorted = append(lines, line), append(sorted, roots)
	}
	coverage.Layers = append([]viz.Layer{viz.Line{X: []float64{.4, 1}, Y: []float64{.4, 1}, Color: viz.Grey, Dash: viz.Dotted, Label: "honest"}}, viz.Curves(coverage.X, coverage.Y, nil, lines...).Layers...)
	square.Layers = append([]viz.Layer{viz.Band{X: []float64{0, 1}, Lo: []float64{1. / 3, 1. / 3}, Hi: []float64{3, 3}, Color: viz.Grey}, viz.Guide{At: 1, Horizontal: true, Color: viz.Grey}}, viz.Curves(square.X, square.Y, nil, sorted...).Layers...)
	var p page.Page
	p.Figure(viz.Figure{Columns: 2, Height: 470, Panels: []viz.Panel{coverage, square}},
		"Left: how often the truth was inside the central interval of the paths. Right: the root mean square of the standardised errors in each cell, in increasing order. If the spread matched the error in every cell, the curve would be flat at 1. Above the grey band the spread is too small by a factor of more than three; below the band it is too large by a factor of more than three.")
	return p.String(), p.Err
}

func unreached(rows []row) string {
	var reasons []string
	cells := map[string][]string{}
	for i := range rows {
		r := &rows[i]
		why := ""
		switch {
		case r.Rule == "none" && r.Status != "ok":
			why = "the classical method diverges, is unstable or needs too many steps (block and interrogation are limited to 2000), or Newton's method does not converge"
		case r.Rule != shown(r.Method):
		case strings.Contains(r.Status, "cut off"), strings.Contains(r.Status, "no alpha"), strings.Contains(r.Status, "no optimum"):
			why = "some paths cannot be computed if the noise is as large as the error, so calibrate.Run returns an error or warns that α* is only a lower bound"
		case strings.Contains(r.Status, "too small to be compared"):
			why = "the error is no larger than the rounding error or the error of the accurate solution"
		case r.Status != "ok":
			why = r.Status
		case r.Square > 9:
			why = "at other parameter values, the calibrated spread is too small by a factor of more than three"
		case r.Square < 1./9:
			why = "at other parameter values, the calibrated spread is too large by a factor of more than three"
		}
		if why != "" {
			if cells[why] == nil {
				reasons = append(reasons, why)
			}
			cells[why] = append(cells[why], r.cell())
		}
	}
	var lines [][]string
	for _, why := range reasons {
		which, n := cells[why], len(cells[why])
		if n > 6 {
			which = append(slices.Clip(which[:6]), "…")
		}
		lines = append(lines, []string{fmt.Sprint(n), why, strings.Join(which, "; ")})
	}
	var p page.Page
	p.Table(`class="scroll" id="unreached"`, []string{"cells", "reason", "which"}, lines)
	return p.String()
}

// answersPart is empty without answers.
func (o *observatory) answersPart(answers []answer) (string, error) {
	if len(answers) == 0 {
		return "", nil
	}
	f := viz.Figure{Title: "largest bias of a parameter against the time for 1000 effective draws", Columns: 2}
	for _, q := range o.questions {
		if !slices.ContainsFunc(answers, func(a answer) bool { return a.Question == q.name && a.Status == "ok" }) {
			continue // not measured yet
		}
		var curves []viz.Line
		for _, r := range o.remedies {
			l := viz.Line{Name: r.name}
			for _, a := range answers {
				if a.Question == q.name && a.Remedy == r.name && a.Status == "ok" {
					l.X, l.Y = append(l.X, a.Seconds), append(l.Y, max(1e-3, math.Abs(a.Bias)))
				}
			}
			curves = append(curves, l)
		}
		panel := viz.Curves(viz.Axis{Label: "seconds for 1000 effective draws", Log: true}, viz.Axis{Label: "|bias|, in sd", Log: true}, nil, curves...)
		panel.Title = q.name
		f.Panels = append(f.Panels, panel)
	}
	var lines [][]string
	for i := range answers {
		lines = append(lines, answers[i].cells())
	}
	var p page.Page
	if f.Panels != nil {
		p.Figure(f, "")
	}
	p.Table(`class="scroll tall" id="answers"`, []string{"posterior", "step", "remedy", "bias", "of", "widths", "solves a draw", "s/1000 effective", ""}, lines)
	return p.String(), p.Err
}

func cellsTable(rows []row) string {
	var lines [][]string
	for i := range rows {
		r := &rows[i]
		if r.Rule != shown(r.Method) && (r.Rule != "none" || r.Status == "ok") {
			continue
		}
		line := []string{r.Problem, r.Method, r.Size, short(r.Error), fmt.Sprint(r.Evaluations), fmt.Sprint(r.Jacobians), short(1e3 * r.Seconds), short(r.Alpha)}
		if r.Status != "ok" {
			line = append(line, "", "", "", "", "", r.Status)
		} else {
			line = append(line, short(r.SE/r.Alpha)+", "+short(r.SETime/r.Alpha), fmt.Sprintf("%.3g (%.2g–%.2g)", r.Square, r.Band[0], r.Band[1]), percent(r.Within[0]), percent(r.Within[1]), short(r.CRPS/r.Plain), "")
		}
		lines = append(lines, line)
	}
	var p page.Page
	p.Table(`class="scroll tall" id="cells"`, []string{"problem", "method", "step", "error", "f", "J", "ms", "α", "± rel.", "mean square (band)", "1 sd", "2 sd", "CRPS", ""}, lines)
	return p.String()
}

func (a *answer) cells() []string {
	line := []string{a.Question, fmt.Sprintf("%.4g", a.Step), a.Remedy}
	if a.Status != "ok" {
		return append(line, "", "", "", "", "", a.Status)
	}
	var notes []string
	if a.KHat >= 0.7 {
		notes = append(notes, fmt.Sprintf("k̂ %.2f: the weights cannot be trusted", a.KHat))
	}
	if a.RHat > 1.05 {
		notes = append(notes, fmt.Sprintf("R̂ %.2f", a.RHat))
	}
	return append(line, mark(math.Abs(a.Bias) < 0.1)+fmt.Sprintf("%+.2f ± %.2f", a.Bias, a.BiasSE), a.Parameter,
		mark(a.Ratio[0] > 0.9 && a.Ratio[1] < 1.1)+fmt.Sprintf("%.2f–%.2f", a.Ratio[0], a.Ratio[1]),
		fmt.Sprintf("%.3g", a.Solves), fmt.Sprintf("%.3g", a.Seconds), strings.Join(notes, "; "))
}

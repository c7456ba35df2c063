package main

import (
	"fmt"
	"image/color"
	"math"
	"slices"
	"strings"

	"github.com/probode/probode/pkg/viz"
	"github.com/probode/probode/reproduce/internal/page"
	"github.com/probode/probode/reproduce/internal/shell"
)

// The page with tables and figures of the rows, in a single file.

// recommended is the rule with which the page shows the errors of methods.
const recommended = "log, local"

const head = `<!DOCTYPE html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Which solver, and how far to trust its spread</title>
<style>
` + page.Style + `.tall { max-height: 36rem; }
td:first-child, #cells td:nth-child(3) { white-space: nowrap; }
input { font: inherit; padding: .2rem .5rem; width: 24rem; max-width: 90%; }
#ask { display: flex; flex-wrap: wrap; gap: .6rem 1.2rem; background: #f3f5f7; padding: .8rem 1rem; border-radius: 6px; }
#ask select { font: inherit; padding: .15rem .3rem; max-width: 100%; }
#answer { font-size: 1.1rem; border-left: 4px solid #0072b2; padding-left: .8rem; }
.small { font-size: 14px; color: #555; }
.panels { display: grid; grid-template-columns: repeat(auto-fill, minmax(320px, 1fr)); gap: .8rem; }
.panel svg { width: 100%; height: auto; display: block; overflow: visible; }
.panel .title { font: 600 13px system-ui, sans-serif; } .panel .axis { font: 11px system-ui, sans-serif; fill: #444; }
.panel .grid { stroke: #e6e6e6; } .panel .rule { stroke: #888; stroke-dasharray: 3 3; }
.panel circle { cursor: pointer; outline: none; } .panel circle:hover, .panel circle:focus { stroke: #000; stroke-width: 1.5; }
.legend { display: flex; flex-wrap: wrap; gap: .3rem; margin: .4rem 0 .8rem; }
.key { font: 14px system-ui, sans-serif; background: #fff; color: #222; border: 1px solid #ccc; border-radius: 4px; padding: .1rem .5rem; cursor: pointer; }
.key[aria-pressed="false"] { opacity: .35; } .key:disabled { cursor: default; } .key span { display: inline-block; width: .8em; height: .8em; border-radius: 50%; margin-right: .4em; }
#tip { display: none; position: absolute; z-index: 2; max-width: 20rem; background: #222; color: #fff; font-size: 13px; line-height: 1.35; padding: .3rem .6rem; border-radius: 4px; pointer-events: none; }
</style>
`

// within marks v as good if it is in [lo, hi].
func within(v, lo, hi float64, format string) string {
	mark := "!"
	if v >= lo && v <= hi {
		mark = "+"
	}
	return mark + fmt.Sprintf(format, v)
}

func percent(v float64) string { return fmt.Sprintf("%.0f %%", 100*v) }

func (o *observatory) writePage(path string, rows []row, answers []answer) error {
	var p page.Page
	p.WriteString(head)
	p.WriteString("<h1>Which solver, and how far to trust its spread</h1>\n")
	cells, judged := 0, 0
	var problems, methods []string
	for i := range rows {
		r := &rows[i]
		if r.rule == "none" {
			cells++
		} else if r.judged() {
			judged++
		}
		if !slices.Contains(problems, r.problem) {
			problems = append(problems, r.problem)
		}
		if !slices.Contains(methods, r.method) {
			methods = append(methods, r.method)
		}
	}
	p.Text("%d problems, %d methods, three step sizes or tolerances each: %d cells. In each cell every rule chose a noise scale at the problem's own parameters, without an accurate solution. It was judged at %d other parameter values (log-normal around them, sd 10 %%) with other random numbers, against accurate solutions at up to %d times: %d judgements. All cells have the same weight.",
		len(problems), len(methods), cells, o.others, observed, judged)
	if err := o.chooser(&p, rows, answers); err != nil {
		return err
	}
	o.advice(&p, rows)
	if err := o.calibrationPart(&p, rows); err != nil {
		return err
	}
	if err := o.answerPart(&p, answers); err != nil {
		return err
	}
	if err := o.allPart(&p, rows, answers); err != nil {
		return err
	}
	fmt.Fprintf(&p, "<script>\n%s</script>\n", strings.ReplaceAll(chooserScript, "</", `<\/`)) // at the end, because it uses everything before it
	p.WriteString("</html>\n")
	return shell.WriteFile(path, []byte(p.String()))
}

// advice writes a table of methods, which needs no script.
func (o *observatory) advice(p *page.Page, rows []row) {
	p.WriteString("<h3>The same as a table, by kind of problem</h3>\n")
	p.Text("Find the kind of your problem and the relative error that you can accept. Methods are sorted by the number of problems on which they reach this error with one of the steps that were tried, and then by time; ×2 means twice the time of the fastest one. The last number is the mean squared standardised error with the rule “%s”: 1 is honest, and with 4 the stated standard deviation is half of what it should be.", recommended)
	var table [][]string
	for _, kind := range kinds {
		for _, target := range []float64{1e-1, 1e-2, 1e-4} {
			line := []string{kind, fmt.Sprintf("%.0e", target)}
			if target == 1e-1 {
				line[1] = "0.1"
			} else if target == 1e-2 {
				line[1] = "0.01"
			} else {
				line[1] = "0.0001"
			}
			best := choices(rows, kind, target, recommended)
			if len(best) == 0 {
				continue
			}
			for i := range min(4, len(best)) {
				c := best[i]
				line = append(line, fmt.Sprintf("%s (%d of %d, ×%.2g; %.2g)", c.method, c.reached, c.of, c.slower, c.square))
			}
			table = append(table, line)
		}
	}
	p.Table(`class="scroll" id="advice"`, []string{"kind of problem", "error", "first", "second", "third", "fourth"}, table)
}

// calibrationPart compares the rules.
func (o *observatory) calibrationPart(p *page.Page, rows []row) error {
	p.WriteString("<h2>Is the stated spread the size of the error?</h2>\n")
	p.Text("<i>paper</i> is the Bhattacharyya score of the paper with the noise of the method. <i>log</i> is the logarithmic score, which makes the mean squared standardised error 1 at the parameters of the calibration. <i>local</i> scales the noise of each step and component with its local error, by the same factor in all steps. Marked: a mean square in [0.8, 1.25], 60 to 80 %% within one and 93 to 98.5 %% within two standard deviations, and 95 %% of the cells, or of their components, with a root mean square within a factor of 3. The mean square is given as geometric mean, arithmetic mean and median over cells; a cell counts as at least 1/1000 and at most 1000.")
	for _, common := range []bool{true, false} {
		title := "Cells in which every rule has a verdict:"
		if !common {
			title = "All cells of each rule; “fails” counts cells in which paths could not be solved or the method is exact:"
		}
		p.Text("%s", title)
		var table [][]string
		for _, s := range standings(rows, o.names(), common) {
			if s.cells == 0 {
				continue
			}
			table = append(table, []string{s.rule, fmt.Sprint(s.cells), fmt.Sprint(s.failed), within(s.geometric, .8, 1.25, "%.2f"), within(s.arithmetic, .8, 1.25, "%.3g"), within(s.median, .8, 1.25, "%.2f"),
				within(100*s.within[0], 60, 80, "%.0f %%"), within(100*s.within[1], 93, 98.5, "%.0f %%"),
				percent(s.coverage[0]), percent(s.coverage[2]),
				within(100*s.near, 95, 100, "%.0f %%"), within(100*s.nearEach, 95, 100, "%.0f %%"), fmt.Sprintf("%.1f %%", 100*s.wide), fmt.Sprintf("%.2f", s.crps), fmt.Sprintf("%.2f", s.energy), percent(s.se), fmt.Sprintf("%.2g", s.drift)})
		}
		p.Table(fmt.Sprintf(`class="scroll" id="rules%t"`, common), []string{"rule", "cells", "fails", "mean square", "arith.", "median", "within 1 sd", "2 sd", "cover 50 %", "90 %", "factor 3", "by component", "too wide", "CRPS", "energy score", "± of α*", "drift of α*"}, table)
	}
	p.Text("CRPS and energy score are divided by those of the classical solution, so the spread is useful if they are below 1. They are medians over cells, because a single path that diverges spoils the score of an ensemble. Too wide: points with a standard deviation above ten times the largest error within a tenth of the span. ± of α*: relative standard error over paths and over time. Drift of α*: the largest divided by the smallest over the three sizes of a method on a problem. Both are medians.")
	o.unreached(p, rows)
	f := viz.Figure{Columns: 2, Height: 470}
	coverage := viz.Panel{Title: "coverage, all cells", X: viz.Axis{Label: "stated", Min: 0.4, Max: 1}, Y: viz.Axis{Label: "observed at other parameters", Min: 0.2, Max: 1}}
	var lines []viz.Line
	for _, s := range standings(rows, o.names(), false) {
		if s.cells > 0 {
			lines = append(lines, emphasised(viz.Line{Name: s.rule, X: levels, Y: s.coverage[:]}))
		}
	}
	coverage.Layers = append([]viz.Layer{viz.Line{X: []float64{.4, 1}, Y: []float64{.4, 1}, Color: viz.Grey, Dash: viz.Dotted, Label: "honest"}}, viz.Curves(coverage.X, coverage.Y, nil, lines...).Layers...)
	square := viz.Panel{Title: "root mean squared standardised error, sorted over cells", X: viz.Axis{Label: "share of cells", Min: 0, Max: 1}, Y: viz.Axis{Label: "root mean square (1 is honest)", Log: true, Min: 0.03, Max: 300}}
	var sorted []viz.Line
	for _, name := range o.names() {
		var v []float64
		for _, r := range rows {
			if r.rule == name && r.judged() {
				v = append(v, math.Sqrt(min(max(r.meanSquare, 1e-3), 9e4)))
			}
		}
		if len(v) == 0 {
			continue
		}
		slices.Sort(v)
		l := emphasised(viz.Line{Name: name, Y: v})
		for i := range v {
			l.X = append(l.X, (float64(i)+.5)/float64(len(v)))
		}
		sorted = append(sorted, l)
	}
	square.Layers = append([]viz.Layer{viz.Band{X: []float64{0, 1}, Lo: []float64{1. / 3, 1. / 3}, Hi: []float64{3, 3}, Color: viz.Grey}, viz.Guide{At: 1, Horizontal: true, Color: viz.Grey}}, viz.Curves(square.X, square.Y, nil, sorted...).Layers...)
	f.Panels = []viz.Panel{coverage, square}
	return p.Figure(f, "Left: how often the truth was inside the central interval of the paths. Right: a flat curve at 1 would be honest everywhere. Above the grey band a spread is more than three times too small, below it more than three times too large.")
}

// emphasised highlights the curve of the recommended rule.
func emphasised(l viz.Line) viz.Line {
	if l.Name == recommended {
		l.Color, l.Width = color.Black, 3
	}
	return l
}

// unreached lists the cells in which the recommended rule has no verdict or a bad one, and
// the reason.
func (o *observatory) unreached(p *page.Page, rows []row) {
	p.Text("Where the rule “%s” gives no honest spread:", recommended)
	type group struct {
		why   string
		cells []string
	}
	var groups []group
	add := func(why string, r *row) {
		i := slices.IndexFunc(groups, func(g group) bool { return g.why == why })
		if i < 0 {
			i = len(groups)
			groups = append(groups, group{why: why})
		}
		groups[i].cells = append(groups[i].cells, fmt.Sprintf("%s %s %s", r.problem, r.method, r.size))
	}
	for i := range rows {
		r := &rows[i]
		switch {
		case r.rule == "none" && r.status != "ok":
			add("the classical method diverges, is unstable, or Newton's method does not converge", r)
		case r.rule != recommended:
		case strings.Contains(r.status, "cut off"), strings.Contains(r.status, "no alpha"), strings.Contains(r.status, "no optimum"):
			add("with noise as large as the error some paths cannot be solved, so α* is a lower bound: calibrate.Run warns", r)
		case strings.Contains(r.status, "large enough"):
			add("the error is not larger than rounding, or than the error of the accurate solution", r)
		case r.status != "ok":
			add(r.status, r)
		case r.meanSquare > 9:
			add("the calibrated spread is more than three times too small at other parameters", r)
		case r.meanSquare < 1./9:
			add("the calibrated spread is more than three times too large at other parameters", r)
		}
	}
	var lines [][]string
	for _, g := range groups {
		n := len(g.cells)
		if len(g.cells) > 6 {
			g.cells = append(g.cells[:6], "…")
		}
		lines = append(lines, []string{fmt.Sprint(n), g.why, strings.Join(g.cells, "; ")})
	}
	p.Table(`class="scroll" id="unreached"`, []string{"cells", "reason", "which"}, lines)
}

// allPart writes the rows of the recommended rule with a filter, and all rows as files.
func (o *observatory) allPart(p *page.Page, rows []row, answers []answer) error {
	p.WriteString("<h2>All cells</h2>\n<p><input id=\"filter\" placeholder=\"filter: words of problem, method, step\" aria-label=\"filter\"> All rules, as files: <a data-csv=\"cells-csv\" download=\"cells.csv\">cells.csv</a>, <a data-csv=\"answers-csv\" download=\"answers.csv\">answers.csv</a>.</p>\n")
	p.Text("The verdicts are for the rule “%s”. f and J: evaluations in one solve. ± rel.: relative standard errors of α* over paths and over time.", recommended)
	var lines [][]string
	g := func(v float64) string {
		if math.IsNaN(v) {
			return "–"
		}
		return fmt.Sprintf("%.3g", v)
	}
	for i := range rows {
		r := &rows[i]
		if r.rule != recommended && (r.rule != "none" || r.status == "ok") {
			continue
		}
		line := []string{r.problem, r.method, r.size, g(r.error), fmt.Sprint(r.evaluations), fmt.Sprint(r.jacobians), g(1e3 * r.seconds), g(r.alpha)}
		if r.status != "ok" {
			line = append(line, "", "", "", "", "", r.status)
		} else {
			line = append(line, g(r.se/r.alpha)+", "+g(r.seTime/r.alpha), fmt.Sprintf("%.3g (%.2g–%.2g)", r.meanSquare, r.lo, r.hi), percent(r.within[0]), percent(r.within[1]), g(r.crps/r.plain), "")
		}
		lines = append(lines, line)
	}
	p.Table(`class="scroll tall" id="cells"`, []string{"problem", "method", "step", "error", "f", "J", "ms", "α", "± rel.", "mean square (band)", "1 sd", "2 sd", "CRPS", ""}, lines)
	cells, err := table(rows)
	if err != nil {
		return err
	}
	remedied, err := table(answers)
	if err != nil {
		return err
	}
	for i, text := range [][]byte{cells, remedied} {
		fmt.Fprintf(p, "<script type=\"text/csv\" id=%q>%s</script>\n", []string{"cells-csv", "answers-csv"}[i], strings.ReplaceAll(string(text), "</", `<\/`))
	}
	return nil
}

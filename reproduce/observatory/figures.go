package main

import (
	"fmt"
	"image/color"
	"math"

	"github.com/probode/probode/pkg/viz"
)

var grey = color.NRGBA{0x99, 0x99, 0x99, 0xff}

// workPart draws error against time, problem by problem.
func (o *observatory) workPart(p *page, rows []row) error {
	p.WriteString("<h2>What does accuracy cost?</h2>\n")
	p.text("The error of the classical solution, root mean square over %d times and the components, relative to the size of each component, against the time of a solve. Times are those of a shared machine and good to some tens of per cent; evaluations of f and of its Jacobian, each of which an implicit step follows by a factorisation, are in the table below.", observed)
	for _, kind := range kinds {
		f := viz.Figure{Title: kind, Columns: 2}
		seen := map[string]bool{}
		for _, r := range rows {
			if r.kind != kind || seen[r.problem] {
				continue
			}
			seen[r.problem] = true
			var lines []viz.Line
			for _, e := range o.entrants {
				l := viz.Line{Name: e.name}
				for _, c := range rows {
					if c.problem == r.problem && c.method == e.name && c.rule == "none" && c.status == "ok" && c.error > 0 {
						l.X, l.Y = append(l.X, 1e3*c.seconds), append(l.Y, c.error)
					}
				}
				lines = append(lines, l)
			}
			panel := viz.Curves(viz.Axis{Label: "time of a solve, ms", Log: true}, viz.Axis{Label: "relative error", Log: true}, nil, lines...)
			panel.Title = r.problem
			f.Panels = append(f.Panels, panel)
		}
		if len(f.Panels) == 0 {
			continue
		}
		if err := p.figure(f, ""); err != nil {
			return err
		}
	}
	return nil
}

// answerPart says what solvers do to posteriors.
func (o *observatory) answerPart(p *page, answers []answer) error {
	if len(answers) == 0 {
		return nil
	}
	p.WriteString("<h2>What does the solver do to my posterior?</h2>\n")
	p.text("Posteriors of simulated data, solved by %v with three steps, against the one of RK4 with steps %d times smaller than the coarsest. Bias is that of the worst parameter, in accurate standard deviations; widths are ratios of standard deviations, the least and the largest of all parameters; total variation is that of the marginals over %d bins, in brackets that of equal distributions from as many draws. Marked: bias below 0.1, widths within 10 %%.", solver, fineness, bins)
	f := viz.Figure{Title: "largest bias of a parameter against the time of 1000 effective draws", Columns: 2}
	var lines [][]string
	for i := range o.questions {
		name := o.questions[i].name
		var curves []viz.Line
		for _, r := range o.remedies {
			l := viz.Line{Name: r.name}
			for _, a := range answers {
				if a.question == name && a.remedy == r.name && a.status == "ok" {
					l.X, l.Y = append(l.X, a.seconds), append(l.Y, max(1e-3, math.Abs(a.bias)))
				}
			}
			curves = append(curves, l)
		}
		panel := viz.Curves(viz.Axis{Label: "seconds for 1000 effective draws", Log: true}, viz.Axis{Label: "|bias|, in sd", Log: true}, nil, curves...)
		panel.Title = name
		f.Panels = append(f.Panels, panel)
	}
	for _, a := range answers {
		line := []string{a.question, fmt.Sprintf("%.4g", a.step), a.remedy}
		if a.status != "ok" {
			lines = append(lines, append(line, "", "", "", "", "", "", a.status))
			continue
		}
		mark := func(ok bool) string {
			if ok {
				return "+"
			}
			return "!"
		}
		note := ""
		if a.khat >= 0.7 {
			note = fmt.Sprintf("k̂ %.2f: weights not to be trusted", a.khat)
		} else if a.rhat > 1.05 {
			note = fmt.Sprintf("R̂ %.2f", a.rhat)
		}
		lines = append(lines, append(line, mark(math.Abs(a.bias) < 0.1)+fmt.Sprintf("%+.2f ± %.2f", a.bias, a.biasSE), a.parameter,
			mark(a.narrowest > 0.9 && a.widest < 1.1)+fmt.Sprintf("%.2f–%.2f", a.narrowest, a.widest), fmt.Sprintf("%.2f (%.2f)", a.variation, a.floor),
			fmt.Sprintf("%.3g", a.solves), fmt.Sprintf("%.3g", a.seconds), note))
	}
	if err := p.figure(f, ""); err != nil {
		return err
	}
	p.table("tall", "answers", []string{"posterior", "step", "remedy", "bias", "of", "widths", "total variation", "solves a draw", "s/1000 effective", ""}, lines)
	return nil
}

package main

import (
	"fmt"
	"math"

	"github.com/probode/probode/pkg/viz"
	"github.com/probode/probode/reproduce/internal/page"
)

// answerPart shows what solvers do to posteriors.
func (o *observatory) answerPart(p *page.Page, answers []answer) error {
	if len(answers) == 0 {
		return nil
	}
	p.WriteString("<h2>What does the solver do to my posterior?</h2>\n")
	p.Text("Posteriors of simulated data, solved by %v with three step sizes, compared with RK4 and steps %d times smaller than the coarsest. Bias: of the worst parameter, in accurate standard deviations. Widths: the smallest and the largest ratio of standard deviations over all parameters. Total variation: of the marginals over %d bins, in brackets for equal distributions with as many draws. Marked: bias below 0.1, widths within 10 %%.", solver, fineness, bins)
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
			note = fmt.Sprintf("k̂ %.2f: the weights cannot be trusted", a.khat)
		} else if a.rhat > 1.05 {
			note = fmt.Sprintf("R̂ %.2f", a.rhat)
		}
		lines = append(lines, append(line, mark(math.Abs(a.bias) < 0.1)+fmt.Sprintf("%+.2f ± %.2f", a.bias, a.biasSE), a.parameter,
			mark(a.narrowest > 0.9 && a.widest < 1.1)+fmt.Sprintf("%.2f–%.2f", a.narrowest, a.widest), fmt.Sprintf("%.2f (%.2f)", a.variation, a.floor),
			fmt.Sprintf("%.3g", a.solves), fmt.Sprintf("%.3g", a.seconds), note))
	}
	if err := p.Figure(f, ""); err != nil {
		return err
	}
	p.Table(`class="scroll tall" id="answers"`, []string{"posterior", "step", "remedy", "bias", "of", "widths", "total variation", "solves a draw", "s/1000 effective", ""}, lines)
	return nil
}

package main

import (
	"image/color"

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

package main

import (
	"context"
	"fmt"
	"math"
	"strings"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/calibrate"
	"github.com/probode/probode/pkg/probode/problems"
	"github.com/probode/probode/pkg/probode/reference"
	"github.com/probode/probode/pkg/viz/plots"
)

// paths is the mean and sd of paths of protein activation and FitzHugh–Nagumo, with their
// own α*: figures that the source of the paper has commented out.
var paths = experiment{
	name: "paths", title: "Path plots of two problems", tables: []string{"paths"},
	compute: computePaths, section: pathsSection,
}

func computePaths(ctx context.Context, s *study) error {
	t := &table{name: "paths", header: []string{"problem", "h", "alpha", "t", "component", "mean", "sd", "deterministic", "reference"}}
	for _, c := range []struct {
		p *probode.Problem
		h float64
	}{{problems.ProteinActivation(), 1}, {fhn(), 0.1}} {
		cal, err := calibrate.Run(ctx, c.p, backwardEuler, calibrate.Settings{
			Criterion: calibrate.Bhattacharyya, Indicator: reference.TrueError(reference.Settings{}),
			StepSize: c.h, Seed: s.seed, Paths: s.paths(1000, 200), Workers: s.workers})
		if err != nil {
			return err
		}
		e, err := probode.Integrate(ctx, c.p, backwardEuler, s.paths(100, 100), probode.Settings{
			StepSize: c.h, Alpha: cal.Alpha, Seed: s.seed, Workers: s.workers})
		if err != nil {
			return err
		}
		ref, err := accurate(ctx, c.p, e.T)
		if err != nil {
			return err
		}
		addEnsemble(t, e, ref, c.p.Name, c.h, cal.Alpha)
	}
	return s.save(t)
}

func pathsSection(s *study, sec *section, tables []*table) {
	t := tables[0]
	sec.Text(`Probabilistic backward Euler on the protein activation model of Vyshemirsky & Girolami (2008) and on FitzHugh–Nagumo, 100 paths each, α at its maximising value α*.
In the LaTeX source of the paper, this figure is commented out.`)
	for _, name := range t.distinct("problem") {
		g := t.where(name)
		e, ref := ensembleOf(g)
		f := plots.Bands(e, ref)
		f.Columns = 2
		f.Title = fmt.Sprintf("%s, h = %s, α* = %.2g", name, g.rows[0][1], number(g.rows[0][2]))
		sec.Figure(f, "")
		var words []string
		all := true
		for _, c := range g.distinct("component") {
			inside, n := 0, 0
			for _, r := range g.rows {
				sd := number(r[6])
				if r[4] != c || !(sd > 0) {
					continue
				}
				n++
				if math.Abs(number(r[8])-number(r[5])) <= 3*sd {
					inside++
				}
			}
			words = append(words, fmt.Sprintf("%s at %d of %d", c, inside, n))
			all = all && inside >= n*9/10
		}
		sec.claim("the bands of "+name+" contain the reference solution (the figure is commented out in the paper's source)",
			fmt.Sprintf("The reference lies within three standard deviations of the mean at %s of the grid points.", strings.Join(words, ", ")), all)
	}
}

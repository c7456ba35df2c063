package nb

import (
	"fmt"
	"strings"

	"github.com/janpfeifer/gonb/gonbui/protocol"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/bayes/assess"
	"github.com/probode/probode/pkg/probode/bayes/sample"
	"github.com/probode/probode/pkg/probode/mcmc"
	modelfile "github.com/probode/probode/pkg/probode/model"
	"github.com/probode/probode/pkg/viz"
	"github.com/probode/probode/pkg/viz/plots"
)

// Show shows each value in a form that suits its type.
//
// A graphic, such as a [viz.Figure], is shown as an interactive chart if scripts can run
// and ECharts can be loaded, and as a static picture otherwise. Only the HTML form of the
// output contains the picture, so that a notebook stores the picture once.
//
// Chains are shown as a table. For each parameter, the table gives the mean and its Monte
// Carlo error, the standard deviation, the 95 % interval, the effective sample sizes and
// R̂. The warnings and the notes of the run are shown below the table. If there are no
// warnings, a line says so.
//
// A comparison of samplers is shown as a table. The table contains the cost of each
// sampler and its results for every parameter, but no computing times.
//
// A report of package assess is shown as the text of its answer and warnings, the figure
// of [plots.Assessment], and three tables. One table gives the noise scales α* that were
// calibrated at the mode and at three draws. Another table gives the bias of the posterior
// median of each parameter, in units of half the width of the central 68 % interval of the
// reference posterior. The third table describes the reference posterior, and gives the
// largest step that is small enough for each parameter.
//
// An ensemble is shown as the figure of [plots.Bands]. If some of its paths failed, a line
// says how many, and why the first of them failed.
//
// A problem of package model is shown as its equations, with tables of its parameters and
// measurements.
//
// Functions such as [plots.Pairs] return a figure and an error; to show such a figure,
// write Show(Must(plots.Pairs(…))). Show prints no computing times, so that the output is
// the same when the cell runs again. If a graphic cannot be drawn, the cell ends with an
// error. Show panics if a value has a type that is not listed here.
func Show(values ...any) {
	for _, v := range values {
		switch v := v.(type) {
		case viz.Graphic:
			graphic(v)
		case *probode.Ensemble:
			ensemble(v)
		case *mcmc.Chains:
			chains(v)
		case sample.Comparison:
			comparison(v)
		case *assess.Report:
			report(v)
		case *modelfile.File:
			showModel(v)
		default:
			panic(fmt.Sprintf("nb: a %T cannot be shown: want a figure, an ensemble, chains, a comparison, a report of package assess or a problem of package model", v))
		}
	}
}

func ensemble(e *probode.Ensemble) {
	graphic(plots.Bands(e))
	if e.Failed > 0 {
		note(fmt.Sprintf("%d of %d paths failed. The first: %v", e.Failed, e.N+e.Failed, e.Failure))
	}
}

func graphic(g viz.Graphic) {
	fragment, err := viz.HTML(g)
	Check(err)
	shown(g, fragment)
}

func shown(g viz.Graphic, fragment string) {
	send(bundle{
		protocol.MIMETextHTML:  fmt.Sprintf("<script>window.probodeECharts = window.probodeECharts || %q;</script>\n%s", echarts, fragment),
		protocol.MIMETextPlain: "Figure: " + title(g),
	}, "")
	synchronise()
}

func title(g viz.Graphic) string {
	switch g := g.(type) {
	case viz.Figure:
		if g.Title == "" && len(g.Panels) > 0 {
			p := g.Panels[0]
			if p.Title == "" && p.Y.Label != "" {
				return p.Y.Label + " against " + p.X.Label
			}
			return p.Title
		}
		return g.Title
	case viz.Frames:
		if len(g.Figures) > 0 {
			return fmt.Sprintf("%s, by %s", title(g.Figures[0]), g.Label)
		}
	}
	return ""
}

func chains(c *mcmc.Chains) {
	var rows [][]any
	for _, m := range c.Summary() {
		rows = append(rows, []any{m.Name, m.Mean, fmt.Sprintf("%.2g", m.MCSE), m.SD, m.Q025, m.Q975,
			fmt.Sprintf("%.0f", m.BulkESS), fmt.Sprintf("%.0f", m.TailESS), fmt.Sprintf("%.3f", m.RHat)})
	}
	Table([]string{"", "mean", "MCSE", "sd", "2.5 %", "97.5 %", "bulk ESS", "tail ESS", "R̂"}, rows...)
	text, warnings := "No warnings.", c.Warnings()
	if len(warnings) > 0 {
		text = "Warnings:"
	}
	words(text, warnings)
	if len(c.Notes) > 0 {
		folded("Notes of the run", c.Notes)
	}
}

func comparison(c sample.Comparison) {
	if len(c) == 0 {
		return
	}
	header := append([]string{"sampler"}, c[0].Chains.Names...)
	header = append(header, "solves a draw", "effective draws of 1000", "from 1000 solves", "R̂")
	unbroken := strings.NewReplacer("-", "−", " ", "\u00a0")
	var rows [][]any
	for _, r := range c {
		row, rhat := []any{r.Sampler}, 0.0
		for _, m := range r.Chains.Summary() {
			row, rhat = append(row, unbroken.Replace(viz.PlusMinus(m.Mean, m.SD))), max(rhat, m.RHat)
		}
		share := 1000 * r.ESS / float64(len(r.Chains.Draws)*len(r.Chains.Draws[0]))
		rows = append(rows, append(row, fmt.Sprintf("%.1f", r.Solves), fmt.Sprintf("%.0f", share),
			fmt.Sprintf("%.1f", share/r.Solves), fmt.Sprintf("%.3f", rhat)))
	}
	Table(header, rows...)
}

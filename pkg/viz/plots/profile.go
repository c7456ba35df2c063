package plots

import (
	"fmt"
	"math"

	"github.com/probode/probode/pkg/probode/bayes/certify"
	"github.com/probode/probode/pkg/viz"
)

// LogLikelihoodProfile returns a figure that plots the log likelihood against one
// parameter, for each of several setups. The upper panel shows the log likelihood. The
// last setup is the reference. The lower panel shows the log likelihood of each setup
// minus the log likelihood of the reference, so that jumps can be seen. The curves in the
// lower panel are shifted vertically, so that each curve is zero in the middle of the
// parameter range.
func LogLikelihoodProfile(p *certify.Profile) viz.Figure {
	x := viz.Axis{Label: p.Param}
	all := viz.Panel{Title: "log likelihood", X: x, Y: viz.Axis{Label: "log p(Y | θ)"}}
	last := len(p.Setups) - 1
	rest := viz.Panel{Title: fmt.Sprintf("difference from %v, zero in the middle", p.Setups[last]), X: x, Y: viz.Axis{Label: "difference"}}
	dashes := []viz.Dash{viz.Solid, viz.Dashed, viz.DashDotted, viz.Dotted}
	for i, s := range p.Setups {
		line := viz.Line{Name: s, X: p.X, Y: p.LogLikelihood[i], Width: 1.4, Dash: dashes[i%len(dashes)]}
		all.Layers = append(all.Layers, line)
		if i == last {
			break
		}
		// Shift the curve to zero in the middle of the parameter range, so that only
		// differences in shape remain.
		mid := len(p.X) / 2
		line.Y = make([]float64, len(p.X))
		level := p.LogLikelihood[i][mid] - p.LogLikelihood[last][mid]
		if math.IsNaN(level) {
			level = 0
		}
		for k := range p.X {
			line.Y[k] = p.LogLikelihood[i][k] - p.LogLikelihood[last][k] - level
		}
		rest.Layers = append(rest.Layers, line)
	}
	f := viz.Figure{Title: "What the likelihood looks like to a sampler", Panels: []viz.Panel{all, rest}, Columns: 1}
	if last == 0 {
		f.Panels = f.Panels[:1]
	}
	return f
}

package viz

import (
	"fmt"
	"math"

	"github.com/probode/probode/pkg/probode/bayes/assess"
)

// LogLikelihoodProfile returns a figure of the log likelihood along a line through
// one parameter, by several solvers: above, as it is, and below, less that of the
// last of them, the reference, which shows what is jagged.
func LogLikelihoodProfile(p *assess.Profile) Figure {
	x := Axis{Label: p.Param}
	all := Panel{Title: "log likelihood", X: x, Y: Axis{Label: "log p(Y | θ)"}}
	last := len(p.Solvers) - 1
	rest := Panel{Title: fmt.Sprintf("less that by %v", p.Solvers[last]), X: x, Y: Axis{Label: "difference"}}
	dashes := []Dash{Solid, Dashed, DashDotted, Dotted}
	for i, s := range p.Solvers {
		line := Line{Name: s.String(), X: p.X, Y: p.LogLikelihood[i], Width: 1.4, Dash: dashes[i%len(dashes)]}
		all.Layers = append(all.Layers, line)
		if i == last {
			break
		}
		// In the middle all are equal, so that the differences are of shape.
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
	f := Figure{Title: "What the likelihood looks like to a sampler", Panels: []Panel{all, rest}, Columns: 1}
	if last == 0 {
		f.Panels = f.Panels[:1]
	}
	return f
}

package plots

import (
	"fmt"

	"github.com/probode/probode/pkg/probode/bayes/sbc"
	"github.com/probode/probode/pkg/viz"
)

// Calibration returns a figure that shows the results of simulation-based calibration,
// with a column of panels for each quantity. Each result has two rows of panels. The
// upper row shows histograms of the ranks. The lower row shows the empirical distribution
// function of the ranks minus the uniform distribution function, which makes small
// deviations easier to see. If the sampler is correct, all bars of a histogram end within
// its grey band with probability 0.95. If the sampler is correct, a whole curve also lies
// within its grey band with probability 0.95. [sbc.Result] explains the meaning of a
// deviation. All results must have the same quantities.
func Calibration(results ...*sbc.Result) viz.Figure {
	if len(results) == 0 {
		panic("plots: no results of a calibration")
	}
	const probability = 0.95
	n := len(results[0].Names)
	f := viz.Figure{
		Title:   "Ranks of the true values, with simultaneous 95 % bands",
		Columns: n, Width: max(480, 240*n), Height: 90 + 380*len(results),
	}
	for _, r := range results {
		if len(r.Names) != n {
			panic(fmt.Sprintf("plots: the calibration of %v has %d quantities, but the calibration of %v has %d: want equal numbers", results[0].Sampler, n, r.Sampler, len(r.Names)))
		}
		edges := make([]float64, r.Draws+2)
		for i := range edges {
			edges[i] = float64(i) - 0.5
		}
		var below []viz.Panel
		for k, name := range r.Names {
			counts, lo, hi := r.Histogram(k, probability)
			heights := make([]float64, len(counts))
			top := float64(hi)
			for i, c := range counts {
				heights[i] = float64(c)
				top = max(top, heights[i])
			}
			bars := viz.Bars("", edges, heights)
			bars.Color = viz.Blue
			ends := []float64{edges[0], edges[len(edges)-1]}
			f.Panels = append(f.Panels, viz.Panel{
				Title: fmt.Sprintf("%v: %s", r.Sampler, name),
				X:     viz.Axis{Label: "rank", Min: ends[0], Max: ends[1]},
				Y:     viz.Axis{Label: "data sets", Max: 1.05 * top},
				Layers: []viz.Layer{
					viz.Band{X: ends, Lo: []float64{float64(lo), float64(lo)}, Hi: []float64{float64(hi), float64(hi)}, Color: viz.Grey, Opacity: 0.4},
					bars,
				},
			})

			// Differences between distribution functions are zero at both ends of the
			// axis.
			pad := func(v []float64) []float64 { return append(append([]float64{0}, v...), 0) }
			z, diff, from, to := r.ECDF(k, probability)
			z = append(append([]float64{0}, z...), 1)
			below = append(below, viz.Panel{
				X: viz.Axis{Label: "rank / (L + 1)", Min: 0, Max: 1},
				Y: viz.Axis{Label: "F − uniform"},
				Layers: []viz.Layer{
					viz.Band{X: z, Lo: pad(from), Hi: pad(to), Color: viz.Grey, Opacity: 0.4},
					viz.Line{X: z, Y: pad(diff), Color: viz.Blue},
				},
			})
		}
		f.Panels = append(f.Panels, below...)
	}
	return f
}

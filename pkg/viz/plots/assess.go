package plots

import (
	"fmt"
	"math"

	"github.com/probode/probode/pkg/probode/bayes/assess"
	"github.com/probode/probode/pkg/viz"
)

// Assessment returns a figure that shows how the effect of the solver's error on a
// posterior depends on the step size or tolerance, with a colour for each method. The
// first panel shows the bias of each parameter's median. The unit of the bias is half the
// width of the central 68 % interval of the reference posterior. The second panel shows
// the width of each parameter's central 68 % interval, divided by the width in the
// reference posterior. In these two panels, dotted lines mark the threshold beyond which
// the error matters. At each setting, a thick line shows the parameter that the error
// affects most. A ring marks a bias of less than two Monte Carlo standard errors. Each of
// the other panels shows the median and the central 68 % interval of one parameter. The
// grey band shows the reference posterior.
func Assessment(a *assess.Report) viz.Figure {
	f := viz.Figure{Title: fmt.Sprintf("%s: what the solver's error does to the posterior", a.Model)}
	lo, hi := math.Inf(1), math.Inf(-1)
	label := ""
	for _, c := range a.Candidates {
		lo, hi = min(lo, c.Size), max(hi, c.Size)
		what := "relative tolerance"
		if !c.Controlled {
			what = "step h"
		}
		if label == "" {
			label = what
		} else if label != what {
			label = "step h or relative tolerance"
		}
	}
	lo, hi = lo/1.25, hi*1.25
	x := viz.Axis{Label: label, Log: true, Min: lo, Max: hi}

	bias := viz.Panel{Title: "bias of the median", X: x, Y: viz.Axis{Label: "|bias| / half interval", Log: true}}
	ratio := viz.Panel{Title: "spread", X: x, Y: viz.Axis{Label: "interval / reference interval", Log: true}}
	panels := make([]viz.Panel, len(a.Params))
	for j, q := range a.Params {
		panels[j] = viz.Panel{Title: q.Name, X: x}
		if m := q.Median; !math.IsNaN(m.Center) {
			low, high := m.Center-m.Spread, m.Center+m.Spread
			panels[j].Layers = append(panels[j].Layers,
				viz.Band{Name: "reference, median and central 68 %", X: []float64{lo, hi}, Lo: []float64{low, low}, Hi: []float64{high, high}, Color: viz.Grey},
				viz.Guide{At: m.Center, Horizontal: true, Color: viz.Grey})
		}
	}
	markers := []viz.Marker{viz.Disc, viz.Square}
	dashes := []viz.Dash{viz.Solid, viz.Dashed}
	explained := false // the rings, in the legend
	groups := a.Groups()
	for g, group := range groups {
		color, marker, dash := viz.Palette[g%len(viz.Palette)], markers[g%2], dashes[g%2]
		// The points are moved along the axis, so that they do not cover each other.
		shift := math.Pow(1.05, 2*float64(g)-float64(len(groups)-1))
		var steps []float64
		var infs []*assess.Inference
		for _, c := range group {
			if c.Inference != nil {
				steps, infs = append(steps, c.Size), append(infs, c.Inference)
			}
		}
		if infs == nil {
			continue
		}
		worst, widest := make([]float64, len(steps)), make([]float64, len(steps))
		var sure, unsure viz.Points
		for j := range a.Params {
			b := viz.Line{X: steps, Color: color, Opacity: 0.35, Width: 1, Dash: dash}
			s := b
			p := viz.Points{Name: group[0].Group(), Color: color, Marker: marker, Size: 5}
			for i, inf := range infs {
				e := inf.Effects[j].Median
				size := math.Abs(e.Bias)
				worst[i] = math.Max(worst[i], size)
				if j == 0 || math.Abs(math.Log(e.Ratio)) > math.Abs(math.Log(widest[i])) {
					widest[i] = e.Ratio
				}
				b.Y, s.Y = append(b.Y, size), append(s.Y, e.Ratio)
				to := &sure
				if size < 2*e.BiasSE {
					to = &unsure
				}
				to.X, to.Y = append(to.X, steps[i]), append(to.Y, size)
				p.X, p.Y, p.Err = append(p.X, steps[i]*shift), append(p.Y, e.Center), append(p.Err, e.Spread)
			}
			bias.Layers, ratio.Layers = append(bias.Layers, b), append(ratio.Layers, s)
			panels[j].Layers = append(panels[j].Layers, p)
		}
		sure.Color, sure.Marker, sure.Size = color, marker, 5
		unsure.Color, unsure.Marker, unsure.Size = color, viz.Ring, 5
		if !explained && len(unsure.X) > 0 {
			unsure.Name, explained = "bias that may be zero", true
		}
		bias.Layers = append(bias.Layers, sure, unsure, viz.Line{X: steps, Y: worst, Color: color, Width: 2.2, Dash: dash})
		ratio.Layers = append(ratio.Layers, viz.Line{X: steps, Y: widest, Color: color, Width: 2.2, Dash: dash, Marker: marker})
	}
	limit := func(at float64) viz.Guide {
		return viz.Guide{Name: "threshold", At: at, Horizontal: true, Dash: viz.Dotted}
	}
	bias.Layers = append(bias.Layers, limit(a.Threshold))
	ratio.Layers = append(ratio.Layers, limit(1+a.Threshold), limit(1/(1+a.Threshold)))
	f.Panels = append([]viz.Panel{bias, ratio}, panels...)
	if len(f.Panels) > 4 {
		f.Columns = 3
	}
	return f
}

package plots

import (
	"fmt"
	"image/color"
	"math"

	"github.com/probode/probode/pkg/probode/bayes/assess"
	"github.com/probode/probode/pkg/viz"
)

// Assessment returns a figure that shows how the effect of the solver's error on a
// posterior depends on the step size. The first panel shows the bias of each parameter's
// median. The unit of the bias is half the width of the central 68 % interval that an
// accurate solver gives. The second panel shows the width of each parameter's central
// 68 % interval, divided by the width that an accurate solver gives. In these two panels,
// dotted lines mark the threshold beyond which the error matters. At each step size, a
// thick line shows the parameter that the error affects most. A ring marks a bias of less
// than two Monte Carlo standard errors. Each of the other panels shows the median and the
// central 68 % interval of one parameter. The grey band shows the interval that an
// accurate solver gives.
func Assessment(a *assess.Report) viz.Figure {
	f := viz.Figure{Title: fmt.Sprintf("%v on %s: what the solver's error does to the posterior", a.Method, a.Model)}
	lo, hi := math.Inf(1), math.Inf(-1)
	for _, st := range a.Steps {
		lo, hi = min(lo, st.Size()), max(hi, st.Size())
	}
	lo, hi = lo/1.25, hi*1.25
	x := viz.Axis{Label: a.SizeName(), Log: true, Min: lo, Max: hi}

	runs := []struct {
		name   string
		color  color.NRGBA
		marker viz.Marker
		dash   viz.Dash
		shift  float64 // of the points along the axis, so that they do not cover each other
		of     func(assess.Rung) *assess.Inference
	}{
		{"deterministic: solver taken as exact", viz.Blue, viz.Disc, viz.Solid, 1 / 1.05, func(st assess.Rung) *assess.Inference { return st.Deterministic }},
		{"probabilistic: solver's error in the model", viz.Vermillion, viz.Square, viz.Dashed, 1.05, func(st assess.Rung) *assess.Inference { return st.Probabilistic }},
	}

	bias := viz.Panel{Title: "bias of the median", X: x, Y: viz.Axis{Label: "|bias| / half interval", Log: true}}
	ratio := viz.Panel{Title: "spread", X: x, Y: viz.Axis{Label: "interval / accurate interval", Log: true}}
	panels := make([]viz.Panel, len(a.Params))
	for j, q := range a.Params {
		panels[j] = viz.Panel{Title: q.Name, X: x}
		if m := q.Median; !math.IsNaN(m.Center) {
			low, high := m.Center-m.Spread, m.Center+m.Spread
			panels[j].Layers = append(panels[j].Layers,
				viz.Band{Name: "accurate, median and central 68 %", X: []float64{lo, hi}, Lo: []float64{low, low}, Hi: []float64{high, high}, Color: viz.Grey},
				viz.Guide{At: m.Center, Horizontal: true, Color: viz.Grey})
		}
	}
	explained := false // the rings, in the legend
	for _, r := range runs {
		var steps []float64
		var infs []*assess.Inference
		for _, st := range a.Steps {
			if inf := r.of(st); inf != nil {
				steps, infs = append(steps, st.Size()), append(infs, inf)
			}
		}
		if infs == nil {
			continue
		}
		worst, widest := make([]float64, len(steps)), make([]float64, len(steps))
		var sure, unsure viz.Points
		for j := range a.Params {
			b := viz.Line{X: steps, Color: r.color, Opacity: 0.35, Width: 1, Dash: r.dash}
			s := b
			p := viz.Points{Name: r.name, Color: r.color, Marker: r.marker, Size: 5}
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
				p.X, p.Y, p.Err = append(p.X, steps[i]*r.shift), append(p.Y, e.Center), append(p.Err, e.Spread)
			}
			bias.Layers, ratio.Layers = append(bias.Layers, b), append(ratio.Layers, s)
			panels[j].Layers = append(panels[j].Layers, p)
		}
		sure.Color, sure.Marker, sure.Size = r.color, r.marker, 5
		unsure.Color, unsure.Marker, unsure.Size = r.color, viz.Ring, 5
		if !explained && len(unsure.X) > 0 {
			unsure.Name, explained = "bias that may be zero", true
		}
		bias.Layers = append(bias.Layers, sure, unsure, viz.Line{X: steps, Y: worst, Color: r.color, Width: 2.2, Dash: r.dash})
		ratio.Layers = append(ratio.Layers, viz.Line{X: steps, Y: widest, Color: r.color, Width: 2.2, Dash: r.dash, Marker: r.marker})
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

package plots

import (
	"fmt"
	"image/color"
	"math"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/reference"
	"github.com/probode/probode/pkg/viz"
)

// Paths draws the stored paths of an ensemble as thin translucent lines (see
// probode.Settings.KeepPaths). Paths also draws the classical solution and, if there are
// any, reference solutions. There is a panel for each component. To see only some of the
// components, use Only: Paths(e).Only(0, 2).
func Paths(e *probode.Ensemble, refs ...*reference.Solution) viz.Figure {
	return panels(e, refs, func(k int) []viz.Layer {
		d, n := e.Problem.Dim(), 0
		l := viz.Line{Color: viz.Blue, Width: 0.8}
		for _, path := range e.Paths {
			if path != nil { // nil: the path failed
				n++
				l.X, l.Y = append(append(l.X, e.T...), math.NaN()), append(append(l.Y, column(path, k, d)...), math.NaN())
			}
		}
		if n == 0 {
			return nil
		}
		l.Name = fmt.Sprintf("%d paths", n)
		// With this opacity, an ensemble looks about equally dark for any number of
		// paths, and a single path is still visible.
		l.Opacity = max(0.05, min(0.6, 8/math.Sqrt(float64(n))/3))
		return []viz.Layer{l}
	})
}

var shades = [3]color.NRGBA{{0x7f, 0xb4, 0xdb, 0xff}, {0xb0, 0xd2, 0xea, 0xff}, {0xdb, 0xea, 0xf6, 0xff}}

// Bands draws the mean of an ensemble, with bands of one, two and three standard
// deviations. As in [Paths], Bands also draws the classical solution and the reference
// solutions, and there is a panel for each component.
func Bands(e *probode.Ensemble, refs ...*reference.Solution) viz.Figure {
	return panels(e, refs, func(k int) []viz.Layer {
		mean, sd := e.Mean[k], e.SD[k]
		var ls []viz.Layer
		// The widest band is drawn first, so that the narrower bands are visible on top
		// of it.
		for s := 3; s >= 1; s-- {
			lo, hi := make([]float64, len(mean)), make([]float64, len(mean))
			for i, m := range mean {
				lo[i], hi[i] = m-float64(s)*sd[i], m+float64(s)*sd[i]
			}
			ls = append(ls, viz.Band{Name: fmt.Sprintf("± %dσ", s), X: e.T, Lo: lo, Hi: hi, Color: shades[s-1], Opacity: 1})
		}
		return append(ls, viz.Line{Name: "mean", X: e.T, Y: mean, Color: viz.Blue, Dash: viz.Dashed})
	})
}

// panels adds the classical solution and the references that are not nil to the layers of
// `body`.
func panels(e *probode.Ensemble, refs []*reference.Solution, body func(k int) []viz.Layer) viz.Figure {
	d := e.Problem.Dim()
	x := viz.Axis{Label: "t"}
	if u := e.Problem.TimeUnit; u != "" {
		x.Label = fmt.Sprintf("t (%s)", u)
	}
	if n := len(e.T); n > 1 {
		x.Min, x.Max = e.T[0], e.T[n-1]
	}
	var f viz.Figure
	for k := range d {
		p := viz.Panel{X: x, Y: viz.Axis{Label: e.Problem.StateName(k)}, Layers: body(k)}
		for _, ref := range refs {
			if ref != nil {
				p.Layers = append(p.Layers, viz.Line{Name: "reference", X: ref.Times, Y: column(ref.X, k, d), Color: viz.Black, Width: 1.4})
			}
		}
		p.Layers = append(p.Layers, viz.Line{Name: "classical", X: e.T, Y: e.Deterministic[k], Color: viz.Vermillion, Width: 1.8, Dash: viz.DashDotted})
		f.Panels = append(f.Panels, p)
	}
	return f
}

func column(rows []float64, k, d int) []float64 {
	out := make([]float64, 0, len(rows)/d)
	for i := k; i < len(rows); i += d {
		out = append(out, rows[i])
	}
	return out
}

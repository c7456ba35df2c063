package viz

import (
	"fmt"
	"math"
)

var dashes = [...]Dash{Solid, Dashed, DashDotted, Dotted}

// Curves returns a panel with several curves that differ in colour, dash and marker.
// For each p in the argument `slopes`, the panel contains a grey guide line y ∝ xᵖ,
// labelled with p. The guide lines begin at half of the smallest y of the curves. If a
// method has order p, a plot of its error against the step size on logarithmic axes is
// parallel to the guide for p. Curves keeps a dash, marker or colour that is already set
// for a curve.
func Curves(x, y Axis, slopes []float64, curves ...Line) Panel {
	p := Panel{X: x, Y: y}
	marks := [...]Marker{Disc, Square, Triangle, Ring}
	var x0, x1, y0 = math.Inf(1), math.Inf(-1), math.Inf(1)
	for i, l := range curves {
		if l.Dash == Solid {
			l.Dash = dashes[i%len(dashes)]
		}
		// Markers show the points of a curve, but many markers would hide the curve.
		if l.Marker == noMarker && len(l.X) <= 20 {
			l.Marker = marks[i%len(marks)]
		}
		p.Layers = append(p.Layers, l)
		l.visit(func(x, y float64) {
			if x > 0 && y > 0 {
				x0, x1, y0 = min(x0, x), max(x1, x), min(y0, y)
			}
		})
	}
	if x0 >= x1 {
		return p
	}
	// All guides begin at the smallest x and at half of the smallest y. The guides cover
	// at most two decades of x, so that steep guides do not extend the y axis too far.
	end := min(x1, x0*100)
	for _, s := range slopes {
		p.Layers = append(p.Layers, Line{
			X: []float64{x0, end}, Y: []float64{y0 / 2, y0 / 2 * math.Pow(end/x0, s)},
			Label: fmt.Sprintf("slope %g", s), Color: Grey, Width: 1, Dash: Dotted,
		})
	}
	return p
}

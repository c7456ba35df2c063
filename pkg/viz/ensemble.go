package viz

import (
	"fmt"
	"image/color"
	"math"
)

// Ensemble is what [Bands] and [Paths] draw: the solutions of one initial value
// problem at the times T, component by component.
type Ensemble struct {
	Label      string    // of the time axis; empty means "t"
	T          []float64 // length n
	ReferenceT []float64 // times of the references; nil means T
	Components []Component
}

// Component is one component of the state over time. Fields that are nil are not drawn.
type Component struct {
	Name  string      // with its unit
	Paths [][]float64 // each of length n; NaN where a path has ended

	// Mean and SD are the mean and the standard deviation of the paths, of
	// length n. If Mean is nil they are computed from Paths.
	Mean, SD []float64

	Reference     []float64 // as long as ReferenceT
	Deterministic []float64 // the path without noise, of length n

	Layers []Layer // anything else, drawn on top: observations, for instance
}

// shades are the colours of the bands of 1, 2 and 3 standard deviations.
var shades = [3]color.NRGBA{{0x7f, 0xb4, 0xdb, 0xff}, {0xb0, 0xd2, 0xea, 0xff}, {0xdb, 0xea, 0xf6, 0xff}}

// Bands returns a figure with one panel for each component: the mean of the
// ensemble with bands of 1, 2 and 3 standard deviations, the reference and the
// deterministic path. It panics if lengths differ.
func Bands(e Ensemble) Figure {
	return e.figure(func(c Component) []Layer {
		mean, sd := c.Mean, c.SD
		if mean == nil && len(c.Paths) > 0 {
			mean, sd = moments(c.Paths)
		}
		if mean == nil {
			return nil
		}
		var ls []Layer
		if sd != nil {
			// The bands are drawn over each other, so that they darken inwards.
			for k := 3; k >= 1; k-- {
				lo, hi := make([]float64, len(mean)), make([]float64, len(mean))
				for i, m := range mean {
					lo[i], hi[i] = m-float64(k)*sd[i], m+float64(k)*sd[i]
				}
				ls = append(ls, Band{Name: fmt.Sprintf("± %dσ", k), X: e.T, Lo: lo, Hi: hi, Color: shades[k-1], Opacity: 1})
			}
		}
		return append(ls, Line{Name: "mean", X: e.T, Y: mean, Color: Blue, Dash: Dashed})
	})
}

// Paths returns a figure with one panel for each component: every path of the
// ensemble as a thin translucent line, the reference and the deterministic path.
// It panics if lengths differ.
func Paths(e Ensemble) Figure {
	return e.figure(func(c Component) []Layer {
		if len(c.Paths) == 0 {
			return nil
		}
		l := Line{
			Name:  fmt.Sprintf("%d paths", len(c.Paths)),
			X:     make([]float64, 0, len(c.Paths)*(len(e.T)+1)),
			Y:     make([]float64, 0, len(c.Paths)*(len(e.T)+1)),
			Color: Blue, Width: 0.8,
			// The ensemble is about equally dark for any number of paths, but a single path is
			// never too faint to see.
			Opacity: max(0.05, min(0.6, 8/math.Sqrt(float64(len(c.Paths)))/3)),
		}
		for _, y := range c.Paths {
			l.X, l.Y = append(append(l.X, e.T...), math.NaN()), append(append(l.Y, y...), math.NaN())
		}
		return []Layer{l}
	})
}

// figure makes a panel for each component, from the layers of body and those that all
// panels share.
func (e Ensemble) figure(body func(Component) []Layer) Figure {
	x := Axis{Label: e.Label}
	if x.Label == "" {
		x.Label = "t"
	}
	if n := len(e.T); n > 1 {
		x.Min, x.Max = e.T[0], e.T[n-1]
	}
	rt := e.ReferenceT
	if rt == nil {
		rt = e.T
	}
	var f Figure
	for _, c := range e.Components {
		e.match(c, len(rt))
		p := Panel{X: x, Y: Axis{Label: c.Name}, Layers: body(c)}
		if c.Reference != nil {
			p.Layers = append(p.Layers, Line{Name: "reference", X: rt, Y: c.Reference, Color: Black, Width: 1.4})
		}
		if c.Deterministic != nil {
			p.Layers = append(p.Layers, Line{Name: "deterministic", X: e.T, Y: c.Deterministic, Color: Vermillion, Width: 1.8, Dash: DashDotted})
		}
		p.Layers = append(p.Layers, c.Layers...)
		f.Panels = append(f.Panels, p)
	}
	return f
}

func (e Ensemble) match(c Component, references int) {
	n := len(e.T)
	for _, y := range c.Paths {
		if len(y) != n {
			panic(fmt.Sprintf("viz: a path of %s of length %d at %d times", c.Name, len(y), n))
		}
	}
	for _, y := range [][]float64{c.Mean, c.SD, c.Deterministic} {
		if y != nil && len(y) != n {
			panic(fmt.Sprintf("viz: %s of length %d at %d times", c.Name, len(y), n))
		}
	}
	if c.Reference != nil && len(c.Reference) != references {
		panic(fmt.Sprintf("viz: a reference of %s of length %d at %d times", c.Name, len(c.Reference), references))
	}
}

// moments returns the mean and the standard deviation over the paths that are
// still there at each time.
func moments(paths [][]float64) (mean, sd []float64) {
	mean, sd = make([]float64, len(paths[0])), make([]float64, len(paths[0]))
	for i := range mean {
		var n, m, s float64
		for _, p := range paths {
			if !finite(p[i]) {
				continue
			}
			n++
			d := p[i] - m
			m += d / n
			s += d * (p[i] - m)
		}
		mean[i], sd[i] = m, math.Sqrt(s/(n-1))
		if n == 0 {
			mean[i] = math.NaN()
		}
		if n == 1 {
			sd[i] = 0
		}
	}
	return mean, sd
}

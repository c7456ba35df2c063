package viz

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	"github.com/probode/probode/pkg/viz/internal/kde"
)

// Contours returns a panel that compares samples of two quantities, X and Y, by the
// contours of their kernel density estimates. The inner contour encloses 50 % of the
// probability, and the fainter outer contour encloses 90 %. If the argument `truth` is
// not nil, it must hold the two true values, which are drawn as dashed black lines.
// Contours returns an error if a sample has fewer than three draws or if all its draws
// lie on one line. Only the names and coordinates of the samples are used.
func Contours(x, y Axis, truth []float64, samples ...Points) (Panel, error) {
	if truth != nil && len(truth) != 2 {
		panic(fmt.Sprintf("viz: %d true values of two quantities", len(truth)))
	}
	p := Panel{X: x, Y: y}
	for i, s := range samples {
		g, err := kde.Plane(s.X, s.Y, 1, 128)
		if err != nil {
			return p, fmt.Errorf("%w (sample %q)", err, s.Name)
		}
		c := Palette[i%len(Palette)]
		levels := g.Levels(0.5, 0.9)
		for k, width := range []float64{2, 1.2} {
			cx, cy := g.Contour(levels[k])
			p.Layers = append(p.Layers, Line{Name: s.Name, X: cx, Y: cy, Color: c, Width: width, Opacity: 1 - 0.3*float64(k), Dash: dashes[i%len(dashes)]})
		}
	}
	if truth != nil {
		p.Layers = append(p.Layers,
			Guide{Name: "truth", At: truth[0], Dash: Dashed},
			Guide{Name: "truth", At: truth[1], Horizontal: true, Dash: Dashed})
	}
	return p, nil
}

// Densities returns a panel that compares samples of one quantity, X, by their kernel
// density estimates. If the argument `truth` is not nil, it must have one element: the
// true value, which is drawn as a dashed black line.
func Densities(x Axis, truth []float64, samples ...Points) (Panel, error) {
	if truth != nil && len(truth) != 1 {
		panic(fmt.Sprintf("viz: %d true values of one quantity", len(truth)))
	}
	p := Panel{X: x, Y: Axis{Label: "density"}}
	for i, s := range samples {
		cx, cy, err := kde.Line(s.X, 256)
		if err != nil {
			return p, fmt.Errorf("%w (sample %q)", err, s.Name)
		}
		p.Layers = append(p.Layers, Line{Name: s.Name, X: cx, Y: cy, Color: Palette[i%len(Palette)], Dash: dashes[i%len(dashes)]})
	}
	// A guide at zero makes the axis of the density begin at zero.
	p.Layers = append(p.Layers, Guide{At: 0, Horizontal: true, Color: Grey, Width: 1})
	if truth != nil {
		p.Layers = append(p.Layers, Guide{Name: "truth", At: truth[0], Dash: Dashed})
	}
	return p, nil
}

// Bars returns the bars of a histogram: bar i lies between edges[i] and edges[i+1], and
// extends from zero to heights[i]. Bars panics unless len(edges) is len(heights) + 1.
func Bars(name string, edges, heights []float64) Band {
	if len(edges) != len(heights)+1 {
		panic(fmt.Sprintf("viz: %d bars between %d edges", len(heights), len(edges)))
	}
	b := Band{Name: name, Opacity: 0.6}
	nan := math.NaN()
	for i, h := range heights {
		// Leave a tenth of the width of a bin between bars.
		g := 0.05 * (edges[i+1] - edges[i])
		b.X = append(b.X, edges[i]+g, edges[i+1]-g, nan)
		b.Lo = append(b.Lo, 0, 0, nan)
		b.Hi = append(b.Hi, h, h, nan)
	}
	return b
}

// Histogram returns the bars of a histogram of x. The n bins have equal widths and cover
// the range of x, and the total area of the bars is one. Zero bins means about √len(x).
// Values that are NaN or exceed 1e280 in absolute value are ignored.
func Histogram(name string, x []float64, n int) Band {
	x = slices.DeleteFunc(slices.Clone(x), func(v float64) bool { return !finite(v) })
	if n <= 0 {
		n = max(1, int(math.Sqrt(float64(len(x)))))
	}
	if len(x) == 0 {
		return Band{Name: name}
	}
	lo, hi := floats.Min(x), floats.Max(x)
	if lo == hi {
		lo, hi = widen(lo, false)
	}
	edges := floats.Span(make([]float64, n+1), lo, hi)
	heights := make([]float64, n)
	for _, v := range x {
		heights[min(n-1, int(float64(n)*(v-lo)/(hi-lo)))] += float64(n) / (float64(len(x)) * (hi - lo))
	}
	return Bars(name, edges, heights)
}

package viz_test

import (
	"bytes"
	"fmt"
	"image/png"
	"log"
	"math"

	"github.com/probode/probode/pkg/viz"
)

// A figure made by hand: a curve with the band around it, and data.
func Example() {
	var t, y, lo, hi []float64
	for i := range 101 {
		x := float64(i) / 10
		t, y = append(t, x), append(y, math.Sin(x))
		lo, hi = append(lo, math.Sin(x)-0.05*x), append(hi, math.Sin(x)+0.05*x)
	}
	f := viz.Figure{
		Title: "A sine",
		Panels: []viz.Panel{{
			X: viz.Axis{Label: "t (s)", Min: 0, Max: 10},
			Y: viz.Axis{Label: "y (m)"},
			Layers: []viz.Layer{
				viz.Band{Name: "± σ", X: t, Lo: lo, Hi: hi},
				viz.Line{Name: "mean", X: t, Y: y},
				viz.Points{Name: "data", X: []float64{2, 5}, Y: []float64{0.9, -1}, Err: []float64{0.1, 0.1}, Color: viz.Black},
			},
		}},
		Width: 600, Height: 400,
	}
	picture, err := viz.PNG(f)
	if err != nil {
		log.Fatal(err)
	}
	img, err := png.Decode(bytes.NewReader(picture))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(img.Bounds().Size())
	// Output: (750,500)
}

// Error against step size, with a guide of slope 2.
func ExampleCurves() {
	p := viz.Curves(viz.Axis{Label: "h", Log: true}, viz.Axis{Label: "error", Log: true}, []float64{2},
		viz.Line{Name: "AM1", X: []float64{0.01, 0.1}, Y: []float64{0.0003, 0.03}})
	guide := p.Layers[1].(viz.Line)
	fmt.Println(guide.Label, guide.X)
	// Output: slope 2 [0.01 0.1]
}

// A slider over step sizes, shown as a picture at the second of them.
func ExampleFrames() {
	frames := viz.Frames{Label: "h", Show: 1}
	for _, h := range []float64{0.1, 0.05} {
		var t, y []float64
		for x := 0.0; x <= 1; x += h {
			t, y = append(t, x), append(y, math.Pow(1-h, x/h))
		}
		frames.Names = append(frames.Names, fmt.Sprint(h))
		frames.Figures = append(frames.Figures, viz.Figure{Panels: []viz.Panel{{
			X: viz.Axis{Label: "t"}, Y: viz.Axis{Label: "y"},
			Layers: []viz.Layer{viz.Line{Name: "Euler", X: t, Y: y}},
		}}})
	}
	html, err := viz.HTML(frames)
	fmt.Println(len(html) > 0, err)
	// Output: true <nil>
}

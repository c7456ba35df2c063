package plots

import (
	"fmt"
	"math"
	"testing"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/reference"
	"github.com/probode/probode/pkg/viz"
)

// threePaths is an ensemble of two components, of which one path of three has failed.
func threePaths() (*probode.Ensemble, *reference.Solution) {
	return &probode.Ensemble{
		Problem: &probode.Problem{Name: "p", X0: []float64{1, 3}, States: []string{"u (m)", "v"}, TimeUnit: "s"},
		T:       []float64{0, 1}, Mean: [][]float64{{1, 2}, {3, 4}}, SD: [][]float64{{0, .1}, {0, .2}},
		Deterministic: [][]float64{{1, 2.5}, {3, 4.5}}, Paths: [][]float64{{1, 3, 2, 4}, nil, {1, 3, 2.5, 4.5}},
	}, &reference.Solution{Times: []float64{0, .5, 1}, X: []float64{1, 3, 1.5, 3.5, 2, 4}}
}

func ExampleBands() {
	e, ref := threePaths()
	for _, l := range Bands(e, ref).Only(1).Panels[0].Layers {
		switch l := l.(type) {
		case viz.Band:
			fmt.Printf("%s from %.1f to %.1f\n", l.Name, l.Lo, l.Hi)
		case viz.Line:
			fmt.Println(l.Name, l.X, l.Y)
		}
	}
	// Output:
	// ± 3σ from [3.0 3.4] to [3.0 4.6]
	// ± 2σ from [3.0 3.6] to [3.0 4.4]
	// ± 1σ from [3.0 3.8] to [3.0 4.2]
	// mean [0 1] [3 4]
	// reference [0 0.5 1] [3 3.5 4]
	// classical [0 1] [3 4.5]
}

// The paths of a component are one line with a gap behind each path; a path that failed is
// left out. Axes have the names and units of the problem. Without a reference, or with nil,
// there is none.
func TestPaths(t *testing.T) {
	e, ref := threePaths()
	f := Paths(e, ref)
	if len(f.Panels) != 2 || f.Panels[0].X.Label != "t (s)" || f.Panels[0].Y.Label != "u (m)" || f.Panels[1].X.Max != 1 {
		t.Fatalf("panels %+v", f.Panels)
	}
	l := f.Panels[1].Layers[0].(viz.Line)
	if l.Name != "2 paths" || len(l.Y) != 6 || l.Y[1] != 4 || !math.IsNaN(l.Y[2]) || l.Y[4] != 4.5 {
		t.Errorf("paths %+v", l)
	}
	if _, err := viz.PNG(f); err != nil {
		t.Error(err)
	}
	e.Paths = nil
	for _, f := range []viz.Figure{Paths(e), Paths(e, nil)} {
		if len(f.Panels) != 2 || len(f.Panels[0].Layers) != 1 {
			t.Errorf("without paths and reference: %+v", f.Panels)
		}
	}
}

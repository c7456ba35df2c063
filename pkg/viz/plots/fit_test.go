package plots_test

import (
	"context"
	"math"
	"testing"

	"github.com/probode/probode/pkg/probode/bayes"
	modelfile "github.com/probode/probode/pkg/probode/model"
	"github.com/probode/probode/pkg/viz"
	"github.com/probode/probode/pkg/viz/plots"
)

// A fit of two columns has two panels, with the data, the curve of the optimum, and a band
// that contains it and the curves at the other points.
func TestFit(t *testing.T) {
	p, err := modelfile.Load("../../probode/model/testdata/lynx.yaml")
	if err != nil {
		t.Fatal(err)
	}
	optima, err := p.Fit(context.Background(), modelfile.FitSettings{Starts: 2, Seed: 1})
	if err != nil || optima[0].Err != nil {
		t.Fatal(err, optima)
	}
	other := append([]float64(nil), optima[0].Theta...)
	other[1] *= 1.1
	curves, data, err := p.Curves(context.Background(), [][]float64{optima[0].Theta, other}, modelfile.FitSettings{})
	if err != nil || len(curves) != 1 {
		t.Fatal(err, len(curves))
	}
	f := plots.Fit(curves[0], data[0])
	if len(f.Panels) != 2 {
		t.Fatalf("%d panels: want 2", len(f.Panels))
	}
	for k, panel := range f.Panels {
		band, line, points := panel.Layers[0].(viz.Band), panel.Layers[1].(viz.Line), panel.Layers[2].(viz.Points)
		wide := 0.0
		for n := range line.X {
			if line.Y[n] < band.Lo[n] || line.Y[n] > band.Hi[n] {
				t.Errorf("column %d: the fit is outside its band at %v", k, line.X[n])
			}
			wide = math.Max(wide, band.Hi[n]-band.Lo[n])
		}
		if wide == 0 || len(points.X) != len(data[0].T) || len(line.X) < 100 {
			t.Errorf("column %d: a band of width %v, %d points, a curve of %d", k, wide, len(points.X), len(line.X))
		}
	}
	if w := plots.Waterfall(optima); len(w.Panels) != 1 || len(w.Panels[0].Layers) == 0 {
		t.Errorf("waterfall: %+v", w)
	}
	// The curve at the times of the data is what the likelihood compares with them.
	l, err := p.LogLikelihood(modelfile.LikelihoodSettings{})
	if err != nil {
		t.Fatal(err)
	}
	v, err := l.At(context.Background(), optima[0].Theta, false)
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, want := range v.Instances[0].Simulated {
		for n := range curves[0].T {
			for _, got := range curves[0].Fit[0][n] {
				if math.Abs(got-want) < 1e-4*math.Abs(want) { // the curves have a tolerance of 1e-6 in each step
					found++
					break
				}
			}
		}
	}
	if found < len(v.Instances[0].Simulated) {
		t.Errorf("%d of %d simulated values are on the curves", found, len(v.Instances[0].Simulated))
	}
}

// Data of one observable whose noise is a number for each datum, or that were measured at
// the same time, are in different columns, and in one panel with their condition. Columns
// with other expected values have panels of their own, whatever their names are.
func TestOnePanelPerObservable(t *testing.T) {
	nan := math.NaN()
	q := &bayes.Prediction{Name: "high", T: []float64{1, 1.5, 2}, Names: []string{"y", "y_2", "y_3", "y_a", "z", "y", "z"}}
	for range 3 {
		q.Fit = append(q.Fit, [][]float64{{1, 1, 5, 1, 1, 1, 4}, {2, 2, 5, 2, 2, 2, 4}, {3, 3, 5, 3, 3, 3, 4}})
		q.Y = append(q.Y, [][]float64{{1, 1, 5, 1, 1, 1, 4}, {2, 2, 5, 2, 2, 2, 4}, {3, 3, 5, 3, 3, 3, 4}})
	}
	data := &bayes.Data{T: []float64{1, 2}, Names: q.Names, Y: [][]float64{{1.1, nan, 5, 1, nan, 0.9, nan}, {nan, 3.1, 5, 1, 3, nan, 3}}}
	for name, f := range map[string]viz.Figure{"fit": plots.Fit(q, data), "predictive": plots.Predictive(q, data)} {
		if len(f.Panels) != 5 {
			t.Fatalf("%s: %d panels, want those of y, y_3, y_a, and twice z", name, len(f.Panels))
		}
		if p := f.Panels[0]; p.Title != "high" || p.Y.Label != "y" {
			t.Errorf("%s: %q, %q", name, p.Title, p.Y.Label)
		}
		shown := 0
		for _, panel := range f.Panels {
			for _, l := range panel.Layers {
				if p, is := l.(viz.Points); is && p.Name == "data" {
					for _, y := range p.Y {
						if !math.IsNaN(y) {
							shown++
						}
					}
				}
			}
		}
		if shown != 9 {
			t.Errorf("%s shows %d of 9 data", name, shown)
		}
	}
}

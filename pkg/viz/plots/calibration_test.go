package plots

import (
	"fmt"
	"slices"
	"testing"

	"github.com/probode/probode/pkg/probode/bayes/sample"
	"github.com/probode/probode/pkg/probode/bayes/sbc"
	"github.com/probode/probode/pkg/viz"
)

// Every quantity has its histogram, whose bars are the counts of its ranks, and
// below it the curve that ends at zero, both in their bands.
func TestCalibration(t *testing.T) {
	r := &sbc.Result{
		Sampler: sample.PCNWithinGibbs{}, Names: []string{"theta", "log_lik"}, Draws: 3,
		Ranks: [][]int{{0, 1, 2, 3, 0, 1, 2, 3}, {3, 3, 3, 3, 3, 3, 3, 0}},
	}
	f := Calibration(r, r)
	if len(f.Panels) != 8 || f.Columns != 2 {
		t.Fatalf("%d panels in %d columns, want 8 in 2", len(f.Panels), f.Columns)
	}
	if got := f.Panels[1].Title; got != "pcn: log_lik" {
		t.Errorf("title %q", got)
	}
	bars := f.Panels[1].Layers[1].(viz.Band)
	if want := viz.Bars("", []float64{-0.5, 0.5, 1.5, 2.5, 3.5}, []float64{1, 0, 0, 7}).Hi; fmt.Sprint(bars.Hi) != fmt.Sprint(want) { // with NaN between bars
		t.Errorf("bars %v, want %v", bars.Hi, want)
	}
	curve := f.Panels[3].Layers[1].(viz.Line)
	if want := []float64{0, 1./8 - 1./4, 1./8 - 2./4, 1./8 - 3./4, 0}; !slices.Equal(curve.Y, want) {
		t.Errorf("curve %v, want %v", curve.Y, want)
	}
	if _, err := viz.PNG(f); err != nil {
		t.Error(err)
	}
}

package plots

import (
	"math"
	"testing"

	"github.com/probode/probode/pkg/probode/bayes/certify"
	"github.com/probode/probode/pkg/viz"
)

// The lower panel holds what each setup differs from the last, zero in the middle;
// a point that could not be solved is left out.
func TestLogLikelihoodProfile(t *testing.T) {
	p := &certify.Profile{
		Param: "k", X: []float64{1, 2, 3}, Setups: []string{"RK4, h = 0.5", "reference"},
		LogLikelihood: [][]float64{{-3, -1, math.NaN()}, {-4, -3, -5}},
	}
	f := LogLikelihoodProfile(p)
	if len(f.Panels) != 2 || len(f.Panels[0].Layers) != 2 || len(f.Panels[1].Layers) != 1 {
		t.Fatalf("%+v", f)
	}
	y := f.Panels[1].Layers[0].(viz.Line).Y
	if y[0] != -1 || y[1] != 0 || !math.IsNaN(y[2]) {
		t.Errorf("differences %v, want -1, 0, NaN", y)
	}
	if _, err := viz.PNG(f); err != nil {
		t.Error(err)
	}
	p.Setups, p.LogLikelihood = p.Setups[:1], p.LogLikelihood[:1]
	if f := LogLikelihoodProfile(p); len(f.Panels) != 1 {
		t.Errorf("one setup: %d panels", len(f.Panels))
	}
}

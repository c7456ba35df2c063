package onset_test

import (
	"math"
	"testing"

	"github.com/probode/probode/pkg/probode/internal/onset"
)

// The first step is not longer than a few times a pulse that begins at t, and stays as it
// is if f changes smoothly or if the change has no effect.
func TestStep(t *testing.T) {
	for _, width := range []float64{1e-2, 1e-4, 1e-6, 1e-9} {
		for name, f := range map[string]func(s float64) float64{
			"pulse":     func(s float64) float64 { return -math.Expm1(-s) * math.Exp(-s/2) },
			"late":      func(s float64) float64 { return math.Pow(s, 5) * math.Exp(-5*s) },
			"rectangle": func(s float64) float64 { return max(0, math.Copysign(1, 1-s)) },
			"on":        func(s float64) float64 { return min(s, 1) },
		} {
			input := func(dst []float64, now float64) { dst[0], dst[1] = 0, f((now-3)/width)/width }
			if h := onset.Step(input, 3, 1, []float64{1e-6, 1e-6}); h > 20*width || h < width/100 && name != "rectangle" {
				t.Errorf("%s of width %g: first step %.2g", name, width, h)
			}
			lasts := name == "rectangle" || name == "on" // its effect grows with time
			if h := onset.Step(input, 3, 1, []float64{1e-6, 100}); h != 1 && !lasts {
				t.Errorf("%s of width %g without effect: first step %g, want 1", name, width, h)
			}
		}
	}
	for name, f := range map[string]func(dst []float64, now float64){
		"constant":   func(dst []float64, _ float64) { dst[0] = 5 },
		"sine":       func(dst []float64, now float64) { dst[0] = math.Sin(now) },
		"undefined":  func(dst []float64, now float64) { dst[0] = math.Sqrt(3 - now) },
		"polynomial": func(dst []float64, now float64) { dst[0] = now*now - 6*now },
	} {
		if h := onset.Step(f, 3, 0.5, []float64{1e-12}); h != 0.5 {
			t.Errorf("%s: first step %g, want 0.5", name, h)
		}
	}
}

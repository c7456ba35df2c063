package calibrate

import (
	"math"
	"testing"
)

// The score is that of the formulas, zero and largest where variance and squared
// error are equal.
func TestCriterionFormulas(t *testing.T) {
	for r, score := range map[Criterion]func(v, e2 float64) float64{
		LogScore:      func(v, e2 float64) float64 { return -(math.Log(v)+e2/v)/2 + (math.Log(e2)+1)/2 },
		Bhattacharyya: func(v, e2 float64) float64 { return -math.Log((v/e2+e2/v+2)/4) / 4 },
	} {
		for _, c := range [][2]float64{{3, 3}, {1, 1}, {2, 1}, {1, 3}, {1e-3, 0.2}} {
			got, width := r.match([]float64{math.Log(c[0])}, []float64{math.Log(c[1])})
			if want := score(c[0], c[1]); math.Abs(got-want) > 1e-13*(1+math.Abs(want)) || got > 1e-15 {
				t.Errorf("%v at %v: score %g, want %g", r, c, got, want)
			}
			if want := (c[0] - c[1]) / (c[0] + c[1]); math.Abs(width-want) > 1e-14 {
				t.Errorf("%v at %v: width %g, want %g", r, c, width, want)
			}
		}
	}
	if got := Criterion(7).String(); got != "Criterion(7)" {
		t.Errorf("unknown rule: %q", got)
	}
}

func TestFit(t *testing.T) {
	c := &calibrator{loge2: []float64{0, 0, 0, 0, math.Log(100)}}
	mean, within := c.fit([]float64{0, 0, math.Log(2), math.Log(0.5), 0})
	if want := (1 + 1 + .5 + 2 + 100) / 5; math.Abs(mean-want) > 1e-12 || math.Abs(within[0]-0.2) > 1e-12 || math.Abs(within[1]-0.8) > 1e-12 {
		t.Errorf("mean square %g, within %g: want %g, [0.2 0.8]", mean, within, want)
	}
}

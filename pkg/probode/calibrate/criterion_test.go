package calibrate

import (
	"math"
	"strings"
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

func TestFits(t *testing.T) {
	c := &calibrator{d: 3, used: []int{0, 3, 6, 9, 2}, loge2: []float64{0, 0, 0, 0, math.Log(100)}}
	got := c.fits([]float64{0, 0, math.Log(2), math.Log(0.5), 0})
	want := []Fit{{-1, 5, (1 + 1 + .5 + 2 + 100) / 5, [2]float64{.2, .8}}, {0, 4, 4.5 / 4, [2]float64{.25, 1}}, {2, 1, 100, [2]float64{0, 0}}}
	if len(got) != len(want) {
		t.Fatalf("%d fits, want %d: %v", len(got), len(want), got)
	}
	for i, w := range want {
		if g := got[i]; g.Component != w.Component || g.Points != w.Points || math.Abs(g.MeanSquare-w.MeanSquare) > 1e-12 || g.Within != w.Within {
			t.Errorf("fit %d is %+v, want %+v", i, g, w)
		}
	}
	if s := got[1].String(); !strings.Contains(s, "within 1 sd 25 %") {
		t.Errorf("%q", s)
	}
}

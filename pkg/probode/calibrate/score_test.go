package calibrate

import (
	"context"
	"math"
	"slices"
	"testing"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/adams"
)

// With only some of the normals kept an evaluation is the same to the last bit.
func TestNormalsKeptInPart(t *testing.T) {
	p := &probode.Problem{Name: "decay", X0: []float64{1, 2}, Span: [2]float64{0, 2},
		F: func(f []float64, _ float64, x, _ []float64) { f[0], f[1] = -x[0], x[0]-x[1]*x[1] }}
	c, err := newCalibrator(context.Background(), p, adams.Bashforth{Steps: 2}, Settings{StepSize: 0.1, Paths: 60, Workers: 3})
	if err != nil {
		t.Fatal(err)
	}
	defer c.release()
	var first evaluation
	for i, kept := range []int{60, 60, 17, 0} {
		c.noise = c.noise[:kept]
		e, err := c.evaluate(context.Background(), 0.3, 60)
		if err != nil || !e.ok {
			t.Fatal(err)
		}
		if i == 0 {
			first = e
		} else if e.score != first.score || !slices.Equal(e.without[7], first.without[7]) {
			t.Errorf("%d kept: score %v, want %v", kept, e.score, first.score)
		}
	}
}

// The score of one point in the form of the formula, where that can be computed,
// and its limits where it cannot.
func TestMatch(t *testing.T) {
	for _, v := range [][2]float64{{1, 1}, {2, 1}, {1, 3}, {1e-7, 1e5}, {1e90, 1e-90}} {
		score, width := Bhattacharyya.match([]float64{math.Log(v[0])}, []float64{math.Log(v[1])})
		r := v[0] / v[1]
		if want := -math.Log((r+1/r+2)/4) / 4; math.Abs(score-want) > 1e-13*(1+math.Abs(want)) {
			t.Errorf("v = %g, E² = %g: score %v, want %v", v[0], v[1], score, want)
		}
		if want := 1 - 2/(1+r); math.Abs(width-want) > 1e-13 {
			t.Errorf("v = %g, E² = %g: width %v, want %v", v[0], v[1], width, want)
		}
	}
	if score, width := Bhattacharyya.match([]float64{math.Inf(-1)}, []float64{0}); !math.IsInf(score, -1) || width != -1 {
		t.Errorf("no spread: score %v, width %v", score, width)
	}
}

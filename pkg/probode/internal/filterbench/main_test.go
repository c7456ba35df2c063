package main

import (
	"context"
	"math"
	"testing"

	"github.com/probode/probode/pkg/probode/filter"
)

// The values come from arithmetic with 40 digits. For the likelihoods, the errors of the
// data are those of package filter's own test, and the solution is that of a small step.
func TestAnswer(t *testing.T) {
	of := func(r request) answer {
		a, err := r.answer(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	a := of(request{What: "filter", Q: 2, Step: 0.1, End: 10, Repeat: 2})
	if last := len(a.Mean[0]) - 1; math.Abs(a.Mean[0][last]-1.7129812010623) > 1e-12 || math.Abs(a.SD[1][last]-7.457840e-4) > 1e-9 || !(a.Seconds > 0) {
		t.Errorf("mean %.14g, sd %.8g, %g s", a.Mean[0][last], a.SD[1][last], a.Seconds)
	}
	zero, diagonal := of(request{What: "smooth", Q: 3, Jacobian: filter.Zero, Step: 0.05, End: 1, Repeat: 1}), of(request{What: "smooth", Q: 3, Width: 1, Step: 0.05, End: 1, Repeat: 1})
	if d := diagonal.SD[0][20]; d == zero.SD[0][20] || d == of(request{What: "smooth", Q: 3, Step: 0.05, End: 1, Repeat: 1}).SD[0][20] {
		t.Errorf("the diagonal of the Jacobian gives the sd of another filter, %g", d)
	}
	exact := of(request{What: "smooth", Q: 5, Step: 1. / 512, End: 10, Repeat: 1})
	var y [][]float64
	for i := 1; i <= 10; i++ {
		at := float64(i)
		y = append(y, []float64{exact.Mean[0][512*i] + 0.1*math.Sin(7*at), exact.Mean[1][512*i] + 0.1*math.Cos(5*at)})
	}
	for what, want := range map[string]float64{"fenrir": 22.807979362016, "dalton": 22.69640007774} {
		if got := of(request{What: what, Q: 2, Step: 0.1, End: 10, Y: y, Repeat: 1}).Value; math.Abs(got-want) > 1e-8 {
			t.Errorf("%s: %.14g, want %.14g", what, got, want)
		}
	}
}

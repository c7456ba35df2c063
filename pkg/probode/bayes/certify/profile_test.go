package certify_test

import (
	"context"
	"math"
	"testing"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/bayes/certify"
	"github.com/probode/probode/pkg/probode/methods"
	"github.com/probode/probode/pkg/probode/reference"
)

// The log likelihood by an adaptive solver is jagged, the more the looser the
// tolerance; by the reference, and with equal steps, it is smooth.
func TestProfile(t *testing.T) {
	dp := methods.RungeKutta{Tableau: methods.DormandPrince}
	setups := []probode.Setup{
		controlled(dp, probode.Tolerance{Relative: 1e-4}), controlled(dp, probode.Tolerance{Relative: 1e-7}),
		{Mesh: probode.Uniform(0.25)}, {Mesh: reference.Accurate{}},
	}
	p, err := certify.NewProfile(context.Background(), caseOf(t, "lynx-hare"), setups, []float64{0.545, 0.0276, 0.797, 0.0239, 34, 5.9, 0.25, 0.25}, "theta1", 0.5, 0.52, 200)
	if err != nil {
		t.Fatal(err)
	}
	var j []float64
	for i := range setups {
		j = append(j, jaggedness(p.LogLikelihood[i]))
	}
	if !(j[0] > 10*j[1] && j[0] > 100*j[3] && j[2] < 1e-8 && j[3] < 1e-8) {
		t.Errorf("jaggedness %g, want a loose tolerance far above a tight one, and the others smooth", j)
	}
	if math.IsNaN(p.LogLikelihood[0][0]) || len(p.X) != 200 || p.X[199] != 0.52 {
		t.Errorf("points %v", p.X)
	}
	for _, c := range []struct {
		name string
		lo   float64
	}{{"none", 0.5}, {"theta1", 0.6}} {
		if _, err := certify.NewProfile(context.Background(), caseOf(t, "lynx-hare"), setups, make([]float64, 8), c.name, c.lo, 0.52, 10); err == nil {
			t.Errorf("%v: no error", c)
		}
	}
}

// jaggedness returns how far y lies from a smooth curve: the root mean square of its third
// differences over √20, the factor by which third differences enlarge independent errors.
func jaggedness(y []float64) float64 {
	var sum float64
	for k := 3; k < len(y); k++ {
		d := y[k] - 3*y[k-1] + 3*y[k-2] - y[k-3]
		sum += d * d
	}
	return math.Sqrt(sum / float64(len(y)-3) / 20)
}

package main

import (
	"context"
	"math"
	"strings"
	"testing"
)

// The likelihoods are those that libRoadRunner's simulations with a relative tolerance of
// 1e-12 have. The two values of θ between which a likelihood alternates differ by 1e-10 in
// one parameter.
func TestTask(t *testing.T) {
	ctx := context.Background()
	for name, want := range map[string]float64{"lynx": -124.137591374, "influenza": -64.833631705, "cascade": 119.151104815} {
		r := request{What: "likelihood", Model: "../../model/testdata/petab-" + name + "/problem.yaml", Method: "radau5"}
		for _, r.Relative = range []float64{0, 1e-10} {
			do, err := newTask(ctx, r)
			if err != nil {
				t.Fatal(err)
			}
			var values []float64
			for range 3 {
				v, err := do(ctx)
				if err != nil {
					t.Fatal(err)
				}
				values = append(values, v)
			}
			// The error of the default settings is at most 1e-7.
			if math.Abs(values[0]-want) > 1e-7 || values[1] == values[0] || math.Abs(values[1]-want) > 1e-6 || values[2] != values[0] {
				t.Errorf("%s, tolerance %g: %.12g, want %.12g twice, with another value between", name, r.Relative, values, want)
			}
		}
		r.Relative, r.Absolute = 1e-4, 1e-9
		for _, r.What = range []string{"solve", "gradient"} {
			do, err := newTask(ctx, r)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := do(ctx); err != nil {
				t.Errorf("%s, %s: %v", name, r.What, err)
			}
		}
		r.What = "nothing"
		if _, err := newTask(ctx, r); err == nil || !strings.Contains(err.Error(), "want likelihood, solve or gradient") {
			t.Errorf("%s: the error is %v", name, err)
		}
	}
}

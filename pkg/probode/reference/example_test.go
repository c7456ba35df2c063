package reference_test

import (
	"context"
	"fmt"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/problems"
	"github.com/probode/probode/pkg/probode/reference"
)

func ExampleSolve() {
	ctx := context.Background()
	r, err := reference.Solve(ctx, problems.FitzHughNagumo(), []float64{10, 20}, reference.Settings{})
	if err != nil {
		fmt.Println(err)
		return
	}
	for i, t := range r.Times {
		fmt.Printf("t = %g: V = %.9f, R = %.9f\n", t, r.X[2*i], r.X[2*i+1])
	}
	fmt.Println("accurate to 1e-11:", r.Error[2] < 1e-11 && r.Error[3] < 1e-11)

	// An error of at most 1e-6 of each component, for a problem that is stiff.
	s := reference.Settings{Tolerance: probode.Tolerance{Relative: 1e-6}, Global: true}
	r, err = reference.Solve(ctx, problems.VanDerPol(1e6), []float64{2}, s)
	fmt.Printf("%.6f %v\n", r.X, err)
	// Output:
	// t = 10: V = 1.697079868, R = 0.949544182
	// t = 20: V = 1.896941801, R = 0.304481037
	// accurate to 1e-11: true
	// [1.706168 -0.892810] <nil>
}

package diag_test

import (
	"fmt"
	"math/rand/v2"

	"github.com/probode/probode/pkg/probode/mcmc/diag"
)

// R̂ of four chains that agree, and of four of which one is elsewhere.
func ExampleRHat() {
	rng := rand.New(rand.NewPCG(1, 1))
	x := make([][]float64, 4)
	for c := range x {
		x[c] = make([]float64, 1000)
		for k := range x[c] {
			x[c][k] = rng.NormFloat64()
		}
	}
	fmt.Printf("%.2f\n", diag.RHat(x))
	for k := range x[3] {
		x[3][k] += 2
	}
	fmt.Printf("%.1f\n", diag.RHat(x))
	// Output:
	// 1.00
	// 1.3
}

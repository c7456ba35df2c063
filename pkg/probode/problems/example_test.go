package problems_test

import (
	"fmt"

	"github.com/probode/probode/pkg/probode/problems"
)

func ExampleFitzHughNagumo() {
	p := problems.FitzHughNagumo()
	f := make([]float64, p.Dim())
	p.F(f, 0, p.X0, p.Theta)
	fmt.Println(p.States, p.Params, p.Theta)
	fmt.Printf("%v′ at %v is %.4f\n", p.States, p.X0, f)
	// Output:
	// [V R] [theta1 theta2 theta3] [0.2 0.2 3]
	// [V R]′ at [-1 1] is [1.0000 0.3333]
}

func ExampleAll() {
	for _, p := range problems.All()[:4] {
		fmt.Printf("%s: d = %d, θ = %v, t in %v\n", p.Name, p.Dim(), p.Params, p.Span)
	}
	// Output:
	// logistic: d = 1, θ = [r K], t in [0 2]
	// Lotka–Volterra: d = 2, θ = [a b c d], t in [0 10]
	// Lotka–Volterra (20, 20): d = 2, θ = [a b c d], t in [0 20]
	// SIR: d = 3, θ = [beta gamma], t in [0 200]
}

package probode_test

import (
	"context"
	"fmt"
	"math/rand/v2"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/adams"
	"github.com/probode/probode/pkg/probode/problems"
)

// A problem of one's own needs a vector field, an initial state and a span. The
// Jacobian is taken by differences here.
func ExampleProblem() {
	pendulum := &probode.Problem{
		Name: "pendulum with friction",
		F: func(dst []float64, t float64, x, theta []float64) {
			dst[0] = x[1]
			dst[1] = -x[0] - theta[0]*x[1]
		},
		X0:         []float64{1, 0},
		Span:       [2]float64{0, 10},
		Theta:      []float64{0.2},
		Autonomous: true,
		States:     []string{"angle (rad)", "velocity (rad/s)"},
		Params:     []string{"friction"},
		TimeUnit:   "s",
	}
	ens, err := probode.Integrate(context.Background(), pendulum, adams.Moulton{Steps: 1}, 200, probode.Settings{
		StepSize: 0.25, Alpha: 0.01, Seed: 1, Times: []float64{10}})
	if err != nil {
		panic(err)
	}
	fmt.Printf("%s at t = %g %s: %.3f ± %.3f\n", pendulum.StateName(0), ens.T[0], pendulum.TimeUnit, ens.Mean[0][0], ens.SD[0][0])
	// Output: angle (rad) at t = 10 s: -0.349 ± 0.007
}

// A step that does not divide the span is made smaller, and the grid says so. What is
// wrong with a problem or a step is said before anything is solved.
func ExampleUniformGrid() {
	grid, err := probode.UniformGrid(problems.FitzHughNagumo(), nil, 0.3)
	if err != nil {
		panic(err)
	}
	fmt.Println(grid)
	_, err = probode.UniformGrid(problems.FitzHughNagumo(), nil, 30)
	fmt.Println(err)
	// Output:
	// h = 0.2985074627
	// FitzHugh–Nagumo: the step is 30: want at most 20, the length of the span
}

// A path belongs to its noise: the same ξ gives the same path, and a small move
// of ξ one nearby.
func ExamplePerturbNoise() {
	fhn := problems.FitzHughNagumo()
	grid, err := probode.UniformGrid(fhn, nil, 0.1)
	if err != nil {
		panic(err)
	}
	s, err := probode.NewSolver(fhn, adams.Moulton{}, grid, 0.2)
	if err != nil {
		panic(err)
	}
	z, xi := make([]float64, s.PathLen()), make([]float64, s.NoiseLen())
	probode.DrawNoise(xi, 1, 0)
	rng := rand.New(rand.NewPCG(1, 2))
	for _, beta := range []float64{0, 0.1, 1} {
		probode.PerturbNoise(xi, xi, beta, rng)
		if err := s.Solve(z, fhn.Theta, xi); err != nil {
			panic(err)
		}
		fmt.Printf("moved by %.1f: V(20) = %.2f\n", beta, z[s.PathLen()-2])
	}
	// Output:
	// moved by 0.0: V(20) = 1.72
	// moved by 0.1: V(20) = 1.74
	// moved by 1.0: V(20) = 1.60
}

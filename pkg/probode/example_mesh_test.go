package probode_test

import (
	"context"
	"fmt"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/adams"
)

// Growing is a mesh of one's own: each step is longer than the one before by the same
// factor, for problems that are fast at the beginning only.
type Growing struct{ First, Factor float64 }

func (g Growing) String() string {
	return fmt.Sprintf("h = %g, growing by %g", g.First, g.Factor)
}

// Bind makes a grid of the times, which has everything that a grid can have: noise,
// events and derivatives. A mesh without a grid would return a Path of its own.
func (g Growing) Bind(ctx context.Context, s probode.Setup, p *probode.Problem, at, times []float64) (probode.Path, error) {
	var ends []float64
	for t, h := p.Span[0]+g.First, g.First; t < p.Span[1]; t += h {
		ends = append(ends, t)
		h *= g.Factor
	}
	grid, err := probode.NewGrid(p, at, ends)
	if err != nil {
		return nil, err
	}
	s.Mesh = probode.Fixed{Grid: grid}
	return s.Bind(ctx, p, at, times)
}

// A mesh of one's own solves for ensembles and densities as those of the package do.
func ExampleMesh() {
	p := &probode.Problem{
		Name: "relaxation", Params: []string{"rate"},
		F: func(dst []float64, _ float64, x, theta []float64) {
			dst[0] = -theta[0] * x[0]
			dst[1] = theta[0]*x[0] - 0.1*x[1]
		},
		X0: []float64{1, 0}, Span: [2]float64{0, 10}, Theta: []float64{20}, Autonomous: true,
	}
	setup := probode.Setup{Method: adams.Moulton{Steps: 1}, Mesh: Growing{First: 0.01, Factor: 1.2}}
	fmt.Println(setup)

	path, err := setup.Bind(context.Background(), p, nil, []float64{0.1, 5})
	if err != nil {
		panic(err)
	}
	states := make([]float64, 4)
	if err := path.States(context.Background(), states, []float64{25}, nil); err != nil {
		panic(err)
	}
	fmt.Printf("%.3f at t = 0.1, %.3f at t = 5, %d steps\n", states[0], states[3], path.Work())

	ens, err := probode.Integrate(context.Background(), p, setup.Method, 100, probode.Settings{Mesh: setup.Mesh, Alpha: 0.01})
	if err != nil {
		panic(err)
	}
	fmt.Printf("%d paths on %d steps\n", ens.N, ens.Grid.Steps())
	// Output:
	// AM1 (newton), h = 0.01, growing by 1.2
	// 0.078 at t = 0.1, 0.609 at t = 5, 30 steps
	// 100 paths on 30 steps
}

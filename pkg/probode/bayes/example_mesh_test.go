package bayes_test

import (
	"context"
	"fmt"
	"math"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/bayes"
	"github.com/probode/probode/pkg/probode/bayes/modes"
	"github.com/probode/probode/pkg/probode/methods"
)

// formula is a mesh for problems whose solution is known in closed form.
type formula func(t float64, theta []float64) float64

func (f formula) Bind(_ context.Context, _ probode.Setup, _ *probode.Problem, _, times []float64) (probode.Path, error) {
	return formulaPath{f, times}, nil
}

func (formula) String() string { return "closed form" }

type formulaPath struct {
	f     formula
	times []float64
}

func (p formulaPath) States(_ context.Context, dst, theta, _ []float64) error {
	for n, t := range p.times {
		dst[n] = p.f(t, theta)
	}
	return nil
}

func (formulaPath) NoiseLen() int         { return 0 }
func (formulaPath) Work() int             { return 1 }
func (p formulaPath) Clone() probode.Path { return p } // it has no workspace

// A posterior with a mesh that is not of this module: the states come from the closed form
// x(t) = e^(−θt) of x′ = −θx. No Method is needed, and
// modes, samplers and assessments use the mesh like any other.
func Example_mesh() {
	p := &bayes.Posterior{
		Model: bayes.Model{
			Params: []bayes.Param{{Name: "rate", Prior: distuv.LogNormal{Sigma: 1}}},
			Experiments: []bayes.Experiment{{
				Problem: &probode.Problem{Name: "decay", Params: []string{"rate"}, X0: []float64{1}, Theta: []float64{1}, Span: [2]float64{0, 2},
					F: func(f []float64, _ float64, x, theta []float64) { f[0] = -theta[0] * x[0] }},
				Data:   &bayes.Data{T: []float64{0.5, 1, 2}, Y: [][]float64{{0.66}, {0.46}, {0.2}}},
				Errors: []bayes.Likelihood{bayes.Gaussian{Sigma: bayes.Known(0.05)}},
			}},
		},
		Setup: probode.Setup{Mesh: formula(func(t float64, theta []float64) float64 { return math.Exp(-theta[0] * t) })},
	}
	found, err := modes.Find(context.Background(), p, modes.Settings{Seed: 1})
	if err != nil {
		panic(err)
	}
	fmt.Printf("by %v: rate = %.3f\n", p.Mesh, found.Highest().Theta[0])

	p.Setup = probode.Setup{Method: methods.RungeKutta{}, Mesh: probode.Uniform(0.1)}
	if found, err = modes.Find(context.Background(), p, modes.Settings{Seed: 1}); err != nil {
		panic(err)
	}
	fmt.Printf("by RK4 with steps of 0.1: rate = %.3f\n", found.Highest().Theta[0])
	// Output:
	// by closed form: rate = 0.800
	// by RK4 with steps of 0.1: rate = 0.800
}

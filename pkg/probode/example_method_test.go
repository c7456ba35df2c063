package probode_test

import (
	"context"
	"fmt"
	"strings"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/bayes"
	"github.com/probode/probode/pkg/probode/bayes/assess"
	"github.com/probode/probode/pkg/probode/bayes/sample"
	"github.com/probode/probode/pkg/probode/calibrate"
	"github.com/probode/probode/pkg/probode/mcmc"
)

// Verlet is the method of Störmer and Verlet for q″ = a(q), with x = (q, q′),
// made probabilistic by noise of the size of its error: a method from outside
// of the package. It is symplectic and of second order.
type Verlet struct{}

func (Verlet) String() string { return "Störmer–Verlet" }
func (Verlet) Order() int     { return 2 }

func (Verlet) Noise(d int) probode.Noise {
	return probode.Noise{Normals: d, Exponent: 2.5}
}

func (Verlet) Stepper(p *probode.Problem, _ *probode.Grid) (*probode.Stepper, error) {
	if p.Dim()%2 != 0 {
		return nil, fmt.Errorf("%d components: want positions and as many velocities", p.Dim())
	}
	d := p.Dim()
	v := &verlet{p, make([]float64, d), make([]float64, d), make([]float64, d), make([]float64, d)}
	return &probode.Stepper{Step: v.step, Reverse: v.reverse}, nil
}

type verlet struct {
	p               *probode.Problem
	f               []float64
	half, grad, lam []float64 // of reverse
}

func (v *verlet) step(s *probode.Step) error {
	x, h, n := s.Next, s.H, len(s.X)/2
	copy(x, s.X)
	v.p.F(v.f, s.T, x, s.Theta)
	for k := range n {
		x[n+k] += h / 2 * v.f[n+k]
		x[k] += h * x[n+k]
	}
	v.p.F(v.f, s.End, x, s.Theta)
	for k := range n {
		x[n+k] += h / 2 * v.f[n+k]
	}
	for k, xi := range s.Xi {
		x[k] += s.Scale[k] * xi
	}
	return nil
}

// reverse goes back through the second half of the velocity, the positions and the first
// half of the velocity.
func (v *verlet) reverse(a *probode.Adjoint, s *probode.Step) error {
	h, n := s.H, len(s.X)/2
	a.Noise(s.Xi, s.Scale)
	copy(v.half, s.X)
	v.p.F(v.f, s.T, s.X, s.Theta)
	for k := range n {
		v.half[n+k] += h / 2 * v.f[n+k]
		v.half[k] += h * v.half[n+k]
	}
	copy(v.grad, a.Next) // the gradient with respect to half
	for k := range n {
		v.lam[n+k] = h / 2 * a.Next[n+k]
	}
	a.Field(v.grad, v.lam, s.End, 1, v.half, s.Theta)
	for k := range n {
		v.grad[n+k] += h * v.grad[k]
		v.lam[n+k] = h / 2 * v.grad[n+k]
		a.X[k] += v.grad[k]
		a.X[n+k] += v.grad[n+k]
		a.Length += v.half[n+k]*v.grad[k] + v.f[n+k]*v.grad[n+k]/2
	}
	a.Field(a.X, v.lam, s.T, 0, s.X, s.Theta)
	if a.Moves {
		v.p.F(v.f, s.End, v.half, s.Theta)
		for k := range n {
			a.Length += v.f[n+k] * a.Next[n+k] / 2
		}
	}
	return nil
}

// oscillator is q″ = −ω² q.
func oscillator() *probode.Problem {
	return &probode.Problem{
		Name: "oscillator", States: []string{"q", "v"}, Params: []string{"omega"},
		F: func(dst []float64, _ float64, x, theta []float64) {
			dst[0], dst[1] = x[1], -theta[0]*theta[0]*x[0]
		},
		X0: []float64{1, 0}, Span: [2]float64{0, 10}, Theta: []float64{2}, Autonomous: true,
	}
}

// A method of one's own has ensembles, calibration, frozen grids and
// derivatives of paths.
func ExampleMethod() {
	ctx, p, m := context.Background(), oscillator(), Verlet{}
	cal, err := calibrate.Run(ctx, p, m, calibrate.Settings{StepSize: 0.1, Paths: 400, Seed: 1})
	if err != nil {
		panic(err)
	}
	ens, err := probode.Integrate(ctx, p, m, 400, probode.Settings{StepSize: 0.1, Alpha: cal.Alpha, Seed: 2, Times: []float64{10}})
	if err != nil {
		panic(err)
	}
	fmt.Printf("q(10) = %.2f ± %.2f\n", ens.Mean[0][0], ens.SD[0][0])

	g, err := probode.Setup{Method: m, Mesh: probode.Frozen{Tolerance: probode.Tolerance{Relative: 1e-4}}}.Grid(ctx, p, nil, nil)
	if err != nil {
		panic(err)
	}
	s, err := probode.NewSolver(p, m, g, 0)
	if err != nil {
		panic(err)
	}
	z, dz := make([]float64, s.PathLen()), make([]float64, s.PathLen())
	if err := s.SolveTangents(z, dz, p.Theta, []float64{1}, nil); err != nil {
		panic(err)
	}
	last := len(z) - 2
	fmt.Printf("q(10) = %.2f, its derivative in omega %.1f\n", z[last], dz[last])

	w, grad := make([]float64, len(z)), &probode.Gradient{Theta: make([]float64, 1)}
	w[last] = 1
	if err := s.Gradient(grad, w, z, p.Theta, nil); err != nil {
		panic(err)
	}
	fmt.Printf("backwards %.1f\n", grad.Theta[0])
	// Output:
	// q(10) = 0.38 ± 0.02
	// q(10) = 0.41, its derivative in omega -9.1
	// backwards -9.1
}

// And inference: a chain over (θ, ξ), and the answer whether its error matters.
func ExampleMethod_inference() {
	ctx := context.Background()
	post := &bayes.Posterior{
		Model: bayes.Model{
			Params: []bayes.Param{{Name: "omega", Prior: distuv.LogNormal{Mu: 0.7, Sigma: 0.2}}},
			Experiments: []bayes.Experiment{{
				Problem: oscillator(),
				Data: &bayes.Data{ // of ω = 2 with errors of 0.1
					T: []float64{0.5, 1, 1.5, 2, 2.5, 3},
					Y: [][]float64{{0.45}, {-0.35}, {-1.1}, {-0.6}, {0.2}, {1.05}},
				},
				Observe: func(dst []float64, _ float64, x, _ []float64) { dst[0] = x[0] },
				Errors:  []bayes.Likelihood{bayes.Gaussian{Sigma: bayes.Known(0.1)}},
			}},
		},
		Setup: probode.Setup{Method: Verlet{}, Mesh: probode.Uniform(0.1), Alpha: 1},
	}
	chains, err := sample.Run(ctx, post, sample.PCNWithinGibbs{}, mcmc.Settings{Draws: 500, Chains: 2, Seed: 1})
	if err != nil {
		panic(err)
	}
	fmt.Println(chains.Names, len(chains.Draws), "chains of", len(chains.Draws[0]))
	found, err := assess.Run(ctx, post, assess.Settings{
		Candidates: []probode.Setup{post.WithStepSize(0.025)}, Chains: mcmc.Settings{Draws: 100, Chains: 2, Seed: 1}})
	if err != nil {
		panic(err)
	}
	answer, _, _ := strings.Cut(found.Answer(), "\n")
	fmt.Println(answer)
	// Output:
	// [omega] 2 chains of 500
	// Störmer–Verlet, h = 0.025: the solver's error does not matter.
}

package probode_test

import (
	"context"
	"fmt"

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

func (Verlet) Stepper(p *probode.Problem, g *probode.Grid) (probode.Stepper, error) {
	if p.Dim()%2 != 0 {
		return nil, fmt.Errorf("%d components: want positions and as many velocities", p.Dim())
	}
	d := p.Dim()
	return &verlet{p, g, make([]float64, d), make([]float64, d), make([]float64, d), make([]float64, d)}, nil
}

type verlet struct {
	p               *probode.Problem
	g               *probode.Grid
	f               []float64
	half, grad, lam []float64 // of Reverse
}

func (*verlet) Start(int, []float64, []float64) error { return nil } // it has no past

func (s *verlet) Step(dst []float64, i int, x, theta, xi, scale []float64) error {
	t, h, n := s.g.Times()[i], s.g.H(i), len(x)/2
	copy(dst, x)
	s.p.F(s.f, t, dst, theta)
	for k := range n {
		dst[n+k] += h / 2 * s.f[n+k]
		dst[k] += h * dst[n+k]
	}
	s.p.F(s.f, t+h, dst, theta)
	for k := range n {
		dst[n+k] += h / 2 * s.f[n+k]
	}
	for k, v := range xi {
		dst[k] += scale[k] * v
	}
	return nil
}

// Reverse goes back through the second half of the velocity, the positions and the first
// half of the velocity.
func (s *verlet) Reverse(a *probode.Adjoint, i int, x, _, theta, xi, scale []float64) error {
	t, h, n := s.g.Times()[i], s.g.H(i), len(x)/2
	a.Noise(xi, scale)
	copy(s.half, x)
	s.p.F(s.f, t, x, theta)
	for k := range n {
		s.half[n+k] += h / 2 * s.f[n+k]
		s.half[k] += h * s.half[n+k]
	}
	copy(s.grad, a.Next) // the gradient with respect to half
	for k := range n {
		s.lam[n+k] = h / 2 * a.Next[n+k]
	}
	a.Field(s.grad, s.lam, t+h, 1, s.half, theta)
	for k := range n {
		s.grad[n+k] += h * s.grad[k]
		s.lam[n+k] = h / 2 * s.grad[n+k]
		a.X[k] += s.grad[k]
		a.X[n+k] += s.grad[n+k]
		a.Length += s.half[n+k]*s.grad[k] + s.f[n+k]*s.grad[n+k]/2
	}
	a.Field(a.X, s.lam, t, 0, x, theta)
	if a.Moves {
		s.p.F(s.f, t+h, s.half, theta)
		for k := range n {
			a.Length += s.f[n+k] * a.Next[n+k] / 2
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
		Steps: []float64{0.05, 0.025}, Chains: mcmc.Settings{Draws: 1000, Chains: 2, Seed: 1}})
	if err != nil {
		panic(err)
	}
	fmt.Println("the error does not matter up to h =", found.Largest)
	// Output:
	// [omega] 2 chains of 500
	// the error does not matter up to h = 0.05
}

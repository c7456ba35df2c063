package methods

import (
	"testing"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/problems"
)

// Nanoseconds a step, with noise.
func BenchmarkStep(b *testing.B) {
	for _, p := range []*probode.Problem{problems.FitzHughNagumo(), problems.HIRES(), problems.Brusselator(40)} {
		for _, name := range []string{"gauss1", "gauss2", "radau3", "radau5", "random:gauss1"} {
			b.Run(p.Name+" "+name, func(b *testing.B) { bench(b, p, name, false) })
		}
	}
}

// Nanoseconds a step with its derivative along each parameter.
func BenchmarkTangents(b *testing.B) {
	p := problems.FitzHughNagumo()
	for _, name := range []string{"rk4", "ab3", "am1", "gauss2", "radau5"} {
		b.Run(name, func(b *testing.B) { bench(b, p, name, true) })
	}
}

func bench(b *testing.B, p *probode.Problem, name string, tangents bool) {
	m, err := Parse(name)
	if err != nil {
		b.Fatal(err)
	}
	s, err := probode.NewSolver(p, m, uniform(b, p, p.Span[1]/1000), 1e-9)
	if err != nil {
		b.Fatal(err)
	}
	n := len(p.Theta)
	z, xi, dtheta := make([]float64, s.PathLen()), make([]float64, s.NoiseLen()), make([]float64, n*n)
	dz := make([]float64, n*len(z))
	for j := range n {
		dtheta[j*(n+1)] = 1
	}
	for b.Loop() {
		if tangents {
			err = s.SolveTangents(z, dz, p.Theta, dtheta, xi)
		} else {
			err = s.Solve(z, p.Theta, xi)
		}
		if err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*s.Steps()), "ns/step")
}

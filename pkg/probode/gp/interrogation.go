package gp

import (
	"fmt"
	"math"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/internal/vector"
)

// Interrogation is the solver of Chkrebtii et al. [C16]. At each grid point, the solver
// evaluates f at the current state, conditions the process on this value, and draws the
// next state from the process:
//
//	Z_{n+1} = z₀ + Σⱼ w_{nj} f(tⱼ, Zⱼ) + √α h^{3/2} c_n ξ_n,   j ≤ n.
//
// The software of Chkrebtii et al. uses the same formula for the next state. In another
// reading of Algorithm 1 of [C16], each value of f is treated as a noisy observation. The
// variance of the noise is the predictive variance of x′ at the time of the observation.
// With such noise and with ℓ proportional to h, the path does not converge as h → 0,
// because the predictions of x′ remain biased towards zero, the prior mean.
//
// Algorithm 2 of [C16], a sampler that draws θ and a new path together, corresponds to
// sample.PseudoMarginal with one particle.
type Interrogation struct {
	// Length is the length scale ℓ in steps, from 0.5 to 1.5; zero means 1. The choice λ
	// = h in [C16] corresponds to ℓ = √2. A larger ℓ makes the error smaller, but
	// requires smaller steps for the paths to be stable.
	Length float64
}

func (m Interrogation) String() string { return describe("interrogation", m.Length) }

// Order returns 1.
func (Interrogation) Order() int { return 1 }

func (Interrogation) Noise(d int) probode.Noise { return probode.Noise{Normals: d, Exponent: 1.5} }

func (m Interrogation) Stepper(p *probode.Problem, g *probode.Grid) (*probode.Stepper, error) {
	s, err := newStepper(p, g, m.Length, func(r *regression) *table {
		t := new(table)
		for _, next := range r.tau[1:] {
			r.observe()
			c := r.state(next)
			t.weights = append(t.weights, r.weights(c))
			t.root = append(t.root, []float64{math.Sqrt(max(0, r.states(next, next)-vector.Dot(c, c)))})
		}
		return t
	})
	if err != nil {
		return nil, err
	}
	i := &interrogation{s}
	return &probode.Stepper{Start: i.start, Step: i.step, Memory: s.memory(), Save: s.save, Restore: s.restore}, nil
}

type interrogation struct{ *stepper }

func (s *interrogation) start(step *probode.Step) error {
	s.begin(step.Index, step.X)
	return nil
}

func (s *interrogation) step(step *probode.Step) error {
	n, t := step.Index-s.from, s.tables[s.from]
	s.p.F(s.rows[n*s.d:(n+1)*s.d], step.T, step.X, step.Theta)
	s.mean(step.Next, t.weights[n])
	for k, v := range step.Xi {
		step.Next[k] += step.Scale[k] * t.root[n][0] * v
	}
	return nil
}

func describe(name string, length float64) string {
	if length == 0 {
		return name
	}
	return fmt.Sprintf("%s (ℓ = %.4g h)", name, length)
}

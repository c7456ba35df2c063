package gp

import (
	"errors"
	"math"
	"slices"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/internal/vector"
)

// Block is the solver of Hennig and Hauberg [HH14], which is based on an idea of Skilling
// [S91]. The mean of the process is computed at all grid points of a segment together. At
// each grid point, the derivative of the mean is equal to f evaluated at the mean. Block
// is therefore a collocation method, in which the value of f at a grid point also affects
// earlier states. The equations for the mean are solved by repeated sweeps over the grid.
// A path is the mean plus a joint Gaussian draw:
//
//	Zᵢ = m(tᵢ) + √α h^{3/2} Σⱼ Lᵢⱼ ξⱼ,   j < i.
//
// The right-hand side f is never evaluated on the path, so the spread of the paths does
// not depend on the problem.
type Block struct {
	// Length is the length scale ℓ in steps, from 0.5 to 1.5; zero means 1. A larger ℓ
	// reduces the error, but the sweeps converge only with smaller steps.
	Length float64
}

func (m Block) String() string { return describe("block", m.Length) }

// Order returns 1, the order of convergence as h → 0. On the oscillator x″ = sin 2t − x
// of [C16], the errors at t = 10 are .0037, .0025, .0014 and .0008 for h = .2, .1, .05
// and .025. For large steps the error is not yet proportional to h, and step halving
// underestimates the local error.
func (Block) Order() int { return 1 }

func (Block) Noise(d int) probode.Noise { return probode.Noise{Normals: d, Exponent: 1.5} }

func (m Block) Stepper(p *probode.Problem, g *probode.Grid) (*probode.Stepper, error) {
	s, err := newStepper(p, g, m.Length, func(r *regression) *table {
		for range r.tau {
			r.observe()
		}
		t := new(table)
		for _, at := range r.tau[1:] {
			t.weights = append(t.weights, r.weights(r.state(at)))
		}
		t.root = r.root()
		return t
	})
	if err != nil {
		return nil, err
	}
	b := &block{stepper: s, f: make([]float64, s.d)}
	return &probode.Stepper{Start: b.start, Step: b.step, Memory: b.memory(), Save: b.save, Restore: b.restore}, nil
}

// root is of the covariance of all states but the first, given all derivatives.
func (r *regression) root() [][]float64 {
	var root cholesky
	var known [][]float64
	for i, at := range r.tau[1:] {
		known = append(known, r.state(at))
		c := make([]float64, i, i+1)
		for j := range c {
			c[j] = r.states(at, r.tau[j+1]) - vector.Dot(known[i], known[j])
		}
		// Increasing the variance by one part in a million keeps the factorisation
		// stable.
		root = root.add(c, (r.states(at, at)-vector.Dot(known[i], known[i]))*(1+1e-6))
	}
	return root
}

type block struct {
	*stepper
	f    []float64
	mean []float64 // at the grid points of the segment; rows then holds the noise
	of   []float64 // the grid point, the state and θ from which mean was computed
}

var errSweeps = errors.New("the sweeps over the grid do not converge: try a smaller step or a shorter span")

// start reuses the mean of the previous path, or takes f at the previous point for the
// first sweep.
func (s *block) start(step *probode.Step) error {
	const sweeps = 500
	i, x, theta := step.Index, step.X, step.Theta
	d, tab := s.d, s.begin(i, x)
	if s.from == s.to {
		return nil
	}
	of := slices.Concat([]float64{float64(i)}, x, theta)
	if slices.Equal(of, s.of) {
		return nil
	}
	s.of = nil
	n := s.to - s.from
	s.mean = append(s.mean[:0], make([]float64, (n+1)*d)...)
	copy(s.mean, x)
	s.p.F(s.f, s.g.Times()[s.from], x, theta)
	for j := range n + 1 {
		copy(s.rows[j*d:], s.f)
	}
	for sweep := range sweeps {
		change, size := 0.0, 0.0
		for j := 1; j <= n; j++ {
			m := s.mean[j*d : (j+1)*d]
			copy(s.f, m)
			s.stepper.mean(m, tab.weights[j-1])
			for k, v := range m {
				if !(math.Abs(v) < probode.TooLarge) {
					return probode.ErrDiverged
				}
				change, size = max(change, math.Abs(v-s.f[k])), max(size, math.Abs(v))
			}
			s.p.F(s.rows[j*d:(j+1)*d], s.g.End(s.from+j-1), m, theta)
			for l := j + 1; sweep == 0 && l <= n; l++ {
				copy(s.rows[l*d:(l+1)*d], s.rows[j*d:])
			}
		}
		if change <= 1e-13*size {
			s.of = of
			return nil
		}
	}
	return errSweeps
}

func (s *block) step(step *probode.Step) error {
	n := step.Index - s.from
	copy(step.Next, s.mean[(n+1)*s.d:(n+2)*s.d])
	for k, v := range step.Xi {
		s.rows[n*s.d+k] = step.Scale[k] * v
	}
	for j := 0; step.Xi != nil && j <= n; j++ {
		for k := range step.Next {
			step.Next[k] += s.tables[s.from].root[n][j] * s.rows[j*s.d+k]
		}
	}
	return nil
}

// memory, save and restore include the mean of the process.
func (s *block) memory() int { return 2*s.stepper.memory() - 1 - s.d }

func (s *block) save(dst []float64) {
	s.stepper.save(dst)
	copy(dst[s.stepper.memory():], s.mean)
}

func (s *block) restore(src []float64) {
	s.stepper.restore(src)
	s.of = nil
	s.mean = append(s.mean[:0], src[s.stepper.memory():]...)
}

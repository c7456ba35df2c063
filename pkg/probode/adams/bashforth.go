package adams

import (
	"cmp"
	"fmt"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/internal/vector"
	"github.com/probode/probode/pkg/probode/methods"
)

// Bashforth is the explicit s-step Adams method, of order s,
//
//	Z_{i+1} = Zᵢ + h Σ_{j=0}^{s−1} β_j F_{i−j} + √α h^{s+1/2} ξᵢ,   ξᵢ ~ N(0, I),
//
// so that Σ_Z = α h^{2s+1} I [T16; T18, §2.3]. If the Scaling is probode.ScaleLocal, the
// standard deviation of the noise in a step is proportional to the local truncation error
// of that step. With α = 1/N for N steps, the standard deviation of the noise equals the
// size of the local truncation error, as in [T16]. The method is stable only if the steps
// are small compared with the shortest time scale of the problem. A larger s requires
// smaller steps.
type Bashforth struct {
	// Steps is the number s of steps, from 1 to 5. Steps = 0 and Steps = 1 both give the
	// forward Euler method.
	Steps int
}

func (m Bashforth) steps() int { return cmp.Or(m.Steps, 1) }

func (m Bashforth) String() string { return fmt.Sprintf("AB%d", m.steps()) }
func (m Bashforth) Order() int     { return m.steps() }

func (m Bashforth) Noise(d int) probode.Noise {
	return probode.Noise{Normals: d, Exponent: float64(m.steps()) + 0.5, Quiet: m.steps() - 1}
}

func (m Bashforth) Stepper(p *probode.Problem, g *probode.Grid) (probode.Stepper, error) {
	if m.Steps < 0 || m.Steps > 5 {
		return nil, fmt.Errorf("the number of steps is %d: want 1 to 5", m.Steps)
	}
	past, err := newHistory(p, g, m.steps())
	if err != nil {
		return nil, err
	}
	return &bashforth{history: past, beta: newTable(g, m.steps(), false)}, nil
}

// The type `bashforth` is the Stepper of the explicit methods.
type bashforth struct {
	history
	beta   *table
	higher *table // for the error estimate
}

func (a *bashforth) Step(dst []float64, i int, x, theta, xi, scale []float64) error {
	a.last = i
	if a.starting(i) {
		if err := a.startStep(dst, i, x, theta); err != nil || a.quiet() {
			return err
		}
	} else {
		a.p.F(a.row(i), a.g.Times()[i], x, theta)
		copy(dst, x)
		a.add(dst, a.g.H(i), a.beta.at(i), i)
	}
	for k, v := range xi {
		dst[k] += scale[k] * v
	}
	return nil
}

// LocalError compares the result of the step with that of the implicit Adams method of
// the next higher order.
func (a *bashforth) LocalError(dst []float64, i int, x, next, theta []float64) error {
	if a.starting(i) {
		return a.doubled(methods.RungeKutta{}, dst, i, x, next, theta)
	}
	if a.higher == nil {
		a.higher = newTable(a.g, len(a.beta.uniform), true)
	}
	return a.versus(a.higher, dst, i, x, next, theta)
}

// Runs reports whether the grid is uniform. Run requires a uniform grid.
func (a *bashforth) Runs() bool {
	_, uniform := a.g.Uniform()
	return uniform
}

// Run takes the steps of one segment.
func (a *bashforth) Run(z []float64, from, to int, theta, xi, scale []float64) (int, error) {
	d, f, t := a.d, a.p.F, a.g.Times()
	h, _ := a.g.Uniform()
	var b [5]float64
	beta := a.beta.at(from)
	for j, v := range beta {
		b[j] = v * h
	}
	for i := from; i < to; i++ {
		x, next := row(z, i, d), row(z, i+1, d)
		normals := part(xi, i, d)
		if a.starting(i) {
			if err := a.Step(next, i, x, theta, normals, scale); err != nil {
				return i, err
			}
		} else {
			now := a.row(i)
			f(now, t[i], x, theta)
			for k, v := range now[:len(next)] {
				next[k] = x[k] + b[0]*v
			}
			for j := 1; j < len(beta); j++ {
				c := b[j]
				for k, v := range a.row(i - j)[:len(next)] {
					next[k] += c * v
				}
			}
			for k, v := range normals {
				next[k] += scale[k] * v
			}
		}
		a.last = i
		if err := diverged(next); err != nil {
			return i, err
		}
	}
	return to, nil
}

func (a *bashforth) Differentiate(dnext []float64, i int, x, next, theta, xi, _ []float64, tg *probode.Tangents) error {
	a.differentiator(tg.M, false)
	if a.starting(i) {
		if err := a.differentiateStart(dnext, i, x, next, theta, tg); err != nil {
			return err
		}
		if a.quiet() {
			return nil
		}
	} else {
		a.differentiateSlope(i, x, theta, tg)
		h, beta := a.g.H(i), a.beta.at(i)
		for m := range tg.M {
			_, dx, _, dh := tg.Direction(m)
			to := row(dnext, m, a.d)
			copy(to, dx)
			a.addSlopes(to, h, beta, i, m)
			a.add(to, dh, beta, i)
		}
	}
	for m := range tg.M {
		tg.AddNoise(row(dnext, m, a.d), m, xi)
	}
	return nil
}

// Reverse propagates gradients back through step i. The last step is reversed first, so
// the gradient with respect to F_i is complete when step i is reversed. Reverse propagates
// the gradient with respect to F_i to the state and to θ.
func (a *bashforth) Reverse(to *probode.Adjoint, i int, x, next, theta, xi, scale []float64) error {
	a.reverse()
	if a.starting(i) {
		if err := a.reverseStart(to, i, x, next, theta); err != nil || a.quiet() {
			return err
		}
	} else {
		h, beta := a.g.H(i), a.beta.at(i)
		vector.AddScaled(to.X, 1, to.Next)
		a.reverseSum(h, beta, i, to.Next)
		if to.Moves { // next is x + h Σ_j β_j F_{i−j} plus the noise
			for k, v := range to.Next {
				move := next[k] - x[k]
				if xi != nil {
					move -= scale[k] * xi[k]
				}
				to.Length += v * move / h
			}
		}
		a.reverseSlope(to, i, x, theta)
	}
	to.Noise(xi, scale)
	return nil
}

package adams

import (
	"cmp"
	"fmt"

	"github.com/probode/probode/pkg/probode"
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

func (m Bashforth) Stepper(p *probode.Problem, g *probode.Grid) (*probode.Stepper, error) {
	if m.Steps < 0 || m.Steps > 5 {
		return nil, fmt.Errorf("the number of steps is %d: want 1 to 5", m.Steps)
	}
	past, err := newHistory(p, g, m.steps())
	if err != nil {
		return nil, err
	}
	a := &bashforth{history: past, beta: newTable(g, m.steps(), false)}
	s := a.stepper()
	s.Step, s.LocalError, s.Run, s.Differentiate, s.Reverse = a.take, a.localError, a.run, a.differentiate, a.reverse
	return s, nil
}

type bashforth struct {
	history
	beta   *table
	higher *table // for the error estimate
}

func (a *bashforth) take(s *probode.Step) error {
	i, dst := a.step(s.T), s.Next
	if a.starting(i) {
		if err := a.startStep(i, s); err != nil {
			return err
		}
	} else {
		a.p.F(a.row(i), s.T, s.X, s.Theta)
		copy(dst, s.X)
		a.add(dst, s.H, a.beta.at(&a.history, i, s.End), i)
	}
	for k, v := range s.Xi {
		dst[k] += s.Scale[k] * v
	}
	return nil
}

// localError compares the result of the step with that of the implicit Adams method of
// the next higher order.
func (a *bashforth) localError(dst []float64, s *probode.Step) error {
	i := a.last()
	if a.starting(i) {
		return a.doubled(methods.RungeKutta{}, dst, s)
	}
	if a.higher == nil {
		a.higher = newTable(nil, len(a.beta.uniform), true)
	}
	return a.versus(a.higher, dst, i, s)
}

func (a *bashforth) run(r *probode.Run) (int, error) {
	d, f, h, theta := a.d, a.p.F, r.H, r.Theta
	var b [5]float64
	beta := a.beta.uniform
	for j, v := range beta {
		b[j] = v * h
	}
	for n := range len(r.T) - 1 {
		x, next := row(r.Z, n, d), row(r.Z, n+1, d)
		i := a.step(r.T[n])
		if a.starting(i) {
			a.one = probode.Step{T: r.T[n], End: r.T[n+1], H: h, X: x, Next: next, Theta: theta}
			if err := a.startStep(i, &a.one); err != nil {
				return n, err
			}
		} else {
			now := a.row(i)
			f(now, r.T[n], x, theta)
			for k, v := range now[:len(next)] {
				next[k] = x[k] + b[0]*v
			}
			for j := 1; j < len(beta); j++ {
				c := b[j]
				for k, v := range a.row(i - j)[:len(next)] {
					next[k] += c * v
				}
			}
		}
		if err := a.noise(r, n, next); err != nil {
			return n, err
		}
	}
	return len(r.T) - 1, nil
}

// noise adds the noise of step n. In a function of its own, its loops keep their registers.
func (a *bashforth) noise(r *probode.Run, n int, next []float64) error {
	if xi := r.Xi; xi != nil {
		scale := r.Scale[:len(next)]
		for k, v := range xi[n*len(next):][:len(next)] {
			next[k] += scale[k] * v
		}
	} else if r.Added != nil {
		for k, v := range r.Added[n*len(next):][:len(next)] {
			next[k] += v
		}
	}
	return diverged(next)
}

func (a *bashforth) differentiate(dnext []float64, s *probode.Step, tg *probode.Tangents) error {
	a.differentiator(tg.M, false)
	i := a.last()
	if a.starting(i) {
		if err := a.differentiateStart(dnext, i, s, tg); err != nil {
			return err
		}
	} else {
		a.differentiateSlope(i, s, tg)
		beta := a.beta.at(&a.history, i, s.End)
		for m := range tg.M {
			_, dx, _, dh := tg.Direction(m)
			to := row(dnext, m, a.d)
			copy(to, dx)
			a.addSlopes(to, s.H, beta, i, m)
			a.add(to, dh, beta, i)
		}
	}
	for m := range tg.M {
		tg.AddNoise(row(dnext, m, a.d), m, s.Xi)
	}
	return nil
}

// reverse begins with the last step, so that the gradient with respect to F_i is complete
// when step i is reversed, and goes to the state and to θ.
func (a *bashforth) reverse(to *probode.Adjoint, s *probode.Step) error {
	i := a.history.reverse(to)
	to.Noise(s.Xi, s.Scale)
	if a.starting(i) {
		if err := a.reverseStart(to, i, s); err != nil {
			return err
		}
	} else {
		for k, v := range to.Next[:len(to.X)] {
			to.X[k] += v
		}
		a.reverseSum(s.H, a.beta.at(&a.history, i, s.End), i, to.Next)
		if to.Moves { // s.Next is s.X + h Σ_j β_j F_{i−j} plus the noise
			for k, v := range to.Next {
				move := s.Next[k] - s.X[k]
				if s.Xi != nil {
					move -= s.Scale[k] * s.Xi[k]
				}
				to.Length += v * move / s.H
			}
		}
		a.reverseSlope(to, i, s)
	}
	return nil
}

package probode

import (
	"fmt"
	"math"
)

// AdamsBashforth is the explicit s-step Adams method, of order s,
//
//	Z_{i+1} = Zᵢ + h Σ_{j=0}^{s−1} β_j F_{i−j} + √α h^{s+1/2} ξᵢ,   ξᵢ ~ N(0, I),
//
// so that Σ_Z = α h^{2s+1} I [T16; T18, §2.3]. It is stable only for steps
// that are small against the fastest time scale of the problem, the smaller
// the larger s.
type AdamsBashforth struct {
	// Steps is s, 1 to 5. Zero means 1, which is the forward Euler method.
	Steps int
}

func (m AdamsBashforth) steps() int {
	if m.Steps < 0 || m.Steps > 5 {
		panic(fmt.Sprintf("probode: AdamsBashforth with %d steps: want 1 to 5", m.Steps))
	}
	return max(1, m.Steps)
}

func (m AdamsBashforth) String() string { return fmt.Sprintf("AB%d", m.steps()) }
func (m AdamsBashforth) Order() int     { return m.steps() }

func (m AdamsBashforth) Noise(d int) Noise {
	return Noise{Normals: d, Exponent: float64(m.steps()) + 0.5, Quiet: m.steps() - 1}
}

func (m AdamsBashforth) Stepper(p *Problem, g *Grid) (Stepper, error) {
	a := &adamsBashforth{past: newPast(p, g, m.steps()), beta: newAdamsTable(g, m.steps(), false)}
	return a, a.enough(m)
}

// An adamsBashforth makes the explicit steps.
type adamsBashforth struct {
	past
	beta   *adamsTable
	higher *adamsTable // of the error estimate
}

func (a *adamsBashforth) Step(dst []float64, i int, x, theta, xi, scale []float64) error {
	a.last = i
	if a.starting(i) {
		if err := a.startStep(dst, i, x, theta); err != nil || a.quiet() {
			return err
		}
	} else {
		a.p.F(a.row(i), a.g.t[i], x, theta)
		copy(dst, x)
		a.add(dst, a.g.H(i), a.beta.at(i), i)
	}
	for k, v := range xi {
		dst[k] += scale[k] * v
	}
	return nil
}

// LocalError is the difference to the implicit method of one order more.
func (a *adamsBashforth) LocalError(dst []float64, i int, x, next, theta []float64) error {
	if a.starting(i) {
		return a.doubled(RungeKutta{}, dst, i, x, next, theta)
	}
	if a.higher == nil {
		a.higher = newAdamsTable(a.g, len(a.beta.uniform), true)
	}
	return a.versus(a.higher, dst, i, x, next, theta)
}

// Runs is true on uniform grids.
func (a *adamsBashforth) Runs() bool { return a.g.h > 0 }

// Run makes steps of one segment.
func (a *adamsBashforth) Run(z []float64, from, to int, theta, xi, scale []float64) (int, error) {
	d, f, t := a.d, a.p.F, a.g.t
	var b [5]float64
	beta := a.beta.at(from)
	for j, v := range beta {
		b[j] = v * a.g.h
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
		for _, v := range next {
			if !(math.Abs(v) < tooLarge) {
				return i, ErrDiverged
			}
		}
	}
	return to, nil
}

func (a *adamsBashforth) Differentiate(dnext []float64, i int, x, next, theta, xi, _ []float64, tg *Tangents) error {
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

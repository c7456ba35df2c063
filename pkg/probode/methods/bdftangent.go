package methods

import "github.com/probode/probode/pkg/probode"

// A bdfTangent holds the derivatives of the past states, row i mod 8 that of
// grid point i, M×d.
type bdfTangent struct {
	past [bdfWindow][]float64
	psi  []float64
	at   *probode.Differentiator // at the beginning of the step, for the noise
	u, w []float64
}

// Differentiate differentiates the equation of the step, of which the
// coefficients do not depend on θ as the ratios of steps do not, and the noise.
func (b *bdf) Differentiate(dnext []float64, i int, x, next, theta, xi, scale []float64, tg *probode.Tangents) error {
	if b.tangent == nil {
		b.newTangent()
		b.slopes = &bdfTangent{at: probode.NewDifferentiator(b.p, true), u: make([]float64, b.d), w: make([]float64, b.d)}
	}
	s := b.slopes
	if len(s.psi) != tg.M*b.d {
		s.psi = make([]float64, tg.M*b.d)
		for j := range s.past {
			s.past[j] = make([]float64, tg.M*b.d)
		}
	}
	copy(s.past[i&(bdfWindow-1)], tg.X)
	if b.k == 0 {
		if err := b.start.Differentiate(dnext, i, x, next, theta, nil, nil, tg); err != nil {
			return err
		}
	} else {
		combine(s.psi, &s.past, &b.known, i, b.k)
		for k, v := range b.z {
			b.at[k] = b.psi[k] + v
		}
		e := b.tangent
		e.at[0].At(b.t, b.at, theta, nil)
		for m := range tg.M {
			dtheta, _, dt, dh := tg.Direction(m)
			e.x, e.h = s.psi[m*b.d:(m+1)*b.d], dh
			e.at[0].Along(e.g, e.x, dtheta, dt+dh)
			if err := b.solveTangent(); err != nil {
				return err
			}
			to := dnext[m*b.d : (m+1)*b.d]
			for k, v := range e.z {
				to[k] = e.x[k] + v
			}
		}
	}
	if xi == nil || b.quiet(i) {
		return nil
	}
	return b.differentiateNoise(dnext, i, x, theta, xi, scale, tg)
}

// differentiateNoise adds the derivative of u = Γ⁻¹Jv, v the scaled normals:
// Γ du = dJ (u + v) + J dv − d(1/γh) u.
func (b *bdf) differentiateNoise(dnext []float64, i int, x, theta, xi, scale []float64, tg *probode.Tangents) error {
	s := b.slopes
	s.at.At(b.t, x, theta, nil)
	copy(b.jac.A, s.at.Jacobian().A)
	b.moved = true
	if !b.factorize() {
		return probode.ErrSingular
	}
	b.setNoise(xi, scale)
	for k, v := range b.noise {
		s.u[k] = b.scaled[k] + v
	}
	for m := range tg.M {
		dtheta, dx, dt, dh := tg.Direction(m)
		s.at.SecondAlong(s.w, s.u, dx, dtheta, dt+dh)
		dinv := -b.table.modes[0].re / b.h * dh / b.h
		for k, v := range b.noise {
			s.w[k] -= dinv * v
		}
		clear(b.other)
		tg.AddNoise(b.other, m, xi)
		b.jac.AddMul(s.w, 1, b.other)
		b.real[0].Solve(s.w)
		to := dnext[m*b.d : (m+1)*b.d]
		for k, v := range s.w {
			to[k] += v
		}
	}
	return nil
}

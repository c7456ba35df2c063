package methods

import "github.com/probode/probode/pkg/probode"

// bdfReverse holds the gradients with respect to the past states. The gradient with
// respect to the state at grid point i is in row i mod 8.
type bdfReverse struct {
	past       [bdfWindow][]float64
	t          *probode.Matrix // Jᵀ
	lu         *probode.LU     // of Γᵀ
	mu, dv, at []float64
	none       []float64 // zeros
}

// Reverse propagates gradients back through the equation of the step, Γ dZ = dψ/γh + …,
// and through the noise.
func (b *bdf) Reverse(a *probode.Adjoint, i int, x, next, theta, xi, scale []float64) error {
	e := b.back
	if e == nil {
		e = &bdfReverse{t: b.jac.Transpose(nil), mu: make([]float64, b.d), dv: make([]float64, b.d), at: make([]float64, b.d), none: make([]float64, b.d)}
		e.lu = probode.NewLU(e.t)
		for j := range e.past {
			e.past[j] = make([]float64, b.d)
		}
		b.back = e
	}
	b.k = b.order(i)
	if b.k > 0 {
		b.coefficients(i)
	} else {
		b.form(i, b.equal())
	}
	copy(e.at, next) // and then without noise
	if xi != nil && !b.quiet(i) {
		if err := b.reverseNoise(a, x, theta, xi, scale); err != nil {
			return err
		}
		for k, v := range b.noise {
			e.at[k] -= v
		}
	}
	if b.k == 0 {
		if err := b.start.Reverse(a, i, x, e.at, theta, nil, nil); err != nil {
			return err
		}
	} else {
		if err := b.transposed(e.at, theta, a.Next); err != nil {
			return err
		}
		a.Field(nil, e.mu, b.t, 1, e.at, theta)
		for k, v := range e.mu {
			a.Length += v * b.f0[k] / b.h
			e.mu[k] *= b.table.modes[0].re / b.h
		}
		e.spread(&b.known, i, b.k)
	}
	past := e.past[i&(bdfWindow-1)]
	for k, v := range past {
		a.X[k] += v
	}
	clear(past)
	return nil
}

// The method spread() applies the transpose of combine() to mu.
func (e *bdfReverse) spread(w *[bdfWindow]float64, i, n int) {
	const mask = bdfWindow - 1
	for k, v := range e.mu {
		e.past[i&mask][k] += v
		for m := 1; m < n; m++ {
			e.past[(i+1-m)&mask][k] -= w[m] * v
			e.past[(i-m)&mask][k] += w[m] * v
		}
	}
}

// The method transposed() sets mu to Γ⁻ᵀλ, where Γ is computed at the state y.
func (b *bdf) transposed(y, theta, lambda []float64) error {
	e := b.back
	b.eval.FJ(b.f0, b.jac, b.t, y, theta)
	b.jac.Transpose(e.t)
	if !e.lu.Factorize(b.table.modes[0].re/b.h, e.t) {
		return probode.ErrSingular
	}
	copy(e.mu, lambda)
	e.lu.Solve(e.mu)
	return nil
}

// reverseNoise propagates gradients back through the noise u = Γ⁻¹Jv, where v holds the
// scaled normal variates.
func (b *bdf) reverseNoise(a *probode.Adjoint, x, theta, xi, scale []float64) error {
	e := b.back
	if err := b.transposed(x, theta, a.Next); err != nil {
		return err
	}
	b.moved = true
	if !b.factorize() {
		return probode.ErrSingular
	}
	b.setNoise(xi, scale)
	inv := b.table.modes[0].re / b.h
	for k, v := range b.noise {
		b.scaled[k] += v
		a.Length += inv / b.h * e.mu[k] * v
	}
	a.SecondField(a.X, e.none, e.mu, b.scaled, b.t, 1, x, theta)
	clear(e.dv)
	e.t.AddMul(e.dv, 1, e.mu)
	for k, v := range e.dv {
		a.Xi[k] += scale[k] * v
		a.Scale[k] += xi[k] * v
	}
	return nil
}

package methods

import (
	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/internal/vector"
)

// bdfReverse holds the gradients with respect to the past states. The gradient with
// respect to the state at grid point i is in row i mod 8.
type bdfReverse struct {
	past [bdfWindow][]float64
	at   []float64
}

// backwards propagates gradients back through the equation of the step, Γ dZ = dψ/γh + …,
// and through the noise.
func (b *bdf) backwards(a *probode.Adjoint, s *probode.Step) error {
	e := b.back
	if e == nil {
		e = &bdfReverse{at: make([]float64, b.d)}
		for j := range e.past {
			e.past[j] = make([]float64, b.d)
		}
		b.back = e
	}
	i := a.Before
	for j := max(0, i+1-bdfWindow); j <= i; j++ {
		b.times[j&(bdfWindow-1)] = a.Times[j]
	}
	b.k = b.order(i, s)
	if b.k > 0 {
		b.coefficients(i, s)
	} else {
		b.form(s, b.equal())
	}
	inv, mu := b.table.modes[0].re/b.h, b.noise.Mu
	copy(e.at, s.Next) // and then without noise
	if s.Xi != nil {
		if err := b.noise.Reverse(a, inv, b.t, s); err != nil {
			return err
		}
		for k, v := range b.noise.U {
			a.Length += inv / b.h * mu[k] * v
			e.at[k] -= v
		}
	}
	if b.k == 0 {
		if err := b.start.back(a, b.quiet(s)); err != nil {
			return err
		}
	} else {
		if err := b.noise.Transposed(inv, b.t, e.at, s.Theta, a.Next); err != nil {
			return err
		}
		a.Field(nil, mu, b.t, 1, e.at, s.Theta)
		for k, v := range mu {
			a.Length += v * b.f0[k] / b.h
			mu[k] *= inv
		}
		e.spread(mu, &b.known, i, b.k)
	}
	past := e.past[i&(bdfWindow-1)]
	vector.AddScaled(a.X, 1, past)
	clear(past)
	return nil
}

// spread applies the transpose of combine() to mu.
func (e *bdfReverse) spread(mu []float64, w *[bdfWindow]float64, i, n int) {
	const mask = bdfWindow - 1
	for k, v := range mu {
		e.past[i&mask][k] += v
		for m := 1; m < n; m++ {
			e.past[(i+1-m)&mask][k] -= w[m] * v
			e.past[(i-m)&mask][k] += w[m] * v
		}
	}
}

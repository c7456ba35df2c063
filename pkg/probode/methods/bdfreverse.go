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

// Reverse propagates gradients back through the equation of the step, Γ dZ = dψ/γh + …,
// and through the noise.
func (b *bdf) Reverse(a *probode.Adjoint, i int, x, next, theta, xi, scale []float64) error {
	e := b.back
	if e == nil {
		e = &bdfReverse{at: make([]float64, b.d)}
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
	inv, mu := b.table.modes[0].re/b.h, b.noise.Mu
	copy(e.at, next) // and then without noise
	if xi != nil && !b.quiet(i) {
		if err := b.noise.Prepare(a, inv, b.t, x, theta, xi, scale); err != nil {
			return err
		}
		for k, v := range b.noise.U {
			a.Length += inv / b.h * mu[k] * v
			e.at[k] -= v
		}
		b.noise.Reverse(a, b.t, x, theta, xi, scale)
	}
	if b.k == 0 {
		if err := b.start.Reverse(a, i, x, e.at, theta, nil, nil); err != nil {
			return err
		}
	} else {
		if err := b.noise.Transposed(inv, b.t, e.at, theta, a.Next); err != nil {
			return err
		}
		a.Field(nil, mu, b.t, 1, e.at, theta)
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

// The method spread() applies the transpose of combine() to mu.
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

package adams

import (
	"math"

	"github.com/probode/probode/pkg/probode"
)

//go:generate go run ./internal/unroll

// The code in this file takes all Adams–Moulton steps of a segment in one call. This code
// is for dense Jacobians from FJ, in at most three dimensions unless the steps are
// linearised at the current state. In few dimensions, the arithmetic of a step takes only a
// few nanoseconds. Passing vectors to functions would take longer than the arithmetic of a
// step. In up to three dimensions, the loops keep all numbers in local variables from one
// call of FJ to the next. The loops and the code in moulton.go perform the same operations
// in the same order, so their results are bitwise identical.

func (a *moulton) runs() bool {
	return (a.d <= 3 || a.lin == Current) && a.lin != Predictor && a.eval.Exact() && !a.jac.Banded
}

func (a *moulton) run(r *probode.Run) (int, error) {
	n, d, steps := 0, a.d, len(r.T)-1
	for ; n < steps && a.starting(a.n); n++ {
		a.one = probode.Step{T: r.T[n], End: r.T[n+1], H: r.H, X: row(r.Z, n, d), Next: row(r.Z, n+1, d), Theta: r.Theta}
		err := a.take(&a.one)
		if err == nil {
			err = arrive(a.one.Next, part(r.Added, n, d))
		}
		if err != nil {
			return n, err
		}
	}
	if n == steps {
		return n, nil
	}
	a.one = probode.Step{T: r.T[n], End: r.T[n+1], H: r.H}
	a.set(a.n, &a.one)
	f := &a.fused
	*f = fusedRun{Run: r, past: a.n - n}
	if r.Xi != nil {
		copy(f.scale[:], r.Scale)
	}
	for j, b := range a.betaPast {
		f.b[j] = b * a.invNext
	}
	var err error
	switch newton := a.lin == Newton; {
	case d == 1 && newton:
		n, err = a.newton1(f, n, steps)
	case d == 1:
		n, err = a.current1(f, n, steps)
	case d == 2 && newton:
		n, err = a.newton2(f, n, steps)
	case d == 2:
		n, err = a.current2(f, n, steps)
	case d == 3 && newton:
		n, err = a.newton3(f, n, steps)
	case d == 3:
		n, err = a.current3(f, n, steps)
	default:
		n, err = a.currentSlices(f, n, steps)
	}
	a.n = f.past + n
	for i := max(0, a.n-8); i < a.n; i++ {
		if k := i - f.past; k >= 0 {
			a.t[i&7] = r.T[k]
		}
	}
	return n, err
}

// A fusedRun has β_j/β₋₁, padded with zeros, and the first scales of the normal variates.
type fusedRun struct {
	*probode.Run
	b, scale [4]float64
	past     int
}

// currentSlices is current2 with slices, for more than three dimensions.
func (a *moulton) currentSlices(r *fusedRun, from, to int) (int, error) {
	d, fj, f, t, m, z, theta, xi := a.d, a.p.FJ, a.fc, r.T, a.jac, r.Z, r.Theta, r.Xi
	steps := len(a.betaPast)
	u, e := a.u[:d], a.v[:d]
	for i := from; i < to; i++ {
		x, next := row(z, i, d), row(z, i+1, d)
		for k := range m.A {
			m.A[k] = 0
		}
		fj(f, m.A, t[i+1], x, theta)
		for k, v := range f[:len(u)] {
			u[k] = v
		}
		if steps > 0 {
			now := a.row(r.past + i)
			if a.currentIsOld {
				for k, v := range f[:len(now)] {
					now[k] = v
				}
			} else {
				a.p.F(now, t[i], x, theta)
			}
			for j := range steps {
				b := r.b[j]
				for k, v := range a.row(r.past + i - j)[:len(u)] {
					u[k] += b * v
				}
			}
		}
		if xi != nil {
			for k, v := range row(xi, i, d)[:len(e)] {
				e[k] = r.Scale[k] * v
			}
			m.AddMul(u, 1, e)
		}
		if !a.lu.Factorize(a.inv, m) {
			if err := a.alone(r, i); err != nil {
				return i, err
			}
			continue
		}
		a.lu.Solve(u)
		added := part(r.Added, i, d)
		fine := true
		for k, v := range u[:len(next)] {
			if v += x[k]; added != nil {
				v += added[k]
			}
			next[k] = v
			fine = fine && math.Abs(v) < probode.TooLarge
		}
		if !fine {
			return i, probode.ErrDiverged
		}
	}
	return to, nil
}

// alone takes step i with the general code, where the inverse of Γ may be inaccurate or J
// is not finite.
func (a *moulton) alone(r *fusedRun, i int) error {
	a.one = probode.Step{T: r.T[i], End: r.T[i+1], H: r.H, X: row(r.Z, i, a.d), Next: row(r.Z, i+1, a.d), Theta: r.Theta}
	if r.Xi != nil {
		a.one.Xi, a.one.Scale = row(r.Xi, i, a.d), r.Scale
	}
	a.t1 = r.T[i+1]
	err := a.prepare(r.past+i, &a.one)
	if err == nil {
		err = a.advance(r.past+i, &a.one)
	}
	if err != nil {
		return err
	}
	return arrive(a.one.Next, part(r.Added, i, a.d))
}

// arrive adds the rest of the noise to the next state, if there is any.
func arrive(x, added []float64) error {
	for k, v := range added {
		x[k] += v
	}
	return diverged(x)
}

func diverged(x []float64) error {
	for _, v := range x {
		if !(math.Abs(v) < probode.TooLarge) {
			return probode.ErrDiverged
		}
	}
	return nil
}

// larger returns the larger magnitude, or NaN.
func larger(x, y float64) float64 {
	x, y = math.Abs(x), math.Abs(y)
	if y > x || y != y {
		return y
	}
	return x
}

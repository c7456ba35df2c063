package adams

import (
	"math"

	"github.com/probode/probode/pkg/probode"
)

//go:generate go run ./internal/unroll

// The code in this file takes all Adams–Moulton steps of a segment in one call. This code
// is for problems in at most three dimensions, or four if the steps are linearised at the
// current state. In up to four dimensions, the arithmetic of a step takes only a few
// nanoseconds. Passing vectors to functions would take longer than the arithmetic of a
// step. In up to three dimensions, the loops keep all numbers in local variables from one
// call of FJ to the next. The loops and the code in moulton.go perform the same operations
// in the same order, so their results are bitwise identical.

// Runs reports whether Run can be used. Run requires a uniform grid, a problem in few
// dimensions, and a dense Jacobian matrix from FJ. Run does not support the linearisation
// Predictor.
func (a *moulton) Runs() bool {
	small := a.d <= 3 || a.d == 4 && a.lin == Current
	_, uniform := a.g.Uniform()
	return small && a.lin != Predictor && uniform && a.eval.Exact() && !a.jac.Banded
}

// Run takes the steps of one segment.
func (a *moulton) Run(z []float64, from, to int, theta, xi, scale []float64) (int, error) {
	i, d := from, a.d
	for ; i < to && a.starting(i); i++ {
		next := row(z, i+1, d)
		err := a.Step(next, i, row(z, i, d), theta, part(xi, i, d), scale)
		if err == nil {
			err = diverged(next)
		}
		if err != nil {
			return i, err
		}
	}
	if i == to {
		return to, nil
	}
	a.set(i)
	var r fusedRun
	for k := range a.d {
		if xi != nil {
			r.scale[k] = scale[k]
		}
	}
	for j, b := range a.betaPast {
		r.b[j] = b * a.invNext
	}
	var err error
	switch newton := a.lin == Newton; {
	case d == 1 && newton:
		i, err = a.newton1(&r, z, i, to, theta, xi)
	case d == 1:
		i, err = a.current1(&r, z, i, to, theta, xi)
	case d == 2 && newton:
		i, err = a.newton2(&r, z, i, to, theta, xi)
	case d == 2:
		i, err = a.current2(&r, z, i, to, theta, xi)
	case d == 3 && newton:
		i, err = a.newton3(&r, z, i, to, theta, xi)
	case d == 3:
		i, err = a.current3(&r, z, i, to, theta, xi)
	default:
		i, err = a.currentFew(&r, z, i, to, theta, xi)
	}
	a.last = i - 1
	return i, err
}

// A fusedRun holds the constants of a run: β_j/β₋₁, padded with zeros, and the scale of each
// normal variate.
type fusedRun struct {
	b, scale [4]float64
}

// currentFew is like current2, but works in up to four dimensions. currentFew keeps
// vectors and LU factors in slices, not in local variables.
func (a *moulton) currentFew(r *fusedRun, z []float64, from, to int, theta, xi []float64) (int, error) {
	d, fj, f, t, m := a.d, a.p.FJ, a.fc, a.g.Times(), a.jac
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
			now := a.row(i)
			if a.currentIsOld {
				for k, v := range f[:len(now)] {
					now[k] = v
				}
			} else {
				a.p.F(now, t[i], x, theta)
			}
			for j := range steps {
				b := r.b[j]
				for k, v := range a.row(i - j)[:len(u)] {
					u[k] += b * v
				}
			}
		}
		if xi != nil {
			for k, v := range row(xi, i, d)[:len(e)] {
				e[k] = r.scale[k&3] * v
			}
			m.AddMul(u, 1, e)
		}
		if !a.lu.Factorize(a.inv, m) {
			if err := a.alone(r, z, i, theta, xi); err != nil {
				return i, err
			}
			continue
		}
		a.lu.Solve(u)
		fine := true
		for k, v := range u[:len(next)] {
			v += x[k]
			next[k] = v
			fine = fine && math.Abs(v) < probode.TooLarge
		}
		if !fine {
			return i, probode.ErrDiverged
		}
	}
	return to, nil
}

// The method alone() takes step i with the general code, which works in any number of
// dimensions. The loops call alone() if the inverse of Γ may be inaccurate,
// or if J is not finite.
func (a *moulton) alone(r *fusedRun, z []float64, i int, theta, xi []float64) error {
	next := row(z, i+1, a.d)
	if err := a.Step(next, i, row(z, i, a.d), theta, part(xi, i, a.d), r.scale[:a.d]); err != nil {
		return err
	}
	return diverged(next)
}

// The function diverged() returns ErrDiverged if a component of the state x is NaN or too
// large.
func diverged(x []float64) error {
	for _, v := range x {
		if !(math.Abs(v) < probode.TooLarge) {
			return probode.ErrDiverged
		}
	}
	return nil
}

// The function larger() returns the larger of the magnitudes of two numbers, or NaN if
// either is NaN.
func larger(x, y float64) float64 {
	x, y = math.Abs(x), math.Abs(y)
	if y > x || y != y {
		return y
	}
	return x
}

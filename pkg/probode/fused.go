package probode

import (
	"math"

	"github.com/probode/probode/pkg/probode/internal/linalg"
)

// Runs of Adams–Moulton steps in up to three dimensions and, linearised at the
// current state, in four. A step there takes a few nanoseconds of
// arithmetic, and several times as much where each part of it passes vectors
// to the next. Here everything stays in local variables between the calls of
// FJ. The arithmetic is that of implicit.go, operation by operation, so that a
// path has the same bits whichever way it is solved.

// Runs is true on uniform grids for problems of few dimensions with an FJ.
func (a *adamsMoulton) Runs() bool {
	small := a.d <= 3 || a.d == 4 && a.lin == Current
	return small && a.lin != Predictor && a.g.h > 0 && a.eval.Exact() && !a.jac.Banded
}

// Run makes steps of one segment.
func (a *adamsMoulton) Run(z []float64, from, to int, theta, xi, scale []float64) (int, error) {
	i, d := from, a.d
	for ; i < to && a.starting(i); i++ {
		next := row(z, i+1, d)
		err := a.Step(next, i, row(z, i, d), theta, part(xi, i, d), scale)
		if err == nil && !sane(next) {
			err = ErrDiverged
		}
		if err != nil {
			return i, err
		}
	}
	if i == to {
		return to, nil
	}
	a.set(i)
	var r fused
	for k := range a.d {
		if xi != nil {
			r.scale[k] = scale[k]
		}
	}
	for j, b := range a.betaPast {
		r.b[j] = b * a.invNext
	}
	var err error
	switch {
	case d == 1 && a.lin == Current:
		i, err = a.current1(&r, z, i, to, theta, xi)
	case d == 1:
		i, err = a.newton1(&r, z, i, to, theta, xi)
	case d == 2 && a.lin == Current:
		i, err = a.current2(&r, z, i, to, theta, xi)
	case d == 2:
		i, err = a.newton2(&r, z, i, to, theta, xi)
	case d == 3 && a.lin == Newton:
		i, err = a.newton3(&r, z, i, to, theta, xi)
	case d == 3:
		i, err = a.current3(&r, z, i, to, theta, xi)
	default:
		i, err = a.currentFew(&r, z, i, to, theta, xi)
	}
	a.last = i - 1
	return i, err
}

// fused holds what does not change in a run: β_j/β₋₁, zero where the method
// has fewer, and the scale of each normal.
type fused struct {
	b, scale [4]float64
}

// current1 is Z + (w + scale·J ξ)/Γ in one dimension.
func (a *adamsMoulton) current1(r *fused, z []float64, from, to int, theta, xi []float64) (int, error) {
	fj, f, jac, t := a.p.FJ, a.fc[:1:1], a.jac.A[:1:1], a.g.t
	inv, s := a.inv, r.scale[0]
	b0, b1, b2, b3 := r.b[0], r.b[1], r.b[2], r.b[3]
	steps := len(a.betaPast)
	old := (*[8]float64)(a.f)
	p1, p2, p3 := a.before(from, 1, 0), a.before(from, 2, 0), a.before(from, 3, 0)
	for i := from; i < to; i++ {
		x := z[i : i+2 : i+2]
		jac[0] = 0
		fj(f, jac, t[i+1], x[:1:1], theta)
		u, j, now := f[0], jac[0], f[0]
		if steps > 0 {
			if !a.currentIsOld {
				a.p.F(old[i&7:i&7+1:i&7+1], t[i], x[:1:1], theta)
				now = old[i&7]
			}
			old[i&7] = now
			u += b0 * now
			if steps > 1 {
				u = u + b1*p1 + b2*p2 + b3*p3
				p1, p2, p3 = now, p1, p2
			}
		}
		if xi != nil {
			u += j * (s * xi[i])
		}
		g := inv - j
		v := x[0] + u*(1/g)
		if g == 0 || g-g != 0 {
			return i, ErrSingular
		}
		x[1] = v
		if !(math.Abs(v) < tooLarge) {
			return i, ErrDiverged
		}
	}
	return to, nil
}

// current2 is current1 in two dimensions.
func (a *adamsMoulton) current2(r *fused, z []float64, from, to int, theta, xi []float64) (int, error) {
	fj, f, jac, t := a.p.FJ, a.fc[:2:2], a.jac.A[:4:4], a.g.t
	inv, s0, s1 := a.inv, r.scale[0], r.scale[1]
	b0, b1, b2, b3 := r.b[0], r.b[1], r.b[2], r.b[3]
	steps := len(a.betaPast)
	p10, p20, p30 := a.before(from, 1, 0), a.before(from, 2, 0), a.before(from, 3, 0)
	p11, p21, p31 := a.before(from, 1, 1), a.before(from, 2, 1), a.before(from, 3, 1)
	for i := from; i < to; i++ {
		x := z[2*i : 2*i+4 : 2*i+4]
		jac[0], jac[1], jac[2], jac[3] = 0, 0, 0, 0
		fj(f, jac, t[i+1], x[:2:2], theta)
		u0, u1 := f[0], f[1]
		j0, j1, j2, j3 := jac[0], jac[1], jac[2], jac[3]
		if steps > 0 {
			n0, n1 := u0, u1
			old := a.f[2*(i&7):][:2:2]
			if !a.currentIsOld {
				a.p.F(old, t[i], x[:2:2], theta)
				n0, n1 = old[0], old[1]
			}
			old[0], old[1] = n0, n1
			u0, u1 = u0+b0*n0, u1+b0*n1
			if steps > 1 {
				u0 = u0 + b1*p10 + b2*p20 + b3*p30
				u1 = u1 + b1*p11 + b2*p21 + b3*p31
				p10, p20, p30 = n0, p10, p20
				p11, p21, p31 = n1, p11, p21
			}
		}
		if xi != nil {
			e := xi[2*i : 2*i+2 : 2*i+2]
			e0, e1 := s0*e[0], s1*e[1]
			u0, u1 = u0+(j0*e0+j1*e1), u1+(j2*e0+j3*e1)
		}
		g0, g1, g2, g3 := inv-j0, -j1, -j2, inv-j3
		det := g0*g3 - g1*g2
		d := 1 / det
		v0 := x[0] + ((g3*d)*u0 + (-g1*d)*u1)
		v1 := x[1] + ((-g2*d)*u0 + (g0*d)*u1)
		if det == 0 || det-det != 0 {
			return i, ErrSingular
		}
		x[2], x[3] = v0, v1
		if !(math.Abs(v0) < tooLarge && math.Abs(v1) < tooLarge) {
			return i, ErrDiverged
		}
	}
	return to, nil
}

// current3 is current1 in three dimensions. Where the inverse is not to be
// trusted the general factors take its place.
func (a *adamsMoulton) current3(r *fused, z []float64, from, to int, theta, xi []float64) (int, error) {
	fj, f, jac, t := a.p.FJ, a.fc[:3:3], (*[9]float64)(a.jac.A), a.g.t
	inv := a.inv
	steps := len(a.betaPast)
	for i := from; i < to; i++ {
		x := z[3*i : 3*i+6 : 3*i+6]
		*jac = [9]float64{}
		fj(f, jac[:], t[i+1], x[:3:3], theta)
		u0, u1, u2 := f[0], f[1], f[2]
		if steps > 0 {
			now := a.f[3*(i&7):][:3:3]
			if a.currentIsOld {
				now[0], now[1], now[2] = u0, u1, u2
			} else {
				a.p.F(now, t[i], x[:3:3], theta)
			}
			for j := range steps {
				old, b := a.f[3*((i-j)&7):][:3:3], r.b[j&3]
				u0, u1, u2 = u0+b*old[0], u1+b*old[1], u2+b*old[2]
			}
		}
		j0, j1, j2, j3, j4, j5, j6, j7, j8 := jac[0], jac[1], jac[2], jac[3], jac[4], jac[5], jac[6], jac[7], jac[8]
		if xi != nil {
			e := xi[3*i : 3*i+3 : 3*i+3]
			e0, e1, e2 := r.scale[0]*e[0], r.scale[1]*e[1], r.scale[2]*e[2]
			u0 += j0*e0 + j1*e1 + j2*e2
			u1 += j3*e0 + j4*e1 + j5*e2
			u2 += j6*e0 + j7*e1 + j8*e2
		}
		g0, g1, g2, g3, g4, g5, g6, g7, g8, ok := linalg.Inverse3(inv, j0, j1, j2, j3, j4, j5, j6, j7, j8)
		v0, v1, v2 := g0*u0+g1*u1+g2*u2, g3*u0+g4*u1+g5*u2, g6*u0+g7*u1+g8*u2
		if !ok {
			if !a.lu.Factorize(inv, a.jac) {
				return i, ErrSingular
			}
			u := a.u[:3]
			u[0], u[1], u[2] = u0, u1, u2
			a.lu.Solve(u)
			v0, v1, v2 = u[0], u[1], u[2]
		}
		v0, v1, v2 = x[0]+v0, x[1]+v1, x[2]+v2
		x[3], x[4], x[5] = v0, v1, v2
		if !(math.Abs(v0) < tooLarge && math.Abs(v1) < tooLarge && math.Abs(v2) < tooLarge) {
			return i, ErrDiverged
		}
	}
	return to, nil
}

// currentFew is current2 in up to four dimensions, with the factors of the
// linear algebra in memory.
func (a *adamsMoulton) currentFew(r *fused, z []float64, from, to int, theta, xi []float64) (int, error) {
	d, fj, f, t, m := a.d, a.p.FJ, a.fc, a.g.t, a.jac
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
			return i, ErrSingular
		}
		a.lu.Solve(u)
		fine := true
		for k, v := range u[:len(next)] {
			v += x[k]
			next[k] = v
			fine = fine && math.Abs(v) < tooLarge
		}
		if !fine {
			return i, ErrDiverged
		}
	}
	return to, nil
}

// before returns component k of F_{i−j}, or zero if the method does not look
// back so far.
func (a *adamsMoulton) before(i, j, k int) float64 {
	if j >= len(a.betaPast) {
		return 0
	}
	return a.row(i - j)[k]
}

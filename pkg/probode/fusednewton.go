package probode

import (
	"github.com/probode/probode/pkg/probode/internal/linalg"
	"math"
)

// newton1 is solveNewton in one dimension.
func (a *adamsMoulton) newton1(r *fused, z []float64, from, to int, theta, xi []float64) (int, error) {
	fj, f, jac, t := a.p.FJ, a.fc[:1:1], a.jac.A[:1:1], a.g.t
	inv, s := a.inv, r.scale[0]
	steps := len(a.betaPast)
	old := (*[8]float64)(a.f)
	for i := from; i < to; i++ {
		x := z[i : i+2 : i+2]
		x0 := x[0]
		jac[0] = 0
		fj(f, jac, t[i+1], x[:1:1], theta)
		known := inv * x0
		if steps > 0 {
			if a.currentIsOld {
				old[i&7] = f[0]
			} else {
				a.p.F(old[i&7:i&7+1:i&7+1], t[i], x[:1:1], theta)
			}
			for j := range steps {
				known += r.b[j&3] * old[(i-j)&7]
			}
		}
		g := inv - jac[0]
		if g == 0 || g-g != 0 {
			return i, ErrSingular
		}
		over := 1 / g
		var noise float64
		if xi != nil {
			noise = (jac[0] * (s * xi[i])) * over
		}
		start := math.Abs(x0)
		y, u := x0, (inv*x0-known-f[0])*over
		next := x[1:2:2]
		lambda := 1.
		for n := 0; ; n++ {
			size := math.Abs(u)
			if size-size != 0 || n == a.newton.Max {
				return i, ErrNewton
			}
			small := a.newton.Tolerance * max(start, math.Abs(y))
			if size <= small {
				y -= u
				break
			}
			var left, v, trial float64
			for lambda = min(1, 4*lambda); ; lambda /= 2 {
				trial = y - lambda*u
				next[0], jac[0] = trial, 0
				fj(f, jac, t[i+1], next, theta)
				v = (inv*trial - known - f[0]) * over
				if left = math.Abs(v); left <= (1-lambda/4)*size {
					break
				}
				if lambda < 1e-4 {
					return i, ErrNewton
				}
			}
			if lambda == 1 && left*left <= 1e-8*small*size {
				y = trial - v
				break
			}
			y = trial
			if g = inv - jac[0]; g == 0 || g-g != 0 {
				return i, ErrSingular
			}
			over = 1 / g
			u = (inv*y - known - f[0]) * over
		}
		y += noise
		next[0] = y
		if !(math.Abs(y) < tooLarge) {
			return i, ErrDiverged
		}
	}
	return to, nil
}

// newton2 is solveNewton in two dimensions.
func (a *adamsMoulton) newton2(r *fused, z []float64, from, to int, theta, xi []float64) (int, error) {
	fj, f, jac, t := a.p.FJ, a.fc[:2:2], a.jac.A[:4:4], a.g.t
	inv, s0, s1 := a.inv, r.scale[0], r.scale[1]
	tol, most := a.newton.Tolerance, a.newton.Max
	b0, b1, b2, b3 := r.b[0], r.b[1], r.b[2], r.b[3]
	steps := len(a.betaPast)
	p10, p20, p30 := a.before(from, 1, 0), a.before(from, 2, 0), a.before(from, 3, 0)
	p11, p21, p31 := a.before(from, 1, 1), a.before(from, 2, 1), a.before(from, 3, 1)
	for i := from; i < to; i++ {
		x := z[2*i : 2*i+4 : 2*i+4]
		x0, x1 := x[0], x[1]
		jac[0], jac[1], jac[2], jac[3] = 0, 0, 0, 0
		fj(f, jac, t[i+1], x[:2:2], theta)
		f0, f1 := f[0], f[1]
		k0, k1 := inv*x0, inv*x1
		if steps > 0 {
			n0, n1 := f0, f1
			old := a.f[2*(i&7):][:2:2]
			if !a.currentIsOld {
				a.p.F(old, t[i], x[:2:2], theta)
				n0, n1 = old[0], old[1]
			}
			old[0], old[1] = n0, n1
			k0, k1 = k0+b0*n0, k1+b0*n1
			if steps > 1 {
				k0 = k0 + b1*p10 + b2*p20 + b3*p30
				k1 = k1 + b1*p11 + b2*p21 + b3*p31
				p10, p20, p30 = n0, p10, p20
				p11, p21, p31 = n1, p11, p21
			}
		}
		j0, j1, j2, j3 := jac[0], jac[1], jac[2], jac[3]
		g0, g3 := inv-j0, inv-j3
		det := g0*g3 - j1*j2
		if det == 0 || det-det != 0 {
			return i, ErrSingular
		}
		d := 1 / det
		a0, a1, a2, a3 := g3*d, j1*d, j2*d, g0*d
		var n0, n1 float64
		if xi != nil {
			e := xi[2*i : 2*i+2 : 2*i+2]
			e0, e1 := s0*e[0], s1*e[1]
			e0, e1 = j0*e0+j1*e1, j2*e0+j3*e1
			n0, n1 = a0*e0+a1*e1, a2*e0+a3*e1
		}
		start := larger(x0, x1)
		r0, r1 := inv*x0-k0-f0, inv*x1-k1-f1
		u0, u1 := a0*r0+a1*r1, a2*r0+a3*r1
		y0, y1 := x0, x1
		next := x[2:4:4]
		lambda := 1.
		for n := 0; ; n++ {
			size := larger(u0, u1)
			if size-size != 0 || n == most {
				return i, ErrNewton
			}
			small := tol * max(start, larger(y0, y1))
			if size <= small {
				y0, y1 = y0-u0, y1-u1
				break
			}
			// From here on f and jac belong to the trial, a0 … a3 still to y.
			var left, v0, v1, t0, t1 float64
			for lambda = min(1, 4*lambda); ; lambda /= 2 {
				t0, t1 = y0-lambda*u0, y1-lambda*u1
				next[0], next[1] = t0, t1
				jac[0], jac[1], jac[2], jac[3] = 0, 0, 0, 0
				fj(f, jac, t[i+1], next, theta)
				r0, r1 = inv*t0-k0-f[0], inv*t1-k1-f[1]
				v0, v1 = a0*r0+a1*r1, a2*r0+a3*r1
				if left = larger(v0, v1); left <= (1-lambda/4)*size {
					break
				}
				if lambda < 1e-4 {
					return i, ErrNewton
				}
			}
			if lambda == 1 && left*left <= 1e-8*small*size {
				y0, y1 = t0-v0, t1-v1
				break
			}
			y0, y1 = t0, t1
			g0, g3 = inv-jac[0], inv-jac[3]
			if det = g0*g3 - jac[1]*jac[2]; det == 0 || det-det != 0 {
				return i, ErrSingular
			}
			d = 1 / det
			a0, a1, a2, a3 = g3*d, jac[1]*d, jac[2]*d, g0*d
			u0, u1 = a0*r0+a1*r1, a2*r0+a3*r1
		}
		y0, y1 = y0+n0, y1+n1
		next[0], next[1] = y0, y1
		if !(math.Abs(y0) < tooLarge && math.Abs(y1) < tooLarge) {
			return i, ErrDiverged
		}
	}
	return to, nil
}

// newton3 is solveNewton in three dimensions. Steps at which an inverse is not
// to be trusted are made alone.
func (a *adamsMoulton) newton3(r *fused, z []float64, from, to int, theta, xi []float64) (int, error) {
	fj, f, jac, t := a.p.FJ, a.fc[:3:3], (*[9]float64)(a.jac.A), a.g.t
	inv := a.inv
	tol, most := a.newton.Tolerance, a.newton.Max
	steps := len(a.betaPast)
step:
	for i := from; i < to; i++ {
		x := z[3*i : 3*i+6 : 3*i+6]
		next := x[3:6:6]
		x0, x1, x2 := x[0], x[1], x[2]
		*jac = [9]float64{}
		fj(f, jac[:], t[i+1], x[:3:3], theta)
		f0, f1, f2 := f[0], f[1], f[2]
		k0, k1, k2 := inv*x0, inv*x1, inv*x2
		if steps > 0 {
			now := a.f[3*(i&7):][:3:3]
			if a.currentIsOld {
				now[0], now[1], now[2] = f0, f1, f2
			} else {
				a.p.F(now, t[i], x[:3:3], theta)
			}
			for j := range steps {
				old, b := a.f[3*((i-j)&7):][:3:3], r.b[j&3]
				k0, k1, k2 = k0+b*old[0], k1+b*old[1], k2+b*old[2]
			}
		}
		g0, g1, g2, g3, g4, g5, g6, g7, g8, ok := linalg.Inverse3(inv, jac[0], jac[1], jac[2], jac[3], jac[4], jac[5], jac[6], jac[7], jac[8])
		var n0, n1, n2 float64
		if xi != nil {
			e := xi[3*i : 3*i+3 : 3*i+3]
			e0, e1, e2 := r.scale[0]*e[0], r.scale[1]*e[1], r.scale[2]*e[2]
			e0, e1, e2 = jac[0]*e0+jac[1]*e1+jac[2]*e2, jac[3]*e0+jac[4]*e1+jac[5]*e2, jac[6]*e0+jac[7]*e1+jac[8]*e2
			n0, n1, n2 = g0*e0+g1*e1+g2*e2, g3*e0+g4*e1+g5*e2, g6*e0+g7*e1+g8*e2
		}
		start := larger(larger(x0, x1), x2)
		r0, r1, r2 := inv*x0-k0-f0, inv*x1-k1-f1, inv*x2-k2-f2
		u0, u1, u2 := g0*r0+g1*r1+g2*r2, g3*r0+g4*r1+g5*r2, g6*r0+g7*r1+g8*r2
		y0, y1, y2 := x0, x1, x2
		lambda := 1.
		for n := 0; ; n++ {
			if !ok {
				if err := a.Step(next, i, x[:3:3], theta, part(xi, i, 3), r.scale[:]); err != nil {
					return i, err
				}
				if !sane(next) {
					return i, ErrDiverged
				}
				continue step
			}
			size := larger(larger(u0, u1), u2)
			if size-size != 0 || n == most {
				return i, ErrNewton
			}
			small := tol * max(start, larger(larger(y0, y1), y2))
			if size <= small {
				y0, y1, y2 = y0-u0, y1-u1, y2-u2
				break
			}
			// From here on f and jac belong to the trial, g0 … g8 still to y.
			var left, v0, v1, v2, t0, t1, t2 float64
			for lambda = min(1, 4*lambda); ; lambda /= 2 {
				t0, t1, t2 = y0-lambda*u0, y1-lambda*u1, y2-lambda*u2
				next[0], next[1], next[2] = t0, t1, t2
				*jac = [9]float64{}
				fj(f, jac[:], t[i+1], next, theta)
				r0, r1, r2 = inv*t0-k0-f[0], inv*t1-k1-f[1], inv*t2-k2-f[2]
				v0, v1, v2 = g0*r0+g1*r1+g2*r2, g3*r0+g4*r1+g5*r2, g6*r0+g7*r1+g8*r2
				if left = larger(larger(v0, v1), v2); left <= (1-lambda/4)*size {
					break
				}
				if lambda < 1e-4 {
					return i, ErrNewton
				}
			}
			if lambda == 1 && left*left <= 1e-8*small*size {
				y0, y1, y2 = t0-v0, t1-v1, t2-v2
				break
			}
			y0, y1, y2 = t0, t1, t2
			g0, g1, g2, g3, g4, g5, g6, g7, g8, ok = linalg.Inverse3(inv, jac[0], jac[1], jac[2], jac[3], jac[4], jac[5], jac[6], jac[7], jac[8])
			u0, u1, u2 = g0*r0+g1*r1+g2*r2, g3*r0+g4*r1+g5*r2, g6*r0+g7*r1+g8*r2
		}
		y0, y1, y2 = y0+n0, y1+n1, y2+n2
		next[0], next[1], next[2] = y0, y1, y2
		if !(math.Abs(y0) < tooLarge && math.Abs(y1) < tooLarge && math.Abs(y2) < tooLarge) {
			return i, ErrDiverged
		}
	}
	return to, nil
}

// part returns row i of xi, nil if xi is.
func part(xi []float64, i, d int) []float64 {
	if xi == nil {
		return nil
	}
	return row(xi, i, d)
}

// larger returns the larger magnitude of two numbers, NaN if either is.
func larger(x, y float64) float64 {
	x, y = math.Abs(x), math.Abs(y)
	if y > x || y != y {
		return y
	}
	return x
}

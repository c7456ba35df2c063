// Package kinks minimises convex quadratics with absolute values in them: the model
// that an optimiser has of a function with kinks.
package kinks

import (
	"math"

	"gonum.org/v1/gonum/mat"
)

// A Model is the function
//
//	m(d) = gᵀd + ½ dᵀHd + Σᵢ |uᵢ + Jᵢ·d|,   Lower ≤ d ≤ Upper,
//
// of which H is positive definite. Slopes that jump by other than 2 are for the
// caller to scale.
type Model struct {
	H            mat.Symmetric
	G            []float64
	U            []float64
	J            [][]float64 // a row for each of U
	Lower, Upper []float64   // nil for no bounds; ±Inf for none on one coordinate
}

// A Minimum is where a Model is smallest.
type Minimum struct {
	D []float64

	// Lambda are the slopes of the absolute values there, each in [−1, 1] and
	// inside of it only where its kink is: with them g + Hd + Jᵀλ = 0, but for
	// coordinates at bounds.
	Lambda []float64

	Gain float64 // m(0) − m(d) ≥ 0
}

// tiny is the complementarity left, of values of order 1.
const tiny = 1e-13

// Minimise returns the minimum of m; ok is false if H is not positive definite or a
// number not finite. 0 has to be within the bounds.
//
// It is Mehrotra's predictor-corrector method with both signs of each absolute value
// as variables, uᵢ + Jᵢ·d = pᵢ − qᵢ, for p, q ≥ 0, the way to regression quantiles of
// Portnoy & Koenker (1997), Statist. Sci. 12, 279. Each iteration factorises
// one matrix of the size of H. There are no more of them with degenerate kinks, where
// more meet than there are coordinates.
func (m *Model) Minimise() (out Minimum, ok bool) {
	n, k := len(m.G), len(m.U)
	d, lambda := make([]float64, n), make([]float64, k)
	// The pairs of non-negative variables: p with 1 − λ, q with 1 + λ, and of each
	// bound the distance to it with its multiplier.
	pairs := make([]pair, 0, 2*k+2*n)
	size := 1.0
	for i := range n {
		size = max(size, math.Abs(m.G[i]))
	}
	for _, u := range m.U {
		start := 0.1 + 0.1*math.Abs(u)
		pairs = append(pairs, pair{x: max(u, 0) + start, z: 1}, pair{x: max(-u, 0) + start, z: 1})
	}
	for i := range n {
		for side, at := range m.bounds(i) {
			if !math.IsInf(at, 0) {
				pairs = append(pairs, pair{x: max(math.Abs(at), 1e-2), z: size, of: i, sign: 1 - 2*float64(side), at: at})
			}
		}
	}
	rest := make([]float64, n) // g + Hd + Jᵀλ − multipliers of the bounds
	hd := mat.NewVecDense(n, nil)
	normal := mat.NewSymDense(n, nil)
	right, step := mat.NewVecDense(n, nil), mat.NewVecDense(n, nil)
	var chol mat.Cholesky
	weight, shift, dlambda := make([]float64, k), make([]float64, k), make([]float64, k)
	for range 100 {
		hd.MulVec(m.H, mat.NewVecDense(n, d))
		for i := range n {
			rest[i] = m.G[i] + hd.AtVec(i)
		}
		for i, row := range m.J {
			for j, v := range row {
				rest[j] += lambda[i] * v
			}
		}
		gap, miss, most := 0.0, 0.0, 0.0
		for i := range pairs {
			b := &pairs[i]
			gap += b.x * b.z
			most = max(most, b.x*b.z)
			if i >= 2*k {
				rest[b.of] -= b.sign * b.z
				b.miss = b.sign*(d[b.of]-b.at) - b.x
				miss = max(miss, math.Abs(b.miss))
			}
		}
		for _, v := range rest {
			miss = max(miss, math.Abs(v)/size)
		}
		if math.IsNaN(gap + miss) {
			return out, false
		}
		if most < tiny && miss < 1e-10 || len(pairs) == 0 && miss < 1e-14 {
			break
		}
		mean := gap / float64(max(1, len(pairs)))
		normal.CopySym(m.H)
		for i := range k {
			p, q := &pairs[2*i], &pairs[2*i+1]
			weight[i] = 1 / (p.x/p.z + q.x/q.z)
			add(normal, weight[i], m.J[i])
		}
		for i := 2 * k; i < len(pairs); i++ {
			b := &pairs[i]
			normal.SetSym(b.of, b.of, normal.At(b.of, b.of)+b.z/b.x)
		}
		if !chol.Factorize(normal) {
			break // as far as the arithmetic goes
		}
		// solve makes the step to where products are target, with what the last one
		// has left of second order.
		solve := func(target float64, second bool) {
			for i := range n {
				right.SetVec(i, -rest[i])
			}
			for i := range pairs {
				b := &pairs[i]
				b.c = target - b.x*b.z
				if second {
					b.c -= b.dx * b.dz
				}
				if i >= 2*k {
					right.SetVec(b.of, right.AtVec(b.of)+b.sign*(b.c-b.z*b.miss)/b.x)
				}
			}
			for i := range k {
				p, q := &pairs[2*i], &pairs[2*i+1]
				at := m.U[i] - p.x + q.x
				for j, v := range m.J[i] {
					at += v * d[j]
				}
				shift[i] = q.c/q.z - p.c/p.z + at
				for j, v := range m.J[i] {
					right.SetVec(j, right.AtVec(j)-v*weight[i]*shift[i])
				}
			}
			// A warning of a bad condition is no failure: it grows with every kink.
			_ = chol.SolveVecTo(step, right)
			for i := range k {
				p, q := &pairs[2*i], &pairs[2*i+1]
				at := shift[i]
				for j, v := range m.J[i] {
					at += v * step.AtVec(j)
				}
				dlambda[i] = weight[i] * at
				p.dz, q.dz = -dlambda[i], dlambda[i]
				p.dx, q.dx = (p.c-p.x*p.dz)/p.z, (q.c-q.x*q.dz)/q.z
			}
			for i := 2 * k; i < len(pairs); i++ {
				b := &pairs[i]
				b.dx = b.sign*step.AtVec(b.of) + b.miss
				b.dz = (b.c - b.z*b.dx) / b.x
			}
		}
		solve(0, false)
		_, ratio := ahead(pairs, gap, 1)
		solve(ratio*ratio*ratio*mean, true)
		t, left := ahead(pairs, gap, 0.995)
		if left > 0.9 {
			// What is left of second order can lead in circles; this cannot.
			solve(0.3*mean, false)
			t, _ = ahead(pairs, gap, 0.995)
		}
		if !(t > 1e-12) {
			break
		}
		for i := range n {
			d[i] += t * step.AtVec(i)
		}
		for i := range k {
			lambda[i] += t * dlambda[i]
		}
		for i := range pairs {
			pairs[i].x += t * pairs[i].dx
			pairs[i].z += t * pairs[i].dz
		}
	}
	for i := range n {
		b := m.bounds(i)
		d[i] = min(max(d[i], b[0]), b[1])
	}
	hd.MulVec(m.H, mat.NewVecDense(n, d))
	for i, v := range d {
		out.Gain -= v * (m.G[i] + hd.AtVec(i)/2)
	}
	for i, u := range m.U {
		at := u
		for j, v := range m.J[i] {
			at += v * d[j]
		}
		out.Gain += math.Abs(u) - math.Abs(at)
	}
	out.D, out.Lambda = d, lambda
	return out, !math.IsNaN(out.Gain) && !math.IsInf(out.Gain, 0)
}

// A pair is of two non-negative variables the product of which is to be zero.
type pair struct {
	x, z, dx, dz, c float64

	// Of a bound: x is sign (d[of] − at).
	of             int
	sign, at, miss float64
}

// ahead returns the part of the step, at most 1, that leaves variables the given share
// away from zero, and the share of the gap that remains behind it.
func ahead(pairs []pair, gap, share float64) (t, left float64) {
	t = 1 / share
	for _, b := range pairs {
		if b.dx < 0 {
			t = min(t, -b.x/b.dx)
		}
		if b.dz < 0 {
			t = min(t, -b.z/b.dz)
		}
	}
	t *= share
	for _, b := range pairs {
		left += (b.x + t*b.dx) * (b.z + t*b.dz)
	}
	if gap > 0 {
		left /= gap
	}
	return t, left
}

func (m *Model) bounds(i int) [2]float64 {
	out := [2]float64{math.Inf(-1), math.Inf(1)}
	if m.Lower != nil {
		out[0] = m.Lower[i]
	}
	if m.Upper != nil {
		out[1] = m.Upper[i]
	}
	return out
}

// add adds w v vᵀ.
func add(to *mat.SymDense, w float64, v []float64) {
	for i, a := range v {
		if a == 0 {
			continue
		}
		for j, b := range v[i:] {
			to.SetSym(i, i+j, to.At(i, i+j)+w*a*b)
		}
	}
}

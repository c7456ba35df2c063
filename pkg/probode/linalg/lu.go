package linalg

import (
	"fmt"
	"math"
)

// An LU holds the factorization P(cI − J) = LU, which can be used for many right-hand
// sides. An LU can be used only for matrices of the shape for which it was made.
type LU struct {
	d, low, up int // for a banded J, up includes the diagonals that row exchanges may fill
	banded     bool
	stride     int
	direct     bool // a holds the inverse or the blocks of small.go instead of factors
	a          []float64
	piv        []int

	pattern        // of a dense matrix that is mostly zeros
	sparse  bool   // pattern is in use
	order   *order // of the rows and columns of a large sparse matrix
}

// NewLU returns an LU for matrices with the same shape as j.
func NewLU(j *Matrix) *LU {
	d := j.D
	f := &LU{d: d, low: j.Lower, up: j.Upper, banded: j.Banded, stride: d, piv: make([]int, d)}
	if j.Banded {
		f.up = j.Upper + j.Lower
		f.stride = j.Lower + f.up + 1
		if f.narrow() {
			f.stride = narrowStride
		}
	} else {
		f.pattern = newPattern(d)
		if d > orderFrom {
			f.order = newOrder(d)
		}
	}
	f.a = make([]float64, d*f.stride)
	return f
}

// Factorize sets f to the factors of cI − J, and reports whether cI − J has an inverse.
// The result is false if a pivot is zero or an element is not finite.
func (f *LU) Factorize(c float64, j *Matrix) bool {
	if j.D != f.d || j.Banded != f.banded || j.Lower != f.low {
		panic(fmt.Sprintf("linalg: the dimension is %d and the lower bandwidth is %d: want %d and %d, the values of the matrix passed to NewLU", j.D, j.Lower, f.d, f.low))
	}
	if f.banded {
		if f.narrow() {
			return f.factorizeNarrow(c, j)
		}
		return f.factorizeBanded(c, j)
	}
	f.direct = true
	switch f.d {
	case 1:
		g := c - j.A[0]
		f.a[0] = 1 / g
		return g != 0 && g-g == 0
	case 2:
		return inverse2((*[4]float64)(f.a), c, (*[4]float64)(j.A))
	case 3:
		var ok bool
		a, e := (*[9]float64)(f.a), (*[9]float64)(j.A)
		a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7], a[8], ok = Inverse3(c, e[0], e[1], e[2], e[3], e[4], e[5], e[6], e[7], e[8])
		if ok {
			return true
		}
	case 4:
		if blocks4((*[16]float64)(f.a), c, (*[16]float64)(j.A)) {
			return true
		}
	}
	f.direct, f.sparse = false, false
	if f.d > 4 {
		if f.known && f.load(c, j) {
			if ok, same := f.factorizeSparse(); same {
				f.sparse = true
				return ok
			}
		}
		if f.read(c, j) {
			if f.sparse = true; f.order != nil {
				f.order.apply(f)
			}
			ok, _ := f.factorizeSparse()
			return ok
		}
	}
	return f.factorizeDense(c, j)
}

// Solve overwrites b with (cI − J)⁻¹b. The length of b must be d.
func (f *LU) Solve(b []float64) {
	switch {
	case f.banded && f.narrow():
		f.solveNarrow(b)
	case f.banded:
		f.solveBanded(b)
	case f.sparse && f.order != nil:
		f.order.solve(f, b)
	case f.sparse:
		f.solveSparse(b)
	case !f.direct:
		f.solveDense(b)
	case f.d == 1:
		b[0] *= f.a[0]
	case f.d == 2:
		a := (*[4]float64)(f.a)
		b[0], b[1] = a[0]*b[0]+a[1]*b[1], a[2]*b[0]+a[3]*b[1]
	case f.d == 3:
		a := (*[9]float64)(f.a)
		x, y, z := b[0], b[1], b[2]
		b[0] = a[0]*x + a[1]*y + a[2]*z
		b[1] = a[3]*x + a[4]*y + a[5]*z
		b[2] = a[6]*x + a[7]*y + a[8]*z
	default:
		solveBlocks4((*[16]float64)(f.a), (*[4]float64)(b))
	}
}

func (f *LU) factorizeDense(c float64, j *Matrix) bool {
	d, a := f.d, f.a
	src := j.A[:len(a)]
	var special uint64
	for i, v := range src {
		a[i] = -v
		special |= overflow(v)
	}
	if !finite(special) {
		return false
	}
	for i := 0; i < len(a); i += d + 1 {
		a[i] += c
	}
	for from := 0; from < d; from += 4 {
		to := min(from+4, d)
		for k := from; k < to; k++ {
			if !f.pivot(k, to) {
				return false
			}
		}
		if to < d {
			f.subtractFour(from)
		}
	}
	return true
}

// pivot eliminates column k in the columns before `to`.
func (f *LU) pivot(k, to int) bool {
	d, a := f.d, f.a
	p, big := k, math.Abs(a[k*d+k])
	for i, at := k+1, (k+1)*d+k; i < d; i, at = i+1, at+d {
		if v := math.Abs(a[at]); v > big {
			p, big = i, v
		}
	}
	f.piv[k] = p
	if big == 0 || big-big != 0 {
		return false
	}
	if p != k {
		rk, rp := a[k*d:(k+1)*d], a[p*d:(p+1)*d]
		rp = rp[:len(rk)]
		for i, v := range rk {
			rk[i], rp[i] = rp[i], v
		}
	}
	inv := 1 / a[k*d+k]
	a[k*d+k] = inv
	top := a[k*d+k+1 : k*d+to]
	for at := (k+1)*d + k; at < len(a); at += d {
		l := a[at] * inv
		a[at] = l
		if l == 0 {
			continue
		}
		if l-l != 0 {
			return false // a NaN is never the largest element in the search
		}
		row := a[at+1:][:len(top)]
		for q, v := range top {
			row[q] -= l * v
		}
	}
	return true
}

// subtractFour completes the elimination of four columns from k in the columns after them.
// Each element is read and written once instead of four times.
func (f *LU) subtractFour(k int) {
	d, a := f.d, f.a
	r, n := a[k*d+k:], d-k-4
	t0, t1, t2, t3 := r[4:][:n], r[d+4:][:n], r[2*d+4:][:n], r[3*d+4:][:n]
	l10, l20, l21, l30, l31, l32 := r[d], r[2*d], r[2*d+1], r[3*d], r[3*d+1], r[3*d+2]
	for q, v := range t0 {
		w := t1[q] - l10*v
		x := t2[q] - l20*v - l21*w
		t1[q], t2[q], t3[q] = w, x, t3[q]-l30*v-l31*w-l32*x
	}
	for i := (k+4)*d + k; i < len(a); i += d {
		l := (*[4]float64)(a[i:])
		l0, l1, l2, l3 := l[0], l[1], l[2], l[3]
		if l0 == 0 && l1 == 0 && l2 == 0 && l3 == 0 {
			continue
		}
		row := a[i+4:][:n]
		for q, v := range row {
			row[q] = v - l0*t0[q] - l1*t1[q] - l2*t2[q] - l3*t3[q]
		}
	}
}

// solveDense takes four rows at a time, whose sums a processor computes in parallel, and
// their triangular block last.
func (f *LU) solveDense(b []float64) {
	d, a := f.d, f.a
	b = b[:d]
	for k, p := range f.piv {
		b[k], b[p] = b[p], b[k]
	}
	i := 0
	for ; i+4 <= d; i += 4 {
		s0, s1, s2, s3 := dot4(a, d, i, 0, b[:i], b[i:])
		r1, r2, r3 := a[(i+1)*d+i:], a[(i+2)*d+i:], a[(i+3)*d+i:]
		s1 -= r1[0] * s0
		s2 -= r2[0] * s0
		s3 -= r3[0] * s0
		s2 -= r2[1] * s1
		s3 -= r3[1] * s1
		s3 -= r3[2] * s2
		b[i], b[i+1], b[i+2], b[i+3] = s0, s1, s2, s3
	}
	for ; i < d; i++ {
		s := b[i]
		for k, v := range a[i*d : i*d+i] {
			s -= v * b[k]
		}
		b[i] = s
	}
	for i = d; i%4 != 0; {
		i--
		s := b[i]
		for k := i + 1; k < d; k++ {
			s -= a[i*d+k] * b[k]
		}
		b[i] = s * a[i*d+i]
	}
	for i -= 4; i >= 0; i -= 4 {
		s0, s1, s2, s3 := dot4(a, d, i, i+4, b[i+4:], b[i:])
		r0, r1, r2, r3 := a[i*d+i:], a[(i+1)*d+i:], a[(i+2)*d+i:], a[(i+3)*d+i:]
		s3 *= r3[3]
		s2 = (s2 - r2[3]*s3) * r2[2]
		s1 = (s1 - r1[3]*s3 - r1[2]*s2) * r1[1]
		s0 = (s0 - r0[3]*s3 - r0[2]*s2 - r0[1]*s1) * r0[0]
		b[i], b[i+1], b[i+2], b[i+3] = s0, s1, s2, s3
	}
}

// dot4 returns start[m] − Σ_k a[i+m, from+k] x[k] for four rows from i.
func dot4(a []float64, d, i, from int, x, start []float64) (s0, s1, s2, s3 float64) {
	s0, s1, s2, s3 = start[0], start[1], start[2], start[3]
	if len(x) == 0 {
		return
	}
	r0 := a[i*d+from:][:len(x)]
	r1 := a[(i+1)*d+from:][:len(x)]
	r2 := a[(i+2)*d+from:][:len(x)]
	r3 := a[(i+3)*d+from:][:len(x)]
	for k, v := range x {
		s0 -= r0[k] * v
		s1 -= r1[k] * v
		s2 -= r2[k] * v
		s3 -= r3[k] * v
	}
	return
}

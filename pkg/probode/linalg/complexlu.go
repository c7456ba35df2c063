package linalg

import (
	"fmt"
	"math"
)

// A ComplexLU holds the factors of P(cI − J) = LU for a complex c and a real J. An
// implicit Runge–Kutta method needs a ComplexLU for each conjugate pair of eigenvalues of
// its coefficient matrix [Hairer & Wanner 1996, §IV.8].
type ComplexLU struct {
	d, low, up int // for a banded J, up includes the diagonals that row exchanges may fill
	banded     bool
	stride     int
	a          []complex128
	b          []complex128
	piv        []int

	// The equations for a large sparse J are solved as real ones of twice the dimension, in
	// which the real and the imaginary part of each unknown stand side by side.
	sparse bool
	twice  *Matrix
	real   *LU
	x      []float64
}

// twiceTo is the largest dimension of a sparse J whose equations are solved as real ones:
// three matrices of twice the dimension must fit in memory.
const twiceTo = 1000

// NewComplexLU returns a ComplexLU for matrices with the same shape as j.
func NewComplexLU(j *Matrix) *ComplexLU {
	d := j.D
	f := &ComplexLU{d: d, low: j.Lower, up: j.Upper, banded: j.Banded, stride: d,
		piv: make([]int, d), b: make([]complex128, d)}
	if j.Banded {
		f.up = j.Upper + j.Lower
		f.stride = j.Lower + f.up + 1
	}
	return f
}

// Factorize sets f to the factors of the matrix (re + i im)I − J, and reports whether
// this matrix has an inverse. The result is false if a pivot is zero or an element is not
// finite.
func (f *ComplexLU) Factorize(re, im float64, j *Matrix) bool {
	if j.D != f.d || j.Banded != f.banded || j.Lower != f.low {
		panic(fmt.Sprintf("linalg: the dimension is %d and the lower bandwidth is %d: want %d and %d, the values of the matrix passed to NewComplexLU", j.D, j.Lower, f.d, f.low))
	}
	if f.sparse = !f.banded && f.d > orderFrom && f.d <= twiceTo && !crowded(j.A, len(j.A)/16); f.sparse {
		return f.double(re, im, j)
	}
	if f.a == nil {
		f.a = make([]complex128, f.d*f.stride)
	}
	// In dense and in band storage, element (i, j) has the index i*step + j + at. Row
	// exchanges leave the multipliers of earlier columns in place, because band storage
	// has no room to move them.
	d, a, w := f.d, f.a, f.stride
	step, at := w, 0
	var special uint64
	if f.banded {
		step, at = w-1, f.low
		clear(a)
		for i := range d {
			from, to := max(0, f.low-i), min(j.stride, f.low+d-i)
			for q := from; q < to; q++ {
				v := j.A[i*j.stride+q]
				a[i*w+q] = complex(-v, 0)
				special |= overflow(v)
			}
		}
	} else {
		for i, v := range j.A[:len(a)] {
			a[i] = complex(-v, 0)
			special |= overflow(v)
		}
	}
	if !finite(special) {
		return false
	}
	c := complex(re, im)
	for k := range d {
		a[k*(step+1)+at] += c
	}
	for k := range d {
		last := min(d-1, k+f.low)
		diag := k*(step+1) + at
		p, big := k, magnitude(a[diag])
		for i, q := k+1, diag+step; i <= last; i, q = i+1, q+step {
			if v := magnitude(a[q]); v > big {
				p, big = i, v
			}
		}
		f.piv[k] = p
		if big == 0 || big-big != 0 {
			return false
		}
		top := a[diag:][:min(d-k, f.up+1)]
		if p != k {
			row := a[diag+(p-k)*step:][:len(top)]
			for i, v := range top {
				top[i], row[i] = row[i], v
			}
		}
		inv := reciprocal(top[0])
		top[0] = inv
		for i, q := k+1, diag+step; i <= last; i, q = i+1, q+step {
			if a[q] == 0 {
				continue
			}
			l := a[q] * inv
			if m := magnitude(l); m-m != 0 {
				return false
			}
			row := a[q:][:len(top)]
			row[0] = l
			for m := 1; m < len(top); m++ {
				row[m] -= l * top[m]
			}
		}
	}
	return true
}

// double factorises the real matrix of twice the dimension.
func (f *ComplexLU) double(re, im float64, j *Matrix) bool {
	d := f.d
	if f.real == nil {
		f.twice = NewDense(2 * d)
		f.real, f.x = NewLU(f.twice), make([]float64, 2*d)
	}
	a := f.twice.A
	clear(a)
	for i := range d {
		top, low := a[4*d*i:][:2*d], a[4*d*i+2*d:][:2*d]
		for k, v := range j.A[i*d : (i+1)*d] {
			if v != 0 {
				top[2*k], low[2*k+1] = v, v
			}
		}
		top[2*i+1], low[2*i] = im, -im
	}
	return f.real.Factorize(re, f.twice)
}

// Solve overwrites the right-hand side re + i im with the solution. Both re and im have
// length d.
func (f *ComplexLU) Solve(re, im []float64) {
	d, a, b := f.d, f.a, f.b
	re, im = re[:d], im[:d]
	if f.sparse {
		x := f.x
		for k, v := range re {
			x[2*k], x[2*k+1] = v, im[k]
		}
		f.real.Solve(x)
		for k := range re {
			re[k], im[k] = x[2*k], x[2*k+1]
		}
		return
	}
	step, at := f.stride, 0
	if f.banded {
		step, at = f.stride-1, f.low
	}
	for k := range b {
		b[k] = complex(re[k], im[k])
	}
	for k, p := range f.piv {
		b[k], b[p] = b[p], b[k]
		v := b[k]
		if v == 0 {
			continue
		}
		last := min(d-1, k+f.low)
		for i, q := k+1, k*(step+1)+at+step; i <= last; i, q = i+1, q+step {
			b[i] -= a[q] * v
		}
	}
	for i := d - 1; i >= 0; i-- {
		row := a[i*(step+1)+at:][:min(d-i, f.up+1)]
		x := b[i:][:len(row)]
		s := x[0]
		for k := len(row) - 1; k > 0; k-- {
			s -= row[k] * x[k]
		}
		x[0] = s * row[0]
	}
	for k, v := range b {
		re[k], im[k] = real(v), imag(v)
	}
}

// magnitude is good enough to compare pivots.
func magnitude(z complex128) float64 { return math.Abs(real(z)) + math.Abs(imag(z)) }

// reciprocal is Smith's rule, which does not square the parts.
func reciprocal(z complex128) complex128 {
	x, y := real(z), imag(z)
	if math.Abs(x) >= math.Abs(y) {
		r := y / x
		s := 1 / (x + y*r)
		return complex(s, -r*s)
	}
	r := x / y
	s := 1 / (y + x*r)
	return complex(r*s, -s)
}

// Package linalg has the linear algebra of an implicit step: a Jacobian J in
// dense or band storage, and the factors of cI − J.
package linalg

import "math"

// gonum has no LU factorisation of banded matrices, and its dense one
// allocates and is slow for the two or three dimensions of most models, where
// an implicit step spends its time. What a step needs is small enough to be
// written down here: a Jacobian in dense or band storage, and Γ = cI − J
// factorised in place with partial pivoting.

// A Matrix is a d×d matrix in row-major dense storage or, for a banded one,
// in row-major band storage of width kl+ku+1 (see Problem.FJ).
type Matrix struct {
	D            int // d
	Lower, Upper int // kl and ku, d−1 for a dense matrix
	Banded       bool
	Stride       int       // elements a row in A
	A            []float64 // d·Stride elements
}

// NewDense returns the d×d matrix of zeros.
func NewDense(d int) *Matrix {
	return &Matrix{D: d, Lower: d - 1, Upper: d - 1, Stride: d, A: make([]float64, d*d)}
}

// NewBanded returns the d×d matrix of zeros in band storage, with the given
// numbers of sub- and superdiagonals.
func NewBanded(d, lower, upper int) *Matrix {
	w := lower + upper + 1
	return &Matrix{D: d, Lower: lower, Upper: upper, Banded: true, Stride: w, A: make([]float64, d*w)}
}

// At returns element (i, j), zero outside the band.
func (m *Matrix) At(i, j int) float64 {
	if !m.Banded {
		return m.A[i*m.D+j]
	}
	if j-i > m.Upper || i-j > m.Lower {
		return 0
	}
	return m.A[i*m.Stride+j-i+m.Lower]
}

func (m *Matrix) Set(i, j int, v float64) {
	if m.Banded {
		m.A[i*m.Stride+j-i+m.Lower] = v
	} else {
		m.A[i*m.D+j] = v
	}
}

// Columns returns the columns lo, …, hi−1 that row i has elements in.
func (m *Matrix) Columns(i int) (lo, hi int) { return max(0, i-m.Lower), min(m.D, i+m.Upper+1) }

// AddMul adds c·J·x to dst.
func (m *Matrix) AddMul(dst []float64, c float64, x []float64) {
	switch {
	case m.Banded:
		for i := range dst {
			lo, hi := max(0, i-m.Lower), min(m.D, i+m.Upper+1)
			row := m.A[i*m.Stride+lo-i+m.Lower:]
			var sum float64
			for k, v := range x[lo:hi] {
				sum += row[k] * v
			}
			dst[i] += c * sum
		}
	case m.D == 2:
		x0, x1 := x[0], x[1]
		dst[0] += c * (m.A[0]*x0 + m.A[1]*x1)
		dst[1] += c * (m.A[2]*x0 + m.A[3]*x1)
	default:
		for i := range dst {
			row := m.A[i*m.D : (i+1)*m.D]
			var sum float64
			for k, v := range x[:len(row)] {
				sum += row[k] * v
			}
			dst[i] += c * sum
		}
	}
}

// An LU is the factorisation P(cI − J) = LU, kept for solves with several
// right-hand sides. For a banded J the rows are stored with kl more places to
// the right, which row exchanges may fill.
type LU struct {
	d, low, up int
	banded     bool
	stride     int
	a          []float64
	piv        []int
}

func NewLU(j *Matrix) *LU {
	f := &LU{d: j.D, low: j.Lower, up: j.Upper, banded: j.Banded, stride: j.D, piv: make([]int, j.D)}
	if j.Banded {
		f.up = j.Upper + j.Lower
		f.stride = j.Lower + f.up + 1
	}
	f.a = make([]float64, f.d*f.stride)
	return f
}

// Factorize sets f to the factors of cI − J and reports whether no pivot
// vanished.
func (f *LU) Factorize(c float64, j *Matrix) bool {
	switch {
	case f.banded:
		return f.factorizeBanded(c, j)
	case f.d == 2:
		// The inverse itself: for two dimensions it is as accurate as
		// elimination, and its one division overlaps with other work.
		a, b := c-j.A[0], -j.A[1]
		p, q := -j.A[2], c-j.A[3]
		det := a*q - b*p
		inv := 1 / det
		f.a[0], f.a[1], f.a[2], f.a[3] = q*inv, -b*inv, -p*inv, a*inv
		return det != 0 && det-det == 0
	}
	return f.factorizeDense(c, j)
}

func (f *LU) factorizeDense(c float64, j *Matrix) bool {
	d, a := f.d, f.a
	for i, v := range j.A {
		a[i] = -v
	}
	for i := range d {
		a[i*d+i] += c
	}
	for k := range d {
		p, big := k, math.Abs(a[k*d+k])
		for i := k + 1; i < d; i++ {
			if v := math.Abs(a[i*d+k]); v > big {
				p, big = i, v
			}
		}
		f.piv[k] = p
		if big == 0 || big-big != 0 {
			return false
		}
		if p != k {
			rk, rp := a[k*d:(k+1)*d], a[p*d:(p+1)*d]
			for i, v := range rk {
				rk[i], rp[i] = rp[i], v
			}
		}
		inv := 1 / a[k*d+k]
		a[k*d+k] = inv
		top := a[k*d+k+1 : (k+1)*d]
		for i := k + 1; i < d; i++ {
			l := a[i*d+k] * inv
			a[i*d+k] = l
			if l == 0 {
				continue
			}
			row := a[i*d+k+1 : (i+1)*d][:len(top)]
			for q, v := range top {
				row[q] -= l * v
			}
		}
	}
	return true
}

// factorizeBanded is factorizeDense in band storage: element (i, j) stands at
// a[i*stride + j−i+low].
func (f *LU) factorizeBanded(c float64, j *Matrix) bool {
	d, w, low, a := f.d, f.stride, f.low, f.a
	clear(a)
	for i := range d {
		src := j.A[i*j.Stride : (i+1)*j.Stride]
		dst := a[i*w : i*w+j.Stride]
		for q, v := range src {
			dst[q] = -v
		}
		dst[low] += c
	}
	// What FJ wrote outside of the matrix, in the corners of the band, must
	// not be taken for elements.
	for i := range low {
		clear(a[i*w : i*w+low-i])
	}
	for i := max(0, d-j.Upper); i < d; i++ {
		clear(a[i*w+low+d-i : (i+1)*w])
	}
	for k := range d {
		last := min(d-1, k+low)
		p, big := k, math.Abs(a[k*w+low])
		for i := k + 1; i <= last; i++ {
			if v := math.Abs(a[i*w+k-i+low]); v > big {
				p, big = i, v
			}
		}
		f.piv[k] = p
		if big == 0 || big-big != 0 {
			return false
		}
		n := min(d-k, f.up+1) // elements from the diagonal to the right end
		rk := a[k*w+low : k*w+low+n]
		if p != k {
			rp := a[p*w+k-p+low:][:n]
			for i, v := range rk {
				rk[i], rp[i] = rp[i], v
			}
		}
		inv := 1 / rk[0]
		rk[0] = inv
		for i := k + 1; i <= last; i++ {
			row := a[i*w+k-i+low:][:n]
			l := row[0] * inv
			row[0] = l
			if l == 0 {
				continue
			}
			for q := 1; q < n; q++ {
				row[q] -= l * rk[q]
			}
		}
	}
	return true
}

// Solve overwrites b by (cI − J)⁻¹b.
func (f *LU) Solve(b []float64) {
	a := f.a
	switch {
	case f.banded:
		f.solveBanded(b)
		return
	case f.d == 2:
		b[0], b[1] = a[0]*b[0]+a[1]*b[1], a[2]*b[0]+a[3]*b[1]
		return
	}
	d := f.d
	for k, p := range f.piv {
		b[k], b[p] = b[p], b[k]
	}
	for i := 1; i < d; i++ {
		sum := b[i]
		for k, v := range a[i*d : i*d+i] {
			sum -= v * b[k]
		}
		b[i] = sum
	}
	for i := d - 1; i >= 0; i-- {
		sum := b[i]
		for k := i + 1; k < d; k++ {
			sum -= a[i*d+k] * b[k]
		}
		b[i] = sum * a[i*d+i]
	}
}

// solveBanded applies exchanges and eliminations in turn, as they were made:
// an exchange left the multipliers of earlier columns where they were, since
// moving them would have widened the band.
func (f *LU) solveBanded(b []float64) {
	d, w, low, a := f.d, f.stride, f.low, f.a
	for k, p := range f.piv {
		b[k], b[p] = b[p], b[k]
		v := b[k]
		for i := k + 1; i <= min(d-1, k+low); i++ {
			b[i] -= a[i*w+k-i+low] * v
		}
	}
	for i := d - 1; i >= 0; i-- {
		n := min(d-i, f.up+1)
		row := a[i*w+low:][:n]
		sum := b[i]
		for k := 1; k < n; k++ {
			sum -= row[k] * b[i+k]
		}
		b[i] = sum * row[0]
	}
}

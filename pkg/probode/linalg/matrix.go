package linalg

import (
	"fmt"
	"math"

	"github.com/probode/probode/pkg/probode/internal/vector"
)

// A Matrix is a d×d matrix in row-major order. In a dense matrix, element (i, j) is
// A[i*D+j]. A banded matrix stores only the elements with −Lower ≤ j−i ≤ Upper: element
// (i, j) is A[i*(Lower+Upper+1) + j−i+Lower]. If the matrix is banded,
// some elements in the first and last rows of A lie outside the matrix and are never read.
type Matrix struct {
	D            int // dimension
	Lower, Upper int // number of sub- and superdiagonals; D−1 if dense
	Banded       bool
	stride       int // elements of A in a row
	A            []float64
}

// NewDense returns a dense d×d matrix of zeros, with d ≥ 1.
func NewDense(d int) *Matrix {
	if d < 1 {
		panic(fmt.Sprintf("linalg: the dimension is %d: want at least 1", d))
	}
	return &Matrix{D: d, Lower: d - 1, Upper: d - 1, stride: d, A: make([]float64, d*d)}
}

// NewBanded returns a banded d×d matrix of zeros. The arguments `lower` and `upper` are the
// numbers of subdiagonals and superdiagonals, each in [0, d).
func NewBanded(d, lower, upper int) *Matrix {
	if d < 1 || lower < 0 || upper < 0 || lower >= d || upper >= d {
		panic(fmt.Sprintf("linalg: the dimension of a matrix is %d and the bandwidths are %d and %d: want bandwidths in [0, dimension)", d, lower, upper))
	}
	w := lower + upper + 1
	return &Matrix{D: d, Lower: lower, Upper: upper, Banded: true, stride: w, A: make([]float64, d*w)}
}

// overflow has its highest bit set if v is not finite. The bitwise or of many needs no
// branch for each.
func overflow(v float64) uint64 {
	const exponent, one = 0x7ff << 52, 1 << 52
	return math.Float64bits(v)&exponent + one
}

func finite(words uint64) bool { return words>>63 == 0 }

// At returns element (i, j), which is zero outside the band.
func (m *Matrix) At(i, j int) float64 {
	if !m.Banded {
		return m.A[i*m.D+j]
	}
	if j-i > m.Upper || i-j > m.Lower {
		return 0
	}
	return m.A[i*m.stride+j-i+m.Lower]
}

// Set sets element (i, j), which must lie in the band.
func (m *Matrix) Set(i, j int, v float64) {
	if !m.Banded {
		m.A[i*m.D+j] = v
		return
	}
	if j-i > m.Upper || i-j > m.Lower {
		panic(fmt.Sprintf("linalg: element (%d, %d) is outside the band (%d, %d)", i, j, m.Lower, m.Upper))
	}
	m.A[i*m.stride+j-i+m.Lower] = v
}

// Columns returns the range lo ≤ j < hi of the columns that are stored for row i.
func (m *Matrix) Columns(i int) (lo, hi int) { return max(0, i-m.Lower), min(m.D, i+m.Upper+1) }

// AddMul adds c times the product of the matrix and x to dst. The vectors x and dst have
// length D and must not overlap.
func (m *Matrix) AddMul(dst []float64, c float64, x []float64) {
	switch {
	case m.Banded:
		m.addMulBanded(dst, c, x)
	case m.D == 2:
		a, x0, x1 := m.A[:4], x[0], x[1]
		dst[0] += c * (a[0]*x0 + a[1]*x1)
		dst[1] += c * (a[2]*x0 + a[3]*x1)
	default:
		m.addMulDense(dst, c, x)
	}
}

// addMulDense takes four rows at a time, whose sums a processor computes in parallel,
// with terms in the order of the columns.
func (m *Matrix) addMulDense(dst []float64, c float64, x []float64) {
	d, a := m.D, m.A
	x = x[:d]
	i := 0
	for ; i+4 <= d; i += 4 {
		r0 := a[i*d : (i+1)*d][:len(x)]
		r1 := a[(i+1)*d : (i+2)*d][:len(x)]
		r2 := a[(i+2)*d : (i+3)*d][:len(x)]
		r3 := a[(i+3)*d : (i+4)*d][:len(x)]
		var s0, s1, s2, s3 float64
		for k, v := range x {
			s0 += r0[k] * v
			s1 += r1[k] * v
			s2 += r2[k] * v
			s3 += r3[k] * v
		}
		y := dst[i : i+4 : i+4]
		y[0] += c * s0
		y[1] += c * s1
		y[2] += c * s2
		y[3] += c * s3
	}
	for ; i < d; i++ {
		r := a[i*d : (i+1)*d][:len(x)]
		var s float64
		for k, v := range x {
			s += r[k] * v
		}
		dst[i] += c * s
	}
}

func (m *Matrix) addMulBanded(dst []float64, c float64, x []float64) {
	d, w, low, up := m.D, m.stride, m.Lower, m.Upper
	dst, x = dst[:d], x[:d]
	from, to := min(low, d), max(d-up, low) // rows whose storage lies inside the matrix
	m.addMulEnds(dst, c, x, 0, from)
	if w == 5 && low == 2 {
		for i := from; i < to; i++ {
			r, y := (*[5]float64)(m.A[i*5:]), (*[5]float64)(x[i-2:])
			dst[i] += c * (r[0]*y[0] + r[1]*y[1] + r[2]*y[2] + r[3]*y[3] + r[4]*y[4])
		}
	} else {
		for i := from; i < to; i++ {
			row := m.A[i*w : (i+1)*w]
			y := x[i-low:][:len(row)]
			var s float64
			for k, v := range row {
				s += v * y[k]
			}
			dst[i] += c * s
		}
	}
	m.addMulEnds(dst, c, x, max(from, to), d)
}

func (m *Matrix) addMulEnds(dst []float64, c float64, x []float64, from, to int) {
	for i := from; i < to; i++ {
		lo, hi := m.Columns(i)
		row := m.A[i*m.stride+lo-i+m.Lower:]
		var s float64
		for k, v := range x[lo:hi] {
			s += row[k] * v
		}
		dst[i] += c * s
	}
}

// AddMulTransposed adds Mᵀx to dst. The vectors x and dst have length D and must not
// overlap.
func (m *Matrix) AddMulTransposed(dst, x []float64) {
	for i, v := range x {
		if v == 0 {
			continue
		}
		if lo, hi := m.Columns(i); m.Banded {
			vector.AddScaled(dst[lo:hi], v, m.A[i*m.stride+lo-i+m.Lower:])
		} else {
			vector.AddScaled(dst, v, m.A[i*m.D:])
		}
	}
}

// Transpose returns the transpose of m. If dst is nil, the result is a new matrix;
// otherwise dst must be the result of an earlier call for a matrix of the same shape.
func (m *Matrix) Transpose(dst *Matrix) *Matrix {
	if dst == nil {
		if m.Banded {
			dst = NewBanded(m.D, m.Upper, m.Lower)
		} else {
			dst = NewDense(m.D)
		}
	}
	for i := range m.D {
		lo, hi := m.Columns(i)
		for j := lo; j < hi; j++ {
			if m.Banded {
				dst.Set(j, i, m.At(i, j))
			} else {
				dst.A[j*m.D+i] = m.A[i*m.D+j]
			}
		}
	}
	return dst
}

func subtract(row []float64, l float64, top []float64) {
	row = row[:len(top)]
	q := 0
	for ; q <= len(top)-4; q += 4 {
		r, t := (*[4]float64)(row[q:]), (*[4]float64)(top[q:])
		r[0] -= l * t[0]
		r[1] -= l * t[1]
		r[2] -= l * t[2]
		r[3] -= l * t[3]
	}
	for ; q < len(top); q++ {
		row[q] -= l * top[q]
	}
}

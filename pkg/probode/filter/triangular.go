package filter

import (
	"math"
	"slices"

	"github.com/probode/probode/pkg/probode/internal/vector"
)

// Covariances are stored as factors: a matrix R represents the covariance RᵀR. A
// covariance in this form is always positive semidefinite. To add two covariances, stack
// the rows of their factors. An orthogonal transformation of the rows does not change the
// covariance.
//
// Matrices are stored by columns: element (i, j) is at index j*stride+i. The matrices are
// so small that a call to LAPACK would spend as much time on overhead as on the
// computation itself.

// triangularize makes the first n columns A an upper triangular R, RᵀR = AᵀA, by
// Householder reflections of all columns. It does not set elements below the diagonal to
// zero.
func triangularize(a []float64, stride, rows, n, columns int) {
	for c := range min(rows-1, n) {
		reflect(a, stride, a, stride, c, c+1, rows, columns)
	}
}

// reflect sets the elements of column c of `tail` to zero, in rows `from` to `to`−1, with
// row c of `top`, whose positive element becomes negative even if there is nothing to do.
// Only columns c to `end`−1 change.
func reflect(top []float64, stride int, tail []float64, below, c, from, to, end int) {
	v := tail[c*below+from : c*below+to]
	head := top[c*stride+c]
	var square float64
	for _, x := range v {
		square += x * x
	}
	if square == 0 && head <= 0 {
		return
	}
	norm := math.Sqrt(square + head*head)
	if head > 0 {
		norm = -norm
	}
	first := head - norm // the first element of the vector of the reflection; the others are v
	scale := 1 / (norm * first)
	top[c*stride+c] = norm
	for j := c + 1; j < end; j++ {
		head := &top[j*stride+c]
		u := tail[j*below+from : j*below+to]
		u = u[:len(v)]
		sum := first * *head
		for i, x := range v {
			sum += x * u[i]
		}
		sum *= scale
		*head += first * sum
		for i, x := range v {
			u[i] += sum * x
		}
	}
}

// rotations are of neighbouring rows from `low` to `high`, from the bottom to the top.
type rotations struct {
	low, high int
	cos, sin  []float64 // those of rows i−1 and i at index i
}

// collect sets the column v below v[low] to zero.
func (r *rotations) collect(v []float64, low int) {
	r.low, r.high = low, len(v)-1
	for r.high > low && v[r.high]*v[r.high] == 0 {
		r.high--
	}
	if r.high == low {
		return
	}
	below, sum := v[r.high], v[r.high]*v[r.high]
	for i := r.high; i > low; i-- {
		sum += v[i-1] * v[i-1]
		norm := math.Sqrt(sum)
		r.cos[i], r.sin[i] = v[i-1]/norm, below/norm
		v[i], below = 0, norm
	}
	v[low] = below
}

// apply wants zeros below x[last].
func (r *rotations) apply(x []float64, last int) {
	high := min(r.high, last+1)
	if high <= r.low {
		return
	}
	below := x[high]
	for i := high; i > r.low; i-- {
		above, c, s := x[i-1], r.cos[i], r.sin[i]
		x[i] = c*below - s*above
		below = s*below + c*above
	}
	x[r.low] = below
}

// length does not overflow or underflow.
func length(x []float64) float64 {
	if square := vector.Dot(x, x); square > 1e-280 && square < 1e280 {
		return math.Sqrt(square)
	}
	var size float64
	for _, v := range x {
		size = math.Hypot(size, v)
	}
	return size
}

func resize(v []float64, n int) []float64 {
	return slices.Grow(v[:0], n)[:n]
}

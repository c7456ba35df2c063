package filter

import "math"

// Covariances are kept as factors: the rows of a matrix R stand for the covariance RᵀR,
// so that no covariance can lose its positive definiteness. To add two covariances, stack
// the rows. An orthogonal transformation of the rows does not change the covariance.

// triangularize replaces the rows×n matrix a, row-major, by an upper triangular matrix R
// with the same aᵀa, by Householder reflections. Elements below the diagonal are not set
// to zero. The matrices of small problems are so small that a call of LAPACK would take
// as long as the work.
func triangularize(a []float64, rows, n int, sum []float64) {
	for c := range min(rows-1, n) {
		var norm float64
		for i := c + 1; i < rows; i++ {
			norm += a[i*n+c] * a[i*n+c]
		}
		if norm == 0 {
			continue
		}
		head := a[c*n : (c+1)*n]
		norm = math.Sqrt(norm + head[c]*head[c])
		if head[c] > 0 {
			norm = -norm
		}
		v := head[c] - norm // the first element of the vector of the reflection
		scale := 1 / (norm * v)
		head[c] = norm
		rest := head[c+1:]
		s := sum[:len(rest)]
		for j, x := range rest {
			s[j] = v * x
		}
		for i := c + 1; i < rows; i++ {
			add(s, a[i*n+c], a[i*n+c+1:(i+1)*n])
		}
		for j := range s {
			s[j] *= scale
		}
		add(rest, v, s)
		for i := c + 1; i < rows; i++ {
			add(a[i*n+c+1:(i+1)*n], a[i*n+c], s)
		}
	}
}

// add adds c times x to dst.
func add(dst []float64, c float64, x []float64) {
	x = x[:len(dst)]
	for k := range dst {
		dst[k] += c * x[k]
	}
}

// solveTransposed replaces b by the solution y of Rᵀy = b, where R is the upper
// triangular matrix of the first n rows and columns of a matrix with the given stride. If
// R is singular, because a part of the covariance is zero, the elements of y for which R
// has a zero on the diagonal are set to zero. An element of the diagonal is regarded as
// zero if its size, relative to the largest one, is at most least.
func solveTransposed(r []float64, stride, n int, b []float64, least float64) {
	var top float64
	for i := range n {
		top = max(top, math.Abs(r[i*stride+i]))
	}
	for i := range n {
		if math.Abs(r[i*stride+i]) <= least*top {
			b[i] = 0
			continue
		}
		b[i] /= r[i*stride+i]
		for j := i + 1; j < n; j++ {
			b[j] -= r[i*stride+j] * b[i]
		}
	}
}

// clearBelow sets the elements below the diagonal of a rows×n matrix to zero.
func clearBelow(a []float64, rows, n int) {
	for i := 1; i < rows; i++ {
		clear(a[i*n : i*n+min(i, n)])
	}
}

package linalg

import "math"

// factorizeBanded has element (i, j) at a[i*stride + j−i+low], with f.low extra elements
// on the right: row exchanges widen the upper band.
func (f *LU) factorizeBanded(c float64, j *Matrix) bool {
	d, w, low, a := f.d, f.stride, f.low, f.a
	clear(a)
	var special uint64
	for i := range d {
		// In the first and the last rows of J, parts of the bands lie outside the matrix.
		from, to := max(0, low-i), min(j.stride, low+d-i)
		src := j.A[i*j.stride+from : i*j.stride+to]
		dst := a[i*w+from:][:len(src)]
		for q, v := range src {
			dst[q] = -v
			special |= overflow(v)
		}
		a[i*w+low] += c
	}
	if !finite(special) {
		return false
	}
	for k := range d {
		last := min(d-1, k+low)
		p, big := k, math.Abs(a[k*w+low])
		for i, at := k+1, (k+1)*w+low-1; i <= last; i, at = i+1, at+w-1 {
			if v := math.Abs(a[at]); v > big {
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
			if l-l != 0 {
				return false
			}
			subtract(row[1:], l, rk[1:])
		}
	}
	return true
}

// solveBanded repeats exchanges and eliminations in their order. Multipliers of earlier
// columns stayed in place: moving them would widen the lower band.
func (f *LU) solveBanded(b []float64) {
	d, w, low, a := f.d, f.stride, f.low, f.a
	b = b[:d]
	for k, p := range f.piv {
		b[k], b[p] = b[p], b[k]
		v := b[k]
		for i, at := k+1, (k+1)*w+low-1; i <= min(d-1, k+low); i, at = i+1, at+w-1 {
			b[i] -= a[at] * v
		}
	}
	for i := d - 1; i >= 0; i-- {
		n := min(d-i, f.up+1)
		row := a[i*w+low:][:n]
		x := b[i:][:len(row)]
		s := x[0]
		for k := n - 1; k > 0; k-- { // the newest x comes last, because only it is not ready yet
			s -= row[k] * x[k]
		}
		x[0] = s * row[0]
	}
}

// Diffusion in one dimension with one or two components leads to matrices with at most
// two diagonals on either side of the main diagonal. factorizeNarrow keeps the current
// rows of the matrix in registers. Step k uses three rows. Two rows come from step k−1
// and have elements in the columns k … k+3. The third row is row k+2 of cI − J, which has
// elements in the columns k … k+4. The pivot row is divided by its pivot. The critical
// path of solveNarrow then contains only one multiplication and one subtraction for each
// row. Row k of the storage is
//
//	1/pivot, the four elements to its right divided by the pivot, two multipliers.
const narrowStride = 7

func (f *LU) narrow() bool { return f.banded && f.low <= 2 && f.up-f.low <= 2 }

func (f *LU) factorizeNarrow(c float64, j *Matrix) bool {
	d, src, w := f.d, j.A, 5
	if j.Lower != 2 || j.Upper != 2 {
		// The field f.a first holds J, and the factors then overwrite J. Row i of J is
		// read before row i−2 of the factors is written.
		src, w = f.a, narrowStride
		clear(src)
		for i, q := 0, 2-j.Lower; i < d; i, q = i+1, q+w {
			for k, v := range j.A[i*j.stride : (i+1)*j.stride] {
				src[q+k] = v
			}
		}
	}
	var x0, x1, x2, x3 float64 // row k
	var y0, y1, y2, y3 float64 // row k+1
	r := narrowRow(c, j, 0)
	x0, x1, x2 = r[2], r[3], r[4]
	if d > 1 {
		r = narrowRow(c, j, 1)
		y0, y1, y2, y3 = r[1], r[2], r[3], r[4]
	}
	special := overflow(x0+x1+x2) | overflow(y0+y1+y2+y3) // a sum with an infinite term is not finite
	piv := f.piv[:d]
	for k := range piv {
		var z0, z1, z2, z3, z4 float64 // row k+2
		if i := k + 2; i < d-2 {
			s := (*[5]float64)(src[w*i:])
			z0, z1, z2, z3, z4 = -s[0], -s[1], c-s[2], -s[3], -s[4]
		} else if i < d {
			r = narrowRow(c, j, i)
			z0, z1, z2, z3, z4 = r[0], r[1], r[2], r[3], r[4]
		}
		special |= overflow(z0 + z1 + z2 + z3 + z4)
		p, big := k, math.Abs(x0)
		if v := math.Abs(y0); v > big {
			p, big = k+1, v
		}
		if v := math.Abs(z0); v > big {
			p, big = k+2, v
		}
		piv[k] = p
		if big == 0 || big-big != 0 {
			return false
		}
		var x4 float64
		switch p {
		case k + 1:
			x0, x1, x2, x3, y0, y1, y2, y3 = y0, y1, y2, y3, x0, x1, x2, x3
		case k + 2:
			x0, x1, x2, x3, x4, z0, z1, z2, z3, z4 = z0, z1, z2, z3, z4, x0, x1, x2, x3, 0
		}
		inv := 1 / x0
		l, m := y0*inv, z0*inv
		if s := l + m; s-s != 0 {
			return false
		}
		a := (*[narrowStride]float64)(f.a[narrowStride*k:])
		a[0], a[1], a[2], a[3], a[4], a[5], a[6] = inv, x1*inv, x2*inv, x3*inv, x4*inv, l, m
		y1, y2, y3 = y1-l*x1, y2-l*x2, y3-l*x3
		y4 := -l * x4
		z1, z2, z3, z4 = z1-m*x1, z2-m*x2, z3-m*x3, z4-m*x4
		x0, x1, x2, x3 = y1, y2, y3, y4
		y0, y1, y2, y3 = z1, z2, z3, z4
	}
	return finite(special)
}

func narrowRow(c float64, j *Matrix, i int) (r [5]float64) {
	for q := max(0, i-j.Lower); q <= min(j.D-1, i+j.Upper); q++ {
		r[q-i+2] = -j.A[i*j.stride+q-i+j.Lower]
	}
	r[2] += c
	return r
}

func (f *LU) solveNarrow(b []float64) {
	d := f.d
	b, piv := b[:d], f.piv[:d]
	x := b[0]
	var y, z float64 // rows k+1 and k+2
	if d > 1 {
		y = b[1]
	}
	for k, p := range piv {
		z = 0
		if k+2 < d {
			z = b[k+2]
		}
		switch p {
		case k + 1:
			x, y = y, x
		case k + 2:
			x, z = z, x
		}
		a := (*[narrowStride]float64)(f.a[narrowStride*k:])
		b[k] = x * a[0]
		x, y = y-a[5]*x, z-a[6]*x
	}
	var x1, x2, x3, x4 float64
	for i := d - 1; i >= 0; i-- {
		a := (*[narrowStride]float64)(f.a[narrowStride*i:])
		x1, x2, x3, x4 = b[i]-a[4]*x4-a[3]*x3-a[2]*x2-a[1]*x1, x1, x2, x3
		b[i] = x1
	}
}

package linalg

import (
	"math"
	"math/bits"
)

// Many large Jacobians consist mostly of zeros without being banded. In the Lorenz 96
// model, for example, only four of the forty elements of a row are nonzero. For sparse
// Jacobians, Gaussian elimination spends most of its time searching for nonzero elements.
// A pattern makes the search for nonzero elements unnecessary: it contains one bit for
// each element, and the bit is set if the element may be nonzero. The bits of row i of
// the factors are in rows[i*words:], and the bits of column k are in cols[k*words:]. The
// results are the same as with factorizeDense.

type pattern struct {
	words      int // number of words for each row
	rows, cols []uint64
}

func newPattern(d int) pattern {
	w := (d + 63) / 64
	return pattern{w, make([]uint64, d*w), make([]uint64, d*w)}
}

// read returns the number of nonzero elements of J, or −1 if the pattern does not help.
func (f *LU) read(c float64, j *Matrix) int {
	d, a, p := f.d, f.a, &f.pattern
	n, limit, special := 0, d*d/4, uint64(0)
	if d <= 32 && crowded(j.A[:d*d], limit) { // in a larger matrix, the loop below finds this after a few rows
		return -1
	}
	clear(a)
	clear(p.rows)
	clear(p.cols)
	for i := range d {
		src := j.A[i*d : (i+1)*d]
		dst := a[i*d : (i+1)*d][:len(src)]
		row := p.rows[i*p.words : (i+1)*p.words]
		cols, bit := p.cols[i>>6:], uint64(1)<<(i&63)
		keep := func(q int) {
			if v := src[q]; v != 0 {
				dst[q] = -v
				special |= overflow(v)
				row[q>>6] |= 1 << (q & 63)
				cols[q*p.words] |= bit
				n++
			}
		}
		q := 0
		for ; q <= d-4; q += 4 {
			s := (*[4]float64)(src[q:])
			if (math.Float64bits(s[0])|math.Float64bits(s[1])|math.Float64bits(s[2])|math.Float64bits(s[3]))<<1 != 0 {
				keep(q)
				keep(q + 1)
				keep(q + 2)
				keep(q + 3)
			}
		}
		for ; q < d; q++ {
			keep(q)
		}
		dst[i] += c
		row[i>>6] |= bit
		cols[i*p.words] |= bit
		if n > limit {
			return -1
		}
	}
	if !finite(special) { // see factorizeDense
		return -1
	}
	return n
}

func crowded(a []float64, limit int) bool {
	n := 0
	for len(a) > 0 && n <= limit {
		part := a[:min(8, len(a))]
		a = a[len(part):]
		for _, v := range part {
			if v != 0 {
				n++
			}
		}
	}
	return n > limit
}

func (f *LU) factorizeSparse() bool {
	d, a, w := f.d, f.a, f.words
	for k := range d {
		// Find the rows below row k that may have a nonzero element in column k.
		p, big, n := k, math.Abs(a[k*d+k]), 0
		below := f.cols[k*w : (k+1)*w]
		below[k>>6] &= ^uint64(0) << (k & 63)
		for m := k >> 6; m < w; m++ {
			for set := below[m]; set != 0; set &= set - 1 {
				i := m<<6 + bits.TrailingZeros64(set)
				if i == k {
					continue
				}
				f.below[n] = i
				n++
				if v := math.Abs(a[i*d+k]); v > big {
					p, big = i, v
				}
			}
		}
		f.piv[k] = p
		if big == 0 || big-big != 0 {
			return false
		}
		if p != k {
			f.exchange(k, p)
		}
		inv := 1 / a[k*d+k]
		a[k*d+k] = inv
		top := a[k*d : (k+1)*d]
		shape := f.rows[k*w : (k+1)*w]
		few := 0
		for m := k >> 6; m < w; m++ {
			set := shape[m]
			if m == k>>6 {
				set &= ^uint64(1) << (k & 63)
			}
			for ; set != 0; set &= set - 1 {
				q := m<<6 + bits.TrailingZeros64(set)
				f.right[few] = q
				few++
				for x, rows := range below { // the elements that are filled in
					f.cols[q*w+x] |= rows
				}
			}
		}
		right := f.right[:few]
		for _, i := range f.below[:n] {
			row := a[i*d : (i+1)*d][:len(top)]
			l := row[k] * inv
			row[k] = l
			if l-l != 0 {
				return false // a NaN is never the largest element in the search
			}
			if 2*few > d-k {
				subtract(row[k+1:], l, top[k+1:])
			} else {
				for _, q := range right {
					row[q] -= l * top[q]
				}
			}
			have := f.rows[i*w : (i+1)*w][:len(shape)]
			for m, set := range shape {
				if m == k>>6 {
					set &= ^uint64(0) << (k & 63)
				} else if m < k>>6 {
					set = 0
				}
				have[m] |= set
			}
		}
	}
	return true
}

// exchange wants a nonzero element in row p and column k, p > k.
func (f *LU) exchange(k, p int) {
	d, w := f.d, f.words
	rk, rp := f.a[k*d:(k+1)*d], f.a[p*d:(p+1)*d]
	rp = rp[:len(rk)]
	for i, v := range rk {
		rk[i], rp[i] = rp[i], v
	}
	sk, sp := f.rows[k*w:(k+1)*w], f.rows[p*w:(p+1)*w]
	sp = sp[:len(sk)]
	for m, set := range sk {
		sk[m], sp[m] = sp[m], set
		// The field `cols` is updated only for row p, because factorizeSparse does not
		// read the bits of row k again.
		for differ := set ^ sk[m]; differ != 0; differ &= differ - 1 {
			q := m<<6 + bits.TrailingZeros64(differ)
			f.cols[q*w+p>>6] ^= 1 << (p & 63)
		}
	}
}

func (f *LU) solveSparse(b []float64) {
	d, a, w := f.d, f.a, f.words
	b = b[:d]
	for k, p := range f.piv {
		b[k], b[p] = b[p], b[k]
	}
	for i := range d {
		row := a[i*d : (i+1)*d][:len(b)]
		s := b[i]
		for m := 0; m <= i>>6; m++ {
			set := f.rows[i*w+m]
			if m == i>>6 {
				set &= 1<<(i&63) - 1
			}
			for ; set != 0; set &= set - 1 {
				q := m<<6 + bits.TrailingZeros64(set)
				s -= row[q] * b[q]
			}
		}
		b[i] = s
	}
	for i := d - 1; i >= 0; i-- {
		row := a[i*d : (i+1)*d][:len(b)]
		s := b[i]
		for m := w - 1; m >= i>>6; m-- {
			set := f.rows[i*w+m]
			if m == i>>6 {
				set &= ^uint64(1) << (i & 63)
			}
			for set != 0 {
				q := bits.Len64(set) - 1
				set ^= 1 << q
				q += m << 6
				s -= row[q] * b[q]
			}
		}
		b[i] = s * row[i]
	}
}

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
// results are the same as with dense elimination.

// A pattern says which elements of a matrix may be nonzero, and which of them an
// elimination touches. The elimination itself is done by LU and ComplexLU.
type pattern struct {
	d, words     int    // number of rows, and of words for each row
	special      uint64 // of all elements: see overflow
	rows, cols   []uint64
	below, right []int // the elements of a column and of a row
}

func newPattern(d int) pattern {
	w := (d + 63) / 64
	return pattern{d: d, words: w, rows: make([]uint64, d*w), cols: make([]uint64, d*w), below: make([]int, d), right: make([]int, d)}
}

// read sets the pattern to that of cI − J, and reports whether J has so few nonzero
// elements that the pattern helps.
func (p *pattern) read(j *Matrix) bool {
	d := p.d
	n, limit := 0, d*d/4
	if d <= 4 || d <= 32 && crowded(j.A[:d*d], limit) { // in a larger matrix, the loop below finds this after a few rows
		return false
	}
	var special uint64
	clear(p.rows)
	clear(p.cols)
	for i := range d {
		src := j.A[i*d : (i+1)*d]
		row := p.rows[i*p.words : (i+1)*p.words]
		cols, bit := p.cols[i>>6:], uint64(1)<<(i&63)
		keep := func(q int) {
			if src[q] != 0 {
				row[q>>6] |= 1 << (q & 63)
				cols[q*p.words] |= bit
				special |= overflow(src[q])
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
		row[i>>6] |= bit
		cols[i*p.words] |= bit
		if n > limit {
			return false
		}
	}
	p.special = special
	return true
}

// row returns the columns ≥ from of row i that may have nonzero elements. The result is
// valid until the next call of row or eliminate.
func (p *pattern) row(i, from int) []int {
	n, w := 0, p.words
	for m := from >> 6; m < w; m++ {
		set := p.rows[i*w+m]
		if m == from>>6 {
			set &= ^uint64(0) << (from & 63)
		}
		for ; set != 0; set &= set - 1 {
			p.right[n] = m<<6 + bits.TrailingZeros64(set)
			n++
		}
	}
	return p.right[:n]
}

// candidates returns the rows below row k that may have a nonzero element in column k.
func (p *pattern) candidates(k int) []int {
	n, w := 0, p.words
	column := p.cols[k*w : (k+1)*w]
	column[k>>6] &= ^uint64(0) << (k & 63)
	for m := k >> 6; m < w; m++ {
		for set := column[m]; set != 0; set &= set - 1 {
			if i := m<<6 + bits.TrailingZeros64(set); i != k {
				p.below[n] = i
				n++
			}
		}
	}
	return p.below[:n]
}

// exchange exchanges row k with row q > k. The element in row q and column k must not be
// zero.
func (p *pattern) exchange(k, q int) {
	w := p.words
	sk, sq := p.rows[k*w:(k+1)*w], p.rows[q*w:(q+1)*w]
	sq = sq[:len(sk)]
	for m, set := range sk {
		sk[m], sq[m] = sq[m], set
		// The field `cols` is updated only for row q, because row k is not read by
		// columns again.
		for differ := set ^ sk[m]; differ != 0; differ &= differ - 1 {
			c := m<<6 + bits.TrailingZeros64(differ)
			p.cols[c*w+q>>6] ^= 1 << (q & 63)
		}
	}
}

// eliminate adds the elements that are filled in when row k is subtracted from the rows
// `below`, and returns the columns to the right of the pivot that are affected.
func (p *pattern) eliminate(k int, below []int) (right []int) {
	w := p.words
	right = p.row(k, k+1)
	column := p.cols[k*w : (k+1)*w]
	for _, q := range right {
		for x, rows := range column {
			p.cols[q*w+x] |= rows
		}
	}
	shape, first := p.rows[k*w:(k+1)*w], k>>6
	for _, i := range below {
		have := p.rows[i*w : (i+1)*w][:len(shape)]
		have[first] |= shape[first] & (^uint64(0) << (k & 63))
		for m := first + 1; m < w; m++ {
			have[m] |= shape[m]
		}
	}
	return right
}

// The function crowded() reports whether the matrix a has more than `limit` nonzero
// elements.
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

// A number is an element of the factors of an LU or of a ComplexLU.
type number interface{ float64 | complex128 }

// factorize does the same as dense elimination of the d×d matrix a, whose pattern is p.
// The argument `size` is the absolute value by which pivots are compared.
func factorize[T number](p *pattern, a []T, piv []int, size func(T) float64) bool {
	d := p.d
	for k := range d {
		at, big := k, size(a[k*d+k])
		below := p.candidates(k)
		for _, i := range below {
			if v := size(a[i*d+k]); v > big {
				at, big = i, v
			}
		}
		piv[k] = at
		if big == 0 || big-big != 0 {
			return false
		}
		if at != k {
			p.exchange(k, at)
			swap(a[k*d:(k+1)*d], a[at*d:(at+1)*d])
		}
		inv := 1 / a[k*d+k]
		a[k*d+k] = inv
		top := a[k*d : (k+1)*d]
		right := p.eliminate(k, below)
		for _, i := range below {
			row := a[i*d : (i+1)*d][:len(top)]
			l := row[k] * inv
			row[k] = l
			if l-l != 0 {
				return false // a NaN is never the largest element in the search
			}
			if 2*len(right) > d-k {
				subtract(row[k+1:], l, top[k+1:])
			} else {
				for _, q := range right {
					row[q] -= l * top[q]
				}
			}
		}
	}
	return true
}

func swap[T number](x, y []T) {
	y = y[:len(x)]
	for i, v := range x {
		x[i], y[i] = y[i], v
	}
}

// solve solves the system row by row, with the factors from factorize.
func solve[T number](p *pattern, a []T, piv []int, b []T) {
	d, w := p.d, p.words
	b = b[:d]
	for k, p := range piv {
		b[k], b[p] = b[p], b[k]
	}
	for i := range d {
		row := a[i*d : (i+1)*d][:len(b)]
		s := b[i]
		for m := 0; m <= i>>6; m++ {
			set := p.rows[i*w+m]
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
			set := p.rows[i*w+m]
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

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
// factors are the same as with factorizeDense. The Jacobians of a path nearly always have the
// same pattern and the same pivots. The elimination is therefore kept as lists of the
// elements that take part in it.

type pattern struct {
	words      int // number of words for each row
	rows, cols []uint64

	known              bool  // the lists are those of the matrix of from and to
	from, to           []int // the nonzero elements of J, and their places among the factors
	below, right, left lists // of each pivot: the rows and columns that it changes, and the columns that have changed its row
	values             []float64
}

func newPattern(d int) pattern {
	w := (d + 63) / 64
	return pattern{words: w, rows: make([]uint64, d*w), cols: make([]uint64, d*w), values: make([]float64, d)}
}

// read stores cI − J with its pattern, and reports whether the pattern helps.
func (f *LU) read(c float64, j *Matrix) bool {
	d, a, p := f.d, f.a, &f.pattern
	limit, special := d*d/4, uint64(0)
	p.from, p.known = p.from[:0], false
	if d <= 32 && crowded(j.A[:d*d], limit) { // in a larger matrix, the loop below finds this after a few rows
		return false
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
				p.from = append(p.from, i*d+q)
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
		if len(p.from) > limit {
			return false
		}
	}
	p.to = p.from
	return finite(special) // see factorizeDense
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

// load stores cI − J, and reports whether its elements are zero exactly where those of the
// last matrix were. If so, factorizeSparse can repeat the elimination of that matrix.
func (f *LU) load(c float64, j *Matrix) bool {
	const sign = 1 << 63
	d, a, src := f.d, f.a, j.A[:len(f.a)]
	clear(a)
	var outside, zero, special uint64
	next := 0
	for n, at := range f.from {
		for _, v := range src[next:at] {
			outside |= math.Float64bits(v)
		}
		next = at + 1
		v := src[at]
		zero |= math.Float64bits(v)&^sign - 1
		special |= overflow(v)
		a[f.to[n]] = -v
	}
	for _, v := range src[next:] {
		outside |= math.Float64bits(v)
	}
	for i := 0; i < len(a); i += d + 1 {
		a[i] += c
	}
	return outside&^sign == 0 && finite(zero|special)
}

// factorizeSparse eliminates the matrix that read or load has stored. If load has stored
// it and another pivot is the largest now, the result `same` is false, and read must store
// it again.
func (f *LU) factorizeSparse() (ok, same bool) {
	d, a := f.d, f.a
	known, steady := f.known, true
	f.known = false
	if !known {
		f.below.reset()
		f.right.reset()
		f.left.reset()
	}
	for k := range d {
		if !known {
			f.below.add(f.cols[k*f.words:], k+1, d)
		}
		below := f.below.at(k)
		p, big := k, math.Abs(a[k*d+k])
		for _, i := range below {
			if v := math.Abs(a[i*d+k]); v > big {
				p, big = i, v
			}
		}
		if p != f.piv[k] {
			if known {
				return false, false
			}
			f.piv[k], steady = p, false
		}
		if big == 0 || big-big != 0 {
			return false, true
		}
		if p != k {
			f.exchange(k, p)
		}
		if !known {
			f.fill(k, below)
		}
		inv := 1 / a[k*d+k]
		a[k*d+k] = inv
		top, right := a[k*d:(k+1)*d], f.right.at(k)
		values := f.values[:len(right)]
		for n, q := range right {
			values[n] = top[q]
		}
		for _, i := range below {
			row := a[i*d : (i+1)*d][:len(top)]
			l := row[k] * inv
			row[k] = l
			if l-l != 0 {
				return false, true // a NaN is never the largest element in the search
			}
			if 2*len(right) > d-k {
				subtract(row[k+1:], l, top[k+1:])
			} else {
				for n, q := range right[:len(values)] {
					row[q] -= l * values[n]
				}
			}
		}
	}
	if !known {
		for i := range d {
			f.left.add(f.rows[i*f.words:], 0, i)
		}
	}
	f.known = steady // if pivots alternate, a repetition would often be in vain
	return true, true
}

// fill lists the elements to the right of pivot k, and adds them to the rows below it.
func (f *LU) fill(k int, below []int) {
	w := f.words
	row, rows := f.rows[k*w:(k+1)*w], f.cols[k*w:(k+1)*w]
	f.right.add(row, k+1, f.d)
	for _, q := range f.right.at(k) {
		for m, set := range rows {
			f.cols[q*w+m] |= set
		}
	}
	for _, i := range below {
		have := f.rows[i*w : (i+1)*w]
		have[k>>6] |= row[k>>6] & (^uint64(0) << (k & 63))
		for m := k>>6 + 1; m < w; m++ {
			have[m] |= row[m]
		}
	}
}

// exchange wants a nonzero element in row p and column k, p > k. The pattern is of use only
// until the elimination is known.
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
	d, a := f.d, f.a
	b = b[:d]
	for k, p := range f.piv {
		b[k], b[p] = b[p], b[k]
	}
	for i := range d {
		row := a[i*d : (i+1)*d][:len(b)]
		s := b[i]
		for _, q := range f.left.at(i) {
			s -= row[q] * b[q]
		}
		b[i] = s
	}
	for i := d - 1; i >= 0; i-- {
		row := a[i*d : (i+1)*d][:len(b)]
		s := b[i]
		right := f.right.at(i)
		for n := len(right) - 1; n >= 0; n-- {
			q := right[n]
			s -= row[q] * b[q]
		}
		b[i] = s * row[i]
	}
}

// A lists holds one list of indices for each row or column.
type lists struct{ of, end []int }

func (l *lists) reset() { l.of, l.end = l.of[:0], append(l.end[:0], 0) }

func (l *lists) at(k int) []int { return l.of[l.end[k]:l.end[k+1]] }

// add appends the list of the bits that are set, from bit `from` to bit to − 1.
func (l *lists) add(row []uint64, from, to int) {
	for m := from >> 6; m<<6 < to; m++ {
		set := row[m]
		if m == from>>6 {
			set &= ^uint64(0) << (from & 63)
		}
		for ; set != 0; set &= set - 1 {
			q := m<<6 + bits.TrailingZeros64(set)
			if q >= to {
				break
			}
			l.of = append(l.of, q)
		}
	}
	l.end = append(l.end, len(l.of))
}

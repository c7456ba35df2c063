package linalg

import (
	"math/bits"
	"slices"
)

// The elimination of a sparse matrix fills in elements, and how many depends on the order
// of its rows and columns. In the Jacobian of a reaction network with 500 states, a few
// substances that react with many others come early, and the factors are nearly full. The
// order of minimum degree eliminates first whatever has the fewest neighbours [George &
// Liu 1989, SIAM Review 31, 1]. It depends only on the pattern, so the factors are the
// same whatever was factorised before.

// orderFrom is the largest dimension in which the rows and columns keep their order. In
// smaller matrices, ordering saves less time than it takes.
const orderFrom = 64

// An order is a symmetric permutation of rows and columns.
type order struct {
	rows   []uint64  // the pattern for which it was made
	at     []int     // row i of the permuted matrix is row at[i] of the given one
	where  []int     // the inverse of at
	to     []int     // see pattern
	a      []float64 // workspace
	b      []float64
	degree []int
}

func newOrder(d int) *order {
	return &order{at: make([]int, d), where: make([]int, d), b: make([]float64, d), degree: make([]int, d)}
}

// apply permutes the matrix and the pattern that read has stored in f.
func (o *order) apply(f *LU) {
	d, w := f.d, f.words
	if !slices.Equal(o.rows, f.rows) {
		o.rows = append(o.rows[:0], f.rows...)
		o.choose(f)
	}
	if o.a == nil {
		o.a = make([]float64, len(f.a))
	}
	clear(f.rows)
	clear(f.cols)
	for i, from := range o.at {
		src, dst := f.a[from*d:(from+1)*d], o.a[i*d:(i+1)*d]
		row := f.rows[i*w : (i+1)*w]
		cols, bit := f.cols[i>>6:], uint64(1)<<(i&63)
		clear(dst)
		for m, set := range o.rows[from*w : (from+1)*w] {
			for ; set != 0; set &= set - 1 {
				q := m<<6 + bits.TrailingZeros64(set)
				k := o.where[q]
				dst[k] = src[q]
				row[k>>6] |= 1 << (k & 63)
				cols[k*w] |= bit
			}
		}
	}
	f.a, o.a = o.a, f.a
	o.to = o.to[:0]
	for _, at := range f.from {
		o.to = append(o.to, o.where[at/d]*d+o.where[at%d])
	}
	f.to = o.to
}

// choose computes the order of minimum degree of the pattern of A + Aᵀ. The columns of f
// are workspace.
func (o *order) choose(f *LU) {
	d, w := f.d, f.words
	near := f.cols // the neighbours of each row, with itself
	for i, v := range f.rows {
		near[i] |= v
	}
	for i := range d {
		o.degree[i] = count(near[i*w : (i+1)*w])
		o.at[i] = i
	}
	for n := range d {
		least := n
		for k := n + 1; k < d; k++ {
			if o.degree[o.at[k]] < o.degree[o.at[least]] {
				least = k
			}
		}
		i := o.at[least]
		if o.degree[i] == d-n { // all that remain are neighbours of each other
			break
		}
		copy(o.at[n+1:least+1], o.at[n:least]) // equal degrees keep their order
		o.at[n] = i
		own := near[i*w : (i+1)*w]
		own[i>>6] &^= 1 << (i & 63)
		for m, set := range own {
			for ; set != 0; set &= set - 1 {
				k := m<<6 + bits.TrailingZeros64(set)
				row := near[k*w : (k+1)*w][:len(own)]
				for x, v := range own {
					row[x] |= v
				}
				row[i>>6] &^= 1 << (i & 63)
				o.degree[k] = count(row)
			}
		}
	}
	for i, from := range o.at {
		o.where[from] = i
	}
}

func count(row []uint64) (n int) {
	for _, v := range row {
		n += bits.OnesCount64(v)
	}
	return n
}

// solve overwrites b with the solution.
func (o *order) solve(f *LU, b []float64) {
	for i, from := range o.at {
		o.b[i] = b[from]
	}
	f.solveSparse(o.b)
	for i, from := range o.at {
		b[from] = o.b[i]
	}
}

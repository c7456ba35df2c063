package steplaw

import (
	"math"

	"github.com/probode/probode/pkg/probode/linalg"
)

// An elimination gives the pivots of G = cI − J, which say whether the determinant can be
// trusted. A faster linalg.LU may hold an inverse, or eliminate in another order.
type elimination struct {
	d, low, up, stride int
	a, terms           []float64 // elements, and for each the sum of the magnitudes of its terms

	logDet float64 // ln|det G|

	// least is the smallest ratio |pivot| / Σ|terms| of the elimination. The terms of a
	// pivot are g_ii and the products −l_ik u_ki for k < i; the pivot is their sum. The
	// ratio |pivot| / Σ|terms| lies in (0, 1]. If the matrix G is singular, one pivot is
	// zero in exact arithmetic. Rounding errors usually turn the zero pivot of a singular
	// matrix into a small number, about as large as Σ|terms| times the relative errors of
	// the elements of G. Unlike a condition number, the ratio
	// |pivot| / Σ|terms| does not depend on the units of the components.
	least float64
}

func newElimination(j *linalg.Matrix) *elimination {
	s := &elimination{d: j.D, low: j.Lower, up: j.Lower + j.Upper}
	s.stride = s.low + s.up + 1
	s.a, s.terms = make([]float64, s.d*s.stride), make([]float64, s.d*s.stride)
	return s
}

// eliminate uses partial pivoting in band storage, element (i, j) at i*stride + j−i+low,
// and returns false for a pivot that is zero or not finite.
func (s *elimination) eliminate(c float64, j *linalg.Matrix) bool {
	d, a, terms := s.d, s.a, s.terms
	clear(a)
	clear(terms)
	at := func(i, k int) int { return i*s.stride + k - i + s.low }
	for i := range d {
		lo, hi := j.Columns(i)
		for k := lo; k < hi; k++ {
			v := -j.At(i, k)
			if k == i {
				v += c
			}
			a[at(i, k)], terms[at(i, k)] = v, math.Abs(v)
		}
	}
	s.logDet, s.least = 0, 1
	for k := range d {
		last, right := min(d-1, k+s.low), min(d-1, k+s.up)
		p := k
		for i := k + 1; i <= last; i++ {
			if math.Abs(a[at(i, k)]) > math.Abs(a[at(p, k)]) {
				p = i
			}
		}
		if p != k {
			for q := k; q <= right; q++ {
				m, n := at(k, q), at(p, q)
				a[m], a[n] = a[n], a[m]
				terms[m], terms[n] = terms[n], terms[m]
			}
		}
		pivot := a[at(k, k)]
		size := math.Abs(pivot)
		if size == 0 || size-size != 0 {
			s.logDet, s.least = math.NaN(), 0
			return false
		}
		s.logDet += math.Log(size)
		s.least = min(s.least, size/terms[at(k, k)])
		for i := k + 1; i <= last; i++ {
			l := a[at(i, k)] / pivot
			if l == 0 {
				continue
			}
			for q := k + 1; q <= right; q++ {
				v := l * a[at(k, q)]
				a[at(i, q)] -= v
				terms[at(i, q)] += math.Abs(v)
			}
		}
	}
	return true
}

package probode

import "github.com/probode/probode/pkg/probode/internal/linalg"

// The linear algebra of an implicit step: a Jacobian J in dense or band storage,
// and Γ = cI − J factorised in place with partial pivoting, for real and for
// complex c. Nothing allocates once it is made. Dimensions up to four have paths
// without loops, and zeros of a dense matrix cost next to nothing.

// A Matrix is a d×d matrix in row-major order. Dense, element (i, j) is
// A[i*D+j]. Banded, only −Lower ≤ j−i ≤ Upper is stored, element (i, j) as
// A[i*Stride + j−i+Lower] with Stride = Lower+Upper+1; the corners of that
// storage which lie outside of the matrix are never read.
type Matrix struct {
	D            int // dimension
	Lower, Upper int // number of sub- and superdiagonals; D−1 if dense
	Banded       bool
	Stride       int // elements of A in a row
	A            []float64
}

// NewDense returns a dense d×d matrix of zeros, d ≥ 1.
func NewDense(d int) *Matrix { return (*Matrix)(linalg.NewDense(d)) }

// NewBanded returns a d×d matrix of zeros with lower sub- and upper
// superdiagonals, each in [0, d).
func NewBanded(d, lower, upper int) *Matrix {
	return (*Matrix)(linalg.NewBanded(d, lower, upper))
}

// NewJacobian returns a Jacobian of zeros in the storage that p asks for.
func (p *Problem) NewJacobian() *Matrix {
	if p.Band != nil {
		return NewBanded(p.Dim(), p.Band.Lower, p.Band.Upper)
	}
	return NewDense(p.Dim())
}

func (m *Matrix) inner() *linalg.Matrix { return (*linalg.Matrix)(m) }

// At returns element (i, j), zero outside of the band.
func (m *Matrix) At(i, j int) float64 { return m.inner().At(i, j) }

// Set sets element (i, j), which must lie in the band.
func (m *Matrix) Set(i, j int, v float64) { m.inner().Set(i, j, v) }

// Columns returns the columns lo ≤ j < hi of row i that are stored.
func (m *Matrix) Columns(i int) (lo, hi int) { return m.inner().Columns(i) }

// Clear sets all elements to zero.
func (m *Matrix) Clear() { clear(m.A) }

// AddMul adds c·M·x to dst; both have length D and do not overlap.
func (m *Matrix) AddMul(dst []float64, c float64, x []float64) { m.inner().AddMul(dst, c, x) }

// An LU holds the factors of cI − J, for solves with several right-hand sides. It
// serves matrices of the shape that it was made for.
type LU struct{ factors linalg.LU }

// NewLU returns room for the factors of cI − J, for matrices of the shape of j.
func NewLU(j *Matrix) *LU { return &LU{*linalg.NewLU(j.inner())} }

// Factorize sets f to the factors of cI − J. It reports whether that matrix has an
// inverse: false if a pivot is zero or anything is not finite.
func (f *LU) Factorize(c float64, j *Matrix) bool { return f.factors.Factorize(c, j.inner()) }

// Solve overwrites b, of length d, by (cI − J)⁻¹b.
func (f *LU) Solve(b []float64) { f.factors.Solve(b) }

// A ComplexLU holds the factors of cI − J for a complex c and a real J, as the
// conjugate pairs of eigenvalues of an implicit Runge–Kutta method have them
// [Hairer & Wanner 1996, §IV.8].
type ComplexLU struct{ factors linalg.ComplexLU }

// NewComplexLU returns room for the factors of matrices of the shape of j.
func NewComplexLU(j *Matrix) *ComplexLU { return &ComplexLU{*linalg.NewComplexLU(j.inner())} }

// Factorize sets f to the factors of (re + i·im)I − J. It reports whether that
// matrix has an inverse: false if a pivot is zero or anything is not finite.
func (f *ComplexLU) Factorize(re, im float64, j *Matrix) bool {
	return f.factors.Factorize(re, im, j.inner())
}

// Solve overwrites re + i·im, each of length d, by the solution for that
// right-hand side.
func (f *ComplexLU) Solve(re, im []float64) { f.factors.Solve(re, im) }

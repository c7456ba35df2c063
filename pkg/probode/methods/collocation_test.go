package methods

import (
	"math"
	"math/cmplx"
	"testing"

	"gonum.org/v1/gonum/mat"
)

// The constant modes are eigenvectors of A⁻¹, so that A r = r/λ and lᵀA = lᵀ/λ, with lᵀr = 1,
// and the eigenvalues are those of mat.Eigen. The weights dA integrate polynomials over the
// step, and the weights −eA extrapolate them to its beginning. Rounding errors are below 1e-14.
func TestConstantsOfCollocation(t *testing.T) {
	for name, k := range map[string]*collocation{"gauss1": gauss1, "gauss2": gauss2, "radau2": radau2, "radau3": radau3} {
		full := mat.NewDense(k.stages, k.stages, nil)
		for i, row := range k.a {
			full.SetRow(i, row)
		}
		var inv mat.Dense
		var eigen mat.Eigen
		if inv.Inverse(full) != nil || !eigen.Factorize(&inv, mat.EigenNone) {
			t.Fatal(name)
		}
		for power := range k.stages {
			var integral, start float64
			for i, row := range k.a {
				for j, a := range row {
					v := a * math.Pow(k.c[j], float64(power))
					if integral += k.d[i] * v; k.e != nil {
						start -= k.e[i] * v
					}
				}
			}
			if math.Abs(integral-1/float64(power+1)) > 1e-14 {
				t.Errorf("%s: d integrates the power %d to %v", name, power, integral)
			}
			if want := max(0, 1-float64(power)); k.e != nil && math.Abs(start-want) > 1e-14 {
				t.Errorf("%s: e gives the power %d at 0 as %v", name, power, start)
			}
		}
		found := 0
		for _, v := range eigen.Values(nil) {
			for _, m := range k.modes {
				if cmplx.Abs(v-complex(m.re, m.im)) < 1e-13 {
					found++
				}
			}
		}
		if found != len(k.modes) {
			t.Errorf("%s: %d of %d eigenvalues are those of A⁻¹", name, found, len(k.modes))
		}
		for _, m := range k.modes {
			inverse, dot := 1/complex(m.re, m.im), complex128(0)
			for i := range k.stages {
				var right, left complex128
				for j := range k.stages {
					right += complex(k.a[i][j], 0) * m.right[j]
					left += m.left[j] * complex(k.a[j][i], 0)
				}
				dot += m.left[i] * m.right[i]
				if cmplx.Abs(right-inverse*m.right[i]) > 1e-14 || cmplx.Abs(left-inverse*m.left[i]) > 1e-14 {
					t.Errorf("%s: no eigenvector: %+v", name, m)
				}
			}
			if cmplx.Abs(dot-1) > 1e-14 {
				t.Errorf("%s: lᵀr = %v", name, dot)
			}
		}
	}
}

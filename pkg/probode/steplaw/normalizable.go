package steplaw

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/internal/vector"
)

// normalizable returns ErrSingularH if J has no inverse, and ErrImproper if the density
// does not decay along rays: up to 16 axes, the columns of L, four fixed random
// directions and, if d ≤ 16, those in which r grows most slowly. From 10⁴ to 10⁸ times
// the size of the state, ½ rᵀH⁻¹r must grow by d ln 10 with each factor of ten, or the
// integral could diverge; one slow increase before the last may be due to a root. Other
// directions are not noticed.
func (s *Law) normalizable() error {
	if s.singular != nil {
		return s.singular
	}
	rng := probode.Stream(0, 0)
	var rays [][]float64
	add := func(v []float64) {
		norm := math.Sqrt(vector.Dot(v, v))
		if norm == 0 || norm-norm != 0 {
			return
		}
		minus := make([]float64, s.d)
		for k := range v {
			v[k] /= norm
			minus[k] = -v[k]
		}
		rays = append(rays, v, minus)
	}
	for k := range min(s.d, 16) {
		v := make([]float64, s.d)
		v[k] = 1
		w := make([]float64, s.d)
		s.target.offset(w, v)
		add(v)
		add(w)
	}
	for range 4 {
		v := make([]float64, s.d)
		for k := range v {
			v[k] = rng.NormFloat64()
		}
		add(v)
	}
	if s.d > 1 && s.d <= 16 {
		far, f := make([]float64, s.d), make([]float64, s.d)
		gamma := mat.NewDense(s.d, s.d, nil)
		var svd mat.SVD
		var right mat.Dense
		for _, ray := range rays[:len(rays):len(rays)] {
			for k, v := range s.Mean {
				far[k] = v + 1e6*s.size()*ray[k]
			}
			s.eval.FJ(f, s.moving, s.target.t, far, s.target.theta)
			for i := range s.d {
				for j := range s.d {
					g := -s.moving.At(i, j)
					if i == j {
						g += s.inv
					}
					gamma.Set(i, j, g)
				}
			}
			if vector.Finite(gamma.RawMatrix().Data) && svd.Factorize(gamma, mat.SVDFull) {
				svd.VTo(&right)
				add(mat.Col(nil, s.d-1, &right))
			}
		}
	}
	z := make([]float64, s.d)
	for _, ray := range rays {
		last, slow, still := 0.0, 0, false
		for radius := 1e4; radius < 2e8; radius *= 10 {
			for k, v := range s.Mean {
				z[k] = v + radius*s.size()*ray[k]
			}
			q := -s.LogDensity(z)
			if q-q != 0 {
				break // zero or undefined density
			}
			still = radius > 1e4 && q-last < float64(s.d)*math.Ln10
			if still {
				slow++
			}
			last = q
		}
		if still || slow > 1 {
			return s.fail(fmt.Errorf("%w (the direction is %.3g)", ErrImproper, ray))
		}
	}
	return nil
}

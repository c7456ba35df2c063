package steplaw

import (
	"math"

	"gonum.org/v1/gonum/mat"
)

// Moments holds the normalising constant and the moments of the exact distribution of a
// step.
type Moments struct {
	// LogNormalizer is ln ∫ exp(−½ rᵀH⁻¹r) dz, so that the normalised log
	// density is LogDensity − LogNormalizer.
	LogNormalizer float64
	Mean          []float64
	Cov           *mat.SymDense
	Skewness      []float64 // of each component
}

// Moments computes the moments of the exact distribution by quadrature, for d ≤ 2.
// Moments begins with a box that contains the roots found by Roots, and enlarges the box
// until the density at its edges is below e⁻⁵⁰ times the maximum. The box is then divided
// into cells, and the integral over each cell is computed by a 6-point Gauss product
// rule. Each cell is halved in every direction until halving changes the integral over
// the cell by at most 10⁻¹⁰ of the total integral. Moments returns an error if d > 2, if
// the exact distribution does not exist (ErrSingularH, ErrImproper), if the peak at a root
// is too narrow for floating-point numbers, or if more than 2¹⁸ cells are needed. The
// rounding errors of f limit the accuracy if f is large compared with the noise.
func (s *Law) Moments() (*Moments, error) {
	c, err := s.divided()
	if err != nil {
		return nil, err
	}
	d := s.d
	m := &Moments{Mean: make([]float64, d), Cov: mat.NewSymDense(d, nil), Skewness: make([]float64, d)}
	m.LogNormalizer = math.Log(c.total) + c.top + s.logDet
	// The mean is computed from deviations from μ, and the higher moments from deviations
	// from the mean, because this loses fewer digits.
	dev := make([]float64, d)
	c.each(func(z []float64, weight float64) {
		for k := range m.Mean {
			m.Mean[k] += weight * (z[k] - s.Mean[k])
		}
	})
	for k, v := range s.Mean {
		m.Mean[k] += v
	}
	cov := make([]float64, d*d)
	c.each(func(z []float64, weight float64) {
		for k := range dev {
			dev[k] = z[k] - m.Mean[k]
		}
		for j, v := range dev {
			for k, w := range dev {
				cov[j*d+k] += weight * v * w
			}
			m.Skewness[j] += weight * v * v * v
		}
	})
	for j := range d {
		for k := range d {
			m.Cov.SetSym(j, k, cov[j*d+k])
		}
	}
	for k := range m.Skewness {
		m.Skewness[k] /= math.Pow(m.Cov.At(k, k), 1.5)
	}
	return m, nil
}

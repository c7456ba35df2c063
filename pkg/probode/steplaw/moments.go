package steplaw

import (
	"fmt"
	"math"
	"math/rand/v2"
	"sort"

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
	// Error is the estimated relative error of the integral.
	Error float64
}

// Moments computes the moments of the exact distribution by quadrature, for
// d ≤ 2. A box around all roots that were found grows until the density at its
// edges is below e⁻⁵⁰ of its maximum, and its cells are divided until products
// of Gauss rules of 6 points agree to 10⁻¹⁰ of the integral with those of half
// the width. It is an error if d > 2, if the exact distribution does not exist
// (see Normalizable), or if 2¹⁸ cells are not enough.
func (s *Step) Moments() (*Moments, error) {
	c, err := s.divided()
	if err != nil {
		return nil, err
	}
	d := s.d
	m := &Moments{Mean: make([]float64, d), Cov: mat.NewSymDense(d, nil), Skewness: make([]float64, d), Error: c.err}
	m.LogNormalizer = math.Log(c.total) + c.top + s.logDet
	// Compute deviations from μ first and from the mean afterwards, which loses fewer
	// digits.
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

// Sample fills dst, n×d row-major, with independent draws from the exact distribution,
// for d ≤ 2: a cell of the quadrature is chosen by its share of the integral, and a
// point in it by rejection from the uniform distribution. It returns the same errors as
// Moments.
func (s *Step) Sample(dst []float64, rng *rand.Rand) error {
	c, err := s.divided()
	if err != nil {
		return err
	}
	if len(dst)%s.d != 0 {
		panic(fmt.Sprintf("steplaw: dst has length %d: want a multiple of d = %d", len(dst), s.d))
	}
	for !c.sample(dst, rng) {
		c.slack *= 2
	}
	return nil
}

// sample reports false if it finds a density above the bound of its cell, because then
// no draw is exact.
func (c *division) sample(dst []float64, rng *rand.Rand) bool {
	d := c.s.d
	for n := 0; n < len(dst); n += d {
		pick := sort.SearchFloat64s(c.sums, c.total*(1-rng.Float64())) // in (0, total]
		q := &c.leaves[pick]
		if q.peak == 0 {
			c.findPeak(q)
		}
		for {
			at := [2]float64{q.lo[0] + q.width[0]*rng.Float64()}
			if d == 2 {
				at[1] = q.lo[1] + q.width[1]*rng.Float64()
			}
			v := c.at(at)
			if v > c.slack*q.peak {
				return false
			}
			if c.slack*q.peak*rng.Float64() < v {
				copy(dst[n:n+d], c.s.target.z)
				break
			}
		}
	}
	return true
}

// findPeak finds the largest density at the nodes, the corners and the middles of the
// sides. The density is smooth in a cell, since the rule has converged there, so slack
// times this value is a bound.
func (c *division) findPeak(q *cell) {
	c.eachIn(q, func(v, _ float64) { q.peak = max(q.peak, v) })
	for i := range 3 {
		for j := range 3 {
			q.peak = max(q.peak, c.at([2]float64{q.lo[0] + q.width[0]*float64(i)/2, q.lo[1] + q.width[1]*float64(j)/2}))
		}
	}
}

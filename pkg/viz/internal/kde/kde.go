// Package kde computes kernel density estimates with Gaussian kernels, and finds contours
// of densities on a grid.
package kde

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"
)

// A Surface is a density on a rectangular grid.
type Surface struct {
	X, Y []float64 // equally spaced, ascending
	Z    []float64 // len(Y) rows of len(X) values
}

// Plane estimates the density of the points (x, y) with Gaussian kernels whose covariance
// matrix is H:
//
//	H = f² n^(−1/3) Σ̂
//
// The matrix Σ̂ is the covariance of the sample. The formula is Scott's rule along the
// principal axes of the sample (Scott, Multivariate Density Estimation, 1992, §6.3). The
// factor f multiplies the width of the kernels. The n draws of a Markov
// chain contain less information than n independent draws. For a Markov chain the
// estimate with f = 1 is therefore too rough; a larger f makes the estimate smoother.
//
// The grid has m × m points. The grid extends four standard deviations of the kernel beyond
// the sample, so that it contains almost all of the mass. Plane returns an error if there
// are fewer than three points, if a value is not finite, or if all points lie on one line.
func Plane(x, y []float64, f float64, m int) (Surface, error) {
	if err := drawable(3, x, y); err != nil {
		return Surface{}, err
	}
	n := float64(len(x))
	sxx, syy, sxy := stat.Variance(x, nil), stat.Variance(y, nil), stat.Covariance(x, y, nil)
	// If the correlation r satisfies 1 − r² < 1e-12, the shape of the kernel is
	// determined by rounding errors in the covariance matrix.
	if det := sxx*syy - sxy*sxy; !(det > 1e-12*sxx*syy) {
		return Surface{}, errors.New("kde: all draws lie on one line, so they have no density in the plane")
	}
	s := f * f * math.Pow(n, -1.0/3)
	sxx, syy, sxy = s*sxx, s*syy, s*sxy

	// In each row of the grid, v = Δy/σ_y is fixed. Given v, a kernel with correlation r
	// has the conditional mean r v σ_x and the conditional standard deviation σ_x
	// √(1−r²). Each kernel is evaluated only in the rows within 4 σ_y of its centre. In
	// each of these rows, the kernel is evaluated only within four conditional standard
	// deviations of the conditional mean.
	const reach = 4
	hx, hy := math.Sqrt(sxx), math.Sqrt(syy)
	r := sxy / (hx * hy)
	c := hx * math.Sqrt(1-r*r)
	g := Surface{X: span(x, reach*hx, m), Y: span(y, reach*hy, m), Z: make([]float64, m*m)}
	dx, dy := g.X[1]-g.X[0], g.Y[1]-g.Y[0]
	norm := 1 / (n * 2 * math.Pi * hy * c)
	for k := range x {
		j0 := max(0, int(math.Ceil((y[k]-reach*hy-g.Y[0])/dy)))
		j1 := min(m-1, int((y[k]+reach*hy-g.Y[0])/dy))
		for j := j0; j <= j1; j++ {
			v := (g.Y[j] - y[k]) / hy
			w := norm * math.Exp(-v*v/2)
			mid := x[k] + r*v*hx
			i0 := max(0, int(math.Ceil((mid-reach*c-g.X[0])/dx)))
			i1 := min(m-1, int((mid+reach*c-g.X[0])/dx))
			row := g.Z[j*m : (j+1)*m]
			for i := i0; i <= i1; i++ {
				u := (g.X[i] - mid) / c
				row[i] += w * math.Exp(-u*u/2)
			}
		}
	}
	return g, nil
}

// Line estimates the density of x with Gaussian kernels whose standard deviation is h:
//
//	h = n^(−1/5) σ̂
//
// The formula is Scott's rule, where σ̂ is the standard deviation of the sample. The
// density is computed at m points. Line returns an error if there are fewer than two values,
// if a value is not finite, or if all values are equal.
func Line(x []float64, m int) (at, density []float64, err error) {
	if err := drawable(2, x); err != nil {
		return nil, nil, err
	}
	n := float64(len(x))
	h := math.Pow(n, -0.2) * stat.StdDev(x, nil)
	if !(h > 0) {
		return nil, nil, errors.New("kde: all draws are equal, so they have no density")
	}
	const reach = 4
	at, density = span(x, reach*h, m), make([]float64, m)
	d := at[1] - at[0]
	norm := 1 / (n * h * math.Sqrt(2*math.Pi))
	for _, v := range x {
		i0 := max(0, int(math.Ceil((v-reach*h-at[0])/d)))
		i1 := min(m-1, int((v+reach*h-at[0])/d))
		for i := i0; i <= i1; i++ {
			u := (at[i] - v) / h
			density[i] += norm * math.Exp(-u*u/2)
		}
	}
	return at, density, nil
}

func drawable(least int, xs ...[]float64) error {
	for _, x := range xs {
		if len(x) < least {
			return fmt.Errorf("kde: the number of draws is %d: want at least %d", len(x), least)
		}
		for i, v := range x {
			if !(math.Abs(v) <= 1e280) {
				return fmt.Errorf("kde: draw %d is %v: want a number from -1e280 to 1e280", i, v)
			}
		}
	}
	return nil
}

func span(x []float64, beyond float64, m int) []float64 {
	lo, hi := slices.Min(x)-beyond, slices.Max(x)+beyond
	s := make([]float64, m)
	for i := range s {
		s[i] = lo + (hi-lo)*float64(i)/float64(m-1)
	}
	return s
}

// Levels returns, for each p in (0, 1), the density on the boundary of the
// highest-density region that contains the fraction p of the mass (Hyndman, Computing and
// graphing highest density regions, 1996).
func (g Surface) Levels(p ...float64) []float64 {
	z := slices.Clone(g.Z)
	slices.SortFunc(z, func(a, b float64) int { return cmp.Compare(b, a) })
	var total float64
	for _, v := range z {
		total += v
	}
	levels := make([]float64, len(p))
	for k, q := range p {
		var s float64
		for _, v := range z {
			s += v
			levels[k] = v
			if s >= q*total {
				break
			}
		}
	}
	return levels
}

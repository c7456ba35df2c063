package steplaw

import (
	"cmp"
	"math"
	"slices"

	"github.com/probode/probode/pkg/probode/internal/vector"
)

// Roots returns the solutions of r(z) = 0 that a search finds, in order of their distance
// from Mean. Newton's method is started from Zᵢ, from Mean, from the Adams–Bashforth
// value, and from points around Mean. For d = 2 the points around Mean lie in 16
// directions, at distances of 1, 2, 4, … standard deviations, up to 10¹² times the size
// of the state. For d = 1, the search also evaluates r on both sides of Zᵢ, of Mean and of
// the Adams–Bashforth value, at distances that grow by 5 % from one point to the next, up
// to the largest floating-point number.
// With d = 1, a root is found wherever r changes sign between two points. If there is more
// than one root, the exact distribution may have several modes, and Newton's method may
// find the wrong root. A nonlinear f often has a second root at a distance that is
// proportional to 1/h.
func (s *Law) Roots() [][]float64 {
	if s.roots != nil {
		return s.roots
	}
	from := [][]float64{s.Z, s.Mean, s.forecast}
	if s.d == 1 {
		for _, z := range from {
			s.changesOfSign(z[0])
		}
	}
	for _, z := range append(from, s.around()...) {
		s.newton(slices.Clone(z))
	}
	slices.SortStableFunc(s.roots, func(a, b []float64) int {
		return cmp.Compare(s.distance(a, s.Mean), s.distance(b, s.Mean))
	})
	return s.roots
}

// farthest is the largest distance of a root from the mean, in units of size, for d > 1.
const farthest = 1e12

// size returns the largest magnitude in Z, Mean and Z − Mean, or 1.
func (s *Law) size() float64 {
	return cmp.Or(max(vector.MaxAbs(s.Z), vector.MaxAbs(s.Mean), s.distance(s.Z, s.Mean)), 1)
}

// around returns points on growing ellipses for d = 2, and else along at most 8 axes.
func (s *Law) around() [][]float64 {
	var points [][]float64
	add := func(k int, by float64) {
		z := slices.Clone(s.Mean)
		z[k] += by
		points = append(points, z)
	}
	size := s.size()
	if s.d == 2 {
		for r := 1.0; ; r *= 2 {
			a, b := r*s.sd(0), r*s.sd(1)
			for n := range 16 {
				sin, cos := math.Sincos(2 * math.Pi * float64(n) / 16)
				points = append(points, []float64{s.Mean[0] + a*cos, s.Mean[1] + b*sin})
			}
			if a > farthest*size && b > farthest*size || a == 0 || b == 0 {
				return points
			}
		}
	}
	for k := range min(s.d, 8) {
		for _, by := range []float64{s.sd(k), 10 * s.sd(k), size} {
			add(k, by)
			add(k, -by)
		}
	}
	return points
}

// newton keeps a new root.
func (s *Law) newton(z []float64) {
	f := make([]float64, s.d)
	for range 100 {
		s.eval.FJ(f, s.moving, s.target.t, z, s.target.theta)
		if !s.scratch.Factorize(s.inv, s.moving) {
			return
		}
		for k, v := range f {
			s.w[k] = s.inv*z[k] - s.known[k] - v
		}
		s.scratch.Solve(s.w)
		var update, size float64
		for k, v := range s.w {
			z[k] -= v
			update = max(update, math.Abs(v)/(math.Abs(z[k])+s.sd(k)))
			size = max(size, math.Abs(z[k]))
		}
		if update-update != 0 || size > farthest*s.size() {
			return
		}
		if update < 1e-10 {
			s.keep(z)
			return
		}
	}
}

func (s *Law) keep(z []float64) {
	for _, r := range s.roots {
		// Newton's method finds a double root with an error of about the square root of
		// the rounding error. To avoid counting a double root twice, two roots count as
		// one if they are closer together than 10⁻³ standard deviations. Counting two
		// different roots as one does not change the moments if the roots are less than
		// 10⁻³ standard deviations apart.
		same := true
		for k, v := range r {
			same = same && math.Abs(v-z[k]) <= 1e-3*s.sd(k)+1e-6*math.Abs(v)
		}
		if same {
			return
		}
	}
	s.roots = append(s.roots, z)
}

// changesOfSign is for d = 1, at distances that grow by 5 %.
func (s *Law) changesOfSign(from float64) {
	r := func(x float64) float64 {
		z, v := [1]float64{x}, [1]float64{}
		s.Residual(v[:], z[:])
		return v[0]
	}
	for _, side := range []float64{-1, 1} {
		a := from
		ra := r(a)
		least := cmp.Or(s.sd(0)/64, 1e-9*s.size())
		for step := least; step < math.MaxFloat64/2; step *= 1.05 {
			b := from + side*step
			rb := r(b)
			if ra*rb < 0 {
				lo, hi, rlo := a, b, ra
				for range 200 {
					mid := lo + (hi-lo)/2
					if mid == lo || mid == hi {
						break
					}
					if rm := r(mid); rm*rlo > 0 {
						lo, rlo = mid, rm
					} else {
						hi = mid
					}
				}
				// The sign of r also changes at a pole, which is not a root.
				if math.Abs(r(lo)) < math.Abs(ra)+math.Abs(rb) {
					s.keep([]float64{lo})
				}
			}
			a, ra = b, rb
		}
	}
}

// sd is the unit of distances along component k.
func (s *Law) sd(k int) float64 { return math.Sqrt(s.Cov.At(k, k)) }

func (s *Law) distance(a, b []float64) float64 {
	var most float64
	for k, v := range a {
		most = max(most, math.Abs(v-b[k]))
	}
	return most
}

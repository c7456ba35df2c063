package adams

import (
	"math"
	"testing"
)

func TestAdamsCoefficients(t *testing.T) {
	// Tables of [HNW93, §III.1].
	for s, want := range map[int][]float64{
		1: {1},
		2: {3. / 2, -1. / 2},
		3: {23. / 12, -16. / 12, 5. / 12},
		4: {55. / 24, -59. / 24, 37. / 24, -9. / 24},
	} {
		for j, b := range BashforthCoefficients(s) {
			if b != want[j] {
				t.Errorf("AB%d: β[%d] = %v, want %v", s, j, b, want[j])
			}
		}
	}
	for s, want := range map[int][]float64{
		0: {1},
		1: {1. / 2, 1. / 2},
		2: {5. / 12, 8. / 12, -1. / 12},
		3: {9. / 24, 19. / 24, -5. / 24, 1. / 24},
	} {
		next, past := MoultonCoefficients(s)
		if next != want[0] {
			t.Errorf("AM%d: β₋₁ = %v, want %v", s, next, want[0])
		}
		for j, b := range past {
			if b != want[j+1] {
				t.Errorf("AM%d: β[%d] = %v, want %v", s, j, b, want[j+1])
			}
		}
	}
}

// A method of n nodes integrates polynomials of degree < n exactly over the
// step. The sum has at most six terms of size below 100.
func TestAdamsExactness(t *testing.T) {
	for n := 1; n <= 6; n++ {
		for degree := range n {
			want := 1 / float64(degree+1)
			var explicit float64
			for j, b := range BashforthCoefficients(n) {
				explicit += b * math.Pow(float64(-j), float64(degree))
			}
			next, past := MoultonCoefficients(n - 1)
			implicit := next
			for j, b := range past {
				implicit += b * math.Pow(float64(-j), float64(degree))
			}
			for name, got := range map[string]float64{"explicit": explicit, "implicit": implicit} {
				if math.Abs(got-want) > 1e-12*math.Pow(6, float64(degree)) {
					t.Errorf("%s, %d nodes, degree %d: %v, want %v", name, n, degree, got, want)
				}
			}
		}
	}
}

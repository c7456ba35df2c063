package probode

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

func still(span float64) *Problem {
	return &Problem{Name: "p", X0: []float64{0}, Span: [2]float64{0, span}, F: func(f []float64, _ float64, _, _ []float64) { f[0] = 0 }}
}

// Coefficients for steps that differ integrate polynomials of the degree of
// their formula exactly over the step, from values at the grid points, on grids
// whose neighbouring steps have ratios from 1/4 to 4. Values are below one, and
// coefficients below some hundred.
func TestVariableCoefficientsAreExact(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for range 100 {
		at, h := 0.0, 1.0
		times := []float64{}
		for range 12 {
			h *= math.Exp2(4*rng.Float64() - 2)
			h = min(max(h, 0.05), 20)
			at += h
			times = append(times, at)
		}
		g, err := NewGrid(still(at+1), nil, times)
		if err != nil {
			t.Fatal(err)
		}
		growing := &Grid{t: slices.Clone(g.t), span: g.span}
		for n := 1; n <= 5; n++ {
			for _, implicit := range []bool{false, true} {
				table, other := newAdamsTable(g, n, implicit), newAdamsTable(growing, n, implicit)
				for i := n - 1; i < g.Steps(); i++ {
					beta := table.at(i)
					if got := other.at(i); !slices.Equal(got, beta) {
						t.Fatalf("step %d: %v on a grid that grows, %v on the same that does not", i, got, beta)
					}
					width := g.t[i+1] - g.t[max(0, i-n+1)] // so that powers stay below one
					h := g.H(i)
					for degree := range len(beta) {
						p := func(at float64) float64 { return math.Pow((at-g.t[i])/width, float64(degree)) }
						var got, size float64
						for j, b := range beta {
							got += b * p(g.t[i+table.first-j])
							size += math.Abs(b)
						}
						want := math.Pow(h/width, float64(degree)) / float64(degree+1)
						if math.Abs(got-want) > 1e-13*size {
							t.Errorf("n = %d, implicit %v, degree %d: %v, want %v", n, implicit, degree, got, want)
						}
					}
				}
			}
		}
	}
}

// Where steps are equal the coefficients are the classical ones, bit for bit.
func TestVariableCoefficientsOnEqualSteps(t *testing.T) {
	uniform, err := UniformGrid(still(2), nil, 0.1)
	if err != nil {
		t.Fatal(err)
	}
	given, err := NewGrid(still(2), nil, append(slices.Clone(uniform.t), 1.05))
	if err != nil {
		t.Fatal(err)
	}
	for n := 1; n <= 5; n++ {
		for _, implicit := range []bool{false, true} {
			want := newAdamsTable(uniform, n, implicit).at(10)
			table := newAdamsTable(given, n, implicit)
			for i := n - 1; i < given.Steps(); i++ {
				got := table.at(i)
				even := true
				for j := i - n + 1; j < i; j++ {
					even = even && math.Abs(given.H(j)-given.H(i)) < 1e-12
				}
				if even != slices.Equal(got, want) && (n > 1 || implicit && len(want) > 2) {
					t.Errorf("n = %d, implicit %v, step %d: %v, classical are %v", n, implicit, i, got, want)
				}
			}
		}
	}
}

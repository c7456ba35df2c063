package adams

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/probode/probode/pkg/probode"
)

func still(span float64) *probode.Problem {
	return &probode.Problem{Name: "p", X0: []float64{0}, Span: [2]float64{0, span}, F: func(f []float64, _ float64, _, _ []float64) { f[0] = 0 }}
}

// Coefficients for steps that differ integrate polynomials of the degree of
// their formula exactly over the step, from values at the grid points, on grids
// whose neighbouring steps have ratios from 1/4 to 4. Values are below one, and
// coefficients below some hundred.
func TestVariableCoefficientsAreExact(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for range 100 {
		end, h := 0.0, 1.0
		times := []float64{}
		for range 12 {
			h *= math.Exp2(4*rng.Float64() - 2)
			h = min(max(h, 0.05), 20)
			end += h
			times = append(times, end)
		}
		g, err := probode.NewGrid(still(end+1), nil, times)
		if err != nil {
			t.Fatal(err)
		}
		at := g.Times()
		for n := 1; n <= 5; n++ {
			for _, implicit := range []bool{false, true} {
				table := newTable(g, n, implicit)
				rows := coefficientsOf(table, g)
				for i := n - 1; i < g.Steps(); i++ {
					beta := rows[i]
					width := at[i+1] - at[max(0, i-n+1)] // so that powers stay below one
					h := g.H(i)
					for degree := range len(beta) {
						p := func(t float64) float64 { return math.Pow((t-at[i])/width, float64(degree)) }
						var got, size float64
						for j, b := range beta {
							got += b * p(at[i+table.first-j])
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
	uniform, err := probode.UniformGrid(still(2), nil, 0.1)
	if err != nil {
		t.Fatal(err)
	}
	given, err := probode.NewGrid(still(2), nil, append(slices.Clone(uniform.Times()), 1.05))
	if err != nil {
		t.Fatal(err)
	}
	for n := 1; n <= 5; n++ {
		for _, implicit := range []bool{false, true} {
			want := newTable(uniform, n, implicit).uniform
			rows := coefficientsOf(newTable(given, n, implicit), given)
			for i := n - 1; i < given.Steps(); i++ {
				got := rows[i]
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

// coefficientsOf returns the coefficients of all steps of a formula on the grid g.
func coefficientsOf(c *table, g *probode.Grid) (rows [][]float64) {
	var m history
	for i := range g.Steps() {
		rows = append(rows, slices.Clone(c.at(&m, m.step(g.Times()[i]), g.Times()[i+1])))
	}
	return rows
}

// The coefficients are the same whether the grid is known or not, and when the path is
// computed again.
func TestCoefficientsAreThoseOfTheSteps(t *testing.T) {
	p := still(10)
	p.F = func(f []float64, t float64, x, _ []float64) { f[0] = math.Cos(t*t) - x[0] }
	g, err := probode.Setup{Method: Bashforth{Steps: 3}, Mesh: probode.Frozen{Tolerance: probode.Tolerance{Relative: 1e-4}}}.Grid(t.Context(), p, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	differ := 0
	for n := 1; n <= 5; n++ {
		for _, implicit := range []bool{false, true} {
			table := newTable(g, n, implicit)
			want := coefficientsOf(newTable(nil, n, implicit), g)
			for range 2 {
				for i, got := range coefficientsOf(table, g) {
					if !slices.Equal(got, want[i]) {
						t.Fatalf("step %d: %v on a known grid, %v on an unknown one", i, got, want[i])
					}
					if !slices.Equal(got, table.uniform) {
						differ++
					}
				}
			}
		}
	}
	if differ < 40 {
		t.Errorf("only %d rows of coefficients are not those of equal steps", differ)
	}
}

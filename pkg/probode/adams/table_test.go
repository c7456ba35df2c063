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
				for i := n - 1; i < g.Steps(); i++ {
					beta := table.at(i)
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
			want := newTable(uniform, n, implicit).at(10)
			table := newTable(given, n, implicit)
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

// A witness is a method that keeps the grid on which its steps are made.
type witness struct {
	Bashforth
	grid *probode.Grid
}

func (m *witness) Stepper(p *probode.Problem, g *probode.Grid) (probode.Stepper, error) {
	m.grid = g
	return m.Bashforth.Stepper(p, g)
}

// The coefficients on a grid that grows are those on the grid that it has become.
func TestCoefficientsOnAGridThatGrows(t *testing.T) {
	p := still(10)
	p.F = func(f []float64, t float64, x, _ []float64) { f[0] = math.Cos(t*t) - x[0] }
	m := &witness{Bashforth: Bashforth{Steps: 3}}
	g, err := probode.Setup{Method: m, Mesh: probode.Frozen{Tolerance: probode.Tolerance{Relative: 1e-4}}}.Grid(t.Context(), p, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	if !m.grid.Grows() || g.Grows() {
		t.Fatalf("the grid of the run grows: %v; its result: %v", m.grid.Grows(), g.Grows())
	}
	differ := 0
	for n := 1; n <= 5; n++ {
		for _, implicit := range []bool{false, true} {
			done, growing := newTable(g, n, implicit), newTable(m.grid, n, implicit)
			for i := n - 1; i < g.Steps(); i++ {
				want := done.at(i)
				if got := growing.at(i); !slices.Equal(got, want) {
					t.Fatalf("step %d: %v on a grid that grows, %v on the same that does not", i, got, want)
				}
				if !slices.Equal(want, done.uniform) {
					differ++
				}
			}
		}
	}
	if differ < 20 {
		t.Errorf("only %d rows of coefficients are not those of equal steps", differ)
	}
}

package adams

import (
	"math"
	"testing"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/internal/vector"
	"github.com/probode/probode/pkg/probode/problems"
)

// A sharper tolerance moves a step by less than 10⁻¹¹ of the state, on grids made to
// loose tolerances and on stiff problems whose components differ by many decades, so that
// Z is smooth in θ although the number of iterations changes. On Oregonator's rapid jumps
// the rounding of f alone moves the solution of the equation by 3·10⁻¹¹.
func TestNewtonLeavesNothing(t *testing.T) {
	oregonator := problems.Oregonator()
	for _, p := range []*probode.Problem{problems.FitzHughNagumo(), problems.VanDerPol(100), problems.Robertson(), problems.HIRES(), oregonator} {
		for s := range 2 {
			m := Moulton{Steps: s}
			g, err := probode.Setup{Method: m, Mesh: probode.Frozen{Tolerance: probode.Tolerance{Relative: 1e-3}}}.Grid(t.Context(), p, nil, nil)
			if err != nil {
				t.Fatal(err)
			}
			solver, err := probode.NewSolver(p, m, g, 0)
			if err != nil {
				t.Fatal(err)
			}
			z, d := make([]float64, solver.PathLen()), p.Dim()
			if err := solver.Solve(z, p.Theta, nil); err != nil {
				t.Fatal(err)
			}
			if solver, err = probode.NewSolver(p, tight{m}, g, 0); err != nil {
				t.Fatal(err)
			}
			next, tried := make([]float64, d), 0
			for i := 0; i < g.Steps(); i += 1 + g.Steps()/100 {
				step, one, err := solver.Stepper(i, z, p.Theta)
				if err != nil {
					continue // 25 iterations do not reach what is below rounding
				}
				one.Next = next
				if step.Step(one) != nil {
					continue // 25 iterations do not reach what is below rounding
				}
				tried++
				var off float64
				for k, v := range next {
					off = max(off, math.Abs(v-z[(i+1)*d+k]))
				}
				if size := vector.MaxAbs(next); off > 1e-11*size && (off > 2e-10*size || p != oregonator) {
					t.Errorf("%s, %v: step %d is off by %.1e of %.1e", p.Name, m, i, off, size)
				}
			}
			if tried < 20 {
				t.Errorf("%s, %v: %d steps were compared", p.Name, m, tried)
			}
		}
	}
}

// A tight is a Moulton whose equations are solved to a smaller tolerance.
type tight struct{ Moulton }

func (m tight) Stepper(p *probode.Problem, g *probode.Grid) (*probode.Stepper, error) {
	a, err := newMoulton(m.Moulton, p, g)
	if err != nil {
		return nil, err
	}
	a.tolerance = 1e-14
	return a.stepper(), nil
}

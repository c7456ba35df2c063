package methods

import (
	"fmt"

	"github.com/probode/probode/pkg/probode"
)

// BDF is the family of backward differentiation formulas: the derivative at the
// end of a step of the polynomial P through the next state and the k last ones
// is f there, P′(t_{i+1}) = f(t_{i+1}, Z_{i+1}), so that
//
//	Z_{i+1} = ψᵢ + γᵢ h f(t_{i+1}, Z_{i+1}),   1/γᵢ = Σ_{j=1}^k h/(t_{i+1} − t_{i+1−j}),
//
// with ψᵢ a combination of Zᵢ, …, Z_{i+1−k} [HNW93, §III.1, III.5]. The
// coefficients are those of the steps as they are (variable coefficients), not
// of equal steps with the past interpolated to them. CVODE, LSODA and ode15s,
// with which most published models were fitted, are codes of this family; they
// differ from this one in how they change the step and in that they end Newton's
// iteration at a part of the tolerance, where here the equation is solved to
// rounding, so that Z is a smooth function of (θ, ξ).
//
// Orders 1 and 2 are A-stable. Order k = 3, 4, 5 damps modes within 86°, 73° and
// 52° of the negative real axis and amplifies oscillations that are nearer to
// the imaginary one over a range of steps: there take Radau. Long steps damp what
// grows, too: a state near to an unstable equilibrium that differs from it by less
// than the tolerance may be kept there. And at loose tolerances small positive
// states may come out negative; where that has no way back, as in Robertson's
// problem, the path runs away.
//
// # Start
//
// With Steps = k ≥ 2 the first k steps of a segment are those of Radau5, whose
// error is below that of all that follow. So are k steps from one that is more
// than 1 + √2 times as long as the one before, which no formula of order two and
// more survives. Steps = 0, under error control, begins each segment with order 1
// as the codes do.
//
// # Noise
//
// It is that of the paper for implicit methods [T18, equations 9 to 11]: the
// equation of the step is to be met with a discrepancy of covariance α h^{2k−1} J Jᵀ,
//
//	Z_{i+1} = μ + √α h^{k−1/2} Γ⁻¹ J ξᵢ,   Γ = I/(γᵢh) − J,   ξᵢ ~ N(0, I),
//
// where μ solves the equation and J is that of (t_{i+1}, Zᵢ), as for
// AdamsMoulton of the same order; the past that later steps see has the noise in
// it. A formula of k steps hands an error of one step on k-fold: on components
// that do not move, a noise of one unit in a step ends as 1/γ units, 1/γ = 1,
// 1.5, 1.83, 2.08, 2.28 for equal steps, as local errors do. The first k steps of
// a path carry no noise. On grids of error-controlled runs the noise goes with
// local errors as for any other method: see probode.ScaleLocal.
type BDF struct {
	// Steps is k, 1 to 5. Zero means that an error-controlled run chooses the
	// order of each step, from 1 to 5. The grid keeps them: they are part of it,
	// as the lengths of steps are. On a grid that no such run has made it means 5.
	Steps int
}

// bdfMost is the highest order.
const bdfMost = 5

// top returns the highest order that occurs.
func (m BDF) top() int {
	if m.Steps < 0 || m.Steps > bdfMost {
		panic(fmt.Sprintf("methods: BDF with %d steps: want 1 to %d, or 0 for all of them", m.Steps, bdfMost))
	}
	if m.Steps == 0 {
		return bdfMost
	}
	return m.Steps
}

func (m BDF) String() string {
	if m.top(); m.Steps == 0 {
		return "BDF"
	}
	return fmt.Sprintf("BDF%d", m.Steps)
}

func (m BDF) Order() int { return m.top() }

func (m BDF) Noise(d int) probode.Noise {
	return probode.Noise{Normals: d, Exponent: float64(m.top()) - 0.5, Quiet: m.start()}
}

// start returns the number of steps in which a formula of one order starts.
func (m BDF) start() int {
	if m.top() == 1 {
		return 0
	}
	return m.top()
}

func (m BDF) Stepper(p *probode.Problem, g *probode.Grid) (probode.Stepper, error) {
	b := &bdf{method: m, first: m.start()}
	var err error
	if b.implicit, err = newImplicit(p, g, &collocation{stages: 1, a: [][]float64{{1}}, c: []float64{0}, b: []float64{1}, d: []float64{1},
		modes: []mode{{re: 1, left: []complex128{1}, right: []complex128{1}}}}); err != nil {
		return nil, err
	}
	_, b.uniform = g.Uniform()
	b.choosing = m.Steps == 0 && len(g.Times()) == 0 // the grid of a run that begins
	for i := 0; m.Steps == 0 && i < len(g.Times())-1 && !b.ordered; i++ {
		b.ordered = g.Order(i) > 0
	}
	if b.choosing || b.ordered {
		b.first = 0
	}
	if b.first > 0 {
		if b.start, err = newImplicit(p, g, radau3()); err != nil {
			return nil, err
		}
	}
	for j := range b.past {
		b.past[j] = make([]float64, b.d)
	}
	for _, v := range []*[]float64{&b.psi, &b.noise, &b.scaled, &b.other} {
		*v = make([]float64, b.d)
	}
	return b, b.checkGrid()
}

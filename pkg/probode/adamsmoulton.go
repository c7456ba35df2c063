package probode

import "fmt"

// AdamsMoulton is the implicit s-step Adams method, of order s+1, made
// probabilistic in derivative space. With the discrepancy
//
//	r(z) = β₋₁⁻¹ (h⁻¹(z − Zᵢ) − Σ_{j=0}^{s−1} β_j F_{i−j}) − f(t_{i+1}, z)
//
// the next state has the density p(z) ∝ exp(−½ r(z)ᵀ H⁻¹ r(z)), where
// H = α h^{2s+1} J Jᵀ [T18, equations 9 and 10], or its Gaussian
// approximation [T18, §2.4]
//
//	Z_{i+1} = μ + √α h^{s+1/2} Γ⁻¹ J ξᵢ,   Γ = (h β₋₁)⁻¹ I − J,   ξᵢ ~ N(0, I),
//
// with the mean μ that Linearize says. The zero value is the backward Euler
// method with its equation solved by Newton's method.
type AdamsMoulton struct {
	// Steps is s, 0 to 4. Zero is backward Euler, 1 the trapezoidal rule.
	Steps int

	// Linearize says how the implicit equation r(z) = 0 is solved.
	Linearize Linearization

	// Newton is used by the linearisation Newton.
	Newton NewtonSettings
}

// Nominal returns the order of the implicit equation, which the method loses where
// it is linearised once at the present state, and what to do about that.
func (m AdamsMoulton) Nominal() (order int, remedy string) {
	m.Linearize = Newton
	return m.Order(), "to linearise once at the current state leaves order 2 of any higher one; take Linearize: Newton or Predictor"
}

// Linearization says around which state c the vector field is linearised,
// f(z) ≈ f(c) + J(c)(z − c), to solve the implicit equation of a step, and
// with that at which state the J of the noise is taken.
type Linearization int

const (
	// Newton iterates from Zᵢ until the equation is solved; Γ and J of the
	// noise are those of Zᵢ. It is the default because it alone keeps order
	// s+1 for every s and the stability of the underlying method on stiff
	// problems: Current loses the order for s ≥ 2, and Predictor, which
	// linearises at the end of an explicit step, loses the stability. It
	// costs two to three times as much as either.
	Newton Linearization = iota

	// Current linearises once, at Zᵢ, as the paper does [T18, §2.4]. The
	// remainder of the linearisation is O(h³) in each step, so that the order
	// is min(s+1, 2) whatever s is. It survives stiff problems for s = 0, 1.
	Current

	// Predictor linearises once, at the result of the Adams–Bashforth method
	// of max(s, 1) steps. It has order s+1 at the cost of one factorisation.
	// On a stiff problem the predictor, and with it the step, is far off.
	Predictor
)

func (l Linearization) String() string {
	switch l {
	case Newton:
		return "newton"
	case Current:
		return "current"
	case Predictor:
		return "predictor"
	}
	return fmt.Sprintf("Linearization %d", int(l))
}

// NewtonSettings are the limits of Newton's method in an implicit step.
type NewtonSettings struct {
	// Tolerance ends the iteration when the largest component of an update is
	// below Tolerance times the largest component of the state. What remains
	// is the square of the last update, so that the default, 1e-9 for zero,
	// leaves no error above rounding.
	Tolerance float64
	// Max is the largest number of updates; zero means 25. Not to have
	// converged by then is an error.
	Max int
}

func (m AdamsMoulton) steps() int {
	if m.Steps < 0 || m.Steps > 4 {
		panic(fmt.Sprintf("probode: AdamsMoulton with %d steps: want 0 to 4", m.Steps))
	}
	return m.Steps
}

func (m AdamsMoulton) String() string {
	return fmt.Sprintf("AM%d (%v)", m.steps(), m.Linearize)
}

func (m AdamsMoulton) Order() int {
	if m.Linearize == Current {
		return min(m.steps()+1, 2)
	}
	return m.steps() + 1
}

func (m AdamsMoulton) Noise(d int) Noise {
	return Noise{Normals: d, Exponent: float64(m.steps()) + 0.5, Quiet: max(0, m.steps()-1)}
}

func (m AdamsMoulton) Stepper(p *Problem, g *Grid) (Stepper, error) {
	if m.Linearize < Newton || m.Linearize > Predictor {
		return nil, fmt.Errorf("the linearisation (Linearize) is %d: want Newton, Current or Predictor", int(m.Linearize))
	}
	if err := p.checkDense(); err != nil {
		return nil, err
	}
	a := &adamsMoulton{past: newPast(p, g, m.steps()), lin: m.Linearize, newton: m.Newton, steps: m.steps(),
		beta: newAdamsTable(g, m.steps(), true), explicit: newAdamsTable(g, max(1, m.steps()), false),
		eval: NewLinearizer(p), jac: p.NewJacobian(), currentIsOld: p.Autonomous}
	a.lu = NewLU(a.jac)
	for _, v := range []*[]float64{&a.fc, &a.known, &a.c, &a.u, &a.v, &a.noise} {
		*v = make([]float64, a.d)
	}
	if a.newton.Tolerance == 0 {
		a.newton.Tolerance = 1e-9
	}
	if a.newton.Max == 0 {
		a.newton.Max = 25
	}
	return a, a.enough(m)
}

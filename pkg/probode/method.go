package probode

import "fmt"

// A Method is what solves a Problem: one of AdamsBashforth, AdamsMoulton and
// RungeKutta. Methods are plain data; coefficients and orders follow from
// their fields.
type Method interface {
	// String returns a short name such as "AB2" or "AM1 (current)".
	String() string
	// Order returns the order q at which the global error of the classical
	// method vanishes on a smooth problem, the linearisation taken into
	// account.
	Order() int
	// NoiseExponent returns ρ such that the noise of the probabilistic method
	// has variance α h^ρ: in the state for explicit methods, in derivative
	// space, before the multiplication by J, for Adams–Moulton.
	NoiseExponent() int
	// startup returns the number of steps that are taken by RK4 because the
	// method has no past yet.
	startup() int
	stepper(s *Solver) stepper
}

var (
	_ Method = AdamsBashforth{}
	_ Method = AdamsMoulton{}
	_ Method = RungeKutta{}
)

// AdamsBashforth is the explicit s-step Adams method, of order s,
//
//	Z_{i+1} = Zᵢ + h Σ_{j=0}^{s−1} β_j F_{i−j} + √α h^{s+1/2} ξᵢ,   ξᵢ ~ N(0, I),
//
// so that Σ_Z = α h^{2s+1} I [T16; T18, §2.3]. It is stable only for steps
// that are small against the fastest time scale of the problem, the smaller
// the larger s.
type AdamsBashforth struct {
	// Steps is s, 1 to 5. Zero means 1, which is the forward Euler method.
	Steps int
}

func (m AdamsBashforth) steps() int {
	if m.Steps < 0 || m.Steps > 5 {
		panic(fmt.Sprintf("probode: AdamsBashforth with %d steps: want 1 to 5", m.Steps))
	}
	return max(1, m.Steps)
}

func (m AdamsBashforth) String() string     { return fmt.Sprintf("AB%d", m.steps()) }
func (m AdamsBashforth) Order() int         { return m.steps() }
func (m AdamsBashforth) NoiseExponent() int { return 2*m.steps() + 1 }
func (m AdamsBashforth) startup() int       { return m.steps() - 1 }

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

	// Exact, if not nil, samples the density itself in place of its Gaussian
	// approximation. It is for ensembles and for the study of single steps:
	// see ExactLaw.
	Exact *ExactLaw
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
	panic(fmt.Sprintf("probode: unknown Linearization %d", int(l)))
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
	law := ""
	if m.Exact != nil {
		law = ", exact"
	}
	return fmt.Sprintf("AM%d (%v%s)", m.steps(), m.Linearize, law)
}

func (m AdamsMoulton) Order() int {
	if m.Linearize == Current {
		return min(m.steps()+1, 2)
	}
	return m.steps() + 1
}

func (m AdamsMoulton) NoiseExponent() int { return 2*m.steps() + 1 }
func (m AdamsMoulton) startup() int       { return max(0, m.steps()-1) }

// RungeKutta is an explicit Runge–Kutta method with the noise of Conrad et
// al. added to the state,
//
//	Z_{i+1} = Ψ(Zᵢ) + √α h^{q+1/2} ξᵢ,   ξᵢ ~ N(0, I),
//
// where q is the order of Ψ [C16, §2]. The zero value is the classical
// fourth-order method.
type RungeKutta struct {
	// Tableau is the method; nil means RK4.
	Tableau *Tableau
}

// A Tableau holds the coefficients of an explicit Runge–Kutta method of n
// stages, kₗ = f(t + cₗh, z + h Σ_{m<l} a_{lm} k_m), Ψ(z) = z + h Σ bₗ kₗ.
type Tableau struct {
	Name  string
	Order int
	A     [][]float64 // row l has the l elements a_{l0}, …, a_{l,l−1}
	B, C  []float64   // n elements each
}

// RK4 is the classical fourth-order method [HNW93, §II.1, table 1.2].
var RK4 = &Tableau{
	Name: "RK4", Order: 4,
	A: [][]float64{{}, {1. / 2}, {0, 1. / 2}, {0, 0, 1}},
	B: []float64{1. / 6, 1. / 3, 1. / 3, 1. / 6},
	C: []float64{0, 1. / 2, 1. / 2, 1},
}

// Heun is Heun's third-order method [HNW93, §II.1, table 1.1].
var Heun = &Tableau{
	Name: "Heun3", Order: 3,
	A: [][]float64{{}, {1. / 3}, {0, 2. / 3}},
	B: []float64{1. / 4, 0, 3. / 4},
	C: []float64{0, 1. / 3, 2. / 3},
}

// Midpoint is Runge's second-order method [HNW93, §II.1].
var Midpoint = &Tableau{
	Name: "midpoint", Order: 2,
	A: [][]float64{{}, {1. / 2}},
	B: []float64{0, 1},
	C: []float64{0, 1. / 2},
}

// DormandPrince is the fifth-order method of Dormand & Prince, at a fixed
// step [HNW93, §II.5, table 5.2].
var DormandPrince = &Tableau{
	Name: "DP5", Order: 5,
	A: [][]float64{{},
		{1. / 5},
		{3. / 40, 9. / 40},
		{44. / 45, -56. / 15, 32. / 9},
		{19372. / 6561, -25360. / 2187, 64448. / 6561, -212. / 729},
		{9017. / 3168, -355. / 33, 46732. / 5247, 49. / 176, -5103. / 18656},
	},
	B: []float64{35. / 384, 0, 500. / 1113, 125. / 192, -2187. / 6784, 11. / 84},
	C: []float64{0, 1. / 5, 3. / 10, 4. / 5, 8. / 9, 1},
}

func (m RungeKutta) tableau() *Tableau {
	if m.Tableau == nil {
		return RK4
	}
	t := m.Tableau
	n := len(t.B)
	if n == 0 || len(t.A) != n || len(t.C) != n || t.Order < 1 {
		panic(fmt.Sprintf("probode: tableau %q: want as many rows in A and C as elements in B, and a positive order", t.Name))
	}
	for l, row := range t.A {
		if len(row) != l {
			panic(fmt.Sprintf("probode: tableau %q: row %d of A has %d elements: want %d, the method is explicit", t.Name, l, len(row), l))
		}
	}
	return t
}

func (m RungeKutta) String() string     { return m.tableau().Name }
func (m RungeKutta) Order() int         { return m.tableau().Order }
func (m RungeKutta) NoiseExponent() int { return 2*m.tableau().Order + 1 }
func (m RungeKutta) startup() int       { return 0 }

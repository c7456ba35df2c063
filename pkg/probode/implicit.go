package probode

import (
	"errors"

	"github.com/probode/probode/pkg/probode/internal/linalg"
)

// The implicit step. All three linearisations are Newton's method for
// r(z) = 0, since r has the Jacobian Γ:
//
//	z ← c − Γ(c)⁻¹ r(c),   Γ(c) = (h β₋₁)⁻¹ I − J(c).
//
// They differ in where they begin and when they stop: one update from c = Zᵢ
// (Current: then −r(c) is the paper's w), one from the Adams–Bashforth value
// (Predictor), or as many from Zᵢ as it takes (Newton). The noise
// √α h^{s+1/2} Γ⁻¹ J ξᵢ uses the first factorisation, so that mean and noise
// of the first two come out of one solve, and no Cholesky factor of H is ever
// needed [T18, §2.4].
type adamsMoulton struct {
	past
	lin      Linearization
	newton   NewtonSettings
	steps    int
	beta     *adamsTable // β₋₁, β₀, …, β_{s−1}
	explicit *adamsTable // Adams–Bashforth coefficients of the predictor
	higher   *adamsTable // of the error estimate

	// Of the present step.
	t1       float64
	inv      float64   // (h β₋₁)⁻¹
	invNext  float64   // β₋₁⁻¹
	betaPast []float64 // β₀, …, β_{s−1}

	eval         *Linearizer
	fc           []float64 // f(t_{i+1}, c)
	jac          *Matrix
	lu           *LU
	known        []float64 // (h β₋₁)⁻¹ Zᵢ + β₋₁⁻¹ Σ_j β_j F_{i−j}, the part of r that does not move with z
	c, u, v      []float64 // centre and updates
	noise        []float64
	currentIsOld bool // f(t_{i+1}, Zᵢ) is Fᵢ: the problem is autonomous
}

func (a *adamsMoulton) Step(dst []float64, i int, x, theta, xi, scale []float64) error {
	a.last = i
	if a.starting(i) {
		if err := a.startStep(dst, i, x, theta); err != nil || a.quiet() || xi == nil {
			return err
		}
		return a.startNoise(i, dst, x, theta, xi, scale)
	}
	a.set(i)
	if err := a.prepare(i, x, theta); err != nil {
		return err
	}
	return a.advance(i, dst, theta, xi, scale)
}

// set finds the coefficients of step i.
func (a *adamsMoulton) set(i int) {
	beta := a.beta.at(i)
	a.t1, a.inv, a.invNext, a.betaPast = a.g.t[i+1], 1/(a.g.H(i)*beta[0]), 1/beta[0], beta[1:]
}

// startNoise adds the noise of a starting step behind an event, with J at its
// beginning and β₋₁ of equal steps.
func (a *adamsMoulton) startNoise(i int, dst, x, theta, xi, scale []float64) error {
	a.eval.FJ(a.fc, a.jac, a.g.t[i+1], x, theta)
	if !a.lu.Factorize(1/(a.g.H(i)*a.beta.uniform[0]), a.jac) {
		return ErrSingular
	}
	a.setNoise(xi, scale)
	for k, v := range a.noise {
		dst[k] += v
	}
	return nil
}

// setNoise sets noise to Γ⁻¹ J times the scaled normals.
func (a *adamsMoulton) setNoise(xi, scale []float64) {
	clear(a.noise)
	a.addNoise(a.noise, xi, scale)
	a.lu.Solve(a.noise)
}

// addNoise adds J times the scaled normals to dst.
func (a *adamsMoulton) addNoise(dst, xi, scale []float64) {
	for k, v := range xi {
		a.v[k] = scale[k] * v
	}
	a.jac.AddMul(dst, 1, a.v)
}

// advance makes the step that was prepared.
func (a *adamsMoulton) advance(i int, next, theta, xi, scale []float64) error {
	if a.lin == Newton {
		return a.solveNewton(next, theta, xi, scale)
	}
	c, u := a.c, a.u[:len(a.c)]
	if a.lin == Current {
		// −r(Zᵢ) is w = f(Zᵢ) + β₋₁⁻¹ Σ_j β_j F_{i−j}: the terms z/h cancel.
		copy(u, a.fc)
		a.add(u, a.invNext, a.betaPast, i)
	} else {
		a.residual(u, c, a.fc)
		for k, r := range u {
			u[k] = -r
		}
	}
	if xi != nil {
		a.addNoise(u, xi, scale)
	}
	a.lu.Solve(u)
	for k, v := range u {
		next[k] = c[k] + v
	}
	return nil
}

// prepare finds the centre c, f and J there, the factors of Γ and, unless it
// drops out, the part of r that is known.
func (a *adamsMoulton) prepare(i int, zi, theta []float64) error {
	fi := a.row(i)
	copy(a.c, zi)
	if a.lin == Predictor {
		a.p.F(fi, a.g.t[i], zi, theta)
		a.add(a.c, a.g.H(i), a.explicit.at(i), i)
		a.eval.FJ(a.fc, a.jac, a.t1, a.c, theta)
	} else {
		a.eval.FJ(a.fc, a.jac, a.t1, a.c, theta)
		if len(a.betaPast) > 0 {
			if a.currentIsOld {
				copy(fi, a.fc)
			} else {
				a.p.F(fi, a.g.t[i], zi, theta)
			}
		}
	}
	if a.lin != Current {
		a.remember(i, zi)
	}
	if !a.lu.Factorize(a.inv, a.jac) {
		return ErrSingular
	}
	return nil
}

// remember sets the part of r that does not move with z.
func (a *adamsMoulton) remember(i int, zi []float64) {
	for k, v := range zi {
		a.known[k] = a.inv * v
	}
	a.add(a.known, a.invNext, a.betaPast, i)
}

// residual sets dst to r(z) for fz = f(t_{i+1}, z). [T18, equation 9]
func (a *adamsMoulton) residual(dst, z, fz []float64) {
	for k := range dst {
		dst[k] = a.inv*z[k] - a.known[k] - fz[k]
	}
}

// solveNewton sets next to the solution of r(z) = 0 plus noise.
//
// An update that does not bring r closer to zero, as measured by the next
// update with the same Γ, is halved until it does [Deuflhard 2004, §3.3], so
// that the iteration does not wander off to a far root. Where it is not needed
// the test costs one solve, and often spares a factorisation, since the
// measured update is good enough to be the last one.
func (a *adamsMoulton) solveNewton(next, theta, xi, scale []float64) error {
	if xi != nil {
		a.setNoise(xi, scale)
	}
	if err := a.iterate(next, theta); err != nil {
		return err
	}
	if xi != nil {
		for k, v := range a.noise {
			next[k] += v
		}
	}
	return nil
}

// iterate sets next to the solution of r(z) = 0.
func (a *adamsMoulton) iterate(next, theta []float64) error {
	z := a.c // the iterate; next is the trial
	start := linalg.MaxAbs(z)
	a.residual(a.u, z, a.fc)
	a.lu.Solve(a.u)
	lambda := 1.
	for n := 0; ; n++ {
		size := linalg.MaxAbs(a.u)
		if size-size != 0 || n == a.newton.Max {
			return ErrNewton
		}
		small := a.newton.Tolerance * max(start, linalg.MaxAbs(z))
		if size <= small {
			subtract(next, z, 1, a.u)
			return nil
		}
		// From here on jac and fc belong to the trial, lu still to z.
		var left float64
		for lambda = min(1, 4*lambda); ; lambda /= 2 {
			subtract(next, z, lambda, a.u)
			a.eval.FJ(a.fc, a.jac, a.t1, next, theta)
			a.residual(a.v, next, a.fc)
			a.lu.Solve(a.v)
			if left = linalg.MaxAbs(a.v); left <= (1-lambda/4)*size {
				break
			}
			if lambda < 1e-4 {
				return ErrNewton
			}
		}
		// The error left after such a last update is the share left/size of it,
		// which was the rate of convergence; 1e-8·small is below rounding.
		if lambda == 1 && left*left <= 1e-8*small*size {
			subtract(next, next, 1, a.v)
			return nil
		}
		copy(z, next)
		if !a.lu.Factorize(a.inv, a.jac) {
			return ErrSingular
		}
		a.residual(a.u, z, a.fc)
		a.lu.Solve(a.u)
	}
}

// LocalError is the difference to the implicit method of one order more. Where
// there is too little past for it the step is compared with two of half the
// length.
func (a *adamsMoulton) LocalError(dst []float64, i int, x, next, theta []float64) error {
	if i-a.begin < a.steps {
		if a.steps <= 1 {
			return a.doubled(AdamsMoulton{Steps: a.steps, Linearize: a.lin, Newton: a.newton}, dst, i, x, next, theta)
		}
		return a.doubled(RungeKutta{}, dst, i, x, next, theta)
	}
	if a.steps == 0 {
		a.p.F(a.row(i), a.g.t[i], x, theta) // backward Euler has no need of it
	}
	if a.higher == nil {
		a.higher = newAdamsTable(a.g, a.steps+1, true)
	}
	return a.versus(a.higher, dst, i, x, next, theta)
}

// An ImplicitStep is what a step of an implicit method looks like before it is
// made: the discrepancy
//
//	r(z) = Inv·z − Known − f(T, z),
//
// linearised at Center, where f is FCenter and its Jacobian J, and the Mean of
// the next state that follows. The noise of the step is (Inv·I − J)⁻¹ J times
// the scaled normals.
type ImplicitStep struct {
	// T is the end of the step or, if that is an event, one ulp before, which
	// is what F may see.
	T   float64
	Inv float64
	// Solved says that Mean solves r(z) = 0. Otherwise it solves the equation
	// that is linearised at Center.
	Solved                       bool
	Center, FCenter, Known, Mean []float64
	J                            *Matrix
	Forecast                     []float64 // the value of an explicit method
}

// An Implicit is a Stepper that shows its steps.
type Implicit interface {
	Stepper
	// Implicit writes step i from state x into s, whose slices and matrix are
	// made where they are nil. The error is ErrStarting for the explicit steps
	// in which a multistep method starts.
	Implicit(s *ImplicitStep, i int, x, theta []float64) error
}

// ErrStarting: a step of an implicit method is one of those in which it starts.
var ErrStarting = errors.New("the step is one of those in which the method starts, and explicit")

func (a *adamsMoulton) Implicit(s *ImplicitStep, i int, x, theta []float64) error {
	if a.starting(i) {
		return ErrStarting
	}
	a.last = i
	a.set(i)
	now := a.g.seg[a.g.segment(i+1)].now
	s.T, s.Inv, s.Solved = min(max(a.t1, now.from), now.to), a.inv, a.lin == Newton
	a.p.F(a.row(i), a.g.t[i], x, theta)
	s.Forecast = append(s.Forecast[:0], x...)
	a.add(s.Forecast, a.g.H(i), a.explicit.at(i), i)
	if err := a.prepare(i, x, theta); err != nil {
		return err
	}
	if a.lin == Current {
		a.remember(i, x)
	}
	if s.J == nil {
		s.J = a.p.NewJacobian()
	}
	copy(s.J.A, a.jac.A)
	s.Center = append(s.Center[:0], a.c...)
	s.FCenter = append(s.FCenter[:0], a.fc...)
	s.Known = append(s.Known[:0], a.known...)
	s.Mean = append(s.Mean[:0], x...)
	if err := a.advance(i, s.Mean, theta, nil, nil); err != nil {
		return err
	}
	if !linalg.Finite(s.Mean) {
		return ErrDiverged
	}
	return nil
}

// subtract sets dst to z − c·u.
func subtract(dst, z []float64, c float64, u []float64) {
	for k, v := range u[:len(dst)] {
		dst[k] = z[k] - c*v
	}
}

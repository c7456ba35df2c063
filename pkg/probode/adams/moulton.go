package adams

import (
	"fmt"
	"math"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/internal/discrepancy"
	"github.com/probode/probode/pkg/probode/internal/vector"
	"github.com/probode/probode/pkg/probode/linalg"
	"github.com/probode/probode/pkg/probode/methods"
)

// Moulton is the implicit s-step Adams method, of order s+1, with a Gaussian residual in
// the implicit equation. With the residual
//
//	r(z) = β₋₁⁻¹ (h⁻¹(z − Zᵢ) − Σ_{j=0}^{s−1} β_j F_{i−j}) − f(t_{i+1}, z)
//
// the next state has the density p(z) ∝ exp(−½ r(z)ᵀ H⁻¹ r(z)), where H = α h^{2s+1} J Jᵀ
// [T18, equations 9 and 10]. Moulton draws the next state from the Gaussian approximation
// of p [T18, §2.4]
//
//	Z_{i+1} = μ + √α h^{s+1/2} Γ⁻¹ J ξᵢ,   Γ = (h β₋₁)⁻¹ I − J,   ξᵢ ~ N(0, I),
//
// where Linearize determines the mean μ. The zero value is the backward Euler method,
// whose implicit equation is solved by Newton's method.
type Moulton struct {
	// Steps is the number s of steps, from 0 to 4: 0 gives backward Euler, and 1 gives
	// the trapezoidal rule.
	Steps int

	// Linearize says how the implicit equation r(z) = 0 is solved.
	Linearize Linearization
}

// Nominal returns the order that the method has if its implicit equation is solved
// exactly. With the linearisation Current, the method Order returns at most 2. Nominal
// also returns a message that says how to reach the nominal order.
func (m Moulton) Nominal() (order int, remedy string) {
	m.Linearize = Newton
	return m.Order(), "linearisation at the current state limits the order to 2; set Linearize to Newton or Predictor"
}

// Linearization is the choice of the state c at which the vector field is linearised to
// solve the implicit equation of a step: f(z) ≈ f(c) + J(c)(z − c). The matrix J in the
// covariance of the noise is also evaluated at c.
type Linearization int

const (
	// Newton solves the equation by Newton's method, starting at Zᵢ. The matrices Γ and J
	// in the covariance of the noise are evaluated at Zᵢ. Newton is the default, because
	// only Newton combines order s+1 with stability on stiff problems for every s.
	// Current has order 2 for s ≥ 2. Predictor linearises at the state that an explicit
	// step predicts, and is not stable on stiff problems. Newton costs two to three times
	// as much as Current or Predictor.
	Newton Linearization = iota

	// With Current, f is linearised once in each step, at Zᵢ, as in [T18, §2.4]. The remainder of
	// the linearisation is O(h³) in each step, so the order is min(s+1, 2). For s = 0 and
	// 1, the linearisation Current is suitable for stiff problems.
	Current

	// With Predictor, f is linearised once in each step, at the result of the Adams–Bashforth
	// method of max(s, 1) steps. The linearisation Predictor has order s+1 at the cost of
	// one factorisation. On a stiff problem the predictor is inaccurate, and so is the
	// result of the step.
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

const (
	// Newton's method ends when the largest component of an update is below `tolerance`
	// times the largest component of the state. The remaining relative error is roughly
	// the square of the last relative update, so it is smaller than a rounding error.
	tolerance = 1e-9
	// The constant `iterations` is the largest number of updates in a step.
	iterations = 25
)

func (m Moulton) String() string {
	return fmt.Sprintf("AM%d (%v)", m.Steps, m.Linearize)
}

func (m Moulton) Order() int {
	if m.Linearize == Current {
		return min(m.Steps+1, 2)
	}
	return m.Steps + 1
}

func (m Moulton) Noise(d int) probode.Noise {
	return probode.Noise{Normals: d, Exponent: float64(m.Steps) + 0.5, Quiet: max(0, m.Steps-1)}
}

func (m Moulton) Stepper(p *probode.Problem, g *probode.Grid) (probode.Stepper, error) {
	if m.Linearize < Newton || m.Linearize > Predictor {
		return nil, fmt.Errorf("the linearisation (Linearize) is %d: want Newton, Current or Predictor", int(m.Linearize))
	}
	if m.Steps < 0 || m.Steps > 4 {
		return nil, fmt.Errorf("the number of steps is %d: want 0 to 4", m.Steps)
	}
	if err := p.CheckDense(2); err != nil {
		return nil, err
	}
	past, err := newHistory(p, g, m.Steps)
	if err != nil {
		return nil, err
	}
	a := &moulton{history: past, lin: m.Linearize, tolerance: tolerance, steps: m.Steps,
		beta: newTable(g, m.Steps, true), explicit: newTable(g, max(1, m.Steps), false),
		eval: probode.NewLinearizer(p), jac: p.NewJacobian(), currentIsOld: p.Autonomous}
	a.lu = linalg.NewLU(a.jac)
	for _, v := range []*[]float64{&a.fc, &a.known, &a.c, &a.u, &a.v} {
		*v = make([]float64, a.d)
	}
	a.noise = discrepancy.New(a.eval, a.fc, a.jac, a.lu)
	return a, nil
}

// The type `moulton` is the Stepper of the implicit methods. Let Γ be the Jacobian of the
// residual r. All three linearisations apply Newton's method to r(z) = 0:
//
//	z ← c − Γ(c)⁻¹ r(c),   Γ(c) = (h β₋₁)⁻¹ I − J(c).
//
// The linearisations differ in the starting point and in the number of updates. With
// Current, Newton's method performs one update from Zᵢ. The vector w in [T18, §2.4] is
// −r(Zᵢ). With Predictor, Newton's method performs one update from the Adams–Bashforth
// value. With Newton, the iteration begins at Zᵢ and makes as many updates as are needed.
// The noise √α h^{s+1/2} Γ⁻¹ J ξᵢ is computed with the first factorisation of Γ. The
// linearisations Current and Predictor compute the mean and the noise with a single
// linear solve. A Cholesky factor of H [T18, §2.4] is not needed.
type moulton struct {
	history
	lin       Linearization
	tolerance float64
	steps     int
	beta      *table // β₋₁, β₀, …, β_{s−1}
	explicit  *table // Adams–Bashforth coefficients of the predictor
	higher    *table // for the error estimate

	// The following fields hold values for the current step.
	t1       float64
	length   float64   // h
	inv      float64   // (h β₋₁)⁻¹
	invNext  float64   // β₋₁⁻¹
	betaPast []float64 // β₀, …, β_{s−1}

	eval         *probode.Linearizer
	fc           []float64 // f(t_{i+1}, c)
	jac          *linalg.Matrix
	lu           *linalg.LU
	known        []float64 // (h β₋₁)⁻¹ Zᵢ + β₋₁⁻¹ Σ_j β_j F_{i−j}, the part of r that does not depend on z
	c, u, v      []float64 // centre and updates
	noise        *discrepancy.Noise
	currentIsOld bool // f(t_{i+1}, Zᵢ) is Fᵢ: the problem is autonomous

	transpose *reverseMoulton
}

func (a *moulton) Step(dst []float64, i int, x, theta, xi, scale []float64) error {
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

// The method set() computes the coefficients of step i.
func (a *moulton) set(i int) {
	h := a.g.H(i)
	if a.t1 = a.g.Times()[i+1]; a.beta.even && h == a.length {
		return
	}
	beta := a.beta.at(i)
	a.length, a.inv, a.invNext, a.betaPast = h, 1/(h*beta[0]), 1/beta[0], beta[1:]
}

// startNoise adds the noise of a starting step after an event. The noise is computed with
// the Jacobian J at the beginning of the step, and with the coefficient β₋₁ of a uniform
// grid.
func (a *moulton) startNoise(i int, dst, x, theta, xi, scale []float64) error {
	a.eval.FJ(a.fc, a.jac, a.g.Times()[i+1], x, theta)
	if !a.lu.Factorize(1/(a.g.H(i)*a.beta.uniform[0]), a.jac) {
		return probode.ErrSingular
	}
	a.noise.Set(xi, scale)
	vector.AddScaled(dst, 1, a.noise.U)
	return nil
}

// The method advance() takes a step that the method prepare() has set up.
func (a *moulton) advance(i int, next, theta, xi, scale []float64) error {
	if a.lin == Newton {
		return a.solveNewton(next, theta, xi, scale)
	}
	c, u := a.c, a.u[:len(a.c)]
	if a.lin == Current {
		// The vector w = −r(Zᵢ) is equal to f(Zᵢ) + β₋₁⁻¹ Σ_j β_j F_{i−j}, because the
		// terms z/h cancel.
		copy(u, a.fc)
		a.add(u, a.invNext, a.betaPast, i)
	} else {
		a.residual(u, c, a.fc)
		for k, r := range u {
			u[k] = -r
		}
	}
	if xi != nil {
		a.noise.Add(u, xi, scale)
	}
	a.lu.Solve(u)
	for k, v := range u {
		next[k] = c[k] + v
	}
	return nil
}

// The method prepare() computes the centre c, f and J at c, and the factors of Γ. With
// Predictor and Newton, prepare() also computes the part of r that does not depend on z.
func (a *moulton) prepare(i int, zi, theta []float64) error {
	fi := a.row(i)
	copy(a.c, zi)
	if a.lin == Predictor {
		a.p.F(fi, a.g.Times()[i], zi, theta)
		a.add(a.c, a.g.H(i), a.explicit.at(i), i)
		a.eval.FJ(a.fc, a.jac, a.t1, a.c, theta)
	} else {
		a.eval.FJ(a.fc, a.jac, a.t1, a.c, theta)
		if len(a.betaPast) > 0 {
			if a.currentIsOld {
				copy(fi, a.fc)
			} else {
				a.p.F(fi, a.g.Times()[i], zi, theta)
			}
		}
	}
	if a.lin != Current {
		a.remember(i, zi)
	}
	if !a.lu.Factorize(a.inv, a.jac) {
		return probode.ErrSingular
	}
	return nil
}

// The method remember() sets the part of r that does not depend on z.
func (a *moulton) remember(i int, zi []float64) {
	for k, v := range zi {
		a.known[k] = a.inv * v
	}
	a.add(a.known, a.invNext, a.betaPast, i)
}

// The method residual() sets dst to r(z) for fz = f(t_{i+1}, z). [T18, equation 9]
func (a *moulton) residual(dst, z, fz []float64) {
	for k := range dst {
		dst[k] = a.inv*z[k] - a.known[k] - fz[k]
	}
}

// solveNewton stores the solution of r(z) = 0, plus noise, in the argument `next`.
//
// An update is halved until it brings r closer to zero. The distance of r from zero is
// measured by the size of the next update, computed with the same Γ [Deuflhard 2004,
// §3.3]. Halving the updates prevents the iteration from ending at a distant root. If the
// full update is accepted, the test costs only one linear solve. Often the next update is
// the last one, and needs no new factorisation.
func (a *moulton) solveNewton(next, theta, xi, scale []float64) error {
	if xi != nil {
		a.noise.Set(xi, scale)
	}
	if err := a.iterate(next, theta); err != nil {
		return err
	}
	if xi != nil {
		vector.AddScaled(next, 1, a.noise.U)
	}
	return nil
}

// The method iterate() stores the solution of r(z) = 0 in the argument `next`.
func (a *moulton) iterate(next, theta []float64) error {
	z := a.c // the iterate; next is the trial
	start := vector.MaxAbs(z)
	a.residual(a.u, z, a.fc)
	a.lu.Solve(a.u)
	lambda := 1.
	for n := 0; ; n++ {
		size := vector.MaxAbs(a.u)
		if size-size != 0 || n == iterations {
			return probode.ErrNewton
		}
		small := a.tolerance * max(start, vector.MaxAbs(z))
		if size <= small {
			subtract(next, z, 1, a.u)
			return nil
		}
		// From here on, jac and fc hold J and f at the trial state, but lu still holds
		// the factors at z.
		var left float64
		for lambda = min(1, 4*lambda); ; lambda /= 2 {
			subtract(next, z, lambda, a.u)
			a.eval.FJ(a.fc, a.jac, a.t1, next, theta)
			a.residual(a.v, next, a.fc)
			a.lu.Solve(a.v)
			if left = vector.MaxAbs(a.v); left <= (1-lambda/4)*size {
				break
			}
			if lambda < 1e-4 {
				return probode.ErrNewton
			}
		}
		// The rate of convergence is `left/size`. A further update of size `left`
		// therefore leaves an error of `left²/size`. An error below 1e-8 × `small` is
		// smaller than a rounding error.
		if lambda == 1 && left*left <= 1e-8*small*size {
			subtract(next, next, 1, a.v)
			return nil
		}
		copy(z, next)
		if !a.lu.Factorize(a.inv, a.jac) {
			return probode.ErrSingular
		}
		a.residual(a.u, z, a.fc)
		a.lu.Solve(a.u)
	}
}

// LocalError compares the result of the step with that of the implicit Adams method of
// the next higher order. In the first few steps, LocalError compares the result with that
// of two half steps.
func (a *moulton) LocalError(dst []float64, i int, x, next, theta []float64) error {
	if i-a.begin < a.steps {
		if a.steps <= 1 {
			return a.doubled(Moulton{Steps: a.steps, Linearize: a.lin}, dst, i, x, next, theta)
		}
		return a.doubled(methods.RungeKutta{}, dst, i, x, next, theta)
	}
	if a.steps == 0 {
		a.p.F(a.row(i), a.g.Times()[i], x, theta) // backward Euler does not compute it
	}
	if a.higher == nil {
		a.higher = newTable(a.g, a.steps+1, true)
	}
	return a.versus(a.higher, dst, i, x, next, theta)
}

func (a *moulton) Implicit(s *probode.ImplicitStep, i int, x, theta []float64) error {
	if a.starting(i) {
		return probode.ErrStarting
	}
	a.last = i
	a.set(i)
	s.T, s.Inv, s.Solved = a.g.End(i), a.inv, a.lin == Newton
	a.p.F(a.row(i), a.g.Times()[i], x, theta)
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
	return a.advance(i, s.Mean, theta, nil, nil)
}

// The function subtract() sets dst to z − c u.
func subtract(dst, z []float64, c float64, u []float64) {
	for k, v := range u[:len(dst)] {
		dst[k] = z[k] - c*v
	}
}

// Differentiate computes the derivatives of the step. With Current and Predictor, a step
// solves the linear equation Γu = w, where Γ = inv × I − J. The derivative of the
// solution u is du = Γ⁻¹ (dw + dJ u − dinv u).
func (a *moulton) Differentiate(dnext []float64, i int, x, next, theta, xi, scale []float64, tg *probode.Tangents) error {
	s := a.differentiator(tg.M, true)
	a.set(i)
	if a.starting(i) {
		err := a.differentiateStart(dnext, i, x, next, theta, tg)
		if err != nil || a.quiet() || xi == nil {
			return err
		}
		return a.noise.Differentiate(dnext, s.diff, a.inv, a.length, a.t1, x, theta, xi, scale, tg)
	}
	if len(a.betaPast) > 0 || a.lin == Predictor {
		a.differentiateSlope(i, x, theta, tg)
	}
	copy(a.c, x)
	if a.lin == Predictor {
		a.add(a.c, a.g.H(i), a.explicit.at(i), i)
	}
	if a.lin == Newton {
		return a.differentiateNewton(dnext, i, x, next, theta, xi, scale, tg)
	}
	s.diff.At(a.t1, a.c, theta, nil)
	if !a.lu.Factorize(a.inv, s.diff.Jacobian()) {
		return probode.ErrSingular
	}
	for k := range a.d {
		a.v[k], a.u[k] = 0, next[k]-a.c[k]
		if xi != nil {
			a.v[k] = scale[k] * xi[k]
			a.u[k] += a.v[k]
		}
	}
	for m := range tg.M {
		dtheta, dx, dt, dh := tg.Direction(m)
		to := row(dnext, m, a.d)
		dinv := -a.inv * dh / a.g.H(i)
		copy(s.v, dx) // the derivative of the centre
		if a.lin == Predictor {
			a.addSlopes(s.v, a.g.H(i), a.explicit.at(i), i, m)
			a.add(s.v, dh, a.explicit.at(i), i)
		}
		s.diff.Along(to, s.v, dtheta, dt+dh)
		s.diff.SecondAlong(s.w, a.u, s.v, dtheta, dt+dh)
		for k := range to {
			to[k] += a.inv*(dx[k]-s.v[k]) + dinv*(x[k]-next[k]) + s.w[k]
		}
		a.addSlopes(to, a.invNext, a.betaPast, i, m)
		if clear(s.w); xi != nil {
			tg.AddNoise(s.w, m, xi)
			s.diff.Jacobian().AddMul(to, 1, s.w)
		}
		a.lu.Solve(to)
		vector.AddScaled(to, 1, s.v)
	}
	return nil
}

// differentiateNewton computes the derivatives of the solution of r(z) = 0, and adds the
// derivatives of the noise.
func (a *moulton) differentiateNewton(dnext []float64, i int, x, next, theta, xi, scale []float64, tg *probode.Tangents) error {
	s := a.slopes
	clear(dnext[:tg.M*a.d])
	copy(a.fc, next) // the solution is next without noise
	if xi != nil {
		if err := a.noise.Differentiate(dnext, s.diff, a.inv, a.length, a.t1, x, theta, xi, scale, tg); err != nil {
			return err
		}
		vector.AddScaled(a.fc, -1, a.noise.U)
	}
	s.diff.At(a.t1, a.fc, theta, nil)
	if !a.lu.Factorize(a.inv, s.diff.Jacobian()) {
		return probode.ErrSingular
	}
	clear(s.u)
	for m := range tg.M {
		dtheta, dx, dt, dh := tg.Direction(m)
		dinv := -a.inv * dh / a.g.H(i)
		s.diff.Along(s.w, s.u, dtheta, dt+dh)
		for k := range s.w {
			s.w[k] += dinv*(x[k]-a.fc[k]) + a.inv*dx[k]
		}
		a.addSlopes(s.w, a.invNext, a.betaPast, i, m)
		a.lu.Solve(s.w)
		vector.AddScaled(row(dnext, m, a.d), 1, s.w)
	}
	return nil
}

// A reverseMoulton holds the data that only Reverse needs.
type reverseMoulton struct {
	dc    []float64 // gradient with respect to the centre
	slope []float64 // gradient with respect to f at the centre

	// The field `small` is the version of reverseOnce with unrolled loops, or nil if
	// there is none for the problem. The unrolled versions of reverseOnce call the
	// function pull(). The function pull() is Problem.Pullback or, if Pullback is nil, a
	// function that returns NaN.
	small smallReverse
	pull  func(dx, dtheta, lambda []float64, t float64, x, theta []float64) float64
}

// A function of the type smallReverse propagates gradients back through a step that is
// linearised at the current state, on a grid whose points do not depend on θ. If the
// function returns false, it has left all gradients unchanged.
type smallReverse func(a *moulton, to *probode.Adjoint, i int, x, next, theta, xi, scale []float64) bool

func newReverseMoulton(a *moulton) *reverseMoulton {
	b := &reverseMoulton{dc: make([]float64, a.d), slope: make([]float64, a.d), pull: a.p.Pullback}
	if a.lin == Current && a.d <= 3 && a.eval.Exact() && !a.jac.Banded && (b.pull != nil || a.p.FTheta != nil) {
		b.small = [...]smallReverse{(*moulton).reverse1, (*moulton).reverse2, (*moulton).reverse3}[a.d-1]
	}
	if b.pull == nil {
		b.pull = func(_, _, _ []float64, _ float64, _, _ []float64) float64 { return math.NaN() }
	}
	return b
}

// Reverse propagates gradients back through a step. With Current and Predictor, a step
// solves the linear equation Γu = w. If λ is the gradient with respect to the solution u,
// then μ = Γ⁻ᵀλ is the gradient with respect to w. The gradient with respect to Γ is
// −μuᵀ, which is the gradient of −μᵀΓu for constant μ and u.
func (a *moulton) Reverse(to *probode.Adjoint, i int, x, next, theta, xi, scale []float64) error {
	a.reverse()
	if a.transpose == nil {
		a.transpose = newReverseMoulton(a)
	}
	a.set(i)
	if a.starting(i) {
		err := a.reverseStart(to, i, x, next, theta)
		if err != nil || a.quiet() || xi == nil {
			return err
		}
		return a.reverseNoise(to, i, x, theta, xi, scale)
	}
	var err error
	if a.lin == Newton {
		err = a.reverseNewton(to, i, x, next, theta, xi, scale)
	} else if small := a.transpose.small; small == nil || to.Moves || !small(a, to, i, x, next, theta, xi, scale) {
		err = a.reverseOnce(to, i, x, next, theta, xi, scale)
	}
	if err == nil && (len(a.betaPast) > 0 && !(a.lin == Current && a.currentIsOld) || a.lin == Predictor) {
		a.reverseSlope(to, i, x, theta)
	}
	return err
}

// reverseNewton propagates gradients back through the noise, and through the solution of
// r(z) = 0.
func (a *moulton) reverseNewton(to *probode.Adjoint, i int, x, next, theta, xi, scale []float64) error {
	mu := a.noise.Mu
	copy(a.c, next) // the solution is next without noise
	if xi != nil {
		if err := a.reverseNoise(to, i, x, theta, xi, scale); err != nil {
			return err
		}
		vector.AddScaled(a.c, -1, a.noise.U)
	}
	if err := a.noise.Transposed(a.inv, a.t1, a.c, theta, to.Next); err != nil {
		return err
	}
	to.Field(nil, mu, a.t1, 1, a.c, theta)
	vector.AddScaled(to.X, a.inv, mu)
	a.reverseSum(a.invNext, a.betaPast, i, mu)
	for k, v := range mu {
		to.Length -= a.inv / a.g.H(i) * v * (x[k] - a.c[k])
	}
	return nil
}

// reverseNoise propagates gradients back through the noise Γ⁻¹Jv, where v holds the
// scaled normal variates and Γ and J are evaluated at x. The method also sets a.noise.U
// and a.noise.Mu.
func (a *moulton) reverseNoise(to *probode.Adjoint, i int, x, theta, xi, scale []float64) error {
	if err := a.noise.Prepare(to, a.inv, a.t1, x, theta, xi, scale); err != nil {
		return err
	}
	a.noise.Reverse(to, a.t1, x, theta, xi, scale)
	for k, v := range a.noise.Mu {
		to.Length += a.inv / a.g.H(i) * v * a.noise.U[k]
	}
	return nil
}

// reverseOnce propagates gradients back through a step that is linearised at the centre
// c.
func (a *moulton) reverseOnce(to *probode.Adjoint, i int, x, next, theta, xi, scale []float64) error {
	b, mu := a.transpose, a.noise.Mu
	copy(a.c, x)
	if a.lin == Predictor {
		a.recall(to, i, theta)
		a.add(a.c, a.g.H(i), a.explicit.at(i), i)
	}
	if err := a.noise.Transposed(a.inv, a.t1, a.c, theta, to.Next); err != nil {
		return err
	}
	for k, v := range to.Next {
		a.u[k] = next[k] - a.c[k]
		if xi != nil {
			a.u[k] += scale[k] * xi[k]
		}
		b.dc[k] = v - a.inv*mu[k]
		to.Length -= a.inv / a.g.H(i) * mu[k] * (x[k] - next[k])
	}
	a.reverseSum(a.invNext, a.betaPast, i, mu)
	copy(b.slope, mu)
	if a.lin == Current && a.currentIsOld { // Fᵢ is f at the centre
		vector.AddScaled(b.slope, 1, a.backRow(i))
		clear(a.backRow(i))
	}
	to.SecondField(b.dc, b.slope, mu, a.u, a.t1, 1, a.c, theta)
	vector.AddScaled(to.X, a.inv, mu)
	vector.AddScaled(to.X, 1, b.dc)
	if xi != nil {
		a.noise.ReverseNormals(to, xi, scale)
	}
	if a.lin == Predictor {
		h, beta := a.g.H(i), a.explicit.at(i)
		a.reverseSum(h, beta, i, b.dc)
		for k, v := range b.dc {
			to.Length += v * (a.c[k] - x[k]) / h
		}
	}
	return nil
}

// The method recall() computes the values of f that step i uses.
func (a *moulton) recall(to *probode.Adjoint, i int, theta []float64) {
	from := max(a.begin, i-len(a.explicit.uniform)+1)
	for j := from; j <= i; j++ {
		a.p.F(a.row(j), a.g.Times()[j], row(to.Path, j, a.d), theta)
	}
}

package adams

import (
	"fmt"
	"math"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/field"
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
	// An update below `tolerance` times the state ends Newton's method: the error is its
	// square, below rounding.
	tolerance  = 1e-9
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

func (m Moulton) Stepper(p *probode.Problem, g *probode.Grid) (*probode.Stepper, error) {
	a, err := newMoulton(m, p, g)
	if err != nil {
		return nil, err
	}
	return a.stepper(), nil
}

func (a *moulton) stepper() *probode.Stepper {
	s := a.history.stepper()
	s.Step, s.LocalError, s.Differentiate, s.Reverse, s.Implicit = a.take, a.localError, a.differentiate, a.reverse, a.implicit
	if a.runs() {
		s.Run = a.run
	}
	return s
}

func newMoulton(m Moulton, p *probode.Problem, g *probode.Grid) (*moulton, error) {
	if m.Linearize < Newton || m.Linearize > Predictor {
		return nil, fmt.Errorf("the linearisation (Linearize) is %d: want Newton, Current or Predictor", int(m.Linearize))
	}
	if m.Steps < 0 || m.Steps > 4 {
		return nil, fmt.Errorf("the number of steps is %d: want 0 to 4", m.Steps)
	}
	if err := p.Field().CheckDense(2); err != nil {
		return nil, err
	}
	past, err := newHistory(p, g, m.Steps)
	if err != nil {
		return nil, err
	}
	a := &moulton{history: past, lin: m.Linearize, tolerance: tolerance, steps: m.Steps,
		beta: newTable(g, m.Steps, true), explicit: newTable(g, max(1, m.Steps), false),
		eval: field.NewLinearizer(p.Field()), jac: p.Field().NewJacobian(), currentIsOld: p.Autonomous}
	a.lu = linalg.NewLU(a.jac)
	for _, v := range []*[]float64{&a.fc, &a.known, &a.c, &a.u, &a.v} {
		*v = make([]float64, a.d)
	}
	a.noise = discrepancy.New(a.eval, a.fc, a.jac, a.lu)
	return a, nil
}

// moulton takes the steps of the implicit methods. Let Γ be the Jacobian of the residual
// r. All three linearisations apply Newton's method to r(z) = 0:
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

	eval         *field.Linearizer
	fc           []float64 // f(t_{i+1}, c)
	jac          *linalg.Matrix
	lu           *linalg.LU
	known        []float64 // (h β₋₁)⁻¹ Zᵢ + β₋₁⁻¹ Σ_j β_j F_{i−j}, the part of r that does not depend on z
	c, u, v      []float64 // centre and updates
	noise        *discrepancy.Noise
	currentIsOld bool // f(t_{i+1}, Zᵢ) is Fᵢ: the problem is autonomous

	transpose *reverseMoulton
	fused     fusedRun // of the current run
}

func (a *moulton) take(s *probode.Step) error {
	i := a.step(s.T)
	if a.starting(i) {
		if err := a.startStep(i, s); err != nil || s.Xi == nil {
			return err
		}
		return a.startNoise(s)
	}
	a.set(i, s)
	if err := a.prepare(i, s); err != nil {
		return err
	}
	return a.advance(i, s)
}

func (a *moulton) set(i int, s *probode.Step) {
	if a.t1 = s.End; a.beta.even && s.H == a.length {
		return
	}
	beta := a.beta.at(&a.history, i, s.End)
	a.length, a.inv, a.invNext, a.betaPast = s.H, 1/(s.H*beta[0]), 1/beta[0], beta[1:]
}

// startNoise is for starting steps after an event, with J at the beginning and β₋₁ of a
// uniform grid.
func (a *moulton) startNoise(s *probode.Step) error {
	a.eval.FJ(a.fc, a.jac, s.End, s.X, s.Theta)
	if !a.lu.Factorize(1/(s.H*a.beta.uniform[0]), a.jac) {
		return probode.ErrSingular
	}
	a.noise.Set(s.Xi, s.Scale)
	vector.AddScaled(s.Next, 1, a.noise.U)
	return nil
}

func (a *moulton) advance(i int, s *probode.Step) error {
	if a.lin == Newton {
		return a.solveNewton(s)
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
	if s.Xi != nil {
		a.noise.Add(u, s.Xi, s.Scale)
	}
	a.lu.Solve(u)
	for k, v := range u {
		s.Next[k] = c[k] + v
	}
	return nil
}

// prepare computes the centre c, f and J at c, and the factors of Γ. With Predictor and
// Newton, prepare also computes the part of r that does not depend on z.
func (a *moulton) prepare(i int, s *probode.Step) error {
	fi := a.row(i)
	copy(a.c, s.X)
	if a.lin == Predictor {
		a.p.F(fi, s.T, s.X, s.Theta)
		a.predict(i, s)
		a.eval.Evaluate(a.fc, a.jac, a.t1, a.c, s.Theta)
	} else {
		a.eval.Evaluate(a.fc, a.jac, a.t1, a.c, s.Theta)
		if len(a.betaPast) > 0 {
			if a.currentIsOld {
				copy(fi, a.fc)
			} else {
				a.p.F(fi, s.T, s.X, s.Theta)
			}
		}
	}
	if a.lin != Current {
		a.remember(i, s.X)
	}
	if !a.factorize(a.c, s.Theta) {
		return probode.ErrSingular
	}
	return nil
}

func (a *moulton) factorize(x, theta []float64) bool {
	return a.lu.Factorize(a.inv, a.jac) || a.eval.Repair(a.fc, a.jac, a.t1, x, theta) && a.lu.Factorize(a.inv, a.jac)
}

func (a *moulton) predict(i int, s *probode.Step) {
	a.add(a.c, s.H, a.explicit.at(&a.history, i, s.End), i)
}

func (a *moulton) remember(i int, zi []float64) {
	for k, v := range zi {
		a.known[k] = a.inv * v
	}
	a.add(a.known, a.invNext, a.betaPast, i)
}

// residual sets dst to r(z) for fz = f(t_{i+1}, z). [T18, equation 9]
func (a *moulton) residual(dst, z, fz []float64) {
	for k := range dst {
		dst[k] = a.inv*z[k] - a.known[k] - fz[k]
	}
}

// solveNewton halves an update until it brings r closer to zero, measured by the next
// update with the same Γ [Deuflhard 2004, §3.3]; otherwise the iteration could end at a
// distant root. This costs one linear solve, and often the next update is the last and
// needs no factorisation.
func (a *moulton) solveNewton(s *probode.Step) error {
	if s.Xi != nil {
		a.noise.Set(s.Xi, s.Scale)
	}
	if err := a.iterate(s.Next, s.Theta); err != nil {
		return err
	}
	if s.Xi != nil {
		vector.AddScaled(s.Next, 1, a.noise.U)
	}
	return nil
}

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
			a.eval.Evaluate(a.fc, a.jac, a.t1, next, theta)
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
		if !a.factorize(z, theta) {
			return probode.ErrSingular
		}
		a.residual(a.u, z, a.fc)
		a.lu.Solve(a.u)
	}
}

// localError compares the result of the step with that of the implicit Adams method of
// the next higher order. In the first few steps, it compares the result with that of two
// half steps.
func (a *moulton) localError(dst []float64, s *probode.Step) error {
	i := a.last()
	if i < a.steps {
		if a.steps <= 1 {
			return a.doubled(Moulton{Steps: a.steps, Linearize: a.lin}, dst, s)
		}
		return a.doubled(methods.RungeKutta{}, dst, s)
	}
	if a.steps == 0 {
		a.p.F(a.row(i), s.T, s.X, s.Theta) // backward Euler does not compute it
	}
	if a.higher == nil {
		a.higher = newTable(nil, a.steps+1, true)
	}
	return a.versus(a.higher, dst, i, s)
}

func (a *moulton) implicit(e *probode.ImplicitStep, s *probode.Step) error {
	i := a.step(s.T)
	if a.starting(i) {
		return probode.ErrStarting
	}
	a.set(i, s)
	e.Inv, e.Solved = a.inv, a.lin == Newton
	a.p.F(a.row(i), s.T, s.X, s.Theta)
	copy(a.c, s.X)
	a.predict(i, s)
	e.Forecast = append(e.Forecast[:0], a.c...)
	if err := a.prepare(i, s); err != nil {
		return err
	}
	if a.lin == Current {
		a.remember(i, s.X)
	}
	if e.J == nil {
		e.J = a.p.Field().NewJacobian()
	}
	copy(e.J.A, a.jac.A)
	e.Center = append(e.Center[:0], a.c...)
	e.FCenter = append(e.FCenter[:0], a.fc...)
	e.Known = append(e.Known[:0], a.known...)
	e.Mean = append(e.Mean[:0], s.X...)
	mean := *a.quiet(s)
	mean.Next = e.Mean
	return a.advance(i, &mean)
}

func subtract(dst, z []float64, c float64, u []float64) {
	for k, v := range u[:len(dst)] {
		dst[k] = z[k] - c*v
	}
}

// differentiate uses that, with Current and Predictor, a step solves Γu = w, where
// Γ = inv × I − J, so that du = Γ⁻¹ (dw + dJ u − dinv u).
func (a *moulton) differentiate(dnext []float64, s *probode.Step, tg *probode.Tangents) error {
	w, i := a.differentiator(tg.M, true), a.last()
	a.set(i, s)
	if a.starting(i) {
		if err := a.differentiateStart(dnext, i, s, tg); err != nil || s.Xi == nil {
			return err
		}
		return a.noise.Differentiate(dnext, w.diff, a.inv, a.t1, s, tg)
	}
	if len(a.betaPast) > 0 || a.lin == Predictor {
		a.differentiateSlope(i, s, tg)
	}
	if a.lin == Newton {
		return a.differentiateNewton(dnext, i, s, tg)
	}
	copy(a.c, s.X)
	if a.lin == Predictor {
		a.predict(i, s)
	}
	w.diff.At(a.t1, a.c, s.Theta, nil)
	if !a.lu.Factorize(a.inv, w.diff.Jacobian()) {
		return probode.ErrSingular
	}
	for k := range a.d {
		a.v[k], a.u[k] = 0, s.Next[k]-a.c[k]
		if s.Xi != nil {
			a.v[k] = s.Scale[k] * s.Xi[k]
			a.u[k] += a.v[k]
		}
	}
	for m := range tg.M {
		dtheta, dx, dt, dh := tg.Direction(m)
		to := row(dnext, m, a.d)
		dinv := -a.inv * dh / s.H
		copy(w.v, dx) // the derivative of the centre
		if a.lin == Predictor {
			beta := a.explicit.at(&a.history, i, s.End)
			a.addSlopes(w.v, s.H, beta, i, m)
			a.add(w.v, dh, beta, i)
		}
		w.diff.Along(to, w.v, dtheta, dt+dh)
		w.diff.SecondAlong(w.w, a.u, w.v, dtheta, dt+dh)
		for k := range to {
			to[k] += a.inv*(dx[k]-w.v[k]) + dinv*(s.X[k]-s.Next[k]) + w.w[k]
		}
		a.addSlopes(to, a.invNext, a.betaPast, i, m)
		if clear(w.w); s.Xi != nil {
			tg.AddNoise(w.w, m, s.Xi)
			w.diff.Jacobian().AddMul(to, 1, w.w)
		}
		a.lu.Solve(to)
		vector.AddScaled(to, 1, w.v)
	}
	return nil
}

func (a *moulton) differentiateNewton(dnext []float64, i int, s *probode.Step, tg *probode.Tangents) error {
	w := a.slopes
	clear(dnext[:tg.M*a.d])
	copy(a.fc, s.Next) // the solution is s.Next without noise
	if s.Xi != nil {
		if err := a.noise.Differentiate(dnext, w.diff, a.inv, a.t1, s, tg); err != nil {
			return err
		}
		vector.AddScaled(a.fc, -1, a.noise.U)
	}
	w.diff.At(a.t1, a.fc, s.Theta, nil)
	if !a.lu.Factorize(a.inv, w.diff.Jacobian()) {
		return probode.ErrSingular
	}
	clear(w.u)
	for m := range tg.M {
		dtheta, dx, dt, dh := tg.Direction(m)
		dinv := -a.inv * dh / s.H
		w.diff.Along(w.w, w.u, dtheta, dt+dh)
		for k := range w.w {
			w.w[k] += dinv*(s.X[k]-a.fc[k]) + a.inv*dx[k]
		}
		a.addSlopes(w.w, a.invNext, a.betaPast, i, m)
		a.lu.Solve(w.w)
		vector.AddScaled(row(dnext, m, a.d), 1, w.w)
	}
	return nil
}

type reverseMoulton struct {
	dc    []float64 // gradient with respect to the centre
	slope []float64 // gradient with respect to f at the centre

	// small is the version of reverseOnce with unrolled loops, or nil if there is none for
	// the problem. The unrolled versions of reverseOnce call pull. pull is Problem.Pullback
	// or, if Pullback is nil, a function that returns NaN.
	small smallReverse
	pull  func(dx, dtheta, lambda []float64, t float64, x, theta []float64) float64
}

// A smallReverse is for steps linearised at the current state on a grid that does not
// depend on θ. If it returns false, gradients are unchanged.
type smallReverse func(a *moulton, to *probode.Adjoint, i int, s *probode.Step) bool

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

// reverse uses that, with Current and Predictor, a step solves Γu = w. For the gradient λ
// with respect to u, that with respect to w is μ = Γ⁻ᵀλ, and that with respect to Γ is
// −μuᵀ, which is the gradient of −μᵀΓu.
func (a *moulton) reverse(to *probode.Adjoint, s *probode.Step) error {
	i := a.history.reverse(to)
	if a.transpose == nil {
		a.transpose = newReverseMoulton(a)
	}
	a.set(i, s)
	if a.starting(i) {
		if err := a.reverseStart(to, i, s); err != nil || s.Xi == nil {
			return err
		}
		return a.reverseNoise(to, s)
	}
	var err error
	if a.lin == Newton {
		err = a.reverseNewton(to, i, s)
	} else if small := a.transpose.small; small == nil || to.Moves || !small(a, to, i, s) {
		err = a.reverseOnce(to, i, s)
	}
	if err == nil && (len(a.betaPast) > 0 && !(a.lin == Current && a.currentIsOld) || a.lin == Predictor) {
		a.reverseSlope(to, i, s)
	}
	return err
}

func (a *moulton) reverseNewton(to *probode.Adjoint, i int, s *probode.Step) error {
	mu := a.noise.Mu
	copy(a.c, s.Next) // the solution is s.Next without noise
	if s.Xi != nil {
		if err := a.reverseNoise(to, s); err != nil {
			return err
		}
		vector.AddScaled(a.c, -1, a.noise.U)
	}
	if err := a.noise.Transposed(a.inv, a.t1, a.c, s.Theta, to.Next); err != nil {
		return err
	}
	to.Field(nil, mu, a.t1, 1, a.c, s.Theta)
	vector.AddScaled(to.X, a.inv, mu)
	a.reverseSum(a.invNext, a.betaPast, i, mu)
	for k, v := range mu {
		to.Length -= a.inv / s.H * v * (s.X[k] - a.c[k])
	}
	return nil
}

// reverseNoise goes back through Γ⁻¹Jv at s.X, with scaled normal variates v, and sets
// a.noise.U and a.noise.Mu.
func (a *moulton) reverseNoise(to *probode.Adjoint, s *probode.Step) error {
	if err := a.noise.Reverse(to, a.inv, a.t1, s); err != nil {
		return err
	}
	for k, v := range a.noise.Mu {
		to.Length += a.inv / s.H * v * a.noise.U[k]
	}
	return nil
}

func (a *moulton) reverseOnce(to *probode.Adjoint, i int, s *probode.Step) error {
	b, mu := a.transpose, a.noise.Mu
	copy(a.c, s.X)
	if a.lin == Predictor {
		a.recall(to, i, s.Theta)
		a.predict(i, s)
	}
	if err := a.noise.Transposed(a.inv, a.t1, a.c, s.Theta, to.Next); err != nil {
		return err
	}
	for k, v := range to.Next {
		a.u[k] = s.Next[k] - a.c[k]
		if s.Xi != nil {
			a.u[k] += s.Scale[k] * s.Xi[k]
		}
		b.dc[k] = v - a.inv*mu[k]
		to.Length -= a.inv / s.H * mu[k] * (s.X[k] - s.Next[k])
	}
	a.reverseSum(a.invNext, a.betaPast, i, mu)
	copy(b.slope, mu)
	if a.lin == Current && a.currentIsOld { // Fᵢ is f at the centre
		vector.AddScaled(b.slope, 1, a.backRow(i))
		clear(a.backRow(i))
	}
	to.SecondField(b.dc, b.slope, mu, a.u, a.t1, 1, a.c, s.Theta)
	vector.AddScaled(to.X, a.inv, mu)
	vector.AddScaled(to.X, 1, b.dc)
	if s.Xi != nil {
		a.noise.ReverseNormals(to, s.Xi, s.Scale)
	}
	if a.lin == Predictor {
		a.reverseSum(s.H, a.explicit.at(&a.history, i, s.End), i, b.dc)
		for k, v := range b.dc {
			to.Length += v * (a.c[k] - s.X[k]) / s.H
		}
	}
	return nil
}

func (a *moulton) recall(to *probode.Adjoint, i int, theta []float64) {
	for j := max(0, i-len(a.explicit.uniform)+1); j <= i; j++ {
		a.p.F(a.row(j), to.Times[j], row(to.Path, j, a.d), theta)
	}
}

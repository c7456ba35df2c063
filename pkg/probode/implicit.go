package probode

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
	*Solver
	lin      Linearization
	newton   NewtonSettings
	inv      float64   // (h β₋₁)⁻¹
	invNext  float64   // β₋₁⁻¹
	beta     []float64 // β₀, …, β_{s−1}
	explicit []float64 // Adams–Bashforth coefficients of the predictor

	eval         evaluator
	fc           []float64 // f(t_{i+1}, c)
	jac          *jacobian
	lu           *lu
	known        []float64 // (h β₋₁)⁻¹ Zᵢ + β₋₁⁻¹ Σ_j β_j F_{i−j}, the part of r that does not move with z
	c, u, v      []float64 // centre and updates
	noise        []float64
	currentIsOld bool // f(t_{i+1}, Zᵢ) is Fᵢ: the problem is autonomous

	exact *exactSampler // nil for the Gaussian law
}

func (m AdamsMoulton) stepper(s *Solver) stepper {
	a := &adamsMoulton{Solver: s, lin: m.Linearize, newton: m.Newton,
		eval: newEvaluator(s.p), jac: newJacobian(s.d, s.p.Band),
		currentIsOld: s.p.Autonomous}
	next, beta := AdamsMoultonCoefficients(m.steps())
	a.inv, a.invNext, a.beta = 1/(s.h*next), 1/next, beta
	a.explicit = AdamsBashforthCoefficients(max(1, m.steps()))
	a.lu = newLU(a.jac)
	for _, v := range []*[]float64{&a.fc, &a.known, &a.c, &a.u, &a.v, &a.noise} {
		*v = make([]float64, s.d)
	}
	if a.newton.Tolerance == 0 {
		a.newton.Tolerance = 1e-9
	}
	if a.newton.Max == 0 {
		a.newton.Max = 25
	}
	if m.Exact != nil {
		a.exact = newExactSampler(a, *m.Exact)
	}
	return a
}

func (a *adamsMoulton) step(i int, z, theta, xi []float64) error {
	zi, next := row(z, i, a.d), row(z, i+1, a.d)
	if err := a.prepare(i, zi, theta); err != nil {
		return err
	}
	if a.exact != nil && xi != nil && a.scale > 0 {
		return a.exact.step(i, next, theta, xi)
	}
	return a.advance(i, next, theta, xi)
}

// advance makes the step that was prepared, under the Gaussian law.
func (a *adamsMoulton) advance(i int, next, theta, xi []float64) error {
	if a.lin == Newton {
		return a.solveNewton(i, next, theta, xi)
	}
	c, u := a.c, a.u[:len(a.c)]
	if a.lin == Current {
		// −r(Zᵢ) is w = f(Zᵢ) + β₋₁⁻¹ Σ_j β_j F_{i−j}: the terms z/h cancel.
		copy(u, a.fc)
		a.past.addPast(u, a.invNext, a.beta, i)
	} else {
		a.residual(u, c, a.fc)
		for k, r := range u {
			u[k] = -r
		}
	}
	if xi != nil {
		a.jac.addMul(u, a.scale, xi)
	}
	a.lu.solve(u)
	for k, v := range u {
		next[k] = c[k] + v
	}
	return nil
}

// prepare finds the centre c, f and J there, the factors of Γ and, unless it
// drops out, the part of r that is known.
func (a *adamsMoulton) prepare(i int, zi, theta []float64) error {
	t1 := a.t[i+1]
	fi := a.past.row(i)
	copy(a.c, zi)
	if a.lin == Predictor {
		a.p.F(fi, a.t[i], zi, theta)
		a.past.addPast(a.c, a.h, a.explicit, i)
		a.eval.fj(a.fc, a.jac, t1, a.c, theta)
	} else {
		a.eval.fj(a.fc, a.jac, t1, a.c, theta)
		if len(a.beta) > 0 {
			if a.currentIsOld {
				copy(fi, a.fc)
			} else {
				a.p.F(fi, a.t[i], zi, theta)
			}
		}
	}
	if a.lin != Current {
		a.remember(i, zi)
	}
	if !a.lu.factorize(a.inv, a.jac) {
		return ErrSingular
	}
	return nil
}

// remember sets the part of r that does not move with z.
func (a *adamsMoulton) remember(i int, zi []float64) {
	for k, v := range zi {
		a.known[k] = a.inv * v
	}
	a.past.addPast(a.known, a.invNext, a.beta, i)
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
func (a *adamsMoulton) solveNewton(i int, next, theta, xi []float64) error {
	if xi != nil {
		clear(a.noise)
		a.jac.addMul(a.noise, a.scale, xi)
		a.lu.solve(a.noise)
	}
	if err := a.iterate(i, next, theta); err != nil {
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
func (a *adamsMoulton) iterate(i int, next, theta []float64) error {
	z := a.c // the iterate; next is the trial
	start := maxAbs(z)
	a.residual(a.u, z, a.fc)
	a.lu.solve(a.u)
	lambda := 1.
	for n := 0; ; n++ {
		size := maxAbs(a.u)
		if size-size != 0 || n == a.newton.Max {
			return ErrNewton
		}
		small := a.newton.Tolerance * max(start, maxAbs(z))
		if size <= small {
			subtract(next, z, 1, a.u)
			return nil
		}
		// From here on jac and fc belong to the trial, lu still to z.
		var left float64
		for lambda = min(1, 4*lambda); ; lambda /= 2 {
			subtract(next, z, lambda, a.u)
			a.eval.fj(a.fc, a.jac, a.t[i+1], next, theta)
			a.residual(a.v, next, a.fc)
			a.lu.solve(a.v)
			if left = maxAbs(a.v); left <= (1-lambda/4)*size {
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
		if !a.lu.factorize(a.inv, a.jac) {
			return ErrSingular
		}
		a.residual(a.u, z, a.fc)
		a.lu.solve(a.u)
	}
}

// subtract sets dst to z − c·u.
func subtract(dst, z []float64, c float64, u []float64) {
	for k, v := range u[:len(dst)] {
		dst[k] = z[k] - c*v
	}
}

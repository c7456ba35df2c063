package probode

// The derivatives of the steps of the Adams methods. Beside those of f, the
// mean of a semi-implicit step and the noise of an implicit one take the
// derivative of the Jacobian, as J itself is a part of the step.

// slopes holds the derivatives of the past values of f: row i mod 8 that of
// F_i, M×d.
type slopes struct {
	diff    *Differentiator
	df      [8][]float64
	v, u, w []float64
}

// differentiator prepares for M directions.
func (m *past) differentiator(count int, jacobian bool) *slopes {
	if m.slopes == nil {
		m.slopes = &slopes{diff: NewDifferentiator(m.p, jacobian), v: make([]float64, m.d), u: make([]float64, m.d), w: make([]float64, m.d)}
	}
	if len(m.slopes.df[0]) != count*m.d {
		for k := range m.slopes.df {
			m.slopes.df[k] = make([]float64, count*m.d)
		}
	}
	return m.slopes
}

// differentiateStart follows a starting step.
func (m *past) differentiateStart(dnext []float64, i int, x, next, theta []float64, tg *Tangents) error {
	s := m.slopes
	err := m.start.Differentiate(dnext, i, x, next, theta, nil, nil, tg)
	copy(s.df[i&7], m.start.dk[0])
	return err
}

// differentiateSlope sets the derivatives of F_i.
func (m *past) differentiateSlope(i int, x, theta []float64, tg *Tangents) {
	s := m.slopes
	s.diff.At(m.g.t[i], x, theta, m.row(i))
	for k := range tg.M {
		dtheta, dx, dt, _ := tg.Direction(k)
		s.diff.Along(row(s.df[i&7], k, m.d), dx, dtheta, dt)
	}
}

// addSlopes adds c Σ_j β_j dF_{i−j} for direction k to dst.
func (m *past) addSlopes(dst []float64, c float64, beta []float64, i, k int) {
	for j, b := range beta {
		addScaled(dst, b*c, row(m.slopes.df[(i-j)&7], k, m.d))
	}
}

func (a *adamsBashforth) Differentiate(dnext []float64, i int, x, next, theta, xi, _ []float64, tg *Tangents) error {
	a.differentiator(tg.M, false)
	if a.starting(i) {
		if err := a.differentiateStart(dnext, i, x, next, theta, tg); err != nil {
			return err
		}
		if a.quiet() {
			return nil
		}
	} else {
		a.differentiateSlope(i, x, theta, tg)
		h, beta := a.g.H(i), a.beta.at(i)
		for m := range tg.M {
			_, dx, _, dh := tg.Direction(m)
			to := row(dnext, m, a.d)
			copy(to, dx)
			a.addSlopes(to, h, beta, i, m)
			a.add(to, dh, beta, i)
		}
	}
	for m := range tg.M {
		tg.AddNoise(row(dnext, m, a.d), m, xi)
	}
	return nil
}

// Differentiate differentiates the equation of the step: with Γ = inv·I − J the
// derivative of whatever solves Γ·u = w is Γ⁻¹ (dw + dJ·u − dinv·u).
func (a *adamsMoulton) Differentiate(dnext []float64, i int, x, next, theta, xi, scale []float64, tg *Tangents) error {
	s := a.differentiator(tg.M, true)
	a.set(i)
	if a.starting(i) {
		err := a.differentiateStart(dnext, i, x, next, theta, tg)
		if err != nil || a.quiet() || xi == nil {
			return err
		}
		copy(a.c, x)
		return a.differentiateNoise(dnext, i, theta, xi, scale, tg)
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
		return ErrSingular
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
		addScaled(to, 1, s.v)
	}
	return nil
}

// differentiateNoise adds the derivative of Γ⁻¹Jv, v the scaled normals and Γ
// and J taken at x, to dnext.
func (a *adamsMoulton) differentiateNoise(dnext []float64, i int, theta, xi, scale []float64, tg *Tangents) error {
	s := a.slopes
	s.diff.At(a.t1, a.c, theta, nil)
	jac := s.diff.Jacobian()
	if !a.lu.Factorize(a.inv, jac) {
		return ErrSingular
	}
	clear(a.noise)
	for k := range a.v {
		a.v[k] = scale[k] * xi[k]
	}
	jac.AddMul(a.noise, 1, a.v)
	a.lu.Solve(a.noise)
	addScaled(a.v, 1, a.noise)
	for m := range tg.M {
		dtheta, dx, dt, dh := tg.Direction(m)
		dinv := -a.inv * dh / a.g.H(i)
		s.diff.SecondAlong(s.w, a.v, dx, dtheta, dt+dh)
		addScaled(s.w, -dinv, a.noise)
		clear(s.u)
		tg.AddNoise(s.u, m, xi)
		jac.AddMul(s.w, 1, s.u)
		a.lu.Solve(s.w)
		addScaled(row(dnext, m, a.d), 1, s.w)
	}
	return nil
}

// differentiateNewton differentiates r(z) = 0 at its solution, and the noise.
func (a *adamsMoulton) differentiateNewton(dnext []float64, i int, x, next, theta, xi, scale []float64, tg *Tangents) error {
	s := a.slopes
	clear(dnext[:tg.M*a.d])
	copy(a.fc, next) // the solution is next without noise
	if xi != nil {
		if err := a.differentiateNoise(dnext, i, theta, xi, scale, tg); err != nil {
			return err
		}
		addScaled(a.fc, -1, a.noise)
	}
	s.diff.At(a.t1, a.fc, theta, nil)
	if !a.lu.Factorize(a.inv, s.diff.Jacobian()) {
		return ErrSingular
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
		addScaled(row(dnext, m, a.d), 1, s.w)
	}
	return nil
}

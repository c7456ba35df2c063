package probode

// A stepper advances one path by one step: it reads rows ≤ i of z, writes row
// i+1, and keeps what it needs of the past itself. xi is row i of ξ, nil for
// the classical method.
type stepper interface {
	step(i int, z, theta, xi []float64) error
}

// past is the memory F₀, F₁, … of a multistep method, one row a step.
type past struct {
	f []float64
	d int
}

func (p past) row(i int) []float64 { return p.f[i*p.d : (i+1)*p.d] }

// addPast adds c Σ_j β_j F_{i−j} to dst.
func (p past) addPast(dst []float64, c float64, beta []float64, i int) {
	for j, b := range beta {
		b *= c
		for k, v := range p.row(i - j)[:len(dst)] {
			dst[k] += b * v
		}
	}
}

// adamsBashforth is the explicit step.
type adamsBashforth struct {
	*Solver
	beta []float64
}

func (m AdamsBashforth) stepper(s *Solver) stepper {
	return &adamsBashforth{Solver: s, beta: AdamsBashforthCoefficients(m.steps())}
}

func (a *adamsBashforth) step(i int, z, theta, xi []float64) error {
	zi, next := row(z, i, a.d), row(z, i+1, a.d)
	a.p.F(a.past.row(i), a.t[i], zi, theta)
	copy(next, zi)
	a.past.addPast(next, a.h, a.beta, i)
	for k, x := range xi {
		next[k] += a.scale * x
	}
	return nil
}

// rungeKutta is the explicit one-step method. It also takes the first steps
// of the multistep methods, which find f at the start of the step in k[0].
type rungeKutta struct {
	*Solver
	tab   *Tableau
	k     [][]float64
	stage []float64
}

func (m RungeKutta) stepper(s *Solver) stepper { return newRungeKutta(s, m.tableau()) }

func newRungeKutta(s *Solver, tab *Tableau) *rungeKutta {
	r := &rungeKutta{Solver: s, tab: tab, stage: make([]float64, s.d)}
	for range tab.B {
		r.k = append(r.k, make([]float64, s.d))
	}
	return r
}

func (r *rungeKutta) step(i int, z, theta, xi []float64) error {
	zi, next := row(z, i, r.d), row(z, i+1, r.d)
	for l, a := range r.tab.A {
		copy(r.stage, zi)
		for m, c := range a {
			addScaled(r.stage, r.h*c, r.k[m])
		}
		r.p.F(r.k[l], r.t[i]+r.tab.C[l]*r.h, r.stage, theta)
	}
	copy(next, zi)
	for l, b := range r.tab.B {
		addScaled(next, r.h*b, r.k[l])
	}
	for k, x := range xi {
		next[k] += r.scale * x
	}
	return nil
}

func addScaled(dst []float64, c float64, x []float64) {
	if c == 0 {
		return
	}
	for k, v := range x[:len(dst)] {
		dst[k] += c * v
	}
}

func row(z []float64, i, d int) []float64 { return z[i*d : (i+1)*d : (i+1)*d] }

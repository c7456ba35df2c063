package probode

import "math"

// Runs of explicit steps on uniform grids, for any dimension: the coefficients
// are multiplied by h once, and a state is summed up component by component,
// in the order of the single steps, so that paths have the same bits.

// Runs is true on uniform grids.
func (a *adamsBashforth) Runs() bool { return a.g.h > 0 }

// Run makes steps of one segment.
func (a *adamsBashforth) Run(z []float64, from, to int, theta, xi, scale []float64) (int, error) {
	d, f, t := a.d, a.p.F, a.g.t
	var b [5]float64
	beta := a.beta.at(from)
	for j, v := range beta {
		b[j] = v * a.g.h
	}
	for i := from; i < to; i++ {
		x, next := row(z, i, d), row(z, i+1, d)
		normals := part(xi, i, d)
		if a.starting(i) {
			if err := a.Step(next, i, x, theta, normals, scale); err != nil {
				return i, err
			}
		} else {
			now := a.row(i)
			f(now, t[i], x, theta)
			for k, v := range now[:len(next)] {
				next[k] = x[k] + b[0]*v
			}
			for j := 1; j < len(beta); j++ {
				c := b[j]
				for k, v := range a.row(i - j)[:len(next)] {
					next[k] += c * v
				}
			}
			for k, v := range normals {
				next[k] += scale[k] * v
			}
		}
		a.last = i
		for _, v := range next {
			if !(math.Abs(v) < tooLarge) {
				return i, ErrDiverged
			}
		}
	}
	return to, nil
}

// A term is a share of one of the slopes of a Runge–Kutta step.
type term struct {
	slope int
	c     float64 // times h
}

// terms returns what of the coefficients is not zero.
func terms(a []float64, h float64) (list []term) {
	for m, c := range a {
		if c != 0 {
			list = append(list, term{m, h * c})
		}
	}
	return list
}

// Runs is true on uniform grids.
func (r *rungeKutta) Runs() bool { return r.g.h > 0 }

// Run makes steps of one segment.
func (r *rungeKutta) Run(z []float64, from, to int, theta, xi, scale []float64) (int, error) {
	d, f, h := len(r.stage), r.p.F, r.g.h
	if r.terms == nil {
		for _, a := range r.tab.A {
			r.terms = append(r.terms, terms(a, h))
		}
		r.terms = append(r.terms, terms(r.tab.B, h))
	}
	stages := r.terms[:len(r.k)]
	stage := r.stage
	for i := from; i < to; i++ {
		x, next, t := row(z, i, d), row(z, i+1, d), r.g.t[i]
		for l, list := range stages {
			r.sum(stage, x, list)
			f(r.k[l], t+r.tab.C[l]*h, stage, theta)
		}
		r.sum(next, x, r.terms[len(stages)])
		if xi != nil {
			for k, v := range row(xi, i, d)[:len(next)] {
				next[k] += scale[k] * v
			}
		}
		for _, v := range next {
			if !(math.Abs(v) < tooLarge) {
				return i, ErrDiverged
			}
		}
	}
	return to, nil
}

// sum sets dst to x and the terms.
func (r *rungeKutta) sum(dst, x []float64, list []term) {
	switch len(list) {
	case 0:
		copy(dst, x)
		return
	case 1:
		c, slope := list[0].c, r.k[list[0].slope][:len(dst)]
		for k, v := range x[:len(dst)] {
			dst[k] = v + c*slope[k]
		}
		return
	}
	for k, v := range x[:len(dst)] {
		for _, e := range list {
			v += e.c * r.k[e.slope][k]
		}
		dst[k] = v
	}
}

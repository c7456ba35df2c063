package bayes

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/optimize"
)

// A climb is a search under way.
type climb struct {
	u       []float64
	f       float64 // log density
	damping float64
	metric  *mat.SymDense // Fisher's information here, with that of the prior
	gain    float64       // that the last step promised
	done    bool
	found   int   // searches that have come here
	from    []int // of ModeSearch.From
}

// absorb counts what came to o for c.
func (c *climb) absorb(o *climb) {
	c.found += o.found
	c.from = append(c.from, o.from...)
}

// distance returns √((a−b)ᵀ M (a−b)).
func distance(a, b []float64, m mat.Symmetric) float64 {
	diff := mat.NewVecDense(len(a), nil)
	for k := range a {
		diff.SetVec(k, a[k]-b[k])
	}
	return math.Sqrt(max(0, mat.Inner(diff, m, diff)))
}

// step makes a step of Fisher scoring, as far uphill as it gets. Where differences
// cannot be taken at the beginning a simplex looks for a place where they can.
func (c *climb) step(s *scoring, first bool) {
	if !s.expand(c.u) {
		if !first {
			c.done = true
			return
		}
		c.simplex(s)
		if !s.expand(c.u) {
			c.done = true
			return
		}
	}
	n := len(c.u)
	if c.metric == nil {
		c.metric = mat.NewSymDense(n, nil)
	}
	c.metric.CopySym(s.precision)
	gradient := mat.VecDenseCopyOf(s.gradient)
	damped := mat.NewSymDense(n, nil)
	step := mat.NewVecDense(n, nil)
	trial := make([]float64, n)
	for range 12 {
		damped.CopySym(c.metric)
		for k := range n {
			v := c.metric.At(k, k)
			damped.SetSym(k, k, v+c.damping*max(v, 1e-2)+1e-12)
		}
		var chol mat.Cholesky
		if !chol.Factorize(damped) || chol.SolveVecTo(step, gradient) != nil {
			c.damping = max(1e-3, 8*c.damping)
			continue
		}
		c.gain = mat.Dot(step, gradient)
		for k := range trial {
			trial[k] = c.u[k] + step.AtVec(k)
		}
		f := s.density(trial)
		if f > c.f {
			rose := f - c.f
			copy(c.u, trial)
			c.f = f
			if rose > 0.25*c.gain {
				c.damping /= 8
			} else {
				c.damping = max(1e-3, 2*c.damping)
			}
			if c.gain < 1e-7 || c.damping == 0 && rose < 1e-8 {
				c.done = true
			}
			return
		}
		if c.gain < 1e-6 {
			break
		}
		c.damping = max(1e-3, 8*c.damping)
	}
	c.done = true // as good as rounding and differences allow
}

// simplex goes uphill by the method of Nelder and Mead.
func (c *climb) simplex(s *scoring) {
	problem := optimize.Problem{Func: func(u []float64) float64 {
		if f := s.density(u); !math.IsInf(f, 0) {
			return -f
		}
		return 1e300
	}}
	n := len(c.u)
	r, _ := optimize.Minimize(problem, slices.Clone(c.u), &optimize.Settings{FuncEvaluations: 60 * (n + 1),
		Converger: &optimize.FunctionConverge{Absolute: 1e-3, Iterations: 20 * n}}, &optimize.NelderMead{})
	if r != nil && -r.F > c.f {
		copy(c.u, r.X)
		c.f = -r.F
	}
}

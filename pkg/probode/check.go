package probode

import (
	"fmt"
	"math"

	"github.com/probode/probode/pkg/internal/memory"
	"github.com/probode/probode/pkg/probode/internal/vector"
)

// The fields of a Problem must be consistent. FJ must return the Jacobian of F, and
// Pullback must agree with this Jacobian. The Jacobian must have no nonzero entry outside
// Band. If Autonomous is set, f must not depend on t. In every component that Noiseless
// lists, f must be 0. F must set every element of dst. Unless the problem is Symbolic, a
// Solver checks the fields at the initial state, and at a few points of the first path.
// Later paths are not checked.

// fits returns an error if a path does not fit in memory.
func fits(p *Problem, g *Grid, n Noise) error {
	d := p.Dim()
	if err := memory.Check(fmt.Sprintf("a path of %d steps in %d dimensions", g.Steps(), d), g.Steps()+1, d+n.Normals); err != nil {
		return fmt.Errorf("%s: %w", p.Title(), err)
	}
	return nil
}

// checkStart checks whether the fields of the problem p are consistent at the start of
// its span.
func checkStart(p *Problem) (err error) {
	x0 := make([]float64, p.Dim())
	t := p.Span[0]
	defer p.recovered(&err, &t, x0, p.Theta)
	p.Initial(x0, p.Theta)
	if !sane(x0) {
		return nil // a solve reports it, at the parameters in use
	}
	t = beside(p, t, p.Theta)
	return checkAt(p, t, x0, p.Theta)
}

// beside returns the smallest floating-point number ≥ t at which there is no event.
func beside(p *Problem, t float64, theta []float64) float64 {
	for k := 0; k < len(p.Events); k++ {
		if p.Events[k].at(theta) == t {
			t, k = math.Nextafter(t, math.Inf(1)), -1
		}
	}
	return t
}

// checkAt checks whether the fields of the problem p are consistent at (t, x, θ).
func checkAt(p *Problem, t float64, x, theta []float64) error {
	if p.Symbolic {
		return nil
	}
	f, again := make([]float64, p.Dim()), make([]float64, p.Dim())
	p.F(f, t, x, theta)
	for i := range again {
		again[i] = 1 + math.Abs(f[i])
	}
	p.F(again, t, x, theta)
	for i, v := range f {
		if v != again[i] && v == v {
			return fmt.Errorf("%s: F does not set dst[%d], adds to its old value, or is not deterministic: two calls at t = %g give %g and %g; F must set every element", p.Title(), i, t, v, again[i])
		}
	}
	for _, k := range p.Noiseless {
		if f[k] != 0 {
			return fmt.Errorf("%s: Noiseless contains %d, but f[%d] is %g at t = %g: want 0", p.Title(), k, k, f[k], t)
		}
	}
	if p.Autonomous {
		later := p.Span[0] + 0.381966*(p.Span[1]-p.Span[0])
		if later == t {
			later = p.Span[1]
		}
		later = beside(p, later, theta)
		p.F(again, later, x, theta)
		for i, v := range f {
			if v != again[i] && v == v && again[i] == again[i] {
				return fmt.Errorf("%s: Autonomous is set, but f depends on t: f[%d] is %g at t = %g and %g at t = %g", p.Title(), i, v, t, again[i], later)
			}
		}
	}
	if !vector.Finite(f) {
		return nil // a step from here fails and reports it
	}
	if err := p.Field().Check(t, x, theta, p.ParamName); err != nil {
		return fmt.Errorf("%s: %w", p.Title(), err)
	}
	return nil
}

// sane reports whether all elements of x are finite and not too large.
func sane(x []float64) bool {
	for _, v := range x {
		if !(math.Abs(v) < TooLarge) {
			return false
		}
	}
	return true
}

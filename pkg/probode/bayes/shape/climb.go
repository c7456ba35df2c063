package shape

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/optimize"
)

// A Climb maximises a Function by Fisher scoring with Levenberg–Marquardt damping. It
// computes derivatives at the beginning, and again when the density rises much less in a
// step than they predict. After all other steps it only corrects them.
//
// If the log density has kinks, a step leads to the maximum of an expansion that
// contains the kinks. Modes usually lie at kinks, as a median lies at a data point. The
// gradient is not zero there, but the expansion predicts no further rise at a mode.
type Climb struct {
	Point

	Low, High []float64 // bounds of the coordinates, ±∞ for none; nil if there are none at all
	Normal    []float64 // unit normal of the plane in which the climb stays; nil for none

	// Tolerance is the predicted rise at or below which the climb ends. Zero means 10⁻³,
	// and in that case the climb ends only at a point where the derivatives have just
	// been computed.
	Tolerance float64

	Known  bool // the expansion is valid at X
	Done   bool
	Failed bool    // the derivatives could not be computed
	Gain   float64 // twice the rise that was predicted for the last step
	Steps  int

	fresh   bool // the derivatives were computed at X
	damping float64
}

// expand computes the derivatives at X. If that is impossible at the beginning of a
// climb, a simplex search looks for a point at which it is possible.
func (c *Climb) expand(f Function, first bool) bool {
	ok := f.Expand(&c.Point)
	if !ok && first {
		c.simplex(f)
		ok = f.Expand(&c.Point)
	}
	c.Known, c.fresh = ok, ok
	if !ok {
		c.Done, c.Failed = true, true
	}
	return ok
}

// Newton returns the step to the maximum of the damped expansion and twice the rise
// that the expansion predicts, and reports whether there is such a step.
func (c *Climb) Newton(damping float64) (step *mat.VecDense, gain float64, ok bool) {
	n := len(c.X)
	if c.U != nil {
		p := &c.Point
		if c.Normal != nil {
			p = p.within(c.Normal)
		}
		d, gain, ok := p.bentStep(max(damping, slack), c.Low, c.High)
		return mat.NewVecDense(n, d), 2 * gain, ok
	}
	damped := mat.NewSymDense(n, nil)
	damped.CopySym(c.Information)
	for k := range n {
		v := c.Information.At(k, k)
		damped.SetSym(k, k, v+damping*max(v, 1e-2)+1e-12)
	}
	gradient := mat.VecDenseCopyOf(c.Gradient)
	if c.Normal != nil {
		normal := mat.NewVecDense(n, c.Normal)
		gradient.AddScaledVec(gradient, -mat.Dot(normal, c.Gradient), normal)
		damped.SymRankOne(damped, 1e4*mat.Trace(damped), normal)
	}
	// A coordinate at a bound does not move if the density rises beyond the bound
	// [Bertsekas 1982].
	for k := range c.Low {
		if g := gradient.AtVec(k); c.X[k] <= c.Low[k] && g < 0 || c.X[k] >= c.High[k] && g > 0 {
			for i := range n {
				damped.SetSym(i, k, 0)
			}
			damped.SetSym(k, k, 1)
			gradient.SetVec(k, 0)
		}
	}
	step = mat.NewVecDense(n, nil)
	var chol mat.Cholesky
	if !chol.Factorize(damped) || chol.SolveVecTo(step, gradient) != nil {
		return step, 0, false
	}
	return step, mat.Dot(step, c.Gradient), true
}

// Step makes one step uphill. The first step of a climb may begin with a simplex
// search.
func (c *Climb) Step(f Function, first bool) {
	if !c.Known && !c.expand(f, first) {
		return
	}
	tolerance := c.Tolerance
	if tolerance == 0 {
		tolerance = 1e-3
	}
	c.Steps++
	trial := make([]float64, len(c.X))
	rejected := false
	for range 12 {
		var step *mat.VecDense
		var ok bool
		if step, c.Gain, ok = c.Newton(c.damping); !ok {
			c.damping = max(1e-3, 8*c.damping)
			continue
		}
		if c.Gain < tolerance && c.damping < 0.1 {
			if c.fresh || c.Tolerance > 0 {
				c.Done = true
				return
			}
			if !c.expand(f, false) {
				return
			}
			continue
		}
		for k := range trial {
			trial[k] = c.X[k] + step.AtVec(k)
			if c.Normal == nil {
				trial[k] = c.clipped(k, trial[k], c.Low, c.High)
			}
		}
		if value := f.Value(trial); value > c.Value {
			c.move(f, trial, value, rejected)
			return
		}
		if !c.fresh {
			// The derivatives may be out of date.
			if !c.expand(f, false) {
				return
			}
			continue
		}
		if c.Gain < 1e-6 {
			break
		}
		c.damping = max(1e-3, 8*c.damping)
		rejected = true
	}
	c.Done = true // rounding and differences allow no higher point
}

// move moves to a higher point, at which f was last evaluated. rejected says that a
// longer step failed before.
func (c *Climb) move(f Function, to []float64, value float64, rejected bool) {
	rose := value - c.Value
	before := slices.Clone(c.X)
	copy(c.X, to)
	c.Value = value
	// Derivatives that predicted a much larger rise are no longer valid.
	c.Known = (c.fresh || rose >= 0.1*c.Gain) && f.Follow(&c.Point, before)
	switch {
	case !(rose > 0.25*c.Gain):
		c.damping = max(1e-3, 2*c.damping)
	case !rejected: // if a smaller damping has just failed, keep this one
		c.damping /= 8
	}
	c.fresh = false
}

// Polish climbs to the maximum with new derivatives at every step.
func (c *Climb) Polish(f Function) {
	trial := make([]float64, len(c.X))
	for round := 0; round < 4 || c.U != nil && round < 40; round++ {
		if !c.expand(f, false) {
			return
		}
		c.damping = 0
		step, gain, ok := c.Newton(0)
		if !ok || gain < 1e-7 {
			return
		}
		up := false
		for t := 1.0; t > 1e-3 && !up; t /= 4 {
			for k := range trial {
				trial[k] = c.X[k] + t*step.AtVec(k)
			}
			if value := f.Value(trial); value > c.Value {
				up = true
				copy(c.X, trial)
				c.Value = value
			}
		}
		if !up {
			return
		}
	}
}

// simplex climbs by the method of Nelder and Mead.
func (c *Climb) simplex(f Function) {
	problem := optimize.Problem{Func: func(x []float64) float64 {
		if value := f.Value(x); !math.IsInf(value, 0) {
			return -value
		}
		return 1e300
	}}
	n := len(c.X)
	r, _ := optimize.Minimize(problem, slices.Clone(c.X), &optimize.Settings{FuncEvaluations: 20 * (n + 1),
		Converger: &optimize.FunctionConverge{Absolute: 1e-3, Iterations: 20 * n}}, &optimize.NelderMead{})
	if r != nil && -r.F > c.Value {
		copy(c.X, r.X)
		c.Value = -r.F
	}
}

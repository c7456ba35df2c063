package bayes

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/optimize"

	"github.com/probode/probode/pkg/probode/internal/kinks"
)

// A climb is a search under way: Fisher's scoring with the damping of Levenberg and
// Marquardt. Derivatives are taken where it begins, and again where a step has not
// done what they had promised; in between they are corrected by the steps.
type climb struct {
	u         []float64
	f         float64 // log density
	s         *scoring
	kinks     *kinks.Search // in the place of the scoring's steps, where the density has kinks
	known     bool          // the expansion is that of u
	fresh     bool          // and its derivatives were taken at u
	damping   float64
	metric    *mat.SymDense // Fisher's information here, with that of the prior
	gain      float64       // that the last step promised
	tolerance float64       // of the gain, at which it ends; zero for 1e-3
	done      bool
	failed    bool      // differences could not be taken
	normal    []float64 // of the plane that it keeps to, of length 1; nil for none
	steps     int
	tested    int   // paths to ends that have been looked at
	found     int   // searches that have come here
	from      []int // of ModeSearch.From
	scanned   bool  // along the coordinates
	apart     bool  // it has been parted from all others that are
}

// scoring returns that of c, which from now on works with e.
func (c *climb) scoring(e *Density, blocks []block) *scoring {
	if c.s == nil {
		c.s = newScoring(e, blocks)
		c.s.forward, c.s.draws = true, 48
	}
	c.s.e = e
	return c.s
}

// absorb counts what came to o for c.
func (c *climb) absorb(o *climb) {
	c.found += o.found
	c.from = append(c.from, o.from...)
	o.s, o.metric, o.kinks = nil, nil, nil
}

// distance returns √((a−b)ᵀ M (a−b)).
func distance(a, b []float64, m mat.Symmetric) float64 {
	diff := mat.NewVecDense(len(a), nil)
	for k := range a {
		diff.SetVec(k, a[k]-b[k])
	}
	return math.Sqrt(max(0, mat.Inner(diff, m, diff)))
}

// expand takes the derivatives at c. Where that cannot be done at the beginning a
// simplex looks for a place where it can.
func (c *climb) expand(first bool) bool {
	ok := c.s.expand(c.u)
	if !ok && first {
		c.simplex(c.s)
		ok = c.s.expand(c.u)
	}
	if !ok {
		c.done, c.failed = true, true
		return false
	}
	c.known, c.fresh = true, true
	c.remember()
	if c.kinks = nil; c.s.point != nil {
		c.kinks = kinks.NewSearch(c.u, -c.f, slope{c.s, c.normal}.point())
	}
	return true
}

// remember keeps the metric.
func (c *climb) remember() {
	if c.metric == nil {
		c.metric = mat.NewSymDense(len(c.u), nil)
	}
	c.metric.CopySym(c.s.precision)
}

// hopeless reports whether a search is so far below the highest, and so slow, that it
// would take very many steps more to come to where an end counts: a hundred of a long
// search, and of a shorter one more.
func (c *climb) hopeless(highest float64) bool {
	if len(c.from) > 0 {
		return false
	}
	share := 0.01
	switch {
	case c.steps < 4:
		return false
	case c.steps < 8:
		share = 0.001
	case c.steps < 15:
		share = 0.003
	}
	return c.gain < share*(highest-lowest-c.f)
}

// newton writes the step that the expansion wants with the given damping.
func (c *climb) newton(step *mat.VecDense, damping float64) bool {
	if c.kinks != nil {
		to, ok := c.kinks.Model().Minimise()
		for k, v := range to.D {
			step.SetVec(k, v)
		}
		return ok
	}
	n := len(c.u)
	damped := mat.NewSymDense(n, nil)
	damped.CopySym(c.metric)
	for k := range n {
		v := c.metric.At(k, k)
		damped.SetSym(k, k, v+damping*max(v, 1e-2)+1e-12)
	}
	gradient := mat.VecDenseCopyOf(c.s.gradient)
	if c.normal != nil {
		normal := mat.NewVecDense(n, c.normal)
		gradient.AddScaledVec(gradient, -mat.Dot(normal, c.s.gradient), normal)
		damped.SymRankOne(damped, 1e4*mat.Trace(damped), normal)
	}
	// A coordinate that is at a wall, and uphill is beyond, stays [Bertsekas 1982].
	for k, u := range c.u {
		if g := gradient.AtVec(k); u <= c.s.low[k] && g < 0 || u >= c.s.high[k] && g > 0 {
			for i := range n {
				damped.SetSym(i, k, 0)
			}
			damped.SetSym(k, k, 1)
			gradient.SetVec(k, 0)
		}
	}
	var chol mat.Cholesky
	return chol.Factorize(damped) && chol.SolveVecTo(step, gradient) == nil
}

// step makes a step, as far uphill as it gets. The first one of a search may begin
// with a simplex.
func (c *climb) step(e *Density, first bool) {
	s := c.scoring(e, nil)
	if !c.known && !c.expand(first) {
		return
	}
	tolerance := c.tolerance
	if tolerance == 0 {
		tolerance = 1e-3
	}
	c.steps++
	if c.kinks != nil {
		c.descend(tolerance)
		return
	}
	step := mat.NewVecDense(len(c.u), nil)
	trial := make([]float64, len(c.u))
	rejected := false
	for range 12 {
		if !c.newton(step, c.damping) {
			c.damping = max(1e-3, 8*c.damping)
			continue
		}
		c.gain = mat.Dot(step, s.gradient)
		if c.gain < tolerance && c.damping < 0.1 {
			if c.fresh || c.tolerance > 0 {
				c.done = true
				return
			}
			if !c.expand(false) {
				return
			}
			continue
		}
		for k := range trial {
			trial[k] = c.u[k] + step.AtVec(k)
			if c.normal == nil {
				trial[k] = min(max(trial[k], min(s.low[k], c.u[k])), max(s.high[k], c.u[k]))
			}
		}
		f := s.density(trial)
		if f > c.f {
			rose := f - c.f
			c.known = s.follow(c.u, trial)
			copy(c.u, trial)
			c.f = f
			switch {
			case !(rose > 0.25*c.gain):
				c.damping = max(1e-3, 2*c.damping)
			case !rejected: // what has just been too little stays
				c.damping /= 8
			}
			if rose < 0.1*c.gain && !c.fresh {
				c.known = false
			}
			c.fresh = false
			if c.known {
				c.remember()
			}
			return
		}
		if !c.fresh {
			// It may be the derivatives.
			if !c.expand(false) {
				return
			}
			continue
		}
		if c.gain < 1e-6 {
			break
		}
		c.damping = max(1e-3, 8*c.damping)
		rejected = true
	}
	c.done = true // as good as rounding and differences allow
}

// polish goes on to the top, with central differences at every step.
func (c *climb) polish(e *Density) {
	s := c.scoring(e, nil)
	s.forward, s.draws = false, 256
	step := mat.NewVecDense(len(c.u), nil)
	trial, was := make([]float64, len(c.u)), slices.Clone(c.u)
	defer func() { c.apart = c.apart && c.metric != nil && distance(was, c.u, c.metric) < together }()
	for range 4 {
		if !c.expand(false) {
			return
		}
		if c.kinks != nil {
			for range 40 {
				if c.descend(1e-7); c.done {
					return
				}
			}
			return
		}
		c.damping = 0
		if !c.newton(step, 0) || mat.Dot(step, s.gradient) < 1e-7 {
			return
		}
		up := false
		for t := 1.0; t > 1e-3 && !up; t /= 4 {
			for k := range trial {
				trial[k] = c.u[k] + t*step.AtVec(k)
			}
			if f := s.density(trial); f > c.f {
				up = true
				copy(c.u, trial)
				c.f = f
			}
		}
		if !up {
			return
		}
	}
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
	r, _ := optimize.Minimize(problem, slices.Clone(c.u), &optimize.Settings{FuncEvaluations: 20 * (n + 1),
		Converger: &optimize.FunctionConverge{Absolute: 1e-3, Iterations: 20 * n}}, &optimize.NelderMead{})
	if r != nil && -r.F > c.f {
		copy(c.u, r.X)
		c.f = -r.F
	}
}

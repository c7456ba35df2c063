package kinks

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"
)

// A Point is a function with kinks near x, to first order with what is known
// beforehand of its second,
//
//	f(x+d) ≈ F + Gradient·d + ½ dᵀ Curvature d + Σᵢ (|U[i] + J[i]·d| − |U[i]|).
type Point struct {
	Gradient  []float64
	Curvature *mat.SymDense // positive semidefinite
	Metric    *mat.SymDense // the lengths of steps: Fisher's information, kinks included
	U         []float64
	J         [][]float64

	// Scale, if not nil, are the derivatives of the logarithm of what U is divided by,
	// such as a noise scale, which J leaves out and Gradient and Curvature have.
	Scale [][]float64
}

// A Function is what a Search minimises.
type Function interface {
	// Value returns f at x and U there, +Inf where there is none.
	Value(x []float64) (f float64, u []float64)
	// Expand returns the Point at x, where Value was last asked for, nil if there
	// is none. It belongs to the caller.
	Expand(x []float64) *Point
}

// A Search goes down a Function by sequential quadratic programming for sums of
// absolute values [Fletcher 1981]: each step goes to the minimum of a Model that has the
// kinks of the function. Near a minimum that enough kinks hold it is Newton's method on
// those; where there are fewer the curvature along them decides, which BFGS learns from
// the gradients of the Lagrangian [NW06, §18.3]. The damping is Levenberg and
// Marquardt's, in the lengths of the metric; a step that the bending of the kinks spoils
// is corrected once by where they are at its end [Fletcher 1982].
//
// Sources: Fletcher (1981), Numerical methods for nonlinear exact penalty functions, and
// (1982), Second order corrections for non-differentiable optimization; Nocedal &
// Wright (2006), Numerical Optimization.
type Search struct {
	X            []float64
	F            float64
	At           *Point    // there
	Lower, Upper []float64 // of X; nil for none

	// Gain is what the model promised of the last step.
	Gain float64

	damping   float64
	curvature *mat.SymDense // of the Lagrangian
	learnt    bool          // it is more than that of At
	since     float64       // F when it was last forgotten
}

// slack is the least damping: strides of more than ten lengths of the metric do not pay.
const slack = 1e-2

// NewSearch begins at x, where the function is f and at its expansion.
func NewSearch(x []float64, f float64, at *Point) *Search {
	s := &Search{X: slices.Clone(x), F: f, At: at, damping: slack, since: math.Inf(1)}
	s.curvature = mat.NewSymDense(len(x), nil)
	s.curvature.CopySym(s.At.Curvature)
	return s
}

// Model returns that around X with the least damping, and no curvature but that of At.
func (s *Search) Model() *Model { return s.model(s.At.Curvature, slack) }

func (s *Search) model(curvature *mat.SymDense, damping float64) *Model {
	n := len(s.X)
	h := mat.NewSymDense(n, nil)
	h.CopySym(curvature)
	m := &Model{H: h, G: s.At.Gradient, U: s.At.U, J: s.At.J}
	for i := range n {
		h.SetSym(i, i, h.At(i, i)+damping*max(s.At.Metric.At(i, i), 1e-6))
	}
	if s.Lower != nil {
		m.Lower, m.Upper = make([]float64, n), make([]float64, n)
		for i, x := range s.X {
			m.Lower[i], m.Upper[i] = min(0, s.Lower[i]-x), max(0, s.Upper[i]-x)
		}
	}
	return m
}

// Left is the gain that Model promises: at a minimum nothing. It holds where no
// gradient is zero, for a kink has all slopes between those of its sides.
func (s *Search) Left() float64 { return gain(s.Model()) }

func gain(m *Model) float64 {
	if to, ok := m.Minimise(); ok {
		return to.Gain
	}
	return math.Inf(1)
}

// Step goes down by one step, with up to some twenty values. done tells that there is
// none: the model promises less than enough, or no shorter step does what it promises.
func (s *Search) Step(f Function, enough float64) (done bool) {
	if !s.step(f, enough) {
		return false
	}
	// What was learnt far away may be too much here.
	if !s.learnt || !(s.since-s.F > enough) || s.Left() < enough {
		return true
	}
	s.since, s.learnt, s.damping = s.F, false, slack
	s.curvature.CopySym(s.At.Curvature)
	return s.step(f, enough)
}

func (s *Search) step(f Function, enough float64) (done bool) {
	next := make([]float64, len(s.X))
	for range 20 {
		m := s.model(s.curvature, s.damping)
		to, ok := m.Minimise()
		if !ok {
			s.damping *= 8
			continue
		}
		if s.Gain = to.Gain; s.Gain < enough && (s.damping <= slack || gain(s.model(s.curvature, slack)) < enough) {
			return true
		}
		look := func() (float64, []float64) {
			for i, x := range s.X {
				next[i] = x + to.D[i]
				if s.Lower != nil {
					next[i] = min(max(next[i], s.Lower[i]), s.Upper[i])
				}
			}
			return f.Value(next)
		}
		value, u := look()
		if !(s.F-value > 0.1*s.Gain) && !math.IsInf(value, 0) && len(u) == len(m.J) {
			// By how much the kinks have bent.
			m.U = slices.Clone(u)
			for k, row := range m.J {
				for i, v := range row {
					m.U[k] -= v * to.D[i]
				}
			}
			first := to
			if to, ok = m.Minimise(); ok {
				if again, _ := look(); again < value {
					value = again
				} else {
					ok = false
				}
			}
			if !ok {
				if to = first; s.F-value > 1e-3*s.Gain {
					value, _ = look() // to be where it was last asked for
				}
			}
		}
		if fell := s.F - value; fell > 1e-3*s.Gain {
			at := f.Expand(next)
			if at == nil {
				return true
			}
			s.learn(next, at, to.Lambda)
			s.learnt = true
			s.X, s.F, s.At = next, value, at
			switch {
			case fell > 0.7*s.Gain:
				s.damping = max(slack, s.damping/8)
			case fell < 0.3*s.Gain:
				s.damping *= 4
			}
			return false
		}
		if s.Gain < 1e-12 {
			break // rounding
		}
		s.damping *= 8
	}
	return true
}

// lagrangian returns the gradient at p where the absolute values have the slopes lambda.
func (p *Point) lagrangian(lambda []float64) []float64 {
	out := slices.Clone(p.Gradient)
	for k, l := range lambda {
		for i := range out {
			out[i] += l * p.J[k][i]
			if p.Scale != nil {
				out[i] += (math.Abs(p.U[k]) - l*p.U[k]) * p.Scale[k][i]
			}
		}
	}
	return out
}

// learn updates the curvature by BFGS, damped as Powell has it so that it stays positive.
func (s *Search) learn(to []float64, at *Point, lambda []float64) {
	if len(at.U) != len(lambda) {
		return // a kink has come or gone
	}
	n := len(to)
	step, y, bs := mat.NewVecDense(n, nil), mat.NewVecDense(n, nil), mat.NewVecDense(n, nil)
	before, after := s.At.lagrangian(lambda), at.lagrangian(lambda)
	for i := range n {
		step.SetVec(i, to[i]-s.X[i])
		y.SetVec(i, after[i]-before[i])
	}
	bs.MulVec(s.curvature, step)
	old, now := mat.Dot(step, bs), mat.Dot(step, y)
	// Where nothing is known of the curvature any that is positive will do.
	if least := 1e-8 * mat.Inner(step, s.At.Metric, step); old < least {
		if now > 0 {
			s.curvature.SymRankOne(s.curvature, 1/now, y)
		}
		return
	}
	if now < 0.2*old {
		t := 0.8 * old / (old - now)
		y.ScaleVec(t, y)
		y.AddScaledVec(y, 1-t, bs)
		now = mat.Dot(step, y)
	}
	if !(now > 0) || math.IsInf(now, 0) {
		return
	}
	s.curvature.SymRankOne(s.curvature, -1/old, bs)
	s.curvature.SymRankOne(s.curvature, 1/now, y)
}

// Slope returns the largest component of the least slope in all directions that X has,
// zero at a minimum: where |U| is below near, any slope between those of both sides may
// be taken, and coordinates that closed names move only inwards, −1 for up and 1 for
// down. met is the number of the kinks below near.
func (s *Search) Slope(near float64, closed []int) (slope float64, met int) {
	n := len(s.X)
	m := &Model{G: slices.Clone(s.At.Gradient)}
	h := mat.NewSymDense(n, nil)
	for i := range n {
		h.SetSym(i, i, max(s.At.Metric.At(i, i), 1e-6))
	}
	if closed != nil {
		m.Lower, m.Upper = make([]float64, n), make([]float64, n)
		for i, side := range closed {
			m.Lower[i], m.Upper[i] = math.Inf(-1), math.Inf(1)
			if side < 0 {
				m.Lower[i] = 0
			} else if side > 0 {
				m.Upper[i] = 0
			}
		}
	}
	m.H = h
	for k, u := range s.At.U {
		if math.Abs(u) < near {
			m.U, m.J = append(m.U, 0), append(m.J, s.At.J[k])
			continue
		}
		for i, v := range s.At.J[k] {
			m.G[i] += math.Copysign(1, u) * v
		}
	}
	to, ok := m.Minimise()
	if !ok {
		return math.Inf(1), len(m.U)
	}
	for i, v := range to.D {
		slope = max(slope, math.Abs(v)*h.At(i, i))
	}
	return slope, len(m.U)
}

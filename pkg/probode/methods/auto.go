package methods

import (
	"cmp"
	"math"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/internal/vector"
)

// Auto takes steps of the explicit method DP5 (DormandPrince) where a problem is not
// stiff, and steps of the implicit method Radau5 (Radau) where it is. An error-controlled
// run begins with DP5, and chooses the method of each step. The grid of the run keeps the
// choice (Grid.Order is 1 for DP5 and 2 for Radau5), so that a path on this grid is a smooth
// function of (θ, ξ). On every other grid, all steps are those of Radau5. Both methods have
// order 5, and both add the noise to the state.
//
// # From DP5 to Radau5
//
// Power iteration estimates h|λ|, where λ is the eigenvalue of the Jacobian with the largest
// absolute value (Sofroniou & Spaletta 2004), and continues from estimate to estimate. Its
// products with the Jacobian are differences of f. Unlike an estimate from the stages of a
// step (Shampine 1977; [HW96, §IV.2]), it also sees components that rest: at a steady state,
// unstable steps make no error, but the derivatives of the path grow without bound.
//
// DP5 is stable up to 3.3 on the negative real axis, but at small tolerances the errors of
// fast components limit its steps already above 0.5. Every eighth step of DP5 leaves a mark
// if h|λ| exceeds 0.5. After five marks in a row, the polynomial through the marked states
// shows how long the steps of Radau5 could be. If they could be at least eight times as long
// as those of DP5, failed ones included, Radau5 takes over, because one of its steps costs
// about as much as eight of DP5 (4 to 12, measured for 2 to 60 states; up to 20 at a
// tolerance of 1e-2). Radau5 also takes over after unstable steps of DP5 that multiply a
// perturbation by 10⁴, and if a step fails that is shorter than 2⁻⁴²|t| in a problem with
// poles: the solution may bend just before the pole.
//
// With more than 2000 states and a dense Jacobian, a step of Radau5 would take seconds, and
// all steps of a run are those of DP5.
//
// # From Radau5 to DP5
//
// The Jacobian of Radau5 serves the power iteration. Let z be h|λ| of the last step of DP5,
// but at most 3.3. DP5 takes over after five steps in a row with h|λ| below 4z, each of
// which could be replaced by four steps of DP5. Steps that are still growing do not count.
//
// # No chattering
//
// Radau5 takes over at 8z, and DP5 below 4z. If one of the two has made less progress in
// its turn, for its cost, than the other at the end of the turn before, or if DP5 was
// unstable, it needs four times as many marks or steps for its next turn as it needed for
// this one, up to 80. Events do not end a turn.
type Auto struct{}

func (Auto) String() string            { return "auto" }
func (Auto) Order() int                { return DormandPrince.Order }
func (Auto) Noise(d int) probode.Noise { return additive(d, DormandPrince.Order) }

func (Auto) Stepper(p *probode.Problem, g *probode.Grid) (*probode.Stepper, error) {
	a := &auto{p: p, choosing: g == nil, explicit: newRungeKutta(p, DormandPrince)}
	a.turns = p.Band != nil || p.Dim() <= maxDense
	for _, v := range []*[]float64{&a.df, &a.dx, &a.vector} {
		*v = make([]float64, p.Dim())
	}
	for j := range a.states {
		a.states[j] = make([]float64, p.Dim())
	}
	return &probode.Stepper{Start: a.start, Step: a.step, LocalError: a.localError, Choose: a.choose, Differentiate: a.differentiate, Reverse: a.reverse}, nil
}

// The method of a step, as Step.Order tells it. Any other number stands for Radau5.
const (
	autoExplicit = 1
	autoImplicit = 2
)

const (
	every = 8   // steps of DP5 between two marks
	marks = 5   // marks in a row that are needed for Radau5 to take over, at first
	least = 0.5 // h|λ| of a mark
	dear  = 8   // the cost of a step of Radau5, in steps of DP5
	back  = 5   // steps of Radau5 in a row that are needed for DP5 to take over, at first
	most  = 80  // the largest number of marks or steps that are needed

	part     = 0.1     // see iterate
	stable   = 3.3     // h|λ| up to which DP5 is stable on the negative real axis
	unstable = 1e4     // growth of a perturbation after which Radau5 takes over
	tiny     = 0x1p-42 // length of a failed step of DP5, relative to t, after which Radau5 takes over
	maxDense = 2000
)

// auto takes the steps of Auto.
type auto struct {
	p        *probode.Problem
	explicit *rungeKutta
	implicit *filtered // nil before the first step of Radau5, because its matrices may be large

	choosing bool // an error-controlled run chooses the methods
	turns    bool // Radau5 may take over
	order    int  // of the next step
	measured bool // explicit.last is f at the end of the step

	began   float64               // the time at which the turn of this method began
	steps   int                   // of this turn, failed ones included
	due     int                   // the step of this turn after which |λ| is estimated next
	rate    float64               // the progress in time per step of DP5, or per work of one, at the end of the last turn
	hits    int                   // marks or steps in a row
	length  float64               // of the last step of Radau5
	needed  [autoImplicit + 1]int // hits that end a turn, by method
	product float64               // h|λ| of the last step of DP5
	lambda  float64               // the last estimate of |λ|
	growth  float64               // factor by which unstable steps of DP5 may have multiplied a perturbation

	times  [marks]float64
	counts [marks]int
	states [marks][]float64
	df, dx []float64
	vector []float64 // of the power iteration
}

// start keeps the method after an event.
func (a *auto) start(s *probode.Step) error {
	if a.implicit != nil {
		a.implicit.forget()
	}
	if err := a.explicit.start(s); err != nil || !a.choosing {
		return err
	}
	if s.T == a.p.Span[0] {
		a.turn(autoExplicit, marks, s.T, 0)
		a.needed, a.length = [...]int{autoExplicit: marks, autoImplicit: back}, 0
		a.due, a.lambda = 1, 0
		clear(a.vector)
	}
	s.Order = a.order
	return nil
}

// needImplicit makes the implicit part.
func (a *auto) needImplicit() (err error) {
	if a.implicit != nil {
		return nil
	}
	a.implicit, err = Radau{}.filtered(a.p)
	return err
}

func (a *auto) step(s *probode.Step) error {
	if s.Order == autoExplicit {
		a.measured = false
		return a.explicit.step(s)
	}
	if err := a.needImplicit(); err != nil {
		return err
	}
	return a.implicit.take(s)
}

func (a *auto) localError(dst []float64, s *probode.Step) error {
	if s.Order == autoExplicit {
		a.measured = true
		return a.explicit.localError(dst, s)
	}
	return a.implicit.localError(dst, s)
}

func (a *auto) differentiate(dnext []float64, s *probode.Step, tg *probode.Tangents) error {
	if s.Order == autoExplicit {
		return a.explicit.differentiate(dnext, s, tg)
	}
	return a.implicit.differentiate(dnext, s, tg)
}

func (a *auto) reverse(to *probode.Adjoint, s *probode.Step) error {
	if s.Order == autoExplicit {
		return a.explicit.reverse(to, s)
	}
	if err := a.needImplicit(); err != nil {
		return err
	}
	return a.implicit.back(to, s)
}

func (a *auto) choose(s *probode.Step, size float64, units func([]float64) float64) (factor float64, order int) {
	if a.order == autoExplicit {
		if a.steps++; !a.turns {
			return 0, a.order
		}
		if size > 1 {
			if len(a.p.Poles) > 0 && s.H < tiny*math.Abs(s.T) && a.needImplicit() == nil {
				a.turn(autoImplicit, back, s.End, s.H)
			}
			return 0, a.order
		}
		due := a.steps >= a.due
		if due || s.H*a.lambda > stable {
			a.estimate(s, units, part)
		}
		for range 2 {
			if a.growth*amplifies(s.H*a.lambda) > unstable { // one large product may be followed by zero
				a.estimate(s, units, 0)
			}
		}
		a.product = s.H * a.lambda
		a.growth = max(1, a.growth*amplifies(a.product))
		switch {
		case a.growth > unstable && a.needImplicit() == nil:
			a.turn(autoImplicit, min(4*a.needed[autoImplicit], most), s.End, s.H)
		case due && a.mark(s) && a.longer(units) && a.needImplicit() == nil:
			a.turn(autoImplicit, back, s.End, a.pace())
			factor = dear / 2
		}
		return factor, a.order
	}
	a.steps++
	a.iterate(s.Next, units, part, func(dst, v []float64) {
		clear(dst)
		a.implicit.jac.AddMul(dst, 1, v)
	})
	product := s.H * a.lambda
	switch grows := s.H > 1.1*a.length; {
	case !(product < dear/2*min(a.product, stable)):
		a.hits = 0
	case !grows:
		if a.hits++; a.hits >= a.needed[autoImplicit] {
			a.turn(autoExplicit, marks, s.End, s.H/dear)
			factor = min(1, 0.9*min(a.product, stable)/product)
		}
	}
	a.length = s.H
	return factor, a.order
}

// amplifies returns the absolute value of the stability function of DP5 at −z [HW96, §IV.2].
func amplifies(z float64) float64 {
	return math.Abs(1 - z*(1-z/2*(1-z/3*(1-z/4*(1-z/5*(1-z/5))))))
}

// turn begins a turn of the method `order`. If the turn that ends made less progress than
// the one before it at its end, it was a mistake to begin it.
func (a *auto) turn(order, needed int, t, rate float64) {
	cost := 1
	if a.order == autoImplicit {
		cost = dear
	}
	if t-a.began < a.rate*float64(a.steps*cost) {
		needed = min(4*a.needed[order], most)
	}
	a.needed[order] = needed
	a.order, a.began, a.steps, a.due, a.rate, a.hits = order, t, 0, every, rate, 0
	a.growth = 1
}

// estimate estimates |λ| at the end of a step of DP5: see iterate.
func (a *auto) estimate(s *probode.Step, units func([]float64) float64, part float64) {
	f := a.explicit.last
	if !a.measured {
		a.p.F(f, s.End, s.Next, s.Theta)
		a.measured = true
	}
	a.iterate(s.Next, units, part, func(dst, v []float64) {
		for k, x := range s.Next {
			v[k] += x
		}
		a.p.F(dst, s.End, v, s.Theta)
		for k, f := range f {
			dst[k] -= f
		}
	})
}

// mark stores the state if h|λ| is so large that the stability of DP5 may limit its steps,
// and reports whether there are enough such states.
func (a *auto) mark(s *probode.Step) bool {
	a.due = a.steps + every
	if !(a.product > least) {
		a.hits = 0
		return false
	}
	oldest := a.states[0]
	copy(a.states[:], a.states[1:])
	copy(a.times[:], a.times[1:])
	copy(a.counts[:], a.counts[1:])
	a.states[marks-1], a.times[marks-1], a.counts[marks-1] = oldest, s.End, a.steps
	copy(oldest, s.Next)
	a.hits++
	return a.hits >= a.needed[autoExplicit]
}

// pace returns the time between the marks, divided by the number of steps, of which some
// may have failed.
func (a *auto) pace() float64 {
	return (a.times[marks-1] - a.times[0]) / float64(a.counts[marks-1]-a.counts[0])
}

// longer reports whether steps of Radau5 can be `dear` times as long as those of DP5 were.
// The controller settles at an estimated error of an eighth of the tolerance, at which
// that of Radau5 is 0.0046 h⁴ x⁗. The fourth derivative is that of the polynomial through
// the marks.
func (a *auto) longer(units func([]float64) float64) bool {
	const last = marks - 1
	end, h := a.times[last], dear*a.pace()
	copy(a.dx, a.states[last])
	scale := 8 * 0.0046 * 24
	for i := range last {
		w := 1.0
		for m := range last {
			if m != i {
				w *= (end - a.times[m]) / (a.times[i] - a.times[m])
			}
		}
		vector.AddScaled(a.dx, -w, a.states[i])
		scale *= h / (end - a.times[i])
	}
	return scale*units(a.dx) <= 1
}

// iterate estimates |λ| by power iteration at the state x. multiply writes to dst the product
// of the Jacobian and v, which is small compared with x, and may overwrite v. The last
// product, plus `part` of each component, some of which may depend on no other, makes v.
func (a *auto) iterate(x []float64, units func([]float64) float64, part float64, multiply func(dst, v []float64)) {
	const small = 0x1p-26
	v, least := a.dx, 1e-6*cmp.Or(vector.MaxAbs(x), 1e6)
	for k, x := range x {
		v[k] = max(math.Abs(x), least) * (1 + 0.5*math.Sin(float64(k+1)))
	}
	scale, most := part/units(v), 0.0
	for k, x := range x {
		v[k] = scale*v[k] + a.vector[k]
		most = max(most, math.Abs(v[k])/max(math.Abs(x), least))
	}
	for k := range v {
		v[k] *= small / most
	}
	size := units(v)
	multiply(a.vector, v)
	lambda := units(a.vector) / size
	if !(lambda <= math.MaxFloat64) {
		clear(a.vector)
		return
	}
	a.lambda = lambda
	for k := range a.vector {
		a.vector[k] /= cmp.Or(lambda*size, 1)
	}
}

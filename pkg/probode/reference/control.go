package reference

import (
	"cmp"
	"fmt"
	"math"

	"github.com/probode/probode/pkg/internal/text"
	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/internal/onset"
	"github.com/probode/probode/pkg/probode/internal/vector"
)

// These constants control the order and the step length. In each step, rows of the
// extrapolation scheme are computed until two neighbouring results agree. The number of
// rows in the next step is chosen so as to minimise the work per unit of time (Deuflhard
// 1983).
const (
	safety  = 0.94 // factor of the step
	aim     = 0.65 // error that the next step should have, in units of the tolerance
	longest = 10   // largest ratio of successive steps
	// After so many steps in succession that may be short because of rounding errors of t,
	// the integration finds out whether they are.
	mostShort = 50
)

// restart discards the step sizes that were chosen before an event.
func (e *integration) restart() {
	e.fresh = false
	e.guard.Begin(e.t, e.x, e.theta)
	for _, r := range e.rules {
		if r != nil {
			// The field `natural` is the step length that error control would choose if
			// nothing else limited the step. If output times shorten every step, the
			// field `natural` is determined by trial steps. The next trial step is made
			// when the integration has advanced by `natural`.
			r.natural, r.renew = 0, e.t
		}
	}
}

// reach takes steps up to the time `target`, which is grid point i + 1.
func (e *integration) reach(target float64, i int) error {
	span := e.p.Span[1] - e.p.Span[0]
	for {
		rest := (target - e.t) - e.tLow
		if rest <= 0 {
			return nil
		}
		switch {
		case e.stop.Ended():
			return errStopped
		case e.steps >= e.set.MaxSteps+i:
			return stuckError(fmt.Sprintf("more than %d steps are needed (the last was at t = %.6g, x = %s): the solution may not exist after this time; if it does, try a larger tolerance or a larger MaxSteps", e.set.MaxSteps, e.t, text.Vector(e.x)))
		}
		r, least := e.rule, max(1e-25*span, ulp(e.t)) // a shorter step would not change t
		if !e.fresh {
			if err := e.differentiate(rest); err != nil {
				return err
			}
		}
		if r.natural == 0 {
			if r.natural = 0.01 * min(span, vector.MaxAbs(e.x)/vector.MaxAbs(e.f0)); !(r.natural > 0) { // the state or f is zero
				r.natural = 1e-4 * span
			}
			r.natural = max(r.natural, least) // near zero, the state says little
			e.seeInput(min(r.natural, rest))
		}
		if r.natural < least || e.short > mostShort && e.blurred() {
			return e.stuck()
		}

		// A step may be shortened because of an output time or MaxStep. The permitted
		// error of a shortened step is reduced in proportion to the length of the step,
		// so that additional output times do not increase the total error.
		limit := min(rest, e.longestStep())
		H, part, cut := r.natural, 1.0, false
		if e.t >= r.renew {
			H = min(H, max(rest, e.end-e.t))
		} else if limit <= r.natural {
			H, cut = limit, true
			if e.divides() {
				H *= 0.6
			}
			part = H / r.natural
			if r.family == implicit {
				// Shortening a step does not reduce the rounding errors of stiff
				// components.
				part = max(part, 0x1p-50/max(e.set.Relative, 1e-15))
			}
		}
		j, ok := e.try(H, part, cut)
		if !ok {
			if H > least {
				r.natural = max(r.natural, least)
			}
			e.rejected++
			e.disappointed()
			continue
		}
		if H <= limit {
			if located, err := e.locate(H, j, target); err != nil {
				return err
			} else if located {
				e.restart()
				continue
			}
			if e.short++; e.p.Autonomous || H > 0x1p16*ulp(e.t) {
				e.short = 0
			}
			e.advance(H)
			e.divided = cut && H < limit
			if H == rest {
				e.t, e.tLow = target, 0
			}
		}
		if !cut {
			r.order(j)
			r.renew = e.t + r.natural
		}
		if H <= limit {
			e.consider(H, cut)
		}
	}
}

// blurred reports whether rounding errors of t change f by more than the tolerance, as they
// do near a singularity at a known time. No step length can then meet the tolerance. Of a
// component that has just left zero, distance knows how inaccurate it may be.
func (e *integration) blurred() bool {
	e.short = 0
	e.p.F(e.f, e.t, e.x, e.theta)
	e.p.F(e.prev, math.Nextafter(e.t, math.Inf(1)), e.x, e.theta)
	for k, f := range e.f {
		if math.IsInf(e.left[k], -1) && math.Abs(e.prev[k]-f) > e.set.Relative*math.Abs(f) {
			return true
		}
	}
	return false
}

// seeInput shortens the first step of a segment if f(t, x) changes so soon after t that
// the step could miss the change. The argument h is the maximum length of the first step.
func (e *integration) seeInput(h float64) {
	if e.p.Autonomous {
		return
	}
	if first := onset.Step(func(dst []float64, t float64) { e.p.F(dst, t, e.x, e.theta) }, e.t, h, e.permitted()); first < h {
		e.rule.natural = first
	}
}

// permitted returns the permitted error of each component of the state.
func (e *integration) permitted() []float64 {
	unit, largest := make([]float64, len(e.x)), vector.MaxAbs(e.x)
	for k, x := range e.x {
		unit[k] = e.set.permitted(k, e.size(k, math.Abs(x), largest))
	}
	return unit
}

// divides reports whether a shortened step is taken in two parts. The error of an
// implicit step sometimes depends on the step length alone, and not on the tolerance. If
// output times determined the steps of both integrations, the two errors could be equal,
// and would then cancel in the difference between the two results.
func (e *integration) divides() bool {
	return !e.second && e.rule.family == implicit && !e.divided
}

// longestStep returns MaxStep. In the more accurate integration, the maximum step length
// is MaxStep times a factor below 1. The factor varies from step to step, so that the two
// integrations take different steps.
func (e *integration) longestStep() float64 {
	if e.second {
		_, part := math.Modf(float64(e.steps) * 0.6180339887498949)
		return e.set.MaxStep * (0.7 + 0.3*part)
	}
	return e.set.MaxStep
}

// try computes rows of the extrapolation scheme for a step H until a row converges, and
// returns the number of that row. The tolerance is multiplied by the argument `part`. If
// no row converges, try() proposes a shorter step in the field `natural` of the rule.
func (e *integration) try(H, part float64, cut bool) (int, bool) {
	r := e.rule
	n, k := r.n, r.k
	e.badT = math.NaN()
	first := k - 1
	if cut {
		first = 2
	}
	if H > e.set.MaxStep/2 {
		// With more rows of the scheme, f is evaluated at points that are closer
		// together. With four rows, the distance between neighbouring points is at most
		// H/8.
		first, k = max(first, 3), max(k, 3)
	}
	for j := 0; ; j++ {
		if !e.row(j, H) {
			r.natural = min(r.natural/2, H/4)
			return j, false
		}
		if j == 0 {
			continue
		}
		err := e.distance(j, H, part)
		factor := float64(longest)
		if err > 0 {
			factor = min(factor, max(0.02, safety*math.Pow(aim/err, 1/float64(2*j+1))))
		}
		r.best[j] = H * factor
		r.cost[j] = r.work[j] / r.best[j]
		if j >= first && err <= 1 {
			if r.family == implicit && !r.plausible(e, H) || !e.passes(H) {
				r.natural = H / 4
				return j, false
			}
			return j, true
		}
		// Judge whether row k+1 is likely to converge.
		hope := math.Inf(1)
		switch j {
		case k - 1:
			hope = float64(n[k+1]*n[k]) / float64(n[0]*n[0])
		case k:
			hope = float64(n[k+1]) / float64(n[0])
		case k + 1:
			hope = 0
		}
		if !(err <= hope*hope) {
			if cut {
				r.natural = min(r.natural/2, r.best[j]*2)
				return j, false
			}
			if j > k-1 && r.k > 2 && r.cost[k-1] < 0.9*r.cost[k] {
				r.k--
			}
			r.natural = min(r.best[min(j, r.k)], 0.9*H)
			return j, false
		}
	}
}

// passes reports whether no pole of f lies before the end of a step of length H.
func (e *integration) passes(H float64) bool {
	for k, dx := range e.tab[0] {
		e.at[k] = e.x[k] + (e.low[k] + dx)
	}
	return e.guard.Pass(e.t+(e.tLow+H), e.at)
}

// order chooses the order and the length of the next step so as to minimise the work per
// unit of time. The last step converged in row j.
func (r *rule) order(j int) {
	last := len(r.n) - 1
	k := r.k
	next := k
	switch {
	case j == k-1:
		next = j
		if j < 2 || r.cost[j] < 0.9*r.cost[j-1] {
			next = k
		}
	default:
		if r.cost[k-1] < 0.8*r.cost[k] {
			next = k - 1
		} else if j == k && r.cost[k] < 0.9*r.cost[k-1] || j == k+1 && r.cost[k+1] < 0.9*r.cost[k] {
			next = k + 1
		}
	}
	next = min(max(next, 2), last-1)
	if next <= j {
		r.natural = r.best[next]
	} else {
		r.natural = r.best[j] * r.work[next] / r.work[j]
	}
	r.k = next
}

// differentiate computes f0 and, for the implicit rule, the Jacobian and ∂f/∂t at (t, x).
// The derivative ∂f/∂t is approximated by a difference over a small fraction of the step.
// The length of the step is at most the argument `rest`.
func (e *integration) differentiate(rest float64) error {
	r := e.rule
	copy(e.at, e.x)
	for k, c := range e.nudge {
		e.at[k] *= c
	}
	ok := true
	if r.family == implicit {
		r.fj.FJ(e.f0, r.jac, e.t, e.at, e.theta)
		ok = vector.Finite(r.jac.A)
	} else {
		if e.steps == 0 {
			k := vector.Unset(e.f0, func(dst []float64) { e.p.F(dst, e.t, e.at, e.theta) })
			if k >= 0 && !e.stop.Ended() {
				return fmt.Errorf("dst[%d] is not set by F at t = %g: want every element set", k, e.t)
			}
		} else {
			e.p.F(e.f0, e.t, e.at, e.theta)
		}
	}
	if !vector.Finite(e.f0) || !ok {
		if e.stop.Ended() {
			return errStopped
		}
		what := "F"
		if vector.Finite(e.f0) {
			if e.set.fixed == either { // the explicit rule does not need it
				e.use(explicit)
				e.stiff.trial, e.stiff.wait = false, lastWait
				return e.differentiate(rest)
			}
			what = "the Jacobian"
		}
		return fmt.Errorf("%w: %s is NaN or infinite at t = %.6g, x = %s, theta = %.4g", probode.ErrField, what, e.t, text.Vector(e.x), e.theta)
	}
	if e.move() {
		return e.differentiate(rest)
	}
	e.fresh = true
	if r.family == explicit {
		e.gauge()
		return nil
	}
	if r.ft != nil {
		step := cmp.Or(min(r.natural, rest), rest)
		dt := 0x1p-13 * step
		e.p.F(r.ft, e.t+(e.tLow+dt), e.at, e.theta)
		for k, f := range e.f0 {
			r.ft[k] = (r.ft[k] - f) / dt
		}
		if !vector.Finite(r.ft) {
			clear(r.ft) // it need not be accurate
		}
	}
	return nil
}

// move perturbs the arguments of f in the looser integration. Each component of x is
// shifted by one unit in the last place, unless the derivative of the component is zero.
// A constant component is not shifted, because it may be a flag that f compares with a
// number. The method reports whether it shifted any component.
func (e *integration) move() bool {
	changed := false
	for k, c := range e.nudge {
		if c == 1 && e.f0[k] != 0 {
			e.nudge[k], changed = 1+0x1p-52*float64(1-k%2*2), true
		}
	}
	return changed
}

// stuck returns an error that explains why the integration cannot continue with any step
// length.
func (e *integration) stuck() error {
	if e.stop.Ended() {
		return errStopped
	}
	if met := e.guard.Stuck(e.p.Span[1] - e.p.Span[0]); met != "" {
		return fmt.Errorf("%w: %s", probode.ErrField, met)
	}
	if e.badT == e.badT {
		return fmt.Errorf("%w: F is NaN or infinite at t = %.6g, x = %s, theta = %.4g, and even very short steps from t = %.6g fail: the solution may not exist after this time", probode.ErrField, e.badT, text.Vector(e.badX), e.theta, e.t)
	}
	return stuckError(fmt.Sprintf("the step size fell to %.2g at t = %.6g, x = %s: the solution may not exist after this time, or f may jump: declare jumps as events", e.rule.natural, e.t, text.Vector(e.x)))
}

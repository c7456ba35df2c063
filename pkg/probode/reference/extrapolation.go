package reference

import (
	"fmt"
	"math"
	"runtime/debug"

	"github.com/probode/probode/pkg/internal/progress"
	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/internal/trigger"
	"github.com/probode/probode/pkg/probode/internal/vector"
)

// A family is one of the two basic rules that can be extrapolated, explicit or implicit.
type family int

const (
	either family = iota // chosen during the integration
	explicit
	implicit
)

// An integration is one of the two integrations whose results are compared. An
// integration stores the state in twice the working precision, as x + low, and all other
// quantities as increments over a step, which are small compared with x. Therefore even
// the accumulated rounding errors of many steps are not larger than the rounding errors
// in the arguments of f.
type integration struct {
	problem *probode.Problem // as it was given
	p       *probode.Problem // the copy of problem that watch returns
	theta   []float64
	set     Settings // with the tolerance of this integration
	second  bool     // integration 1, the accurate one

	// The following fields are used by the functions of p.
	from, to float64 // t is kept in this interval
	stop     *progress.Stop
	evals    int

	t, tLow float64
	end     float64 // of the segment between events
	x, low  []float64
	peak    []float64 // largest |x| so far
	left    []float64 // the time at which each component left zero (see leaves), or −∞
	f0      []float64 // f(t, x)
	fresh   bool      // f0, and the Jacobian for the implicit rule, belong to (t, x)
	before  []float64 // errors that distance has found for the row before
	divided bool      // the last step was the first of the two parts of a step
	nudge   []float64 // factors of the arguments of f; nil for none

	triggers *trigger.Watch // of the events with a Trigger; nil if there are none

	rule         *rule // the rule in use
	rules        [implicit + 1]*rule
	stiff        stiffness
	tab          [][]float64 // the last row of the extrapolation scheme
	smooth       [][]float64 // the same for the smoothed results of the explicit rule
	prev, f, at  []float64
	endX, endF   []float64 // the end of the last row of the explicit rule, and f there
	badT         float64   // the last time in this step at which f was not finite, or NaN
	badX         []float64
	steps        int
	rejected     int
	implicitOnes int
}

// newIntegration sets up one of the two integrations: the looser one if run is 0, or the
// more accurate one if run is 1.
func newIntegration(p *probode.Problem, s Settings, run int, stop *progress.Stop) *integration {
	d := p.Dim()
	e := &integration{problem: p, triggers: watchTriggers(p), theta: s.Theta, set: s, second: run == 1, stop: stop, badT: math.NaN()}
	for _, v := range []*[]float64{&e.x, &e.low, &e.peak, &e.left, &e.f0, &e.before, &e.prev, &e.f, &e.at, &e.endX, &e.endF, &e.badX} {
		*v = make([]float64, d)
	}
	for k := range e.left {
		e.left[k] = math.Inf(-1)
	}
	e.p = e.watch()
	e.rule = e.newExplicit(run)
	e.rules[explicit] = e.rule
	for range e.rule.n {
		e.tab = append(e.tab, make([]float64, d))
		e.smooth = append(e.smooth, make([]float64, d))
	}
	if s.fixed == implicit {
		e.use(implicit)
	}
	return e
}

// The method watch() returns a copy of the problem whose functions keep t inside the
// segment between events, count calls, and return NaN after the context has ended, so
// that the step ends as well.
func (e *integration) watch() *probode.Problem {
	p := e.problem
	q := *p
	q.F = func(dst []float64, t float64, x, theta []float64) {
		if e.stop.Ended() {
			dst[0] = math.NaN()
			return
		}
		e.evals++
		p.F(dst, min(max(t, e.from), e.to), x, theta)
	}
	if p.FJ != nil {
		q.FJ = func(f, jac []float64, t float64, x, theta []float64) {
			if e.stop.Ended() {
				f[0] = math.NaN()
				return
			}
			e.evals++
			p.FJ(f, jac, min(max(t, e.from), e.to), x, theta)
		}
	}
	return &q
}

// The method run() integrates over the points of the schedule c. If a function of the
// problem panics, run() returns the panic as an error.
func (e *integration) run(c *schedule, out []float64) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("at t = %.6g, x = %s, theta = %.4g: %w", e.t, short(e.x), e.theta, &probode.PanicError{Value: v, Stack: debug.Stack()})
		}
	}()
	return e.follow(c, out)
}

// The method eval() sets the argument f to the value f(t + dt, x + dx).
func (e *integration) eval(f, dx []float64, dt float64) {
	for k, x := range e.x {
		e.at[k] = x + (e.low[k] + dx[k])
	}
	for k, c := range e.nudge {
		e.at[k] *= c
	}
	e.p.F(f, e.t+(e.tLow+dt), e.at, e.theta)
	if !vector.Finite(f) && vector.Finite(e.at) {
		e.badT = e.t + (e.tLow + dt)
		copy(e.badX, e.at)
	}
}

// The method row() adds row j, which begins with T_{j,1}, to the extrapolation scheme for
// a step H. After that, tab[0] is T_{j,j}, and tab[1] is T_{j,j−1}. The method reports
// whether all numbers are finite.
func (e *integration) row(j int, H float64) bool {
	n := e.rule.n
	if e.rule.family == implicit {
		if !e.rule.solve(e, e.tab[j], H, n[j]) {
			return false
		}
	} else {
		e.midpoint(e.tab[j], e.smooth[j], H, n[j])
		extrapolate(e.smooth, n, j)
	}
	extrapolate(e.tab, n, j)
	return vector.Finite(e.tab[0])
}

// The function extrapolate() replaces row j − 1 of the extrapolation scheme by row j,
// whose first element T_{j,1} is tab[j].
func extrapolate(tab [][]float64, n []int, j int) {
	for m := j - 1; m >= 0; m-- {
		r := float64(n[j]) / float64(n[m])
		w := 1 / (r*r - 1)
		a, b := tab[m], tab[m+1]
		for k, v := range b {
			a[k] = v + (v-a[k])*w
		}
	}
}

// The method distance() returns the largest component of the estimated error of a step H,
// divided by the permitted error, which is the tolerance times the argument part. The
// estimate is the larger of T_{j,j} − T_{j,j−1} and, for the explicit rule, the
// difference between the results with and without smoothing. For smooth f the difference
// due to smoothing is much smaller. If f is not smooth, for example f = −sign(x), all
// rows may agree to the last bit on a wrong result, but the results with and without
// smoothing do not agree.
func (e *integration) distance(j int, H, part float64) float64 {
	var largest float64
	for k, dx := range e.tab[0] {
		largest = max(largest, e.peak[k], math.Abs(e.x[k]+dx))
	}
	// In a component that begins at zero and has terms that cancel, such as the second
	// velocity of a double pendulum released from rest, rounding errors exceed any
	// relative tolerance. Such errors are recognised because they do not decrease from
	// row to row.
	rounding := 0.0
	if e.rule.family == explicit && e.set.Absolute == nil && j > 1 {
		rounding = 16 * epsilon * H * vector.MaxAbs(e.f0)
	}
	var dist float64
	for k, dx := range e.tab[0] {
		err := math.Abs(dx - e.tab[1][k])
		if e.rule.family == explicit {
			err = max(err, math.Abs(dx-e.smooth[0][k]))
		}
		stays := err > e.before[k]/4
		e.before[k] = err
		if stays && err < rounding && math.Abs(e.x[k]) < 1e-6*largest {
			continue
		}
		if err == 0 { // even in a component that has been zero so far
			continue
		}
		size := e.size(k, max(math.Abs(e.x[k]), math.Abs(e.x[k]+dx)), largest)
		unit := part * max(e.set.permitted(k, size), 1e-15*size)
		// The time at which an input makes a component nonzero is known only to within a
		// few units in its last place. Therefore the component is uncertain shortly after
		// that time.
		if e.leaves(k, H, shortest) {
			unit = max(unit, math.Abs(dx)+math.Abs(e.tab[1][k])+math.Abs(e.smooth[0][k]))
		} else if since := e.t - e.left[k] + H; since > 0 {
			unit = max(unit, shortest*ulp(e.t)/since*size)
		}
		// Even in the shortest step, the relative error of the increment is not less than
		// the working precision.
		dist = max(dist, err/(unit+0x1p-50*math.Abs(dx)+math.SmallestNonzeroFloat64))
	}
	return dist
}

// The method size() returns the size of component k to which errors are relative: its
// absolute value x or, without an absolute tolerance, a number that is not zero unless
// all states are zero. The argument largest is the largest absolute value of all
// components.
func (e *integration) size(k int, x, largest float64) float64 {
	if e.set.Absolute == nil {
		// The size of a component that has been zero so far must be derived from the
		// other components.
		x = max(x, 1e-6*e.peak[k], e.set.Relative*largest)
	}
	return x
}

// The constant epsilon is the distance between 1 and the next larger floating-point
// number.
const epsilon = 0x1p-52

// The constant shortest is a step length, in units in the last place of t. In steps up to
// this length, any increment of a component that has been zero is accepted: there is no
// size with which its error could be compared, and the time of a kink or jump of f is not
// known more accurately.
const shortest = 16

// The method leaves() reports whether component k has been zero so far and the length of
// step H is no more than the given number of units in the last place of t.
func (e *integration) leaves(k int, H, units float64) bool {
	return e.peak[k] == 0 && e.x[k] == 0 && H <= units*ulp(e.t)
}

// The method advance() takes a step of length H with the increment tab[0].
func (e *integration) advance(H float64) {
	for k, dx := range e.tab[0] {
		if dx != 0 && e.leaves(k, H, 1<<20) {
			e.left[k] = e.t
		}
		e.x[k], e.low[k] = twoSum(e.x[k], e.low[k]+dx)
		e.peak[k] = max(e.peak[k], math.Abs(e.x[k]))
	}
	e.t, e.tLow = twoSum(e.t, e.tLow+H)
	e.steps++
	if e.rule.family == implicit {
		e.implicitOnes++
	}
	e.fresh = false
}

// twoSum returns the rounded sum of a and b and its rounding error (Knuth).
func twoSum(a, b float64) (sum, err float64) {
	sum = a + b
	v := sum - a
	return sum, (a - (sum - v)) + (b - v)
}

// The function short() formats the first elements of x.
func short(x []float64) string {
	const most = 8
	if len(x) > most {
		return fmt.Sprintf("%.4g… (%d elements)", x[:most], len(x))
	}
	return fmt.Sprintf("%.4g", x)
}

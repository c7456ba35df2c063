package reference

import (
	"errors"
	"math"

	"github.com/probode/probode/pkg/internal/progress"
	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/field"
	"github.com/probode/probode/pkg/probode/internal/pole"
	"github.com/probode/probode/pkg/probode/internal/trigger"
	"github.com/probode/probode/pkg/probode/internal/vector"
	"github.com/probode/probode/pkg/probode/linalg"
)

// The problem is integrated twice, and the results are compared. The type `integration`
// holds the data of one of the two integrations. The state is stored as x + low, in twice
// the working precision. All other computations use the increments over a step, which are
// small compared with x. Therefore even the accumulated rounding errors of many steps are
// not larger than the rounding errors in the arguments of f.
type integration struct {
	problem *probode.Problem // as it was given
	p       *probode.Problem // problem with calls that stay in the window, count, and stop
	theta   []float64
	set     Settings // with the tolerance of this integration
	second  bool     // integration 1, the accurate one

	window field.Window // of p
	stop   *progress.Stop
	evals  int

	t, tLow float64
	end     float64 // of the segment between events
	x, low  []float64
	peak    []float64 // largest |x| so far
	scale   []float64 // of components that are too small to be compared with others; otherwise 0
	noise   []float64 // rounding errors of f
	left    []float64 // the time at which each component left zero (see leaves), or −∞
	f0      []float64 // f(t, x)
	fresh   bool      // f0, and the Jacobian for the implicit rule, belong to (t, x)
	before  []float64 // errors that distance has found for the row before
	divided bool      // the last step was the first of the two parts of a step
	nudge   []float64 // factors of the arguments of f; nil for none

	guard    *pole.Guard    // of the poles; nil if there are none
	triggers *trigger.Watch // of the events with a Trigger; nil if there are none
	shown    []float64      // the states that were stored last, all for the same time
	shownAt  float64        // this time

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
	short        int // steps in succession that are short compared with t
	implicitOnes int
}

// A rule holds an extrapolation method, and the data that control its order and step
// length.
type rule struct {
	family  family
	n       []int     // numbers of substeps of the rows
	work    []float64 // work for all rows up to row j, in calls of f
	k       int       // the row that is expected to converge
	natural float64   // the step that accuracy permits; 0 if it is not known
	renew   float64   // the time up to which natural was measured
	best    []float64 // the best step for row j
	cost    []float64 // work divided by the step

	linear // for the implicit rule
}

func newRule(f family, n []int, run int) *rule {
	// The first row is omitted in the more accurate integration. The two integrations
	// therefore differ even if output times determine the steps of both.
	n = n[run:]
	return &rule{family: f, n: n, k: (len(n) - 1) / 2,
		work: make([]float64, len(n)), best: make([]float64, len(n)), cost: make([]float64, len(n))}
}

// linear holds the workspace of the linearly implicit rule.
type linear struct {
	fj    *field.Linearizer
	jac   *linalg.Matrix
	lu    *linalg.LU
	ft    []float64 // ∂f/∂t, if f depends on t
	delta []float64
}

// stiffness holds the data for deciding whether to switch between the explicit and the
// implicit rule.
type stiffness struct {
	rho   float64 // of the last explicit step
	hits  int     // grows with recent steps that gave a reason
	since int     // steps since the last change of family
	wait  int     // steps before the next trial
	trial bool    // the current family is on trial
	rate  float64 // rate of the other family
	bad   int     // rejected steps since the last accepted one
}

var errStopped = errors.New("stopped")

// A stuckError reports that the steps became too short or too numerous.
type stuckError string

func (e stuckError) Error() string { return string(e) }

// eval evaluates the right-hand side at (t + dt, x + dx), and writes the result to the
// argument f.
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

// epsilon is the distance between 1 and the next larger floating-point number.
const epsilon = 0x1p-52

// shortest is the maximum length of a very short step, in units in the last place of t.
// In a very short step, a component that has been zero so far may change by any amount.
// The relative error of a zero component is not defined. Rounding errors make the time of
// a kink or jump of f uncertain by about the length of a very short step.
const shortest = 16

// leaves reports whether two conditions hold: component k has been zero so far, and the
// step length H is at most `units` times ulp(t).
func (e *integration) leaves(k int, H, units float64) bool {
	return e.peak[k] == 0 && e.x[k] == 0 && H <= units*ulp(e.t)
}

// twoSum returns the sum of a and b, and the rounding error of the sum (Knuth).
func twoSum(a, b float64) (sum, err float64) {
	sum = a + b
	v := sum - a
	return sum, (a - (sum - v)) + (b - v)
}

// ulp returns the distance between |t| and the next larger floating-point number.
func ulp(t float64) float64 { return math.Nextafter(math.Abs(t), math.Inf(1)) - math.Abs(t) }

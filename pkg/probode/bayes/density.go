package bayes

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime/debug"

	"github.com/probode/probode/pkg/internal/text"
	"github.com/probode/probode/pkg/probode"
)

// A Density evaluates the density of a Posterior with the solver of the Posterior's
// Setup. A Density holds a path for each experiment, the states of the last solve, and
// the expected values of the data for these states. Only one goroutine may use a Density;
// see Clone. Evaluations on a fixed grid do not allocate memory.
//
// If a function of the model panics, the current solve and every later one fail: see Err.
type Density struct {
	p          *Posterior
	transforms []transform
	alpha      int // index of the parameter that is α, −1 if it is known
	parts      []*Part
	others     []*Density // made by With and Integrated
	noise      int        // total length of ξ for all experiments
	theta      []float64  // θ of the last LogPosterior
	terms      []float64  // log probabilities of the values that are not missing
	fit        []float64  // expected values of the data, by experiment, row and column
	*solveState
	at  *Part   // the part that is being evaluated
	ll  float64 // results of evaluate
	err error
}

// A solveState is shared by all densities of a chain: its steps, the first panic in a
// function of the model, and the context.
type solveState struct {
	ctx    context.Context // when it ends, solves are stopped
	bound  int             // number of calls of Bind
	broken bool            // a solve was stopped because the context had ended
	fault  error           // the panic of a function of the model
	work   int             // number of steps of the solvers
	failed func(theta []float64)
}

// A Part of a Density evaluates the likelihood of one experiment.
type Part struct {
	e      *Density
	number int         // index of the experiment
	x      *Experiment // as an Integral predicts it, if there is one
	dim    int         // number of states at each time
	path   probode.Path
	held   probode.Path    // replaces path while held; usually nil
	grid   probode.Gridded // path, if it has a grid
	noise  int             // length of its part of ξ
	state  []float64       // states at the times of the data
	param  []int           // index in θ of each element of the problem's θ, −1 if known
	theta  []float64       // θ of the problem
	fit    []float64       // view of Density.fit
	row0   int             // row of the data that is being evaluated
	pick   []int           // observed components, if x.Observe is nil
	errors []columnErrors  // the likelihood of each column
	back   *backwardPass   // the workspace of gradients; nil before the first
	differ *differ         // computes derivatives of Observe

	// done is the channel Done() of the context to which the solver is bound. Solve stops
	// when the solver's context is done.
	done    <-chan struct{}
	release func()
}

func (r *Part) on(path probode.Path) {
	r.path = path
	r.grid, _ = path.(probode.Gridded)
}

func (e *Density) setFit(fit []float64) {
	e.fit = fit
	for _, r := range e.parts {
		n := len(r.x.Data.T) * r.x.Data.columns()
		r.fit, fit = fit[:n:n], fit[n:]
	}
}

// Constrain converts the unconstrained parameters u to the natural scale, and writes them
// to theta. Constrain returns the log prior density of u, which includes the Jacobian of
// the transformation.
func (e *Density) Constrain(theta, u []float64) float64 {
	var lp float64
	for k, t := range e.transforms {
		var jacobian float64
		theta[k], jacobian = t.to(u[k])
		lp += jacobian + e.p.Params[k].Prior.LogProb(theta[k])
	}
	if math.IsNaN(lp) || math.IsInf(lp, 1) {
		// Far out in a tail, the sum can be −∞ + ∞, which is NaN. The sum is +∞ if θ was
		// rounded to an end of the support where the density is infinite. For example, θ
		// is rounded to the upper end of a bounded support for u > 37.4. A chain could
		// never leave a point with an infinite density. Constrain therefore returns −∞ if
		// the sum is NaN or +∞. The draws lack the probability mass of points that are
		// rounded to an end of the support (see Distribution.LogProb).
		return math.Inf(-1)
	}
	return lp
}

// Slopes writes the derivatives dθ/du to dst, where u are the unconstrained parameters.
func (e *Density) Slopes(dst, u []float64) {
	for k, t := range e.transforms {
		dst[k] = t.slope(u[k])
	}
}

// Unconstrain is the inverse of Constrain. Unconstrain returns an error if an element of
// theta is not inside the support of its prior.
func (e *Density) Unconstrain(u, theta []float64) error {
	for k, t := range e.transforms {
		u[k] = t.from(theta[k])
		if math.IsNaN(u[k]) || math.IsInf(u[k], 0) {
			return fmt.Errorf("bayes: %s = %g is not inside the support of its prior, (%g, %g)", e.p.Params[k].Name, theta[k], t.lo, t.hi)
		}
	}
	return nil
}

// PriorLogProb returns the log prior density of parameter k on the unconstrained scale,
// at the point u.
func (e *Density) PriorLogProb(k int, u float64) float64 {
	theta, jacobian := e.transforms[k].to(u)
	return jacobian + e.p.Params[k].Prior.LogProb(theta)
}

// PriorQuantile computes the quantile of parameter k's prior at the probability `prob`,
// and converts the quantile to the unconstrained scale.
func (e *Density) PriorQuantile(k int, prob float64) float64 {
	return e.transforms[k].from(e.p.Params[k].Prior.Quantile(prob))
}

// LogLikelihood solves the equations for (θ, ξ) and returns log p(Y | Z(θ, ξ)). After the
// call, Expected returns the expected values of the data. The length of xi is NoiseLen;
// nil means ξ = 0. If a solve fails, the log likelihood is −∞, and the returned error
// comes from the solver.
func (e *Density) LogLikelihood(theta, xi []float64) (float64, error) {
	return e.logLikelihood(e.parts, theta, xi, true)
}

// logLikelihood takes the ξ of the experiments one after another. Without `solve` it uses
// the stored states.
func (e *Density) logLikelihood(parts []*Part, theta, xi []float64, solve bool) (float64, error) {
	e.ll, e.err = math.Inf(-1), e.fault
	switch {
	case e.fault != nil:
	case e.ctx.Err() != nil: // without a solve, the loop over the data would not notice
		e.err, e.broken = context.Cause(e.ctx), true
	default:
		e.evaluate(parts, theta, xi, solve)
		e.report(theta)
	}
	return e.ll, e.err
}

// OnFailure lets f be called with θ whenever the equations cannot be solved at θ. It does
// not concern solves that were interrupted, or clones of e.
func (e *Density) OnFailure(f func(theta []float64)) { e.failed = f }

func (e *Density) report(theta []float64) {
	if e.err != nil && e.failed != nil && e.fault == nil && !e.broken {
		e.failed(theta)
	}
}

// evaluate stores its results where recovered can change them: return values that a
// deferred function changes would be allocated.
func (e *Density) evaluate(parts []*Part, theta, xi []float64, solve bool) {
	e.at = parts[0]
	defer e.recovered(theta)
	var sum float64
	for _, r := range parts {
		e.at = r
		if !solve {
			e.bind(r, theta)
		} else if xi, e.err = e.solve(r, theta, xi); e.err != nil {
			return
		}
		sum += r.logLikelihood(theta)
	}
	e.ll = sum
}

func (e *Density) recovered(theta []float64) {
	if v := recover(); v != nil {
		e.fault = fmt.Errorf("bayes: %s: %w%s", e.at.describe(theta), &probode.PanicError{Value: v, Stack: debug.Stack()}, text.Lacking(v, e.at.dim, len(theta)))
		e.err = e.fault
	}
}

func (r *Part) describe(theta []float64) string {
	d := r.dim
	n := min(r.row0, len(r.x.Data.T)-1)
	return fmt.Sprintf("in Observe, in a likelihood or in a prior, at t = %g, x = %.4g, theta = %.4g", r.x.Data.T[n], r.state[n*d:(n+1)*d], theta)
}

// Err returns an error that says which function of the model panicked, and where. The
// error wraps a [*probode.PanicError], which contains the stack trace. If no function
// panicked, Err returns nil.
func (e *Density) Err() error { return e.fault }

// Bind binds the density to ctx until the returned function `release` is called. While
// the density is bound to ctx, no evaluation begins after ctx is done, and each solution
// of the equations stops soon after ctx is done. Both return the error of ctx.
func (e *Density) Bind(ctx context.Context) (release func()) {
	before := e.ctx
	e.ctx, e.broken = ctx, false
	e.bound++
	mine := e.bound
	return func() {
		if e.bound == mine { // no later call has changed it
			e.ctx = before
		}
	}
}

// Interrupted reports whether any solve since the last call to Bind failed because the
// context ended.
func (e *Density) Interrupted() bool { return e.broken }

// Posterior returns the posterior whose density e evaluates.
func (e *Density) Posterior() *Posterior { return e.p }

// Dim returns the number of parameters θ.
func (e *Density) Dim() int { return len(e.p.Params) }

// NoiseLen returns the total length of ξ for all experiments.
func (e *Density) NoiseLen() int { return e.noise }

// Work returns the number of steps that the solvers have taken.
func (e *Density) Work() int { return e.work }

// Steps returns the number of steps that the solvers take to solve all equations once. If
// the number of steps depends on θ, Steps returns the number for θ = Posterior.GridAt.
func (e *Density) Steps() int {
	n := 0
	for _, r := range e.parts {
		if r.grid != nil {
			n += r.grid.Solver().Steps()
			continue
		}
		p, theta := r.path.Clone(), e.p.at(r.x)
		if e.p.Integral != nil { // its path takes the parameters of the model
			theta = r.theta
			copy(theta, e.p.GridAt)
		}
		_ = p.States(e.ctx, make([]float64, len(r.state)), theta, nil) // a failed solve counts the steps that it made
		n += max(1, p.Work())
	}
	return n
}

// Expected returns the expected values of the observations for the (θ, ξ) of the last
// call to LogLikelihood. The expected values are ordered by experiment, row and column.
// The next call to LogLikelihood overwrites the returned slice.
func (e *Density) Expected() []float64 { return e.fit }

// States returns the states of experiment i at its observation times, as computed by the
// last call to LogLikelihood. The result is a row-major matrix. The next call to
// LogLikelihood overwrites the returned slice.
func (e *Density) States(i int) []float64 { return e.parts[i].state }

// LogPosterior returns log p(Y | Z(θ, ξ)) + log p(u), where u are the unconstrained
// parameters and p(u) is their prior density. The result does not include the density of
// ξ, which is N(0, I). If the prior density is zero, the result is −∞, and the equations
// are not solved. If a solve fails, the error gives the reason.
func (e *Density) LogPosterior(u, xi []float64) (float64, error) {
	lp := e.Constrain(e.theta, u)
	if math.IsInf(lp, -1) {
		return lp, nil
	}
	ll, err := e.LogLikelihood(e.theta, xi)
	return lp + ll, err
}

// solve takes its noise from the beginning of xi, and returns the rest.
func (e *Density) solve(r *Part, theta, xi []float64) (rest []float64, err error) {
	e.bind(r, theta)
	var noise []float64
	if xi != nil && r.noise > 0 {
		noise, xi = xi[:r.noise], xi[r.noise:]
	}
	path := r.now()
	err = path.States(e.ctx, r.state, r.theta, noise)
	e.work += path.Work()
	return xi, e.note(err)
}

func (r *Part) now() probode.Path {
	if r.held != nil {
		return r.held
	}
	return r.path
}

// Hold makes each path a smooth function of the parameters near theta, until the returned
// function `release` is called. A path is a discontinuous function of θ if the solver
// chooses the steps separately for every θ. Hold fixes the steps, so that finite
// differences near theta approximate derivatives. If the equations cannot be solved at
// theta, Hold does not fix the steps.
func (e *Density) Hold(theta []float64) (release func()) {
	var held []*Part
	for _, r := range e.parts {
		e.bind(r, theta)
		if ok, _ := r.hold(); ok {
			held = append(held, r)
		}
	}
	if held == nil {
		return func() {} // does not allocate
	}
	return releaseAll(held)
}

// hold fixes the steps of the path of r at r.theta if they are chosen anew at every θ and
// not held yet, and reports whether it did.
func (r *Part) hold() (bool, error) {
	h, ok := r.path.(probode.Holdable)
	if !ok || r.held != nil {
		return false, nil
	}
	path, err := h.Hold(r.e.ctx, r.theta)
	if err != nil {
		return false, err
	}
	r.held = path
	return true, nil
}

func releaseAll(held []*Part) func() {
	return func() {
		for _, r := range held {
			r.held = nil
		}
	}
}

func (e *Density) note(err error) error {
	switch {
	case err == nil || errors.Is(err, probode.ErrDiverged): // this case is frequent, so it must not allocate
	case e.fault == nil && errors.As(err, new(*probode.PanicError)):
		e.fault = err
	case e.ctx.Err() != nil:
		e.broken = true
	}
	return err
}

func (e *Density) bind(r *Part, theta []float64) {
	for k, i := range r.param {
		if i >= 0 {
			r.theta[k] = theta[i]
		}
	}
	for _, l := range r.errors {
		for k, i := range l.param {
			if i >= 0 {
				l.own[k] = theta[i]
			}
		}
	}
	if e.alpha >= 0 && r.grid != nil {
		r.grid.Solver().SetAlpha(theta[e.alpha])
	}
}

// logLikelihood follows bind(r, theta) and the states.
func (r *Part) logLikelihood(theta []float64) float64 {
	var sum float64
	for n := range r.x.Data.T {
		r.row0 = n
		sum += r.row(n, theta)
	}
	return sum
}

func (r *Part) row(n int, theta []float64) float64 {
	d, c := r.dim, len(r.errors)
	state, fit := r.state[n*d:(n+1)*d], r.fit[n*c:(n+1)*c]
	if r.x.Observe != nil {
		r.x.Observe(fit, r.x.Data.T[n], state, theta)
	} else {
		for k, i := range r.pick {
			fit[k] = state[i]
		}
	}
	var sum float64
	for k, y := range r.x.Data.Y[n] {
		if !math.IsNaN(y) {
			sum += r.errors[k].LogProb(y, fit[k], r.errors[k].at(r.x.Data.T[n], fit))
		}
	}
	return sum
}

package probode

import (
	"errors"

	"github.com/probode/probode/pkg/probode/linalg"
)

// This file defines the interface that every method implements. Ensembles, calibration,
// samplers and assessments of the solver's error work with every Method, whether it
// belongs to this module or not.

// A Method solves initial value problems step by step. Its values are plain data.
type Method interface {
	// String returns a short name such as "AB2" or "AM1 (current)".
	String() string

	// Order returns the order q: on a smooth problem the global error of the classical
	// method is O(h^q).
	Order() int

	// Noise describes the random numbers used in a step in d dimensions.
	Noise(d int) Noise

	// Stepper returns a Stepper for the problem p on the grid g. A Stepper may use the
	// grid to compute coefficients in advance. An error says why the method cannot solve
	// p. In an error-controlled run the grid g grows with each step, and the length of
	// the last step is provisional until the step is accepted. If event times depend on
	// θ, the times of g move, but the ratios of step lengths within a segment do not
	// change.
	Stepper(p *Problem, g *Grid) (Stepper, error)
}

// Noise describes the random numbers used in a step, and how the size of the noise
// depends on the step.
type Noise struct {
	// Normals is the number of standard normal variates for each step. If Normals is
	// equal to the dimension of the state, each component of the state has its own
	// variate, in the order of the components.
	Normals int

	// Exponent is p in √α h^p, the scale of the noise in a step of length h.
	Exponent float64

	// Quiet is the number of steps without noise at the beginning of a path, as in the
	// start-up of a multistep method.
	Quiet int
}

// A Stepper takes the steps of a path, one after another. A Stepper has its own workspace
// and may store values from earlier steps, so it must not be used by two goroutines at
// the same time.
//
// The Stepper of a one-step method needs only the methods Start and Step. The interfaces
// below describe optional capabilities, which are used if a Stepper has them. Start and
// Step return errors such as ErrSingular or ErrNewton; the caller checks whether the
// state is finite.
type Stepper interface {
	// Start begins at grid point i in the state x, and discards the values stored from
	// earlier steps. Start is called at the beginning of each segment of the grid.
	Start(i int, x, theta []float64) error

	// Step writes the state at t[i+1] to dst, given the state x at t[i]. The argument
	// `xi` holds the normal variates of the step, and `scale` holds a factor for each
	// variate. For the classical method, `xi` is nil.
	Step(dst []float64, i int, x, theta, xi, scale []float64) error
}

// A Rememberer is a Stepper that stores values from earlier steps, as the Stepper of a
// multistep method does. A Stepper that uses only the current state can continue at any
// grid point, and need not be a Rememberer.
type Rememberer interface {
	Stepper
	// Memory returns the length of the slice that Save fills.
	Memory() int
	// Save writes to dst all stored values on which later steps depend.
	Save(dst []float64)
	// Restore reads what Save has written, so that the Stepper can continue at grid point
	// i.
	Restore(i int, src []float64)
}

// An Estimator is a Stepper that can estimate its local error. Under error control, a
// Stepper that stores values from earlier steps must be an Estimator. The local error of
// a one-step method can also be estimated by step doubling.
type Estimator interface {
	Stepper
	// LocalError writes to dst an estimate of the error of each component in the last
	// step. The last step was step i, taken without noise from the state x to the state
	// `next`.
	LocalError(dst []float64, i int, x, next, theta []float64) error
}

// A Chooser is an Estimator that chooses the lengths of its own steps under error
// control. If the method has several orders, the Chooser also chooses the order of each
// step, as variable-order codes do. The grid of the run stores the order of each step:
// see Grid.Order. Paths on this grid use the stored orders, so Z is smooth in θ. When a
// Chooser is created, the grid of the run is still empty. If a Stepper is not a Chooser,
// the controller chooses the lengths of its steps.
type Chooser interface {
	Estimator
	// Choose is called after step i, which began in the state given to Step and ended in
	// the state `next`. The argument `size` is the local error of the step in units of
	// the tolerance. If `size` is at most 1, the step is accepted. If `size` is +Inf, the
	// step failed. The function units() converts any estimate of the local errors to
	// units of the tolerance. Choose recommends a length for the next step or, if step i
	// is rejected, for the next attempt. The result is the recommended length divided by
	// the length of step i. After a failed step the result is ignored, and the step is
	// repeated with an eighth of its length.
	Choose(i int, size float64, next []float64, units func(local []float64) float64) (factor float64)
	// Chosen returns the order of the last step, or 0 if the method has only one order.
	Chosen() int
}

// A Runner is a Stepper that can take many steps of a segment in one call, which is
// faster than one call for each step.
type Runner interface {
	Stepper
	// Run computes the steps of the path z from step `from` to step `to` − 1. When Run is
	// called, row `from` of z holds the state at the beginning of step `from`. Run writes
	// the rows `from` + 1 to `to`. Row i of `xi` holds the n normal variates of step i.
	// For the classical method, `xi` is nil. The argument `scale` is the same for all
	// steps. The result is the index of the step that failed or, if none failed, one more
	// than the index of the last step.
	Run(z []float64, from, to int, theta, xi, scale []float64) (failed int, err error)
	// Runs reports whether Run can be used for this problem and grid.
	Runs() bool
}

// A Recaller is a Stepper that can compute its stored values from the states of a path
// without repeating the steps. The Stepper of a multistep method is an example.
// Solver.Stepper uses it.
type Recaller interface {
	Stepper
	// Recall computes and stores the values from earlier steps that step i of the path z
	// needs. The argument `from` is the grid point at which the segment begins.
	Recall(from, i int, z, theta []float64)
}

// An ImplicitStep describes the equation of a step of an implicit method: the residual
//
//	r(z) = Inv z − Known − f(T, z),
//
// its linearisation at Center, where f is FCenter and the Jacobian is J, and the
// resulting Mean of the next state. The noise of the step is (Inv I − J)⁻¹ J times the
// scaled normal variates.
type ImplicitStep struct {
	// T is the time at the end of the step. If the step ends at an event, T is one ulp
	// before the event, because F is not called at the time of an event.
	T   float64
	Inv float64
	// Solved is true if Mean solves r(z) = 0. If Solved is false, Mean solves the
	// equation linearised at Center.
	Solved                       bool
	Center, FCenter, Known, Mean []float64
	J                            *linalg.Matrix
	Forecast                     []float64 // the result of an explicit method
}

// An Implicit is a Stepper that gives access to the equations of its steps.
type Implicit interface {
	Stepper
	// Implicit stores in s the equation of step i, which begins in state x. Implicit
	// allocates the slices and the matrix of s if they are nil. The error is ErrStarting
	// for the first steps of a multistep method, which are explicit.
	Implicit(s *ImplicitStep, i int, x, theta []float64) error
}

// ErrStarting means that the step is one of the explicit steps with which a multistep
// method starts.
var ErrStarting = errors.New("the step is one of the first steps of the method, which are explicit")

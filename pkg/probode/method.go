package probode

import "errors"

// The seam. Whatever implements Method and Stepper, in this module or outside
// of it, has ensembles, calibration, every sampler and every judgement of the
// solver's error: nothing else in this package knows a method by its name.

// A Method solves initial value problems step by step. Methods are plain data.
type Method interface {
	// String returns a short name such as "AB2" or "AM1 (current)".
	String() string

	// Order returns the order q at which the global error of the classical
	// method vanishes on a smooth problem.
	Order() int

	// Noise says which randomness a step takes, in d dimensions.
	Noise(d int) Noise

	// Stepper returns a Stepper for p on g. It may look at the grid to
	// prepare coefficients; an error says why the method cannot solve p. Under
	// an error-controlled run g grows behind the point that was reached, and
	// its last step may change until it is accepted. Where event times depend
	// on θ the times of g move, the ratios of steps within a segment do not.
	Stepper(p *Problem, g *Grid) (Stepper, error)
}

// Noise says which randomness a step of a method takes, and how its size
// depends on the step.
type Noise struct {
	// Normals is the number of standard normals a step.
	Normals int

	// Exponent is p, for a scale of √α h^p in a step of length h.
	Exponent float64

	// Quiet is the number of steps at the beginning of a path that carry no
	// noise, as those in which a multistep method starts.
	Quiet int
}

// A Stepper makes the steps of one path after the other. It owns its workspace
// and what it knows of the past, and serves one goroutine.
//
// A Stepper that knows nothing of the past, as those of one-step methods, has
// these two methods and no more. The abilities below are used where they are
// present. Errors are those of a step: ErrSingular, ErrNewton or others; the
// caller looks whether the state is finite.
type Stepper interface {
	// Start begins at grid point i in the state x: what was known of the past
	// is forgotten. It is called at the beginning of each segment of the grid.
	Start(i int, x, theta []float64) error

	// Step writes the state at t[i+1] into dst, given the state x at t[i]. xi
	// holds the normals of the step and scale the factor of each; xi is nil
	// for the classical method.
	Step(dst []float64, i int, x, theta, xi, scale []float64) error
}

// A Rememberer is a Stepper that knows something of the past, as those of
// multistep methods do. A Stepper without these methods is taken to have no
// past, so that it can go on at any grid point.
type Rememberer interface {
	Stepper
	// Memory returns the length of what Save writes.
	Memory() int
	// Save writes everything that later steps depend on apart from their arguments.
	Save(dst []float64)
	// Restore takes it back, to go on at grid point i.
	Restore(i int, src []float64)
}

// An Estimator is a Stepper that can estimate its local error. Without it a
// method that remembers nothing is estimated by step doubling, and one that
// does cannot be run under error control.
type Estimator interface {
	Stepper
	// LocalError writes an estimate of the error in each component that the
	// last step has made into dst: step i, without noise, from x to next.
	LocalError(dst []float64, i int, x, next, theta []float64) error
}

// A Chooser is an Estimator that chooses the length of its steps under error
// control, and their orders if it has several, as variable-order codes do. The
// orders are frozen with the grid of the run, see Grid.Order, so that Z on it is
// as smooth as that of one order. When such a Stepper is made for a run its grid
// is still empty. Without it the controller chooses the lengths.
type Chooser interface {
	Estimator
	// Choose follows step i, made from the state that Step was called with to
	// next. size is its local error in units of the tolerance: up to 1 and the
	// step is accepted; +Inf is that of a step that could not be made. units
	// measures another estimate. Choose returns the factor by which the next step,
	// or the same one when it is made again, is to be longer; it is not asked for
	// one where a step could not be made, and is followed then by one of an eighth.
	Choose(i int, size float64, next []float64, units func(local []float64) float64) (factor float64)
	// Chosen returns the order of the step last made, 0 if the method has one.
	Chosen() int
}

// A Runner is a Stepper that makes many steps of a segment at once, for speed.
type Runner interface {
	Stepper
	// Run makes the steps from, …, to−1 of the path z, of which it holds the
	// row from, and writes the rows up to that of to. Row i of xi, of n
	// normals, drives step i; xi nil is the classical method. scale holds for
	// all of the steps. It returns the number of the step that failed.
	Run(z []float64, from, to int, theta, xi, scale []float64) (failed int, err error)
	// Runs reports whether Run serves this problem and grid.
	Runs() bool
}

// A Recaller is a Stepper whose past follows from the states, as that of
// multistep methods does, so that it need not make the steps of a path again to
// have its past. Solver.Stepper uses it.
type Recaller interface {
	Stepper
	// Recall takes on the past of the path z, as it is before step i, where
	// from is the grid point at which the segment begins.
	Recall(from, i int, z, theta []float64)
}

// An ImplicitStep is what a step of an implicit method looks like before it is
// made: the discrepancy
//
//	r(z) = Inv·z − Known − f(T, z),
//
// linearised at Center, where f is FCenter and its Jacobian J, and the Mean of
// the next state that follows. The noise of the step is (Inv·I − J)⁻¹ J times
// the scaled normals.
type ImplicitStep struct {
	// T is the end of the step or, if that is an event, one ulp before, which
	// is what F may see.
	T   float64
	Inv float64
	// Solved says that Mean solves r(z) = 0. Otherwise it solves the equation
	// that is linearised at Center.
	Solved                       bool
	Center, FCenter, Known, Mean []float64
	J                            *Matrix
	Forecast                     []float64 // the value of an explicit method
}

// An Implicit is a Stepper that shows its steps.
type Implicit interface {
	Stepper
	// Implicit writes step i from state x into s, whose slices and matrix are
	// made where they are nil. The error is ErrStarting for the explicit steps
	// in which a multistep method starts.
	Implicit(s *ImplicitStep, i int, x, theta []float64) error
}

// ErrStarting: a step of an implicit method is one of those in which it starts.
var ErrStarting = errors.New("the step is one of those in which the method starts, and explicit")

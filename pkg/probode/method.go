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

	// Stepper returns a Stepper for the problem p. The argument g is the grid of the
	// paths, or nil in an error-controlled run, whose steps are not known in advance. If
	// event times depend on θ, every solve moves the times of g. An error says why the
	// method cannot solve p.
	Stepper(p *Problem, g *Grid) (*Stepper, error)
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

// A Step is one step of a path.
type Step struct {
	T, End float64 // the times at which the step begins and ends
	H      float64 // its length End − T, which is the same number for all steps of a uniform grid
	Order  int     // the order, or the number of the formula, that an error-controlled run has chosen for the step; 0 if none
	Index  int     // the number of steps and events of the path before this step

	X, Next []float64 // the states at its beginning and at its end
	Theta   []float64
	// Xi holds the normal variates of the step, and Scale a factor for each of them. For a
	// step without noise both are nil.
	Xi, Scale []float64

	// Permitted holds the local error that is permitted in each component, if the state at
	// the end needs to be no more accurate than the tolerance: in the runs of Adaptive. An
	// implicit method may then stop its iteration at a small fraction of Permitted, and
	// begin with a Jacobian of an earlier step of the segment; if it does, it sets Rough. If
	// Permitted is nil, the state must be a smooth function of θ and ξ, so equations must be
	// solved up to rounding errors: a path on a grid is differentiated, and its noise may be
	// as small as the local errors.
	Permitted []float64
	Rough     bool
}

// A Stepper takes the steps of a path, one after another. Its functions say what it can
// do: all but Step may be nil. A one-step method needs only Step. A Stepper may store
// values from earlier steps and has a workspace, so it must not be used by two goroutines
// at the same time. A method that changes another method copies the Stepper of that
// method and replaces some of its functions.
//
// The functions return errors such as ErrSingular or ErrNewton; the caller checks whether
// the state is finite.
type Stepper struct {
	// Start begins a segment of the path, before its first step s, and discards the values
	// stored from earlier steps. In an error-controlled run End and H are zero, because the
	// length of the step is not known; if the run chooses orders, Start sets s.Order to
	// that of the first step.
	Start func(s *Step) error

	// Step writes the state at s.End to s.Next, given the state s.X at s.T. Under error
	// control it may be called again with the same T and an earlier End, after Restore if
	// there is Memory.
	Step func(s *Step) error

	// Memory is the number of values from earlier steps on which later steps depend, 0 for
	// a one-step method. Save writes them to dst, and Restore reads what Save has written.
	Memory  int
	Save    func(dst []float64)
	Restore func(src []float64)

	// LocalError writes to dst an estimate of the error of each component in s, which was
	// the last step and had no noise. Under error control, a Stepper with Memory must have
	// LocalError. If a one-step method has none, step doubling takes its place.
	LocalError func(dst []float64, s *Step) error

	// Choose chooses the lengths of the steps under error control, and the orders if there
	// are several. It is called after the step s, whose local error is size in units of the
	// tolerance: if size is at most 1, the step was accepted, and if it is +Inf, the step
	// failed. The function units converts any estimate of the local errors of s to units of
	// the tolerance. The results are the length of the next step or attempt, divided by
	// that of s, or 0 if the run is to choose it, and its order, or 0. After a failed step
	// the factor is ignored, and the step is repeated with an eighth of its length. The grid
	// of the run stores the orders, and paths of the same method on it use them, so Z is
	// smooth in θ. Without Choose, the run chooses the lengths.
	Choose func(s *Step, size float64, units func(local []float64) float64) (factor float64, order int)

	// Run takes many steps of a uniform grid in one call, which is faster than one call for
	// each step. The result is the number of steps taken before an error.
	Run func(r *Run) (taken int, err error)

	// Differentiate computes the derivative of s.Next along the directions in t, and
	// writes it to dnext as a row-major M×d matrix. When derivatives are computed, every
	// call of Step is followed by a call of Differentiate. Without it, derivatives are
	// central differences of whole paths.
	Differentiate func(dnext []float64, s *Step, t *Tangents) error

	// Reverse propagates gradients back through s. a.Next holds the gradient with respect to
	// s.Next; Reverse adds the contributions of the step to the gradients in the other
	// fields. Reverse is called for the steps of a segment from the last to the first, after
	// a call of Start for the first one. A multistep method keeps the gradients with respect
	// to earlier states, or to earlier values of f, until Reverse reaches the steps that
	// computed them. Without Reverse, the gradient with respect to θ is computed from
	// derivatives along each parameter, and there is none with respect to ξ.
	Reverse func(a *Adjoint, s *Step) error

	// Implicit stores the equation of s in e, and allocates the slices and the matrix of e
	// if they are nil. The error is ErrStarting for the explicit steps with which a
	// multistep method begins.
	Implicit func(e *ImplicitStep, s *Step) error
}

// A Run is a part of a path on a uniform grid, without events and without the steps that
// Noise.Quiet counts if there is noise of the method.
type Run struct {
	T     []float64 // the n+1 times at which its n steps begin and end
	H     float64   // the length of each step
	Z     []float64 // its states, row by row; the first row is known
	Theta []float64
	Xi    []float64 // the normal variates of each step, row by row; nil for no noise of the method
	Scale []float64 // the factors of the normal variates, the same for all steps
	Added []float64 // noise that is added to the state after each step, row by row; may be nil
}

// An ImplicitStep describes the equation of a step of an implicit method: the residual
//
//	r(z) = Inv z − Known − f(t, z),   t = Step.End,
//
// its linearisation at Center, where f is FCenter and the Jacobian is J, and the
// resulting Mean of the next state. The noise of the step is (Inv I − J)⁻¹ J times the
// scaled normal variates.
type ImplicitStep struct {
	Inv float64
	// Solved is true if Mean solves r(z) = 0. If Solved is false, Mean solves the
	// equation linearised at Center.
	Solved                       bool
	Center, FCenter, Known, Mean []float64
	J                            *linalg.Matrix
	Forecast                     []float64 // the result of an explicit method
}

// ErrStarting means that the step is one of the explicit steps with which a multistep
// method starts.
var ErrStarting = errors.New("the step is one of the first steps of the method, which are explicit")

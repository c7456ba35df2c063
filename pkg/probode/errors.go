package probode

import (
	"errors"
	"fmt"
	"runtime/debug"

	"github.com/probode/probode/pkg/internal/text"
)

// The following errors can occur in a step of a solver. The messages of these errors
// suggest what to try.
var (
	// ErrDiverged means that the state is NaN, infinite or larger than TooLarge.
	ErrDiverged = errors.New("the path diverges: try a smaller step or, for a stiff problem, an implicit method")
	// ErrSingular means that the matrix of an implicit step, (hβ₋₁)⁻¹I − J, has no
	// inverse.
	ErrSingular = errors.New("the matrix of the implicit step is singular: try a smaller step")
	// ErrNewton means that Newton's method for the implicit equation did not converge.
	ErrNewton = errors.New("no convergence of Newton's method: try a smaller step")
	// ErrField means that F or its Jacobian is NaN or infinite at a finite state.
	ErrField = errors.New("f is not finite")
	// ErrEnds means that there is no solution up to the end of the time span, so that no solver
	// can go on: under error control, it runs away or becomes infinite however short the steps
	// are.
	ErrEnds = errors.New("the solution ends within the time span")
	// ErrParameter means that a parameter is NaN or infinite.
	ErrParameter = errors.New("a parameter is not a finite number")
	// ErrStart means that the initial state is NaN, infinite or extremely large.
	ErrStart = errors.New("the initial state is not finite")
	// errStretched means that a segment of the grid is much longer at this θ than at the
	// θ for which the grid was made.
	errStretched = errors.New("the event times are too far from those for which the grid was made: make the grid at another θ, or with smaller steps")
)

// An ended says in which way a solution ends. It is an ErrEnds.
type ended string

func (e ended) Error() string      { return string(e) }
func (ended) Is(target error) bool { return target == ErrEnds }

// A PanicError reports a panic in a function that the user supplied, such as a function
// of the problem, a likelihood or a progress hook. The message of a PanicError is one
// line. Stack holds the full stack trace. To get the PanicError from an error, use
// [errors.As].
type PanicError struct {
	Value any
	Stack []byte
}

func (e *PanicError) Error() string { return text.Panic(e.Value, e.Stack) }

func stack() []byte { return debug.Stack() }

// recovered converts a panic in a function of the problem into an error. The argument t
// is a pointer because the time may change before the panic.
func (p *Problem) recovered(err *error, t *float64, x, theta []float64) {
	if v := recover(); v != nil {
		*err = fmt.Errorf("%s: at t = %g, x = %s, theta = %s: %w%s", p.Title(), *t, text.Vector(x), text.Vector(theta), &PanicError{v, stack()}, text.Lacking(v, p.Dim(), len(theta)))
	}
}

// Package field computes derivatives of the right-hand side f(t, x; θ) of a differential
// equation. It belongs below package probode, whose function Problem.Field returns the
// Field of a problem.
package field

import (
	"fmt"
	"math"

	"github.com/probode/probode/pkg/internal/memory"
	"github.com/probode/probode/pkg/probode/internal/pole"
	"github.com/probode/probode/pkg/probode/internal/vector"
	"github.com/probode/probode/pkg/probode/linalg"
)

// A Field is f with its derivatives. The functions are those of a probode.Problem, where
// they are described; all but F may be nil.
type Field struct {
	F        func(dst []float64, t float64, x, theta []float64)
	FJ       func(f, jac []float64, t float64, x, theta []float64)
	FTheta   func(dst []float64, t float64, x, theta []float64)
	Pullback func(dx, dtheta, lambda []float64, t float64, x, theta []float64) (dt float64)

	Dim, Params  int  // the lengths of x and θ
	Banded       bool // the Jacobian is a band of the given widths
	Lower, Upper int
	Autonomous   bool    // f does not depend on t
	Length       float64 // of the time span; the unit for increments of t

	Window   *Window      // the times at which F may be called; nil for all times
	Replaced *Replacement // takes note of infinite derivatives; may be nil
}

// A Window is an interval of times, which changes from step to step. It belongs to the
// Field that Wrapped has made with it.
type Window struct {
	Interval
	params int // number of parameters of Left and Right
}

// An Interval is the part of the span between two events. From and To are the first and
// the last time at which F may be called. If the time of the event at one of the ends
// depends on θ, the function Left or Right computes it.
type Interval struct {
	From, To    float64
	Left, Right func(theta []float64) float64
}

// move sets the ends of the interval to those for the given θ.
func (w *Window) move(theta []float64) {
	if w.Left != nil {
		w.From = math.Nextafter(w.Left(theta[:w.params:w.params]), math.Inf(1))
	}
	if w.Right != nil {
		w.To = math.Nextafter(w.Right(theta[:w.params:w.params]), math.Inf(-1))
	}
}

// A Wrap changes how the functions of a Field are called. The functions get the first
// parameters only, as many as the Field has.
type Wrap struct {
	// Window, if not nil, holds the times with which the functions may be called. Any other
	// time is replaced by the nearest end.
	Window *Window
	// More is the number of further parameters. If Factor is true, f is multiplied by the
	// first of them. A Field with a Factor has a workspace, so it must not be used by two
	// goroutines at the same time.
	More   int
	Factor bool
	// Guard, if not nil, watches F: see pole.Guard.
	Guard *pole.Guard
	// Before, if not nil, is called before every call of F and FJ. If it returns false, f is
	// not computed, and its first component becomes NaN.
	Before func() bool
}

// Wrapped returns a Field whose functions call those of f in the way that w says.
func (f *Field) Wrapped(w Wrap) *Field {
	q, n, now := *f, f.Params, w.Window
	q.Params += w.More
	if now != nil {
		q.Window, now.params = now, n
	}
	var value, lambdas []float64
	if w.Factor {
		value, lambdas = make([]float64, f.Dim), make([]float64, f.Dim)
	}
	if f.F != nil {
		q.F = w.Guard.Watch(func(dst []float64, t float64, x, theta []float64) {
			if w.Before != nil && !w.Before() {
				dst[0] = math.NaN()
				return
			}
			if f.F(dst, now.nearest(t), x, theta[:n:n]); w.Factor {
				multiply(dst, theta[n])
			}
		})
	}
	if f.FJ != nil {
		q.FJ = func(dst, jac []float64, t float64, x, theta []float64) {
			if w.Before != nil && !w.Before() {
				dst[0] = math.NaN()
				return
			}
			if f.FJ(dst, jac, now.nearest(t), x, theta[:n:n]); w.Factor {
				multiply(dst, theta[n])
				multiply(jac, theta[n])
			}
		}
	}
	if f.FTheta != nil {
		q.FTheta = func(dst []float64, t float64, x, theta []float64) {
			t = now.nearest(t)
			f.FTheta(dst[:n*f.Dim], t, x, theta[:n:n])
			if Widen(dst, n, q.Params); w.Factor {
				multiply(dst, theta[n])
				f.F(value, t, x, theta[:n:n])
				for i, v := range value {
					dst[i*q.Params+n] = v
				}
			}
		}
	}
	if f.Pullback != nil {
		q.Pullback = func(dx, dtheta, lambda []float64, t float64, x, theta []float64) float64 {
			t = now.nearest(t)
			if !w.Factor {
				return f.Pullback(dx, dtheta[:n:n], lambda, t, x, theta[:n:n])
			}
			for k, v := range lambda {
				lambdas[k] = theta[n] * v
			}
			dt := f.Pullback(dx, dtheta[:n:n], lambdas, t, x, theta[:n:n])
			if dt == dt {
				f.F(value, t, x, theta[:n:n])
				dtheta[n] += vector.Dot(lambda, value)
			}
			return dt
		}
	}
	return &q
}

// nearest returns the time in the window that is nearest to t.
func (w *Window) nearest(t float64) float64 {
	if w == nil {
		return t
	}
	return min(max(t, w.From), w.To)
}

func multiply(v []float64, c float64) {
	for k := range v {
		v[k] *= c
	}
}

// Widen turns the rows of length n at the beginning of dst into rows of length all, which
// fill dst. The additional elements are zero.
func Widen(dst []float64, n, all int) {
	if n == all {
		return
	}
	for i := len(dst)/all - 1; i >= 0; i-- {
		row := dst[i*all : (i+1)*all]
		copy(row, dst[i*n:(i+1)*n])
		clear(row[n:])
	}
}

// The relative increments at which the rounding error of a difference is about as large as
// its truncation error: ε^{1/3} for a central difference, ε^{1/2} for a one-sided one.
const (
	Central  = 6.055454452393343e-06
	oneSided = 1.4901161193847656e-08
)

// NewJacobian returns a matrix of zeros for ∂f/∂x.
func (f *Field) NewJacobian() *linalg.Matrix {
	if f.Banded {
		return linalg.NewBanded(f.Dim, f.Lower, f.Upper)
	}
	return linalg.NewDense(f.Dim)
}

// CheckDense returns an error if ∂f/∂x has more than 4096² elements, with which one step of
// an implicit method takes many seconds, or if the given number of d×d matrices needs more
// memory than there is. Elements outside the band are not counted. An implicit method calls
// CheckDense before it allocates its matrices.
func (f *Field) CheckDense(matrices int) error {
	const most = 4096 * 4096
	d, width := f.Dim, min(f.Dim, f.Lower+f.Upper+1)
	if float64(d)*float64(width) > most {
		return fmt.Errorf("a Jacobian of %d × %d elements is too large for an implicit method: use an explicit method such as dp5, or set a narrow Band if the Jacobian is banded", d, width)
	}
	if f.Banded {
		return nil
	}
	if err := memory.Check(fmt.Sprintf("a dense Jacobian in %d dimensions", d), d, d, matrices); err != nil {
		return fmt.Errorf("%w: give Band if it is banded", err)
	}
	return nil
}

// timeSlope writes ∂f/∂t to dst. The contents of the slice `value` are overwritten.
func (f *Field) timeSlope(dst, value []float64, t float64, x, theta []float64) {
	clear(dst)
	f.timeDifference(Central, t, func(c, t float64) {
		f.F(value, t, x, theta)
		vector.AddScaled(dst, c, value)
	})
}

// timeDifference calls at with the coefficients and the times of a second-order finite
// difference. The step of the difference is h = increment·(|t| + span/100). The
// difference is central if t − h and t + h lie inside the window, and one-sided
// otherwise.
func (f *Field) timeDifference(increment, t float64, at func(c, t float64)) {
	h := increment * (math.Abs(t) + 1e-2*f.Length)
	from, to := math.Inf(-1), math.Inf(1)
	if f.Window != nil {
		from, to = f.Window.From, f.Window.To
	}
	t = min(max(t, from), to)
	if t-h >= from && t+h <= to {
		width := (t + h) - (t - h)
		at(1/width, t+h)
		at(-1/width, t-h)
		return
	}
	if t+2*h > to {
		h = -h
	}
	h = (t + h) - t
	at(2/h, t+h)
	at(-0.5/h, t+2*h)
	at(-1.5/h, t)
}

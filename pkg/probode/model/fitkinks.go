package model

import (
	"fmt"
	"math"

	"github.com/probode/probode/pkg/probode/internal/kinks"
)

// What Fit does where the likelihood has kinks.

const (
	// promised is the gain in log-likelihood below which a search ends, and short what
	// an optimum may be short of.
	promised, short = 1e-8, 1e-6
	// met is the residual, in units of the noise scale, at which a measurement is met.
	met = 1e-6
)

// A steep is −log-likelihood as a function of the values on the scales.
type steep struct {
	*search
	l     *Likelihood
	value *Value // the last
}

// Value is kinks.Function's.
func (s *steep) Value(x []float64) (float64, []float64) {
	s.evaluations++
	var err error
	if s.value, err = s.l.At(s.ctx, s.linear(x), true); err != nil {
		s.failed = err
		return math.Inf(1), nil
	}
	var u []float64
	for i := range s.value.Experiments {
		u = append(u, s.value.Experiments[i].bend.U...)
	}
	return -s.value.LogLikelihood, u
}

// Expand is kinks.Function's.
func (s *steep) Expand(x []float64) *kinks.Point {
	b, theta := newBend(len(x)), s.linear(x)
	for i := range s.value.Experiments {
		b.join(s.value.Experiments[i].bend)
	}
	slope := make([]float64, len(x))
	for i, j := range s.rough.free {
		slope[i] = s.boxes[i].scale.slope(theta[j])
	}
	b.rescale(slope)
	return &b.Point
}

// linear returns all parameters, linear.
func (f *search) linear(x []float64) []float64 {
	theta := f.rough.Nominal()
	for i, j := range f.rough.free {
		theta[j] = f.boxes[i].scale.linear(x[i])
	}
	return theta
}

// kinked ends what run has begun at z.
func (f *search) kinked(o *Optimum, z []float64) {
	x, lower, upper, closed := make([]float64, len(z)), make([]float64, len(z)), make([]float64, len(z)), make([]int, len(z))
	for i := range z {
		b := &f.boxes[i]
		x[i], _ = b.value(z[i])
		lower[i], upper[i] = b.low, b.high
	}
	// The kinks of the accurate solution are elsewhere, by the error of the other.
	left := f.set.Iterations
	var s *kinks.Search
	var by *steep
	for _, l := range []*Likelihood{f.rough, f.fine} {
		s = nil
		enough := short
		if l == f.fine {
			enough = promised
		}
		by = &steep{search: f, l: l}
		if value, _ := by.Value(x); !math.IsInf(value, 0) {
			s = kinks.NewSearch(x, value, by.Expand(x))
			s.Lower, s.Upper = lower, upper
			for ; left > 0 && f.ctx.Err() == nil && !s.Step(by, enough); left-- {
				o.Iterations++
			}
			x = s.X
		}
		if o.Err = f.ctx.Err(); o.Err == nil && s == nil {
			o.Err = f.failed
		}
		if o.Err != nil {
			return
		}
	}
	for i := range x {
		switch b := &f.boxes[i]; {
		case b.closed && x[i]-b.low < 1e-3*(b.high-b.low):
			closed[i] = -1
		case b.closed && b.high-x[i] < 1e-3*(b.high-b.low):
			closed[i] = 1
		}
	}
	o.Theta = f.linear(x)
	v, err := f.fine.At(f.ctx, o.Theta, false)
	if err != nil {
		o.Err = err
		return
	}
	o.Evaluations, o.LogLikelihood, o.Error = f.evaluations, v.LogLikelihood, v.Error
	o.Gradient, o.Kinks = s.Slope(met, closed)
	o.Converged = s.Left() < short
	switch {
	case !o.Converged && left == 0:
		o.Reason = "too many iterations: no optimum yet"
	case !o.Converged:
		o.Reason = "no progress: no optimum"
	case o.Kinks == 0:
		o.Reason = "optimum between kinks"
	case o.Kinks == 1:
		o.Reason = "optimum at 1 kink"
	default:
		o.Reason = fmt.Sprintf("optimum at %d kinks", o.Kinks)
	}
}

package model

import (
	"fmt"
	"math"

	"github.com/probode/probode/pkg/internal/text"
)

// A box is the range of one parameter. The coordinate of a search is θ or, if the scale of
// the parameter is logarithmic, ln θ. A change by the field `unit` is a typical change.
type box struct {
	scale      Scale
	on         Scale // of the coordinate: Lin or Log
	unit       float64
	low, high  float64 // bounds of the coordinate or ends of the support of its prior, ±∞ for none
	start      Prior
	closed     bool // both bounds are finite
	from, span float64
	drawn      *scalePrior // if not nil, the distribution of the starting points
	prior      *scalePrior // nil if it is not part of what is maximised
}

func newBox(q *Parameter, withPrior bool) (box, error) {
	b := box{scale: q.Scale, on: Lin, unit: 1, low: math.Inf(-1), high: math.Inf(1), start: q.start}
	if q.Scale != Lin {
		b.on = Log
	}
	if !math.IsNaN(q.Lower) {
		b.low = b.on.of(q.Lower)
	}
	if !math.IsNaN(q.Upper) {
		b.high = b.on.of(q.Upper)
	}
	b.closed = b.low-b.low == 0 && b.high-b.high == 0
	var prior *scalePrior
	width := 0. // of the central 90 % interval of the prior
	if q.Prior.Type != "" && (withPrior || !b.closed) {
		d, err := newScalePrior(q)
		if err != nil {
			return b, err
		}
		prior = &d
	}
	if withPrior {
		b.prior = prior
	}
	if prior != nil && !b.closed {
		// A search never leaves the support of the prior, even if the objective does not
		// include the prior. For example, a standard deviation never becomes negative.
		b.low, b.high = max(b.low, b.on.of(prior.Quantile(0))), min(b.high, b.on.of(prior.Quantile(1)))
		width = prior.Quantile(0.95) - prior.Quantile(0.05)
	}
	at := b.on.of(q.Nominal)
	switch {
	case b.closed && !(b.low < b.high):
		return b, fmt.Errorf("parameter %s has the bounds %g and %g: want a lower bound less than the upper bound", text.Clip(q.ID), q.Lower, q.Upper)
	case b.closed:
		b.from, b.span = b.low, b.high-b.low
	case b.start.Type == "" && at-at == 0:
		// If a parameter lacks a bound, searches begin near its nominal value.
		b.from, b.span = at-b.scale.slope(1), 2*b.scale.slope(1)
		if q.Scale == Lin {
			b.from, b.span = at-math.Abs(at)-0.1, 2*math.Abs(at)+0.2
		}
	case b.start.Type == "" && prior != nil:
		b.drawn = prior
	case b.start.Type == "":
		return b, fmt.Errorf("the searches have no starting value for parameter %s: want two bounds, a prior or a nominal value", text.Clip(q.ID))
	}
	switch {
	case q.Scale != Lin:
		b.unit = math.Ln10
	case q.Scale == Lin && width > 0 && !math.IsInf(width, 1):
		// The unit is derived from the width of the prior and not from the nominal value,
		// which may be 0.
		b.unit = width / 4
	case q.Scale == Lin && b.span > 0:
		b.unit = b.span / 4
	}
	return b, nil
}

// Distinct reports whether the values a and b of the parameter, both on the linear scale,
// belong to different optima. Two searches that end at the same optimum find slightly
// different values. The values count as distinct only if they differ by more than 1 %. On
// the linear scale, they must also differ by more than 0.003 units of the search
// coordinate (see Optimum.Slope).
func (q *Parameter) Distinct(a, b float64) bool {
	least := 0.01 * math.Max(math.Abs(a), math.Abs(b))
	if q.Scale == Lin {
		// An optimum may be zero. At the end of a converged search, the objective can
		// rise by at most about 10⁻⁶, so the end is within 0.0015 standard deviations of
		// the optimum. The ends of two converged searches therefore differ by at most
		// 0.003 standard deviations.
		box, _ := newBox(q, false)
		least = math.Max(least, 3e-3*box.unit)
	}
	return math.Abs(a-b) > least
}

// at returns a coordinate of a starting point: the u-quantile of the distribution from
// which starting points are drawn. If the parameter has two finite bounds, the result
// lies strictly between them. If the parameter does not have two finite bounds, a value
// outside its range is reflected at the nearer end of the range.
func (b *box) at(u float64) float64 {
	v := b.from + b.span*u
	if f := familyNamed(b.start.Type); f.name != "" {
		if v = f.of(b.start.A, b.start.B).Quantile(u); f.on != "" {
			v = b.on.of(f.on.linear(v))
		} else {
			v *= b.scale.slope(1)
		}
	}
	if b.drawn != nil {
		v = b.on.of(b.drawn.Quantile(u))
	}
	if !b.closed {
		if v < b.low {
			v = 2*b.low - v
		}
		if v > b.high {
			v = 2*b.high - v
		}
		return min(max(v, b.low), b.high)
	}
	if v != v {
		v = b.low
	}
	inside := 1e-3 * (b.high - b.low)
	return min(max(v, b.low+inside), b.high-inside)
}

func (b *box) linear(x float64) float64 { return b.on.linear(x) }

func (b *box) logPrior(v float64) float64 {
	if b.prior == nil {
		return 0
	}
	if !(v >= b.prior.Min && v <= b.prior.Max) {
		return math.Inf(-1)
	}
	return b.prior.Of.LogProb(b.prior.On.of(v))
}

// A fitPrior is the prior of one parameter in a search. Without box.prior it is flat on
// the scale of the search.
type fitPrior struct {
	flat
	box *box
}

func (f fitPrior) LogProb(x float64) float64 { return f.flat.LogProb(x) + f.box.logPrior(x) }

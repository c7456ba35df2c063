package model

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/probode/probode/pkg/internal/text"
	"github.com/probode/probode/pkg/probode/bayes"
)

// A ScalePrior is a distribution of the value on a scale, cut off outside of
// [Min, Max], which are linear, as a distribution of the linear value:
//
//	log p(θ) = log q(g(θ)) + log g′(θ) − log(Q(g(Max)) − Q(g(Min))).
type ScalePrior struct {
	Of interface {
		bayes.Distribution
		CDF(x float64) float64
	}
	On       Scale
	Min, Max float64 // ±Inf where it is not cut off; ≥ 0 for Log and Log10
}

func newScalePrior(q *Param) (ScalePrior, error) {
	d := ScalePrior{On: Lin, Min: q.Lower, Max: q.Upper}
	if math.IsNaN(d.Min) {
		d.Min = math.Inf(-1)
	}
	if math.IsNaN(d.Max) {
		d.Max = math.Inf(1)
	}
	a, b := q.Prior.A, q.Prior.B
	kind := q.Prior.Type
	switch kind {
	case "":
		if math.IsInf(d.Min, 0) || math.IsInf(d.Max, 0) || q.Scale != Lin && !(d.Min > 0) {
			return d, fmt.Errorf("parameter %s has neither a prior nor bounds, finite and > 0 on a logarithmic scale: want one of them for a posterior", text.Clip(q.ID))
		}
		kind, a, b, d.On = "uniform", q.Scale.Of(d.Min), q.Scale.Of(d.Max), q.Scale
	case "parameterScaleUniform", "parameterScaleNormal", "parameterScaleLaplace":
		d.On = q.Scale
	case "logNormal", "logLaplace":
		d.On = Log
	}
	if d.On != Lin || q.Scale != Lin {
		d.Min = max(d.Min, 0)
	}
	switch kind {
	case "uniform", "parameterScaleUniform":
		d.Of = distuv.Uniform{Min: a, Max: b}
	case "normal", "parameterScaleNormal", "logNormal":
		d.Of = distuv.Normal{Mu: a, Sigma: b}
	case "laplace", "parameterScaleLaplace", "logLaplace":
		d.Of = laplace{distuv.Laplace{Mu: a, Scale: b}}
	default:
		return d, fmt.Errorf("parameter %s: prior %s is not known", text.Clip(q.ID), text.Clip(kind))
	}
	if low, high := d.Quantile(0), d.Quantile(1); !(low < high) || !(d.mass() > 0) {
		return d, fmt.Errorf("parameter %s: nothing of its prior is between its bounds, %g and %g", text.Clip(q.ID), q.Lower, q.Upper)
	}
	return d, nil
}

// laplace has the quantiles of 0 and 1, which gonum's panics at or gets wrong
// by rounding.
type laplace struct{ distuv.Laplace }

func (l laplace) Quantile(p float64) float64 {
	switch p {
	case 0:
		return math.Inf(-1)
	case 1:
		return math.Inf(1)
	}
	return l.Laplace.Quantile(p)
}

func (d ScalePrior) mass() float64 { return d.Of.CDF(d.On.Of(d.Max)) - d.Of.CDF(d.On.Of(d.Min)) }

// LogProb returns the log density of the linear value x.
func (d ScalePrior) LogProb(x float64) float64 {
	if !(x >= d.Min && x <= d.Max) || d.On != Lin && !(x > 0) {
		return math.Inf(-1)
	}
	return d.Of.LogProb(d.On.Of(x)) - math.Log(d.On.slope(x)) - math.Log(d.mass())
}

// Quantile returns the linear value below which the probability p lies.
func (d ScalePrior) Quantile(p float64) float64 {
	switch p {
	case 0:
		return max(d.Min, d.On.linear(d.Of.Quantile(0)))
	case 1:
		return min(d.Max, d.On.linear(d.Of.Quantile(1)))
	}
	a, b := d.Of.CDF(d.On.Of(d.Min)), d.Of.CDF(d.On.Of(d.Max))
	return min(max(d.On.linear(d.Of.Quantile(a+p*(b-a))), d.Min), d.Max)
}

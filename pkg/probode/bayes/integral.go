package bayes

import (
	"context"
	"fmt"
	"math"

	"github.com/probode/probode/pkg/probode"
)

// An Integral is a likelihood in which the uncertain solution is integrated out: a
// function of θ alone, such as marginal.Fenrir. It is a product of predictive densities,
// one for each data value, and of a factor for each experiment. Every search for modes
// and every sampler of θ takes a Posterior with an Integral.
type Integral interface {
	String() string

	// Bind returns a Path that predicts the data of experiment i, at the values of all
	// parameters of the model. Each row of its States belongs to a row of the data, with
	// c columns: c centres of the predictive densities, c standard deviations, and the
	// logarithm of the factor, divided by the number of values that are not missing in
	// the experiment. A predictive density is Gaussian or, for log-normal errors,
	// log-normal; its centre is then the median, and the standard deviation is that of
	// the logarithm. The density d belongs to the Path. It is that of the posterior
	// without the Integral.
	Bind(ctx context.Context, d *Density, i int) (probode.Path, error)
}

// Integrated returns the density of the same posterior with the likelihood `by`. In other
// respects Integrated is like With.
func (e *Density) Integrated(by Integral) (*Density, error) {
	p := *e.p
	p.Integral = by
	return e.as(&p)
}

// predicted returns x as an Integral predicts it. The additional columns, whose values
// are all missing, hold the standard deviations and the logarithm of the factor.
func (x *Experiment) predicted() *Experiment {
	const factor = "logarithm of the factor"
	c := x.Data.columns()
	out := &Experiment{Name: x.Name, Problem: x.Problem, Data: &Data{T: x.Data.T, Time: x.Data.Time}}
	var sds []string
	for k := range c {
		sd := fmt.Sprintf("predictive sd of column %d", k+1)
		var of SlopedLikelihood = Gaussian{Sigma: Unknown(sd)}
		if _, ok := x.errors(k).(LogNormal); ok {
			of = LogNormal{Sigma: Unknown(sd)}
		}
		out.Data.Names, sds = append(out.Data.Names, fmt.Sprintf("column %d", k+1)), append(sds, sd)
		out.Errors = append(out.Errors, predictive{of, Unknown(factor)})
	}
	out.Data.Names = append(append(out.Data.Names, sds...), factor)
	for range c + 1 {
		out.Errors = append(out.Errors, Gaussian{Sigma: Known(1)}) // of missing values
	}
	for _, y := range x.Data.Y {
		row := append(make([]float64, 0, 2*c+1), y...)
		for len(row) < 2*c+1 {
			row = append(row, math.NaN())
		}
		out.Data.Y = append(out.Data.Y, row)
	}
	return out
}

// predictive multiplies the density of a value by the exponential of the last element of
// Own, its share of the factor of an Integral.
type predictive struct {
	SlopedLikelihood
	share Value
}

func (l predictive) Own() []Value { return append(l.SlopedLikelihood.Own(), l.share) }

func (l predictive) Describe() Description { return Description{Of: l} }

func (l predictive) LogProb(y, m float64, own []float64) float64 {
	return l.SlopedLikelihood.LogProb(y, m, own) + own[1]
}

func (l predictive) Slope(dst []float64, y, m float64, own []float64) {
	l.SlopedLikelihood.Slope(dst, y, m, own)
	dst[2] = 1
}

// Information is that of the density without the factor, which does not depend on y.
func (l predictive) Information(dst []float64, m float64, own []float64) bool {
	var of [4]float64
	ok := l.SlopedLikelihood.(Informer).Information(of[:], m, own)
	clear(dst)
	copy(dst, of[:2])
	copy(dst[3:], of[2:])
	return ok
}

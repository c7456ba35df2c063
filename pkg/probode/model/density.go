package model

import (
	"fmt"
	"math"
	"sync"

	"github.com/probode/probode/pkg/internal/text"
	"github.com/probode/probode/pkg/probode/bayes"
	"github.com/probode/probode/pkg/probode/model/internal/expr"
)

// A formula is the formula of rows and those of their distribution, as programs.
type formula struct {
	value *program             // of all of them
	slope func() *program      // of their derivatives for states and free parameters, all of the first first
	of    bayes.Differentiable // the distribution of the rows
}

// newFormula returns the programs of a row; free are the parameters for which
// it is differentiated.
func newFormula(r *Row, inputs, states, free []string) (f formula, err error) {
	all := r.formulas()
	f.of = r.Distribution.known(r.Scale)
	if f.value, err = newProgram(inputs, all); err != nil {
		return f, err
	}
	f.slope = sync.OnceValue(func() *program {
		var slopes []*expr.Node
		zero := expr.Num(0)
		for _, row := range expr.Jacobian(all, append(append([]string(nil), states...), free...)) {
			for _, n := range row {
				if n == nil {
					n = zero
				}
				slopes = append(slopes, n)
			}
		}
		p, err := newProgram(inputs, slopes)
		if err != nil {
			panic(fmt.Sprintf("model: %v", err)) // the formulas themselves could be compiled
		}
		return p
	})
	return f, nil
}

// An ImpossibleError says that a model gives a measurement no density: noise
// that is not positive, the logarithm of a number that is not, or what is not
// finite.
type ImpossibleError struct {
	Model, Condition, Observable string
	Time                         float64
	What                         string
}

func (e *ImpossibleError) Error() string {
	at := e.Model
	if e.Condition != "" {
		at += ", condition " + text.Clip(e.Condition)
	}
	return fmt.Sprintf("%s: %s at time %g: %s", text.Clip(at), text.Clip(e.Observable), e.Time, e.What)
}

// impossible says why a row has no density where its formula gives m and those of its
// distribution own, "" if it has one.
func (r *Row) impossible(m float64, own []float64) string {
	for _, s := range own {
		if !(s > 0) || math.IsInf(s, 1) {
			return fmt.Sprintf("the noise is %g: want a positive number", s)
		}
	}
	switch {
	case m-m != 0:
		return fmt.Sprintf("the model gives %g: want a finite number", m)
	case r.Scale != Lin && !(m > 0):
		return fmt.Sprintf("the model gives %g: want a positive number for scale %s", m, r.Scale)
	case r.Distribution.counts() && !(m > 0 || m == 0 && r.Value == 0):
		return fmt.Sprintf("the model expects %g of a count: want a positive number", m)
	}
	return ""
}

// spread returns the size of the errors around m: the number of the distribution that is a
// standard deviation or scale, or the standard deviation of counts.
func (r *Row) spread(m float64, own []float64) float64 {
	switch r.Distribution {
	case Poisson:
		return math.Sqrt(m)
	case NegativeBinomial:
		return math.Sqrt(m + m*m/own[0])
	}
	return own[len(own)-1]
}

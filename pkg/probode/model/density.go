package model

import (
	"fmt"
	"math"
	"sync"

	"github.com/probode/probode/pkg/internal/text"
	"github.com/probode/probode/pkg/probode/model/expr"
)

// logDensity returns the log-density of a measurement y where its formula gives
// f and its noise formula s, and its derivatives for f and s. With g(y) = y,
// ln y or log₁₀ y, as Scale says, and r = g(y) − g(f) it is
//
//	−ln(2π s²)/2 − r²/(2s²) + ln g′(y)   normal,
//	−ln(2s) − |r|/s + ln g′(y)           Laplace.
//
// The derivative of |r| at 0 is taken to be 0.
func (r *Row) logDensity(f, s float64) (l, df, ds float64) {
	gy, gf, slope, jacobian := r.Value, f, 1., 0.
	switch r.Scale {
	case Log:
		gy, gf, slope, jacobian = math.Log(r.Value), math.Log(f), 1/f, -math.Log(r.Value)
	case Log10:
		gy, gf, slope, jacobian = math.Log10(r.Value), math.Log10(f), 1/(f*math.Ln10), -math.Log(r.Value*math.Ln10)
	}
	d := gy - gf
	if r.Distribution == Laplace {
		l = -math.Log(2*s) - math.Abs(d)/s + jacobian
		sign := 0.
		if d != 0 {
			sign = math.Copysign(1, d)
		}
		return l, sign / s * slope, -1/s + math.Abs(d)/(s*s)
	}
	z := d / s
	return -math.Log(2*math.Pi)/2 - math.Log(s) - z*z/2 + jacobian, z / s * slope, (z*z - 1) / s
}

// A formula is the formula and the noise formula of rows, as programs.
type formula struct {
	value *program        // of the two
	slope func() *program // of their derivatives for states and free parameters, all of the first first
}

// newFormula returns the programs of a row; free are the parameters for which
// it is differentiated.
func newFormula(r *Row, inputs, states, free []string) (f formula, err error) {
	both := []*expr.Node{r.Formula, r.Noise}
	if f.value, err = newProgram(inputs, both); err != nil {
		return f, err
	}
	f.slope = sync.OnceValue(func() *program {
		var slopes []*expr.Node
		zero := expr.Num(0)
		for _, row := range expr.Jacobian(both, append(append([]string(nil), states...), free...)) {
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

// impossible says why a row has no density, "" if it has one.
func (r *Row) impossible(f, s float64) string {
	switch {
	case !(s > 0) || math.IsInf(s, 1):
		return fmt.Sprintf("the noise is %g: want a positive number", s)
	case f-f != 0:
		return fmt.Sprintf("the model gives %g: want a finite number", f)
	case r.Scale != Lin && !(f > 0):
		return fmt.Sprintf("the model gives %g: want a positive number for scale %s", f, r.Scale)
	}
	return ""
}

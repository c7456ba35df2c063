package model

import (
	"context"
	"math"
	"strings"
	"testing"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/adams"
	"github.com/probode/probode/pkg/probode/methods"
	"github.com/probode/probode/pkg/probode/model/internal/expr"
)

// With equal steps of backward Euler the solution of the decay has a closed form, and so
// have the loss and D.
func TestLosses(t *testing.T) {
	p := decay(t)
	m := p.Models[0]
	m.Events = nil
	theta := p.Nominal()
	k, x0, sigma := theta[0], theta[1], theta[3]
	euler := adams.Moulton{}
	const h = 0.25
	right, losses, err := p.Losses(context.Background(), theta, []LikelihoodSettings{
		{Method: euler, StepSize: h}, {Tolerance: probode.Tolerance{Relative: 1e-12}}, {Method: methods.Radau{}, StepSize: 1e-2},
	})
	if err != nil {
		t.Fatal(err)
	}
	var loss, d2 float64
	for _, row := range m.Data {
		exact, coarse := x0*math.Exp(-k*row.Time), x0*math.Pow(1+h*k, -row.Time/h)
		loss += ((row.Value-exact)*(row.Value-exact) - (row.Value-coarse)*(row.Value-coarse)) / (2 * sigma * sigma)
		d2 += (coarse - exact) * (coarse - exact) / (sigma * sigma)
	}
	if l := losses[0]; l.Err != nil || math.Abs(l.Loss-loss) > 1e-7 || math.Abs(l.D-math.Sqrt(d2)) > 1e-7 || l.LogLikelihood != right.LogLikelihood+l.Loss {
		t.Errorf("%+v: want the loss %v and D %v", l, loss, math.Sqrt(d2))
	}
	// The error of Radau, h⁵, is 1e-10.
	for _, l := range losses[1:] {
		if l.Err != nil || math.Abs(l.Loss) > 1e-7 || l.D > 1e-7 {
			t.Errorf("%+v: want next to no loss", l)
		}
	}
	for _, bad := range []LikelihoodSettings{{StepSize: -1}, {StepSize: math.Inf(1)}, {MaxStep: math.NaN()}, {StepSize: 1, MaxStep: 1}, {StepSize: 1, Tolerance: probode.Tolerance{Relative: 1e-3}}} {
		if _, _, err := p.Losses(context.Background(), theta, []LikelihoodSettings{bad}); err == nil || strings.Contains(err.Error(), "\n") {
			t.Errorf("%+v: %v", bad, err)
		}
	}
}

// A pulse of width 0.02 at time 7.7, in a span of 10, is found with the bound on the
// steps. Without the bound it is missed, without any error.
func TestMaxStep(t *testing.T) {
	p := decay(t)
	m := p.Models[0]
	rate, err := expr.Parse(expr.Names{}, "-k*x + 100*exp(-((time-7.7)/0.02)^2)")
	if err != nil {
		t.Fatal(err)
	}
	m.Events, m.States[0].Rate = nil, rate
	m.Data = append(m.Data[:0], Observation{Observable: "y", Time: 10, Value: 0.2})
	theta := p.Nominal()
	loose := probode.Tolerance{Relative: 1e-3, Absolute: []float64{0.01}}
	right, losses, err := p.Losses(context.Background(), theta, []LikelihoodSettings{
		{Tolerance: loose}, {Tolerance: loose, MaxStep: math.Inf(1)}, {Tolerance: loose, MaxStep: 0.05},
	})
	if err != nil {
		t.Fatal(err)
	}
	k, x0 := theta[0], theta[1]
	pulse := 100 * 0.02 * math.Sqrt(math.Pi) * math.Exp(-(10-7.7)*k+(0.02*k/2)*(0.02*k/2))
	if got, want := right.Instances[0].Simulated[0], x0*math.Exp(-10*k)+pulse; math.Abs(got-want) > 1e-8*want {
		t.Errorf("x(10) = %v: want %v", got, want)
	}
	// Steps of at most 0.078 and 0.05 find it. The tolerance allows errors of 0.1.
	if losses[0].D > 0.1 || losses[2].D > 0.1 {
		t.Errorf("D = %v and %v: want next to none", losses[0].D, losses[2].D)
	}
	if want := pulse / theta[3]; math.Abs(losses[1].D-want) > 0.1 {
		t.Errorf("D = %v without a bound: want %v, the pulse missed", losses[1].D, want)
	}
}

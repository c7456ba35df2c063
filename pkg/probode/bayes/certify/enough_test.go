package certify_test

import (
	"context"
	"math"
	"strings"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/bayes"
	"github.com/probode/probode/pkg/probode/bayes/certify"
	"github.com/probode/probode/pkg/probode/methods"
)

// On the linear model the shifts are the same at every draw, so that the step found
// is the largest whose certificate holds, to the last factor of the search, 2^(1/8).
func TestLargestEnoughStep(t *testing.T) {
	p := linearModel(bayes.Known(0.2))
	modes := [][]float64{{0.5, 1}}
	e, err := certify.LargestEnough(context.Background(), p, certify.EnoughSettings{Settings: certify.Settings{Modes: modes}, Number: 20})
	if err != nil {
		t.Fatal(err)
	}
	if !e.Found || e.Draws != 21 || e.Lost != 0 {
		t.Fatalf("%+v", e)
	}
	worst := func(h float64) (w float64) {
		c, err := certify.Run(context.Background(), withStep(p, h), certify.Settings{Modes: modes})
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range c.Modes[0].Shift {
			w = max(w, math.Abs(s))
		}
		return w
	}
	h := e.StepSize
	if at := worst(h); math.Abs(at-e.At.Shift) > 1e-4 || at >= 0.1 {
		t.Errorf("h = %g: shift %g, the certificate says %g", h, e.At.Shift, at)
	}
	// A tenth further the error of order one is a tenth larger, but the grid is
	// a whole number of steps.
	if at := worst(h * 1.25); at < 0.1 {
		t.Errorf("h = %g was found, but %g is enough, too: shift %g", h, 1.25*h, at)
	}
}

// Tolerances of an explicit and of a stiff driver, whose grids change with θ.
func TestLargestEnoughTolerance(t *testing.T) {
	p := linearModel(bayes.Known(0.2))
	for _, m := range []probode.Method{methods.RungeKutta{Tableau: methods.DormandPrince}, methods.Radau{}} {
		e, err := certify.LargestEnough(context.Background(), p.SolvedBy(controlled(m, probode.Tolerance{Relative: 1e-3, Absolute: []float64{1e-4}})), certify.EnoughSettings{
			Settings:  certify.Settings{Modes: [][]float64{{0.5, 1}}},
			Threshold: 1e-3, Number: 10})
		if err != nil {
			t.Fatal(err)
		}
		if !e.Found || math.Abs(e.Tolerance.Absolute[0]/e.Tolerance.Relative-0.1) > 1e-12 || !(e.At.D < 1e-3) {
			t.Errorf("%v: %+v", m, e)
		}
		for _, l := range e.Levels {
			if l.Size < e.Tolerance.Relative && !l.Enough {
				t.Errorf("%v: %g found, but %g is not enough: D = %g", m, e.Tolerance.Relative, l.Size, l.D)
			}
		}
	}
}

// What is enough is certified, too, where a larger step cuts off a part of the posterior
// that few draws around the mode reach.
func TestLargestEnoughAwayFromTheMode(t *testing.T) {
	p := washout(distuv.LogNormal{Mu: 1, Sigma: 1}, 0.5)
	e, err := certify.LargestEnough(context.Background(), p, certify.EnoughSettings{Settings: certify.Settings{Modes: [][]float64{{2.05}}}, Number: 20})
	if err != nil {
		t.Fatal(err)
	}
	if !e.Found || !certificate(t, withStep(p, e.StepSize)).Certified(0.1) || certificate(t, withStep(p, 2*e.StepSize)).Certified(0.1) {
		t.Errorf("%v", e)
	}
}

// For y′ = −k y the RK4 method multiplies y by R(kh) in each step, with R(z) = 1 − z + z²/2
// − z³/6 + z⁴/24. There are two values of k with the same R, so the posterior of the solver
// has a second mode, near k = 2.75/h, which the reference does not have. The shift at the
// first mode is far below the threshold at every step size. The second mode is beyond the
// prior's bound of 5 if h = 0.4, but not if h is 0.8 or more. The mode is found on another
// scale than that of k, and moves by less than a fiftieth.
func TestLargestEnoughHasNoPhantom(t *testing.T) {
	times := []float64{1.6, 3.2, 4.8, 6.4, 8}
	p := plane(distuv.Uniform{Min: 0.01, Max: 5}, func(f []float64, _ float64, x, th []float64) { f[0] = -th[0] * x[0] },
		[]float64{10}, times, []float64{6.1, 3.9, 2.2, 1.5, 0.7}, bayes.Gaussian{Sigma: bayes.Known(0.2)}, methods.RungeKutta{}, 1)
	e, err := certify.LargestEnough(context.Background(), p, certify.EnoughSettings{Settings: certify.Settings{Seed: 1}})
	if err != nil {
		t.Fatal(err)
	}
	if !e.Found || e.StepSize != 0.4 || len(e.Levels) < 4 {
		t.Fatalf("%+v: want a step of 0.4", e)
	}
	r := func(z float64) float64 { return 1 + z*(-1+z*(0.5+z*(-1.0/6+z/24))) }
	for i, h := range []float64{1.6, 0.8} {
		low, high := 1.6, 3.0 // R has its minimum near 1.6
		for range 60 {
			if mid := (low + high) / 2; r(mid) < r(0.31*h) {
				low = mid
			} else {
				high = mid
			}
		}
		l := e.Levels[i]
		if l.Size != h || l.Enough || !(l.Shift < 0.1) || l.Phantom == nil || math.Abs(l.Phantom[0]*h/low-1) > 0.02 {
			t.Errorf("%+v: want a phantom near %g", l, low/h)
		}
	}
	if text := e.String(); !strings.Contains(text, "that the reference posterior does not have") {
		t.Error(text)
	}
}

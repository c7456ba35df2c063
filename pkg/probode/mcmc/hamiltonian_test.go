package mcmc_test

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"reflect"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/probode/probode/pkg/probode/mcmc"
	"github.com/probode/probode/pkg/probode/mcmc/diag"
)

// bent is a target in 2 + rest coordinates, of which the first two are described. Under it
// a ~ N(3, 2²), b | a ~ N(a²/10, 1), and the others are N(0, 1), except that the first of
// them has the mean a/5.
func bent(grad, x []float64) (float64, error) {
	a, b, c := (x[0]-3)/2, x[1]-x[0]*x[0]/10, x[2]-x[0]/5
	if grad != nil {
		clear(grad)
		grad[0] = -a/2 + b*x[0]/5 + c/5
		grad[1] = -b
		grad[2] = -c + x[2] // with respect to N(0, I)
	}
	return -(a*a+b*b+c*c)/2 + x[2]*x[2]/2, nil
}

func hamiltonianRun(t *testing.T, target mcmc.GradientDensity, precision float64, s mcmc.Settings) *mcmc.Chains {
	t.Helper()
	s.Start = func(_ int, rng *rand.Rand) []float64 {
		x := make([]float64, 30)
		for i := range x {
			x[i] = rng.NormFloat64()
		}
		return x
	}
	s.BurnIn = 300
	c, err := mcmc.Run(context.Background(), func(int) mcmc.Kernel {
		return &mcmc.Hamiltonian{Target: target, BurnIn: s.BurnIn, Mean: []float64{2, 1}, Learned: 1,
			Information: mat.NewSymDense(2, []float64{precision, 0, 0, 1})}
	}, s)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// The mean and the standard deviation of a, b, c and a coordinate of the rest are those of
// the closed form, with guesses of the standard deviation of a that are right, and wrong by
// a factor of 3: 16 checks of 4.5 standard errors, a false alarm in 1.1e-4.
func TestHamiltonianMoments(t *testing.T) {
	// E b = E a²/10 = 1.3; var b = 1 + var(a²)/100, where var(a²) = 2·2⁴ + 4·3²·2².
	mean := []float64{3, 1.3, 0.6, 0}
	sd := []float64{2, math.Sqrt(1 + 1.76), math.Sqrt(1 + 4./25), 1}
	for _, precision := range []float64{1. / 4, 9. / 4} {
		c := hamiltonianRun(t, bent, precision, mcmc.Settings{Draws: 4000, Seed: 3})
		summary := c.Summary()
		for k := range mean {
			m := summary[k]
			if z := (m.Mean - mean[k]) / m.MCSE; !(math.Abs(z) < 4.5) {
				t.Errorf("precision %g: mean %d is %g, want %g: %.1f standard errors", precision, k, m.Mean, mean[k], z)
			}
			x := make([][]float64, len(c.Draws))
			for i, draws := range c.Draws {
				for _, d := range draws {
					x[i] = append(x[i], d[k])
				}
			}
			if z := (m.SD - sd[k]) / diag.MCSESD(x); !(math.Abs(z) < 4.5) {
				t.Errorf("precision %g: sd %d is %g, want %g: %.1f standard errors", precision, k, m.SD, sd[k], z)
			}
			if m.BulkESS < 1000 {
				t.Errorf("precision %g: coordinate %d has %.0f effective draws of 16000", precision, k, m.BulkESS)
			}
		}
	}
}

// The draws do not depend on the number of workers. Paths that leave the region in which
// the target can be evaluated are rejected and counted, and no draw is outside.
func TestHamiltonianFailures(t *testing.T) {
	half := func(grad, x []float64) (float64, error) {
		if x[0] < 3 {
			return 0, errors.New("no solution")
		}
		return bent(grad, x)
	}
	s := mcmc.Settings{Draws: 300, Seed: 5}
	s.Workers = 1
	run := func() *mcmc.Chains {
		s.Start = nil
		return hamiltonianRun(t, func(grad, x []float64) (float64, error) {
			y := append([]float64(nil), x...)
			y[0] += 6 // the starts are inside
			return half(grad, y)
		}, 1./4, s)
	}
	one := run()
	s.Workers = 2
	if two := run(); !reflect.DeepEqual(one.Draws, two.Draws) {
		t.Error("the draws depend on the number of workers")
	}
	failed := 0
	for i, draws := range one.Draws {
		failed += one.Stats[i].Failed
		for _, d := range draws {
			if d[0] < -3 {
				t.Fatalf("a draw at %g, where the target cannot be evaluated", d[0])
			}
		}
	}
	if failed == 0 {
		t.Error("no path failed")
	}
}

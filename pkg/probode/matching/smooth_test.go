package matching_test

import (
	"context"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/bayes"
	"github.com/probode/probode/pkg/probode/matching"
)

// With a large weight, the fit of x′ = −θx is that of the solution to the data, for which
// the smallest sum of squares is found here by a fine scan.
func TestSmoothBecomesLeastSquares(t *testing.T) {
	p := &probode.Problem{Name: "decay", Params: []string{"rate"}, X0: []float64{1}, Theta: []float64{1}, Span: [2]float64{0, 3},
		F: func(f []float64, _ float64, x, theta []float64) { f[0] = -theta[0] * x[0] }}
	data := &bayes.Data{}
	rng := rand.New(rand.NewPCG(3, 3))
	for i := range 13 {
		at := float64(i) / 4
		data.T, data.Y = append(data.T, at), append(data.Y, []float64{2*math.Exp(-0.8*at) + 0.05*rng.NormFloat64()})
	}
	// The initial value is free: it is linear in the data.
	best, want := math.Inf(1), 0.0
	for rate := 0.6; rate < 1; rate += 1e-5 {
		var yz, zz, sum float64
		for i, at := range data.T {
			z := math.Exp(-rate * at)
			yz, zz = yz+data.Y[i][0]*z, zz+z*z
		}
		for i, at := range data.T {
			r := data.Y[i][0] - yz/zz*math.Exp(-rate*at)
			sum += r * r
		}
		if sum < best {
			best, want = sum, rate
		}
	}
	m := bayes.Model{Experiments: []bayes.Experiment{{Problem: p, Data: data, Errors: []bayes.Likelihood{bayes.Gaussian{Sigma: bayes.Known(0.05)}}}}}
	var last float64
	for _, lambda := range []float64{1e2, 1e4, 1e8} {
		got, err := matching.Smooth(context.Background(), m, matching.SmoothSettings{Lambda: lambda})
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("λ = %g: rate %.5f, misfit %.5f; least squares: %.5f, %.5f", lambda, got.Theta[0], got.Misfit, want, best/0.0025)
		last = got.Theta[0]
	}
	if math.Abs(last-want) > 1e-4 {
		t.Errorf("with a large weight the rate is %.5f: want %.5f", last, want)
	}
}

// The parameters of FitzHugh and Nagumo are found from a start at which least squares of
// solutions would have to cross other minima.
func TestSmoothFitzHughNagumo(t *testing.T) {
	m := fitzHughNagumo(t, 0.05)
	got, err := matching.Smooth(context.Background(), m, matching.SmoothSettings{Lambda: 1e4, Start: []float64{0.5, 0.5, 1.5}})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("θ = %.4f, misfit %.1f of %d data", got.Theta, got.Misfit, 82)
	for k, want := range []float64{0.2, 0.2, 3} {
		// The bias of λ = 10⁴ and the standard error are each about 0.01.
		if math.Abs(got.Theta[k]-want) > 0.03 {
			t.Errorf("θ%d is %.4f: want %g", k+1, got.Theta[k], want)
		}
	}
	x := make([]float64, 2)
	got.States(x, 3.3)
	if got.States(x, 20); math.Abs(x[0]-m.Experiments[0].Data.Y[40][0]) > 0.3 {
		t.Errorf("V(20) = %.3f, and the datum is %.3f", x[0], m.Experiments[0].Data.Y[40][0])
	}
}

// With noisier data and a larger penalty the first spline is far from a solution.
func TestSmoothLargePenalty(t *testing.T) {
	got, err := matching.Smooth(context.Background(), fitzHughNagumo(t, 0.2), matching.SmoothSettings{Lambda: 1e5})
	if err != nil || math.Abs(got.Theta[2]-3) > 0.1 { // several standard errors
		t.Errorf("%+v, %v: want θ3 near 3", got, err)
	}
}

// The equation is not finite at the start, or nowhere near any θ.
func TestSmoothSaysThatNothingFits(t *testing.T) {
	p := &probode.Problem{Name: "undefined", Params: []string{"rate"}, X0: []float64{1}, Theta: []float64{1}, Span: [2]float64{0, 3},
		F: func(f []float64, _ float64, x, theta []float64) { f[0] = math.Sqrt(-theta[0] * theta[0]) }}
	data := &bayes.Data{T: []float64{0, 1, 2, 3}, Y: [][]float64{{1}, {1}, {1}, {1}}}
	m := bayes.Model{Experiments: []bayes.Experiment{{Problem: p, Data: data, Errors: []bayes.Likelihood{bayes.Gaussian{Sigma: bayes.Known(0.05)}}}}}
	if got, err := matching.Smooth(context.Background(), m, matching.SmoothSettings{Lambda: 1}); err == nil {
		t.Errorf("the fit is %v: want an error", got)
	} else if strings.ContainsAny(err.Error(), "\n") || strings.Contains(err.Error(), "nil") {
		t.Errorf("the error is %q: want one line without nil", err)
	}
}

// Fewer observations than parameters do not determine θ, and errors of size zero give no
// weights.
func TestSmoothRefuses(t *testing.T) {
	few, exact := fitzHughNagumo(t, 0.05), fitzHughNagumo(t, 0.05)
	for _, row := range few.Experiments[0].Data.Y[1:] {
		row[0], row[1] = math.NaN(), math.NaN()
	}
	exact.Experiments[0].Errors = []bayes.Likelihood{bayes.Gaussian{}}
	for _, m := range []bayes.Model{few, exact} {
		if got, err := matching.Smooth(context.Background(), m, matching.SmoothSettings{Lambda: 100}); err == nil || !strings.Contains(err.Error(), "want") {
			t.Errorf("the fit is %v with the error %v: want an error that names what is needed", got, err)
		}
	}
}

package matching_test

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/bayes"
	"github.com/probode/probode/pkg/probode/matching"
	"github.com/probode/probode/pkg/probode/mcmc"
)

// With f linear in x, the density is Gaussian in ξ for each θ. The mean and the standard
// deviation of the draws are those of an integral over ξ in closed form and over θ by
// quadrature.
func TestSample(t *testing.T) {
	p := &probode.Problem{Name: "decay", Params: []string{"rate"}, X0: []float64{1}, Theta: []float64{1}, Span: [2]float64{0, 3},
		F: func(f []float64, _ float64, x, theta []float64) { f[0] = -theta[0] * x[0] }}
	data := &bayes.Data{Names: []string{p.StateName(0)}}
	rng := rand.New(rand.NewPCG(9, 9))
	for i := range 9 {
		at := float64(i) * 3 / 8
		data.T, data.Y = append(data.T, at), append(data.Y, []float64{2*math.Exp(-0.8*at) + 0.1*rng.NormFloat64()})
	}
	prior := distuv.LogNormal{Sigma: 1}
	m := bayes.Model{Params: []bayes.Param{{Name: "rate", Prior: prior}},
		Experiments: []bayes.Experiment{{Problem: p, Data: data, Errors: []bayes.Likelihood{bayes.Gaussian{Sigma: bayes.Known(0.1)}}}}}
	post, err := matching.GaussianProcess(m, matching.Settings{Kernels: []matching.Kernel{{Mean: 0.8, SD: 1, Length: 2}}, Mismatch: 0.01})
	if err != nil {
		t.Fatal(err)
	}
	draws, err := matching.Sample(context.Background(), post, mcmc.Settings{Draws: 1000, Seed: 3})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(draws.Quantities, mcmc.NUTSQuantities()) || len(draws.Generated) != len(draws.Draws) {
		t.Errorf("the quantities are %q: want those of NUTS, since warnings of divergent paths rest on them", draws.Quantities)
	}
	rates := slices.Concat(draws.Parameter(0)...)

	// Given θ, the log density is quadratic in ξ, so its gradient b − Aξ gives the integral
	// over ξ: exp(lp(0) + ½ bᵀA⁻¹b)/√det A.
	n := post.Dim() - 1
	var sum, mean, square float64
	for rate := 0.3; rate < 1.8; rate += 0.005 {
		x, at, grad := make([]float64, 1+n), make([]float64, 1+n), make([]float64, 1+n)
		x[0] = math.Log(rate)
		lp, err := post.LogDensity(at, x)
		a := mat.NewSymDense(n, nil)
		for j := range n {
			x[1+j] = 1
			if _, e := post.LogDensity(grad, x); err == nil {
				err = e
			}
			x[1+j] = 0
			for i := range j + 1 {
				a.SetSym(i, j, at[1+i]-grad[1+i])
			}
		}
		if err != nil {
			t.Fatal(err)
		}
		var chol mat.Cholesky
		if !chol.Factorize(a) {
			t.Fatal("the curvature is not positive definite")
		}
		var left mat.VecDense
		right := mat.NewVecDense(n, at[1:])
		if err := chol.SolveVecTo(&left, right); err != nil {
			t.Fatal(err)
		}
		// The density of log θ is θ times that of θ.
		weight := math.Exp(lp+(mat.Dot(right, &left)-chol.LogDet())/2) / rate
		sum, mean, square = sum+weight, mean+weight*rate, square+weight*rate*rate
	}
	mean /= sum
	sd := math.Sqrt(square/sum - mean*mean)
	// At least 1,000 effective draws: five standard errors are .16 sd of the mean and, for a
	// shape near a Gaussian one, 11 % of the sd. The false-alarm rate is below 1e-5.
	if got := stat.Mean(rates, nil); math.Abs(got-mean) > 0.16*sd {
		t.Errorf("mean %.4f: want %.4f, with sd %.4f", got, mean, sd)
	}
	if got := stat.StdDev(rates, nil); math.Abs(got/sd-1) > 0.12 {
		t.Errorf("sd %.4f: want %.4f", got, sd)
	}
}

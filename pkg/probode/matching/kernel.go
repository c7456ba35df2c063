package matching

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/optimize"
	"gonum.org/v1/gonum/stat"
)

// A Kernel describes the Gaussian process prior of one component. The prior has a constant
// mean and the Matérn covariance with smoothness 5/2,
//
//	cov(x(t), x(u)) = SD² (1 + a + a²/3) e⁻ᵃ,   a = √5 |t−u| / Length.
type Kernel struct {
	Mean, SD, Length float64
}

// at returns cov(x(t), x(u)), cov(x′(t), x(u)) and cov(x′(t), x′(u)).
func (k Kernel) at(t, u float64) (state, mixed, slope float64) {
	r := t - u
	a := math.Sqrt(5) * math.Abs(r) / k.Length
	e := k.SD * k.SD * math.Exp(-a)
	c := 5 / (3 * k.Length * k.Length)
	return e * (1 + a + a*a/3), -c * r * e * (1 + a), c * e * (1 + a - a*a)
}

// fitKernel maximises the marginal likelihood, and returns the sd of the errors, too.
func fitKernel(t, y []float64) (Kernel, error) {
	n := len(y)
	if n < 4 {
		return Kernel{}, fmt.Errorf("there are %d observations: want at least 4, unless Settings.Kernels is set", n)
	}
	mean, square := stat.PopMeanVariance(y, nil)
	if slices.Min(y) == slices.Max(y) {
		return Kernel{}, fmt.Errorf("all observations are %g: set Settings.Kernels", mean)
	}
	span := t[n-1] - t[0]
	kernel := func(x []float64) Kernel { return Kernel{mean, math.Exp(x[0]), math.Exp(x[1])} }
	centred := mat.NewVecDense(n, slices.Clone(y))
	floats.AddConst(-mean, centred.RawVector().Data)
	negative := func(x []float64) float64 {
		k, cov := kernel(x), mat.NewSymDense(n, nil)
		for i := range n {
			for j := range i + 1 {
				c, _, _ := k.at(t[i], t[j])
				cov.SetSym(i, j, c)
			}
			cov.SetSym(i, i, cov.At(i, i)+math.Exp(2*x[2]))
		}
		var chol mat.Cholesky
		var w mat.VecDense
		if math.Abs(x[0]) > 50 || math.Abs(x[1]) > 50 || !chol.Factorize(cov) || chol.SolveVecTo(&w, centred) != nil {
			return math.Inf(1)
		}
		return (mat.Dot(&w, centred) + chol.LogDet()) / 2
	}
	best := math.Inf(1)
	var at []float64
	for _, share := range []float64{0.02, 0.1, 0.5} { // of the span
		start := []float64{math.Log(square) / 2, math.Log(share * span), math.Log(square)/2 - 2}
		found, err := optimize.Minimize(optimize.Problem{Func: negative}, start, nil, &optimize.NelderMead{})
		if found != nil && found.F < best && (err == nil || !math.IsInf(found.F, 0)) {
			best, at = found.F, found.X
		}
	}
	if at == nil {
		return Kernel{}, fmt.Errorf("the marginal likelihood has no maximum: set Settings.Kernels")
	}
	return kernel(at), nil
}

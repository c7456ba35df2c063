package sample

import (
	"math"
	"math/rand/v2"
	"slices"

	"github.com/probode/probode/pkg/probode/bayes"
	"github.com/probode/probode/pkg/probode/bayes/shape"
	"github.com/probode/probode/pkg/probode/mcmc/diag"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"
)

const (
	importance = 100 // draws that show whether a mode is nearly Gaussian, or from which a start is chosen
	scattered  = 400 // draws from the prior that show whether there is mass far from the modes
)

// gaussianShare tests by importance sampling whether the posterior is nearly Gaussian.
// The function generates draws from a Student t distribution with 5 degrees of freedom.
// The distribution is centred at the mode m, and its scale matrix is m.Shape. The draws
// are given importance weights with respect to the posterior. The result is the effective
// sample size of the weighted draws as a fraction of the number of draws. For a Gaussian
// posterior in few dimensions, the result is near 0.8.
func gaussianShare(e *bayes.Density, m *bayes.Mode, rng *rand.Rand) float64 {
	const degrees = 5
	d := e.Dim()
	weights := make([]float64, importance)
	u := make([]float64, d)
	for i := range weights {
		var chi float64
		for range degrees {
			v := rng.NormFloat64()
			chi += v * v
		}
		square, ok := around(u, m, math.Sqrt(degrees/chi), rng)
		logp, err := e.LogPosterior(u, nil)
		if err != nil || math.IsNaN(logp) || !ok {
			logp = math.Inf(-1)
		}
		weights[i] = logp - m.LogP + float64(degrees+d)/2*math.Log1p(square/degrees)
	}
	return diag.Kish([][]float64{weights})
}

// elsewhere estimates the mass of the posterior far from the given modes, relative to the
// mass of their Gaussian approximations. The estimate is based on the mean likelihood of
// draws from the prior. Draws inside the wide ellipsoids around the modes count as zero.
// The estimate includes the mass of plateaus and broad modes, but may miss narrow modes.
// The result is zero if one of the modes has no Gaussian approximation.
func elsewhere(e *bayes.Density, around []*bayes.Mode, rng *rand.Rand) float64 {
	d := e.Dim()
	wide := math.Sqrt(4 * float64(d+8)) // radius in standard deviations: 6 for one parameter, 9.6 for 15
	shapes, masses := make([]mat.Cholesky, len(around)), make([]float64, len(around))
	for k, m := range around {
		if m.Cov == nil || !shapes[k].Factorize(m.Cov) {
			return 0
		}
		masses[k] = m.LogMass
	}
	mass, far := floats.LogSumExp(masses), 0.
	u := make([]float64, d)
	for range scattered {
		theta := e.Posterior().DrawPrior(rng)
		if e.Unconstrain(u, theta) != nil {
			continue
		}
		near := false
		for k, m := range around {
			near = near || stat.Mahalanobis(mat.NewVecDense(d, u), mat.NewVecDense(d, m.U), &shapes[k]) < wide
		}
		if near {
			continue
		}
		if ll, err := e.LogLikelihood(theta, nil); err == nil {
			far += math.Exp(ll-mass) / scattered
		}
	}
	return far
}

// heavyTail returns the index of a parameter with a heavy tail, or −1 if no parameter has
// a heavy tail. The profile of a parameter is the maximum of the log density over all
// other parameters. In a heavy tail the profile falls much more slowly than the profile
// of the Gaussian approximation at the mode m. A random walk explores a heavy tail
// slowly, and the diagnostics of the draws do not detect the slow mixing.
func heavyTail(e *bayes.Density, m *bayes.Mode) int {
	const (
		far   = 4.0 // standard deviations
		share = 0.5 // of the drop of a Gaussian density
		most  = 10  // steps of a climb
	)
	d := e.Dim()
	f := shape.NewSurface(e)
	for k := range d {
		sd := math.Sqrt(m.Cov.At(k, k))
		for _, side := range []float64{-far, far} {
			a := shape.Ascent{Point: shape.Point{X: slices.Clone(m.U)}, Tolerance: 0.1}
			for i := range d {
				a.X[i] += side * m.Cov.At(i, k) / sd // the profile of the approximation
				a.Low, a.High = append(a.Low, math.Inf(-1)), append(a.High, math.Inf(1))
				a.Unit = append(a.Unit, math.Sqrt(m.Cov.At(i, i)))
			}
			a.Low[k], a.High[k] = a.X[k], a.X[k]
			for a.Value = f.Value(a.X); !a.Done && a.Steps < most && !math.IsInf(a.Value, -1); {
				a.Step(f)
			}
			if m.LogP-a.Value < share*far*far/2 {
				return k
			}
		}
	}
	return -1
}

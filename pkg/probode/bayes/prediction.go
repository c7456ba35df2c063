package bayes

import (
	"math"
	"math/rand/v2"
	"slices"

	"github.com/probode/probode/pkg/probode/mcmc"
	"github.com/probode/probode/pkg/probode/mcmc/diag"
	"gonum.org/v1/gonum/floats"
)

// A Prediction holds draws of new data for one experiment.
type Prediction struct {
	T     []float64 // the times, increasing
	Names []string  // names of the columns of the data; may be nil

	// Fit[i][n][k] is the expected value of column k at time n in draw i, including the
	// error of the solver. Y[i][n][k] is a new observation, which includes a measurement
	// error.
	Fit, Y [][][]float64
}

// Quantiles returns a quantile of the new observations of column k for each time. The
// argument `prob` is the probability to which the quantile belongs, such as 0.5 for the
// median. An observation is NaN if the error distribution is undefined at its expected
// value. Observations that are NaN are left out; if none remain, the quantile is NaN.
func (q *Prediction) Quantiles(k int, prob float64) []float64 {
	draws := q.Y
	if len(draws) == 0 {
		return nil
	}
	out := make([]float64, len(draws[0]))
	for n := range out {
		var x []float64
		for i := range draws {
			if y := draws[i][n][k]; !math.IsNaN(y) {
				x = append(x, y)
			}
		}
		slices.Sort(x)
		out[n] = diag.Quantile(x, prob)
	}
	return out
}

func (e *Density) predictions() []*Prediction {
	var out []*Prediction
	for _, r := range e.parts {
		out = append(out, &Prediction{T: r.x.Data.T, Names: r.x.Data.Names})
	}
	return out
}

// The method predict() draws new data, given θ and the expected values of the data, and
// appends them to out.
func (e *Density) predict(out []*Prediction, theta, fit []float64, rng *rand.Rand) {
	for i, r := range e.parts {
		e.bind(r, theta)
		var rows, news [][]float64
		for range r.x.Data.T {
			row := slices.Clone(fit[:len(r.errors)])
			fit = fit[len(r.errors):]
			y := make([]float64, len(row))
			for k, m := range row {
				y[k] = r.errors[k].Rand(m, r.errors[k].at(row), rng)
			}
			rows, news = append(rows, row), append(news, y)
		}
		out[i].Fit, out[i].Y = append(out[i].Fit, rows), append(out[i].Y, news)
	}
}

// Resample chooses n draws of equal weight that represent all draws in `chains`. It
// returns their indices in the order of Chains.Pooled. If the draws have no weights, the
// indices are evenly spaced. Otherwise, for i = 0, 1, …, n−1, Resample chooses the first
// draw at which the cumulative weight reaches (i + U)/n, where U is uniform in [0, 1).
func Resample(chains *mcmc.Chains, n int, rng *rand.Rand) []int {
	index := make([]int, n)
	logw := slices.Concat(chains.LogWeights...)
	if logw == nil {
		size := 0
		for _, c := range chains.Draws {
			size += len(c)
		}
		for i := range index {
			index[i] = i * size / n
		}
		return index
	}
	if len(logw) == 0 {
		return nil
	}
	total := floats.LogSumExp(logw)
	u := rng.Float64()
	at, sum := 0, math.Exp(logw[0]-total)
	for i := range index {
		for want := (float64(i) + u) / float64(n); sum < want && at < len(logw)-1; {
			at++
			sum += math.Exp(logw[at] - total)
		}
		index[i] = at
	}
	return index
}

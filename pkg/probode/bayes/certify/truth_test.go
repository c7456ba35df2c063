package certify_test

import (
	"context"
	"math"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/bayes"
	"github.com/probode/probode/pkg/probode/reference"
)

// A box is the range of each parameter in normal scores of its prior.
type box [][2]float64

// everywhere is all of a prior but 1e-8 of it.
func everywhere(p *bayes.Posterior) (b box) {
	for range p.Params {
		b = append(b, [2]float64{-6, 6})
	}
	return b
}

// biases returns by how many standard deviations the posterior means by p differ from
// those by the reference, by the midpoint rule with n nodes for each parameter in b.
func biases(t *testing.T, p *bayes.Posterior, n int, b box) []float64 {
	t.Helper()
	d, nodes := len(p.Params), 1
	for range d {
		nodes *= n
	}
	theta := make([][]float64, nodes)
	prior := make([]float64, nodes)
	for i := range theta {
		theta[i] = make([]float64, d)
		for j, k := 0, i; j < d; j, k = j+1, k/n {
			z := b[j][0] + (b[j][1]-b[j][0])*(float64(k%n)+0.5)/float64(n)
			theta[i][j] = p.Params[j].Prior.Quantile(distuv.UnitNormal.CDF(z))
			prior[i] -= z * z / 2
		}
	}
	var means, sds [2][]float64
	for s, p := range []*bayes.Posterior{p, p.SolvedBy(probode.Setup{Mesh: reference.Accurate{}})} {
		e, err := bayes.NewDensity(context.Background(), p)
		if err != nil {
			t.Fatal(err)
		}
		log, top := make([]float64, nodes), math.Inf(-1)
		for i := range log {
			ll, err := e.LogLikelihood(theta[i], nil)
			if err != nil || math.IsNaN(ll) {
				ll = math.Inf(-1)
			}
			log[i] = prior[i] + ll
			top = max(top, log[i])
		}
		for j := range d {
			var w, w1, w2 float64
			for i, v := range log {
				v, x := math.Exp(v-top), theta[i][j]
				w, w1, w2 = w+v, w1+v*x, w2+v*x*x
			}
			means[s] = append(means[s], w1/w)
			sds[s] = append(sds[s], math.Sqrt(w2/w-w1*w1/w/w))
		}
	}
	for j := range d {
		means[0][j] = (means[0][j] - means[1][j]) / sds[1][j]
	}
	return means[0]
}

// largest returns the largest absolute value.
func largest(x []float64) (most float64) {
	for _, v := range x {
		most = max(most, math.Abs(v))
	}
	return most
}

// score returns the normal score of x.
func score(d bayes.Distribution, x float64) float64 {
	low, high := -8., 8.
	for range 60 {
		if mid := (low + high) / 2; d.Quantile(distuv.UnitNormal.CDF(mid)) < x {
			low = mid
		} else {
			high = mid
		}
	}
	return low
}

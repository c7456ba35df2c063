package certify_test

import (
	"math"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/adams"
	"github.com/probode/probode/pkg/probode/bayes"
	"github.com/probode/probode/pkg/probode/bayes/cases"
)

// decay is x′ = −θx from 1 by the forward Euler method, observed with errors of
// decaySigma: with step h the path is Zₙ = (1 − hθ)ⁿ, accurately e^{−θt}.
const decaySigma = 0.1

var (
	decayTimes = []float64{0.5, 1, 1.5, 2}
	decayY     = []float64{0.62, 0.36, 0.26, 0.07}
)

func decay(step float64) *bayes.Posterior {
	return plane(distuv.Normal{Mu: 1, Sigma: 0.5}, func(f []float64, _ float64, x, th []float64) { f[0] = -th[0] * x[0] },
		[]float64{1}, decayTimes, decayY, bayes.Gaussian{Sigma: bayes.Known(decaySigma)}, adams.Bashforth{}, step)
}

// decayMoments returns mean and standard deviation of θ by the trapezoidal rule, which
// converges geometrically here; h = 0 is the reference posterior.
func decayMoments(h float64) (mean, sd float64) {
	const n = 2000
	var w, w1, w2 float64
	for i := range n {
		theta := -1 + 4*float64(i)/n
		log := -2 * (theta - 1) * (theta - 1)
		for i, at := range decayTimes {
			m := math.Exp(-theta * at)
			if h > 0 {
				m = math.Pow(1-h*theta, math.Round(at/h))
			}
			r := (decayY[i] - m) / decaySigma
			log -= r * r / 2
		}
		p := math.Exp(log)
		w, w1, w2 = w+p, w1+p*theta, w2+p*theta*theta
	}
	mean = w1 / w
	return mean, math.Sqrt(w2/w - mean*mean)
}

// plane returns the model of one parameter theta1 with the field f, from x0, with data
// of the first column.
func plane(prior bayes.Distribution, f func(f []float64, t float64, x, th []float64), x0 []float64, times, y []float64, by bayes.Likelihood, m probode.Method, h float64) *bayes.Posterior {
	d := &bayes.Data{T: times}
	for _, v := range y {
		d.Y = append(d.Y, []float64{v})
	}
	return &bayes.Posterior{
		Model: bayes.Model{
			Params: []bayes.Param{{Name: "theta1", Prior: prior}},
			Experiments: []bayes.Experiment{{
				Problem: &probode.Problem{Name: "plane", F: f, X0: x0, Theta: []float64{prior.Quantile(0.5)}, Span: [2]float64{0, times[len(times)-1]}, Autonomous: true},
				Data:    d, Errors: []bayes.Likelihood{by},
				Observe: func(dst []float64, _ float64, x, _ []float64) { dst[0] = x[0] },
			}},
		},
		Setup: probode.Setup{Method: m, Mesh: probode.Uniform(h)},
	}
}

// withStep returns p solved with steps of size h.
func withStep(p *bayes.Posterior, h float64) *bayes.Posterior {
	return p.SolvedBy(probode.Setup{Mesh: probode.Uniform(h)})
}

// controlled returns the Setup of a method under error control at every θ.
func controlled(m probode.Method, t probode.Tolerance) probode.Setup {
	return probode.Setup{Method: m, Mesh: probode.Adaptive{Tolerance: t}}
}

func caseOf(t *testing.T, name string) *bayes.Posterior {
	t.Helper()
	c, err := cases.Named(name)
	if err != nil {
		t.Fatal(err)
	}
	return c.Posterior()
}

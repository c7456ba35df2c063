package sbc_test

import (
	"context"
	"fmt"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/adams"
	"github.com/probode/probode/pkg/probode/bayes"
	"github.com/probode/probode/pkg/probode/bayes/sample"
	"github.com/probode/probode/pkg/probode/bayes/sbc"
)

// growth is logistic growth at an unknown rate, by a coarse step of Euler's
// method.
func growth() *bayes.Posterior {
	return &bayes.Posterior{
		Model: bayes.Model{
			Params: []bayes.Param{{Name: "rate", Prior: distuv.LogNormal{Sigma: 0.5}}, {Name: "sigma", Prior: bayes.Positive(0, 0.5)}},
			Experiments: []bayes.Experiment{{
				Problem: &probode.Problem{
					Name: "logistic growth", States: []string{"cells"}, Params: []string{"rate"},
					X0: []float64{0.5}, Theta: []float64{1}, Span: [2]float64{0, 8}, Autonomous: true,
					F: func(f []float64, _ float64, x, theta []float64) { f[0] = theta[0] * x[0] * (1 - x[0]/10) },
				},
				Data:   &bayes.Data{T: []float64{2, 4, 6, 8}, Y: [][]float64{{3}, {7.1}, {9.6}, {9.8}}},
				Errors: []bayes.Likelihood{bayes.Gaussian{Sigma: bayes.Unknown("sigma")}},
			}},
		},
		Setup: probode.Setup{Method: adams.Bashforth{}, Mesh: probode.Uniform(0.25), Alpha: 0.1},
	}
}

// Does a sampler draw from the posterior that it claims to? A real study has
// hundreds of data sets.
func ExampleRun() {
	p := growth()
	p.Alpha = 0.1
	r, err := sbc.Run(context.Background(), p, sample.PCNWithinGibbs{}, sbc.Settings{Sets: 4, Ranks: 9, BurnIn: 500})
	if err != nil {
		panic(err)
	}
	wrong := false
	for k := range r.Names {
		wrong = wrong || r.P(k) < 1e-4
	}
	fmt.Println(r.Names, "wrong:", wrong)
	// Output: [rate sigma log_lik] wrong: false
}

// standardLog is the prior of a parameter whose logarithm is N(0, 1).
var standardLog = distuv.LogNormal{Sigma: 1}

package main

import (
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/bayes"
	"github.com/probode/probode/pkg/probode/filter"
	"github.com/probode/probode/pkg/probode/problems"
)

// Wu and Lysy demonstrate their package rodeo on three problems, in a paper at AISTATS
// 2024 and in a paper about the package. This file defines these problems. The data are
// simulated anew. Wu and Lysy obtain accurate posteriors with the step size 0.05 for
// FitzHugh–Nagumo, 0.75 minutes for Hes1, and 0.1 days for SEIRAH. The observatory solves
// each problem with three step sizes. For FitzHugh–Nagumo and Hes1, the middle step size
// is the one that Wu and Lysy use. For SEIRAH, Wu and Lysy use a step size between the
// two smallest step sizes of the observatory.

// rodeoFilter is that of package rodeo: EK1 with the diagonal of the Jacobian.
var rodeoFilter = filter.EK{Q: 2, Width: 1}

func longFitzHughNagumo() *probode.Problem {
	p := problems.FitzHughNagumo()
	p.Span[1] = 40
	return p
}

func hes1() *probode.Problem {
	return &probode.Problem{
		Name: "Hes1", States: []string{"logP", "logM", "logH"}, Params: []string{"a", "b", "c", "d", "e", "f", "g"}, Autonomous: true,
		X0: []float64{math.Log(1.439), math.Log(2.037), math.Log(17.904)}, Theta: []float64{0.022, 0.3, 0.031, 0.028, 0.5, 20, 0.3}, Span: [2]float64{0, 240},
		F: func(dst []float64, _ float64, x, th []float64) {
			p, m, h := math.Exp(x[0]), math.Exp(x[1]), math.Exp(x[2])
			dst[0] = -th[0]*h + th[1]*m/p - th[2]
			dst[1] = -th[3] + th[4]/((1+p*p)*m)
			dst[2] = -th[0]*p + th[5]/((1+p*p)*h) - th[6]
		},
	}
}

func seirah() *probode.Problem {
	return &probode.Problem{
		Name: "SEIRAH", States: []string{"S", "E", "I", "R", "A", "H"}, Params: []string{"b", "r", "alpha", "De", "DI", "Dq"}, Autonomous: true,
		X0: []float64{63884630, 15492, 21752, 0, 618013, 13388}, Theta: []float64{2.23, 0.034, 0.55, 5.1, 2.3, 1.13}, Span: [2]float64{0, 60},
		F: func(dst []float64, _ float64, x, th []float64) {
			s, e, i, r, a, h := x[0], x[1], x[2], x[3], x[4], x[5]
			infected := th[0] * s * (i + th[2]*a) / (s + e + i + r + a + h)
			onset, admitted, discharged := e/th[3], i/th[5], h/30
			dst[0] = -infected
			dst[1] = infected - onset
			dst[2] = th[1]*onset - admitted - i/th[4]
			dst[3] = (i+a)/th[4] + discharged
			dst[4] = (1-th[1])*onset - a/th[4]
			dst[5] = admitted - discharged
		},
	}
}

// everySecond leaves P at the first, third, … times, and M at the others.
func everySecond(of func(*bayes.Data) *bayes.Posterior) func(*bayes.Data) *bayes.Posterior {
	return func(data *bayes.Data) *bayes.Posterior {
		for i, y := range data.Y {
			y[1-i%2] = math.NaN()
		}
		return of(data)
	}
}

// ofRodeo has log-normal priors around the true values, or normal ones for initial values
// that can be negative: narrower than those of Wu and Lysy, because chains are short
// here.
var ofRodeo = []question{
	{name: "rodeo: FitzHugh–Nagumo", truth: longFitzHughNagumo, times: append([]float64{0}, every(1, 40)...), step: 0.1,
		observe: gaussian(math.Sqrt(0.005), 0, 1),
		make:    inferred(seen(longFitzHughNagumo().UnknownStart(), math.Sqrt(0.005), 0, 1), 0.5, 2)},
	{name: "rodeo: Hes1", truth: hes1, times: append([]float64{0}, every(7.5, 240)...), step: 1.5,
		observe: gaussian(0.15, 0, 1),
		make:    everySecond(inferred(seen(hes1().UnknownStart(), 0.15, 0, 1), 0.2, 3))},
	{name: "rodeo: SEIRAH", truth: seirah, times: append([]float64{0}, every(1, 60)...), step: 0.25,
		observe: func(x []float64, rng *rand.Rand) []float64 {
			mean := make([]float64, 2)
			newCases(mean, 0, x, seirah().Theta)
			for k, m := range mean {
				mean[k] = distuv.Poisson{Lambda: m, Src: rng}.Rand()
			}
			return mean
		},
		make: inferred(bayes.Experiment{Problem: seirah().UnknownStart(1, 2), Observe: newCases, Errors: []bayes.Likelihood{bayes.Poisson{}}}, 0.2, 0)},
}

func newCases(dst []float64, _ float64, x, th []float64) {
	dst[0], dst[1] = th[1]*x[1]/th[3], x[2]/th[5]
}

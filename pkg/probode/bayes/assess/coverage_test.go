package assess_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/interp"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/bayes"
	"github.com/probode/probode/pkg/probode/bayes/assess"
	"github.com/probode/probode/pkg/probode/bayes/compare"
	"github.com/probode/probode/pkg/probode/mcmc"
	"github.com/probode/probode/pkg/probode/methods"
)

// smooth returns a model of one state, whose rate and start are unknown, with six simulated
// data and the solver to be judged. The reference of all of them is fine.
func smooth(t *testing.T, model uint64) (p *bayes.Posterior, coarse probode.Setup) {
	rng := rand.New(rand.NewPCG(model, 0))
	f := []func(f []float64, _ float64, x, th []float64){
		func(f []float64, _ float64, x, th []float64) { f[0] = -th[0] * x[0] },
		func(f []float64, _ float64, x, th []float64) { f[0] = -th[0] * x[0] * x[0] },
		func(f []float64, _ float64, x, th []float64) { f[0] = th[0] * x[0] * (1 - x[0]) },
		func(f []float64, _ float64, x, th []float64) { f[0] = th[0]/(1+x[0]) - x[0] },
	}[model%4]
	data := &bayes.Data{T: []float64{0.5, 1, 1.5, 2, 2.5, 3}, Y: [][]float64{{0}, {0}, {0}, {0}, {0}, {0}}}
	p = &bayes.Posterior{Setup: fine, Model: bayes.Model{
		Params: []bayes.Param{{Name: "rate", Prior: distuv.LogNormal{Sigma: 0.3 + 0.4*rng.Float64()}}, {Name: "start", Prior: distuv.LogNormal{Mu: -0.5, Sigma: 0.5}}},
		Experiments: []bayes.Experiment{{
			Problem: &probode.Problem{Name: "smooth", X0: []float64{0}, Theta: []float64{1, 1}, Params: []string{"rate", "start"}, Span: [2]float64{0, 3}, Autonomous: true,
				F: f, Start: func(x0, th []float64) { x0[0] = th[1] }},
			Data: data, Errors: []bayes.Likelihood{bayes.Gaussian{Sigma: bayes.Known(0.05 + 0.1*rng.Float64())}},
		}},
	}}
	p, _, _, err := bayes.Simulate(t.Context(), p, false, rng)
	if err != nil {
		t.Fatal(err)
	}
	return p, probode.Setup{Method: []probode.Method{methods.RungeKutta{Tableau: methods.Midpoint}, methods.RungeKutta{Tableau: methods.Heun}}[rng.IntN(2)], Mesh: probode.Uniform([]float64{0.5, 0.25}[rng.IntN(2)])}
}

var fine = probode.Setup{Method: methods.RungeKutta{}, Mesh: probode.Uniform(0.125)}

// effects returns for each parameter the shifts of median and half interval and those of mean
// and sd between two solvers, by quadrature over normal scores of the prior.
func effects(t *testing.T, p *bayes.Posterior, coarse probode.Setup) (all [][2]assess.Shift) {
	var used [2][2]float64
	box := [2][2]float64{{-5, 5}, {-5, 5}}
	var weights [2][]float64
	var points compare.Points
	const n = 120
	for range 2 { // first over nearly all of the prior, and then where there is mass
		points, used = compare.Points{Posterior: p}, box
		var prior []float64
		for i := range n * n {
			theta, lp := make([]float64, 2), 0.0
			for k, at := range []int{i % n, i / n} {
				z := box[k][0] + (box[k][1]-box[k][0])*(float64(at)+0.5)/n
				theta[k] = p.Params[k].Prior.Quantile(distuv.UnitNormal.CDF(z))
				lp -= z * z / 2
			}
			points.Theta, prior = append(points.Theta, theta), append(prior, lp)
		}
		inside := [2][2]int{{n, -1}, {n, -1}}
		for s, setup := range []probode.Setup{fine, coarse} {
			lp, err := points.LogLikelihoods(t.Context(), setup)
			if err != nil {
				t.Fatal(err)
			}
			for i := range lp {
				lp[i] += prior[i]
			}
			top := slices.Max(lp)
			for i, v := range lp {
				if v > top-20 {
					for k, at := range []int{i % n, i / n} {
						inside[k][0], inside[k][1] = min(inside[k][0], at), max(inside[k][1], at)
					}
				}
				lp[i] = math.Exp(v - top)
			}
			weights[s] = lp
		}
		for k := range box {
			unit := (box[k][1] - box[k][0]) / n
			box[k] = [2]float64{box[k][0] + float64(inside[k][0]-1)*unit, box[k][0] + float64(inside[k][1]+2)*unit}
		}
	}
	for k := range used {
		var of [2][2]assess.Shift
		for s, w := range weights {
			marginal := make([]float64, n)
			sum, mean, square := 0.0, 0.0, 0.0
			for i, v := range w {
				x := points.Theta[i][k]
				marginal[[]int{i % n, i / n}[k]] += v
				sum, mean, square = sum+v, mean+v*x, square+v*x*x
			}
			mean /= sum
			levels, scores := []float64{0}, []float64{used[k][0]} // at the edges of the cells
			for i, v := range marginal {
				if next := levels[len(levels)-1] + v/sum; next > levels[len(levels)-1]+1e-9 {
					levels, scores = append(levels, next), append(scores, used[k][0]+(used[k][1]-used[k][0])*float64(i+1)/n)
				}
			}
			var inverse interp.FritschButland
			if err := inverse.Fit(levels, scores); err != nil {
				t.Fatal(err)
			}
			var q []float64
			for _, z := range []float64{-1, 0, 1} {
				q = append(q, p.Params[k].Prior.Quantile(distuv.UnitNormal.CDF(inverse.Predict(distuv.UnitNormal.CDF(z)))))
			}
			of[s][0].Center, of[s][0].Spread = q[1], (q[2]-q[0])/2
			of[s][1].Center, of[s][1].Spread = mean, math.Sqrt(square/sum-mean*mean)
		}
		var shifts [2]assess.Shift
		for m := range shifts {
			shifts[m].Bias = (of[1][m].Center - of[0][m].Center) / of[0][m].Spread
			shifts[m].Ratio = of[1][m].Spread / of[0][m].Spread
		}
		all = append(all, shifts)
	}
	return all
}

// The errors of weighted effects hold: the share of the judged numbers within two standard
// errors of those by quadrature is about .95. On 50 models with 20 seeds, in 784 runs with
// weights, it was .97 for medians and half intervals and .95 for those means and sds about
// which there is a verdict, or would be with more draws; it was .85 for the others, of which
// the report says that they are not known. The ten runs here with weights have about three
// independent numbers each, so that the share has a standard error of .04, and is below .8
// with a probability of 1e-4.
func TestErrorsOfWeightsHold(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	const models, seeds = 5, 3
	var good, all, runs int
	for model := range uint64(models) {
		p, coarse := smooth(t, model)
		want := effects(t, p, coarse)
		for seed := range uint64(seeds) {
			a := assessed(t, p, assess.Settings{Candidates: []probode.Setup{coarse}, Accurate: fine, MaxDraws: 500, Chains: mcmc.Settings{Draws: 500, BurnIn: 300, Seed: seed}})
			inf := a.Candidates[0].Inference
			if inf == nil || !inf.Weighted {
				continue
			}
			runs++
			for k, e := range inf.Effects {
				for m, s := range []assess.Shift{e.Median, e.Mean} {
					if s.Verdict == assess.Undecided && !strings.Contains(s.Why, "too close") {
						continue
					}
					for _, z := range []float64{(s.Bias - want[k][m].Bias) / s.BiasSE, (s.Ratio - want[k][m].Ratio) / s.RatioSE} {
						if all++; math.Abs(z) <= 2 {
							good++
						}
					}
				}
			}
		}
	}
	if runs < 6 || !(float64(good) > 0.8*float64(all)) {
		t.Errorf("%d of %d effects in %d runs are within two standard errors", good, all, runs)
	}
}

package bayes_test

import (
	"context"
	"fmt"
	"math"
	"strconv"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/bayes"
	"github.com/probode/probode/pkg/probode/methods"
	"github.com/probode/probode/pkg/probode/model"
)

// patient returns the equations of a patient with the given weight in kg. Its θ consists
// of the typical values of the logarithms of CL, V and ka, their spreads in the
// population, and the scores of the patient.
func patient(name string, weight float64) *probode.Problem {
	w := math.Log(weight / 70)
	at := func(theta []float64) (cl, v, ka float64) {
		return math.Exp(theta[0] + 0.75*w + theta[3]*theta[6]), math.Exp(theta[1] + w + theta[4]*theta[7]), math.Exp(theta[2] + theta[5]*theta[8])
	}
	p := &probode.Problem{
		Name: "population, " + name, States: []string{"gut", "blood"}, TimeUnit: "h",
		Params: []string{"log_CL", "log_V", "log_ka", "sd_CL", "sd_V", "sd_ka", "CL_score", "V_score", "ka_score"},
		Theta:  []float64{1.4, 3.6, 0, 0.3, 0.3, 0.3, 0, 0, 0},
		X0:     []float64{0, 0}, Span: [2]float64{0, 84}, Autonomous: true,
		Events: probode.Doses(0, 100, 0, 12, 24, 36, 48, 60),
		F: func(f []float64, _ float64, x, theta []float64) {
			cl, v, ka := at(theta)
			f[0], f[1] = -ka*x[0], ka*x[0]-cl/v*x[1]
		},
		Pullback: func(dx, dtheta, lambda []float64, _ float64, x, theta []float64) float64 {
			cl, v, ka := at(theta)
			into := lambda[1] - lambda[0]
			dx[0] += ka * into
			dx[1] -= cl / v * lambda[1]
			// The derivatives with respect to the logarithms of CL, V and ka.
			slopes := [3]float64{-cl / v * x[1] * lambda[1], cl / v * x[1] * lambda[1], ka * x[0] * into}
			for k, s := range slopes {
				dtheta[k] += s
				dtheta[3+k] += s * theta[6+k]
				dtheta[6+k] += s * theta[3+k]
			}
			return 0
		},
	}
	for k := range p.Events { // a dose does not depend on anything, so gradients pass through it
		p.Events[k].SeenAfter = true
		p.Events[k].JumpPullback = func(_, _, _ []float64, _ float64, _ []float64) float64 { return 0 }
	}
	return p
}

// population returns the model of notebooks/data/population.yaml. All patients share the
// first seven parameters, and each one has three scores with the prior N(0, 1).
func population(weights map[string]float64, data map[string]*bayes.Data, names []string) *bayes.Posterior {
	p := &bayes.Posterior{Setup: probode.Setup{Method: methods.RungeKutta{}, Mesh: probode.Through(0.5)}}
	add := func(name string, prior bayes.Distribution) {
		p.Params = append(p.Params, bayes.Param{Name: name, Prior: prior})
	}
	add("log_CL", distuv.Normal{Mu: 1, Sigma: 1})
	add("log_V", distuv.Normal{Mu: 3.5, Sigma: 1})
	add("log_ka", distuv.Normal{Sigma: 1})
	for _, name := range []string{"sd_CL", "sd_V", "sd_ka", "error"} {
		add(name, bayes.Positive(0, 0.5))
	}
	for _, rate := range []string{"CL", "V", "ka"} {
		for _, name := range names {
			add(rate+"_score_"+name, distuv.Normal{Sigma: 1})
		}
	}
	for i, name := range names {
		x := bayes.Experiment{Name: name, Problem: patient(name, weights[name]), Data: data[name],
			Errors: []bayes.Likelihood{bayes.Censored{Of: bayes.LogNormal{Sigma: bayes.Unknown("error")}, Limit: 0.25}}}
		x.Params = append(x.Params, x.Problem.Params[:6]...)
		for _, rate := range []string{"CL", "V", "ka"} {
			x.Params = append(x.Params, rate+"_score_"+name)
		}
		volume := func(theta []float64) float64 {
			return math.Exp(theta[1]+theta[4]*theta[7+len(names)+i]) * weights[name] / 70
		}
		x.Observe = func(dst []float64, _ float64, x, theta []float64) { dst[0] = x[1] / volume(theta) }
		x.ObserveSlopes = func(dst []float64, _ float64, x, theta []float64) {
			v, score := volume(theta), 7+len(names)+i
			c := x[1] / v
			dst[1], dst[2+1], dst[2+4], dst[2+score] = 1/v, -c, -c*theta[score], -c*theta[4]
		}
		p.Experiments = append(p.Experiments, x)
	}
	return p
}

// A model of twenty patients in Go, with doses, a hierarchy of priors and a limit of
// quantification. The model file says the same in fewer lines, and needs no derivatives.
// To draw from the posterior, call sample.Run with sample.NUTS{}.
func Example_population() {
	file, err := model.Load("../../../notebooks/data/population.yaml")
	if err != nil {
		panic(err)
	}
	same, err := file.Posterior()
	if err != nil {
		panic(err)
	}
	var names []string
	data, weights := map[string]*bayes.Data{}, map[string]float64{}
	for i, kg := range []float64{66, 86, 61, 74, 68, 79, 88, 73, 92, 64, 77, 81, 64, 70, 92, 66, 53, 70, 85, 71} {
		name := "s" + strconv.Itoa(101 + i)[1:]
		names, weights[name], data[name] = append(names, name), kg, same.Experiments[i].Data
	}
	p := population(weights, data, names)
	same.Setup = p.Setup

	// Compare the log density and its gradient at a point.
	u := make([]float64, len(p.Params))
	for k := range u {
		u[k] = 0.3 * math.Sin(float64(k))
	}
	u[0], u[1] = 1.4, 3.6
	value, slopes := [2]float64{}, [2][]float64{}
	for i, q := range []*bayes.Posterior{p, same} {
		d, err := bayes.NewDensity(context.Background(), q)
		if err != nil {
			panic(err)
		}
		slopes[i] = make([]float64, d.Dim())
		if value[i], err = d.Gradient(slopes[i], nil, u, nil); err != nil {
			panic(err)
		}
	}
	most, differ := 0.0, math.Abs(value[0]-value[1])/math.Abs(value[0])
	for _, v := range slopes[0] {
		most = max(most, math.Abs(v))
	}
	for k, v := range slopes[0] {
		differ = max(differ, math.Abs(v-slopes[1][k])/most)
	}
	fmt.Printf("%d patients, %d parameters\n", len(p.Experiments), len(p.Params))
	fmt.Println("the file gives the same log density and gradient:", differ < 1e-9)
	// Output:
	// 20 patients, 67 parameters
	// the file gives the same log density and gradient: true
}

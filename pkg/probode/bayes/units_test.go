package bayes_test

import (
	"context"
	"math"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/adams"
	"github.com/probode/probode/pkg/probode/bayes"
	"github.com/probode/probode/pkg/probode/methods"
)

// uptake is a saturating loss after two doses from an empty start, in other units: the
// state, the saturation constant, the doses and the data are multiplied by unit, and times
// by time.
func uptake(setup probode.Setup, unit, time float64) *bayes.Posterior {
	p := &probode.Problem{Name: "uptake", States: []string{"x", "y"}, Params: []string{"v", "K", "loss", "dose"}, X0: []float64{0, 0}, Span: [2]float64{0, 4 * time}, Autonomous: true,
		Theta: []float64{2 * unit / time, unit, 0.3 / time, 3 * unit},
		F: func(f []float64, _ float64, x, th []float64) {
			flow := th[0] * x[0] / (th[1] + x[0])
			f[0], f[1] = -flow, flow-th[2]*x[1]
		}}
	for _, at := range []float64{0.5, 2} {
		p.Events = append(p.Events, probode.Event{Time: at * time, Jump: func(x []float64, _ float64, th []float64) { x[0] += th[3] }})
	}
	log := func(v float64) distuv.LogNormal { return distuv.LogNormal{Mu: math.Log(v), Sigma: 0.5} }
	post := &bayes.Posterior{
		Model: bayes.Model{
			Params: []bayes.Param{{Name: "v", Prior: log(2 * unit / time)}, {Name: "K", Prior: log(unit)}, {Name: "loss", Prior: log(0.3 / time)}, {Name: "dose", Prior: log(3 * unit)}, {Name: "sigma", Prior: log(0.2 * unit)}},
			Experiments: []bayes.Experiment{{Problem: p, Data: &bayes.Data{},
				Observe: func(dst []float64, _ float64, x, _ []float64) { dst[0], dst[1] = x[0], x[1]+0.5*x[0]*x[0]/(unit+x[0]) },
				Errors:  []bayes.Likelihood{bayes.Gaussian{Sigma: bayes.Unknown("sigma")}}}},
		},
		Setup: setup,
	}
	d := post.Experiments[0].Data
	for i, at := range []float64{0.3, 0.9, 1.6, 2.4, 4} {
		d.T = append(d.T, at*time)
		d.Y = append(d.Y, []float64{unit * (2.5 - 0.4*float64(i)), unit * (1 + 0.2*float64(i))})
	}
	return post
}

// In other units, the log likelihood changes by the logarithm of the unit for each value of
// the data, and the gradient on the unconstrained scale does not change at all. No
// function has derivatives here, so all come from differences, also at the start, where
// everything is zero.
func TestUnits(t *testing.T) {
	for name, setup := range map[string]func(time float64) probode.Setup{
		"RK4": func(time float64) probode.Setup {
			return probode.Setup{Method: methods.RungeKutta{}, Mesh: probode.Uniform(0.05 * time)}
		},
		"AM1": func(time float64) probode.Setup {
			return probode.Setup{Method: adams.Moulton{Steps: 1}, Mesh: probode.Uniform(0.05 * time)}
		},
		"Radau": func(time float64) probode.Setup {
			return probode.Setup{Method: methods.Radau{}, Mesh: probode.Through(0.2 * time)}
		},
	} {
		var want float64
		var slopes []float64
		for _, c := range []struct{ unit, time float64 }{{1, 1}, {1e-9, 1}, {1e-4, 3600}, {1e6, 1}, {1, 1e-9}, {1e40, 1e10}} {
			p := uptake(setup(c.time), c.unit, c.time)
			e, err := bayes.NewDensity(context.Background(), p)
			if err != nil {
				t.Fatal(err)
			}
			theta := []float64{1.7 * c.unit / c.time, 1.2 * c.unit, 0.25 / c.time, 3.3 * c.unit, 0.3 * c.unit}
			u, du := make([]float64, 5), make([]float64, 5)
			if err := e.Unconstrain(u, theta); err != nil {
				t.Fatal(err)
			}
			got, err := e.Gradient(du, nil, u, nil)
			if err != nil {
				t.Fatal(err)
			}
			got += 10 * math.Log(c.unit) // the density on the scale of log θ has no unit
			if slopes == nil {
				want, slopes = got, du
				checkGradient(t, e, u, nil, 1e-5)
				continue
			}
			if !(math.Abs(got-want) < 1e-8*math.Abs(want)) {
				t.Errorf("%s, units %v: log density %.12g: want %.12g", name, c, got, want)
			}
			for k, v := range du {
				if !(math.Abs(v-slopes[k]) < 1e-5*(1+math.Abs(slopes[k]))) {
					t.Errorf("%s, units %v: the slope in %s is %.9g: want %.9g", name, c, p.Params[k].Name, v, slopes[k])
				}
			}
		}
	}
}

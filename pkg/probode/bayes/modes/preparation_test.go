package modes_test

import (
	"context"
	"fmt"
	"math"
	"testing"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/bayes"
	"github.com/probode/probode/pkg/probode/bayes/cases"
	"github.com/probode/probode/pkg/probode/bayes/modes"
	"github.com/probode/probode/pkg/probode/bayes/sample"
	"github.com/probode/probode/pkg/probode/mcmc"
	"github.com/probode/probode/pkg/probode/methods"
	"github.com/probode/probode/pkg/probode/problems"
)

// drawn fills the data of each experiment of p with a draw at theta: the solution by
// the method of p itself, and errors of the experiment's own distribution.
func drawn(p *bayes.Posterior, theta []float64) *bayes.Posterior {
	e, err := bayes.NewDensity(context.Background(), p)
	if err != nil {
		panic(err)
	}
	if _, err := e.LogLikelihood(theta, nil); err != nil {
		panic(err)
	}
	rng := probode.Stream(0x64617461)
	at := 0
	for i := range p.Experiments {
		x := &p.Experiments[i]
		for _, row := range x.Data.Y {
			for k := range row {
				l := x.Errors[min(k, len(x.Errors)-1)]
				var own []float64
				for _, v := range l.Own() {
					value := v.Value
					for j, q := range p.Params {
						if q.Name == v.Name {
							value = theta[j]
						}
					}
					own = append(own, value)
				}
				row[k] = l.Rand(e.Expected()[at], own, rng)
				at++
			}
		}
	}
	return p
}

func rows(times []float64, columns int) *bayes.Data {
	d := &bayes.Data{T: times}
	for range times {
		row := make([]float64, columns)
		for k := range row {
			row[k] = 1
		}
		d.Y = append(d.Y, row)
	}
	return d
}

func until(end float64, n int) []float64 {
	out := make([]float64, n)
	for i := range out {
		out[i] = end * float64(i+1) / float64(n)
	}
	return out
}

// fitzHughNagumo8 is the equation of FitzHugh and Nagumo with a, b, c, the initial
// state, the size of the errors of each column, and a gain of the first one.
func fitzHughNagumo8() *bayes.Posterior {
	p := problems.FitzHughNagumo()
	q := p.UnknownStart()
	post := &bayes.Posterior{Setup: probode.Setup{Method: methods.RungeKutta{}, Mesh: probode.Uniform(0.1)}}
	var theta []float64
	for k, v := range q.Theta {
		prior := bayes.Distribution(distuv.Normal{Mu: 0, Sigma: 2})
		if k < len(p.Theta) {
			prior = distuv.LogNormal{Mu: math.Log(v) + 0.3, Sigma: 0.7}
		}
		post.Params = append(post.Params, bayes.Param{Name: q.ParamName(k), Prior: prior})
		theta = append(theta, v)
	}
	for _, name := range []string{"sigma_V", "sigma_R", "gain"} {
		post.Params = append(post.Params, bayes.Param{Name: name, Prior: distuv.LogNormal{Mu: -1, Sigma: 1}})
	}
	theta = append(theta, 0.2, 0.1, 0.8)
	d := len(theta)
	post.Experiments = []bayes.Experiment{{Problem: q, Data: rows(until(20, 40), 2),
		Observe: func(dst []float64, _ float64, x, th []float64) { dst[0], dst[1] = th[d-1]*x[0], x[1] },
		Errors:  []bayes.Likelihood{bayes.Gaussian{Sigma: bayes.Unknown("sigma_V")}, bayes.Gaussian{Sigma: bayes.Unknown("sigma_R")}}}}
	return drawn(post, theta)
}

// chain is d/2 compartments, each of which loses to the next at one rate and to the
// outside at another, all observed with errors of 5 %.
func chain(d int) *bayes.Posterior {
	n := d / 2
	p := &probode.Problem{Name: fmt.Sprintf("chain of %d", n), X0: make([]float64, n), Theta: make([]float64, d), Span: [2]float64{0, 10}, Autonomous: true,
		F: func(f []float64, _ float64, x, th []float64) {
			in := 0.0
			for k := range n {
				f[k] = in - (th[2*k]+th[2*k+1])*x[k]
				in = th[2*k] * x[k]
			}
		}}
	p.X0[0] = 10
	post := &bayes.Posterior{Setup: probode.Setup{Method: methods.RungeKutta{}, Mesh: probode.Uniform(0.1)}}
	theta := make([]float64, d)
	for k := range theta {
		name := fmt.Sprintf("on%d", k/2)
		theta[k] = 1 + 0.3*math.Sin(float64(k))
		if k%2 == 1 {
			name = fmt.Sprintf("out%d", k/2)
			theta[k] = 0.1 + 0.05*math.Cos(float64(k))
		}
		p.Params = append(p.Params, name)
		p.Theta[k] = theta[k]
		post.Params = append(post.Params, bayes.Param{Name: name, Prior: distuv.LogNormal{Mu: math.Log(theta[k]) + 0.2, Sigma: 0.5}})
	}
	post.Experiments = []bayes.Experiment{{Problem: p, Data: rows(until(10, 20), n), Errors: []bayes.Likelihood{bayes.Gaussian{Sigma: bayes.Known(0.05)}}}}
	return drawn(post, theta)
}

// groups is one experiment for each of d−2 groups, a logistic growth with a rate of its
// own, and a capacity and a size of the errors that they share.
func groups(d int) *bayes.Posterior {
	post := &bayes.Posterior{Setup: probode.Setup{Method: methods.RungeKutta{}, Mesh: probode.Uniform(0.1)}}
	var theta []float64
	for k := range d - 2 {
		name := fmt.Sprintf("rate%d", k+1)
		p := &probode.Problem{Name: "logistic growth", States: []string{"y"}, Params: []string{name, "capacity"}, X0: []float64{0.5}, Theta: []float64{1, 5}, Span: [2]float64{0, 6}, Autonomous: true,
			F: func(f []float64, _ float64, x, th []float64) { f[0] = th[0] * x[0] * (1 - x[0]/th[1]) }}
		post.Params = append(post.Params, bayes.Param{Name: name, Prior: distuv.LogNormal{Mu: 0, Sigma: 0.5}})
		theta = append(theta, math.Exp(0.4*math.Sin(float64(k))))
		post.Experiments = append(post.Experiments, bayes.Experiment{Name: name, Problem: p, Data: rows(until(6, 8), 1), Errors: []bayes.Likelihood{bayes.LogNormal{Sigma: bayes.Unknown("sigma")}}})
	}
	post.Params = append(post.Params, bayes.Param{Name: "capacity", Prior: distuv.LogNormal{Mu: 1.5, Sigma: 0.5}}, bayes.Param{Name: "sigma", Prior: distuv.LogNormal{Mu: -1, Sigma: 1}})
	return drawn(post, append(theta, 5, 0.2))
}

// exponentials is a sum of exponentials of n rates and n amounts, which can be exchanged.
func exponentials(n int) *bayes.Posterior {
	p := &probode.Problem{Name: "exponentials", X0: make([]float64, n), Theta: make([]float64, 2*n), Span: [2]float64{0, 5}, Autonomous: true,
		F: func(f []float64, _ float64, x, th []float64) {
			for k := range n {
				f[k] = -th[k] * x[k]
			}
		},
		Start: func(x0, th []float64) { copy(x0, th[n:]) }}
	post := &bayes.Posterior{Setup: probode.Setup{Method: methods.RungeKutta{}, Mesh: probode.Uniform(0.1)}}
	for k := range 2 * n {
		name, prior := fmt.Sprintf("rate%d", k+1), distuv.LogNormal{Mu: 0, Sigma: 1.2}
		p.Theta[k] = 0.25 * math.Pow(5, float64(k))
		if k >= n {
			name, prior = fmt.Sprintf("amount%d", k+1-n), distuv.LogNormal{Mu: 1, Sigma: 1}
			p.Theta[k] = float64(3 + k - n)
		}
		p.Params = append(p.Params, name)
		post.Params = append(post.Params, bayes.Param{Name: name, Prior: prior})
	}
	post.Experiments = []bayes.Experiment{{Problem: p, Data: rows(until(5, 20), 1), Errors: []bayes.Likelihood{bayes.Gaussian{Sigma: bayes.Known(0.02)}},
		Observe: func(dst []float64, _ float64, x, _ []float64) { dst[0] = floats.Sum(x) }}}
	return drawn(post, p.Theta)
}

// prepared are the paper's posterior and models of 8, 20 and 50 parameters, with the share of the solves of a
// default run, 4 (2000 + 250 d), that the search for modes may take: about one and a
// half times what it takes, and never more than a fifth.
func prepared() []preparation {
	return []preparation{
		{"FitzHughNagumo3", func() *bayes.Posterior {
			c, err := cases.Named("fitzhugh-nagumo")
			if err != nil {
				panic(err)
			}
			return c.Posterior()
		}, 0.2},
		{"FitzHughNagumo8", fitzHughNagumo8, 0.23}, // .19 to .225 for sixteen seeds
		{"Chain20", func() *bayes.Posterior { return chain(20) }, 0.14},
		{"Groups20", func() *bayes.Posterior { return groups(20) }, 0.07},
		{"Chain50", func() *bayes.Posterior { return chain(50) }, 0.19},
		{"Groups50", func() *bayes.Posterior { return groups(50) }, 0.09},
	}
}

type preparation struct {
	name  string
	model func() *bayes.Posterior
	share float64
}

// The search for modes is a small part of a run, in solves.
func TestPreparationIsCheap(t *testing.T) {
	for _, c := range prepared() {
		p := c.model()
		m, err := modes.Find(context.Background(), p, modes.Settings{Seed: 1})
		if err != nil {
			t.Fatal(err)
		}
		run := float64(4 * (2000 + 250*len(p.Params)))
		t.Logf("%s: %.0f solves, %.3f of a run; %d modes of %d searches, %d found once", c.name, m.Work, m.Work/run, len(m.Modes), m.Searches, m.Once)
		if m.Work > c.share*run || m.Work < 400 {
			t.Errorf("%s: the search takes %.0f solves, %.2f of a run: want at most %.2f, and 400 solves", c.name, m.Work, m.Work/run, c.share)
		}
		if m.Modes[0].Cov == nil || m.Searches < 24 {
			t.Errorf("%s: %d searches, covariance %v", c.name, m.Searches, m.Modes[0].Cov != nil)
		}
	}
}

// The search for modes as a share of a default run, in solves and in seconds.
func BenchmarkPreparation(b *testing.B) {
	for _, c := range prepared() {
		b.Run(c.name, func(b *testing.B) {
			p := c.model()
			var search, run, seconds, all float64
			for range b.N {
				r, err := sample.Measure(context.Background(), p, sample.Deterministic{}, mcmc.Settings{Seed: 1})
				if err != nil {
					b.Fatal(err)
				}
				search, run, seconds, all = search+r.Prepared, run+r.Work, seconds+r.Preparation, all+r.Seconds
			}
			b.ReportMetric(search/run, "solves/run")
			b.ReportMetric(seconds/all, "s/s")
		})
	}
}

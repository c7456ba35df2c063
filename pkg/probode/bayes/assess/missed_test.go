package assess_test

import (
	"context"
	"math"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/adams"
	"github.com/probode/probode/pkg/probode/bayes"
	"github.com/probode/probode/pkg/probode/bayes/assess"
	"github.com/probode/probode/pkg/probode/bayes/certify"
	"github.com/probode/probode/pkg/probode/filter"
	"github.com/probode/probode/pkg/probode/mcmc"
	"github.com/probode/probode/pkg/probode/methods"
)

// plane returns the model of one parameter theta1 with the field f, from x0, with data
// of the first column.
func plane(prior bayes.Distribution, f func(f []float64, t float64, x, th []float64), x0 []float64, times, y []float64, by bayes.Likelihood) *bayes.Posterior {
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
		Setup: probode.Setup{Method: methods.RungeKutta{}, Mesh: probode.Uniform(0.25)},
	}
}

// integrated returns mean and sd of a posterior on (lo, hi) by the trapezoidal rule, from
// what is expected of the data.
func integrated(p *bayes.Posterior, lo, hi float64, expected func(theta, t float64) float64) (mean, sd float64) {
	const n = 20000
	x := p.Experiments[0]
	logp := make([]float64, n+1)
	top := math.Inf(-1)
	for i := range logp {
		theta := lo + (hi-lo)*float64(i)/n
		logp[i] = p.Params[0].Prior.LogProb(theta)
		for k, t := range x.Data.T {
			var own []float64
			for _, v := range x.Errors[0].Own() {
				own = append(own, v.Value)
			}
			logp[i] += x.Errors[0].LogProb(x.Data.Y[k][0], expected(theta, t), own)
		}
		top = max(top, logp[i])
	}
	var w, w1, w2 float64
	for i, l := range logp {
		theta, e := lo+(hi-lo)*float64(i)/n, math.Exp(l-top)
		w, w1, w2 = w+e, w1+e*theta, w2+e*theta*theta
	}
	mean = w1 / w
	return mean, math.Sqrt(w2/w - mean*mean)
}

func missed(m assess.ModeShare) bool { return m.Missed }

var brief = mcmc.Settings{Draws: 300, Seed: 1}

// A pulse of the state, which a clock among its components brings on, is as hidden as
// one of time: the reference and the solver step over it alike. It makes θ = 1 of what
// without it is θ = 7. There is no verdict, no certificate, and no advice.
func TestPulseOfTheState(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	const width = 2e-4
	p := plane(distuv.LogNormal{Mu: 0, Sigma: 1}, func(f []float64, _ float64, x, th []float64) {
		u := (x[1] - 1.37) / width
		f[0], f[1] = th[0]*(0.05+math.Exp(-u*u/2)/width/math.Sqrt(2*math.Pi)), 1
	}, []float64{0, 0}, []float64{1, 2, 3, 4}, []float64{0.05, 1.1, 1.15, 1.2}, bayes.Gaussian{Sigma: bayes.Known(0.1)})
	a := assessed(t, p, assess.Settings{Candidates: at(0.25), Chains: brief})
	if v := a.Candidates[0].Verdict; v != assess.Undecided || !strings.Contains(a.Answer(), "steps over a feature of f") {
		t.Errorf("%v, %s", v, a.Answer())
	}
	c, err := certify.Run(context.Background(), p, certify.Settings{})
	if err != nil {
		t.Fatal(err)
	}
	if m := c.Modes[0]; c.Certified(0.1) || !(m.OwnD > 1) || !strings.Contains(c.Answer(0.1), "jumps of f as events") {
		t.Errorf("%+v: %s", m, c.Answer(0.1))
	}
}

// An oscillator y″ = −ω²y seen at the integers has the modes ω and 2π − ω. Backward
// Euler damps the second away with every step of the ladder, and weights do not bring
// it back: another solver's draws stand for the reference posterior, or there is no
// verdict. Mean and sd by quadrature are within 5 standard errors, 6e-7 each.
func TestModesThatAllStepsLose(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	times := []float64{1, 2, 3, 4, 5, 6}
	y := make([]float64, len(times))
	seen := func(w, t float64) float64 { return math.Cos(w * t) }
	for i, at := range times {
		y[i] = seen(1.2, at)
	}
	p := plane(distuv.Uniform{Min: 0, Max: 2 * math.Pi}, func(f []float64, _ float64, x, th []float64) {
		f[0], f[1] = x[1], -th[0]*th[0]*x[0]
	}, []float64{1, 0}, times, y, bayes.Gaussian{Sigma: bayes.Known(0.1)})
	p.Method = adams.Moulton{}
	mean, sd := integrated(p, 0, 2*math.Pi, seen)
	a := assessed(t, p, assess.Settings{Candidates: at(1. / 16), Chains: brief})
	q, v := a.Params[0], a.Candidates[0].Verdict
	t.Logf("%v: %g ± %g, sd %g ± %g (%s), want %g and %g", v, q.Mean.Center, q.Mean.CenterSE, q.Mean.Spread, q.Mean.SpreadSE, a.Drawn, mean, sd)
	if !slices.ContainsFunc(a.Candidates[0].Modes, missed) || v == assess.Negligible {
		t.Errorf("%v, lost %+v", v, a.Candidates[0].Modes)
	}
	if v == assess.Matters && !(math.Abs(q.Mean.Center-mean) < 5*q.Mean.CenterSE && math.Abs(q.Mean.Spread-sd) < 5*q.Mean.SpreadSE) {
		t.Errorf("%g ± %g, sd %g ± %g, want %g and %g", q.Mean.Center, q.Mean.CenterSE, q.Mean.Spread, q.Mean.SpreadSE, mean, sd)
	}
}

// A posterior that jumps where an event passes an observation has modes at the jumps. With
// EK1, whose gradient is a difference quotient, searches that begin at two modes of the
// reference leave them, although the two densities agree there to .1 %. No mode is missed.
func TestModeAtAJumpIsNotMissed(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	uniform := distuv.Uniform{Min: 0.1, Max: 10}
	p := &bayes.Posterior{
		Model: bayes.Model{
			Params: []bayes.Param{{Name: "theta1", Prior: uniform}, {Name: "theta2", Prior: uniform}},
			Experiments: []bayes.Experiment{{
				Problem: &probode.Problem{Name: "event", X0: []float64{0.2}, Theta: []float64{1, 1}, Span: [2]float64{0, 2}, Autonomous: true,
					F: func(f []float64, _ float64, x, th []float64) { f[0] = -th[0] * x[0] },
					Events: []probode.Event{{When: func(th []float64) float64 { return th[1] }, SeenAfter: true,
						Jump: func(x []float64, _ float64, _ []float64) { x[0]++ }}}},
				Data:    &bayes.Data{T: []float64{0.5, 2}, Y: [][]float64{{0.9}, {1.1}}},
				Errors:  []bayes.Likelihood{bayes.Gaussian{Sigma: bayes.Known(0.3)}},
				Observe: func(dst []float64, _ float64, x, _ []float64) { dst[0] = x[0] },
			}},
		},
		Setup: probode.Setup{Method: filter.EK{Q: 3, Jacobian: filter.Full}, Mesh: probode.Uniform(0.1)},
	}
	a := assessed(t, p, assess.Settings{Candidates: at(0.1), Chains: brief})
	for _, m := range a.Candidates[0].Modes {
		if m.Missed || m.Phantom {
			t.Errorf("%+v", m)
		}
	}
}

// A solver that has no density beyond some θ, where the reference has a third of the
// posterior, loses that part without a sign in its draws. The field is no
// number where a stage of the classical Runge–Kutta method leaves its domain, which
// the solution x = e^{−θt} itself never does.
func TestPartsThatTheSolverCutsOff(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	p := plane(distuv.Normal{Mu: 1, Sigma: 0.2}, func(f []float64, _ float64, x, th []float64) {
		f[0] = -th[0] * x[0]
		// The second stage of the first step, 1 − θh/2, is below e^{−θh/2} by
		// .009 at θ = 1.1, and no stage of a small step is.
		f[1] = 1
		if x[0]-math.Exp(-th[0]*x[1]) < -0.009 {
			f[0] = math.NaN()
		}
	}, []float64{1, 0}, []float64{1, 2}, []float64{math.Exp(-1), math.Exp(-2)}, bayes.Gaussian{Sigma: bayes.Known(0.1)})
	mean, sd := integrated(p, 0, 2, func(th, t float64) float64 { return math.Exp(-th * t) })
	a := assessed(t, p, assess.Settings{Candidates: at(0.25), Chains: brief})
	q, v := a.Params[0], a.Candidates[0].Verdict
	t.Logf("%v: %g ± %g, sd %g ± %g (%s; %+v), want %g and %g", v, q.Mean.Center, q.Mean.CenterSE, q.Mean.Spread, q.Mean.SpreadSE, a.Drawn, a.Warnings(), mean, sd)
	if v == assess.Negligible {
		t.Errorf("negligible, mean %g ± %g: want %g ± %g (sd)", q.Mean.Center, q.Mean.CenterSE, mean, sd)
	}
	if v == assess.Matters && !(math.Abs(q.Mean.Center-mean) < 5*q.Mean.CenterSE && math.Abs(q.Mean.Spread-sd) < 5*q.Mean.SpreadSE) {
		t.Errorf("%g ± %g, sd %g ± %g, want %g and %g", q.Mean.Center, q.Mean.CenterSE, q.Mean.Spread, q.Mean.SpreadSE, mean, sd)
	}
}

// A phantom of RK4 on a decay, where R(hθ) has the value of R(.4) once more, holds a
// few thousandths of the posterior, 90 of its sds away, so that no draw is there and it
// decides on mean and sd. The error is not called negligible. With four times as many
// steps there is none.
func TestModeWithoutDraws(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	const h = 0.5
	r := func(z float64) float64 { return 1 - z + z*z/2 - z*z*z/6 + z*z*z*z/24 }
	times := []float64{1, 2, 3, 4}
	y := make([]float64, len(times))
	exact := func(th, t float64) float64 { return math.Exp(-th * t) }
	for i, at := range times {
		y[i] = exact(0.8, at)
	}
	p := plane(distuv.LogNormal{Mu: math.Log(0.8), Sigma: 0.75}, func(f []float64, _ float64, x, th []float64) { f[0] = -th[0] * x[0] },
		[]float64{1}, times, y, bayes.Gaussian{Sigma: bayes.Known(0.03)})
	mean, sd := integrated(p, 1e-9, 8, exact)
	wrong, wide := integrated(p, 1e-9, 8, func(th, t float64) float64 { return math.Pow(r(h*th), t/h) })
	if !(math.Abs(wrong-mean) > 0.2*sd && wide > 2*sd) {
		t.Fatalf("by quadrature the mean moves by %g sd, to an sd %g times as large: the case is no test", (wrong-mean)/sd, wide/sd)
	}
	for _, steps := range [][]float64{{h}, {h / 4}} {
		a := assessed(t, p, assess.Settings{Candidates: at(steps...), Chains: brief})
		e, v := a.Candidates[0].Inference.Effects[0], a.Candidates[0].Verdict
		if mean := e.Mean.Verdict; steps[0] == h && (v == assess.Negligible || mean == assess.Negligible) || steps[0] < h && v != assess.Negligible {
			t.Errorf("h = %g: %v, %+v, modes %+v, answer %q, warnings %q", steps[0], v, e, a.Candidates[0].Modes, a.Answer(), a.Warnings())
		}
	}
}

// What has decayed to e^{−1000} of what it was is known as well as anybody needs it: a
// posterior with a plateau of large θ, by quadrature, to 5 standard errors.
func TestPlateauWhereAllHasDecayed(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	exact := func(th, t float64) float64 { return math.Exp(-th * t) }
	p := plane(distuv.Uniform{Min: 0, Max: 1000}, func(f []float64, _ float64, x, th []float64) { f[0] = -th[0] * x[0] },
		[]float64{1}, []float64{1}, []float64{0.35}, bayes.Gaussian{Sigma: bayes.Known(0.1)})
	p.Method = adams.Moulton{}
	mean, sd := integrated(p, 0, 1000, exact)
	a := assessed(t, p, assess.Settings{Candidates: at(1. / 64), Chains: brief})
	q, v := a.Params[0], a.Candidates[0].Verdict
	if v == assess.Matters || !(math.Abs(q.Mean.Center-mean) < 5*q.Mean.CenterSE && math.Abs(q.Mean.Spread-sd) < 5*q.Mean.SpreadSE) {
		t.Errorf("%v: %g ± %g, sd %g ± %g, want %g and %g; %+v", v, q.Mean.Center, q.Mean.CenterSE, q.Mean.Spread, q.Mean.SpreadSE, mean, sd, a.Warnings())
	}
}

// Counts of zero where all solvers expect none say nothing: the posterior is the prior,
// with mean √e, and there is an answer.
func TestNothingToCount(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	p := plane(distuv.LogNormal{Mu: 0, Sigma: 1}, func(f []float64, _ float64, x, th []float64) { f[0] = -th[0] * x[0] },
		[]float64{0}, []float64{1, 2}, []float64{0, 0}, bayes.Poisson{})
	a := assessed(t, p, assess.Settings{Candidates: at(0.5, 0.25), Chains: brief})
	if v := a.Candidates[0].Verdict; v != assess.Negligible || a.Claim("reference error", "").Value != 0 {
		t.Errorf("%v, %+v, warnings %q", v, a.Claims, a.Warnings())
	}
}

package playground

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/bayes"
	"github.com/probode/probode/pkg/probode/bayes/cases"
	"github.com/probode/probode/pkg/probode/mcmc"
	"github.com/probode/probode/pkg/probode/mcmc/diag"
	"github.com/probode/probode/pkg/probode/methods"
)

type sampled struct {
	from, to float64 // range of step sizes
	step     float64 // usual step size
	exact    float64 // step of Runge and Kutta's method whose error does not matter
	thin     int     // iterations for each draw with that step
	ranges   [][2]float64
	first    [2]string // usual parameters on the axes
}

var problems = map[string]sampled{
	"fitzhugh-nagumo": {0.01, 0.2, 0.05, 0.025, 2,
		[][2]float64{{0.1, 0.3}, {0, 0.4}, {2.7, 3.4}}, [2]string{"theta2", "theta3"}},
	"lynx-hare": {0.05, 1, 0.25, 0.1, 4,
		[][2]float64{{0.3, 0.9}, {0.01, 0.05}, {0.5, 1.3}, {0.01, 0.045}, {20, 50}, {3, 10}, {0.1, 0.5}, {0.1, 0.5}},
		[2]string{"theta1", "theta3"}},
}

type accurate struct {
	*run
	*task
}

// accurates has one run for each problem, which goes on while a figure with this problem
// advances.
var accurates = map[string]accurate{}

func accurately(problem string) accurate {
	a, ok := accurates[problem]
	if !ok {
		q := problems[problem]
		p := posed(problem)
		p.Setup = probode.Setup{Method: methods.RungeKutta{}, Mesh: probode.Uniform(q.exact)}
		r := newRun(p, mcmc.Settings{Draws: 1200, BurnIn: 400, Thin: q.thin, Seed: 1})
		a = accurate{r, newTask(r.draw)}
		accurates[problem] = a
	}
	return a
}

type posterior struct {
	*Figure
	draws *run     // with the solver of the knobs
	exact accurate // of the same problem
	begun *task    // the task that makes the draws, once it has begun
	upTo  int      // the number of iterations of all chains that a stopped figure makes
}

func newPosterior(f *Figure) content { return &posterior{f, &run{}, accurately(f.value), nil, 0} }

func (*posterior) controls(name string) knobs {
	p, ok := problems[name]
	if !ok {
		return nil
	}
	var names []option
	for _, n := range posed(name).Names() {
		names = append(names, option{n, symbol(n)})
	}
	return knobs{
		choice("problem", "problem", name, option{"fitzhugh-nagumo", "FitzHugh–Nagumo"}, option{"lynx-hare", "lynx and hare"}),
		methodChoice("am0,current", "ab1", "am0,current", "am1", "rk4"),
		slider("h", "step size h", "log", p.from, p.to, 0, p.step),
		toggle("noise", "solver error in the model", true),
		slider("alpha", "noise scale α", "log", 0.01, 2, 0, 0.2),
		slider("seed", "seed", "integer", 1, 1000, 1, 1),
		choice("x", "horizontal axis", p.first[0], names...),
		choice("y", "vertical axis", p.first[1], names...),
		toggle("stop", "stop", false),
		button("step", "one step"), button("reset", "begin again"),
	}
}

func posed(name string) *bayes.Posterior {
	c, err := cases.Named(name)
	if err != nil {
		panic(err)
	}
	return c.Posterior()
}

func (f *posterior) compute(ctx context.Context) error {
	p := posed(f.value)
	p.Setup = probode.Setup{Method: f.method(), Mesh: probode.Uniform(f.number("h"))}
	if f.on("noise") {
		p.Alpha = f.number("alpha")
	}
	f.exact, f.upTo = accurately(f.value), 0
	f.draws = newRun(p, mcmc.Settings{Draws: 4000, BurnIn: 500, Thin: 5, Seed: uint64(f.number("seed"))})
	return f.draws.draw(ctx)
}

// advance gives half of the time to the accurate run until that is complete. With `stop`,
// each press of `step` is an iteration of one chain; a new run starts nevertheless.
func (f *posterior) advance(budget time.Duration) (done bool) {
	if !f.exact.ended() {
		budget /= 2
		f.exact.advance(budget)
	}
	if f.pressed == "step" {
		f.named("stop").Value = true
		f.pressed, f.upTo = "", f.draws.made()+1
	}
	if !f.on("stop") || f.begun != f.work {
		f.begun = f.work
		return f.work.advance(budget) && f.exact.ended()
	}
	for end := time.Now().Add(budget); f.draws.made() < f.upTo && time.Now().Before(end); {
		if f.work.advance(0) { // until the next pause
			f.upTo = 0
		}
	}
	return f.draws.made() >= f.upTo && f.exact.ended()
}

func (f *posterior) show(v *View) {
	v.Progress = f.draws.share()
	f.contours(v)
	f.trace(v)
	if !f.failed() {
		f.says(v)
	}
}

func (f *posterior) says(v *View) {
	r, s, exact := f.draws, f.draws.summary, f.exact.summary
	done, total := r.iterations()
	if done == 0 {
		v.say("The chains have not begun: the program is looking for starting points around the modes of the posterior.")
		return
	}
	var moves mcmc.Stats
	for _, c := range r.chains {
		s := c.Stats()
		moves.Proposed, moves.Accepted = moves.Proposed+s.Proposed, moves.Accepted+s.Accepted
		moves.Latent.Proposed, moves.Latent.Accepted = moves.Latent.Proposed+s.Latent.Proposed, moves.Latent.Accepted+s.Latent.Accepted
	}
	status := fmt.Sprintf("Iteration %d of %d in each of four chains; the first %d are burn-in and are discarded. ", done, total, r.settings.BurnIn)
	status += fmt.Sprintf("Accepted: %.0f %% of the moves of θ", 100*moves.Rate())
	if r.posterior.Alpha > 0 {
		status += fmt.Sprintf(", %.0f %% of those of ξ", 100*moves.Latent.Rate())
	}
	v.say("%s.", status)
	if len(s) == 0 {
		v.say("There are too few draws after burn-in to say anything about the posterior.")
		return
	}
	name, ess, rhat := worst(s)
	v.say("The largest R̂ is %.3f. %s has the fewest effective draws: %.0f.", rhat, symbol(name), ess)
	if !enough(s) {
		v.say("The draws do not show reliably where the posterior lies: R̂ must be at most %g, and every parameter needs at least %d effective draws.", mostRHat, leastESS)
		return
	}
	for i := range s {
		m := &s[i]
		v.Numbers["mean."+m.Name], v.Numbers["sd."+m.Name] = m.Mean, m.SD
		if m.Name != f.text("x") && m.Name != f.text("y") {
			continue
		}
		if said := fmt.Sprintf("%s is %.4g ± %.2g", symbol(m.Name), m.Mean, m.SD); enough(exact) {
			v.say("%s; %s", said, compared(m, &exact[i]))
		} else {
			v.say("%s.", said)
		}
		if r := problems[f.value].ranges[i]; m.Mean < r[0] || m.Mean > r[1] {
			v.say("The mean of %s lies outside the range of its axis: most of the draws are not in the chart.", symbol(m.Name))
		}
	}
	if !enough(exact) && f.exact.ended() {
		v.say("The distance from the posterior of the reference is not known: there are too few effective draws from that posterior.")
	} else if !enough(exact) {
		v.say("The distance from the posterior of the reference is not known yet: %.0f %% of its draws have been made.", 100*f.exact.share())
	}
}

func compared(m, e *diag.Marginal) string {
	shift, noise := (m.Mean-e.Mean)/e.SD, math.Hypot(m.MCSE, e.MCSE)/e.SD
	said := fmt.Sprintf("in the reference posterior it is %.4g ± %.2g. ", e.Mean, e.SD)
	if math.Abs(shift) < 3*noise {
		return said + fmt.Sprintf("The difference between the means is %.2f sd. Chance alone can explain a difference within ±%.2f sd.", shift, 3*noise)
	}
	return said + fmt.Sprintf("The solver's error moves the mean by %.2f ± %.2f sd.", shift, 2*noise)
}

func (f *posterior) axisOf(name string) (Axis, int) {
	i := slices.Index(f.draws.posterior.Names(), f.text(name))
	r := problems[f.value].ranges[i]
	return linear(symbol(f.text(name)), r[0], r[1]), i
}

func (f *posterior) contours(v *View) {
	x, i := f.axisOf("x")
	y, j := f.axisOf("y")
	var series []Series
	for k, edge := range f.exact.outline(i, j) {
		series = append(series, line("reference", ink, 2-0.8*float64(k), edge))
	}
	for k, edge := range f.draws.outline(i, j) {
		series = append(series, line("this solver", colours[0], 2-0.8*float64(k), edge))
	}
	now := points{}
	for _, c := range f.draws.chains {
		for _, p := range c.positions[max(0, len(c.positions)-25):] {
			now = append(now, [2]float64{p[i], p[j]})
		}
	}
	series = append(series, dots("latest draws", colours[1], 4, now))
	v.draw("contours", "Regions that contain 50 % and 90 % of the posterior", 380, x, y, series...)
}

func (f *posterior) trace(v *View) {
	const most = 300 // points of each chain
	y, j := f.axisOf("y")
	r, length := f.draws, 1000
	for done, _ := r.iterations(); length < done; {
		length *= 2
	}
	thin := 1
	for thin*most*r.settings.Thin < length {
		thin *= 2
	}
	var series []Series
	for c, chain := range r.chains {
		path := points{}
		for k := thin - 1; k < len(chain.positions); k += thin {
			path = append(path, [2]float64{float64((k + 1) * r.settings.Thin), chain.positions[k][j]})
		}
		series = append(series, line(fmt.Sprintf("chain %d", c+1), colours[c], 1, path))
	}
	series = append(series, upright("end of burn-in", pale, 1, float64(r.settings.BurnIn), y))
	v.draw("trace", "Chains of "+y.Name, 260, linear("iteration", 0, float64(length)), y, series...)
}

package playground

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/bayes"
	"github.com/probode/probode/pkg/probode/bayes/cases"
	"github.com/probode/probode/pkg/probode/mcmc"
	"github.com/probode/probode/pkg/probode/mcmc/diag"
	"github.com/probode/probode/pkg/viz/internal/kde"
)

// A sampled problem is a case whose posterior is drawn.
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
		[][2]float64{{0.1, 0.3}, {-0.1, 0.7}, {2.6, 3.4}}, [2]string{"theta2", "theta3"}},
	"lynx-hare": {0.05, 1, 0.25, 0.1, 4,
		[][2]float64{{0.3, 0.9}, {0.01, 0.05}, {0.5, 1.3}, {0.01, 0.045}, {20, 50}, {3, 10}, {0.1, 0.5}, {0.1, 0.5}},
		[2]string{"theta1", "theta3"}},
}

// accurates holds the draws from the accurate posteriors that have been completed.
var accurates = map[string]*run{}

// posterior is the figure in which draws from a posterior appear as the reader watches,
// beside the posterior of an accurate solver.
type posterior struct {
	computed
	draws *run // with the solver of the knobs
	exact *run // with an accurate solver
}

func newPosterior() Figure {
	f := &posterior{}
	f.computed = computed{problem: "fitzhugh-nagumo", list: f.controls, ranged: []string{"h"}, drawn: []string{"x", "y", "stop", "step"}}
	return ready(f)
}

// controls returns the knobs with their usual values for a problem.
func (*posterior) controls(name string) knobs {
	p, ok := problems[name]
	if !ok {
		return nil
	}
	names := plain(posed(name).Names()...)
	return knobs{
		choice("problem", "problem", name, []Option{{"fitzhugh-nagumo", "FitzHugh–Nagumo"}, {"lynx-hare", "lynx and hare"}}...),
		choice("method", "method", "am0,current", []Option{
			{"ab1", "forward Euler"}, {"am0,current", "backward Euler"}, {"am1", "trapezoidal rule"}, {"rk4", "Runge–Kutta, order 4"}}...),
		slider("h", "step size h", "log", p.from, p.to, 0, p.step),
		toggle("noise", "the solver's error is part of the model", true),
		slider("alpha", "scale of the noise α", "log", 0.01, 2, 0, 0.2),
		slider("seed", "seed", "integer", 1, 1000, 1, 1),
		choice("x", "horizontal axis", p.first[0], names...),
		choice("y", "vertical axis", p.first[1], names...),
		toggle("stop", "stop", false),
		button("step", "one step"), button("reset", "begin again"),
	}
}

// posed returns the posterior of a case.
func posed(name string) *bayes.Posterior {
	c, err := cases.Named(name)
	if err != nil {
		panic(err)
	}
	return c.Posterior()
}

func (f *posterior) Set(values map[string]any) error {
	before := f.problem
	again, err := f.take(values)
	if err != nil {
		return err
	}
	if f.exact == nil || f.problem != before {
		f.exact.close()
		f.exact = accurate(f.problem)
	}
	if again {
		f.begin()
	}
	if f.draws.single = f.pressed == "step"; f.draws.single {
		f.named("stop").Value = true
	}
	return nil
}

// The function accurate returns the run of the accurate solver, which may already be
// complete.
func accurate(problem string) *run {
	if r := accurates[problem]; r != nil {
		return r
	}
	p := posed(problem)
	p.Setup = probode.Setup{Method: probode.RungeKutta{}, Mesh: probode.Uniform(problems[problem].exact)}
	return newRun(p, mcmc.Settings{Draws: 1200, BurnIn: 400, Thin: problems[problem].thin, Seed: 1})
}

// The method begin begins to draw with the solver that the knobs select.
func (f *posterior) begin() {
	p := posed(f.problem)
	p.Setup = probode.Setup{Method: methodNamed(f.text("method")), Mesh: probode.Uniform(f.number("h"))}
	if f.on("noise") {
		p.Alpha = f.number("alpha")
	}
	f.draws.close()
	f.draws = newRun(p, mcmc.Settings{Draws: 4000, BurnIn: 500, Thin: 5, Seed: uint64(f.number("seed"))})
}

func (f *posterior) Close() {
	f.draws.close()
	f.exact.close()
}

// Advance draws. Until the accurate posterior is complete, half of the time is spent on
// it.
func (f *posterior) Advance(budget time.Duration) View {
	still := f.on("stop") && !f.draws.single
	if !f.exact.over() {
		budget /= 2
		if f.exact.advance(budget) && f.exact.whole {
			accurates[f.problem] = f.exact
		}
	}
	if !still {
		ended := f.draws.advance(budget)
		if done, _ := f.draws.iterations(); f.draws.single && (done > 0 || ended) {
			f.draws.single, still = false, true // one iteration has been made
		}
	}
	v := View{Progress: f.draws.progress(), Done: (f.draws.over() || still) && f.exact.over(), Numbers: map[string]float64{}}
	v.Charts = []Chart{f.contours(), f.trace()}
	v.Says = f.says(&v)
	return v
}

// The method says describes the state of the draws, and compares the posteriors as soon
// as there are enough draws.
func (f *posterior) says(v *View) (list []string) {
	r := f.draws
	done, total := r.iterations()
	switch {
	case r.over() && r.err != nil:
		return []string{"There are no draws: " + r.err.Error() + "."}
	case done == 0:
		return []string{"The chains have not begun: their starting points are being sought around the modes of the posterior."}
	}
	theta, xi := r.accepted()
	status := fmt.Sprintf("Iteration %d of %d in each of four chains; the first %d are burn-in and do not count. ", done, total, r.settings.BurnIn)
	status += fmt.Sprintf("Accepted: %.0f %% of the moves of θ", 100*theta)
	if r.posterior.Alpha > 0 {
		status += fmt.Sprintf(", %.0f %% of those of ξ", 100*xi)
	}
	list = append(list, status+".")
	s := r.summary
	if len(s) == 0 {
		return append(list, "There are too few draws after burn-in to say anything about the posterior.")
	}
	m, rhat := worst(s)
	list = append(list, fmt.Sprintf("R̂ is at most %.3f; %s has the fewest effective draws, %.0f.", rhat, m.Name, min(m.BulkESS, m.TailESS)))
	if !enough(s) {
		return append(list, fmt.Sprintf("That is not enough to say where the posterior lies: R̂ has to be at most %g, with at least %d effective draws.", mostRHat, leastESS))
	}
	exact := f.exact.summary
	for i := range s {
		v.Numbers["mean."+s[i].Name], v.Numbers["sd."+s[i].Name] = s[i].Mean, s[i].SD
		if s[i].Name == f.text("x") || s[i].Name == f.text("y") {
			list = append(list, compared(&s[i], exact, i))
			if r := problems[f.problem].ranges[i]; s[i].Mean < r[0] || s[i].Mean > r[1] {
				list = append(list, s[i].Name+" lies outside of its axis: most of the draws are not in the chart.")
			}
		}
	}
	if !enough(exact) && f.exact.over() {
		list = append(list, "How far this is from the posterior of an accurate solver is not known: there are too few effective draws from that one.")
	} else if !enough(exact) {
		list = append(list, fmt.Sprintf("How far this is from the posterior of an accurate solver is not known yet: %.0f %% of its draws have been made.", 100*f.exact.progress()))
	}
	return list
}

// The function compared describes the posterior of parameter i and, if enough draws
// from the accurate posterior exist, compares the two.
func compared(m *diag.Marginal, exact diag.Summary, i int) string {
	said := fmt.Sprintf("%s is %.4g ± %.2g", m.Name, m.Mean, m.SD)
	if !enough(exact) {
		return said + "."
	}
	e := &exact[i]
	shift, noise := (m.Mean-e.Mean)/e.SD, math.Hypot(m.MCSE, e.MCSE)/e.SD
	said += fmt.Sprintf("; with an accurate solver it is %.4g ± %.2g. ", e.Mean, e.SD)
	if math.Abs(shift) < 3*noise {
		return said + fmt.Sprintf("The difference of the means, %.2f sd, is no larger than can be explained by chance, ±%.2f sd.", shift, 3*noise)
	}
	return said + fmt.Sprintf("The solver's error moves the mean by %.2f ± %.2f sd.", shift, 2*noise)
}

// axisOf returns the axis of a parameter, and its index.
func (f *posterior) axisOf(knob string) (Axis, int) {
	name := f.text(knob)
	i := slices.Index(f.draws.posterior.Names(), name)
	r := problems[f.problem].ranges[i]
	return linear(name, r[0], r[1]), i
}

// contours returns the chart of two parameters: the contours of both posteriors, and
// the positions of the chains.
func (f *posterior) contours() Chart {
	x, i := f.axisOf("x")
	y, j := f.axisOf("y")
	var series []Series
	for k, edge := range f.exact.outline(i, j) {
		series = append(series, line("accurate solver", ink, 2-0.8*float64(k), edge))
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
	return newChart("contours", "Regions that contain 50 % and 90 % of the posterior", 380, x, y, series...)
}

// outline returns the contours of parameters i and j around 50 % and 90 % of the draws, or
// nothing while there are few.
func (r *run) outline(i, j int) []points {
	s := r.summary
	if r.outlined == [3]int{r.judged, i, j} {
		return r.outlines
	}
	r.outlined, r.outlines = [3]int{r.judged, i, j}, nil
	if len(s) == 0 || !(min(s[i].BulkESS, s[j].BulkESS) >= fewestESS) {
		return nil
	}
	const most, cells = 1000, 64
	kept := r.kept()
	each := min(r.judged, len(kept[0])) // the contours change when the summary does
	thin := (4*each + most - 1) / most
	var x, y []float64
	for _, draws := range kept {
		for k := thin - 1; k < each; k += thin {
			x, y = append(x, draws[k][i]), append(y, draws[k][j])
		}
	}
	smoother := math.Pow(max(1, float64(len(x))/min(s[i].BulkESS, s[j].BulkESS)), 1./6) // as for that many independent draws
	g, err := kde.Plane(x, y, smoother, cells)
	if err != nil {
		return nil
	}
	for _, level := range g.Levels(0.5, 0.9) {
		r.outlines = append(r.outlines, joined(g.Contour(level)))
	}
	return r.outlines
}

// trace returns the trace plot of the parameter that the knob y names.
func (f *posterior) trace() Chart {
	const most = 300 // points of each chain
	y, j := f.axisOf("y")
	r := f.draws
	length := 1000.
	for done, _ := r.iterations(); length < float64(done); {
		length *= 2
	}
	var series []Series
	for c, chain := range r.chains {
		thin := 1
		for thin*most*r.settings.Thin < int(length) {
			thin *= 2
		}
		path := points{}
		for k := thin - 1; k < len(chain.positions); k += thin {
			path = append(path, [2]float64{float64((k + 1) * r.settings.Thin), chain.positions[k][j]})
		}
		series = append(series, line(fmt.Sprintf("chain %d", c+1), colours[c], 1, path))
	}
	series = append(series, upright("end of burn-in", pale, 1, float64(r.settings.BurnIn), y))
	return newChart("trace", "Chains of "+y.Name, 260, linear("iteration", 0, length), y, series...)
}

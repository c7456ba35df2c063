package playground

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/gonum/floats"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/calibrate"
	odes "github.com/probode/probode/pkg/probode/problems"
	"github.com/probode/probode/pkg/probode/reference"
	"github.com/probode/probode/pkg/viz/internal/kde"
)

// An integrated problem is one whose ensembles are shown, with the range of its step sizes.
type integrated struct {
	make            func() *probode.Problem
	label           string
	least, most, at float64
	states          [][2]float64 // the axes of the components
}

var integrable = map[string]integrated{
	"fitzhugh-nagumo": {odes.FitzHughNagumo, "FitzHugh–Nagumo", 0.01, 0.5, 0.1, [][2]float64{{-4, 4}, {-1.6, 1.8}}},
	"logistic":        {odes.Logistic, "logistic growth", 0.01, 0.5, 0.2, [][2]float64{{-0.2, 1.3}}},
	"lorenz63":        {odes.Lorenz63, "Lorenz 63", 0.002, 0.05, 0.01, [][2]float64{{-30, 30}, {-40, 40}, {-10, 60}}},
	"lotka-volterra":  {odes.LotkaVolterra, "Lotka–Volterra", 0.01, 0.5, 0.1, [][2]float64{{-1, 9}, {-2, 6}}},
	"rigid-body":      {odes.RigidBody, "rigid body", 0.02, 1, 0.25, [][2]float64{{-1.6, 1.6}, {-1.3, 1.3}, {0.7, 0.95}}},
}

// paths is the figure of an ensemble of numerical solutions beside the accurate solution.
type paths struct {
	computed
	ode    *probode.Problem
	solved string // the name of ode
	truth  *reference.Solution
	ens    *probode.Ensemble
	errs   [][]float64 // of the classical solution, by component
	orders []sized     // from large steps to small ones
	scale  *calibrate.NoiseScale
}

// The type sized holds the error and the spread at one step size, by component: root
// mean squares over time.
type sized struct {
	h         float64
	error, sd []float64
}

func newPaths() Figure {
	f := &paths{}
	f.computed = computed{problem: "fitzhugh-nagumo", list: f.controls, begin: f.compute, show: f.view,
		failure: "The solver finds no solution with these settings",
		ranged:  []string{"component", "h", "cut"}, drawn: []string{"component", "show", "cut"}}
	return ready(f)
}

func (*paths) controls(name string) knobs {
	i := integrable[name]
	if i.make == nil {
		return nil
	}
	p := i.make()
	component := choice("component", "component", "0")
	for k := range p.X0 {
		component.Options = append(component.Options, Option{fmt.Sprint(k), p.StateName(k)})
	}
	from, to := p.Span[0], p.Span[1]
	return knobs{problemChoice(name), component, methodChoice("am0"),
		slider("h", "step size h", "log", i.least, i.most, 0, i.at),
		slider("alpha", "scale of the noise α", "log", 1e-4, 1e3, 0.05, 0.2),
		button("calibrate", "calibrate α"),
		slider("paths", "number of paths", "range", 2, 200, 1, 50),
		choice("show", "show", "paths", Option{"paths", "the paths"}, Option{"band", "mean ± 2 sd"}),
		slider("cut", "cut at the time", "range", from, to, (to-from)/200, from+0.75*(to-from)),
		slider("seed", "seed", "integer", 1, 1000, 1, 1),
	}
}

// problemChoice returns the control that selects the problem.
func problemChoice(value string) Control {
	c := choice("problem", "problem", value)
	for _, n := range slices.Sorted(maps.Keys(integrable)) {
		c.Options = append(c.Options, Option{n, integrable[n].label})
	}
	return c
}

// methodChoice returns the control for an integrator.
func methodChoice(value string) Control {
	return choice("method", "method", value, []Option{
		{"ab1", "forward Euler"}, {"ab2", "Adams–Bashforth, order 2"}, {"ab4", "Adams–Bashforth, order 4"}, {"am0", "backward Euler"},
		{"am1", "trapezoidal rule"}, {"am2", "Adams–Moulton, order 3"}, {"rk4", "Runge–Kutta, order 4"}}...)
}

// compute computes the ensemble, the accurate solution of a new problem, and then the
// errors and spreads, from large steps to small ones.
func (f *paths) compute(ctx context.Context) error {
	if f.solved != f.problem {
		f.ode, f.solved, f.truth, f.ens = integrable[f.problem].make(), f.problem, nil, nil
	}
	f.orders, f.scale = nil, nil
	m := methodNamed(f.text("method"))
	h, n, seed := f.number("h"), int(f.number("paths")), uint64(f.number("seed"))
	if f.pressed == "calibrate" {
		scale, err := calibrate.Run(ctx, f.ode, m, calibrate.Settings{StepSize: h, Paths: 100, Seed: seed, Workers: 1})
		if err != nil {
			return err
		}
		f.scale = scale
		if c := f.named("alpha"); !math.IsNaN(scale.Alpha) {
			c.Value = min(max(scale.Alpha, c.Min), c.Max)
		}
	}
	settings := probode.Settings{Mesh: probode.Uniform(h), Alpha: f.number("alpha"), Seed: seed, KeepPaths: true, Workers: 1}
	ens, failure := probode.Integrate(ctx, f.ode, m, n, settings)
	if failure == nil {
		f.ens, f.errs = ens, f.errors(ens)
	}
	if f.truth == nil {
		f.work.rest(true) // the paths are shown first
		times := make([]float64, 4801)
		for i := range times {
			times[i] = f.moment(i, len(times)-1)
		}
		truth, err := reference.Solve(ctx, f.ode, times, reference.Settings{})
		if err != nil {
			return err
		}
		if f.truth = truth; failure == nil {
			f.errs = f.errors(ens)
		}
	}
	if failure != nil {
		return failure
	}
	f.work.rest(true) // they are shown before the other step sizes
	const blocks = 50 // every grid has their ends, which are times of the accurate solution
	settings.KeepPaths, settings.Times = false, make([]float64, blocks+1)
	for k := range settings.Times {
		settings.Times[k] = f.moment(k, blocks)
	}
	i := integrable[f.problem]
	for h := f.moment(1, blocks) - f.ode.Span[0]; h >= i.least; h /= 2 {
		if h > i.most {
			continue
		}
		settings.Mesh = probode.Uniform(h)
		ens, err := probode.Integrate(ctx, f.ode, m, min(n, 20), settings)
		if ctx.Err() != nil {
			return ctx.Err()
		} else if err != nil {
			continue // this step is too large
		}
		o := sized{h: h}
		for c, errs := range f.errors(ens) {
			o.error, o.sd = append(o.error, rms(errs)), append(o.sd, rms(ens.SD[c]))
		}
		f.orders = append(f.orders, o)
	}
	return nil
}

// moment returns the end of block k if the time span is divided into n equal blocks.
func (f *paths) moment(k, n int) float64 {
	return f.ode.Span[0] + (f.ode.Span[1]-f.ode.Span[0])*float64(k)/float64(n)
}

// errors returns the errors of the classical solution, which are NaN as long as the
// accurate solution is not known. Between its times the accurate solution is interpolated
// by a cubic polynomial with the same values and slopes; with 4,800 intervals the error of
// this interpolation is smaller than any error that is drawn.
func (f *paths) errors(ens *probode.Ensemble) [][]float64 {
	d := len(f.ode.X0)
	errs := make([][]float64, d)
	if f.truth == nil {
		for k := range errs {
			errs[k] = slices.Repeat([]float64{math.NaN()}, len(ens.T))
		}
		return errs
	}
	theta, times := f.ode.Theta, f.truth.Times
	left, right := make([]float64, d), make([]float64, d)
	for i, t := range ens.T {
		j, _ := slices.BinarySearch(times, t)
		j = min(max(j, 1), len(times)-1)
		a, b := f.truth.X[(j-1)*d:j*d], f.truth.X[j*d:(j+1)*d]
		f.ode.F(left, times[j-1], a, theta)
		f.ode.F(right, times[j], b, theta)
		h := times[j] - times[j-1]
		s := (t - times[j-1]) / h
		for k := range errs {
			x := a[k]*(1+2*s)*(1-s)*(1-s) + b[k]*s*s*(3-2*s) + h*s*(1-s)*(left[k]*(1-s)-right[k]*s)
			errs[k] = append(errs[k], ens.Deterministic[k][i]-x)
		}
	}
	return errs
}

func rms(x []float64) float64 {
	sum := 0.
	for _, v := range x {
		sum += v * v
	}
	return math.Sqrt(sum / float64(len(x)))
}

func (f *paths) view(v *View) {
	if f.solved != f.problem {
		return
	}
	if f.ens == nil || len(v.Says) > 0 { // not yet computed, or a failure
		v.Charts = []Chart{f.solutions(nil)}
		return
	}
	v.Progress = 0.3 + 0.1*float64(len(f.orders))
	k := f.component()
	c := f.cut(k)
	v.Charts = []Chart{f.solutions(f.ens), c, f.spread(k), f.order(k)}
	v.Says = f.says(k, v.Numbers)
	v.Files = []File{{pathsFile, "text/csv"}}
}

const pathsFile = "paths.csv"

// File writes a table of the component that is shown: the times, the classical
// solution, the mean, the standard deviation, and the paths.
func (f *paths) File(name string) ([]byte, error) {
	if name != pathsFile || f.ens == nil || f.solved != f.problem {
		return nil, errors.New("the only file is " + pathsFile + ", and it needs paths")
	}
	k, d, e := f.component(), len(f.ode.X0), f.ens
	var b strings.Builder
	b.WriteString("t,classical,mean,sd")
	for p := range e.Paths {
		fmt.Fprintf(&b, ",path%d", p+1)
	}
	for i, t := range e.T {
		fmt.Fprintf(&b, "\n%g,%g,%g,%g", t, e.Deterministic[k][i], e.Mean[k][i], e.SD[k][i])
		for _, z := range e.Paths {
			if b.WriteByte(','); z != nil {
				fmt.Fprint(&b, z[i*d+k])
			}
		}
	}
	return append([]byte(b.String()), '\n'), nil
}

func (f *paths) component() int {
	return slices.IndexFunc(f.named("component").Options, func(o Option) bool { return o.Value == f.text("component") })
}

// axes returns the axes of time and of component k. They depend only on the problem.
func (f *paths) axes(k int) (t, x Axis) {
	p := integrable[f.problem].states[k]
	return linear("t", f.ode.Span[0], f.ode.Span[1]), linear(f.ode.StateName(k), p[0], p[1])
}

// classical is the name of the solution without noise.
const classical = "classical solution, ξ = 0"

// solutions returns the chart of the component against time.
func (f *paths) solutions(e *probode.Ensemble) Chart {
	k, d := f.component(), len(f.ode.X0)
	t, x := f.axes(k)
	var series []Series
	if e != nil && f.text("show") == "paths" {
		thin := max(1, len(e.T)*len(e.Paths)/20000) // points that no screen shows
		all := points{}
		for _, z := range e.Paths {
			for i := 0; i < len(z)/d; i += thin {
				all = append(all, [2]float64{e.T[i], z[i*d+k]})
			}
			all = append(all, gap)
		}
		s := line(fmt.Sprintf("%d paths", e.N), colours[0], 1, all)
		s.Opacity = max(0.08, min(0.5, 8/float64(e.N)))
		series = append(series, s)
	} else if e != nil {
		low, high := points{}, points{}
		for i, t := range e.T {
			m, s := e.Mean[k][i], e.SD[k][i]
			low, high = append(low, [2]float64{t, m - 2*s}), append(high, [2]float64{t, m + 2*s})
		}
		series = append(series, line("mean", colours[0], 2, joined(e.T, e.Mean[k])), line("mean ± 2 sd", colours[5], 1.2, low), line("mean ± 2 sd", colours[5], 1.2, high))
	}
	if e != nil {
		series = append(series, dashed(line(classical, colours[1], 1.6, joined(e.T, e.Deterministic[k]))))
	}
	exact := points{}
	for i := 0; f.truth != nil && i < len(f.truth.Times); i += 8 {
		exact = append(exact, [2]float64{f.truth.Times[i], f.truth.X[i*d+k]})
	}
	series = append(series, line("accurate solution", ink, 1.6, exact), upright("cut", pale, 1, f.number("cut"), x))
	c := newChart("solutions", "Numerical solutions of "+integrable[f.problem].label, 340, t, x, series...)
	c.Wide = true
	return c
}

// The method at() returns the index of the first grid point at or after the cut.
func (f *paths) at() int {
	i, _ := slices.BinarySearch(f.ens.T, f.number("cut"))
	return min(i, len(f.ens.T)-1)
}

// cut returns the chart of the density of the component at the time of the cut. Densities
// are drawn relative to their maximum, so that the axis stays the same.
func (f *paths) cut(k int) Chart {
	_, x := f.axes(k)
	i, d, e := f.at(), len(f.ode.X0), f.ens
	var values []float64
	for _, z := range e.Paths {
		if z != nil {
			values = append(values, z[i*d+k])
		}
	}
	var series []Series
	if at, density, err := kde.Line(values, 0, 160); err == nil {
		floats.Scale(1/slices.Max(density), density)
		s := line("paths", colours[0], 1.8, joined(at, density))
		s.Filled = true
		series = append(series, s)
	}
	z, height := e.Deterministic[k][i], linear("relative density", 0, 1)
	series = append(series, dashed(upright(classical, colours[1], 1.6, z, height)), upright("accurate solution", ink, 1.6, z-f.errs[k][i], height))
	height.Max = 1.2
	return newChart("cut", fmt.Sprintf("Density at t = %.4g", e.T[i]), 260, x, height, series...)
}

// sizes returns the axis of errors. It has eight decades, which depend only on the
// problem.
func (f *paths) sizes(k int, name string) Axis {
	_, x := f.axes(k)
	top := decade(x.Max-x.Min, math.Ceil)
	return Axis{name, top * 1e-8, top, true}
}

// spread returns the chart of error and spread against time.
func (f *paths) spread(k int) Chart {
	t, _ := f.axes(k)
	return newChart("spread", "Error and spread by time", 260, t, f.sizes(k, "size"),
		line("|error| of the classical solution", colours[1], 1.6, joined(f.ens.T, magnitudes(f.errs[k]))[1:]),
		line("sd of the paths", colours[0], 1.6, joined(f.ens.T, f.ens.SD[k])[1:]))
}

func magnitudes(x []float64) []float64 {
	all := make([]float64, len(x))
	for i, v := range x {
		all[i] = math.Abs(v)
	}
	return all
}

// order returns the chart of error and spread against step size.
func (f *paths) order(k int) Chart {
	i := integrable[f.problem]
	x, y := Axis{"step size h", decade(i.least, math.Floor), decade(i.most, math.Ceil), true}, f.sizes(k, "root mean square")
	errs, sds := points{}, points{}
	for _, o := range f.orders {
		errs, sds = append(errs, [2]float64{o.h, o.error[k]}), append(sds, [2]float64{o.h, o.sd[k]})
	}
	h := f.number("h")
	return newChart("order", "Error and spread by step size", 260, x, y,
		line("error", colours[1], 1.6, errs), line("spread", colours[0], 1.6, sds),
		dots("error at h", colours[1], 9, points{{h, rms(f.errs[k])}}), dots("spread at h", colours[0], 9, points{{h, rms(f.ens.SD[k])}}))
}

func (f *paths) says(k int, numbers map[string]float64) []string {
	if f.truth == nil {
		return []string{"The accurate solution is being computed."}
	}
	e, i := f.ens, f.at()
	numbers["mean"], numbers["sd"], numbers["classical"] = e.Mean[k][i], e.SD[k][i], e.Deterministic[k][i]
	numbers["error"] = f.errs[k][i]
	within := 0
	for j, err := range f.errs[k] { // the start has neither error nor spread
		if j > 0 && math.Abs(err) <= 2*e.SD[k][j] {
			within++
		}
	}
	name := f.ode.StateName(k)
	list := []string{
		fmt.Sprintf("%d paths with %d steps of h = %.4g. At t = %.4g, %s is %.5g ± %.2g in the paths, %.5g in the classical solution, and %.5g in the accurate one.",
			e.N, len(e.T)-1, f.ens.Grid.H(0), e.T[i], name, e.Mean[k][i], e.SD[k][i], e.Deterministic[k][i], e.Deterministic[k][i]-f.errs[k][i]),
		fmt.Sprintf("The root mean square over time is %.3g for the error of the classical solution and %.3g for the spread of the paths; the error is at most two standard deviations at %d %% of the times.",
			rms(f.errs[k]), rms(e.SD[k]), 100*within/(len(e.T)-1)),
	}
	if e.Failed > 0 {
		list = append(list, fmt.Sprintf("%d paths could not be computed, and all numbers refer to the others. The first failure: %v.", e.Failed, e.Failure))
	}
	if e.N < 20 {
		list = append(list, fmt.Sprintf("With %d paths, every spread is uncertain by about %.0f %%.", e.N, 100/math.Sqrt(2*float64(e.N-1))))
	}
	if c := f.scale; c != nil {
		said := fmt.Sprintf("The calibration gives α = %.3g, which is outside the range of the slider.", c.Alpha)
		if c.Alpha == f.number("alpha") {
			said = fmt.Sprintf("With the calibrated scale α = %.3g the spread matches the estimated error.", c.Alpha)
		} else if math.IsNaN(c.Alpha) {
			said = "The calibration gives no α."
		}
		list = append(append(list, said), c.Warnings...)
	}
	if o := f.orders; len(o) > 2 {
		a, b := o[len(o)-3], o[len(o)-1]
		slope := func(x, y float64) float64 { return math.Log(x/y) / math.Log(a.h/b.h) }
		list = append(list, fmt.Sprintf("Over the smallest steps the error falls as h to the power %.2f, and the spread as h to the power %.2f.",
			slope(a.error[k], b.error[k]), slope(a.sd[k], b.sd[k])))
	}
	return list
}

package playground

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"

	"gonum.org/v1/gonum/floats"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/calibrate"
	odes "github.com/probode/probode/pkg/probode/problems"
	"github.com/probode/probode/pkg/probode/reference"
	"github.com/probode/probode/pkg/viz/internal/kde"
)

type integrated struct {
	make            func() *probode.Problem
	label           string
	least, most, at float64      // the range of step sizes, and the default
	states          [][2]float64 // the axes of the components
}

var integrable = map[string]integrated{
	"fitzhugh-nagumo": {odes.FitzHughNagumo, "FitzHugh–Nagumo", 0.01, 0.5, 0.1, [][2]float64{{-2.4, 2.4}, {-1.2, 1.4}}},
	"logistic":        {odes.Logistic, "logistic growth", 0.01, 0.5, 0.2, [][2]float64{{0, 1.1}}},
	"lorenz63":        {odes.Lorenz63, "Lorenz 63", 0.002, 0.05, 0.01, [][2]float64{{-22, 22}, {-28, 28}, {0, 50}}},
	"lotka-volterra":  {odes.LotkaVolterra, "Lotka–Volterra", 0.01, 0.5, 0.1, [][2]float64{{0, 8}, {0, 5.5}}},
	"rigid-body":      {odes.RigidBody, "rigid body", 0.02, 1, 0.25, [][2]float64{{-1.2, 1.2}, {-1, 1}, {0.73, 0.92}}},
}

type paths struct {
	*Figure
	ode    *probode.Problem
	solved string // the name of ode
	truth  *reference.Solution
	ens    *probode.Ensemble
	errs   [][]float64 // of the classical solution, by component
	orders []sized     // from large steps to small ones
	scale  *calibrate.NoiseScale
}

// sized has root mean squares over time for each component at one step size.
type sized struct {
	h         float64
	error, sd []float64
}

func newPaths(f *Figure) content { return &paths{Figure: f} }

func (*paths) controls(name string) knobs {
	i := integrable[name]
	if i.make == nil {
		return nil
	}
	p := i.make()
	component := choice("component", "component", "0")
	for k := range p.X0 {
		component.Options = append(component.Options, option{fmt.Sprint(k), p.StateName(k)})
	}
	from, to := p.Span[0], p.Span[1]
	return knobs{problemChoice(name), component, methodChoice("am0", integrators...),
		slider("h", "step size h", "log", i.least, i.most, 0, i.at),
		slider("alpha", "noise scale α", "log", 1e-4, 1e3, 0.05, 0.2),
		button("calibrate", "calibrate α"),
		slider("paths", "number of paths", "range", 2, 200, 1, 50),
		choice("show", "show", "paths", option{"paths", "the paths"}, option{"band", "mean ± 2 sd"}),
		slider("cut", "cut at the time", "range", from, to, (to-from)/200, from+0.75*(to-from)),
		slider("seed", "seed", "integer", 1, 1000, 1, 1),
	}
}

func problemChoice(value string) knob {
	c := choice("problem", "problem", value)
	for _, n := range slices.Sorted(maps.Keys(integrable)) {
		c.Options = append(c.Options, option{n, integrable[n].label})
	}
	return c
}

// compute does the sequence of step sizes last, from large to small.
func (f *paths) compute(ctx context.Context) error {
	if f.solved != f.value {
		f.ode, f.solved, f.truth, f.ens = integrable[f.value].make(), f.value, nil, nil
	}
	f.orders, f.scale = nil, nil
	m, from, to := f.method(), f.ode.Span[0], f.ode.Span[1]
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
		times := floats.Span(make([]float64, 4801), from, to)
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
	const blocks = 50 // every grid has their ends, which are times of the reference
	settings.KeepPaths, settings.Times = false, floats.Span(make([]float64, blocks+1), from, to)
	i := integrable[f.value]
	for h := (to - from) / blocks; h >= i.least; h /= 2 {
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

// errors is NaN while the reference is unknown. That is interpolated by cubic
// polynomials with its values and slopes: with 4,800 intervals the error is smaller than
// anything that the chart shows.
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

func rms(x []float64) float64 { return floats.Norm(x, 2) / math.Sqrt(float64(len(x))) }

func (f *paths) show(v *View) {
	k, _ := strconv.Atoi(f.text("component"))
	states := integrable[f.value].states[k]
	t, x := linear("t", f.ode.Span[0], f.ode.Span[1]), linear(f.ode.StateName(k), states[0], states[1])
	none := f.ens == nil || f.failed()
	var series []Series
	if !none {
		series = f.scatter(k)
	}
	d, exact := len(f.ode.X0), points{}
	for i := 0; f.truth != nil && i < len(f.truth.Times); i += 8 {
		exact = append(exact, [2]float64{f.truth.Times[i], f.truth.X[i*d+k]})
	}
	series = append(series, line("reference", ink, 1.6, exact), upright("cut", pale, 1, f.number("cut"), x))
	v.draw("solutions", "Numerical solutions of "+integrable[f.value].label, 340, t, x, series...)
	if none {
		return
	}
	f.cut(v, k, x)
	f.sizes(v, k, t, x)
	f.says(v, k)
	v.Files = []File{{"paths.csv", "text/csv", func() []byte { return f.table(k) }}}
	if !v.Done {
		v.Progress = 0.3 + 0.1*float64(len(f.orders))
	}
}

func (f *paths) table(k int) []byte {
	d, e := len(f.ode.X0), f.ens
	b := []byte("t,classical,mean,sd")
	for p := range e.Paths {
		b = fmt.Appendf(b, ",path%d", p+1)
	}
	for i, t := range e.T {
		b = fmt.Appendf(b, "\n%g,%g,%g,%g", t, e.Deterministic[k][i], e.Mean[k][i], e.SD[k][i])
		for _, z := range e.Paths {
			if b = append(b, ','); z != nil {
				b = fmt.Append(b, z[i*d+k])
			}
		}
	}
	return append(b, '\n')
}

func (f *paths) scatter(k int) (series []Series) {
	d, e := len(f.ode.X0), f.ens
	if f.text("show") == "paths" {
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
	} else {
		series = append(series, line("mean", colours[0], 2, joined(e.T, e.Mean[k])))
		for _, width := range []float64{-2, 2} {
			edge := floats.AddScaledTo(make([]float64, len(e.T)), e.Mean[k], width, e.SD[k])
			series = append(series, line("mean ± 2 sd", colours[5], 1.2, joined(e.T, edge)))
		}
	}
	return append(series, dashed(line("classical", colours[1], 1.6, joined(e.T, e.Deterministic[k]))))
}

func (f *paths) at() int {
	i, _ := slices.BinarySearch(f.ens.T, f.number("cut"))
	return min(i, len(f.ens.T)-1)
}

// cut divides the density by its maximum, so that the axis stays the same.
func (f *paths) cut(v *View, k int, x Axis) {
	i, d, e := f.at(), len(f.ode.X0), f.ens
	var values []float64
	for _, z := range e.Paths {
		if z != nil {
			values = append(values, z[i*d+k])
		}
	}
	var series []Series
	if at, density, err := kde.Line(values, 160); err == nil {
		floats.Scale(1/slices.Max(density), density)
		s := line("paths", colours[0], 1.8, joined(at, density))
		s.Filled = true
		series = append(series, s)
	}
	z, height := e.Deterministic[k][i], linear("relative density", 0, 1)
	series = append(series, dashed(upright("classical", colours[1], 1.6, z, height)), upright("reference", ink, 1.6, z-f.errs[k][i], height))
	height.Max = 1.2
	v.draw("cut", fmt.Sprintf("Density at t = %.4g", e.T[i]), 260, x, height, series...)
}

// size is an axis for errors of components of this size. The errors of a method of order p
// cover p decades for each decade of step sizes.
func (i *integrated) size(name string, of float64, m probode.Method) Axis {
	top := decade(of, math.Ceil)
	return Axis{name, top * decade(math.Pow(i.least/i.most, float64(m.Order()))/100, math.Floor), top, true}
}

func (f *paths) sizes(v *View, k int, t, x Axis) {
	e, i, h := f.ens, integrable[f.value], f.number("h")
	y := i.size("size", x.Max-x.Min, f.method())
	size := points{}
	for j := 1; j < len(e.T); j++ { // the start has neither error nor spread
		size = append(size, [2]float64{e.T[j], math.Abs(f.errs[k][j])})
	}
	v.draw("spread", "Error and spread by time", 260, t, y,
		line("|error| of the classical solution", colours[1], 1.6, size), line("sd of the paths", colours[0], 1.6, joined(e.T, e.SD[k])[1:]))
	errs, sds := points{}, points{}
	for _, o := range f.orders {
		errs, sds = append(errs, [2]float64{o.h, o.error[k]}), append(sds, [2]float64{o.h, o.sd[k]})
	}
	steps := Axis{"step size h", decade(i.least, math.Floor), decade(i.most, math.Ceil), true}
	v.draw("order", "Error and spread by step size", 260, steps, i.size("root mean square", x.Max-x.Min, f.method()),
		line("error", colours[1], 1.6, errs), line("spread", colours[0], 1.6, sds),
		dots("error at h", colours[1], 9, points{{h, rms(f.errs[k])}}), dots("spread at h", colours[0], 9, points{{h, rms(e.SD[k])}}))
}

func (f *paths) says(v *View, k int) {
	if f.truth == nil {
		v.say("The reference is being computed.")
		return
	}
	e, i := f.ens, f.at()
	mean, sd, z, err := e.Mean[k][i], e.SD[k][i], e.Deterministic[k][i], f.errs[k][i]
	v.Numbers["mean"], v.Numbers["sd"], v.Numbers["classical"], v.Numbers["error"] = mean, sd, z, err
	within := 0
	for j := 1; j < len(e.T); j++ {
		if math.Abs(f.errs[k][j]) <= 2*e.SD[k][j] {
			within++
		}
	}
	v.say("The ensemble has %d paths with %d steps of h = %.4g. At t = %.4g, %s is %.5g ± %.2g in the paths, %.5g in the classical solution, and %.5g in the reference.",
		e.N, len(e.T)-1, e.Grid.H(0), e.T[i], f.ode.StateName(k), mean, sd, z, z-err)
	v.say("Over all times, the classical solution has a root mean square error of %.3g, and the paths have a root mean square standard deviation of %.3g. The error is at most two standard deviations at %d %% of the times.",
		rms(f.errs[k]), rms(e.SD[k]), 100*within/(len(e.T)-1))
	if e.Failed > 0 {
		v.say("%d paths could not be computed, so all numbers refer to the remaining paths. The first failure: %v.", e.Failed, e.Failure)
	}
	if e.N < 20 {
		v.say("With only %d paths, every standard deviation is uncertain by about %.0f %%.", e.N, 100/math.Sqrt(2*float64(e.N-1)))
	}
	if c := f.scale; c != nil {
		switch {
		case math.IsNaN(c.Alpha):
			v.say("The calibration gives no α.")
		case c.Alpha == f.number("alpha"):
			v.say("With the calibrated scale α = %.3g, the spread matches the estimated error.", c.Alpha)
		default:
			v.say("The calibration gives α = %.3g, which is outside the range of the slider.", c.Alpha)
		}
		v.Says = append(v.Says, c.Warnings...)
	}
	if o := f.orders; len(o) > 2 {
		a, b := o[len(o)-3], o[len(o)-1]
		slope := func(x, y float64) float64 { return math.Log(x/y) / math.Log(a.h/b.h) }
		v.say("At the smallest step sizes, the error falls like h^%.2f and the spread falls like h^%.2f.",
			slope(a.error[k], b.error[k]), slope(a.sd[k], b.sd[k]))
	}
}

package playground

import (
	"context"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/adams"
	"github.com/probode/probode/pkg/probode/methods"
	builtin "github.com/probode/probode/pkg/probode/problems"
	"github.com/probode/probode/pkg/probode/steplaw"
	"github.com/probode/probode/pkg/viz/internal/kde"
)

// step is one step of backward Euler with noise: the exact density, the Gaussian
// approximation, and the state for ξ.
type step struct {
	*Figure
	law   *steplaw.Law
	begin []float64
	end   []float64   // for the given ξ
	root  [][]float64 // the columns of L
	truth []float64
}

func newStep(f *Figure) content { return &step{Figure: f} }

func (*step) controls(name string) knobs {
	problem := choice("problem", "problem", name, option{"cubic", "x′ = −x³ from x = 1"}, option{"fitzhugh-nagumo", "FitzHugh–Nagumo"})
	solved := choice("linearize", "linearised", "current", option{"current", "once, as in the paper"}, option{"newton", "until it is solved (Newton)"})
	switch name {
	case "cubic":
		return knobs{problem, solved, slider("h", "step size h", "log", 0.05, 2, 0, 0.5),
			slider("alpha", "noise scale α", "log", 0.002, 2, 0, 0.2), slider("xi1", "ξ", "range", -3, 3, 0.05, 1)}
	case "fitzhugh-nagumo":
		return knobs{problem, solved, slider("h", "step size h", "log", 0.01, 0.5, 0, 0.1),
			slider("alpha", "noise scale α", "log", 0.002, 2, 0, 0.2), slider("t", "begins at time t", "range", 0, 20, 0.1, 3),
			slider("xi1", "ξ, first component", "range", -3, 3, 0.05, 1), slider("xi2", "ξ, second component", "range", -3, 3, 0.05, 0)}
	}
	return nil
}

func (f *step) compute(ctx context.Context) error {
	h := f.number("h")
	p := &probode.Problem{Name: "the step", X0: []float64{1},
		F: func(dst []float64, _ float64, x, _ []float64) { dst[0] = -x[0] * x[0] * x[0] },
		FJ: func(f, jac []float64, _ float64, x, _ []float64) {
			f[0] = -x[0] * x[0] * x[0]
			jac[0] = -3 * x[0] * x[0]
		}}
	xi := []float64{f.number("xi1")}
	s := &step{Figure: f.Figure, truth: []float64{1 / math.Sqrt(1+2*h)}}
	if f.text("problem") == "fitzhugh-nagumo" {
		q := *builtin.FitzHughNagumo()
		q.Name, p, xi = p.Name, &q, append(xi, f.number("xi2"))
		// The error of the Runge–Kutta solution is below 1e-6 with this step size.
		at := f.number("t")
		p.Span = [2]float64{0, at + h}
		path, err := probode.Setup{Method: methods.RungeKutta{}, Mesh: probode.Uniform(0.005)}.Bind(ctx, p, p.Theta, []float64{at, at + h})
		if err != nil {
			return err
		}
		states := make([]float64, 4)
		if err := path.States(ctx, states, p.Theta, nil); err != nil {
			return err
		}
		p.X0, s.truth = states[:2], states[2:]
	}
	p.Span = [2]float64{0, h}
	s.begin = p.X0
	m := adams.Moulton{}
	if f.text("linearize") == "current" {
		m.Linearize = adams.Current
	}
	solver, err := probode.Setup{Method: m, Mesh: probode.Uniform(h), Alpha: f.number("alpha")}.Solver(ctx, p, nil, nil)
	if err != nil {
		return err
	}
	z := make([]float64, solver.PathLen())
	if s.law, err = steplaw.New(solver, 0, append(z[:0], s.begin...), p.Theta); err != nil {
		return err
	}
	s.end = slices.Clone(s.law.Mean)
	for k, size := range xi {
		unit := make([]float64, len(xi))
		unit[k] = 1
		if err := solver.Solve(z, p.Theta, unit); err != nil {
			return err
		}
		column := slices.Clone(z[len(s.begin):])
		floats.Sub(column, s.law.Mean)
		floats.AddScaled(s.end, size, column)
		s.root = append(s.root, column)
	}
	*f = *s
	return nil
}

func (f *step) show(v *View) {
	if f.law == nil || f.failed() {
		return
	}
	v.say("From %s, the step with this ξ leads to %s, and the step without noise leads to %s; the reference is %s.",
		vector(f.begin), vector(f.end), vector(f.law.Mean), vector(f.truth))
	if n := len(f.law.Roots()); n > 1 {
		v.say("The equation of this step has %d solutions: the density may have several peaks, and the step without noise may lead to the wrong solution.", n)
	}
	for k, x := range f.end {
		v.Numbers[fmt.Sprintf("end%d", k+1)], v.Numbers[fmt.Sprintf("mean%d", k+1)] = x, f.law.Mean[k]
	}
	if len(f.begin) == 1 {
		f.one(v)
	} else {
		f.two(v)
	}
}

func (f *step) one(v *View) {
	h, mean := f.number("h"), f.law.Mean[0]
	eta := 3 * math.Sqrt(f.number("alpha")*h)
	f.picture(v)
	var r, tangent, exact, gaussian points
	peak, normalizer := f.law.LogGaussian(f.law.Mean), math.NaN()
	if m, err := f.law.Moments(); err != nil {
		v.say("The exact density cannot be normalised: %v.", err)
	} else {
		normalizer = m.LogNormalizer
		sd, exactSD := math.Sqrt(f.law.Cov.At(0, 0)), math.Sqrt(m.Cov.At(0, 0))
		v.Numbers["exact.mean"], v.Numbers["exact.sd"], v.Numbers["sd"] = m.Mean[0], exactSD, sd
		v.say("The exact density has the mean %.4g and the standard deviation %.3g; the Gaussian approximation has the mean %.4g and the standard deviation %.3g.", m.Mean[0], exactSD, mean, sd)
	}
	for i := range 301 {
		at, out := []float64{float64(i)/100 - 1}, []float64{0}
		f.law.Residual(out, at)
		r = append(r, [2]float64{at[0], out[0]})
		tangent = append(tangent, [2]float64{at[0], (at[0] - mean) * (1/h + 3)})
		exact = append(exact, [2]float64{at[0], math.Exp(f.law.LogDensity(at) - normalizer - peak)})
		gaussian = append(gaussian, [2]float64{at[0], math.Exp(f.law.LogGaussian(at) - peak)})
	}
	x, y, z := linear("next state z", -1, 2), linear("discrepancy r(z)", -4, 4), linear("density (the Gaussian’s peak is 1)", 0, 1.5)
	here := dots("this ξ", colours[2], 10, points{{f.end[0], 0}})
	v.draw("equation", "The equation of the step: r(z) = 0", 320, x, y, line("r(z)", colours[0], 2, r), line("f linearised", colours[1], 2, tangent),
		line("± η", pale, 1, points{{x.Min, eta}, {x.Max, eta}, gap, {x.Min, -eta}, {x.Max, -eta}}), here)
	v.draw("density", "The density of the next state", 320, x, z, line("exact", colours[0], 2, exact), line("Gaussian", colours[1], 2, gaussian),
		upright("reference", ink, 1, f.truth[0], z), here)
}

// picture has the lines from the first state to the next one, with and without noise, and
// the slopes that the equation prescribes at their ends.
func (f *step) picture(v *View) {
	h, root, end := f.number("h"), f.law.Roots()[0][0], f.end[0]
	t := linear("t", 0, 1.2*decade(h, math.Ceil))
	for t.Max > 2.2*h {
		t.Max /= 2
	}
	low := min(0, end, 1-h)
	x := linear("x", math.Floor(4*low)/4, 1.2)
	slope := func(z float64) points {
		f := -z * z * z
		return points{{h - t.Max/8, z - f*t.Max/8}, {h + t.Max/8, z + f*t.Max/8}}
	}
	solution := points{}
	for i := range 101 {
		at := t.Max * float64(i) / 100
		solution = append(solution, [2]float64{at, 1 / math.Sqrt(1+2*at)})
	}
	v.draw("picture", "One step from x = 1", 320, t, x, line("reference", ink, 1.6, solution),
		dashed(line("forward Euler", pale, 1.6, points{{0, 1}, {h, 1 - h}})),
		line("slope f(z) at the end of a step", colours[1], 5, append(append(slope(root), gap), slope(end)...)),
		line("backward Euler", colours[0], 2, points{{0, 1}, {h, root}}), line("this ξ", colours[2], 2, points{{0, 1}, {h, end}}),
		dots("backward Euler", colours[0], 9, points{{h, root}}), dots("this ξ", colours[2], 9, points{{h, end}}))
	v.say("The line of backward Euler has the slope %.3g, and the equation prescribes the slope %.3g at its end. The line with this ξ has the slope %.3g, and the equation prescribes the slope %.3g at its end.",
		(root-1)/h, -root*root*root, (end-1)/h, -end*end*end)
}

// two has the axes ζ, where z = μ + Lζ is the next state: the Gaussian approximation of ζ
// is N(0, I), and ξ is at ζ = ξ.
func (f *step) two(v *View) {
	const cells, far = 81, 6.
	mean, l := f.law.Mean, f.root
	sd := [2]float64{math.Hypot(l[0][0], l[1][0]), math.Hypot(l[0][1], l[1][1])}
	v.say("The standard deviations of the Gaussian approximation are %.3g in V and %.3g in R.", sd[0], sd[1])
	g := kde.Surface{X: make([]float64, cells), Z: make([]float64, cells*cells)}
	for i := range g.X {
		g.X[i] = far * (2*float64(i)/(cells-1) - 1)
	}
	g.Y = g.X
	top, edge := math.Inf(-1), math.Inf(-1)
	for k := range g.Z {
		i, j := k%cells, k/cells
		g.Z[k] = f.law.LogDensity([]float64{mean[0] + l[0][0]*g.X[i] + l[1][0]*g.Y[j], mean[1] + l[0][1]*g.X[i] + l[1][1]*g.Y[j]})
		if top = max(top, g.Z[k]); i == 0 || j == 0 || i == cells-1 || j == cells-1 {
			edge = max(edge, g.Z[k])
		}
	}
	if !(edge < top-8) { // a density of e⁻⁸ of the largest
		v.say("Part of the exact density lies outside the figure. The contours are computed from the mass inside the figure, so they are too small.")
	}
	for k := range g.Z {
		g.Z[k] = math.Exp(g.Z[k] - top)
	}
	var series []Series
	for k, level := range g.Levels(0.5, 0.9) {
		exact, circle := joined(g.Contour(level)), points{}
		radius := math.Sqrt(-2 * math.Log(1-[2]float64{0.5, 0.9}[k])) // of N(0, I)
		for i := range 61 {
			y, x := math.Sincos(2 * math.Pi * float64(i) / 60)
			circle = append(circle, [2]float64{radius * x, radius * y})
		}
		width := 2 - 0.8*float64(k)
		series = append(series, line("exact", colours[0], width, exact), line("Gaussian", colours[1], width, circle))
	}
	det := l[0][0]*l[1][1] - l[1][0]*l[0][1]
	dv, dr := f.truth[0]-mean[0], f.truth[1]-mean[1]
	truth := [2]float64{(l[1][1]*dv - l[1][0]*dr) / det, (l[0][0]*dr - l[0][1]*dv) / det}
	series = append(series, dots("reference", ink, 8, points{truth}), dots("this ξ", colours[2], 10, points{{f.number("xi1"), f.number("xi2")}}))
	if !(math.Abs(truth[0]) < far && math.Abs(truth[1]) < far) {
		v.say("The reference lies outside the figure: the noise is small compared with the error.")
	}
	x, y := linear("ζ, first component", -far, far), linear("ζ, second component", -far, far)
	v.draw("plane", "Regions that contain the next state z = μ + Lζ with probability 50 % and 90 %", 400, x, y, series...)
}

func vector(x []float64) string {
	if len(x) == 1 {
		return fmt.Sprintf("%.4g", x[0])
	}
	return fmt.Sprintf("(%.4g, %.4g)", x[0], x[1])
}

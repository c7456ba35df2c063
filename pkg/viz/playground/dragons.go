package playground

import (
	"context"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/bayes"
	"github.com/probode/probode/pkg/probode/reference"
	"github.com/probode/probode/pkg/viz/internal/kde"
)

// dragons shows spurious peaks of the likelihood that a solver causes: y′ = β0 − β1 y,
// y(0) = 1. The vertical axis of the surface is the limit β0/β1.
type dragons struct {
	*Figure
	by, exact []float64 // log-likelihood along β0 = 10 β1, relative to its maximum
	exactTop  float64   // the maximum of exact
	peaks     []peak
	surface   *kde.Surface // of exp(log-likelihood − its maximum, divided by flat)
	solution  [2]points    // with the β1 of the slider: by the solver, accurate
	data      points
}

type peak struct {
	beta1, below float64 // relative to the largest
	exact        float64 // the exact log-likelihood at beta1, relative to its maximum
}

// Neighbouring values of β1 differ by two standard deviations of the narrowest peak.
const leastBeta, mostBeta = 0.3, 12

var betas = floats.Span(make([]float64, 391), leastBeta, mostBeta)

// flat divides the log-likelihood, so that the peaks of the surface are wide enough to be
// seen.
const flat = 10

func newDragons(f *Figure) content { return &dragons{Figure: f} }

func (*dragons) controls(string) knobs {
	return knobs{methodChoice("rk4", integrators...), slider("h", "step size h", "log", 0.1, 1, 0, 0.5),
		slider("beta1", "β₁ of the solution that is shown", "range", leastBeta, mostBeta, 0.001, 4.911)}
}

// compute finds the peaks on the line β0 = 10 β1, and the surface for 9 ≤ β0/β1 ≤ 11.
func (f *dragons) compute(ctx context.Context) error {
	p := posed("dragons-uniform")
	p.Setup = probode.Setup{Method: f.method(), Mesh: probode.Uniform(f.number("h"))}
	solver, err := bayes.NewDensity(ctx, p)
	if err != nil {
		return err
	}
	accurate, err := bayes.NewDensity(ctx, p.SolvedBy(probode.Setup{Mesh: reference.Accurate{}}))
	if err != nil {
		return err
	}
	if err := f.solve(ctx, p); err != nil {
		return err
	}
	likelihood := func(d *bayes.Density, beta1, limit float64) float64 {
		f.work.rest(false)
		ll, err := d.LogLikelihood([]float64{limit * beta1, beta1}, nil)
		if err != nil || ll != ll || ctx.Err() != nil {
			return math.Inf(-1)
		}
		return ll
	}
	along := func(d *bayes.Density, limit float64) (all []float64) {
		for _, b := range betas {
			all = append(all, likelihood(d, b, limit))
		}
		return all
	}
	if f.exact == nil {
		exact := along(accurate, 10)
		top := max(slices.Max(exact), likelihood(accurate, 1, 10)) // the data lie on the solution with β1 = 1
		if ctx.Err() != nil {
			return ctx.Err()
		}
		floats.AddConst(-top, exact)
		f.exact, f.exactTop = exact, top
	}
	below, by, above := along(solver, 9), along(solver, 10), along(solver, 11)
	top := slices.Max(by)
	var peaks []peak
	for i := 1; i < len(by)-1; i++ {
		if by[i] < by[i-1] || by[i] <= by[i+1] || by[i] < top-100 {
			continue
		}
		b := highest(betas[i-1], betas[i+1], func(b float64) float64 { return likelihood(solver, b, 10) })
		peaks = append(peaks, peak{b, likelihood(solver, b, 10), likelihood(accurate, b, 10) - f.exactTop})
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	for _, k := range peaks {
		top = max(top, k.below)
	}
	for i := range peaks {
		peaks[i].below -= top
	}
	for _, values := range [][]float64{below, by, above} {
		floats.AddConst(-top, values)
	}
	// If β1 is fixed, the numerical solution is a linear function of β0/β1, and the
	// log-likelihood is a quadratic polynomial in β0/β1.
	g := &kde.Surface{X: betas, Y: floats.Span(make([]float64, 25), 9, 11)}
	for _, limit := range g.Y {
		for i := range g.X {
			u := limit - 10
			ll := by[i] + u*(above[i]-below[i])/2 + u*u*(above[i]-2*by[i]+below[i])/2
			if ll != ll { // a solution has overflowed
				ll = math.Inf(-1)
			}
			g.Z = append(g.Z, math.Exp(ll/flat))
		}
	}
	f.by, f.peaks, f.surface = by, peaks, g
	return nil
}

// solve takes β1 from the slider.
func (f *dragons) solve(ctx context.Context, p *bayes.Posterior) error {
	x := p.Experiments[0]
	f.data, f.solution = nil, [2]points{}
	for i, t := range x.Data.T {
		f.data = append(f.data, [2]float64{t, x.Data.Y[i][0]})
	}
	b := f.number("beta1")
	for t := x.Problem.Span[0]; t <= x.Problem.Span[1]; t += 0.02 {
		f.solution[1] = append(f.solution[1], [2]float64{t, 10 - 9*math.Exp(-b*(t-x.Problem.Span[0]))})
	}
	q := *x.Problem
	q.Theta = []float64{10 * b, b}
	e, err := probode.Integrate(ctx, &q, p.Method, 2, probode.Settings{Mesh: p.Mesh, Workers: 1})
	if err == nil { // otherwise it has diverged, and nothing is drawn
		f.solution[0] = joined(e.T, e.Deterministic[0])
	}
	return ctx.Err()
}

// highest is a golden-section search for the only peak between a and b.
func highest(a, b float64, f func(float64) float64) float64 {
	const g = 0.6180339887498949
	for range 60 {
		if c, d := b-g*(b-a), a+g*(b-a); f(c) > f(d) {
			b = d
		} else {
			a = c
		}
	}
	return (a + b) / 2
}

func belowTop(v float64) string {
	if v > -0.005 {
		return "at its maximum"
	}
	return fmt.Sprintf("%.3g below its maximum", -v)
}

func (f *dragons) show(v *View) {
	x, y := linear("β₁, with β₀ = 10 β₁", 0, mostBeta), linear("log-likelihood − its maximum", -60, 3)
	at := points{}
	for n, k := range f.peaks {
		at = append(at, [2]float64{k.beta1, k.below})
		v.Numbers[fmt.Sprintf("peak%d", n+1)] = k.beta1
		said := fmt.Sprintf("The solver's log-likelihood has a peak at β₁ = %.4g, %s. At this β₁, the log-likelihood of the reference is %s", k.beta1, belowTop(k.below), belowTop(k.exact))
		if k.exact < -10 {
			said += ": the reference has no peak there"
		}
		v.Says = append(v.Says, said+".")
	}
	cut := f.number("beta1")
	v.draw("along", "Two likelihoods of the same data", 320, x, y,
		line("reference", ink, 4, joined(betas[:len(f.exact)], f.exact)), line("this solver", colours[1], 1.5, joined(betas[:len(f.by)], f.by)), dots("peaks", colours[1], 8, at),
		upright("β₁ of the slider", pale, 1, cut, y))
	var series []Series
	if f.surface != nil {
		for k, below := range []float64{2, 20, 60} {
			edge := joined(f.surface.Contour(math.Exp(-below / flat)))
			series = append(series, line(fmt.Sprintf("%g below the maximum", below), colours[k], 1.5, edge))
		}
	}
	series = append(series, dots("the parameters of the data", ink, 8, points{{1, 10}}))
	v.draw("surface", "Contours of the solver's log-likelihood", 320, linear("β₁", 0, mostBeta), linear("β₀ / β₁", 9, 11), series...)
	v.draw("solution", fmt.Sprintf("The solution with β₁ = %.4g", cut), 320, linear("t", 0, 5), linear("y", 0, 14),
		line("reference", ink, 1.5, f.solution[1]), line("this solver", colours[1], 1, f.solution[0]),
		dots("steps of this solver", colours[1], 7, f.solution[0]), dots("data", colours[0], 6, f.data))
}

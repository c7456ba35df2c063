package playground

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/calibrate"
	"github.com/probode/probode/pkg/probode/reference"
)

// calibration explains how α is chosen: the score as a function of α, and the fractions
// of errors within one and two standard deviations of the paths.
type calibration struct {
	*Figure
	chosen   comparison // at the α of the slider
	t        []float64
	largest  float64   // value of the first component
	coverage [2]points // shares in %, by α
	score    points    // relative to the largest, by α
	scale    *calibrate.NoiseScale
	done     map[string]any // the knobs but α for which all this is complete
}

// A comparison is of the first component over time, but `within`, the fractions within
// one and two standard deviations, is of all.
type comparison struct {
	alpha     float64
	error, sd []float64
	within    [2]float64
}

func newCalibration(f *Figure) content { return &calibration{Figure: f} }

func (f *calibration) controls(name string) knobs {
	i := integrable[name]
	if i.make == nil {
		return nil
	}
	return knobs{problemChoice(name), methodChoice("am0", integrators...), slider("h", "step size h", "log", i.least, i.most, 0, i.at),
		choice("rule", "score", "log", option{"log", "logarithmic score"}, option{"paper", "Bhattacharyya, as in the paper"}),
		slider("alpha", "noise scale α", "log", leastAlpha, mostAlpha, 0, 0.2),
		slider("paths", "number of paths", "integer", 40, 200, 1, 100), slider("seed", "seed", "integer", 1, 1000, 1, 1)}
}

const leastAlpha, mostAlpha = 1e-3, 10

// compute calibrates α again only if a setting other than α has changed.
func (f *calibration) compute(ctx context.Context) error {
	others := map[string]any{}
	for _, c := range f.knobs {
		if c.Name != "alpha" {
			others[c.Name] = c.Value
		}
	}
	same := maps.Equal(f.done, others)
	if !same {
		*f = calibration{Figure: f.Figure}
	}
	p, m := integrable[f.value].make(), f.method()
	var truth []float64
	compare := func(alpha float64) (comparison, error) {
		c := comparison{alpha: alpha}
		e, err := probode.Integrate(ctx, p, m, int(f.number("paths")), probode.Settings{StepSize: f.number("h"), Alpha: alpha, Seed: uint64(f.number("seed")), Workers: 1})
		if err != nil {
			return c, err
		}
		if truth == nil {
			exact, err := reference.Solve(ctx, p, e.T, reference.Settings{})
			if err != nil {
				return c, err
			}
			truth, f.t = exact.X, e.T
			for i := 0; i < len(truth); i += p.Dim() {
				f.largest = max(f.largest, math.Abs(truth[i]))
			}
		}
		d := p.Dim()
		for k := range d {
			for i := 1; i < len(e.T); i++ { // the start has neither error nor spread
				size, sd := math.Abs(e.Deterministic[k][i]-truth[i*d+k]), e.SD[k][i]
				if k == 0 {
					c.error, c.sd = append(c.error, size), append(c.sd, sd)
				}
				for n := range c.within {
					if size <= float64(n+1)*sd {
						c.within[n] += 1 / float64(d*(len(e.T)-1))
					}
				}
			}
		}
		return c, nil
	}
	var err error
	if f.chosen, err = compare(f.number("alpha")); err != nil {
		return err
	}
	if same {
		return nil
	}
	f.work.rest(true) // they are shown before the score
	s := calibrate.Settings{StepSize: f.number("h"), Paths: int(f.number("paths")), Seed: uint64(f.number("seed")), Workers: 1,
		Indicator: reference.TrueError(reference.Settings{})}
	if f.text("rule") == "paper" {
		s.Criterion = calibrate.Bhattacharyya
	}
	if f.scale, err = calibrate.Run(ctx, p, m, s); err != nil {
		return err
	}
	alphas := floats.LogSpan(make([]float64, 41), leastAlpha, mostAlpha)
	scores, err := calibrate.Score(ctx, p, m, alphas, s)
	if err != nil {
		return err
	}
	floats.AddConst(-slices.Max(scores), scores)
	f.score = joined(alphas, scores)
	for _, alpha := range floats.LogSpan(make([]float64, 13), leastAlpha, mostAlpha) {
		c, err := compare(alpha)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		for n := range f.coverage {
			if err == nil { // all paths may fail if α is large
				f.coverage[n] = append(f.coverage[n], [2]float64{alpha, 100 * c.within[n]})
			}
		}
	}
	f.done = others
	return nil
}

func (f *calibration) show(v *View) {
	p := integrable[f.value].make()
	alpha := Axis{"α", leastAlpha, mostAlpha, true}
	if c := f.chosen; c.error != nil {
		i := integrable[f.value]
		t, y := linear("t", p.Span[0], p.Span[1]), i.size("size of "+p.StateName(0), 2*f.largest, f.method())
		v.draw("size", fmt.Sprintf("Error and spread at α = %.3g", c.alpha), 300, t, y,
			line("|error| of the classical solution", ink, 1.5, joined(f.t[1:], c.error)), line("sd of the paths", colours[0], 1.5, joined(f.t[1:], c.sd)))
		v.say("With α = %.3g, %.0f %% of the errors are at most one standard deviation of the paths, and %.0f %% are at most two. If the errors were Gaussian with this standard deviation, the percentages would be 68 %% and 95 %%.",
			c.alpha, 100*c.within[0], 100*c.within[1])
		v.Numbers["within1"], v.Numbers["within2"] = c.within[0], c.within[1]
	}
	now := func(y Axis) Series { return upright("α of the slider", pale, 1, f.number("alpha"), y) }
	y := linear("score − its maximum", -150, 10)
	series := []Series{line("score", colours[0], 2, f.score), now(y)}
	if c := f.scale; c != nil && c.Alpha >= leastAlpha && c.Alpha <= mostAlpha {
		series = append(series, upright("α*", colours[1], 1.5, c.Alpha, y))
	}
	v.draw("score", "Score of α", 300, alpha, y, series...)
	share := linear("share of the errors in %", 0, 100)
	series = []Series{now(share)}
	for n, gaussian := range []float64{68.27, 95.45} {
		series = append(series, line(fmt.Sprintf("within %d sd", n+1), colours[n], 2, f.coverage[n]),
			line("for Gaussian errors", pale, 1, points{{leastAlpha, gaussian}, {mostAlpha, gaussian}}))
	}
	v.draw("coverage", "How often the error lies within the spread", 300, alpha, share, series...)
	if c := f.scale; c != nil {
		v.Numbers["alpha"], v.Numbers["se"] = c.Alpha, c.SE
		v.say("Calibrated: α* = %.3g, with a standard error of %.2g due to the limited number of paths. At α*, the mean of error²/sd² is %.2g, %.0f %% of the errors are within one standard deviation, and %.0f %% are within two.",
			c.Alpha, c.SE, c.MeanSquare, 100*c.Within[0], 100*c.Within[1])
		v.Says = append(v.Says, c.Warnings...)
	}
}

package plots

import (
	"fmt"
	"math"
	"slices"

	"github.com/probode/probode/pkg/probode/bayes"
	"github.com/probode/probode/pkg/probode/mcmc"
	"github.com/probode/probode/pkg/viz"
)

// Pairs returns a figure of the posteriors of several runs, with a panel for every
// parameter and every pair of parameters. The panels on the diagonal show densities. The
// panels below the diagonal show contours that enclose 50 % and 90 % of the probability.
// All panels in a column share the same horizontal axis. The argument `names` holds a
// name for each run; all runs must have the same parameters. The argument `truth` holds
// the true values, or is nil. Pairs returns an error in the same cases as [viz.Contours].
func Pairs(names []string, runs []*mcmc.Chains, truth []float64) (viz.Figure, error) {
	samples, err := pooled(names, runs, truth)
	if err != nil {
		return viz.Figure{}, err
	}
	params := runs[0].Names
	n := len(params)
	f := viz.Figure{Title: "Posterior", Columns: n, Width: max(900, 40+140*n), Height: 80 + max(170, 320-40*n)*n}
	axes := make([]viz.Axis, n)
	for i := range axes {
		axes[i] = covering(params[i], samples[i], truth, i)
	}
	for row := range n {
		for col := range n {
			if col > row {
				f.Panels = append(f.Panels, viz.Panel{})
				continue
			}
			groups := slices.Clone(samples[col])
			var t []float64
			if truth != nil {
				t = []float64{truth[col]}
			}
			var p viz.Panel
			if col == row {
				p, err = viz.Densities(axes[col], t, groups...)
			} else {
				for r := range groups {
					groups[r].Y = samples[row][r].X
				}
				if truth != nil {
					t = append(t, truth[row])
				}
				p, err = viz.Contours(axes[col], axes[row], t, groups...)
			}
			if err != nil {
				return f, err
			}
			// Axes have labels only at the left and at the bottom of the figure.
			if row < n-1 {
				p.X.Label = ""
			}
			if col > 0 {
				p.Y.Label = ""
			}
			f.Panels = append(f.Panels, p)
		}
	}
	return f, nil
}

// Marginals returns a figure of the posterior densities of several runs, with a panel for
// each parameter. The argument `truth` holds the true values, or is nil.
func Marginals(names []string, runs []*mcmc.Chains, truth []float64) (viz.Figure, error) {
	samples, err := pooled(names, runs, truth)
	if err != nil {
		return viz.Figure{}, err
	}
	f := viz.Figure{Columns: min(len(samples), 4)}
	for i, s := range samples {
		var t []float64
		if truth != nil {
			t = truth[i : i+1]
		}
		p, err := viz.Densities(viz.Axis{Label: runs[0].Names[i]}, t, s...)
		if err != nil {
			return f, err
		}
		f.Panels = append(f.Panels, p)
	}
	return f, nil
}

// PriorPosterior returns a figure of the posterior density of every parameter of a run,
// drawn over the density of its prior. If the two densities agree, the data contain no
// information about the parameter. The horizontal axis covers the range of the draws; the
// title of a panel says which fraction of the prior probability lies in this range.
func PriorPosterior(p *bayes.Posterior, run *mcmc.Chains) (viz.Figure, error) {
	f := viz.Figure{Title: "Prior and posterior", Columns: min(len(p.Params), 4)}
	for i, q := range p.Params {
		if i >= len(run.Names) || run.Names[i] != q.Name {
			return f, fmt.Errorf("plots: parameter %d of the run is not %s: want a run that sampled the given posterior", i+1, q.Name)
		}
		draws := viz.Points{Name: "posterior", X: slices.Concat(run.Parameter(i)...)}
		panel, err := viz.Densities(viz.Axis{Label: q.Name}, nil, draws)
		if err != nil {
			return f, err
		}
		curve := panel.Layers[0].(viz.Line)
		lo, hi := curve.X[0], curve.X[len(curve.X)-1]
		prior := viz.Line{Name: "prior", Color: viz.Grey, Dash: viz.Dashed}
		const n = 200
		inside := 0.0
		for k := range n + 1 {
			x := lo + (hi-lo)*float64(k)/n
			y := math.Exp(q.Prior.LogProb(x))
			prior.X, prior.Y = append(prior.X, x), append(prior.Y, y)
			if k < n && !math.IsInf(y, 0) {
				inside += y * (hi - lo) / n
			}
		}
		panel.Title = fmt.Sprintf("%.0f %% of the prior", 100*min(1, inside))
		panel.Layers = append([]viz.Layer{prior}, panel.Layers...)
		f.Panels = append(f.Panels, panel)
	}
	return f, nil
}

func pooled(names []string, runs []*mcmc.Chains, truth []float64) ([][]viz.Points, error) {
	if len(names) != len(runs) || len(runs) == 0 {
		panic(fmt.Sprintf("plots: %d names of %d runs", len(names), len(runs)))
	}
	params := runs[0].Names
	if truth != nil && len(truth) != len(params) {
		panic(fmt.Sprintf("plots: %d true values of %d parameters", len(truth), len(params)))
	}
	out := make([][]viz.Points, len(params))
	for r, c := range runs {
		if !slices.Equal(c.Names, params) {
			return nil, fmt.Errorf("plots: run %q has the parameters %v: want %v, as in the first run", names[r], c.Names, params)
		}
		for i := range params {
			out[i] = append(out[i], viz.Points{Name: names[r], X: slices.Concat(c.Parameter(i)...)})
		}
	}
	return out, nil
}

// covering leaves out at most a thousandth of the draws at each end.
func covering(name string, samples []viz.Points, truth []float64, i int) viz.Axis {
	lo, hi := math.Inf(1), math.Inf(-1)
	for _, s := range samples {
		x := slices.Sorted(slices.Values(s.X))
		k := len(x) / 1000
		lo, hi = min(lo, x[k]), max(hi, x[len(x)-1-k])
	}
	if truth != nil {
		lo, hi = min(lo, truth[i]), max(hi, truth[i])
	}
	margin := 0.08 * (hi - lo)
	return viz.Axis{Label: name, Min: lo - margin, Max: hi + margin}
}

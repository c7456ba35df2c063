// Command picture draws the picture of the README, reproduce/picture/verdict.png: the
// posterior of the transmission rate of influenza in a boarding school, by Euler's method
// with one step a day and by an accurate solver.
//
//	go run ./reproduce/picture
package main

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"

	"gonum.org/v1/gonum/stat"

	"github.com/probode/probode/internal/shell"
	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/adams"
	"github.com/probode/probode/pkg/probode/bayes/cases"
	"github.com/probode/probode/pkg/probode/bayes/sample"
	"github.com/probode/probode/pkg/probode/catalog"
	"github.com/probode/probode/pkg/probode/mcmc"
	"github.com/probode/probode/pkg/viz"
)

func main() {
	shell.Main("picture", func(ctx context.Context, _ []string) error {
		f, err := figure(ctx)
		if err != nil {
			return err
		}
		png, err := viz.PNG(f)
		if err != nil {
			return err
		}
		fmt.Println(f.Title)
		return shell.WriteFile(filepath.Join("reproduce", "picture", "verdict.png"), png)
	})
}

func figure(ctx context.Context) (f viz.Figure, err error) {
	c, err := cases.Named("influenza")
	if err != nil {
		return f, err
	}
	panel := viz.Panel{X: viz.Axis{Label: "rate of infection β per day, from an outbreak of influenza in a boarding school"}, Y: viz.Axis{Label: "posterior density"}}
	var median, half [2]float64
	for i, s := range []probode.Setup{{Method: adams.Bashforth{Steps: 1}, Mesh: probode.Uniform(1)}, catalog.Default()} {
		plan, err := sample.Choose(ctx, c.Posterior().SolvedBy(s), nil, mcmc.Settings{Seed: 1})
		if err != nil {
			return f, err
		}
		chains, err := sample.Run(ctx, plan.Posterior, plan.Sampler, mcmc.Settings{Chains: 4, Draws: 1000, Seed: 1})
		if err != nil {
			return f, err
		}
		beta := slices.Concat(chains.Parameter(0)...)
		slices.Sort(beta)
		q := func(p float64) float64 { return stat.Quantile(p, stat.LinInterp, beta, nil) }
		median[i], half[i] = q(0.5), (q(0.84)-q(0.16))/2
		name := []string{"your solver: Euler’s method, one step a day", "accurate"}[i]
		density, err := viz.Densities(panel.X, nil, viz.Points{Name: name, X: beta})
		if err != nil {
			return f, err
		}
		line := density.Layers[0].(viz.Line)
		line.Color, line.Dash, line.Width = viz.Palette[1-i], viz.Solid, 2.5
		panel.Layers = append(panel.Layers, line,
			viz.Band{X: line.X, Lo: make([]float64, len(line.X)), Hi: line.Y, Color: line.Color, Opacity: 0.25})
	}
	f.Title = fmt.Sprintf("The solver’s error matters: it moves the rate β by %.0f standard deviations", (median[0]-median[1])/half[1])
	f.Panels, f.Width, f.Height = []viz.Panel{panel}, 800, 300
	return f, nil
}

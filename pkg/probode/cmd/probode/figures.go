package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/probode/probode/pkg/internal/text"
	"github.com/probode/probode/pkg/probode/bayes"
	"github.com/probode/probode/pkg/probode/mcmc"
	"github.com/probode/probode/pkg/probode/mcmc/store"
	"github.com/probode/probode/pkg/viz"
	"github.com/probode/probode/pkg/viz/plots"
)

// mostShown is the largest number of parameters in a figure of pairs, and mostPanels that
// of panels in a figure of data.
const mostShown, mostPanels = 8, 48

// drawDraws writes a page with the traces and the posterior and, unless p is nil, with
// predictions beside the data.
func drawDraws(ctx context.Context, to outFile, chains *mcmc.Chains, p *bayes.Posterior) error {
	var figures []viz.Figure
	if p != nil {
		f, err := predictions(ctx, chains, p)
		if err != nil {
			return fmt.Errorf("-%s: %w", to.flag, err)
		}
		figures = append(figures, f)
	}
	shown, all := *chains, len(chains.Names)
	if all > mostShown {
		shown.Names = chains.Names[:mostShown]
	}
	pairs, err := plots.Pairs([]string{"draws"}, []*mcmc.Chains{&shown}, nil)
	if err != nil {
		return err
	}
	traces := plots.Traces(&shown)
	if all > mostShown {
		traces.Title += fmt.Sprintf(" of the first %d of %d parameters", mostShown, all)
		pairs.Title += fmt.Sprintf(" of the first %d of %d parameters", mostShown, all)
	}
	return to.write(nil, func(w io.Writer) error { return writePage(w, to.path, append(figures, pairs, traces)) })
}

func writePage(w io.Writer, title string, figures []viz.Figure) error {
	var body strings.Builder
	for _, f := range figures {
		fragment, err := viz.HTML(f)
		if err != nil {
			return err
		}
		body.WriteString(fragment)
	}
	_, err := io.WriteString(w, page(text.Clip(title), body.String()))
	return err
}

// predictions solves the equations between the observation times, too, unless the draws
// contain noise of the solver, which is not stored.
func predictions(ctx context.Context, chains *mcmc.Chains, p *bayes.Posterior) (viz.Figure, error) {
	f := viz.Figure{Title: "New data, as the model predicts them, and the data"}
	all, err := bayes.Predict(ctx, p, chains, p.FineTimes(), 1)
	if err != nil && ctx.Err() == nil {
		all, err = bayes.Predict(ctx, p, chains, nil, 1)
	}
	if err != nil {
		return f, err
	}
	for i, q := range all {
		f.Panels = append(f.Panels, plots.Predictive(q, p.Experiments[i].Data).Panels...)
	}
	return atMostPanels(f), nil
}

func atMostPanels(f viz.Figure) viz.Figure {
	if n := len(f.Panels); n > mostPanels {
		f.Panels = f.Panels[:mostPanels]
		f.Title += fmt.Sprintf(" (the first %d of %d panels)", mostPanels, n)
	}
	return f
}

// drawRun draws a finished or unfinished run. The model p may be nil.
func drawRun(ctx context.Context, p *bayes.Posterior, to outFile, dir string, chains *mcmc.Chains) error {
	if p == nil {
		return drawDraws(ctx, to, chains, nil)
	}
	whole, err := store.Read(dir)
	if err != nil {
		return errors.New("the predictions need a finished run: leave out -model and -case")
	}
	return drawDraws(ctx, to, whole, p)
}

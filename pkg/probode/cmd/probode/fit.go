package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"strconv"

	"github.com/probode/probode/pkg/internal/text"
	modelfile "github.com/probode/probode/pkg/probode/model"
	"github.com/probode/probode/pkg/viz"
)

const fitHelp = `Fits a model to its data: searches for the largest likelihood from many starts, within
the bounds of the parameters and without priors.

  probode fit -model problem.yaml -starts 50 -out waterfall.png

Each search uses Fisher's scoring with exact derivatives. With Laplace errors the
likelihood has kinks, which the search takes into account. The table has a row for each
optimum, the best first, with the number of searches that ended there, to within 0.01 of
the log-likelihood. If few searches found the best optimum, there may be a better one.
The figure, .png, .svg or .html, shows how far below the best each search ended.

The flags:

`

// fit writes the optima of a multi-start search.
func fit(ctx context.Context, args []string, out io.Writer) error {
	flags := flag.NewFlagSet("fit", flag.ContinueOnError)
	name := flags.String("model", "", "YAML `file`: a model file or a PEtab problem")
	outside := flags.Bool("outside", false, outsideHelp)
	starts := flags.Int("starts", 20, "`number` of searches")
	seed := flags.Uint64("seed", 1, "seed of the starts")
	file := flags.String("out", "", "`file` for the figure: .png, .svg or .html")
	if err := parseOnly(flags, args, fitHelp, out); err != nil {
		return err
	}
	to := outFile{"out", *file}
	if err := first(inRange("starts", *starts, 1, 1_000_000), checkEnding("out", *file, ".html", ".png", ".svg"), checkOutputs(to)); err != nil {
		return err
	}
	p, err := loadModel(*name, *outside, to)
	if err != nil {
		return err
	}
	show := display("searches")
	optima, err := p.Fit(ctx, modelfile.FitSettings{Starts: *starts, Seed: *seed, Progress: func(done, total int) { show(done, total, "") }})
	show(1, 1, "") // removes the line
	if err != nil && (len(optima) == 0 || optima[0].Err != nil) {
		return err
	}
	if optima[0].Err != nil {
		return fmt.Errorf("none of %d searches succeeded; the error of the first: %w", len(optima), optima[0].Err)
	}
	if err == nil {
		if err := to.write(out, func(w io.Writer) error { return draw(w, *file, waterfall(optima, p.Name)) }); err != nil {
			return err
		}
	}
	writeOptima(out, p, optima)
	if err != nil {
		fmt.Fprintln(out, "warning: stopped before the end: these are the results so far")
	}
	return err
}

// writeOptima writes the table of optima, and the parameters of the best one.
func writeOptima(out io.Writer, p *modelfile.File, optima []modelfile.Optimum) {
	const same, most = 0.01, 20
	rows := [][]string{{"log-likelihood", "below the best", "searches", "left", "ended by"}}
	failed, stopped, hidden := 0, 0, 0
	var failure error
	best := optima[0].LogLikelihood
	for i := 0; i < len(optima); {
		o := optima[i]
		if o.Err != nil {
			i++
			if errors.Is(o.Err, context.Canceled) || errors.Is(o.Err, context.DeadlineExceeded) {
				stopped++
				continue
			}
			if failed == 0 {
				failure = o.Err
			}
			failed++
			continue
		}
		n := 1
		for i+n < len(optima) && optima[i+n].Err == nil && o.LogLikelihood-optima[i+n].LogLikelihood <= same {
			n++
		}
		if i += n; len(rows) > most {
			hidden++
			continue
		}
		rows = append(rows, []string{fmt.Sprintf("%.6f", o.LogLikelihood), fmt.Sprintf("%.2f", best-o.LogLikelihood), strconv.Itoa(n), fmt.Sprintf("%.1g", o.Left), o.Reason})
	}
	fmt.Fprint(out, text.Table(rows, func(c int) bool { return c == 4 }))
	if hidden > 0 {
		fmt.Fprintf(out, "and %d more optima\n", hidden)
	}
	if failed > 0 {
		fmt.Fprintf(out, "%d of %d searches failed; the first error: %v\n", failed, len(optima), failure)
	}
	if stopped > 0 {
		fmt.Fprintf(out, "%d of %d searches were stopped before their end\n", stopped, len(optima))
	}
	rows = [][]string{{"best", "value", "bounds"}}
	for i, q := range p.Params {
		if q.Estimate {
			bounds := between(q.Lower, q.Upper)
			v := optima[0].Theta[i]
			if math.Abs(v-q.Lower) <= 1e-3*math.Abs(q.Lower) || math.Abs(v-q.Upper) <= 1e-3*math.Abs(q.Upper) {
				bounds += ", at the bound"
			}
			rows = append(rows, []string{text.Clip(q.ID), fmt.Sprintf("%.8g", v), bounds})
		}
	}
	fmt.Fprintf(out, "\n%s", text.Table(rows, func(c int) bool { return c != 1 }))
}

// between describes bounds. NaN or an infinite number means that there is no bound.
func between(lower, upper float64) string {
	above, below := lower > math.Inf(-1), upper < math.Inf(1)
	switch {
	case above && below:
		return fmt.Sprintf("%g to %g", lower, upper)
	case above:
		return fmt.Sprintf("at least %g", lower)
	case below:
		return fmt.Sprintf("at most %g", upper)
	}
	return "none"
}

// waterfall shows how far below the best result each search ended. It adds one to each
// difference, so that the axis can be logarithmic.
func waterfall(optima []modelfile.Optimum, name string) viz.Figure {
	good := viz.Points{Name: "converged"}
	bad := viz.Points{Name: "not converged", Marker: viz.Ring}
	for i, o := range optima {
		if o.Err != nil {
			break
		}
		to := &bad
		if o.Converged {
			to = &good
		}
		to.X = append(to.X, float64(i+1))
		to.Y = append(to.Y, 1+optima[0].LogLikelihood-o.LogLikelihood)
	}
	panel := viz.Panel{X: viz.Axis{Label: "search, best first"}, Y: viz.Axis{Label: "1 + log-likelihood below the best", Log: true}}
	for _, l := range []viz.Points{good, bad} {
		if len(l.X) > 0 {
			panel.Layers = append(panel.Layers, l)
		}
	}
	return viz.Figure{Title: text.Clip(name) + ": searches", Panels: []viz.Panel{panel}}
}

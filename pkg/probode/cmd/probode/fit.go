package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/probode/probode/pkg/internal/jsonfile"
	"github.com/probode/probode/pkg/internal/text"
	modelfile "github.com/probode/probode/pkg/probode/model"
	"github.com/probode/probode/pkg/viz"
	"github.com/probode/probode/pkg/viz/plots"
)

var fitHelp = manual{
	short: `Fits a model to its data: searches for the largest likelihood from many starts, within
the bounds of the parameters.

  probode fit model.yaml -out fit.html
  probode fit model.yaml -start nominal -profiles
  probode fit model.yaml -starts 500 -json fit.json
`,
	flags: []string{"model", "data", "starts", "start", "map", "profiles", "budget", "out", "json"},
	long: `Unless -map is given, priors are ignored, except that a parameter cannot take values at
which its prior is zero.

Each search uses Fisher scoring with exact derivatives within a trust region. The
starts form a Latin hypercube sample. With Laplace errors the likelihood has kinks,
which the search takes into account. The table has a row for each log-likelihood that
searches reached, from the best to the worst. Log-likelihoods that differ by at most
0.01 share a row, and the column "searches" shows how many there are. If several
searches reached the best log-likelihood at different values of the parameters, fit
names these parameters. An end point is called an optimum if no slope within the bounds
is above 0.01 on the scale of its parameter, and if a quadratic approximation at this
point predicts that the log-likelihood can rise by less than 1e-6. If few searches found
the best optimum, there may be a better one.

-profiles computes the profile likelihood of each parameter: its confidence interval,
and whether the data determine the parameter at all.

After Ctrl-C, fit writes at once what it has reached: the end points of the searches, as
accurate as the searches computed them, and the complete profiles. With -budget 5m it
stops by itself, and keeps a fifth of the time for accurate log-likelihoods.

The figure (.png, .svg or .html) shows the fit against the data, and how far the
log-likelihood of each search ended below the best one. With -profiles it also shows the
profiles, and a band around the fit, which contains the curves for all points of the
profiles within the confidence intervals. An .html page loads nothing from elsewhere; its
figure is interactive if a copy of echarts.min.js (ECharts 5) is beside it.

`}

type fitFlags struct {
	starts        int
	start         string
	profiles      bool
	level         float64
	budget        time.Duration // 0 means no limit
	figure, table outFile
	set           modelfile.FitSettings
}

// nearBest limits the end points of -start from which -profiles searches, without -starts
// or -map.
const nearBest = 5

func fit(ctx context.Context, args []string, out io.Writer) error {
	flags := flag.NewFlagSet("fit", flag.ContinueOnError)
	f := fitFlags{figure: outFile{flag: "out"}, table: outFile{flag: "json"}}
	var m modelFile
	m.define(flags)
	flags.IntVar(&f.starts, "starts", 100, "`number` of searches from randomly drawn starts; with -start the default is 0")
	flags.StringVar(&f.start, "start", "", "nominal, or a `file` of fit -json; further searches begin at the nominal parameters, or at the points in the file")
	flags.Uint64Var(&f.set.Seed, "seed", 1, "seed of the starts")
	flags.BoolVar(&f.set.Map, "map", false, "maximise the posterior density instead of the likelihood")
	flags.BoolVar(&f.profiles, "profiles", false, "compute the profile likelihood of each parameter")
	flags.Float64Var(&f.level, "confidence", 0.95, "confidence `level` of the intervals of -profiles")
	flags.DurationVar(&f.budget, "budget", 0, "`time` after which to stop, such as 5m; with -profiles half of it is for the searches. 0 means no limit")
	flags.StringVar(&f.figure.path, "out", "", "`file` for the figure (.png, .svg or .html)")
	flags.StringVar(&f.table.path, "json", "", "`file` for the numbers as JSON; \"-\" is standard output; see docs/json.md")
	if err := parseModel(flags, args, fitHelp, out); err != nil {
		return err
	}
	least := 1
	if f.start != "" {
		if least = 0; !given(flags, "starts") {
			f.starts = 0
		}
	}
	if err := first(inRange("starts", f.starts, least, 1_000_000), checkEnding("out", f.figure.path, ".html", ".png", ".svg"), checkOutputs(f.figure, f.table)); err != nil {
		return err
	}
	if !(f.level > 0 && f.level < 1) {
		return fmt.Errorf("-confidence %g: want a number between 0 and 1", f.level)
	}
	if f.budget < 0 {
		return fmt.Errorf("-budget %v: want a time ≥ 0", f.budget)
	}
	m.outputs = []outFile{f.figure, f.table}
	p, err := m.load()
	if err != nil {
		return err
	}
	below := math.Inf(1)
	if f.profiles && f.starts == 0 && !f.set.Map {
		below = nearBest
	}
	if f.set.From, err = startsOf(p, f.start, below); err != nil {
		return fmt.Errorf("-start %s: %w", f.start, err)
	}
	f.set.Starts = f.starts
	return f.run(ctx, p, out)
}

// run only writes what has been reached if ctx is done.
func (f *fitFlags) run(ctx context.Context, p *modelfile.File, out io.Writer) error {
	within, searching := ctx, ctx
	if f.budget > 0 {
		var end context.CancelFunc
		within, end = context.WithTimeout(ctx, f.budget)
		defer end()
		if searching = within; f.profiles {
			searching, end = context.WithTimeout(within, f.budget/2)
			defer end()
		}
	}
	f.set.Progress = counted("searches")
	optima, stopped := p.Fit(searching, f.set)
	f.set.Progress(1, 1) // removes the line
	switch {
	case len(optima) > 0 && optima[0].Err == nil:
	case stopped != nil && searching.Err() != nil && ctx.Err() == nil:
		return fmt.Errorf("-budget %v: no search has reached a point at which the likelihood can be computed: want more time", f.budget)
	case stopped != nil:
		return stopped
	default:
		return fmt.Errorf("none of the %d searches succeeded; the first error: %w", len(optima), optima[0].Err)
	}
	var profiles *modelfile.ProfileLikelihoods
	if f.profiles && ctx.Err() == nil {
		f.set.Progress = counted("profiles")
		var err error
		profiles, err = p.Profiles(within, optima, f.level, f.set)
		f.set.Progress(1, 1)
		if profiles == nil && within.Err() == nil {
			return err
		}
		stopped = cmp.Or(stopped, err)
		if profiles != nil && profiles.Best.LogLikelihood+profiles.Best.LogPrior > optima[0].LogLikelihood+optima[0].LogPrior {
			better := profiles.Best
			better.Start = len(optima)
			optima = append([]modelfile.Optimum{better}, optima...)
		}
	}
	f.set.Progress = nil
	l, err := p.LogLikelihood(modelfile.LikelihoodSettings{})
	if err != nil {
		return err
	}
	idle := l.Idle()
	v, err := l.At(ctx, optima[0].Theta, false)
	if err != nil && ctx.Err() == nil {
		return err
	}
	if err := f.draw(ctx, p, optima, profiles, out); err != nil {
		return err
	}
	if err := f.table.write(out, fitJSON(p, f.set.Map, optima, profiles, idle, v).Write); err != nil {
		return err
	}
	out = f.table.beside(out)
	writeOptima(out, p, f.set.Map, optima, idle, v)
	if profiles != nil {
		writeProfiles(out, p, profiles, len(optima))
	}
	switch {
	case ctx.Err() != nil:
		fmt.Fprintln(out, "warning: stopped early; these are the results so far")
	case stopped != nil:
		fmt.Fprintf(out, "warning: stopped after %v; these are the results so far\n", f.budget)
	}
	return ctx.Err()
}

// draw leaves out the curves, which would have to be solved, if ctx is done.
func (f *fitFlags) draw(ctx context.Context, p *modelfile.File, optima []modelfile.Optimum, profiles *modelfile.ProfileLikelihoods, out io.Writer) error {
	if f.figure.path == "" {
		return nil
	}
	points := [][]float64{optima[0].Theta}
	if profiles != nil {
		points = profiles.Within()
	}
	figure := viz.Figure{Title: text.Clip(p.Name), Panels: plots.Waterfall(optima).Panels}
	curves, data, err := p.Curves(ctx, points, f.set)
	if err != nil && ctx.Err() == nil {
		return err
	}
	for i, q := range curves {
		figure.Panels = append(figure.Panels, plots.Fit(q, data[i]).Panels...)
	}
	figure = atMostPanels(figure)
	if profiles != nil {
		figure.Panels = append(figure.Panels, plots.ProfileLikelihoods(profiles).Panels...)
	}
	return f.figure.write(out, func(w io.Writer) error { return draw(w, f.figure.path, figure) })
}

func fitJSON(p *modelfile.File, priors bool, optima []modelfile.Optimum, profiles *modelfile.ProfileLikelihoods, idle []string, v *modelfile.Evaluation) jsonfile.Object {
	var names []string
	for _, q := range p.Params {
		names = append(names, q.ID)
	}
	n := 0
	for n < len(optima) && optima[n].Err == nil {
		n++
	}
	ends := jsonfile.List(n, func(i int) jsonfile.Object {
		o := optima[i]
		var prior any
		if priors {
			prior = o.LogPrior
		}
		return jsonfile.Object{"log_likelihood", o.LogLikelihood, "error", o.Error, "log_prior", prior, "parameters", jsonfile.Named(names, o.Theta),
			"optimum", o.Converged, "slope", o.Slope, "left", o.Left, "ended_by", o.Reason, "iterations", o.Iterations, "evaluations", o.Evaluations}
	})
	list := []jsonfile.Object{}
	var level any
	if profiles != nil {
		level = profiles.Level
		points := func(list []modelfile.ProfilePoint) []jsonfile.Object {
			return jsonfile.List(len(list), func(k int) jsonfile.Object {
				return jsonfile.Object{"value", list[k].Value, "drop", list[k].Drop, "parameters", jsonfile.Named(names, list[k].Theta)}
			})
		}
		bounds := func(list []modelfile.Bound) []jsonfile.Object {
			return jsonfile.List(len(list), func(k int) jsonfile.Object {
				return jsonfile.Object{"parameter", list[k].Parameter, "bound", list[k].Value}
			})
		}
		list = jsonfile.List(len(profiles.ByName), func(i int) jsonfile.Object {
			q := profiles.ByName[i]
			return jsonfile.Object{"parameter", q.Parameter, "lower", q.Lower, "upper", q.Upper, "lower_open", q.LowerOpen, "upper_open", q.UpperOpen,
				"lower_at", bounds(q.LowerAt), "upper_at", bounds(q.UpperAt), "identified", q.Identified(),
				"points", points(q.Points), "elsewhere", points(q.Elsewhere)}
		})
	}
	var aic, bic any
	if free, data := p.Size(); !priors {
		aic, bic = criteria(optima[0].LogLikelihood, free, data)
	}
	var fits any
	if v != nil {
		fits = v.ChiSquare()
	}
	return jsonfile.Object{"format", "probode fit", "version", 1, "model", p.Name, "searches", len(optima), "failed", len(optima) - n,
		"aic", aic, "bic", bic, "chi_square", fits, "no_effect", append([]string{}, idle...), "ends", ends, "level", level, "profiles", list}
}

// criteria returns AIC and BIC, which have no meaning at the maximum of a posterior
// density.
func criteria(ll float64, parameters, measurements int) (aic, bic float64) {
	k := float64(parameters)
	return 2*k - 2*ll, k*math.Log(float64(measurements)) - 2*ll
}

// poor is a value of χ² per datum above which residuals are three times the errors.
const poor = 9

// Optima whose values differ by at most `same` share a row.
const same = 0.01

// writeOptima writes maxima of the posterior density if `priors` is true. The likelihood
// does not depend on the parameters in `idle`. The Evaluation at the best point is nil if it
// is not known.
func writeOptima(out io.Writer, p *modelfile.File, priors bool, optima []modelfile.Optimum, idle []string, v *modelfile.Evaluation) {
	const most = 20
	rows := [][]string{{"log-likelihood", "below the best", "searches", "slope", "ended by"}}
	failed, stopped, hidden := 0, 0, 0
	var failure error
	best := optima[0].LogLikelihood + optima[0].LogPrior
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
		n, value := 1, o.LogLikelihood+o.LogPrior
		for i+n < len(optima) && optima[i+n].Err == nil && value-optima[i+n].LogLikelihood-optima[i+n].LogPrior <= same {
			n++
		}
		if i += n; len(rows) > most {
			hidden++
			continue
		}
		slope := "unknown"
		if !math.IsInf(o.Slope, 1) {
			slope = fmt.Sprintf("%.1g", o.Slope)
		}
		if len(rows) == 1 && !o.Converged && strings.HasPrefix(o.Reason, "left") {
			o.Reason = "no optimum" // the searches that had been better failed
		}
		rows = append(rows, []string{fmt.Sprintf("%.6f", o.LogLikelihood), fmt.Sprintf("%.2f", best-value), strconv.Itoa(n), slope, o.Reason})
	}
	fmt.Fprint(out, text.Table(rows, func(c int) bool { return c == 4 }))
	if hidden > 0 {
		fmt.Fprintf(out, "and %d more ends\n", hidden)
	}
	if failed > 0 {
		fmt.Fprintf(out, "%d of %d searches failed; the first error: %v\n", failed, len(optima), failure)
	}
	if stopped > 0 {
		fmt.Fprintf(out, "%d of %d searches had not begun when the fit was stopped\n", stopped, len(optima))
	}
	if free, data := p.Size(); data > 0 && !priors {
		aic, bic := criteria(optima[0].LogLikelihood, free, data)
		fmt.Fprintf(out, "AIC %.4f, BIC %.4f: %d estimated parameters, %d measurements\n", aic, bic, free, data)
	}
	if v != nil {
		fits := v.ChiSquare()
		fmt.Fprintf(out, "goodness of fit: χ² per datum %.3g (about 1 if the model describes the data)\n", fits)
		if !(fits < poor) {
			fmt.Fprintln(out, "caution: the residuals are much larger than the errors: the model does not describe the data, or the searches missed the optimum; search wide ranges with parameterScale: log10")
		}
	}
	if effects := p.Effects(); !priors && effects != nil {
		fmt.Fprintf(out, "caution: fit ignores the priors of the random effects %s, so it does not estimate their spread: use -map or sample\n", atMost(effects, 4, ", "))
	}
	if !optima[0].Converged {
		fmt.Fprintln(out, "caution: the best point is not an optimum: more starts, or more time, may find a better one")
	}
	rows = [][]string{{"best", "value", "bounds"}}
	for i, q := range p.Params {
		if q.Estimate {
			bounds := between(q.Lower, q.Upper)
			v := optima[0].Theta[i]
			if atBound(v, q.Lower, q.Upper) || atBound(v, q.Upper, q.Lower) {
				bounds += ", at the bound"
			}
			switch {
			case slices.Contains(idle, q.ID):
				bounds += ", no effect on the likelihood"
			case slices.Contains(optima[0].Flat, q.ID):
				bounds += ", no effect on the likelihood here"
			}
			rows = append(rows, []string{text.Clip(q.ID), fmt.Sprintf("%.8g", v), bounds})
		}
	}
	fmt.Fprintf(out, "\n%s", text.Table(rows, func(c int) bool { return c != 1 }))
	if list := otherwise(p, optima, idle); list != nil {
		fmt.Fprintf(out, "\nSeveral points are equally good. The best searches ended at different values of these parameters: %s.\n", atMost(list, 4, "; "))
	}
}

// otherwise lists the ranges of parameters that differ between the optima within `same`
// of the best.
func otherwise(p *modelfile.File, optima []modelfile.Optimum, idle []string) (list []string) {
	for i, q := range p.Params {
		if slices.Contains(idle, q.ID) {
			continue
		}
		low, high := math.Inf(1), math.Inf(-1)
		for _, o := range optima {
			if o.Converged && optima[0].LogLikelihood+optima[0].LogPrior-o.LogLikelihood-o.LogPrior <= same {
				low, high = min(low, o.Theta[i]), max(high, o.Theta[i])
			}
		}
		if q.Distinct(low, high) {
			list = append(list, fmt.Sprintf("%s from %.6g to %.6g", text.Clip(q.ID), low, high))
		}
	}
	return list
}

func atMost(list []string, n int, separator string) string {
	if more := len(list) - n; more > 0 {
		list = append(slices.Clone(list[:n]), fmt.Sprintf("and %d more", more))
	}
	return strings.Join(list, separator)
}

// atBound reports whether v is within a thousandth of |bound| and of the distance between
// the bounds. NaN stands for no bound.
func atBound(v, bound, other float64) bool {
	near := 1e-3 * math.Abs(bound)
	if width := math.Abs(other - bound); width > 0 {
		near = min(near, 1e-3*width)
	}
	return math.Abs(v-bound) <= near
}

func writeProfiles(out io.Writer, file *modelfile.File, p *modelfile.ProfileLikelihoods, searches int) {
	rows := [][]string{{fmt.Sprintf("%g %% confidence", 100*p.Level), "from", "to", "open"}}
	var open, limited, elsewhere, unknown []string
	unbounded := false // an open side has no bound
	for _, q := range p.ByName {
		what := ""
		switch {
		case q.LowerOpen && q.UpperOpen:
			what = "on both sides"
		case q.LowerOpen:
			what = "downwards"
		case q.UpperOpen:
			what = "upwards"
		}
		var limits []string
		for i, list := range [][]modelfile.Bound{q.LowerAt, q.UpperAt} {
			for _, b := range list {
				limits = append(limits, fmt.Sprintf("%s end: %s at its bound %.6g", []string{"lower", "upper"}[i], text.Clip(b.Parameter), b.Value))
			}
		}
		if limits != nil {
			limited = append(limited, fmt.Sprintf("%s (%s)", text.Clip(q.Parameter), atMost(limits, 4, ", ")))
			what = strings.TrimPrefix(what+"; "+atMost(limits, 4, ", "), "; ")
		}
		if q.Err != nil {
			what = strings.TrimPrefix(what+"; incomplete: "+text.Printable(q.Err.Error()), "; ")
		}
		if q.Err != nil && !q.LowerOpen && !q.UpperOpen {
			unknown = append(unknown, text.Clip(q.Parameter))
		}
		if q.LowerOpen || q.UpperOpen {
			open = append(open, text.Clip(q.Parameter))
			i := slices.IndexFunc(file.Params, func(r modelfile.Parameter) bool { return r.ID == q.Parameter })
			unbounded = unbounded || q.LowerOpen && math.IsNaN(file.Params[i].Lower) || q.UpperOpen && math.IsNaN(file.Params[i].Upper)
		}
		if len(q.Elsewhere) > 0 && q.Err == nil {
			var values []string
			for _, point := range q.Elsewhere {
				values = append(values, fmt.Sprintf("%.6g", point.Value))
			}
			elsewhere = append(elsewhere, text.Clip(q.Parameter)+" = "+atMost(values, 4, ", "))
		}
		rows = append(rows, []string{text.Clip(q.Parameter), fmt.Sprintf("%.6g", q.Lower), fmt.Sprintf("%.6g", q.Upper), what})
	}
	fmt.Fprintf(out, "\n%s\n", text.Table(rows, func(c int) bool { return c == 0 || c == 3 }))
	if len(elsewhere) > 0 {
		fmt.Fprintf(out, "The confidence region extends beyond these intervals. There are other points at which the log-likelihood is less than %.3g below its best value: %s. Each interval covers only the part of the region around the best point found.\n",
			p.Drop, strings.Join(elsewhere, "; "))
	}
	if len(unknown) > 0 {
		fmt.Fprintf(out, "The profiles of %s are incomplete, so it is not known whether the data determine these parameters.\n", strings.Join(unknown, ", "))
	}
	if len(limited) > 0 {
		fmt.Fprintf(out, "The data alone do not determine %s. An interval ends there because another parameter has met its bound: another bound would give another interval.\n", strings.Join(limited, ", "))
	}
	switch {
	case len(open) > 0:
		far := "all the way to a bound"
		if unbounded {
			far += " (or, for a parameter without a bound, as far as the profile was computed)"
		}
		fmt.Fprintf(out, "The data do not determine %s: %s, the profile stays within %.3g of its maximum.\n", strings.Join(open, ", "), far, p.Drop)
	case len(limited)+len(elsewhere)+len(unknown) > 0: // it has been said
	case searches == 1:
		fmt.Fprintln(out, "As far as a single search shows, the data determine all parameters within their bounds. There may be other optima, which a single search cannot find.")
	default:
		fmt.Fprintf(out, "As far as %d searches show, the data determine all parameters within their bounds.\n", searches)
	}
}

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

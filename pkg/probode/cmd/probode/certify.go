package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"

	"github.com/probode/probode/pkg/internal/text"
	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/bayes"
	"github.com/probode/probode/pkg/probode/bayes/certify"
	"github.com/probode/probode/pkg/probode/reference"
	"github.com/probode/probode/pkg/viz"
	"github.com/probode/probode/pkg/viz/plots"
)

var certifyHelp = manual{
	short: `Bounds the effect of the error of an ODE solver on a posterior, without sampling.

  probode certify -case lynx-hare -method am1 -steps 0.5,0.25,0.125
  probode certify model.yaml -method dp5 -rtol 1e-3,1e-4,1e-5
  probode certify model.yaml -method radau5 -rtol 1e-3 -enough
`,
	flags: []string{"model", "case", "data", "method", "steps", "rtol", "enough", "out", "v", "json"},
	long: `It computes D, the difference between the predictions of the solver and those of an
accurate solver, in units of the observation errors, and the shift of each parameter in
standard deviations of the Gaussian approximation at the mode. If D is below ½, no
parameter moves by more than D (√2 D if the size of the errors is unknown), to first order.
The command also compares the solvers away from the mode. It says nothing about the
width of the posterior, or about modes that it has not found: use assess for those.

-enough searches for the largest step size, or with -rtol or -atol for the largest
tolerance, at which every shift is below the threshold, at the modes and at draws
around them. In addition, a search for modes must find none that only the posterior of
this solver has; with -at or -start there is no such search.

` + modelHelp + `
`}

func certifyVerb(ctx context.Context, args []string, out io.Writer) error {
	flags := flag.NewFlagSet("certify", flag.ContinueOnError)
	m := newExact(flags)
	m.withSteps = true
	flags.StringVar(&m.steps, "steps", "", "`list` of step sizes, such as 1,0.5; default: h, h/2, h/4 and h/8, where h is the step size given by -step or by the case")
	flags.StringVar(&m.rtol, "rtol", "", "`list` of tolerances of a solver with error control; it chooses the steps separately for every θ")
	flags.StringVar(&m.atol, "atol", "", "`list` of absolute tolerances: one for each number in -rtol, or one for all; default: for each component, rtol/1000 times its largest absolute value")
	threshold := flags.Float64("threshold", 0.1, "largest negligible `shift` of a parameter; in standard deviations of the Gaussian at the mode")
	enough := flags.Bool("enough", false, "search for the largest step or tolerance that suffices; every shift is then below -threshold")
	at := flags.String("at", "", "with -model, use this point instead of searching for modes: nominal, or `name=value,…`; the other parameters have their nominal values")
	start := flags.String("start", "", "with -model, begin the searches for modes only at the best points in this `file`, which fit -json wrote")
	page := flags.String("out", "", "`file` (.png, .svg or .html) for a figure; log-likelihoods along each parameter, with a curve for each solver")
	verbose := flags.Bool("v", false, "print all tables, and what the answer rests on")
	file := flags.String("json", "", "`file` for the numbers as JSON; \"-\" is standard output; see docs/json.md")
	if err := parseModel(flags, args, certifyHelp, out); err != nil {
		return err
	}
	if !(*threshold > 0 && *threshold < 1) {
		return fmt.Errorf("-threshold %g: want a number between 0 and 1", *threshold)
	}
	if err := checkEnding("out", *page, ".html", ".png", ".svg"); err != nil {
		return err
	}
	numbers := outFile{"json", *file}
	m.outputs = []outFile{{"out", *page}, numbers}
	if err := checkOutputs(m.outputs...); err != nil {
		return err
	}
	p, err := m.build()
	if err != nil {
		return err
	}
	ctx = watch(ctx, false)
	setups, err := m.ladder(p.Setup)
	if err != nil {
		return err
	}
	from, err := m.at(*at)
	if err != nil {
		return err
	}
	stay := from != nil
	if *start != "" {
		if stay {
			return errors.New("want only one of -at and -start")
		}
		if from, err = m.best(*start); err != nil {
			return fmt.Errorf("-start %s: %w", *start, err)
		}
	}
	s := certify.Settings{Modes: from, NoClimb: stay, Reference: probode.Setup{Mesh: reference.Accurate{Tolerance: probode.Tolerance{Relative: 1e-10}}}, Seed: m.seed}
	all := certify.Certificates{Model: m.title(), Threshold: *threshold}
	if all.All, err = certify.Each(ctx, p, setups, s); err != nil {
		return err
	}
	if *enough {
		all.Enough, err = certify.LargestEnough(ctx, p.SolvedBy(setups[0]), certify.EnoughSettings{Settings: s, Threshold: *threshold})
		if err != nil {
			return err
		}
	}
	if *page != "" {
		if err := drawLines(ctx, p, setups, s.Reference, all.All, *page); err != nil {
			return err
		}
	}
	if words := numbers.beside(out); *verbose {
		fmt.Fprint(words, all)
	} else {
		fmt.Fprintf(words, "%s-v shows the shift of each parameter, and what the answer rests on.\n", all.Answer())
	}
	return numbers.write(out, all.WriteJSON)
}

// drawLines draws the log-likelihoods along each parameter through the first mode.
func drawLines(ctx context.Context, p *bayes.Posterior, setups []probode.Setup, reference probode.Setup, all []*certify.Certificate, path string) error {
	var at *certify.AtMode
	for _, c := range all {
		for i := range c.Modes {
			if m := &c.Modes[i]; m.Found && at == nil {
				at = m
			}
		}
	}
	if at == nil {
		return errors.New("-out: no mode of the reference posterior was found")
	}
	var f viz.Figure
	for k, name := range all[0].Params {
		theta, sd := at.Theta[slices.Index(all[0].Names, name)], at.SD[k]
		profile, err := certify.NewProfile(ctx, p, append(slices.Clone(setups), reference), at.Theta, name, theta-lineWidth*sd, theta+lineWidth*sd, 101)
		if err != nil {
			return err
		}
		one := plots.LogLikelihoodProfile(profile)
		one.Panels[1].Title = "difference, zero in the middle" // the legend names the reference
		one.Panels = append(f.Panels, one.Panels...)
		f = one
	}
	f.Columns = 2
	return outFile{"out", path}.write(nil, func(w io.Writer) error { return draw(w, path, f) })
}

// lineWidth is half the width of the figure in posterior standard deviations. A sampler
// moves by about half a standard deviation in one iteration.
const lineWidth = 0.5

func (m *model) at(where string) ([][]float64, error) {
	switch {
	case where == "":
		return nil, nil
	case m.loaded == nil:
		return nil, errors.New("-at has no meaning without -model, because only a model file has nominal values")
	}
	theta, err := valuesAt(m.loaded, where)
	if err != nil {
		return nil, err
	}
	for i, q := range m.loaded.Params {
		if v := theta[i]; q.Estimate && v != q.Nominal && (v < q.Lower || v > q.Upper) {
			return nil, fmt.Errorf("-at %s=%g: the value is outside the bounds of this parameter, %g to %g", text.Clip(q.ID), v, q.Lower, q.Upper)
		}
	}
	point, err := m.loaded.Point(theta)
	if err != nil {
		return nil, fmt.Errorf("-at: %w", err)
	}
	return [][]float64{point}, nil
}

package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/probode/probode/pkg/internal/text"
	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/bayes"
	"github.com/probode/probode/pkg/probode/bayes/assess"
	"github.com/probode/probode/pkg/probode/bayes/sample"
	"github.com/probode/probode/pkg/probode/catalog"
	"github.com/probode/probode/pkg/probode/mcmc"
	"github.com/probode/probode/pkg/viz/plots"
)

var assessHelp = manual{
	short: `Does the error of an ODE solver matter for a posterior, and which steps are small enough?

  probode assess -case lynx-hare -method am1 -steps 1,0.5,0.25 -out out.html
  probode assess model.yaml -method dp5,bdf -rtol 1e-1,1e-2,1e-3
  probode assess -case lynx-hare -method am1 -steps 0.5 -alpha auto
`,
	flags: []string{"model", "case", "data", "method", "steps", "rtol", "alpha", "budget", "out", "v"},
	long: `assess draws from the posterior of an accurate solver, and computes with weights what
each candidate makes of it. It prints the verdict, the worst parameter, and what to use.
With -rtol instead of -steps it judges a solver with error control, as in the likelihoods
of most other programs. -method takes a list.

-alpha adds inference with the solver's error in the model, which -scheme draws. With a
Gaussian filter these are Fenrir and DALTON, whose diffusion κ² is α:

  probode assess -case lynx-hare -method ek1,2 -steps 0.5 -alpha auto \
    -scheme fenrir

-from judges draws that exist, of this or another program, without sampling: with -made-by
the draws of the solver that it names, without it those of an accurate one. A column lp__
tells whether the other program has the same model.

  probode assess model.yaml -from 'stan/*.csv' -made-by dp5,1e-6

` + modelHelp + `
`}

// assessVerb implements the command assess, which determines whether the solver's error
// matters.
func assessVerb(ctx context.Context, args []string, out io.Writer) error {
	flags := flag.NewFlagSet("assess", flag.ContinueOnError)
	m := newModel(flags)
	m.withSteps = true
	flags.StringVar(&m.steps, "steps", "", "`list` of step sizes, such as 1,0.5; default: h, h/2, h/4 and h/8, where h is the step size given by -step or by the case")
	flags.StringVar(&m.rtol, "rtol", "", "`list` of tolerances of a solver with error control; error control chooses the steps separately for every θ")
	flags.StringVar(&m.atol, "atol", "", "`list` of absolute tolerances: one for each number in -rtol, or one for all; default: for each component, rtol/1000 times its largest absolute value")
	name := flags.String("scheme", samplerName(sample.Hamiltonian{}), "`scheme` for inference with the solver's error in the model, with -alpha: "+samplerNames())
	threshold := flags.Float64("threshold", 0.1, "a bias is negligible up to this number of posterior standard deviations, and a relative change of a standard deviation is negligible up to the same number")
	confidence := flags.Float64("confidence", 0.95, "confidence level, at least 0.5 and less than 1; the solver's error is negligible if every confidence interval lies below -threshold, and matters if at least one confidence interval lies above -threshold")
	budget := flags.String("budget", "", "largest `number` of draws per chain, a time, or both: 50000,10m; default: 16 times -draws")
	start := flags.String("start", "", "with -model, begin the searches for modes only at the best points in this `file`, which fit -json wrote")
	from := flags.String("from", "", "judge draws that exist: `files` with a column for each parameter, such as 'stan/*.csv', a directory that sample wrote, or a Zarr store that merge wrote")
	by := flags.String("made-by", "", "`solver` with which the draws in -from were made: dp5,1e-6 for a method and its tolerance, bdf,1e-6,1e-8 with an absolute one, rk4,step=0.1 for steps; default: an accurate one")
	rename := flags.String("rename", "", "`list` of columns of -from with other names: column=parameter,…")
	figure := flags.String("out", "", "`file` (.html) for a page with the figure; the numbers are written to a .csv file with the same name")
	machine := flags.String("json", "", "`file` for the results as JSON; \"-\" is standard output; see docs/json.md")
	verbose := flags.Bool("v", false, "print all tables, what the verdict rests on, and all warnings")
	quiet := flags.Bool("quiet", false, "show no progress")
	if err := parseModel(flags, args, assessHelp, out); err != nil {
		return err
	}
	s := assess.Settings{
		Threshold: *threshold, Confidence: *confidence,
		Chains: mcmc.Settings{Draws: m.draws, Chains: m.chains, Seed: m.seed},
	}
	var err error
	switch {
	case !(*threshold > 0 && *threshold < 1):
		return fmt.Errorf("-threshold %g: want a number between 0 and 1", *threshold)
	case !(*confidence >= 0.5 && *confidence < 1):
		return fmt.Errorf("-confidence %g: want a number ≥ 0.5 and < 1", *confidence)
	}
	if err := first(inRange("chains", m.chains, 1, mostChains), m.checkCounts(0)); err != nil {
		return err
	}
	if s.MaxDraws, s.MaxTime, err = parseBudget(*budget); err != nil {
		return err
	}
	if err := checkEnding("out", *figure, ".html"); err != nil {
		return err
	}
	found := outFile{"json", *machine}
	m.outputs = append(pageOutputs(*figure), found)
	if err := checkOutputs(m.outputs...); err != nil {
		return err
	}
	if m.set("alpha") {
		if s.Noise, err = samplerNamed(*name); err != nil {
			return err
		}
		if !s.Noise.Algorithm().Target.Noisy() {
			return fmt.Errorf("-scheme %s uses a solver without noise: want one with noise for -alpha", *name)
		}
	} else if m.set("scheme") {
		return fmt.Errorf("-scheme %s has no meaning without -alpha", *name)
	}
	methods := methodList(m.method)
	m.method = methods[0]
	p, err := m.build()
	if err != nil {
		return err
	}
	if *start != "" {
		if s.From, err = m.best(*start); err != nil {
			return fmt.Errorf("-start %s: %w", *start, err)
		}
	}
	if *from != "" {
		if s.Draws, err = drawsFrom(*from, *rename, p.Names()); err != nil {
			return err
		}
		if *by != "" {
			if s.MadeBy, err = madeBy(*by); err != nil {
				return err
			}
		}
	} else if m.set("made-by") || m.set("rename") {
		return errors.New("-made-by and -rename belong to -from")
	}
	for _, method := range methods {
		if *by != "" && !m.set("method") && !m.stepped() && !m.set("step") {
			break // the solver that made the draws is the only candidate
		}
		m.method = method
		setups, err := m.ladder(p.Setup)
		if err != nil {
			return err
		}
		s.Candidates = append(s.Candidates, setups...)
	}
	for i := range s.Candidates {
		s.Candidates[i].Alpha = 0
	}
	show := display("assessment")
	at := ""
	s.Progress = func(done, total int, doing string) {
		at, _, _ = strings.Cut(doing, ": ") // the rest is rates and counts
		if !*quiet {
			show(done, total, doing)
		}
	}
	a, failed := assess.Run(ctx, p, s)
	show(1, 1, "") // removes the line
	if errors.Is(failed, context.Canceled) && at != "" {
		failed = stopped("stopped (" + at + ")")
	}
	if a == nil {
		return failed
	}
	words := found.beside(out)
	if s.Draws != nil {
		if err := sayModel(ctx, words, p, &s); err != nil {
			return err
		}
	}
	if *verbose {
		fmt.Fprint(words, a)
	} else {
		fmt.Fprint(words, a.Answer())
		if n := len(a.Warnings()); n > 0 {
			fmt.Fprintf(words, "Warnings: %d; -v shows them.\n", n)
		}
	}
	if failed != nil {
		fmt.Fprintln(words, "warning: stopped early; these are the results so far")
	}
	if err := found.write(out, a.WriteJSON); err != nil {
		return err
	}
	if *figure == "" {
		return failed
	}
	body, err := plots.AssessmentHTML(a, m.title())
	if err != nil {
		return err
	}
	body = page("Does the solver's error matter? "+m.title(), body)
	numbers := tableOf(*figure)
	if err := (outFile{"out", numbers}).write(out, a.WriteCSV); err != nil {
		return err
	}
	if err := (outFile{"out", *figure}).write(out, func(w io.Writer) error { _, err := io.WriteString(w, body); return err }); err != nil {
		return err
	}
	fmt.Fprintf(words, "\n%s and %s written\n", text.Printable(*figure), text.Printable(numbers))
	return failed
}

// methodList splits the value of -method into names. A name such as ek1,2 contains a
// comma, after which a setting follows that is no method of its own.
func methodList(list string) (all []string) {
	for _, one := range strings.Split(list, ",") {
		if _, err := catalog.Parse(one); err != nil && all != nil {
			all[len(all)-1] += "," + one
			continue
		}
		all = append(all, one)
	}
	return all
}

func parseBudget(text string) (draws int, within time.Duration, err error) {
	if text == "" {
		return 0, 0, nil
	}
	for _, one := range strings.Split(text, ",") {
		one = strings.TrimSpace(one)
		n, notNumber := strconv.Atoi(one)
		d, notTime := time.ParseDuration(one)
		switch {
		case notNumber == nil && n > 0 && n <= maxDraws && draws == 0:
			draws = n
		case notNumber != nil && notTime == nil && d > 0 && within == 0:
			within = d
		default:
			return 0, 0, fmt.Errorf("-budget %s: %q: want a number of draws (1 to %d), a time such as 10m, or both", text, one, maxDraws)
		}
	}
	return draws, within, nil
}

// sayModel says whether the draws that were given are draws of the same model.
func sayModel(ctx context.Context, out io.Writer, p *bayes.Posterior, s *assess.Settings) error {
	for _, note := range s.Draws.Notes {
		if warning, ok := strings.CutPrefix(note, "warning: "); ok {
			fmt.Fprintf(out, "warning: %s\n", warning)
		}
	}
	if !slices.Contains(s.Draws.Quantities, "lp__") {
		return nil
	}
	by := s.MadeBy
	if by.Equal(probode.Setup{}) {
		by = catalog.Default()
	}
	same, err := assess.CompareDensities(ctx, p, s.Draws, by, 0)
	if err == nil {
		_, err = fmt.Fprintf(out, "lp__: %v.\n", same)
	}
	return err
}

package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"

	"github.com/probode/probode/pkg/internal/atomicfile"
	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/bayes"
	"github.com/probode/probode/pkg/probode/bayes/assess"
)

const certifyHelp = `Bounds what the error of an ODE solver does to a posterior, without sampling:
the difference D of what two solvers expect of the data, in units of the errors of
observation, and by how much each parameter moves, in posterior standard
deviations. Below ½ no parameter moves by more than D, to first order (by √2 D
with an unknown noise scale). It does not speak of widths, nor of modes that it
was not shown; assess does.

  go run ./pkg/probode/cmd/probode certify -case lynx-hare -method am1 -steps 0.5,0.25,0.125
  go run ./pkg/probode/cmd/probode certify -case lynx-hare -method dp5 -rtol 1e-3,1e-4,1e-5
  go run ./pkg/probode/cmd/probode certify -case lynx-hare -method radau5 -rtol 1e-3 -enough

With -enough the largest step size, or with -rtol or -atol the largest tolerance,
is searched for with which every shift stays below the threshold, at the modes and
at draws around them.

` + modelHelp + `
The flags:

`

// certifyVerb bounds the effect of the solver's error.
func certifyVerb(ctx context.Context, args []string, out io.Writer) error {
	flags := flag.NewFlagSet("certify", flag.ContinueOnError)
	m := newModel(flags)
	m.withSteps = true
	ladder := flags.String("steps", "", "`list` of step sizes; none: -step, or that of the case, and its half, quarter and eighth")
	rtol := flags.String("rtol", "", "`list` of relative tolerances: the steps come from error control, again for all parameters")
	atol := flags.String("atol", "", "`list` of absolute tolerances, one for each of -rtol, or one for all; none: a thousandth of -rtol of the largest size of a component")
	threshold := flags.Float64("threshold", 0.1, "shift in posterior standard deviations that does not matter")
	finest := flags.Float64("reference", 1e-10, "relative `tolerance` of the accurate solution")
	enough := flags.Bool("enough", false, "search for the largest step size or tolerance that is enough")
	strict := flags.Bool("strict", false, "with -enough: have D below the threshold, not only the shifts")
	file := flags.String("json", "", "`file` for the numbers, for programs: docs/json.md")
	if err := parse(flags, args, certifyHelp, out); err != nil {
		return err
	}
	switch {
	case flags.NArg() > 0:
		return fmt.Errorf("certify: %q is not a flag: see probode certify -help", clip(flags.Arg(0)))
	case !(*threshold > 0 && *threshold < 1):
		return fmt.Errorf("-threshold %g: want a number between 0 and 1", *threshold)
	case !(*finest >= 1e-13 && *finest < 1e-2):
		return fmt.Errorf("-reference %g: want a number from 1e-13 to 0.01", *finest)
	case *ladder != "" && (*rtol != "" || *atol != ""):
		return errors.New("-steps and -rtol or -atol: want only one of equal steps and error control")
	case *strict && !*enough:
		return errors.New("-strict has no meaning without -enough")
	}
	if err := checkJSON(*file, m.data); err != nil {
		return err
	}
	p, err := m.build()
	if err != nil {
		return err
	}
	solvers, err := certifySolvers(p, *ladder, *rtol, *atol)
	if err != nil {
		return err
	}
	s := assess.CertifySettings{Reference: &assess.Solver{Accurate: true, Tolerance: probode.Tolerance{Relative: *finest}}, Seed: m.seed}
	all := assess.Certificates{Model: m.title(), Threshold: *threshold}
	for _, coarse := range solvers {
		s.Coarse = coarse
		c, err := assess.Certify(ctx, p, s)
		if err != nil {
			return err
		}
		all.All = append(all.All, c)
	}
	if *enough {
		s.Coarse = solvers[0]
		all.Enough, err = assess.LargestEnough(ctx, p, assess.EnoughSettings{CertifySettings: s, Threshold: *threshold, Strict: *strict})
		if err != nil {
			return err
		}
	}
	fmt.Fprintf(out, "%v on %s\n\n%s", p.Method, m.title(), all)
	if *file == "" {
		return nil
	}
	if err := atomicfile.Write(*file, all.WriteJSON); err != nil {
		return fmt.Errorf("-json: %w", err)
	}
	return nil
}

// certifySolvers are the settings that the flags list.
func certifySolvers(p *bayes.Posterior, ladder, rtol, atol string) ([]assess.Solver, error) {
	var out []assess.Solver
	if rtol == "" && atol == "" {
		steps, err := parseSteps(ladder)
		if err != nil {
			return nil, err
		}
		if steps == nil {
			if p.StepSize == 0 {
				return nil, errors.New("-steps or -rtol: want a list of step sizes or of tolerances, such as 1,0.5,0.25")
			}
			steps = []float64{p.StepSize, p.StepSize / 2, p.StepSize / 4, p.StepSize / 8}
		}
		for _, h := range steps {
			out = append(out, assess.Solver{StepSize: h})
		}
		return out, nil
	}
	read := func(name, text string) ([]float64, error) {
		if text == "" {
			return nil, nil
		}
		all, err := numbers(text)
		for _, v := range all {
			if !(v >= 1e-16 && v < 1) && name == "rtol" || !(v > 0) {
				err = fmt.Errorf("%g: want numbers > 0, of -rtol from 1e-16 to 1", v)
			}
		}
		if err != nil {
			return nil, fmt.Errorf("-%s %s: %w", name, clip(text), err)
		}
		return all, nil
	}
	rel, err := read("rtol", rtol)
	if err != nil {
		return nil, err
	}
	abs, err := read("atol", atol)
	if err != nil {
		return nil, err
	}
	if rel != nil && len(abs) > 1 && len(abs) != len(rel) {
		return nil, fmt.Errorf("-atol %s: %d numbers for %d of -rtol: want one for each, or one for all", clip(atol), len(abs), len(rel))
	}
	for i := range max(len(rel), len(abs)) {
		var t probode.Tolerance
		if rel != nil {
			t.Relative = rel[i]
		}
		if abs != nil {
			t.Absolute = []float64{abs[min(i, len(abs)-1)]}
		}
		out = append(out, assess.Solver{Tolerance: t})
	}
	return out, nil
}

// checkJSON tells before the work what is in the way of the file of -json.
func checkJSON(path, other string) error {
	if path == "" {
		return nil
	}
	if other != "" && (path == other || sameFile(path, other)) {
		return fmt.Errorf("-json %s: another flag names the same file: want another name", path)
	}
	return canWrite("json", path)
}

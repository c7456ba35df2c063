package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/probode/probode/pkg/internal/text"
	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/methods"
	modelfile "github.com/probode/probode/pkg/probode/model"
)

const likelihoodHelp = `Computes the log-likelihood of the data of a model, with all constants and without
priors. Densities are those of the measurements themselves, also if the noise is on a
logarithmic scale.

  probode likelihood -model model.yaml
  probode likelihood -model problem.yaml -at k1=0.3,k2=12 -gradient -json a.json
  probode likelihood -model problem.yaml -rtol 1e-3 -method bdf -max-step inf
  probode likelihood -model problem.yaml -method am0 -step 0.25
  probode likelihood -model model.yaml -petab folder

The file is a model file, or the YAML file of a problem of PEtab. Without -rtol the
log-likelihood is accurate to 1e-7, and its error is shown. -gradient adds the
derivatives for the estimated parameters, for their linear values and for their
values on parameterScale.

The flags:

`

// likelihood writes the log-likelihood of a model's data.
func likelihood(ctx context.Context, args []string, out io.Writer) error {
	flags := flag.NewFlagSet("likelihood", flag.ContinueOnError)
	name := flags.String("model", "", "`file` of the model, YAML: a model file or a problem of PEtab")
	at := flags.String("at", "nominal", "linear values of parameters, as `name=value,…`; the others have their nominal values")
	rtol := flags.Float64("rtol", 0, "relative `tolerance` of the solver; 0: as small as an error of 1e-7 requires")
	atol := flags.Float64("atol", 0, "absolute `tolerance`; 0: see probode solve -help")
	longest := flags.Float64("max-step", 0, "longest `step`, inf for no bound; 0: 1/128 of the span if the equations depend on time, otherwise no bound")
	step := flags.Float64("step", 0, "equal `steps` of at most this size between the times of the data, instead of error control")
	method := flags.String("method", "radau5", "`method`: "+methods.Help)
	gradient := flags.Bool("gradient", false, "the gradient, too")
	file := flags.String("json", "", "`file` for the results as JSON: see docs/json.md; - means standard output")
	folder := flags.String("petab", "", "new `folder` for the problem as PEtab, with a table of simulations")
	if err := parse(flags, args, likelihoodHelp, out); err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("likelihood: %q is not a flag: see probode likelihood -help", text.Clip(flags.Arg(0)))
	}
	to := outFile{"json", *file}
	if *folder != "" {
		if *at != "nominal" {
			return errors.New("-petab and -at: want one of them: the folder has the nominal parameters, and the simulations would belong to others")
		}
		if _, err := os.Lstat(*folder); err == nil {
			return fmt.Errorf("-petab %s: it exists already: want the name of a new folder", text.Clip(*folder))
		}
	}
	if err := checkOutputs(to, outFile{"petab", *folder}); err != nil {
		return err
	}
	p, err := loadModel(*name, to)
	if err != nil {
		return err
	}
	theta, err := valuesAt(p, *at)
	if err != nil {
		return err
	}
	set := modelfile.LikelihoodSettings{Tolerance: probode.Tolerance{Relative: *rtol}, MaxStep: *longest, StepSize: *step}
	switch {
	case given(flags, "rtol") && !(*rtol >= 1e-15 && *rtol < 1):
		return fmt.Errorf("-rtol %g: want a number in [1e-15, 1)", *rtol)
	case !(*longest >= 0):
		return fmt.Errorf("-max-step %g: want a number ≥ 0, or inf", *longest)
	case given(flags, "step") && !(*step > 0 && *step <= math.MaxFloat64):
		return fmt.Errorf("-step %g: want a finite number > 0", *step)
	case given(flags, "step") && (given(flags, "rtol") || given(flags, "atol") || given(flags, "max-step")):
		return errors.New("-step and -rtol, -atol or -max-step: want only one of equal steps and error control")
	case given(flags, "atol") && !(*atol > 0 && *atol <= math.MaxFloat64):
		return fmt.Errorf("-atol %g: want a finite number > 0", *atol)
	case given(flags, "atol"):
		set.Tolerance.Absolute = []float64{*atol}
	}
	if set.Method, err = methods.Parse(*method); err != nil {
		return fmt.Errorf("-method: %w", err)
	}
	show := display("experiments")
	set.Progress = func(done, total int) { show(done, total, "") }
	l, err := p.LogLikelihood(set)
	if err != nil {
		return err
	}
	v, err := l.At(ctx, theta, *gradient)
	show(1, 1, "") // removes the line
	if err != nil {
		return err
	}
	if err := to.write(out, func(w io.Writer) error {
		e := json.NewEncoder(w)
		e.SetIndent("", "  ")
		return e.Encode(likelihoodJSON(p, l, theta, v))
	}); err != nil {
		return err
	}
	if *folder != "" {
		if err := export(*folder, p, v); err != nil {
			return fmt.Errorf("-petab: %w", err)
		}
	}
	writeLikelihood(to.beside(out), l, v, set)
	return nil
}

// export writes the problem as PEtab, with the simulations of v, completely or not at all.
func export(dir string, p *modelfile.File, v *modelfile.Evaluation) error {
	dir = filepath.Clean(dir)
	tmp, err := os.MkdirTemp(filepath.Dir(dir), filepath.Base(dir)+".*.tmp")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp) // has no effect after success
	if _, err = p.WritePEtab(tmp); err != nil {
		return err
	}
	if err = p.WriteSimulations(tmp, v); err != nil {
		return err
	}
	if err = os.Chmod(tmp, 0o755); err != nil {
		return err
	}
	return os.Rename(tmp, dir)
}

// writeLikelihood writes the tables for the terminal.
func writeLikelihood(out io.Writer, l *modelfile.LogLikelihood, v *modelfile.Evaluation, set modelfile.LikelihoodSettings) {
	fmt.Fprintf(out, "log-likelihood %.10f", v.LogLikelihood)
	switch {
	case set.StepSize > 0:
		fmt.Fprintf(out, ", at h ≤ %g", set.StepSize)
	case math.IsNaN(v.Error):
		fmt.Fprintf(out, ", at %v", v.Instances[0].Tolerance)
	case v.Error <= 1e-7:
		fmt.Fprintf(out, ", right to %.1g", max(v.Error, 1e-10))
	default:
		fmt.Fprintf(out, ": accurate to %.2g only, smaller tolerances do not improve it", v.Error)
	}
	fmt.Fprint(out, "\n\n")
	rows := [][]string{{"condition", "observable", "points", "log-likelihood"}}
	for _, e := range v.Instances {
		condition := text.Clip(conditionName(e.Condition, e.Preequilibration))
		for _, o := range e.Observables {
			rows = append(rows, []string{condition, text.Clip(o.Observable), strconv.Itoa(o.Points), fmt.Sprintf("%.10g", o.LogLikelihood)})
		}
	}
	fmt.Fprint(out, text.Table(rows, func(c int) bool { return c < 2 }))
	if v.Gradient == nil {
		return
	}
	rows = [][]string{{"gradient for", "linear", "on its scale", "scale"}}
	for i, q := range l.Estimated() {
		rows = append(rows, []string{text.Clip(q.ID), fmt.Sprintf("%.10g", v.Gradient[i]), fmt.Sprintf("%.10g", v.ScaleGradient[i]), string(q.Scale)})
	}
	fmt.Fprintf(out, "\n%s", text.Table(rows, text.First))
}

func conditionName(condition, pre string) string {
	if pre != "" {
		return condition + " after " + pre
	}
	if condition == "" {
		return "-"
	}
	return condition
}

// loadModel reads the file of -model and writes its warnings. It refuses outputs that are
// files of the model.
func loadModel(name string, outputs ...outFile) (*modelfile.File, error) {
	if name == "" {
		return nil, errors.New("-model: want the file of a model")
	}
	p, err := modelfile.Load(name)
	if err != nil {
		if folder := filepath.Dir(name); folder != "." {
			return nil, fmt.Errorf("-model in %s: %w", text.Clip(folder), err) // the error does not repeat it
		}
		return nil, fmt.Errorf("-model: %w", err)
	}
	if err := spare(outputs, p.Files...); err != nil {
		return nil, err
	}
	for i, w := range p.Warnings {
		if i == 5 {
			fmt.Fprintf(os.Stderr, "warning: and %d more\n", len(p.Warnings)-i)
			break
		}
		fmt.Fprintln(os.Stderr, "warning:", text.Printable(w))
	}
	return p, nil
}

// valuesAt reads -at: the values of all parameters, linear.
func valuesAt(p *modelfile.File, at string) ([]float64, error) {
	theta, index := make([]float64, len(p.Params)), map[string]int{}
	for i, q := range p.Params {
		theta[i], index[q.ID] = q.Nominal, i
	}
	if strings.TrimSpace(at) == "nominal" {
		return theta, nil
	}
	seen := map[int]bool{}
	for _, one := range list(at) {
		name, value, ok := strings.Cut(one, "=")
		if !ok {
			return nil, fmt.Errorf("-at %s: want nominal, or name=value", text.Clip(one))
		}
		i, known := index[strings.TrimSpace(name)]
		v, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
		switch {
		case !known:
			return nil, fmt.Errorf("-at %s: the model has no such parameter: want one of %s", text.Clip(one), some(p.Params))
		case err != nil || v-v != 0:
			return nil, fmt.Errorf("-at %s: want a finite number", text.Clip(one))
		case seen[i]:
			return nil, fmt.Errorf("-at %s: given twice", text.Clip(one))
		}
		theta[i], seen[i] = v, true
	}
	if len(seen) == 0 {
		return nil, errors.New("-at: want nominal, or name=value,…")
	}
	return theta, nil
}

// some lists parameters, the estimated ones first, as many as fit on a line.
func some(params []modelfile.Parameter) string {
	var names []string
	for _, estimated := range []bool{true, false} {
		for _, q := range params {
			if q.Estimate == estimated {
				names = append(names, text.Clip(q.ID))
			}
		}
	}
	const most = 12
	if len(names) > most {
		names = append(names[:most], fmt.Sprintf("… (%d)", len(names)))
	}
	return strings.Join(names, ", ")
}

package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"strconv"

	"github.com/probode/probode/pkg/internal/jsonfile"
	"github.com/probode/probode/pkg/internal/text"
	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/catalog"
	modelfile "github.com/probode/probode/pkg/probode/model"
)

var likelihoodHelp = manual{
	short: `Computes the log-likelihood of the data of a model, with all constants and without priors.

  probode likelihood model.yaml
  probode likelihood problem.yaml -at k1=0.3,k2=12 -gradient -json a.json
  probode likelihood problem.yaml -method am0 -step 0.25
  probode likelihood Benchmark-Models
`,
	flags: []string{"model", "data", "at", "gradient", "json", "rtol", "method", "step"},
	long: `Densities are those of the measurements themselves, even if the noise is on a
logarithmic scale. Without -rtol the log-likelihood is accurate to 1e-7, and its error is
shown. -gradient adds the derivatives with respect to the estimated parameters, both for
their values on the linear scale and for their values on parameterScale.

For a folder of folders with PEtab problems, a table shows for each problem the
log-likelihood at the nominal parameters, or the reason why it is refused. A problem may
take a minute.
`}

func likelihood(ctx context.Context, args []string, out io.Writer) error {
	flags := flag.NewFlagSet("likelihood", flag.ContinueOnError)
	var m modelFile
	m.define(flags)
	at := flags.String("at", "nominal", "`values` of parameters on the linear scale, as name=value,…; the other parameters have their nominal values")
	how := solving{flags: flags}
	flags.StringVar(&how.rtol, "rtol", "", "relative `tolerance` of the solver; default: chosen so that the error of the log-likelihood is at most 1e-7")
	flags.StringVar(&how.atol, "atol", "", "absolute `tolerance`; default: see probode solve -help-all")
	flags.Float64Var(&how.step, "step", 0, "`size` of equal steps between observation times; without -step, error control chooses the steps")
	flags.StringVar(&how.method, "method", "auto", "`method` of the solver; "+catalog.Help)
	gradient := flags.Bool("gradient", false, "print the gradient, too")
	file := flags.String("json", "", "`file` for the results as JSON; \"-\" is standard output; see docs/json.md")
	if err := parseModel(flags, args, likelihoodHelp, out); err != nil {
		return err
	}
	to := outFile{"json", *file}
	if err := checkOutputs(to); err != nil {
		return err
	}
	if all, err := problemsBelow(m.file); err != nil {
		return err
	} else if all != nil {
		if err := needs(flags, "for a folder of problems", "at", "gradient", "json", "data", "rtol", "atol", "step", "method"); err != nil {
			return err
		}
		return problemTable(ctx, all, m.outside, out)
	}
	m.outputs = []outFile{to}
	p, err := m.load()
	if err != nil {
		return err
	}
	theta, err := valuesAt(p, *at)
	if err != nil {
		return err
	}
	set, err := likelihoodSettings(&how)
	if err != nil {
		return err
	}
	set.Progress = counted("experiments")
	l, err := p.LogLikelihood(set)
	if err != nil {
		return err
	}
	v, err := l.At(ctx, theta, *gradient)
	set.Progress(1, 1) // removes the line
	if err != nil {
		return err
	}
	if err := to.write(out, likelihoodJSON(p, l, theta, v).Write); err != nil {
		return err
	}
	writeLikelihood(to.beside(out), l, v, set)
	return nil
}

func likelihoodSettings(how *solving) (set modelfile.LikelihoodSettings, err error) {
	setups, err := how.setups(probode.Setup{Mesh: probode.Through(0)})
	if err != nil {
		return set, err
	}
	if len(setups) > 1 {
		return set, errors.New("-rtol and -atol: want one number each")
	}
	set.Method, set.StepSize = setups[0].Method, setups[0].StepSize()
	if mesh, controlled := setups[0].Mesh.(probode.Adaptive); controlled {
		set.Tolerance = mesh.Tolerance
	}
	return set, nil
}

func likelihoodJSON(p *modelfile.File, l *modelfile.LogLikelihood, theta []float64, v *modelfile.Evaluation) jsonfile.Object {
	names := func(params []modelfile.Parameter) (names []string) {
		for _, q := range params {
			names = append(names, q.ID)
		}
		return names
	}
	var gradient, scaled any // null without -gradient
	if v.Gradient != nil {
		gradient, scaled = jsonfile.Named(names(l.Estimated()), v.Gradient), jsonfile.Named(names(l.Estimated()), v.ScaleGradient)
	}
	conditions := jsonfile.List(len(v.Instances), func(i int) jsonfile.Object {
		e := v.Instances[i]
		return jsonfile.Object{"model", e.Model, "condition", e.Condition, "preequilibration", jsonfile.OrNull(e.Preequilibration),
			"log_likelihood", e.LogLikelihood, "rtol", jsonfile.OrNull(e.Tolerance.Relative), "simulated", e.Simulated,
			"observables", jsonfile.List(len(e.Observables), func(k int) jsonfile.Object {
				o := e.Observables[k]
				return jsonfile.Object{"observable", o.Observable, "points", o.Points, "log_likelihood", o.LogLikelihood}
			})}
	})
	return jsonfile.Object{"format", "probode likelihood", "version", 1, "log_likelihood", v.LogLikelihood, "error", v.Error,
		"parameters", jsonfile.Named(names(p.Params), theta), "gradient", gradient, "gradient_on_scale", scaled, "conditions", conditions}
}

func writeLikelihood(out io.Writer, l *modelfile.LogLikelihood, v *modelfile.Evaluation, set modelfile.LikelihoodSettings) {
	fmt.Fprintf(out, "log-likelihood %.10f", v.LogLikelihood)
	switch {
	case set.StepSize > 0:
		fmt.Fprintf(out, ", at h ≤ %g", set.StepSize)
	case math.IsNaN(v.Error):
		fmt.Fprintf(out, ", at %v", v.Instances[0].Tolerance)
	case v.Error <= 1e-7:
		fmt.Fprintf(out, ", right to %.1g", max(v.Error, 1e-10))
		if l.Timed() {
			fmt.Fprint(out, " if f has no pulse shorter than 1/1000 of the time span")
		}
	default:
		fmt.Fprintf(out, ", with an error of about %.2g, even at the smallest tolerance that works", v.Error)
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

package main

import (
	"cmp"
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/probode/probode/pkg/internal/jsonfile"
	"github.com/probode/probode/pkg/internal/text"
	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/calibrate"
	"github.com/probode/probode/pkg/probode/catalog"
	"github.com/probode/probode/pkg/probode/problems"
	"github.com/probode/probode/pkg/probode/reference"
	"github.com/probode/probode/pkg/viz"
)

var solveHelp = manual{
	short: `Solves a problem or a model, and writes a table with a row for each time, or draws it.

  probode solve model.yaml -condition control -times 1,10,60
  probode solve model.xml -at k1=0.3 -span 0,10
  probode solve -problem rober -method radau5 -rtol 1e-6 -atol 1e-9 -times 1e11
  probode solve -problem fhn -method am1 -step 0.1 -paths 500 -out fhn.svg
`,
	flags: []string{"model", "problem", "condition", "at", "times", "method", "step", "rtol", "paths", "out"},
	long: `The table has a column for each component of the classical solution and, for a model, for
each observable or, without observables, each assignment. A model can also be an SBML
file. With -paths there are also the mean, the standard deviation and three
quantiles of an ensemble of probabilistic paths.

The default is -method auto with -rtol 1e-6. With -step or -paths it is am1, or radau5
for a model.

The grid has equal steps (-step), or comes from a run with error control (-rtol,
-atol). If a model depends on time, no step of such a run is longer than 1/128 of
the time span, as for the command likelihood. Times that are not on a grid of equal steps are added to it. -method
reference gives an accurate solution, whose global error is at most
atol + rtol·|x|.

Methods: ` + catalog.Help + `, or reference.

`}

func solve(ctx context.Context, args []string, out io.Writer) error {
	flags := flag.NewFlagSet("solve", flag.ContinueOnError)
	s := solution{}
	s.modelFile.define(flags)
	flags.StringVar(&s.problem, "problem", "", "built-in `problem`; one of "+strings.Join(problems.Names(), ", "))
	flags.StringVar(&s.condition, "condition", "", "`ID` of the condition; default: the first condition in the data or, without data, the first condition in the model")
	s.solving = solving{flags: flags, frozen: true}
	flags.StringVar(&s.method, "method", "am1", "`method` of the solver; see above; default: auto, or with -step or -paths am1")
	flags.Float64Var(&s.step, "step", 0, "`size` of the steps")
	flags.StringVar(&s.rtol, "rtol", "", "relative `tolerance`")
	flags.StringVar(&s.atol, "atol", "", "absolute `tolerance`; one number for all components, or a list with one number for each component; default: rtol/1000 times the largest absolute value of each component")
	flags.StringVar(&s.times, "times", "", "`list` of times for the rows of the table; default: the points of the grid")
	flags.StringVar(&s.theta, "at", "", "`values` of parameters, as name=value,…; the other parameters have their nominal values")
	flags.StringVar(&s.span, "span", "", "`from,to`; another time span")
	flags.IntVar(&s.paths, "paths", 0, "`number` of paths in the ensemble; 0 means no ensemble")
	flags.StringVar(&s.alpha, "alpha", "auto", "noise scale of the paths: a `number`, or auto to calibrate it")
	flags.Uint64Var(&s.seed, "seed", 1, "seed of all random `numbers`")
	file := flags.String("out", "", "`file` for a table (.csv, .txt) or figure (.html, .svg, .png); default: the table on standard output")
	machine := flags.String("json", "", "`file` for the table as JSON; \"-\" is standard output; see docs/json.md; with -json, the text table is written only if -out is set")
	if err := parseModel(flags, args, solveHelp, out); err != nil {
		return err
	}
	if filepath.Ext(*file) != "" {
		if err := checkEnding("out", *file, ".csv", ".txt", ".html", ".png", ".svg"); err != nil {
			return err
		}
	}
	s.outputs = []outFile{{"json", *machine}, {"out", *file}}
	if *machine == "" && *file == "" {
		s.outputs[1].path = "-"
	}
	if err := checkOutputs(s.outputs...); err != nil {
		return err
	}
	if s.paths == 0 {
		if err := needs(flags, "without -paths", "alpha"); err != nil {
			return err
		}
	}
	switch {
	case s.set("method"):
	case s.paths == 0 && !s.set("step"):
		s.method, s.free = "auto", true
	case s.file != "":
		s.method = "radau5"
	}
	header, rows, err := s.table(watch(ctx, false))
	if err != nil {
		return err
	}
	if err := s.outputs[0].write(out, func(w io.Writer) error { return s.writeJSON(w, header, rows) }); err != nil {
		return err
	}
	return s.outputs[1].write(out, func(w io.Writer) error {
		switch filepath.Ext(*file) {
		case ".html", ".png", ".svg":
			return draw(w, *file, s.figure(header, rows))
		}
		lines := [][]string{header}
		for _, row := range rows {
			lines = append(lines, cells(nil, row...))
		}
		return csv.NewWriter(w).WriteAll(lines)
	})
}

// figure has a panel for each component and observable, with the mean of the paths and the
// interval between their 5 and 95 % quantiles, which have columns after those of all
// components.
func (s *solution) figure(header []string, rows [][]float64) viz.Figure {
	column := func(k int) (y []float64) {
		for _, row := range rows {
			y = append(y, row[k])
		}
		return y
	}
	f := viz.Figure{Title: cmp.Or(s.problem, text.Clip(filepath.Base(s.file)))}
	if s.condition != "" {
		f.Title += ", " + text.Clip(s.condition)
	}
	t := column(0)
	for k, name := range header[1:] {
		p := viz.Panel{X: viz.Axis{Label: "t"}, Y: viz.Axis{Label: name}}
		switch m := 1 + s.shown + 5*k; {
		case s.paths > 0 && k < s.shown:
			p.Layers = []viz.Layer{
				viz.Band{Name: "90 % of the paths", X: t, Lo: column(m + 2), Hi: column(m + 4), Color: viz.Palette[5], Opacity: 0.5},
				viz.Line{Name: "mean of the paths", X: t, Y: column(m), Color: viz.Blue, Dash: viz.Dashed},
			}
		case s.paths > 0 && k < 6*s.shown:
			continue
		}
		p.Layers = append(p.Layers, viz.Line{Name: "classical solution", X: t, Y: column(k + 1), Color: viz.Vermillion})
		f.Panels = append(f.Panels, p)
	}
	return atMostPanels(f)
}

type solution struct {
	solving
	modelFile
	problem, condition string
	times, theta, span string
	paths              int
	alpha              string
	seed               uint64
	free               bool // neither a method nor a step is given

	warnings []string                    // about -model
	shown    int                         // the number of components in the table; a model may have more
	observed []string                    // of -model
	replaces func(parameter string) bool // likewise
	observe  func(dst []float64, t float64, x, theta []float64)
}

func (s *solution) table(ctx context.Context) (header []string, rows [][]float64, err error) {
	p, err := s.problemOf()
	if err != nil {
		return nil, nil, err
	}
	header, rows, err = s.states(ctx, p)
	header = append(header, s.observed...)
	for i, row := range rows {
		if s.observe != nil {
			y := make([]float64, len(s.observed))
			s.observe(y, row[0], row[1:1+p.Dim()], p.Theta)
			rows[i] = append(row, y...)
		}
	}
	if hidden := p.Dim() - s.shown; hidden > 0 && err == nil {
		cut := func(at, n int) {
			header = slices.Delete(header, at, at+n)
			for i := range rows {
				rows[i] = slices.Delete(rows[i], at, at+n)
			}
		}
		if d := p.Dim(); s.paths > 0 {
			cut(1+d+5*s.shown, 5*hidden)
		}
		cut(1+s.shown, hidden)
	}
	return header, rows, err
}

func (s *solution) states(ctx context.Context, p *probode.Problem) (header []string, rows [][]float64, err error) {
	times, err := s.timesOf(p)
	if err != nil {
		return nil, nil, err
	}
	if late := s.afterEnd(p); late != "" {
		fmt.Fprintf(os.Stderr, "warning: the solution ends at t = %g, before %s: set a different end with -span\n", p.Span[1], late)
	}
	if s.paths < 0 {
		return nil, nil, fmt.Errorf("-paths %d: want a number ≥ 0", s.paths)
	}
	header = []string{"t"}
	for k := range p.Dim() {
		header = append(header, p.StateName(k))
	}
	if s.method == "reference" {
		rows, err = s.accurate(ctx, p, times)
		return header, rows, err
	}
	sorted := slices.Compact(slices.Sorted(slices.Values(times)))
	setup, err := s.setup(p, sorted)
	if err != nil {
		return nil, nil, err
	}
	if s.paths == 0 && (p.Hybrid != nil || slices.ContainsFunc(p.Events, func(e probode.Event) bool { return e.Trigger != nil })) {
		rows, err = located(ctx, p, setup, times)
		return header, rows, err
	}
	settings := probode.Settings{Seed: s.seed, Mesh: setup.Mesh, Scaling: setup.Scaling, Times: sorted}
	n := s.paths
	if n == 0 {
		n = 1 // which is not shown
	} else if err = s.noisy(ctx, p, setup.Method, &settings); err != nil {
		return nil, nil, err
	} else {
		settings.Quantiles = []float64{0.05, 0.5, 0.95}
	}
	e, err := probode.Integrate(ctx, p, setup.Method, n, settings)
	if err != nil {
		return nil, nil, err
	}
	if e.Failed > 0 {
		fmt.Fprintf(os.Stderr, "warning: %d of %d paths could not be computed and are not included; the first error: %v\n", e.Failed, n, e.Failure)
	}
	columns := [][][]float64{e.Deterministic}
	if s.paths > 0 {
		for k := range p.Dim() {
			for _, what := range []string{"mean", "sd", "q05", "q50", "q95"} {
				header = append(header, p.StateName(k)+"_"+what)
			}
		}
		columns = append(columns, e.Mean, e.SD, e.Quantile[0], e.Quantile[1], e.Quantile[2])
	}
	row := func(i int) []float64 {
		out := []float64{e.T[i]}
		for k := range p.Dim() {
			out = append(out, columns[0][k][i])
		}
		if s.paths > 0 {
			for k := range p.Dim() {
				for _, c := range columns[1:] {
					out = append(out, c[k][i])
				}
			}
		}
		return out
	}
	if times == nil { // a time at which the state jumps has a row before the jump and one after it
		for i := range e.T {
			rows = append(rows, row(i))
		}
	}
	for _, t := range times {
		i, _ := slices.BinarySearch(sorted, t)
		r := row(i)
		r[0] = t // the requested time, not the grid point, which may differ by rounding
		rows = append(rows, r)
	}
	return header, rows, nil
}

func (s *solution) problemOf() (*probode.Problem, error) {
	p, err := s.named()
	if err != nil {
		return nil, err
	}
	names := paramNames(p)
	if err := assignments("at", s.theta, names, strings.Join(names, ", "), func(i int, v float64) {
		if p.Theta[i] = v; s.replaces != nil && s.replaces(names[i]) {
			fmt.Fprintf(os.Stderr, "warning: -at %s: the condition sets this parameter, so the value has no effect\n", names[i])
		}
	}); err != nil {
		return nil, err
	}
	if s.span != "" {
		ends, err := numbers(s.span)
		const most = 1e300 // so that arithmetic with times remains finite
		if err != nil || len(ends) != 2 || !(-most <= ends[0] && ends[0] < ends[1] && ends[1] <= most) {
			return nil, fmt.Errorf("-span %s: want from,to with from < to, both between -1e300 and 1e300", text.Clip(s.span))
		}
		if s.file != "" && ends[0] != p.Span[0] {
			return nil, fmt.Errorf("-span %s: the model starts at %g: want %[2]g,to with to > %[2]g", text.Clip(s.span), p.Span[0])
		}
		p.Span = [2]float64{ends[0], ends[1]}
	}
	return p, nil
}

func (s *solution) named() (*probode.Problem, error) {
	switch {
	case s.file != "" && s.problem != "":
		return nil, errors.New("-problem and -model: give only one of them")
	case s.file == "" && s.problem == "":
		return nil, errors.New("want a model file, or the name of a built-in problem with -problem")
	case s.problem != "":
		if err := needs(s.flags, "with -problem", "condition", "data", "outside"); err != nil {
			return nil, err
		}
		p, err := problems.Named(s.problem)
		if err != nil {
			return nil, fmt.Errorf("-problem: %w", err)
		}
		s.shown = p.Dim()
		return p, nil
	}
	m, err := s.load()
	if err != nil {
		return nil, err
	}
	s.warnings = m.Warnings
	e, err := experimentOf(m, s.condition)
	if err != nil {
		return nil, err
	}
	s.shown, s.replaces = e.Shown(), e.Replaces
	if s.observed, s.observe, err = m.Observables(e); err != nil {
		return nil, fmt.Errorf("-model: %w", err)
	}
	p, err := m.ODE(e)
	if err != nil {
		return nil, fmt.Errorf("-model: %w", err)
	}
	return p, nil
}

func (s *solution) timesOf(p *probode.Problem) ([]float64, error) {
	if s.times == "" {
		return nil, nil
	}
	times, err := numbers(s.times)
	if err != nil {
		return nil, fmt.Errorf("-times %s: %w", text.Clip(s.times), err)
	}
	for _, t := range times {
		if !(t >= p.Span[0] && t <= p.Span[1]) {
			return nil, fmt.Errorf("-times: %g is outside the span [%g, %g]: use -span to set a different span", t, p.Span[0], p.Span[1])
		}
	}
	return times, nil
}

// setup uses a grid with all the times if one of them is not on that of equal steps.
func (s *solution) setup(p *probode.Problem, times []float64) (setup probode.Setup, err error) {
	base := probode.Setup{Mesh: probode.Uniform(0)}
	if s.file != "" || s.free {
		base.Mesh = probode.Frozen{Tolerance: probode.Tolerance{Relative: 1e-6}}
	}
	s.components = p.Dim()
	all, err := s.setups(base)
	if err != nil {
		return setup, err
	}
	setup = all[0]
	if f, ok := setup.Mesh.(probode.Frozen); ok && s.file != "" && !p.Autonomous {
		f.Max = (p.Span[1] - p.Span[0]) / 128 // as in probode.Adaptive
		setup.Mesh = f
	}
	h, equal := setup.Mesh.(probode.Uniform)
	if !equal {
		return setup, nil
	}
	if h == 0 {
		return setup, errors.New("no step size or tolerance given: set -step or -rtol")
	}
	g, err := probode.UniformGrid(p, nil, s.step)
	if err == nil {
		if _, err = g.Index(times); err == nil {
			setup.Mesh = probode.Fixed{Grid: g}
			return setup, nil
		}
	}
	if times != nil {
		g, err = probode.Setup{Mesh: probode.Through(s.step)}.Grid(context.Background(), p, nil, times)
		setup.Mesh = probode.Fixed{Grid: g}
	}
	if err != nil {
		return setup, fmt.Errorf("-step: %w", err)
	}
	return setup, nil
}

func (s *solution) noisy(ctx context.Context, p *probode.Problem, m probode.Method, to *probode.Settings) error {
	alpha, is, err := noiseScale(s.alpha)
	switch {
	case err == nil && !is && s.alpha != "auto":
		return fmt.Errorf("-alpha %s: want a number ≥ 0, or auto", text.Clip(s.alpha))
	case err != nil || is:
		to.Alpha = alpha
		return err
	}
	if g, err := (probode.Setup{Method: m, Mesh: to.Mesh, Scaling: probode.ScaleLocal}).Grid(ctx, p, nil, to.Times); err == nil {
		to.Mesh = probode.Fixed{Grid: g}
	}
	cal, err := calibrate.Run(ctx, p, m, calibrate.Settings{Mesh: to.Mesh, Scaling: to.Scaling, Seed: s.seed})
	if err != nil {
		return fmt.Errorf("-alpha auto: %w", err)
	}
	for _, w := range cal.Warnings {
		fmt.Fprintln(os.Stderr, "warning: -alpha auto:", w)
	}
	*to = cal.Settings(*to)
	return nil
}

func (s *solution) accurate(ctx context.Context, p *probode.Problem, times []float64) ([][]float64, error) {
	switch {
	case s.set("step"):
		return nil, errors.New("-step has no meaning with -method reference: use -rtol and -atol")
	case s.paths != 0:
		return nil, errors.New("-paths has no meaning with -method reference, which has no noise")
	}
	s.components = p.Dim()
	tol := probode.Tolerance{Relative: 1e-10}
	if s.set("rtol") || s.set("atol") {
		all, err := s.tolerances()
		if err != nil {
			return nil, err
		}
		tol = all[0]
	}
	return rowsAt(p, times, func(sorted []float64) ([]float64, error) {
		x, err := reference.Solve(ctx, p, sorted, reference.Settings{Tolerance: tol, Global: true})
		if err != nil {
			return nil, err
		}
		return x.X, nil
	})
}

// located is for problems in which the state triggers events or jumps.
func located(ctx context.Context, p *probode.Problem, setup probode.Setup, times []float64) ([][]float64, error) {
	if f, ok := setup.Mesh.(probode.Frozen); ok {
		setup.Mesh = probode.Adaptive(f)
	}
	return rowsAt(p, times, func(sorted []float64) ([]float64, error) {
		path, err := setup.Bind(ctx, p, nil, sorted)
		if err != nil {
			return nil, err
		}
		x := make([]float64, len(sorted)*p.Dim())
		return x, path.States(ctx, x, p.Theta, nil)
	})
}

// rowsAt returns a row for each time, by default 201 over the span.
func rowsAt(p *probode.Problem, times []float64, solve func(sorted []float64) ([]float64, error)) ([][]float64, error) {
	if times == nil {
		const points = 200
		for i := range points + 1 {
			times = append(times, min(p.Span[1], p.Span[0]+(p.Span[1]-p.Span[0])*float64(i)/points))
		}
	}
	sorted := slices.Compact(slices.Sorted(slices.Values(times)))
	x, err := solve(sorted)
	if err != nil {
		return nil, err
	}
	d := p.Dim()
	var rows [][]float64
	for _, t := range times {
		i, _ := slices.BinarySearch(sorted, t)
		rows = append(rows, append([]float64{t}, x[i*d:(i+1)*d]...))
	}
	return rows, nil
}

// afterEnd describes events after the end of the span: the first and the number. Without
// -span it omits those of warnings about the model, which name only the first repetition.
func (s *solution) afterEnd(p *probode.Problem) string {
	first, name, n := math.Inf(1), "", 0
	for k := range p.Events {
		e := &p.Events[k]
		at := e.Time
		if e.When != nil {
			at = e.When(p.Theta)
		}
		if e.Jump == nil || !(at > p.Span[1]) || math.IsInf(at, 1) || s.span == "" && (s.warned(e.Name) || s.warned(repeated.ReplaceAllString(e.Name, "_1"))) {
			continue
		}
		if n++; at < first {
			first, name = at, e.Name
		}
	}
	switch n {
	case 0:
		return ""
	case 1:
		return fmt.Sprintf("%s at t = %g", name, first)
	}
	return fmt.Sprintf("%s at t = %g, the first of %d events", name, first, n)
}

var repeated = regexp.MustCompile(`_[0-9]+$`)

func (s *solution) warned(event string) bool {
	return slices.ContainsFunc(s.warnings, func(w string) bool { return strings.Contains(w, event+" happens at") })
}

func paramNames(p *probode.Problem) []string {
	var names []string
	for k := range p.Theta {
		names = append(names, p.ParamName(k))
	}
	return names
}

// writeJSON writes null for a number that is not finite, such as the sd of a single path.
func (s *solution) writeJSON(w io.Writer, header []string, rows [][]float64) error {
	table := make([][]*float64, len(rows))
	for i, row := range rows {
		for _, v := range row {
			cell := &v
			if math.IsNaN(v) || math.IsInf(v, 0) {
				cell = nil
			}
			table[i] = append(table[i], cell)
		}
	}
	return json.NewEncoder(w).Encode(jsonfile.Object{"format", "probode solve", "version", 1,
		"problem", s.problem, "method", s.method, "columns", header, "rows", table})
}

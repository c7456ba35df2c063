package playground

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/bayes/certify"
	"github.com/probode/probode/pkg/probode/model"
	"github.com/probode/probode/pkg/probode/reference"
)

//go:embed lynx.yaml
var lynx string

// modelFigure is the figure of a model that the reader writes: its solution beside the
// data, a fit, and a certificate that says whether the error of the solver matters.
type modelFigure struct {
	knobs
	written  string      // the text that was read
	file     *model.File // the last one without mistakes
	theta    []float64   // the values of its parameters
	problems []Problem

	work   *task
	shown  *solution    // the last one, which may belong to earlier values
	frame  []Axis       // the vertical axes of shown.observables
	failed error        // why the equations could not be solved
	found  []string     // what a fit or a certificate has found
	doing  string       // what the task does, in words; empty for a solve
	ended  atomic.Int64 // searches of a fit that have ended
	extra  map[string]float64
}

// A fit starts from the values of the sliders and from this number of randomly drawn
// points.
const drawn = 9

// threshold is the largest shift, in standard deviations, that does not matter, as in the
// command certify.
const threshold = 0.1

func newModel() Figure { return ready(&modelFigure{}) }

func (f *modelFigure) Controls() []Control { return f.knobs }
func (f *modelFigure) Close()              { f.work.stop() }

// The name of the slider of a parameter begins with this prefix.
const parameter = "p."

// Set reads the text again if it has changed. Then it begins a fit or a certificate if
// the button for it is pressed, and a solution otherwise.
func (f *modelFigure) Set(values map[string]any) error {
	written := f.written
	if f.file == nil {
		written = lynx
	}
	if v, ok := values["text"].(string); ok {
		written = v
	}
	kept, file, problems := f.values(), f.file, f.problems
	if written != f.written || file == nil {
		if read, err := model.Parse(modelName, []byte(written)); err != nil {
			problems = []Problem{problem(written, err)}
		} else {
			file, problems = read, nil
		}
	}
	fresh := file != f.file
	if fresh {
		delete(kept, "h") // the span may be another one
	}
	next := f.controls(written, file, values, kept)
	if err := next.fill(values, kept); err != nil {
		return err
	}
	if next.on("nominal") {
		for name := range kept {
			if strings.HasPrefix(name, parameter) {
				delete(kept, name)
			}
		}
		next = f.controls(written, file, nil, kept)
		_ = next.fill(nil, kept) // these values were allowed before
	}
	f.work.stop()
	fit, certificate := next.on("fit"), next.on("certify")
	next.named("fit").Value, next.named("certify").Value = false, false
	f.knobs, f.written, f.file, f.problems = next, written, file, problems
	f.doing, f.found, f.failed, f.extra = "", nil, nil, map[string]float64{}
	f.ended.Store(0)
	if file == nil {
		f.work = nil
		return nil
	}
	f.theta = nil
	for i := range file.Params {
		f.theta = append(f.theta, f.number(parameter+file.Params[i].ID))
	}
	if fresh {
		f.shown, f.frame = nil, nil
	}
	f.work = newTask(func(ctx context.Context) error {
		if err := f.solve(ctx); err != nil {
			return err
		}
		switch {
		case fit:
			f.doing = "Searches for the largest likelihood are running."
			return f.fit(ctx)
		case certificate:
			f.doing = "Searching for the modes of the posterior, at which the solver is compared with an accurate one."
			return f.certify(ctx)
		}
		return nil
	})
	return nil
}

const modelName = "model.yaml"

var (
	place  = regexp.MustCompile(`^([^:]*):(?:(\d+):)? (?:YAML: line (\d+): )?(.*)$`)
	column = regexp.MustCompile(`^(\w+): column (\d+): `)
)

// problem says where in the text a mistake is.
func problem(text string, err error) Problem {
	m := place.FindStringSubmatch(err.Error())
	if m == nil {
		return Problem{Text: err.Error()}
	}
	lines := strings.Split(text, "\n")
	if m[1] != modelName { // a file of data, which the page does not have
		line := slices.IndexFunc(lines, func(s string) bool { return strings.HasPrefix(s, "data:") }) + 1
		return Problem{Line: line, Text: err.Error()}
	}
	line, _ := strconv.Atoi(m[2] + m[3])
	p := Problem{Line: line, Text: m[4]}
	if c := column.FindStringSubmatch(m[4]); c != nil && line > 0 && line <= len(lines) {
		// The column is counted from the start of the formula.
		key := c[1] + ":"
		if at := strings.Index(lines[line-1], key); at >= 0 {
			rest := lines[line-1][at+len(key):]
			n, _ := strconv.Atoi(c[2])
			p.Column = at + len(key) + len(rest) - len(strings.TrimLeft(rest, " \"'")) + n
		}
	}
	return p
}

// controls returns the knobs of a file, which may be nil. The ranges of the sliders of
// parameters contain the values that are to be set.
func (f *modelFigure) controls(text string, file *model.File, given, kept map[string]any) knobs {
	k := knobs{{Name: "text", Label: "model and data", Kind: "text", Step: 24, Value: text}}
	span := 1.0
	if file != nil {
		for i := range file.Params {
			q := &file.Params[i]
			c := parameterSlider(q)
			for _, v := range []any{kept[c.Name], given[c.Name]} {
				if v, ok := v.(float64); ok && math.IsNaN(q.Lower+q.Upper) && v-v == 0 && (v > 0 || c.Kind != "log") {
					c.Min, c.Max = min(c.Min, v), max(c.Max, v)
				}
			}
			k = append(k, c)
		}
		if problems, err := file.ODEs(); err == nil {
			span = problems[0].Span[1] - problems[0].Span[0]
		}
	}
	return append(k,
		choice("method", "method", "rk4", plain(methodNames...)...),
		choice("steps", "steps", "step", plain("step", "tolerance")...),
		slider("h", "step size h", "log", rounded(span/2000), rounded(span/4), 0, rounded(span/80)),
		slider("rtol", "relative tolerance", "log", 1e-10, 0.1, 0, 1e-3),
		button("fit", "fit"), button("certify", "does my solver's error matter?"), button("nominal", "nominal values"))
}

// The function rounded returns v rounded to two significant digits.
func rounded(v float64) float64 {
	r, _ := strconv.ParseFloat(strconv.FormatFloat(v, 'g', 2, 64), 64)
	return r
}

// parameterSlider returns a slider over the bounds of a parameter, or over 99 % of its
// prior. If it has neither, the slider covers a range around the nominal value.
func parameterSlider(q *model.Parameter) Control {
	low, high := q.Lower, q.Upper
	if d, err := q.Distribution(); err == nil && q.Prior.Type != "" {
		low, high = max(d.Quantile(0), d.Quantile(0.005)), min(d.Quantile(1), d.Quantile(0.995))
	}
	at := q.Nominal
	if !(low < high) || high-low > math.MaxFloat64 {
		low, high = at-2*math.Abs(at), at+2*math.Abs(at)
		if at > 0 {
			low, high = at/5, at*5
		} else if at == 0 || at != at {
			low, high = -1, 1
		}
	}
	kind := "range"
	if low > 0 && (q.Scale != model.Lin || high > 20*low) {
		kind = "log"
	}
	if at != at {
		at = (low + high) / 2
		if kind == "log" {
			at = math.Sqrt(low * high)
		}
	}
	return slider(parameter+q.ID, q.ID, kind, min(low, at), max(high, at), 0, at)
}

// setup returns the Setup that the knobs select.
func (f *modelFigure) setup() probode.Setup {
	s := probode.Setup{Method: methodNamed(f.text("method")), Mesh: probode.Uniform(f.number("h"))}
	if f.text("steps") == "tolerance" {
		s.Mesh = probode.Adaptive{Tolerance: probode.Tolerance{Relative: f.number("rtol")}}
	}
	return s
}

// solve solves the equations with the method and the parameters that the knobs select.
func (f *modelFigure) solve(ctx context.Context) error {
	s, err := newSolution(ctx, f.file, f.setup(), f.theta)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if f.failed = err; err != nil {
		if f.shown != nil {
			f.shown.forget()
		}
		return nil
	}
	if f.shown = s; f.frame == nil {
		f.frame = s.axes()
	}
	s.likelihood(ctx, f.file, f.setup(), f.theta) // takes longer
	return ctx.Err()
}

// fit searches for the largest likelihood from the present values and from nine random
// starts, and moves the sliders to the best point.
func (f *modelFigure) fit(ctx context.Context) error {
	ends, err := f.file.Fit(ctx, model.FitSettings{Starts: drawn, From: [][]float64{f.theta}, Seed: 1, Workers: 1,
		Progress: func(done, _ int) { f.ended.Store(int64(done)) }})
	if err != nil {
		return err
	}
	best := &ends[0]
	if best.Err != nil {
		return fmt.Errorf("no search succeeded: %w", best.Err)
	}
	f.found = f.fitted(ends)
	f.extra["fit.loglikelihood"] = best.LogLikelihood
	for i := range f.file.Params {
		c, v := f.named(parameter+f.file.Params[i].ID), best.Theta[i]
		c.Min, c.Max, c.Value = min(c.Min, v), max(c.Max, v), v
	}
	f.theta = best.Theta
	return f.solve(ctx)
}

// The method fitted describes the results of the searches of a fit.
func (f *modelFigure) fitted(ends []model.Optimum) []string {
	best := &ends[0]
	same, elsewhere, failed := 0, 0, 0
	next := math.Inf(-1)
	for _, e := range ends {
		switch {
		case e.Err != nil:
			failed++
		case e.LogLikelihood > best.LogLikelihood-0.01:
			same++
			if f.apart(best.Theta, e.Theta) {
				elsewhere++
			}
		default:
			next = max(next, e.LogLikelihood)
		}
	}
	said := fmt.Sprintf("Fit: the largest log-likelihood found is %.6g; %d of %d searches ended there.", best.LogLikelihood, same, len(ends))
	switch {
	case !best.Converged:
		said += " It is not an optimum: " + best.Reason + "."
	case same == 1:
		said += " A single search cannot show that there is no better fit."
	}
	if elsewhere > 0 {
		said += fmt.Sprintf(" %d of these ended at other values of the parameters, which fit the data equally well.", elsewhere)
	}
	if !math.IsInf(next, -1) {
		said += fmt.Sprintf(" The best of the others ended at %.6g.", next)
	}
	if failed > 0 {
		said += fmt.Sprintf(" %d failed.", failed)
	}
	list := []string{said}
	for i, q := range f.file.Params {
		near := 1e-6 * (q.Upper - q.Lower) // NaN if there is no bound
		if v := best.Theta[i]; q.Estimate && (v-q.Lower < near || q.Upper-v < near) {
			list = append(list, fmt.Sprintf("%s lies on its bound %.6g.", q.ID, v))
		}
	}
	return list
}

// apart reports whether two points differ by more than a hundredth of the range of a
// slider.
func (f *modelFigure) apart(a, b []float64) bool {
	for i, q := range f.file.Params {
		c := f.named(parameter + q.ID)
		if math.Abs(a[i]-b[i]) > 0.01*(c.Max-c.Min) {
			return true
		}
	}
	return false
}

// certify computes the certificate that the command certify gives for the method and
// the step or tolerance that the knobs select.
func (f *modelFigure) certify(ctx context.Context) error {
	p, err := f.file.Posterior()
	if err != nil {
		return err
	}
	setup := f.setup()
	p.Setup, p.GridAt = setup, nil
	all, err := certify.Each(ctx, p, []probode.Setup{setup}, certify.Settings{Seed: 1,
		Reference: probode.Setup{Mesh: reference.Accurate{Tolerance: probode.Tolerance{Relative: 1e-10}}}})
	if err != nil {
		return err
	}
	f.found = strings.Split(strings.TrimSpace(all[0].Answer(threshold)), "\n")
	if len(all[0].Modes) > 0 {
		m := &all[0].Modes[all[0].Worst(threshold)]
		f.extra["certificate.D"], f.extra["certificate.bound"] = m.D, m.Bound
	}
	return nil
}

func (f *modelFigure) Advance(budget time.Duration) View {
	v := View{Done: f.work.advance(budget), Problems: f.problems, Numbers: map[string]float64{}, Progress: 1}
	maps.Copy(v.Numbers, f.extra)
	if f.file == nil {
		v.Says = []string{"The model has a mistake."}
		return v
	}
	if f.problems != nil {
		v.Says = []string{"The text has a mistake; the figure still shows the last model without one."}
	}
	switch {
	case f.work != nil && v.Done && f.work.err != nil:
		v.Says = append(v.Says, "This is not possible: "+f.work.err.Error()+".")
	case !v.Done:
		v.Progress = float64(f.ended.Load()) / (drawn + 1)
		if f.doing != "" {
			v.Says = append(v.Says, f.doing)
		}
	}
	if f.failed != nil {
		v.Says = append(v.Says, "The equations cannot be solved for these values: "+f.failed.Error()+".")
	}
	v.Says = append(v.Says, f.found...)
	if f.shown != nil {
		if f.shown.says != "" {
			v.Says = append(v.Says, f.shown.says)
		}
		v.Charts = f.shown.charts(f.frame)
		maps.Copy(v.Numbers, f.shown.numbers)
		if f.failed == nil {
			v.Files = append(v.Files, File{solutionName, "text/csv"})
		}
	}
	v.Says = append(v.Says, f.file.Warnings...)
	v.Files = append(v.Files, File{modelName, "application/yaml"}, File{notebookName, "application/x-ipynb+json"})
	return v
}

func (f *modelFigure) File(name string) ([]byte, error) {
	switch {
	case name == modelName:
		return []byte(f.written), nil
	case name == solutionName && f.shown != nil && f.failed == nil:
		return f.shown.csv(), nil
	case name == notebookName && f.file != nil:
		return f.notebook(), nil
	}
	return nil, errors.New(strconv.Quote(name) + " is not one of the files that can be downloaded now")
}

package playground

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/bayes/certify"
	"github.com/probode/probode/pkg/probode/model"
	"github.com/probode/probode/pkg/probode/reference"
)

//go:embed lynx.yaml
var lynx string

type modelFigure struct {
	*Figure
	written  string      // the last text without mistakes
	file     *model.File // read from it
	problems []Problem   // of the current text
	theta    []float64   // the values of the parameters

	curves     []curve      // which may belong to earlier values
	frame      []Axis       // the vertical axes of curves
	unsolved   error        // why the equations could not be solved
	likelihood string       // for these curves, in words
	doing      string       // what the task does, in words; empty for a solve
	ended      atomic.Int64 // searches of a fit that have ended
	found      []string     // what a fit or a certificate has found
	numbers    map[string]float64
}

// A fit runs a search from the sliders, and `drawn` from random points.
const drawn = 9

// threshold is the default of the command certify.
const threshold = 0.1

const modelName = "model.yaml"

func newModel(f *Figure) content { return &modelFigure{Figure: f} }

// controls has the names of the command certify.
func (f *modelFigure) controls(text string) knobs {
	file := f.file
	if file == nil || text != f.written {
		read, err := model.Parse(modelName, []byte(text))
		if err != nil {
			return nil
		}
		file = read
	}
	k := knobs{{Name: "text", Label: "model and data", Kind: "text", Step: 24, Value: text}}
	for i := range file.Params {
		k = append(k, parameterSlider(&file.Params[i]))
	}
	span := 1.0
	if problems, err := file.ODEs(); err == nil {
		span = problems[0].Span[1] - problems[0].Span[0]
	}
	return append(k,
		choice("method", "method", "rk4", plain("ab1", "am0", "am1", "rk4", "dp5", "radau3", "radau5", "bdf")...),
		choice("steps", "steps", "step", plain("step", "tolerance")...),
		slider("h", "step size h", "log", rounded(span/2000), rounded(span/4), 0, rounded(span/80)),
		slider("rtol", "relative tolerance", "log", 1e-10, 0.1, 0, 1e-3),
		button("fit", "fit"), button("certify", "does my solver's error matter?"), button("nominal", "nominal values"))
}

// compute fits or certifies if the button was pressed.
func (f *modelFigure) compute(ctx context.Context) error {
	f.doing, f.found, f.problems, f.theta, f.numbers = "", nil, nil, nil, map[string]float64{}
	f.ended.Store(0)
	if text := f.text("text"); text != f.value {
		_, err := model.Parse(modelName, []byte(text))
		f.problems = []Problem{problem(text, err)}
	}
	if f.written != f.value {
		file, err := model.Parse(modelName, []byte(f.value))
		if err != nil {
			return err
		}
		f.written, f.file, f.curves, f.frame, f.unsolved = f.value, file, nil, nil, nil
	}
	for _, q := range f.file.Params {
		c := f.named(parameter + q.ID)
		if f.pressed == "nominal" {
			c.Value = c.usual
		}
		f.theta = append(f.theta, c.Value.(float64))
	}
	if err := f.solve(ctx); err != nil {
		return err
	}
	switch f.pressed {
	case "fit":
		f.doing = "Searches for the largest likelihood are running."
		return f.fit(ctx)
	case "certify":
		f.doing = "The program is searching for the modes of the posterior. At each mode, it then compares the selected solver with the reference."
		return f.certify(ctx)
	}
	return nil
}

var (
	place  = regexp.MustCompile(`^([^:]*):(?:(\d+):)? (?:YAML: )?(.*)$`)
	column = regexp.MustCompile(`^(\w+): column (\d+): `)
)

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
	line, _ := strconv.Atoi(m[2])
	p := Problem{Line: line, Text: m[3]}
	if c := column.FindStringSubmatch(m[3]); c != nil && line > 0 && line <= len(lines) {
		// In the error message, columns are counted from the start of the formula.
		key := c[1] + ":"
		if at := strings.Index(lines[line-1], key); at >= 0 {
			rest := lines[line-1][at+len(key):]
			n, _ := strconv.Atoi(c[2])
			p.Column = at + len(key) + len(rest) - len(strings.TrimLeft(rest, " \"'")) + n
		}
	}
	return p
}

func rounded(v float64) float64 {
	r, _ := strconv.ParseFloat(strconv.FormatFloat(v, 'g', 2, 64), 64)
	return r
}

// parameterSlider covers the central 99 % of the prior, the range between the bounds, or
// a range around the nominal value.
func parameterSlider(q *model.Parameter) knob {
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
	c := slider(parameter+q.ID, q.ID, kind, min(low, at), max(high, at), 0, at)
	c.open = math.IsNaN(q.Lower + q.Upper)
	return c
}

func (f *modelFigure) setup() probode.Setup {
	s := probode.Setup{Method: f.method(), Mesh: probode.Uniform(f.number("h"))}
	if f.text("steps") == "tolerance" {
		s.Mesh = probode.Adaptive{Tolerance: probode.Tolerance{Relative: f.number("rtol")}}
	}
	return s
}

// fit moves the sliders to the best point.
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
	f.numbers["fit.loglikelihood"] = best.LogLikelihood
	for i, v := range best.Theta {
		c := f.named(parameter + f.file.Params[i].ID)
		c.open = true // the optimum may lie outside of 99 % of the prior
		_ = c.take(v) // which is finite
	}
	f.theta = best.Theta
	return f.solve(ctx)
}

func (f *modelFigure) fitted(ends []model.Optimum) []string {
	best, next := &ends[0], math.Inf(-1)
	same, elsewhere, failed := 0, 0, 0
	for _, e := range ends {
		switch {
		case e.Err != nil:
			failed++
		case e.LogLikelihood > best.LogLikelihood-0.01:
			same++
			for i, q := range f.file.Params {
				if q.Distinct(best.Theta[i], e.Theta[i]) {
					elsewhere++
					break
				}
			}
		default:
			next = max(next, e.LogLikelihood)
		}
	}
	said := fmt.Sprintf("Fit: the largest log-likelihood found is %.6g; %d of the %d searches reached this value.", best.LogLikelihood, same, len(ends))
	add := func(is bool, format string, values ...any) {
		if is {
			said += " " + fmt.Sprintf(format, values...)
		}
	}
	add(!best.Converged, "It is not an optimum: %s.", best.Reason)
	add(best.Converged && same == 1, "Because only one search reached this value, a better fit may exist.")
	add(elsewhere > 0, "%d of the searches ended at other parameter values that fit the data equally well.", elsewhere)
	add(!math.IsInf(next, -1), "The largest log-likelihood found by the other searches is %.6g.", next)
	add(failed > 0, "%d failed.", failed)
	list := []string{said}
	for i, q := range f.file.Params {
		near := 1e-6 * (q.Upper - q.Lower) // NaN if there is no bound
		if v := best.Theta[i]; q.Estimate && (v-q.Lower < near || q.Upper-v < near) {
			list = append(list, fmt.Sprintf("%s lies on its bound %.6g.", q.ID, v))
		}
	}
	return list
}

// certify computes what the command certify does.
func (f *modelFigure) certify(ctx context.Context) error {
	p, err := f.file.Posterior()
	if err != nil {
		return err
	}
	p.Setup, p.GridAt = f.setup(), nil
	all, err := certify.Each(ctx, p, []probode.Setup{p.Setup}, certify.Settings{Seed: 1,
		Reference: probode.Setup{Mesh: reference.Accurate{Tolerance: probode.Tolerance{Relative: 1e-10}}}})
	if err != nil {
		return err
	}
	c := all[0]
	f.found = strings.Split(strings.TrimSpace(c.Answer(threshold)), "\n")
	if len(c.Modes) > 0 {
		m := &c.Modes[c.Worst(threshold)]
		f.numbers["certificate.D"], f.numbers["certificate.bound"] = m.D, m.Bound
	}
	return nil
}

func (f *modelFigure) show(v *View) {
	v.Problems = f.problems
	maps.Copy(v.Numbers, f.numbers)
	if f.problems != nil {
		v.say("The text of the model contains a mistake; the figure still shows the last valid model.")
	}
	if !v.Done {
		v.Progress = float64(f.ended.Load()) / (drawn + 1)
		if f.doing != "" {
			v.say("%s", f.doing)
		}
	}
	switch {
	case f.unsolved != nil:
		v.say("The equations cannot be solved for these values: %v.", f.unsolved)
	case f.curves != nil:
		v.Files = append(v.Files, File{"solution.csv", "text/csv", f.table})
	}
	v.Says = append(v.Says, f.found...)
	if f.unsolved == nil && f.likelihood != "" {
		v.say("%s", f.likelihood)
	}
	f.draw(v)
	v.Says = append(v.Says, f.file.Warnings...)
	v.Files = append(v.Files, File{modelName, "application/yaml", func() []byte { return []byte(f.text("text")) }},
		File{"model.ipynb", "application/x-ipynb+json", f.notebook})
}

//go:embed model.ipynb
var notebookForm string

func (f *modelFigure) notebook() []byte {
	mesh := fmt.Sprintf("probode.Uniform(%v)", f.number("h"))
	if f.text("steps") == "tolerance" {
		mesh = fmt.Sprintf("probode.Adaptive{Tolerance: probode.Tolerance{Relative: %v}}", f.number("rtol"))
	}
	written := "`" + f.written + "`"
	if strings.Contains(f.written, "`") {
		written = fmt.Sprintf("%q", f.written)
	}
	var fields []string
	for _, field := range [][2]string{{"name", f.file.Name}, {"written", written}, {"here", fmt.Sprintf("%#v", f.theta)},
		{"method", f.text("method")}, {"mesh", mesh}, {"threshold", fmt.Sprint(threshold)}} {
		text, _ := json.Marshal(field[1]) // cannot fail
		fields = append(fields, "{{"+field[0]+"}}", string(text[1:len(text)-1]))
	}
	return []byte(strings.NewReplacer(fields...).Replace(notebookForm))
}

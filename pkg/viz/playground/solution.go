package playground

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/model"
	"github.com/probode/probode/pkg/probode/reference"
)

// A solution holds the observables of a model, computed with a solver and accurately,
// together with the data.
type solution struct {
	curves  []curve // one for each condition and observable
	says    string  // about the likelihood
	partial bool    // the solver has failed
	numbers map[string]float64
}

// A curve is an observable under a condition.
type curve struct {
	observable, condition string
	t, solver, exact      []float64 // nil if it failed
	data                  points
}

// newSolution solves the equations of all conditions. If only the selected solver
// fails, newSolution returns the accurate solution, with the reason why the other is
// missing.
func newSolution(ctx context.Context, file *model.File, setup probode.Setup, theta []float64) (*solution, error) {
	list, err := file.Instances()
	if err != nil {
		return nil, err
	}
	s := &solution{numbers: map[string]float64{}}
	var failed error
	for _, e := range list {
		p, err := file.ODE(e)
		if err != nil {
			return nil, err
		}
		names, observe, err := file.Observables(e)
		if err != nil {
			return nil, err
		}
		if len(names) == 0 { // nothing is observed
			names = p.States
			observe = func(dst []float64, _ float64, x, _ []float64) { copy(dst, x) }
		}
		const between = 200
		times := make([]float64, between+1)
		for i := range times {
			times[i] = p.Span[0] + (p.Span[1]-p.Span[0])*float64(i)/between
		}
		exact, err := observed(ctx, probode.Setup{Mesh: reference.Accurate{Tolerance: probode.Tolerance{Relative: 1e-8}}}, p, times, theta, len(names), observe)
		if err != nil {
			return nil, err
		}
		solver, err := observed(ctx, setup, p, times, theta, len(names), observe)
		if err != nil && failed == nil {
			failed = err
		}
		for k, name := range names {
			c := curve{observable: name, condition: e.Condition, t: times, exact: exact[k]}
			if solver != nil {
				c.solver = solver[k]
			}
			for _, m := range file.Models {
				for _, d := range m.Data {
					if d.Observable == name && d.Condition == e.Condition && d.Time-d.Time == 0 {
						c.data = append(c.data, [2]float64{d.Time, d.Value})
					}
				}
			}
			s.curves = append(s.curves, c)
		}
	}
	if s.partial = failed != nil; s.partial {
		s.says = "This solver fails, so only the accurate solution is shown: " + failed.Error() + "."
	}
	return s, nil
}

// The function observed returns the observables by number and time.
func observed(ctx context.Context, s probode.Setup, p *probode.Problem, times, theta []float64, n int, observe func(dst []float64, t float64, x, theta []float64)) ([][]float64, error) {
	path, err := s.Bind(ctx, p, theta, times)
	if err != nil {
		return nil, err
	}
	d := p.Dim()
	states := make([]float64, len(times)*d)
	if err := path.States(ctx, states, theta, nil); err != nil {
		return nil, err
	}
	out, row := make([][]float64, n), make([]float64, n)
	for i, t := range times {
		observe(row, t, states[i*d:(i+1)*d], theta)
		for k, v := range row {
			out[k] = append(out[k], v)
		}
	}
	return out, nil
}

// likelihood says what the log-likelihood is, both with the solver and with an accurate
// one.
func (s *solution) likelihood(ctx context.Context, file *model.File, setup probode.Setup, theta []float64) {
	if s.partial {
		return
	}
	if _, n := file.Size(); n == 0 {
		s.says = "The model has no data, so there is no likelihood."
		return
	}
	by := model.LikelihoodSettings{Method: setup.Method, StepSize: setup.StepSize()}
	if m, ok := setup.Mesh.(probode.Adaptive); ok {
		by.Tolerance = m.Tolerance
	}
	exact, list, err := file.Losses(ctx, theta, []model.LikelihoodSettings{by})
	if err == nil {
		err = list[0].Err
	}
	switch {
	case err != nil:
		s.says = "There is no log-likelihood: " + err.Error() + "."
	case math.IsInf(list[0].LogLikelihood+exact.LogLikelihood, 0):
		s.says = "There is no log-likelihood: the density of the data is so small that it is rounded to zero."
	default:
		loss := list[0]
		s.numbers["loglikelihood"], s.numbers["loglikelihood.accurate"] = loss.LogLikelihood, exact.LogLikelihood
		s.says = fmt.Sprintf("Log-likelihood %.6g with this solver, %.6g with an accurate one; the difference is %.2g.", loss.LogLikelihood, exact.LogLikelihood, loss.Loss)
	}
}

// forget keeps only the data.
func (s *solution) forget() {
	for i := range s.curves {
		s.curves[i].solver, s.curves[i].exact = nil, nil
	}
	s.says, s.numbers = "", nil
}

// observables returns the names of the observables, each once.
func (s *solution) observables() (names []string) {
	for _, c := range s.curves {
		if !slices.Contains(names, c.observable) {
			names = append(names, c.observable)
		}
	}
	return names
}

// axes returns a vertical axis for each observable. It covers the data or, if there are
// none, the accurate solution, and stays the same while parameters change.
func (s *solution) axes() (all []Axis) {
	for _, name := range s.observables() {
		low, high := math.Inf(1), math.Inf(-1)
		for _, c := range s.curves {
			values := c.exact
			if c.data != nil {
				values = nil
				for _, d := range c.data {
					values = append(values, d[1])
				}
			}
			for _, v := range values {
				if c.observable == name && v-v == 0 {
					low, high = min(low, v), max(high, v)
				}
			}
		}
		if !(low < high) { // constant, or not a number anywhere
			low, high = min(low, 0)-1, max(high, 0)+1
			if high-low > math.MaxFloat64 {
				low, high = -1, 1
			}
		}
		margin := (high - low) / 6
		if low >= 0 && low <= 2*margin {
			low = margin // the axis begins at 0
		}
		unit := tick(high + 2*margin - low)
		all = append(all, linear(name, unit*math.Floor((low-margin)/unit), unit*math.Ceil((high+margin)/unit)))
	}
	return all
}

// tick returns the largest number of the form 1, 2 or 5 times a power of ten that is at
// most a quarter of a length.
func tick(length float64) float64 {
	unit := decade(length/4, math.Floor)
	for _, k := range []float64{5, 2} {
		if k*unit <= length/4 {
			return k * unit
		}
	}
	return unit
}

// show draws a chart for each of the first observables. The argument frame holds the
// axes.
func (s *solution) show(v *View, frame []Axis) {
	const most = 6 // observables, and conditions of each
	if s.says != "" {
		v.say("%s", s.says)
	}
	maps.Copy(v.Numbers, s.numbers)
	for i, y := range frame[:min(most, len(frame))] {
		var series []Series
		t, n := linear("time", 0, 0), 0
		for _, c := range s.curves {
			if c.observable != y.Name || n == most {
				continue
			}
			t.Min, t.Max = c.t[0], max(t.Max, c.t[len(c.t)-1])
			label, colour := "", colours[n%len(colours)]
			if c.condition != "" {
				label = ", " + c.condition
			}
			if c.solver != nil {
				series = append(series, line("this solver"+label, colour, 3, joined(c.t, c.solver)))
			}
			if c.exact != nil {
				series = append(series, dashed(line("accurate"+label, ink, 1.2, joined(c.t, c.exact))))
			}
			if c.data != nil {
				series = append(series, dots("data"+label, colour, 7, c.data))
			}
			n++
		}
		v.draw(fmt.Sprintf("observable%d", i+1), y.Name, 300, t, y, series...)
	}
}

// csv returns the curves as a table.
func (s *solution) csv() []byte {
	b := []byte("condition,observable,time,solver,accurate\n")
	for _, c := range s.curves {
		for i, t := range c.t {
			by := math.NaN()
			if c.solver != nil {
				by = c.solver[i]
			}
			b = fmt.Appendf(b, "%s,%s,%v,%v,%v\n", c.condition, c.observable, t, by, c.exact[i])
		}
	}
	return b
}

//go:embed model.ipynb
var notebookForm string

// notebook returns a notebook that fits the model and certifies the solver that the
// knobs select.
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

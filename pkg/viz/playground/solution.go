package playground

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/model"
	"github.com/probode/probode/pkg/probode/reference"
)

type curve struct {
	observable, condition string
	t, solver, exact      []float64 // solver is nil if it failed
	data                  points
}

// solve does not return an error if the equations cannot be solved.
func (f *modelFigure) solve(ctx context.Context) error {
	curves, failure, err := f.solutions(ctx)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if f.unsolved = err; err != nil {
		return nil
	}
	f.curves, f.likelihood = curves, ""
	if f.frame == nil {
		f.frame = axesOf(curves)
	}
	if failure != nil {
		f.likelihood = "This solver fails, so only the reference is shown: " + failure.Error() + "."
		return nil
	}
	f.likelihood, err = f.compared(ctx) // takes longer
	if err != nil {
		f.likelihood = "There is no log-likelihood: " + err.Error() + "."
	}
	return ctx.Err()
}

// solutions has only the accurate one where the solver fails, and `failure` says why.
func (f *modelFigure) solutions(ctx context.Context) (curves []curve, failure, err error) {
	list, err := f.file.Instances()
	if err != nil {
		return nil, nil, err
	}
	for _, e := range list {
		p, err := f.file.ODE(e)
		if err != nil {
			return nil, nil, err
		}
		names, observe, err := f.file.Observables(e)
		if err != nil {
			return nil, nil, err
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
		// observed solves the problem with the setup s, and returns the values of each
		// observable over time.
		observed := func(s probode.Setup) ([][]float64, error) {
			path, err := s.Bind(ctx, p, f.theta, times)
			if err != nil {
				return nil, err
			}
			d := p.Dim()
			states := make([]float64, len(times)*d)
			if err := path.States(ctx, states, f.theta, nil); err != nil {
				return nil, err
			}
			out, row := make([][]float64, len(names)), make([]float64, len(names))
			for i, t := range times {
				observe(row, t, states[i*d:(i+1)*d], f.theta)
				for k, v := range row {
					out[k] = append(out[k], v)
				}
			}
			return out, nil
		}
		exact, err := observed(probode.Setup{Mesh: reference.Accurate{Tolerance: probode.Tolerance{Relative: 1e-8}}})
		if err != nil {
			return nil, nil, err
		}
		solver, err := observed(f.setup())
		if err != nil {
			solver, failure = make([][]float64, len(names)), cmp.Or(failure, err)
		}
		for k, name := range names {
			c := curve{observable: name, condition: e.Condition, t: times, solver: solver[k], exact: exact[k]}
			for _, m := range f.file.Models {
				for _, d := range m.Data {
					if d.Observable == name && d.Condition == e.Condition && d.Time-d.Time == 0 {
						c.data = append(c.data, [2]float64{d.Time, d.Value})
					}
				}
			}
			curves = append(curves, c)
		}
	}
	return curves, failure, nil
}

func (f *modelFigure) compared(ctx context.Context) (string, error) {
	if _, n := f.file.Size(); n == 0 {
		return "The model has no data, so there is no likelihood.", nil
	}
	setup := f.setup()
	by := model.LikelihoodSettings{Method: setup.Method, StepSize: setup.StepSize()}
	if m, ok := setup.Mesh.(probode.Adaptive); ok {
		by.Tolerance = m.Tolerance
	}
	exact, list, err := f.file.Losses(ctx, f.theta, []model.LikelihoodSettings{by})
	if err != nil {
		return "", err
	}
	loss := list[0]
	if loss.Err != nil {
		return "", loss.Err
	}
	if math.IsInf(loss.LogLikelihood+exact.LogLikelihood, 0) {
		return "", errors.New("the density of the data is so small that it is rounded to zero")
	}
	f.numbers["loglikelihood"], f.numbers["loglikelihood.accurate"] = loss.LogLikelihood, exact.LogLikelihood
	return fmt.Sprintf("The log-likelihood is %.6g with this solver and %.6g with the reference; the difference is %.2g.", loss.LogLikelihood, exact.LogLikelihood, loss.Loss), nil
}

// axesOf covers the data or, without any, the accurate solution, and stays while
// parameters change.
func axesOf(curves []curve) (all []Axis) {
	for _, first := range curves {
		if slices.ContainsFunc(all, func(a Axis) bool { return a.Name == first.observable }) {
			continue
		}
		low, high := math.Inf(1), math.Inf(-1)
		for _, c := range curves {
			values := c.data
			if values == nil {
				values = joined(c.t, c.exact)
			}
			for _, v := range values {
				if c.observable == first.observable && v[1]-v[1] == 0 {
					low, high = min(low, v[1]), max(high, v[1])
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
		all = append(all, linear(first.observable, unit*math.Floor((low-margin)/unit), unit*math.Ceil((high+margin)/unit)))
	}
	return all
}

// tick is the largest of 1, 2 or 5 times a power of ten that fits at least four times.
func tick(length float64) float64 {
	unit := decade(length/4, math.Floor)
	for _, k := range []float64{5, 2} {
		if k*unit <= length/4 {
			return k * unit
		}
	}
	return unit
}

// draw shows the first six observables, and only data if the equations cannot be solved.
func (f *modelFigure) draw(v *View) {
	const most = 6 // observables, and conditions of each
	for i, y := range f.frame[:min(most, len(f.frame))] {
		var series []Series
		t, n := linear("time", 0, 0), 0
		for _, c := range f.curves {
			if c.observable != y.Name || n == most {
				continue
			}
			t.Min, t.Max = c.t[0], max(t.Max, c.t[len(c.t)-1])
			label, colour := "", colours[n%len(colours)]
			if c.condition != "" {
				label = ", " + c.condition
			}
			if f.unsolved == nil && c.solver != nil {
				series = append(series, line("this solver"+label, colour, 3, joined(c.t, c.solver)))
			}
			if f.unsolved == nil {
				series = append(series, dashed(line("reference"+label, ink, 1.2, joined(c.t, c.exact))))
			}
			if c.data != nil {
				series = append(series, dots("data"+label, colour, 7, c.data))
			}
			n++
		}
		v.draw(fmt.Sprintf("observable%d", i+1), y.Name, 300, t, y, series...)
	}
}

func (f *modelFigure) table() []byte {
	b := []byte("condition,observable,time,solver,reference\n")
	for _, c := range f.curves {
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

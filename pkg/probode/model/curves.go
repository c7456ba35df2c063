package model

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/bayes"
)

// Curves returns the values that the model predicts at the observation times and between
// them, for each of the given points and for each experiment with data. A point holds the
// values of all parameters on the linear scale. In each bayes.Prediction, element Fit[i]
// contains the predictions for point i. The second result contains the data, with the
// same columns as the predictions.
func (p *File) Curves(ctx context.Context, points [][]float64, s FitSettings) ([]*bayes.Prediction, []*bayes.Data, error) {
	const between = 100
	if err := ctx.Err(); err != nil {
		return nil, nil, err // the preparation of a large model takes seconds
	}
	s.Starts, s.From = 0, points
	problem, err := p.newFit(s)
	if err != nil {
		return nil, nil, err
	}
	f, err := problem.search(ctx)
	if err != nil {
		return nil, nil, err
	}
	var out []*bayes.Prediction
	var data []*bayes.Data
	for i := range f.posterior.Experiments {
		x := &f.posterior.Experiments[i]
		data = append(data, measured(x))
		times := slices.Clone(x.Data.T)
		from, to := x.Problem.Span[0], times[len(times)-1]
		for k := range between {
			times = append(times, from+(to-from)*float64(k)/between)
		}
		slices.Sort(times)
		times = slices.Compact(times)
		empty := *x.Data
		empty.T, empty.Y = times, nil
		for range times {
			empty.Y = append(empty.Y, nanRow(len(x.Data.Y[0])))
		}
		x.Data = &empty
		out = append(out, &bayes.Prediction{Name: x.Name, T: times, Names: data[i].Names})
	}
	posterior := f.posterior
	posterior.Mesh, posterior.GridAt = probode.Adaptive{Tolerance: probode.Tolerance{Relative: 1e-6}}, f.linear(problem.starts()[0])
	d, err := bayes.NewDensity(ctx, &posterior)
	if err != nil {
		return nil, nil, err
	}
	defer d.Bind(ctx)()
	for i, x := range problem.starts() {
		if _, err := d.LogLikelihood(f.linear(x), nil); err != nil {
			return nil, nil, fmt.Errorf("the curves of point %d: %w", i+1, err)
		}
		expected := d.Expected()
		for k, q := range out {
			columns := posterior.Experiments[k].Data.Names
			var fit [][]float64
			for range q.T {
				var row []float64
				for c, name := range columns {
					if slices.Contains(q.Names, name) {
						row = append(row, expected[c])
					}
				}
				fit, expected = append(fit, row), expected[len(columns):]
			}
			q.Fit = append(q.Fit, fit)
		}
	}
	return out, data, nil
}

// measured returns the columns of the data that hold measurements. A column without
// measurements belongs to a parameter of a noise distribution.
func measured(x *bayes.Experiment) *bayes.Data {
	out := &bayes.Data{T: x.Data.T, Time: x.Data.Time}
	out.Y = make([][]float64, len(x.Data.Y))
	for k, name := range x.Data.Names {
		if !slices.ContainsFunc(x.Data.Y, func(row []float64) bool { return !math.IsNaN(row[k]) }) {
			continue
		}
		out.Names = append(out.Names, name)
		for n, row := range x.Data.Y {
			out.Y[n] = append(out.Y[n], row[k])
		}
	}
	return out
}

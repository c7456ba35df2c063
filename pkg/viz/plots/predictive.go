package plots

import (
	"fmt"
	"math"
	"slices"

	"github.com/probode/probode/pkg/probode/bayes"
	"github.com/probode/probode/pkg/viz"
)

// Predictive draws the prediction of one experiment, with a panel for each observable. A
// panel shows the data, unless the argument `data` is nil. The panel also shows the median
// of new observations, and the intervals that contain 50 % and 90 % of new observations.
// New observations include measurement errors. If the prediction contains only the
// observation times, the intervals are drawn as bars at these times. If the prediction
// contains further times, such as those of Posterior.FineTimes, the intervals are drawn as
// bands, and the medians are joined by a line. If the errors of the data differ, each datum
// has its own bars.
func Predictive(q *bayes.Prediction, data *bayes.Data) viz.Figure {
	var f viz.Figure
	if len(q.Y) == 0 {
		panic("plots: a prediction without draws")
	}
	between := data == nil || slices.ContainsFunc(q.T, func(t float64) bool { return !slices.Contains(data.T, t) })
	for _, columns := range observables(q) {
		if data == nil {
			k := columns[0]
			f.Panels = append(f.Panels, viz.Panel{Title: q.Name, X: viz.Axis{Label: "t"}, Y: viz.Axis{Label: name(q.Names, k)}, Layers: intervals(q, k, true, nil)})
			continue
		}
		columns = slices.DeleteFunc(columns, func(k int) bool { // no measurements
			return !slices.ContainsFunc(data.Y, func(row []float64) bool { return !math.IsNaN(row[k]) })
		})
		if len(columns) == 0 {
			continue
		}
		var layers []viz.Layer
		for _, k := range columns {
			var at func(t float64) bool
			if len(columns) > 1 {
				at = func(t float64) bool {
					n := slices.Index(data.T, t)
					return n >= 0 && !math.IsNaN(data.Y[n][k])
				}
			}
			layers = append(layers, intervals(q, k, between && at == nil, at)...)
		}
		f.Panels = append(f.Panels, observed(q.Name, data, columns, layers))
	}
	return f
}

// intervals are bands and a line if `joined`, and else bars and markers, at the times for
// which `drawn` is true if it is not nil.
func intervals(q *bayes.Prediction, k int, joined bool, drawn func(t float64) bool) []viz.Layer {
	at := func(prob float64) []float64 { return q.Quantiles(k, prob) }
	color, wide, half := viz.Palette[5], "90 % of new observations", "50 %"
	if joined {
		return []viz.Layer{
			viz.Band{Name: wide, X: q.T, Lo: at(0.05), Hi: at(0.95), Color: color, Opacity: 0.3},
			viz.Band{Name: half, X: q.T, Lo: at(0.25), Hi: at(0.75), Color: color, Opacity: 0.6},
			viz.Line{Name: "median", X: q.T, Y: at(0.5), Color: viz.Blue, Dash: viz.Dashed},
		}
	}
	shown := func(t float64) bool { return drawn == nil || drawn(t) }
	bars := func(name string, lo, hi []float64, width float64) viz.Line {
		l := viz.Line{Name: name, Color: color, Opacity: 0.6, Width: width}
		for n, t := range q.T {
			if shown(t) {
				l.X, l.Y = append(l.X, t, t, math.NaN()), append(l.Y, lo[n], hi[n], math.NaN())
			}
		}
		return l
	}
	median := viz.Points{Name: "median", Color: viz.Blue, Marker: viz.Ring}
	for n, y := range at(0.5) {
		if shown(q.T[n]) {
			median.X, median.Y = append(median.X, q.T[n]), append(median.Y, y)
		}
	}
	return []viz.Layer{
		bars(wide, at(0.05), at(0.95), 3),
		bars(half, at(0.25), at(0.75), 7),
		median,
	}
}

// Observations draws the data of one experiment, with a panel for each column.
func Observations(data *bayes.Data) viz.Figure {
	if len(data.Y) == 0 {
		panic("plots: data without rows")
	}
	var f viz.Figure
	for k := range data.Y[0] {
		f.Panels = append(f.Panels, observed("", data, []int{k}, nil))
	}
	return f
}

func name(names []string, k int) string {
	if k < len(names) {
		return names[k]
	}
	return fmt.Sprintf("column %d", k+1)
}

// Inside counts the observations that lie in the central prediction interval of the given
// probability. Inside uses only the observations at times that the prediction contains.
// The second result is the number of observations that were compared with the prediction.
func Inside(q *bayes.Prediction, data *bayes.Data, probability float64) (inside, of int) {
	tail := (1 - probability) / 2
	for k := range data.Y[0] {
		lo, hi := q.Quantiles(k, tail), q.Quantiles(k, 1-tail)
		for n, row := range data.Y {
			i, predicted := slices.BinarySearch(q.T, data.T[n])
			if y := row[k]; predicted && y == y { // not missing
				of++
				if lo[i] <= y && y <= hi[i] {
					inside++
				}
			}
		}
	}
	return inside, of
}

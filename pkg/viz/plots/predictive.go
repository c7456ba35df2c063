package plots

import (
	"fmt"
	"math"
	"slices"

	"github.com/probode/probode/pkg/probode/bayes"
	"github.com/probode/probode/pkg/viz"
)

// Predictive draws the prediction of one experiment, with a panel for each column of the
// data. A panel shows the data, unless the argument `data` is nil. The panel also shows
// the median of new observations, and the intervals that contain 50 % and 90 % of new
// observations. New observations include measurement errors. If the prediction contains
// only the observation times, the intervals are drawn as bars at these times. If the
// prediction contains further times, such as those of Posterior.FineTimes, the intervals
// are drawn as bands, and the medians are joined by a line.
func Predictive(q *bayes.Prediction, data *bayes.Data) viz.Figure {
	var f viz.Figure
	if len(q.Y) == 0 {
		panic("plots: a prediction without draws")
	}
	between := data == nil || slices.ContainsFunc(q.T, func(t float64) bool { return !slices.Contains(data.T, t) })
	time := timeOf(data)
	for k := range q.Y[0][0] {
		p := viz.Panel{X: viz.Axis{Label: time}, Y: viz.Axis{Label: name(q.Names, k)}, Layers: intervals(q, k, between)}
		if data != nil {
			p.Layers = append(p.Layers, Observations(data).Panels[k].Layers...)
		}
		f.Panels = append(f.Panels, p)
	}
	return f
}

// intervals are bands and a line if `joined`, and else bars and markers.
func intervals(q *bayes.Prediction, k int, joined bool) []viz.Layer {
	at := func(prob float64) []float64 { return q.Quantiles(k, prob) }
	color, wide, half := viz.Palette[5], "90 % of new observations", "50 %"
	if joined {
		return []viz.Layer{
			viz.Band{Name: wide, X: q.T, Lo: at(0.05), Hi: at(0.95), Color: color, Opacity: 0.3},
			viz.Band{Name: half, X: q.T, Lo: at(0.25), Hi: at(0.75), Color: color, Opacity: 0.6},
			viz.Line{Name: "median", X: q.T, Y: at(0.5), Color: viz.Blue, Dash: viz.Dashed},
		}
	}
	bars := func(name string, lo, hi []float64, width float64) viz.Line {
		l := viz.Line{Name: name, Color: color, Opacity: 0.6, Width: width}
		for n, t := range q.T {
			l.X, l.Y = append(l.X, t, t, math.NaN()), append(l.Y, lo[n], hi[n], math.NaN())
		}
		return l
	}
	return []viz.Layer{
		bars(wide, at(0.05), at(0.95), 3),
		bars(half, at(0.25), at(0.75), 7),
		viz.Points{Name: "median", X: q.T, Y: at(0.5), Color: viz.Blue, Marker: viz.Ring},
	}
}

// Observations draws the data of one experiment, with a panel for each column.
func Observations(data *bayes.Data) viz.Figure {
	if len(data.Y) == 0 {
		panic("plots: data without rows")
	}
	var f viz.Figure
	for k := range data.Y[0] {
		p := viz.Points{Name: "data", X: data.T, Color: viz.Black}
		for _, row := range data.Y {
			p.Y = append(p.Y, row[k])
		}
		f.Panels = append(f.Panels, viz.Panel{X: viz.Axis{Label: timeOf(data)}, Y: viz.Axis{Label: name(data.Names, k)}, Layers: []viz.Layer{p}})
	}
	return f
}

func name(names []string, k int) string {
	if k < len(names) {
		return names[k]
	}
	return fmt.Sprintf("column %d", k+1)
}

func timeOf(data *bayes.Data) string {
	if data == nil || data.Time == "" {
		return "t"
	}
	return data.Time
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

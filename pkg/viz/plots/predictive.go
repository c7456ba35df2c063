package plots

import (
	"fmt"

	"github.com/probode/probode/pkg/probode/bayes"
	"github.com/probode/probode/pkg/viz"
)

// Predictive draws the prediction of the data of one experiment, with a panel for each
// column. A panel shows the median of new observations, errors included, bands that
// contain 50 % and 90 % of them, and the data, which may be nil. Rows of the data in
// which all values are missing get bands as well. Add such rows to get bands at other
// times.
func Predictive(q *bayes.Prediction, data *bayes.Data) viz.Figure {
	var f viz.Figure
	if len(q.Y) == 0 {
		panic("plots: a prediction without draws")
	}
	time := timeOf(data)
	for k := range q.Y[0][0] {
		name := fmt.Sprintf("column %d", k+1)
		if k < len(q.Names) {
			name = q.Names[k]
		}
		p := viz.Panel{X: viz.Axis{Label: time}, Y: viz.Axis{Label: name}, Layers: []viz.Layer{
			viz.Band{Name: "90 % of new observations", X: q.T, Lo: q.Quantiles(k, 0.05), Hi: q.Quantiles(k, 0.95),
				Color: viz.Palette[5], Opacity: 0.3},
			viz.Band{Name: "50 %", X: q.T, Lo: q.Quantiles(k, 0.25), Hi: q.Quantiles(k, 0.75),
				Color: viz.Palette[5], Opacity: 0.6},
			viz.Line{Name: "median", X: q.T, Y: q.Quantiles(k, 0.5), Color: viz.Blue, Dash: viz.Dashed},
		}}
		if data != nil {
			p.Layers = append(p.Layers, Observations(data).Panels[k].Layers...)
		}
		f.Panels = append(f.Panels, p)
	}
	return f
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
		name := fmt.Sprintf("column %d", k+1)
		if k < len(data.Names) {
			name = data.Names[k]
		}
		f.Panels = append(f.Panels, viz.Panel{X: viz.Axis{Label: timeOf(data)}, Y: viz.Axis{Label: name}, Layers: []viz.Layer{p}})
	}
	return f
}

// timeOf returns the label of the time axis for data, which may be nil.
func timeOf(data *bayes.Data) string {
	if data == nil || data.Time == "" {
		return "t"
	}
	return data.Time
}

// Inside counts the observations in the data that lie in the central interval of the
// prediction with the given probability. of is the number of all observations.
func Inside(q *bayes.Prediction, data *bayes.Data, probability float64) (inside, of int) {
	tail := (1 - probability) / 2
	for k := range data.Y[0] {
		lo, hi := q.Quantiles(k, tail), q.Quantiles(k, 1-tail)
		for n, row := range data.Y {
			if y := row[k]; y == y { // not missing
				of++
				if lo[n] <= y && y <= hi[n] {
					inside++
				}
			}
		}
	}
	return inside, of
}

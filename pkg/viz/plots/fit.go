package plots

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/probode/probode/pkg/probode/bayes"
	modelfile "github.com/probode/probode/pkg/probode/model"
	"github.com/probode/probode/pkg/viz"
)

// Fit draws a fit and the data of one experiment, with a panel for each observable. The
// first argument holds the curves, as returned by File.Curves. The first curve is the fit.
// If there are other curves, a band shows the range of all curves. For example, the other
// curves may belong to the points from ProfileLikelihoods.Within.
func Fit(q *bayes.Prediction, data *bayes.Data) viz.Figure {
	if len(q.Fit) == 0 {
		panic("plots: a fit without curves")
	}
	var f viz.Figure
	for _, columns := range observables(q) {
		k := columns[0]
		at := func(i int) []float64 {
			var y []float64
			for n := range q.T {
				y = append(y, q.Fit[i][n][k])
			}
			return y
		}
		best := at(0)
		layers := []viz.Layer{viz.Line{Name: "fit", X: q.T, Y: best, Color: viz.Blue}}
		if len(q.Fit) > 1 {
			low, high := slices.Clone(best), slices.Clone(best)
			for i := range q.Fit {
				for n, v := range at(i) {
					low[n], high[n] = math.Min(low[n], v), math.Max(high[n], v)
				}
			}
			layers = append([]viz.Layer{viz.Band{Name: "within the profiles", X: q.T, Lo: low, Hi: high, Color: viz.Palette[5], Opacity: 0.5}}, layers...)
		}
		f.Panels = append(f.Panels, observed(q.Name, data, columns, layers))
	}
	return f
}

// observables groups the columns of one observable, which have the same expected values:
// those after the first contain data at the same times, and have the same name, or data
// whose errors have another size, and a name that ends in a number.
func observables(q *bayes.Prediction) (groups [][]int) {
	for k := range q.Fit[0][0] {
		same := func(group []int) bool {
			first := group[0]
			end, is := strings.CutPrefix(name(q.Names, k), name(q.Names, first))
			_, err := strconv.Atoi(strings.TrimPrefix(end, "_"))
			return is && (end == "" || err == nil) && !slices.ContainsFunc(q.Fit[0], func(row []float64) bool {
				return row[k] != row[first] && !(math.IsNaN(row[k]) && math.IsNaN(row[first]))
			})
		}
		if i := slices.IndexFunc(groups, same); i >= 0 {
			groups[i] = append(groups[i], k)
		} else {
			groups = append(groups, []int{k})
		}
	}
	return groups
}

// observed adds the data in some columns to a panel.
func observed(title string, data *bayes.Data, columns []int, layers []viz.Layer) viz.Panel {
	all := viz.Points{Name: "data", Color: viz.Black}
	for _, k := range columns {
		for n, row := range data.Y {
			all.X, all.Y = append(all.X, data.T[n]), append(all.Y, row[k])
		}
	}
	return viz.Panel{Title: title, X: viz.Axis{Label: cmp.Or(data.Time, "t")}, Y: viz.Axis{Label: name(data.Names, columns[0])}, Layers: append(layers, all)}
}

// ProfileLikelihoods draws a panel for each profile likelihood, with the threshold of its
// confidence interval. If the log-likelihood exceeds the threshold at points outside the
// interval, the panel shows these points, too.
func ProfileLikelihoods(all *modelfile.ProfileLikelihoods) viz.Figure {
	f := viz.Figure{Columns: 3}
	for _, q := range all.ByName {
		line := viz.Line{Color: viz.Blue, Marker: viz.Disc}
		for _, point := range q.Points {
			line.X, line.Y = append(line.X, point.Value), append(line.Y, -point.Drop)
		}
		layers := []viz.Layer{line, viz.Guide{Name: fmt.Sprintf("%g %% confidence", 100*all.Level), At: -all.Drop, Horizontal: true, Dash: viz.Dashed}}
		low, high := line.X[0], line.X[len(line.X)-1]
		if len(q.Elsewhere) > 0 {
			other := viz.Points{Name: "elsewhere", Marker: viz.Ring}
			for _, point := range q.Elsewhere {
				other.X, other.Y = append(other.X, point.Value), append(other.Y, -point.Drop)
			}
			layers = append(layers, other)
			low, high = min(low, other.X[0]), max(high, other.X[len(other.X)-1])
		}
		wide := low > 0 && high > 20*low
		f.Panels = append(f.Panels, viz.Panel{X: viz.Axis{Label: q.Parameter, Log: wide}, Y: viz.Axis{Label: "log-likelihood, less the best"}, Layers: layers})
	}
	return f
}

// Waterfall shows the difference between the best result of a fit and the result of each
// search. The number 1 is added to each difference, so that the axis can be logarithmic.
func Waterfall(optima []modelfile.Optimum) viz.Figure {
	good := viz.Points{Name: "optimum"}
	bad := viz.Points{Name: "no optimum", Marker: viz.Ring}
	for i, o := range optima {
		if o.Err != nil {
			break
		}
		to := &bad
		if o.Converged {
			to = &good
		}
		to.X = append(to.X, float64(i+1))
		to.Y = append(to.Y, 1+optima[0].LogLikelihood+optima[0].LogPrior-o.LogLikelihood-o.LogPrior)
	}
	panel := viz.Panel{X: viz.Axis{Label: "search, best first"}, Y: viz.Axis{Label: "1 + log-likelihood below the best", Log: true}}
	for _, l := range []viz.Points{good, bad} {
		if len(l.X) > 0 {
			panel.Layers = append(panel.Layers, l)
		}
	}
	return viz.Figure{Panels: []viz.Panel{panel}}
}

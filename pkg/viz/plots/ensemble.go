package plots

import (
	"fmt"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/reference"
	"github.com/probode/probode/pkg/viz"
)

// Paths draws every path of an ensemble that was kept (probode.Settings.KeepPaths), in
// one panel for each of the given components, which are counted from 0. If none is
// given, it draws all components. The reference may be nil.
func Paths(e *probode.Ensemble, ref *reference.Solution, components ...int) viz.Figure {
	return viz.Paths(chosen(FromEnsemble(e, ref), components))
}

// Bands draws the mean of an ensemble with bands of one, two and three standard
// deviations, as Paths does paths.
func Bands(e *probode.Ensemble, ref *reference.Solution, components ...int) viz.Figure {
	return viz.Bands(chosen(FromEnsemble(e, ref), components))
}

func chosen(e viz.Ensemble, components []int) viz.Ensemble {
	if components == nil {
		return e
	}
	all := e.Components
	e.Components = nil
	for _, k := range components {
		if k < 0 || k >= len(all) {
			panic(fmt.Sprintf("plots: component %d does not exist: want one below %d", k, len(all)))
		}
		e.Components = append(e.Components, all[k])
	}
	return e
}

// FromEnsemble converts an ensemble for [viz.Bands] and [viz.Paths], with the names and
// the unit of time of its problem. The reference may be nil.
func FromEnsemble(e *probode.Ensemble, reference *reference.Solution) viz.Ensemble {
	out := viz.Ensemble{Label: "t", T: e.T}
	if u := e.Problem.TimeUnit; u != "" {
		out.Label = fmt.Sprintf("t (%s)", u)
	}
	d := e.Problem.Dim()
	if reference != nil {
		out.ReferenceT = reference.Times
	}
	for k := range d {
		c := viz.Component{Name: e.Problem.StateName(k), Mean: e.Mean[k], SD: e.SD[k], Deterministic: e.Deterministic[k]}
		for _, path := range e.Paths {
			if path != nil { // nil: the path failed
				c.Paths = append(c.Paths, column(path, k, d))
			}
		}
		if reference != nil {
			c.Reference = column(reference.X, k, d)
		}
		out.Components = append(out.Components, c)
	}
	return out
}

// column returns component k of rows of d components.
func column(rows []float64, k, d int) []float64 {
	out := make([]float64, 0, len(rows)/d)
	for i := k; i < len(rows); i += d {
		out = append(out, rows[i])
	}
	return out
}

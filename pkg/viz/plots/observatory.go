package plots

import (
	"encoding/csv"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strconv"

	"github.com/probode/probode/pkg/viz"
)

// An Observatory is the summary that reproduce/observatory writes: how each of many
// methods did on each of many problems, at three step sizes or tolerances.
type Observatory []Cell

// A Cell is a method on a problem with a step size or tolerance. Missing numbers are
// NaN.
type Cell struct {
	Problem, Kind string
	Dimension     int
	Method, Size  string // Size is "h 0.1" or "tol 1e-04"

	// Evaluations and Jacobians are the numbers of evaluations of f and of its Jacobian in
	// a solve, Seconds is its time, and Error is the root mean square of the error over
	// times and components, relative to the size of each component.
	Evaluations, Jacobians int
	Seconds, Error         float64

	// Status is "ok", or the reason why no spread could be calibrated. Spread describes
	// the log score with noise by local errors, whose noise scale is Alpha. Paper
	// describes the rule of the paper with the noise of the method.
	Status        string
	Alpha         float64
	Spread, Paper Spread
}

// A Spread says how well the standard deviation that an ensemble states describes
// errors at parameters other than those it was calibrated at.
type Spread struct {
	// MeanSquare is the mean squared standardised error: 1 is honest.
	MeanSquare float64
	// Within holds the shares of errors below one and two standard deviations, and
	// Coverage the shares inside the central intervals of Levels.
	Within   [2]float64
	Coverage [4]float64
}

// Levels are the probabilities of the intervals of Spread.Coverage.
var Levels = [4]float64{0.5, 0.68, 0.9, 0.95}

// fields lists the columns of the file, and where each is stored in the cell.
func (c *Cell) fields() (names []string, at []any) {
	add := func(name string, p any) { names, at = append(names, name), append(at, p) }
	add("problem", &c.Problem)
	add("kind", &c.Kind)
	add("dimension", &c.Dimension)
	add("method", &c.Method)
	add("size", &c.Size)
	add("evaluations", &c.Evaluations)
	add("jacobians", &c.Jacobians)
	add("seconds", &c.Seconds)
	add("error", &c.Error)
	add("status", &c.Status)
	add("alpha", &c.Alpha)
	for _, s := range []struct {
		of string
		at *Spread
	}{{"", &c.Spread}, {"paper_", &c.Paper}} {
		add(s.of+"mean_square", &s.at.MeanSquare)
		add(s.of+"within_1sd", &s.at.Within[0])
		add(s.of+"within_2sd", &s.at.Within[1])
		for i, l := range Levels {
			add(fmt.Sprintf("%scoverage_%.0f", s.of, 100*l), &s.at.Coverage[i])
		}
	}
	return names, at
}

// Write writes the cells as CSV, numbers with four digits.
func (o Observatory) Write(w io.Writer) error {
	c := csv.NewWriter(w)
	names, _ := new(Cell).fields()
	c.Write(names) // Error returns the errors of all writes
	for i := range o {
		var line []string
		_, at := o[i].fields()
		for _, p := range at {
			switch p := p.(type) {
			case *string:
				line = append(line, *p)
			case *int:
				line = append(line, strconv.Itoa(*p))
			case *float64:
				text := ""
				if !math.IsNaN(*p) {
					text = strconv.FormatFloat(*p, 'g', 4, 64)
				}
				line = append(line, text)
			}
		}
		c.Write(line)
	}
	c.Flush()
	return c.Error()
}

// ReadObservatory reads the file.
func ReadObservatory(file string) (Observatory, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	o, err := readObservatory(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return o, nil
}

func readObservatory(r io.Reader) (Observatory, error) {
	records, err := csv.NewReader(r).ReadAll()
	if err != nil {
		return nil, err
	}
	names, _ := new(Cell).fields()
	if len(records) == 0 || !slices.Equal(records[0], names) {
		return nil, fmt.Errorf("these are not the columns of an observatory: want %q", names)
	}
	o := make(Observatory, len(records)-1)
	for i, record := range records[1:] {
		_, at := o[i].fields()
		for k, p := range at {
			var err error
			switch p := p.(type) {
			case *string:
				*p = record[k]
			case *int:
				*p, err = strconv.Atoi(record[k])
			case *float64:
				if *p = math.NaN(); record[k] != "" {
					*p, err = strconv.ParseFloat(record[k], 64)
				}
			}
			if err != nil {
				return nil, fmt.Errorf("line %d, column %s: %q is not a number", i+2, names[k], record[k])
			}
		}
	}
	return o, nil
}

// Where returns the cells that keep accepts.
func (o Observatory) Where(keep func(Cell) bool) Observatory {
	var out Observatory
	for _, c := range o {
		if keep(c) {
			out = append(out, c)
		}
	}
	return out
}

// Of returns the cells of the problems with these names.
func (o Observatory) Of(problems ...string) Observatory {
	return o.Where(func(c Cell) bool { return slices.Contains(problems, c.Problem) })
}

// distinct returns the values of a text of the cells, in their order.
func (o Observatory) distinct(text func(Cell) string) []string {
	var out []string
	for _, c := range o {
		if s := text(c); !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	return out
}

// Problems and Methods return their names, in the order of the file.
func (o Observatory) Problems() []string {
	return o.distinct(func(c Cell) string { return c.Problem })
}

func (o Observatory) Methods() []string { return o.distinct(func(c Cell) string { return c.Method }) }

// WorkPrecision draws the error against the time of a solve, with a panel for each
// problem that some method solves, and a line for each method.
func (o Observatory) WorkPrecision() viz.Figure {
	problems, methods := o.Problems(), o.Methods()
	f := viz.Figure{}
	marks := []viz.Marker{viz.Disc, viz.Square, viz.Triangle, viz.Ring}
	for _, p := range problems {
		panel := viz.Panel{Title: p, X: viz.Axis{Label: "time of a solve, ms", Log: true}, Y: viz.Axis{Label: "relative error", Log: true}}
		for k, m := range methods {
			l := viz.Line{Name: m, Color: viz.Palette[k%len(viz.Palette)], Marker: marks[k/len(viz.Palette)%len(marks)]}
			if k >= len(viz.Palette) {
				l.Dash = viz.Dashed
			}
			for _, c := range o {
				if c.Problem == p && c.Method == m && c.Error > 0 && c.Seconds > 0 {
					l.X, l.Y = append(l.X, 1e3*c.Seconds), append(l.Y, c.Error)
				}
			}
			if l.X != nil {
				panel.Layers = append(panel.Layers, l)
			}
		}
		if panel.Layers != nil {
			f.Panels = append(f.Panels, panel)
		}
	}
	f.Columns = min(2, len(f.Panels))
	return f
}

// Calibration draws how honest the stated spread is: the share of errors inside of
// the central intervals, and the root mean squared standardised error of each cell,
// sorted.
func (o Observatory) Calibration() viz.Figure {
	coverage := viz.Panel{Title: "coverage", X: viz.Axis{Label: "stated", Min: 0.4, Max: 1}, Y: viz.Axis{Label: "observed at other parameters", Min: 0.2, Max: 1},
		Layers: []viz.Layer{viz.Line{X: []float64{0.4, 1}, Y: []float64{0.4, 1}, Color: viz.Grey, Dash: viz.Dotted, Label: "honest"}}}
	roots := viz.Panel{Title: "root mean squared standardised error, cells in order", X: viz.Axis{Label: "share of cells", Min: 0, Max: 1}, Y: viz.Axis{Label: "1 is honest", Log: true, Min: 0.03, Max: 300},
		Layers: []viz.Layer{
			viz.Band{X: []float64{0, 1}, Lo: []float64{1. / 3, 1. / 3}, Hi: []float64{3, 3}, Color: viz.Grey},
			viz.Guide{At: 1, Horizontal: true, Color: viz.Grey}}}
	for k, rule := range []struct {
		name string
		of   func(*Cell) *Spread
	}{
		{"log score, local errors", func(c *Cell) *Spread { return &c.Spread }},
		{"the paper's rule and noise", func(c *Cell) *Spread { return &c.Paper }},
	} {
		var inside [len(Levels)]float64
		var root []float64
		for i := range o {
			s := rule.of(&o[i])
			if math.IsNaN(s.MeanSquare) {
				continue
			}
			root = append(root, math.Sqrt(min(max(s.MeanSquare, 1e-3), 9e4)))
			for k, c := range s.Coverage {
				inside[k] += c
			}
		}
		if len(root) == 0 {
			continue
		}
		slices.Sort(root)
		n := float64(len(root))
		at := viz.Line{Name: rule.name, X: Levels[:], Color: viz.Palette[k], Marker: viz.Disc}
		all := viz.Line{Name: rule.name, Y: root, Color: viz.Palette[k]}
		for _, v := range inside {
			at.Y = append(at.Y, v/n)
		}
		for i := range root {
			all.X = append(all.X, (float64(i)+0.5)/n)
		}
		coverage.Layers = append(coverage.Layers, at)
		roots.Layers = append(roots.Layers, all)
	}
	return viz.Figure{Columns: 2, Height: 460, Panels: []viz.Panel{coverage, roots}}
}

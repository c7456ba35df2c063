package nb

import (
	"encoding/json"
	"fmt"
	"html"
	"image/color"
	"slices"
	"strings"
	"time"

	"github.com/probode/probode/pkg/viz"
	"github.com/probode/probode/pkg/viz/playground"
)

// liveFigures is built by environment/lab; it is relative to the root of the Jupyter
// server.
const liveFigures = "environment/playground/built/playground.js"

// Play shows a live figure of package playground, which is computed in the browser. The
// argument `values` contains the values of the controls that the text is about; all other
// controls have their default values and are behind “more”, as are all charts that are not
// named, if any is. A link in the text, such as [h = 0.05](#paths?h=0.05), moves controls
// of the figure.
//
// If scripts are forbidden, as on GitHub, or if the compiled playground is missing, the
// page shows a recording of the named charts, which Play makes with the same values.
func Play(name string, values map[string]any, charts ...string) {
	figure, err := playground.Open(name)
	Check(err)
	defer figure.Close()
	state, err := json.Marshal(values)
	Check(err)
	var sent map[string]any // as the browser sends them
	Check(json.Unmarshal(state, &sent))
	Check(figure.Set(sent))
	var view playground.View
	for !view.Done && Context().Err() == nil {
		view = figure.Advance(100 * time.Millisecond)
	}
	var ids []string
	for _, c := range view.Charts {
		ids = append(ids, c.ID)
	}
	for _, id := range charts {
		if !slices.Contains(ids, id) {
			fail(fmt.Sprintf("%s has no chart %q: want one of %s", name, id, strings.Join(ids, ", ")))
		}
	}
	recorded := recording(view, charts)
	fragment, err := viz.HTML(recorded)
	Check(err)
	shown(recorded, fmt.Sprintf("<div data-play=%q data-values=\"%s\" data-charts=%q>\n%s</div>\n<script>probodeViz.play(%q);</script>\n",
		name, html.EscapeString(string(state)), strings.Join(charts, " "), fragment, liveFigures))
}

// recording draws the charts with these ids, or all.
func recording(v playground.View, ids []string) viz.Figure {
	var f viz.Figure
	for _, c := range v.Charts {
		if len(ids) > 0 && !slices.Contains(ids, c.ID) {
			continue
		}
		p := viz.Panel{Title: c.Title, X: axis(c.X), Y: axis(c.Y)}
		for _, s := range c.Series {
			var x, y []float64
			for _, at := range s.Data {
				x, y = append(x, at[0]), append(y, at[1])
			}
			if s.Size > 0 {
				p.Layers = append(p.Layers, viz.Points{Name: s.Name, X: x, Y: y, Color: colour(s.Colour), Size: s.Size})
				continue
			}
			l := viz.Line{Name: s.Name, X: x, Y: y, Color: colour(s.Colour), Width: s.Width, Opacity: s.Opacity}
			if s.Dashed {
				l.Dash = viz.Dashed
			}
			p.Layers = append(p.Layers, l)
		}
		f.Panels = append(f.Panels, p)
	}
	f.Columns, f.Height = min(len(f.Panels), 3), 400
	if len(f.Panels) > 3 {
		f.Columns, f.Height = 2, 720
	}
	return f
}

func axis(a playground.Axis) viz.Axis {
	return viz.Axis{Label: a.Name, Log: a.Log, Min: a.Min, Max: a.Max}
}

// colour reads a name or the form #rrggbb.
func colour(name string) color.Color {
	switch name {
	case "ink":
		return viz.Black
	case "pale":
		return viz.Grey
	}
	c := color.NRGBA{A: 0xff}
	_, err := fmt.Sscanf(name, "#%02x%02x%02x", &c.R, &c.G, &c.B)
	Check(err)
	return c
}

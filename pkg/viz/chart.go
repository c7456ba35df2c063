package viz

import (
	"cmp"
	"encoding/json"
	"fmt"
	"image/color"
	"maps"
	"math"
	"slices"
	"strconv"

	"github.com/go-echarts/go-echarts/v2/charts"
	"github.com/go-echarts/go-echarts/v2/opts"
	"github.com/go-echarts/go-echarts/v2/types"
	"gonum.org/v1/plot"
)

// option returns, as JSON, the configuration of an interactive ECharts 5 chart.
// ECharts calls this configuration the option. The chart has one grid for each panel,
// tooltips, a legend, and a slider for [Frames]. A click on an entry of the legend shows
// or hides the layers with the same name. The member "phone" of the JSON object holds the
// size, layout and titles for a small screen.
//
// The JSON contains no functions and can be embedded in a script element. The script that
// [HTML] writes supplies the functions that format numbers and draw bands. In the JSON, a
// band is a series with the renderItem "band".
//
// Numbers are rounded to 1e-4 of the length of their axis. Vertices are left out if their
// absence changes the curve by less than a third of a pixel. Only every kth path or point
// of a large ensemble or sample is drawn, and the legend says so. If a curve has many
// thousands of points, only some of them are drawn, but all peaks and troughs remain
// visible. [PNG] and [SVG] draw all paths and points.
func option(g Graphic, ps []*page, show int) ([]byte, error) {
	every := thinning(ps)
	names := thinned(ps, every)
	base := ps[show].chart(ps[show].series(every, names), names)
	phone := ps[show].onPhone()
	layout := phone.chart(nil, names)
	maps.DeleteFunc(layout, func(part string, _ any) bool {
		return !slices.Contains([]string{"grid", "legend", "title", "xAxis", "yAxis"}, part)
	})
	onPhone := map[string]any{"width": phone.Width, "height": phone.Height, "layout": layout}
	f, ok := g.(Frames)
	if !ok {
		base["phone"] = onPhone
		return json.Marshal(base)
	}
	marks := make([]string, len(ps))
	frames := make([]map[string]any, len(ps))
	titles := make([]any, len(ps)) // on a phone
	for i, p := range ps {
		marks[i] = f.name(i)
		c := p.chart(p.series(every, names), names)
		frames[i] = map[string]any{"title": c["title"], "series": c["series"]}
		titles[i] = p.onPhone().chart(nil, names)["title"]
	}
	onPhone["titles"] = titles
	delete(base, "series")
	base["timeline"] = map[string]any{
		"axisType": "category", "data": marks, "currentIndex": show,
		"autoPlay": false, "loop": false, "playInterval": 1000,
		// Frames may have different numbers of series, so the series of the previous
		// frame must be removed.
		"replaceMerge": []string{"series"},
		"left":         margin, "right": margin, "bottom": 4, "height": slider - 10,
		"label":    map[string]any{"color": css(Black), "fontSize": tickSize},
		"progress": map[string]any{"label": map[string]any{"color": css(Black)}},
		"tooltip":  map[string]any{"show": false},
	}
	return json.Marshal(map[string]any{"baseOption": base, "options": frames, "phone": onPhone})
}

// These types add options for which the types of go-echarts have no field.
type (
	series struct {
		charts.SingleSeries
		Z         int            `json:"z"`
		Silent    bool           `json:"silent"`
		Clip      bool           `json:"clip"`
		Polyline  bool           `json:"polyline,omitempty"`
		LineStyle map[string]any `json:"lineStyle,omitempty"`
		Tooltip   map[string]any `json:"tooltip,omitempty"`
		Emphasis  map[string]any `json:"emphasis"`
	}
	axis struct {
		opts.XAxis
		NameTextStyle opts.TextStyle `json:"nameTextStyle"`
		AxisLabel     axisMarks      `json:"axisLabel"`
		AxisTick      axisMarks      `json:"axisTick"`
	}
	axisMarks struct {
		opts.AxisLabel
		CustomValues []float64 `json:"customValues,omitempty"`
	}
	legendRow struct {
		opts.Legend
		ItemGap int `json:"itemGap"`
	}
	zoom struct {
		opts.DataZoom
		ZoomOnMouseWheel string `json:"zoomOnMouseWheel"`
	}
)

type interactive struct {
	charts.BaseConfigurationVisitor
	titles  []opts.Title
	xs, ys  []axis
	series  []series
	zooms   []zoom
	legends []legendRow
}

func (v *interactive) VisitTitleOpt(opts.Title) any          { return v.titles }
func (v *interactive) VisitXAxis([]opts.XAxis) any           { return v.xs }
func (v *interactive) VisitYAxis([]opts.YAxis) any           { return v.ys }
func (v *interactive) VisitSeriesOpt(charts.MultiSeries) any { return v.series }
func (v *interactive) VisitDataZooms([]opts.DataZoom) any    { return v.zooms }
func (v *interactive) VisitLegendOpt(opts.Legend) any        { return v.legends }

// VisitToolbox keeps the zoom tool, whose icon go-echarts sets to null.
func (v *interactive) VisitToolbox(opts.Toolbox) any {
	return map[string]any{
		"right": margin, "top": 4, "itemSize": 13,
		"feature": map[string]any{
			"dataZoom": map[string]any{"filterMode": "none", "title": map[string]string{"zoom": "Zoom into a rectangle", "back": "Zoom back"}},
			"restore":  map[string]any{"title": "Restore"},
		},
	}
}

func (v *interactive) Visit(chart map[string]any) { delete(chart, "color") }

// series has every kth path or point, and in `names` the new name of a series from which
// some are left out.
func (p *page) series(every int, names map[string]string) []series {
	var out []series
	grid := 0
	for i, panel := range p.Panels {
		if len(panel.Layers) == 0 {
			continue
		}
		for _, l := range panel.Layers {
			for _, s := range chartSeries(l, panel, p.limits[i], p.frames[i], every) {
				s.XAxisIndex, s.YAxisIndex = grid, grid
				s.Z = 2 + len(out) // drawn in this order, whatever their types
				if name, ok := names[s.Name]; ok {
					s.Name = name
				}
				s.Emphasis = map[string]any{"disabled": true}
				out = append(out, s)
			}
		}
		grid++
	}
	return out
}

func (p *page) chart(series []series, names map[string]string) map[string]any {
	c := charts.NewLine()
	c.ChartID = "figure" // otherwise it is random; HTML uses an id of its own
	c.Initialization.BackgroundColor = "#ffffff"
	c.Animation = opts.Bool(false)
	v := &interactive{series: series}
	c.Accept(v)

	text := func(size int, bold bool) *opts.TextStyle {
		t := &opts.TextStyle{Color: "#222222", FontSize: size, FontFamily: "Arial, Liberation Sans, sans-serif", FontWeight: "normal", LineHeight: int(lineHeight * float64(size))}
		if bold {
			t.FontWeight = "bold"
		}
		return t
	}
	v.titles = append(v.titles, opts.Title{Title: p.Title, Left: pixels(margin - 5), Top: pixels(margin - 9), TitleStyle: text(titleSize, true)})

	grid := 0
	links := map[string][]int{} // grids whose x axes are zoomed together
	var order []string
	for i, panel := range p.Panels {
		if len(panel.Layers) == 0 {
			continue
		}
		b, lim := p.frames[i], p.limits[i]
		c.GridList = append(c.GridList, opts.Grid{
			Left: pixels(b.x0), Top: pixels(b.y0), Width: pixels(b.x1 - b.x0), Height: pixels(b.y1 - b.y0),
			ContainLabel: opts.Bool(false),
		})
		if panel.Title != "" {
			v.titles = append(v.titles, opts.Title{
				Title: panel.Title, Left: pixels((b.x0 + b.x1) / 2), TextAlign: "center",
				Top: pixels(b.y0 - titleHeight(panel.Title, labelSize) - titleGap - 5), TitleStyle: text(labelSize, true),
			})
		}
		nx, ny := p.counts()
		// Leave space for wider labels, because ECharts may choose more ticks than the
		// static picture has.
		widest := 0.0
		for _, t := range panel.Y.ticks(lim.y0, lim.y1, 2*ny) {
			widest = max(widest, float64(typeface(tickSize, false).Width(t.Label)/px))
		}
		v.xs = append(v.xs, panel.X.chart(grid, lim.x0, lim.x1, nx, 26))
		v.ys = append(v.ys, panel.Y.chart(grid, lim.y0, lim.y1, ny, int(widest)+16))

		key := fmt.Sprint(panel.X, lim.x0, lim.x1)
		if links[key] == nil {
			order = append(order, key)
		}
		links[key] = append(links[key], grid)

		grid++
	}
	for _, key := range order {
		// If the Shift key is pressed, the mouse wheel zooms the chart. Otherwise the
		// mouse wheel scrolls the page.
		v.zooms = append(v.zooms, zoom{
			DataZoom:         opts.DataZoom{Type: "inside", XAxisIndex: links[key], FilterMode: "none"},
			ZoomOnMouseWheel: "shift",
		})
	}
	c.DataZoomList = make([]opts.DataZoom, len(v.zooms)) // without elements, go-echarts does not call the visitor

	type entry struct {
		Name      string         `json:"name"`
		Icon      string         `json:"icon,omitempty"`
		ItemStyle map[string]any `json:"itemStyle,omitempty"`
	}
	// In ECharts, the gap between the rows of a legend cannot differ from the gap between
	// the entries of a row. The chart therefore has a separate legend for each row of
	// entries.
	for i, k := range p.legend {
		e := entry{Name: k.name, Icon: k.icon(), ItemStyle: map[string]any{"color": css(k.solid()), "borderWidth": 0}}
		if name, ok := names[k.name]; ok {
			e.Name = name
		}
		if k.width > 0 && k.marker != noMarker {
			e.Icon, e.ItemStyle = "inherit", nil // line and marker
		}
		if i == 0 || p.entries[i].Y > p.entries[i-1].Y {
			v.legends = append(v.legends, legendRow{ItemGap: entryGap, Legend: opts.Legend{
				Type: "plain", Data: []entry{},
				Left: pixels(margin - 5), Top: pixels(float64(p.entries[i].Y) - 11), Width: pixels(1.2 * float64(p.Width)),
				ItemWidth: keyWidth, ItemHeight: 12, TextStyle: text(legendSize, false),
			}})
		}
		row := &v.legends[len(v.legends)-1]
		row.Data = append(row.Data.([]entry), e)
	}
	c.Tooltip = opts.Tooltip{Show: opts.Bool(true), Trigger: "axis", AxisPointer: &opts.AxisPointer{Type: "line"}}
	c.Validate()
	return c.JSON()
}

func (a Axis) chart(grid int, lo, hi float64, n, nameGap int) axis {
	line := &opts.LineStyle{Color: "#555555", Width: 1}
	x := axis{
		XAxis: opts.XAxis{
			Type: "value", GridIndex: grid, Min: sig(lo), Max: sig(hi), Show: opts.Bool(true),
			Name: a.Label, NameLocation: "middle", NameGap: nameGap, SplitNumber: splits(lo, hi, n),
			AxisLine:  &opts.AxisLine{Show: opts.Bool(true), OnZero: opts.Bool(false), LineStyle: line},
			SplitLine: &opts.SplitLine{Show: opts.Bool(true), LineStyle: &opts.LineStyle{Color: "#e6e6e6"}},
		},
		NameTextStyle: opts.TextStyle{Color: "#222222", FontSize: labelSize},
	}
	ticks := a.ticks(lo, hi, n)
	x.AxisTick.Show = opts.Bool(true)
	x.AxisLabel.AxisLabel = opts.AxisLabel{
		Show: opts.Bool(true), FontSize: tickSize, Color: "#222222", HideOverlap: opts.Bool(true),
		// Without these options, ECharts labels both limits of an axis even if they are
		// not round numbers.
		ShowMinLabel: opts.Bool(labelled(ticks, lo)), ShowMaxLabel: opts.Bool(labelled(ticks, hi)),
	}
	if a.Log {
		x.Type = "log"
		x.AxisLabel.ShowMinLabel, x.AxisLabel.ShowMaxLabel = opts.Bool(true), opts.Bool(true)
		for _, t := range ticks {
			if t.Label != "" { // grid lines are drawn at all ticks
				x.AxisTick.CustomValues = append(x.AxisTick.CustomValues, sig(t.Value))
				x.AxisLabel.CustomValues = append(x.AxisLabel.CustomValues, sig(t.Value))
			}
		}
	}
	return x
}

// splits returns the number of intervals for which ECharts has the ticks of the static
// picture: it rounds length/number to 1, 2, 3, 5 or 10 times a power of ten. If there is
// none, ECharts chooses.
func splits(lo, hi float64, n int) int {
	d := step(lo, hi, n)
	for s := 1; s <= 2*n; s++ {
		raw := (hi - lo) / float64(s)
		unit := math.Pow(10, math.Floor(math.Log10(raw)))
		nice := 10.0
		for _, m := range [][2]float64{{1.5, 1}, {2.5, 2}, {4, 3}, {7, 5}} {
			if raw/unit < m[0] {
				nice = m[1]
				break
			}
		}
		if math.Abs(nice*unit-d) < 1e-6*d {
			return s
		}
	}
	return max(2, n*2/3)
}

// sig removes rounding errors of an axis limit.
func sig(v float64) float64 {
	v, _ = strconv.ParseFloat(strconv.FormatFloat(v, 'g', 15, 64), 64)
	return v
}

func labelled(ts []plot.Tick, v float64) bool {
	for _, t := range ts {
		if t.Label != "" && math.Abs(t.Value-v) <= 1e-9*math.Abs(v) {
			return true
		}
	}
	return false
}

func pixels(v float64) string { return strconv.Itoa(int(math.Round(v))) }

func css(c color.Color) string {
	n := color.NRGBAModel.Convert(c).(color.NRGBA)
	if n.A == 0xff {
		return fmt.Sprintf("#%02x%02x%02x", n.R, n.G, n.B)
	}
	return fmt.Sprintf("rgba(%d,%d,%d,%.3g)", n.R, n.G, n.B, float64(n.A)/255)
}

// chartSeries gets the limits of the axes and the data area in pixels.
func chartSeries(l Layer, panel Panel, lim, frame box, every int) []series {
	k := l.look()
	hidden := map[string]any{"show": false}
	q := scales{
		x: scale{lim.x0, lim.x1, frame.x1 - frame.x0, panel.X.Log},
		y: scale{lim.y0, lim.y1, frame.y1 - frame.y0, panel.Y.Log},
	}
	line := func(width float64, d Dash) map[string]any {
		m := map[string]any{"color": css(k.color), "width": width, "type": "solid", "opacity": 1}
		if d != Solid {
			m["type"] = d.lengths()
		}
		return m
	}
	plain := func(x, y []float64) series {
		s := series{LineStyle: line(k.width, k.dash), Silent: true, Clip: true}
		s.Name, s.Type, s.Data = k.name, "line", q.vertices(x, y)
		s.Color = css(k.color)
		s.ShowSymbol, s.Symbol = opts.Bool(false), "none"
		if k.marker != noMarker {
			s.ShowSymbol, s.Symbol, s.SymbolSize = opts.Bool(true), k.marker.chart(), 7
		}
		if k.name == "" {
			s.Tooltip = hidden
		}
		return s
	}
	curves := func(x, y []float64, every int, width float64, d Dash) series {
		s := series{LineStyle: line(width, d), Silent: true, Clip: true, Polyline: true, Tooltip: hidden}
		var paths []map[string]any
		i := 0
		pieces(x, y, func(a, b int) {
			if i%every == 0 && b-a > 1 {
				paths = append(paths, map[string]any{"coords": q.vertices(q.simplified(x[a:b], y[a:b]))})
			}
			i++
		})
		s.Name, s.Type, s.CoordSystem, s.Data = k.name, "lines", "cartesian2d", paths
		s.Color = css(k.color)
		return s
	}
	switch l := l.(type) {
	case Line:
		var ending []series
		if x, y, ok := l.end(); ok && l.Label != "" {
			t := scatter(look{name: k.name, color: k.color}, q.vertices([]float64{x}, []float64{y}), 0)
			t.Silent, t.Tooltip = true, hidden
			t.Label = &opts.Label{
				Show: opts.Bool(true), Formatter: types.FuncStr(l.Label), Position: "right",
				Color: css(k.solid()), FontSize: tickSize,
			}
			ending = append(ending, t)
		}
		if monotone(l.X) {
			x, y := thin(l.X, l.Y)
			if k.marker == noMarker {
				x, y = q.simplified(x, y)
			}
			s := plain(x, y)
			return append([]series{s}, ending...)
		}
		every = l.every(every)
		if every > 1 {
			// Only every kth curve is drawn. Make these curves more opaque, so that the
			// panel looks about as dark as with all curves.
			n := color.NRGBAModel.Convert(k.color).(color.NRGBA)
			a := 1 - math.Pow(1-float64(n.A)/255, float64(every))
			n.A = max(n.A, uint8(255*min(a, 0.5)))
			k.color = n
		}
		s := curves(l.X, l.Y, every, k.width, k.dash)
		ss := []series{s}
		if k.marker != noMarker {
			ss = append(ss, scatter(k, q.vertices(l.X, l.Y), 7))
		}
		return append(ss, ending...)
	case Band:
		s := series{Silent: true, Clip: true}
		s.Name, s.Type, s.RenderItem = k.name, "custom", "band"
		s.Data = q.triples(l.thin())
		s.Encode = &opts.Encode{X: 0, Y: []int{1, 2}}
		s.ItemStyle = &opts.ItemStyle{Color: css(k.color)}
		if k.name == "" {
			s.Tooltip = hidden
		}
		return []series{s}
	case Points:
		x, y := l.X, l.Y
		var ss []series
		if l.Err != nil {
			bx, by := l.bars(panel.Y.Log)
			ss = append(ss, curves(bx, by, 1, 1.2, Solid))
		} else {
			every = l.every(every)
			x, y = nth(x, every), nth(y, every)
		}
		return append(ss, scatter(k, q.vertices(x, y), cmp.Or(l.Size, 6)))
	case Guide:
		x, y := l.ends(lim)
		s := plain(x[:], y[:])
		s.Tooltip = hidden
		return []series{s}
	}
	panic("viz: unknown kind of layer")
}

func scatter(k look, data json.RawMessage, size float64) series {
	s := series{Clip: true, Tooltip: map[string]any{"trigger": "item"}}
	s.Name, s.Type, s.Data = k.name, "scatter", data
	s.Symbol, s.SymbolSize = k.marker.chart(), size
	s.Progressive = opts.Int(0) // all at once
	s.ItemStyle = &opts.ItemStyle{Color: css(k.color)}
	return s
}

// vertices rounds numbers to 1e-4 of the length of their axis.
func (q scales) vertices(x, y []float64) json.RawMessage {
	return q.rows(x, 16, func(b []byte, i int) []byte { return q.y.append(b, y[i]) })
}

func (q scales) triples(l Band) json.RawMessage {
	return q.rows(l.X, 24, func(b []byte, i int) []byte {
		lo := l.Lo[i]
		if q.y.log {
			lo = max(lo, q.y.lo/100)
		}
		return q.y.append(append(q.y.append(b, lo), ','), l.Hi[i])
	})
}

// rows begins row i with x[i]; rest appends the others. `size` is about the bytes of a
// row.
func (q scales) rows(x []float64, size int, rest func(b []byte, i int) []byte) json.RawMessage {
	b := make([]byte, 0, size*len(x)+2)
	b = append(b, '[')
	for i, v := range x {
		if i > 0 {
			b = append(b, ',')
		}
		b = q.x.append(append(b, '['), v)
		b = append(rest(append(b, ','), i), ']')
	}
	return append(b, ']')
}

func (s scale) append(b []byte, v float64) []byte {
	if math.IsNaN(v) {
		return append(b, "null"...)
	}
	length := s.hi - s.lo
	if s.log {
		length = math.Log(s.hi) - math.Log(s.lo)
	}
	digits := 4 - int(math.Floor(math.Log10(length))) // after the decimal point
	if s.log || digits < 0 || digits > 12 {
		significant := digits + 1
		if !s.log && v != 0 { // far from 0 a short axis needs more digits
			significant += int(math.Floor(math.Log10(math.Abs(v))))
		}
		return strconv.AppendFloat(b, v, 'g', min(max(5, significant), 17), 64)
	}
	n := len(b)
	b = strconv.AppendFloat(b, v, 'f', digits, 64)
	if digits > 0 {
		for b[len(b)-1] == '0' {
			b = b[:len(b)-1]
		}
		if b[len(b)-1] == '.' {
			b = b[:len(b)-1]
		}
	}
	if string(b[n:]) == "-0" {
		b = append(b[:n], '0')
	}
	return b
}

func (k look) icon() string {
	switch {
	case k.area:
		return "rect"
	// In a legend, ECharts stretches its built-in squares and triangles to the width of a
	// line's symbol, but does not stretch a symbol that is given as an SVG path.
	case k.width == 0 && k.marker == Square:
		return "path://M0 0h10v10h-10z"
	case k.width == 0 && k.marker == Triangle:
		return "path://M5 0l5 9h-10z"
	case k.width == 0:
		return k.marker.chart()
	}
	switch k.dash {
	case Dashed:
		return "path://M0 5h7v2h-7zM9.5 5h7v2h-7zM19 5h7v2h-7z"
	case Dotted:
		return "path://M0 5h2.5v2h-2.5zM6 5h2.5v2h-2.5zM12 5h2.5v2h-2.5zM18 5h2.5v2h-2.5zM23.5 5h2.5v2h-2.5z"
	case DashDotted:
		return "path://M0 5h9v2h-9zM11.75 5h2.5v2h-2.5zM17 5h9v2h-9z"
	}
	return "path://M0 5h26v2h-26z"
}

func (m Marker) chart() string {
	switch m {
	case Square:
		return "rect"
	case Triangle:
		return "triangle"
	case Ring:
		return "emptyCircle"
	}
	return "circle"
}

package viz

import (
	"encoding/json"
	"fmt"
	"image/color"
	"math"
	"strconv"

	"github.com/go-echarts/go-echarts/v2/charts"
	"github.com/go-echarts/go-echarts/v2/opts"
	"gonum.org/v1/plot"
)

// Option returns the option of an interactive ECharts 5 chart as JSON: one grid
// for each panel, a legend whose entries switch the layers of that name on
// and off, tooltips, and a slider for [Frames].
//
// The JSON is free of functions and safe inside a script element. What needs
// functions is left to the script of [HTML]: it formats numbers, and it draws
// the series of type custom, whose renderItem is the name "band".
//
// Numbers are rounded to 1e-4 of their axis, and vertices that make no difference
// of a third of a pixel are left out. Of large ensembles and samples only
// every kth path or point is kept, and the legend says so; curves of many
// thousands of values are reduced to their extremes. [PNG] and [SVG] draw all.
func Option(g Graphic) ([]byte, error) {
	ps, show, err := g.pages()
	if err != nil {
		return nil, err
	}
	return option(g, ps, show)
}

func option(g Graphic, ps []*page, show int) ([]byte, error) {
	every := thinning(ps)
	names := thinned(ps, every)
	base := ps[show].chart(every, names)
	f, ok := g.(Frames)
	if !ok {
		return json.Marshal(base)
	}
	marks := make([]string, len(ps))
	frames := make([]map[string]any, len(ps))
	for i, p := range ps {
		marks[i] = f.name(i)
		c := p.chart(every, names)
		frames[i] = map[string]any{"title": c["title"], "series": c["series"]}
	}
	delete(base, "series")
	base["timeline"] = map[string]any{
		"axisType": "category", "data": marks, "currentIndex": show,
		"autoPlay": false, "loop": false, "playInterval": 1000,
		// Frames may differ in the number of their series.
		"replaceMerge": []string{"series"},
		"left":         margin, "right": margin, "bottom": 4, "height": slider - 10,
		"label":    map[string]any{"color": css(Black), "fontSize": tickSize},
		"progress": map[string]any{"label": map[string]any{"color": css(Black)}},
		"tooltip":  map[string]any{"show": false},
	}
	return json.Marshal(map[string]any{"baseOption": base, "options": frames})
}

// What go-echarts has no field for.
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
	legend struct {
		opts.Legend
		ItemGap int `json:"itemGap"`
	}
	zoom struct {
		opts.DataZoom
		ZoomOnMouseWheel string `json:"zoomOnMouseWheel"`
	}
)

// interactive puts these in the place of go-echarts' own.
type interactive struct {
	charts.BaseConfigurationVisitor
	titles  []opts.Title
	xs, ys  []axis
	series  []series
	zooms   []zoom
	legends []legend
}

func (v *interactive) VisitTitleOpt(opts.Title) any          { return v.titles }
func (v *interactive) VisitXAxis([]opts.XAxis) any           { return v.xs }
func (v *interactive) VisitYAxis([]opts.YAxis) any           { return v.ys }
func (v *interactive) VisitSeriesOpt(charts.MultiSeries) any { return v.series }
func (v *interactive) VisitDataZooms([]opts.DataZoom) any    { return v.zooms }
func (v *interactive) VisitLegendOpt(opts.Legend) any        { return v.legends }

// VisitToolbox is written by hand because go-echarts gives a null icon to the
// zoom, which makes ECharts show none.
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

// chart returns the option of one page.
func (p *page) chart(every int, names map[string]string) map[string]any {
	c := charts.NewLine()
	c.ChartID = "figure" // otherwise drawn at random; HTML has its own
	c.Initialization.BackgroundColor = "#ffffff"
	c.Animation = opts.Bool(false)
	v := &interactive{}
	c.Accept(v)

	text := func(size int, bold bool) *opts.TextStyle {
		t := &opts.TextStyle{Color: "#222222", FontSize: size, FontFamily: "Arial, Liberation Sans, sans-serif", FontWeight: "normal"}
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
				Top: pixels(b.y0 - labelSize - titleGap - 5), TitleStyle: text(labelSize, true),
			})
		}
		nx, ny := p.counts()
		// ECharts may choose finer ticks than the picture.
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

		for _, l := range panel.Layers {
			for _, s := range chartSeries(l, panel, lim, b, every) {
				s.XAxisIndex, s.YAxisIndex = grid, grid
				s.Z = 2 + len(v.series) // drawn in this order, whatever their types
				if name, ok := names[s.Name]; ok {
					s.Name = name
				}
				s.Emphasis = map[string]any{"disabled": true}
				v.series = append(v.series, s)
			}
		}
		grid++
	}
	for _, key := range order {
		// The wheel scrolls the page; with shift it zooms.
		v.zooms = append(v.zooms, zoom{
			DataZoom:         opts.DataZoom{Type: "inside", XAxisIndex: links[key], FilterMode: "none"},
			ZoomOnMouseWheel: "shift",
		})
	}
	c.DataZoomList = make([]opts.DataZoom, len(v.zooms)) // without, the visitor is not asked

	type entry struct {
		Name      string         `json:"name"`
		Icon      string         `json:"icon,omitempty"`
		ItemStyle map[string]any `json:"itemStyle,omitempty"`
	}
	// One legend for each row, because ECharts has one gap for rows and entries.
	for i, k := range p.legend {
		e := entry{Name: k.name, Icon: k.icon(), ItemStyle: map[string]any{"color": css(k.solid()), "borderWidth": 0}}
		if name, ok := names[k.name]; ok {
			e.Name = name
		}
		if k.width > 0 && k.marker != NoMarker {
			e.Icon, e.ItemStyle = "inherit", nil // line and marker
		}
		if i == 0 || p.entries[i].Y > p.entries[i-1].Y {
			v.legends = append(v.legends, legend{ItemGap: entryGap, Legend: opts.Legend{
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
		// ECharts labels the ends of an axis with whatever numbers they are.
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

// splits returns into how many parts ECharts is to be asked to divide a linear axis so
// that its ticks are those of the picture: it takes the span over that number and rounds
// to 1, 2, 3, 5 or 10 times a power of ten. If no number does it, ECharts may choose.
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

// sig drops the digits of an axis limit that no picture shows.
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

// css returns a colour as style sheets write it.
func css(c color.Color) string {
	n := color.NRGBAModel.Convert(c).(color.NRGBA)
	if n.A == 0xff {
		return fmt.Sprintf("#%02x%02x%02x", n.R, n.G, n.B)
	}
	return fmt.Sprintf("rgba(%d,%d,%d,%.3g)", n.R, n.G, n.B, float64(n.A)/255)
}

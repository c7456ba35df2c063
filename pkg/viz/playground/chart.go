package playground

import (
	"math"
	"strconv"
)

// colours are those of viz.Palette. This package does not import viz, whose fonts would
// double the size of the program.
var colours = [...]string{"#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9"}

// Ink stands for the colour of text on the page, and pale for that of grey helper lines:
// the page replaces both.
const ink, pale = "ink", "pale"

// points are the data of a series. In JSON a row with a NaN becomes null, which leaves a
// gap in the line, and numbers have six digits.
type points [][]float64

func (p points) MarshalJSON() ([]byte, error) {
	b := append(make([]byte, 0, 24*len(p)), '[')
	for i, row := range p {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendRow(b, row)
	}
	return append(b, ']'), nil
}

func appendRow(b []byte, row []float64) []byte {
	for _, v := range row {
		if v-v != 0 {
			return append(b, "null"...)
		}
	}
	for i, v := range row {
		b = append(b, "[,"[min(i, 1)])
		b = strconv.AppendFloat(b, v, 'g', 6, 64)
	}
	return append(b, ']')
}

// gap breaks a line.
var gap = []float64{math.NaN(), math.NaN()}

// An axis has fixed ends, so that it does not jump while a knob moves.
type axis struct {
	name     string
	min, max float64
}

func (a axis) option() map[string]any {
	return map[string]any{"type": "value", "name": a.name, "nameLocation": "middle", "nameGap": 28, "min": a.min, "max": a.max}
}

// newChart returns a chart with one pair of axes.
func newChart(id, title string, height int, x, y axis, series ...map[string]any) Chart {
	vertical := y.option() // its name stands above it, where labels of any length leave room
	vertical["nameLocation"], vertical["nameGap"], vertical["nameTextStyle"] = "end", 10, map[string]any{"align": "left"}
	return Chart{ID: id, Title: title, Height: height, Option: map[string]any{
		"animation": false,
		"grid":      map[string]any{"left": 8, "right": 16, "top": 24, "bottom": 32, "containLabel": true},
		"xAxis":     x.option(), "yAxis": vertical, "series": series,
	}}
}

// line returns a series that joins points.
func line(name, colour string, width float64, data points) map[string]any {
	return map[string]any{"type": "line", "name": name, "data": data, "color": colour, "silent": true, "showSymbol": false,
		"animation": false, "lineStyle": map[string]any{"width": width, "color": colour}}
}

// dots returns a series of single points.
func dots(name, colour string, size float64, data points) map[string]any {
	return map[string]any{"type": "scatter", "name": name, "data": data, "color": colour, "silent": true, "symbolSize": size, "animation": false}
}

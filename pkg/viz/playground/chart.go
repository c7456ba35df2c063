package playground

import (
	"encoding/binary"
	"math"
)

// colours are those of viz.Palette. This package does not import viz, whose fonts would
// double the size of the program.
var colours = [...]string{"#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9"}

// Ink stands for the colour of text on the page, and pale for that of grey helper lines:
// the page replaces both.
const ink, pale = "ink", "pale"

// points are the data of a series. A NaN leaves a gap in the line.
type points [][2]float64

// gap breaks a line.
var gap = [2]float64{math.NaN(), math.NaN()}

// joined returns the points (x[i], y[i]).
func joined(x, y []float64) points {
	p := make(points, len(x))
	for i := range x {
		p[i] = [2]float64{x[i], y[i]}
	}
	return p
}

// packed returns points as they are sent: encoding/json writes bytes in base64, which the
// page reads ten times as fast as numbers in decimal notation.
func (p points) packed(x, y axis) []byte {
	b := make([]byte, 0, 8*len(p))
	for _, at := range p {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(float32(x.near(at[0]))))
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(float32(y.near(at[1]))))
	}
	return b
}

// An axis has fixed ends, so that it does not jump while a knob moves.
type axis struct {
	name     string
	min, max float64
	log      bool
}

// linear returns a linear axis.
func linear(name string, low, high float64) axis { return axis{name: name, min: low, max: high} }

// near moves values that are far outside of a linear axis nearer to it, because ECharts
// cannot draw them well, and values outside of a logarithmic axis to its ends.
func (a axis) near(v float64) float64 {
	far := a.max - a.min
	if a.log {
		far = 0
	}
	return min(max(v, a.min-far), a.max+far)
}

func (a axis) option() map[string]any {
	o := map[string]any{"type": "value", "name": a.name, "nameLocation": "middle", "nameGap": 28, "min": a.min, "max": a.max}
	if a.log {
		o["type"] = "log"
	}
	return o
}

// newChart returns a chart with one pair of axes.
func newChart(id, title string, height int, x, y axis, series ...map[string]any) Chart {
	vertical := y.option() // its name stands above it, where labels of any length leave room
	vertical["nameLocation"], vertical["nameGap"], vertical["nameTextStyle"] = "end", 10, map[string]any{"align": "left"}
	if x.log || y.log {
		// ECharts rounds the ends of a logarithmic axis to the digits of the extreme data, so
		// invisible points are added at the ends.
		series = append(series, dots("", pale, 0, points{{x.min, y.min}, {x.max, y.max}}))
	}
	for _, s := range series {
		s["data"] = s["data"].(points).packed(x, y)
	}
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

// dashed returns a series whose line is dashed.
func dashed(series map[string]any) map[string]any {
	series["lineStyle"].(map[string]any)["type"] = "dashed"
	return series
}

// upright returns a line at x over the whole of an axis.
func upright(name, colour string, width, x float64, y axis) map[string]any {
	return line(name, colour, width, points{{x, y.min}, {x, y.max}})
}

// dots returns a series of single points.
func dots(name, colour string, size float64, data points) map[string]any {
	return map[string]any{"type": "scatter", "name": name, "data": data, "color": colour, "silent": true, "symbolSize": size, "animation": false}
}

// decade rounds to a power of ten.
func decade(v float64, round func(float64) float64) float64 {
	return math.Pow(10, round(math.Log10(v)))
}

package viz

// The layers of a panel as series of an interactive chart: numbers rounded to what
// is seen, and the samples of them in the legend.

import (
	"encoding/json"
	"image/color"
	"math"
	"strconv"

	"github.com/go-echarts/go-echarts/v2/opts"
	"github.com/go-echarts/go-echarts/v2/types"
)

// chartSeries returns the series of one layer, in a panel that shows lim in frame.
func chartSeries(l Layer, panel Panel, lim, frame box, every int) []series {
	k := l.look()
	q := rounding{panel, lim}
	hidden := map[string]any{"show": false}
	xs := scale{lim.x0, lim.x1, frame.x1 - frame.x0, panel.X.Log}
	ys := scale{lim.y0, lim.y1, frame.y1 - frame.y0, panel.Y.Log}
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
		if k.marker != NoMarker {
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
				px, py := x[a:b], y[a:b]
				px, py = simplified(px, py, xs, ys)
				paths = append(paths, map[string]any{"coords": q.vertices(px, py)})
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
			if k.marker == NoMarker {
				x, y = simplified(x, y, xs, ys)
			}
			s := plain(x, y)
			return append([]series{s}, ending...)
		}
		every = l.every(every)
		if every > 1 {
			// As dark together as all of them would be.
			n := color.NRGBAModel.Convert(k.color).(color.NRGBA)
			a := 1 - math.Pow(1-float64(n.A)/255, float64(every))
			n.A = max(n.A, uint8(255*min(a, 0.5)))
			k.color = n
		}
		s := curves(l.X, l.Y, every, k.width, k.dash)
		ss := []series{s}
		if k.marker != NoMarker {
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
		return append(ss, scatter(k, q.vertices(x, y), or(l.Size, 6)))
	case Rule:
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

// rounding writes numbers to 1e-4 of the length of their axis.
type rounding struct {
	panel Panel
	lim   box
}

func (q rounding) vertices(x, y []float64) json.RawMessage {
	b := make([]byte, 0, 16*len(x)+2)
	b = append(b, '[')
	for i := range x {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, '[')
		b = q.x(b, x[i])
		b = append(b, ',')
		b = q.y(b, y[i])
		b = append(b, ']')
	}
	return append(b, ']')
}

func (q rounding) triples(l Band) json.RawMessage {
	b := make([]byte, 0, 24*len(l.X)+2)
	b = append(b, '[')
	for i := range l.X {
		if i > 0 {
			b = append(b, ',')
		}
		lo := l.Lo[i]
		if q.panel.Y.Log {
			lo = max(lo, q.lim.y0/100)
		}
		b = append(b, '[')
		b = q.x(b, l.X[i])
		b = append(b, ',')
		b = q.y(b, lo)
		b = append(b, ',')
		b = q.y(b, l.Hi[i])
		b = append(b, ']')
	}
	return append(b, ']')
}

func (q rounding) x(b []byte, v float64) []byte {
	return round(b, v, q.lim.x1-q.lim.x0, q.panel.X.Log)
}

func (q rounding) y(b []byte, v float64) []byte {
	return round(b, v, q.lim.y1-q.lim.y0, q.panel.Y.Log)
}

func round(b []byte, v, length float64, log bool) []byte {
	if math.IsNaN(v) {
		return append(b, "null"...)
	}
	digits := 4 - int(math.Floor(math.Log10(length)))
	if log || digits < 0 || digits > 12 {
		return strconv.AppendFloat(b, v, 'g', 5, 64)
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

// icon returns the sample of a layer in the legend.
func (k look) icon() string {
	switch {
	case k.area:
		return "rect"
	// A legend draws its own squares and triangles as wide as its lines; of a path it
	// keeps the shape.
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

package playground

import (
	"encoding/binary"
	"encoding/json"
	"math"
)

// A Chart is one pair of axes with its series. The script of the page turns a Chart into
// options for ECharts.
type Chart struct {
	ID     string   `json:"id"`
	Title  string   `json:"title"`
	Height int      `json:"height"` // in CSS pixels
	X      Axis     `json:"x"`
	Y      Axis     `json:"y"`
	Series []Series `json:"series"`
}

// An Axis has fixed limits, so that it does not jump while a slider is moved.
type Axis struct {
	Name string  `json:"name"`
	Min  float64 `json:"min"`
	Max  float64 `json:"max"`
	Log  bool    `json:"log"`
}

// linear returns a linear axis.
func linear(name string, low, high float64) Axis { return Axis{Name: name, Min: low, Max: high} }

// A Series is drawn as a line through its points or, if Size is positive, as dots at the
// points. Series with the same name are shown and hidden together.
type Series struct {
	Name    string  `json:"name"`
	Colour  string  `json:"colour"`
	Size    float64 `json:"size"`  // of a dot, in CSS pixels
	Width   float64 `json:"width"` // of the line, in CSS pixels
	Dashed  bool    `json:"dashed"`
	Filled  bool    `json:"filled"`            // down to the horizontal axis
	Opacity float64 `json:"opacity,omitempty"` // of the line; 0 means 1
	Data    points  `json:"data"`
}

// colours holds the colours of viz.Palette. This package does not import package viz,
// whose fonts would double the size of the program.
var colours = [...]string{"#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9"}

// The name `ink` stands for the colour of text on the page, and the name `pale` for the
// colour of grey guide lines. The page replaces the names `ink` and `pale` by colours.
const ink, pale = "ink", "pale"

// points holds the data of a series. A NaN leaves a gap in the line.
type points [][2]float64

// gap is a point that makes a gap in a line.
var gap = [2]float64{math.NaN(), math.NaN()}

// joined returns the points (x[i], y[i]).
func joined(x, y []float64) points {
	p := make(points, len(x))
	for i := range x {
		p[i] = [2]float64{x[i], y[i]}
	}
	return p
}

// MarshalJSON writes the points as 32-bit numbers in base64. The page reads 32-bit numbers
// in base64 ten times as fast as decimal numbers.
func (p points) MarshalJSON() ([]byte, error) {
	b := make([]byte, 0, 8*len(p))
	for _, at := range p {
		for _, v := range at {
			b = binary.LittleEndian.AppendUint32(b, math.Float32bits(float32(v)))
		}
	}
	return json.Marshal(b)
}

// line returns a series that is drawn as a line through the points.
func line(name, colour string, width float64, data points) Series {
	return Series{Name: name, Colour: colour, Width: width, Data: data}
}

// dashed returns the series s with a dashed line.
func dashed(s Series) Series {
	s.Dashed = true
	return s
}

// upright returns a vertical line at x that spans the whole y axis.
func upright(name, colour string, width, x float64, y Axis) Series {
	return line(name, colour, width, points{{x, y.Min}, {x, y.Max}})
}

// dots returns a series that is drawn as dots.
func dots(name, colour string, size float64, data points) Series {
	return Series{Name: name, Colour: colour, Size: size, Data: data}
}

// decade returns a power of ten near v. The argument `round` is the function that rounds
// the exponent.
func decade(v float64, round func(float64) float64) float64 {
	return math.Pow(10, round(math.Log10(v)))
}

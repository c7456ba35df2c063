package viz

import (
	"cmp"
	"fmt"
	"image/color"
	"math"
	"slices"
)

// Figure is a grid of panels under a title and a legend. The legend has one entry for
// each name in the figure; layers with the same name share one entry, even across panels.
type Figure struct {
	Title  string
	Panels []Panel // row by row; a panel without layers is left blank

	// Columns is the number of panels side by side. If Columns is zero, up to three
	// panels form one column, and more than three panels form two columns.
	Columns int

	// Width and Height are in CSS pixels. A Width of zero means 900, about the width of a
	// notebook. A Height of zero means a height that suits the number of rows.
	Width, Height int
}

// Only returns the figure with some of its panels, which are numbered from 0.
func (f Figure) Only(panels ...int) Figure {
	all := f.Panels
	f.Panels = nil
	for _, i := range panels {
		f.Panels = append(f.Panels, all[i])
	}
	return f
}

// Panel is one pair of axes with layers. The layers are drawn in the order of the slice
// Layers.
type Panel struct {
	Title  string
	X, Y   Axis
	Layers []Layer
}

// Axis describes one axis of a panel.
type Axis struct {
	Label string // with its unit
	Log   bool   // a logarithmic axis, which leaves out values ≤ 0 and says so

	// Min and Max are the limits. If Min and Max are zero, the limits are those of the
	// data, with a margin.
	Min, Max float64
}

// A Layer is one of [Line], [Band], [Points] and [Guide].
//
// A layer with an empty Name is not in the legend. A nil Color stands for the next colour
// of [Palette]; all layers with the same name get the same colour. An Opacity of zero
// stands for the default, which depends on the kind of layer. Values that are NaN or
// exceed 1e280 in absolute value are not drawn. A logarithmic axis also leaves out values
// below 1e-280.
type Layer interface {
	check() error
	visit(func(x, y float64)) // all values that the axes must show
	keep(xlog, ylog bool) (l Layer, dropped int)
	look() look
	painted(color.NRGBA) Layer
}

// look is what legend and renderers need. Its colour includes the opacity.
type look struct {
	name   string
	color  color.Color
	width  float64
	dash   Dash
	marker Marker
	area   bool
}

// Line is one polyline, or several polylines that are separated by NaN. If the line is
// translucent, regions in which many polylines overlap look darker.
type Line struct {
	Name    string
	X, Y    []float64 // of the same length
	Label   string    // written at the last point
	Color   color.Color
	Opacity float64 // in (0, 1]; zero means 1
	Width   float64 // in pixels; zero means 1.8
	Dash    Dash
	Marker  Marker // at every vertex
}

// Band is the area between two curves. A NaN leaves a gap in the band.
type Band struct {
	Name      string
	X, Lo, Hi []float64 // of the same length
	Color     color.Color
	Opacity   float64 // in (0, 1]; zero means 0.25
}

// Points are markers at (X, Y), with bars from Y − Err to Y + Err. A point has no bar if
// its Err is NaN or exceeds 1e280 in absolute value.
type Points struct {
	Name   string
	X, Y   []float64 // of the same length
	Err    []float64 // of the same length, or nil
	Color  color.Color
	Marker Marker  // noMarker means Disc
	Size   float64 // diameter in pixels; zero means 6
}

// Guide is a line across the whole panel at x = At, or at y = At if Horizontal is true.
type Guide struct {
	Name       string
	At         float64
	Horizontal bool
	Color      color.Color // nil means black
	Width      float64     // in pixels; zero means 1.2
	Dash       Dash
}

// Dash is a line style. Lines that run close together should differ in their line style,
// and not only in their colour.
type Dash int

const (
	Solid Dash = iota
	Dashed
	Dotted
	DashDotted
)

func (d Dash) lengths() []float64 {
	switch d {
	case Dashed:
		return []float64{7, 4}
	case Dotted:
		return []float64{2, 3}
	case DashDotted:
		return []float64{8, 3, 2, 3}
	}
	return nil
}

// Marker is the shape of a point.
type Marker int

const (
	noMarker Marker = iota
	Disc
	Square
	Triangle
	Ring
)

// People with the common forms of colour blindness can distinguish these colours. Except
// for the grey, the colours are from Okabe and Ito (2008).
var (
	Black      = color.NRGBA{0x00, 0x00, 0x00, 0xff}
	Blue       = color.NRGBA{0x00, 0x72, 0xb2, 0xff}
	Vermillion = color.NRGBA{0xd5, 0x5e, 0x00, 0xff}
	Grey       = color.NRGBA{0x70, 0x70, 0x70, 0xff}
)

// Palette holds the colours that layers without a Color get in turn: blue, vermillion,
// green, purple, orange and sky blue. Black is reserved for reference lines and reference
// solutions. The yellow of Okabe and Ito is left out, because it is too faint on a white
// background.
var Palette = [...]color.NRGBA{Blue, Vermillion,
	{0x00, 0x9e, 0x73, 0xff}, {0xcc, 0x79, 0xa7, 0xff}, {0xe6, 0x9f, 0x00, 0xff}, {0x56, 0xb4, 0xe9, 0xff}}

func (l Line) look() look {
	return look{name: l.Name, color: fade(l.Color, l.Opacity, 1), width: cmp.Or(l.Width, 1.8), dash: l.Dash, marker: l.Marker}
}

func (b Band) look() look {
	return look{name: b.Name, color: fade(b.Color, b.Opacity, 0.25), area: true}
}

func (p Points) look() look {
	m := p.Marker
	if m == noMarker {
		m = Disc
	}
	return look{name: p.Name, color: p.Color, marker: m}
}

func (r Guide) look() look {
	var c color.Color = Black
	if r.Color != nil {
		c = r.Color
	}
	return look{name: r.Name, color: c, width: cmp.Or(r.Width, 1.2), dash: r.Dash}
}

func (l Line) painted(c color.NRGBA) Layer   { l.Color = c; return l }
func (b Band) painted(c color.NRGBA) Layer   { b.Color = c; return b }
func (p Points) painted(c color.NRGBA) Layer { p.Color = c; return p }
func (r Guide) painted(c color.NRGBA) Layer  { r.Color = c; return r }

func (l Line) check() error {
	if len(l.X) != len(l.Y) {
		return fmt.Errorf("line %q has %d values of x and %d of y", l.Name, len(l.X), len(l.Y))
	}
	return nil
}

func (b Band) check() error {
	if len(b.X) != len(b.Lo) || len(b.X) != len(b.Hi) {
		return fmt.Errorf("band %q has %d values of x, %d of lo and %d of hi", b.Name, len(b.X), len(b.Lo), len(b.Hi))
	}
	return nil
}

func (p Points) check() error {
	if len(p.X) != len(p.Y) {
		return fmt.Errorf("points %q have %d values of x and %d of y", p.Name, len(p.X), len(p.Y))
	}
	if p.Err != nil && len(p.Err) != len(p.X) {
		return fmt.Errorf("points %q have %d values of x and %d error bars", p.Name, len(p.X), len(p.Err))
	}
	return nil
}

func (r Guide) check() error {
	if !finite(r.At) {
		return fmt.Errorf("guide %q lies at %v", r.Name, r.At)
	}
	return nil
}

func (l Line) visit(f func(x, y float64)) {
	for i, x := range l.X {
		if finite(x) && finite(l.Y[i]) {
			f(x, l.Y[i])
		}
	}
}

func (b Band) visit(f func(x, y float64)) {
	for i, x := range b.X {
		if finite(x) && finite(b.Lo[i]) && finite(b.Hi[i]) {
			f(x, b.Lo[i])
			f(x, b.Hi[i])
		}
	}
}

func (p Points) visit(f func(x, y float64)) {
	for i, x := range p.X {
		if !finite(x) || !finite(p.Y[i]) {
			continue
		}
		f(x, p.Y[i])
		if p.Err != nil && finite(p.Err[i]) {
			f(x, p.Y[i]-p.Err[i])
			f(x, p.Y[i]+p.Err[i])
		}
	}
}

func (r Guide) visit(f func(x, y float64)) {
	if r.Horizontal {
		f(math.NaN(), r.At)
	} else {
		f(r.At, math.NaN())
	}
}

// If a logarithmic axis cannot show a value, keep replaces this value by NaN. The second
// result is the number of points that a logarithmic axis cannot show. Infinite and
// extremely large values are also replaced by NaN. NaN is therefore the only special
// value that the renderers have to handle.

func (l Line) keep(xlog, ylog bool) (Layer, int) {
	var dropped int
	l.X, l.Y, dropped = keep(l.X, l.Y, xlog, ylog)
	return l, dropped
}

func (p Points) keep(xlog, ylog bool) (Layer, int) {
	var dropped int
	p.X, p.Y, dropped = keep(p.X, p.Y, xlog, ylog)
	if p.Err != nil {
		p.Err = slices.Clone(p.Err)
		for i, e := range p.Err {
			if !finite(e) {
				p.Err[i] = math.NaN() // a point without a bar
			}
		}
	}
	return p, dropped
}

// keep lets a band whose lower edge is negative, such as mean − 2 sd, extend to the
// bottom of a logarithmic panel.
func (b Band) keep(xlog, ylog bool) (Layer, int) {
	var dropped int
	b.X, b.Hi, dropped = keep(b.X, b.Hi, xlog, ylog)
	lo := make([]float64, len(b.Lo))
	for i, v := range b.Lo {
		switch {
		case !finite(v):
			v = math.NaN()
		case ylog && v < tiny:
			v = math.SmallestNonzeroFloat64
		}
		lo[i] = v
	}
	b.Lo = lo
	return b, dropped
}

func (r Guide) keep(xlog, ylog bool) (Layer, int) {
	if r.At < tiny && (r.Horizontal && ylog || !r.Horizontal && xlog) {
		return nil, 1
	}
	return r, 0
}

func keep(x, y []float64, xlog, ylog bool) (kx, ky []float64, dropped int) {
	kx, ky = make([]float64, len(x)), make([]float64, len(x))
	for i := range x {
		kx[i], ky[i] = x[i], y[i]
		if !finite(x[i]) || !finite(y[i]) {
			kx[i], ky[i] = math.NaN(), math.NaN()
			continue
		}
		if xlog && x[i] < tiny || ylog && y[i] < tiny {
			kx[i], ky[i] = math.NaN(), math.NaN()
			dropped++
		}
	}
	return kx, ky, dropped
}

func pieces(x, y []float64, f func(i, j int)) {
	start := -1
	for i := range x {
		switch nan := math.IsNaN(x[i]) || math.IsNaN(y[i]); {
		case nan && start >= 0:
			f(start, i)
			start = -1
		case !nan && start < 0:
			start = i
		}
	}
	if start >= 0 {
		f(start, len(x))
	}
}

// finite excludes values whose axis could overflow.
func finite(v float64) bool { return math.Abs(v) <= 1e280 }

// tiny is small enough for a logarithmic axis, and keeps its margin from underflow.
const tiny = 1e-280

func fade(c color.Color, opacity, usual float64) color.Color {
	if c == nil {
		return nil
	}
	n := color.NRGBAModel.Convert(c).(color.NRGBA)
	n.A = uint8(math.Round(float64(n.A) * cmp.Or(opacity, usual)))
	return n
}

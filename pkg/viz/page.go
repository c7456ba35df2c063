package viz

import (
	"image/color"
	"math"
	"strconv"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
)

// A Graphic is a [Figure] or [Frames], which are the types that [PNG], [SVG] and [HTML]
// can draw.
type Graphic interface {
	// pages computes the layout of the graphic, and returns one page for each frame. All
	// pages have the same axes. The static picture shows the page with index `show`.
	pages() (ps []*page, show int, err error)
}

// A page has everything on which the two renderers must agree.
type page struct {
	Figure     // with its layers painted, and all numbers finite or NaN
	rows, cols int
	limits     []box  // of the axes, by panel
	legend     []look // in the order of their first layers
	selector   int    // height in pixels kept free at the bottom for a slider
	note       string // in the picture, in place of the slider

	// These positions are in pixels from the top left corner of the figure.
	frames  []box      // of the data area of each panel
	entries []vg.Point // left end and middle line of each legend entry
	header  float64    // height of title and legend
}

type box struct{ x0, x1, y0, y1 float64 }

// The sizes below are in pixels; the constant `px` converts pixels to the units of
// gonum/plot. The resolution is 96 pixels per inch, and the font is Liberation Sans,
// whose letters are as wide as those of Arial. Therefore text has the same width in the
// picture and in the browser.
const (
	px = vg.Length(0.75) // points

	titleSize  = 16
	labelSize  = 13
	tickSize   = 12
	legendSize = 12
	margin     = 12  // around the figure
	gap        = 18  // between panels
	lineHeight = 1.2 // of a title, in units of its size
	titleGap   = 7   // between the title of a panel and its data area
	rowHeight  = 20  // of the legend
	keyWidth   = 26  // of the sample beside a name
	keyGap     = 6
	entryGap   = 18
	slider     = 60

	phoneWidth = 360
	icons      = 60 // the width of those in the upper right corner
)

func typeface(size float64, bold bool) text.Style {
	f := font.Font{Typeface: "Liberation", Variant: "Sans"}
	if bold {
		f.Weight = 3 // font.WeightBold of golang.org/x/image
	}
	return text.Style{
		Color:   color.Gray{0x22},
		Font:    font.From(f, vg.Length(size)*px),
		Handler: handler,
	}
}

// limits leaves a margin of 4 % of the data, but none below zero if they begin there, as
// counts and densities do. Limits of the user take precedence.
func (a Axis) limits(lo, hi float64) (float64, float64) {
	given := a.Min != 0 || a.Max != 0
	switch {
	case given:
		lo, hi = a.Min, a.Max
	case lo > hi:
		lo, hi = 1, 1 // a blank panel
	}
	switch {
	case hi-lo <= max(sameValue*max(math.Abs(lo), math.Abs(hi)), tiny):
		return widen(lo, a.Log)
	case given:
		return lo, hi
	}
	const m = 0.04
	if a.Log {
		r := math.Exp(m * (math.Log(hi) - math.Log(lo)))
		return lo / r, hi * r
	}
	d := m * (hi - lo)
	from, to := lo-d, hi+d
	if lo == 0 {
		from = 0
	}
	return from, to
}

// sameValue is the relative difference below which labels would need more than nine
// digits.
const sameValue = 1e-9

func widen(v float64, log bool) (float64, float64) {
	if log {
		return v / 2, v * 2
	}
	d := max(math.Abs(v)/10, 1e-12)
	if v == 0 {
		d = 1
	}
	return v - d, v + d
}

// onPhone has the panels one above the other, without gaps for blank ones.
func (p *page) onPhone() *page {
	q := *p
	q.Width, q.Height, q.Columns, q.entries = phoneWidth, 0, 1, nil
	q.Panels, q.limits = nil, nil
	for i, panel := range p.Panels {
		if len(panel.Layers) > 0 {
			q.Panels, q.limits = append(q.Panels, panel), append(q.limits, p.limits[i])
		}
	}
	q.place()
	return &q
}

func wrapped(title string, sty text.Style, width int) string {
	var lines []string
	for _, word := range strings.Fields(title) {
		last := len(lines) - 1
		if last >= 0 && float64(sty.Width(lines[last]+" "+word)/px) <= float64(width) {
			lines[last] += " " + word
		} else {
			lines = append(lines, word)
		}
	}
	return strings.Join(lines, "\n")
}

func titleHeight(title string, size float64) float64 {
	return size * (1 + lineHeight*float64(strings.Count(title, "\n")))
}

func (p *page) counts() (nx, ny int) {
	w := (p.Width - 2*margin) / p.cols
	h := (p.Height - int(p.header) - p.selector) / p.rows
	return min(w/60, maxTicks), min(h/42, maxTicks)
}

const maxTicks = 24

// step is 1, 2 or 5 times a power of ten, with at most n intervals.
func step(lo, hi float64, n int) float64 {
	raw := (hi - lo) / float64(max(n, 1))
	unit := math.Pow(10, math.Floor(math.Log10(raw)))
	for _, m := range []float64{1, 2, 5} {
		if m*unit >= raw*(1-1e-9) {
			return m * unit
		}
	}
	return 10 * unit
}

// ticks has about n labelled ticks, and on a logarithmic axis others in between.
func (a Axis) ticks(lo, hi float64, n int) []plot.Tick {
	if a.Log && math.Log10(hi)-math.Log10(lo) >= 0.7 { // linear ticks suit a range shorter than from 1 to 5
		return logTicks(lo, hi, n)
	}
	var ts []plot.Tick
	d := step(lo, hi, n)
	first := math.Ceil(lo/d - 1e-9)
	for k := range max(n, 1) + 2 { // and no further, whatever rounding does to v
		v := (first + float64(k)) * d
		if v <= hi+1e-9*d {
			ts = append(ts, plot.Tick{Value: v, Label: number(v, d)})
		}
	}
	return ts
}

// logTicks labels powers of ten and, if there are few, 2 and 5 times those.
func logTicks(lo, hi float64, n int) []plot.Tick {
	e0, e1 := math.Log10(lo), math.Log10(hi)
	every := max(1, int(math.Ceil((e1-e0)/float64(max(n, 2)))))
	var ts []plot.Tick
	for e := int(math.Floor(e0)); e <= int(math.Ceil(e1)); e++ {
		for m := 1; m < 10; m++ {
			v := float64(m) * math.Pow(10, float64(e))
			if v < lo*(1-1e-9) || v > hi*(1+1e-9) {
				continue
			}
			t := plot.Tick{Value: v}
			if m == 1 && e%every == 0 || e1-e0 < 2 && (m == 2 || m == 5) {
				t.Label = power(m, e)
			}
			if t.Label != "" || e1-e0 <= 5 && every == 1 {
				ts = append(ts, t)
			}
		}
	}
	return ts
}

func number(v, d float64) string {
	if v == 0 || math.Abs(v) < 1e-9*d {
		return "0"
	}
	digits := int(-math.Floor(math.Log10(d) + 1e-9))
	if digits > 5 || math.Abs(v) >= 1e6 {
		return strconv.FormatFloat(v, 'g', max(2, 1+digits+int(math.Ceil(math.Log10(math.Abs(v))))), 64)
	}
	return strconv.FormatFloat(v, 'f', max(0, digits), 64)
}

func power(m, e int) string {
	if e >= -3 && e <= 3 {
		return strconv.FormatFloat(float64(m)*math.Pow(10, float64(e)), 'f', max(0, -e), 64)
	}
	s := "10" + superscript(e)
	if m > 1 {
		s = strconv.Itoa(m) + "·" + s
	}
	return s
}

func superscript(e int) string {
	return strings.NewReplacer("-", "⁻", "0", "⁰", "1", "¹", "2", "²", "3", "³", "4", "⁴",
		"5", "⁵", "6", "⁶", "7", "⁷", "8", "⁸", "9", "⁹").Replace(strconv.Itoa(e))
}

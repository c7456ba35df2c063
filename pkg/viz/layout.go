package viz

import (
	"errors"
	"fmt"
	"image/color"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

func (f Figure) pages() ([]*page, int, error) {
	ps, err := layout([]Figure{f}, 0)
	return ps, 0, err
}

// layout is for figures shown one at a time in one place, with the same panels, axes and
// legend.
func layout(fs []Figure, selector int) ([]*page, error) {
	if len(fs[0].Panels) == 0 {
		return nil, errors.New("viz: a figure without panels")
	}
	ps := make([]*page, len(fs))
	var empty = true
	for k, f := range fs {
		if len(f.Panels) != len(fs[0].Panels) {
			return nil, fmt.Errorf("viz: frame %d has %d panels, but the first has %d", k, len(f.Panels), len(fs[0].Panels))
		}
		p := &page{Figure: f, selector: selector}
		p.Panels = make([]Panel, len(f.Panels))
		for i, panel := range f.Panels {
			q, err := panel.prepared()
			if err != nil {
				return nil, fmt.Errorf("viz: panel %d%s: %w", i, inBrackets(panel.Title), err)
			}
			p.Panels[i] = q
			empty = empty && len(q.Layers) == 0
		}
		ps[k] = p
	}
	if empty {
		return nil, errors.New("viz: no panel of the figure has a layer")
	}
	if err := limit(ps); err != nil {
		return nil, err
	}
	legend := paint(ps)
	for _, p := range ps {
		p.legend = legend
		p.place()
	}
	return ps, nil
}

func inBrackets(s string) string {
	if s == "" {
		return ""
	}
	return fmt.Sprintf(" (%s)", s)
}

// prepared removes what cannot be drawn, and counts in the title what a logarithmic axis
// cannot show.
func (p Panel) prepared() (Panel, error) {
	for _, a := range []Axis{p.X, p.Y} {
		switch {
		case !finite(a.Min) || !finite(a.Max) || a.Min > a.Max:
			return p, fmt.Errorf("axis %q from %v to %v", a.Label, a.Min, a.Max)
		case a.Log && a.Min < tiny && (a.Min != 0 || a.Max != 0):
			return p, fmt.Errorf("logarithmic axis %q starts at %v: want at least %v", a.Label, a.Min, tiny)
		}
	}
	dropped := 0
	layers := make([]Layer, 0, len(p.Layers))
	for _, l := range p.Layers {
		if l == nil {
			continue
		}
		if err := l.check(); err != nil {
			return p, err
		}
		l, n := l.keep(p.X.Log, p.Y.Log)
		dropped += n
		if l != nil {
			layers = append(layers, l)
		}
	}
	p.Layers = layers
	if dropped > 0 {
		p.Title = strings.TrimSpace(fmt.Sprintf("%s (%d values ≤ 0 not shown)", p.Title, dropped))
	}
	return p, nil
}

// limit is by the data of all pages.
func limit(ps []*page) error {
	n := len(ps[0].Panels)
	limits := make([]box, n)
	for i := range limits {
		b := box{math.Inf(1), math.Inf(-1), math.Inf(1), math.Inf(-1)}
		for _, p := range ps {
			ylog := p.Panels[i].Y.Log
			for _, l := range p.Panels[i].Layers {
				_, band := l.(Band)
				l.visit(func(x, y float64) {
					if !math.IsNaN(x) {
						b.x0, b.x1 = min(b.x0, x), max(b.x1, x)
					}
					// The limits of a logarithmic axis do not depend on values that are
					// zero or negative, such as the lower end of a band or an error bar.
					if !math.IsNaN(y) && !(ylog && (y <= 0 || band && y == math.SmallestNonzeroFloat64)) {
						b.y0, b.y1 = min(b.y0, y), max(b.y1, y)
					}
				})
			}
		}
		panel := ps[0].Panels[i]
		if len(panel.Layers) > 0 && (b.x0 > b.x1 && panel.X.Min == panel.X.Max || b.y0 > b.y1 && panel.Y.Min == panel.Y.Max) {
			return fmt.Errorf("viz: panel %d%s has no value that can be drawn", i, inBrackets(panel.Title))
		}
		b.x0, b.x1 = panel.X.limits(b.x0, b.x1)
		b.y0, b.y1 = panel.Y.limits(b.y0, b.y1)
		limits[i] = b
	}
	for _, p := range ps {
		p.limits = limits
	}
	return nil
}

func paint(ps []*page) []look {
	var legend []look
	at := map[string]int{}
	colours := map[string]color.NRGBA{}
	next := 0
	for _, p := range ps {
		for i := range p.Panels {
			for j, l := range p.Panels[i].Layers {
				k := l.look()
				if k.color == nil {
					c, ok := colours[k.name]
					if !ok {
						c = Palette[next%len(Palette)]
						next++
						colours[k.name] = c
					}
					l = l.painted(c)
					p.Panels[i].Layers[j] = l
					k = l.look()
				}
				if k.name == "" {
					continue
				}
				if _, ok := at[k.name]; !ok {
					at[k.name] = len(legend)
					legend = append(legend, k)
				}
			}
		}
	}
	return legend
}

func (p *page) place() {
	n := len(p.Panels)
	p.cols = p.Columns
	if p.cols <= 0 {
		p.cols = 1
		if n > 3 {
			p.cols = 2
		}
	}
	p.cols = min(p.cols, n)
	p.rows = (n + p.cols - 1) / p.cols
	if p.Width <= 0 {
		p.Width = 900
	}

	p.Title = wrapped(p.Title, typeface(titleSize, true), p.Width-2*margin-icons)
	p.Panels = slices.Clone(p.Panels)
	for i, q := range p.Panels {
		p.Panels[i].Title = wrapped(q.Title, typeface(labelSize, true), p.Width/p.cols-2*margin)
	}

	// The entries of the legend are in rows under the title.
	y := float64(margin)
	if p.Title != "" {
		y += titleHeight(p.Title, titleSize) + 8
	}
	sty := typeface(legendSize, false)
	if len(p.legend) > 0 {
		x := float64(margin)
		y += rowHeight / 2
		for i, k := range p.legend {
			w := keyWidth + keyGap + float64(sty.Width(k.name)/px) + entryGap
			right := p.Width - margin
			if p.Title == "" && y < margin+rowHeight {
				right -= icons // which are beside the first row
			}
			if i > 0 && x+w-entryGap > float64(right) {
				x = margin
				y += rowHeight
			}
			p.entries = append(p.entries, vg.Point{X: vg.Length(x), Y: vg.Length(y)})
			x += w
		}
		y += rowHeight/2 + 8
	}
	p.header = y

	if p.Height <= 0 {
		// Panels that fill the width usually show time series and may be much wider than
		// high; panels side by side are closer to square.
		h := 250
		if p.cols > 1 {
			h = max(min(310, (p.Width/p.cols)*8/10), 160)
		}
		p.Height = int(p.header) + p.rows*h + (p.rows-1)*gap + margin + p.selector
	}

	plots, canvases := p.tiles(draw.Canvas{Rectangle: vg.Rectangle{
		Max: vg.Point{X: vg.Length(p.Width) * px, Y: vg.Length(p.Height) * px},
	}})
	p.frames = make([]box, n)
	for i := range p.Panels {
		q := plots[i/p.cols][i%p.cols]
		if q == nil {
			continue
		}
		r := q.DataCanvas(canvases[i/p.cols][i%p.cols]).Rectangle
		p.frames[i] = box{
			x0: float64(r.Min.X / px), x1: float64(r.Max.X / px),
			y0: float64(p.Height) - float64(r.Max.Y/px), y1: float64(p.Height) - float64(r.Min.Y/px),
		}
	}
}

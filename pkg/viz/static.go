package viz

import (
	"bytes"
	"cmp"
	"image"
	"image/color"
	"image/png"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"
)

// dpi is the resolution of PNG images. There are 96 CSS pixels per inch, but most
// printers and many screens can show more detail.
const dpi = 120

// PNG draws the graphic as a PNG picture with at most 32 colours. In both directions, one
// CSS pixel of the figure corresponds to 1.25 pixels of the picture.
func PNG(g Graphic) ([]byte, error) {
	p, err := shown(g)
	if err != nil {
		return nil, err
	}
	return p.png()
}

func (p *page) png() ([]byte, error) {
	c := vgimg.NewWith(vgimg.UseWH(vg.Length(p.Width)*px, vg.Length(p.Height)*px), vgimg.UseDPI(dpi))
	p.draw(draw.New(c))
	var b bytes.Buffer
	if err := (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&b, quantized(c.Image().(*image.RGBA))); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// SVG draws the graphic as an SVG document.
func SVG(g Graphic) ([]byte, error) {
	p, err := shown(g)
	if err != nil {
		return nil, err
	}
	c := vgsvg.New(vg.Length(p.Width)*px, vg.Length(p.Height)*px)
	p.draw(draw.New(c))
	var b bytes.Buffer
	if _, err := c.WriteTo(&b); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

func shown(g Graphic) (*page, error) {
	ps, show, err := g.pages()
	if err != nil {
		return nil, err
	}
	return ps[show], nil
}

func (p *page) draw(c draw.Canvas) {
	top := func(y float64) vg.Length { return c.Max.Y - vg.Length(y)*px }
	if p.Title != "" {
		sty := typeface(titleSize, true)
		sty.YAlign = draw.YTop
		c.FillText(sty, vg.Point{X: c.Min.X + margin*px, Y: top(margin - 2)}, p.Title)
	}
	sty := typeface(legendSize, false)
	sty.YAlign = draw.YCenter
	for i, k := range p.legend {
		at := vg.Point{X: c.Min.X + p.entries[i].X*px, Y: top(float64(p.entries[i].Y))}
		k.key(c, at)
		at.X += (keyWidth + keyGap) * px
		c.FillText(sty, at, k.name)
	}
	if p.note != "" {
		sty.Color, sty.XAlign = Grey, draw.XCenter
		c.FillText(sty, vg.Point{X: c.Center().X, Y: c.Min.Y + slider/2*px}, p.note)
	}
	plots, canvases := p.tiles(c)
	for i := range p.Panels {
		if q := plots[i/p.cols][i%p.cols]; q != nil {
			q.Draw(canvases[i/p.cols][i%p.cols])
		}
	}
}

func (k look) key(c draw.Canvas, at vg.Point) {
	w := vg.Length(keyWidth) * px
	if k.area {
		c.FillPolygon(k.color, []vg.Point{
			{X: at.X, Y: at.Y - 6*px}, {X: at.X + w, Y: at.Y - 6*px},
			{X: at.X + w, Y: at.Y + 6*px}, {X: at.X, Y: at.Y + 6*px},
		})
		return
	}
	clr := k.solid()
	if k.width > 0 {
		// If the line is very thin, draw it thicker in the legend, so that its colour can
		// be seen.
		c.StrokeLine2(stroke(clr, max(k.width, 1.5), k.dash), at.X, at.Y, at.X+w, at.Y)
	}
	if k.marker != noMarker {
		c.DrawGlyphNoClip(glyph(k.marker, clr, 7), vg.Point{X: at.X + w/2, Y: at.Y})
	}
}

// solid is more opaque for a translucent line: the legend shows one line of an ensemble.
func (k look) solid() color.NRGBA {
	n := color.NRGBAModel.Convert(k.color).(color.NRGBA)
	if !k.area {
		n.A = max(n.A, 0xa0)
	}
	return n
}

func stroke(c color.Color, width float64, d Dash) draw.LineStyle {
	s := draw.LineStyle{Color: c, Width: vg.Length(width) * px}
	for _, l := range d.lengths() {
		s.Dashes = append(s.Dashes, vg.Length(l)*px)
	}
	return s
}

func glyph(m Marker, c color.Color, size float64) draw.GlyphStyle {
	s := draw.GlyphStyle{Color: c, Radius: vg.Length(size/2) * px}
	switch m {
	case Square:
		s.Shape = draw.BoxGlyph{}
	case Triangle:
		s.Shape = draw.PyramidGlyph{}
	case Ring:
		s.Shape = draw.RingGlyph{}
	default:
		s.Shape = draw.CircleGlyph{}
	}
	return s
}

// tiles has a nil plot for a blank panel.
func (p *page) tiles(c draw.Canvas) (plots [][]*plot.Plot, canvases [][]draw.Canvas) {
	t := draw.Tiles{
		Rows: p.rows, Cols: p.cols,
		PadX: gap * px, PadY: gap * px,
		PadLeft: margin * px, PadRight: margin * px,
		PadTop: vg.Length(p.header) * px, PadBottom: vg.Length(margin+p.selector) * px,
	}
	nx, ny := p.counts()
	plots = make([][]*plot.Plot, p.rows)
	for r := range plots {
		plots[r] = make([]*plot.Plot, p.cols)
		for k := range plots[r] {
			if i := r*p.cols + k; i < len(p.Panels) && len(p.Panels[i].Layers) > 0 {
				plots[r][k] = p.plot(i, nx, ny)
			}
		}
	}
	canvases = plot.Align(plots, t, c)
	// All panels reserve the same space for the labels of the axes. The labels are drawn
	// together with the layers. On a logarithmic axis, gonum/plot would reserve the space
	// for a label near one end of the axis, although it draws the label in the middle.
	var left, bottom vg.Length
	for _, panel := range p.Panels {
		if panel.Y.Label != "" {
			left = labelRoom
		}
		if panel.X.Label != "" {
			bottom = labelRoom
		}
	}
	for _, row := range canvases {
		for k := range row {
			row[k] = draw.Crop(row[k], left, 0, bottom, 0)
		}
	}
	return plots, canvases
}

// plot has at most about nx and ny labelled ticks.
func (p *page) plot(i, nx, ny int) *plot.Plot {
	panel, lim := p.Panels[i], p.limits[i]
	q := plot.New()
	dress := func(a *plot.Axis, b Axis, lo, hi float64, n int) {
		a.Min, a.Max = lo, hi
		a.Padding = 0
		a.LineStyle = stroke(color.Gray{0x55}, 1, Solid)
		sty := typeface(tickSize, false)
		sty.XAlign, sty.YAlign = a.Tick.Label.XAlign, a.Tick.Label.YAlign
		a.Tick.Label = sty
		a.Tick.LineStyle = a.LineStyle
		a.Tick.Length = 5 * px
		a.Tick.Marker = plot.ConstantTicks(b.ticks(lo, hi, n))
		if b.Log {
			a.Scale = plot.LogScale{}
		}
	}
	dress(&q.X, panel.X, lim.x0, lim.x1, nx)
	dress(&q.Y, panel.Y, lim.y0, lim.y1, ny)
	q.Add(grid{}, layers{panel, lim})
	return q
}

type grid struct{}

func (grid) Plot(c draw.Canvas, p *plot.Plot) {
	sty := stroke(color.Gray{0xe6}, 1, Solid)
	x, y := p.Transforms(&c)
	for _, t := range p.X.Tick.Marker.Ticks(p.X.Min, p.X.Max) {
		if t.Label != "" && t.Value > p.X.Min {
			c.StrokeLine2(sty, x(t.Value), c.Min.Y, x(t.Value), c.Max.Y)
		}
	}
	for _, t := range p.Y.Tick.Marker.Ticks(p.Y.Min, p.Y.Max) {
		if t.Label != "" && t.Value > p.Y.Min {
			c.StrokeLine2(sty, c.Min.X, y(t.Value), c.Max.X, y(t.Value))
		}
	}
}

type layers struct {
	panel Panel
	lim   box
}

func (ls layers) GlyphBoxes(p *plot.Plot) []plot.GlyphBox {
	var bs []plot.GlyphBox
	if ls.panel.Title != "" {
		bs = append(bs, plot.GlyphBox{X: 0.5, Y: 1, Rectangle: vg.Rectangle{
			Max: vg.Point{Y: vg.Length(titleHeight(ls.panel.Title, labelSize)+titleGap) * px},
		}})
	}
	sty := typeface(tickSize, false)
	for _, l := range ls.panel.Layers {
		if l, ok := l.(Line); ok && l.Label != "" {
			if x, y, ok := l.end(); ok {
				bs = append(bs, plot.GlyphBox{X: p.X.Norm(x), Y: p.Y.Norm(y), Rectangle: vg.Rectangle{
					Max: vg.Point{X: sty.Width(l.Label) + 6*px},
				}})
			}
		}
	}
	return bs
}

const labelRoom = (labelSize + 6) * px

func (ls layers) labels(c draw.Canvas, p *plot.Plot) {
	out := vg.Length(0)
	for _, t := range p.Y.Tick.Marker.Ticks(p.Y.Min, p.Y.Max) {
		out = max(out, p.Y.Tick.Label.Width(t.Label))
	}
	sty := typeface(labelSize, false)
	sty.XAlign, sty.YAlign = draw.XCenter, draw.YBottom
	sty.Rotation = math.Pi / 2
	c.FillText(sty, vg.Point{X: c.Min.X - p.Y.Tick.Length - out - 10*px, Y: c.Center().Y}, ls.panel.Y.Label)
	sty.Rotation, sty.YAlign = 0, draw.YTop
	c.FillText(sty, vg.Point{X: c.Center().X, Y: c.Min.Y - p.X.Tick.Length - p.X.Tick.Label.Height("0") - 5*px}, ls.panel.X.Label)
}

// end skips points with NaN.
func (l Line) end() (x, y float64, ok bool) {
	for i := len(l.X) - 1; i >= 0; i-- {
		if !math.IsNaN(l.X[i]) && !math.IsNaN(l.Y[i]) {
			return l.X[i], l.Y[i], true
		}
	}
	return 0, 0, false
}

// far is how many widths or heights away from the data area a point is drawn. The
// rasteriser would fail at very large coordinates.
const far = 20

func (ls layers) Plot(c draw.Canvas, p *plot.Plot) {
	at := func(x, y float64) vg.Point {
		clamp := func(v float64) float64 { return max(-far, min(v, 1+far)) }
		return vg.Point{X: c.X(clamp(p.X.Norm(x))), Y: c.Y(clamp(p.Y.Norm(y)))}
	}
	if ls.panel.Title != "" {
		sty := typeface(labelSize, true)
		sty.XAlign = draw.XCenter
		c.FillText(sty, vg.Point{X: c.Center().X, Y: c.Max.Y + titleGap*px}, ls.panel.Title)
	}
	ls.labels(c, p)
	for _, l := range ls.panel.Layers {
		k := l.look()
		switch l := l.(type) {
		case Line:
			ls.line(&c, k, l.X, l.Y, at)
			if x, y, ok := l.end(); ok && l.Label != "" {
				sty := typeface(tickSize, false)
				sty.Color = k.solid()
				sty.YAlign = draw.YCenter
				pt := at(x, y)
				pt.X += 4 * px
				c.FillText(sty, pt, l.Label)
			}
		case Band:
			ls.band(&c, k, l, at)
		case Points:
			if l.Err != nil {
				x, y := l.bars(ls.panel.Y.Log)
				ls.line(&c, look{color: k.color, width: 1.2}, x, y, at)
			}
			g := glyph(k.marker, k.color, cmp.Or(l.Size, 6))
			for i := range l.X {
				if !math.IsNaN(l.X[i]) {
					c.DrawGlyph(g, at(l.X[i], l.Y[i]))
				}
			}
		case Guide:
			x, y := l.ends(ls.lim)
			ls.line(&c, k, x[:], y[:], at)
		}
	}
}

func (ls layers) line(c *draw.Canvas, k look, x, y []float64, at func(x, y float64) vg.Point) {
	var pts []vg.Point
	sty := stroke(k.color, k.width, k.dash)
	pieces(x, y, func(i, j int) {
		pts = pts[:0]
		inside := true
		for ; i < j; i++ {
			pt := at(x[i], y[i])
			inside = inside && c.Contains(pt)
			pts = append(pts, pt)
		}
		switch {
		case len(pts) < 2:
		case inside:
			c.StrokeLines(sty, pts)
		default:
			c.StrokeLines(sty, c.ClipLinesXY(pts)...)
		}
		if k.marker != noMarker {
			g := glyph(k.marker, k.color, 7)
			for _, pt := range pts {
				c.DrawGlyph(g, pt)
			}
		}
	})
}

func (ls layers) band(c *draw.Canvas, k look, b Band, at func(x, y float64) vg.Point) {
	y := make([]float64, len(b.X))
	for i := range y {
		y[i] = b.Lo[i] + b.Hi[i] // NaN if one is
	}
	var pts []vg.Point
	pieces(b.X, y, func(i, j int) {
		pts = pts[:0]
		for k := i; k < j; k++ {
			pts = append(pts, at(b.X[k], b.Lo[k]))
		}
		for k := j - 1; k >= i; k-- {
			pts = append(pts, at(b.X[k], b.Hi[k]))
		}
		c.FillPolygon(k.color, c.ClipPolygonXY(pts))
	})
}

func (p Points) bars(ylog bool) (x, y []float64) {
	for i := range p.X {
		lo := p.Y[i] - p.Err[i]
		if ylog && lo <= 0 {
			lo = math.SmallestNonzeroFloat64
		}
		x = append(x, p.X[i], p.X[i], math.NaN())
		y = append(y, lo, p.Y[i]+p.Err[i], math.NaN())
	}
	return x, y
}

func (r Guide) ends(b box) (x, y [2]float64) {
	if r.Horizontal {
		return [2]float64{b.x0, b.x1}, [2]float64{r.At, r.At}
	}
	return [2]float64{r.At, r.At}, [2]float64{b.y0, b.y1}
}

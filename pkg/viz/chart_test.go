package viz

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"
)

func parse(t *testing.T, s string) float64 {
	t.Helper()
	v, err := strconv.ParseFloat(s, 64)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// An echart is the part of an option that the tests look into.
type echart struct {
	Grid         []struct{ Left, Top, Width, Height string }
	XAxis, YAxis []struct {
		Type      string
		Name      string
		Min, Max  float64
		GridIndex int
	}
	Legend []struct{ Data []struct{ Name string } }
	Series []struct {
		Name, Type string
		XAxisIndex int
		YAxisIndex int
		Z          int
		Data       json.RawMessage
		RenderItem string
		LineStyle  struct{ Type any }
		Label      struct{ Formatter string }
	}
	Title []struct{ Text string }
}

func chartOf(t *testing.T, g Graphic) (c echart, raw []byte) {
	t.Helper()
	raw, err := chartOption(g)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(raw, &c); err != nil {
		t.Fatal(err)
	}
	return c, raw
}

func numbers(t *testing.T, raw json.RawMessage) [][]*float64 {
	t.Helper()
	var d [][]*float64
	if err := json.Unmarshal(raw, &d); err != nil {
		t.Fatalf("%v in %s", err, raw)
	}
	return d
}

func TestOptionIsReproducible(t *testing.T) {
	for _, tt := range gallery {
		a, err := chartOption(tt.g)
		if err != nil {
			t.Fatal(err)
		}
		if b, err := chartOption(tt.g); err != nil || !bytes.Equal(a, b) {
			t.Errorf("%s: two options of one figure differ", tt.name)
		}
		if !json.Valid(a) || bytes.Contains(a, []byte("</")) || bytes.Contains(a, []byte("__f__")) {
			t.Errorf("%s: the option is not plain JSON that is safe in a script", tt.name)
		}
	}
}

// The grids of the chart lie where the panels of the picture lie, and have the
// same axes.
func TestOneLayout(t *testing.T) {
	for _, tt := range gallery {
		if _, ok := tt.g.(Frames); ok {
			continue
		}
		c, _ := chartOf(t, tt.g)
		p := mustPages(t, tt.g)[0]
		if len(c.Grid) != len(p.Panels) || len(c.XAxis) != len(c.Grid) || len(c.YAxis) != len(c.Grid) {
			t.Fatalf("%s: %d grids for %d panels", tt.name, len(c.Grid), len(p.Panels))
		}
		for i, g := range c.Grid {
			b, lim := p.frames[i], p.limits[i]
			for _, d := range []float64{parse(t, g.Left) - b.x0, parse(t, g.Top) - b.y0, parse(t, g.Width) - (b.x1 - b.x0), parse(t, g.Height) - (b.y1 - b.y0)} {
				if math.Abs(d) > 0.5 { // whole pixels
					t.Errorf("%s: grid %d is at %v, the panel at %v", tt.name, i, g, b)
				}
			}
			// Fifteen digits are written.
			if x := c.XAxis[i]; math.Abs(x.Min-lim.x0) > 1e-12*(lim.x1-lim.x0) || math.Abs(x.Max-lim.x1) > 1e-12*(lim.x1-lim.x0) || x.Name != p.Panels[i].X.Label || x.GridIndex != i {
				t.Errorf("%s: x axis %+v for limits %v", tt.name, x, lim)
			}
			if b.x0 < 0 || b.y0 < p.header-1 || b.x1 > float64(p.Width) || b.y1 > float64(p.Height) || b.x1-b.x0 < 100 || b.y1-b.y0 < 80 {
				t.Errorf("%s: panel %d at %v in a figure of %d by %d", tt.name, i, b, p.Width, p.Height)
			}
		}
		var names []string
		for _, l := range c.Legend {
			for _, d := range l.Data {
				names = append(names, d.Name)
			}
		}
		for i, k := range p.legend {
			if names[i] != k.name {
				t.Errorf("%s: legend %v", tt.name, names)
			}
		}
		for i, s := range c.Series {
			if s.Z != i+2 || s.XAxisIndex != s.YAxisIndex {
				t.Errorf("%s: series %d of %q has z %d and axes %d, %d", tt.name, i, s.Name, s.Z, s.XAxisIndex, s.YAxisIndex)
			}
		}
	}
}

// Every kind of layer arrives with its data, NaN as null.
func TestSeries(t *testing.T) {
	x := []float64{1, 2, 3, 4}
	y := []float64{0.5, nan, -1.23456789, inf}
	loop := Line{Name: "loop", X: []float64{0, 1, 0, nan, 3, 4, 3}, Y: []float64{0, 1, 2, nan, 3, 4, 5}, Dash: Dotted, Label: "end"}
	c, _ := chartOf(t, panel(
		Line{Name: "line", X: x, Y: y, Dash: Dashed, Marker: Square},
		Band{Name: "band", X: x, Lo: []float64{0, 0, nan, 0}, Hi: []float64{1, 1, 1, 1}},
		Points{Name: "points", X: x, Y: y, Err: []float64{1, 1, 1, 1}},
		Guide{Name: "x", At: 2.5}, Guide{Name: "y", At: 0.25, Horizontal: true},
		loop,
	))
	var kinds []string
	for _, s := range c.Series {
		kinds = append(kinds, s.Type+" "+s.Name)
	}
	if got, want := strings.Join(kinds, ", "), "line line, custom band, lines points, scatter points, line x, line y, lines loop, scatter loop"; got != want {
		t.Fatalf("series %q, want %q", got, want)
	}
	tol := 1e-4 * (c.YAxis[0].Max - c.YAxis[0].Min)
	d := numbers(t, c.Series[0].Data)
	if len(d) != 4 || *d[0][1] != 0.5 || d[1][1] != nil || math.Abs(*d[2][1]+1.23456789) > tol || d[3][1] != nil {
		t.Errorf("line: %s", c.Series[0].Data)
	}
	if got := fmt.Sprint(c.Series[0].LineStyle.Type); got != "[7 4]" {
		t.Errorf("dashes %v", got)
	}
	d = numbers(t, c.Series[1].Data)
	if len(d) != 4 || len(d[0]) != 3 || *d[0][1] != 0 || *d[0][2] != 1 || d[2][1] != nil || c.Series[1].RenderItem != "band" {
		t.Errorf("band: %s", c.Series[1].Data)
	}
	var bars []struct{ Coords [][]float64 }
	if err := json.Unmarshal(c.Series[2].Data, &bars); err != nil || len(bars) != 2 || bars[0].Coords[0][1] != -0.5 || bars[0].Coords[1][1] != 1.5 {
		t.Errorf("error bars: %s", c.Series[2].Data)
	}
	lim := c.YAxis[0]
	if d = numbers(t, c.Series[4].Data); *d[0][0] != 2.5 || *d[1][0] != 2.5 || math.Abs(*d[0][1]-lim.Min) > tol || math.Abs(*d[1][1]-lim.Max) > tol {
		t.Errorf("vertical rule: %s in %v", c.Series[4].Data, lim)
	}
	if err := json.Unmarshal(c.Series[6].Data, &bars); err != nil || len(bars) != 2 || len(bars[1].Coords) != 3 {
		t.Errorf("loop: %s", c.Series[6].Data)
	}
	if d = numbers(t, c.Series[7].Data); *d[0][0] != 3 || *d[0][1] != 5 || c.Series[7].Label.Formatter != "end" {
		t.Errorf("label: %s", c.Series[7].Data)
	}
}

// Numbers keep five digits of the length of their axis, whatever their size. The length of
// a logarithmic axis is the logarithm of the ratio of its ends.
func TestRounding(t *testing.T) {
	for _, tt := range []struct {
		v, length float64
		log       bool
	}{
		{1.23456789, 4, false}, {-1e-9, 1, false}, {123456.789, 0.01, false}, {1e-7 / 3, 1e-6, false},
		{1e12 / 3, 1e12, false}, {100, 1e4, false}, {-2000000, 1e7, false}, {1e-20 / 3, 1, true}, {3e8 / 7, 500, true},
		// far from 0, on a short axis
		{1764100000 + 1./3, 1e5, false}, {1764123456, 5e6, false}, {1e-3 + 1e-11/3, 1e-10, false}, {-7e20 / 3, 1e17, false},
		{1000.123456789, 1e-3, true}, {1 + 1e-7/3, 1e-6, true},
	} {
		axis := scale{hi: tt.length}
		if tt.log {
			axis = scale{lo: 1, hi: math.Exp(tt.length), log: true}
		}
		s := string(axis.append(nil, tt.v))
		tol := 1e-4 * tt.length
		if tt.log {
			tol = 1e-4 * tt.length * math.Abs(tt.v)
		}
		if v := parse(t, s); math.Abs(v-tt.v) > tol || s == "-0" || !json.Valid([]byte(s)) {
			t.Errorf("%v on an axis of length %v is written %s", tt.v, tt.length, s)
		}
	}
	if s := string(scale{hi: 1}.append(nil, nan)); s != "null" {
		t.Errorf("NaN is written %s", s)
	}
}

// A large ensemble is drawn in part, and the legend says so; the picture has all
// of it. Contours beside it are not thinned.
func TestThinning(t *testing.T) {
	f := ensemble(500, false)
	f.Panels = append(f.Panels, posterior().Panels[0])
	c, raw := chartOf(t, f)
	if len(raw) > 1<<20 {
		t.Errorf("an option of %d bytes", len(raw))
	}
	if got := c.Legend[0].Data[0].Name; got != "500 paths (1 in 5 drawn)" || c.Series[0].Name != got {
		t.Errorf("legend %q, series %q", got, c.Series[0].Name)
	}
	var paths []struct{ Coords [][]float64 }
	if err := json.Unmarshal(c.Series[0].Data, &paths); err != nil || len(paths) != 100 || len(paths[0].Coords) > 201 {
		t.Errorf("%d paths: %v", len(paths), err)
	}
	for _, s := range c.Series {
		if strings.HasPrefix(s.Name, "h = ") && strings.Contains(s.Name, "drawn") {
			t.Errorf("series %q", s.Name)
		}
	}
}

// A simplified curve is nowhere farther than the tolerance from the whole one, keeps
// its ends, its gaps and a spike, and a smooth curve gets much shorter.
func TestSimplified(t *testing.T) {
	q := scales{scale{0, 20, 800, false}, scale{1e-3, 10, 300, true}}
	var x, y []float64
	for i := range 2001 {
		x = append(x, float64(i)/100)
		y = append(y, 2+math.Sin(x[i]))
	}
	y[700], y[1200] = 5, nan
	sx, sy := q.simplified(x, y)
	if len(sx) > 200 {
		t.Errorf("%d of %d vertices are left", len(sx), len(x))
	}
	if sx[0] != x[0] || sx[len(sx)-1] != x[2000] || !slices.Contains(sy, 5) {
		t.Error("an end or a spike is lost")
	}
	gap := slices.IndexFunc(sy, math.IsNaN)
	if gap < 0 || sx[gap-1] != x[1199] || sx[gap+1] != x[1201] {
		t.Error("a gap is lost")
	}
	for i := range x {
		if i == 1200 {
			continue
		}
		j, _ := slices.BinarySearch(sx, x[i])
		d := math.Hypot(q.x.pixel(sx[j])-q.x.pixel(x[i]), q.y.pixel(sy[j])-q.y.pixel(y[i]))
		if j > 0 && j != gap && j != gap+1 {
			px, py := q.x.pixel(sx[j-1]), q.y.pixel(sy[j-1])
			d = min(d, distance(q.x.pixel(x[i])-px, q.y.pixel(y[i])-py, q.x.pixel(sx[j])-px, q.y.pixel(sy[j])-py))
		}
		if d > tolerance+1e-9 {
			t.Fatalf("vertex %d is %v pixels from the curve that is left", i, d)
		}
	}
}

func TestThinningPoints(t *testing.T) {
	x, y := gaussian(20000, 0, 0, 1, 1, 0, 3)
	c, _ := chartOf(t, panel(Points{Name: "draws", X: x, Y: y}))
	if d := numbers(t, c.Series[0].Data); len(d) != 5000 || c.Series[0].Name != "draws (1 in 4 drawn)" {
		t.Errorf("%d points of %q", len(d), c.Series[0].Name)
	}
}

// The thinned curve has the extremes of the whole one.
func TestThin(t *testing.T) {
	var x, y []float64
	for i := range 100000 {
		x, y = append(x, float64(i)), append(y, math.Sin(float64(i)))
	}
	y[54321], y[77777] = 9, -9
	tx, ty := thin(x, y)
	if len(tx) > maxRun+2 || len(tx) != len(ty) || !monotone(tx) {
		t.Fatalf("%d values", len(tx))
	}
	found := 0
	for i, v := range ty {
		if v == 9 && tx[i] == 54321 || v == -9 && tx[i] == 77777 {
			found++
		}
	}
	if found != 2 {
		t.Error("a spike is lost")
	}
}

// The thinned band covers the whole one.
func TestThinBand(t *testing.T) {
	var b Band
	for i := range 10000 {
		b.X, b.Lo, b.Hi = append(b.X, float64(i)), append(b.Lo, math.Sin(float64(i))), append(b.Hi, 2+math.Cos(float64(i)))
	}
	b.Hi[4321] = 9
	s := b.thin()
	if len(s.X) > maxRun {
		t.Fatalf("%d values", len(s.X))
	}
	k := 0
	for i, x := range b.X {
		for k+1 < len(s.X) && s.X[k+1] <= x {
			k++
		}
		if s.Lo[k] > b.Lo[i] || s.Hi[k] < b.Hi[i] {
			t.Fatalf("at %v the band [%v, %v] is thinned to [%v, %v]", x, b.Lo[i], b.Hi[i], s.Lo[k], s.Hi[k])
		}
	}
}

func TestSliderOption(t *testing.T) {
	f := frames()
	raw, err := chartOption(f)
	if err != nil {
		t.Fatal(err)
	}
	var o struct {
		BaseOption struct {
			echart
			Timeline struct {
				Data         []string
				CurrentIndex int
				ReplaceMerge []string
			}
		}
		Options []echart
	}
	if err := json.Unmarshal(raw, &o); err != nil {
		t.Fatal(err)
	}
	if tl := o.BaseOption.Timeline; strings.Join(tl.Data, ", ") != "h = 0.05, h = 0.1, h = 0.2" || tl.CurrentIndex != f.Show || len(tl.ReplaceMerge) != 1 {
		t.Errorf("timeline %+v", tl)
	}
	if len(o.BaseOption.Series) != 0 || len(o.BaseOption.Grid) != 2 || len(o.Options) != 3 {
		t.Errorf("%d series and %d grids in the base of %d frames", len(o.BaseOption.Series), len(o.BaseOption.Grid), len(o.Options))
	}
	for i, c := range o.Options {
		if c.Title[0].Text != "Backward Euler, h = "+f.Names[i] || len(c.Series) != 4 {
			t.Errorf("frame %d: %q with %d series", i, c.Title[0].Text, len(c.Series))
		}
	}
}

// The numbers are what ECharts 5 was seen to draw: asked for 2 parts of 0.07 to 1.84 it
// has one tick, at 1; for 4 those of the picture, at 0.5, 1 and 1.5.
func TestSplits(t *testing.T) {
	for _, c := range []struct {
		lo, hi  float64
		n, want int
	}{{0.07, 1.84, 4, 3}, {0, 20, 11, 9}, {-2.2, 2.2, 5, 3}, {0, 1, 3, 2}, {0, 3, 2, 2}} {
		if got := splits(c.lo, c.hi, c.n); got != c.want {
			t.Errorf("[%g, %g] with %d ticks at most: %d parts, want %d", c.lo, c.hi, c.n, got, c.want)
		}
	}
}

// On a phone the panels lie below each other, within a width at which they can be read,
// and every line of a title fits.
func TestOnPhone(t *testing.T) {
	long := Figure{Title: "A title that is as long as that of a figure of the course, and then some more words", Columns: 3}
	for range 6 {
		p := panel(Line{X: []float64{1, 2}, Y: []float64{1e5, 2e5}}).Panels[0]
		p.Title = "the first of the panels, which has many words as well"
		long.Panels = append(long.Panels, p, Panel{}) // and a blank one
	}
	graphics := map[string]Graphic{"long titles": long}
	for _, tt := range gallery {
		graphics[tt.name] = tt.g
	}
	for name, g := range graphics {
		_, raw := chartOf(t, g)
		var c struct {
			Phone struct {
				Width, Height float64
				Layout        echart
				Titles        []any
			}
		}
		if err := json.Unmarshal(raw, &c); err != nil {
			t.Fatal(err)
		}
		phone := c.Phone
		if f, ok := g.(Frames); ok && len(phone.Titles) != len(f.Figures) {
			t.Errorf("%s: titles of %d frames, want %d", name, len(phone.Titles), len(f.Figures))
		}
		if phone.Width < 320 || phone.Width > 390 || len(phone.Layout.Grid) == 0 {
			t.Fatalf("%s: %d panels in a width of %v", name, len(phone.Layout.Grid), phone.Width)
		}
		below := 0.0
		for i, q := range phone.Layout.Grid {
			left, top, width, height := parse(t, q.Left), parse(t, q.Top), parse(t, q.Width), parse(t, q.Height)
			if left < 20 || left+width > phone.Width || width < phone.Width/2 || height < 100 || top < below || i > 0 && top > below+150 || top+height > phone.Height {
				t.Errorf("%s: panel %d at %v on a screen of %v by %v", name, i, q, phone.Width, phone.Height)
			}
			below = top + height
		}
		for i, title := range phone.Layout.Title {
			for line := range strings.Lines(title.Text) {
				if w := typeface(labelSize, true).Width(strings.TrimSpace(line)) / px; float64(w) > phone.Width-2*margin {
					t.Errorf("%s: line %q of title %d takes %v pixels", name, line, i, w)
				}
			}
		}
	}
}

func chartOption(g Graphic) ([]byte, error) {
	ps, show, err := g.pages()
	if err != nil {
		return nil, err
	}
	return option(g, ps, show)
}

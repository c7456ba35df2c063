package viz

import (
	"math"
	"reflect"
	"strings"
	"testing"

	"gonum.org/v1/gonum/floats"
)

var nan, inf = math.NaN(), math.Inf(1)

func panel(ls ...Layer) Figure { return Figure{Panels: []Panel{{Layers: ls}}} }

func TestErrors(t *testing.T) {
	line := Line{Name: "a", X: []float64{1, 2}, Y: []float64{1, 2}}
	for _, tt := range []struct {
		name string
		g    Graphic
		want string // a part of the one line
	}{
		{"no panels", Figure{}, "without panels"},
		{"no layers", panel(), "no panel of the figure has a layer"},
		{"line", panel(Line{Name: "a", X: []float64{1}}), `line "a" has 1 values of x and 0 of y`},
		{"band", panel(Band{Name: "b", X: []float64{1}, Lo: []float64{1}}), `band "b" has 1 values of x, 1 of lo and 0 of hi`},
		{"points", panel(Points{Name: "c", X: []float64{1}}), `points "c" have 1 values of x and 0 of y`},
		{"bars", panel(Points{Name: "c", X: []float64{1}, Y: []float64{1}, Err: []float64{1, 2}}), "2 error bars"},
		{"guide", panel(Guide{Name: "d", At: nan}), `guide "d" lies at NaN`},
		{"nothing finite", panel(Line{Name: "a", X: []float64{1}, Y: []float64{nan}}), "no value that can be drawn"},
		{"axis", Figure{Panels: []Panel{{X: Axis{Label: "t", Min: 2, Max: 1}, Layers: []Layer{line}}}}, `axis "t" from 2 to 1`},
		{"log axis", Figure{Panels: []Panel{{X: Axis{Label: "h", Log: true, Max: 1}, Layers: []Layer{line}}}}, `logarithmic axis "h" starts at 0`},
		{"log data", Figure{Panels: []Panel{{Title: "P", X: Axis{Log: true}, Layers: []Layer{Line{X: []float64{-1, 0}, Y: []float64{1, 1}}}}}}, "no value that can be drawn"},
		{"no frames", Frames{Label: "h"}, "the slider for h has no frames"},
		{"names", Frames{Label: "h", Names: []string{"1", "2"}, Figures: []Figure{panel(line)}}, "2 names and 1 frames: want equal numbers"},
		{"show", Frames{Label: "h", Names: []string{"1"}, Figures: []Figure{panel(line)}, Show: 1}, "starts at frame 1: want a number from 0 to 0"},
		{"unlike frames", Frames{Label: "h", Names: []string{"1", "2"}, Figures: []Figure{panel(line), {Panels: make([]Panel, 2)}}}, "frame 1 has 2 panels, but the first has 1"},
	} {
		for _, f := range []func(Graphic) error{
			func(g Graphic) error { _, err := PNG(g); return err },
			func(g Graphic) error { _, err := SVG(g); return err },
			func(g Graphic) error { _, err := chartOption(g); return err },
			func(g Graphic) error { _, err := HTML(g); return err },
		} {
			err := f(tt.g)
			if err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "\n") || !strings.HasPrefix(err.Error(), "viz: ") {
				t.Errorf("%s: error %v, want one line with %q", tt.name, err, tt.want)
			}
		}
	}
}

func mustPages(t *testing.T, g Graphic) []*page {
	t.Helper()
	ps, _, err := g.pages()
	if err != nil {
		t.Fatal(err)
	}
	return ps
}

// What a logarithmic axis cannot show is left out, counted and said.
func TestLogarithmicAxis(t *testing.T) {
	x := []float64{1, 10, 100, 1000}
	lo, hi := []float64{-1, 0, 1, 1}, []float64{1, 2, 3, -4}
	l := Line{Name: "l", X: []float64{-1, 10, 100, 1000}, Y: []float64{1, 0, 2, 3}}
	f := Figure{Panels: []Panel{{
		Title: "P", X: Axis{Log: true}, Y: Axis{Log: true},
		Layers: []Layer{l, Band{X: x, Lo: lo, Hi: hi}, Guide{At: -1}, Points{X: x, Y: []float64{1, 1, 1, 1}, Err: []float64{2, 0, 0, 0}}},
	}}}
	before := append([]float64(nil), lo...)
	p := mustPages(t, f)[0]
	// Two points of the line, the upper edge of the band at 1000, the rule; the
	// lower edge and the error bar are cut off but still there.
	if got, want := p.Panels[0].Title, "P (4 values ≤ 0 not shown)"; got != want {
		t.Errorf("title %q, want %q", got, want)
	}
	if len(p.Panels[0].Layers) != 3 {
		t.Errorf("%d layers, want 3", len(p.Panels[0].Layers))
	}
	if b := p.limits[0]; b.x0 <= 0 || b.y0 < 0.5 {
		t.Errorf("limits %v, want positive ones that are set by values that can be shown", b)
	}
	if !reflect.DeepEqual(lo, before) {
		t.Errorf("the caller's data were changed: %v", lo)
	}
	if _, err := HTML(f); err != nil {
		t.Error(err)
	}
}

func TestLimits(t *testing.T) {
	for _, tt := range []struct {
		a            Axis
		lo, hi       float64
		wantL, wantH float64
	}{
		{Axis{}, 1, 2, 0.96, 2.04},
		{Axis{}, 0, 2, 0, 2.08}, // counts start at zero
		{Axis{Min: 3, Max: 4}, 1, 2, 3, 4},
		{Axis{}, 5, 5, 4.5, 5.5},
		{Axis{}, 0, 0, -1, 1},
		{Axis{Log: true}, 1, 100, math.Pow(10, -0.08), math.Pow(10, 2.08)},
		{Axis{Log: true}, 2, 2, 1, 4},
		{Axis{Log: true}, 1, 1 + 0x1p-51, 0.5, 2}, // equal but for rounding
		{Axis{}, 1, 1 + 5e-13, 0.9, 1.1},
		{Axis{Min: 3, Max: 3 + 1e-12}, 1, 2, 2.7, 3.3},
	} {
		lo, hi := tt.a.limits(tt.lo, tt.hi)
		// A few roundings.
		if math.Abs(lo-tt.wantL) > 1e-12*hi || math.Abs(hi-tt.wantH) > 1e-12*hi {
			t.Errorf("limits of %v for [%v, %v]: [%v, %v], want [%v, %v]", tt.a, tt.lo, tt.hi, lo, hi, tt.wantL, tt.wantH)
		}
	}
}

// Ticks lie within the axis, are multiples of a round step, are labelled with
// their values, and there are neither too few nor too many.
func TestTicks(t *testing.T) {
	for _, b := range [][2]float64{{0, 20}, {-2.1, 2.1}, {0.118, 0.3914}, {1e-7, 3e-7}, {-3e6, 8e6}, {1000, 1000.5}, {0, 1e-3}} {
		ts := Axis{}.ticks(b[0], b[1], 7)
		if len(ts) < 3 || len(ts) > 8 {
			t.Errorf("%d ticks on %v", len(ts), b)
		}
		for _, k := range ts {
			if k.Value < b[0]-1e-9*(b[1]-b[0]) || k.Value > b[1]+1e-9*(b[1]-b[0]) {
				t.Errorf("tick %v outside of %v", k.Value, b)
			}
			if v := parse(t, k.Label); math.Abs(v-k.Value) > 1e-6*(b[1]-b[0]) {
				t.Errorf("tick %v is labelled %q", k.Value, k.Label)
			}
		}
	}
	for _, tt := range []struct {
		lo, hi float64
		want   string
	}{
		{1e-6, 1e6, "10⁻⁶ 10⁻⁴ 0.01 1 100 10⁴ 10⁶"},
		{0.004, 0.06, "0.005 0.01 0.02 0.05"},
		{0.9e-5, 1.1e-3, "10⁻⁵ 10⁻⁴ 0.001"},
		{2, 7, "2 3 4 5 6 7"},
	} {
		var got []string
		for _, k := range (Axis{Log: true}).ticks(tt.lo, tt.hi, 6) {
			if k.Label != "" {
				got = append(got, k.Label)
			}
		}
		if s := strings.Join(got, " "); s != tt.want {
			t.Errorf("labels on [%v, %v]: %q, want %q", tt.lo, tt.hi, s, tt.want)
		}
	}
}

// Whatever the values, an axis with room for three ticks has at least one, and no axis
// has more than some dozen; they are in increasing order and within its limits.
func FuzzTicks(f *testing.F) {
	f.Add(1.0, 1+0x1p-51, 6, true)
	f.Add(1.0, 1+0x1p-51, 6, false)
	f.Add(0x1p60, 0x1p60+1024, 6, false)
	f.Add(-1e280, 1e280, 14, false)
	f.Add(1e-280, 1e280, 1<<30, true)
	f.Add(5e-324, 1e-323, 3, false)
	f.Add(1e-280, 2e-300, 3, true)
	f.Fuzz(func(t *testing.T, lo, hi float64, width int, log bool) {
		if !finite(lo) || !finite(hi) || lo > hi || log && lo < tiny {
			return
		}
		x, y := []float64{lo, hi}, []float64{1, 2}
		p := &page{Figure: Figure{Width: width, Height: 300, Panels: []Panel{{X: Axis{Log: log}, Layers: []Layer{Line{X: x, Y: y}}}}}, rows: 1, cols: 1}
		n, _ := p.counts()
		a := Axis{Log: log}
		from, to := a.limits(lo, hi)
		if !(from <= lo && lo <= hi && hi <= to && from < to) {
			t.Fatalf("limits of [%v, %v]: [%v, %v]", lo, hi, from, to)
		}
		ts := a.ticks(from, to, n)
		if len(ts) == 0 && n >= 3 || len(ts) > 60 {
			t.Fatalf("%d ticks on [%v, %v]", len(ts), from, to)
		}
		for i, k := range ts {
			if i > 0 && k.Value <= ts[i-1].Value || k.Value < from-1e-8*(to-from) || k.Value > to+1e-8*(to-from) {
				t.Fatalf("tick %d of [%v, %v] at %v", i, from, to, k.Value)
			}
		}
		if s := splits(from, to, n); s < 1 || s > 60 {
			t.Fatalf("the chart divides [%v, %v] into %d", from, to, s)
		}
	})
}

// Layers of one name share a colour and a legend entry; a colour that was given
// does not use up one of the palette.
func TestColours(t *testing.T) {
	xy := []float64{1, 2}
	f := Figure{Panels: []Panel{
		{Layers: []Layer{Line{Name: "a", X: xy, Y: xy}, Line{Name: "b", X: xy, Y: xy, Color: Black}, Line{Name: "c", X: xy, Y: xy}}},
		{Layers: []Layer{Points{Name: "a", X: xy, Y: xy}, Guide{At: 1}}},
	}}
	p := mustPages(t, f)[0]
	a, b, c := p.Panels[0].Layers[0].look(), p.Panels[0].Layers[1].look(), p.Panels[0].Layers[2].look()
	if a.color != Palette[0] || b.color != Black || c.color != Palette[1] || p.Panels[1].Layers[0].look().color != Palette[0] {
		t.Error("colours are not those of the palette in turn")
	}
	var names []string
	for _, k := range p.legend {
		names = append(names, k.name)
	}
	if !reflect.DeepEqual(names, []string{"a", "b", "c"}) {
		t.Errorf("legend %v", names)
	}
	if f.Panels[0].Layers[0].(Line).Color != nil {
		t.Error("the caller's figure was changed")
	}
}

// A guide has the slope that it is labelled with and lies below the curves.
func TestCurves(t *testing.T) {
	p := curves().Panels[0]
	n := 0
	for _, l := range p.Layers {
		l := l.(Line)
		if l.Name != "" {
			continue
		}
		n++
		slope := math.Log(l.Y[1]/l.Y[0]) / math.Log(l.X[1]/l.X[0])
		if math.Abs(slope-float64(n)) > 1e-12 { // one logarithm's rounding
			t.Errorf("guide %q has slope %v", l.Label, slope)
		}
		for _, c := range p.Layers {
			if c := c.(Line); c.Name != "" && floats.Min(c.Y) < l.Y[0] {
				t.Errorf("guide %q starts above %q", l.Label, c.Name)
			}
		}
	}
	if n != 3 {
		t.Errorf("%d guides, want 3", n)
	}
	if p := Curves(Axis{}, Axis{}, []float64{1}); len(p.Layers) != 0 {
		t.Error("a guide without curves")
	}
}

func TestHistogram(t *testing.T) {
	x, _ := gaussian(1000, 3, 0, 2, 1, 0, 1)
	b := Histogram("x", x, 0)
	area := 0.0
	for i := 0; i < len(b.X); i += 3 {
		area += (b.X[i+1] - b.X[i]) / 0.9 * b.Hi[i] // a tenth is gap
	}
	if math.Abs(area-1) > 1e-12 { // rounding of a thousand sums
		t.Errorf("area %v", area)
	}
	for _, x := range [][]float64{nil, {2}, {2, 2}} {
		if b := Histogram("x", x, 3); len(b.X) != len(b.Hi) {
			t.Errorf("histogram of %v", x)
		}
	}
}

// All frames have the same axes, which hold the data of all.
func TestFrames(t *testing.T) {
	f := frames()
	ps := mustPages(t, f)
	for i, p := range ps {
		if !reflect.DeepEqual(p.limits, ps[0].limits) || !reflect.DeepEqual(p.frames, ps[0].frames) || !reflect.DeepEqual(p.legend, ps[0].legend) {
			t.Errorf("frame %d has other axes, another place or another legend than frame 0", i)
		}
		if want := "Backward Euler, h = " + f.Names[i]; p.Title != want {
			t.Errorf("title %q, want %q", p.Title, want)
		}
		for k, panel := range p.Panels {
			b := p.limits[k]
			for _, l := range panel.Layers {
				l.visit(func(x, y float64) {
					if x < b.x0 || x > b.x1 || y < b.y0 || y > b.y1 {
						t.Fatalf("frame %d, panel %d: (%v, %v) outside of the axes", i, k, x, y)
					}
				})
			}
		}
	}
}

// Draws without a density are an error.
func TestNoDensity(t *testing.T) {
	same := Points{Name: "a", X: []float64{2, 2, 2}, Y: []float64{2, 2, 2}}
	if _, err := Contours(Axis{}, Axis{}, nil, same); err == nil {
		t.Error("contours of equal draws")
	}
	if _, err := Densities(Axis{}, nil, same); err == nil {
		t.Error("a density of equal draws")
	}
}

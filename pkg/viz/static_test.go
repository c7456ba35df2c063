package viz

import (
	"bytes"
	"encoding/base64"
	"encoding/xml"
	"image"
	"image/color"
	"image/png"
	"io"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
)

var gallery = []struct {
	name string
	g    Graphic
}{
	{"paths", ensemble(10, false)},
	{"bands", ensemble(10, true)},
	{"posterior", posterior()},
	{"curves", curves()},
	{"medley", medley()},
	{"frames", frames()},
}

// fragments holds the fragment of each figure of the gallery, made once: with
// the race detector a picture takes a second.
var fragments = sync.OnceValues(func() (fs []string, err error) {
	for _, tt := range gallery {
		s, err := HTML(tt.g)
		if err != nil {
			return nil, err
		}
		fs = append(fs, s)
	}
	return fs, nil
})

func render(t *testing.T, g Graphic) image.Image {
	t.Helper()
	b, err := PNG(g)
	if err != nil {
		t.Fatal(err)
	}
	img, err := png.Decode(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	return img
}

// Pixels of a picture to one of a page.
const scaling = dpi / 96.

func TestPNG(t *testing.T) {
	fs, err := fragments()
	if err != nil {
		t.Fatal(err)
	}
	for i, tt := range gallery {
		ps, show, err := tt.g.pages()
		if err != nil {
			t.Fatal(err)
		}
		p := ps[show]
		_, s, _ := strings.Cut(fs[i], "base64,")
		s, _, _ = strings.Cut(s, `"`)
		img, err := png.Decode(base64.NewDecoder(base64.StdEncoding, strings.NewReader(s)))
		if err != nil {
			t.Fatal(err)
		}
		if w, h := img.Bounds().Dx(), img.Bounds().Dy(); w != int(scaling*float64(p.Width)) || math.Abs(float64(h)-scaling*float64(p.Height)) > 1 {
			t.Errorf("%s: %d by %d pixels for %d by %d CSS pixels", tt.name, w, h, p.Width, p.Height)
		}
		// Every panel has colour in it: more than axes and grid.
		for i, b := range p.frames {
			n := 0
			for y := int(scaling*b.y0) + 2; y < int(scaling*b.y1)-2; y++ {
				for x := int(scaling*b.x0) + 2; x < int(scaling*b.x1)-2; x++ {
					if r, g, b, _ := img.At(x, y).RGBA(); max(r, g, b)-min(r, g, b) > 0x1000 {
						n++
					}
				}
			}
			if n < 200 {
				t.Errorf("%s: panel %d has %d coloured pixels", tt.name, i, n)
			}
		}
	}
}

// The same figure, built again, gives the same bytes.
func TestReproducible(t *testing.T) {
	fs, err := fragments()
	if err != nil {
		t.Fatal(err)
	}
	again, err := HTML(curves())
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(fs, again) {
		t.Error("two fragments of one figure differ")
	}
}

func TestSVG(t *testing.T) {
	for _, tt := range gallery {
		a, err := SVG(tt.g)
		if err != nil {
			t.Fatal(err)
		}
		if b, err := SVG(tt.g); err != nil || !bytes.Equal(a, b) {
			t.Errorf("%s: two pictures of one figure differ", tt.name)
		}
		for d := xml.NewDecoder(bytes.NewReader(a)); ; {
			_, err := d.Token()
			if err == io.EOF {
				break
			}
			if err != nil {
				t.Fatalf("%s: %v", tt.name, err)
			}
		}
		if bytes.Contains(a, []byte("NaN")) {
			t.Errorf("%s: NaN in the SVG", tt.name)
		}
	}
}

// At the place of a datum the picture has the colour of its layer, on linear and
// on logarithmic axes, and where there is a gap it has not.
func TestPixels(t *testing.T) {
	x := []float64{1, 10, 20, 40, 100}
	flat := func(v float64) []float64 { return []float64{v, v, nan, v, v} }
	for _, log := range []bool{false, true} {
		a := Axis{Label: "a", Min: 0.5, Max: 200, Log: log}
		f := Figure{Panels: []Panel{{Title: "Pixels", X: a, Y: a, Layers: []Layer{
			Band{Name: "band", X: x, Lo: flat(100), Hi: flat(150), Color: Palette[2], Opacity: 1},
			Line{Name: "line", X: x, Y: flat(60), Color: Blue, Width: 6},
			Points{Name: "points", X: []float64{5, nan, 70, 500}, Y: []float64{30, 30, 30, 30}, Color: Vermillion, Size: 12, Err: []float64{1, 1, 15, 1}},
			Guide{Name: "rule", At: 170, Color: Palette[3], Width: 4},
			Guide{Name: "level", At: 180, Horizontal: true, Color: Palette[4], Width: 4},
		}}}, Width: 600, Height: 500}
		img := render(t, f)
		p := mustPages(t, f)[0]
		at := func(x, y float64) color.NRGBA {
			b := p.frames[0]
			norm := func(v float64) float64 {
				if log {
					return math.Log(v/a.Min) / math.Log(a.Max/a.Min)
				}
				return (v - a.Min) / (a.Max - a.Min)
			}
			return color.NRGBAModel.Convert(img.At(
				int(scaling*(b.x0+norm(x)*(b.x1-b.x0))),
				int(scaling*(b.y1-norm(y)*(b.y1-b.y0))))).(color.NRGBA)
		}
		for _, tt := range []struct {
			name string
			x, y float64
			want color.NRGBA
		}{
			{"band", 3, 120, Palette[2]},
			{"band after the gap", 60, 120, Palette[2]},
			{"line", 3, 60, Blue},
			{"line after the gap", 60, 60, Blue},
			{"point", 5, 30, Vermillion},
			{"point", 70, 30, Vermillion},
			{"vertical rule", 170, 20, Palette[3]},
			{"horizontal rule", 3, 180, Palette[4]},
		} {
			if got := at(tt.x, tt.y); got != tt.want {
				t.Errorf("log %v: %s at (%v, %v) has colour %v, want %v", log, tt.name, tt.x, tt.y, got, tt.want)
			}
		}
		for _, tt := range []struct {
			name string
			x, y float64
			not  color.NRGBA
		}{
			{"gap of the band", 21, 120, Palette[2]},
			{"gap of the line", 21, 60, Blue},
			{"below the line", 3, 45, Blue},
		} {
			if got := at(tt.x, tt.y); got == tt.not {
				t.Errorf("log %v: %s at (%v, %v) has colour %v", log, tt.name, tt.x, tt.y, got)
			}
		}
	}
}

// Nothing that lies outside of the axes is drawn outside of the panel.
func TestClip(t *testing.T) {
	a := Axis{Min: 0, Max: 1}
	x := []float64{-1, 0.5, 2}
	f := Figure{Panels: []Panel{{X: a, Y: a, Layers: []Layer{
		Line{X: x, Y: []float64{-3, 0.5, 1e9}, Color: Blue, Width: 1, Marker: Disc},
		Band{X: x, Lo: []float64{-2, -1, -2}, Hi: []float64{0.5, 3, 0.2}, Color: Palette[2]},
		Points{X: x, Y: x, Err: []float64{3, 3, 3}, Color: Vermillion},
		Guide{At: 5, Color: Palette[3]}, Guide{At: -5, Horizontal: true, Color: Palette[3]},
	}}}, Width: 400, Height: 300}
	img := render(t, f)
	b := mustPages(t, f)[0].frames[0]
	for y := range img.Bounds().Dy() {
		for x := range img.Bounds().Dx() {
			// Markers and widths of lines may reach a few pixels over.
			if fx, fy := float64(x)/scaling, float64(y)/scaling; fx > b.x0-8 && fx < b.x1+8 && fy > b.y0-8 && fy < b.y1+8 {
				continue
			}
			if r, g, b, _ := img.At(x, y).RGBA(); max(r, g, b)-min(r, g, b) > 0x1000 {
				t.Fatalf("pixel (%d, %d) outside of the panel is coloured: %v", x, y, img.At(x, y))
			}
		}
	}
}

func TestBlankPanels(t *testing.T) {
	xy := []float64{1, 2}
	l := Line{X: xy, Y: xy, Color: Blue}
	f := Figure{Columns: 2, Panels: []Panel{{Layers: []Layer{l}}, {}, {Layers: []Layer{l}}}}
	if _, err := HTML(f); err != nil {
		t.Error(err)
	}
	p := mustPages(t, f)[0]
	if p.rows != 2 || p.cols != 2 || p.frames[1] != (box{}) {
		t.Errorf("%d rows, %d columns, blank panel at %v", p.rows, p.cols, p.frames[1])
	}
}

func BenchmarkPNG(b *testing.B) {
	f := ensemble(500, false)
	for b.Loop() {
		if _, err := PNG(f); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkHTML(b *testing.B) {
	f := posterior()
	for b.Loop() {
		if _, err := HTML(f); err != nil {
			b.Fatal(err)
		}
	}
}

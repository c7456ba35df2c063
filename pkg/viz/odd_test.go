package viz

import (
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// Every vertex of a chart is where the datum is, to 1e-4 of the length of the axis, and
// null where the datum cannot be drawn: for data of any size, on short axes far from 0, and
// on logarithmic ones. The positions are compared as fractions of the axis, computed here
// from the limits in the option.
func TestChartShowsTheData(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 5))
	fraction := func(v, lo, hi float64, log bool) float64 {
		if log {
			return (math.Log(v) - math.Log(lo)) / (math.Log(hi) - math.Log(lo))
		}
		return (v - lo) / (hi - lo)
	}
	shown, hidden := 0, 0
	for range 70 {
		// The length of the axis is up to 10⁷ times smaller than the numbers on it.
		draw := func() []float64 {
			size := math.Pow(10, 40*rng.Float64()-20)
			offset := size * math.Pow(10, 7*rng.Float64()) * float64(rng.IntN(3)-1)
			v := make([]float64, 8)
			for i := range v {
				v[i] = offset + size*rng.Float64()
			}
			return v
		}
		x, y := draw(), draw()
		slices.Sort(x)
		y[rng.IntN(8)] = []float64{nan, inf, -inf, 1e300, -1, 0}[rng.IntN(6)]
		f := panel(Points{Name: "points", X: x, Y: y}, Line{Name: "line", X: []float64{x[0], x[7]}, Y: []float64{y[0], y[1]}})
		f.Panels[0].X.Log, f.Panels[0].Y.Log = rng.IntN(3) == 0 && x[0] > 0, rng.IntN(3) == 0 && slices.Max(y[:2]) > 0 && slices.Max(y[2:]) > 0
		if _, err := chartOption(f); err != nil && strings.Contains(err.Error(), "no value that can be drawn") {
			continue
		}
		c, _ := chartOf(t, f)
		for i, v := range numbers(t, c.Series[0].Data) {
			drawn := finite(x[i]) && finite(y[i]) && !(f.Panels[0].X.Log && x[i] <= 0) && !(f.Panels[0].Y.Log && y[i] <= 0)
			if (v[0] != nil && v[1] != nil) != drawn {
				t.Fatalf("(%v, %v) is drawn at %s", x[i], y[i], c.Series[0].Data)
			}
			if !drawn {
				hidden++
				continue
			}
			shown++
			for k, want := range []float64{x[i], y[i]} {
				a, log := c.XAxis[0], f.Panels[0].X.Log
				if k == 1 {
					a, log = c.YAxis[0], f.Panels[0].Y.Log
				}
				if got, at := fraction(*v[k], a.Min, a.Max, log), fraction(want, a.Min, a.Max, log); math.Abs(got-at) > 1.1e-4 || at < 0 || at > 1 {
					t.Fatalf("%v on an axis from %v to %v (logarithmic: %v) is drawn as %v: at %.6f of it, want %.6f", want, a.Min, a.Max, log, *v[k], got, at)
				}
			}
		}
	}
	if shown < 350 || hidden < 50 {
		t.Errorf("%d data were drawn, and %d could not be: want more", shown, hidden)
	}
}

// A figure can be drawn in every format if one of its layers has a value, whatever the
// other values are. The option of the chart is JSON, and the SVG is XML. Half a second is
// what 26 figures take in three formats.
func TestOddValuesAreDrawn(t *testing.T) {
	one := Line{Name: "one", X: []float64{1, 2}, Y: []float64{1, 2}}
	for name, l := range map[string]Layer{
		"empty line":            Line{Name: "l"},
		"empty band":            Band{Name: "b"},
		"empty points":          Points{Name: "p", Err: []float64{}},
		"one vertex":            Line{Name: "l", X: []float64{1}, Y: []float64{1}, Label: "end", Marker: Disc},
		"NaN only":              Line{Name: "l", X: []float64{nan, 1}, Y: []float64{1, nan}, Label: "end"},
		"constant":              Line{Name: "l", X: []float64{1, 1, 1}, Y: []float64{2, 2, 2}},
		"infinite edges":        Band{Name: "b", X: []float64{1, 2, 3}, Lo: []float64{-inf, 1, nan}, Hi: []float64{inf, inf, 2}},
		"infinite bars":         Points{Name: "p", X: []float64{1, 2, 3}, Y: []float64{1, 2, 3}, Err: []float64{inf, nan, 0.5}},
		"bars beyond the range": Points{Name: "p", X: []float64{1, 2}, Y: []float64{1, -1e280}, Err: []float64{1e300, 1e280}},
		"opposite extremes":     Line{Name: "l", X: []float64{-1e280, 1e280}, Y: []float64{1e-280, 1e280}},
		"tiny":                  Points{Name: "p", X: []float64{5e-324, 1e-300}, Y: []float64{-5e-324, 0}},
		"histogram of one":      Histogram("h", []float64{3}, 0),
		"histogram of nothing":  Histogram("h", []float64{nan, inf}, 0),
	} {
		for _, log := range []bool{false, true} {
			f := panel(one, l)
			f.Width, f.Height = 300, 200
			f.Panels[0].X.Log, f.Panels[0].Y.Log = log, log
			option, err := chartOption(f)
			if err == nil && !json.Valid(option) {
				err = errors.New("the option is not JSON")
			}
			if err != nil {
				t.Errorf("%s, logarithmic: %v: %v", name, log, err)
			}
			if _, err := PNG(f); err != nil {
				t.Errorf("%s, logarithmic: %v: PNG: %v", name, log, err)
			}
			svg, err := SVG(f)
			if err == nil {
				_, err = texts(svg)
			}
			if err != nil || strings.Contains(string(svg), "NaN") || strings.Contains(string(svg), "Inf") {
				t.Errorf("%s, logarithmic: %v: SVG: %v", name, log, err)
			}
		}
	}
}

// texts returns the texts in an SVG document.
func texts(svg []byte) (list []string, err error) {
	d := xml.NewDecoder(strings.NewReader(string(svg)))
	for {
		token, err := d.Token()
		if err == io.EOF {
			return list, nil
		}
		if err != nil {
			return nil, err
		}
		if s, is := token.(xml.CharData); is && strings.TrimSpace(string(s)) != "" {
			list = append(list, string(s))
		}
	}
}

// A point whose error is not finite has no bar, and the others have theirs.
func TestBarsThatAreNotFinite(t *testing.T) {
	c, _ := chartOf(t, panel(Points{Name: "p", X: []float64{1, 2, 3}, Y: []float64{1, 2, 3}, Err: []float64{inf, nan, 0.5}}))
	var bars []struct{ Coords [][]float64 }
	if err := json.Unmarshal(c.Series[0].Data, &bars); err != nil || len(bars) != 1 || bars[0].Coords[0][1] != 2.5 || bars[0].Coords[1][1] != 3.5 {
		t.Errorf("%s: %v: want one bar, from 2.5 to 3.5", c.Series[0].Data, err)
	}
	if d := numbers(t, c.Series[1].Data); len(d) != 3 || d[0][1] == nil || d[1][1] == nil {
		t.Errorf("%s: want three points", c.Series[1].Data)
	}
}

// A histogram leaves out what it cannot draw, and the rest has the area 1.
func TestHistogramOfOddValues(t *testing.T) {
	got, want := Histogram("h", []float64{1, nan, 2, inf, 4, -inf, 1e300}, 3), Histogram("h", []float64{1, 2, 4}, 3)
	same := func(a, b float64) bool { return a == b || a != a && b != b }
	if !slices.EqualFunc(got.X, want.X, same) || !slices.EqualFunc(got.Hi, want.Hi, same) {
		t.Errorf("%v, %v: want %v, %v", got.X, got.Hi, want.X, want.Hi)
	}
}

// Names with characters that mean something in HTML, XML or JSON arrive as they are: in the
// SVG, in the option of the chart, and as text in a table.
func TestNamesWithMarkup(t *testing.T) {
	const evil = `a<b> & "c" 'd' </text> &lt; \n`
	f := panel(Line{Name: evil, X: []float64{1, 2}, Y: []float64{1, 2}, Label: "end " + evil})
	f.Title, f.Panels[0].Title, f.Panels[0].X.Label, f.Panels[0].Y.Label = "figure "+evil, "panel "+evil, "x "+evil, "y "+evil
	svg, err := SVG(f)
	if err != nil {
		t.Fatal(err)
	}
	got, err := texts(svg)
	if err != nil {
		t.Fatal(err)
	}
	for _, prefix := range []string{"", "end ", "figure ", "panel ", "x ", "y "} {
		if !slices.Contains(got, prefix+evil) {
			t.Errorf("the SVG has the texts %q: want %q", got, prefix+evil)
		}
	}
	c, _ := chartOf(t, f)
	if c.Series[0].Name != evil || c.Series[1].Label.Formatter != "end "+evil || c.XAxis[0].Name != "x "+evil || c.Title[0].Text != "figure "+evil || c.Title[1].Text != "panel "+evil {
		t.Errorf("the chart has the names %q, %q, %q and %q", c.Series[0].Name, c.Series[1].Label.Formatter, c.XAxis[0].Name, c.Title)
	}
	table := HTMLTable([]string{evil}, [][]string{{evil}, {""}}, func(row, column int) string {
		if row == 0 {
			return `class="n"`
		}
		return ""
	})
	cell := `a&lt;b&gt; &amp; &#34;c&#34; &#39;d&#39; &lt;/text&gt; &amp;lt; \n`
	if want := "<table>\n<thead><tr><th>" + cell + "</th></tr>\n</thead>\n<tbody>\n<tr><td class=\"n\">" + cell + "</td></tr>\n<tr><td></td></tr>\n</tbody>\n</table>"; table != want {
		t.Errorf("the table is\n%s\nwant\n%s", table, want)
	}
}

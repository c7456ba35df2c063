package viz

import (
	"bytes"
	"compress/flate"
	"encoding/base64"
	"encoding/json"
	"image/png"
	"io"
	"math"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var fragment = regexp.MustCompile(`(?s)^<div data-probode="([0-9a-f]{16})" data-width="(\d+)" data-height="(\d+)" style="[^"]*"><img alt="([^"]*)" style="[^"]*" src="data:image/png;base64,([^"]*)"></div>\n<script>\n(.*)probodeViz\.show\("([0-9a-f]{16})", ("[^\n]*")\);\n</script>\n$`)

// A fragment holds the picture and the option of its figure, under one identity,
// and its script ends where it should whatever the names in the figure.
func TestHTML(t *testing.T) {
	seen := map[string]string{}
	evil := panel(Line{Name: `</script><b>&amp; "x" \ __f__`, X: []float64{1, 2}, Y: []float64{1, 2}})
	evil.Title = `<!-- "quoted" </div>`
	fs, err := fragments()
	if err != nil {
		t.Fatal(err)
	}
	last, err := HTML(evil)
	if err != nil {
		t.Fatal(err)
	}
	all := slices.Clone(gallery)
	all = append(all, struct {
		name string
		g    Graphic
	}{"evil", evil})
	for i, s := range append(slices.Clone(fs), last) {
		tt := all[i]
		m := fragment.FindStringSubmatch(s)
		if m == nil {
			t.Fatalf("%s: not the expected form: %.300s", tt.name, s)
		}
		if strings.Count(strings.ToLower(s), "</script") != 1 || strings.Count(s, "</div") != 1 {
			t.Errorf("%s: an element ends early", tt.name)
		}
		if m[1] != m[7] {
			t.Errorf("%s: identities %s and %s", tt.name, m[1], m[7])
		}
		if other, ok := seen[m[1]]; ok {
			t.Errorf("%s and %s share an identity", tt.name, other)
		}
		seen[m[1]] = tt.name

		picture, err := base64.StdEncoding.DecodeString(m[5])
		if err != nil {
			t.Fatal(err)
		}
		if _, err := png.Decode(bytes.NewReader(picture)); err != nil {
			t.Errorf("%s: %v", tt.name, err)
		}
		var want, got any
		opt, err := chartOption(tt.g)
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(opt, &want); err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(flate.NewReader(base64.NewDecoder(base64.StdEncoding, strings.NewReader(strings.Trim(m[8], `"`)))))
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(data, &got); err != nil {
			t.Fatal(err)
		}
		if got = unpacked(got); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: the option in the fragment differs", tt.name)
		}
		if len(m[8]) > len(opt)/2 {
			t.Errorf("%s: an option of %d bytes is packed into %d", tt.name, len(opt), len(m[8]))
		}
	}
	if !strings.Contains(last, `alt="&lt;!-- &#34;quoted&#34; &lt;/div&gt;; panel;`) {
		t.Error("the description of the picture is not escaped")
	}
}

// unpacked is what unpack in loader.js does.
func unpacked(v any) any {
	switch v := v.(type) {
	case map[string]any:
		c, ok := v["$"].([]any)
		if !ok {
			for k, w := range v {
				v[k] = unpacked(w)
			}
			return v
		}
		m, unit := int(c[0].(float64)), math.Pow10(int(c[1].(float64)))
		c = c[2:]
		rows := make([]any, len(c)/m)
		for i := range rows {
			rows[i] = make([]any, m)
		}
		for j := range m {
			sum := 0.0
			for i := range rows {
				if d := c[j*len(rows)+i].(float64); d != 0.5 {
					sum += d
					rows[i].([]any)[j] = sum / unit
				}
			}
		}
		return rows
	case []any:
		for i, w := range v {
			v[i] = unpacked(w)
		}
	}
	return v
}

// A name in the option is what the user wrote: go-echarts' templates, which
// unescape and strip, have no part in it.
func TestNamesSurvive(t *testing.T) {
	name := `a &lt; b <c> __f__ "d"`
	c, _ := chartOf(t, panel(Line{Name: name, X: []float64{1, 2}, Y: []float64{1, 2}}))
	if c.Series[0].Name != name || c.Legend[0].Data[0].Name != name {
		t.Errorf("name %q became %q", name, c.Series[0].Name)
	}
}

// The script is joined into one line, so a comment may only stand on a line of its own.
func TestLoaderHasNoTrailingComment(t *testing.T) {
	for i, l := range strings.Split(source, "\n") {
		if at := strings.Index(l, "// "); at > 0 && strings.TrimSpace(l[:at]) != "" {
			t.Errorf("line %d: %s", i+1, l)
		}
	}
}

package viz

import (
	"regexp"
	"strings"
	"testing"

	"gonum.org/v1/plot/vg"
)

// A title that is too long for its figure is drawn in lines, one above the other.
func TestWrappedTitles(t *testing.T) {
	title := strings.Repeat("A title of many words, ", 9) + "and the last ones"
	svg, err := SVG(Figure{Title: title, Width: 500, Panels: []Panel{{Title: title, Layers: []Layer{Line{X: []float64{0, 1}, Y: []float64{0, 1}}}}}})
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile(`>([^<]*(?:title|words|ones)[^<]*)<`).FindAllSubmatch(svg, -1)
	var lines []string
	for _, m := range found {
		lines = append(lines, string(m[1]))
		if w := typeface(labelSize, true).Width(string(m[1])) / px; w > 500 {
			t.Errorf("%q is %.0f pixels wide", m[1], w)
		}
	}
	if got := strings.Join(lines, " "); got != title+" "+title {
		t.Errorf("the titles are %q", lines)
	}
}

// Superscripts and subscripts become small ordinary characters, all of which
// the font has: each adds to the width.
func TestScripts(t *testing.T) {
	sty := typeface(12, false)
	var got []string
	for _, s := range segments("θ₃ ± 10⁻⁹⁰", sty.Font) {
		got = append(got, s.text)
		if small := s.font.Size < sty.Font.Size; small != (s.up != 0) {
			t.Errorf("%q: small %v, raised by %v", s.text, small, s.up)
		}
	}
	want := []string{"θ", "3", " ± 10", "−90"}
	for i := range want {
		if len(got) != len(want) || got[i] != want[i] {
			t.Fatalf("segments %q, want %q", got, want)
		}
	}
	for _, r := range "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻ⁿ₀₁₂₃₄₅₆₇₈₉₊₋ᵢⱼₖₙ∝αβγξσθμΓΣ±·≤≥→′–—" {
		if w := sty.Width(string(r)); w < 1 {
			t.Errorf("%q has no width: the font lacks it", r)
		}
	}
	if w := sty.Width(""); w != vg.Length(0) {
		t.Errorf("an empty text is %v wide", w)
	}
}

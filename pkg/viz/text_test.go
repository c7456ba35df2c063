package viz

import (
	"testing"

	"gonum.org/v1/plot/vg"
)

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

package viz

import (
	"strings"

	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
)

// scripts draws superscripts and subscripts as smaller ordinary characters, because
// Liberation Sans lacks some, such as ⁰, ⁹ and ⁻.
type scripts struct{ text.Plain }

var handler text.Handler = scripts{text.Plain{Fonts: font.DefaultCache}}

var (
	raised   = strings.NewReplacer("⁰", "0", "¹", "1", "²", "2", "³", "3", "⁴", "4", "⁵", "5", "⁶", "6", "⁷", "7", "⁸", "8", "⁹", "9", "⁺", "+", "⁻", "−", "ⁿ", "n")
	lowered  = strings.NewReplacer("₀", "0", "₁", "1", "₂", "2", "₃", "3", "₄", "4", "₅", "5", "₆", "6", "₇", "7", "₈", "8", "₉", "9", "₊", "+", "₋", "−", "ᵢ", "i", "ⱼ", "j", "ₖ", "k", "ₙ", "n")
	replaced = strings.NewReplacer("∝", "~", "ℝ", "R")
)

const scriptSize, scriptRise, scriptDrop = 0.72, 0.36, 0.16 // in units of the font size

// A segment has one size and height above the baseline.
type segment struct {
	text string
	font font.Font
	up   vg.Length
}

func segments(txt string, fnt font.Font) []segment {
	small := fnt
	small.Size *= scriptSize
	var out []segment
	last := ' '
	for _, r := range replaced.Replace(txt) {
		s, kind := string(r), 'n'
		if t := raised.Replace(s); t != s {
			s, kind = t, 'r'
		} else if t := lowered.Replace(s); t != s {
			s, kind = t, 'l'
		}
		if kind != last {
			q := segment{font: fnt}
			switch kind {
			case 'r':
				q = segment{font: small, up: scriptRise * fnt.Size}
			case 'l':
				q = segment{font: small, up: -scriptDrop * fnt.Size}
			}
			out = append(out, q)
			last = kind
		}
		out[len(out)-1].text += s
	}
	return out
}

func (h scripts) Box(txt string, fnt font.Font) (width, height, depth vg.Length) {
	_, height, depth = h.Plain.Box("", fnt)
	for _, r := range segments(txt, fnt) {
		w, _, _ := h.Plain.Box(r.text, r.font)
		width += w
	}
	return width, height, depth
}

func (h scripts) Draw(c vg.Canvas, txt string, sty text.Style, pt vg.Point) {
	c.Push()
	defer c.Pop()
	c.SetColor(sty.Color)
	c.Translate(pt)
	c.Rotate(sty.Rotation)
	bottom := vg.Length(sty.YAlign)*sty.Height(txt) + sty.Font.Size - h.Extents(sty.Font).Ascent
	lines := h.Lines(txt)
	for i, line := range lines {
		width, _, _ := h.Box(line, sty.Font)
		at := vg.Point{
			X: vg.Length(sty.XAlign) * width,
			Y: bottom + lineHeight*sty.Font.Size*vg.Length(len(lines)-1-i),
		}
		for _, r := range segments(line, sty.Font) {
			face := h.Fonts.Lookup(r.font, r.font.Size)
			c.FillString(face, vg.Point{X: at.X, Y: at.Y + r.up}, r.text)
			at.X += face.Width(r.text)
		}
	}
}

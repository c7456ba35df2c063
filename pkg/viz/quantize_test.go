package viz

import (
	"image"
	"image/color"
	"math"
	"testing"
)

// A picture gets a palette of few colours: a colour that fills an area
// stays as it is, and no other one changes by more than the step of the palette.
func TestQuantized(t *testing.T) {
	img := image.NewRGBA(image.Rect(0, 0, 256, 120))
	for x := range 256 {
		for y := range 120 {
			c := color.RGBA{0xff, 0xff, 0xff, 0xff}
			switch {
			case y < 20: // every grey
				c = color.RGBA{uint8(x), uint8(x), uint8(x), 0xff}
			case y < 40: // shades between orange and white
				c = color.RGBA{0xff, uint8(160 + x*95/255), uint8(x), 0xff}
			case y < 80:
				c = color.RGBA{Blue.R, Blue.G, Blue.B, 0xff}
			}
			img.SetRGBA(x, y, c)
		}
	}
	q := quantized(img)
	if n := len(q.Palette); n > paletteSize {
		t.Errorf("%d colours, want at most %d", n, paletteSize)
	}
	at := func(x, y int) color.NRGBA { return color.NRGBAModel.Convert(q.At(x, y)).(color.NRGBA) }
	for x := range 256 {
		if c := at(x, 10); max(math.Abs(float64(c.R)-float64(x)), math.Abs(float64(c.G)-float64(x)), math.Abs(float64(c.B)-float64(x))) > paletteStep {
			t.Errorf("grey %d became %v", x, c)
		}
		if c := at(x, 30); math.Abs(float64(c.B)-float64(x)) >= paletteStep {
			t.Errorf("shade %d became %v", x, c)
		}
	}
	if c := at(5, 60); c != Blue {
		t.Errorf("blue became %v", c)
	}
	if c := at(5, 100); c != (color.NRGBA{0xff, 0xff, 0xff, 0xff}) {
		t.Errorf("white became %v", c)
	}
}

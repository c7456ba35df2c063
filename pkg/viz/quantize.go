package viz

import (
	"cmp"
	"image"
	"image/color"
	"maps"
	"slices"
)

// Figures have few colours. The edges of lines and letters contain many intermediate
// shades, which the eye cannot distinguish. Storing a picture with a palette reduces its
// file size to a quarter.
const (
	paletteSize = 32
	paletteStep = 28 // the least difference of two colours of a palette, in some channel
)

// quantized takes the most frequent colours that differ by paletteStep in a channel, and
// replaces others by the nearest. Greys are replaced by greys, so that letters and grid
// lines stay grey.
func quantized(img *image.RGBA) *image.Paletted {
	pixels := map[color.RGBA]int{}
	for p := img.Pix; len(p) > 0; p = p[4:] {
		pixels[color.RGBA{p[0], p[1], p[2], 0xff}]++
	}
	all := slices.SortedFunc(maps.Keys(pixels), func(a, b color.RGBA) int {
		return cmp.Or(cmp.Compare(pixels[b], pixels[a]), cmp.Compare(a.R, b.R), cmp.Compare(a.G, b.G), cmp.Compare(a.B, b.B))
	})
	out := image.NewPaletted(img.Bounds(), nil)
	for _, c := range all {
		near := func(v, w uint8) bool { return max(v, w)-min(v, w) < paletteStep }
		if len(out.Palette) < paletteSize && !slices.ContainsFunc(out.Palette, func(q color.Color) bool {
			k := q.(color.RGBA)
			return near(c.R, k.R) && near(c.G, k.G) && near(c.B, k.B) && grey(c) == grey(k)
		}) {
			out.Palette = append(out.Palette, c)
		}
	}
	index := map[color.RGBA]uint8{}
	for _, c := range all {
		index[c] = nearest(out.Palette, c)
	}
	for i := range out.Pix {
		p := img.Pix[4*i:]
		out.Pix[i] = index[color.RGBA{p[0], p[1], p[2], 0xff}]
	}
	return out
}

// nearest compares greys with greys, and others with others, if the palette has both.
func nearest(p color.Palette, c color.RGBA) uint8 {
	distance := func(q color.Color) int {
		k := q.(color.RGBA)
		r, g, b := int(k.R)-int(c.R), int(k.G)-int(c.G), int(k.B)-int(c.B)
		d := r*r + g*g + b*b
		if grey(k) != grey(c) {
			d += 3 * 256 * 256 // more than any two colours differ
		}
		return d
	}
	best := 0
	for i := range p {
		if distance(p[i]) < distance(p[best]) {
			best = i
		}
	}
	return uint8(best)
}

func grey(c color.RGBA) bool { return c.R == c.G && c.G == c.B }

package viz

import (
	"cmp"
	"image"
	"image/color"
	"math"
	"slices"
)

// Figures have few colours, and the many shades at the edges of lines and letters
// can be told apart by nobody: with a palette a picture takes a quarter of the
// room.
const (
	paletteSize = 48
	greyStep    = 15 // between neighbouring levels of grey
)

// quantized returns an opaque image with at most paletteSize colours, chosen by
// median cut (Heckbert 1982): the box of colours with the largest spread is cut at
// its median until there are enough. A colour that makes up more than half of its
// box, such as the background, stays as it is.
func quantized(img *image.RGBA) *image.Paletted {
	b := img.Bounds()
	numbers := map[[3]uint8]int{} // of the colours, in the order in which they occur
	var all colours
	pixels := make([]int, 0, b.Dx()*b.Dy())
	var last [3]uint8
	at := -1
	for y := b.Min.Y; y < b.Max.Y; y++ {
		row := img.Pix[img.PixOffset(b.Min.X, y):][:4*b.Dx()]
		for ; len(row) > 0; row = row[4:] {
			c := [3]uint8(row)
			if at < 0 || c != last {
				n, ok := numbers[c]
				if !ok {
					n = len(all)
					numbers[c] = n
					all = append(all, counted{rgb: c, number: n})
				}
				last, at = c, n
			}
			all[at].n++
			pixels = append(pixels, at)
		}
	}

	// Letters, axes and the faint lines of the grid are grey, and stay so whatever is
	// near them in colour: white, and levels of grey near each other.
	levels := make([]colours, 1+(0xff+greyStep-1)/greyStep)
	var tinted colours
	for _, c := range all {
		if c.rgb[0] == c.rgb[1] && c.rgb[1] == c.rgb[2] {
			k := (0xff - int(c.rgb[0]) + greyStep - 1) / greyStep
			levels[k] = append(levels[k], c)
		} else {
			tinted = append(tinted, c)
		}
	}
	boxes := slices.DeleteFunc(append(levels, tinted), func(q colours) bool { return len(q) == 0 })
	for len(boxes) < paletteSize {
		widest, size := -1, 0.0
		for i, q := range boxes {
			if c := q[0].rgb; c[0] == c[1] && c[1] == c[2] {
				continue
			}
			if _, s := q.spread(); s > size {
				widest, size = i, s
			}
		}
		if widest < 0 {
			break // every box holds one colour
		}
		lo, hi := boxes[widest].cut()
		boxes[widest] = lo
		boxes = append(boxes, hi)
	}

	out := image.NewPaletted(b, nil)
	index := make([]uint8, len(all))
	for i, q := range boxes {
		m := q.representative()
		out.Palette = append(out.Palette, color.NRGBA{m[0], m[1], m[2], 0xff})
		for _, c := range q {
			index[c.number] = uint8(i)
		}
	}
	for i, c := range pixels {
		out.Pix[i] = index[c]
	}
	return out
}

type counted struct {
	rgb    [3]uint8
	n      int // pixels
	number int
}

type colours []counted

func (q colours) total() (n int) {
	for _, c := range q {
		n += c.n
	}
	return n
}

// spread returns the channel with the largest sum of squared deviations from its
// mean, and that sum. Pixels count by the root of their number: the background
// would hide all else.
func (q colours) spread() (channel int, size float64) {
	if len(q) < 2 {
		return 0, 0
	}
	for k := range 3 {
		var n, mean, s float64
		for _, c := range q {
			w, v := weight(c.n), float64(c.rgb[k])
			n += w
			d := v - mean
			mean += d * w / n
			s += w * d * (v - mean)
		}
		if s > size {
			channel, size = k, s
		}
	}
	return channel, size
}

func (q colours) cut() (lo, hi colours) {
	k, _ := q.spread()
	slices.SortStableFunc(q, func(a, b counted) int { return cmp.Compare(a.rgb[k], b.rgb[k]) })
	var total, sum float64
	for _, c := range q {
		total += weight(c.n)
	}
	at := 0
	for at < len(q)-1 && (at == 0 || sum < total/2) {
		sum += weight(q[at].n)
		at++
	}
	return q[:at:at], q[at:]
}

func (q colours) representative() [3]uint8 {
	top := slices.MaxFunc(q, func(a, b counted) int { return cmp.Compare(a.n, b.n) })
	total := q.total()
	if 2*top.n > total {
		return top.rgb
	}
	var mean [3]uint8
	for k := range mean {
		sum := total / 2 // rounds
		for _, c := range q {
			sum += c.n * int(c.rgb[k])
		}
		mean[k] = uint8(sum / total)
	}
	return mean
}

func weight(n int) float64 { return math.Sqrt(float64(n)) }

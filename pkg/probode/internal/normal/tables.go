package normal

import "math"

// The strips of the ziggurat have equal areas. Let f(x) = e^{−x²/2}. Strip i > 0 extends
// horizontally from 0 to x_i, and vertically from f(x_i) to f(x_{i−1}). Strip 0 is the
// lowest one and includes the tail. The last edge is x_127, the constant `edge`, and the
// others follow from
//
//	x_{i−1} = f⁻¹(area/x_i + f(x_i))
//
// [Marsaglia & Tsang 2000]. The signed integer j has 32 bits. A point in a strip of width
// w has the horizontal coordinate j w/2³¹. Widths and heights are rounded to single
// precision, so that the normal variates are the same as those of math/rand/v2.
const (
	layers = 128
	edge   = 3.442619855899      // x_127
	area   = 9.91256303526217e-3 // of each strip
	unit   = 1 << 31             // of j
)

type stripData struct {
	width float64 // x_i / unit

	// A point is below the curve of the density if |j| is less than the number `inside`,
	// which is x_{i−1}/x_i in the units of j.
	less, span uint32 // inside − 1, and 2 inside − 1 or 0
}

var (
	strips [layers]stripData
	height [layers]float32 // f(x_i); f(0) for strip 0, whose own height is not used
)

func init() {
	density := func(x float64) float64 { return math.Exp(-.5 * x * x) }
	x := edge
	base := area / density(x) // the width that strip 0 would have without a tail
	strips[0] = stripData{width: float64(float32(base / unit))}
	strips[0].reaches(x / base)
	height[0] = 1
	for i := layers - 1; i > 0; i-- {
		strips[i].width = float64(float32(x / unit))
		height[i] = float32(density(x))
		if i == 1 {
			break // no part of the uppermost strip is certainly inside
		}
		below := math.Sqrt(-2 * math.Log(area/x+density(x)))
		strips[i].reaches(below / x)
		x = below
	}
}

// reaches notes that a point at x is below the curve if |x| is less than `share` times the
// width of the strip.
func (a *stripData) reaches(share float64) {
	inside := uint32(share * unit)
	a.less, a.span = inside-1, 2*inside-1
}

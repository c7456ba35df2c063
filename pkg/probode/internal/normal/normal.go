// Package normal draws standard normal variates in bulk. The numbers are the same, bit
// for bit, as those of rand.New(rand.NewPCG(hi, lo)).NormFloat64(), but are drawn in half
// the time.
//
// The noise is drawn again whenever a path is computed, so fast draws are important. In
// math/rand/v2 most of the cost of a draw is an interface call for each word. To avoid
// interface calls, this package implements the generator and the ziggurat method itself.
// The generator is PCG-DXSM with 128 bits of state [O'Neill 2014]. The ziggurat method
// uses 128 strips [Marsaglia & Tsang 2000].
package normal

import (
	"math"
	"math/bits"
)

// The generator multiplies its state by a and adds c. Each of these numbers consists of
// two 64-bit words. Two steps together multiply the state by a² and then add (a + 1)c.
// The constant `dxsm` is the multiplier in the output of the generator.
const (
	aHi, aLo   = 2549297995355413924, 4865540595714422341
	cHi, cLo   = 6364136223846793005, 1442695040888963407
	aaHi, aaLo = 0x17bce35bdf69743c, 0x529ed9eb20e0ae99
	ccHi, ccLo = 0x4871bec9994273f8, 0xac1f8a1c3883459a
	dxsm       = 0xda942042e4dd58b5
)

func next(hi, lo uint64) (uint64, uint64) {
	h, l := bits.Mul64(lo, aLo)
	l, carry := bits.Add64(l, cLo, 0)
	return h + (hi*aLo + (lo*aHi + cHi)) + carry, l
}

func next2(hi, lo uint64) (uint64, uint64) {
	h, l := bits.Mul64(lo, aaLo)
	l, carry := bits.Add64(l, ccLo, 0)
	return h + (hi*aaLo + (lo*aaHi + ccHi)) + carry, l
}

func output(hi, lo uint64) uint64 {
	hi ^= hi >> 32
	hi *= dxsm
	hi ^= hi >> 48
	return hi * (lo | 1)
}

// Fill fills dst with independent standard normal variates, from the initial state of
// rand.NewPCG(hi, lo).
//
// Each state of the generator is computed from the previous state. To save time, Fill
// computes two states at once, both from the current state. To compute a variate, seven
// bits of a random word choose a strip, and 32 other bits choose a point in this strip.
// The variate is the abscissa of the point. The point nearly always lies in the part of
// the strip that is entirely below the density.
func Fill(dst []float64, hi, lo uint64) {
	for len(dst) >= 2 {
		h1, l1 := next(hi, lo)
		hi, lo = next2(hi, lo)
		u, v := output(h1, l1), output(hi, lo)
		a, b := &strips[u>>32%layers], &strips[v>>32%layers]
		if !a.holds(u) {
			hi, lo, dst[0] = reject(h1, l1, u)
			dst = dst[1:]
			continue
		}
		dst[0] = float64(int32(u)) * a.width
		dst[1] = float64(int32(v)) * b.width
		if !b.holds(v) {
			hi, lo, dst[1] = reject(hi, lo, v)
		}
		dst = dst[2:]
	}
	if len(dst) == 1 {
		hi, lo = next(hi, lo)
		u := output(hi, lo)
		if a := &strips[u>>32%layers]; a.holds(u) {
			dst[0] = float64(int32(u)) * a.width
		} else {
			_, _, dst[0] = reject(hi, lo, u)
		}
	}
}

// holds reports |j| < inside for the lower half j of u: 0 ≤ j + n < 2n + 1 with n =
// inside − 1 is one comparison of unsigned integers.
func (a *stripData) holds(u uint64) bool { return uint32(u)+a.less < a.span }

// reject is for u near the edge of a strip, and draws further numbers if its point is
// above the curve. It returns the state after the last number.
func reject(hi, lo, u uint64) (uint64, uint64, float64) {
	uniform := func() float64 {
		hi, lo = next(hi, lo)
		return float64(output(hi, lo)<<11>>11) / (1 << 53)
	}
	for {
		j, i := int32(u), u>>32%layers
		x := float64(j) * strips[i].width
		switch {
		case strips[i].holds(u):
			return hi, lo, x
		case i == 0: // the tail [Marsaglia 1964]
			for {
				x = -math.Log(uniform()) * (1.0 / edge)
				y := -math.Log(uniform())
				if y+y >= x*x {
					break
				}
			}
			if j > 0 {
				return hi, lo, edge + x
			}
			return hi, lo, -edge - x
		case height[i]+float32(uniform())*(height[i-1]-height[i]) < float32(math.Exp(-.5*x*x)):
			return hi, lo, x
		}
		hi, lo = next(hi, lo)
		u = output(hi, lo)
	}
}

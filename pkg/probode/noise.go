package probode

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/probode/probode/pkg/internal/streams"
	"github.com/probode/probode/pkg/probode/internal/normal"
)

// The noise ξ behind a path is a value: N·d standard normals, row-major, row
// i for the step from tᵢ to t_{i+1}. It is drawn here, kept by whoever needs
// it again, and moved by pCN.

// noiseBlock is the number of consecutive elements of ξ that one stream
// yields. Every block has a stream of its own, so that any part of any path
// can be drawn again alone.
const noiseBlock = 256

// DrawNoise fills xi with the standard normals of the path with the given
// number. They depend on (seed, path) only, and the first n of them not on how
// many are asked for.
func DrawNoise(xi []float64, seed, path uint64) {
	DrawNoiseAt(xi, seed, path, 0)
}

// DrawNoiseAt is DrawNoise for the part of ξ that begins with element from,
// which must be a multiple of 256.
func DrawNoiseAt(xi []float64, seed, path uint64, from int) {
	if from < 0 || from%noiseBlock != 0 {
		panic(fmt.Sprintf("probode: noise from element %d: want a multiple of %d", from, noiseBlock))
	}
	var source normal.Source
	for at := 0; at < len(xi); at += noiseBlock {
		source.Seed(streams.Seed(seed, path, uint64((from+at)/noiseBlock)))
		source.Fill(xi[at:min(at+noiseBlock, len(xi))])
	}
}

// PerturbNoise writes the preconditioned Crank–Nicolson move
//
//	ξ′ = √(1−β²) ξ + β η,   η ~ N(0, I),   0 ≤ β ≤ 1,
//
// into dst, which may be xi itself. The move leaves N(0, I) invariant and is
// reversible for it: β = 1 draws again, a small β stays close [Cotter et al.
// 2013].
func PerturbNoise(dst, xi []float64, beta float64, rng *rand.Rand) {
	if !(beta >= 0 && beta <= 1) {
		panic(fmt.Sprintf("probode: pCN step is %g: want [0, 1]", beta))
	}
	if len(dst) != len(xi) {
		panic("probode: lengths of noise differ")
	}
	keep := math.Sqrt(1 - beta*beta)
	for k, x := range xi {
		dst[k] = keep*x + beta*rng.NormFloat64()
	}
}

// Stream returns the random numbers that belong to the given key, for those
// who build on this package and want results that do not depend on the number
// of workers: give each independent piece of work a key of its own.
func Stream(seed uint64, key ...uint64) *rand.Rand {
	return rand.New(rand.NewPCG(streams.Seed(seed, key...)))
}

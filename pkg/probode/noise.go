package probode

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/probode/probode/pkg/internal/streams"
	"github.com/probode/probode/pkg/probode/internal/normal"
)

// The noise ξ of a path is an array of N × n standard normal variates in row-major order.
// Row i contains the variates for the step from tᵢ to t_{i+1}. The code in this file
// draws ξ and changes it by preconditioned Crank–Nicolson moves.

// noiseBlock is the number of consecutive elements of ξ that come from one random stream.
// Each block of this size has its own random stream.
const noiseBlock = 256

// DrawNoise fills xi with the standard normal variates of path number `path`. The values
// of xi[0], xi[1], … depend on `seed` and `path`, but not on the length of xi.
func DrawNoise(xi []float64, seed, path uint64) {
	for from := 0; from < len(xi); from += noiseBlock {
		hi, lo := streams.Seed(seed, path, uint64(from/noiseBlock))
		normal.Fill(xi[from:min(from+noiseBlock, len(xi))], hi, lo)
	}
}

// PerturbNoise makes a preconditioned Crank–Nicolson move, and writes its result ξ′ to
// dst, which may be xi itself:
//
//	ξ′ = √(1−β²) ξ + β η,   η ~ N(0, I),   0 ≤ β ≤ 1.
//
// The move leaves N(0, I) invariant and is reversible with respect to this distribution
// [Cotter et al. 2013]. If β = 1, new normal variates are drawn; if β is small, ξ changes
// only slightly.
func PerturbNoise(dst, xi []float64, beta float64, rng *rand.Rand) {
	if !(beta >= 0 && beta <= 1) {
		panic(fmt.Sprintf("probode: the pCN step is %g: want a number in [0, 1]", beta))
	}
	if len(dst) != len(xi) {
		panic("probode: lengths of noise differ")
	}
	keep := math.Sqrt(1 - beta*beta)
	for k, x := range xi {
		dst[k] = keep*x + beta*rng.NormFloat64()
	}
}

// Stream returns a generator whose random numbers depend only on seed and key. To obtain
// results that do not depend on the number of workers, give each independent piece of
// work a key of its own.
func Stream(seed uint64, key ...uint64) *rand.Rand {
	return rand.New(rand.NewPCG(streams.Seed(seed, key...)))
}

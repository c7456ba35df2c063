package probode

import (
	"fmt"
	"math"
	"math/rand/v2"

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
		source.Seed(streamSeed(seed, path, uint64((from+at)/noiseBlock)))
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
	return rand.New(rand.NewPCG(streamSeed(seed, key...)))
}

// streamSeed returns the state at which the generator of the key begins. Its
// 128 bits are a hash of the whole key, so that streams of different keys are
// different stretches of the generator's period.
func streamSeed(seed uint64, key ...uint64) (hi, lo uint64) {
	hi, lo = mix(seed^0x9e3779b97f4a7c15), mix(seed+0xd1b54a32d192ed03)
	for _, k := range key {
		hi = mix(hi ^ mix(k+0x8cb92ba72f3d8dd7))
		lo = mix(lo + mix(k^0xa24baed4963ee407))
	}
	return hi, lo
}

// mix is the finaliser of splitmix64, a bijection of 64-bit words whose every
// output bit depends on every input bit [Steele, Lea & Flood 2014].
func mix(z uint64) uint64 {
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

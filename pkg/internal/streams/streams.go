// Package streams generates random numbers that depend only on a key, such as (seed,
// path, block). The random numbers are the same on every machine and for any number of
// workers.
package streams

// Mix is the finaliser of splitmix64, a bijection of 64-bit words in which every output
// bit depends on every input bit [Steele, Lea & Flood 2014].
func Mix(z uint64) uint64 {
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// Gamma is 2⁶⁴ divided by the golden ratio, rounded to an odd integer. The generator
// splitmix64 adds Gamma to its state. Mix(z + Gamma) is the output of splitmix64 at the
// state z.
const Gamma = 0x9e3779b97f4a7c15

// Seed returns the initial state of a rand.PCG for a key. The initial state is a 128-bit
// hash of the whole key, so that streams with different keys begin at different points of
// the generator's period.
func Seed(seed uint64, key ...uint64) (hi, lo uint64) {
	hi, lo = Mix(seed^Gamma), Mix(seed+0xd1b54a32d192ed03)
	for _, k := range key {
		hi = Mix(hi ^ Mix(k+0x8cb92ba72f3d8dd7))
		lo = Mix(lo + Mix(k^0xa24baed4963ee407))
	}
	return hi, lo
}

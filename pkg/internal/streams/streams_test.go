package streams

import (
	"math/bits"
	"math/rand/v2"
	"testing"
)

// The first three outputs of splitmix64 from the state 1234567, as they are
// published with the algorithm (Vigna, https://prng.di.unimi.it/splitmix64.c).
func TestMixIsSplitmix64(t *testing.T) {
	state := uint64(1234567)
	for i, want := range []uint64{6457827717110365317, 3203168211198807973, 9817491932198370423} {
		state += Gamma
		if got := Mix(state); got != want {
			t.Errorf("output %d is %d, want %d", i+1, got, want)
		}
	}
}

// Draws and files that exist were made with these numbers.
func TestSeedIsFrozen(t *testing.T) {
	for _, c := range []struct {
		seed uint64
		key  []uint64
		want uint64
	}{
		{0x0, []uint64{}, 0x1aaa3bc86cd4440c},
		{0x1, []uint64{}, 0x8c964207755e4a57},
		{0x1, []uint64{0x0}, 0x336aba3078a6ee4a},
		{0x1, []uint64{0x2, 0x3}, 0x48bfb858ee142166},
		{0x8000000000000000, []uint64{0x10000000000, 0x0}, 0x9c47f273150b6776},
	} {
		if got := rand.NewPCG(Seed(c.seed, c.key...)).Uint64(); got != c.want {
			t.Errorf("seed %d, key %d: the first number is %#x, want %#x", c.seed, c.key, got, c.want)
		}
	}
}

// One bit of the key more or less changes each bit of the first number in half of
// all cases: of 64·1000 pairs the share is ½ with a standard deviation of
// ½/√(64·1000) = .002; the bound is five of these.
func TestSeedAvalanche(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	changed := 0
	for i := range 1000 {
		seed, key := rng.Uint64(), rng.Uint64N(1000)
		a, b := rand.NewPCG(Seed(seed, key)), rand.NewPCG(Seed(seed, key^1<<rng.UintN(64)))
		if i%2 == 0 {
			b = rand.NewPCG(Seed(seed^1<<rng.UintN(64), key))
		}
		changed += bits.OnesCount64(a.Uint64() ^ b.Uint64())
	}
	if share := float64(changed) / 64000; share < 0.49 || share > 0.51 {
		t.Errorf("%.3f of the bits change, want 0.5", share)
	}
}

package normal

import (
	"math"
	"math/big"
	"math/rand/v2"
	"os"
	"testing"
)

func TestSameNumbersAsRand(t *testing.T) {
	n := 3_000_000
	if os.Getenv("PROBODE_LONG") != "" {
		n = 100_000_000
	}
	keys := rand.New(rand.NewPCG(1, 2))
	buf := make([]float64, 1000)
	var tails int
	for done := 0; done < n; {
		a, b := keys.Uint64(), keys.Uint64()
		want := rand.New(rand.NewPCG(a, b))
		x := buf[:keys.IntN(len(buf)+1)]
		Fill(x, a, b)
		for k, v := range x {
			if w := want.NormFloat64(); v != w {
				t.Fatalf("seed (%d, %d), number %d: %v, want %v", a, b, k, v, w)
			}
			if math.Abs(v) > edge {
				tails++
			}
		}
		done += len(x)
	}
	// The tail of both sides holds 5.8e-4.
	if want := float64(n) * math.Erfc(edge/math.Sqrt2); math.Abs(float64(tails)-want) > 6*math.Sqrt(want) {
		t.Errorf("%d numbers of %d in the tails: want about %.0f", tails, n, want)
	}
}

// seedFor returns a seed whose first word is u: the generator run backwards.
func seedFor(u uint64) (hi, lo uint64) {
	// The output is f(h)·(l|1) for a state (h, l); with l = 0 it is f(h).
	m64, m128 := new(big.Int).Lsh(big.NewInt(1), 64), new(big.Int).Lsh(big.NewInt(1), 128)
	h := u ^ u>>48
	inverse := new(big.Int).ModInverse(new(big.Int).SetUint64(dxsm), m64)
	h *= inverse.Uint64()
	h ^= h >> 32
	two := func(hi, lo uint64) *big.Int {
		x := new(big.Int).SetUint64(hi)
		return x.Lsh(x, 64).Add(x, new(big.Int).SetUint64(lo))
	}
	x := two(h, 0)
	x.Sub(x, two(cHi, cLo)).Mul(x, new(big.Int).ModInverse(two(aHi, aLo), m128)).Mod(x, m128)
	return new(big.Int).Rsh(x, 64).Uint64(), new(big.Int).Mod(x, m64).Uint64()
}

// At the edges of the sure part of each strip, which random draws do not hit,
// the decision is that of math/rand too; so are the numbers afterwards.
func TestEdgesOfStrips(t *testing.T) {
	for i := range uint64(layers) {
		inside := int64(strips[i].less) + 1
		if strips[i].span == 0 {
			inside = 0
		}
		for _, size := range []int64{inside - 2, inside - 1, inside, inside + 1, 0, 1, 1<<31 - 1, 1 << 31} {
			for _, sign := range []int64{1, -1} {
				u := uint64(uint32(sign*size)) | i<<32
				hi, lo := seedFor(u)
				pcg := rand.NewPCG(hi, lo)
				want := rand.New(pcg)
				if first := pcg.Uint64(); first != u {
					t.Fatalf("the first word of (%d, %d) is %x, want %x", hi, lo, first, u)
				}
				for _, n := range []int{1, 2, 3, 4} {
					pcg.Seed(hi, lo)
					x := make([]float64, n)
					Fill(x, hi, lo)
					for k, v := range x {
						if w := want.NormFloat64(); v != w {
							t.Fatalf("strip %d, j = %d: number %d is %v, want %v", i, sign*size, k, v, w)
						}
					}
				}
			}
		}
	}
}

func TestFillDoesNotAllocate(t *testing.T) {
	x := make([]float64, 1000)
	if n := testing.AllocsPerRun(10, func() { Fill(x, 1, 2) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkNormal(b *testing.B) {
	x := make([]float64, 256)
	perNormal := func(b *testing.B) {
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(x)), "ns/normal")
	}
	b.Run("Fill", func(b *testing.B) {
		for b.Loop() {
			Fill(x, 1, 2)
		}
		perNormal(b)
	})
	b.Run("rand", func(b *testing.B) {
		r := rand.New(rand.NewPCG(0, 0))
		for b.Loop() {
			for k := range x {
				x[k] = r.NormFloat64()
			}
		}
		perNormal(b)
	})
}

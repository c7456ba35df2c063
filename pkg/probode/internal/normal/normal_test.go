package normal

import (
	"math"
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
		pcg := rand.NewPCG(a, b)
		want := rand.New(pcg)
		var s Source
		s.Seed(a, b)
		for range 100 {
			part := buf[:keys.IntN(len(buf)+1)]
			s.Fill(part)
			for k, v := range part {
				if w := want.NormFloat64(); v != w {
					t.Fatalf("seed (%d, %d), number %d of a part: %v, want %v", a, b, k, v, w)
				}
				if math.Abs(v) > edge {
					tails++
				}
			}
			done += len(part)
		}
		if got, next := s.Uint64(), pcg.Uint64(); got != next {
			t.Fatalf("seed (%d, %d): the next word is %x, want %x", a, b, got, next)
		}
	}
	// The tail of both sides holds 5.8e-4.
	if want := float64(n) * math.Erfc(edge/math.Sqrt2); math.Abs(float64(tails)-want) > 6*math.Sqrt(want) {
		t.Errorf("%d numbers of %d in the tails: want about %.0f", tails, n, want)
	}
}

func TestState(t *testing.T) {
	var s, again Source
	s.Seed(3, 4)
	x := make([]float64, 77)
	s.Fill(x)
	again.Seed(s.State())
	y := make([]float64, 77)
	s.Fill(x)
	again.Fill(y)
	for k := range x {
		if x[k] != y[k] {
			t.Fatalf("number %d after State and Seed is %v, want %v", k, y[k], x[k])
		}
	}
}

func TestFillDoesNotAllocate(t *testing.T) {
	var s Source
	x := make([]float64, 1000)
	if n := testing.AllocsPerRun(10, func() { s.Fill(x) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkNormal(b *testing.B) {
	x := make([]float64, 256)
	perNormal := func(b *testing.B) {
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(x)), "ns/normal")
	}
	b.Run("Fill", func(b *testing.B) {
		var s Source
		for b.Loop() {
			s.Fill(x)
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

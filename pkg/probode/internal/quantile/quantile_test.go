package quantile

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// shapes are distributions of what an ensemble may hold.
var shapes = map[string]func(rng *rand.Rand, row int) float64{
	"normal":       func(rng *rand.Rand, _ int) float64 { return 3 + rng.NormFloat64() },
	"equal":        func(*rand.Rand, int) float64 { return -1.25 },
	"few values":   func(rng *rand.Rand, _ int) float64 { return float64(rng.IntN(5)) },
	"two clusters": func(rng *rand.Rand, _ int) float64 { return float64(rng.IntN(2)) + 1e-9*rng.NormFloat64() },
	"heavy tails":  func(rng *rand.Rand, _ int) float64 { return math.Exp(40 * rng.NormFloat64()) },
	"one far away": func(rng *rand.Rand, row int) float64 {
		if row == 3 {
			return 1e280
		}
		return rng.NormFloat64()
	},
	"increasing": func(_ *rand.Rand, row int) float64 { return float64(row) },
	"huge":       func(rng *rand.Rand, _ int) float64 { return math.MaxFloat64 * (2*rng.Float64() - 1) },
	"tiny":       func(rng *rand.Rand, _ int) float64 { return 5e-324 * float64(rng.IntN(1000)) },
	"last digit": func(rng *rand.Rand, _ int) float64 { return 1 + 0x1p-52*float64(rng.IntN(100)) },
}

var levels = []float64{0.5, 0.05, 0.95, 0, 1, 0.333, 0.5}

func fill(size, n int, draw func(*rand.Rand, int) float64, seed uint64) [][]float64 {
	rng := rand.New(rand.NewPCG(seed, 1))
	rows := make([][]float64, n)
	for i := range rows {
		rows[i] = make([]float64, size)
		for k := range rows[i] {
			rows[i][k] = draw(rng, i)
		}
	}
	return rows
}

func TestSortedOrderStatistics(t *testing.T) {
	for name, draw := range shapes {
		for _, n := range []int{1, 2, 3, 10, 23, 24, 25, 100, 1000, Exact} {
			size := 11
			if n == Exact {
				size = 3
			}
			rows := fill(size, n, draw, uint64(n))
			s := New(size, levels, 2)
			for _, r := range rows {
				s.Add(r)
			}
			got := s.Quantiles()
			for k := range size {
				v := make([]float64, n)
				for i, r := range rows {
					v[i] = r[k]
				}
				slices.Sort(v)
				for l, p := range levels {
					at := p * float64(n-1)
					i := int(at)
					want := v[i]
					if i+1 < n {
						want += (at - float64(i)) * (v[i+1] - v[i])
					}
					if got[l][k] != want && !(math.IsNaN(want) && math.IsNaN(got[l][k])) {
						t.Errorf("%s, n = %d, element %d, level %g: %v, want %v", name, n, k, p, got[l][k], want)
					}
				}
			}
		}
	}
}

// Beyond the exact part, the error is that of a bin, and a value outside of
// all bins is found between the last bin and the extreme.
func TestHistogram(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for name, draw := range shapes {
		n := Exact + 1 + rng.IntN(2*batch)
		rows := fill(2, n, draw, 9)
		s := New(2, levels, 2)
		for i, r := range rows {
			s.Add(r)
			if i == Exact+batch+7 {
				s.Quantiles() // a look in between changes nothing
			}
		}
		got := s.Quantiles()
		for k := range 2 {
			v := make([]float64, n)
			for i, r := range rows {
				v[i] = r[k]
			}
			pilot := v[:Exact]
			bin := 2 * (slices.Max(pilot) - slices.Min(pilot)) / Bins
			slices.Sort(v)
			for l, p := range levels {
				if name == "huge" {
					if !math.IsNaN(got[l][k]) {
						t.Errorf("%s: %v from bins that do not exist", name, got[l][k])
					}
					continue
				}
				// The order statistics around place pn, ±1 for the two
				// conventions of a place.
				lo := v[max(0, int(p*float64(n))-2)]
				hi := v[min(n-1, int(p*float64(n))+1)]
				if !(got[l][k] >= lo-bin-math.Abs(lo)*1e-15-1e-320 && got[l][k] <= hi+bin+math.Abs(hi)*1e-15+1e-320) {
					t.Errorf("%s, n = %d, level %g: %v, want one in [%v, %v] to within %.2g", name, n, p, got[l][k], lo, hi, bin)
				}
			}
		}
	}
}

// An element whose first vectors are all equal has bins without width.
func TestEqualAtFirst(t *testing.T) {
	s := New(1, []float64{0.1, 0.9}, 1)
	for i := range 2 * Exact {
		s.Add([]float64{5 + float64(i/Exact)})
	}
	if q := s.Quantiles(); q[0][0] != 5 || !(q[1][0] > 5.5 && q[1][0] <= 6) {
		t.Errorf("quantiles of 5 and 6 are %v and %v", q[0][0], q[1][0])
	}
}

// Numbers of any size have quantiles, or NaN if twice their range overflows.
func TestLargestNumbers(t *testing.T) {
	for _, test := range []struct{ size, want float64 }{{1e307, 0}, {5e307, 0}, {8e307, 0}, {1e308, math.NaN()}, {1.7e308, math.NaN()}} {
		s := New(1, []float64{0.5}, 1)
		for i := range 2*Exact + 1 {
			_, part := math.Modf(float64(i) * math.Phi)
			s.Add([]float64{test.size * (2*part - 1)})
		}
		if q := s.Quantiles()[0][0]; !(math.Abs(q-test.want) <= 1e-2*test.size || math.IsNaN(q) && math.IsNaN(test.want)) {
			t.Errorf("median of numbers from -%g to %[1]g is %g: want %g", test.size, q, test.want)
		}
	}
}

func TestAnyNumberOfWorkers(t *testing.T) {
	for _, n := range []int{0, 1, 500, Exact, Exact + 1, Exact + 700} {
		rows := fill(19, n, shapes["normal"], 3)
		var want string
		for _, workers := range []int{-1, 1, 2, 3, 50} {
			s := New(19, levels, workers)
			for _, r := range rows {
				s.Add(r)
			}
			got := fmt.Sprintf("%x", s.Quantiles())
			if want == "" {
				want = got
			} else if got != want {
				t.Errorf("n = %d: %d workers change the result", n, workers)
			}
		}
	}
}

func TestPanics(t *testing.T) {
	for name, f := range map[string]func(){
		"level 1.5":   func() { New(1, []float64{1.5}, 1) },
		"level NaN":   func() { New(1, []float64{math.NaN()}, 1) },
		"wrong width": func() { New(2, levels, 1).Add(make([]float64, 3)) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s does not panic", name)
				}
			}()
			f()
		}()
	}
}

// BenchmarkQuantiles is one value of an ensemble with three quantiles at 1001
// times of two components; "sort" sorts each element once.
func BenchmarkQuantiles(b *testing.B) {
	const size, n = 2002, 1000
	rows := fill(size, n, shapes["normal"], 1)
	perValue := func(b *testing.B) {
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*size*n), "ns/value")
	}
	for _, workers := range []int{1, 2} {
		b.Run(fmt.Sprintf("workers=%d", workers), func(b *testing.B) {
			for b.Loop() {
				s := New(size, []float64{0.05, 0.5, 0.95}, workers)
				for _, r := range rows {
					s.Add(r)
				}
				s.Quantiles()
			}
			perValue(b)
		})
	}
	b.Run("sort", func(b *testing.B) {
		v := make([]float64, n)
		for b.Loop() {
			for k := range size {
				for i, r := range rows {
					v[i] = r[k]
				}
				slices.Sort(v)
			}
		}
		perValue(b)
	})
	b.Run("histogram", func(b *testing.B) {
		s := New(size, []float64{0.05, 0.5, 0.95}, 1)
		for i := range Exact + 1 {
			s.Add(rows[i%n])
		}
		b.ResetTimer()
		for b.Loop() {
			for _, r := range rows {
				s.Add(r)
			}
		}
		perValue(b)
	})
}

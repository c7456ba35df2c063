// Package quantile processes many vectors of the same size, and computes the quantiles of
// each element. For example, each vector may hold the states of one path of an ensemble
// at all requested times.
//
// If the number of vectors is at most Exact, the results are sample quantiles. If there
// are more vectors, the quantiles of each element are computed from a histogram, to limit
// the use of memory. The histogram spans twice the range of the first n vectors, where
// n = Exact. The elements are divided into tiles, each as large as a cache line. Several
// workers process the tiles independently. The result does not depend on the number of
// workers.
package quantile

import (
	"fmt"
	"math"
	"slices"
	"sync"
	"sync/atomic"
)

// A Sketch processes vectors one by one. Use New to make one.
type Sketch struct {
	size, workers int
	levels        []float64
	n             int
	rows          [][]float64 // all vectors so far, or those that are not counted yet

	// The following slices are nil until the number of vectors exceeds Exact.
	lo, width []float64
	min, max  []float64
	counts    [][]uint32
}

// New returns an empty Sketch for vectors of the given size. The levels of the quantiles
// must lie in [0, 1]. The Sketch uses at most the given number of goroutines.
func New(size int, levels []float64, workers int) *Sketch {
	for _, p := range levels {
		if !(p >= 0 && p <= 1) {
			panic(fmt.Sprintf("quantile: the level is %g: want a number in [0, 1]", p))
		}
	}
	return &Sketch{size: size, workers: max(1, workers), levels: slices.Clone(levels)}
}

// Add adds a vector of finite numbers. The Sketch does not copy the argument `row`, so
// its elements must not change afterwards.
func (s *Sketch) Add(row []float64) {
	if len(row) != s.size {
		panic(fmt.Sprintf("quantile: vector has length %d: want %d", len(row), s.size))
	}
	if s.n == Exact {
		s.makeBins()
	}
	s.rows = append(s.rows, row)
	s.n++
	if s.n > Exact && len(s.rows) == batch {
		s.count()
	}
}

// Quantiles returns the quantiles of all elements, indexed [level][element]. The
// quantiles are NaN if there are no vectors. Suppose that there are n ≤ Exact vectors,
// and let y[0] ≤ … ≤ y[n−1] be the sorted values of an element. The quantile of level p
// is y[p(n−1)]. If p(n−1) is not a whole number, the quantile is interpolated linearly
// between y[k] and y[k+1], where k is the integer part of p(n−1). If there are more than
// Exact vectors, the quantile is interpolated within a bin of the histogram. For this
// interpolation, the range of the first Exact values must not exceed 8e307.
func (s *Sketch) Quantiles() [][]float64 {
	out := make([][]float64, len(s.levels))
	for l := range out {
		out[l] = make([]float64, s.size)
	}
	switch {
	case s.n == 0:
		for _, q := range out {
			for k := range q {
				q[k] = math.NaN()
			}
		}
	case s.n <= Exact:
		ranks, place := s.ranks()
		s.tiles(func(w *column, k int, values []float64) {
			w.selectRanks(values, ranks)
			for l, p := range s.levels {
				at := p * float64(s.n-1)
				i := min(int(at), s.n-1)
				x := w.found[place[l]]
				if i+1 < s.n {
					x += (at - float64(i)) * (w.found[place[l]+1] - x)
				}
				out[l][k] = x
			}
		})
	default:
		if len(s.rows) > 0 {
			s.count()
		}
		s.parallel(func(_ *column, k int) {
			for l, p := range s.levels {
				out[l][k] = s.fromBins(k, p)
			}
		})
	}
	return out
}

// ranks returns the order statistics that are needed, one or two successive ones for each
// level; the lower of level i is ranks[place[i]].
func (s *Sketch) ranks() (ranks, place []int) {
	for _, p := range s.levels {
		i := min(int(p*float64(s.n-1)), s.n-1)
		ranks = append(ranks, i)
		if i+1 < s.n {
			ranks = append(ranks, i+1)
		}
	}
	slices.Sort(ranks)
	ranks = slices.Compact(ranks)
	for _, p := range s.levels {
		at, _ := slices.BinarySearch(ranks, min(int(p*float64(s.n-1)), s.n-1))
		place = append(place, at)
	}
	return ranks, place
}

// makeBins chooses bins by the first n = Exact vectors, and counts those.
func (s *Sketch) makeBins() {
	s.lo, s.width = make([]float64, s.size), make([]float64, s.size)
	s.min, s.max = make([]float64, s.size), make([]float64, s.size)
	s.counts = make([][]uint32, s.size)
	s.tiles(func(_ *column, k int, values []float64) {
		lo, hi := slices.Min(values), slices.Max(values)
		s.min[k], s.max[k] = lo, hi
		half := (hi - lo) / 2
		s.lo[k], s.width[k] = lo-half, half/(Bins/4) // 4*half could overflow
		if x := lo - half; x-x != 0 {
			s.width[k] = math.NaN() // twice the range overflows
		}
		s.counts[k] = make([]uint32, Bins+2)
	})
	s.count()
}

// count goes through the elements one after another, so that the bins of one stay in the
// cache.
func (s *Sketch) count() {
	s.tiles(func(_ *column, k int, values []float64) {
		lo, w, counts := s.lo[k], s.width[k], s.counts[k]
		least, most := s.min[k], s.max[k]
		for _, v := range values {
			least, most = min(least, v), max(most, v)
			b := 0
			switch {
			case w > 0:
				b = int(math.Floor(min(max((v-lo)/w, -1), Bins))) + 1
			case v == lo: // if the first vectors are all equal
				b = 1
			case v > lo:
				b = Bins + 1
			}
			counts[b]++
		}
		s.min[k], s.max[k] = least, most
	})
	clear(s.rows)
	s.rows = s.rows[:0]
}

func (s *Sketch) fromBins(k int, p float64) float64 {
	if math.IsNaN(s.width[k]) {
		return math.NaN()
	}
	at := p * float64(s.n)
	var below float64
	for b, c := range s.counts[k] {
		next := below + float64(c)
		if next >= at && c > 0 {
			lo := s.lo[k] + float64(b-1)*s.width[k]
			hi := lo + s.width[k]
			if b == 0 {
				lo, hi = s.min[k], s.lo[k]
			} else if b == Bins+1 {
				hi = s.max[k]
			}
			x := lo + (hi-lo)*(at-below)/float64(c)
			return min(max(x, s.min[k]), s.max[k])
		}
		below = next
	}
	return s.max[k]
}

// tiles lets f change the values.
func (s *Sketch) tiles(f func(w *column, k int, values []float64)) {
	s.parallel(func(w *column, k int) {
		if k%tile == 0 {
			w.gather(s.rows, k, min(tile, s.size-k))
		}
		f(w, k, w.values[k%tile*len(s.rows):][:len(s.rows)])
	})
}

// parallel keeps the elements of a tile on one goroutine.
func (s *Sketch) parallel(f func(w *column, k int)) {
	n := (s.size + tile - 1) / tile
	var next atomic.Int64
	run := func() {
		var w column
		for t := int(next.Add(1)) - 1; t < n; t = int(next.Add(1)) - 1 {
			for k := t * tile; k < min(s.size, (t+1)*tile); k++ {
				f(&w, k)
			}
		}
	}
	var group sync.WaitGroup
	for range min(s.workers, n) - 1 {
		group.Go(run)
	}
	run()
	group.Wait()
}

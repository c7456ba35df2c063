package quantile

import "slices"

// A column is the workspace of one worker.
type column struct {
	values []float64 // element by element
	found  []float64
	levels []bucketRoom // one for each depth of selection
}

// gather makes the values of an element contiguous.
func (c *column) gather(rows [][]float64, k, width int) {
	n := len(rows)
	c.values = slices.Grow(c.values[:0], n*tile)[:n*tile]
	if width == tile {
		v := c.values
		v0, v1, v2, v3 := v[:n], v[n:][:n], v[2*n:][:n], v[3*n:][:n]
		v4, v5, v6, v7 := v[4*n:][:n], v[5*n:][:n], v[6*n:][:n], v[7*n:][:n]
		for i, row := range rows {
			r := (*[tile]float64)(row[k:])
			v0[i], v1[i], v2[i], v3[i] = r[0], r[1], r[2], r[3]
			v4[i], v5[i], v6[i], v7[i] = r[4], r[5], r[6], r[7]
		}
		return
	}
	for i, row := range rows {
		for q, v := range row[k : k+width] {
			c.values[q*n+i] = v
		}
	}
}

type bucketRoom struct {
	of     []uint16  // bucket of each value
	ends   []int32   // number of values in a bucket and all lower ones
	wanted []int32   // the place for the values of a bucket, or −1
	picked []float64 // the values of all buckets that are needed
}

// selectRanks wants increasing ranks, from 0.
func (c *column) selectRanks(values []float64, ranks []int) {
	c.found = slices.Grow(c.found[:0], len(ranks))[:len(ranks)]
	c.pick(values, ranks, 0, c.found, 0)
}

// pick sets found[i] to the value of rank ranks[i] − first. It counts the values in about
// as many buckets of equal width, and goes on in those with a requested rank. They
// usually have few values, but an outlier can leave most in a single one.
func (c *column) pick(values []float64, ranks []int, first int, found []float64, depth int) {
	const small, deepest = 24, 12
	n := len(values)
	lo, hi, finite := values[0], values[0], 0.
	for _, v := range values {
		if v < lo {
			lo = v
		}
		if v > hi {
			hi = v
		}
		finite += v - v
	}
	buckets := 16
	for buckets < n && buckets < 4096 {
		buckets *= 2
	}
	// The largest value must fall into the last bucket, not beyond it.
	scale := float64(buckets) * (1 - 0x1p-40) / (hi - lo)
	if lo == hi && finite == 0 {
		for k := range found {
			found[k] = lo
		}
		return
	}
	if n <= small || depth == deepest || finite != 0 || !(scale <= 1e300) || scale == 0 {
		slices.Sort(values)
		for k, r := range ranks {
			found[k] = values[r-first]
		}
		return
	}
	if depth == len(c.levels) {
		c.levels = append(c.levels, bucketRoom{})
	}
	room := c.levels[depth]
	room.of = slices.Grow(room.of[:0], n)[:n]
	room.ends = slices.Grow(room.ends[:0], buckets)[:buckets]
	room.wanted = slices.Grow(room.wanted[:0], buckets)[:buckets]
	ends, wanted, of := room.ends, room.wanted[:len(room.ends)], room.of[:len(values)]
	clear(ends)
	mask := len(ends) - 1
	for i, v := range values {
		b := int((v-lo)*scale) & mask
		of[i] = uint16(b)
		ends[b]++
	}

	// Find the buckets that contain requested ranks, and reserve space for the values in
	// these buckets.
	var below, total int32
	r := 0
	for b, count := range ends {
		wanted[b] = -1
		below += count
		if r < len(ranks) && ranks[r]-first < int(below) {
			wanted[b] = total
			total += count
			for r < len(ranks) && ranks[r]-first < int(below) {
				r++
			}
		}
		ends[b] = below
	}
	room.picked = slices.Grow(room.picked[:0], int(total))[:total]
	picked := room.picked
	for i, b := range of {
		if at := wanted[b]; at >= 0 {
			picked[at] = values[i]
			wanted[b] = at + 1
		}
	}
	c.levels[depth] = room

	start := 0
	for r = 0; r < len(ranks); {
		// Find the bucket that contains this rank.
		b, _ := slices.BinarySearch(ends, int32(ranks[r]-first+1))
		before := 0
		if b > 0 {
			before = int(ends[b-1])
		}
		end := r
		for end < len(ranks) && ranks[end]-first < int(ends[b]) {
			end++
		}
		size := int(ends[b]) - before
		c.pick(picked[start:start+size], ranks[r:end], first+before, found[r:end], depth+1)
		start += size
		r = end
	}
}

const (
	// Exact is the largest number of vectors for which quantiles are exact.
	Exact = 4096
	// Bins is the number of bins of a histogram; two more bins count the values below and
	// above the range of the histogram.
	Bins = 4096

	tile  = 8   // elements that a worker takes at a time, one cache line of a row
	batch = 256 // number of vectors that are counted together
)

package viz

import (
	"fmt"
	"math"
)

// maxVertices is for all frames. A vertex takes two or three bytes after compression.
const maxVertices = 48000

// A vertex nearer than `tolerance` to the line between its neighbours is left out. Half a
// pixel is not visible.
const tolerance = 0.3 // pixels

// maxRun is two or three vertices for each pixel of a line.
const maxRun = 2400

// ECharts is slow with more than maxMarkers in a layer.
const maxMarkers = 6000

// thinning chooses k so that every kth path and point make at most about maxVertices.
func thinning(ps []*page) int {
	total := 0
	for _, p := range ps {
		for _, panel := range p.Panels {
			for _, l := range panel.Layers {
				switch l := l.(type) {
				case Line:
					if monotone(l.X) {
						total += min(len(l.X), maxRun)
					} else {
						total += len(l.X)
					}
				case Points:
					total += min(len(l.X), maxMarkers)
				}
			}
		}
	}
	return max(1, (total+maxVertices-1)/maxVertices)
}

func thinned(ps []*page, every int) map[string]string {
	names := map[string]string{}
	for _, p := range ps {
		for _, panel := range p.Panels {
			for _, l := range panel.Layers {
				k := 1
				switch l := l.(type) {
				case Line:
					k = l.every(every)
				case Points:
					k = l.every(every)
				}
				if name := l.look().name; k > 1 && name != "" {
					names[name] = fmt.Sprintf("%s (1 in %d drawn)", name, k)
				}
			}
		}
	}
	return names
}

// Only layers with many paths or points are thinned. Points with error bars are not
// thinned. A density has few contours, so its contours are not thinned.

func (l Line) every(k int) int {
	if monotone(l.X) || runs(l.X, l.Y) < 2*k {
		return 1
	}
	return k
}

func (p Points) every(k int) int {
	if p.Err != nil || len(p.X) <= 2000 {
		return 1
	}
	return max(k, (len(p.X)+maxMarkers-1)/maxMarkers)
}

// monotone curves are functions of x, whose value a tooltip can show.
func monotone(x []float64) bool {
	up, down := true, true
	last := math.NaN()
	for _, v := range x {
		if math.IsNaN(v) {
			continue
		}
		up, down = up && !(v < last), down && !(v > last)
		last = v
	}
	return up || down
}

func runs(x, y []float64) (n int) {
	pieces(x, y, func(i, j int) { n++ })
	return n
}

func nth(x []float64, k int) []float64 {
	y := make([]float64, 0, len(x)/k+1)
	for i := 0; i < len(x); i += k {
		y = append(y, x[i])
	}
	return y
}

// thin keeps the smallest and the largest of each group of neighbours, so that no spike
// is lost.
func thin(x, y []float64) (tx, ty []float64) {
	if len(x) <= maxRun {
		return x, y
	}
	width := (2*len(x) + maxRun - 1) / maxRun
	for i := 0; i < len(x); i += width {
		lo, hi := i, i
		for j := i; j < min(i+width, len(x)); j++ {
			if math.IsNaN(y[lo]) || y[j] < y[lo] {
				lo = j
			}
			if math.IsNaN(y[hi]) || y[j] > y[hi] {
				hi = j
			}
		}
		a, b := min(lo, hi), max(lo, hi)
		tx, ty = append(tx, x[a], x[b]), append(ty, y[a], y[b])
	}
	return tx, ty
}

func (b Band) thin() Band {
	if len(b.X) <= maxRun {
		return b
	}
	width := (len(b.X) + maxRun - 1) / maxRun
	var t Band
	for i := 0; i < len(b.X); i += width {
		x, lo, hi := b.X[i], b.Lo[i], b.Hi[i]
		for j := i; j < min(i+width, len(b.X)); j++ {
			if math.IsNaN(lo) || b.Lo[j] < lo {
				lo = b.Lo[j]
			}
			if math.IsNaN(hi) || b.Hi[j] > hi {
				hi = b.Hi[j]
			}
		}
		t.X, t.Lo, t.Hi = append(t.X, x), append(t.Lo, lo), append(t.Hi, hi)
	}
	return t
}

// simplified is the algorithm of Ramer (1972) and of Douglas and Peucker (1973). It keeps
// gaps.
func (q scales) simplified(x, y []float64) (sx, sy []float64) {
	keep := make([]bool, len(x))
	px, py := make([]float64, len(x)), make([]float64, len(x))
	for i := range x {
		px[i], py[i] = q.x.pixel(x[i]), q.y.pixel(y[i])
		keep[i] = math.IsNaN(px[i]) || math.IsNaN(py[i])
	}
	pieces(px, py, func(from, to int) {
		keep[from], keep[to-1] = true, true
		type span struct{ a, b int }
		for todo := []span{{from, to - 1}}; len(todo) > 0; {
			s := todo[len(todo)-1]
			todo = todo[:len(todo)-1]
			far, worst := -1, tolerance
			for i := s.a + 1; i < s.b; i++ {
				if d := distance(px[i]-px[s.a], py[i]-py[s.a], px[s.b]-px[s.a], py[s.b]-py[s.a]); d > worst {
					far, worst = i, d
				}
			}
			if far >= 0 {
				keep[far] = true
				todo = append(todo, span{s.a, far}, span{far, s.b})
			}
		}
	})
	for i := range x {
		if keep[i] {
			sx, sy = append(sx, x[i]), append(sy, y[i])
		}
	}
	return sx, sy
}

func distance(x, y, u, v float64) float64 {
	n := u*u + v*v
	f := 0.0
	if n > 0 {
		f = max(0, min(1, (x*u+y*v)/n))
	}
	return math.Hypot(x-f*u, y-f*v)
}

// A scale is an axis in the chart.
type scale struct {
	lo, hi, pixels float64
	log            bool
}

type scales struct{ x, y scale }

func (s scale) pixel(v float64) float64 {
	if s.log {
		return s.pixels * math.Log(v/s.lo) / math.Log(s.hi/s.lo)
	}
	return s.pixels * (v - s.lo) / (s.hi - s.lo)
}

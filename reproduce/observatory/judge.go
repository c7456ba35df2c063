package main

import (
	"math"
	"slices"

	"github.com/probode/probode/pkg/probode"
)

// How well a calibrated spread describes errors at other parameters.

// A verdict sums up an ensemble, or several, against accurate solutions.
type verdict struct {
	points   int       // number of grid points times components that count
	inside   []float64 // number of truths in the central interval of each of levels
	within   [2]float64
	sum      float64 // sum of E²/v
	each     []float64
	n        []int // for each component: sum of E²/v, number of points
	crps     float64
	plain    float64 // CRPS of the classical solution: |E|
	energy   float64
	energy0  float64 // energy score of the classical solution: ‖E‖
	wide     int     // points with an sd above ten times the largest error nearby
	squares  []float64
	excluded int // points at which the error is unknown or does not exist
}

func newVerdict(d int) *verdict {
	return &verdict{inside: make([]float64, len(levels)), each: make([]float64, d), n: make([]int, d)}
}

// add includes the ensemble e. x are the truths at its times and xerr their errors,
// row-major; scores are in units of size, the size of each component.
func (v *verdict) add(e *probode.Ensemble, x, xerr, size []float64, first int) {
	d, nt := len(size), len(e.T)
	var paths [][]float64
	for _, p := range e.Paths {
		if p != nil {
			paths = append(paths, p)
		}
	}
	n := float64(len(paths))
	var sum float64
	var count int
	at := make([]float64, len(paths))
	for i := first; i < nt; i++ {
		known := true
		for k := range d {
			truth, est := x[i*d+k], e.Deterministic[k][i]
			err := math.Abs(est - truth)
			if !(err > 100*xerr[i*d+k]) {
				v.excluded++
				known = false
				continue
			}
			// The inverse of the variance of n paths is too large by a factor (n−1)/(n−3) on average.
			z2 := err * err / (e.SD[k][i] * e.SD[k][i]) * (n - 3) / (n - 1)
			v.points++
			v.n[k]++
			v.each[k] += z2
			sum += z2
			count++
			for j := range v.within {
				if z2 < float64((j+1)*(j+1)) {
					v.within[j]++
				}
			}
			for j, p := range paths {
				at[j] = p[i*d+k]
			}
			slices.Sort(at)
			// The rank of the truth among the paths, scaled to (0, 1).
			below, _ := slices.BinarySearch(at, truth)
			u := (float64(below) + 0.5) / (n + 1)
			for j, l := range levels {
				if math.Abs(2*u-1) < l {
					v.inside[j]++
				}
			}
			v.crps += crps(at, truth) / size[k]
			v.plain += err / size[k]
			largest := 0.
			for j := max(0, i-nt/10); j <= min(nt-1, i+nt/10); j++ {
				largest = max(largest, math.Abs(e.Deterministic[k][j]-x[j*d+k]))
			}
			if e.SD[k][i] > 10*largest {
				v.wide++
			}
		}
		if known {
			v.addEnergy(paths, e, x[i*d:(i+1)*d], size, i)
		}
	}
	v.sum += sum
	if count > 0 {
		v.squares = append(v.squares, sum/float64(count))
	}
}

// crps is the continuous ranked probability score of sorted draws,
// E|X − y| − ½ E|X − X′| [Gneiting & Raftery 2007, §4.2], corrected for the bias of few
// draws.
func crps(sorted []float64, y float64) float64 {
	n := float64(len(sorted))
	var near, apart float64
	for i, x := range sorted {
		near += math.Abs(x - y)
		apart += (2*float64(i) + 1 - n) * x
	}
	return near/n - apart/(n*(n-1))
}

// addEnergy adds the energy score at one time, in units of size: the same as the CRPS with
// Euclidean distances, estimated from pairs of successive paths.
func (v *verdict) addEnergy(paths [][]float64, e *probode.Ensemble, truth, size []float64, i int) {
	d := len(size)
	distance := func(at func(k int) float64) float64 {
		var s float64
		for k := range d {
			w := at(k) / size[k]
			s += w * w
		}
		return math.Sqrt(s)
	}
	var near, apart float64
	for j, p := range paths {
		q := paths[(j+1)%len(paths)]
		near += distance(func(k int) float64 { return p[i*d+k] - truth[k] })
		apart += distance(func(k int) float64 { return p[i*d+k] - q[i*d+k] })
	}
	v.energy += (near - apart/2) / float64(len(paths))
	v.energy0 += distance(func(k int) float64 { return e.Deterministic[k][i] - truth[k] })
}

// meanSquare returns the mean squared standardised error, and a band of two standard errors
// of its logarithm, from the scatter over the ensembles.
func (v *verdict) meanSquare() (mean, lo, hi float64) {
	mean = v.sum / float64(v.points)
	n := float64(len(v.squares))
	if n < 2 {
		return mean, math.NaN(), math.NaN()
	}
	var m, m2 float64
	for _, s := range v.squares {
		m += s / n
		m2 += s * s / n
	}
	rel := math.Sqrt(max(0, m2-m*m)/(n-1)) / m
	return mean, mean * math.Exp(-2*rel), mean * math.Exp(2*rel)
}

// byComponent returns the mean squared standardised error of each component, NaN if no point
// counts.
func (v *verdict) byComponent() []float64 {
	out := make([]float64, len(v.each))
	for k, s := range v.each {
		out[k] = s / float64(v.n[k])
	}
	return out
}

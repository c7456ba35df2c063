package main

import (
	"math"
	"slices"

	"github.com/probode/probode/pkg/probode"
)

// The functions in this file compare the spread of the paths with the errors of the
// solver. The comparison uses values of θ that were not used for the calibration.

type verdict struct {
	points   int // grid points times components that count
	excluded int // those at which the error is unknown or does not exist
	inside   [4]float64
	within   [2]float64
	each     []float64 // sum of E²/v of each component, and its number of points
	n        []float64
	squares  []float64 // mean of E²/v of each ensemble
	crps     float64
	plain    float64 // CRPS of the classical solution: |E|
	wide     float64 // points with an sd above ten times the largest error nearby
}

func newVerdict(d int) *verdict { return &verdict{each: make([]float64, d), n: make([]float64, d)} }

// add compares with x, whose error is xerr, by rows of times from `first` on. A score is
// in units of the `size` of its component.
func (v *verdict) add(e *probode.Ensemble, x, xerr, size []float64, first int) {
	d, nt := len(size), len(e.T)
	paths := slices.DeleteFunc(slices.Clone(e.Paths), func(p []float64) bool { return p == nil })
	n := float64(len(paths))
	var sum, count float64
	at := make([]float64, len(paths))
	for i := first; i < nt; i++ {
		for k := range d {
			truth, est := x[i*d+k], e.Deterministic[k][i]
			err := math.Abs(est - truth)
			if !(err > 100*xerr[i*d+k]) {
				v.excluded++
				continue
			}
			// On average, the inverse of the sample variance of n paths is too large by a
			// factor of (n−1)/(n−3).
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
			// Compute the rank of the accurate solution among the paths, scaled to (0,
			// 1).
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
	}
	if count > 0 {
		v.squares = append(v.squares, sum/count)
	}
}

// crps is E|X − y| − ½ E|X − X′| of the sorted draws [Gneiting & Raftery 2007, §4.2],
// corrected for their number.
func crps(sorted []float64, y float64) float64 {
	n := float64(len(sorted))
	var near, apart float64
	for i, x := range sorted {
		near += math.Abs(x - y)
		apart += (2*float64(i) + 1 - n) * x
	}
	return near/n - apart/(n*(n-1))
}

// meanSquare has a band of two standard errors on the log, by the variation between
// ensembles.
func (v *verdict) meanSquare() (mean float64, band [2]float64) {
	for _, s := range v.each {
		mean += s / float64(v.points)
	}
	n := float64(len(v.squares))
	if n < 2 {
		return mean, [2]float64{math.NaN(), math.NaN()}
	}
	var m, m2 float64
	for _, s := range v.squares {
		m += s / n
		m2 += s * s / n
	}
	rel := math.Sqrt(max(0, m2-m*m)/(n-1)) / m
	return mean, [2]float64{mean * math.Exp(-2*rel), mean * math.Exp(2*rel)}
}

var levels = []float64{0.5, 0.68, 0.9, 0.95}

package probode

import (
	"math"
	"testing"
)

func TestNoiseIsKeyed(t *testing.T) {
	long, short := make([]float64, 1000), make([]float64, 300)
	DrawNoise(long, 7, 3)
	DrawNoise(short, 7, 3)
	for k := range short {
		if short[k] != long[k] {
			t.Fatalf("element %d depends on how many are drawn", k)
		}
	}
	other := make([]float64, 1000)
	for _, key := range [][2]uint64{{7, 4}, {8, 3}, {3, 7}} {
		DrawNoise(other, key[0], key[1])
		for k := range other {
			if other[k] == long[k] {
				t.Fatalf("(%d, %d) and (7, 3) share element %d", key[0], key[1], k)
			}
		}
	}
}

// The draws of 1000 paths are uncorrelated between paths, blocks and
// neighbouring seeds, and have the moments of N(0, 1). 7 statistics, each
// asymptotically normal, at 4.5 standard errors: false alarms 7·7e-6 = 5e-5.
func TestNoiseMoments(t *testing.T) {
	const paths, n = 1000, 512
	var sum [7]float64
	prev, xi, seed2 := make([]float64, n), make([]float64, n), make([]float64, n)
	DrawNoise(prev, 1, paths)
	for p := range paths {
		DrawNoise(xi, 1, uint64(p))
		DrawNoise(seed2, 2, uint64(p))
		for k, x := range xi {
			sum[0] += x
			sum[1] += x*x - 1
			sum[2] += x * x * x
			sum[3] += x*x*x*x - 3
			sum[4] += x * prev[k]
			sum[5] += x * seed2[k]
			sum[6] += x * xi[(k+256)%n]
		}
		copy(prev, xi)
	}
	// Variances of the terms; each product of the last kind occurs twice.
	variance := [7]float64{1, 2, 15, 96, 1, 1, 2}
	for i, s := range sum {
		if z := s / math.Sqrt(variance[i]*paths*n); math.Abs(z) > 4.5 {
			t.Errorf("statistic %d is %.1f standard errors off", i, z)
		}
	}
}

// A pCN move keeps N(0, 1) and has correlation √(1−β²) with its start.
// 6 statistics at 4.5 standard errors: false alarms 4e-5.
func TestPerturbNoise(t *testing.T) {
	const n = 200_000
	xi, moved := make([]float64, n), make([]float64, n)
	DrawNoise(xi, 1, 1)
	for _, beta := range []float64{0.1, 0.6, 1} {
		PerturbNoise(moved, xi, beta, Stream(5, 1))
		rho := math.Sqrt(1 - beta*beta)
		var second, cross float64
		for k, x := range moved {
			second += x*x - 1
			cross += x*xi[k] - rho
		}
		if z := second / math.Sqrt(2*n); math.Abs(z) > 4.5 {
			t.Errorf("β = %g: variance %.1f standard errors off", beta, z)
		}
		if z := cross / math.Sqrt((1+rho*rho)*n); math.Abs(z) > 4.5 {
			t.Errorf("β = %g: correlation %.1f standard errors off", beta, z)
		}
	}
	PerturbNoise(moved, xi, 0, Stream(5, 1))
	for k := range moved {
		if moved[k] != xi[k] {
			t.Fatal("β = 0 moved ξ")
		}
	}
}

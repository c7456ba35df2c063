package estimate

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"
)

// chains returns draws of a standard normal distribution, of which each depends on the one
// before it with correlation rho.
func chains(rng *rand.Rand, n int, rho float64) [][]float64 {
	x := make([][]float64, 4)
	for c := range x {
		at := rng.NormFloat64()
		for range n {
			at = rho*at + math.Sqrt(1-rho*rho)*rng.NormFloat64()
			x[c] = append(x[c], at)
		}
	}
	return x
}

// Standard errors hold: the mean of z² over 200 runs is χ²₂₀₀/200, outside of (.7, 1.35)
// with a probability of 2e-3 for each of four numbers, and the errors are known to 10 %.
func TestStandardErrors(t *testing.T) {
	for by := range Measures {
		const runs = 200
		var center, spread float64
		for seed := range uint64(runs) {
			v := by.Apply(chains(rand.New(rand.NewPCG(seed, 1)), 400, 0.5), nil)
			center += math.Pow(v.Center/v.CenterSE, 2) / runs
			spread += math.Pow((v.Spread-1)/v.SpreadSE, 2) / runs
		}
		if !(center > 0.7 && center < 1.35 && spread > 0.7 && spread < 1.35) {
			t.Errorf("measure %d: mean z² is %.2f of the centre and %.2f of the spread, want 1", by, center, spread)
		}
	}
}

// Draws of N(0, 1) under the weights of N(.2, 1): the centre moves by .2 and the spread
// does not, to within 5 standard errors, for all draws and for a part of them; and under
// equal weights nothing moves.
func TestWeighed(t *testing.T) {
	x := chains(rand.New(rand.NewPCG(3, 1)), 4000, 0.3)
	weights := func(shift float64) [][]float64 {
		w := make([][]float64, len(x))
		for c := range x {
			for _, v := range x[c] {
				w[c] = append(w[c], math.Exp(shift*v-shift*shift/2))
			}
		}
		return w
	}
	for by := range Measures {
		for _, shift := range []float64{0, 0.2} {
			d, accurate := by.Weighed(x, nil, weights(shift), nil)
			if math.Abs(d.Center-shift) > 5*d.CenterSE+1e-12 || math.Abs(d.Ratio-1) > 5*d.RatioSE+1e-12 || math.Abs(accurate.Center-shift) > 5*accurate.CenterSE {
				t.Errorf("measure %d, shift %g: %+v, %+v", by, shift, d, accurate)
			}
		}
	}
}

// The errors of what weights change hold, although the change is far more certain than its
// two sides, and may be less than the distance between two draws: under the weights of
// N(m, 1) the centre of N(0, 1) moves by m and the spread does not. The mean of z² is
// χ²₁₀₀/100, outside of (.6, 1.5) with a probability of 1e-3 for each of 18 numbers; the
// seeds are fixed, and a jackknife's errors are known to 14 %. A jackknife of the quantiles
// themselves has .15 for m = .02. For the smallest m, errors may be too large.
func TestErrorsOfChanges(t *testing.T) {
	for by := range Measures {
		for _, shift := range []float64{0.1, 0.02, 0.0002} {
			const runs = 100
			var center, spread float64
			for seed := range uint64(runs) {
				x := chains(rand.New(rand.NewPCG(seed, 9)), 500, 0.3)
				w := make([][]float64, len(x))
				for c := range x {
					for _, y := range x[c] {
						w[c] = append(w[c], math.Exp(shift*y))
					}
				}
				d, _ := by.Weighed(x, nil, w, nil)
				center += math.Pow((d.Center-shift)/d.CenterSE, 2) / runs
				spread += math.Pow((d.Ratio-1)/d.RatioSE, 2) / runs
			}
			t.Logf("measure %d, shift %g: mean z² is %.2f of the centre and %.2f of the spread", by, shift, center, spread)
			if !(center < 1.5 && spread < 1.5) || shift > 0.001 && !(center > 0.6 && spread > 0.6) {
				t.Errorf("measure %d, shift %g: mean z² is %.2f of the centre and %.2f of the spread, want 1", by, shift, center, spread)
			}
		}
	}
}

// Draws of ½ N(0, 1) + ½ N(1000, 1), whose weight is zero in the distant half: the centre
// under weights is 0 and the spread is 1, to within 5 standard errors. These are about
// 1/√400 for the moments, and not a part of the distance.
func TestWeightsThatRemoveAMode(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 1))
	x, w := make([][]float64, 4), make([][]float64, 4)
	for c := range x {
		for range 200 {
			v, weight := rng.NormFloat64(), 2.0
			if rng.IntN(2) == 1 {
				v, weight = v+1000, 0
			}
			x[c], w[c] = append(x[c], v), append(w[c], weight)
		}
	}
	for by := range Measures {
		_, a := by.Weighed(x, nil, w, nil)
		if !(a.CenterSE < 0.2 && a.SpreadSE < 0.2 && math.Abs(a.Center) < 5*a.CenterSE && math.Abs(a.Spread-1) < 5*a.SpreadSE) {
			t.Errorf("measure %d: %+v", by, a)
		}
	}
}

// Draws of N(0, 1) under the weights of N(0, v) have the tail index k = 1 − 1/v, which is
// .33 and .5 here. Widened by 1/(1 − k) = v for moments and by √v for quantiles, the
// standard error of the ratio of the spreads holds: the mean of z² over 200 runs is at most
// 1.35, as above. Without it, the moments have 2.2 and 3.9, and the quantiles 1.2 and 1.6.
func TestHeavyWeights(t *testing.T) {
	const runs = 200
	for _, v := range []float64{1.5, 2} {
		for by := range Measures {
			var z2 float64
			for seed := range uint64(runs) {
				x := chains(rand.New(rand.NewPCG(seed, 5)), 500, 0)
				w := make([][]float64, len(x))
				for c := range x {
					for _, y := range x[c] {
						w[c] = append(w[c], math.Exp(y*y/2*(1-1/v)))
					}
				}
				d, _ := by.Weighed(x, nil, w, nil)
				z2 += math.Pow(math.Log(d.Ratio/math.Sqrt(v))/(d.RatioSE/d.Ratio*by.Widen(1-1/v)), 2) / runs
			}
			t.Logf("variance %g, measure %d: mean z² %.2f", v, by, z2)
			if !(z2 < 1.35) {
				t.Errorf("variance %g, measure %d: mean z² %.2f", v, by, z2)
			}
		}
	}
}

// Draws of share·N(−1, .05²) + (1 − share)·N(1, .05²). With a share of ½ the median is any
// number in the gap, and its interval of three standard errors contains 0 unless the share
// of the draws is off by more than three: in at most 8 of 200 runs, since a Poisson number
// with a mean of 1.5 exceeds 8 with a probability of 3e-5. Weights that are noise move the median by at
// most three standard errors. With a share of .6 the median is Φ⁻¹(5/6)·.05 − 1, and the
// error is that of a smooth density: the mean of z² is χ²₂₀₀/200 as above, but larger by the
// error of the density, 20 %. If the share is Φ(−1), an end of the central 68 % interval
// lies on either side of the gap, so half the width is about 0.1 or 1.
func TestJumpingQuantiles(t *testing.T) {
	const runs = 200
	low := distuv.UnitNormal.CDF(-1)
	bimodal := func(rng *rand.Rand, share float64) (x, w [][]float64) {
		x, w = make([][]float64, 4), make([][]float64, 4)
		for c := range x {
			for range 1000 {
				v := 1 + 0.05*rng.NormFloat64()
				if rng.Float64() < share {
					v -= 2
				}
				x[c], w[c] = append(x[c], v), append(w[c], 0.9+0.2*rng.Float64())
			}
		}
		return x, w
	}
	var missedCenter, missedSpread, moved int
	var smooth float64
	for seed := range uint64(runs) {
		x, w := bimodal(rand.New(rand.NewPCG(seed, 1)), 0.5)
		v := Quantiles.Apply(x, nil)
		if math.Abs(v.Center) > 3*v.CenterSE {
			missedCenter++
		}
		if d, _ := Quantiles.Weighed(x, nil, w, nil); math.Abs(d.Center) > 3.01*d.CenterSE {
			moved++
		}
		x, _ = bimodal(rand.New(rand.NewPCG(seed, 1)), low)
		if v = Quantiles.Apply(x, nil); v.SpreadSE < 0.2 { // it is either about 0.1 or about 1
			missedSpread++
		}
		x, _ = bimodal(rand.New(rand.NewPCG(seed, 1)), 0.6)
		v = Quantiles.Apply(x, nil)
		smooth += math.Pow((v.Center-0.05*distuv.UnitNormal.Quantile(5./6)+1)/v.CenterSE, 2) / runs
	}
	if missedCenter > 8 || missedSpread > 8 || moved > 0 || !(smooth > 0.7 && smooth < 1.5) {
		t.Errorf("%d of %d intervals do not contain the median, %d not the spread; %d medians moved; mean z² without a jump %.2f", missedCenter, runs, missedSpread, moved, smooth)
	}
}

// The quantiles of weighted draws are those of draws that come as often as they weigh.
func TestQuantile(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 1))
	var x, w, repeated []float64
	for range 5000 {
		v, n := rng.NormFloat64(), rng.IntN(3)
		x, w = append(x, v), append(w, float64(n))
		for range n {
			repeated = append(repeated, v)
		}
	}
	for _, p := range []float64{0.05, 0.5, 0.9} {
		a, b, want := Quantile(x, w, p), Quantile(repeated, nil, p), distuv.UnitNormal.Quantile(p)
		if math.Abs(a-b) > 0.01 || math.Abs(a-want) > 0.1 {
			t.Errorf("p = %g: %g weighted, %g repeated, want about %g", p, a, b, want)
		}
	}
	if v := Quantile([]float64{1}, nil, 0.5); !math.IsNaN(v) {
		t.Errorf("the median of one draw is %g", v)
	}
}

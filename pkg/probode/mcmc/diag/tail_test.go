package diag

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"
)

// turned returns draws that q makes of normals: four chains of n, each an
// autoregression with the coefficient rho.
func turned(q func(z float64, rng *rand.Rand) float64, n int, rho float64, seed uint64) [][]float64 {
	rng := rand.New(rand.NewPCG(seed, 0x7461696c))
	out := make([][]float64, 4)
	for c := range out {
		z := rng.NormFloat64()
		for range n {
			z = rho*z + math.Sqrt(1-rho*rho)*rng.NormFloat64()
			out[c] = append(out[c], q(z, rng))
		}
	}
	return out
}

func student(nu int) func(z float64, rng *rand.Rand) float64 {
	return func(z float64, rng *rand.Rand) float64 {
		chi := 0.0
		for range nu {
			v := rng.NormFloat64()
			chi += v * v
		}
		return z / math.Sqrt(chi/float64(nu))
	}
}

// bounded is z, or, once in 20 times, uniform between −8 and 8.
func bounded(z float64, rng *rand.Rand) float64 {
	if rng.IntN(20) == 0 {
		return 16*rng.Float64() - 8
	}
	return z
}

// of is a function of the normal alone.
func of(f func(float64) float64) func(float64, *rand.Rand) float64 {
	return func(z float64, _ *rand.Rand) float64 { return f(z) }
}

// Of 40 runs of 4 × 1000 draws the number that is said to have heavy tails. A Cauchy
// distribution has a k̂ of .98 ± .15 for a limit of .51: one run in a thousand is missed,
// and more than three of 40 with a probability below 1e-7. A log-normal of sd 1 (.25 ±
// .10) is named by mistake once in two hundred: more than three times with a probability
// of 5e-5; Student's t with three degrees of freedom (.29 ± .105, the larger of two tails
// .35) once in thirteen, more than twelve times with 2e-5. Light tails are never named.
// For Student's t distributions with autocorrelation, only the normal variates are
// correlated. A draw that is uniform between two bounds replaces one normal draw in 20: k̂
// is above .51 in most runs, but no draw is far away.
func TestHeavyTails(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	for _, c := range []struct {
		name        string
		q           func(float64, *rand.Rand) float64
		least, most int
	}{
		{"Cauchy", student(1), 37, 40},
		{"half-Cauchy", of(func(z float64) float64 { return math.Tan(math.Pi / 2 * distuv.UnitNormal.CDF(z)) }), 37, 40},
		{"t2", student(2), 8, 40},
		{"t3", student(3), 0, 12},
		{"log-normal", of(math.Exp), 0, 3},
		{"log-normal 1/2", of(func(z float64) float64 { return math.Exp(z / 2) }), 0, 0},
		{"exponential", of(func(z float64) float64 { return -math.Log(distuv.UnitNormal.CDF(-z)) }), 0, 0},
		{"normal", of(func(z float64) float64 { return z }), 0, 0},
		{"uniform", of(distuv.UnitNormal.CDF), 0, 0},
		{"bounded", bounded, 0, 0},
	} {
		for _, rho := range []float64{0, 0.8} {
			n, sum := 0, 0.0
			for seed := range uint64(40) {
				heavy, k := HeavyTails(turned(c.q, 1000, rho, seed))
				if heavy {
					n++
				}
				sum += k / 40
			}
			t.Logf("%-14s ρ = %.1f: k̂ %.2f, %d of 40", c.name, rho, sum, n)
			if n < c.least || n > c.most {
				t.Errorf("%s, ρ = %g: %d of 40 have heavy tails, want %d to %d", c.name, rho, n, c.least, c.most)
			}
		}
	}
}

// k̂ does not depend on unit or origin, and is that of the heavier tail.
func TestTailIndex(t *testing.T) {
	x := turned(of(math.Exp), 500, 0, 1)
	want := tailIndex(x)
	for _, unit := range []float64{-1, 1e-200, 1e200, 8} {
		if got := tailIndex(transform(x, func(v float64) float64 { return v * unit })); math.Abs(got-want) > 1e-9 {
			t.Errorf("k̂ is %g in the unit %g, %g before", got, unit, want)
		}
	}
	for _, bad := range [][][]float64{nil, {{1, 2, 3}}, {make([]float64, 100)}, {{1, 2, math.NaN(), 4, 5}}, {{1, 2, 3, 4, 5, 6}}} {
		if heavy, k := HeavyTails(bad); heavy || !math.IsNaN(k) {
			t.Errorf("k̂ of %v is %g, heavy %v", bad, k, heavy)
		}
	}
	// Half of the draws at an end of the range, as of a parameter at its bound.
	bound := turned(of(func(z float64) float64 { return math.Max(z, 0) }), 500, 0, 1)
	if heavy, k := HeavyTails(bound); heavy || !(k < 0.3) {
		t.Errorf("k̂ of draws at a bound is %g, heavy %v", k, heavy)
	}
	if v := KHatLimit(1e4); v != 0.7 {
		t.Errorf("limit %g for 10⁴ draws, want 0.7", v)
	}
	if a, b := KHatLimit(100), KHatLimit(1); math.Abs(a-0.5) > 1e-12 || b > 0 {
		t.Errorf("limits %g for 100 draws and %g for one", a, b)
	}
}

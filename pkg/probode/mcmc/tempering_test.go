package mcmc_test

import (
	"bytes"
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/stat"

	"github.com/probode/probode/pkg/probode/mcmc"
	"github.com/probode/probode/pkg/probode/mcmc/diag"
)

// twoModes has modes at ±8 on the diagonal, of standard deviation 1 and with shares 0.3
// and 0.7, as base + rest with the base N(0, 8²) in each coordinate.
func twoModes(x []float64) (base, rest float64, err error) {
	a, b := math.Log(0.3), math.Log(0.7)
	for _, v := range x {
		base -= v * v / 128
		a -= (v + 8) * (v + 8) / 2
		b -= (v - 8) * (v - 8) / 2
	}
	m := max(a, b)
	return base, m + math.Log(math.Exp(a-m)+math.Exp(b-m)) - base, nil
}

// The share of a mode and the mean in it come out where chains of NUTS remain in the mode
// in which they began. Two numbers within four standard errors: a false alarm in 1e-4.
func TestTempering(t *testing.T) {
	const d = 4
	start := func(int, *rand.Rand) []float64 { return []float64{-8, -8, -8, -8} }
	var kernels []*mcmc.Tempering
	c, err := mcmc.Run(context.Background(), func(int) mcmc.Kernel {
		k := tempering(2000)
		kernels = append(kernels, k)
		return k
	}, mcmc.Settings{Draws: 8000, BurnIn: 2000, Seed: 1, Start: start})
	if err != nil {
		t.Fatal(err)
	}
	for what, f := range map[string]func(x []float64) (float64, float64){
		"share": func(x []float64) (float64, float64) {
			if x[0] > 0 {
				return 1, 0.7
			}
			return 0, 0.7
		},
		"mean": func(x []float64) (float64, float64) { return x[1], 0.7*8 - 0.3*8 },
	} {
		var series [][]float64
		want := 0.
		for _, chain := range c.Draws {
			var one []float64
			for _, x := range chain {
				v, w := f(x)
				one, want = append(one, v), w
			}
			series = append(series, one)
		}
		got, se := stat.Mean(slices.Concat(series...), nil), diag.MCSEMean(series)
		if z := (got - want) / se; !(math.Abs(z) < 4) || !(se < 0.15*want) {
			t.Errorf("%s is %.3g ± %.2g, want %.3g", what, got, se, want)
		}
	}
	for i, k := range kernels {
		rates, trips := k.Swaps()
		if slices.Min(rates) < 0.2 || slices.Max(rates)-slices.Min(rates) > 0.4 || trips < 20 {
			t.Errorf("chain %d: swap rates %.2f, %d round trips", i+1, rates, trips)
		}
	}

	stuck := nutsRun(t, d, mcmc.Settings{Draws: 300, BurnIn: 300, Seed: 1, Start: start}, func() mcmc.NUTS {
		return mcmc.NUTS{Target: func(grad, x []float64) (float64, error) {
			base, rest, _ := twoModes(x)
			for i := range x { // central differences are enough for a kernel that fails
				y := slices.Clone(x)
				y[i] += 1e-5
				b1, r1, _ := twoModes(y)
				y[i] -= 2e-5
				b2, r2, _ := twoModes(y)
				grad[i] = (b1 + r1 - b2 - r2) / 2e-5
			}
			return base + rest, nil
		}}
	})
	for _, x := range stuck.Pooled() {
		if x[0] > 0 {
			t.Fatal("NUTS reached the other mode, so the test is too easy")
		}
	}
}

func tempering(burnIn int) *mcmc.Tempering {
	return &mcmc.Tempering{Target: twoModes, BurnIn: burnIn, Temperatures: 6, Draw: func(x []float64, rng *rand.Rand) {
		for i := range x {
			x[i] = 8 * rng.NormFloat64()
		}
	}}
}

// A kernel that reads the state of another continues as that one does.
func TestTemperingResumes(t *testing.T) {
	write := func(k *mcmc.Tempering, source *rand.PCG) []byte {
		a := mcmc.NewArchive(nil)
		a.Source(source)
		k.State(a)
		return bytes.Clone(a.Bytes())
	}
	k, other := tempering(60), tempering(60)
	source, otherSource := rand.NewPCG(1, 1), rand.NewPCG(2, 2)
	start := []float64{8, 8, 8, 8}
	if k.Init(start, rand.New(source)) != nil || other.Init(start, rand.New(otherSource)) != nil {
		t.Fatal("the start is refused")
	}
	for n := range 80 {
		a := mcmc.NewArchive(write(k, source))
		a.Source(otherSource)
		if other.State(a); a.Err() != nil {
			t.Fatal(a.Err())
		}
		k.Step(rand.New(source))
		other.Step(rand.New(otherSource))
		if !bytes.Equal(write(k, source), write(other, otherSource)) {
			t.Fatalf("iteration %d is another after the state was read", n+1)
		}
	}
}

// The draws are those of Target even if Coarse is another density: N(0.8, 0.2) from the
// base N(0, 1) and a datum at 1 with variance 1/4, where Coarse puts the datum at −1.
// If swaps took each rest for that of the other replica, the mean would be 0.2. Two numbers within four standard errors: a false
// alarm in 1e-4.
func TestTemperingCoarse(t *testing.T) {
	datum := func(at float64) func(x []float64) (float64, float64, error) {
		return func(x []float64) (float64, float64, error) {
			return -x[0] * x[0] / 2, -2 * (x[0] - at) * (x[0] - at), nil
		}
	}
	var kernels []*mcmc.Tempering
	c, err := mcmc.Run(context.Background(), func(int) mcmc.Kernel {
		k := &mcmc.Tempering{Target: datum(1), Coarse: datum(-1), BurnIn: 500, Temperatures: 4,
			Draw: func(x []float64, rng *rand.Rand) { x[0] = rng.NormFloat64() }}
		kernels = append(kernels, k)
		return k
	}, mcmc.Settings{Draws: 5000, BurnIn: 500, Seed: 1, Start: func(int, *rand.Rand) []float64 { return []float64{0} }})
	if err != nil {
		t.Fatal(err)
	}
	for power, want := range map[float64]float64{1: 0.8, 2: 0.2 + 0.8*0.8} {
		var series [][]float64
		for _, chain := range c.Draws {
			var one []float64
			for _, x := range chain {
				one = append(one, math.Pow(x[0], power))
			}
			series = append(series, one)
		}
		got, se := stat.Mean(slices.Concat(series...), nil), diag.MCSEMean(series)
		if z := (got - want) / se; !(math.Abs(z) < 4) || !(se < 0.02) {
			t.Errorf("the mean of x^%g is %.3g ± %.2g, want %.3g", power, got, se, want)
		}
	}
	for i, k := range kernels {
		if rates, _ := k.Swaps(); slices.Min(rates) < 0.1 {
			t.Errorf("chain %d: swap rates %.2f", i+1, rates)
		}
	}
}

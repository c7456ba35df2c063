package mcmc

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/probode/probode/pkg/probode/mcmc/diag"
)

// A distribution is a target with an exact sampler, and with a map of its coordinates to
// numbers that are uniform on (0, 1) under it.
type distribution struct {
	dim      int
	target   LogDensity
	draw     func(dst []float64, rng *rand.Rand)
	uniforms func(x []float64) []float64
}

// gaussian is the distribution of
//
//	xᵢ = (i+1) (zᵢ + Σ_{j<i} zⱼ),  i = 0, …, d−1
//
// with z standard normal: correlated, of unequal scales, and with ever narrower
// ridges as d grows.
func gaussian(d int) distribution {
	solve := func(z, x []float64) {
		var sum float64
		for i := range d {
			z[i] = x[i]/float64(i+1) - sum
			sum += z[i]
		}
	}
	work := make([]float64, d)
	return distribution{
		dim: d,
		target: func(x []float64) (float64, error) {
			solve(work, x)
			var q float64
			for _, v := range work {
				q += v * v
			}
			return -q / 2, nil
		},
		draw: func(dst []float64, rng *rand.Rand) {
			var sum float64
			for i := range dst {
				z := rng.NormFloat64()
				dst[i] = float64(i+1) * (sum + z)
				sum += z
			}
		},
		uniforms: func(x []float64) []float64 {
			z := make([]float64, d)
			solve(z, x)
			u := make([]float64, d)
			var all, square float64
			for i, v := range z {
				all += v / math.Sqrt(float64(d))
				square += v * v
				u[i] = distuv.UnitNormal.CDF(v)
			}
			return append(u, distuv.UnitNormal.CDF(all), distuv.ChiSquared{K: float64(d)}.CDF(square))
		},
	}
}

// gaussianCov returns the covariance of xᵢ and xⱼ, j ≤ i, under gaussian: the j+1
// variables zₖ, k ≤ j, enter both.
func gaussianCov(i, j int) float64 { return float64((i + 1) * (j + 1) * (j + 1)) }

// banana is the distribution of (z₁, z₂ + b(z₁² − 1)), a Gaussian twisted by a map of
// Jacobian 1 (Haario, Saksman and Tamminen 2001).
func banana(b float64) distribution {
	return distribution{
		dim: 2,
		target: func(x []float64) (float64, error) {
			z := x[1] - b*(x[0]*x[0]-1)
			return -(x[0]*x[0] + z*z) / 2, nil
		},
		draw: func(dst []float64, rng *rand.Rand) {
			dst[0] = rng.NormFloat64()
			dst[1] = rng.NormFloat64() + b*(dst[0]*dst[0]-1)
		},
		uniforms: func(x []float64) []float64 {
			z := x[1] - b*(x[0]*x[0]-1)
			return []float64{distuv.UnitNormal.CDF(x[0]), distuv.UnitNormal.CDF(z), distuv.UnitNormal.CDF((x[0] + z) / math.Sqrt2)}
		},
	}
}

// gamma is the Gamma distribution of shape 3 and rate 1, of which half the walk
// of a chain near zero falls outside the support.
func gamma() distribution {
	g := distuv.Gamma{Alpha: 3, Beta: 1}
	return distribution{
		dim: 1,
		target: func(x []float64) (float64, error) {
			if x[0] <= 0 {
				return math.Inf(-1), nil
			}
			return 2*math.Log(x[0]) - x[0], nil
		},
		draw: func(dst []float64, rng *rand.Rand) {
			dst[0] = rng.ExpFloat64() + rng.ExpFloat64() + rng.ExpFloat64()
		},
		uniforms: func(x []float64) []float64 { return []float64{g.CDF(x[0])} },
	}
}

var errBeyondOne = errors.New("no solution beyond 1")

// failing is a standard normal that cannot be evaluated above 1: by an error, NaN
// or an infinite density. What is left is the normal below 1.
func failing() distribution {
	below := distuv.UnitNormal.CDF(1)
	return distribution{
		dim: 1,
		target: func(x []float64) (float64, error) {
			switch {
			case x[0] > 2:
				return 0, errBeyondOne
			case x[0] > 1.5:
				return math.NaN(), nil
			case x[0] > 1:
				return math.Inf(1), nil
			}
			return -x[0] * x[0] / 2, nil
		},
		draw: func(dst []float64, rng *rand.Rand) {
			for dst[0] = rng.NormFloat64(); dst[0] > 1; {
				dst[0] = rng.NormFloat64()
			}
		},
		uniforms: func(x []float64) []float64 { return []float64{distuv.UnitNormal.CDF(x[0]) / below} },
	}
}

// afterSteps begins n independent chains in exact draws of l, lets each make k
// steps on target with the proposal, which has learned what is given, and returns for each of l.uniforms
//
//	λ = √n sup |Fₙ(u) − u|,
//
// along with the acceptance rate. If the kernel leaves l as it is, the positions
// after k steps are n independent draws of l again and, by the inequality of
// Dvoretzky, Kiefer, Wolfowitz and Massart, for any n
//
//	P(λ > c) ≤ 2 exp(−2c²).
func afterSteps(l distribution, target LogDensity, proposal AdaptiveMetropolis, learned []byte, n, k int) (lambda []float64, rate float64) {
	rng := rand.New(rand.NewPCG(7, 1))
	kernel := &Metropolis{Target: target, Proposal: proposal}
	x := make([]float64, l.dim)
	var u [][]float64
	var moves Moves
	for range n {
		l.draw(x, rng)
		if err := kernel.Init(x, rng); err != nil {
			panic(err)
		}
		if learned != nil {
			kernel.walk.State(NewArchive(learned))
		}
		for range k {
			kernel.Step(rng)
		}
		moves = moves.plus(1, kernel.Stats().Moves)
		u = append(u, l.uniforms(kernel.Position()))
	}
	for i := range u[0] {
		column := make([]float64, n)
		for j := range column {
			column[j] = u[j][i]
		}
		slices.Sort(column)
		var sup float64
		for j, v := range column {
			sup = math.Max(sup, math.Max(v-float64(j)/float64(n), float64(j+1)/float64(n)-v))
		}
		lambda = append(lambda, math.Sqrt(float64(n))*sup)
	}
	return lambda, moves.Rate()
}

// The bound c = 2.8 on λ; 18 statistics in all: 18·2·exp(−2·2.8²) = 6e-6.
func TestMetropolisLeavesTargetInvariant(t *testing.T) {
	const bound = 2.8
	for _, c := range []struct {
		name         string
		distribution distribution
		scale        []float64
	}{
		{"Gaussian 1", gaussian(1), nil},
		{"Gaussian 2", gaussian(2), nil},
		{"Gaussian 4", gaussian(4), nil},
		{"banana", banana(0.8), nil},
		{"Gamma", gamma(), nil},
		{"failing", failing(), nil},
	} {
		lambda, rate := afterSteps(c.distribution, c.distribution.target, AdaptiveMetropolis{Scale: c.scale, AdaptAfter: -1}, nil, 10000, 12)
		t.Logf("%-10s accepted %.2f, λ = %.2f", c.name, rate, lambda)
		if slices.Max(lambda) > bound {
			t.Errorf("%s: the distribution has changed, λ = %.2f", c.name, lambda)
		}
		// A kernel that hardly moves leaves every distribution as it is.
		if rate < 0.1 {
			t.Errorf("%s: accepted only %.3f", c.name, rate)
		}
	}

	// The test can see: a target whose variance is 1.2 times too large.
	l := gaussian(2)
	flat := func(x []float64) (float64, error) {
		logp, err := l.target(x)
		return logp / 1.2, err
	}
	if lambda, _ := afterSteps(l, flat, AdaptiveMetropolis{AdaptAfter: -1}, nil, 10000, 12); slices.Max(lambda) < bound {
		t.Errorf("a target of 1.2 times the variance passes, λ = %.2f", lambda)
	}
}

// Detailed balance: from an exact draw X₀, one step to X₁, the pairs (X₀, X₁) and
// (X₁, X₀) have one distribution. With n_ij the number of chains that went from cell i to
// cell j, of n_ij + n_ji exchanges each goes either way with probability ½, so
//
//	Σ (n_ij − n_ji)² / (n_ij + n_ji),  i < j,
//
// is χ² of as many degrees of freedom as there are pairs with exchanges (Bowker
// 1948). The bound is its quantile of 1 − 1e-6.
func TestMetropolisDetailedBalance(t *testing.T) {
	const cells, chains = 6, 100000
	l := gamma()
	cell := func(x []float64) int { return min(int(cells*l.uniforms(x)[0]), cells-1) }
	rng := rand.New(rand.NewPCG(7, 2))
	kernel := &Metropolis{Target: l.target, Proposal: AdaptiveMetropolis{AdaptAfter: -1}}
	var n [cells][cells]float64
	x := make([]float64, 1)
	for range chains {
		l.draw(x, rng)
		if err := kernel.Init(x, rng); err != nil {
			t.Fatal(err)
		}
		kernel.Step(rng)
		n[cell(x)][cell(kernel.Position())]++
	}
	var chi2, pairs float64
	for i := range cells {
		for j := range i {
			// The normal approximation of ten exchanges and more.
			if sum := n[i][j] + n[j][i]; sum >= 10 {
				chi2 += (n[i][j] - n[j][i]) * (n[i][j] - n[j][i]) / sum
				pairs++
			}
		}
	}
	bound := distuv.ChiSquared{K: pairs}.Quantile(1 - 1e-6)
	t.Logf("χ² = %.1f of %v degrees of freedom, bound %.1f", chi2, pairs, bound)
	if pairs < 10 || chi2 > bound {
		t.Errorf("χ² = %.1f of %v degrees of freedom exceeds %.1f", chi2, pairs, bound)
	}
}

// Long adaptive runs from poor starts with poor scales. First and second moments
// are compared with the exact ones, in units of their estimated standard errors:
// 27 z-scores. The bound 5 would be a rate of 27·2·Φ(−5) = 2e-5 were the errors
// exact. They follow the ESS to the power −½ and so, by the 5 % computed at
// TestESSOfAutoregression for chains of about this autocorrelation, are off by
// 2.5 %; were one 10 % too low the rate would be 27·2·Φ(−4.5) = 2e-4.
func TestAdaptiveMetropolisMoments(t *testing.T) {
	type moment struct {
		name string
		of   func(x []float64) float64
		want float64
	}
	first := func(i int, want float64) moment {
		return moment{"E x", func(x []float64) float64 { return x[i] }, want}
	}
	second := func(i, j int, want float64) moment {
		return moment{"E xx", func(x []float64) float64 { return x[i] * x[j] }, want}
	}

	var normal []moment
	const d = 5
	for i := range d {
		normal = append(normal, first(i, 0))
		for j := range i + 1 {
			normal = append(normal, second(i, j, gaussianCov(i, j)))
		}
	}
	// For the banana with b: E x₂² = 1 + b² E(z² − 1)² = 1 + 2b² and
	// E x₁² x₂ = b E z²(z² − 1) = 2b.
	const b = 0.5
	twisted := []moment{
		first(0, 0), first(1, 0), second(0, 0, 1), second(1, 1, 1+2*b*b),
		{"E xxx", func(x []float64) float64 { return x[0] * x[0] * x[1] }, 2 * b},
	}
	bounded := []moment{first(0, 3), second(0, 0, 12)} // shape 3: mean 3, variance 3

	for _, c := range []struct {
		name         string
		distribution func() distribution
		scale        float64
		moments      []moment
	}{
		{"Gaussian", func() distribution { return gaussian(d) }, 0.05, normal},
		{"banana", func() distribution { return banana(b) }, 0.05, twisted},
		{"Gamma", gamma, 0.05, bounded},
	} {
		dim := c.distribution().dim
		chains, err := Run(context.Background(), func(int) Kernel {
			return &Metropolis{Target: c.distribution().target, Proposal: AdaptiveMetropolis{Scale: slices.Repeat([]float64{c.scale}, dim)}}
		}, Settings{Draws: 10000, BurnIn: 5000, Thin: 3, Seed: 5, Start: func(_ int, rng *rand.Rand) []float64 {
			x := make([]float64, dim)
			for i := range x {
				x[i] = 3 * rng.NormFloat64()
			}
			return x
		}})
		if err != nil {
			t.Fatal(err)
		}
		// Of 8 half-chains R̂ − 1 is about 4/ESS · χ²/7, with 7 degrees of
		// freedom. At an ESS of 4000, 0.01 is χ² = 70: a rate of 2e-12.
		for i, name := range chains.Names {
			if r := diag.RHat(chains.Parameter(i)); r > 1.01 {
				t.Errorf("%s: R̂ of %s is %.3f", c.name, name, r)
			}
		}
		for k, m := range c.moments {
			values := make([][]float64, len(chains.Draws))
			var mean, n float64
			for j, chain := range chains.Draws {
				for _, x := range chain {
					v := m.of(x)
					values[j] = append(values[j], v)
					mean += v
					n++
				}
			}
			mean /= n
			if z := (mean - m.want) / diag.MCSEMean(values); !(math.Abs(z) < 5) {
				t.Errorf("%s: moment %d, %s = %.4f, want %.4f (z = %.1f)", c.name, k, m.name, mean, m.want, z)
			}
		}
		// The best acceptance rate falls from 0.44 in one dimension to
		// 0.23 in many (Roberts, Gelman and Gilks 1997); with the scales
		// of the start it would be 0.9.
		for _, s := range chains.Stats {
			if r := s.Rate(); r < 0.15 || r > 0.5 {
				t.Errorf("%s: accepted %.2f after adaptation", c.name, r)
			}
		}
	}
}

// Rejections are told apart: outside the support, and failed.
func TestMetropolisCounts(t *testing.T) {
	var calls, outside, failed int
	kernel := &Metropolis{
		Target: func(x []float64) (float64, error) {
			calls++
			switch {
			case x[0] < -1:
				outside++
				return math.Inf(-1), nil
			case x[0] > 1:
				failed++
				return 0, errBeyondOne
			}
			return 0, nil // uniform: every other move is accepted
		},
		Proposal: AdaptiveMetropolis{AdaptAfter: -1},
	}
	rng := rand.New(rand.NewPCG(1, 1))
	for name, x := range map[string]float64{"outside": -2, "failing": 2} {
		if err := kernel.Init([]float64{x}, rng); err == nil {
			t.Errorf("no error from a start %s", name)
		}
	}
	if err := kernel.Init([]float64{2}, rng); !errors.Is(err, errBeyondOne) {
		t.Errorf("the target's error is lost: %v", err)
	}
	if err := kernel.Init([]float64{0}, rng); err != nil {
		t.Fatal(err)
	}
	calls, outside, failed = 0, 0, 0
	const n = 1000
	for range n {
		kernel.Step(rng)
	}
	want := Moves{Proposed: n, Accepted: n - outside - failed, Failed: failed}
	if got := kernel.Stats().Moves; got != want || calls != n || failed == 0 || outside == 0 {
		t.Errorf("counts %+v, want %+v, in %d calls", got, want, calls)
	}
}

func TestMetropolisStepDoesNotAllocate(t *testing.T) {
	l := gaussian(3)
	// A refresh at every step: those of every tenth would not show in the
	// average, which is rounded down.
	for _, pull := range []bool{false, true} {
		kernel := &Metropolis{Target: l.target, Proposal: AdaptiveMetropolis{AdaptAfter: 1, Every: 1, Pull: pull}}
		rng := rand.New(rand.NewPCG(1, 1))
		if err := kernel.Init(make([]float64, 3), rng); err != nil {
			t.Fatal(err)
		}
		if n := testing.AllocsPerRun(100, func() { kernel.Step(rng) }); n != 0 {
			t.Errorf("%v allocations in a step", n)
		}
	}
}

func BenchmarkMetropolisStep(b *testing.B) {
	l := gaussian(3)
	kernel := &Metropolis{Target: func([]float64) (float64, error) { return 0, nil }}
	rng := rand.New(rand.NewPCG(1, 1))
	if err := kernel.Init(make([]float64, l.dim), rng); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		kernel.Step(rng)
	}
}

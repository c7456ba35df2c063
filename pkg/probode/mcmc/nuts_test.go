package mcmc_test

import (
	"bytes"
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"

	"github.com/probode/probode/pkg/probode/mcmc"
	"github.com/probode/probode/pkg/probode/mcmc/diag"
)

// normalTarget is N(m, C) with mᵢ = i mod 7, standard deviations from 1/spread to spread
// and, if linked, correlations of 0.9 between neighbours.
func normalTarget(d int, spread float64, linked bool) (target mcmc.GradientDensity, mean, sd []float64) {
	mean, sd = make([]float64, d), make([]float64, d)
	for i := range d {
		mean[i], sd[i] = float64(i%7), math.Pow(spread, 2*float64(i)/float64(max(1, d-1))-1)
	}
	rho := 0.
	if linked {
		rho = 0.9
	}
	return func(grad, x []float64) (float64, error) {
		// The density of the autoregressive sequence z₀, zᵢ | zᵢ₋₁ ~ N(ρ zᵢ₋₁, 1 − ρ²).
		var logp, before float64
		clear(grad)
		for i, v := range x {
			z, s := (v-mean[i])/sd[i], 1.
			r := z
			if i > 0 {
				s = 1 - rho*rho
				r = z - rho*before
				grad[i-1] += rho * r / s / sd[i-1]
			}
			logp -= r * r / (2 * s)
			grad[i] -= r / s / sd[i]
			before = z
		}
		return logp, nil
	}, mean, sd
}

// linkedCov is the covariance of a linked normalTarget.
func linkedCov(sd []float64) *mat.SymDense {
	cov := mat.NewSymDense(len(sd), nil)
	for i := range sd {
		for j := range i + 1 {
			cov.SetSym(i, j, sd[i]*sd[j]*math.Pow(0.9, float64(i-j)))
		}
	}
	return cov
}

func nutsRun(t *testing.T, d int, s mcmc.Settings, kernel func() mcmc.NUTS) *mcmc.Chains {
	t.Helper()
	s.Generated = mcmc.NUTSQuantities()
	if s.Start == nil {
		s.Start = func(_ int, rng *rand.Rand) []float64 {
			x := make([]float64, d)
			for i := range x {
				x[i] = rng.NormFloat64()
			}
			return x
		}
	}
	c, err := mcmc.Run(context.Background(), func(int) mcmc.Kernel {
		k := kernel()
		k.BurnIn = s.BurnIn
		return &k
	}, s)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// checkMoments compares means and variances with the true ones. limit is in standard
// errors.
func checkMoments(t *testing.T, c *mcmc.Chains, mean, sd []float64, limit float64) {
	t.Helper()
	for i := range mean {
		x := c.Parameter(i)
		square := make([][]float64, len(x))
		for j := range x {
			for _, v := range x[j] {
				square[j] = append(square[j], (v-mean[i])*(v-mean[i]))
			}
		}
		for what, y := range map[string][][]float64{"mean": x, "variance": square} {
			want := mean[i]
			if what == "variance" {
				want = sd[i] * sd[i]
			}
			got := stat.Mean(slices.Concat(y...), nil)
			if z := (got - want) / diag.MCSEMean(y); !(math.Abs(z) < limit) {
				t.Errorf("the %s of coordinate %d is %g, want %g: %.1f standard errors", what, i+1, got, want, z)
			}
		}
	}
}

// Means and variances of Gaussian targets from bad starts, with and without a guess of the
// covariance. With n numbers each within z standard errors, a false alarm has a
// probability of about n·2Φ(−z): 2,000 numbers and z = 5.3 give 2e-4.
func TestNUTSGaussian(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	for name, c := range map[string]struct {
		d      int
		spread float64
		linked bool
		draws  int
		guess  bool
		limit  float64
	}{
		"one":       {1, 100, false, 2000, false, 4.5},
		"linked":    {12, 100, true, 1000, false, 4.7},
		"guessed":   {120, 100, true, 250, true, 5},
		"thousands": {1000, 3, false, 200, false, 5.3},
	} {
		t.Run(name, func(t *testing.T) {
			target, mean, sd := normalTarget(c.d, c.spread, c.linked)
			var cov *mat.SymDense
			if c.guess {
				cov = linkedCov(sd)
			}
			out := nutsRun(t, c.d, mcmc.Settings{Draws: c.draws, BurnIn: 250, Seed: 5}, func() mcmc.NUTS {
				k := mcmc.NUTS{Target: target}
				if cov != nil {
					k.Cov = cov
				}
				return k
			})
			checkMoments(t, out, mean, sd, c.limit)
			for _, w := range out.Warnings() {
				if strings.Contains(w, "diverg") || strings.Contains(w, "energy") || strings.Contains(w, "U-turn") {
					t.Errorf("a Gaussian target has the warning %q", w)
				}
			}
		})
	}
}

// In a model with layers, xᵢ ~ N(0, eᵛ) is observed with a small error as yᵢ = e^(v/2)
// zᵢ, and zᵢ ~ N(0, 1) are the coordinates. The density is highest at a large v, where
// there is almost no mass. With the Fisher information at the mean of each window, NUTS
// takes less than half of the leapfrog steps that it takes with the information at the
// mode, and finds the same distribution. The moments of v come from quadrature. The
// probability of a false alarm is 1e-4.
func TestNUTSLayers(t *testing.T) {
	const n, noise = 40, 0.05
	y := make([]float64, n)
	for i := range y {
		y[i] = 0.3 * math.Sqrt2 * math.Erfinv((2*float64(i)+1)/n-1)
	}
	calls := 0
	target := func(grad, x []float64) (float64, error) {
		calls++
		v := x[n]
		s := math.Exp(v / 2)
		logp := -v * v / 18
		grad[n] = -v / 9
		for i, z := range x[:n] {
			r := (y[i] - s*z) / noise
			logp -= (r*r + z*z) / 2
			grad[i] = r*s/noise - z
			grad[n] += r * s * z / 2 / noise
		}
		return logp, nil
	}
	covAt := func(x []float64) mat.Symmetric {
		information, s := mat.NewSymDense(n+1, nil), math.Exp(x[n]/2)/noise
		last := 1. / 9
		for i, z := range x[:n] {
			information.SetSym(i, i, s*s+1)
			information.SetSym(i, n, s*s*z/2)
			last += s * s * z * z / 4
		}
		information.SetSym(n, n, last)
		var chol mat.Cholesky
		if !chol.Factorize(information) {
			return nil
		}
		cov := mat.NewSymDense(n+1, nil)
		if err := chol.InverseTo(cov); err != nil {
			return nil
		}
		return cov
	}
	// Without the zᵢ, yᵢ ~ N(0, eᵛ + noise²).
	var mass, mean, square float64
	for v := -6.0; v < 6; v += 1e-3 {
		variance := math.Exp(v) + noise*noise
		logp := -v * v / 18
		for _, y := range y {
			logp -= y*y/(2*variance) + math.Log(variance)/2
		}
		p := math.Exp(logp - 30)
		mass, mean, square = mass+p, mean+p*v, square+p*v*v
	}
	mean /= mass
	sd := math.Sqrt(square/mass - mean*mean)

	mode := make([]float64, n+1) // a rough one
	mode[n] = 3
	for i := range y {
		mode[i] = y[i] * math.Exp(-1.5)
	}
	var work [2]int
	for i, at := range []func([]float64) mat.Symmetric{nil, covAt} {
		calls = 0
		out := nutsRun(t, n+1, mcmc.Settings{Draws: 300, BurnIn: 300, Seed: 3, Workers: 1, Start: func(int, *rand.Rand) []float64 { return mode }},
			func() mcmc.NUTS { return mcmc.NUTS{Target: target, Mean: mode, Cov: covAt(mode), CovAt: at} })
		work[i] = calls
		x := out.Parameter(n)
		if z := (stat.Mean(slices.Concat(x...), nil) - mean) / diag.MCSEMean(x); !(math.Abs(z) < 4.2) {
			t.Errorf("the mean of v is %.1f standard errors from %g", z, mean)
		}
		if got := stat.StdDev(slices.Concat(x...), nil); !(math.Abs(got-sd) < 4.2*diag.MCSESD(x)) {
			t.Errorf("the sd of v is %g, want %g ± %g", got, sd, diag.MCSESD(x))
		}
	}
	if 2*work[1] > work[0] {
		t.Errorf("%d gradients with the shapes at the windows, %d without", work[1], work[0])
	}
}

// Steps that rotate draw from the target whether or not its covariance is that of the guess,
// and if it is, a path has three steps. With 220 numbers within 4.9 standard errors, a false
// alarm has a probability of about 2e-4.
func TestNUTSRotates(t *testing.T) {
	gaussian, mean, sd := normalTarget(50, 10, true)
	exact := linkedCov(sd)
	scaled := func(f float64) *mat.SymDense {
		var cov mat.SymDense
		cov.ScaleSym(f, exact)
		return &cov
	}
	moved := slices.Clone(mean)
	for i := range moved {
		moved[i] += 2 * sd[i]
	}
	const free = 10 // degrees of freedom: the variance is 10/8
	heavy := func(grad, x []float64) (logp float64, err error) {
		for i, v := range x {
			logp -= (free + 1) / 2. * math.Log1p(v*v/free)
			grad[i] = -(free + 1) * v / (free + v*v)
		}
		return logp, nil
	}
	banana := func(grad, x []float64) (float64, error) {
		r := x[1] - x[0]*x[0]
		grad[0], grad[1] = -x[0]+8*r*x[0], -4*r
		return -x[0]*x[0]/2 - 2*r*r, nil
	}
	unit := func(d int) *mat.SymDense {
		cov := mat.NewSymDense(d, nil)
		for i := range d {
			cov.SetSym(i, i, 1)
		}
		return cov
	}
	for _, c := range []struct {
		name     string
		target   mcmc.GradientDensity
		mean, sd []float64 // of the target
		at       []float64 // the guesses
		cov      *mat.SymDense
		draws    int
		most     float64 // steps for a draw
	}{
		{"exact", gaussian, mean, sd, mean, exact, 500, 3.1},
		{"wide", gaussian, mean, sd, mean, scaled(16), 500, 8},
		{"narrow", gaussian, mean, sd, mean, scaled(1. / 16), 500, 8},
		{"elsewhere", gaussian, mean, sd, moved, exact, 500, 8},
		{"heavy tails", heavy, make([]float64, 10), slices.Repeat([]float64{math.Sqrt(free / 8.)}, 10), make([]float64, 10), unit(10), 1000, 8},
		{"banana", banana, []float64{0, 1}, []float64{1, 1.5}, []float64{0, 0}, unit(2), 3000, 20},
	} {
		t.Run(c.name, func(t *testing.T) {
			out := nutsRun(t, len(c.mean), mcmc.Settings{Draws: c.draws, BurnIn: 200, Seed: 1},
				func() mcmc.NUTS { return mcmc.NUTS{Target: c.target, Mean: c.at, Cov: c.cov, Accept: 0.9} })
			checkMoments(t, out, c.mean, c.sd, 4.9)
			leaps := 0.
			for _, v := range slices.Concat(out.Generated...) {
				leaps += v[3] / float64(4*c.draws)
			}
			if leaps > c.most {
				t.Errorf("%.2f steps for a draw: want at most %g", leaps, c.most)
			}
		})
	}
}

// A banana: y | x ~ N(x², ¼) with x ~ N(0, 1). E y = 1 and var y = 2 + ¼.
func TestNUTSBanana(t *testing.T) {
	target := func(grad, x []float64) (float64, error) {
		r := x[1] - x[0]*x[0]
		grad[0], grad[1] = -x[0]+8*r*x[0], -4*r
		return -x[0]*x[0]/2 - 2*r*r, nil
	}
	out := nutsRun(t, 2, mcmc.Settings{Draws: 3000, BurnIn: 500, Seed: 2}, func() mcmc.NUTS {
		return mcmc.NUTS{Target: target, Accept: 0.95}
	})
	checkMoments(t, out, []float64{0, 1}, []float64{1, 1.5}, 4.2) // false alarm 1e-4
}

// In Neal's funnel, v ~ N(0, 3²) and nine x ~ N(0, eᵛ), no step suits the whole target.
// The draws miss the neck, and warnings say so.
func TestNUTSFunnel(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	target := func(grad, x []float64) (float64, error) {
		v := x[0]
		logp := -v * v / 18
		grad[0] = -v / 9
		for i := 1; i < len(x); i++ {
			q := x[i] * x[i] * math.Exp(-v)
			logp -= (q + v) / 2
			grad[0] += (q - 1) / 2
			grad[i] = -x[i] * math.Exp(-v)
		}
		return logp, nil
	}
	out := nutsRun(t, 10, mcmc.Settings{Draws: 1000, BurnIn: 500, Seed: 1}, func() mcmc.NUTS { return mcmc.NUTS{Target: target} })
	all := strings.Join(out.Warnings(), "\n")
	for _, want := range []string{"divergent", "E-BFMI"} {
		if !strings.Contains(all, want) {
			t.Errorf("no %q in the warnings\n%s", want, all)
		}
	}
	if s := out.String(); !strings.Contains(s, "leapfrog steps per draw") {
		t.Errorf("the summary does not say what NUTS did:\n%s", s)
	}
}

// The same draws for any number of workers, and from any iteration on, in the burn-in or
// after it, if the state is written and read back into a new kernel.
func TestNUTSResumes(t *testing.T) {
	for i, d := range []int{3, 120, 110} { // with a full covariance, without, and with a guess at each window
		target, _, sd := normalTarget(d, 100, true)
		kernel := func() *mcmc.NUTS { return &mcmc.NUTS{Target: target, BurnIn: 60, MaxDepth: 5} }
		if i == 2 {
			kernel = func() *mcmc.NUTS {
				return &mcmc.NUTS{Target: target, BurnIn: 60, MaxDepth: 5, CovAt: func([]float64) mat.Symmetric { return linkedCov(sd) }}
			}
		}
		run := func(workers int) *mcmc.Chains {
			return nutsRun(t, d, mcmc.Settings{Draws: 20, BurnIn: 60, Seed: 3, Workers: workers}, func() mcmc.NUTS { return *kernel() })
		}
		if one, four := run(1), run(4); !reflect.DeepEqual(one.Draws, four.Draws) || !reflect.DeepEqual(one.Generated, four.Generated) {
			t.Error("the draws depend on the number of workers")
		}
		start := make([]float64, d)
		k, source := kernel(), rand.NewPCG(1, 2)
		if err := k.Init(start, rand.New(source)); err != nil {
			t.Fatal(err)
		}
		write := func(k *mcmc.NUTS, source *rand.PCG) []byte {
			a := mcmc.NewArchive(nil)
			a.Source(source)
			k.State(a)
			return bytes.Clone(a.Bytes())
		}
		other, otherSource := kernel(), rand.NewPCG(8, 9)
		if err := other.Init(start, rand.New(otherSource)); err != nil {
			t.Fatal(err)
		}
		rng, otherRNG := rand.New(source), rand.New(otherSource)
		for n := range 80 {
			// other continues from the state at every iteration, and has made another number
			// of iterations before.
			a := mcmc.NewArchive(write(k, source))
			a.Source(otherSource)
			other.State(a)
			if a.Err() != nil {
				t.Fatal(a.Err())
			}
			k.Step(rng)
			other.Step(otherRNG)
			if !bytes.Equal(write(k, source), write(other, otherSource)) {
				t.Fatalf("d = %d: iteration %d is another after the state was read", d, n+1)
			}
		}
	}
}

// An iteration allocates no memory of its own.
func TestNUTSAllocations(t *testing.T) {
	target, _, _ := normalTarget(20, 100, true)
	k := &mcmc.NUTS{Target: target, BurnIn: 200}
	rng := rand.New(rand.NewPCG(1, 1))
	if err := k.Init(make([]float64, 20), rng); err != nil {
		t.Fatal(err)
	}
	for range 200 {
		k.Step(rng)
	}
	if n := testing.AllocsPerRun(50, func() { k.Step(rng) }); n != 0 {
		t.Errorf("%g allocations in an iteration", n)
	}
}

// A target that cannot be evaluated everywhere: the failures are counted, and the rest is
// sampled.
func TestNUTSFailures(t *testing.T) {
	target := func(grad, x []float64) (float64, error) {
		grad[0] = -x[0]
		if x[0] < -1 {
			return 0, errNone
		}
		return -x[0] * x[0] / 2, nil
	}
	out := nutsRun(t, 1, mcmc.Settings{Draws: 1000, BurnIn: 200, Seed: 4, Start: func(int, *rand.Rand) []float64 { return []float64{0} }},
		func() mcmc.NUTS { return mcmc.NUTS{Target: target} })
	// The mean of N(0, 1) above −1 is φ(1)/Φ(1); the variance about 0 is 1 − φ(1)/Φ(1).
	const mean = 0.28759997
	checkMoments(t, out, []float64{mean}, []float64{math.Sqrt(1 - mean - mean*mean)}, 4.2)
	if out.Stats[0].Failed == 0 {
		t.Error("no failures are counted")
	}
	k := &mcmc.NUTS{Target: target}
	if err := k.Init([]float64{-2}, rand.New(rand.NewPCG(1, 1))); err == nil || !strings.Contains(err.Error(), "no solution") {
		t.Errorf("a start that fails: %v", err)
	}
}

var errNone = errors.New("no solution")

// A guess of the covariance that is not finite is ignored.
func TestNUTSIgnoresInfiniteCovariance(t *testing.T) {
	k := &mcmc.NUTS{BurnIn: 100,
		Target: func(grad, x []float64) (float64, error) {
			grad[0], grad[1] = -x[0], -x[1]/9
			return -x[0]*x[0]/2 - x[1]*x[1]/18, nil
		},
		CovAt: func([]float64) mat.Symmetric {
			inf := math.Inf(1)
			return mat.NewSymDense(2, []float64{inf, inf, inf, inf})
		}}
	rng := rand.New(rand.NewPCG(1, 2))
	if err := k.Init([]float64{1, 1}, rng); err != nil {
		t.Fatal(err)
	}
	for range 200 {
		k.Step(rng)
	}
	if x := k.Position(); math.IsNaN(x[0]+x[1]) || k.Stats().Rate() < 0.8 {
		t.Errorf("at %v, with the acceptance rate %.2f", x, k.Stats().Rate())
	}
}

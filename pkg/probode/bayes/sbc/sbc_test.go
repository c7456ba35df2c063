package sbc_test

import (
	"context"
	"errors"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/adams"
	"github.com/probode/probode/pkg/probode/bayes"
	"github.com/probode/probode/pkg/probode/bayes/sample"
	"github.com/probode/probode/pkg/probode/bayes/sbc"
	"github.com/probode/probode/pkg/probode/mcmc"
)

// calibrationModel is decay with an unknown rate, initial value and size of
// errors, and the noise of the solver about as large as that of the data.
func calibrationModel() *bayes.Posterior {
	d := &bayes.Data{}
	for i := range 6 {
		d.T = append(d.T, 0.25+0.35*float64(i)) // between the grid points, too
		d.Y = append(d.Y, []float64{0})
	}
	d.Y[3][0] = math.NaN()
	decay := &probode.Problem{
		Name: "decay", X0: []float64{1}, Theta: []float64{1}, Span: [2]float64{0, 2}, Autonomous: true,
		F: func(f []float64, _ float64, x, th []float64) { f[0] = -th[0] * x[0] },
	}
	return &bayes.Posterior{
		Model: bayes.Model{
			Params: []bayes.Param{
				{Name: "theta1", Prior: distuv.LogNormal{Mu: 0, Sigma: 0.4}},
				{Name: "x1_0", Prior: distuv.Normal{Mu: 1, Sigma: 0.3}},
				{Name: "sigma", Prior: distuv.Uniform{Min: 0.05, Max: 0.4}},
			},
			Experiments: []bayes.Experiment{{Problem: decay.UnknownStart(), Data: d,
				Errors: []bayes.Likelihood{bayes.Gaussian{Sigma: bayes.Unknown("sigma")}}}},
		},
		Setup: probode.Setup{Method: adams.Bashforth{}, Mesh: probode.Uniform(0.25), Alpha: 0.5},
	}
}

var calibrationWalk = &mcmc.AdaptiveMetropolis{Scale: []float64{0.3, 0.15, 0.7}, AdaptAfter: 200}

// Every correct sampler passes: 8 samplers with 4 quantities each, whose P is
// below 1e-5 with probability 1e-5 each, 3e-4 in all. The draws that a θ is
// ranked among depend on each other a little, which multiplies that by less than
// 10. The paper's sampler is found out.
func TestSBC(t *testing.T) {
	p := calibrationModel()
	for _, s := range []sample.Sampler{
		sample.Deterministic{Proposal: calibrationWalk},
		sample.PCNWithinGibbs{Proposal: calibrationWalk},
		sample.Hamiltonian{},
		sample.PseudoMarginal{Particles: 6, Proposal: calibrationWalk},
		sample.PseudoMarginal{Particles: 6, Correlation: 0.9, Proposal: calibrationWalk},
	} {
		r, err := sbc.Run(context.Background(), p, s, sbc.Settings{Sets: 40, Ranks: 9, Independent: 2, BurnIn: 400, Seed: 4})
		if err != nil {
			t.Fatal(err)
		}
		t.Log(r)
		for k, name := range r.Names {
			if r.P(k) < 1e-5 {
				t.Errorf("%v: %s has P = %.1g: ranks %v", s, name, r.P(k), r.Ranks[k])
			}
		}
	}
}

// The paper's sampler does not draw from p(θ, ξ | Y), which σ and the likelihood
// show where the noise of the solver is large.
func TestSBCFindsWrongSamplers(t *testing.T) {
	p := calibrationModel()
	p.Alpha = 2
	r, err := sbc.Run(context.Background(), p, sample.RedrawOnAccept{Proposal: calibrationWalk}, sbc.Settings{Sets: 60, Ranks: 9, Independent: 2, BurnIn: 500, Seed: 4})
	if err != nil {
		t.Fatal(err)
	}
	t.Log(r)
	least := 1.0
	for k := range r.Names {
		least = min(least, r.P(k))
	}
	if least > 1e-6 {
		t.Errorf("the paper's sampler passes with P = %.1g", least)
	}
}

// The result depends neither on the number of workers nor, in its first data
// sets, on how many follow; and a run that is stopped has the first ones.
func TestSBCIsDeterministic(t *testing.T) {
	p, sampler := calibrationModel(), sample.PCNWithinGibbs{Proposal: calibrationWalk}
	s := sbc.Settings{Sets: 6, Ranks: 4, BurnIn: 50, Workers: 1}
	one, err := sbc.Run(context.Background(), p, sampler, s)
	if err != nil {
		t.Fatal(err)
	}
	s.Workers = 3
	three, err := sbc.Run(context.Background(), p, sampler, s)
	if err != nil || !reflect.DeepEqual(one, three) {
		t.Errorf("%v with one worker, %v with three, error %v", one.Ranks, three.Ranks, err)
	}
	s.Sets = 60
	ctx, cancel := context.WithCancel(context.Background())
	s.Progress = func(done, _ int) {
		if done >= 7 {
			cancel()
		}
	}
	part, err := sbc.Run(ctx, p, sampler, s)
	if !errors.Is(err, context.Canceled) {
		t.Fatalf("error %v", err)
	}
	if n := len(part.Ranks[0]); n < 3 || n == 60 {
		t.Fatalf("%d data sets done", n)
	}
	for k := range part.Ranks {
		for i := range min(len(part.Ranks[k]), 6) {
			if part.Ranks[k][i] != one.Ranks[k][i] {
				t.Fatal("the first data sets depend on how many follow")
			}
		}
	}
}

func TestSBCErrors(t *testing.T) {
	p := calibrationModel()
	p.Alpha = 0
	if _, err := sbc.Run(context.Background(), p, sample.PCNWithinGibbs{}, sbc.Settings{}); err == nil || !strings.Contains(err.Error(), "Alpha is 0") {
		t.Errorf("error %v", err)
	}
	// Log-normal errors of what is never positive.
	p.Experiments[0].Observe = func(dst []float64, _ float64, _, _ []float64) { dst[0] = -1 }
	p.Experiments[0].Errors = []bayes.Likelihood{bayes.LogNormal{Sigma: bayes.Unknown("sigma")}}
	p.Experiments[0].Data.Y = [][]float64{{1}, {1}, {1}, {1}, {1}, {1}}
	if _, err := sbc.Run(context.Background(), p, sample.Deterministic{}, sbc.Settings{}); err == nil || !strings.Contains(err.Error(), "data could not be simulated for any of the 1000 draws from the prior") {
		t.Errorf("error %v", err)
	}
}

// For few data sets the joint probability of the bands and P follow by
// enumeration of all ranks.
func TestSBCBandsByEnumeration(t *testing.T) {
	const sets, ranks = 4, 3
	r := &sbc.Result{Draws: ranks, Names: []string{"x"}}
	tail := func(ranking []int) float64 {
		least := 1.0
		for i := range ranks {
			dist := distuv.Binomial{N: sets, P: float64(i+1) / (ranks + 1)}
			count := 0.0
			for _, v := range ranking {
				if v <= i {
					count++
				}
			}
			least = min(least, 2*dist.CDF(count), 2*(1-dist.CDF(count-1)))
		}
		return least
	}
	var all [][]int
	for code := range 256 {
		all = append(all, []int{code & 3, code >> 2 & 3, code >> 4 & 3, code >> 6 & 3})
	}
	for _, ranking := range all[:64] {
		var want float64
		for _, other := range all {
			if tail(other) <= tail(ranking)*(1+1e-9) {
				want += 1.0 / 256
			}
		}
		r.Ranks = [][]int{ranking}
		// Rounding of sums of at most 256 terms below 1.
		if got := r.P(0); math.Abs(got-want) > 1e-12 {
			t.Errorf("ranks %v: P = %v, want %v", ranking, got, want)
		}
	}
	for _, probability := range []float64{0.5, 0.9} {
		var joint float64
		for _, ranking := range all {
			r.Ranks = [][]int{ranking}
			_, diff, lo, hi := r.ECDF(0, probability)
			inside := true
			for i := range diff {
				inside = inside && diff[i] >= lo[i]-1e-12 && diff[i] <= hi[i]+1e-12
			}
			if inside {
				joint += 1.0 / 256
			}
		}
		// Whole numbers of four data sets jump by a lot.
		if joint < probability || joint > probability+0.35 {
			t.Errorf("bands of %g hold with probability %g", probability, joint)
		}
		var bars float64
		for _, ranking := range all {
			r.Ranks = [][]int{ranking}
			counts, lo, hi := r.Histogram(0, probability)
			if slices.Min(counts) >= lo && slices.Max(counts) <= hi {
				bars += 1.0 / 256
			}
		}
		if bars < probability || bars > probability+0.35 {
			t.Errorf("bands of %g for a histogram hold with probability %g", probability, bars)
		}
	}
}

// The bands of a histogram of 400 uniform ranks hold with the probability that they
// promise: in 2000 simulations the number that lie inside is below 1900 less 4.5
// standard deviations with probability 3e-6, and for counts this large the bands
// hold with little more than .95.
func TestSBCHistogramBands(t *testing.T) {
	rng := probode.Stream(6)
	const n = 2000
	inside := 0.
	r := &sbc.Result{Draws: 19, Ranks: [][]int{make([]int, 400)}}
	_, lo, hi := r.Histogram(0, 0.95) // of 400 ranks, whatever they are
	for range n {
		counts := make([]int, 20)
		for range r.Ranks[0] {
			counts[rng.IntN(20)]++
		}
		if slices.Min(counts) >= lo && slices.Max(counts) <= hi {
			inside++
		}
	}
	sd := math.Sqrt(n * 0.95 * 0.05)
	if inside < 0.95*n-4.5*sd || inside > 0.975*n+4.5*sd {
		t.Errorf("bands from %d to %d hold in %g of %d", lo, hi, inside, n)
	}
}

// P is uniform for uniform ranks, up to the jumps that whole numbers make:
// P(P ≤ a) ≤ a. 1000 results; the counts exceed 1000 a by 4.5 standard
// deviations with probability 7e-6 each.
func TestSBCPIsCalibrated(t *testing.T) {
	rng := probode.Stream(5)
	const n = 1000
	limits := []float64{0.01, 0.05, 0.2, 0.5}
	counts := make([]float64, len(limits))
	r := &sbc.Result{Draws: 19, Ranks: [][]int{make([]int, 60)}}
	for range n {
		for i := range r.Ranks[0] {
			r.Ranks[0][i] = rng.IntN(20)
		}
		p := r.P(0)
		for i, a := range limits {
			if p <= a {
				counts[i]++
			}
		}
	}
	for i, a := range limits {
		sd := math.Sqrt(n * a * (1 - a))
		if counts[i] > n*a+4.5*sd || counts[i] < 0.8*n*a-4.5*sd {
			t.Errorf("P ≤ %g in %g of %d", a, counts[i], n)
		}
	}
}

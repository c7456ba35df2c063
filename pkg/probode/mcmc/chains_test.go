package mcmc

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/probode/probode/pkg/probode/mcmc/diag"
)

// by hand: two chains of five draws of two parameters.
func small() *Chains {
	return &Chains{
		Names: []string{"a", "θ₂"},
		Draws: [][][]float64{
			{{1, 10}, {2, 30}, {3, 20}, {4, 50}, {5, 40}},
			{{6, 10}, {7, 20}, {8, 30}, {9, 40}, {10, 50}},
		},
	}
}

func TestChainsViews(t *testing.T) {
	c := small()
	if got, want := c.Parameter(1), [][]float64{{10, 30, 20, 50, 40}, {10, 20, 30, 40, 50}}; !reflect.DeepEqual(got, want) {
		t.Errorf("parameter %v, want %v", got, want)
	}
	pooled := c.Pooled()
	if len(pooled) != 10 || pooled[5][0] != 6 || &pooled[9][1] != &c.Draws[1][4][1] {
		t.Errorf("pooled draws %v", pooled)
	}
}

func TestSummary(t *testing.T) {
	c := small()
	s := c.Summary()
	// 1 to 10: the sum of squares about the mean is 10·99/12; quantiles
	// interpolate between order statistics at 9p.
	m := s[0]
	for _, v := range []struct {
		name      string
		got, want float64
	}{
		{"mean", m.Mean, 5.5},
		{"sd", m.SD, math.Sqrt(82.5 / 9)},
		{"2.5 %", m.Q025, 1 + 9*0.025},
		{"50 %", m.Median, 5.5},
		{"97.5 %", m.Q975, 1 + 9*0.975},
		{"mcse", m.MCSE, diag.MCSEMean(c.Parameter(0))},
		{"bulk", m.BulkESS, diag.BulkESS(c.Parameter(0))},
		{"tail", m.TailESS, diag.Summarize(c.Names, c.Draws, nil, nil)[0].TailESS},
		{"rhat", m.RHat, diag.RHat(c.Parameter(0))},
	} {
		if !(math.Abs(v.got-v.want) <= 1e-14*math.Abs(v.want)) { // some roundings
			t.Errorf("%s = %v, want %v", v.name, v.got, v.want)
		}
	}
	if s[1].Name != "θ₂" || s[1].Mean != 30 {
		t.Errorf("second parameter %+v", s[1])
	}
}

// Columns line up, whatever the names and numbers; the combining hat counts for
// nothing.
func TestSummaryTable(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	c := &Chains{Names: []string{"a", "a longer name", "θ₂"}}
	for range 4 {
		var chain [][]float64
		for range 1000 {
			chain = append(chain, []float64{1e5 + rng.NormFloat64(), 1e-7 * rng.NormFloat64(), math.NaN()})
		}
		c.Draws = append(c.Draws, chain)
	}
	lines := strings.Split(strings.TrimSuffix(c.Summary().String(), "\n"), "\n")
	for _, l := range lines {
		if n := len([]rune(strings.ReplaceAll(l, "\u0302", ""))); n != len([]rune(lines[1])) {
			t.Errorf("line of %d characters, want %d:\n%s", n, len([]rune(lines[1])), strings.Join(lines, "\n"))
		}
	}
}

// independent returns four chains of 1000 independent normal draws of two
// parameters, with their log densities.
func independent(seed uint64) *Chains {
	rng := rand.New(rand.NewPCG(seed, 3))
	c := &Chains{Names: []string{"a", "b"}, Quantities: []string{"lp__"}}
	for range 4 {
		var draws, generated [][]float64
		for range 1000 {
			x, y := rng.NormFloat64(), rng.NormFloat64()
			draws = append(draws, []float64{x, 5 + 0.1*y})
			generated = append(generated, []float64{-(x*x + y*y) / 2})
		}
		c.Draws = append(c.Draws, draws)
		c.Generated = append(c.Generated, generated)
		c.Stats = append(c.Stats, Stats{Moves: Moves{Proposed: 1000, Accepted: 999}})
	}
	return c
}

// Equal weights say no more than none.
func TestEqualWeights(t *testing.T) {
	c := independent(1)
	want := c.Summary()
	for range c.Draws {
		c.LogWeights = append(c.LogWeights, slices.Repeat([]float64{-2000}, 1000))
	}
	for i, m := range c.Summary() {
		w := want[i]
		for k, v := range [][2]float64{
			{m.Mean, w.Mean}, {m.SD, w.SD}, {m.Q025, w.Q025}, {m.Median, w.Median}, {m.Q975, w.Q975},
			{m.MCSE, w.MCSE}, {m.BulkESS, w.BulkESS}, {m.TailESS, w.TailESS}, {m.RHat, w.RHat},
		} {
			// Sums of 4000 roundings of 1e-16, at random.
			if !(math.Abs(v[0]-v[1]) <= 1e-12*(1+math.Abs(v[1]))) {
				t.Errorf("%s, number %d: %v, without weights %v", m.Name, k, v[0], v[1])
			}
		}
		// Of 4000 draws one has a variance over n and the other over n − 1.
		if !(math.Abs(m.MCSESD/w.MCSESD-1) <= 1./4000) {
			t.Errorf("%s: MCSESD %v, without weights %v", m.Name, m.MCSESD, w.MCSESD)
		}
	}
}

// Draws of weight zero are as good as not there.
func TestZeroWeights(t *testing.T) {
	c := small()
	inf := math.Inf(-1)
	c.LogWeights = [][]float64{slices.Repeat([]float64{7}, 5), slices.Repeat([]float64{inf}, 5)}
	m := c.Summary()[0] // 1, 2, 3, 4, 5
	for _, v := range []struct {
		name      string
		got, want float64
	}{
		{"mean", m.Mean, 3}, {"sd", m.SD, math.Sqrt(2.5)},
		{"2.5 %", m.Q025, 1.1}, {"50 %", m.Median, 3}, {"97.5 %", m.Q975, 4.9},
		{"bulk ESS", m.BulkESS, diag.BulkESS(c.Parameter(0)) / 2},
	} {
		if !(math.Abs(v.got-v.want) <= 1e-14*math.Abs(v.want)) { // some roundings
			t.Errorf("%s = %v, want %v", v.name, v.got, v.want)
		}
	}

	c.LogWeights = [][]float64{slices.Repeat([]float64{inf}, 5), slices.Repeat([]float64{inf}, 5)}
	c.KHat = math.NaN()
	if m := c.Summary()[0]; !math.IsNaN(m.Mean) || !math.IsNaN(m.BulkESS) || !math.IsNaN(m.MCSE) {
		t.Errorf("weights that are all zero: %+v", m)
	}
	if s := c.String(); !strings.Contains(s, "no weight is positive") {
		t.Errorf("weights that are all zero:\n%s", s)
	}
}

// Draws of N(0, 1), from correlated chains, with the weights exp(x/2) stand for
// N(½, 1). The error of the mean is to have the standard deviation MCSE, and that of
// the standard deviation MCSESD: of 100 runs the means of z² are to be 1, of which
// the standard error is √(2/100) = 0.14; against it the 3 % by which an MCSE² may be
// off for its ESS are nothing. The bound 1 ± 0.7 is z = 4.9: a rate of 2e-6, the
// skewness of χ² aside. Sd and
// quantiles of all runs together, of 400 000 draws with an autocorrelation time
// of 3 and a Kish factor of exp(−¼), worth 100 000 draws, have standard errors of
// 1/√(2·1e5), √(π/2)/√1e5, and, with the density 0.058, 0.156/0.058/√1e5: five of
// each, 4·2·Φ(−5) = 2e-6.
func TestWeightedDistribution(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	const runs, rho = 100, 0.5
	rng := rand.New(rand.NewPCG(1, 4))
	var squares, squaresSD, kish float64
	all := &Chains{Names: []string{"x"}}
	for range runs {
		c := &Chains{Names: []string{"x"}}
		for range 4 {
			var draws [][]float64
			var weights []float64
			x := rng.NormFloat64()
			for range 1000 {
				x = rho*x + math.Sqrt(1-rho*rho)*rng.NormFloat64()
				draws = append(draws, []float64{x})
				weights = append(weights, x/2)
			}
			c.Draws = append(c.Draws, draws)
			c.LogWeights = append(c.LogWeights, weights)
		}
		m := c.Summary()[0]
		squares += (m.Mean - 0.5) * (m.Mean - 0.5) / (m.MCSE * m.MCSE) / runs
		squaresSD += (m.SD - 1) * (m.SD - 1) / (m.MCSESD * m.MCSESD) / runs
		kish += m.BulkESS / diag.BulkESS(c.Parameter(0)) / runs
		all.Draws = append(all.Draws, c.Draws...)
		all.LogWeights = append(all.LogWeights, c.LogWeights...)
	}
	if math.Abs(squares-1) > 0.7 {
		t.Errorf("mean of z² is %.2f, want 1", squares)
	}
	if math.Abs(squaresSD-1) > 0.7 {
		t.Errorf("mean of z² of the standard deviation is %.2f, want 1", squaresSD)
	}
	// E w² / (E w)² = exp(¼).
	if math.Abs(kish-math.Exp(-0.25)) > 0.02 {
		t.Errorf("Kish factor %.3f, want %.3f", kish, math.Exp(-0.25))
	}
	m := all.Summary()[0]
	for _, v := range []struct{ got, want, tol float64 }{
		{m.SD, 1, 0.011},
		{m.Median, 0.5, 0.02},
		{m.Q025, 0.5 + distuv.UnitNormal.Quantile(0.025), 0.042},
		{m.Q975, 0.5 + distuv.UnitNormal.Quantile(0.975), 0.042},
	} {
		if math.Abs(v.got-v.want) > v.tol {
			t.Errorf("%v, want %v", v.got, v.want)
		}
	}
}

// Good chains give no warning. Of four chains of 1000 independent draws R̂ above
// 1.01 is χ² of 7 degrees of freedom above 70: 2e-12.
func TestNoWarnings(t *testing.T) {
	for seed := range uint64(10) {
		c := independent(seed)
		if w := c.Warnings(); w != nil {
			t.Errorf("seed %d: %q", seed, w)
		}
		for i := range c.Draws { // of a flat density, up to an edge
			for k := range c.Draws[i] {
				c.Draws[i][k][0] = distuv.UnitNormal.CDF(c.Draws[i][k][0])
				c.Generated[i][k][0] = 0
			}
		}
		if w := c.Warnings(); w != nil {
			t.Errorf("seed %d: %q", seed, w)
		}
	}
	c, err := Run(context.Background(), func(int) Kernel {
		return &Metropolis{Target: gaussian(3).target, Proposal: AdaptiveMetropolis{Pull: true, StopAfter: 1000}}
	}, Settings{Draws: 2000, Start: func(_ int, rng *rand.Rand) []float64 {
		return []float64{rng.NormFloat64(), rng.NormFloat64(), rng.NormFloat64()}
	}})
	if err != nil {
		t.Fatal(err)
	}
	if w := c.Warnings(); w != nil {
		t.Errorf("a run: %q", w)
	}
}

func TestWarnings(t *testing.T) {
	shift := func(c *Chains, chain, parameter int, by float64) {
		for _, x := range c.Draws[chain] {
			x[parameter] += by
		}
	}
	for _, test := range []struct {
		name string
		do   func(c *Chains)
		want []string // each the beginning of one warning, in order
	}{
		{"stuck", func(c *Chains) {
			for k := range c.Draws[1] {
				c.Draws[1][k] = []float64{0, 5}
			}
			c.Stats[1].Accepted = 0
		}, []string{"chain 2 never moved", "R̂"}},
		{"stuck, of unknown origin", func(c *Chains) {
			c.Stats = nil
			for k := range c.Draws[1] {
				c.Draws[1][k] = []float64{0, 5}
			}
		}, []string{"chain 2 never moved", "R̂"}},
		{"few moves", func(c *Chains) { c.Stats[3].Accepted = 4 }, []string{"chain 4 accepted 0.4 % of its moves"}},
		{"another mode", func(c *Chains) {
			shift(c, 2, 0, 30)
			for _, g := range c.Generated[2] {
				g[0] -= 50
			}
		}, []string{"the log density of chain 3 is ", "R̂"}},
		{"apart", func(c *Chains) { shift(c, 0, 1, 0.5) }, []string{"chain 1 differs from the others in b", "R̂"}},
		{"far out in a tail", func(c *Chains) { shift(c, 0, 1, 0); c.Draws[0][7][1] = 1e6 }, nil}, // moves the mean by 1000 standard deviations
		{"apart for two fifths of the draws", func(c *Chains) {
			for k, x := range c.Draws[0] {
				if 5*k < 2*len(c.Draws[0]) {
					x[1] += 50
				}
			}
		}, []string{"chain 1 differs from the others in b", "R̂"}},
		{"an edge", func(c *Chains) {
			for _, chain := range c.Draws {
				for k, x := range chain {
					if k%10 == 0 {
						x[1] = 4 + 1e-6*math.Abs(x[0])
					}
				}
			}
		}, []string{"10 % of the draws of b pile up at 4, the end of their range: the posterior ends there, at the edge of the prior or where the likelihood ends"}},
		{"a narrow mode far from the median", func(c *Chains) {
			for _, chain := range c.Draws {
				for k, x := range chain {
					if k%10 == 0 {
						x[1] = 40 + 0.01*x[0]
					}
				}
			}
		}, nil},
		{"constant", func(c *Chains) {
			for _, chain := range c.Draws {
				for _, x := range chain {
					x[0] = 1
				}
			}
		}, []string{"R̂ cannot be computed for a:"}},
		{"not finite", func(c *Chains) { c.Draws[0][7][1] = math.NaN() }, []string{"R̂ cannot be computed for b:"}},
		{"drift", func(c *Chains) {
			for _, chain := range c.Draws {
				for k, x := range chain {
					x[0] += 0.001 * float64(k)
				}
			}
		}, []string{"R̂ is as high as 1."}},
		{"short", func(c *Chains) {
			for i := range c.Draws {
				c.Draws[i] = c.Draws[i][:90]
			}
		}, []string{"ESS is below 100 per chain"}},
		{"bad weights", func(c *Chains) {
			for range c.Draws {
				c.LogWeights = append(c.LogWeights, make([]float64, 1000))
			}
			c.KHat = 0.8
		}, []string{"the weighted draws are worth 3992 effective draws, k̂ = 0.80, which is above the limit 0.70"}},
		{"capped", func(c *Chains) { c.Capped = true }, []string{"the run reached its maximum number of draws"}},
		{"no draws", func(c *Chains) {
			for i := range c.Draws {
				c.Draws[i], c.Generated[i], c.Stats[i] = nil, nil, Stats{}
			}
		}, []string{"there are no draws"}},
		{"nothing", func(c *Chains) { *c = Chains{} }, []string{"there are no draws"}},
		{"no chains", func(c *Chains) { *c = Chains{Names: []string{"a"}, LogWeights: [][]float64{}} }, []string{"there are no draws"}},
	} {
		c := independent(1)
		c.Notes = []string{"they began at the mode"}
		test.do(c)
		got := c.Warnings()
		if len(got) < len(test.want) || len(got) > len(test.want)+1 { // ESS may follow R̂
			t.Errorf("%s: %q", test.name, got)
			continue
		}
		for i, w := range test.want {
			if !strings.HasPrefix(got[i], w) {
				t.Errorf("%s: %q, want %q", test.name, got[i], w)
			}
		}
		text := c.String()
		for _, w := range got {
			if !strings.Contains(text, "\ncaution: "+w+"\n") {
				t.Errorf("%s: not in the table: %q", test.name, w)
			}
		}
		for _, n := range c.Notes {
			if !strings.Contains(text, "\nnote: "+n+"\n") {
				t.Errorf("%s: not in the table: %q", test.name, n)
			}
		}
	}
}

func TestStringSaysWhatWeightsAreWorth(t *testing.T) {
	for khat, want := range map[float64]string{math.Inf(-1): "which can be trusted", 0.6: "which can be trusted", 0.71: "which is above the limit 0.70, so the result cannot be trusted", math.Inf(1): "cannot be trusted"} {
		c := independent(1)
		for range c.Draws {
			c.LogWeights = append(c.LogWeights, make([]float64, 1000))
		}
		c.KHat = khat
		if s := c.String(); !strings.Contains(s, want) || !strings.Contains(s, fmt.Sprintf("effective draws, k̂ = %.2f, ", khat)) {
			t.Errorf("k̂ = %v: want %q in\n%s", khat, want, s)
		}
	}

	// Weights that leave one draw in forty leave too few, however thin their tail.
	c := independent(1)
	for range c.Draws {
		w := make([]float64, 1000)
		for k := range w {
			if k%40 != 0 {
				w[k] = -20
			}
		}
		c.LogWeights = append(c.LogWeights, w)
	}
	c.KHat = 0.1
	if w := c.weights(c.Summary()); w.trusted() || !strings.Contains(c.String(), "but reliable standard errors need 150 effective draws") {
		t.Errorf("%v in\n%s", w, c)
	}
}

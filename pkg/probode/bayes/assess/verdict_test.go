package assess_test

import (
	"bytes"
	"context"
	"math"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/adams"
	"github.com/probode/probode/pkg/probode/bayes"
	"github.com/probode/probode/pkg/probode/bayes/assess"
	"github.com/probode/probode/pkg/probode/bayes/cases"
	"github.com/probode/probode/pkg/probode/mcmc"
	"github.com/probode/probode/pkg/probode/methods"
	"github.com/probode/probode/pkg/probode/reference"
)

// shifted returns a model whose posterior is known: x′ = 3at² from 0, of which
// Euler's method with h = 1/2 makes x(2) = 5.25 a and the exact solution 8 a, with
// the prior of a and one datum of x(2) known to sigma.
func shifted(prior bayes.Distribution, y, sigma float64) *bayes.Posterior {
	return &bayes.Posterior{
		Model: bayes.Model{
			Params: []bayes.Param{{Name: "a", Prior: prior}},
			Experiments: []bayes.Experiment{{
				Problem: &probode.Problem{Name: "power", States: []string{"x"}, Params: []string{"a"}, X0: []float64{0}, Theta: []float64{1}, Span: [2]float64{0, 2},
					F: func(f []float64, t float64, _, th []float64) { f[0] = 3 * th[0] * t * t }},
				Data:   &bayes.Data{T: []float64{2}, Y: [][]float64{{y}}},
				Errors: []bayes.Likelihood{bayes.Gaussian{Sigma: bayes.Known(sigma)}},
			}},
		},
		Setup: probode.Setup{Method: adams.Bashforth{}, Mesh: probode.Uniform(0.5)},
	}
}

var halfCauchy = bayes.Truncated{Of: distuv.StudentsT{Mu: 0, Sigma: 1, Nu: 1}, Min: 0, Max: math.Inf(1)}

// simpson solves shifted exactly, and quickly.
var simpson = probode.Setup{Method: methods.RungeKutta{}, Mesh: probode.Uniform(0.5)}

// A half-Cauchy prior and a datum that says nothing: the posterior is the prior, has
// no mean, and median 1 and central 68 % from tan(π/2 · .1587) = .2544 to
// tan(π/2 · .8413) = 3.9305, half of which is 1.838. It is judged by them, and the
// solver does nothing to it. Log-normal, exponential and normal posteriors are judged
// by their moments. Each of the four numbers is within 4.5 standard errors: 3e-5.
func TestHeavyTailsAreJudgedByQuantiles(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	for _, c := range []struct {
		prior       bayes.Distribution
		by          string
		center, sd  float64
		otherwise   bool // a centre and spread that are not checked
		heavierThan float64
	}{
		{halfCauchy, "quantiles", 1, 1.838, false, 0.7},
		{distuv.LogNormal{Mu: 0, Sigma: 1}, "moments", math.Exp(0.5), math.Sqrt((math.E - 1) * math.E), true, -1},
		{distuv.Exponential{Rate: 1}, "moments", 1, 1, false, -1},
		{distuv.Normal{Mu: 0, Sigma: 1}, "moments", 0, 1, false, -1},
	} {
		a := assessed(t, shifted(c.prior, 0, 1e9), assess.Settings{Candidates: at(0.5), Accurate: simpson,
			Chains: mcmc.Settings{Draws: 4000, Seed: 3}})
		q, st := a.Params[0], a.Candidates[0]
		heavy := c.by == "quantiles"
		if index := a.Claim("tail index", ""); q.HeavyTails != heavy || heavy && !(index.Value > c.heavierThan) {
			t.Errorf("%T has heavy tails: %v, %+v", c.prior, q.HeavyTails, index)
		}
		if v := st.Verdict; v != assess.Negligible {
			t.Errorf("%T: %v\n%v", c.prior, v, a)
		}
		m := q.Mean
		if heavy {
			m = q.Median
		}
		if z, w := (m.Center-c.center)/m.CenterSE, (m.Spread-c.sd)/m.SpreadSE; !c.otherwise && !(math.Abs(z) < 4.5 && math.Abs(w) < 4.5) {
			t.Errorf("%T: %+v, want %.4f and %.4f", c.prior, m, c.center, c.sd)
		}
		if said := contains(a.Warnings(), "are so heavy"); said != heavy || heavy && st.Inference.Effects[0].Mean.Verdict != assess.Undecided {
			t.Errorf("%T: answer %q, warnings %q", c.prior, a.Answer(), a.Warnings())
		}
		within := strings.Contains(a.String(), "The errors of means and standard deviations are below")
		if within && heavy {
			t.Errorf("%T: moments said to be within limits\n%v", c.prior, a)
		}
	}
}

// The quantiles of a posterior with heavy tails have standard errors that hold: the
// mean of z² over 30 seeds is χ²₃₀/30, outside of (.4, 2.2) with probability 1e-3 for
// each of two numbers if z is normal with a variance of 1. The seeds are fixed.
func TestQuantileErrorsHold(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	const seeds = 30
	var m, s float64
	for seed := range uint64(seeds) {
		a := assessed(t, shifted(halfCauchy, 0, 1e9), assess.Settings{
			Candidates: at(0.5), Accurate: simpson, Chains: mcmc.Settings{Draws: 1500, BurnIn: 300, Seed: seed}})
		q := a.Params[0]
		if !q.HeavyTails {
			t.Fatalf("seed %d: mean and sd are judged: %+v", seed, q)
		}
		m += math.Pow((q.Median.Center-1)/q.Median.CenterSE, 2) / seeds
		s += math.Pow((q.Median.Spread-1.838)/q.Median.SpreadSE, 2) / seeds
	}
	t.Logf("mean z² %.2f of the median, %.2f of half the interval", m, s)
	if !(m > 0.4 && m < 2.2 && s > 0.4 && s < 2.2) {
		t.Errorf("mean z² is %.2f of the median and %.2f of half the interval, want 1", m, s)
	}
}

// twoDoses replaces the input of the case boluses by two doses of 12 that begin at first
// and second. Each of them enters in the given time.
func twoDoses(p *probode.Problem, first, second, width float64) {
	in := &probode.Input{Times: []float64{first, first + width, second, second + width}, Values: []float64{12 / width, 0, 12 / width, 0}, Constant: true}
	p.F = func(f []float64, t float64, x, theta []float64) { f[0] = in.At(t) - theta[0]*x[0] }
	p.Events = in.Events()
}

// Boluses of 1 and .001 of an hour, declared as events and not: the right
// posterior of k, that of the exact solution, to within 5 of its standard errors and
// 2 % of its sd, or no verdict.
func TestBolusesGiveTheRightPosteriorOrNoVerdict(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	c, err := cases.Named("boluses")
	if err != nil {
		t.Fatal(err)
	}
	for _, width := range []float64{1, 0.001} {
		d := c.Data()
		p := c.Model(d)
		f := p.Experiments[0].Problem
		twoDoses(f, 1, 2, width)
		exact, err := reference.Solve(context.Background(), f, d.T, reference.Settings{})
		if err != nil {
			t.Fatal(err)
		}
		for i := range d.Y {
			d.Y[i] = []float64{exact.X[i]}
		}
		var right assess.CenterSpread
		for _, declared := range []bool{true, false} {
			if !declared {
				f.Events = nil
			}
			a := assessed(t, p, assess.Settings{Candidates: at(0.125), Chains: mcmc.Settings{Draws: 200, Seed: 1}})
			v, q := a.Candidates[0].Verdict, a.Params[0]
			t.Logf("width %g, declared %v: %v, k = %.4f ± %.4f (sd), D of the reference %.2g", width, declared, v, q.Mean.Center, q.Mean.Spread, a.Claim("reference error", "").Value)
			if declared {
				right = q.Mean
				if v != assess.Negligible {
					t.Errorf("width %g, declared: %v, warnings %q", width, v, a.Warnings())
				}
				continue
			}
			if v == assess.Undecided {
				continue
			}
			if math.Abs(q.Mean.Center-right.Center) > 5*math.Hypot(q.Mean.CenterSE, right.CenterSE)+0.02*right.Spread || math.Abs(q.Mean.Spread/right.Spread-1) > 5*math.Hypot(q.Mean.SpreadSE, right.SpreadSE)/right.Spread+0.02 {
				t.Errorf("width %g, not declared: %v on k = %.4f ± %.4f, by events %.4f ± %.4f", width, v, q.Mean.Center, q.Mean.Spread, right.Center, right.Spread)
			}
		}
	}
}

// Boluses that begin between the times of the data, and are so short that solvers which
// choose their own steps step over them, with any tolerance and an error that they claim
// to be 1e-11: they are seen, and there is no verdict. Declared, there is one.
func TestBolusesThatAreSteppedOver(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	c, err := cases.Named("boluses")
	if err != nil {
		t.Fatal(err)
	}
	for _, declared := range []bool{true, false} {
		const width = 1e-4
		p := c.Posterior()
		f, d := p.Experiments[0].Problem, p.Experiments[0].Data
		twoDoses(f, 1.2345, 2.3456, width)
		exact, err := reference.Solve(context.Background(), f, d.T, reference.Settings{})
		if err != nil {
			t.Fatal(err)
		}
		for i := range d.Y {
			d.Y[i] = []float64{exact.X[i]}
		}
		if !declared {
			f.Events = nil
		}
		a := assessed(t, p, assess.Settings{Candidates: at(0.125), Chains: mcmc.Settings{Draws: 200, Seed: 1}})
		v := a.Candidates[0].Verdict
		if (v == assess.Undecided) == declared || strings.Contains(a.Answer(), "declare jumps of f as events") == declared {
			t.Errorf("declared %v: %v, answer %q, warnings %q", declared, v, a.Answer(), a.Warnings())
		}
	}
}

// A reference that is good at the mode and bad elsewhere gives no verdict: its steps
// are those of an explicit method that is at the edge of its stability at the mode.
func TestReferenceIsLookedAtOverTheDraws(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	p := assessPosterior(1. / 64)
	a := assessed(t, p, assess.Settings{Candidates: at(1. / 64), Accurate: probode.Setup{Method: methods.RungeKutta{}, Mesh: probode.Uniform(0.5)}, Chains: mcmc.Settings{Draws: 500, Seed: 1}})
	if v := a.Candidates[0].Verdict; v != assess.Undecided || !(a.Claim("reference error", "").Value > 0.01) || a.Claim("reference points", "").Value < 50 {
		t.Errorf("%v, answer %q", v, a.Answer())
	}
	// It says which step would be accurate enough, and that step is.
	sufficient, _, found := strings.Cut(a.Answer(), " would be accurate enough")
	if !found {
		t.Fatalf("answer %q", a.Answer())
	}
	h := sufficient[strings.LastIndex(sufficient, "h = ")+len("h = "):]
	step, err := strconv.ParseFloat(h, 64)
	if err != nil {
		t.Fatal(err)
	}
	a = assessed(t, p, assess.Settings{Candidates: at(1. / 64), Accurate: probode.Setup{Method: methods.RungeKutta{}, Mesh: probode.Uniform(step)}, Chains: mcmc.Settings{Draws: 500, Seed: 1}})
	if !(a.Claim("reference error", "").Value <= 0.01) {
		t.Errorf("the sufficient step has D = %g", a.Claim("reference error", "").Value)
	}
	// A tolerance that is too loose.
	a = assessed(t, p, assess.Settings{Candidates: at(1. / 64), Accurate: probode.Setup{Mesh: reference.Accurate{Tolerance: probode.Tolerance{Relative: 0.5}}}, Chains: mcmc.Settings{Draws: 500, Seed: 1}})
	if !(a.Claim("reference error", "").Value <= 0.01) && !strings.Contains(a.Answer(), "would be accurate enough") {
		t.Errorf("tolerance 0.5: %s", a.Answer())
	}
}

// f with a kink in time that is no event costs the reference no trust: it sees it.
func TestKinkInTheReference(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	p := shifted(distuv.Normal{Mu: 1, Sigma: 1}, 1.5, 0.01)
	p.Experiments[0].Problem.F = func(f []float64, t float64, _, th []float64) { f[0] = th[0] * math.Abs(t-0.7) }
	// ∫₀² |t − .7| dt = .245 + .845 = 1.09: the posterior is normal.
	mean := (1 + 1.09*1.5/1e-4) / (1 + 1.09*1.09/1e-4)
	sd := 1 / math.Sqrt(1+1.09*1.09/1e-4)
	a := assessed(t, p, assess.Settings{Candidates: at(1. / 512), Chains: mcmc.Settings{Draws: 300, Seed: 1}})
	q := a.Params[0]
	if a.Candidates[0].Verdict != assess.Undecided && (math.Abs(q.Mean.Center-mean) > 5*q.Mean.CenterSE || math.Abs(q.Mean.Spread-sd) > 5*q.Mean.SpreadSE) {
		t.Errorf("%.6f ± %.6f, want %.6f ± %.6f", q.Mean.Center, q.Mean.Spread, mean, sd)
	}
}

// What cannot be judged is undecided or refused in one line: a parameter that the
// data hold at its bound, draws too few to say anything, a confidence at its ends,
// chains that stick.
func TestVerdictsOnNextToNothing(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	p := shifted(distuv.Uniform{Min: 0, Max: 1}, 1e3, 1) // presses a to its bound
	for _, c := range []float64{0.5, 0.9999} {
		a := assessed(t, p, assess.Settings{Candidates: at(0.5), Accurate: simpson, Confidence: c, Chains: mcmc.Settings{Draws: 500, Seed: 1}})
		if q := a.Params[0]; !(q.Mean.Center > 0.99 && q.Mean.Center <= 1 && q.Mean.Spread < 0.01) || a.Confidence != c {
			t.Errorf("confidence %g: %+v", c, q)
		}
	}
	for _, draws := range []int{1, 2, 3, 5} {
		a := assessed(t, shifted(distuv.Normal{Mu: 0, Sigma: 1}, 0, 1), assess.Settings{Candidates: at(0.5), Accurate: simpson, Chains: mcmc.Settings{Draws: draws, BurnIn: 1, Chains: 1, Seed: 1}})
		var text bytes.Buffer
		if v := a.Candidates[0].Verdict; v != assess.Undecided || a.WriteJSON(&text) != nil {
			t.Errorf("%d draws: %v", draws, v)
		}
	}
	// A datum that no number of iterations without burn-in gets near: every chain
	// stays where it began.
	stuck := shifted(distuv.Normal{Mu: 0, Sigma: 1}, 8, 1e-9)
	stuck.Params[0].Natural = true
	a, err := assess.Run(context.Background(), stuck, assess.Settings{Candidates: at(0.5), Accurate: simpson, Chains: mcmc.Settings{Draws: 20, BurnIn: -1, Seed: 1}})
	if err == nil && a.Candidates[0].Verdict == assess.Negligible {
		t.Errorf("negligible by chains that stick: %v", a)
	}
}

// The grids are made of the Steps: a Mesh of the posterior's own would be another
// solver, and is not assessed in silence.
func TestMeshIsNotAssessedInSilence(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	p := assessPosterior(0)
	p.Mesh = probode.Frozen{Tolerance: probode.Tolerance{Relative: 1e-6}}
	if a, err := assess.Run(context.Background(), p, assess.Settings{}); a != nil || err == nil || !strings.Contains(err.Error(), "Mesh") || strings.Contains(err.Error(), "\n") {
		t.Errorf("%v, error %v", a, err)
	}
	s := assess.Settings{Candidates: at(0.25, 0.0625), Chains: mcmc.Settings{Draws: 300, BurnIn: 300, Seed: 1}}
	a, b := assessed(t, p, s), assessed(t, assessPosterior(0.25), s)
	for i := range a.Candidates {
		if x, y := a.Candidates[i].Inference.Effects, b.Candidates[i].Inference.Effects; !reflect.DeepEqual(x, y) {
			t.Errorf("h = %g: %+v with a Mesh, %+v without", a.Candidates[i].Size, x, y)
		}
	}
}

// At the end of the time there is a report: the certificates, and the reason why there is
// no verdict.
func TestNoTime(t *testing.T) {
	a := assessed(t, shifted(distuv.Normal{Mu: 0, Sigma: 1}, 8, 1), assess.Settings{Candidates: at(0.5), Accurate: simpson, MaxTime: 1})
	x := a.Candidates[0]
	if x.Verdict != assess.Undecided || !strings.Contains(x.Why, "the time limit of 1ns was reached at 0 % of the first draws") || x.Certificate == nil || !strings.HasPrefix(a.Answer(), "It is not known") {
		t.Errorf("%v: %q\n%v", x.Verdict, x.Why, a)
	}
}

package assess_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distmv"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/adams"
	"github.com/probode/probode/pkg/probode/bayes"
	"github.com/probode/probode/pkg/probode/bayes/assess"
	"github.com/probode/probode/pkg/probode/bayes/cases"
	"github.com/probode/probode/pkg/probode/bayes/sample"
	"github.com/probode/probode/pkg/probode/calibrate"
	"github.com/probode/probode/pkg/probode/mcmc"
	"github.com/probode/probode/pkg/probode/reference"
)

// The assessed model is x′ = −θx from 1 by the forward Euler method: with step h
// the path is Zₙ = (1 − hθ)ⁿ, accurately e^{−θt}, and with the solver's noise Z is
// Gaussian given θ. All three posteriors of θ are known up to an integral over θ.
const assessSigma = 0.1

var (
	assessTimes = []float64{0.5, 1, 1.5, 2}
	assessY     = []float64{0.62, 0.36, 0.26, 0.07}
	assessPrior = distuv.Normal{Mu: 1, Sigma: 0.5}
)

func assessPosterior(step float64) *bayes.Posterior {
	d := &bayes.Data{T: assessTimes}
	for _, y := range assessY {
		d.Y = append(d.Y, []float64{y})
	}
	return &bayes.Posterior{
		Model: bayes.Model{
			Params: []bayes.Param{{Name: "theta1", Prior: assessPrior}},
			Experiments: []bayes.Experiment{{
				Problem: &probode.Problem{
					Name: "decay", X0: []float64{1}, Theta: []float64{1}, Span: [2]float64{0, 2}, Autonomous: true,
					F: func(f []float64, _ float64, x, th []float64) { f[0] = -th[0] * x[0] },
				},
				Data:   d,
				Errors: []bayes.Likelihood{bayes.Gaussian{Sigma: bayes.Known(assessSigma)}},
			}},
		},
		Setup: probode.Setup{Method: adams.Bashforth{}, Mesh: probode.Uniform(step)},
	}
}

// assessMoments returns mean and standard deviation of θ by the trapezoidal
// rule, which converges geometrically here; h = 0 is the reference posterior.
func assessMoments(t *testing.T, h, alpha float64) (mean, sd float64) {
	t.Helper()
	const n = 2000
	var w, w1, w2 float64
	for i := range n {
		theta := -1 + 4*float64(i)/n
		m := make([]float64, len(assessTimes))
		cov := mat.NewSymDense(len(m), nil)
		for i, at := range assessTimes {
			m[i] = math.Exp(-theta * at)
			if h > 0 {
				m[i] = math.Pow(1-h*theta, math.Round(at/h))
			}
			cov.SetSym(i, i, assessSigma*assessSigma)
		}
		if alpha > 0 {
			a := 1 - h*theta
			for i := range m {
				for j := i; j < len(m); j++ {
					var sum float64
					ni, nj := math.Round(assessTimes[i]/h), math.Round(assessTimes[j]/h)
					for k := 1.0; k <= ni; k++ {
						sum += math.Pow(a, ni-k+nj-k)
					}
					cov.SetSym(i, j, cov.At(i, j)+alpha*h*h*h*sum)
				}
			}
		}
		dist, ok := distmv.NewNormal(m, cov, nil)
		if !ok {
			t.Fatal("covariance is not positive definite")
		}
		p := math.Exp(dist.LogProb(assessY) + assessPrior.LogProb(theta))
		w += p
		w1 += p * theta
		w2 += p * theta * theta
	}
	mean = w1 / w
	return mean, math.Sqrt(w2/w - mean*mean)
}

func assessed(t *testing.T, p *bayes.Posterior, s assess.Settings) *assess.Report {
	t.Helper()
	a, err := assess.Run(context.Background(), p, s)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// at returns setups with equal steps, and within returns setups with error control.
func at(steps ...float64) (all []probode.Setup) {
	for _, h := range steps {
		all = append(all, probode.Setup{Mesh: probode.Uniform(h)})
	}
	return all
}

func within(relative ...float64) (all []probode.Setup) {
	for _, r := range relative {
		all = append(all, probode.Setup{Mesh: probode.Adaptive{Tolerance: probode.Tolerance{Relative: r}}})
	}
	return all
}

// Biases, widenings and the accurate moments against quadrature, each within 4.5 of the
// reported Monte Carlo standard errors: 4·2·2 + 2 = 18 checks, false alarms 18·7e-6 = 1e-4
// if the errors are normal and known, and 2e-3 with standard errors that are 10 % too
// small. The true biases are 0.78, 0.20, 0.051 and 0.013 sd.
func TestAssessAgainstQuadrature(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	a := assessed(t, assessPosterior(0.25), assess.Settings{Candidates: at(0.25, 0.0625, 1./64, 1./256), Noise: sample.Hamiltonian{}, MaxDraws: 1000, Chains: mcmc.Settings{Draws: 1000, Seed: 1}})
	mean, sd := assessMoments(t, 0, 0)
	q := a.Params[0]
	if z := (q.Mean.Center - mean) / q.Mean.CenterSE; math.Abs(z) > 4.5 {
		t.Errorf("accurate mean %.4f, want %.4f (%.1f standard errors)", q.Mean.Center, mean, z)
	}
	if z := (q.Mean.Spread - sd) / q.Mean.SpreadSE; math.Abs(z) > 4.5 {
		t.Errorf("accurate sd %.4f, want %.4f (%.1f standard errors)", q.Mean.Spread, sd, z)
	}
	for _, x := range a.Candidates {
		alpha := 0.0
		if x.Noisy {
			alpha = x.Alpha
		}
		m, s := assessMoments(t, x.Size, alpha)
		bias, ratio := (m-mean)/sd, s/sd
		e := x.Inference.Effects[0].Mean
		if z := (e.Bias - bias) / e.BiasSE; !(math.Abs(z) <= 4.5) {
			t.Errorf("%v: bias %.4f ± %.4f, want %.4f", x, e.Bias, e.BiasSE, bias)
		}
		if z := (e.Ratio - ratio) / e.RatioSE; !(math.Abs(z) <= 4.5) {
			t.Errorf("%v: sd ratio %.4f ± %.4f, want %.4f", x, e.Ratio, e.RatioSE, ratio)
		}
		t.Logf("%v: bias %+.4f ± %.4f (%+.4f), sd ratio %.4f ± %.4f (%.4f), %v by %v", x, e.Bias, e.BiasSE, bias, e.Ratio, e.RatioSE, ratio, x.Verdict, x.Inference.Sampler)
	}
	if g := a.Groups(); len(g) != 2 || assess.Enough(g[0]) == nil || assess.Enough(g[0]).Size != 1./64 {
		t.Errorf("groups %v", g)
	}
	// A mode too small to be seen could move means by a threshold, but not by seven.
	if v := a.Candidates[0].Inference.Effects[0].Mean.Verdict; v != assess.Matters {
		t.Errorf("the bias of the mean with h = 0.25: %v", v)
	}
	// What weights are for: the bias of the smallest step is told from zero, though it is
	// below the Monte Carlo error of the means.
	if e := a.Candidates[6].Inference.Effects[0].Mean; !(e.BiasSE <= q.Mean.CenterSE/sd/3) {
		t.Errorf("bias of the smallest step: ± %.4f where the mean has ± %.4f", e.BiasSE, q.Mean.CenterSE/sd)
	}
	if a.Warnings() != nil {
		t.Errorf("warnings %q", a.Warnings())
	}
	t.Log(a)
}

// value returns the number of a row about a candidate.
func value(a *assess.Report, kind string, x *assess.Candidate) float64 {
	return a.Claim(kind, x.String()).Value
}

func contains(warnings []string, what string) bool {
	return slices.ContainsFunc(warnings, func(w string) bool { return strings.Contains(w, what) })
}

// A run of 20 draws is too short to say anything.
func TestAssessTooFewDraws(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	a := assessed(t, assessPosterior(0.125), assess.Settings{Candidates: at(0.125, 0.0625), MaxDraws: 20, Chains: mcmc.Settings{Draws: 20, BurnIn: 200, Seed: 1}})
	if !contains(a.Warnings(), "too few effective draws") {
		t.Errorf("warnings %q", a.Warnings())
	}
	if v := a.Candidates[0].Verdict; v == assess.Negligible {
		t.Errorf("verdict %v", v)
	}
}

// A σ that is to be inferred takes the error of the solver for errors of the
// data. Euler's method makes the amplitude of an oscillator grow, which no θ can
// undo.
func TestAssessUnknownSigma(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	p := &probode.Problem{
		Name: "oscillator", X0: []float64{1, 0}, Theta: []float64{2}, Span: [2]float64{0, 4}, Autonomous: true,
		F: func(f []float64, _ float64, x, th []float64) { f[0], f[1] = th[0]*x[1], -th[0]*x[0] },
	}
	d := &bayes.Data{}
	for i := 1; i <= 20; i++ {
		at := float64(i) / 5
		d.T, d.Y = append(d.T, at), append(d.Y, []float64{math.Cos(2*at) + 0.05*math.Cos(float64(7*i))})
	}
	a := assessed(t, &bayes.Posterior{
		Model: bayes.Model{
			Params: []bayes.Param{
				{Name: "theta1", Prior: distuv.LogNormal{Mu: 0.5, Sigma: 0.5}},
				{Name: "sigma", Prior: distuv.LogNormal{Mu: -3, Sigma: 1}},
			},
			Experiments: []bayes.Experiment{{Problem: p, Data: d, Errors: []bayes.Likelihood{bayes.Gaussian{Sigma: bayes.Unknown("sigma")}}}},
		},
		Setup: probode.Setup{Method: adams.Bashforth{}},
	}, assess.Settings{Candidates: at(0.05, 0.01), Chains: mcmc.Settings{Draws: 500, BurnIn: 1500, Seed: 1}})
	if !contains(a.Warnings(), "although the solver is inaccurate") || !contains(a.Warnings(), "check its effect on sigma, too") {
		t.Errorf("warnings %q\n%v", a.Warnings(), a)
	}
}

// An α with a prior is sampled, and is not among what is assessed.
func TestAssessUnknownAlpha(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	p := assessPosterior(0.125)
	p.AlphaParam = "alpha"
	p.Params = append([]bayes.Param{{Name: "alpha", Prior: distuv.LogNormal{Mu: -1, Sigma: 1}}}, p.Params...)
	a := assessed(t, p, assess.Settings{Candidates: at(0.125, 0.0625), Noise: sample.Hamiltonian{}, Chains: mcmc.Settings{Draws: 500, BurnIn: 500, Seed: 1}})
	if len(a.Params) != 1 || a.Params[0].Name != "theta1" || !(a.Candidates[1].Alpha > 0) || !math.IsNaN(value(a, "α*", a.Candidates[1])) {
		t.Errorf("params %+v, alpha %+v", a.Params, a.Candidates[0])
	}
	var table strings.Builder
	if err := a.WriteCSV(&table); err != nil || strings.Count(table.String(), "\n") != 1+len(a.Claims) || !strings.Contains(table.String(), "theta1") {
		t.Errorf("table %q, error %v", table.String(), err)
	}
}

// Everything but the times is the same for any number of workers.
func TestAssessWorkers(t *testing.T) {
	var first *assess.Report
	for _, workers := range []int{1, 3} {
		a := assessed(t, assessPosterior(0.125), assess.Settings{Candidates: at(0.125, 0.0625), Noise: sample.Hamiltonian{},
			MaxDraws: 200, Chains: mcmc.Settings{Draws: 100, BurnIn: 100, Seed: 2, Workers: workers}})
		for i := range a.Candidates {
			a.Candidates[i].Inference.Seconds = 0
		}
		if first == nil {
			first = a
		} else if fmt.Sprintf("%#v", first.Claims) != fmt.Sprintf("%#v", a.Claims) || first.String() != a.String() {
			t.Errorf("the result depends on the number of workers:\n%v\n%v", first, a)
		}
	}
}

// An interrupted assessment returns what had been done.
func TestAssessCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	last := -1
	a, err := assess.Run(ctx, assessPosterior(0.125), assess.Settings{
		Candidates: at(0.125, 0.0625), Noise: sample.Hamiltonian{}, Chains: mcmc.Settings{Draws: 200, BurnIn: 200},
		Progress: func(done, total int, doing string) {
			if done < last || done > total {
				t.Errorf("%d of %d after %d", done, total, last)
			}
			last = done
			if strings.HasPrefix(doing, "hamiltonian") {
				cancel()
			}
		}})
	if !errors.Is(err, context.Canceled) || a == nil {
		t.Fatalf("assessment %v, error %v", a, err)
	}
	if a.Candidates[0].Inference == nil || a.Candidates[0].Inference.Effects == nil || a.Candidates[1].Inference != nil {
		t.Errorf("candidates %+v", a.Candidates[:2])
	}
	if !strings.Contains(a.String(), "tempering") {
		t.Errorf("report %v", a)
	}

	cancel()
	if a, err := assess.Run(ctx, assessPosterior(0.125), assess.Settings{}); a != nil || !errors.Is(err, context.Canceled) {
		t.Errorf("assessment %v, error %v", a, err)
	}
}

func TestAssessBadSettings(t *testing.T) {
	for want, s := range map[string]assess.Settings{
		"step is 3":                   {Candidates: at(3)},
		"step is -0.125":              {Candidates: at(0.5, -0.125)},
		"want a number in [1e-15, 1)": {Accurate: probode.Setup{Mesh: reference.Accurate{Tolerance: probode.Tolerance{Relative: 2}}}},
		"no Candidates":               {Candidates: []probode.Setup{}},
	} {
		if a, err := assess.Run(context.Background(), assessPosterior(0.125), s); a != nil || err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("error %v, want one line with %q", err, want)
		}
	}
}

// The programmer's faults name the field and the value.
func TestAssessFaults(t *testing.T) {
	for want, s := range map[string]assess.Settings{
		"Settings.Threshold is -1":   {Threshold: -1},
		"Settings.Threshold is NaN":  {Threshold: math.NaN()},
		"Settings.Threshold is +Inf": {Threshold: math.Inf(1)},
		"Settings.MaxDraws is -3":    {MaxDraws: -3},
	} {
		func() {
			defer func() {
				if r := recover(); !strings.Contains(fmt.Sprint(r), want) {
					t.Errorf("panic %v, want %q", r, want)
				}
			}()
			assess.Run(context.Background(), assessPosterior(0.125), s)
		}()
	}
}

// Four experiments that are the same have four α* that are independent: the
// standard error of their mean over 40 seeds against what is reported. The
// ratio of the variances is χ²₃₉/39, above 2.3 with probability 1e-5, and 4 if the
// four share their noise.
func TestAssessAlphaOfExperiments(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	p := assessPosterior(0.125)
	p.Experiments = append(p.Experiments, p.Experiments[0], p.Experiments[0], p.Experiments[0])
	var logs []float64
	var reported float64
	const seeds = 40
	for seed := range uint64(seeds) {
		cs, err := bayes.CalibrateAlpha(context.Background(), p, []float64{1}, calibrate.Settings{Paths: 100, Seed: seed})
		if err != nil {
			t.Fatal(err)
		}
		one, err := bayes.CalibrateAlpha(context.Background(), assessPosterior(0.125), []float64{1}, calibrate.Settings{Paths: 100, Seed: seed})
		if err != nil {
			t.Fatal(err)
		}
		if first := cs.Experiments[0].Alpha; one.Alpha != first && math.Abs(one.Alpha/first-1) > 1e-14 {
			t.Errorf("the first of four experiments has α* = %g, alone %g", first, one.Alpha)
		}
		reported += cs.SE * cs.SE / (cs.Alpha * cs.Alpha) / seeds
		logs = append(logs, math.Log(cs.Alpha))
	}
	if r := stat.Variance(logs, nil) / reported; r > 2.3 {
		t.Errorf("variance of the mean of four log α* is %.2f times the reported one", r)
	}
}

// Is forward Euler with h = 1/4 good enough for the rate of a decay?
func ExampleRun() {
	decay := &probode.Problem{
		Name: "decay", Params: []string{"rate"}, Theta: []float64{1}, X0: []float64{1}, Span: [2]float64{0, 2},
		F: func(f []float64, _ float64, x, theta []float64) { f[0] = -theta[0] * x[0] },
	}
	post := &bayes.Posterior{
		Model: bayes.Model{
			Params: []bayes.Param{{Name: "rate", Prior: distuv.LogNormal{Sigma: 0.5}}},
			Experiments: []bayes.Experiment{{
				Problem: decay,
				Data:    &bayes.Data{T: []float64{0.5, 1, 1.5, 2}, Y: [][]float64{{0.62}, {0.36}, {0.26}, {0.07}}},
				Errors:  []bayes.Likelihood{bayes.Gaussian{Sigma: bayes.Known(0.1)}},
			}},
		},
		Setup: probode.Setup{Method: adams.Bashforth{}},
	}
	a, err := assess.Run(context.Background(), post, assess.Settings{
		Candidates: []probode.Setup{post.WithStepSize(1. / 4), post.WithStepSize(1. / 64)},
		Chains:     mcmc.Settings{Draws: 250, Seed: 1},
	})
	if err != nil {
		panic(err)
	}
	for _, x := range a.Candidates {
		fmt.Printf("%v: %v\n", x, x.Verdict)
	}
	// Output:
	// AB1, h = 0.25: matters
	// AB1, h = 0.01562: negligible
}

func caseOf(t *testing.T, name string) *bayes.Posterior {
	t.Helper()
	c, err := cases.Named(name)
	if err != nil {
		t.Fatal(err)
	}
	return c.Posterior()
}

// On the lynx and hare data the shifts are those that sampling finds: within 4
// standard errors and a tenth of D, what is not linear, of the bias for each of eight
// parameters; and none is beyond the bound.
func TestCertificateLynxHare(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	p := caseOf(t, "lynx-hare")
	p.Method, p.Mesh = adams.Moulton{Steps: 1}, probode.Uniform(0.25)
	a := assessed(t, p, assess.Settings{Candidates: at(0.25), MaxDraws: 400,
		Chains: mcmc.Settings{Draws: 200, Seed: 3}, Calibrate: calibrate.Settings{Paths: 50}})
	st := a.Candidates[0]
	if st.Certificate == nil || len(st.Certificate.Modes) != 1 {
		t.Fatalf("certificate %+v", st.Certificate)
	}
	m := st.Certificate.Modes[0]
	for k := range st.Inference.Effects {
		e := st.Inference.Effects[k].Mean
		t.Logf("%s: shift %+.4f, bias %+.4f ± %.4f", a.Params[k].Name, m.Shift[k], e.Bias, e.BiasSE)
		if !(math.Abs(m.Shift[k]-e.Bias) <= 4*e.BiasSE+0.1*m.D) {
			t.Errorf("%s: shift %g, sampled bias %g ± %g", a.Params[k].Name, m.Shift[k], e.Bias, e.BiasSE)
		}
		if !(math.Abs(e.Bias)-4*e.BiasSE <= m.Bound) {
			t.Errorf("%s: sampled bias %g ± %g above the bound %g", a.Params[k].Name, e.Bias, e.BiasSE, m.Bound)
		}
	}
	if !strings.Contains(a.String(), "Without sampling: Not certified") {
		t.Errorf("report %s", a)
	}
}

// A reference that is itself too rough gives no verdict, and says so.
func TestRoughReferenceGivesNoVerdict(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	a := assessed(t, assessPosterior(0.125), assess.Settings{Candidates: at(0.125),
		Accurate: probode.Setup{Mesh: probode.Uniform(0.25)}, Chains: mcmc.Settings{Draws: 500, Seed: 1}, Calibrate: calibrate.Settings{Paths: 50}})
	if v := a.Candidates[0].Verdict; v != assess.Undecided || !contains(a.Warnings(), "the reference solver's own error") {
		t.Errorf("%v, D = %g, warnings %q", v, a.Claim("reference error", "").Value, a.Warnings())
	}
}

package assess_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
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
	"github.com/probode/probode/pkg/probode/bayes/sample"
	"github.com/probode/probode/pkg/probode/calibrate"
	"github.com/probode/probode/pkg/probode/mcmc"
	"github.com/probode/probode/pkg/probode/methods"
	"github.com/probode/probode/pkg/probode/problems"
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

// Biases, widenings and the accurate moments against quadrature, each within 4.5
// of the reported Monte Carlo standard errors: 4·2·2 + 2 = 18 checks, false alarms
// 18·7e-6 = 1e-4 if the errors are normal and known, and 2e-3 with standard errors
// that are 10 % too small. The verdicts must be those of the numbers, and the
// largest harmless step must be the true one: the true biases are 0.78, 0.20, 0.051 and
// 0.013 sd, where the nearest to the threshold, 0.051, is given to ± 0.003.
func TestAssessAgainstQuadrature(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	steps := []float64{0.25, 0.0625, 1. / 64, 1. / 256}
	a := assessed(t, assessPosterior(0.25), assess.Settings{Steps: steps, Chains: mcmc.Settings{Draws: 4000, Seed: 1}})
	mean, sd := assessMoments(t, 0, 0)
	q := a.Params[0]
	if z := (q.Mean.Center - mean) / q.Mean.CenterSE; math.Abs(z) > 4.5 {
		t.Errorf("accurate mean %.4f, want %.4f (%.1f standard errors)", q.Mean.Center, mean, z)
	}
	if z := (q.Mean.Spread - sd) / q.Mean.SpreadSE; math.Abs(z) > 4.5 {
		t.Errorf("accurate sd %.4f, want %.4f (%.1f standard errors)", q.Mean.Spread, sd, z)
	}
	largest := 0.0
	for i, st := range slices.Backward(a.Steps) {
		if st.StepSize != steps[i] {
			t.Fatalf("steps %v, want %v", st.StepSize, steps[i])
		}
		for _, c := range []struct {
			inf   *assess.Inference
			alpha float64
		}{{st.Deterministic, 0}, {st.Probabilistic, value(a, "α", st)}} {
			e := c.inf.Effects[0].Mean
			m, s := assessMoments(t, st.StepSize, c.alpha)
			bias, ratio := (m-mean)/sd, s/sd
			// The units, sd, are known to 2 % only.
			if z := (e.Bias - bias) / math.Hypot(e.BiasSE, 0.02*bias); math.Abs(z) > 4.5 {
				t.Errorf("h = %g, %s: bias %.4f, want %.4f (%.1f standard errors)", st.StepSize, c.inf.Sampler, e.Bias, bias, z)
			}
			if z := (e.Ratio - ratio) / e.RatioSE; math.Abs(z) > 4.5 {
				t.Errorf("h = %g, %s: sd ratio %.4f, want %.4f (%.1f standard errors)", st.StepSize, c.inf.Sampler, e.Ratio, ratio, z)
			}
			med := c.inf.Effects[0].Median
			b, r := math.Abs(med.Bias), math.Abs(math.Log(med.Ratio))
			want := assess.Undecided
			switch limit := math.Log(1.1); {
			case b-1.96*med.BiasSE > 0.1 || r-1.96*med.RatioSE/med.Ratio > limit:
				want = assess.Matters
			case b+1.96*med.BiasSE < 0.1 && r+1.96*med.RatioSE/med.Ratio < limit:
				want = assess.Negligible
			}
			if v := c.inf.Effects[0].Verdict; v != want {
				t.Errorf("h = %g, %s: verdict %v on %+v, want %v", st.StepSize, c.inf.Sampler, v, med, want)
			}
			if c.alpha == 0 && math.Abs(bias) < 0.1 && math.Abs(math.Log(ratio)) < math.Log(1.1) {
				largest = st.StepSize
			}
			t.Logf("h = %-8g %-13s bias %+.4f ± %.4f (%+.4f), sd ratio %.4f ± %.4f (%.4f), %v", st.StepSize, c.inf.Sampler, e.Bias, e.BiasSE, bias, e.Ratio, e.RatioSE, ratio, e.Verdict)
		}
	}
	if a.Largest != largest || largest == 0 {
		t.Errorf("the largest harmless step is %g, want %g", a.Largest, largest)
	}
	// What weights are for: the bias of the smallest step is told from zero,
	// though it is below the Monte Carlo error of the means.
	fine := a.Steps[3].Deterministic
	if e := fine.Effects[0].Mean; e.BiasSE > fine.Summary[0].MCSE/sd/3 {
		t.Errorf("bias of the smallest step: ± %.4f where the mean has ± %.4f", e.BiasSE, fine.Summary[0].MCSE/sd)
	}
	if a.Warnings() != nil {
		t.Errorf("warnings %q", a.Warnings())
	}
	for _, st := range a.Steps {
		if text := a.String(); !strings.Contains(text, "at three draws") || math.IsNaN(value(a, "α* at a draw", st)) {
			t.Errorf("h = %g: α* at three draws is not in\n%v", st.StepSize, text)
		}
	}
}

// With nothing but steps that are too large the reference posterior comes from
// another solver, to the same distribution: two checks at 4.5 standard errors, 1.4e-5.
func TestAssessFarFromAccurate(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	p := assessPosterior(0.5)
	// Small errors of the data set the posteriors of large steps apart.
	p.Experiments[0].Errors[0] = bayes.Gaussian{Sigma: bayes.Known(0.01)}
	p.Experiments[0].Data.Y = [][]float64{{0.605}, {0.37}, {0.22}, {0.135}}
	a := assessed(t, p, assess.Settings{Steps: []float64{0.5, 0.25}, Chains: mcmc.Settings{Draws: 1000, Seed: 1}})
	if !strings.Contains(a.ReferenceBy, "DP5") || !(a.Claim("k̂", "", "").Value < 0.7) {
		t.Errorf("accurate by %s, k̂ = %.2f", a.ReferenceBy, a.Claim("k̂", "", "").Value)
	}
	if a.Largest != 0 || a.Steps[1].Deterministic.Verdict != assess.Matters || !strings.Contains(a.Answer(), "matters at every setting that was tried") {
		t.Errorf("largest step %g, answer %s", a.Largest, a.Answer())
	}
}

// value returns the number of a row about a step.
func value(a *assess.Report, kind string, st assess.Rung) float64 {
	return a.Claim(kind, st.String(), "").Value
}

func contains(warnings []string, what string) bool {
	return slices.ContainsFunc(warnings, func(w string) bool { return strings.Contains(w, what) })
}

func logistic(m probode.Method) *bayes.Posterior {
	p := problems.Logistic()
	d := &bayes.Data{}
	ref, err := reference.Solve(context.Background(), p, []float64{0.5, 1, 1.5}, reference.Settings{})
	if err != nil {
		panic(err)
	}
	for i, t := range ref.Times {
		d.T, d.Y = append(d.T, t), append(d.Y, []float64{ref.X[i]})
	}
	return &bayes.Posterior{
		Model: bayes.Model{
			Params:      []bayes.Param{{Name: p.ParamName(0), Prior: distuv.LogNormal{Mu: math.Log(p.Theta[0]), Sigma: 0.3}}},
			Experiments: []bayes.Experiment{{Problem: p, Data: d, Errors: []bayes.Likelihood{bayes.Gaussian{Sigma: bayes.Known(0.05)}}}},
		},
		Setup: probode.Setup{Method: m, Mesh: probode.Uniform(0.125)},
	}
}

// AM2 linearised at the current state is of order 2: the path errors, which have
// no Monte Carlo error, say so. With Newton's method it is of order 3.
func TestAssessOrderLost(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	quick := assess.Settings{Weighed: 100, Chains: mcmc.Settings{Draws: 500, BurnIn: 500, Seed: 1}}
	for _, l := range []adams.Linearization{adams.Newton, adams.Current} {
		a := assessed(t, logistic(adams.Moulton{Steps: 2, Linearize: l}), quick)
		if got := contains(a.Warnings(), "order lost"); got != (l == adams.Current) {
			t.Errorf("%v: order %.2f, warnings %q", a.Method, value(a, "order", a.Steps[2]), a.Warnings())
		}
	}
}

// A run of 20 draws is too short to say anything.
func TestAssessTooFewDraws(t *testing.T) {
	a := assessed(t, assessPosterior(0.125), assess.Settings{Steps: []float64{0.125, 0.0625}, Chains: mcmc.Settings{Draws: 20, BurnIn: 200, Seed: 1}})
	if !contains(a.Warnings(), "too few effective draws") {
		t.Errorf("warnings %q", a.Warnings())
	}
	if v := a.Steps[0].Probabilistic.Verdict; v == assess.Negligible {
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
	}, assess.Settings{Steps: []float64{0.05, 0.01}, Weighed: 1000, Chains: mcmc.Settings{Draws: 500, BurnIn: 1500, Seed: 1}})
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
	a := assessed(t, p, assess.Settings{Steps: []float64{0.125, 0.0625}, Chains: mcmc.Settings{Draws: 500, BurnIn: 500, Seed: 1}})
	if len(a.Params) != 1 || a.Params[0].Name != "theta1" || !(value(a, "α", a.Steps[0]) > 0) || !math.IsNaN(value(a, "α*", a.Steps[0])) {
		t.Errorf("params %+v, alpha %+v", a.Params, a.Steps[0])
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
		a := assessed(t, assessPosterior(0.125), assess.Settings{Steps: []float64{0.125, 0.0625}, Weighed: 200,
			Chains: mcmc.Settings{Draws: 200, BurnIn: 200, Seed: 2, Workers: workers}})
		for i := range a.Steps {
			for _, inf := range []*assess.Inference{a.Steps[i].Deterministic, a.Steps[i].Probabilistic} {
				inf.Seconds, inf.ESSPerSecond = 0, 0
			}
		}
		a.Remedies, a.Claims = nil, nil // ranked by times; with numbers that are NaN
		// Shares of draws are NaN, which is equal to nothing, where there is one mode.
		for _, all := range [][]assess.ModeShare{a.Steps[0].Modes, a.Steps[1].Modes, a.ReferenceModes} {
			for k := range all {
				if math.IsNaN(all[k].Visited) {
					all[k].Visited = 0
				}
			}
		}
		if first == nil {
			first = a
		} else if !reflect.DeepEqual(first, a) {
			t.Errorf("the result depends on the number of workers:\n%v\n%v", first, a)
		}
	}
}

// An interrupted assessment returns what had been done.
func TestAssessCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	last := -1
	a, err := assess.Run(ctx, assessPosterior(0.125), assess.Settings{
		Steps: []float64{0.125, 0.0625}, Chains: mcmc.Settings{Draws: 200, BurnIn: 200},
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
	if a.Steps[0].Deterministic == nil || a.Steps[0].Deterministic.Effects == nil || a.Steps[0].Probabilistic != nil {
		t.Errorf("step %+v", a.Steps[0])
	}
	if !strings.Contains(a.String(), "deterministic") {
		t.Errorf("table %v", a)
	}

	cancel()
	if a, err := assess.Run(ctx, assessPosterior(0.125), assess.Settings{}); a != nil || !errors.Is(err, context.Canceled) {
		t.Errorf("assessment %v, error %v", a, err)
	}
}

func TestAssessBadSettings(t *testing.T) {
	for want, s := range map[string]assess.Settings{
		"step is 3":                   {Steps: []float64{3}},
		"step is -0.125":              {Steps: []float64{0.5, -0.125}},
		"want a number in [1e-15, 1)": {Accurate: probode.Setup{Mesh: reference.Accurate{Tolerance: probode.Tolerance{Relative: 2}}}},
		"no Steps":                    {Steps: []float64{}},
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
		"Settings.Weighed is -3":     {Weighed: -3},
		"Settings.Weighed is 1":      {Weighed: 1},
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

// squares is the normal distribution with a known standard deviation, without the constant
// of the density, which would be another one in other units.
type squares float64

func (squares) Own() []bayes.Value { return nil }
func (s squares) LogProb(y, m float64, _ []float64) float64 {
	return -0.5 * (y - m) * (y - m) / float64(s*s)
}
func (s squares) Rand(m float64, _ []float64, rng *rand.Rand) float64 {
	return m + float64(s)*rng.NormFloat64()
}

// An epidemic in shares of the population and in persons is one and the same. α*
// goes with the square of the unit, here 2⁴⁰, to within twice the 4e-4 that its
// search leaves. A power of two changes no rounding, so that deterministic inference
// is the same to the last bit. That with α* is the same but for those 4e-4, and
// with standard errors as if the chains were independent, 8 checks at 4.5 give a
// false alarm with a probability of less than 5e-5.
func TestAssessUnits(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	shares := []float64{0.026, 0.055, 0.12, 0.18, 0.17, 0.13, 0.062, 0.049, 0.011, 0.018}
	const persons = 1 << 20
	of := func(unit float64) *assess.Report {
		sir := &probode.Problem{
			Name: "SIR", X0: []float64{0.99 * unit, 0.01 * unit}, Theta: []float64{2, 1}, Params: []string{"beta", "gamma"}, Span: [2]float64{0, 10}, Autonomous: true,
			F: func(f []float64, _ float64, x, th []float64) {
				n := th[0] * x[0] * (x[1] / unit)
				f[0], f[1] = -n, n-th[1]*x[1]
			}}
		d := &bayes.Data{}
		for i, y := range shares {
			d.T, d.Y = append(d.T, float64(i+1)), append(d.Y, []float64{y * unit})
		}
		return assessed(t, &bayes.Posterior{
			Model: bayes.Model{
				Params: []bayes.Param{
					{Name: "beta", Prior: distuv.LogNormal{Mu: 0.5, Sigma: 0.3}},
					{Name: "gamma", Prior: distuv.LogNormal{Mu: 0, Sigma: 0.3}},
				},
				Experiments: []bayes.Experiment{{
					Problem: sir, Data: d, Observe: func(dst []float64, _ float64, x, _ []float64) { dst[0] = x[1] },
					Errors: []bayes.Likelihood{squares(0.02 * unit)},
				}},
			},
			Setup: probode.Setup{Method: adams.Bashforth{}},
		}, assess.Settings{
			Steps: []float64{0.5, 0.25}, Weighed: 400, Chains: mcmc.Settings{Draws: 1000, BurnIn: 500, Seed: 1},
			Calibrate: calibrate.Settings{Paths: 100},
			Accurate:  probode.Setup{Method: methods.RungeKutta{}, Mesh: probode.Uniform(0.05)},
		})
	}
	a, b := of(1), of(persons)
	for i, st := range a.Steps {
		big := b.Steps[i]
		if x, y := a.Claim("α*", st.String(), ""), b.Claim("α*", st.String(), ""); math.Abs(y.Value/x.Value/(persons*persons)-1) > 1e-2 || !(y.SE > 0) { // the search ends within .003 of log α*
			t.Errorf("h = %g: α* is %.8g ± %.2g in persons and %.8g in shares, want a ratio of 2⁴⁰", st.StepSize, y.Value, y.SE, x.Value)
		}
		if !reflect.DeepEqual(st.Deterministic.Effects, big.Deterministic.Effects) {
			t.Errorf("h = %g, deterministic: %+v in shares, %+v in persons", st.StepSize, st.Deterministic.Effects, big.Deterministic.Effects)
		}
		for j := range st.Probabilistic.Effects {
			e, g := st.Probabilistic.Effects[j].Mean, big.Probabilistic.Effects[j].Mean
			bias, ratio := (e.Bias-g.Bias)/math.Hypot(e.BiasSE, g.BiasSE), (e.Ratio-g.Ratio)/math.Hypot(e.RatioSE, g.RatioSE)
			if !(math.Abs(bias) < 4.5 && math.Abs(ratio) < 4.5) {
				t.Errorf("h = %g, %s, %s: %+v in shares, %+v in persons", st.StepSize, st.Probabilistic.Sampler, a.Params[j].Name, e, g)
			}
		}
	}
	// Whether chains with noise, which differ, are long enough is said of each.
	mixing := func(w string) bool { return strings.HasPrefix(w, "hamiltonian") }
	if len(slices.DeleteFunc(slices.Clone(a.Warnings()), mixing)) != len(slices.DeleteFunc(slices.Clone(b.Warnings()), mixing)) {
		t.Errorf("warnings %q in shares, %q in persons", a.Warnings(), b.Warnings())
	}
}

// Four experiments that are the same have four α* that are independent: the
// standard error of their mean over 40 seeds against what is reported. The
// ratio of the variances is χ²₃₉/39, above 2.3 with probability 1e-5, and 4 if the
// four share their noise.
func TestAssessAlphaOfExperiments(t *testing.T) {
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

// The two runs of a step are independent: of one and the same sampler they would
// otherwise be the same.
func TestAssessRunsAreIndependent(t *testing.T) {
	a := assessed(t, assessPosterior(0.125), assess.Settings{Steps: []float64{0.125}, Sampler: sample.Deterministic{}, Weighed: 100,
		Chains: mcmc.Settings{Draws: 100, BurnIn: 100}, Calibrate: calibrate.Settings{Paths: 40}})
	if m := a.Steps[0].Deterministic.Summary[0].Mean; m == a.Steps[0].Probabilistic.Summary[0].Mean {
		t.Errorf("both runs have the mean %g", m)
	}
}

// The work is that of Compare for the same sampler, in which the steps of the
// solvers are counted: within a tenth, as chains of other seeds accept differently,
// by 2 % of the draws. To count moves would give four times as many for the
// filter, which takes a path in four pieces.
func TestAssessSolves(t *testing.T) {
	for _, sampler := range []sample.Sampler{sample.PCNWithinGibbs{}, sample.PseudoMarginal{Particles: 20}} {
		s := mcmc.Settings{Draws: 100, BurnIn: 100, Seed: 1}
		a := assessed(t, assessPosterior(0), assess.Settings{Steps: []float64{0.125}, Sampler: sampler, Weighed: 100, Chains: s, Calibrate: calibrate.Settings{Paths: 40}})
		p := assessPosterior(0.125)
		p.Alpha = value(a, "α", a.Steps[0])
		c, err := sample.Compare(context.Background(), p, []sample.Sampler{sampler}, s)
		if err != nil {
			t.Fatal(err)
		}
		want := c[0].Solves * 4 * 200
		if got := float64(a.Steps[0].Probabilistic.Solves); math.Abs(got/want-1) > 0.1 {
			t.Errorf("%v: %g solves, %g by Compare", sampler, got, want)
		}
	}
}

// The standard errors of the accurate mean and standard deviation are right,
// though the draws behind the two parts of each, the mean of all draws and the
// bias that the weighed ones show, half of them or all, are in part the same. The
// model is linear, x′ = 3θt² from 0, of which Euler's method makes x(2) = 5.25 θ and
// not 8 θ, so that both posteriors are normal and the weights bounded. The mean of
// z² over 150 replicates is χ²₁₅₀/150 if z is normal: outside of (0.62, 1.5) with
// probability 2e-4 for each of two, and standard errors that are themselves known
// to 5 % make 1e-3 of that. Were the parts added as if they were independent, it
// would be 0.4.
func TestAssessAccurateErrors(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	const y, replicates = 1.5, 150
	precision := 1 + 8*8.
	mean, sd := (1+8*y)/precision, 1/math.Sqrt(precision)
	var m, s float64
	for seed := range uint64(replicates) {
		ctx, cancel := context.WithCancel(context.Background())
		a, err := assess.Run(ctx, &bayes.Posterior{
			Model: bayes.Model{
				Params: []bayes.Param{{Name: "theta1", Prior: distuv.Normal{Mu: 1, Sigma: 1}}},
				Experiments: []bayes.Experiment{{
					Problem: &probode.Problem{Name: "power", X0: []float64{0}, Theta: []float64{1}, Span: [2]float64{0, 2},
						F: func(f []float64, t float64, _, th []float64) { f[0] = 3 * th[0] * t * t }},
					Data:   &bayes.Data{T: []float64{2}, Y: [][]float64{{y}}},
					Errors: []bayes.Likelihood{bayes.Gaussian{Sigma: bayes.Known(1)}},
				}},
			},
			Setup: probode.Setup{Method: adams.Bashforth{}, Mesh: probode.Uniform(0.5)},
		}, assess.Settings{
			Steps: []float64{0.5}, Weighed: 400 + 400*int(seed%2), Chains: mcmc.Settings{Draws: 200, BurnIn: 200, Seed: seed},
			Calibrate: calibrate.Settings{Paths: 40},
			Accurate:  probode.Setup{Method: methods.RungeKutta{}, Mesh: probode.Uniform(0.5)}, // Simpson's rule, exact for t²
			Progress: func(_, _ int, doing string) {
				if strings.HasPrefix(doing, "hamiltonian") {
					cancel() // the rest is not needed
				}
			}})
		cancel()
		if a == nil {
			t.Fatal(err)
		}
		q := a.Params[0]
		m += (q.Mean.Center - mean) * (q.Mean.Center - mean) / (q.Mean.CenterSE * q.Mean.CenterSE) / replicates
		s += (q.Mean.Spread - sd) * (q.Mean.Spread - sd) / (q.Mean.SpreadSE * q.Mean.SpreadSE) / replicates
	}
	t.Logf("mean z² %.2f and %.2f", m, s)
	if !(m > 0.62 && m < 1.5 && s > 0.62 && s < 1.5) {
		t.Errorf("mean z² is %.2f of the mean and %.2f of the sd, want 1", m, s)
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
		Steps:  []float64{1. / 4, 1. / 16, 1. / 64},
		Chains: mcmc.Settings{Draws: 1000, Seed: 1},
	})
	if err != nil {
		panic(err)
	}
	for _, st := range a.Steps {
		fmt.Printf("h = %g: %v\n", st.StepSize, st.Deterministic.Verdict)
	}
	fmt.Println("small enough:", a.Largest)
	// Output:
	// h = 0.25: matters
	// h = 0.0625: matters
	// h = 0.015625: negligible
	// small enough: 0.015625
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
	a := assessed(t, p, assess.Settings{Steps: []float64{0.25}, Weighed: 400, Sampler: sample.Deterministic{},
		Chains: mcmc.Settings{Draws: 800, Seed: 3}, Calibrate: calibrate.Settings{Paths: 50}})
	st := a.Steps[0]
	if st.Certificate == nil || len(st.Certificate.Modes) != 1 {
		t.Fatalf("certificate %+v", st.Certificate)
	}
	m := st.Certificate.Modes[0]
	for k := range st.Deterministic.Effects {
		e := st.Deterministic.Effects[k].Mean
		t.Logf("%s: shift %+.4f, bias %+.4f ± %.4f", a.Params[k].Name, m.Shift[k], e.Bias, e.BiasSE)
		if math.Abs(m.Shift[k]-e.Bias) > 4*e.BiasSE+0.1*m.D {
			t.Errorf("%s: shift %g, sampled bias %g ± %g", a.Params[k].Name, m.Shift[k], e.Bias, e.BiasSE)
		}
		if math.Abs(e.Bias)-4*e.BiasSE > m.Bound {
			t.Errorf("%s: sampled bias %g ± %g above the bound %g", a.Params[k].Name, e.Bias, e.BiasSE, m.Bound)
		}
	}
	if !strings.Contains(a.String(), "Without sampling: Not certified") {
		t.Errorf("report %s", a)
	}
}

// A reference that is itself too rough gives no verdict, and says so.
func TestRoughReferenceGivesNoVerdict(t *testing.T) {
	a := assessed(t, assessPosterior(0.125), assess.Settings{Steps: []float64{0.125}, Weighed: 100, Sampler: sample.Deterministic{},
		Accurate: probode.Setup{Mesh: probode.Uniform(0.25)}, Chains: mcmc.Settings{Draws: 500, Seed: 1}, Calibrate: calibrate.Settings{Paths: 50}})
	if v := a.Steps[0].Deterministic.Verdict; v != assess.Undecided || !contains(a.Warnings(), "the reference solver's own error") {
		t.Errorf("%v, D = %g, warnings %q", v, a.Claim("reference error", "", "").Value, a.Warnings())
	}
}

package assess_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/bayes"
	"github.com/probode/probode/pkg/probode/bayes/assess"
	"github.com/probode/probode/pkg/probode/mcmc"
	"github.com/probode/probode/pkg/probode/methods"
)

// contradictions returns the claims and sentences in a report that exclude each other.
func contradictions(a *assess.Report) (all []string) {
	add := func(format string, args ...any) { all = append(all, fmt.Sprintf(format, args...)) }
	answer, details := a.Answer(), a.Details()
	doubted := strings.Contains(answer, "It is not known whether the solver's error matters")
	candidates := map[string]*assess.Candidate{}
	harmless, moments := false, true
	for _, x := range a.Candidates {
		candidates[x.String()] = x
		if harmless = harmless || x.Verdict == assess.Negligible; (x.Verdict == assess.Undecided) != (x.Why != "") {
			add("%v: %v, because %q", x, x.Verdict, x.Why)
		}
		if x.Inference == nil {
			if x.Verdict != assess.Undecided {
				add("%v: %v without draws", x, x.Verdict)
			}
			continue
		}
		for j, e := range x.Inference.Effects {
			if x.Verdict == assess.Negligible && e.Verdict != assess.Negligible || e.Verdict == assess.Matters && x.Verdict != assess.Matters && !doubted {
				add("%v: %v, but %v for %s", x, x.Verdict, e.Verdict, a.Params[j].Name)
			}
			if why := e.Mean.Why; (strings.HasPrefix(why, "no draws lie") || strings.Contains(why, "so heavy")) && !math.IsNaN(e.Mean.RatioSE) {
				add("%v: the sd of %s is %g ± %g times as large, but %s", x, a.Params[j].Name, e.Mean.Ratio, e.Mean.RatioSE, why)
			}
			moments = moments && (x.Verdict != assess.Negligible || e.Mean.Verdict == assess.Negligible)
		}
	}
	if harmless && (doubted || !strings.Contains(answer, "does not matter")) || !harmless && strings.Contains(answer, "does not matter") {
		add("harmless: %v, answer %q", harmless, answer)
	}
	if said := strings.Contains(details, "are below the threshold, too"); said && !moments {
		add("means and sds are not all right, but %q", details)
	}
	for _, c := range a.Claims {
		x := candidates[c.Candidate]
		switch {
		case (c.Kind == "phantom mode" || c.Kind == "missed mode") && x.Verdict == assess.Negligible && c.Verdict != assess.Negligible:
			add("negligible with %v, but a %s has %g of the mass", x, c.Kind, c.Value)
		case (c.Kind == "phantom mode" || c.Kind == "missed mode") && a.Claim("certificate", c.Candidate).Verdict == assess.Negligible:
			add("%v is certified, but there is a %s", x, c.Kind)
		case c.Kind == "certificate" && c.Verdict == assess.Negligible && x.Verdict == assess.Matters:
			add("%v is certified, but it matters", x)
		}
	}
	return all
}

// A decayModel is y′ = −k y from 1 by a Runge–Kutta method with steps of size h; growth is
// the factor by which the method multiplies y in a step.
type decayModel struct {
	name   string
	method probode.Method
	growth func(z float64) float64
	prior  bayes.Distribution
	times  []float64
	y      []float64
	sigma  float64
	h      float64
}

func rk4(z float64) float64   { return 1 - z + z*z/2 - z*z*z/6 + z*z*z*z/24 }
func heun3(z float64) float64 { return 1 - z + z*z/2 - z*z*z/6 }

func (m decayModel) posterior() *bayes.Posterior {
	p := plane(m.prior, func(f []float64, _ float64, x, th []float64) { f[0] = -th[0] * x[0] }, []float64{1}, m.times, m.y, bayes.Gaussian{Sigma: bayes.Known(m.sigma)})
	p.Method, p.Mesh = m.method, probode.Uniform(m.h)
	return p
}

// truth returns how far median and central interval are off, in thresholds of 0.1, by
// quadrature over the quantiles of the prior.
func (m decayModel) truth() float64 {
	const n = 40000
	posterior := func(expected func(k, t float64) float64) (lo, mid, hi float64) {
		var logs [n]float64
		top := math.Inf(-1)
		for i := range logs {
			k := m.prior.Quantile((float64(i) + 0.5) / n)
			for j, t := range m.times {
				r := (m.y[j] - expected(k, t)) / m.sigma
				logs[i] -= r * r / 2
			}
			if math.IsNaN(logs[i]) {
				logs[i] = math.Inf(-1)
			}
			top = max(top, logs[i])
		}
		sum := 0.0
		for i := range logs {
			logs[i] = math.Exp(logs[i] - top)
			sum += logs[i]
		}
		at, out := 0.0, [3]float64{}
		for q, p := range []float64{distuv.UnitNormal.CDF(-1), 0.5, distuv.UnitNormal.CDF(1)} {
			at = 0
			for i := range logs {
				if at += logs[i] / sum; at >= p {
					out[q] = m.prior.Quantile((float64(i) + 0.5) / n)
					break
				}
			}
		}
		return out[0], out[1], out[2]
	}
	lo, mid, hi := posterior(func(k, t float64) float64 { return math.Exp(-k * t) })
	l, c, u := posterior(func(k, t float64) float64 { return math.Pow(m.growth(m.h*k), math.Round(t/m.h)) })
	return max(math.Abs(c-mid)/((hi-lo)/2)/0.1, math.Abs(math.Log((u-l)/(hi-lo)))/math.Log(1.1))
}

// randomDecay draws a model of one of four families: well determined, with a phantom mode,
// cut off by the stability of the method, and with heavy tails.
func randomDecay(rng *rand.Rand) decayModel {
	m := decayModel{name: "smooth", method: methods.RungeKutta{}, growth: rk4, times: []float64{1, 2, 3, 4}, sigma: 0.02 + 0.1*rng.Float64(), h: []float64{1, 0.5, 0.25}[rng.IntN(3)]}
	k := 0.3 + rng.Float64()
	m.prior = distuv.LogNormal{Mu: math.Log(k), Sigma: 0.3 + 0.3*rng.Float64()}
	switch rng.IntN(4) {
	case 1:
		m.name, m.prior = "phantom", distuv.LogNormal{Mu: rng.NormFloat64() / 2, Sigma: 0.7 + rng.Float64()}
	case 2: // the data bound k from below only
		m.name, m.times, k = "cut-off", []float64{2, 4, 6}, 50
		m.prior = distuv.LogNormal{Mu: 1, Sigma: 0.5 + rng.Float64()}
		if rng.IntN(2) == 0 {
			m.prior = distuv.Uniform{Min: 0, Max: 10 + 20*rng.Float64()}
		}
	case 3:
		m.name, m.prior, m.sigma = "heavy tails", halfCauchy, 0.3+rng.Float64()
	}
	if rng.IntN(3) == 0 {
		m.method, m.growth = methods.RungeKutta{Tableau: methods.Heun}, heun3
	}
	for _, t := range m.times {
		m.y = append(m.y, math.Exp(-k*t)+m.sigma*rng.NormFloat64())
	}
	return m
}

// randomOther draws a model of the other families: pulses that solvers step over,
// oscillators with two modes, and growth.
func randomOther(rng *rand.Rand) (string, *bayes.Posterior) {
	times, by := []float64{1, 2, 3, 4}, bayes.Gaussian{Sigma: bayes.Known(0.05 + 0.1*rng.Float64())}
	noise := func(exact func(t float64) float64) (y []float64) {
		for _, t := range times {
			y = append(y, exact(t)+by.Sigma.Value*rng.NormFloat64())
		}
		return y
	}
	var name string
	var p *bayes.Posterior
	switch rng.IntN(3) {
	case 0:
		at, width := 0.3+3*rng.Float64(), math.Pow(10, -3*rng.Float64())
		name = fmt.Sprintf("pulse of width %.2g", width)
		p = plane(distuv.LogNormal{Mu: 0, Sigma: 0.7}, func(f []float64, t float64, x, th []float64) {
			u := (t - at) / width
			f[0] = th[0]*(0.1+math.Exp(-u*u/2)/width/math.Sqrt(2*math.Pi)) - 0.3*x[0]
		}, []float64{0}, times, noise(func(t float64) float64 { return t / 4 }), by)
		p.Experiments[0].Problem.Autonomous = false
	case 1:
		name = "oscillator"
		w := 0.7 + rng.Float64()
		p = plane(distuv.Uniform{Min: 0, Max: 2 * math.Pi}, func(f []float64, _ float64, x, th []float64) {
			f[0], f[1] = x[1], -th[0]*th[0]*x[0]
		}, []float64{1, 0}, times, noise(func(t float64) float64 { return math.Cos(w * t) }), by)
	default:
		name = "growth"
		p = plane(distuv.Uniform{Min: 0, Max: 6}, func(f []float64, _ float64, x, th []float64) { f[0] = th[0] * x[0] * (1 - x[0]) },
			[]float64{0.1}, times, noise(func(t float64) float64 { return 1 / (1 + 9*math.Exp(-1.2*t)) }), by)
	}
	p.Mesh = probode.Uniform([]float64{0.5, 0.25, 0.125}[rng.IntN(3)])
	return name, p
}

var short = assess.Settings{MaxDraws: 400, Chains: mcmc.Settings{Draws: 200, Workers: 2}}

// No report on a small random model contradicts itself. No verdict on a decay is wrong by
// more than half the threshold; the true effect comes from quadrature.
func TestNoReportContradictsItself(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	verdicts := map[string]int{}
	for seed := range uint64(16) {
		rng := rand.New(rand.NewPCG(seed, 7))
		s := short
		s.Chains.Seed = seed
		var name string
		var p *bayes.Posterior
		truth := math.NaN()
		if seed%4 < 3 {
			m := randomDecay(rng)
			name, p, truth = m.name, m.posterior(), m.truth()
		} else {
			name, p = randomOther(rng)
		}
		if h := p.StepSize(); rng.IntN(2) == 0 {
			s.Candidates = at(h)
		} else {
			s.Candidates = at(h, h/2)
		}
		a, err := assess.Run(t.Context(), p, s)
		if err != nil {
			t.Errorf("model %d, %s: %v", seed, name, err)
			continue
		}
		v := a.Candidates[0].Verdict
		verdicts[v.String()]++
		for _, c := range contradictions(a) {
			t.Errorf("model %d, %s: %s", seed, name, c)
		}
		if v == assess.Negligible && truth > 1.5 || v == assess.Matters && truth < 0.5 && a.Claim("phantom mode", a.Candidates[0].String()).Verdict != assess.Matters {
			t.Errorf("model %d, %s: %v, where median or interval is off by %.2f thresholds\n%v", seed, name, v, truth, a)
		}
		t.Logf("model %d, %s, %d candidates: %v, truth %.2f", seed, name, len(s.Candidates), v, truth)
	}
	t.Logf("%v", verdicts)
	if verdicts["negligible"] < 2 || verdicts["matters"] < 4 {
		t.Errorf("%v: want more of each", verdicts)
	}
}

// Phantom modes with .02 to .3 % of the mass, far away, decide on means and standard
// deviations, and have few draws or none. Medians and central intervals do not move. Among
// two seeds there are never both verdicts, on neither of the two, and none calls the
// mean negligible.
func TestSmallPhantomsGiveOneVerdict(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	straight := func(beta0, beta1 bayes.Distribution) *bayes.Posterior {
		p := dragons(0.125)
		p.Method = methods.RungeKutta{Tableau: methods.Heun}
		p.Params[0].Prior, p.Params[1].Prior = beta0, beta1
		return p
	}
	var times, y []float64
	for i := 1; i <= 10; i++ {
		times, y = append(times, float64(i)), append(y, 1/(1+9*math.Exp(-0.8*float64(i))))
	}
	growth := plane(distuv.Uniform{Min: 0, Max: 6}, func(f []float64, _ float64, x, th []float64) { f[0] = th[0] * x[0] * (1 - x[0]) },
		[]float64{0.1}, times, y, bayes.Gaussian{Sigma: bayes.Known(0.1)})
	growth.Mesh = probode.Uniform(1)
	for name, p := range map[string]*bayes.Posterior{
		"log-normal priors":  straight(distuv.LogNormal{Mu: 1.5, Sigma: 2}, distuv.LogNormal{Mu: 0, Sigma: 1.5}),
		"half-Cauchy priors": straight(halfCauchy, halfCauchy),
		"logistic growth":    growth,
	} {
		var verdicts, means [3]int
		for seed := range uint64(2) {
			a := assessed(t, p, assess.Settings{Candidates: at(p.StepSize()), Chains: mcmc.Settings{Draws: 250, BurnIn: 400, Seed: seed}})
			for _, c := range contradictions(a) {
				t.Errorf("%s, seed %d: %s", name, seed, c)
			}
			x := a.Candidates[0]
			verdicts[x.Verdict]++
			for _, e := range x.Inference.Effects {
				means[e.Mean.Verdict]++
			}
		}
		t.Logf("%s: %v undecided, negligible, matters; means %v", name, verdicts, means)
		if verdicts[assess.Negligible] > 0 && verdicts[assess.Matters] > 0 || means[assess.Negligible] > 0 {
			t.Errorf("%s: %v undecided, negligible, matters; means %v", name, verdicts, means)
		}
	}
}

// Phantoms far away have no draws, but by quadrature they make the sd larger: at r = 3 to 8
// they hold .037 % of the mass of RK4 with h = 1 and .004 % with h = .5, and the sds are
// 1.44 and 1.17 times as large; at k = 4 to 7 they hold .013 % of the mass of the midpoint
// rule, and the sd is 1.111 times as large, though it is 1.067 times as large without them.
// The medians are right, and nothing is said of the sds.
func TestUnseenPhantomsLeaveMomentsUnknown(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	logistic := plane(distuv.LogNormal{Mu: -0.3, Sigma: 0.75}, func(f []float64, _ float64, x, th []float64) { f[0] = th[0] * x[0] * (1 - x[0]) },
		[]float64{0.05}, []float64{4, 6, 8}, []float64{0.45, 0.8, 0.97}, bayes.Gaussian{Sigma: bayes.Known(0.1)})
	square := plane(distuv.LogNormal{Mu: 0, Sigma: 0.483}, func(f []float64, _ float64, x, th []float64) { f[0] = -th[0] * x[0] * x[0] },
		[]float64{0.4353}, []float64{0.5, 1, 1.5}, []float64{0.409, 0.363, 0.381}, bayes.Gaussian{Sigma: bayes.Known(0.06674)})
	square.Method = methods.RungeKutta{Tableau: methods.Midpoint}
	for _, c := range []struct {
		p          *bayes.Posterior
		candidates []probode.Setup
		draws      int
	}{{logistic, at(1, 0.5), 500}, {square, at(0.5), 4000}} {
		a := assessed(t, c.p, assess.Settings{Candidates: c.candidates, Accurate: fine, Chains: mcmc.Settings{Draws: c.draws, Seed: 1}})
		for _, x := range a.Candidates {
			if mean := x.Inference.Effects[0].Mean; x.Verdict != assess.Negligible || mean.Verdict != assess.Undecided || mean.Why == "" {
				t.Errorf("%v: %v, mean and sd %+v", x, x.Verdict, mean)
			}
		}
		if strings.Contains(a.Details(), "are below the threshold, too") {
			t.Error(a.Details())
		}
	}
}

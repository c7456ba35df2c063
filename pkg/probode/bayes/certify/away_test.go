package certify_test

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/adams"
	"github.com/probode/probode/pkg/probode/bayes"
	"github.com/probode/probode/pkg/probode/bayes/certify"
	"github.com/probode/probode/pkg/probode/methods"
)

// washed are data that bound a rate of decay from below only.
var washed = []float64{0.06, -0.05, 0.03}

// washout is y′ = −k y from 1 by RK4, with washed data: the solver is unstable above
// k = 2.785/h, where the posterior still has mass.
func washout(prior bayes.Distribution, h float64) *bayes.Posterior {
	return plane(prior, func(f []float64, _ float64, x, th []float64) { f[0] = -th[0] * x[0] },
		[]float64{1}, []float64{2, 4, 6}, washed, bayes.Gaussian{Sigma: bayes.Known(0.1)}, methods.RungeKutta{}, h)
}

// pair returns the model of two parameters with the field f.
func pair(a, b bayes.Distribution, f func(f []float64, t float64, x, th []float64), x0, times, y []float64, sigma float64, m probode.Method, h float64) *bayes.Posterior {
	p := plane(a, f, x0, times, y, bayes.Gaussian{Sigma: bayes.Known(sigma)}, m, h)
	p.Params = append(p.Params, bayes.Param{Name: "theta2", Prior: b})
	p.Experiments[0].Problem.Theta = []float64{a.Quantile(0.5), b.Quantile(0.5)}
	return p
}

// certificate certifies p, and says it without error.
func certificate(t *testing.T, p *bayes.Posterior) *certify.Certificate {
	t.Helper()
	c, err := certify.Run(context.Background(), p, certify.Settings{Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// Where a solver cuts off a part of the posterior, D at the mode is small and the bias is
// not: no certificate is given, and the answer says where the setups differ. With a step
// that cuts off next to nothing it is given.
func TestPartsOfThePosteriorThatAreCutOff(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	for _, c := range []struct {
		name  string
		prior bayes.Distribution
		h     float64
		bias  float64 // by quadrature
	}{
		{"log-normal", distuv.LogNormal{Mu: 1, Sigma: 1}, 0.5, -0.410},
		{"log-normal", distuv.LogNormal{Mu: 1, Sigma: 1}, 0.25, -0.238},
		{"log-normal", distuv.LogNormal{Mu: 1, Sigma: 1}, 0.125, -0.100},
		{"uniform", distuv.Uniform{Max: 30}, 0.125, -0.484},
		{"log-normal", distuv.LogNormal{Mu: 1, Sigma: 1}, 1. / 64, -0.001},
		{"gamma", distuv.Gamma{Alpha: 2, Beta: 0.2}, 0.125, -0.185},
		{"gamma", distuv.Gamma{Alpha: 2, Beta: 0.2}, 1. / 32, 0},
		{"normal", distuv.Normal{Mu: 3, Sigma: 4}, 0.5, 0},
	} {
		p := washout(c.prior, c.h)
		got := biases(t, p, 800, everywhere(p))[0]
		if c.bias != 0 && math.Abs(got-c.bias) > 0.002 {
			t.Errorf("%s, h = %.3g: the bias is %.4f: want %.3f", c.name, c.h, got, c.bias)
		}
		one := certificate(t, p)
		m := one.Modes[one.Worst(0.1)]
		t.Logf("%s, h = %.3g: bias %.3f, D %.2g, bound %.2g", c.name, c.h, got, m.D, m.Bound)
		if refuse := math.Abs(got) > 0.0995; one.Certified(0.1) == refuse {
			t.Errorf("%s, h = %.3g: bias %.3f: %s", c.name, c.h, got, one.Answer(0.1))
		} else if refuse && m.D < 0.5 && (m.Where == nil || !strings.Contains(one.Answer(0.1), "away from the mode")) {
			t.Errorf("%s, h = %.3g: %s", c.name, c.h, one.Answer(0.1))
		}
	}
}

// The same happens in a steady state before the first datum, on a ridge along which only
// the sum of two rates is known, and to a state that follows an input so fast that its
// rate is known from below only.
func TestPartsThatAreCutOffElsewhere(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	steady := func(h float64) *bayes.Posterior {
		return pair(distuv.LogNormal{Mu: 1.5, Sigma: 1}, distuv.LogNormal{Mu: 1, Sigma: 1}, func(f []float64, _ float64, x, th []float64) { f[0] = th[0] - th[1]*x[0] },
			[]float64{0}, []float64{5, 6, 8, 10}, []float64{2.03, 1.95, 2.06, 1.98}, 0.1, methods.RungeKutta{}, h)
	}
	ridge := func(h float64) *bayes.Posterior {
		return pair(distuv.LogNormal{Mu: 0.5, Sigma: 1}, distuv.LogNormal{Mu: 0.5, Sigma: 1}, func(f []float64, _ float64, x, th []float64) { f[0] = -(th[0] + th[1]) * x[0] },
			[]float64{1}, []float64{2, 4, 6}, washed, 0.1, methods.RungeKutta{}, h)
	}
	following := func(h float64) *bayes.Posterior {
		p := plane(distuv.LogNormal{Mu: 2, Sigma: 1}, func(f []float64, t float64, x, th []float64) { f[0] = -th[0] * (x[0] - math.Cos(t)) },
			[]float64{1}, []float64{1, 2, 3, 4}, []float64{0.59, -0.51, -0.92, -0.63}, bayes.Gaussian{Sigma: bayes.Known(0.1)}, methods.RungeKutta{}, h)
		p.Experiments[0].Problem.Autonomous = false
		return p
	}
	otherSide := func(h float64) *bayes.Posterior { // the parameter is −k
		return plane(distuv.Normal{Mu: -3, Sigma: 4}, func(f []float64, _ float64, x, th []float64) { f[0] = th[0] * x[0] },
			[]float64{1}, []float64{2, 4, 6}, washed, bayes.Gaussian{Sigma: bayes.Known(0.1)}, methods.RungeKutta{}, h)
	}
	saturated := func(h float64) *bayes.Posterior { // logistic growth that is over before the first datum
		return plane(distuv.LogNormal{Mu: 1, Sigma: 1}, func(f []float64, _ float64, x, th []float64) { f[0] = th[0] * x[0] * (1 - x[0]) },
			[]float64{0.05}, []float64{3, 5, 7}, []float64{1.02, 0.97, 1.01}, bayes.Gaussian{Sigma: bayes.Known(0.05)}, methods.RungeKutta{}, h)
	}
	for _, c := range []struct {
		name  string
		model func(h float64) *bayes.Posterior
		steps [2]float64 // that matters, and that does not
	}{
		{"steady state", steady, [2]float64{0.5, 0.125}},
		{"ridge", ridge, [2]float64{0.25, 1. / 16}},
		{"other side", otherSide, [2]float64{0.5, 0.125}},
		{"saturated", saturated, [2]float64{0.125, 1. / 32}},
		{"following", following, [2]float64{1. / 16, 1. / 64}},
	} {
		for i, h := range c.steps {
			p := c.model(h)
			n := 500
			if len(p.Params) > 1 {
				n = 60
			}
			bias := largest(biases(t, p, n, everywhere(p)))
			one := certificate(t, p)
			t.Logf("%s, h = %.3g: bias %.3f, %s", c.name, h, bias, one.Answer(0.1))
			if (bias > 0.1) != (i == 0) || one.Certified(0.1) != (i == 1) {
				t.Errorf("%s, h = %.3g: bias %.3f, %s", c.name, h, bias, one.Answer(0.1))
			}
		}
	}
}

// Towards the upper edge of the prior the solver's error brings the decay of large rates
// back to that of the data: with steps of ½, RK4 multiplies by the same factor at k = 1
// and k = 4.8. The nearer the edge comes, the more of the posterior lies there.
func TestModeAtTheEdgeOfAPrior(t *testing.T) {
	for _, c := range []struct {
		edge      float64
		certified bool
	}{{4, true}, {4.6, false}, {4.75, false}} {
		p := plane(distuv.Uniform{Min: 0.1, Max: c.edge}, func(f []float64, _ float64, x, th []float64) { f[0] = -th[0] * x[0] },
			[]float64{1}, decayTimes, decayY, bayes.Gaussian{Sigma: bayes.Known(decaySigma)}, methods.RungeKutta{}, 0.5)
		bias, one := biases(t, p, 500, everywhere(p))[0], certificate(t, p)
		if (math.Abs(bias) < 0.1) != c.certified || one.Certified(0.1) != c.certified {
			t.Errorf("edge %g: bias %.3f, %s", c.edge, bias, one.Answer(0.1))
		}
	}
}

// On smooth problems with one well-constrained mode the look away from the mode takes no
// right certificate away, and no certificate is wrong.
func TestCertificatesOfSmoothProblems(t *testing.T) {
	count := 60
	if testing.Short() {
		count = 15
	}
	right, given, refused := 0, 0, 0
	for i := range count {
		name, p := smooth(i)
		one := certificate(t, p)
		m := one.Modes[one.Worst(0.1)]
		b := box{}
		for k, q := range p.Params {
			b = append(b, [2]float64{max(-6, score(q.Prior, m.Theta[k]-8*m.SD[k])), min(6, score(q.Prior, m.Theta[k]+8*m.SD[k]))})
		}
		n := 120
		if len(p.Params) > 1 {
			n = 30
		}
		bias := largest(biases(t, p, n, b))
		// What the linearisation alone certifies.
		linear := m.D
		for _, s := range m.Shift {
			linear = max(linear, math.Abs(s))
		}
		switch {
		case one.Certified(0.1):
			if given++; bias > 0.1 {
				t.Errorf("%d, %s: certified, and the bias is %.3f: %+v", i, name, bias, m)
			}
		case linear < 0.1 && bias < 0.1:
			refused++
			t.Logf("%d, %s: bias %.3f, %s", i, name, bias, one.Answer(0.1))
		}
	}
	right = given + refused
	t.Logf("%d problems: of %d right certificates %d are given", count, right, given)
	if given < right*9/10 || right < count*2/3 {
		t.Errorf("of %d right certificates %d are given: want nine in ten", right, given)
	}
}

// smooth returns a smooth problem with data that its true parameters predict.
func smooth(i int) (name string, p *bayes.Posterior) {
	r := rand.New(rand.NewPCG(uint64(i), 1))
	m := []probode.Method{adams.Bashforth{}, methods.RungeKutta{}, adams.Moulton{Steps: 1}}[i%3]
	h := []float64{1. / 64, 0.125, 0.125}[i%3]
	sigma, k := 0.02+0.08*r.Float64(), 0.5+r.Float64()
	times := []float64{0.5, 1, 1.5, 2, 3, 4}
	var y []float64
	data := func(f func(t float64) float64) {
		for _, at := range times {
			y = append(y, f(at)+sigma*r.NormFloat64())
		}
	}
	one := func(prior bayes.Distribution, f func(f []float64, t float64, x, th []float64), x0 ...float64) *bayes.Posterior {
		return plane(prior, f, x0, times, y, bayes.Gaussian{Sigma: bayes.Known(sigma)}, m, h)
	}
	switch i / 3 % 5 {
	case 0:
		data(func(t float64) float64 { return math.Exp(-k * t) })
		return "decay", one(distuv.LogNormal{Mu: 0, Sigma: 1}, func(f []float64, _ float64, x, th []float64) { f[0] = -th[0] * x[0] }, 1)
	case 1:
		data(func(t float64) float64 { return 1 / (1 + 9*math.Exp(-k*t)) })
		return "logistic growth", one(distuv.Uniform{Max: 5}, func(f []float64, _ float64, x, th []float64) { f[0] = th[0] * x[0] * (1 - x[0]) }, 0.1)
	case 2:
		data(func(t float64) float64 { return math.Cos(k * t) })
		return "oscillator", one(distuv.Normal{Mu: 1, Sigma: 0.3}, func(f []float64, _ float64, x, th []float64) { f[0], f[1] = x[1], -th[0]*th[0]*x[0] }, 1, 0)
	case 3:
		data(func(t float64) float64 { return 2 / k * (1 - math.Exp(-k*t)) })
		return "turnover", pair(distuv.LogNormal{Mu: 0.5, Sigma: 0.7}, distuv.LogNormal{Mu: 0, Sigma: 0.7},
			func(f []float64, _ float64, x, th []float64) { f[0] = th[0] - th[1]*x[0] }, []float64{0}, times, y, sigma, m, h)
	}
	data(func(t float64) float64 { return 2 * math.Exp(-0.5*k*t) })
	return "saturation", pair(distuv.LogNormal{Mu: 0, Sigma: 0.5}, distuv.LogNormal{Mu: 0, Sigma: 0.5},
		func(f []float64, _ float64, x, th []float64) { f[0] = -th[0] * x[0] / (th[1] + max(0, x[0])) }, []float64{2}, times, y, sigma, m, h)
}

// Of two modes the answer quotes the one that is not certified, whose bound is above the
// threshold, and not the one with the largest D.
func TestAnswerQuotesTheModeThatFails(t *testing.T) {
	good, bad := certify.AtMode{Found: true, D: 0.09, Bound: 0.09, Theta: []float64{1}}, certify.AtMode{Found: true, D: 0.02, Bound: 0.4, Theta: []float64{2}}
	for _, order := range [][]certify.AtMode{{good, bad}, {bad, good}} {
		c := &certify.Certificate{Setup: "RK4, h = 0.1", Names: []string{"k"}, Modes: order}
		if answer := c.Answer(0.1); c.Certified(0.1) || !strings.Contains(answer, "up to 0.4 sd") || !strings.Contains(answer, "D = 0.02") {
			t.Errorf("%s", answer)
		}
		if answer := c.Answer(0.5); !c.Certified(0.5) || !strings.Contains(answer, "0.4 sd") {
			t.Errorf("%s", answer)
		}
	}
	// Nothing is worse than a mode of which nothing is known.
	c := &certify.Certificate{Modes: []certify.AtMode{bad, {Err: "no solution", D: math.NaN()}, good}}
	if answer := c.Answer(0.1); c.Certified(0.1) || !strings.Contains(answer, "no solution") {
		t.Errorf("%s", answer)
	}
}

// Two setups that expect exactly the same are suspect. Both step over a pulse that only
// very many steps see; where nothing sees the pulse, no parameter has an effect.
func TestNoDifferenceAtAllIsSuspect(t *testing.T) {
	for _, c := range []struct {
		width float64
		rate  float64
		says  string // empty if it is certified
	}{
		{0, 1, ""}, // x′ = θ, which every method solves exactly
		{2.5e-5 * 4, 1, "an error of its own"},
		{1e-9, 0, "no parameter affects"},
	} {
		p := plane(distuv.Normal{Mu: 1, Sigma: 1}, func(f []float64, t float64, _, th []float64) {
			if f[0] = c.rate * th[0]; t > 1.2345 && t < 1.2345+c.width {
				f[0] += th[0] / c.width
			}
		}, []float64{0}, []float64{1, 2, 4}, []float64{1, 2.1, 3.9}, bayes.Gaussian{Sigma: bayes.Known(0.1)}, adams.Bashforth{}, 0.125)
		p.Experiments[0].Problem.Autonomous = false
		one := certificate(t, p)
		if answer := one.Answer(0.1); one.Certified(0.1) != (c.says == "") || !strings.Contains(answer, c.says) {
			t.Errorf("width %g: %+v: %s", c.width, one.Modes, answer)
		}
	}
}

// beside returns decay with a second state z of rate(θ), z(0) = 1, that is not observed.
func beside(rate func(k, z float64) float64) *bayes.Posterior {
	p := decay(1. / 64)
	q := *p.Experiments[0].Problem
	f := q.F
	q.States, q.X0 = nil, append(slices.Clone(q.X0), 1)
	q.F = func(dst []float64, t float64, x, th []float64) {
		f(dst[:1], t, x[:1], th)
		dst[1] = rate(th[0], x[1])
	}
	q.FJ, q.FTheta, q.Start = nil, nil, nil
	p.Experiments[0].Problem = &q
	p.Experiments[0].Observe = func(dst []float64, _ float64, x, _ []float64) { dst[0] = x[0] }
	return p
}

// A certificate on a mode that a setup cannot leave says where it fails. If the reference
// cannot leave it either, because the solution ends there, both posteriors end at the same
// place, and no parameter is shifted.
func TestSetupThatFailsBesideTheMode(t *testing.T) {
	for name, c := range map[string]struct {
		rate   func(k, z float64) float64
		shared bool
	}{
		"stiff":        {func(k, z float64) float64 { return -1e7 * max(0, k-1.1) * z }, false},
		"blow-up":      {func(k, z float64) float64 { return 100 * max(0, k-1.1) * z * z }, true},
		"no number":    {func(k, z float64) float64 { return math.Sqrt(1.1-k) * z }, true},
		"exponential":  {func(k, z float64) float64 { return max(0, k-1.1) * math.Exp(20*z) }, true},
		"nothing ends": {func(k, z float64) float64 { return -k * z }, true},
	} {
		p := beside(c.rate)
		one, err := certify.Run(context.Background(), p, certify.Settings{Modes: [][]float64{{0.95}}})
		if err != nil {
			t.Fatal(err)
		}
		m := one.Modes[0]
		if c.shared {
			ends := name != "nothing ends"
			if !one.Certified(0.1) || (m.Unsolved != nil) != ends || strings.Contains(one.Answer(0.1), "neither solver can solve") != ends {
				t.Errorf("%s: %+v\n%s", name, m, one.Answer(0.1))
			}
			continue
		}
		if one.Certified(0.1) || !slices.ContainsFunc(m.Where, func(v float64) bool { return v > 1.1 }) || !strings.Contains(one.Answer(0.1), "cannot be solved") {
			t.Errorf("%s: %+v\n%s", name, m, one.Answer(0.1))
		}
	}
}

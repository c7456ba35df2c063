package model

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"gonum.org/v1/gonum/integrate/quad"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/probode/probode/pkg/probode/bayes"
	"github.com/probode/probode/pkg/probode/bayes/modes"
	"github.com/probode/probode/pkg/probode/bayes/shape"
	"github.com/probode/probode/pkg/probode/model/internal/equations"
	"github.com/probode/probode/pkg/probode/model/internal/expr"
)

// The likelihood that package bayes computes from the posterior equals that of
// LogLikelihood, up to the error at a relative tolerance of 10⁻⁶.
func TestPosterior(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 1))
	for _, file := range modelFiles {
		p := load(t, file)
		b, err := p.Posterior()
		if err != nil {
			t.Fatal(err)
		}
		d, err := bayes.NewDensity(context.Background(), b)
		if err != nil {
			t.Fatal(err)
		}
		l, err := p.LogLikelihood(LikelihoodSettings{})
		if err != nil {
			t.Fatal(err)
		}
		for try := range 2 {
			all, free := l.p.Nominal(), []float64{}
			for i, q := range p.Params {
				if q.Estimate {
					all[i] *= 1 + 0.05*float64(try)*rng.Float64()
					free = append(free, all[i])
				}
			}
			v, err := l.At(context.Background(), all, false)
			if err != nil {
				t.Fatal(err)
			}
			got, err := d.LogLikelihood(free, nil)
			if err != nil || math.Abs(got-v.LogLikelihood) > 2e-4 {
				t.Errorf("%s: %.8f (%v): want %.8f", file, got, err, v.LogLikelihood)
			}
		}
		if len(b.Experiments) != len(conditionsOf(p)) {
			t.Errorf("%s: %d experiments", file, len(b.Experiments))
		}
	}
}

// An estimated parameter needs no nominal value: the posterior begins at the median of its
// prior, and searches begin at draws from it. Other parameters need one.
func TestWithoutNominal(t *testing.T) {
	for _, c := range []struct {
		prior string
		want  float64 // the median
	}{
		{"objectivePriorType: logNormal, objectivePriorParameters: -1;1", math.Exp(-1)},
		{"objectivePriorType: normal, objectivePriorParameters: 1;0.5, lowerBound: 0", 1 + 0.5*distuv.UnitNormal.Quantile((1+distuv.UnitNormal.CDF(-2))/2)},
		{"objectivePriorType: halfNormal, objectivePriorParameters: 2, parameterScale: log10", 2 * distuv.UnitNormal.Quantile(0.75)},
		{"objectivePriorType: halfCauchy, objectivePriorParameters: 3", 3},
		{"objectivePriorType: exponential, objectivePriorParameters: 4, parameterScale: log", math.Ln2 / 4},
		{"lowerBound: 0.01, upperBound: 100, parameterScale: log10", 1},
		{"lowerBound: 0, upperBound: 6", 3},
	} {
		const text = "parameters:\n  - {parameterId: k, %s}\n  - {parameterId: a, nominalValue: 1}\n" +
			"odes:\n  - {stateId: x, rightHandSide: -k * x, initialValue: a}\n" +
			"observables:\n  - {observableId: y, observableFormula: x, noiseFormula: 0.1}\ndata: |\n  time,y\n  1,0.3\n  2,0.1\n"
		p, err := loadMap(t, map[string]string{"m.yaml": fmt.Sprintf(text, c.prior)}, "m.yaml")
		if err != nil {
			t.Fatal(err)
		}
		b, err := p.Posterior()
		if err != nil {
			t.Fatal(err)
		}
		if got := b.GridAt[0]; math.Abs(got-c.want) > 1e-12*c.want {
			t.Errorf("%s: begins at %v: want %v", c.prior, got, c.want)
		}
		box, err := newBox(&p.Params[0], false)
		if err != nil {
			t.Fatal(err)
		}
		for _, u := range []float64{0.01, 0.5, 0.99} {
			if v := box.linear(box.at(u)); !(v > 0 && v < math.Inf(1)) {
				t.Errorf("%s: a search begins at %v", c.prior, v)
			}
		}
		if _, err := p.Fit(context.Background(), FitSettings{From: [][]float64{p.Nominal()}}); err == nil || err.Error() != "a starting point has no value of k: want a number" {
			t.Errorf("%s: error %v", c.prior, err)
		}
		l, err := p.LogLikelihood(LikelihoodSettings{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := l.At(context.Background(), p.Nominal(), false); err == nil || err.Error() != "the values of k are missing: want them, or a nominalValue for each in the file" {
			t.Errorf("%s: error %v", c.prior, err)
		}
	}
}

// conditionsOf returns the conditions that the data name.
func conditionsOf(p *File) map[string]bool {
	all := map[string]bool{}
	for _, d := range p.Models[0].Data {
		all[d.Condition] = true
	}
	return all
}

// Priors on every scale, truncated or not, integrate to one, and their quantiles invert
// their distribution function.
func TestScalePrior(t *testing.T) {
	nan := math.NaN()
	for _, q := range []Parameter{
		{Scale: Lin, Lower: -1, Upper: 3},
		{Scale: Log, Lower: 0.1, Upper: 30},
		{Scale: Log10, Lower: 1e-3, Upper: 1e3},
		{Scale: Lin, Lower: nan, Upper: nan, Prior: Prior{"normal", 1, 0.5}},
		{Scale: Log10, Lower: 1e-2, Upper: 1e2, Prior: Prior{"normal", 1, 0.5}},
		{Scale: Log10, Lower: nan, Upper: nan, Prior: Prior{"parameterScaleNormal", 0.3, 0.2}},
		{Scale: Log, Lower: 0.5, Upper: nan, Prior: Prior{"parameterScaleLaplace", 0.3, 0.2}},
		{Scale: Log10, Lower: nan, Upper: 4, Prior: Prior{"logNormal", 0.3, 0.4}},
		{Scale: Lin, Lower: 0.1, Upper: 40, Prior: Prior{"logLaplace", 0.3, 0.2}},
		{Scale: Lin, Lower: -3, Upper: 3, Prior: Prior{"laplace", 0.3, 0.2}},
		{Scale: Lin, Lower: 0.5, Upper: 3, Prior: Prior{"uniform", 0, 2}},
		{Scale: Log10, Lower: 0.1, Upper: 1e3, Prior: Prior{"parameterScaleUniform", 0, 2}},
		{Scale: Lin, Lower: 0, Upper: nan, Prior: Prior{"normal", 1, 0.5}},
		{Scale: Lin, Lower: nan, Upper: nan, Prior: Prior{"halfNormal", 0.5, 0}},
		{Scale: Lin, Lower: 0.1, Upper: 2, Prior: Prior{"halfNormal", 0.5, 0}},
		{Scale: Lin, Lower: -9, Upper: 9, Prior: Prior{"cauchy", 1, 0.5}},
		{Scale: Lin, Lower: nan, Upper: 5, Prior: Prior{"halfCauchy", 0.5, 0}},
		{Scale: Lin, Lower: nan, Upper: nan, Prior: Prior{"exponential", 2, 0}},
		{Scale: Log10, Lower: nan, Upper: nan, Prior: Prior{"gamma", 2, 4}},
		{Scale: Lin, Lower: 0.5, Upper: nan, Prior: Prior{"inverseGamma", 2, 4}},
		{Scale: Lin, Lower: nan, Upper: nan, Prior: Prior{"beta", 2, 3}},
		{Scale: Lin, Lower: nan, Upper: nan, Prior: Prior{"rayleigh", 2, 0}},
		{Scale: Lin, Lower: 0.5, Upper: 3, Prior: Prior{"logUniform", 0.1, 10}},
	} {
		d, err := newScalePrior(&q)
		if err != nil {
			t.Errorf("%+v: %v", q, err)
			continue
		}
		// The integral between two quantiles is right. It is taken on the prior's own scale,
		// where the density has no narrow peaks.
		probs := []float64{1e-6, 0.01, 0.1, 0.3, 0.5, 0.7, 0.9, 0.99, 1 - 1e-6}
		for i, p := range probs[1:] {
			a, b := d.On.of(d.Quantile(probs[i])), d.On.of(d.Quantile(p))
			mass := 0.
			// The Laplace density has a kink, and the trapezoidal rule with 2000 pieces has an error of 1e-6.
			const pieces = 400
			for k := range pieces {
				mass += quad.Fixed(func(u float64) float64 {
					x := d.On.linear(u)
					return math.Exp(d.LogProb(x)) * d.On.slope(x)
				}, a+(b-a)*float64(k)/pieces, a+(b-a)*float64(k+1)/pieces, 5, nil, 0)
			}
			if math.Abs(mass-(p-probs[i])) > 1e-5 {
				t.Errorf("%+v: between the quantiles of %g and %g there is %g", q, probs[i], p, mass)
			}
		}
		if x := d.Quantile(1); !math.IsInf(x, 1) && !math.IsInf(d.LogProb(x*1.001+1e-9), -1) {
			t.Errorf("%+v: a density behind the end %g", q, x)
		}
	}
	for _, q := range []Parameter{
		{Scale: Lin, Lower: nan, Upper: 1}, {Scale: Log10, Lower: 0, Upper: 1},
		{Scale: Lin, Lower: 3, Upper: 4, Prior: Prior{"uniform", 0, 2}},
		{Scale: Log, Lower: nan, Upper: -1, Prior: Prior{"normal", 0, 1}},
		{Scale: Lin, Lower: 0, Upper: 1, Prior: Prior{"other", 0, 1}},
	} {
		if _, err := newScalePrior(&q); err == nil || strings.Contains(err.Error(), "\n") {
			t.Errorf("%+v: %v", q, err)
		}
	}
}

// Noise that is a formula of the observable and a parameter is a column, and two
// measurements at the same time are in two columns.
func TestNoiseFormula(t *testing.T) {
	n := func(s string) *expr.Node {
		e, err := expr.Parse(expr.Names{}, s)
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
	p := decay(t)
	p.Params[0].Lower, p.Params[0].Upper = 0.1, 10
	p.Params[1].Lower, p.Params[1].Upper = 0.1, 10
	p.Params[2].Lower, p.Params[2].Upper = 0.1, 3
	p.Params[3].Lower, p.Params[3].Upper = 0.1, 10
	m := p.Models[0]
	m.States = append(m.States, equations.State{ID: "z", Init: n("1"), Rate: n("-z")})
	m.observables[0].formula, m.observables[0].noise = n("2*x + z"), n("0.1 + s*(2*x + z)")
	b, err := p.Posterior()
	if err != nil {
		t.Fatal(err)
	}
	x := &b.Experiments[0]
	if got := fmt.Sprint(x.Errors[0], x.Data.Names); got != "{noise of y} [y noise of y]" {
		t.Fatalf("errors and columns %s", got)
	}
	var row [2]float64
	at := make([]float64, len(b.Params))
	for i, q := range b.Params {
		if q.Name == "s" {
			at[i] = 0.2
		}
	}
	if x.Observe(row[:], 0, []float64{1.2, 0.6}, at); row[0] != 3 || math.Abs(row[1]-0.7) > 1e-15 {
		t.Errorf("observed %v: want 3 with the noise 0.7", row)
	}
	m.observables[0].noise = n("s")
	m.Events = nil
	// Two measurements at the same time are in two columns.
	m.Data[0].Time = 3
	b, err = p.Posterior()
	if err != nil {
		t.Fatal(err)
	}
	if d := b.Experiments[0].Data; len(d.T) != 2 || len(d.Names) != 2 || d.Y[0][0] != 0.7 || d.Y[0][1] != 9 || !math.IsNaN(d.Y[1][1]) {
		t.Errorf("data %+v", d)
	}
}

// With noise that depends on the time and on another state, and with data of a steady
// state after preequilibration, the likelihood equals that of LogLikelihood. So does its
// derivative, the sum over the data of ∂log p/∂m ∂m + ∂log p/∂s ∂s.
func TestPosteriorColumns(t *testing.T) {
	for _, scale := range []Scale{Lin, Log10} {
		p := resting(t)
		m := p.Models[0]
		m.observables[0].scale = scale
		// With a parameter in another row of ∂f/∂θ than the first.
		rate, err := expr.Parse(expr.Names{}, "b - k*v")
		if err != nil {
			t.Fatal(err)
		}
		m.States = append(m.States, equations.State{ID: "v", Init: expr.Num(0), Rate: rate})
		noise, err := expr.Parse(expr.Names{}, "0.05 + 0.1*x + 0.01*time*k")
		if err != nil {
			t.Fatal(err)
		}
		m.observables = append(m.observables, observable{id: "w", formula: m.observables[0].formula, noise: noise, scale: scale, distribution: normalNoise})
		for _, row := range [][2]float64{{0, 5.2}, {1, 4.1}, {1, 4.2}, {20, 3.3}} {
			m.Data = append(m.Data, Observation{Observable: "w", Time: row[0], Value: row[1], Condition: "after", Preequilibration: "before"})
		}
		for i := range p.Params {
			p.Params[i].Lower, p.Params[i].Upper = 0.01, 10
		}
		b, err := p.Posterior()
		if err != nil {
			t.Fatal(err)
		}
		if len(b.Experiments) != 2 || len(b.Experiments[1].Data.T) != 1 || b.Experiments[1].Data.T[0] != 0 {
			t.Fatalf("experiments %+v", b.Experiments)
		}
		if got, want := strings.Join(b.Experiments[0].Data.Names, " "), "y w noise of w w"; got != want {
			t.Errorf("columns %s: want %s", got, want)
		}
		d, err := bayes.NewDensity(context.Background(), b)
		if err != nil {
			t.Fatal(err)
		}
		l, err := p.LogLikelihood(LikelihoodSettings{})
		if err != nil {
			t.Fatal(err)
		}
		for _, theta := range [][]float64{{0.6, 0.2, 0.1}, {0.7, 0.15, 0.12}} {
			v, err := l.At(context.Background(), theta, true)
			if err != nil {
				t.Fatal(err)
			}
			ll, err := d.LogLikelihood(theta, nil)
			if err != nil || math.Abs(ll-v.LogLikelihood) > 2e-5 {
				t.Errorf("%s: log-likelihood %.8f (%v): want %.8f", scale, ll, err, v.LogLikelihood)
			}
			surface, u := shape.NewSurface(d), make([]float64, len(theta))
			if err := d.Unconstrain(u, theta); err != nil || !surface.Expand(&shape.Point{X: u}) {
				t.Fatal("no expansion", err)
			}
			for k := range theta {
				var slope float64
				for _, o := range surface.Data() {
					slope += o.Score * o.Jacobian[k]
				}
				slope /= (theta[k] - 0.01) * (10 - theta[k]) / (10 - 0.01) // dθ/du between the bounds
				// The grid's tolerance, 1e-6, and the differences cause an error of up to 1e-4.
				if want := v.Gradient[k]; math.Abs(slope-want) > 1e-4*(1+math.Abs(want)) {
					t.Errorf("%s: ∂%s is %.8g: want %.8g", scale, p.Params[k].ID, slope, want)
				}
			}
		}
		// New data have the columns of noise as they are expected.
		q, _, _, err := bayes.PredictPrior(context.Background(), b, 20, nil, 1)
		if err != nil {
			t.Fatal(err)
		}
		for i := range q[0].Y {
			if y, fit := q[0].Y[i][1], q[0].Fit[i][1]; y[2] != fit[2] || y[1] == fit[1] {
				t.Errorf("prediction %v of %v", y, fit)
			}
		}
		// Without a steady state there is no likelihood.
		if ll, err := d.LogLikelihood([]float64{0.6, 0.2, 0}, nil); err == nil || !math.IsInf(ll, -1) {
			t.Errorf("without decay: %v, %v", ll, err)
		}
	}
}

// Point keeps values inside the bounds, and moves values at or outside a bound inside.
func TestPoint(t *testing.T) {
	p := decay(t)
	p.Params[0].Lower, p.Params[0].Upper, p.Params[0].Scale = 0, 10, Lin
	p.Params[1].Lower, p.Params[1].Upper, p.Params[1].Scale = 0.1, 10, Log10
	for i := range p.Params {
		p.Params[i].Estimate = i < 2
	}
	theta := []float64{10, 0.01, 1, 1}
	got, err := p.Point(theta)
	if err != nil {
		t.Fatal(err)
	}
	if want := []float64{10 - 1e-8, 0.1 * math.Pow(10, 2e-9)}; len(got) != 2 || math.Abs(got[0]-want[0]) > 1e-14 || math.Abs(got[1]-want[1]) > 1e-16 {
		t.Errorf("%v: want %v", got, want)
	}
	if got, err := p.Point([]float64{1e-12, 0.2, 1, 1}); err != nil || got[0] != 1e-12 || got[1] != 0.2 {
		t.Errorf("%v, %v: want 1e-12 and 0.2", got, err)
	}
	// A start is a hundredth of the width from the edge: 2 decades, for the second parameter.
	if got, err := p.Start(theta); err != nil || math.Abs(got[0]-9.9) > 1e-12 || math.Abs(got[1]-0.1*math.Pow(10, 0.02)) > 1e-12 {
		t.Errorf("%v, %v: want 9.9 and a start inside", got, err)
	}
	for _, bad := range [][]float64{{1}, {math.NaN(), 1, 1, 1}} {
		if _, err := p.Point(bad); err == nil {
			t.Errorf("%v: no error", bad)
		}
	}
}

// Searches find the mode, which is at four kinks, except those that are given up early.
func TestPosteriorKinks(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	p := load(t, "pk.yaml")
	b, err := p.Posterior()
	if err != nil {
		t.Fatal(err)
	}
	m, err := modes.Find(context.Background(), b, modes.Settings{Seed: 4})
	if err != nil {
		t.Fatal(err)
	}
	best := m.Highest()
	if best.Cov == nil || best.Mass < 0.999 || 4*best.Found < 3*m.Searches {
		t.Errorf("%d of %d searches, covariance %v, mass %v: want at least three of four", best.Found, m.Searches, best.Cov, best.Mass)
	}
	// The priors are flat on the scales, so the mode is at the kinks where the likelihood is
	// largest, up to the error of a tolerance of 1e-6. The noise parameter b is the only
	// one that is not at a kink. The likelihood is largest at b = 0.0964635. The density on the unbounded scale is
	// logistic, and its slope of (1 − 2p)/(L p (1 − p)) in log b, with p = log(b/0.001)/L and
	// L = log(1e4), moves the mode up by a 26th of that for 26 data.
	for i, want := range []float64{1.2257016, 11.0502, 6.0466172, 19.88901, 0.0964761} {
		if math.Abs(best.Theta[i]/want-1) > 1e-4 {
			t.Errorf("parameter %d is %v: want %v", i, best.Theta[i], want)
		}
	}
}

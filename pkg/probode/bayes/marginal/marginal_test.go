package marginal

import (
	"context"
	"math"
	"strings"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/bayes"
	"github.com/probode/probode/pkg/probode/bayes/cases"
	"github.com/probode/probode/pkg/probode/bayes/modes"
	"github.com/probode/probode/pkg/probode/filter"
	"github.com/probode/probode/pkg/probode/problems"
	"github.com/probode/probode/pkg/probode/reference"
)

// neuron is the FitzHugh–Nagumo problem up to t = 10 with ten observations of both
// components, or of V alone.
func neuron(t *testing.T, both bool, extra ...bayes.Param) bayes.Model {
	t.Helper()
	p := problems.FitzHughNagumo()
	p.Span[1] = 10
	data := &bayes.Data{}
	for i := 1; i <= 10; i++ {
		data.T = append(data.T, float64(i))
	}
	ref, err := reference.Solve(context.Background(), p, data.T, reference.Settings{})
	if err != nil {
		t.Fatal(err)
	}
	for i, at := range data.T {
		row := []float64{ref.X[2*i] + .1*math.Sin(7*at), ref.X[2*i+1] + .1*math.Cos(5*at)}
		if !both {
			row = row[:1]
		}
		data.Y = append(data.Y, row)
	}
	if data.Names = []string{"V", "R"}; !both {
		data.Names = data.Names[:1]
	}
	m := bayes.Model{Experiments: []bayes.Experiment{{Problem: p, Data: data, Errors: []bayes.Likelihood{bayes.Gaussian{Sigma: bayes.Known(.1)}}}}}
	for _, name := range p.Params {
		m.Params = append(m.Params, bayes.Param{Name: name, Prior: distuv.Uniform{Min: 0, Max: 10}})
	}
	m.Params = append(m.Params, extra...)
	return m
}

type settings struct {
	filter.EK
	mesh      probode.Mesh
	dalton    bool
	diffusion bayes.Value
}

func posterior(m bayes.Model, s settings) *bayes.Posterior {
	p := &bayes.Posterior{Model: m, Setup: probode.Setup{Method: s.EK, Mesh: s.mesh, Scaling: probode.ScaleStep, Alpha: s.diffusion.Value}, AlphaParam: s.diffusion.Name, Integral: Fenrir}
	if s.dalton {
		p.Integral = DALTON
	}
	return p
}

func density(t *testing.T, m bayes.Model, s settings) *bayes.Density {
	t.Helper()
	e, err := bayes.NewDensity(t.Context(), posterior(m, s))
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// The values come from arithmetic with 40 digits.
func TestValues(t *testing.T) {
	theta := []float64{.2, .2, 3}
	for _, c := range []struct {
		h      float64
		dalton bool
		want   float64
	}{{.1, false, 22.807979362016}, {.1, true, 22.69640007774}, {.05, false, 22.658030939176}, {.05, true, 22.660656450271}} {
		e := density(t, neuron(t, true), settings{EK: filter.EK{Q: 2}, mesh: probode.Through(c.h), dalton: c.dalton, diffusion: bayes.Known(1)})
		for _, e := range []*bayes.Density{e, e.Clone()} {
			if ll, err := e.LogLikelihood(theta, nil); err != nil || math.Abs(ll-c.want) > 1e-8 {
				t.Errorf("h = %g, DALTON %t: %.12f, %v: want %.12f", c.h, c.dalton, ll, err, c.want)
			}
		}
	}
}

// With a tiny diffusion, what remains of Fenrir is the likelihood at the mean of the
// filter. Only V is observed, directly or through a function that is not linear.
func TestSmallDiffusion(t *testing.T) {
	m := neuron(t, false)
	for _, observe := range []func(dst []float64, t float64, x, theta []float64){nil,
		func(dst []float64, _ float64, x, _ []float64) { dst[0] = x[0] + x[0]*x[0]/5 }} {
		m.Experiments[0].Observe = observe
		ek := filter.EK{Q: 3}
		plain, err := bayes.NewDensity(context.Background(), &bayes.Posterior{Model: m, Setup: probode.Setup{Method: ek, Mesh: probode.Through(.05)}})
		if err != nil {
			t.Fatal(err)
		}
		want, err := plain.LogLikelihood([]float64{.25, .2, 3}, nil)
		if err != nil {
			t.Fatal(err)
		}
		e := density(t, m, settings{EK: ek, mesh: probode.Through(.05), diffusion: bayes.Known(1e-10)})
		if got, err := e.LogLikelihood([]float64{.25, .2, 3}, nil); err != nil || math.Abs(got-want) > 2e-2 { // smoothing moves the mean by about its error
			t.Errorf("Fenrir: %g, %v: want %g", got, err, want)
		}
		e = density(t, m, settings{EK: ek, mesh: probode.Through(.05), dalton: true, diffusion: bayes.Known(1e-10)})
		if ll, err := e.LogLikelihood([]float64{.25, .2, 3}, nil); err == nil || !strings.Contains(err.Error(), "rounding") {
			t.Errorf("DALTON: %g, %v: want an error, because the two sums nearly cancel", ll, err)
		}
	}
}

// These equations are affine, so both likelihoods are equal where rounding errors allow
// it. Elsewhere DALTON must not return a number: it once returned numbers that were wrong
// by thousands.
func TestRounding(t *testing.T) {
	numbers, refusals := 0, 0
	for name, theta := range map[string][]float64{"boluses": {0.5}, "dragons": {10, 1.01}, "alias": {1.31}} {
		c, err := cases.Named(name)
		if err != nil {
			t.Fatal(err)
		}
		for q := 1; q <= 3; q++ {
			for kappa2 := 1e3; kappa2 > 1e-9; kappa2 /= 10 {
				s := settings{EK: filter.EK{Q: q}, mesh: probode.Through(0.25), diffusion: bayes.Known(kappa2)}
				want, err := density(t, c.Posterior().Model, s).LogLikelihood(theta, nil)
				if err != nil {
					t.Fatal(err)
				}
				s.dalton = true
				got, err := density(t, c.Posterior().Model, s).LogLikelihood(theta, nil)
				switch refused := err != nil && strings.Contains(err.Error(), "rounding"); {
				case refused:
					refusals++
				case err != nil || math.Abs(got-want) > 0.02:
					t.Errorf("%s, q = %d, κ² = %g: DALTON %.6g, %v; Fenrir %.6g", name, q, kappa2, got, err, want)
				default:
					numbers++
				}
			}
		}
	}
	if numbers < 30 || refusals < 30 {
		t.Errorf("%d numbers and %d refusals of 108: want at least 30 of each", numbers, refusals)
	}
}

// A density counts the steps of its filter, also before the first solve with an unknown κ²:
// from 0 to 10 in steps of 0.1.
func TestSteps(t *testing.T) {
	m := neuron(t, true, bayes.Param{Name: "kappa2", Prior: distuv.LogNormal{Sigma: 1}})
	for _, at := range [][]float64{nil, {.2, .2, 3, 1}} {
		p := posterior(m, settings{EK: filter.EK{Q: 2}, mesh: probode.Uniform(.1), diffusion: bayes.Unknown("kappa2")})
		p.GridAt = at
		e, err := bayes.NewDensity(t.Context(), p)
		if err != nil {
			t.Fatal(err)
		}
		if n := e.Steps(); n != 100 {
			t.Errorf("GridAt %v: %d steps, want 100", at, n)
		}
	}
}

// The gradient is that of differences of the log density, also with respect to κ² and σ.
func TestGradient(t *testing.T) {
	m := neuron(t, true, bayes.Param{Name: "kappa2", Prior: distuv.LogNormal{Sigma: 1}}, bayes.Param{Name: "sigma", Prior: distuv.LogNormal{Mu: -2, Sigma: 1}})
	m.Experiments[0].Errors = []bayes.Likelihood{bayes.Gaussian{Sigma: bayes.Unknown("sigma")}}
	for _, dalton := range []bool{false, true} {
		e := density(t, m, settings{EK: filter.EK{Q: 2}, mesh: probode.Through(.1), dalton: dalton, diffusion: bayes.Unknown("kappa2")})
		theta, u, du := []float64{.22, .25, 2.9, 1.5, .12}, make([]float64, 5), make([]float64, 5)
		if err := e.Unconstrain(u, theta); err != nil {
			t.Fatal(err)
		}
		if _, err := e.Gradient(du, nil, u, nil); err != nil {
			t.Fatal(err)
		}
		for k := range u {
			var sides [2]float64
			const h = 1e-4
			at := u[k]
			for i := range sides {
				u[k] = at + h*float64(1-2*i)
				sides[i], _ = e.LogPosterior(u, nil)
			}
			u[k] = at
			if want := (sides[0] - sides[1]) / (2 * h); math.Abs(du[k]-want) > 1e-4*max(1, math.Abs(want)) {
				t.Errorf("DALTON %t: derivative %d is %.8g: want %.8g", dalton, k, du[k], want)
			}
		}
	}
}

// A search finds the mode near the truth, and the Fisher information there is about that of
// an accurate solver.
func TestModes(t *testing.T) {
	m := neuron(t, true)
	sds := func(p *bayes.Posterior) (at, sd []float64) {
		found, err := modes.Find(context.Background(), p, modes.Settings{Seed: 1, From: [][]float64{{.25, .15, 2.9}}, Points: 1, Starts: 1})
		if err != nil {
			t.Fatal(err)
		}
		best := found.Highest()
		for k := range best.U {
			sd = append(sd, math.Sqrt(best.Cov.At(k, k)))
		}
		return best.U, sd
	}
	accurate, sd := sds(&bayes.Posterior{Model: m, Setup: probode.Setup{Mesh: reference.Accurate{}}})
	for _, dalton := range []bool{false, true} {
		at, own := sds(posterior(m, settings{EK: filter.EK{Q: 3}, mesh: probode.Through(.05), dalton: dalton, diffusion: bayes.Known(1)}))
		for k := range at {
			if math.Abs(at[k]-accurate[k]) > .2*sd[k] || math.Abs(own[k]/sd[k]-1) > .1 {
				t.Errorf("DALTON %t: parameter %d is %.4g ± %.2g: want about %.4g ± %.2g", dalton, k, at[k], own[k], accurate[k], sd[k])
			}
		}
	}
}

func TestErrors(t *testing.T) {
	good := settings{EK: filter.EK{Q: 2}, mesh: probode.Through(.1), diffusion: bayes.Known(1)}
	for _, c := range []struct {
		want   string
		change func(p *bayes.Posterior)
	}{
		{"want bayes.Gaussian", func(p *bayes.Posterior) {
			p.Experiments[0].Errors = []bayes.Likelihood{bayes.Laplace{Scale: bayes.Known(1)}}
		}},
		{"κ²) is 0", func(p *bayes.Posterior) { p.Alpha = 0 }},
		{"no parameter", func(p *bayes.Posterior) { p.AlphaParam = "k" }},
		{"order is 12", func(p *bayes.Posterior) { p.Method = filter.EK{Q: 12} }},
		{"is not on the grid", func(p *bayes.Posterior) { p.Mesh = probode.Uniform(.3) }},
		{"scaled by local errors", func(p *bayes.Posterior) { p.Scaling = probode.ScaleLocal }},
		// Another solver fails instead of solving something else.
		{"want ek0", func(p *bayes.Posterior) { *p = *p.SolvedBy(probode.Setup{Mesh: reference.Accurate{}, Alpha: 1}) }},
	} {
		p := posterior(neuron(t, true), good)
		c.change(p)
		if _, err := bayes.NewDensity(t.Context(), p); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("error %v: want one with %q", err, c.want)
		}
	}
}

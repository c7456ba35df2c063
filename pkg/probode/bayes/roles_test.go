package bayes_test

import (
	"context"
	"math"
	"slices"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/adams"
	"github.com/probode/probode/pkg/probode/bayes"
	"github.com/probode/probode/pkg/probode/methods"
)

// densityAt returns the density of p and the unconstrained parameters at theta.
func densityAt(t *testing.T, p *bayes.Posterior, theta ...float64) (*bayes.Density, []float64) {
	t.Helper()
	e, err := bayes.NewDensity(context.Background(), p)
	if err != nil {
		t.Fatal(err)
	}
	u := make([]float64, len(theta))
	if err := e.Unconstrain(u, theta); err != nil {
		t.Fatal(err)
	}
	return e, u
}

// One parameter may be two elements of the θ of a problem, the size of the errors and a
// factor of an expected value, all at once. Its derivative is that of differences.
func TestOneParameterInManyRoles(t *testing.T) {
	for _, exact := range []bool{false, true} {
		q := hares()
		if !exact {
			q.FJ, q.FTheta = nil, nil
		}
		p := &bayes.Posterior{
			Model: bayes.Model{
				Params: []bayes.Param{{Name: "a", Prior: distuv.LogNormal{Mu: -0.3, Sigma: 0.4}}, {Name: "b", Prior: distuv.Uniform{Min: 0.2, Max: 1}}},
				Experiments: []bayes.Experiment{{Problem: q, Params: []string{"a", "b", "a"},
					Data:    &bayes.Data{T: []float64{0, 0.7, 2.5}, Y: [][]float64{{2, 2.1}, {math.NaN(), 1.4}, {1.5, 0.9}}},
					Observe: func(dst []float64, _ float64, x, th []float64) { dst[0], dst[1] = x[0]*th[0], x[1]+th[0]*th[1] },
					Errors:  []bayes.Likelihood{bayes.Gaussian{Sigma: bayes.Unknown("a")}, bayes.LogNormal{Sigma: bayes.Unknown("b")}}}},
			},
			Setup: probode.Setup{Method: methods.RungeKutta{}, Mesh: probode.Uniform(0.1)},
		}
		e, u := densityAt(t, p, 0.8, 0.55)
		checkGradient(t, e, u, nil, 1e-6)
		// The sum by hand, for the states that the density has computed.
		ll, err := e.LogLikelihood([]float64{0.8, 0.55}, nil)
		if err != nil {
			t.Fatal(err)
		}
		x, want := e.States(0), 0.0
		for n, row := range p.Experiments[0].Data.Y {
			if !math.IsNaN(row[0]) {
				want += distuv.Normal{Mu: 0.8 * x[2*n], Sigma: 0.8}.LogProb(row[0])
			}
			want += distuv.LogNormal{Mu: math.Log(x[2*n+1] + 0.8*0.55), Sigma: 0.55}.LogProb(row[1])
		}
		if !(math.Abs(ll-want) < 1e-12*math.Abs(want)) {
			t.Errorf("log likelihood %.15g: want %.15g", ll, want)
		}
	}
}

// A column may be the standard deviation of two others and have data of its own.
func TestColumnInManyRoles(t *testing.T) {
	p := &bayes.Posterior{
		Model: bayes.Model{
			Params: []bayes.Param{{Name: "a", Prior: distuv.LogNormal{Mu: -0.3, Sigma: 0.4}}, {Name: "c", Prior: distuv.LogNormal{Mu: 0, Sigma: 1}}},
			Experiments: []bayes.Experiment{{Problem: hares(), Params: []string{"a", "b", "c"},
				Data: &bayes.Data{T: []float64{0.2, 0.7, 2.5}, Names: []string{"hare", "size", "lynx"}, Y: [][]float64{{2, 0.3, 1.1}, {math.NaN(), 0.4, 1.4}, {1.5, math.NaN(), math.NaN()}}},
				Observe: func(dst []float64, _ float64, x, th []float64) {
					dst[0], dst[1], dst[2] = x[0], 0.1+0.2*x[1]*th[1], x[1]
				},
				Errors: []bayes.Likelihood{bayes.Gaussian{Sigma: bayes.Unknown("size")}, bayes.Gaussian{Sigma: bayes.Known(0.1)}, bayes.StudentT{Nu: bayes.Known(4), Sigma: bayes.Unknown("size")}}}},
		},
		Setup: probode.Setup{Method: methods.RungeKutta{}, Mesh: probode.Uniform(0.1)},
	}
	theta := []float64{0.8, 0.9}
	e, u := densityAt(t, p, theta...)
	checkGradient(t, e, u, nil, 1e-7)
	// The locations are the expected value and the numbers of the law, and their
	// derivatives are those of differences, with an error of 1e-7.
	tangents := e.Tangents(theta, []float64{1, 0, 0, 1})
	locations := func(th []float64) []float64 {
		if _, err := e.LogLikelihood(th, nil); err != nil {
			t.Fatal(err)
		}
		return e.Part(0).Locations(nil)
	}
	for k := range theta {
		at := slices.Clone(theta)
		at[k] = theta[k] + 1e-4
		up := locations(at)
		at[k] = theta[k] - 1e-4
		down := locations(at)
		for l := range up {
			if want := (up[l] - down[l]) / 2e-4; !(math.Abs(tangents[0][2*l+k]-want) < 1e-6*(1+math.Abs(want))) {
				t.Errorf("location %d along parameter %d: %.9g: want %.9g", l, k, tangents[0][2*l+k], want)
			}
		}
	}
}

// The log density does not depend on the order of the experiments or of the parameters, nor
// on rows in which everything is missing, if the steps stay the same.
func TestOrderDoesNotMatter(t *testing.T) {
	setup := probode.Setup{Method: adams.Bashforth{Steps: 2}, Mesh: probode.Uniform(0.1)}
	p := twoExperiments(setup)
	theta := []float64{0.9, 0.6, 0.7, 0.3, 3, 1.1}
	e, u := densityAt(t, p, theta...)
	want, err := e.LogPosterior(u, nil)
	if err != nil {
		t.Fatal(err)
	}
	same := func(what string, p *bayes.Posterior, theta []float64) {
		t.Helper()
		e, u := densityAt(t, p, theta...)
		if got, err := e.LogPosterior(u, nil); err != nil || !(math.Abs(got-want) < 1e-12*math.Abs(want)) {
			t.Errorf("%s: log density %.15g, %v: want %.15g", what, got, err, want)
		}
	}
	swapped := twoExperiments(setup)
	slices.Reverse(swapped.Experiments)
	same("experiments in reverse order", swapped, theta)

	turned := twoExperiments(setup)
	slices.Reverse(turned.Params)
	back := slices.Clone(theta)
	slices.Reverse(back)
	observe := turned.Experiments[0].Observe
	turned.Experiments[0].Observe = func(dst []float64, t float64, x, th []float64) {
		th = slices.Clone(th)
		slices.Reverse(th)
		observe(dst, t, x, th)
	}
	same("parameters in reverse order", turned, back)

	missing := twoExperiments(setup)
	d := missing.Experiments[0].Data
	nan := []float64{math.NaN(), math.NaN(), math.NaN(), math.NaN()}
	missing.Experiments[0].Data = &bayes.Data{Names: d.Names, T: slices.Insert(slices.Clone(d.T), 1, 0.55), Y: slices.Insert(slices.Clone(d.Y), 1, nan)}
	same("a row of missing values", missing, theta)

	// One datum in an experiment of its own.
	split := twoExperiments(setup)
	x := split.Experiments[1]
	x.Data = &bayes.Data{T: []float64{3}, Y: [][]float64{x.Data.Y[1]}}
	split.Experiments[1].Data = &bayes.Data{T: []float64{1}, Y: [][]float64{split.Experiments[1].Data.Y[0]}}
	split.Experiments = append(split.Experiments, x)
	same("each row in an experiment of its own", split, theta)
}

// What the parts of a density compute adds up to what the density computes: log
// likelihoods by experiment, by row, by value, and at expected values that are given.
func TestPartsAddUp(t *testing.T) {
	p := twoExperiments(probode.Setup{Method: adams.Bashforth{Steps: 1}, Mesh: probode.Uniform(0.1), Alpha: 0.01})
	theta := []float64{0.9, 0.6, 0.7, 0.3, 3, 1.1}
	e, _ := densityAt(t, p, theta...)
	xi := make([]float64, e.NoiseLen())
	probode.DrawNoise(xi, 2, 1)
	want, err := e.LogLikelihood(theta, xi)
	if err != nil {
		t.Fatal(err)
	}
	expected := slices.Clone(e.Expected())
	check := func(what string, got float64) {
		t.Helper()
		if !(math.Abs(got-want) < 1e-12*math.Abs(want)) {
			t.Errorf("%s: %.15g: want %.15g", what, got, want)
		}
	}
	quantities := make([]float64, len(e.Quantities()))
	at := func(expected []float64) (sum float64) {
		e.Generate(quantities, want, theta, expected)
		for _, v := range quantities[1+len(expected):] {
			sum += v
		}
		return sum
	}
	check("the log probabilities of the values", at(expected))
	moved := slices.Clone(expected)
	for i := range moved {
		moved[i] *= 1 + 1e-9*float64(i%3)
	}
	if got, want := e.LogLikelihoodChange(expected, moved, theta), at(moved)-want; !(math.Abs(got-want) < 1e-13*10) || got == 0 {
		t.Errorf("the log likelihood changes by %.6g: want %.6g", got, want)
	}
	var whole, observed float64
	rest := xi
	for i := range p.Experiments {
		r := e.Part(i)
		ll, err := r.LogLikelihood(theta, rest[:r.NoiseLen()])
		if err != nil {
			t.Fatal(err)
		}
		rest = rest[r.NoiseLen():]
		again, err := r.Observe(theta)
		if err != nil {
			t.Fatal(err)
		}
		whole, observed = whole+ll, observed+again
		// In pieces, from one grid point to the next.
		s := r.Grid().Solver()
		path, memory := make([]float64, s.PathLen()), make([]float64, s.MemoryLen())
		own := xi[len(xi)-len(rest)-r.NoiseLen():][:r.NoiseLen()]
		for at := range s.Steps() {
			if err := r.Solve(path, memory, theta, own, at, at+1); err != nil {
				t.Fatal(err)
			}
		}
		var rows float64
		for n := range p.Experiments[i].Data.T {
			rows += r.LogProb(n, path, theta)
		}
		if !(math.Abs(rows-ll) < 1e-10*math.Abs(ll)) {
			t.Errorf("%s: the rows add up to %.15g: want %.15g", r.Title(), rows, ll)
		}
	}
	check("by experiment", whole)
	check("by experiment, without new solves", observed)
	if err := e.Explain(theta, xi); err != nil {
		t.Errorf("nothing is to be explained: %v", err)
	}
}

// The derivatives that a part returns for a row are those of differences of the expected
// values, with respect to the state and to θ. Those of differences of Observe are good to
// 1e-8.
func TestLinear(t *testing.T) {
	p := twoExperiments(probode.Setup{Method: adams.Bashforth{Steps: 1}, Mesh: probode.Uniform(0.1)})
	theta := []float64{0.9, 0.6, 0.7, 0.3, 3, 1.1}
	e, _ := densityAt(t, p, theta...)
	for i, x := range [][]float64{{2.2, 0.7}, {1.4, 3.1}} {
		r := e.Part(i)
		d := len(x)
		at := append(slices.Clone(x), theta...)
		mean := func(v []float64) []float64 {
			m, _, _ := r.Linear(1, v[:d], v[d:])
			return slices.Clone(m)
		}
		_, slopes, own := r.Linear(1, x, theta)
		slopes = slices.Clone(slopes)
		if sigma := own[0][len(own[0])-1]; i == 0 && sigma != 0.3 || i == 1 && sigma != 0.5 {
			t.Errorf("the scale of the first column is %g", sigma)
		}
		c := len(p.Experiments[i].Data.Y[0])
		for j, v := range at {
			at[j] = v + 1e-4
			up := mean(at)
			at[j] = v - 1e-4
			down := mean(at)
			at[j] = v
			for k := range c {
				if got, want := slopes[k*len(at)+j], (up[k]-down[k])/2e-4; !(math.Abs(got-want) < 1e-7*(1+math.Abs(want))) {
					t.Errorf("experiment %d, column %d: derivative %d is %.10g: want %.10g", i+1, k+1, j+1, got, want)
				}
			}
		}
	}
}

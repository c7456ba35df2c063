package shape_test

import (
	"context"
	"math"
	"slices"
	"testing"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/bayes"
	"github.com/probode/probode/pkg/probode/bayes/shape"
	"github.com/probode/probode/pkg/probode/methods"
)

// grown is a model with every kind of location: expected values, standard deviations that
// are parameters, known, or another column, degrees of freedom and counts. The states are
// x = (u, v) with u′ = a u and v′ = b, so x(t) = (e^{at}, b t).
func grown(exact bool) *bayes.Posterior {
	nan := math.NaN()
	p := &probode.Problem{Name: "grown", States: []string{"u", "v"}, Params: []string{"a", "b"}, Theta: []float64{0.3, 2}, X0: []float64{1, 0}, Span: [2]float64{0, 2}, Autonomous: true,
		F: func(f []float64, _ float64, x, th []float64) { f[0], f[1] = th[0]*x[0], th[1] }}
	if exact {
		p.FJ = func(f, j []float64, _ float64, x, th []float64) { f[0], f[1], j[0] = th[0]*x[0], th[1], th[0] }
		p.FTheta = func(d []float64, _ float64, x, _ []float64) { d[0], d[3] = x[0], 1 }
	}
	return &bayes.Posterior{
		Model: bayes.Model{
			Params: []bayes.Param{
				{Name: "a", Prior: distuv.Normal{Mu: 0.2, Sigma: 1}}, {Name: "b", Prior: distuv.LogNormal{Mu: 1, Sigma: 0.7}}, {Name: "sigma", Prior: distuv.Gamma{Alpha: 3, Beta: 8}},
				{Name: "nu", Prior: distuv.LogNormal{Mu: 2, Sigma: 1}}, {Name: "gain", Prior: distuv.Beta{Alpha: 3, Beta: 2}},
			},
			Experiments: []bayes.Experiment{{Problem: p,
				Data: &bayes.Data{T: []float64{0.5, 1, 2}, Names: []string{"u", "spread", "v", "w", "count"},
					Y: [][]float64{{1.3, nan, 0.8, 0.7, 3}, {1.2, nan, nan, 1.5, 0}, {nan, nan, 4.4, 2.4, 5}}},
				Observe: func(dst []float64, _ float64, x, th []float64) {
					dst[0], dst[1], dst[2], dst[3], dst[4] = x[0], 0.1+0.2*x[1], x[1], th[4]*x[1], 1+x[0]*x[1]
				},
				Errors: []bayes.Likelihood{bayes.Gaussian{Sigma: bayes.Unknown("sigma")}, bayes.Gaussian{Sigma: bayes.Known(1)}, bayes.Gaussian{Sigma: bayes.Unknown("spread")},
					bayes.StudentT{Nu: bayes.Unknown("nu"), Sigma: bayes.Unknown("sigma")}, bayes.Poisson{}}}},
		},
		Setup: probode.Setup{Method: methods.RungeKutta{}, Mesh: probode.Uniform(0.05)},
	}
}

// surfaceOf returns a density, its surface, and the unconstrained parameters at theta.
func surfaceOf(t *testing.T, p *bayes.Posterior, theta ...float64) (*bayes.Density, *shape.Surface, []float64) {
	t.Helper()
	e, err := bayes.NewDensity(context.Background(), p)
	if err != nil {
		t.Fatal(err)
	}
	u := make([]float64, len(theta))
	if err := e.Unconstrain(u, theta); err != nil {
		t.Fatal(err)
	}
	return e, shape.NewSurface(e), u
}

// central returns the derivative of f along coordinate k at u, by an extrapolated central
// difference with an error of 1e-12 of the fifth derivative.
func central(f func(u []float64) float64, u []float64, k int) float64 {
	at := slices.Clone(u)
	slope := func(h float64) float64 {
		at[k] = u[k] + h
		up := f(at)
		at[k] = u[k] - h
		return (up - f(at)) / (2 * h)
	}
	return (4*slope(5e-4) - slope(1e-3)) / 3
}

// The expansion of a surface has the gradient of the log density, by differences. Its
// information is Σ JᵀIJ for the derivatives J of the expected values and of the numbers of
// each law, in closed form, and the information I of that law, plus the curvature of the
// log prior densities. Derivatives of a path are good to 1e-7, and differences with the
// steps of a surface to 1e-5.
func TestExpansionOfASurface(t *testing.T) {
	theta := []float64{0.35, 2.3, 0.4, 6, 0.6}
	for _, exact := range []bool{true, false} {
		p := grown(exact)
		e, s, u := surfaceOf(t, p, theta...)
		value := func(u []float64) float64 {
			lp, err := e.LogPosterior(u, nil)
			if err != nil {
				t.Fatal(err)
			}
			return lp
		}
		point := shape.Point{X: u}
		if !s.Expand(&point) {
			t.Fatal("no expansion")
		}
		tol := 1e-6
		if !exact {
			tol = 1e-4
		}
		want := mat.NewSymDense(5, nil)
		dtheta := make([]float64, 5)
		e.Slopes(dtheta, u)
		for k := range u {
			if got, want := point.Gradient.AtVec(k), central(value, u, k); !(math.Abs(got-want) < tol*(1+math.Abs(want))) {
				t.Errorf("exact %t: derivative in %s is %.9g: want %.9g", exact, p.Params[k].Name, got, want)
			}
			slope := func(u []float64) float64 {
				return central(func(v []float64) float64 { return e.PriorLogProb(k, v[k]) }, u, k)
			}
			want.SetSym(k, k, -central(slope, u, k))
		}
		x := p.Experiments[0]
		// add adds the information of a datum, given the derivatives of its locations with
		// respect to θ.
		add := func(of bayes.Informer, m float64, own []float64, rows ...[]float64) {
			n := 1 + len(own)
			info := make([]float64, n*n)
			if !of.Information(info, m, own) {
				t.Fatalf("%T has no information", of)
			}
			for i, a := range rows {
				for j, b := range rows {
					for k := range 5 {
						for l := range k + 1 {
							want.SetSym(k, l, want.At(k, l)+info[i*n+j]*a[k]*dtheta[k]*b[l]*dtheta[l])
						}
					}
				}
			}
		}
		for n, at := range x.Data.T {
			a, b := theta[0], theta[1]
			grow, v := math.Exp(a*at), b*at
			y := x.Data.Y[n]
			unit := func(k int) []float64 {
				out := make([]float64, 5)
				out[k] = 1
				return out
			}
			du, dv := []float64{at * grow, 0, 0, 0, 0}, []float64{0, at, 0, 0, 0}
			if !math.IsNaN(y[0]) {
				add(bayes.Gaussian{}, grow, []float64{theta[2]}, du, unit(2))
			}
			if !math.IsNaN(y[2]) {
				add(bayes.Gaussian{}, v, []float64{0.1 + 0.2*v}, dv, []float64{0, 0.2 * at, 0, 0, 0})
			}
			if !math.IsNaN(y[3]) {
				add(bayes.StudentT{}, theta[4]*v, []float64{theta[3], theta[2]}, []float64{0, theta[4] * at, 0, 0, v}, unit(3), unit(2))
			}
			if !math.IsNaN(y[4]) {
				add(bayes.Poisson{}, 1+grow*v, nil, []float64{at * grow * v, grow * at, 0, 0, 0})
			}
		}
		for k := range 5 {
			for l := range k + 1 {
				size := math.Sqrt(want.At(k, k) * want.At(l, l))
				if got, want := point.Information.At(k, l), want.At(k, l); !(math.Abs(got-want) < 10*tol*size) {
					t.Errorf("exact %t: information (%s, %s) is %.8g: want %.8g", exact, p.Params[k].Name, p.Params[l].Name, got, want)
				}
			}
		}
	}
}

// The expected values on which a datum depends are its own and those of columns that its
// law uses. The discrepancy between two vectors of expected values is the root of Σ I δ²,
// with missing values left out, and 0 for what rounding explains.
func TestDiscrepancy(t *testing.T) {
	theta := []float64{0.35, 2.3, 0.4, 6, 0.6}
	p := grown(true)
	e, s, _ := surfaceOf(t, p, theta...)
	if _, err := e.LogLikelihood(theta, nil); err != nil {
		t.Fatal(err)
	}
	m := slices.Clone(e.Expected())
	data := s.DataAt(m, theta)
	// By row: u, v with its spread, w and count, without those that are missing.
	at := []int{0, 2, 1, 3, 4, 5, 8, 9, 12, 11, 13, 14}
	if len(data) != len(at) {
		t.Fatalf("%d data: want %d", len(data), len(at))
	}
	for i, o := range data {
		if o.At != at[i] || o.Certain || o.Kinked {
			t.Errorf("datum %d is %+v: want the expected value %d", i+1, o, at[i])
		}
	}
	other := slices.Clone(m)
	other[0] += 0.03                                                // of u, with σ = 0.4
	other[4] -= 0.2                                                 // a Poisson count
	other[1] *= 1.01                                                // the spread of v
	other[10] += 7                                                  // the missing u
	other[3] = math.Nextafter(other[3], 1e9)                        // rounding
	want := math.Pow(0.03/0.4, 2) + 0.04/m[4] + 2*math.Pow(0.01, 2) // information 2/σ² about a standard deviation
	if got := shape.Discrepancy(data, other, m, 1e-12); !(math.Abs(got*got-want) < 1e-10) {
		t.Errorf("D² = %.12g: want %.12g", got*got, want)
	}
	if got := shape.Discrepancy(data, m, m, 0); got != 0 {
		t.Errorf("D = %g between equal values", got)
	}
}

// Where the finer solver expects a count of zero for certain and the other expects δ, the
// squared discrepancy is δ, as for counts with the mean δ, whose information is 1/δ. A
// law that allows one value only makes it infinite.
func TestDiscrepancyOfCertainData(t *testing.T) {
	p := &bayes.Posterior{
		Model: bayes.Model{
			Params: []bayes.Param{{Name: "a", Prior: distuv.Normal{Mu: 1, Sigma: 1}}},
			Experiments: []bayes.Experiment{{
				Problem: &probode.Problem{Name: "still", X0: []float64{0, 0}, Params: []string{"a"}, Theta: []float64{0}, Span: [2]float64{0, 1}, F: func(f []float64, _ float64, _, th []float64) { f[0], f[1] = 0, th[0] }},
				Data:    &bayes.Data{T: []float64{1}, Y: [][]float64{{0, 0, 7}}},
				Observe: func(dst []float64, _ float64, x, _ []float64) { dst[0], dst[1], dst[2] = x[0], x[0], 7+x[0] },
				Errors:  []bayes.Likelihood{bayes.Poisson{}, bayes.NegativeBinomial{Phi: bayes.Known(3)}, bayes.Binomial{Trials: bayes.Known(7)}},
			}},
		},
		Setup: probode.Setup{Method: methods.RungeKutta{}, Mesh: probode.Uniform(0.5)},
	}
	_, s, _ := surfaceOf(t, p, 1)
	finer := []float64{0, 0, 7}
	data := s.DataAt(finer, []float64{1})
	for i := range finer {
		if !data[i].Certain {
			t.Errorf("datum %d is not certain", i+1)
		}
		other := slices.Clone(finer)
		other[i] = math.Abs(finer[i] - 0.04)
		if got := shape.Discrepancy(data, other, finer, 0); !(math.Abs(got-0.2) < 1e-12) {
			t.Errorf("datum %d: D = %g: want 0.2", i+1, got)
		}
		rigid := slices.Clone(data)
		rigid[i].Score = 0
		if got := shape.Discrepancy(rigid, other, finer, 0); !math.IsInf(got, 1) {
			t.Errorf("datum %d without a slope: D = %g: want +Inf", i+1, got)
		}
	}
	if got := shape.Discrepancy(data, finer, finer, 0); got != 0 {
		t.Errorf("D = %g between equal values", got)
	}
}

// Nonlinear is −JᵀI r″ with the second derivatives r″ of the expected values along d: for m
// = u² + uv + cos w and σ = 1/2, in closed form. The difference over 0.1 d has an error of
// 0.1/3 of the third derivative along d, which is sin w d³.
func TestNonlinear(t *testing.T) {
	p := &bayes.Posterior{
		Model: bayes.Model{
			Experiments: []bayes.Experiment{{
				Problem: &probode.Problem{Name: "still", X0: []float64{0}, Params: []string{"u", "v", "w"}, Theta: []float64{0, 0, 0}, Span: [2]float64{0, 1}, F: func(f []float64, _ float64, _, _ []float64) { f[0] = 0 }},
				Data:    &bayes.Data{T: []float64{1}, Y: [][]float64{{0.4}}},
				Observe: func(dst []float64, _ float64, _, th []float64) { dst[0] = th[0]*th[0] + th[0]*th[1] + math.Cos(th[2]) },
				Errors:  []bayes.Likelihood{bayes.Gaussian{Sigma: bayes.Known(0.5)}},
			}},
		},
		Setup: probode.Setup{Method: methods.RungeKutta{}, Mesh: probode.Uniform(0.5)},
	}
	for _, name := range []string{"u", "v", "w"} {
		p.Params = append(p.Params, bayes.Param{Name: name, Prior: distuv.Normal{Sigma: 2}})
	}
	x := []float64{0.3, -1.1, 0.7}
	_, s, _ := surfaceOf(t, p, x...)
	for _, d := range [][]float64{{1, 0, 0}, {0, 1, 0}, {0.3, 0.5, 0}, {0, 0, 1}, {0.2, -0.4, 0.5}} {
		point := shape.Point{X: slices.Clone(x)}
		if !s.Expand(&point) {
			t.Fatal("no expansion")
		}
		j := []float64{2*x[0] + x[1], x[0], -math.Sin(x[2])}
		second := 2*d[0]*d[0] + 2*d[0]*d[1] - math.Cos(x[2])*d[2]*d[2]
		third := math.Pow(math.Abs(d[2]), 3)
		got := s.Nonlinear(x, d)
		for k := range j {
			if want := -j[k] * 4 * second; !(math.Abs(got[k]-want) < math.Abs(j[k])*4*(0.1/3*third+1e-3)) {
				t.Errorf("along %g: component %d is %.6g: want %.6g", d, k, got[k], want)
			}
		}
	}
}

// Settle finds the size of the errors and a factor of the expected values without a solve:
// the result is the maximum in these coordinates, where the slope of the log density is
// zero.
func TestSettle(t *testing.T) {
	for _, start := range [][]float64{{0.35, 2.3, 0.01, 1, 0.1}, {0.35, 2.3, 20, 100, 0.95}} {
		e, s, u := surfaceOf(t, grown(true), start...)
		value := s.Value(u)
		before := e.Work()
		x := slices.Clone(u)
		got := s.Settle(x, value)
		if e.Work() != before {
			t.Errorf("Settle took %d steps", e.Work()-before)
		}
		if x[0] != u[0] || x[1] != u[1] || !(got > value) {
			t.Errorf("from %g: to %g with the log density %g after %g", u, x, got, value)
		}
		at := func(u []float64) float64 {
			lp, err := e.LogPosterior(u, nil)
			if err != nil {
				t.Fatal(err)
			}
			return lp
		}
		if want := at(x); !(math.Abs(got-want) < 1e-9) {
			t.Errorf("from %g: log density %.12g: want %.12g", u, got, want)
		}
		for k := 2; k < 5; k++ {
			// The predicted rise is below 1e-6, and curvatures are at most of the order of 10.
			if slope := central(at, x, k); !(math.Abs(slope) < 0.02) {
				t.Errorf("from %g: the slope in coordinate %d is %g at the end", u, k+1, slope)
			}
		}
	}
}

// The derivative of a combination of the states with respect to the noise is that of
// differences, for each experiment alone.
func TestNoiseGradient(t *testing.T) {
	p := grown(true)
	p.Alpha = 0.3
	p.Experiments = append(p.Experiments, p.Experiments[0])
	theta := []float64{0.35, 2.3, 0.4, 6, 0.6}
	e, _, _ := surfaceOf(t, p, theta...)
	all := make([]float64, e.NoiseLen())
	probode.DrawNoise(all, 4, 1)
	for i := range 2 {
		r := e.Part(i)
		xi := all[i*r.NoiseLen():][:r.NoiseLen()]
		w := []float64{0.3, -1, 0.5, 2, -0.2, 0.7}
		got := make([]float64, len(xi))
		if err := r.NoiseGradient(got, w, theta, xi); err != nil {
			t.Fatal(err)
		}
		value := func(xi []float64) float64 {
			if _, err := r.LogLikelihood(theta, xi); err != nil {
				t.Fatal(err)
			}
			return floats.Dot(w, e.States(i))
		}
		for _, k := range []int{0, 1, 17, 40, len(xi) - 1} {
			if want := central(value, xi, k); !(math.Abs(got[k]-want) < 1e-8*(1e-3+math.Abs(want))) {
				t.Errorf("experiment %d: derivative in normal %d is %.10g: want %.10g", i+1, k+1, got[k], want)
			}
		}
	}
}

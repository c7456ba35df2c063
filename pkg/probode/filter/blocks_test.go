package filter

import (
	"context"
	"math"
	"testing"

	"github.com/probode/probode/pkg/probode"
)

// infused has two coupled components and a rate r that is 1 before t = 0.7 and 3 after it:
// as a third component of the state, which jumps and is Noiseless, or as a part of f.
func infused(asState bool) *probode.Problem {
	f := func(f, x []float64, r float64) { f[0], f[1] = r-x[0]*x[1], x[0]-.5*x[1] }
	p := &probode.Problem{Name: "infused", X0: []float64{.5, .2}, Span: [2]float64{0, 2}, Events: []probode.Event{{Time: .7}},
		F: func(dst []float64, t float64, x, _ []float64) {
			if r := 1.; t < .7 {
				f(dst, x, r)
			} else {
				f(dst, x, 3)
			}
		}}
	if asState {
		p.X0, p.Noiseless = append(p.X0, 1), []int{2}
		p.Events[0].Jump = func(x []float64, _ float64, _ []float64) { x[2] = 3 }
		p.F = func(dst []float64, _ float64, x, _ []float64) {
			f(dst, x, x[2])
			dst[2] = 0
		}
	}
	return p
}

// A component that is Noiseless is certain and has no diffusion, and the others are as if
// it were a part of f. So are the likelihoods of observations that depend on it.
func TestNoiselessComponent(t *testing.T) {
	for _, m := range []EK{{Q: 1}, {Q: 3}, {Q: 2, Jacobian: Zero}, {Q: 2, Jacobian: Cubature}} {
		for _, alpha := range []float64{0, .3} {
			set := Settings{EK: m, Mesh: probode.Uniform(.1), Alpha: alpha}
			plain, s := solve(t, infused(false), set), solve(t, infused(true), set)
			for i := range s.T {
				for k := range 2 {
					if !within(s.Mean[k][i], plain.Mean[k][i], 1e-7) || !(math.Abs(s.SD[k][i]-plain.SD[k][i]) <= 1e-5*plain.SD[k][i]) {
						t.Errorf("%v, α = %g, component %d at time %d: %.10g ± %.8g: want %.10g ± %.8g", m, alpha, k, i, s.Mean[k][i], s.SD[k][i], plain.Mean[k][i], plain.SD[k][i])
					}
				}
				want := 1.
				if i > 7 { // after the event, which is a grid point of its own
					want = 3
				}
				if s.Mean[2][i] != want || s.SD[2][i] != 0 || s.Diffusion[2] != 0 {
					t.Errorf("%v, time %d: the rate is %g ± %g with the diffusion %g: want %g", m, i, s.Mean[2][i], s.SD[2][i], s.Diffusion[2], want)
				}
			}
		}
		times := []float64{.3, .7, 1.2, 2}
		y := []float64{1.5, 1.8, 5.2, math.NaN()}
		for _, dalton := range []bool{false, true} {
			var ll [2]float64
			for i, asState := range []bool{false, true} {
				p := infused(asState)
				g, err := probode.Setup{Method: m, Mesh: probode.Through(.1)}.Grid(context.Background(), p, nil, times)
				if err != nil {
					t.Fatal(err)
				}
				of, err := NewMarginal(p, m, g, times, 1, dalton)
				if err != nil {
					t.Fatal(err)
				}
				dst := make([]float64, 8)
				ll[i], err = of.Predict(context.Background(), dst, nil, .3, func(n int, x []float64, r *Row) { // x₀ + 1.2 r
					r.Y[0], r.SD[0], r.Slopes[0] = y[n], .1, 1
					if asState {
						r.Slopes[2] = 1.2
						r.Mean[0] = x[0] + 1.2*x[2]
					} else if r.Mean[0] = x[0] + 1.2; times[n] > .7 {
						r.Mean[0] = x[0] + 3.6
					}
				}, nil)
				if err != nil {
					t.Fatal(err)
				}
				for n, v := range y {
					if mean, sd := dst[2*n], dst[2*n+1]; !math.IsNaN(v) {
						ll[i] -= (v-mean)*(v-mean)/(2*sd*sd) + math.Log(sd)
					}
				}
			}
			if !within(ll[1], ll[0], 1e-5) {
				t.Errorf("%v, DALTON %t: log likelihood %.9g: want %.9g", m, dalton, ll[1], ll[0])
			}
		}
	}
}

// Components that do not depend on each other are solved in blocks as they are alone: with
// a diffusion for each, and with a common one, which is the mean of those.
func TestIndependentComponents(t *testing.T) {
	fs := []func(x float64) float64{func(x float64) float64 { return -x * x }, func(x float64) float64 { return 3 * x * (1 - x/4) }}
	starts := []float64{2, .1}
	both := &probode.Problem{Name: "both", X0: starts, Span: [2]float64{0, 2}, Autonomous: true,
		F: func(f []float64, _ float64, x, _ []float64) { f[0], f[1] = fs[0](x[0]), fs[1](x[1]) }}
	for _, m := range []EK{{Q: 2, Width: 1}, {Q: 3, Jacobian: Zero}, {Q: 2, Width: 1, Jacobian: Cubature}} {
		own := solve(t, both, Settings{EK: m, Mesh: probode.Uniform(.1), PerComponent: true})
		common := solve(t, both, Settings{EK: m, Mesh: probode.Uniform(.1)})
		varying := solve(t, both, Settings{EK: m, Mesh: probode.Uniform(.1), Varying: true, PerComponent: true})
		var mean float64
		for k, f := range fs {
			one := &probode.Problem{Name: "one", X0: starts[k : k+1], Span: [2]float64{0, 2}, Autonomous: true,
				F: func(dst []float64, _ float64, x, _ []float64) { dst[0] = f(x[0]) }}
			want := solve(t, one, Settings{EK: m, Mesh: probode.Uniform(.1)})
			alone := solve(t, one, Settings{EK: m, Mesh: probode.Uniform(.1), Varying: true})
			mean += want.Diffusion[0] / 2
			if m.Jacobian != Cubature && !(math.Abs(own.Diffusion[k]/want.Diffusion[0]-1) < 1e-9) {
				t.Errorf("%v: the diffusion of component %d is %.12g: want %.12g", m, k, own.Diffusion[k], want.Diffusion[0])
			}
			for i := range want.T {
				if m.Jacobian == Cubature {
					continue // without a diffusion the points of all components have one distance
				}
				if !within(own.Mean[k][i], want.Mean[0][i], 1e-11) || !(math.Abs(own.SD[k][i]-want.SD[0][i]) <= 1e-8*want.SD[0][i]) {
					t.Errorf("%v, component %d at time %d: %.12g ± %.9g: want %.12g ± %.9g", m, k, i, own.Mean[k][i], own.SD[k][i], want.Mean[0][i], want.SD[0][i])
				}
				if !within(varying.Mean[k][i], alone.Mean[0][i], 1e-11) || !(math.Abs(varying.SD[k][i]-alone.SD[0][i]) <= 1e-8*alone.SD[0][i]) {
					t.Errorf("%v, varying, component %d at time %d: %.12g ± %.9g: want %.12g ± %.9g", m, k, i, varying.Mean[k][i], varying.SD[k][i], alone.Mean[0][i], alone.SD[0][i])
				}
			}
		}
		if got := common.Diffusion[0]; m.Jacobian != Cubature && !(math.Abs(got/mean-1) < 1e-9) || common.Diffusion[1] != got {
			t.Errorf("%v: the common diffusion is %.12g: want %.12g", m, common.Diffusion, mean)
		}
	}
}

// After one step from the start, the varying diffusion is r²/S of its residual r, with the
// variance S that the residual has under the prior with κ² = 1: for EK0 and q = 1, S = h,
// and for EK1, S = h − J h² + J² h³/3. The sd of x is κ times that of the Gaussian
// conditional.
func TestVaryingDiffusionOfOneStep(t *testing.T) {
	const h = .25
	f := func(x float64) float64 { return -x * x }
	p := &probode.Problem{Name: "square", X0: []float64{2}, Span: [2]float64{0, h}, Autonomous: true,
		F: func(dst []float64, _ float64, x, _ []float64) { dst[0] = f(x[0]) }}
	for _, kind := range []Jacobian{Zero, Full} {
		s := solve(t, p, Settings{EK: EK{Q: 1, Jacobian: kind}, Mesh: probode.Uniform(h), Varying: true, Forward: true})
		m := 2 + h*f(2)
		j := 0.
		if kind == Full {
			j = -2 * m
		}
		v00, v01, v11 := h*h*h/3, h*h/2, h
		r, size, cross := f(2)-f(m), v11-2*j*v01+j*j*v00, v01-j*v00
		mean, sd := m-cross/size*r, math.Abs(r)/math.Sqrt(size)*math.Sqrt(v00-cross*cross/size)
		if got, spread := s.Mean[0][1], s.SD[0][1]; !within(got, mean, 1e-9) || !(math.Abs(spread/sd-1) < 1e-8) {
			t.Errorf("%v: %.12g ± %.10g: want %.12g ± %.10g", s.run.EK, got, spread, mean, sd)
		}
	}
}

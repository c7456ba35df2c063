package filter

import (
	"context"
	"math"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/problems"
	"github.com/probode/probode/pkg/probode/reference"
)

// logLikelihood returns the log likelihood of values of the states themselves, with the
// standard deviation .1.
func logLikelihood(t *testing.T, p *probode.Problem, m EK, mesh probode.Mesh, times []float64, y [][]float64, dalton bool) float64 {
	t.Helper()
	g, err := probode.Setup{Method: m, Mesh: mesh}.Grid(context.Background(), p, nil, times)
	if err != nil {
		t.Fatal(err)
	}
	d := p.Dim()
	of, err := NewMarginal(p, m, g, times, d, dalton)
	if err != nil {
		t.Fatal(err)
	}
	dst := make([]float64, 2*len(times)*d)
	var ll float64
	for range 2 { // the second time in used workspaces
		ll, err = of.Predict(context.Background(), dst, p.Theta, 1, func(n int, x []float64, r *Row) {
			copy(r.Y, y[n])
			copy(r.Mean, x)
			clear(r.Slopes)
			for k := range d {
				r.Slopes[k*d+k], r.SD[k] = 1, 0.1
			}
		}, nil)
		if err != nil {
			t.Fatal(err)
		}
		for n := range y {
			for k, v := range y[n] {
				if mean, sd := dst[2*(n*d+k)], dst[2*(n*d+k)+1]; !math.IsNaN(v) {
					ll -= (v-mean)*(v-mean)/(2*sd*sd) + math.Log(sd) + math.Log(2*math.Pi)/2
				}
			}
		}
	}
	return ll
}

// observed returns the FitzHugh–Nagumo problem with ten data of both states.
func observed(t *testing.T) (p *probode.Problem, times []float64, y [][]float64) {
	p = problems.FitzHughNagumo()
	p.Span[1] = 10 // the equation after the last observation tells something, too
	for i := 1; i <= 10; i++ {
		times = append(times, float64(i))
	}
	ref, err := reference.Solve(context.Background(), p, times, reference.Settings{})
	if err != nil {
		t.Fatal(err)
	}
	y = make([][]float64, 10)
	for i := range y {
		a := float64(i + 1)
		y[i] = []float64{ref.X[2*i] + .1*math.Sin(7*a), ref.X[2*i+1] + .1*math.Cos(5*a)}
	}
	return p, times, y
}

// If the observations do not couple the blocks, one block for all components gives the same
// likelihood as separate blocks.
func TestSeparateBlocks(t *testing.T) {
	p, times, y := observed(t)
	for _, m := range []EK{{Q: 2, Width: 1}, {Q: 3, Jacobian: Zero}} {
		for _, dalton := range []bool{false, true} {
			g, err := probode.Setup{Method: m, Mesh: probode.Uniform(.05)}.Grid(context.Background(), p, nil, times)
			if err != nil {
				t.Fatal(err)
			}
			var results [2][]float64
			for i, coupling := range []float64{0, 1e-300} { // the second is zero to all digits
				of, err := NewMarginal(p, m, g, times, 2, dalton)
				if err != nil {
					t.Fatal(err)
				}
				dst := make([]float64, 4*len(times)+1)
				dst[4*len(times)], err = of.Predict(context.Background(), dst[:4*len(times)], p.Theta, 1e4, func(n int, x []float64, r *Row) {
					copy(r.Y, y[n])
					copy(r.Mean, x)
					copy(r.Slopes, []float64{1, coupling, 0, 1})
					r.SD[0], r.SD[1] = .1, .2
				}, nil)
				if err != nil {
					t.Fatal(err)
				}
				results[i] = dst
			}
			for i, v := range results[0] {
				if w := results[1][i]; !within(v, w, 1e-9*max(1, math.Abs(w))) {
					t.Errorf("%v, DALTON %t: number %d is %.14g in separate blocks and %.14g in one", m, dalton, i, v, w)
				}
			}
		}
	}
}

// At parameters where the filter that does not use the data diverges, DALTON would give
// the data an enormous likelihood, e^(10¹⁸) on a grid like this.
func TestDALTONDisagrees(t *testing.T) {
	p, times, y := observed(t)
	m := EK{Q: 2, Width: 1}
	g, err := probode.Setup{Method: m, Mesh: probode.Uniform(.2)}.Grid(context.Background(), p, nil, times)
	if err != nil {
		t.Fatal(err)
	}
	of, err := NewMarginal(p, m, g, times, 2, true)
	if err != nil {
		t.Fatal(err)
	}
	look := func(n int, x []float64, r *Row) {
		copy(r.Y, y[n])
		copy(r.Mean, x)
		copy(r.Slopes, []float64{1, 0, 0, 1})
		r.SD[0], r.SD[1] = 0.1, 0.1
	}
	dst := make([]float64, 4*len(times))
	extra, err := of.Predict(context.Background(), dst, []float64{4.9, .61, 7.1}, 1000, look, nil)
	if err == nil || !strings.Contains(err.Error(), "disagree") {
		t.Errorf("an evidence of %g and the error %v: want one that says that the filters disagree", extra, err)
	}
	if _, err := of.Predict(context.Background(), dst, p.Theta, 1000, look, nil); err != nil {
		t.Errorf("at the true parameters: %v", err)
	}
}

// The values come from arithmetic with 40 digits.
func TestLikelihoodValues(t *testing.T) {
	p, times, y := observed(t)
	for _, c := range []struct {
		h, fenrir, dalton float64
	}{{.1, 22.807979362016, 22.69640007774}, {.05, 22.658030939176, 22.660656450271}} {
		f := logLikelihood(t, p, EK{Q: 2}, probode.Uniform(c.h), times, y, false)
		d := logLikelihood(t, p, EK{Q: 2}, probode.Uniform(c.h), times, y, true)
		if math.Abs(f-c.fenrir) > 1e-8 || math.Abs(d-c.dalton) > 1e-8 {
			t.Errorf("h = %g: Fenrir %.12f: want %.12f; DALTON %.12f: want %.12f", c.h, f, c.fenrir, d, c.dalton)
		}
	}
}

// On an affine field both likelihoods are the marginal likelihood of a dense Gaussian
// computation, also if values are missing.
func TestAffineLikelihood(t *testing.T) {
	times := []float64{.4, .8, 1.2, 1.6, 2}
	y := [][]float64{{.9, math.NaN()}, {.7, -.5}, {math.NaN(), math.NaN()}, {.1, -.3}, {math.NaN(), .2}}
	for q := 1; q <= 3; q++ {
		w := 2 * (q + 1)
		d := newDense(q, times)
		d.equation(0, 1, 2, 3, 4)
		var seen []float64
		var at []int
		for n := range y {
			for k, v := range y[n] {
				if !math.IsNaN(v) {
					seen, at = append(seen, v), append(at, n*w+k)
				}
			}
		}
		rows, sd := mat.NewDense(len(at), len(times)*w, nil), make([]float64, len(at))
		for i, j := range at {
			rows.Set(i, j, 1)
			sd[i] = 0.1
		}
		want := d.given(rows, seen, sd)
		for _, dalton := range []bool{false, true} {
			got := logLikelihood(t, affine(), EK{Q: q}, probode.Uniform(.4), times, y, dalton)
			if !within(got, want, 1e-10) {
				t.Errorf("q = %d, DALTON %t: log likelihood %.13g: want %.13g", q, dalton, got, want)
			}
		}
	}
}

// On an affine field Fenrir and DALTON are the same also if the state jumps between the
// observations, or at one of them; one runs backwards through the jump, the other forwards.
func TestLikelihoodAcrossEvents(t *testing.T) {
	times := []float64{.4, .8, 1.2, 2}
	y := [][]float64{{.9, -.2}, {.7, -.5}, {math.NaN(), .4}, {.1, -.3}}
	for _, at := range []float64{.5, .8} {
		p := affine()
		p.Events = []probode.Event{{Time: at, Jump: func(x []float64, _ float64, _ []float64) { x[0], x[1] = x[1]+.2, 2*x[0] }}}
		for _, q := range []int{1, 3} {
			m := EK{Q: q}
			f := logLikelihood(t, p, m, probode.Through(.2), times, y, false)
			d := logLikelihood(t, p, m, probode.Through(.2), times, y, true)
			if !within(f, d, 1e-6) {
				t.Errorf("event at %g, q = %d: Fenrir %.10g, DALTON %.10g", at, q, f, d)
			}
		}
	}
}

package compare_test

import (
	"context"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/adams"
	"github.com/probode/probode/pkg/probode/bayes"
	"github.com/probode/probode/pkg/probode/bayes/compare"
	"github.com/probode/probode/pkg/probode/catalog"
	"github.com/probode/probode/pkg/probode/methods"
	"github.com/probode/probode/pkg/probode/reference"
)

// decay is x′ = −kx from 1, observed at 1 and 2 with errors of sd σ = 1/10.
func decay() *bayes.Posterior {
	return &bayes.Posterior{
		Model: bayes.Model{
			Params: []bayes.Param{{Name: "k", Prior: distuv.LogNormal{Sigma: 1}}},
			Experiments: []bayes.Experiment{{
				Problem: &probode.Problem{Name: "decay", X0: []float64{1}, Theta: []float64{1}, Params: []string{"k"}, Span: [2]float64{0, 2}, Autonomous: true,
					F: func(f []float64, _ float64, x, th []float64) { f[0] = -th[0] * x[0] }},
				Data:   &bayes.Data{T: []float64{1, 2}, Y: [][]float64{{0.4}, {0.1}}},
				Errors: []bayes.Likelihood{bayes.Gaussian{Sigma: bayes.Known(0.1)}},
			}},
		},
		Setup: euler(0.25),
	}
}

func euler(h float64) probode.Setup {
	return probode.Setup{Method: adams.Moulton{}, Mesh: probode.Uniform(h)}
}

// Backward Euler has the solution (1 + hk)^−n, from which D and the log likelihoods follow.
// The last point repeats the one before it. An adaptive solver that may take two steps
// fails, and one whose steps no grid can have fails everywhere.
func TestDifferences(t *testing.T) {
	p := decay()
	points := compare.Points{Posterior: p, Theta: [][]float64{{0.5}, {2}, {2}}}
	want := func(k, h float64) (m [2]float64, ll float64) {
		for i, y := range []float64{0.4, 0.1} {
			m[i] = math.Pow(1+h*k, -float64(i+1)/h)
			ll -= (y-m[i])*(y-m[i])/0.02 + math.Log(0.1*math.Sqrt(2*math.Pi))
		}
		return m, ll
	}
	all, err := points.Differences(t.Context(), euler(0.25), euler(0.125))
	if err != nil {
		t.Fatal(err)
	}
	for i, theta := range points.Theta {
		coarse, a := want(theta[0], 0.25)
		fine, b := want(theta[0], 0.125)
		d := math.Hypot(coarse[0]-fine[0], coarse[1]-fine[1]) / 0.1
		if !(math.Abs(all[i].D-d) < 1e-9 && math.Abs(all[i].LogLikelihood-(a-b)) < 1e-9) {
			t.Errorf("k = %v: %+v: want D = %g and %g", theta, all[i], d, a-b)
		}
	}
	if all[1] != all[2] {
		t.Error("equal points, different results")
	}
	few := probode.Setup{Method: methods.RungeKutta{}, Mesh: probode.Adaptive{Tolerance: probode.Tolerance{Relative: 1e-9}, MaxSteps: 2}}
	for _, bad := range []probode.Setup{few, euler(math.Inf(1))} {
		for i, setups := range [][2]probode.Setup{{bad, euler(0.25)}, {euler(0.25), bad}, {bad, bad}} {
			all, err := points.Differences(t.Context(), setups[0], setups[1])
			sign := []float64{-1, 1, math.NaN()}[i]
			if ll := all[0].LogLikelihood; err != nil || !math.IsNaN(all[0].D) || !(math.IsInf(ll, int(sign)) || math.IsNaN(sign) && math.IsNaN(ll)) {
				t.Errorf("%v: %+v, %v", setups, all[0], err)
			}
		}
	}
	ll, err := points.LogLikelihoods(t.Context(), euler(0.25))
	if _, want := want(2, 0.25); err != nil || math.Abs(ll[2]-want) > 1e-9 {
		t.Errorf("%v, %v: want %g", ll, err, want)
	}
}

// x′ = −θx from 1 by RK4, whose steps end at data 1/2 apart and are hardly limited by the
// tolerance. The data are exact, so the log likelihood tells the error of the solver. D,
// from halved steps with a hundredth of the tolerance, is within a fifth of it, as their
// own error is a sixteenth.
func TestDifferencesOfLimitedSteps(t *testing.T) {
	data := &bayes.Data{}
	for i := 1; i <= 4; i++ {
		data.T, data.Y = append(data.T, float64(i)/2), append(data.Y, []float64{math.Exp(-float64(i))})
	}
	p := &bayes.Posterior{
		Model: bayes.Model{
			Params: []bayes.Param{{Name: "k", Prior: distuv.LogNormal{Mu: math.Ln2, Sigma: 0.3}}},
			Experiments: []bayes.Experiment{{
				Problem: &probode.Problem{Name: "decay", X0: []float64{1}, Theta: []float64{2}, Params: []string{"k"}, Span: [2]float64{0, 2}, Autonomous: true,
					F: func(f []float64, _ float64, x, th []float64) { f[0] = -th[0] * x[0] }},
				Data: data, Errors: []bayes.Likelihood{bayes.Gaussian{Sigma: bayes.Known(1e-4)}},
			}},
		},
		Setup: probode.Setup{Method: methods.RungeKutta{}, Mesh: probode.Adaptive{Tolerance: probode.Tolerance{Relative: 0.5}}},
	}
	e, err := bayes.NewDensity(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	ll, err := e.LogLikelihood([]float64{2}, nil) // the data are exact, so it tells the error
	if err != nil {
		t.Fatal(err)
	}
	want := math.Sqrt(-2 * (ll + 4*math.Log(1e-4*math.Sqrt(2*math.Pi))))
	d, err := compare.Points{Posterior: p, Theta: [][]float64{{2}}}.Differences(t.Context(), p.Setup, compare.Finer(p.Setup))
	if err != nil || math.Abs(d[0].D/want-1) > 0.2 {
		t.Errorf("D = %v, %v: want %.3g", d, err, want)
	}
}

// A point that repeats the one before it is not solved again, and a panic of the model ends
// the comparison with an error.
func TestEach(t *testing.T) {
	p := decay()
	var mu sync.Mutex
	var solved []float64
	p.Experiments[0].Observe = func(dst []float64, at float64, x, th []float64) {
		mu.Lock()
		defer mu.Unlock()
		if at == 1 && !slices.Contains(solved, th[0]) || at == 1 && th[0] == solved[len(solved)-1] {
			solved = append(solved, th[0])
		}
		if th[0] == 4 {
			panic("four")
		}
		dst[0] = x[0]
	}
	points := compare.Points{Posterior: p, Theta: [][]float64{{1}, {2}, {2}, {2}, {3}}, Workers: 1}
	var got []int
	err := points.Each(t.Context(), []probode.Setup{euler(0.25)}, func(i int, _ []*compare.Solver, _ []compare.Solution) { got = append(got, i) })
	if err != nil || !slices.Equal(got, []int{0, 1, 2, 3, 4}) || !slices.Equal(solved, []float64{1, 2, 3}) {
		t.Errorf("%v: points %v, solved at %v", err, got, solved)
	}
	points.Theta = append(points.Theta, []float64{4})
	if _, err := points.LogLikelihoods(t.Context(), euler(0.25)); err == nil || !strings.Contains(err.Error(), "four") {
		t.Errorf("%v: want the panic", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := points.Differences(ctx, euler(0.25), euler(0.5)); err != context.Canceled {
		t.Errorf("%v: want that of the context", err)
	}
}

// The Setup by which another one is judged has another grid at every θ, and never the same
// error, whatever limits the steps.
func TestFiner(t *testing.T) {
	tight := catalog.Default()
	m := tight.Mesh.(probode.Adaptive)
	m.Tolerance = m.Times(0.01)
	tight.Mesh = m.InParts(2)
	adaptive := probode.Adaptive{Tolerance: probode.Tolerance{Relative: 1e-3, Absolute: []float64{1e-2, 1e-4}}, Max: 0.1}
	hundredth := adaptive
	hundredth.Tolerance = adaptive.Times(0.01)
	bdf := methods.BDF{}
	for _, c := range []struct{ s, want probode.Setup }{
		{euler(0.1), tight},
		{probode.Setup{Method: bdf, Mesh: probode.Frozen{Tolerance: probode.Tolerance{Relative: 1e-6}}}, tight},
		{probode.Setup{Method: bdf, Mesh: adaptive}, probode.Setup{Method: bdf, Mesh: hundredth.InParts(2)}},
		{probode.Setup{Mesh: reference.Accurate{}}, probode.Setup{Mesh: reference.Accurate{Tolerance: probode.Tolerance{Relative: 1e-13}}}},
		{probode.Setup{Mesh: reference.Accurate{Tolerance: probode.Tolerance{Relative: 1e-13}}}, probode.Setup{Mesh: reference.Accurate{Tolerance: probode.Tolerance{Relative: 1e-12}}}},
	} {
		if got := compare.Finer(c.s); !got.Equal(c.want) {
			t.Errorf("%v: %+v: want %+v", c.s, got, c.want)
		}
	}
}

// A pulse of area 1 and width 1/500 that begins at 1.2 is passed over by steps that error
// control chooses, with any tolerance, and seen by many, so that D is about e^−.8/σ. Nothing
// is said of a D below the given one, nor of an error of steps of 1 that smaller steps show.
func TestUnseen(t *testing.T) {
	p := decay()
	height := 0.0
	x := p.Experiments[0].Problem
	x.Autonomous = false
	x.F = func(f []float64, at float64, x, th []float64) {
		if f[0] = -th[0] * x[0]; at > 1.2 && at < 1.202 {
			f[0] += height
		}
	}
	points := compare.Points{Posterior: p, Theta: [][]float64{{1}}}
	adaptive := probode.Setup{Method: methods.RungeKutta{}, Mesh: probode.Adaptive{Tolerance: probode.Tolerance{Relative: 1e-4}, Max: math.Inf(1)}}
	for _, c := range []struct {
		s           probode.Setup
		height      float64
		least, want float64
	}{{adaptive, 500, 0.01, math.Exp(-0.8) / 0.1}, {adaptive, 500, 5, 0}, {euler(1), 0, 0.01, 0}} {
		height = c.height
		if got, err := points.Unseen(t.Context(), c.s, c.least); err != nil || math.Abs(got-c.want) > 0.05 {
			t.Errorf("%+v: %g, %v", c, got, err)
		}
	}
}

// The last draws of equal parts of all chains, and all draws if there are few.
func TestSpread(t *testing.T) {
	var chains [][][]float64
	for c := range 2 {
		chains = append(chains, nil)
		for k := range 5 {
			chains[c] = append(chains[c], []float64{float64(5*c + k)})
		}
	}
	for n, want := range map[int][]float64{2: {4, 9}, 5: {1, 3, 5, 7, 9}, 99: {0, 1, 2, 3, 4, 5, 6, 7, 8, 9}} {
		if got := slices.Concat(compare.Spread(chains, n)...); !slices.Equal(got, want) {
			t.Errorf("%d: %v: want %v", n, got, want)
		}
	}
}

package playground

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"gonum.org/v1/gonum/integrate/quad"
	"gonum.org/v1/gonum/mat"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/bayes"
	"github.com/probode/probode/pkg/probode/bayes/cases"
	"github.com/probode/probode/pkg/probode/bayes/certify"
	"github.com/probode/probode/pkg/probode/bayes/modes"
	"github.com/probode/probode/pkg/probode/bayes/sample"
	"github.com/probode/probode/pkg/probode/mcmc"
	"github.com/probode/probode/pkg/viz"
)

const turn = 20 * time.Millisecond

// until advances a figure until its view is as wanted.
func until(t *testing.T, f *Figure, want func(v View) bool) View {
	t.Helper()
	for end := time.Now().Add(time.Minute); time.Now().Before(end); {
		if v := f.Advance(turn); want(v) {
			return v
		}
	}
	t.Fatal("nothing after a minute")
	return View{}
}

func done(v View) bool { return v.Done }

// settled fails if goroutines are left behind.
func settled(t *testing.T, before int) {
	t.Helper()
	for end := time.Now().Add(5 * time.Second); runtime.NumGoroutine() > before; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%d goroutines are left behind", runtime.NumGoroutine()-before)
		}
	}
}

func caseOf(t *testing.T, name string) *bayes.Posterior {
	t.Helper()
	c, err := cases.Named(name)
	if err != nil {
		t.Fatal(err)
	}
	return c.Posterior()
}

// A run draws what sample.Run draws, to the last bit, however it is interrupted.
func TestRunIsSampleRun(t *testing.T) {
	for _, alpha := range []float64{0, 0.2} {
		p := caseOf(t, "fitzhugh-nagumo")
		p.Alpha, p.Mesh = alpha, probode.Uniform(0.1)
		s := mcmc.Settings{Draws: 30, BurnIn: 20, Thin: 5, Seed: 3}
		r := newRun(p, s)
		work := newTask(r.draw)
		for !work.advance(time.Millisecond) {
		}
		if work.err != nil {
			t.Fatal(work.err)
		}
		want, err := sample.Run(context.Background(), p, sampler(p), s)
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(r.kept(), want.Draws) {
			t.Errorf("α = %v: other draws than those of sample.Run", alpha)
		}
		if done, total := r.iterations(); done != 170 || total != 170 {
			t.Errorf("%d of %d iterations, want 170", done, total)
		}
	}
}

// The reference posterior of FitzHugh and Nagumo has the moments that quadrature gives.
// Six numbers are compared at 5 standard errors, so chance alone fails in 4e-6 of all
// seeds. Quadrature with 7³ and with 9³ nodes agree to a hundredth of a sd.
func TestAccurateMoments(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	const problem = "fitzhugh-nagumo"
	r := accurately(problem)
	for !r.advance(time.Second) {
	}
	ctx, p := context.Background(), r.posterior
	found, err := modes.Find(ctx, p, modes.Settings{Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	d, err := bayes.NewDensity(ctx, p)
	if err != nil {
		t.Fatal(err)
	}
	top := found.Highest() // the parameters are moved on their own scale
	var chol mat.Cholesky
	var l mat.TriDense
	if !chol.Factorize(top.Shape) {
		t.Fatal("no Cholesky factor")
	}
	chol.LTo(&l)
	const n = 9
	x, w := make([]float64, n), make([]float64, n)
	quad.Hermite{}.FixedLocations(x, w, math.Inf(-1), math.Inf(1))
	best, err := d.LogLikelihood(top.Theta, nil)
	if err != nil {
		t.Fatal(err)
	}
	var mass float64
	sum, squares := make([]float64, 3), make([]float64, 3)
	theta := make([]float64, 3)
	for i := range n * n * n {
		node := []int{i % n, i / n % n, i / n / n}
		weight := 1.0
		for j := range theta {
			theta[j] = top.Theta[j]
			for k, at := range node[:j+1] {
				theta[j] += math.Sqrt2 * l.At(j, k) * x[at]
			}
			weight *= w[node[j]] * math.Exp(x[node[j]]*x[node[j]])
		}
		ll, err := d.LogLikelihood(theta, nil)
		if err != nil {
			continue // far from the mode, where nearly nothing is
		}
		weight *= math.Exp(ll - best)
		mass += weight
		for j, v := range theta {
			sum[j] += weight * (v - top.Theta[j])
			squares[j] += weight * (v - top.Theta[j]) * (v - top.Theta[j])
		}
	}
	for j, m := range r.summary {
		mean := sum[j] / mass
		sd := math.Sqrt(squares[j]/mass - mean*mean)
		if math.Abs(m.Mean-top.Theta[j]-mean) > 5*m.MCSE+0.01*sd || math.Abs(m.SD-sd) > 5*m.MCSESD+0.01*sd {
			t.Errorf("%s: %v ± %v with standard errors %v, %v; quadrature gives %v ± %v", m.Name, m.Mean, m.SD, m.MCSE, m.MCSESD, top.Theta[j]+mean, sd)
		}
	}
}

// The error of the solver that stands for an accurate one does not matter, and the axes
// hold its posterior.
func TestAccurate(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	for name, q := range problems {
		r := accurately(name)
		for !r.advance(time.Second) {
		}
		if !enough(r.summary) {
			_, ess, rhat := worst(r.summary)
			t.Errorf("%s: R̂ %v, %v effective draws: want enough to compare means", name, rhat, ess)
		}
		c, err := certify.Run(context.Background(), r.posterior, certify.Settings{Seed: 1})
		if err != nil || !c.Certified(0.1) {
			t.Errorf("%s: %v, %v", name, c, err)
			continue
		}
		for j, v := range c.Modes[0].Theta {
			if sd := c.Modes[0].SD[j]; v-3*sd < q.ranges[j][0] || v+3*sd > q.ranges[j][1] {
				t.Errorf("%s: parameter %d is %v ± %v, outside of its axis %v", name, j+1, v, sd, q.ranges[j])
			}
		}
	}
}

// The figure says nothing about the posterior while there are few draws, stops, makes
// single steps, begins again, and leaves no goroutine behind.
func TestPosteriorFigure(t *testing.T) {
	before := runtime.NumGoroutine()
	f := opened[*posterior](t, "posterior")
	begun := func(View) bool { n, _ := f.draws.iterations(); return n > 0 }
	v := until(t, f.Figure, begun)
	said := strings.Join(v.Says, " ")
	if v.Done || strings.Contains(said, "±") || !strings.Contains(said, "too few draws") {
		t.Errorf("with few draws it says %s", said)
	}
	set := func(values map[string]any) {
		t.Helper()
		if err := f.Set(values); err != nil {
			t.Fatal(err)
		}
	}
	count := func() int { return f.draws.made() }
	first, work := f.draws, f.work
	set(map[string]any{"stop": true})
	n := count()
	f.Advance(turn)
	if count() != n {
		t.Error("a stopped figure draws")
	}
	set(map[string]any{"step": true})
	f.Advance(turn)
	f.Advance(turn)
	if f.draws != first || count() != n+1 {
		t.Errorf("%d iterations for one step", count()-n)
	}
	set(map[string]any{"x": "theta1", "stop": false})
	if f.draws != first {
		t.Error("another axis begins the draws again")
	}
	until(t, f.Figure, func(View) bool { return count() > n+1 })
	set(map[string]any{"h": 0.1, "stop": true})
	if f.Advance(turn); f.draws == first || !work.ended() || count() > 0 && f.draws.posterior.Mesh != probode.Uniform(0.1) {
		t.Error("another step does not begin the draws again")
	}
	second := f.draws
	set(map[string]any{"stop": false})
	until(t, f.Figure, begun)
	set(map[string]any{"reset": true})
	if f.Advance(turn); f.draws == second {
		t.Error("reset does not begin again")
	}
	set(map[string]any{"problem": "lynx-hare"})
	if h := f.number("h"); h != problems["lynx-hare"].step {
		t.Errorf("the step is %v for another problem", h)
	}
	for _, bad := range []map[string]any{{"problem": "none"}, {"h": "x"}, {"h": math.NaN()}, {"none": 1.0}, {"noise": 1.0}} {
		kept, run := fmt.Sprint(f.knobs), f.draws
		if f.Set(bad) == nil || fmt.Sprint(f.knobs) != kept || f.draws != run {
			t.Errorf("%v is allowed or changes something", bad)
		}
	}
	f.Close()
	f.exact.stop()
	delete(accurates, "fitzhugh-nagumo")
	settled(t, before)
}

// With enough draws the figure gives means, and a view is JSON.
func TestPosteriorEnough(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	f := opened[*posterior](t, "posterior")
	if err := f.Set(map[string]any{"noise": false}); err != nil {
		t.Fatal(err)
	}
	v := until(t, f.Figure, func(v View) bool { return strings.Contains(strings.Join(v.Says, " "), "moves the mean") })
	if len(v.Charts[0].Series) != 5 { // two contours of each, and the latest draws
		t.Error("no contours")
	}
	if v.Numbers["mean.theta3"] < 3.03 || v.Numbers["mean.theta3"] > 3.1 { // the paper's figure 2
		t.Errorf("mean of theta3 %v", v.Numbers["mean.theta3"])
	}
	if _, err := json.Marshal(v); err != nil {
		t.Error(err)
	}
	// The mean of lynx0 is 11.
	if err := f.Set(map[string]any{"problem": "lynx-hare", "method": "ab1", "h": 0.25, "x": "lynx0"}); err != nil {
		t.Fatal(err)
	}
	if said := says(finished(t, f.Figure)); !strings.Contains(said, "The mean of lynx0 lies outside the range of its axis") {
		t.Errorf("forward Euler for lynx and hare: %s", said)
	}
}

// The colours are those of viz.
func TestColours(t *testing.T) {
	var want []string
	for _, c := range viz.Palette {
		want = append(want, fmt.Sprintf("#%02x%02x%02x", c.R, c.G, c.B))
	}
	if !slices.Equal(colours[:], want) {
		t.Errorf("%v, want %v", colours, want)
	}
}

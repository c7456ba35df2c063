package probode_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/stat"

	. "github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/adams"
	"github.com/probode/probode/pkg/probode/problems"
)

func ctx() context.Context { return context.Background() }

// Moments and quantiles are those of the paths themselves. The moments are
// summed in another order than here, hence the tolerance of some roundings.
func TestEnsembleDescribesItsPaths(t *testing.T) {
	p := problems.FitzHughNagumo()
	times := []float64{0, 1, 10, 20}
	e, err := Integrate(ctx(), p, adams.Moulton{Linearize: adams.Current}, 101, Settings{
		StepSize: 0.1, Alpha: 0.2, Seed: 1, Times: times, Quantiles: []float64{0.1, 0.5}, KeepPaths: true})
	if err != nil {
		t.Fatal(err)
	}
	if e.N != 101 || len(e.Paths) != 101 || !slices.Equal(e.T, times) {
		t.Fatalf("%d paths in the moments, %d kept, at %v", e.N, len(e.Paths), e.T)
	}
	s := mustSolver(t, p, adams.Moulton{Linearize: adams.Current}, 0.1, 0.2)
	z, xi := make([]float64, s.PathLen()), make([]float64, s.NoiseLen())
	if err := s.SolvePath(z, p.Theta, xi, 1, 57); err != nil {
		t.Fatal(err)
	}
	for i, at := range times {
		for k := range 2 {
			var x []float64
			for _, path := range e.Paths {
				x = append(x, path[2*i+k])
			}
			mean, sd := stat.MeanStdDev(x, nil)
			if math.Abs(e.Mean[k][i]-mean) > 1e-13 || math.Abs(e.SD[k][i]-sd) > 1e-13 {
				t.Errorf("t = %g: mean %v and sd %v, want %v and %v", at, e.Mean[k][i], e.SD[k][i], mean, sd)
			}
			slices.Sort(x)
			if e.Quantile[0][k][i] != x[10] || e.Quantile[1][k][i] != x[50] { // of 101 ordered values
				t.Errorf("t = %g: quantiles %v and %v, want %v and %v", at, e.Quantile[0][k][i], e.Quantile[1][k][i], x[10], x[50])
			}
			if got, want := e.Paths[57][2*i+k], z[int(math.Round(at/0.1))*2+k]; got != want {
				t.Errorf("path 57 at t = %g is %v, alone %v", at, got, want)
			}
		}
	}
	if d := e.Deterministic[1][3] - solve(t, s, nil)[401]; d != 0 {
		t.Errorf("classical solution differs by %g", d)
	}
}

// No bit depends on the number of workers.
func TestEnsembleWorkers(t *testing.T) {
	var first *Ensemble
	for _, workers := range []int{1, 2, 7} {
		e, err := Integrate(ctx(), problems.FitzHughNagumo(), adams.Bashforth{Steps: 2}, 203, Settings{
			StepSize: 0.1, Alpha: 0.2, Seed: 3, Workers: workers, Quantiles: []float64{0.3}, KeepPaths: true})
		if err != nil {
			t.Fatal(err)
		}
		if first == nil {
			first = e
			continue
		}
		for name, pair := range map[string][2]any{
			"mean": {e.Mean, first.Mean}, "sd": {e.SD, first.SD}, "quantile": {e.Quantile, first.Quantile}, "paths": {e.Paths, first.Paths}} {
			if !reflect.DeepEqual(pair[0], pair[1]) {
				t.Errorf("%d workers: %s differs", workers, name)
			}
		}
	}
}

// Nor does it where event times depend on θ, away from where the grid was made,
// and with noise that goes with the local errors; and one Solver that has been
// elsewhere finds the same paths.
func TestEnsembleWorkersWithEvents(t *testing.T) {
	p := problems.FitzHughNagumo()
	p.Span[1] = 5
	p.Events = []Event{{When: func(theta []float64) float64 { return theta[2] / 2 }, Jump: plus(0.5)}, {Time: 2, Jump: plus(-0.2)}}
	theta := []float64{0.21, 0.19, 3.4}
	for _, mesh := range []Mesh{Uniform(0.05), Frozen{Tolerance: Tolerance{Relative: 1e-3}}} {
		for _, m := range []Method{adams.Bashforth{Steps: 3}, adams.Moulton{Steps: 2}} {
			g, err := Setup{Method: m, Mesh: mesh}.Grid(ctx(), p, p.Theta, nil)
			if err != nil {
				t.Fatal(err)
			}
			var first *Ensemble
			for _, workers := range []int{1, 2, 7} {
				e, err := Integrate(ctx(), p, m, 75, Settings{Mesh: Fixed{Grid: g}, Alpha: 1e-3, Theta: theta, Seed: 3, Workers: workers, KeepPaths: true, Quantiles: []float64{0.5}})
				if err != nil {
					t.Fatal(err)
				}
				if first == nil {
					first = e
				} else if !reflect.DeepEqual(e.Paths, first.Paths) || !reflect.DeepEqual(e.Mean, first.Mean) || !reflect.DeepEqual(e.Quantile, first.Quantile) {
					t.Errorf("%v, %v: %d workers change the result", m, mesh, workers)
				}
			}
			s := mustSolverOn(t, p, m, g, 1e-3)
			z, xi := make([]float64, s.PathLen()), make([]float64, s.NoiseLen())
			for _, at := range [][]float64{p.Theta, {0.2, 0.2, 2.5}, theta} {
				if err := s.SolvePath(z, at, xi, 3, 40); err != nil {
					t.Fatal(err)
				}
			}
			if !slices.Equal(z, first.Paths[40]) {
				t.Errorf("%v, %v: a Solver that was elsewhere has another path", m, mesh)
			}
		}
	}
}

// The linear problem x′ = −x by forward Euler has, at step n, mean (1−h)ⁿ and
// variance α h³ (1−a²ⁿ)/(1−a²), a = 1−h, exactly. With 40 000 paths the mean
// and the variance are tested at 4.5 standard errors and three quantiles at 4.5
// standard errors plus the width of a bin: 5 checks, false alarms 3.4e-5.
func TestEnsembleAgainstClosedForm(t *testing.T) {
	const h, alpha, n, paths = 0.1, 0.5, 20, 40000
	p := &Problem{Name: "decay", X0: []float64{1}, Span: [2]float64{0, 2},
		F: func(f []float64, _ float64, x, _ []float64) { f[0] = -x[0] }}
	levels := []float64{0.05, 0.5, 0.9}
	e, err := Integrate(ctx(), p, adams.Bashforth{}, paths, Settings{StepSize: h, Alpha: alpha, Seed: 5, Times: []float64{2}, Quantiles: levels})
	if err != nil {
		t.Fatal(err)
	}
	a := 1 - h
	mean := math.Pow(a, n)
	sd := math.Sqrt(alpha * h * h * h * (1 - math.Pow(a, 2*n)) / (1 - a*a))
	if z := (e.Mean[0][0] - mean) / (sd / math.Sqrt(paths)); math.Abs(z) > 4.5 {
		t.Errorf("mean %v, want %v: %.1f standard errors", e.Mean[0][0], mean, z)
	}
	if z := (e.SD[0][0]/sd - 1) * math.Sqrt(2*paths); math.Abs(z) > 4.5 {
		t.Errorf("sd %v, want %v: %.1f standard errors", e.SD[0][0], sd, z)
	}
	for i, q := range levels {
		x := math.Sqrt2 * math.Erfinv(2*q-1)
		density := math.Exp(-x*x/2) / math.Sqrt(2*math.Pi)
		tol := sd * (4.5*math.Sqrt(q*(1-q)/paths)/density + 9./2048) // 4096 draws span about 7.5 sd, at most 9
		if d := e.Quantile[i][0][0] - (mean + sd*x); math.Abs(d) > tol {
			t.Errorf("quantile %g is off by %.2g: want at most %.2g", q, d, tol)
		}
	}
}

// Paths that diverge are left out and counted.
func TestEnsembleFailures(t *testing.T) {
	p := &Problem{Name: "fold", X0: []float64{0}, Span: [2]float64{0, 40},
		F: func(f []float64, _ float64, x, _ []float64) { f[0] = x[0]*x[0]*x[0] - x[0] }}
	e, err := Integrate(ctx(), p, adams.Bashforth{}, 200, Settings{StepSize: 0.5, Alpha: 0.3, Seed: 1, KeepPaths: true})
	if err != nil {
		t.Fatal(err)
	}
	if e.Failed == 0 || e.N == 0 || e.N+e.Failed != 200 || !errors.Is(e.Failure, ErrDiverged) {
		t.Fatalf("%d paths, %d failed, %v: want some of either", e.N, e.Failed, e.Failure)
	}
	kept := 0
	for _, path := range e.Paths {
		if path != nil {
			kept++
		}
	}
	if kept != e.N || len(e.Paths) != 200 {
		t.Errorf("%d of %d paths kept, want %d", kept, len(e.Paths), e.N)
	}
	for _, v := range e.Mean[0] {
		if math.IsNaN(v) {
			t.Fatal("a failed path is in the mean")
		}
	}
	if _, err := Integrate(ctx(), p, adams.Bashforth{}, 10, Settings{StepSize: 0.5, Alpha: 1e9, Seed: 1}); err == nil || !strings.Contains(err.Error(), "all 10 paths failed") {
		t.Errorf("error %v where all paths fail", err)
	}
}

// A cancelled ensemble describes the paths it has.
func TestEnsembleCancel(t *testing.T) {
	c, cancel := context.WithCancel(ctx())
	last := 0
	e, err := Integrate(c, problems.FitzHughNagumo(), adams.Bashforth{}, 100000, Settings{StepSize: 0.1, Alpha: 0.2,
		Progress: func(done, total int) {
			last = done
			if done >= 64 {
				cancel()
			}
		}})
	if !errors.Is(err, context.Canceled) || e == nil || e.N < 64 || e.N > 1000 || e.N != last || e.N%16 != 0 {
		t.Fatalf("error %v, ensemble of %v paths, last report %d", err, e, last)
	}
	want, err := Integrate(ctx(), problems.FitzHughNagumo(), adams.Bashforth{}, e.N, Settings{StepSize: 0.1, Alpha: 0.2})
	if err != nil || !reflect.DeepEqual(e.Mean, want.Mean) {
		t.Errorf("the part is not an ensemble of its own: %v", err)
	}
}

func TestEnsembleBadInput(t *testing.T) {
	p := problems.FitzHughNagumo()
	for want, s := range map[string]Settings{
		"time 0.05 is not on the grid":                     {StepSize: 0.1, Times: []float64{0.05}},
		"want one or more times, in increasing order":      {StepSize: 0.1, Times: []float64{2, 1}},
		"the quantile level is 1: want a number in (0, 1)": {StepSize: 0.1, Quantiles: []float64{1}},
		"2 parameters: want 3":                             {StepSize: 0.1, Theta: []float64{1, 2}},
		"the step is 0: want a finite number > 0":          {},
		"alpha is -1: want a finite number ≥ 0":            {StepSize: 0.1, Alpha: -1},
	} {
		if _, err := Integrate(ctx(), p, adams.Bashforth{}, 10, s); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
	if _, err := Integrate(ctx(), p, adams.Bashforth{}, 0, Settings{StepSize: 0.1}); err == nil {
		t.Error("no paths: no error")
	}
}

func TestOrdered(t *testing.T) {
	var got []int
	if err := Ordered(ctx(), 100, 5, func(_, i int) int { return i * i }, func(v int) { got = append(got, v) }); err != nil {
		t.Fatal(err)
	}
	for i, v := range got {
		if v != i*i {
			t.Fatalf("result %d is %d", i, v)
		}
	}
	c, cancel := context.WithCancel(ctx())
	cancel()
	n := 0
	if err := Ordered(c, 100, 5, func(_, i int) int { return i }, func(int) { n++ }); !errors.Is(err, context.Canceled) || n != 0 {
		t.Errorf("cancelled before it began: error %v, %d results", err, n)
	}
}

func ExampleIntegrate() {
	fhn := problems.FitzHughNagumo()
	ens, err := Integrate(context.Background(), fhn, adams.Moulton{}, 500, Settings{
		StepSize: 0.1, Alpha: 0.15, Seed: 1, Times: []float64{5, 10, 20},
	})
	if err != nil {
		panic(err)
	}
	for i, t := range ens.T {
		fmt.Printf("V(%g) = %.2f ± %.2f\n", t, ens.Mean[0][i], ens.SD[0][i])
	}
	// Output:
	// V(5) = 0.83 ± 0.13
	// V(10) = 1.88 ± 0.21
	// V(20) = 1.77 ± 0.10
}

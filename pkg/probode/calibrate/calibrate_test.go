package calibrate_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"

	. "github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/adams"
	"github.com/probode/probode/pkg/probode/calibrate"
	"github.com/probode/probode/pkg/probode/methods"
	"github.com/probode/probode/pkg/probode/problems"
	"github.com/probode/probode/pkg/probode/reference"
)

func trueError() calibrate.Indicator { return reference.TrueError(reference.Settings{}) }

// x′ = −x by forward Euler: the ensemble variance and the error of the
// classical solution are known, and with them the score.
func decayProblem() *Problem {
	return &Problem{Name: "decay", X0: []float64{1}, Span: [2]float64{0, 2}, Autonomous: true,
		F: func(f []float64, _ float64, x, _ []float64) { f[0] = -x[0] }}
}

func decayScore(alpha, h float64) float64 {
	a := 1 - h
	var sum float64
	for n := 1; n <= int(math.Round(2/h)); n++ {
		v := alpha * h * h * h * (1 - math.Pow(a, 2*float64(n))) / (1 - a*a)
		e := math.Pow(a, float64(n)) - math.Exp(-float64(n)*h)
		sum -= 0.25 * math.Log(0.25*(v/(e*e)+e*e/v+2))
	}
	return sum
}

// α* against the maximum of the score in closed form, which for an infinite
// ensemble is what Calibrate estimates. The estimated variances have a relative
// error of √(2/4000) = 2 %, common to all grid points as far as paths are
// correlated; its square, the bias, is negligible. Both indicators, at 4.5
// standard errors: false alarms 1.4e-5; calibrate.Richardson's leading order is allowed
// another 10 %.
func TestCalibrateAgainstClosedForm(t *testing.T) {
	const h = 0.1
	best, at := math.Inf(-1), 0.
	for x := -6.; x < 6; x += 1e-4 {
		if s := decayScore(math.Exp(x), h); s > best {
			best, at = s, math.Exp(x)
		}
	}
	for name, c := range map[string]struct {
		ind   calibrate.Indicator
		extra float64
	}{"true error": {trueError(), 0}, "Richardson": {nil, 0.1}} {
		cal, err := calibrate.Run(ctx(), decayProblem(), adams.Bashforth{}, calibrate.Settings{StepSize: h, Paths: 4000, Seed: 1, Criterion: calibrate.Bhattacharyya, Indicator: c.ind})
		if err != nil {
			t.Fatal(err)
		}
		if d := math.Abs(cal.Alpha - at); d > 4.5*cal.SE+c.extra*at {
			t.Errorf("%s: α* = %.4f ± %.4f, want %.4f", name, cal.Alpha, cal.SE, at)
		}
		if len(cal.Warnings) > 0 {
			t.Errorf("%s: %q", name, cal.Warnings)
		}
	}
	// The score itself, at three α: its Monte Carlo error is below that of the
	// variances times a slope of at most 1/4 at 20 points, 4.5·0.022·20/4·√2.
	alphas := []float64{at / 10, at, at * 10}
	got, err := calibrate.Score(ctx(), decayProblem(), adams.Bashforth{}, alphas, calibrate.Settings{StepSize: h, Paths: 4000, Seed: 2, Criterion: calibrate.Bhattacharyya, Indicator: trueError()})
	if err != nil {
		t.Fatal(err)
	}
	for i, a := range alphas {
		if want := decayScore(a, h); math.Abs(got[i]-want) > 0.7 {
			t.Errorf("score at %.3g is %.3f, want %.3f", a, got[i], want)
		}
	}
}

// The standard error that is reported is that of α* over seeds. With 40 seeds
// the sample variance over the mean of the reported ones is χ²₃₉/39 times a
// factor near 1: in (0.33, 2.3) with probability 1 − 1e-4, which a jackknife
// over 20 groups, itself good to 16 %, widens to (0.25, 3).
func TestCalibrationError(t *testing.T) {
	var sum, sum2, se2 float64
	const n = 40
	for seed := range n {
		c, err := calibrate.Run(ctx(), decayProblem(), adams.Bashforth{}, calibrate.Settings{StepSize: 0.1, Paths: 100, Seed: uint64(seed), Indicator: trueError()})
		if err != nil {
			t.Fatal(err)
		}
		x := math.Log(c.Alpha)
		sum += x
		sum2 += x * x
		se2 += c.SE * c.SE / (c.Alpha * c.Alpha) / n
	}
	v := (sum2 - sum*sum/n) / (n - 1)
	if r := v / se2; r < 0.25 || r > 3 {
		t.Errorf("variance of log α* over seeds is %.2f times the reported one: want 0.25 to 3", r)
	}
}

// The conventions that come nearest to the paper's values: α* is .2 for AB1 and
// nearly that for AM0 at h = 0.05. 400 paths give 5 %, of which four are 20 %.
func TestCalibrateFitzHughNagumo(t *testing.T) {
	for m, want := range map[Method]float64{adams.Bashforth{}: 0.184, adams.Moulton{Linearize: adams.Current}: 0.151} {
		c, err := calibrate.Run(ctx(), problems.FitzHughNagumo(), m, calibrate.Settings{StepSize: 0.05, Paths: 400, Seed: 7, Criterion: calibrate.Bhattacharyya, Indicator: trueError()})
		if err != nil {
			t.Fatal(err)
		}
		if math.Abs(c.Alpha/want-1) > 0.2 {
			t.Errorf("%v: α* = %.3f ± %.3f, want %.3f", m, c.Alpha, c.SE, want)
		}
	}
}

// α is a variance per power of h: with a state c times as large it is c² times as
// large, and with times c times as large c⁻ᵖ times, p the exponent of the noise,
// 2q + 1. That is more than the scan begins with, in both directions, and for
// Runge–Kutta noise of the α that it begins with is lost in the rounding of the
// path. All scales are of whole decades, as is the grid of the scan, so that α*
// differs by roundings only: 1e-16 of the path, of which the error is 1e-6 and
// more, amplified near the flat maximum, of which Brent's method wants 4e-4.
func TestCalibrateUnits(t *testing.T) {
	for _, m := range []Method{adams.Bashforth{}, methods.RungeKutta{}} {
		calibrated := func(state, time float64) *calibrate.NoiseScale {
			p := &Problem{Name: "decay", X0: []float64{state}, Span: [2]float64{0, 2 * time}, Autonomous: true,
				F: func(f []float64, _ float64, x, _ []float64) { f[0] = -x[0] / time }}
			c, err := calibrate.Run(ctx(), p, m, calibrate.Settings{StepSize: time / 4, Paths: 100, Seed: 1})
			if err != nil {
				t.Fatal(err)
			}
			return c
		}
		want := calibrated(1, 1)
		for _, c := range [][2]float64{{1e6, 1}, {1e-6, 1}, {1e12, 1}, {1, 1e-3}, {1, 1e-6}, {1, 1e6}} {
			got := calibrated(c[0], c[1])
			if r := got.Alpha / want.Alpha / (c[0] * c[0]) * math.Pow(c[1], float64(2*m.Order()+1)); math.Abs(r-1) > 1e-4 || len(got.Warnings) != len(want.Warnings) {
				t.Errorf("%v with units %g: α* = %.4g, %.6f times %.4g in these units; %q", m, c, got.Alpha, r, want.Alpha, got.Warnings)
			}
		}
	}
}

func TestCalibrateReports(t *testing.T) {
	set := calibrate.Settings{StepSize: 0.1, Paths: 100, Seed: 1, Indicator: trueError()}
	first, err := calibrate.Run(ctx(), decayProblem(), adams.Bashforth{}, set)
	if err != nil {
		t.Fatal(err)
	}
	more := set
	more.Workers = 5
	if again, err := calibrate.Run(ctx(), decayProblem(), adams.Bashforth{}, more); err != nil || !reflect.DeepEqual(again, first) {
		t.Errorf("five workers: %+v, %v: want %+v", again, err, first)
	}

	// x′ = x³ − x leaves every bound from |x| > 1 on. An error of 2 cannot be
	// matched by paths that stay, and that is said.
	cut := set
	cut.StepSize = 0.5
	cut.Indicator = func(_ context.Context, s *Solver, _ []float64) (*calibrate.Errors, error) {
		e := make([]float64, s.PathLen())
		for i := range e {
			e[i] = 2
		}
		return &calibrate.Errors{E: e}, nil
	}
	fold := &Problem{Name: "fold", X0: []float64{0}, Span: [2]float64{0, 20},
		F: func(f []float64, _ float64, x, _ []float64) { f[0] = x[0]*x[0]*x[0] - x[0] }}
	if c, err := calibrate.Run(ctx(), fold, adams.Bashforth{}, cut); err != nil || !strings.Contains(strings.Join(c.Warnings, " "), "some paths cannot be computed") {
		t.Errorf("score cut off by failing paths: %+v, %v", c, err)
	}

	// An error that vanishes at a point would decide alone.
	zero := set
	zero.Indicator = func(_ context.Context, s *Solver, _ []float64) (*calibrate.Errors, error) {
		e := make([]float64, s.PathLen())
		for i := range e {
			e[i] = 0.1
		}
		e[5], e[7] = 1e-9, 0
		acc := make([]float64, len(e))
		acc[9] = 0.01
		return &calibrate.Errors{E: e, Accuracy: acc}, nil
	}
	if c, err := calibrate.Run(ctx(), decayProblem(), adams.Bashforth{}, zero); err != nil ||
		!strings.Contains(strings.Join(c.Warnings, " "), "3 of 20 points are left out of the score: at 2 points the error is below 1e-4 of the largest error, and at 1 points the estimated error is uncertain by 1 % or more") {
		t.Errorf("left out: %+v, %v", c, err)
	}

	c, cancel := context.WithCancel(ctx())
	cancel()
	if _, err := calibrate.Run(c, decayProblem(), adams.Bashforth{}, set); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	for want, change := range map[string]func(*calibrate.Settings){
		"paths is 10: want at least 40":       func(s *calibrate.Settings) { s.Paths = 10 },
		"Components contains 1: want numbers": func(s *calibrate.Settings) { s.Components = []int{1} },
		"alpha cannot be calibrated: the error is below": func(s *calibrate.Settings) {
			s.Indicator = func(_ context.Context, s *Solver, _ []float64) (*calibrate.Errors, error) {
				return &calibrate.Errors{E: make([]float64, s.PathLen())}, nil
			}
		},
		"error indicator: no idea": func(s *calibrate.Settings) {
			s.Indicator = func(context.Context, *Solver, []float64) (*calibrate.Errors, error) {
				return nil, errors.New("no idea")
			}
		},
	} {
		s := set
		change(&s)
		if _, err := calibrate.Run(ctx(), decayProblem(), adams.Bashforth{}, s); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}

// A calibration solves at most ten times as many paths as an ensemble has, and
// draws each once: what it finds is the maximum of the score over all paths,
// which is tried on both sides.
func TestCalibrationCost(t *testing.T) {
	for _, paths := range []int{40, 100, 1000} {
		p := problems.FitzHughNagumo()
		var calls atomic.Int64
		f := p.F
		p.F = func(dst []float64, t float64, x, theta []float64) { calls.Add(1); f(dst, t, x, theta) }
		set := calibrate.Settings{StepSize: 0.1, Paths: paths, Seed: 3}
		cal, err := calibrate.Run(ctx(), p, adams.Bashforth{Steps: 2}, set)
		if err != nil {
			t.Fatal(err)
		}
		// The steps of a path and those of the start, which are four in one, and of
		// the indicator and the checks.
		ensemble := int64(paths * (200 + 3))
		if got := float64(calls.Load()-1500) / float64(ensemble); got > 10 {
			t.Errorf("%d paths: a calibration costs %.1f ensembles", paths, got)
		}
		// The score falls by half its curvature on either side, so that at 2 % of
		// α* the difference is some 1e-4 of the number of points.
		a := cal.Alpha
		s, err := calibrate.Score(ctx(), p, adams.Bashforth{Steps: 2}, []float64{a / 1.02, a, a * 1.02}, set)
		if err != nil || s[0] >= s[1] || s[2] >= s[1] {
			t.Errorf("%d paths: scores %v about α* = %g: %v", paths, s, a, err)
		}
		if vertex := 0.01 * (s[0] - s[2]) / (s[0] - 2*s[1] + s[2]); math.Abs(vertex) > 0.003 {
			t.Errorf("%d paths: the maximum is %.4f in log α from α* = %g", paths, vertex, a)
		}
	}
}

func ExampleRun() {
	fhn := problems.FitzHughNagumo()
	cal, err := calibrate.Run(context.Background(), fhn, adams.Moulton{}, calibrate.Settings{
		StepSize: 0.1, Paths: 200, Seed: 1, Criterion: calibrate.Bhattacharyya, Indicator: reference.TrueError(reference.Settings{})})
	if err != nil {
		panic(err)
	}
	fmt.Printf("alpha* = %.2f ± %.2f\n", cal.Alpha, cal.SE)
	// Output: alpha* = 0.16 ± 0.01
}

// A coarse scan takes fewer paths than one ensemble, and about four ensembles follow.
func TestPathsOfRun(t *testing.T) {
	const paths = 500
	for _, scaling := range []Scaling{ScaleStep, ScaleLocal} {
		p, solved := problems.FitzHughNagumo(), 0
		p.Start = func(x0, _ []float64) {
			solved++
			copy(x0, p.X0)
		}
		if _, err := calibrate.Run(ctx(), p, adams.Moulton{Linearize: adams.Current}, calibrate.Settings{StepSize: 0.1, Paths: paths, Workers: 1, Scaling: scaling}); err != nil {
			t.Fatal(err)
		}
		if solved > 5*paths {
			t.Errorf("%v: %d solves for ensembles of %d", scaling, solved, paths)
		}
	}
}

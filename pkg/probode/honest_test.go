package probode_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	. "github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/problems"
)

// The log score's α* in closed form: the mean of E²/s² for x′ = −x by forward
// Euler. Monte Carlo error as stated, at 4.5 of them: false alarms 7e-6. The
// mean squared standardised error at the points is one, by construction: up to
// Brent's tolerance and the curvature that the interpolation leaves out.
func TestLogScoreAgainstClosedForm(t *testing.T) {
	const h = 0.1
	a, want := 1-h, 0.
	for n := 1; n <= 20; n++ {
		v := h * h * h * (1 - math.Pow(a, 2*float64(n))) / (1 - a*a)
		e := math.Pow(a, float64(n)) - math.Exp(-float64(n)*h)
		want += e * e / v / 20
	}
	c, err := Calibrate(ctx(), decayProblem(), AdamsBashforth{}, CalibrateSettings{StepSize: h, Paths: 4000, Seed: 1, Rule: LogScore, Indicator: trueError()})
	if err != nil {
		t.Fatal(err)
	}
	if math.Abs(c.Alpha-want) > 4.5*c.SE || c.SE > 0.05*want {
		t.Errorf("α* = %.4f ± %.4f, want %.4f", c.Alpha, c.SE, want)
	}
	if math.Abs(c.Fits[0].MeanSquare-1) > 1e-3 || c.Fits[0].Points != c.Points || len(c.Fits) != 2 {
		t.Errorf("fits %v, want a mean square of 1", c.Fits)
	}
}

// Standard errors hold where the score is nearly flat with kinks: AB3 on
// FitzHugh–Nagumo at h = .1, where it is unstable, with 100 paths. Over 10 seeds
// the sd of log α* is some .24; with the seeds fixed, nothing is left to chance,
// and the stated errors are to be between a third and four times that.
func TestCalibrationErrorOfUnstableMethod(t *testing.T) {
	var sum, sum2, se2 float64
	const n = 10
	for seed := range n {
		c, err := Calibrate(ctx(), problems.FitzHughNagumo(), AdamsBashforth{Steps: 3}, CalibrateSettings{StepSize: 0.1, Paths: 100, Seed: uint64(seed), Indicator: trueError()})
		if err != nil {
			t.Fatal(err)
		}
		x := math.Log(c.Alpha)
		sum += x / n
		sum2 += x * x / n
		se2 += c.SE * c.SE / (c.Alpha * c.Alpha) / n
		if c.SE > 2*c.Alpha {
			t.Errorf("seed %d: α* = %.3g ± %.3g", seed, c.Alpha, c.SE)
		}
		if said := strings.Contains(strings.Join(c.Warnings, " "), "several maxima"); said != (c.SE > 0.3*c.Alpha) {
			t.Errorf("seed %d: α* = %.3g ± %.3g, warnings %q", seed, c.Alpha, c.SE, c.Warnings)
		}
	}
	sd, stated := math.Sqrt((sum2-sum*sum)*n/(n-1)), math.Sqrt(se2)
	if stated < sd/3 || stated > 4*sd {
		t.Errorf("sd of log α* over seeds %.3f, stated %.3f", sd, stated)
	}
}

// Two components whose errors have nothing to do with each other have the α* of
// each alone, although the normals differ: ten times as large a state has a
// hundred times the α, and one α for both leaves one of them far off. Both the
// sd of each of these is some √2/√(1000) in the variance, common to the points;
// 30 % are over five of them.
func TestAlphasByComponent(t *testing.T) {
	p := &Problem{Name: "two", X0: []float64{1, 10}, Span: [2]float64{0, 2}, Autonomous: true,
		F: func(f []float64, _ float64, x, _ []float64) { f[0], f[1] = -x[0], -x[1] }}
	set := CalibrateSettings{StepSize: 0.1, Paths: 1000, Seed: 1, ByComponent: true, Indicator: trueError()}
	for _, r := range []Rule{Bhattacharyya, LogScore} {
		set.Rule = r
		one, err := Calibrate(ctx(), decayProblem(), AdamsBashforth{}, set)
		if err != nil {
			t.Fatal(err)
		}
		c, err := Calibrate(ctx(), p, AdamsBashforth{}, set)
		if err != nil {
			t.Fatal(err)
		}
		for k, want := range []float64{one.Alpha, 100 * one.Alpha} {
			if math.Abs(c.Alphas[k]/want-1) > 0.3 {
				t.Errorf("%v: component %d has α = %.4g, want %.4g", r, k, c.Alphas[k], want)
			}
			if m := c.Fits[1+k].MeanSquare / one.Fits[0].MeanSquare; math.Abs(m-1) > 0.3 {
				t.Errorf("%v: component %d has a mean square of %.3g, want that of it alone, %.3g", r, k, c.Fits[1+k].MeanSquare, one.Fits[0].MeanSquare)
			}
		}
		// The ensemble with these scales has the spread that the fit states.
		e, err := Integrate(ctx(), p, AdamsBashforth{}, 1000, Settings{StepSize: 0.1, Alphas: c.Alphas, Seed: 2, Times: []float64{1}})
		if err != nil {
			t.Fatal(err)
		}
		if r := e.SD[1][0] / e.SD[0][0]; math.Abs(r/10-1) > 0.2 {
			t.Errorf("sds %v, want one ten times the other", e.SD)
		}
	}
	set.Rule = 9
	if _, err := Calibrate(ctx(), p, AdamsBashforth{}, set); err == nil || !strings.Contains(err.Error(), "Rule(9): want Bhattacharyya or LogScore") {
		t.Errorf("unknown rule: %v", err)
	}
}

// ScaleLocalEven is ScaleLocal on a uniform grid, to rounding, and √N l on any
// other.
func TestScaleLocalEven(t *testing.T) {
	p := problems.LotkaVolterra20()
	p.Span[1] = p.Span[0] + 2
	for _, m := range []Method{AdamsBashforth{Steps: 2}, RungeKutta{}} {
		uniform := mustSolver(t, p, m, 1./32, 0.3)
		frozen := mustSolverOn(t, p, m, mustFrozen(t, p, m, 1e-3, p.Span[0]+1), 0.3)
		for name, s := range map[string]*Solver{"uniform": uniform, "frozen": frozen} {
			xi := make([]float64, s.NoiseLen())
			z := solve(t, s, nil)
			last := len(z) - 2
			effect := func(scaling Scaling) float64 {
				if err := s.SetScaling(scaling, p.Theta); err != nil {
					t.Fatal(err)
				}
				if s.Scaling() != scaling || s.Clone().Scaling() != scaling {
					t.Fatalf("scaling is %v, want %v", s.Scaling(), scaling)
				}
				xi = make([]float64, s.NoiseLen())
				xi[len(xi)-2] = 1
				return solve(t, s, xi)[last] - z[last]
			}
			even, local := effect(ScaleLocalEven), effect(ScaleLocal)
			n := s.Steps()
			want := math.Sqrt(float64(n) * s.Grid().H(n-1) / 2)
			if r := even / local; math.Abs(r/want-1) > 1e-6 {
				t.Errorf("%v, %s: ratio %.9g, want %.9g", m, name, r, want)
			}
		}
	}
}

func ExampleCalibrate_logScore() {
	// The mean squared standardised error is 1 where the paper's rule leaves 2.
	sir := problems.SIR()
	for _, rule := range []Rule{Bhattacharyya, LogScore} {
		cal, err := Calibrate(ctx(), sir, AdamsMoulton{Steps: 1}, CalibrateSettings{
			StepSize: 2, Paths: 200, Seed: 1, Rule: rule, Scaling: ScaleLocal})
		if err != nil {
			panic(err)
		}
		fmt.Printf("%v: %.1f\n", rule, cal.Fits[0].MeanSquare)
	}
	// Output:
	// Bhattacharyya: 2.0
	// log score: 1.0
}

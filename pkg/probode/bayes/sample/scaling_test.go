package sample_test

import (
	"context"
	"math"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/bayes"
	"github.com/probode/probode/pkg/probode/bayes/modes"
	"github.com/probode/probode/pkg/probode/bayes/sample"
	"github.com/probode/probode/pkg/probode/calibrate"
	"github.com/probode/probode/pkg/probode/mcmc"
	"github.com/probode/probode/pkg/probode/methods"
)

// scaled is logistic growth with noise of the given scaling.
func scaled(scaling probode.Scaling) *bayes.Posterior {
	p := &probode.Problem{Name: "logistic", States: []string{"x"}, Params: []string{"r"}, X0: []float64{0.1}, Theta: []float64{1}, Span: [2]float64{0, 8}, Autonomous: true,
		F: func(f []float64, _ float64, x, theta []float64) { f[0] = theta[0] * x[0] * (1 - x[0]) }}
	data := &bayes.Data{}
	for t := 1.; t <= 8; t++ {
		data.T = append(data.T, t)
		data.Y = append(data.Y, []float64{1 / (1 + 9*math.Exp(-1.3*t))})
	}
	return &bayes.Posterior{
		Model: bayes.Model{
			Params:      []bayes.Param{{Name: "r", Prior: distuv.LogNormal{Sigma: 0.5}}},
			Experiments: []bayes.Experiment{{Problem: p, Data: data, Errors: []bayes.Likelihood{bayes.Gaussian{Sigma: bayes.Known(0.05)}}}},
		},
		Setup: probode.Setup{Method: methods.RungeKutta{}, Mesh: probode.Uniform(1), Scaling: scaling},
	}
}

// α, the density and the sampler have the same noise: by the local errors at the
// mode, which differ from those at the nominal parameters, and a calibration with
// another scaling is refused.
func TestScaling(t *testing.T) {
	ctx := context.Background()
	set := calibrate.Settings{Paths: 100, Seed: 1}
	p, scale, err := modes.Calibrate(ctx, scaled(probode.ScaleLocal), set)
	if err != nil {
		t.Fatal(err)
	}
	mode := p.Modes.Modes[0].Theta
	if !slices.Equal(p.GridAt, mode) || math.Abs(mode[0]-1.3) > 0.1 {
		t.Fatalf("local errors at %v, mode %v", p.GridAt, mode)
	}
	if c := scale.Experiments[0]; c.Scaling != probode.ScaleLocal || math.Abs(p.Alpha/c.Alpha-1) > 1e-12 { // the mean of one logarithm
		t.Errorf("α = %v, calibrated %+v", p.Alpha, c)
	}
	// What a direct calibration at the mode finds, where local errors are measured
	// at the same place.
	problem := p.Experiments[0].Problem
	direct := set
	direct.StepSize, direct.Theta, direct.Scaling = 1, mode, probode.ScaleLocal
	c, err := calibrate.Run(ctx, problem, p.Method, direct)
	if err != nil || math.Abs(c.Alpha/p.Alpha-1) > 1e-9 {
		t.Errorf("α* = %+v, %v: want %v", c, err, p.Alpha)
	}
	// The paths of the density are those of an ensemble with these settings.
	e, err := bayes.NewDensity(context.Background(), p)
	if err != nil {
		t.Fatal(err)
	}
	s := e.Part(0).Grid().Solver()
	if s.Scaling() != probode.ScaleLocal {
		t.Errorf("the solver of the density has %v", s.Scaling())
	}
	ens, err := probode.Integrate(ctx, problem, p.Method, 1, c.Settings(probode.Settings{StepSize: 1, Theta: mode, Seed: 3, KeepPaths: true}))
	if err != nil {
		t.Fatal(err)
	}
	z, xi := make([]float64, s.PathLen()), make([]float64, s.NoiseLen())
	if err := s.SolvePath(z, mode, xi, 3, 0); err != nil {
		t.Fatal(err)
	}
	for i, v := range ens.Paths[0] {
		if math.Abs(z[i]-v) > 1e-9 {
			t.Fatalf("path %v, want %v", z, ens.Paths[0])
		}
	}
	chains, err := sample.Run(ctx, p, sample.PCNWithinGibbs{}, mcmc.Settings{Draws: 200, Chains: 2, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range chains.Warnings() {
		if strings.Contains(w, "frozen") {
			t.Errorf("a measured grid was not made to a tolerance: %q", w)
		}
	}
	set.Scaling = probode.ScaleStep
	if _, err := bayes.CalibrateAlpha(ctx, p, mode, set); err == nil || !strings.Contains(err.Error(), "Scaling is noise of the method in the settings of the calibration and noise scaled by local errors in the Setup") {
		t.Errorf("another scaling: %v", err)
	}
	// The method's own noise on a grid that has local errors.
	q := scaled(probode.ScaleStep)
	q.Mesh = probode.Frozen{Tolerance: probode.Tolerance{Relative: 1e-3}}
	q.Method, err = methods.RungeKutta{}, nil
	if e, err = bayes.NewDensity(context.Background(), q); err != nil || e.Part(0).Grid().Solver().Scaling() != probode.ScaleStep {
		t.Errorf("ScaleStep on a frozen grid: %v", err)
	}
	// A run with other noise is another run.
	if a, b := scaled(probode.ScaleLocal).Describe(), scaled(probode.ScaleDefault).Describe(); len(a) != len(b)+1 {
		t.Errorf("descriptions %v and %v", a, b)
	}
}

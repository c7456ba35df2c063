package probode_test

import (
	"fmt"
	"testing"
	"time"

	. "github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/adams"
	"github.com/probode/probode/pkg/probode/calibrate"
	"github.com/probode/probode/pkg/probode/problems"
)

// BenchmarkStep gives the time of one step: classical, with the noise at hand,
// and with the noise drawn too. The Brusselator's Jacobian is banded; dense, a
// step would take hundreds of times as long.
func BenchmarkStep(b *testing.B) {
	for _, c := range []struct {
		name string
		p    *Problem
		h    float64
	}{
		{"d=2", problems.FitzHughNagumo(), 1. / 128},
		{"d=40", problems.Lorenz96(40), 1. / 128},
		{"d=200-banded", problems.Brusselator(100), 1. / 16384}, // what the explicit method can bear
	} {
		c.p.Span[1] = c.p.Span[0] + 128*c.h
		for _, m := range []Method{adams.Bashforth{Steps: 2}, adams.Moulton{Linearize: adams.Current}, adams.Moulton{}, adams.Moulton{Steps: 2, Linearize: adams.Predictor}} {
			s := mustSolver(b, c.p, m, c.h, 1e-6)
			z, xi := make([]float64, s.PathLen()), make([]float64, s.NoiseLen())
			DrawNoise(xi, 1, 1)
			for name, run := range map[string]func() error{
				"classical":     func() error { return s.Solve(z, c.p.Theta, nil) },
				"probabilistic": func() error { return s.Solve(z, c.p.Theta, xi) },
				"drawn":         func() error { return s.SolvePath(z, c.p.Theta, xi, 1, 1) },
			} {
				b.Run(fmt.Sprintf("%s/%v/%s", c.name, m, name), func(b *testing.B) {
					b.ReportAllocs()
					for b.Loop() {
						if err := run(); err != nil {
							b.Fatal(err)
						}
					}
					b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*s.Steps()), "ns/step")
				})
			}
		}
	}
}

// BenchmarkCalibrate gives the time of a calibration in units of that of an
// ensemble of its size, on one worker, the two in turn.
func BenchmarkCalibrate(b *testing.B) {
	const h, paths = 0.05, 1000
	for _, m := range []Method{adams.Bashforth{}, adams.Moulton{Linearize: adams.Current}, adams.Moulton{Steps: 1}} {
		b.Run(m.String(), func(b *testing.B) {
			p := problems.FitzHughNagumo()
			var ensemble, calibration time.Duration
			for b.Loop() {
				start := time.Now()
				if _, err := Integrate(ctx(), p, m, paths, Settings{StepSize: h, Alpha: 0.1, Workers: 1}); err != nil {
					b.Fatal(err)
				}
				ensemble += time.Since(start)
				start = time.Now()
				if _, err := calibrate.Run(ctx(), p, m, calibrate.Settings{StepSize: h, Paths: paths, Workers: 1}); err != nil {
					b.Fatal(err)
				}
				calibration += time.Since(start)
			}
			b.ReportMetric(float64(calibration)/float64(ensemble), "ensembles")
		})
	}
}

// BenchmarkEnsemble gives the time per path and step on one worker and on two:
// their ratio is what the second core is worth.
func BenchmarkEnsemble(b *testing.B) {
	for _, workers := range []int{1, 2} {
		b.Run(fmt.Sprintf("workers=%d", workers), func(b *testing.B) {
			const paths, steps = 500, 2000
			for b.Loop() {
				if _, err := Integrate(ctx(), problems.FitzHughNagumo(), adams.Moulton{Linearize: adams.Current}, paths,
					Settings{StepSize: 0.01, Alpha: 0.2, Workers: workers, Times: []float64{20}}); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*paths*steps), "ns/path-step")
		})
	}
}

package sample_test

import (
	"context"
	"slices"
	"testing"

	"gonum.org/v1/gonum/floats"

	"github.com/probode/probode/pkg/probode/bayes"
	"github.com/probode/probode/pkg/probode/bayes/cases"
	"github.com/probode/probode/pkg/probode/bayes/sample"
	"github.com/probode/probode/pkg/probode/mcmc"
	"github.com/probode/probode/pkg/probode/mcmc/diag"
)

// paper is the model of the paper's §3.2 with its data.
func paper(b *testing.B) *bayes.Posterior {
	c, err := cases.Named("fitzhugh-nagumo")
	if err != nil {
		b.Fatal(err)
	}
	return c.Posterior()
}

// turns runs the first sampler and the second one after the other, b.N times, and
// returns the seconds of a draw in every turn. A server's core may be half again
// as fast for a second and then no more, so only neighbours are compared.
func turns(b *testing.B, samplers [2]sample.Sampler, workers [2]int) (first, second []float64) {
	p := paper(b)
	for range b.N {
		var seconds [2]float64
		for i, s := range samplers {
			c, err := sample.Compare(context.Background(), p, []sample.Sampler{s}, mcmc.Settings{Draws: 500, Workers: workers[i]})
			if err != nil {
				b.Fatal(err)
			}
			seconds[i] = c[0].Seconds / (4 * 500)
		}
		first, second = append(first, seconds[0]), append(second, seconds[1])
	}
	return first, second
}

// median returns the median of the elementwise ratios of a to b.
func median(a, b []float64) float64 {
	r := make([]float64, len(a))
	floats.DivTo(r, a, b)
	slices.Sort(r)
	return diag.Quantile(r, 0.5)
}

// The cost of a draw by pCN within Gibbs, in deterministic draws, on one core.
// It is to be at most 2.8. Use -benchtime 15x or more.
func BenchmarkCostOfNoise(b *testing.B) {
	plain, noisy := turns(b, [2]sample.Sampler{sample.Deterministic{}, sample.PCNWithinGibbs{}}, [2]int{1, 1})
	b.ReportMetric(median(noisy, plain), "deterministic-draws")
	b.ReportMetric(1e6*floats.Min(noisy), "µs/draw")
}

// The throughput of four chains on two cores, in units of that on one. It is to
// be at least 1.8, on two idle cores. Use -benchtime 15x or more.
func BenchmarkTwoCores(b *testing.B) {
	one, two := turns(b, [2]sample.Sampler{sample.PCNWithinGibbs{}, sample.PCNWithinGibbs{}}, [2]int{1, 2})
	b.ReportMetric(median(one, two), "speedup")
}

// Every sampler in its usual settings on the model of the paper: solves a draw
// and effective draws a second, of the parameter that has the fewest, with the
// search for modes and starts counted.
func BenchmarkSamplers(b *testing.B) {
	p := paper(b)
	for _, s := range []sample.Sampler{
		sample.Deterministic{}, sample.PCNWithinGibbs{}, sample.PseudoMarginal{}, sample.PseudoMarginal{Correlation: 0.99},
		sample.PseudoMarginal{Expected: true}, sample.RedrawOnAccept{},
	} {
		b.Run(s.String(), func(b *testing.B) {
			var effective, solves float64
			for range b.N {
				c, err := sample.Compare(context.Background(), p, []sample.Sampler{s}, mcmc.Settings{Draws: 500, Seed: 1})
				if err != nil {
					b.Fatal(err)
				}
				effective += c[0].ESS
				solves = c[0].Solves
			}
			b.ReportMetric(effective/b.Elapsed().Seconds(), "effective-draws/s")
			b.ReportMetric(solves, "solves/draw")
		})
	}
}

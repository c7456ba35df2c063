package bayes_test

import (
	"context"
	"os"
	"testing"

	"github.com/probode/probode/pkg/probode/bayes"
	"github.com/probode/probode/pkg/probode/bayes/cases"
	"github.com/probode/probode/pkg/probode/mcmc"
)

// paper is the model of the paper's §3.2 with its data.
func paper(b *testing.B) *bayes.Posterior {
	f, err := os.Open("../../../reproduce/data.csv")
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	data, err := bayes.ReadCSV(f, "t", "V_obs", "R_obs")
	if err != nil {
		b.Fatal(err)
	}
	return cases.FitzHughNagumo(data)
}

// quickest runs scheme by scheme in short turns, so that all see the same machine,
// and returns the seconds of a draw in the quickest turn of each.
func quickest(b *testing.B, p *bayes.Posterior, workers []int, schemes ...bayes.Scheme) []float64 {
	best := make([]float64, len(schemes))
	for range b.N {
		for i, s := range schemes {
			c, err := bayes.Compare(context.Background(), p, []bayes.Scheme{s}, mcmc.Settings{Draws: 500, Workers: workers[i]})
			if err != nil {
				b.Fatal(err)
			}
			if t := c[0].Seconds / (4 * 500); best[i] == 0 || t < best[i] {
				best[i] = t
			}
		}
	}
	return best
}

// The cost of a draw by pCN within Gibbs, in deterministic draws, on one core.
// It is to be at most 2.8. Use -benchtime 10x or more.
func BenchmarkCostOfNoise(b *testing.B) {
	t := quickest(b, paper(b), []int{1, 1}, bayes.Deterministic{}, bayes.PCNWithinGibbs{})
	b.ReportMetric(t[1]/t[0], "deterministic-draws")
	b.ReportMetric(1e6*t[1], "µs/draw")
}

// The throughput of four chains on two cores, in units of that on one. It is to
// be at least 1.8, on two idle cores. Use -benchtime 10x or more.
func BenchmarkTwoCores(b *testing.B) {
	t := quickest(b, paper(b), []int{1, 2}, bayes.PCNWithinGibbs{}, bayes.PCNWithinGibbs{})
	b.ReportMetric(t[0]/t[1], "speedup")
}

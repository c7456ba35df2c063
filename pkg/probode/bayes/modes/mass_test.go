package modes_test

import (
	"context"
	"math"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/probode/probode/pkg/probode/bayes"
	"github.com/probode/probode/pkg/probode/bayes/modes"
	"github.com/probode/probode/pkg/probode/mcmc"
)

// logIntegral returns the logarithm of the integral of the posterior density over a box on
// the unconstrained scale, by the midpoint rule, which converges geometrically for
// densities that vanish at the ends of the box.
func logIntegral(t *testing.T, p *bayes.Posterior, low, high []float64, n int) float64 {
	t.Helper()
	e, err := bayes.NewDensity(context.Background(), p)
	if err != nil {
		t.Fatal(err)
	}
	d := len(low)
	u := make([]float64, d)
	top, sum := math.Inf(-1), 0.0
	var visit func(k int)
	visit = func(k int) {
		if k < d {
			for i := range n {
				u[k] = low[k] + (high[k]-low[k])*(float64(i)+0.5)/float64(n)
				visit(k + 1)
			}
			return
		}
		lp, _ := e.LogPosterior(u, nil)
		if lp > top {
			sum, top = sum*math.Exp(top-lp), lp
		}
		sum += math.Exp(lp - top)
	}
	visit(0)
	out := top + math.Log(sum)
	for k := range d {
		out += math.Log((high[k] - low[k]) / float64(n))
	}
	return out
}

// The mass of a mode before normalisation is the integral of the density around it: exactly
// for Gaussian posteriors, and up to the error of Laplace's method otherwise. That error
// is −1/12a for the logarithm of a gamma variate with the shape a, and −1/12 (1/a + 1/b −
// 1/(a+b)) for the logit of a beta variate, by Stirling's series, whose next term is below
// 1/360a³. The search ends 0.03 standard deviations from a mode, which lowers the density
// by 5e-4.
func TestMassOfAMode(t *testing.T) {
	nan := math.NaN()
	same := func(f, th []float64) { copy(f, th) }
	for _, c := range []struct {
		name      string
		p         *bayes.Posterior
		low, high []float64
		n         int
		laplace   float64 // error of Laplace's method
	}{
		{"a Gaussian", direct(distuv.Normal{Mu: 1, Sigma: 2}, 1, []float64{0.4}, 0.5, same), []float64{-4}, []float64{5}, 400, 0},
		{"a correlated Gaussian", direct(distuv.Normal{Mu: 1, Sigma: 2}, 2, []float64{0.4, 3}, 0.5, func(f, th []float64) { f[0], f[1] = th[0]+2*th[1], th[1]-th[0] }), []float64{-7, -5}, []float64{5, 7}, 400, 0},
		{"a gamma prior", direct(distuv.Gamma{Alpha: 20, Beta: 3}, 1, []float64{nan}, 1, same), []float64{-1}, []float64{4}, 400, -1. / 240},
		{"two gamma priors", direct(distuv.Gamma{Alpha: 10, Beta: 3}, 2, []float64{nan, nan}, 1, same), []float64{-2, -2}, []float64{4, 4}, 300, -2. / 120},
		{"a beta prior", direct(distuv.Beta{Alpha: 20, Beta: 30}, 1, []float64{nan}, 1, same), []float64{-4}, []float64{4}, 400, -(1./20 + 1./30 - 1./50) / 12},
	} {
		found, err := modes.Find(context.Background(), c.p, modes.Settings{Seed: 1})
		if err != nil {
			t.Fatal(err)
		}
		m := found.Modes[0]
		want := logIntegral(t, c.p, c.low, c.high, c.n) + c.laplace
		if got := m.LogMass; len(found.Modes) != 1 || m.Mass != 1 || !(math.Abs(got-want) < 1e-3) {
			t.Errorf("%s: %d modes; the first has the log mass %.5f and the share %g: want %.5f", c.name, len(found.Modes), got, m.Mass, want)
		}
	}
}

// The shares of two modes are those of the integrals on either side of the barrier. The
// datum is y = g(θ) with σ = 0.1 and g(θ) = θ² for θ > 0, 4 θ² for θ < 0, so the modes are at
// √y and −√y/2, with standard deviations in the ratio 2 : 1. The error of Laplace's
// method is of the order of their relative squares, 0.003. Draws are assigned by sides.
func TestSharesOfTwoModes(t *testing.T) {
	g := func(f, th []float64) {
		if f[0] = th[0] * th[0]; th[0] < 0 {
			f[0] *= 4
		}
	}
	p := direct(distuv.Normal{Mu: 0.3, Sigma: 1}, 1, []float64{1}, 0.1, g)
	found, err := modes.Find(context.Background(), p, modes.Settings{Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	right, left := math.Exp(logIntegral(t, p, []float64{0}, []float64{3}, 2000)), math.Exp(logIntegral(t, p, []float64{-3}, []float64{0}, 2000))
	if len(found.Modes) != 2 {
		t.Fatalf("%d modes", len(found.Modes))
	}
	for k, want := range []float64{right / (left + right), left / (left + right)} {
		if m := found.Modes[k]; !(math.Abs(m.Mass-want) < 0.01) || m.Theta[0] > 0 != (k == 0) {
			t.Errorf("the mode at %g has the share %.4f: want %.4f", m.Theta[0], m.Mass, want)
		}
	}
	draws := [][]float64{{1}, {0.9}, {1.1}, {-0.5}, {-0.45}, {0.6}, {-0.3}}
	assigned, err := modes.Assign(p, found, &mcmc.Chains{Names: p.Names(), Draws: [][][]float64{draws}})
	if err != nil {
		t.Fatal(err)
	}
	for i, th := range draws {
		want := 0
		if th[0] < 0 {
			want = 1
		}
		if assigned[0][i] != want {
			t.Errorf("the draw %g belongs to mode %d: want %d", th[0], assigned[0][i], want)
		}
	}
	shares, err := modes.Shares(p, found, &mcmc.Chains{Names: p.Names(), Draws: [][][]float64{draws}})
	if err != nil || math.Abs(shares[0]-4./7) > 1e-15 {
		t.Errorf("shares %g, %v: want 4/7 and 3/7", shares, err)
	}
}

// A cliff at 0.2 standard deviations beyond the second mode leaves Φ(0.2) = 0.579 of its peak, so
// its share is 0.367, where Gaussian approximations give both modes one half. The standard error
// is 0.011 by 300 points around each mode, whose weights are nearly equal.
func TestShareOfAModeAtACliff(t *testing.T) {
	g := func(f, th []float64) {
		if f[0] = math.Abs(th[0]); th[0] < -1.02 {
			f[0] = 5
		}
	}
	found, err := modes.Find(context.Background(), direct(distuv.Normal{Mu: 0, Sigma: 10}, 1, []float64{1}, 0.1, g), modes.Settings{Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	half := distuv.UnitNormal.CDF(0.2)
	if want := half / (1 + half); len(found.Modes) != 2 || !(math.Abs(found.Modes[1].Mass-want) < 0.045) || found.Modes[1].Theta[0] > 0 {
		t.Errorf("%d modes, the last with the share %.3f at %.3f: want %.3f at -1", len(found.Modes), found.Modes[len(found.Modes)-1].Mass, found.Modes[len(found.Modes)-1].Theta[0], want)
	}
}

// One datum, or none, or data that no parameter affects, leave a mode of the prior, with
// the covariance of the prior. The search says so without an error.
func TestModesOfLittleData(t *testing.T) {
	nan := math.NaN()
	prior := distuv.Normal{Mu: 2, Sigma: 0.5}
	for _, c := range []struct {
		name   string
		y      []float64
		g      func(f, th []float64)
		mean   float64
		spread float64
	}{
		{"no data", []float64{nan}, func(f, th []float64) { f[0] = th[0] }, 2, 0.5},
		{"one datum", []float64{3}, func(f, th []float64) { f[0] = th[0] }, (2/.25 + 3/.01) / (1/.25 + 1/.01), 1 / math.Sqrt(1/.25+1/.01)},
		{"a constant", []float64{3}, func(f, th []float64) { f[0] = 1 + 0*th[0] }, 2, 0.5},
		{"a huge datum", []float64{1e6}, func(f, th []float64) { f[0] = 1e6 + th[0] - 2 }, 2, 1 / math.Sqrt(1/.25+1/.01)},
		{"a tiny slope", []float64{0}, func(f, th []float64) { f[0] = 1e-12 * th[0] }, 2, 0.5},
	} {
		found, err := modes.Find(context.Background(), direct(prior, 1, c.y, 0.1, c.g), modes.Settings{Seed: 1})
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		m := found.Modes[0]
		if len(found.Modes) != 1 || m.Cov == nil || !(math.Abs(m.Theta[0]-c.mean) < 0.03*c.spread) || !(math.Abs(math.Sqrt(m.Cov.At(0, 0))/c.spread-1) < 1e-3) {
			t.Errorf("%s: %d modes, the first at %g with the covariance %v: want %g ± %g", c.name, len(found.Modes), m.Theta[0], m.Cov, c.mean, c.spread)
		}
	}
}

// Censored data with a limit far above what is expected carry no information; far below it
// they move the mode as a wall does. The mode and its curvature are those of the density
// in closed form: −½(θ/2)² + log Φ((limit − θ)/σ), whose derivatives follow from φ/Φ.
func TestModeOfCensoredData(t *testing.T) {
	const sigma = 0.5
	normal := distuv.UnitNormal
	for _, limit := range []float64{-3, 0.2, 9} {
		p := direct(distuv.Normal{Mu: 0, Sigma: 2}, 1, []float64{limit - 1}, 1, func(f, th []float64) { f[0] = th[0] })
		p.Experiments[0].Errors = []bayes.Likelihood{bayes.Censored{Of: bayes.Gaussian{Sigma: bayes.Known(sigma)}, Limit: limit}}
		// The slope decreases: bisection.
		slope := func(th float64) (first, second float64) {
			z := (limit - th) / sigma
			h := normal.Prob(z) / normal.CDF(z)
			return -th/4 - h/sigma, -1./4 - h*(z+h)/(sigma*sigma)
		}
		low, high := -10., 10.
		for range 100 {
			if s, _ := slope((low + high) / 2); s > 0 {
				low = (low + high) / 2
			} else {
				high = (low + high) / 2
			}
		}
		_, bend := slope(low)
		found, err := modes.Find(context.Background(), p, modes.Settings{Seed: 1})
		if err != nil {
			t.Fatal(err)
		}
		m, sd := found.Modes[0], 1/math.Sqrt(-bend)
		if len(found.Modes) != 1 || m.Cov == nil || !(math.Abs(m.Theta[0]-low) < 0.04*sd) || !(math.Abs(math.Sqrt(m.Cov.At(0, 0))/sd-1) < 0.02) {
			t.Errorf("limit %g: %d modes, the first at %g with the covariance %v: want %g ± %g", limit, len(found.Modes), m.Theta[0], m.Cov, low, sd)
		}
	}
}

package modes_test

import (
	"context"
	"fmt"
	"math"
	"strings"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/adams"
	"github.com/probode/probode/pkg/probode/bayes"
	"github.com/probode/probode/pkg/probode/bayes/cases"
	"github.com/probode/probode/pkg/probode/bayes/modes"
	"github.com/probode/probode/pkg/probode/bayes/sample"
	"github.com/probode/probode/pkg/probode/mcmc"
)

// direct is a model that every method solves without an error: the data are
// what g makes of θ, with errors of sd sigma.
func direct(prior bayes.Distribution, d int, y []float64, sigma float64, g func(dst, th []float64)) *bayes.Posterior {
	p := &probode.Problem{Name: "direct", X0: make([]float64, len(y)), Theta: make([]float64, d), Span: [2]float64{0, 1}}
	p.F = func(f []float64, _ float64, _, th []float64) { g(f, th) }
	post := &bayes.Posterior{
		Model: bayes.Model{
			Experiments: []bayes.Experiment{{Problem: p, Data: &bayes.Data{T: []float64{1}, Y: [][]float64{y}}, Errors: []bayes.Likelihood{bayes.Gaussian{Sigma: bayes.Known(sigma)}}}},
		},
		Setup: probode.Setup{Method: adams.Bashforth{}, Mesh: probode.Uniform(0.5)},
	}
	for k := range d {
		p.Theta[k] = prior.Quantile(0.5)
		p.Params = append(p.Params, fmt.Sprintf("x%d", k+1))
		post.Params = append(post.Params, bayes.Param{Name: p.Params[k], Prior: prior})
	}
	return post
}

// Posteriors on which a search for modes may say what is not so. What is known of them
// is the number of modes, and whether a Gaussian approximation of the first exists.
func TestHardModes(t *testing.T) {
	wide := distuv.Uniform{Min: -10, Max: 10}
	normal := distuv.Normal{Mu: 0, Sigma: 3}
	same := func(f, th []float64) { copy(f, th) }
	half := distuv.Uniform{Min: 0, Max: 10}
	wall := direct(half, 2, []float64{-1, 3}, 0.5, same)
	for k := range wall.Params {
		wall.Params[k].Natural = true
	}
	for _, c := range []struct {
		name     string
		p        *bayes.Posterior
		modes    int
		gaussian bool
		says     string // among the notes of a run
	}{
		{"the data are beyond a bound", direct(half, 2, []float64{-1, 3}, 0.5, same), 1, true, ""},
		{"the mode is on a wall", wall, 1, false, "no mode with a Gaussian approximation"},
		{"a ridge", direct(normal, 2, []float64{3}, 0.01, func(f, th []float64) { f[0] = th[0] + th[1] }), 1, true, ""},
		{"a ridge without an end", direct(distuv.Normal{Mu: 0, Sigma: 1000}, 2, []float64{3}, 0.01, func(f, th []float64) { f[0] = th[0] + th[1] }), 1, false, "no mode with a Gaussian approximation"},
		{"solved in a fiftieth of the prior", direct(wide, 2, []float64{1, 2}, 0.1, func(f, th []float64) {
			if copy(f, th); th[0] < 0 || th[0] > 2 || th[1] < 1 || th[1] > 5 {
				f[0] = math.NaN()
			}
		}), 1, true, "draws from the prior, so modes may have been missed where the equations could not be solved"},
		// Its maximum is a curve, and so are the ways between its points.
		{"a ring", direct(wide, 2, []float64{9}, 0.1, func(f, th []float64) { f[0] = th[0]*th[0] + th[1]*th[1] }), 1, true, ""},
		{"a banana", direct(normal, 2, []float64{0}, 0.05, func(f, th []float64) { f[0] = th[1] - th[0]*th[0] }), 1, true, ""},
		{"two ends of a curved valley", direct(normal, 2, []float64{0, 4}, 0.3, func(f, th []float64) { f[0], f[1] = 3*th[1]-th[0]*th[0], 0.8*th[0]*th[0] }), 2, true, "of the draws"},
		{"steps", direct(wide, 2, []float64{1, 2}, 0.3, func(f, th []float64) {
			for k := range f {
				f[k] = th[k] + 0.2*math.Floor(7*th[k])/7
			}
		}), 1, true, ""},
		{"two in 50 dimensions", direct(normal, 50, make([]float64, 50), 0.3, func(f, th []float64) { copy(f, th); f[49] = th[49]*th[49] - 4 }), 2, true, "the number of modes found only once is 0"},
	} {
		m, err := modes.Find(context.Background(), c.p, modes.Settings{Seed: 1})
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if len(m.Modes) != c.modes || (m.Modes[0].Cov != nil) != c.gaussian {
			t.Errorf("%s: %d modes, Gaussian %v: want %d and %v", c.name, len(m.Modes), m.Modes[0].Cov != nil, c.modes, c.gaussian)
		}
		for _, k := range m.Modes {
			// By symmetry; 300 points around each of two modes have a standard error of up to 0.02.
			if math.Abs(k.Mass-1/float64(c.modes)) > 0.04 {
				t.Errorf("%s: mass %g at %g", c.name, k.Mass, k.Theta)
			}
		}
		if run := float64(4 * (2000 + 250*len(c.p.Params))); m.Work > run/3 {
			t.Errorf("%s: %.0f solves, more than a third of a run", c.name, m.Work)
		}
		c.p.Modes = m
		chains, err := sample.Run(context.Background(), c.p, sample.Deterministic{}, mcmc.Settings{Draws: 50, BurnIn: 50, Seed: 1})
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
		} else if notes := strings.Join(chains.Notes, "\n"); !strings.Contains(notes, c.says) {
			t.Errorf("%s: no %q in the notes %q", c.name, c.says, notes)
		}
	}
}

// A spike of 1e-3 of the prior's width beside a mode of most of the mass: 1.5 % of the
// prior see it. Of 400 draws at most two do with probability .06; where the search
// misses it only then, it does so in more than three of 20 seeds, which are fixed, with
// probability .03.
func TestNarrowMode(t *testing.T) {
	p := direct(distuv.Uniform{Min: -10, Max: 10}, 1, []float64{0, 0}, 1, func(f, th []float64) {
		f[0], f[1] = th[0], 0
		if z := (th[0] - 5) / 0.005; math.Abs(z) < 30 {
			f[0] = 5 * (1 - math.Exp(-z*z/50))
		}
	})
	found := 0
	for seed := range uint64(20) {
		m, err := modes.Find(context.Background(), p, modes.Settings{Seed: seed})
		if err != nil {
			t.Fatal(err)
		}
		for _, k := range m.Modes {
			if math.Abs(k.Theta[0]-5) < 0.01 {
				found++
			}
		}
	}
	if found < 17 {
		t.Errorf("found in %d of 20 seeds", found)
	}
}

// named returns the posterior of a case.
func named(t *testing.T, name string) *bayes.Posterior {
	t.Helper()
	c, err := cases.Named(name)
	if err != nil {
		t.Fatal(err)
	}
	return c.Posterior()
}

// The two modes of the dragons and of the oscillator are found whatever the seed; and
// those of FitzHugh and Nagumo's equation from two initial values that lead to the same
// orbit, of which one search in eighty from a draw of the prior finds the second. The masses are
// weighed with a standard error of about 0.01.
func TestModesOfEverySeed(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	for _, c := range []struct {
		name string
		p    *bayes.Posterior
		want float64 // mass of the first
	}{
		{"dragons", named(t, "dragons"), 0.933},
		{"dragons-uniform", named(t, "dragons-uniform"), 0.765},
		{"alias", named(t, "alias"), 0.5},
		{"FitzHughNagumo8", fitzHughNagumo8(), 0.891},
	} {
		for seed := range uint64(20) {
			m, err := modes.Find(context.Background(), c.p, modes.Settings{Seed: seed})
			if err != nil {
				t.Fatal(err)
			}
			if heavy := m.Modes[0].Mass + m.Modes[1].Mass; heavy < 0.99 || math.Abs(m.Modes[0].Mass-c.want) > 0.03 {
				t.Errorf("%s, seed %d: %d modes, the first of mass %g", c.name, seed, len(m.Modes), m.Modes[0].Mass)
			}
			if run := float64(4 * (2000 + 250*len(c.p.Params))); m.Work > 0.25*run {
				t.Errorf("%s, seed %d: %.0f solves, %.3f of a run", c.name, seed, m.Work, m.Work/run)
			}
		}
	}
}

// Most searches come to the only mode of the paper's posterior, whose flat prior has
// walls that some begin near: without sliding along them, one of six. Alone four of five
// do; of 40 fewer than 20 with a probability of 1e-5.
func TestSearchesSlideAlongWalls(t *testing.T) {
	m, err := modes.Find(context.Background(), named(t, "fitzhugh-nagumo"), modes.Settings{Seed: 1, Starts: 40})
	if err != nil {
		t.Fatal(err)
	}
	if len(m.Modes) != 1 || m.Modes[0].Found < 20 {
		t.Errorf("%s", m.Missed())
	}
}

// Of exchangeable rates and amounts, six modes hold a sixth each, and a fifth of the
// solves of a run is too little for some seeds. Where a mode is missing the search doubts
// itself: in at least three of four such seeds.
func TestDoubtIsHonest(t *testing.T) {
	p := exponentials(3)
	missed, doubted := 0, 0
	for seed := range uint64(20) {
		m, err := modes.Find(context.Background(), p, modes.Settings{Seed: seed})
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for _, k := range m.Modes {
			if k.LogMass > m.Modes[0].LogMass-1 {
				n++
			}
		}
		if n < 6 {
			missed++
			if m.Doubtful() {
				doubted++
			}
		}
	}
	if 4*doubted < 3*missed {
		t.Errorf("a mode missed in %d of 20 seeds, of which %d in doubt", missed, doubted)
	}
}

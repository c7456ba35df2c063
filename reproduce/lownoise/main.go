// Command lownoise counts how often a search for the parameters of a model gets stuck if
// the measurement errors are small. The command compares searches that compute the
// likelihood with an accurate solver, with Fenrir or with DALTON. In Fenrir and DALTON
// the diffusion κ² is one of the parameters.
//
//	go run ./reproduce/lownoise [-sets N] [-seed N]
//
// The command uses the FitzHugh–Nagumo model. Each data set contains measurements of both
// components at 40 times up to t = 20. The measurement errors have a standard deviation
// of 0.05. For each data set, a starting point is drawn from log-normal distributions
// around the true parameters, with standard deviations of 0.5 on the log scale. Each
// search begins either at the starting point of the data set or at the true parameters.
// For each search, the table shows the standard deviations of the estimates on the log
// scale. Another column divides each standard deviation by the result of the search that
// starts at the true parameters.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/probode/probode/internal/shell"
	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/bayes"
	"github.com/probode/probode/pkg/probode/bayes/marginal"
	"github.com/probode/probode/pkg/probode/bayes/shape"
	"github.com/probode/probode/pkg/probode/filter"
	"github.com/probode/probode/pkg/probode/methods"
	"github.com/probode/probode/pkg/probode/problems"
	"github.com/probode/probode/pkg/probode/reference"
)

func main() { shell.Main("lownoise", run) }

func run(ctx context.Context, args []string) error {
	fs := flag.NewFlagSet("lownoise", flag.ContinueOnError)
	sets := fs.Int("sets", 100, "`number` of data sets")
	seed := fs.Uint64("seed", 1, "seed for the data and the starting points of the searches")
	if err := shell.Parse(fs, args); err != nil {
		return err
	}
	if *sets < 2 {
		return fmt.Errorf("-sets is %d: want at least 2", *sets)
	}
	s, err := compute(ctx, searches, *sets, *seed)
	if err != nil {
		return err
	}
	return s.write(os.Stdout)
}

const (
	noise = 0.05 // sd of the errors of the data
	apart = 6    // a search that ends more than this number of sds from the truth is stuck
)

type study struct {
	truth     []float64
	searches  []search
	estimates [][][]float64 // by search and data set; nil where the search failed
}

type search struct {
	name  string
	truth bool // it begins at the true parameters
	// A search may consist of several climbs, each of which starts where the previous
	// climb ended. The field `diffusions` holds a value of κ² for each climb. The last
	// climb estimates κ², starting from the last element of `diffusions`. Every climb
	// except the last keeps κ² fixed.
	diffusions []float64
	integral   bayes.Integral
}

// falling is for diffusion tempering [Beck et al. 2024]. The best κ² for FitzHugh–Nagumo
// is about 10⁴.
var falling = []float64{1e12, 1e10, 1e8, 1e6}

var searches = []search{
	{name: "least squares from the truth", truth: true},
	{name: "least squares"},
	{name: "Fenrir", diffusions: []float64{1e4}, integral: marginal.Fenrir},
	{name: "Fenrir, tempered", diffusions: falling, integral: marginal.Fenrir},
	{name: "DALTON", diffusions: []float64{1e4}, integral: marginal.DALTON},
	{name: "DALTON, tempered", diffusions: falling, integral: marginal.DALTON},
}

func compute(ctx context.Context, searches []search, sets int, seed uint64) (*study, error) {
	p := problems.FitzHughNagumo()
	s := &study{truth: p.Theta, searches: searches, estimates: make([][][]float64, len(searches))}
	data := bayes.Data{Names: []string{"V", "R"}}
	for i := range 40 {
		data.T = append(data.T, float64(i+1)/2)
	}
	exact, err := reference.Solve(ctx, p, data.T, reference.Settings{})
	if err != nil {
		return nil, err
	}
	for n := range sets {
		rng := rand.New(rand.NewPCG(seed, uint64(n)))
		own := data
		for i := range own.T {
			own.Y = append(own.Y, []float64{exact.X[2*i] + noise*rng.NormFloat64(), exact.X[2*i+1] + noise*rng.NormFloat64()})
		}
		start := make([]float64, len(p.Theta))
		for k, v := range p.Theta {
			start[k] = v * math.Exp(0.5*rng.NormFloat64())
		}
		for i, way := range s.searches {
			from := start
			if way.truth {
				from = p.Theta
			}
			found, _ := way.estimate(ctx, model(p, &own), from)
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			s.estimates[i] = append(s.estimates[i], found)
		}
	}
	return s, nil
}

// model has priors so wide that they have almost no effect.
func model(p *probode.Problem, data *bayes.Data) bayes.Model {
	m := bayes.Model{Experiments: []bayes.Experiment{{Problem: p, Data: data, Errors: []bayes.Likelihood{bayes.Gaussian{Sigma: bayes.Known(noise)}}}}}
	for _, name := range p.Params {
		m.Params = append(m.Params, bayes.Param{Name: name, Prior: distuv.LogNormal{Sigma: 3}})
	}
	return m
}

func (w search) estimate(ctx context.Context, m bayes.Model, from []float64) ([]float64, error) {
	if w.diffusions == nil {
		return climb(ctx, &bayes.Posterior{Model: m, Setup: probode.Setup{Method: methods.RungeKutta{}, Mesh: probode.Through(0.025)}}, from)
	}
	p := &bayes.Posterior{Model: m, Setup: probode.Setup{Method: filter.EK{Q: 3}, Mesh: probode.Through(0.05)}, Integral: w.integral}
	last := len(w.diffusions) - 1
	var err error
	for i, kappa2 := range w.diffusions {
		if p.Alpha = kappa2; i == last {
			p.Params = append(p.Params, bayes.Param{Name: "kappa2", Prior: distuv.LogNormal{Mu: math.Log(1e4), Sigma: 10}})
			p.AlphaParam, from = "kappa2", append(from[:len(from):len(from)], kappa2)
		}
		if from, err = climb(ctx, p, from); err != nil {
			return nil, err
		}
	}
	return from[:len(from)-1], nil // without κ²
}

func climb(ctx context.Context, p *bayes.Posterior, from []float64) ([]float64, error) {
	e, err := bayes.NewDensity(ctx, p)
	if err != nil {
		return nil, err
	}
	defer e.Bind(ctx)()
	u, theta := make([]float64, len(from)), make([]float64, len(from))
	if err := e.Unconstrain(u, from); err != nil {
		return nil, err
	}
	surface := shape.NewSurface(e)
	a := surface.Ascent(u, surface.Value(u))
	if math.IsInf(a.Value, -1) {
		return nil, errors.New("the density at the starting point of the search is zero or cannot be computed")
	}
	a.Climb(ctx, surface, 1e-6, 200)
	e.Constrain(theta, a.X)
	return theta, nil
}

// spread is the sd of log θ without the data sets in which search i failed or was farther
// off than a limit. It returns their number.
func (s *study) spread(i int, limit []float64) (sd []float64, stuck int) {
	logs := make([][]float64, len(s.truth))
	for _, found := range s.estimates[i] {
		inside := found != nil
		for k := range found {
			inside = inside && (limit == nil || math.Abs(math.Log(found[k]/s.truth[k])) <= limit[k])
		}
		if !inside {
			stuck++
			continue
		}
		for k := range found {
			logs[k] = append(logs[k], math.Log(found[k]))
		}
	}
	for _, x := range logs {
		sd = append(sd, stat.StdDev(x, nil))
	}
	return sd, stuck
}

func (s *study) write(out io.Writer) error {
	best, _ := s.spread(0, nil)
	limit := make([]float64, len(best))
	floats.ScaleTo(limit, apart, best)
	table := fmt.Sprintf("| search | sd of log θ₁, θ₂, θ₃ | sd relative to the first row | stuck searches (of %d) |\n|---|---|---|---|\n", len(s.estimates[0]))
	for i, way := range s.searches {
		sd, stuck := s.spread(i, limit)
		ratio := floats.DivTo(make([]float64, len(sd)), sd, best)
		table += fmt.Sprintf("| %s | %.4f | %.2f | %d |\n", way.name, sd, ratio, stuck)
	}
	_, err := io.WriteString(out, table)
	return err
}

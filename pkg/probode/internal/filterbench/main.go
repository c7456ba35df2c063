// Filterbench solves the FitzHugh–Nagumo equations with Gaussian filters for
// environment/bench_filters.py, which compares the results and the computing times with
// those of other programs. Filterbench reads one request per line from standard input, as
// JSON, and answers each request with one line.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"math"
	"os"
	"time"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/probode/probode/internal/shell"
	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/bayes"
	"github.com/probode/probode/pkg/probode/bayes/marginal"
	"github.com/probode/probode/pkg/probode/filter"
	"github.com/probode/probode/pkg/probode/problems"
)

type request struct {
	What     string          // filter, smooth, fenrir or dalton
	Q        int             // order
	Jacobian filter.Jacobian // 0 for EK1, 1 for EK0
	Width    int             // 1 for the diagonal of the Jacobian
	Step     float64
	End      float64
	Y        [][]float64 // data at t = 1, 2, …, with errors of sd .1
	Repeat   int
}

type answer struct {
	Mean, SD [][]float64 // [component]time
	Value    float64
	Seconds  float64 // of the fastest repetition
}

func main() {
	shell.Main("filterbench", func(ctx context.Context, _ []string) error {
		lines := bufio.NewScanner(os.Stdin)
		lines.Buffer(nil, 1<<20)
		for lines.Scan() {
			var r request
			if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
				return err
			}
			a, err := r.answer(ctx)
			if err != nil {
				return err
			}
			if err := json.NewEncoder(os.Stdout).Encode(a); err != nil {
				return err
			}
		}
		return lines.Err()
	})
}

func (r *request) answer(ctx context.Context) (a answer, err error) {
	p := problems.FitzHughNagumo()
	p.Span[1] = r.End
	once := func() error { return r.solve(ctx, p, &a) }
	if r.What == "fenrir" || r.What == "dalton" {
		if once, err = r.likelihood(ctx, p, &a); err != nil {
			return a, err
		}
	}
	a.Seconds = math.Inf(1)
	for range r.Repeat {
		begin := time.Now()
		if err := once(); err != nil {
			return a, err
		}
		a.Seconds = min(a.Seconds, time.Since(begin).Seconds())
	}
	return a, nil
}

func (r *request) method() filter.EK { return filter.EK{Q: r.Q, Jacobian: r.Jacobian, Width: r.Width} }

func (r *request) solve(ctx context.Context, p *probode.Problem, a *answer) error {
	s, err := filter.Solve(ctx, p, filter.Settings{EK: r.method(), Mesh: probode.Uniform(r.Step), Alpha: 1, Forward: r.What == "filter"})
	if err == nil {
		a.Mean, a.SD = s.Mean, s.SD
	}
	return err
}

// likelihood allocates its workspace once, as a sampler does.
func (r *request) likelihood(ctx context.Context, p *probode.Problem, a *answer) (func() error, error) {
	data := &bayes.Data{Y: r.Y}
	for i := range r.Y {
		data.T = append(data.T, float64(i+1))
	}
	m := bayes.Model{Experiments: []bayes.Experiment{{Problem: p, Data: data, Errors: []bayes.Likelihood{bayes.Gaussian{Sigma: bayes.Known(0.1)}}}}}
	for _, name := range p.Params {
		m.Params = append(m.Params, bayes.Param{Name: name, Prior: distuv.LogNormal{Sigma: 1}})
	}
	q := &bayes.Posterior{Model: m, Setup: probode.Setup{Method: r.method(), Mesh: probode.Uniform(r.Step), Alpha: 1}, Integral: marginal.Fenrir}
	if r.What == "dalton" {
		q.Integral = marginal.DALTON
	}
	e, err := bayes.NewDensity(ctx, q)
	return func() (err error) {
		a.Value, err = e.LogLikelihood(p.Theta, nil)
		return err
	}, err
}

// Likelihoodbench computes log-likelihoods and gradients for
// environment/bench_roadrunner.py, which compares the computing times with those of
// another program. Likelihoodbench reads one request per line from standard input, as
// JSON, and answers each request with one line.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"slices"

	"github.com/probode/probode/internal/shell"
	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/catalog"
	"github.com/probode/probode/pkg/probode/model"
)

type request struct {
	What string // see newTask

	Model    string  // YAML file of a PEtab problem
	Method   string  // a name that catalog.Parse knows
	Relative float64 // tolerance; zero stands for the default of model.LikelihoodSettings
	Absolute float64 // tolerance; zero stands for the default of probode.Tolerance

	Repeat int
}

// A task returns the log-likelihood, or zero if it computes something else.
type task func(ctx context.Context) (float64, error)

func main() {
	shell.Main("likelihoodbench", func(ctx context.Context, _ []string) error {
		tasks := map[request]task{}
		for lines := bufio.NewScanner(os.Stdin); ; {
			if !lines.Scan() {
				return lines.Err()
			}
			var r request
			if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
				return err
			}
			n := r.Repeat
			r.Repeat = 0
			if tasks[r] == nil {
				t, err := newTask(ctx, r)
				if err != nil {
					return err
				}
				tasks[r] = t
			}
			var value float64
			for range n {
				v, err := tasks[r](ctx)
				if err != nil {
					return err
				}
				value = v
			}
			if err := json.NewEncoder(os.Stdout).Encode(value); err != nil {
				return err
			}
		}
	})
}

// newTask prepares a computation:
//
//	likelihood   the log-likelihood, at the nominal parameters and beside them in turn
//	solve        the solutions of all experiments on grids that do not change
//	gradient     only the backward passes through these solutions
func newTask(ctx context.Context, r request) (task, error) {
	f, err := model.Load(r.Model)
	if err != nil {
		return nil, err
	}
	m, err := catalog.Parse(r.Method)
	if err != nil {
		return nil, err
	}
	tolerance := probode.Tolerance{Relative: r.Relative}
	if r.Absolute > 0 {
		tolerance.Absolute = []float64{r.Absolute}
	}
	switch r.What {
	case "likelihood":
		set := model.LikelihoodSettings{Method: m, Tolerance: tolerance, Workers: 1}
		if r.Relative > 0 {
			set.MaxStep = math.Inf(1)
		}
		return likelihood(f, set)
	case "solve", "gradient":
		return frozen(ctx, f, m, tolerance, r.What == "gradient")
	}
	return nil, fmt.Errorf("the computation is %q: want likelihood, solve or gradient", r.What)
}

func likelihood(f *model.File, set model.LikelihoodSettings) (task, error) {
	l, err := f.LogLikelihood(set)
	if err != nil {
		return nil, err
	}
	at := slices.IndexFunc(f.Params, func(p model.Parameter) bool { return p.Estimate })
	calls := 0
	return func(ctx context.Context) (float64, error) {
		theta := f.Nominal()
		theta[at] *= 1 + 1e-10*float64(calls%2) // because the solutions at the last θ are remembered
		calls++
		v, err := l.At(ctx, theta, false)
		if err != nil {
			return 0, err
		}
		return v.LogLikelihood, nil
	}, nil
}

func frozen(ctx context.Context, f *model.File, m probode.Method, tolerance probode.Tolerance, gradient bool) (task, error) {
	odes, err := f.ODEs()
	if err != nil {
		return nil, err
	}
	var all []func() error
	for _, p := range odes {
		s, err := probode.Setup{Method: m, Mesh: probode.Frozen{Tolerance: tolerance}}.Solver(ctx, p, nil, nil)
		if err != nil {
			return nil, err
		}
		z := make([]float64, s.PathLen())
		if err := s.Solve(z, p.Theta, nil); err != nil {
			return nil, err
		}
		if w, to := slices.Repeat([]float64{1}, len(z)), (&probode.Gradient{Theta: make([]float64, len(p.Theta))}); gradient {
			all = append(all, func() error { return s.Gradient(to, w, z, p.Theta, nil) })
		} else {
			all = append(all, func() error { return s.Solve(z, p.Theta, nil) })
		}
	}
	return func(context.Context) (float64, error) {
		for _, once := range all {
			if err := once(); err != nil {
				return 0, err
			}
		}
		return 0, nil
	}, nil
}

package assess

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/probode/probode/pkg/internal/progress"
	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/bayes"
	"github.com/probode/probode/pkg/probode/bayes/compare"
	"github.com/probode/probode/pkg/probode/bayes/modes"
	"github.com/probode/probode/pkg/probode/bayes/sample"
)

// plan holds the posterior, the settings and the setups of an assessment.
type plan struct {
	p        *bayes.Posterior
	s        Settings
	setups   []setup // method by method, the largest step first
	assessed []int   // indices of the assessed parameters
	madeBy   int     // index of Settings.MadeBy among the setups
}

// A setup is solved without noise. The field `exact` says that all observations are at
// grid points.
type setup struct {
	probode.Setup
	exact bool
}

func (s *setup) String() string { return described(s.Setup) }

func newPlan(p *bayes.Posterior, s Settings) (*plan, error) {
	if err := s.check(p); err != nil {
		return nil, err
	}
	s.complete(p)
	if _, err := bayes.NewDensity(context.Background(), p.SolvedBy(s.Accurate)); err != nil {
		return nil, err
	}
	pl := &plan{p: p, s: s}
	for k, param := range p.Params {
		if param.Name != p.AlphaParam {
			pl.assessed = append(pl.assessed, k)
		}
	}
	for i, c := range s.Candidates {
		by := c.Or(p.Setup)
		by.Alpha, by.Scaling = 0, cmp.Or(by.Scaling, p.Scaling)
		if err := pl.add(by); err != nil {
			return nil, fmt.Errorf("%w (in Candidates[%d])", err, i)
		}
	}
	if len(pl.setups) == 0 {
		return nil, errors.New("assess: there are no Candidates: want at least one")
	}
	first := pl.setups[0].String()
	pl.sort()
	if s.given() {
		pl.madeBy = slices.IndexFunc(pl.setups, func(x setup) bool { return x.String() == first })
	}
	return pl, pl.checkNoise()
}

// add adds a setup. If all steps are equal, the setup has the step size of the actual
// grid, which may differ slightly from the requested step size.
func (pl *plan) add(by probode.Setup) error {
	d, err := bayes.NewDensity(context.Background(), pl.by(by))
	if err != nil {
		return err
	}
	s := setup{by, true}
	if h := by.StepSize(); h > 0 {
		if u, ok := d.Part(0).Grid().Solver().Grid().Uniform(); ok {
			s.Setup = by.WithStepSize(u)
		}
		for i, x := range pl.p.Experiments {
			if _, err := d.Part(i).Grid().Solver().Grid().Index(x.Data.T); err != nil {
				s.exact = false
			}
		}
	}
	pl.setups = append(pl.setups, s)
	return nil
}

// sort orders the setups by method, in the order in which the methods are given, and then
// by size, and removes setups that occur twice.
func (pl *plan) sort() {
	order := map[string]int{}
	method := func(s setup) int {
		c := candidate(s.Setup, false)
		if _, ok := order[c.Method]; !ok {
			order[c.Method] = len(order)
		}
		return order[c.Method]
	}
	for _, s := range pl.setups {
		method(s)
	}
	slices.SortStableFunc(pl.setups, func(x, y setup) int {
		return cmp.Or(cmp.Compare(method(x), method(y)), cmp.Compare(compare.Size(y.Setup), compare.Size(x.Setup)))
	})
	pl.setups = slices.CompactFunc(pl.setups, func(x, y setup) bool { return x.String() == y.String() })
}

// checkNoise checks whether the sampler can draw from the posterior of every setup.
// Otherwise the failure would appear only after a long computation.
func (pl *plan) checkNoise() error {
	if pl.s.Noise == nil {
		return nil
	}
	for i := range pl.setups {
		p := pl.frozen(i, pl.p.GridAt)
		p.Alpha = 1
		d, err := bayes.NewDensity(context.Background(), p)
		if err == nil {
			err = sample.Check(pl.s.Noise, d)
		}
		if err != nil {
			return fmt.Errorf("assess: %v: %w", &pl.setups[i], err)
		}
	}
	return nil
}

// report returns an empty report.
func (pl *plan) report() *Report {
	nan := math.NaN()
	a := &Report{Threshold: pl.s.Threshold, Confidence: pl.s.Confidence, Looks: mostLooks,
		Reference: described(pl.reference()), Unseen: nan, Names: pl.p.Names()}
	for _, s := range pl.setups {
		a.Candidates = append(a.Candidates, candidate(s.Setup, false))
		if pl.s.Noise != nil {
			a.Candidates = append(a.Candidates, candidate(s.Setup, true))
		}
	}
	var titles []string
	for _, x := range pl.p.Experiments {
		if !slices.Contains(titles, x.Problem.Name) {
			titles = append(titles, x.Problem.Name)
		}
	}
	if a.Model = titles[0]; len(titles) > 1 {
		a.Model += fmt.Sprintf(" and %d more", len(titles)-1)
	}
	for _, k := range pl.assessed {
		a.Params = append(a.Params, Marginal{Name: pl.p.Params[k].Name, Median: unknown(), Mean: unknown()})
	}
	return a
}

// reference returns the setup of the accurate solver.
func (pl *plan) reference() probode.Setup { return pl.s.Accurate.Or(pl.p.Setup) }

// accurate returns the reference posterior.
func (pl *plan) accurate() *bayes.Posterior { return pl.by(pl.reference()) }

func (pl *plan) by(s probode.Setup) *bayes.Posterior {
	q := *pl.p
	q.Setup, q.GridAt = s, nil
	return &q
}

// of returns the posterior that is computed with setup i.
func (pl *plan) of(i int) *bayes.Posterior { return pl.by(pl.setups[i].Setup) }

// frozen returns the posterior for inference with noise by setup i. Noise needs a grid
// that does not depend on θ. Under error control, the solver therefore chooses the steps
// once, at the point `mode`.
func (pl *plan) frozen(i int, mode []float64) *bayes.Posterior {
	q := pl.of(i)
	if m, ok := q.Mesh.(probode.Adaptive); ok {
		q.Mesh, q.GridAt = probode.Frozen(m), mode
	}
	return q
}

// seed returns a different seed for each run, so that the runs are independent.
func (pl *plan) seed(key ...uint64) uint64 {
	return probode.Stream(pl.s.Chains.Seed, append([]uint64{0x617373657373}, key...)...).Uint64()
}

func (pl *plan) search(from [][]float64) modes.Settings {
	s := modes.Settings{Seed: pl.s.Chains.Seed, Workers: pl.s.Chains.Workers, From: from}
	if pl.s.From != nil {
		s.Points = -1
	}
	return s
}

type work struct {
	ctx         context.Context
	show        func(done, total int, doing string)
	done, total int
}

func (w *work) say(format string, args ...any) {
	if w.show != nil {
		w.show(w.done, w.total, fmt.Sprintf(format, args...))
	}
}

// advance counts a piece of work as done.
func (w *work) advance() { w.done = min(w.done+1, w.total) }

// saying returns a context for the progress of the piece of work.
func (w *work) saying(format string, args ...any) context.Context {
	what := fmt.Sprintf(format, args...)
	w.say("%s", what)
	if w.show == nil {
		return w.ctx
	}
	return progress.With(w.ctx, func(string) progress.Hook {
		return func(_, _ int, doing string) {
			if doing != "" {
				w.say("%s: %s", what, doing)
			}
		}
	})
}

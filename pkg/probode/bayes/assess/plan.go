package assess

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/probode/probode/pkg/internal/progress"
	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/bayes"
	"github.com/probode/probode/pkg/probode/bayes/certify"
	"github.com/probode/probode/pkg/probode/bayes/modes"
	"github.com/probode/probode/pkg/probode/bayes/sample"
	"github.com/probode/probode/pkg/probode/methods"
)

// plan has, with a ladder of tolerances, an adaptive solver for the deterministic
// inference: the likelihood jumps where a step changes from accepted to rejected. With
// noise, the grid is that of the mode for every θ. Freezing it for the deterministic
// inference is a remedy.
type plan struct {
	p        *bayes.Posterior
	s        Settings
	ladder   []level // the largest step first
	asked    []int   // indices in the ladder of the requested steps
	assessed []int   // indices of the assessed parameters
}

type level struct {
	Rung
	setup probode.Setup
	exact bool // all observations are at grid points
}

func newPlan(p *bayes.Posterior, s Settings) (*plan, error) {
	if err := s.check(p); err != nil {
		return nil, err
	}
	q := *p
	switch {
	case p.StepSize() == 0 && len(s.Steps) > 0:
		q.Mesh, q.GridAt = probode.Uniform(s.Steps[0]), nil
	case p.Mesh == nil && len(s.Tolerances) > 0:
		q.Mesh = probode.Adaptive{Tolerance: s.Tolerances[0]}
	}
	if _, err := bayes.NewDensity(context.Background(), &q); err != nil {
		return nil, err
	}
	s.complete(&q)
	if _, err := bayes.NewDensity(context.Background(), q.SolvedBy(s.Accurate)); err != nil {
		return nil, err
	}
	pl := &plan{p: &q, s: s}
	for k, param := range p.Params {
		if param.Name != p.AlphaParam {
			pl.assessed = append(pl.assessed, k)
		}
	}
	var sizes []float64
	for _, h := range s.Steps {
		sizes = append(sizes, h)
		if err := pl.add(level{setup: q.WithStepSize(h)}); err != nil {
			return nil, fmt.Errorf("%w (in Steps)", err)
		}
	}
	for _, t := range s.Tolerances {
		by := q.Setup
		by.Mesh = probode.Adaptive{Tolerance: t}
		sizes = append(sizes, Rung{Tolerance: t}.Size())
		if err := pl.add(level{Rung: Rung{Tolerance: t}, setup: by, exact: true}); err != nil {
			return nil, fmt.Errorf("%w (in Tolerances)", err)
		}
	}
	if len(pl.ladder) == 0 {
		return nil, errors.New("assess: there are no Steps to assess")
	}
	slices.SortStableFunc(pl.ladder, func(x, y level) int { return cmp.Compare(y.Size(), x.Size()) })
	pl.ladder = slices.CompactFunc(pl.ladder, func(x, y level) bool { return math.Abs(x.Size()-y.Size()) < 1e-9*y.Size() })
	for _, size := range sizes {
		pl.asked = append(pl.asked, pl.nearest(size))
	}
	return pl, pl.checkReplaced()
}

// checkReplaced lets a failure of a sample.Replacer appear before long computations.
func (pl *plan) checkReplaced() error {
	r, ok := pl.s.Sampler.(sample.Replacer)
	if !ok {
		return nil
	}
	for i := range pl.ladder {
		p := pl.frozen(i, pl.p.GridAt)
		p.Alpha = 1
		q, err := r.Replace(context.Background(), p)
		if err == nil {
			_, err = bayes.NewDensity(context.Background(), q)
		}
		if err != nil {
			return fmt.Errorf("assess: %v: %w", &pl.ladder[i], err)
		}
	}
	return nil
}

// add stores the actual step of an equidistant grid, which may differ from the requested
// one.
func (pl *plan) add(l level) error {
	d, err := bayes.NewDensity(context.Background(), pl.by(l.setup))
	if err != nil {
		return err
	}
	if h := l.setup.StepSize(); h > 0 {
		if u, ok := d.Part(0).Grid().Solver().Grid().Uniform(); ok {
			h = u
		}
		l.StepSize, l.setup, l.exact = h, l.setup.WithStepSize(h), true
		for i, x := range pl.p.Experiments {
			if _, err := d.Part(i).Grid().Solver().Grid().Index(x.Data.T); err != nil {
				l.exact = false
			}
		}
	}
	pl.ladder = append(pl.ladder, l)
	return nil
}

func (pl *plan) nearest(size float64) int {
	at, least := 0, math.Inf(1)
	for i, l := range pl.ladder {
		if d := math.Abs(math.Log(l.Size() / size)); d < least {
			at, least = i, d
		}
	}
	return at
}

func (pl *plan) report() *Report {
	nan := math.NaN()
	a := &Report{Method: pl.p.Method.String(), Order: pl.p.Method.Order(), Threshold: pl.s.Threshold, Confidence: pl.s.Confidence, Looks: 1,
		ReferenceSolver: pl.s.Accurate.Or(pl.p.Setup).String(), Unseen: nan, Asked: pl.asked, Names: pl.p.Names()}
	if pl.s.Auto {
		a.Looks = mostLooks
	}
	for _, l := range pl.ladder {
		a.Steps = append(a.Steps, l.Rung)
	}
	var titles []string
	for _, x := range pl.p.Experiments {
		if !slices.Contains(titles, x.Problem.Name) {
			titles = append(titles, x.Problem.Name)
		}
	}
	a.Model = strings.Join(titles, ", ")
	for _, k := range pl.assessed {
		a.Params = append(a.Params, AccurateMarginal{Name: pl.p.Params[k].Name, Median: unknown(), Mean: unknown()})
	}
	return a
}

func (pl *plan) finest() int { return len(pl.ladder) - 1 }

func (pl *plan) by(s probode.Setup) *bayes.Posterior {
	q := *pl.p
	q.Setup, q.GridAt = s, nil
	return &q
}

func (pl *plan) of(i int) *bayes.Posterior { return pl.by(pl.ladder[i].setup) }

// frozen chooses the steps once, at `mode`.
func (pl *plan) frozen(i int, mode []float64) *bayes.Posterior {
	q := pl.of(i)
	if l := &pl.ladder[i]; l.StepSize == 0 {
		q.Mesh, q.GridAt = probode.Frozen{Tolerance: l.Tolerance}, mode
	}
	return q
}

// finer returns probably more accurate posteriors, the cheapest first.
func (pl *plan) finer(mode []float64) (out []*bayes.Posterior) {
	f := pl.finest()
	l := &pl.ladder[f]
	if h := l.StepSize; h > 0 {
		dp := probode.Method(methods.RungeKutta{Tableau: methods.DormandPrince})
		for _, by := range []struct {
			m probode.Method
			h float64
		}{{dp, h}, {dp, h / 4}, {pl.p.Method, h / 4}, {pl.p.Method, h / 16}} {
			q := pl.by(l.setup.WithStepSize(by.h))
			q.Method = by.m
			out = append(out, q)
		}
		return out
	}
	for _, by := range []float64{1e-2, 1e-4, 1e-6} {
		q := pl.frozen(f, mode)
		q.Setup = certify.Sized(q.Setup, math.Max(by*l.Size(), 1e-13))
		out = append(out, q)
	}
	return out
}

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

func (w *work) advance(n int) error {
	w.done = min(w.done+n, w.total)
	return w.ctx.Err()
}

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

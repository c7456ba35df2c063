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
	"github.com/probode/probode/pkg/probode/reference"
)

// A plan says what is to be done: which posterior, with which settings, on which ladder.
//
// With a ladder of tolerances the deterministic inference is what users of an adaptive
// solver have: the solver chooses its steps again at every θ, and the likelihood jumps
// where one is taken or rejected. Noise needs fixed grids: the noisy inference has those
// of the mode, frozen, which are among the remedies of the deterministic one, too.
type plan struct {
	p        *bayes.Posterior
	s        Settings
	ladder   []Step // the largest step first, with nothing known but the settings
	asked    []int  // indices in the ladder of the steps that were asked for
	assessed []int  // indices of the assessed parameters
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
	if err := pl.addSteps(); err != nil {
		return nil, err
	}
	if err := pl.addTolerances(); err != nil {
		return nil, err
	}
	if len(pl.ladder) == 0 {
		return nil, errors.New("assess: there are no Steps to assess")
	}
	for _, t := range s.Tolerances {
		pl.asked = append(pl.asked, pl.nearest(sizeOf(t)))
	}
	for _, h := range s.Steps {
		pl.asked = append(pl.asked, pl.nearest(h))
	}
	return pl, nil
}

// addSteps adds the step sizes as their grids have them, the largest first.
func (pl *plan) addSteps() error {
	for _, h := range slices.Backward(slices.Sorted(slices.Values(pl.s.Steps))) {
		e, err := bayes.NewDensity(context.Background(), pl.at(h))
		if err != nil {
			return fmt.Errorf("%w (in Steps)", err)
		}
		if u, ok := e.Part(0).Grid().Solver().Grid().Uniform(); ok {
			h = u
		}
		if n := len(pl.ladder); n > 0 && math.Abs(pl.ladder[n-1].StepSize-h) < 1e-9*h {
			continue
		}
		st := unknownStep()
		st.StepSize, st.Exact = h, true
		for i, x := range pl.p.Experiments {
			if _, err := e.Part(i).Grid().Solver().Grid().Index(x.Data.T); err != nil {
				st.Exact = false
			}
		}
		pl.ladder = append(pl.ladder, st)
	}
	return nil
}

// addTolerances adds the tolerances, the largest first.
func (pl *plan) addTolerances() error {
	all := slices.Clone(pl.s.Tolerances)
	slices.SortFunc(all, func(x, y probode.Tolerance) int { return cmp.Compare(sizeOf(y), sizeOf(x)) })
	for _, t := range all {
		st := unknownStep()
		st.Tolerance, st.Exact = t, true
		if n := len(pl.ladder); n > 0 && pl.ladder[n-1].Size() == st.Size() {
			continue
		}
		pl.ladder = append(pl.ladder, st)
		if _, err := bayes.NewDensity(context.Background(), pl.of(len(pl.ladder)-1)); err != nil {
			return fmt.Errorf("%w (in Tolerances)", err)
		}
	}
	return nil
}

func unknownStep() Step {
	nan := math.NaN()
	return Step{Error: nan, Order: nan, Alpha: nan, AlphaStar: nan, AlphaSE: nan, KHat: nan}
}

// nearest returns the index of the step that was made for the size asked for.
func (pl *plan) nearest(size float64) int {
	at, least := 0, math.Inf(1)
	for i, st := range pl.ladder {
		if d := math.Abs(math.Log(st.Size() / size)); d < least {
			at, least = i, d
		}
	}
	return at
}

// report returns a report in which nothing is known.
func (pl *plan) report() *Report {
	nan := math.NaN()
	a := &Report{Method: pl.p.Method.String(), Order: pl.p.Method.Order(), Threshold: pl.s.Threshold, Confidence: pl.s.Confidence, Looks: 1, Looked: 1, KHat: nan,
		Steps: slices.Clone(pl.ladder), Asked: pl.asked}
	if pl.s.Auto {
		a.Looks = mostLooks
	}
	var titles []string
	for _, x := range pl.p.Experiments {
		if !slices.Contains(titles, x.Problem.Name) {
			titles = append(titles, x.Problem.Name)
		}
	}
	a.Model = strings.Join(titles, ", ")
	for _, q := range pl.p.Params {
		a.Names = append(a.Names, q.Name)
	}
	for _, k := range pl.assessed {
		a.Params = append(a.Params, Parameter{Name: pl.p.Params[k].Name, Mean: nan, SD: nan, MeanSE: nan, SDSE: nan, TailIndex: nan})
	}
	return a
}

func (pl *plan) finest() int { return len(pl.ladder) - 1 }

// at returns the posterior with the step h.
func (pl *plan) at(h float64) *bayes.Posterior {
	q := *pl.p
	q.Setup, q.GridAt = q.WithStepSize(h), nil
	return &q
}

// of returns the posterior of deterministic inference at step i.
func (pl *plan) of(i int) *bayes.Posterior {
	st := &pl.ladder[i]
	if st.StepSize > 0 {
		return pl.at(st.StepSize)
	}
	q := *pl.p
	q.Mesh, q.GridAt = probode.Adaptive{Tolerance: st.Tolerance}, nil
	return &q
}

// frozen is of, with the steps that error control chooses at mode.
func (pl *plan) frozen(i int, mode []float64) *bayes.Posterior {
	st, q := &pl.ladder[i], pl.of(i)
	if st.StepSize == 0 {
		q.Mesh, q.GridAt = probode.Frozen{Tolerance: st.Tolerance}, mode
	}
	return q
}

// finer returns posteriors by solvers that are likely to be nearer to the accurate one
// than the last step is, the cheap ones first.
func (pl *plan) finer(mode []float64) (out []*bayes.Posterior) {
	f := pl.finest()
	st := &pl.ladder[f]
	if h := st.StepSize; h > 0 {
		dp := probode.Method(probode.RungeKutta{Tableau: probode.DormandPrince})
		for _, by := range []struct {
			m probode.Method
			h float64
		}{{dp, h}, {dp, h / 4}, {pl.p.Method, h / 4}, {pl.p.Method, h / 16}} {
			q := pl.at(by.h)
			q.Method = by.m
			out = append(out, q)
		}
		return out
	}
	for _, by := range []float64{1e-2, 1e-4, 1e-6} {
		q := pl.frozen(f, mode)
		q.Setup = certify.Sized(q.Setup, math.Max(by*st.Size(), 1e-13))
		out = append(out, q)
	}
	return out
}

// seed gives each run random numbers of its own, so that the runs are independent.
func (pl *plan) seed(key ...uint64) uint64 {
	return probode.Stream(pl.s.Chains.Seed, append([]uint64{0x617373657373}, key...)...).Uint64()
}

// search is how modes are searched for.
func (pl *plan) search(from [][]float64) modes.Settings {
	return modes.Settings{Seed: pl.s.Chains.Seed, Workers: pl.s.Chains.Workers, From: from}
}

// setup is how deterministic inference at a step solves the equations.
func (pl *plan) setup(st *Step) probode.Setup {
	s := probode.Setup{Method: pl.p.Method, Mesh: probode.Adaptive{Tolerance: st.Tolerance}}
	if st.StepSize > 0 {
		s.Mesh = pl.p.WithStepSize(st.StepSize).Mesh
	}
	return s
}

// reference is the accurate Setup.
func (pl *plan) reference() probode.Setup {
	if by := pl.s.Accurate; by.StepSize() > 0 {
		return by
	}
	by, _ := pl.s.Accurate.Mesh.(reference.Accurate)
	return probode.Setup{Mesh: by}
}

// setting says how p is solved.
func setting(p *bayes.Posterior) string {
	if h := p.StepSize(); h > 0 {
		return fmt.Sprintf("h = %.4g", h)
	}
	return p.Mesh.String()
}

// work is the context of an assessment and how far it has come.
type work struct {
	ctx         context.Context
	show        func(done, total int, doing string)
	done, total int
}

// say reports what is being done.
func (w *work) say(format string, args ...any) {
	if w.show != nil {
		w.show(w.done, w.total, fmt.Sprintf(format, args...))
	}
}

// advance counts n pieces of work as done.
func (w *work) advance(n int) error {
	w.done = min(w.done+n, w.total)
	return w.ctx.Err()
}

// saying reports what is being done, and returns a context that passes on how far it is.
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

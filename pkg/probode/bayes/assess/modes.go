package assess

import (
	"context"
	"fmt"
	"math"

	"github.com/probode/probode/pkg/internal/progress"
	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/bayes"
	"github.com/probode/probode/pkg/probode/mcmc/diag"
	"github.com/probode/probode/pkg/probode/reference"
)

// A coarse solver can make modes that are not there, and lose ones that are. The
// modes of the posterior at each step, and of the reference posterior, are found
// each from the ends of all others, too. A mode of a step and one of the reference
// belong together if the search from the one ends in the other; what a mode has
// no counterpart of about its mass for is a phantom, or lost.

// A Mode is one of the posterior at a step, or of the reference posterior.
type Mode struct {
	Theta []float64
	// Mass is its share: that of the draws, where there are draws that have
	// mixed, else that of the Gaussian approximation.
	Mass float64
	// Gaussian is the share by the Gaussian approximations, and Visited that of the
	// draws of classical inference, NaN if there are none.
	Gaussian, Visited float64
	// Phantom says that the reference posterior does not have it. Lost, of a mode
	// of the reference posterior, that the step's does not.
	Phantom, Lost bool
	// Found is the number of searches that ended here.
	Found int
}

const (
	// spoken is the mass from which a mode is spoken of.
	spoken = 0.01
	// counterpart is the share of a mode's mass that its counterpart has at
	// least.
	counterpart = 0.1
	// looseTolerance is that of a first search for the modes of the reference posterior.
	looseTolerance = 1e-3
)

// findModes finds the modes of all steps and of the reference posterior.
func (a *assessor) findModes() error {
	search := bayes.ModeSearch{Seed: a.s.Chains.Seed, Workers: a.s.Chains.Workers}
	add := func(m *bayes.Modes) {
		for _, k := range m.Modes {
			if k.Mass > 1e-6 {
				a.known = append(a.known, k.Theta)
			}
		}
	}
	for i := a.finest(); i >= 0; i-- {
		st := &a.out.Steps[i]
		search.From = a.known
		m, err := a.of(i).FindModes(a.telling("modes, %v", st), search)
		switch {
		case err != nil && (i == a.finest() || a.ctx.Err() != nil):
			return fmt.Errorf("%v: %w", st, err)
		case err != nil:
			st.Err = err.Error()
		default:
			a.modes[i] = m
			add(m)
		}
		a.done++
	}
	// What all steps have lost, a solver with a loose error control has not. If not
	// even that can be solved, the reference will tell.
	if by, ok := a.s.Accurate.Mesh.(reference.Accurate); ok {
		by.Relative = max(looseTolerance, by.Relative)
		loose := search
		loose.From, loose.Points, loose.Starts = a.known, 150, 8
		if m, err := a.p.SolvedBy(probode.Setup{Mesh: by}).FindModes(a.telling("modes, error control"), loose); err == nil {
			add(m)
		} else if a.ctx.Err() != nil {
			return err
		}
	}
	// The reference costs more than the steps do, and its modes are as a rule
	// among those that are known.
	byReference := search
	byReference.From, byReference.Points, byReference.Starts = a.known, 60, 4
	if m, err := a.p.SolvedBy(a.s.Accurate).FindModes(a.telling("modes, reference"), byReference); err == nil {
		a.reference, a.out.ReferenceModes = m, modesOf(m)
		add(m)
	} else if a.ctx.Err() != nil {
		return err
	}
	a.done++
	a.setQuantities()
	for i := a.finest(); i >= 0; i-- {
		if a.modes[i] == nil {
			a.done++
			continue
		}
		st := &a.out.Steps[i]
		if a.reference == nil {
			st.Mode, st.Modes = a.modes[i].Highest().Theta, modesOf(a.modes[i])
		} else {
			paired, err := pair(a.ctx, a.of(i), a.modes[i], a.reference, search)
			if err != nil {
				return fmt.Errorf("%v: %w", st, err)
			}
			a.modes[i], st.Modes, st.Lost, st.Mode = paired.modes, paired.own, paired.lost, paired.first
		}
		st.Missed = a.modes[i].Missed()
		a.done++
	}
	return nil
}

// telling says what is being done, and returns a context under which that tells how
// far it is.
func (a *assessor) telling(format string, args ...any) context.Context {
	what := fmt.Sprintf(format, args...)
	a.say("%s", what)
	if a.s.Progress == nil {
		return a.ctx
	}
	return progress.With(a.ctx, func(string) progress.Hook {
		return func(_, _ int, doing string) {
			if doing != "" {
				a.say("%s: %s", what, doing)
			}
		}
	})
}

// A pairing tells which modes of a coarse posterior and of the reference's belong
// together.
type pairing struct {
	modes     *bayes.Modes // of the coarse posterior, with those that only the search from the reference's found
	own, lost []Mode
	first     []float64 // the counterpart of the reference's first mode
}

// pair finds which modes m of p and of the reference posterior belong together.
func pair(ctx context.Context, p *bayes.Posterior, m, reference *bayes.Modes, search bayes.ModeSearch) (*pairing, error) {
	search.From, search.Points, search.Starts = nil, -1, 0
	for _, k := range m.Modes {
		search.From = append(search.From, k.Theta)
	}
	own := len(search.From)
	for _, k := range reference.Modes {
		search.From = append(search.From, k.Theta)
	}
	again, err := p.FindModes(ctx, search)
	if err != nil {
		return nil, err
	}
	again.Searches, again.Once, again.Tried, again.Solved = m.Searches, m.Once, m.Tried, m.Solved
	again.Work, again.Seconds = again.Work+m.Work, again.Seconds+m.Seconds
	for k, end := range again.Ends[:own] {
		if end >= 0 {
			again.Modes[end].Found = max(1, m.Modes[k].Found)
		}
	}
	out := &pairing{modes: again, own: modesOf(again), first: m.Highest().Theta}
	counter := make([]float64, len(again.Modes)) // mass of the counterparts
	for r, end := range again.Ends[own:] {
		ref := reference.Modes[r]
		if end >= 0 {
			counter[end] += ref.Mass
		}
		if ref.Mass > spoken && (end < 0 || again.Modes[end].Mass < counterpart*ref.Mass) {
			out.lost = append(out.lost, Mode{Theta: ref.Theta, Mass: ref.Mass, Gaussian: ref.Mass, Visited: math.NaN(), Lost: true, Found: ref.Found})
		}
	}
	for k := range out.own {
		out.own[k].Phantom = again.Modes[k].Mass > spoken && counter[k] < counterpart*again.Modes[k].Mass
	}
	// The steps are compared at the counterpart of the reference's first mode.
	if end := again.Ends[own]; end >= 0 {
		out.first = again.Modes[end].Theta
	}
	return out, nil
}

// modesOf returns the modes that hold more than 1e-4.
func modesOf(m *bayes.Modes) []Mode {
	var out []Mode
	for k, mode := range m.Modes {
		if k == 0 || mode.Mass > 1e-4 {
			out = append(out, Mode{Theta: mode.Theta, Mass: mode.Mass, Gaussian: mode.Mass, Visited: math.NaN(), Found: mode.Found})
		}
	}
	return out
}

// weighModes takes the masses of the modes of step i from the draws, if these have
// mixed.
func (a *assessor) weighModes(i int, d *draws) {
	m, own := a.modes[i], a.out.Steps[i].Modes
	shares, err := d.p.Shares(m, d.all)
	if err != nil {
		return
	}
	mixed := true
	for _, k := range a.assessed {
		mixed = mixed && sound(d.summed.Summary[k])
	}
	for k := range own {
		if own[k].Visited = shares[k]; mixed {
			own[k].Mass = shares[k]
		}
	}
}

// phantoms returns the mass of the phantom modes of a step, and of those lost.
func (st *Step) phantoms() (made, lost float64) {
	for _, m := range st.Modes {
		if m.Phantom {
			made += m.Mass
		}
	}
	for _, m := range st.Lost {
		lost += m.Mass
	}
	return made, lost
}

// warnModes says which modes are phantoms, which are lost, which the draws have
// missed, and what the search may have missed.
func (as *assessor) warnModes(say func(string, ...any)) {
	names := as.out.Names
	for i := range as.out.Steps {
		st := &as.out.Steps[i]
		for _, m := range st.Modes {
			at := where(names, m.Theta, st.Modes)
			if m.Phantom {
				say("phantom: at %v the mode at %s, with %.3g of the mass, is made by the solver: the reference posterior does not have it", st, at, m.Mass)
			}
			if wrong := m.wrongShare(); wrong != "" {
				say("%v: the mode at %s %s", st, at, wrong)
			}
		}
		for _, m := range st.Lost {
			say("lost: the reference posterior has a mode at %s, with %.3g of the mass, that it does not have at %v", where(names, m.Theta, append(st.Modes[:len(st.Modes):len(st.Modes)], m)), m.Mass, st)
		}
		for _, why := range st.Unvisited {
			say("no verdict at %v: %s", st, why)
		}
		if i >= len(as.modes) || as.modes[i] == nil {
			continue
		}
		if as.modes[i].Doubtful() {
			say("%v: there may be other modes: %s", st, st.Missed)
		}
	}
	if as.reference == nil {
		return
	}
	heavy := 0
	for _, m := range as.reference.Modes {
		if m.Mass > spoken {
			heavy++
		}
	}
	if heavy > 1 && as.source != nil && !(worstRHat(as.source.summed.Summary) <= mixed) {
		say("the reference posterior has %d modes, between which the chains do not move: no verdict", heavy)
	}
}

func worstRHat(s diag.Summary) float64 {
	worst := 0.0
	for _, m := range s {
		worst = math.Max(worst, m.RHat)
	}
	return worst
}

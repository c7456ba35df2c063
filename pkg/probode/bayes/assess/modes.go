package assess

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/bayes"
	"github.com/probode/probode/pkg/probode/bayes/modes"
	"github.com/probode/probode/pkg/probode/reference"
)

// A coarse solver can make modes that do not exist and miss modes that do. The search
// for the modes at each step, and for those of the reference posterior, starts from the
// ends of all other searches, too. A mode of a step and a mode of the reference are
// counterparts if the search from one ends in the other. A mode that only the step has,
// for most of its mass, is a phantom; one that only the reference has is missed.

// found are the modes of all steps and of the reference posterior.
type found struct {
	steps     []pairing    // by step; without modes where the search failed
	reference *bayes.Modes // nil if the search failed
	known     [][]float64  // the ends of all searches
}

// A pairing says which modes of a step's posterior and of the reference's are
// counterparts.
type pairing struct {
	modes *bayes.Modes // of the step, including those that only the search from the modes of the reference found
	own   []ModeShare  // the listed modes, followed by the missed ones
	first []float64    // the counterpart of the reference's first mode
	err   error        // why there are no modes
}

// add keeps the ends of a search.
func (f *found) add(m *bayes.Modes) {
	for _, k := range m.Modes {
		if k.Mass > 1e-6 {
			f.known = append(f.known, k.Theta)
		}
	}
}

// findModes finds the modes of all steps and of the reference posterior. The error is
// that of the smallest step or of the context.
func findModes(w *work, pl *plan) (*found, error) {
	f := &found{steps: make([]pairing, len(pl.ladder))}
	for i := pl.finest(); i >= 0; i-- {
		l := &pl.ladder[i]
		m, err := modes.Find(w.saying("modes, %v", l), pl.of(i), pl.search(f.known))
		switch {
		case err != nil && (i == pl.finest() || w.ctx.Err() != nil):
			return nil, fmt.Errorf("%v: %w", l, err)
		case err != nil:
			f.steps[i].err = err
		default:
			f.steps[i].modes = m
			f.add(m)
		}
		w.advance(1)
	}
	// A solver with loose error control may find modes that all steps miss. If even this
	// solver fails, the reference reports it.
	if by, ok := pl.s.Accurate.Mesh.(reference.Accurate); ok {
		const looseTolerance = 1e-3
		by.Relative = max(looseTolerance, by.Relative)
		loose := pl.search(f.known)
		loose.Points, loose.Starts = 150, 8
		if m, err := modes.Find(w.saying("modes, error control"), pl.p.SolvedBy(probode.Setup{Mesh: by}), loose); err == nil {
			f.add(m)
		} else if w.ctx.Err() != nil {
			return nil, err
		}
	}
	// The reference costs more than the steps, and its modes are usually among the known
	// ones.
	byReference := pl.search(f.known)
	byReference.Points, byReference.Starts = 60, 4
	if m, err := modes.Find(w.saying("modes, reference"), pl.p.SolvedBy(pl.s.Accurate), byReference); err == nil {
		f.reference = m
		f.add(m)
	} else if w.ctx.Err() != nil {
		return nil, err
	}
	w.advance(1)
	for i := pl.finest(); i >= 0; i-- {
		if own := f.steps[i].modes; own != nil {
			paired, err := pair(w.ctx, pl.of(i), own, f.reference, pl.search(nil))
			if err != nil {
				return nil, fmt.Errorf("%v: %w", &pl.ladder[i], err)
			}
			f.steps[i] = *paired
		}
		w.advance(1)
	}
	return f, nil
}

// pair finds the counterparts among the modes m of p and those of the reference, which
// may be nil.
func pair(ctx context.Context, p *bayes.Posterior, m, reference *bayes.Modes, search modes.Settings) (*pairing, error) {
	if reference == nil {
		return &pairing{modes: m, own: shares(m), first: m.Highest().Theta}, nil
	}
	search.From, search.Points, search.Starts = nil, -1, 0
	for _, k := range m.Modes {
		search.From = append(search.From, k.Theta)
	}
	own := len(search.From)
	for _, k := range reference.Modes {
		search.From = append(search.From, k.Theta)
	}
	again, err := modes.Find(ctx, p, search)
	if err != nil {
		return nil, err
	}
	// The counts and the cost of the search are those of the first one.
	again.Searches, again.Once, again.Tried, again.Solved = m.Searches, m.Once, m.Tried, m.Solved
	again.Work, again.Seconds = again.Work+m.Work, again.Seconds+m.Seconds
	for k, end := range again.Ends[:own] {
		if end >= 0 {
			again.Modes[end].Found = max(1, m.Modes[k].Found)
		}
	}
	out := &pairing{modes: again, own: shares(again), first: m.Highest().Theta}
	matched := make([]float64, len(again.Modes)) // mass of the counterparts
	var missed []ModeShare
	for r, end := range again.Ends[own:] {
		ref := reference.Modes[r]
		if end >= 0 {
			matched[end] += ref.Mass
		}
		if ref.Mass > listed && (end < 0 || again.Modes[end].Mass < counterpart*ref.Mass) {
			missed = append(missed, ModeShare{Theta: ref.Theta, Mass: ref.Mass, Gaussian: ref.Mass, Visited: math.NaN(), Missed: true, Found: ref.Found})
		}
	}
	for k := range out.own {
		out.own[k].Phantom = again.Modes[k].Mass > listed && matched[k] < counterpart*again.Modes[k].Mass
	}
	out.own = append(out.own, missed...)
	// Steps are compared at the counterpart of the reference's first mode.
	if end := again.Ends[own]; end >= 0 {
		out.first = again.Modes[end].Theta
	}
	return out, nil
}

// shares lists modes, the largest first.
func shares(m *bayes.Modes) (out []ModeShare) {
	for k, mode := range m.Modes {
		if k == 0 || mode.Mass > listed {
			out = append(out, ModeShare{Theta: mode.Theta, Mass: mode.Mass, Gaussian: mode.Mass, Visited: math.NaN(), Found: mode.Found})
		}
	}
	return out
}

// weighty returns the modes with more than a hundredth of the mass, at least the first.
func weighty(modes []ModeShare) (out []ModeShare) {
	for k, m := range modes {
		if k == 0 || max(m.Mass, m.Gaussian) > minor || m.Visited > minor {
			out = append(out, m)
		}
	}
	return out
}

// visit sets the masses of the modes to the shares of the draws in them, if the draws
// have mixed.
func (f *pairing) visit(visited []float64, mixed bool) {
	for k := range visited {
		if k < len(f.own) && !f.own[k].Missed {
			if f.own[k].Visited = visited[k]; mixed {
				f.own[k].Mass = visited[k]
			}
		}
	}
}

// copy returns the same modes, to be visited by other draws.
func (f *pairing) copy() *pairing {
	g := *f
	g.own = slices.Clone(f.own)
	return &g
}

// verdictOnModes returns the verdict that follows from modes which only one of the two
// posteriors has.
func verdictOnModes(modes []ModeShare) Verdict {
	v := Negligible
	for _, m := range modes {
		switch mass := max(m.Mass, m.Gaussian); {
		case !m.Phantom && !m.Missed || mass < rightMass:
		case min(m.Mass, m.Gaussian) > wrongMass:
			return Matters
		default:
			v = Undecided
		}
	}
	return v
}

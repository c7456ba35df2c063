package assess

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/probode/probode/pkg/probode/bayes"
	"github.com/probode/probode/pkg/probode/bayes/modes"
)

// The posterior computed with a coarse solver can have modes that the accurate posterior
// does not have, and it can lack some of the modes of the accurate posterior. So every
// search for modes also starts from the modes that earlier searches found. Finally, the
// posterior computed with each step is searched for modes again, starting from the modes
// of the reference posterior. If this search leads from a mode of the reference posterior
// to a mode of the posterior computed with the step, the two modes are counterparts. A
// mode of the posterior computed with the step is called a phantom if its counterparts in
// the reference posterior have less than a tenth of its mass. A mode of the reference
// posterior is called missed if its counterpart has less than a tenth of its mass. A
// search may leave a mode at which the density jumps. So a mode is called a phantom or
// missed only if the density of the other posterior at this mode is small, too.

// The type `found` holds the modes that the posterior has at each step, and the modes of
// the reference posterior.
type found struct {
	steps     []pairing    // one for each step; without modes where the search failed
	reference *bayes.Modes // nil if the search failed
	known     [][]float64  // the ends of all searches
}

// A pairing says which modes of the posterior computed with a step correspond to which
// modes of the reference posterior.
type pairing struct {
	modes *bayes.Modes // modes of the step, including those that were found only from the modes of the reference
	own   []ModeShare  // the listed modes, followed by the missed ones
	first []float64    // the counterpart of the reference's first mode
	err   error        // why there are no modes
}

// findModes finds the modes of the posterior at each step and the modes of the reference
// posterior. findModes returns an error only if the search at the smallest step fails, if
// the modes cannot be paired, or if the context is cancelled.
func findModes(w *work, pl *plan) (*found, error) {
	const tiny = 1e-6 // mass of a mode from which no later search has to start
	f := &found{steps: make([]pairing, len(pl.ladder)), known: slices.Clone(pl.s.From)}
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
			f.known = append(f.known, m.Thetas(tiny)...)
		}
		w.advance(1)
	}
	// The posterior computed with a coarse solver may have only one of the modes of the
	// reference posterior. So the search for modes of the reference posterior is as
	// thorough as the search at each step.
	if m, err := modes.Find(w.saying("modes, reference"), pl.p.SolvedBy(pl.s.Accurate), pl.search(f.known)); err == nil {
		f.reference = m
		f.known = append(f.known, m.Thetas(tiny)...)
	} else if w.ctx.Err() != nil {
		return nil, err
	}
	w.advance(1)
	for i := pl.finest(); i >= 0; i-- {
		if own := f.steps[i].modes; own != nil {
			paired, err := pair(w.ctx, pl.of(i), pl.p.SolvedBy(pl.s.Accurate), own, f.reference, pl.search(nil))
			if err != nil {
				return nil, fmt.Errorf("%v: %w", &pl.ladder[i], err)
			}
			f.steps[i] = *paired
		}
		w.advance(1)
	}
	return f, nil
}

// The function pair() takes the modes m of the posterior p, and finds their counterparts
// among the modes in the argument `reference`, which are those of the posterior
// `accurate`. The argument `reference` may be nil.
func pair(ctx context.Context, p, accurate *bayes.Posterior, m, reference *bayes.Modes, search modes.Settings) (*pairing, error) {
	if reference == nil {
		return &pairing{modes: m, own: shares(m), first: m.Highest().Theta}, nil
	}
	search.From, search.Points, search.Starts = slices.Concat(m.Thetas(-1), reference.Thetas(-1)), -1, 0
	own := len(m.Modes)
	again, err := modes.Find(ctx, p, search)
	if err != nil {
		return nil, err
	}
	// Keep the counts of the first search, and add its cost to the cost of the second
	// search.
	again.SearchCounts = m.SearchCounts
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
		if ref.Mass > listed && (end < 0 || again.Modes[end].Mass < counterpart*ref.Mass) && massNear(ctx, p, again, ref) < counterpart*ref.Mass {
			missed = append(missed, ModeShare{Theta: ref.Theta, Mass: ref.Mass, Gaussian: ref.Mass, Visited: math.NaN(), Missed: true, Found: ref.Found})
		}
	}
	for k := range out.own {
		mode := again.Modes[k]
		least := counterpart * mode.Mass
		out.own[k].Phantom = mode.Mass > listed && matched[k] < least && massNear(ctx, accurate, reference, mode) < least
	}
	out.own = append(out.own, missed...)
	// To compare the steps with each other, use one mode at each step: the counterpart of
	// the first mode of the reference posterior.
	if end := again.Ends[own]; end >= 0 {
		out.first = again.Modes[end].Theta
	}
	return out, nil
}

// The function massNear() estimates the mass that the posterior p, with the modes m, has
// near a mode `at` of another posterior. Near this mode, the two densities are assumed to
// be proportional to each other. The result is 0 if the density of p is unknown there.
func massNear(ctx context.Context, p *bayes.Posterior, m *bayes.Modes, at *bayes.Mode) float64 {
	d, err := bayes.NewDensity(ctx, p)
	if err != nil {
		return 0
	}
	lp, err := d.LogPosterior(at.U, nil)
	first := m.Modes[0]
	if mass := math.Exp(at.LogMass-at.LogP+lp-first.LogMass) * first.Mass; err == nil && mass > 0 {
		return mass
	}
	return 0
}

// The function shares() lists the modes with their shares of the mass, in the order of m.
func shares(m *bayes.Modes) (out []ModeShare) {
	for k, mode := range m.Modes {
		if k == 0 || mode.Mass > listed {
			out = append(out, ModeShare{Theta: mode.Theta, Mass: mode.Mass, Gaussian: mode.Mass, Visited: math.NaN(), Found: mode.Found})
		}
	}
	return out
}

// The function weighty() returns the first mode and all other modes with more than a
// hundredth of the mass.
func weighty(modes []ModeShare) (out []ModeShare) {
	for k, m := range modes {
		if k == 0 || max(m.Mass, m.Gaussian) > minor || m.Visited > minor {
			out = append(out, m)
		}
	}
	return out
}

// The method visit() stores, for each mode, the share of the draws in this mode. If the
// chains have mixed, these shares are also stored as the masses of the modes.
func (f *pairing) visit(visited []float64, mixed bool) {
	for k := range visited {
		if k < len(f.own) && !f.own[k].Missed {
			if f.own[k].Visited = visited[k]; mixed {
				f.own[k].Mass = visited[k]
			}
		}
	}
}

// The method copy() returns a copy of f, in which the shares of a different set of draws
// can be stored.
func (f *pairing) copy() *pairing {
	g := *f
	g.own = slices.Clone(f.own)
	return &g
}

// verdictOnModes returns the verdict that follows from the phantom and missed modes.
func verdictOnModes(modes []ModeShare) Verdict {
	v := Negligible
	for _, m := range modes {
		if m.Phantom || m.Missed {
			v = worse(v, verdictOnMass(min(m.Mass, m.Gaussian), max(m.Mass, m.Gaussian)))
		}
	}
	return v
}

// verdictOnMass judges a mode that only one of two posteriors has. The mass of this mode
// lies between the arguments `least` and `most`.
func verdictOnMass(least, most float64) Verdict {
	switch {
	case most < rightMass:
		return Negligible
	case least > wrongMass:
		return Matters
	}
	return Undecided
}

// The method verdictOnShares() judges a noisy posterior by its draws d. Two kinds of
// shares matter: the share of the draws in each phantom of the deterministic posterior at
// the same step, and the share of the draws in each mode of the reference posterior.
func (s *sampling) verdictOnShares(d *draws) Verdict {
	v := Negligible
	for k, m := range d.pair.own {
		if !m.Phantom {
			continue
		}
		share := m.Gaussian // if the shares of the draws are not known
		if d.visited != nil {
			share = d.visited[k]
		}
		v = worse(v, verdictOnMass(share, share))
	}
	for k, share := range d.visitedReference {
		if mass := s.modes.reference.Modes[k].Mass; share < counterpart*mass {
			v = worse(v, verdictOnMass(mass, mass))
		}
	}
	return v
}

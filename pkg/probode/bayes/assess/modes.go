package assess

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/probode/probode/pkg/probode/bayes"
	"github.com/probode/probode/pkg/probode/bayes/modes"
)

// The posterior computed with a coarse solver can have modes that the reference posterior
// does not have, and it can lack some of the modes of the reference posterior. So every
// search for modes also starts from the modes that earlier searches found. For each step,
// a last search starts from the modes of the posterior at this step and from the modes of
// the reference posterior. If a search that starts at a mode of the reference posterior
// ends at a mode of the posterior at the step, the two modes are counterparts. A phantom
// is a mode of the posterior at a step whose counterparts have less than a tenth of the
// mass of the phantom. A missed mode is a mode of the reference posterior that has no
// counterpart, or whose counterpart has less than a tenth of the mass of the missed mode.
// A search may leave a mode at which the density jumps. So a mode counts as a phantom or
// as missed only if the density of the other posterior is small at this mode, too.

type found struct {
	steps     []pairing    // one for each step; without modes where the search failed
	reference *bayes.Modes // nil if the search failed
	known     [][]float64  // the ends of all searches
}

type pairing struct {
	modes *bayes.Modes // modes of the step, including those that were found only from the modes of the reference
	own   []ModeShare  // the listed modes, followed by the missed ones
	first []float64    // the counterpart of the reference's first mode
	err   error        // why there are no modes
}

// findModes returns an error only if the search at the smallest step fails, the modes
// cannot be paired, or the context is cancelled.
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

// pair takes a nil `reference` if its modes are not known.
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
	// The result holds the counts of the first search and the total cost of both
	// searches.
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
	// Different steps are compared at one mode per step: the counterpart of the first
	// mode of the reference posterior.
	if end := again.Ends[own]; end >= 0 {
		out.first = again.Modes[end].Theta
	}
	return out, nil
}

// massNear takes the two densities as proportional near the mode `at` of another
// posterior. It is 0 if that of p is unknown there.
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

func shares(m *bayes.Modes) (out []ModeShare) {
	for k, mode := range m.Modes {
		if k == 0 || mode.Mass > listed {
			out = append(out, ModeShare{Theta: mode.Theta, Mass: mode.Mass, Gaussian: mode.Mass, Visited: math.NaN(), Found: mode.Found})
		}
	}
	return out
}

func weighty(modes []ModeShare) (out []ModeShare) {
	for k, m := range modes {
		if k == 0 || max(m.Mass, m.Gaussian) > minor || m.Visited > minor {
			out = append(out, m)
		}
	}
	return out
}

// visit replaces masses of modes by shares of draws if the chains have mixed.
func (f *pairing) visit(visited []float64, mixed bool) {
	for k := range visited {
		if k < len(f.own) && !f.own[k].Missed {
			if f.own[k].Visited = visited[k]; mixed {
				f.own[k].Mass = visited[k]
			}
		}
	}
}

func (f *pairing) copy() *pairing {
	g := *f
	g.own = slices.Clone(f.own)
	return &g
}

func verdictOnModes(modes []ModeShare) Verdict {
	v := Negligible
	for _, m := range modes {
		if m.Phantom || m.Missed {
			v = worse(v, verdictOnMass(min(m.Mass, m.Gaussian), max(m.Mass, m.Gaussian)))
		}
	}
	return v
}

// verdictOnMass judges a mode that only one of two posteriors has, with a mass in
// between.
func verdictOnMass(least, most float64) Verdict {
	switch {
	case most < rightMass:
		return Negligible
	case least > wrongMass:
		return Matters
	}
	return Undecided
}

// verdictOnShares judges how draws with noise are distributed over phantoms of the
// deterministic posterior at this step, and over the modes of the reference.
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

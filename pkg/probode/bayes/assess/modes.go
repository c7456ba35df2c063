package assess

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/probode/probode/pkg/probode/bayes"
	"github.com/probode/probode/pkg/probode/bayes/compare"
	"github.com/probode/probode/pkg/probode/bayes/modes"
)

// The posterior of a coarse solver can have modes that the reference posterior does not
// have, and it can lack some of the modes of the reference posterior. So every search for
// modes also starts from the modes that earlier searches found. For each setup, a last
// search starts from its own modes and from the modes of the reference posterior. If a
// search that starts at a mode of the reference posterior ends at a mode of the setup, the
// two modes are counterparts. A phantom is a mode of a setup whose counterparts have less than a tenth of the
// mass of the phantom. A missed mode is a mode of the reference posterior that has no
// counterpart, or whose counterpart has less than a tenth of the mass of the missed mode.
// A search may leave a mode at which the density jumps. So a mode counts as a phantom or
// as missed only if the density of the other posterior is small at this mode, too.

// found holds the modes of each setup, and the modes of the reference posterior.
type found struct {
	setups    []pairing    // one for each setup; without modes where the search failed
	reference *bayes.Modes // nil if the search failed with the error err
	err       error
	known     [][]float64 // the ends of all searches
}

// A pairing says which modes of a setup correspond to which modes of the reference
// posterior.
type pairing struct {
	modes *bayes.Modes // modes of the setup, including those that were found only from the modes of the reference
	own   []ModeShare  // the listed modes, followed by the missed ones
	first []float64    // the counterpart of the reference's first mode
	err   error        // why there are no modes
}

// findModes finds the modes of the posterior of each setup and the modes of the reference
// posterior. findModes returns an error only if the modes cannot be paired, or if the
// context is cancelled.
func findModes(w *work, pl *plan) (*found, error) {
	const tiny = 1e-6 // mass of a mode from which no later search has to start
	f := &found{setups: make([]pairing, len(pl.setups)), known: slices.Clone(pl.s.From)}
	if pl.s.Draws != nil {
		f.known = append(f.known, compare.Spread(pl.s.Draws.Draws, 8)...)
	}
	for i := range pl.setups {
		m, err := modes.Find(w.saying("modes, %v", &pl.setups[i]), pl.of(i), pl.search(f.known))
		switch {
		case w.ctx.Err() != nil:
			return nil, w.ctx.Err()
		case err != nil:
			f.setups[i].err = err
		default:
			f.setups[i].modes = m
			f.known = append(f.known, m.Thetas(tiny)...)
		}
		w.advance()
	}
	// A coarse solver may have only one of the modes of the reference posterior. So the
	// search for modes of the reference posterior is as thorough as the others.
	var err error
	if f.reference, err = modes.Find(w.saying("modes, reference"), pl.accurate(), pl.search(f.known)); err != nil {
		if w.ctx.Err() != nil {
			return nil, w.ctx.Err()
		}
		f.err = err
	} else {
		f.known = append(f.known, f.reference.Thetas(tiny)...)
	}
	w.advance()
	for i := range f.setups {
		if own := f.setups[i].modes; own != nil {
			paired, err := pair(w.ctx, pl.of(i), pl.accurate(), own, f.reference, pl.search(nil))
			if err != nil {
				return nil, fmt.Errorf("%v: %w", &pl.setups[i], err)
			}
			f.setups[i] = *paired
		}
	}
	return f, w.ctx.Err()
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
			missed = append(missed, ModeShare{Theta: ref.Theta, Mass: ref.Mass, Estimate: ref.Mass, Visited: math.NaN(), Missed: true, Found: ref.Found})
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
			out = append(out, ModeShare{Theta: mode.Theta, Mass: mode.Mass, Estimate: mode.Mass, Visited: math.NaN(), Found: mode.Found})
		}
	}
	return out
}

func weighty(modes []ModeShare) (out []ModeShare) {
	for k, m := range modes {
		if k == 0 || max(m.Mass, m.Estimate) > minor || m.Visited > minor {
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

// differs reports whether only one of the two posteriors has a certain mode.
func (f *pairing) differs() bool {
	return slices.ContainsFunc(f.own, func(m ModeShare) bool { return m.Phantom || m.Missed })
}

func verdictOnModes(modes []ModeShare) Verdict {
	v := Negligible
	for _, m := range modes {
		if m.Phantom || m.Missed {
			v = worse(v, verdictOnMass(min(m.Mass, m.Estimate), max(m.Mass, m.Estimate)))
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

// verdictOnShares judges how the draws d are distributed over the modes. The draws d come
// from a posterior with noise. Two kinds of shares matter: the share of the draws in each
// phantom of the same setup without noise, and the share of the draws in
// each mode of the reference posterior.
func (s *sampling) verdictOnShares(d *draws, f *pairing) Verdict {
	v := Negligible
	for k, m := range f.own {
		if !m.Phantom {
			continue
		}
		share := m.Estimate // if the shares of the draws are not known
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

package assess

import (
	"fmt"
	"math"
	"strings"

	"github.com/probode/probode/pkg/probode/bayes"
	"github.com/probode/probode/pkg/probode/mcmc/diag"
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
		a.say("modes, h = %.4g", st.StepSize)
		search.From = a.known
		m, err := a.at(st.StepSize).FindModes(a.ctx, search)
		switch {
		case err != nil && (i == a.finest() || a.ctx.Err() != nil):
			return fmt.Errorf("h = %.4g: %w", st.StepSize, err)
		case err != nil:
			st.Err = err.Error()
		default:
			a.modes[i] = m
			add(m)
		}
		a.done++
	}
	a.say("modes, reference")
	// The reference costs more than the steps do, and its modes are as a rule
	// those of the smallest.
	byReference := search
	byReference.From, byReference.Solver, byReference.Points, byReference.Starts = a.known, &a.s.Accurate, 60, 4
	if m, err := a.p.FindModes(a.ctx, byReference); err == nil {
		a.reference = m
		add(m)
	} else if a.ctx.Err() != nil {
		return err
	}
	a.done++
	for i := a.finest(); i >= 0; i-- {
		if a.modes[i] == nil {
			a.done++
			continue
		}
		if err := a.pair(i); err != nil {
			return err
		}
		a.done++
	}
	return nil
}

// pair finds which modes of step i and of the reference posterior belong together.
func (a *assessor) pair(i int) error {
	st, m := &a.out.Steps[i], a.modes[i]
	st.Mode = m.Highest().Theta
	if a.reference == nil {
		st.Modes = modesOf(m)
		return nil
	}
	both := bayes.ModeSearch{Seed: a.s.Chains.Seed, Workers: a.s.Chains.Workers, Points: -1}
	for _, k := range m.Modes {
		both.From = append(both.From, k.Theta)
	}
	own := len(both.From)
	for _, k := range a.reference.Modes {
		both.From = append(both.From, k.Theta)
	}
	again, err := a.at(st.StepSize).FindModes(a.ctx, both)
	if err != nil {
		return fmt.Errorf("h = %.4g: %w", st.StepSize, err)
	}
	again.Searches, again.Once, again.Tried, again.Solved = m.Searches, m.Once, m.Tried, m.Solved
	for k, end := range again.Ends[:own] {
		if end >= 0 {
			again.Modes[end].Found = max(1, m.Modes[k].Found)
		}
	}
	a.modes[i] = again
	st.Modes = modesOf(again)
	counter := make([]float64, len(again.Modes)) // mass of the counterparts
	for r, end := range again.Ends[own:] {
		ref := a.reference.Modes[r]
		if end >= 0 {
			counter[end] += ref.Mass
		}
		if ref.Mass > spoken && (end < 0 || again.Modes[end].Mass < counterpart*ref.Mass) {
			st.Lost = append(st.Lost, Mode{Theta: ref.Theta, Mass: ref.Mass, Lost: true, Found: ref.Found})
		}
	}
	for k := range st.Modes {
		st.Modes[k].Phantom = again.Modes[k].Mass > spoken && counter[k] < counterpart*again.Modes[k].Mass
	}
	// The steps are compared at the counterpart of the reference's first mode.
	if end := again.Ends[own]; end >= 0 {
		st.Mode = again.Modes[end].Theta
	}
	return nil
}

// modesOf returns the modes that hold more than 1e-4.
func modesOf(m *bayes.Modes) []Mode {
	var out []Mode
	for k, mode := range m.Modes {
		if k == 0 || mode.Mass > 1e-4 {
			out = append(out, Mode{Theta: mode.Theta, Mass: mode.Mass, Found: mode.Found})
		}
	}
	return out
}

// weighModes takes the masses of the modes of step i from the draws, if these have
// mixed.
func (a *assessor) weighModes(i int, d *draws) {
	m := a.modes[i]
	if len(a.out.Steps[i].Modes) < 2 {
		return
	}
	for _, k := range a.assessed {
		if !sound(d.summed.Summary[k]) {
			return
		}
	}
	shares, err := d.p.Shares(m, d.all)
	if err != nil {
		return
	}
	for k := range a.out.Steps[i].Modes {
		a.out.Steps[i].Modes[k].Mass = shares[k]
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

// warnModes says which modes are phantoms, which are lost, and what may have been
// missed.
func (as *assessor) warnModes(say func(string, ...any)) {
	at := func(theta []float64) string {
		var all []string
		for k, v := range theta {
			all = append(all, fmt.Sprintf("%s = %.4g", as.p.Params[k].Name, v))
		}
		return strings.Join(all, ", ")
	}
	for i := range as.out.Steps {
		st := &as.out.Steps[i]
		for _, m := range st.Modes {
			if m.Phantom {
				say("phantom: at h = %.4g the mode at %s, with %.3g of the mass, is made by the solver: the reference posterior does not have it", st.StepSize, at(m.Theta), m.Mass)
			}
		}
		for _, m := range st.Lost {
			say("lost: the reference posterior has a mode at %s, with %.3g of the mass, that it does not have at h = %.4g", at(m.Theta), m.Mass, st.StepSize)
		}
		if i < len(as.modes) && as.modes[i] != nil {
			if m := as.modes[i]; len(m.Modes) > 3 && 2*m.Once > len(m.Modes) {
				say("h = %.4g: %d of the %d modes were found by one search of %d only: there may be others", st.StepSize, m.Once, len(m.Modes), m.Searches)
			}
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
	as.out.ReferenceModes = modesOf(as.reference)
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

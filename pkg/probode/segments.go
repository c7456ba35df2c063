package probode

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/probode/probode/pkg/probode/field"
	"github.com/probode/probode/pkg/probode/internal/trigger"
)

// triggers returns the events of p that have a Trigger, or nil if there are none.
func (p *Problem) triggers() *trigger.Watch {
	var list []trigger.Condition
	for k := range p.Events {
		if e := &p.Events[k]; e.Trigger != nil {
			list = append(list, trigger.Condition{Name: e.title(k), G: e.Trigger, Jump: e.Jump, AtStart: e.AtStart})
		}
	}
	if list == nil {
		return nil
	}
	return trigger.New(list, p.Span[1]-p.Span[0])
}

// foreseen returns an error if the state or f jumps at a time that depends on the state,
// so that no run of a solver can choose a grid for other parameters.
func (p *Problem) foreseen() error {
	if p.Hybrid != nil {
		return fmt.Errorf("%s: f jumps at times that depend on the state: instead of a fixed grid, use probode.Adaptive or reference.Accurate, which work without noise, or equal steps of a one-step method", p.Title())
	}
	return p.timed()
}

// timed returns an error if an event of p has a Trigger.
func (p *Problem) timed() error {
	for k := range p.Events {
		if p.Events[k].Trigger != nil {
			return fmt.Errorf("%s: %s has a trigger, so its time is not known in advance: instead of a fixed grid, use probode.Adaptive or reference.Accurate, which work without noise", p.Title(), p.Events[k].title(k))
		}
	}
	return nil
}

// apart returns an error if two events happen at the same time, up to rounding, but θ moves
// them differently. The derivative of a path then depends on f between the two events, and
// no time between them exists at which f could be evaluated.
func (s *Solver) apart(theta []float64) error {
	if !s.g.moving {
		return nil
	}
	if err := s.MoveTo(theta); err != nil {
		return err
	}
	for j := 1; j < len(s.g.events); j++ {
		a, b := s.g.events[j-1], s.g.events[j]
		if !a.inside || !b.inside || b.time-a.time > 8*epsilon*math.Abs(b.time) || a.event.When == nil && b.event.When == nil {
			continue
		}
		at := slices.Clone(theta)
		for k, v := range theta {
			h := cmp.Or(field.Central*math.Abs(v), field.Central)
			at[k] = v + h
			gap := b.event.at(at) - a.event.at(at)
			at[k] = v - h
			if gap -= b.event.at(at) - a.event.at(at); math.Abs(gap) > 1e-3*h {
				return fmt.Errorf("%s: the solution has no derivative at t = %.6g, because %s and %s happen at the same time and %s moves them apart", s.p.Title(), b.time, a.title, b.title, s.p.ParamName(k))
			}
			at[k] = v
		}
	}
	return nil
}

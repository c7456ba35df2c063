package model

import (
	"fmt"
	"math"
	"slices"

	"github.com/probode/probode/pkg/probode/model/internal/source"
)

type files struct{ *source.Files }

func (f *files) finish(p *File) (*File, error) {
	p.check()
	if _, _, err := p.Derived(); err != nil {
		return nil, err
	}
	list, err := p.Instances()
	if err != nil {
		return nil, err
	}
	p.unused()
	p.Warnings, p.Files = slices.Concat(f.Warnings, late(list), uncovered(list)), f.Opened
	return p, nil
}

// late warns about events that come after the last measurement in every experiment. An
// event that repeats counts with its first time, and one at an unknown time not at all.
func late(list []*Instance) (warnings []string) {
	type last struct {
		id      string
		at, end float64
	}
	var order []source.Where
	found := map[source.Where]*last{} // nil for an event that may have an effect
	for _, e := range list {
		end := math.Inf(-1)
		for _, r := range e.rows {
			end = max(end, r.time)
		}
		for _, ev := range e.events {
			if ev.Trigger != nil || len(e.rows) == 0 {
				continue
			}
			at, known := ev.Time.Const()
			was, seen := found[ev.Where]
			switch {
			case !known || at <= end:
				found[ev.Where] = nil
			case !seen:
				order = append(order, ev.Where)
				found[ev.Where] = &last{ev.ID, at, end}
			case was != nil:
				was.at, was.end = min(was.at, at), max(was.end, end)
			}
		}
	}
	for _, where := range order {
		if l := found[where]; l != nil {
			warnings = append(warnings, fmt.Sprintf("%s:%d: event %s happens at %v, after the last measurement at %v, so it has no effect on the likelihood", where.File, where.Line, l.id, l.at, l.end))
		}
	}
	return warnings
}

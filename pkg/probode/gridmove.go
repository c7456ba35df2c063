package probode

import (
	"fmt"
	"math"
	"slices"
	"sort"
)

// order puts the events in the order of their times.
func (g *Grid) order() {
	g.events = append(g.events[:0], g.when...)
	sort.SliceStable(g.events, func(a, b int) bool { return g.events[a].time < g.events[b].time })
}

// place returns where the event with number j in time cuts the span.
func (g *Grid) place(j int) float64 {
	return min(max(g.events[j].time, g.span[0]), g.span[1])
}

// close sets the ends of the segments as F may see them.
func (g *Grid) close() {
	for j := range g.seg {
		s := &g.seg[j]
		s.now = segment{from: math.Inf(-1), to: math.Inf(1)}
		if j > 0 && g.events[j-1].inside {
			s.now.from, s.now.left = math.Nextafter(g.t[s.from], math.Inf(1)), g.events[j-1]
		}
		if j < len(g.events) && g.events[j].inside {
			s.now.to, s.now.right = math.Nextafter(g.t[s.to], math.Inf(-1)), g.events[j]
		}
	}
}

// move brings the grid to θ. It is an error if a segment is stretched so far
// that its steps are no longer those that were asked for.
func (g *Grid) move(theta []float64) error {
	if !g.moving {
		return nil
	}
	const most = 4
	for _, m := range g.when {
		if m.event.When == nil {
			continue
		}
		if m.time = m.event.When(theta); math.IsNaN(m.time) {
			return fmt.Errorf("%s: its time is NaN", m.title)
		}
		m.inside = m.time >= g.span[0] && m.time <= g.span[1]
	}
	g.order()
	var coarsest float64 // the longest step at the θ of the grid
	for _, s := range g.seg {
		coarsest = max(coarsest, s.widest*s.length)
	}
	at := g.span[0]
	for j := range g.seg {
		s := &g.seg[j]
		end := g.span[1]
		if j < len(g.events) {
			end = g.place(j)
		}
		length := end - at
		if g.t[s.from] == at && g.t[s.to] == end {
			at = end // a segment that did not move keeps its points to the last bit
			continue
		}
		if step := s.widest * length; step > most*s.widest*s.length && step > coarsest*(1+1e-9) {
			return fmt.Errorf("%w: a step of %.3g in place of %.3g, between t = %.6g and %.6g", ErrStretched, step, s.widest*s.length, at, end)
		}
		for i, f := range s.frac {
			g.t[s.from+i] = at + f*length
		}
		g.t[s.to] = end
		at = end
	}
	g.close()
	return nil
}

// clone returns a copy that can be moved alone.
func (g *Grid) clone() *Grid {
	if !g.moving {
		return g
	}
	c := *g
	c.t, c.seg = slices.Clone(g.t), slices.Clone(g.seg)
	c.when = make([]*mark, len(g.when))
	for k, m := range g.when {
		copied := *m
		c.when[k] = &copied
	}
	c.events = nil
	c.order()
	return &c
}

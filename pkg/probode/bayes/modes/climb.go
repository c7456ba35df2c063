package modes

import (
	"cmp"
	"context"
	"math"
	"slices"

	"github.com/probode/probode/pkg/probode/bayes"
	"github.com/probode/probode/pkg/probode/bayes/shape"
)

type climb struct {
	shape.Ascent
	s       *shape.Surface
	found   int   // searches that have ended here
	from    []int // elements of Settings.From that led here
	tested  int   // number of ends to which the straight line has been checked
	scanned bool  // the coordinate lines through it have been scanned
	apart   bool  // it is known to be distinct from all other climbs with apart set

	mode *bayes.Mode // made from its end point
}

func at(u []float64, f float64) shape.Ascent { return shape.Ascent{Point: shape.Point{X: u, Value: f}} }

// start returns nil if the log density is not finite, and whether theta is on the edge of
// the support. The density may be zero though the equations are solved: if data are
// impossible.
func start(e *bayes.Density, theta []float64) (c *climb, edge, solved bool) {
	u := make([]float64, len(theta))
	if e.Unconstrain(u, theta) != nil {
		return nil, true, false
	}
	f, err := e.LogPosterior(u, nil)
	solved = err == nil && !math.IsNaN(f)
	if !solved || math.IsInf(f, 0) {
		return nil, false, solved
	}
	return &climb{Ascent: at(u, f), found: 1}, false, true
}

func highest(climbs []*climb) float64 {
	top := math.Inf(-1)
	for _, c := range climbs {
		top = max(top, c.Value)
	}
	return top
}

func (c *climb) with(e *bayes.Density) *shape.Surface {
	if c.s == nil {
		c.s = shape.NewSurface(e)
		c.s.Forward, c.s.Draws = true, 48
		c.Ascent = c.s.Ascent(c.X, c.Value)
	}
	c.s.Use(e)
	return c.s
}

func (c *climb) absorb(o *climb) {
	c.found += o.found
	c.from = append(c.from, o.from...)
	o.s, o.Information = nil, nil
}

// hopeless climbs need more than 200 further steps to come within `lowest` of the highest
// log density, each rising like the last prediction. The limit is higher before 15 steps.
func (c *climb) hopeless(highest float64) bool {
	if len(c.from) > 0 {
		return false
	}
	share := 0.01
	switch {
	case c.Steps < 4:
		return false
	case c.Steps < 8:
		share = 0.001
	case c.Steps < 15:
		share = 0.003
	}
	return 2*c.Gain < share*(highest-lowest-c.Value)
}

func (c *climb) polish(ctx context.Context, e *bayes.Density) {
	s := c.with(e)
	s.Forward, s.Draws = false, 256
	was := slices.Clone(c.X)
	c.Climb(ctx, s, 5e-8, 200)
	c.apart = c.apart && c.Information != nil && shape.Distance(was, c.X, c.Information) < together
}

// rising reports whether the search ended before the gradient showed a maximum.
func (c *climb) rising() bool { return c.Failed || !c.Done }

// near is by the metrics of both searches.
func near(o, c *climb) bool {
	return o.Information != nil && c.Information != nil && shape.Distance(o.X, c.X, o.Information) < together && shape.Distance(o.X, c.X, c.Information) < together
}

func unite(climbs []*climb) []*climb {
	slices.SortStableFunc(climbs, func(a, b *climb) int { return cmp.Compare(b.Value, a.Value) })
	var out []*climb
	for _, c := range climbs {
		if k := slices.IndexFunc(out, func(o *climb) bool { return near(o, c) }); k >= 0 {
			out[k].absorb(c)
			continue
		}
		out = append(out, c)
	}
	return out
}

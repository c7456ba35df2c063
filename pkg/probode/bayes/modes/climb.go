package modes

import (
	"cmp"
	"slices"

	"github.com/probode/probode/pkg/probode/bayes"
	"github.com/probode/probode/pkg/probode/bayes/shape"
)

// A climb is a running search, with the information that the search for modes needs
// about it.
type climb struct {
	shape.Ascent
	s       *shape.Surface
	found   int   // searches that have ended here
	from    []int // elements of Settings.From that led here
	tested  int   // number of ends to which the straight line has been checked
	scanned bool  // the coordinate lines through it have been scanned
	apart   bool  // it is known to be distinct from all other climbs with apart set
}

// The function at() returns an ascent that begins at u, where the log density is f.
func at(u []float64, f float64) shape.Ascent { return shape.Ascent{Point: shape.Point{X: u, Value: f}} }

// The method with() makes the surface of c use the density e, and returns the surface.
func (c *climb) with(e *bayes.Density) *shape.Surface {
	if c.s == nil {
		c.s = shape.NewSurface(e)
		c.s.Forward, c.s.Draws = true, 48
		c.Ascent = c.s.Ascent(c.X, c.Value)
	}
	c.s.Use(e)
	return c.s
}

// The method absorb() adds the counts of o to the counts of c, and frees the memory of o.
func (c *climb) absorb(o *climb) {
	c.found += o.found
	c.from = append(c.from, o.from...)
	o.s, o.Information = nil, nil
}

// The method hopeless() reports whether a climb is so low and so slow that it would need
// very many more steps to reach a height at which an end point would be kept. "Very many"
// means a hundred if the climb has already taken many steps, and more if it has taken
// few.
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

// The method polish() climbs to the maximum with accurate derivatives.
func (c *climb) polish(e *bayes.Density) {
	s := c.with(e)
	s.Forward, s.Draws = false, 256
	was := slices.Clone(c.X)
	c.Finish(s, 5e-8)
	c.apart = c.apart && c.Information != nil && shape.Distance(was, c.X, c.Information) < together
}

// The function near() reports whether two searches are close to each other in the metrics
// of both.
func near(o, c *climb) bool {
	return o.Information != nil && c.Information != nil && shape.Distance(o.X, c.X, o.Information) < together && shape.Distance(o.X, c.X, c.Information) < together
}

// The function unite() removes each search that is near a higher one, which takes over
// its counts.
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

package assess

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/bayes"
)

// Where certificates are made: at the modes of the reference, to which one climbs from
// what searches with either solver have found.

// search finds where to begin, with the solver in question.
func (c *certifier) search(s CertifySettings) ([][]float64, error) {
	q := *c.p
	switch {
	case s.Coarse.controlled():
		q.Mesh, q.GridAt = probode.Adaptive{Tolerance: s.Coarse.Tolerance}, nil
	case s.Coarse.StepSize > 0:
		q.Setup = q.WithStepSize(s.Coarse.StepSize)
	case q.Mesh == nil:
		q.Mesh = probode.Uniform(shortest(c.p) / 200)
	}
	if s.Coarse.Method != nil {
		q.Method = s.Coarse.Method
	}
	coarse, err := q.FindModes(c.ctx, bayes.ModeSearch{Seed: s.Seed})
	if err != nil {
		return nil, err
	}
	var starts [][]float64
	for k, m := range coarse.Modes {
		if k == 0 || m.Mass > spoken {
			starts = append(starts, m.Theta)
		}
	}
	return starts, nil
}

// searchReference finds where to begin with an accurate reference, from few draws
// of the prior and from the ends of the cheaper search.
func (c *certifier) searchReference(s CertifySettings, from [][]float64) ([][]float64, error) {
	if !c.reference.Accurate {
		return nil, nil
	}
	q := *c.p
	if q.Mesh == nil {
		q.Mesh = probode.Uniform(shortest(c.p) / unused)
	}
	fine, err := q.FindModes(c.ctx, bayes.ModeSearch{Seed: s.Seed, From: from, Points: 60, Starts: 4,
		Solver: &bayes.AccurateSolver{Tolerance: c.reference.Tolerance.Relative}})
	if err != nil {
		return nil, c.ctx.Err() // those of the solver in question have to do
	}
	var starts [][]float64
	for _, m := range fine.Modes {
		if m.Mass > spoken {
			starts = append(starts, m.Theta)
		}
	}
	return starts, nil
}

// climb adds the mode of the reference to which from leads, unless it is there.
func (c *certifier) climb(from []float64) {
	nan := math.NaN()
	m := anchor{Certified: Certified{From: slices.Clone(from), Moved: nan, D: nan, Bound: nan, TV: nan, KL: nan, OwnD: nan}}
	u := make([]float64, len(from))
	err := c.by.Unconstrain(u, from)
	if err == nil && c.stay {
		if m.at, m.Found, err = stay(c.fine, c.by, u); err == nil && !m.Found {
			err = fmt.Errorf("%s is not near a mode of the posterior", format4(from))
		}
	} else if err == nil {
		m.at, m.Found, err = climb(c.fine, c.by, u)
	}
	if err != nil {
		m.Err = strings.TrimPrefix(err.Error(), "assess: ")
		c.modes = append(c.modes, m)
		return
	}
	m.Theta, m.Moved = m.at.theta, 0
	for k := range u {
		m.Moved = max(m.Moved, math.Abs(u[k]-m.at.u[k])/m.at.sd[k])
	}
	for _, known := range c.modes {
		if known.at == nil {
			continue
		}
		far := 0.0
		for k := range u {
			far = max(far, math.Abs(known.at.u[k]-m.at.u[k])/m.at.sd[k])
		}
		if far < 0.1 && m.Moved < vanished {
			return // one that has moved here from afar is kept, to be told of
		}
	}
	m.OwnD = c.own(m.at)
	c.modes = append(c.modes, m)
}

package certify

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/bayes"
	"github.com/probode/probode/pkg/probode/reference"
)

// Certificates are made at modes of the reference's posterior. A climb by the reference
// starts from each mode that a search with either solver has found.

// search returns the modes that the solver in question has.
func (c *Certifier) search(s Settings) ([][]float64, error) {
	q := *c.p
	switch {
	case s.Coarse.Controlled():
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
		if k == 0 || m.Mass > minor {
			starts = append(starts, m.Theta)
		}
	}
	return starts, nil
}

// searchReference returns the modes of an accurate reference, searched for from few
// draws of the prior and from the ends of the cheaper search; nil without one.
func (c *Certifier) searchReference(s Settings, from [][]float64) ([][]float64, error) {
	if !c.reference.Accurate {
		return nil, nil
	}
	q := c.p.SolvedBy(probode.Setup{Mesh: reference.Accurate{Tolerance: c.reference.Tolerance}})
	fine, err := q.FindModes(c.ctx, bayes.ModeSearch{Seed: s.Seed, From: from, Points: 60, Starts: 4})
	if err != nil {
		return nil, c.ctx.Err() // the modes of the solver in question have to suffice
	}
	var starts [][]float64
	for _, m := range fine.Modes {
		if m.Mass > minor {
			starts = append(starts, m.Theta)
		}
	}
	return starts, nil
}

// climb adds the mode of the reference to which a climb from the point leads, unless it
// is known.
func (c *Certifier) climb(from []float64) {
	m := anchor{AtMode: unknown()}
	m.From = slices.Clone(from)
	u := make([]float64, len(from))
	err := c.by.Unconstrain(u, from)
	if err == nil && c.noClimb {
		if m.at, m.Found, err = expandNear(c.fine, c.by, u); err == nil && !m.Found {
			err = fmt.Errorf("%s is not near a mode of the posterior", format4(from))
		}
	} else if err == nil {
		m.at, m.Found, err = climb(c.fine, c.by, u)
	}
	if err != nil {
		m.Err = strings.TrimPrefix(err.Error(), "certify: ")
		c.modes = append(c.modes, m)
		return
	}
	m.Theta, m.Moved = m.at.theta, 0
	for k := range u {
		m.Moved = max(m.Moved, math.Abs(u[k]-m.at.X[k])/m.at.sd[k])
	}
	for _, known := range c.modes {
		if known.at == nil {
			continue
		}
		far := 0.0
		for k := range u {
			far = max(far, math.Abs(known.at.X[k]-m.at.X[k])/m.at.sd[k])
		}
		if far < 0.1 && m.Moved < vanished {
			return // a climb from afar is kept: its start is a phantom
		}
	}
	m.OwnD = c.own(m.at)
	c.modes = append(c.modes, m)
}

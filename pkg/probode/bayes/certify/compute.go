package certify

import (
	"errors"
	"math"
	"slices"
	"strings"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/bayes/compare"
	"github.com/probode/probode/pkg/probode/bayes/shape"
)

// Compare compares a Setup with the reference at the modes of c. The points in `own` are
// the modes of the posterior computed with the Setup. Compare climbs from each of the
// points in `own` to a mode of the reference posterior, and includes this mode in the
// comparison.
func (c *Certifier) Compare(coarse probode.Setup, own [][]float64) (*Certificate, error) {
	shared := c.modes
	defer func() { c.modes = shared }()
	c.modes = slices.Clone(shared)
	own, err := c.verified(coarse, own)
	if err != nil {
		return nil, err
	}
	for _, theta := range own {
		c.AddMode(theta)
	}
	return c.certify(coarse)
}

func (c *Certifier) header(coarse probode.Setup) *Certificate {
	coarse = coarse.Or(c.p.Setup)
	out := &Certificate{Setup: describe(coarse), Reference: describe(c.reference), Names: c.p.Names()}
	if coarse.Method != nil {
		out.Method = coarse.Method.String()
	}
	out.StepSize = coarse.StepSize()
	out.Tolerance, _ = compare.Tolerance(coarse)
	for _, k := range c.assessed {
		out.Params = append(out.Params, c.p.Params[k].Name)
	}
	return out
}

func (c *Certifier) certify(coarse probode.Setup) (*Certificate, error) {
	out := c.header(coarse)
	x, err := compare.New(c.ctx, c.p, coarse)
	if err != nil {
		return nil, err
	}
	for _, m := range c.modes {
		if m.at != nil {
			if err := c.fill(&m, x); err != nil {
				m.Err = strings.TrimPrefix(err.Error(), "certify: ")
			}
		}
		if err := c.ctx.Err(); err != nil { // the reason why a mode has an error
			return nil, err
		}
		out.Modes = append(out.Modes, m.AtMode)
	}
	return out, nil
}

func (c *Certifier) fill(m *anchor, x *compare.Solver) error {
	to := x.At(m.at.theta)
	if to.Err != nil {
		return to.Err
	}
	var err error
	d, shift := m.at.shift(to.Expected)
	m.D, m.Bound, m.KL, m.TV = d, d*m.at.focus(c.assessed), d*d/2, math.Erf(d/(2*math.Sqrt2))
	if m.at.own != nil {
		m.Bound *= math.Sqrt2
	}
	if m.at.misfits() {
		if m.Misfit, err = m.at.pull(x); err != nil {
			return err
		}
		m.Bound += m.Misfit
	}
	m.Shift, m.SD = nil, nil
	for _, k := range c.assessed {
		m.Bound = max(m.Bound, math.Abs(shift[k]))
		m.Shift = append(m.Shift, shift[k])
		m.SD = append(m.SD, m.at.sd[k]*math.Abs(m.at.dtheta[k]))
	}
	if m.D < noDifference && !slices.ContainsFunc(m.at.data, func(o shape.Datum) bool {
		return slices.ContainsFunc(o.Jacobian, func(v float64) bool { return v != 0 })
	}) {
		return errors.New("certify: no parameter affects the data that the two solvers predict; if f has a pulse between their steps, declare it as an event")
	}
	if m.Found && m.D <= limitD && m.Moved < vanished {
		look := newLook(m.at, x, to.LogLikelihood)
		look.lent = c.lent
		away, p := look.away(c.assessed)
		m.Unsolved = look.unsolved
		if err := c.ctx.Err(); err != nil {
			return err
		}
		if !(away <= beyond*m.Bound) && !(away < noticed) {
			m.Bound, m.Where, m.Differ = away, p.theta, p.coarse-p.fine
		}
	}
	return nil
}

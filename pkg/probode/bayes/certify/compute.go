package certify

import (
	"errors"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/probode/probode/pkg/probode"
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

// Seconds returns the time, in seconds, that it takes to solve the equations once at the
// first mode. The result is the median of five measurements. Seconds returns NaN if the
// equations cannot be solved.
func (c *Certifier) Seconds(s probode.Setup) float64 {
	x, err := newEvaluator(c.ctx, c.p, s)
	if err != nil {
		return math.NaN()
	}
	var all []float64
	for range 5 {
		begin := time.Now()
		if _, _, err := x.at(c.Mode()); err != nil {
			return math.NaN()
		}
		all = append(all, time.Since(begin).Seconds())
	}
	slices.Sort(all)
	return all[2]
}

func (c *Certifier) header(coarse probode.Setup) *Certificate {
	coarse = coarse.Or(c.p.Setup)
	out := &Certificate{Setup: describe(coarse), Reference: describe(c.reference), Names: c.p.Names()}
	if coarse.Method != nil {
		out.Method = coarse.Method.String()
	}
	out.StepSize = coarse.StepSize()
	out.Tolerance, _ = tolerance(coarse)
	for _, k := range c.assessed {
		out.Params = append(out.Params, c.p.Params[k].Name)
	}
	return out
}

func (c *Certifier) certify(coarse probode.Setup) (*Certificate, error) {
	out := c.header(coarse)
	x, err := newEvaluator(c.ctx, c.p, coarse)
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

func (c *Certifier) fill(m *anchor, x *evaluator) error {
	expected, ll, err := x.at(m.at.theta)
	if err != nil {
		return err
	}
	d, shift := m.at.shift(expected)
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
	if m.D < noDifference {
		if err := suspect(m); err != nil {
			return err
		}
	}
	if m.Found && m.D <= limitD && m.Moved < vanished {
		look := newLook(m.at, x, ll)
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

// suspect checks a mode at which both setups predict the same: both may have stepped over
// the same pulse. It compares with many equal steps, and fails if no parameter affects
// the data.
func suspect(m *anchor) error {
	m.OwnD = max(m.OwnD, unseen(m.at, ManySteps))
	for _, o := range m.at.data {
		if slices.ContainsFunc(o.Jacobian, func(v float64) bool { return v != 0 }) {
			return nil
		}
	}
	return errors.New("certify: no parameter affects the data that the two solvers predict; if f has a pulse between their steps, declare it as an event")
}

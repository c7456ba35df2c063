package certify

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/probode/probode/pkg/probode/bayes"
)

// Settings says what is to be certified.
type Settings struct {
	// Coarse is the solver in question; the zero value is that of the Posterior.
	Coarse Solver

	// Reference is the better solver; nil stands for the accurate one.
	Reference *Solver

	// Modes are the points, of all parameters, from which the search climbs to modes of
	// the reference's posterior. Nil starts from the modes that bayes.FindModes finds
	// with the solver in question and with the reference.
	Modes [][]float64

	// NoClimb takes the points of Modes as they are, if by gradient and curvature they
	// are as near to a mode as a draw of the posterior is. That takes two solves for
	// each parameter.
	NoClimb bool

	Seed uint64 // of the search for modes
}

// Run compares a solver with the reference at the modes of the posterior. It takes a
// few dozen solutions by the reference for each mode, and one by the solver. What
// cannot be solved at one mode is recorded there; the error says that the model or the
// settings make no sense, or that ctx ended.
func Run(ctx context.Context, p *bayes.Posterior, s Settings) (*Certificate, error) {
	all, err := Each(ctx, p, []Solver{s.Coarse}, s)
	if all == nil {
		return nil, err
	}
	return all[0], err
}

// Each is Run for several solvers, each in place of s.Coarse; it searches for the
// reference's modes once.
func Each(ctx context.Context, p *bayes.Posterior, solvers []Solver, s Settings) ([]*Certificate, error) {
	c, err := s.certifier(ctx, p)
	if err != nil {
		return nil, err
	}
	var found [][]float64 // by the reference
	var out []*Certificate
	searched, failures := false, 0
	for i, coarse := range solvers {
		from := s.Modes
		var failed error // of the solver, at all points that were tried
		if from == nil {
			s.Coarse = coarse
			if from, failed = c.search(s); failed != nil && (ctx.Err() != nil || len(solvers) == 1) {
				return nil, failed
			}
			if !searched {
				searched = true
				if found, err = c.searchReference(s, from); err != nil {
					return nil, err
				}
			}
			from = append(from, found...)
		}
		begin := time.Now() // of the certificate itself
		if i == 0 || s.Modes == nil {
			// A mode that only another solver's posterior has is no mode of this one's.
			c.modes = slices.DeleteFunc(c.modes, func(m anchor) bool { return !(m.Moved < vanished) })
			if err := c.climbAll(from); err != nil {
				return nil, err
			}
		}
		var one *Certificate
		if failed == nil {
			one, failed = c.certify(coarse)
		}
		if failed != nil && (ctx.Err() != nil || len(solvers) == 1) {
			return nil, failed
		}
		if failed != nil {
			// The other solvers may succeed, such as one with a smaller tolerance.
			one = c.header(coarse)
			one.Modes = []AtMode{unknown()}
			one.Modes[0].Err = strings.TrimPrefix(failed.Error(), "bayes: ")
			failures++
		}
		one.Seconds = time.Since(begin).Seconds()
		out = append(out, one)
		if failures == len(solvers) {
			return nil, failed
		}
	}
	return out, ctx.Err()
}

func unknown() AtMode {
	nan := math.NaN()
	return AtMode{Moved: nan, D: nan, Bound: nan, TV: nan, KL: nan, OwnD: nan}
}

// certifier returns the certifier that the settings ask for.
func (s Settings) certifier(ctx context.Context, p *bayes.Posterior) (*Certifier, error) {
	if ctx == nil {
		return nil, errors.New("certify: the context is nil")
	}
	if p == nil {
		return nil, errors.New("certify: the Posterior is nil")
	}
	reference := Solver{Accurate: true}
	if s.Reference != nil {
		reference = *s.Reference
	}
	c, err := New(ctx, p, reference)
	if err == nil {
		c.noClimb = s.NoClimb
	}
	return c, err
}

// A Certifier holds the modes of a reference posterior, at which it compares solvers
// with the reference.
type Certifier struct {
	ctx       context.Context
	p         *bayes.Posterior
	reference Solver
	by        *bayes.Density // for the transformation of parameters
	fine      *expecter
	assessed  []int
	noClimb   bool
	modes     []anchor
}

// An anchor is a mode of the reference with the model linearised there; at is nil if
// that failed.
type anchor struct {
	AtMode
	at *linearised
}

// New returns a Certifier without modes. Its context is that of all later work.
func New(ctx context.Context, p *bayes.Posterior, reference Solver) (*Certifier, error) {
	c := &Certifier{ctx: ctx, p: p, reference: reference}
	var err error
	if c.by, err = (Solver{Accurate: true}).density(p); err != nil {
		return nil, err
	}
	if c.fine, err = newExpecter(ctx, p, reference); err != nil {
		return nil, err
	}
	for k, q := range p.Params {
		if q.Name != p.AlphaParam {
			c.assessed = append(c.assessed, k)
		}
	}
	return c, nil
}

// AddMode climbs from theta to a mode of the reference's posterior and keeps it.
func (c *Certifier) AddMode(theta []float64) { c.climb(theta) }

// Mode returns the first mode that was reached, nil if none was.
func (c *Certifier) Mode() []float64 {
	if m := c.first(); m != nil {
		return m.theta
	}
	return nil
}

// first returns the posterior at the first mode that was reached, nil if none was.
func (c *Certifier) first() *linearised {
	for _, m := range c.modes {
		if m.at != nil && m.Found {
			return m.at
		}
	}
	return nil
}

// Compare compares a solver with the reference at the modes, and at those to which
// climbs from its own modes lead.
func (c *Certifier) Compare(coarse Solver, own [][]float64) (*Certificate, error) {
	shared := c.modes
	defer func() { c.modes = shared }()
	c.modes = slices.Clone(shared)
	for _, theta := range own {
		c.climb(theta)
	}
	return c.certify(coarse)
}

// Seconds returns the time of one solution at the first mode, the median of five; NaN
// if it fails.
func (c *Certifier) Seconds(s Solver) float64 {
	x := c.fine
	if !s.Accurate {
		var err error
		if x, err = newExpecter(c.ctx, c.p, s); err != nil {
			return math.NaN()
		}
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

// header returns the certificate of a solver without modes.
func (c *Certifier) header(coarse Solver) *Certificate {
	out := &Certificate{Coarse: coarse, Reference: c.reference}
	if coarse.Method == nil && !coarse.Accurate {
		out.Coarse.Method = c.p.Method
	}
	if coarse.Method == nil && !coarse.Accurate && !coarse.Controlled() && coarse.StepSize == 0 {
		out.Coarse.StepSize = c.p.StepSize()
	}
	for _, k := range c.assessed {
		out.Params = append(out.Params, c.p.Params[k].Name)
	}
	for _, q := range c.p.Params {
		out.Names = append(out.Names, q.Name)
	}
	out.Unknown = ownParams(c.p) != nil
	return out
}

// certify compares a solver with the reference.
func (c *Certifier) certify(coarse Solver) (*Certificate, error) {
	out := c.header(coarse)
	x, err := newExpecter(c.ctx, c.p, coarse)
	if err != nil {
		return nil, err
	}
	for _, m := range c.modes {
		if m.at != nil {
			if err := c.fill(&m, x, out.Unknown); err != nil {
				m.Err = strings.TrimPrefix(err.Error(), "certify: ")
			}
			if err := c.ctx.Err(); err != nil {
				return nil, err
			}
		}
		out.Modes = append(out.Modes, m.AtMode)
	}
	return out, nil
}

// fill computes what a Certificate says of x at m.
func (c *Certifier) fill(m *anchor, x *expecter, unknown bool) error {
	expected, _, err := x.at(m.at.theta)
	if err != nil {
		return err
	}
	d, shift := m.at.shift(expected)
	m.D, m.Bound, m.KL, m.TV = d, d*m.at.focus(c.assessed), d*d/2, math.Erf(d/(2*math.Sqrt2))
	if unknown {
		m.Bound *= math.Sqrt2
	}
	if m.at.misfits() {
		if m.Misfit, err = m.at.pull(x, c.by, shift); err != nil {
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
	return nil
}

// climbAll climbs from points that a caller gave.
func (c *Certifier) climbAll(from [][]float64) error {
	for _, m := range from {
		if len(m) != len(c.p.Params) {
			return fmt.Errorf("certify: a mode has %d numbers: want %d, one for each parameter", len(m), len(c.p.Params))
		}
	}
	for _, m := range from {
		c.climb(m)
	}
	return nil
}

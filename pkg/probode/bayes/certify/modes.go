package certify

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/gonum/mat"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/bayes"
	"github.com/probode/probode/pkg/probode/bayes/compare"
	"github.com/probode/probode/pkg/probode/bayes/modes"
	"github.com/probode/probode/pkg/probode/bayes/shape"
	"github.com/probode/probode/pkg/probode/reference"
)

// Certificates are computed at modes of the reference posterior. Climbs lead to these
// modes. The climbs start from the modes that were found by searches with the compared
// setup and with the reference.

// A Certifier holds the modes of the reference posterior, and compares setups with the
// reference at these modes.
type Certifier struct {
	ctx       context.Context
	p         *bayes.Posterior
	reference probode.Setup
	fine      *compare.Solver // evaluator of the reference
	lent      *compare.Solver // evaluator of shape.Lender; nil if the reference is not an accurate solver
	assessed  []int
	noClimb   bool
	modes     []anchor
	climbed   []anchor // the results of all climbs

	searched bool
	found    [][]float64 // modes that a search with the reference has found
}

// An anchor has a nil expansion if it failed.
type anchor struct {
	AtMode
	at *expansion
}

// New returns a Certifier for p; the Certifier contains no modes yet. The argument `by`
// is the Setup with which the reference solves the equations of p. If `by` is the zero
// Setup, reference.Accurate is used. The Certifier uses ctx for all later computations.
func New(ctx context.Context, p *bayes.Posterior, by probode.Setup) (*Certifier, error) {
	if p == nil {
		return nil, errors.New("certify: the Posterior is nil")
	}
	if by.Mesh == nil && by.Method == nil {
		by.Mesh = reference.Accurate{}
	}
	fine, err := compare.New(ctx, p, by)
	if err != nil {
		return nil, err
	}
	c := &Certifier{ctx: ctx, p: p, reference: by, fine: fine}
	if _, ok := by.Mesh.(reference.Accurate); ok {
		if c.lent, err = compare.New(ctx, p, shape.Lender); err != nil {
			return nil, err
		}
	}
	for k, q := range p.Params {
		if q.Name != p.AlphaParam {
			c.assessed = append(c.assessed, k)
		}
	}
	return c, nil
}

func (c *Certifier) reached() (out []anchor) {
	for _, m := range c.modes {
		if m.at != nil && m.Found {
			out = append(out, m)
		}
	}
	return out
}

// search looks with the Setup and with the reference; a Setup without a mesh gets steps
// that work for most problems. If the Setup fails, the modes of the reference come with
// the error.
func (c *Certifier) search(coarse probode.Setup, seed uint64) ([][]float64, error) {
	q := c.p.SolvedBy(coarse)
	if q.Mesh == nil {
		q.Mesh = probode.Uniform(shortestSpan(c.p) / 200)
	}
	found, failed := modes.Find(c.ctx, q, modes.Settings{Seed: seed})
	var from [][]float64
	if failed == nil {
		from = found.Thetas(minor)
	}
	if _, ok := c.reference.Mesh.(reference.Accurate); ok && !c.searched {
		// The search with the reference also starts from the modes that were found with
		// the other Setup, so a small number of draws from the prior is enough.
		by := modes.Settings{Seed: seed, From: from, Points: 60, Starts: 4}
		if found, err := modes.Find(c.ctx, c.p.SolvedBy(c.reference), by); err == nil {
			c.found = found.Thetas(minor)
		}
		c.searched = true
	}
	if err := c.ctx.Err(); err != nil {
		return nil, err
	}
	return append(from, c.found...), failed
}

// verified returns points from which climbs may begin. An end far away makes the
// beginning a phantom, but only if it is a mode of coarse; if it is not, such as the end
// of an unfinished search, the mode to which coarse climbs replaces it, or else that of
// the reference.
func (c *Certifier) verified(coarse probode.Setup, from [][]float64) ([][]float64, error) {
	out := slices.Clone(from)
	for i, theta := range out {
		m := c.reach(theta)
		if m.at == nil || m.Moved < vanished {
			continue
		}
		x, err := compare.New(c.ctx, c.p, coarse)
		if err != nil {
			return nil, err
		}
		u := make([]float64, len(theta))
		if err := c.fine.Density.Unconstrain(u, theta); err != nil {
			return nil, err
		}
		l, found, err := climb(x, u)
		switch {
		case c.ctx.Err() != nil:
			return nil, c.ctx.Err()
		case err != nil || !found:
			out[i] = m.Theta
		case !(l.apart(u) < vanished):
			out[i] = l.theta
		}
	}
	return out, nil
}

func (l *expansion) apart(u []float64) (far float64) {
	for k, x := range l.X {
		far = max(far, math.Abs(u[k]-x)/l.sd[k])
	}
	return far
}

// AddMode climbs from a point to a mode of the reference posterior, and adds this mode to
// c unless c already contains it.
func (c *Certifier) AddMode(from []float64) {
	m := c.reach(from)
	if m.at == nil {
		c.modes = append(c.modes, m)
		return
	}
	for _, known := range c.modes {
		if known.at == nil {
			continue
		}
		if m.at.apart(known.at.X) < 0.1 && m.Moved < vanished {
			return // the mode is known; but a climb from far away is kept, because it begins at a phantom mode
		}
	}
	m.OwnD = c.ownError(m.Theta)
	c.modes = append(c.modes, m)
}

// ownError returns D between the reference and a finer Setup, and with many equal steps if
// the reference has stepped over a pulse. It is NaN if the finer Setup fails.
func (c *Certifier) ownError(theta []float64) float64 {
	points := compare.Points{Posterior: c.p, Theta: [][]float64{theta}}
	own, err := points.Differences(c.ctx, c.reference, compare.Finer(c.reference.Or(c.p.Setup)))
	if err != nil {
		return math.NaN()
	}
	pulse, err := points.Unseen(c.ctx, c.reference.Or(c.p.Setup), 0)
	if err != nil {
		return math.NaN()
	}
	return math.Max(own[0].D, pulse)
}

// reach keeps the result of a climb for the same start.
func (c *Certifier) reach(from []float64) anchor {
	if i := slices.IndexFunc(c.climbed, func(m anchor) bool { return slices.Equal(m.From, from) }); i >= 0 {
		return c.climbed[i]
	}
	m := anchor{AtMode: unknown()}
	m.From = slices.Clone(from)
	u := make([]float64, len(from))
	err := c.fine.Density.Unconstrain(u, from)
	if err == nil && c.noClimb {
		if m.at, m.Found, err = expandNear(c.fine, u); err == nil && !m.Found {
			err = fmt.Errorf("%s is not near a mode of the posterior", format4(from))
		}
	} else if err == nil {
		m.at, m.Found, err = climb(c.fine, c.ahead(u))
	}
	if err != nil {
		m.at, m.Err = nil, strings.TrimPrefix(err.Error(), "certify: ")
	} else {
		m.Theta, m.Moved = m.at.theta, m.at.apart(u)
	}
	c.climbed = append(c.climbed, m)
	return m
}

// ahead climbs with a cheap solver, and returns u if the reference density at the end is
// lower.
func (c *Certifier) ahead(u []float64) []float64 {
	if c.lent == nil {
		return u
	}
	a := c.lent.Surface().Ascent(slices.Clone(u), c.lent.Surface().Value(u))
	a.Climb(c.ctx, c.lent.Surface(), 5e-8, 100)
	if c.ctx.Err() != nil || slices.Equal(a.X, u) || !(c.fine.Surface().Value(a.X) >= c.fine.Surface().Value(u)) {
		return u
	}
	return a.X
}

// climb reports whether it ended within a hundredth of a standard deviation of the mode.
func climb(x *compare.Solver, u []float64) (l *expansion, found bool, err error) {
	if l, err = expand(x, u, nil); err != nil {
		return nil, false, err
	}
	c := x.Surface().Ascent(slices.Clone(l.X), l.Value)
	c.Climb(x.Context(), x.Surface(), c.Tolerance, 50)
	// The second, smaller tolerance is needed only if the metric used by the ascent is
	// inaccurate.
	for _, tolerance := range []float64{1e-5, 5e-8} {
		c.Climb(x.Context(), x.Surface(), tolerance, 100)
		if err := x.Context().Err(); err != nil {
			return nil, false, err
		}
		if !slices.Equal(c.X, l.X) {
			to, err := expand(x, c.X, l.widths())
			if err != nil {
				return l, false, x.Context().Err()
			}
			l = to
		}
		if found = l.left() < 0.01 && !l.saddle(); found {
			break
		}
	}
	return l, found, nil
}

func (l *expansion) left() float64 {
	if l.U != nil {
		a := l.x.Surface().Ascent(l.X, l.Value)
		a.Point = l.Point
		rise, _ := a.Left(math.Inf(1))
		return math.Sqrt(max(0, 2*rise))
	}
	step := mat.NewVecDense(len(l.X), nil)
	if err := l.chol.SolveVecTo(step, l.slope); err != nil && step.Len() == 0 {
		return math.Inf(1)
	}
	return math.Sqrt(math.Abs(mat.Dot(step, l.slope)))
}

func unknown() AtMode {
	nan := math.NaN()
	return AtMode{Moved: nan, D: nan, Bound: nan, TV: nan, KL: nan, OwnD: nan}
}

func format4(x []float64) string {
	var parts []string
	for _, v := range x {
		parts = append(parts, fmt.Sprintf("%.4g", v))
	}
	return "(" + strings.Join(parts, ", ") + ")"
}

package certify

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/gonum/mat"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/bayes/modes"
	"github.com/probode/probode/pkg/probode/bayes/shape"
	"github.com/probode/probode/pkg/probode/reference"
)

// Certificates are made at modes of the reference's posterior. A climb by the reference
// starts from each mode that a search with either setup has found.

// search returns the modes of the posterior by a Setup. One without a mesh stands for
// steps of a size that most problems can be solved with.
func (c *Certifier) search(coarse probode.Setup, seed uint64) ([][]float64, error) {
	q := c.p.SolvedBy(coarse)
	if q.Mesh == nil {
		shortest, _ := spans(c.p)
		q.Mesh = probode.Uniform(shortest / 200)
	}
	found, err := modes.Find(c.ctx, q, modes.Settings{Seed: seed})
	if err != nil {
		return nil, err
	}
	var starts [][]float64
	for k, m := range found.Modes {
		if k == 0 || m.Mass > minor {
			starts = append(starts, m.Theta)
		}
	}
	return starts, nil
}

// searchReference returns the modes by an accurate reference, searched for from few
// draws of the prior and from the ends of the cheaper search; nil without one.
func (c *Certifier) searchReference(from [][]float64, seed uint64) ([][]float64, error) {
	if _, ok := c.reference.Mesh.(reference.Accurate); !ok {
		return nil, nil
	}
	found, err := modes.Find(c.ctx, c.p.SolvedBy(c.reference), modes.Settings{Seed: seed, From: from, Points: 60, Starts: 4})
	if err != nil {
		return nil, c.ctx.Err() // the modes by the Setup in question have to suffice
	}
	var starts [][]float64
	for _, m := range found.Modes {
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
	err := c.fine.density.Unconstrain(u, from)
	if err == nil && c.noClimb {
		if m.at, m.Found, err = expandNear(c.fine, u); err == nil && !m.Found {
			err = fmt.Errorf("%s is not near a mode of the posterior", format4(from))
		}
	} else if err == nil {
		m.at, m.Found, err = climb(c.fine, u)
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
	m.OwnD = c.ownError(m.at)
	c.modes = append(c.modes, m)
}

// climb climbs from u to the mode of the posterior by x. found tells whether it got there,
// to a hundredth of a standard deviation.
func climb(x *evaluator, u []float64) (l *expansion, found bool, err error) {
	if l, err = expand(x, u, nil); err != nil {
		return nil, false, err
	}
	c := shape.Climb{Point: l.Point, Low: x.surface.Low, High: x.surface.High, Known: true}
	c.X = slices.Clone(l.X)
	for range 50 {
		if c.Done || x.ctx.Err() != nil {
			break
		}
		c.Step(x.surface, false)
	}
	c.Polish(x.surface)
	if err := x.ctx.Err(); err != nil {
		return nil, false, err
	}
	if !slices.Equal(c.X, l.X) {
		to, err := expand(x, c.X, l.widths())
		if err != nil {
			if x.ctx.Err() != nil {
				return nil, false, x.ctx.Err()
			}
			return l, false, nil
		}
		l = to
	}
	return l, l.left() < 0.01 && !l.saddle, nil
}

// left returns how far the expansion has the mode away, in standard deviations.
func (l *expansion) left() float64 {
	if l.U != nil {
		_, gain, ok := (&shape.Climb{Point: l.Point}).Newton(0)
		if !ok {
			return math.Inf(1)
		}
		return math.Sqrt(max(0, gain))
	}
	step := mat.NewVecDense(len(l.X), nil)
	if err := l.chol.SolveVecTo(step, l.slope); err != nil && step.Len() == 0 {
		return math.Inf(1)
	}
	return math.Sqrt(math.Abs(mat.Dot(step, l.slope)))
}

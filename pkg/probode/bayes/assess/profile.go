package assess

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/probode/probode/pkg/probode/bayes"
)

// A Profile is the log likelihood along a line through one parameter, the others
// held, by several solvers. By one that chooses its steps again at every θ it is
// jagged: it jumps where a step is taken or rejected, by as much as the tolerance
// lets it, and a chain or an optimiser can be caught between two jumps.
type Profile struct {
	Param   string
	X       []float64
	Solvers []Solver
	// LogLikelihood has a row for each solver; NaN where the equations could not
	// be solved.
	LogLikelihood [][]float64
}

// NewProfile computes a Profile along the named parameter, at n points from lo to
// hi; the others are those of theta.
func NewProfile(ctx context.Context, p *bayes.Posterior, solvers []Solver, theta []float64, name string, lo, hi float64, n int) (*Profile, error) {
	if ctx == nil || p == nil {
		return nil, errors.New("assess: NewProfile wants a context and a Posterior, not nil")
	}
	k := indexOf(p, name)
	switch {
	case k < 0:
		return nil, fmt.Errorf("assess: no parameter %q along which to look", name)
	case len(theta) != len(p.Params):
		return nil, fmt.Errorf("assess: a point of %d numbers: want %d, one for each parameter", len(theta), len(p.Params))
	case n < 2 || !(lo < hi):
		return nil, fmt.Errorf("assess: %d points from %g to %g: want at least 2, and lo < hi", n, lo, hi)
	}
	out := &Profile{Param: name, Solvers: slices.Clone(solvers)}
	for i := range n {
		out.X = append(out.X, lo+(hi-lo)*float64(i)/float64(n-1))
	}
	at := slices.Clone(theta)
	for i, s := range solvers {
		x, err := newExpecter(ctx, p, s)
		if err != nil {
			return nil, err
		}
		if s.Method == nil && !s.Accurate {
			out.Solvers[i].Method = p.Method
		}
		var row []float64
		for _, v := range out.X {
			at[k] = v
			_, ll, err := x.at(at)
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			if err != nil {
				ll = math.NaN()
			}
			row = append(row, ll)
		}
		out.LogLikelihood = append(out.LogLikelihood, row)
	}
	return out, nil
}

// profile makes that of the report.
func (a *assessor) profile() error {
	c, top, last := a.certifier, &a.out.Steps[0], &a.out.Steps[a.finest()]
	if c == nil {
		return nil
	}
	at := slices.IndexFunc(c.modes, func(m anchor) bool { return m.at != nil && m.Found })
	if at < 0 {
		return nil
	}
	mode := c.modes[at].at
	best, most := c.assessed[0], 0.0
	if x, err := newExpecter(a.ctx, a.p, top.solver()); err == nil {
		if m, _, err := x.at(mode.theta); err == nil {
			_, shift := mode.shift(m)
			for _, k := range c.assessed {
				// The equations do not depend on numbers of the likelihood.
				if s := math.Abs(shift[k]); s > most && !slices.Contains(mode.own, k) {
					best, most = k, s
				}
			}
		}
	}
	solvers := []Solver{top.solver(), last.solver(), c.reference}
	if len(a.out.Steps) == 1 {
		solvers = slices.Delete(solvers, 1, 2)
	}
	sd := mode.sd[best] * math.Abs(mode.dtheta[best])
	p, err := NewProfile(a.ctx, a.p, solvers, mode.theta, a.out.Names[best], mode.theta[best]-profileWidth*sd, mode.theta[best]+profileWidth*sd, 201)
	if err != nil {
		return a.ctx.Err() // a figure is not worth the rest
	}
	a.out.Profile = p
	return nil
}

// profileWidth is the half width of a Profile in posterior sd: the moves that a
// sampler makes.
const profileWidth = 0.5

// Jaggedness returns how far the log likelihoods by solver i lie from a smooth
// curve: the root of the mean square of the third differences, over √20, by which
// these enlarge independent errors. Of a smooth curve it falls like the third power
// of the distance of the points.
func (p *Profile) Jaggedness(i int) float64 {
	y := p.LogLikelihood[i]
	var sum float64
	n := 0
	for k := 3; k < len(y); k++ {
		if d := y[k] - 3*y[k-1] + 3*y[k-2] - y[k-3]; !math.IsNaN(d) {
			sum += d * d
			n++
		}
	}
	return math.Sqrt(sum / float64(n) / 20)
}

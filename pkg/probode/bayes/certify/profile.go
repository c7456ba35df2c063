package certify

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/bayes"
	"github.com/probode/probode/pkg/probode/bayes/compare"
)

// A Profile holds the log likelihoods under several setups as functions of one parameter,
// with the other parameters fixed. If error control chooses the steps separately for
// every θ, the log likelihood jumps wherever a step changes from accepted to rejected.
// The size of a jump depends on the tolerance. A Markov chain or an optimiser can get
// trapped between two jumps.
type Profile struct {
	Param  string
	X      []float64
	Setups []string
	// LogLikelihood has one row for each setup. An element is NaN if the equations could
	// not be solved.
	LogLikelihood [][]float64
}

// NewProfile computes a Profile along the named parameter at n equally spaced points from
// lo to hi; theta holds the values of the other parameters.
func NewProfile(ctx context.Context, p *bayes.Posterior, setups []probode.Setup, theta []float64, name string, lo, hi float64, n int) (*Profile, error) {
	if p == nil {
		return nil, errors.New("certify: the Posterior is nil")
	}
	k := slices.IndexFunc(p.Params, func(q bayes.Param) bool { return q.Name == name })
	switch {
	case k < 0:
		return nil, fmt.Errorf("certify: there is no parameter %q", name)
	case len(theta) != len(p.Params):
		return nil, fmt.Errorf("certify: the point has %d numbers: want %d, one for each parameter", len(theta), len(p.Params))
	case n < 2 || !(lo < hi):
		return nil, fmt.Errorf("certify: the profile has %d points from lo = %g to hi = %g: want at least 2 points, and lo < hi", n, lo, hi)
	}
	out := &Profile{Param: name}
	points := compare.Points{Posterior: p}
	for i := range n {
		out.X = append(out.X, lo+(hi-lo)*float64(i)/float64(n-1))
		points.Theta = append(points.Theta, slices.Clone(theta))
		points.Theta[i][k] = out.X[i]
	}
	for _, s := range setups {
		if _, err := compare.New(ctx, p, s); err != nil {
			return nil, err
		}
		out.Setups = append(out.Setups, describe(s.Or(p.Setup)))
		out.LogLikelihood = append(out.LogLikelihood, make([]float64, n))
	}
	err := points.Each(ctx, setups, func(i int, _ []*compare.Solver, at []compare.Solution) {
		for m, s := range at {
			if out.LogLikelihood[m][i] = s.LogLikelihood; s.Err != nil {
				out.LogLikelihood[m][i] = math.NaN()
			}
		}
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// Profile computes the log likelihood along a line through the first mode, for the given
// setups and for the reference. Along this line only one parameter changes: the
// parameter that the first setup shifts most. Profile returns nil if no mode was
// reached, or if a setup cannot be used with the model.
func (c *Certifier) Profile(setups ...probode.Setup) *Profile {
	modes := c.reached()
	if len(modes) == 0 {
		return nil
	}
	mode := modes[0].at
	best, most := c.assessed[0], 0.0
	if x, err := compare.New(c.ctx, c.p, setups[0]); err == nil {
		if to := x.At(mode.theta); to.Err == nil {
			_, shift := mode.shift(to.Expected)
			for _, k := range c.assessed {
				// Parameters of the likelihood are left out, because the differential
				// equations do not depend on them.
				if s := math.Abs(shift[k]); s > most && !slices.Contains(mode.own, k) {
					best, most = k, s
				}
			}
		}
	}
	sd := profileWidth * mode.sd[best] * math.Abs(mode.dtheta[best])
	at := mode.theta[best]
	p, err := NewProfile(c.ctx, c.p, append(setups, c.reference), mode.theta, c.p.Params[best].Name, at-sd, at+sd, 201)
	if err != nil {
		return nil
	}
	return p
}

// profileWidth is half the width of a Profile in standard deviations, about the move of a
// sampler.
const profileWidth = 0.5

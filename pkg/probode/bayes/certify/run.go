package certify

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/bayes"
)

// Settings holds the options of Run and Each.
type Settings struct {
	// Reference is the more accurate Setup; its zero value means reference.Accurate.
	Reference probode.Setup

	// Modes holds the points at which the climbs to modes of the reference posterior
	// begin. Each point has a value for every parameter. If a climb ends more than five
	// standard deviations away from a point that is not a mode of the posterior computed
	// with the compared Setup, a mode near it takes its place. If Modes is nil, modes.Find
	// searches for the modes of both posteriors: the one computed with the compared
	// Setup, and the one computed with the reference.
	Modes [][]float64

	// If NoClimb is true, the points in Modes are used as they are, which saves the cost
	// of climbing to a mode. The computation fails at a point that is farther from a mode
	// than a typical draw from the posterior. The distance from the mode is estimated
	// from the gradient and the curvatures at the point.
	NoClimb bool

	Seed uint64 // seed of the search for modes
}

// Run compares the Setup of p with the reference at the modes of the posterior. After the
// search for modes, the reference solver runs a few dozen times for each mode. For d
// parameters, the comparison away from the mode runs the two solvers at most 50 + 20 d
// times in total. If the computation fails at a mode, the AtMode for this mode contains
// the error message. Run returns an error if there is a mistake in the model or the
// settings, or if ctx is done.
func Run(ctx context.Context, p *bayes.Posterior, s Settings) (*Certificate, error) {
	all, err := Each(ctx, p, []probode.Setup{{}}, s)
	if err != nil {
		return nil, err
	}
	return all[0], nil
}

// Each does the same as Run, but for several setups instead of the Setup of p. An empty
// field of a setup takes its value from the Setup of p. The modes of the reference
// posterior are searched for only once. If some of the setups fail, their certificates
// say why. If all setups fail, Each returns an error.
func Each(ctx context.Context, p *bayes.Posterior, setups []probode.Setup, s Settings) ([]*Certificate, error) {
	c, err := s.certifier(ctx, p)
	if err != nil {
		return nil, err
	}
	var out []*Certificate
	var failed error
	failures := 0
	for _, coarse := range setups {
		one, err := c.searchAndCertify(coarse, s)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err != nil {
			failed = err
			failures++
			one = c.header(coarse)
			one.Modes = []AtMode{unknown()}
			one.Modes[0].Err = strings.TrimPrefix(err.Error(), "bayes: ")
		}
		out = append(out, one)
	}
	if failures == len(setups) {
		return nil, failed
	}
	return out, nil
}

// searchAndCertify searches for modes if the settings have none. Certificate.Seconds
// leaves the search out.
func (c *Certifier) searchAndCertify(coarse probode.Setup, s Settings) (*Certificate, error) {
	from := s.Modes
	var err error
	if from == nil {
		if from, err = c.search(coarse, s.Seed); err != nil {
			return nil, err
		}
	}
	begin := time.Now()
	if from, err = c.verified(coarse, from); err != nil {
		return nil, err
	}
	// A phantom mode of one setup is not always a mode of the posterior computed with
	// another setup.
	c.modes = slices.DeleteFunc(c.modes, func(m anchor) bool { return !(m.Moved < vanished) })
	for _, m := range from {
		c.AddMode(m)
	}
	one, err := c.certify(coarse)
	if err == nil {
		one.Seconds = time.Since(begin).Seconds()
	}
	return one, err
}

func (s Settings) certifier(ctx context.Context, p *bayes.Posterior) (*Certifier, error) {
	c, err := New(ctx, p, s.Reference)
	if err != nil {
		return nil, err
	}
	c.noClimb = s.NoClimb
	for _, m := range s.Modes {
		if len(m) != len(p.Params) {
			return nil, fmt.Errorf("certify: a mode has %d numbers: want %d, one for each parameter", len(m), len(p.Params))
		}
	}
	return c, nil
}

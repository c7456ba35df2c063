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

// Settings says what a Setup is compared with, and where.
type Settings struct {
	// Reference is the more accurate Setup; its zero value means reference.Accurate.
	Reference probode.Setup

	// Modes are points from which the search climbs to modes of the reference
	// posterior, each with a value for every parameter. Nil means the modes that
	// modes.Find finds with the compared Setup and with the reference.
	Modes [][]float64

	// NoClimb uses the points in Modes as they are, without climbing from them to a mode,
	// provided that their gradients and curvatures show that they are as near to a mode as
	// a typical draw from the posterior. That saves the climbs.
	NoClimb bool

	Seed uint64 // seed of the search for modes
}

// Run compares the Setup of p with the reference at the modes of the posterior. After
// the search for modes, the reference solver runs a few dozen times for each mode. For
// d parameters, the comparison away from the mode takes at most 50 + 20 d solutions,
// counting both setups. If the computation fails at one mode, the AtMode of that mode
// says why. Run returns an error if there is a mistake in the model or the settings, or
// if ctx ends.
func Run(ctx context.Context, p *bayes.Posterior, s Settings) (*Certificate, error) {
	all, err := Each(ctx, p, []probode.Setup{{}}, s)
	if err != nil {
		return nil, err
	}
	return all[0], nil
}

// Each does what Run does, for several setups in place of the Setup of p. Empty fields of
// a setup are taken from p. It searches for the reference's modes once. If some of the
// setups fail, their certificates say why; if all fail, Each returns an error.
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

// searchAndCertify certifies a Setup at the modes given in the settings. If the settings
// have none, it searches for modes first. Certificate.Seconds does not include the
// search.
func (c *Certifier) searchAndCertify(coarse probode.Setup, s Settings) (*Certificate, error) {
	from := s.Modes
	if from == nil {
		var err error
		if from, err = c.search(coarse, s.Seed); err != nil {
			return nil, err
		}
	}
	begin := time.Now()
	if s.Modes == nil || c.modes == nil {
		// A phantom mode of another setup is not a mode of this setup's posterior.
		c.modes = slices.DeleteFunc(c.modes, func(m anchor) bool { return !(m.Moved < vanished) })
		for _, m := range from {
			c.AddMode(m)
		}
	}
	one, err := c.certify(coarse)
	if err == nil {
		one.Seconds = time.Since(begin).Seconds()
	}
	return one, err
}

// The method certifier() returns the Certifier that the settings ask for.
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

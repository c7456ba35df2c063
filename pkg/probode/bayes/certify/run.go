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
	// Reference is the better Setup; the zero value stands for reference.Accurate.
	Reference probode.Setup

	// Modes are the points, of all parameters, from which the search climbs to modes of
	// the reference's posterior. Nil stands for the modes that modes.Find finds with the
	// Setup in question and with the reference.
	Modes [][]float64

	// NoClimb takes the points of Modes as they are, if by gradient and curvature they
	// are as near to a mode as a draw of the posterior is. That saves the climbs.
	NoClimb bool

	Seed uint64 // of the search for modes
}

// Run compares the Setup of p with the reference at the modes of the posterior. Beside
// the search for modes it takes a few dozen solutions by the reference at each mode,
// and at most 50 + 20 d by both away from it. What cannot be solved at one mode is
// recorded there. It is an error if the model or the settings make no sense, or if ctx
// ended.
func Run(ctx context.Context, p *bayes.Posterior, s Settings) (*Certificate, error) {
	all, err := Each(ctx, p, []probode.Setup{{}}, s)
	if err != nil {
		return nil, err
	}
	return all[0], nil
}

// Each is Run for several setups, each in place of that of p; fields that a setup lacks
// are those of p. It searches for the reference's modes once. If some of the setups
// fail, their certificates say why; if all fail it is an error.
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

// searchAndCertify certifies a Setup at the modes of the settings, or else at those
// that it searches for. The certificate's time does not include the search.
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
		// A mode that only another setup's posterior has is no mode of this one's.
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

// certifier returns the Certifier that the settings ask for.
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

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
	// the reference's posterior. Nil starts from the modes that modes.Find finds
	// with the Setup in question and with the reference.
	Modes [][]float64

	// NoClimb takes the points of Modes as they are, if by gradient and curvature they
	// are as near to a mode as a draw of the posterior is. That takes two solves for
	// each parameter.
	NoClimb bool

	Seed uint64 // of the search for modes
}

// Run compares the Setup of p with the reference at the modes of the posterior. It takes
// a few dozen solutions by the reference for each mode, and one by the Setup. What
// cannot be solved at one mode is recorded there; the error says that the model or the
// settings make no sense, or that ctx ended.
func Run(ctx context.Context, p *bayes.Posterior, s Settings) (*Certificate, error) {
	all, err := Each(ctx, p, []probode.Setup{{}}, s)
	if all == nil {
		return nil, err
	}
	return all[0], err
}

// Each is Run for several setups, each in place of that of p; what they lack is that of
// p. It searches for the reference's modes once.
func Each(ctx context.Context, p *bayes.Posterior, setups []probode.Setup, s Settings) ([]*Certificate, error) {
	c, err := s.certifier(ctx, p)
	if err != nil {
		return nil, err
	}
	var out []*Certificate
	failures := 0
	for i, coarse := range setups {
		from := s.Modes
		var failed error // of the Setup, at all points that were tried
		if from == nil {
			if from, failed = c.search(coarse, s.Seed); failed != nil && (ctx.Err() != nil || len(setups) == 1) {
				return nil, failed
			}
		}
		begin := time.Now() // of the certificate itself
		if i == 0 || s.Modes == nil {
			// A mode that only another setup's posterior has is no mode of this one's.
			c.modes = slices.DeleteFunc(c.modes, func(m anchor) bool { return !(m.Moved < vanished) })
			for _, m := range from {
				c.climb(m)
			}
		}
		var one *Certificate
		if failed == nil {
			one, failed = c.certify(coarse)
		}
		if failed != nil && (ctx.Err() != nil || len(setups) == 1) {
			return nil, failed
		}
		if failed != nil {
			// The other setups may succeed, such as one with a smaller tolerance.
			one = c.header(coarse)
			one.Modes = []AtMode{unknown()}
			one.Modes[0].Err = strings.TrimPrefix(failed.Error(), "bayes: ")
			failures++
		}
		one.Seconds = time.Since(begin).Seconds()
		out = append(out, one)
		if failures == len(setups) {
			return nil, failed
		}
	}
	return out, ctx.Err()
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

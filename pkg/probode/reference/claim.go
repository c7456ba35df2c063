package reference

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync/atomic"

	"github.com/probode/probode/pkg/probode"
)

const (
	// looser is the tolerance of the first integration, in units of that of
	// the second, so that its error is the larger of the two and their
	// difference as large.
	looser = 8
	// doubt is the claimed error in units of the difference.
	doubt = 3
)

// twice integrates along c twice, and takes the second for the solution and
// the difference for its error.
func (sol *Solution) twice(ctx context.Context, p *probode.Problem, c *course, s Settings) error {
	d := p.Dim()
	sol.X, sol.Error = make([]float64, len(c.index)*d), make([]float64, len(c.index)*d)
	var stop atomic.Bool
	defer context.AfterFunc(ctx, func() { stop.Store(true) })()
	once := func(run int, s Settings, nudge bool, out []float64) error {
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("stopped at t = %.6g: %w", c.t[0], err)
		}
		e := newIntegration(p, s, run, &stop)
		if nudge {
			e.nudge = slices.Repeat([]float64{1}, d)
		}
		err := e.run(c, out)
		sol.Steps += e.steps
		sol.Rejected += e.rejected
		sol.Evaluations += e.evals
		sol.Implicit += e.implicitOnes
		if errors.Is(err, errStopped) {
			err = fmt.Errorf("stopped at t = %.6g: %w", e.t, ctx.Err())
		}
		return err
	}
	loose := s
	loose.Relative *= looser
	loose.Absolute = scaled(s.Absolute, looser)
	err := once(0, loose, true, sol.Error)
	if errors.Is(err, probode.ErrField) {
		// An argument that was moved by a rounding may have left the domain of
		// f, as that of √(1 − x²) at x = 1.
		err = once(0, loose, false, sol.Error)
	}
	if err != nil {
		return err
	}
	if err := once(1, s, false, sol.X); err != nil {
		return err
	}
	for i, x := range sol.X {
		e := doubt * math.Abs(sol.Error[i]-x)
		if c.index[i/d] > 0 {
			e += 0x1p-52 * math.Abs(x)
		}
		if i >= d {
			e = max(e, sol.Error[i-d])
		}
		sol.Error[i] = e
	}
	return nil
}

// global repeats the integration with smaller and smaller tolerances of a step
// until the global error is what s asks for.
func (sol *Solution) global(ctx context.Context, p *probode.Problem, c *course, s Settings) error {
	local := s
	local.Relative, local.Absolute = s.Relative/10, scaled(s.Absolute, 0.1)
	best, stalled := math.Inf(1), 0
	for {
		if s.Relative > 0 {
			local.Relative = max(local.Relative, 1e-15)
		}
		if err := sol.twice(ctx, p, c, local); err != nil {
			return err
		}
		worst, at := sol.excess(p.Dim(), s)
		if worst <= 1 {
			return nil
		}
		if stalled++; worst < best/2 {
			best, stalled = worst, 0
		}
		if stalled == 2 {
			d := p.Dim()
			return fmt.Errorf("the error of %s at t = %.6g may be %.2g, which is %.2g times what the tolerances permit, and shorter steps do not help: want larger tolerances",
				p.StateName(at%d), sol.Times[at/d], sol.Error[at], worst)
		}
		// Errors go with the tolerance of a step, in the long run.
		shrink := min(0.2, max(1e-3, 0.3/worst))
		local.Relative *= shrink
		local.Absolute = scaled(local.Absolute, shrink)
	}
}

// excess returns the largest error in units of what is permitted, and where it
// is.
func (sol *Solution) excess(d int, s Settings) (worst float64, at int) {
	peak := make([]float64, d)
	for i, x := range sol.X {
		k := i % d
		peak[k] = max(peak[k], math.Abs(x))
		permitted := s.Relative * math.Abs(x)
		switch len(s.Absolute) {
		case 0:
			permitted += s.Relative / 1000 * peak[k]
		case 1:
			permitted += s.Absolute[0]
		default:
			permitted += s.Absolute[k]
		}
		if e := sol.Error[i]; e > worst*permitted {
			worst, at = e/permitted, i
		}
	}
	return worst, at
}

func scaled(x []float64, c float64) []float64 {
	var out []float64
	for _, v := range x {
		out = append(out, c*v)
	}
	return out
}

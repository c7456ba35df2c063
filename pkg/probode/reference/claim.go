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
	// coarsest is the largest relative tolerance of a step that still serves.
	coarsest = 1e-4
	// looser is the tolerance of the first integration, in units of that of
	// the second, so that its error is the larger of the two and their
	// difference as large.
	looser = 16.0
	// looserStiff is the same where steps are implicit. Their errors depend less
	// on the tolerance.
	looserStiff = 64.0
	// loosest is the largest relative tolerance of the first.
	loosest = 1e-3
	// doubt is the claimed error in units of the difference.
	doubt = 10.0
	// doubtStiff is the same where steps are implicit: their errors lose orders,
	// and both integrations do.
	doubtStiff = 30.0
	// share is the part of the relative error of one component that is claimed
	// for all.
	share = 0.3
	// lost is the relative difference from which on nothing is known.
	lost = 0.1
	// least is the smallest claim in units of the tolerance of a step.
	least = 0.1
	// faded is the part of the largest size of a component so far below which its
	// relative error is not looked at.
	faded = 1e-6
	// longer is the ratio of the ends of a period: a claim rests on the present period
	// and the two before, so that a problem that runs over decades of time is judged
	// in each decade by that decade.
	longer = 1.15
	// checks is the number of times at which the integrations are compared,
	// in addition to those that are asked for.
	checks = 12
)

// checkpoints returns times between start and the last of times, where those
// leave wide gaps.
func checkpoints(start float64, times []float64) []float64 {
	var out []float64
	width := (times[len(times)-1] - start) / checks
	for i := 1.0; i < checks; i++ {
		at := start + i*width
		next, _ := slices.BinarySearch(times, at) // > 0 is not sure, the last is behind
		if times[next]-at > width/4 && (next == 0 || at-times[next-1] > width/4) {
			out = append(out, at)
		}
	}
	return out
}

// twice integrates along c twice, and takes the second for the solution and
// the difference for its error.
func (sol *Solution) twice(ctx context.Context, p *probode.Problem, c *course, s Settings) error {
	d := p.Dim()
	other, x := make([]float64, len(c.index)*d), make([]float64, len(c.index)*d)
	before := sol.Implicit
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
	if err := once(1, s, false, x); err != nil {
		return err
	}
	loose, factor, doubt := s, looser, doubt
	if sol.Implicit > before {
		factor, doubt = looserStiff, doubtStiff
	}
	if s.Relative > 0 { // no integration is so loose that it means nothing
		factor = min(factor, loosest/s.Relative)
	}
	loose.Relative = factor * s.Relative
	loose.Absolute = scaled(s.Absolute, factor)
	err := once(0, loose, true, other)
	if errors.Is(err, probode.ErrField) {
		// An argument that was moved by a rounding may have left the domain of
		// f, as that of √(1 − x²) at x = 1.
		err = once(0, loose, false, other)
	}
	if err != nil {
		return err
	}
	sol.X, sol.Error = make([]float64, len(c.asked)*d), make([]float64, len(c.asked)*d)
	first := make([]float64, d)
	p.Initial(first, s.Theta)
	claim(c, s, doubt, first, other, x)
	for i, w := range c.asked {
		copy(sol.X[i*d:(i+1)*d], x[w*d:])
		copy(sol.Error[i*d:(i+1)*d], other[w*d:])
	}
	return nil
}

// claim turns other, the states that are compared with x, into the claimed error of
// x. A difference may be small by chance, where it changes its sign. So the claim rests
// on all recent differences, and on all components: none is taken to be much more
// accurate than the others, relative to its size. The states begin at first.
func claim(c *course, s Settings, doubt float64, first, other, x []float64) {
	if len(c.index) == 0 {
		return
	}
	start, d := c.t[0], len(x)/len(c.index)
	differences, sizes := newRecent(d), newRecent(d)
	worst, peak, ever := make([]float64, d), make([]float64, d), make([]float64, d)
	for k, v := range first {
		ever[k] = math.Abs(v)
	}
	period := 0.0 // its first time, from the start
	for i, at := range c.index {
		if now := c.t[at] - start; now > longer*period {
			period = now
			differences.shift()
			sizes.shift()
		}
		for k := range d {
			now := x[i*d+k]
			worst[k] = differences.add(k, other[i*d+k]-now)
			peak[k] = sizes.add(k, now)
			ever[k] = max(ever[k], math.Abs(now))
		}
		// A component that has decayed, to 1e-200 say or below its absolute tolerance,
		// says nothing about the others by having no digit right.
		var relative float64
		for k, w := range worst {
			if w > 0 {
				relative = max(relative, w/max(w, peak[k], faded*ever[k], s.smallest(k)))
			}
		}
		for k := range d {
			now := math.Abs(x[i*d+k])
			e := doubt * max(worst[k], share*relative*peak[k])
			if relative >= lost {
				e = max(e, 2*peak[k])
			}
			if at > 0 {
				size := now
				if s.Absolute == nil {
					size = max(size, faded*ever[k])
				}
				e += 0x1p-52*now + least*s.permitted(k, size)
			}
			other[i*d+k] = e
		}
	}
}

// A recent has the largest |v| of each component in the present period and the
// two before.
type recent [3][]float64

func newRecent(d int) *recent {
	return &recent{make([]float64, d), make([]float64, d), make([]float64, d)}
}

// shift begins a new period.
func (r *recent) shift() {
	r[0], r[1], r[2] = r[2], r[0], r[1]
	clear(r[0])
}

// add takes in v for component k and returns the largest |v|.
func (r *recent) add(k int, v float64) float64 {
	r[0][k] = max(r[0][k], math.Abs(v))
	return max(r[0][k], r[1][k], r[2][k])
}

// global repeats the integration with smaller and smaller tolerances of a step
// until the global error is what s asks for.
func (sol *Solution) global(ctx context.Context, p *probode.Problem, c *course, s Settings) error {
	local := s
	local.Relative, local.Absolute = min(s.Relative/10, coarsest), scaled(s.Absolute, 0.1)
	first := make([]float64, p.Dim())
	p.Initial(first, s.Theta)
	best, stalled := math.Inf(1), 0
	for {
		if s.Relative > 0 {
			local.Relative = max(local.Relative, 1e-15)
		}
		if err := sol.twice(ctx, p, c, local); err != nil {
			return err
		}
		worst, at := sol.excess(first, s)
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
// is. The states begin at first.
func (sol *Solution) excess(first []float64, s Settings) (worst float64, at int) {
	d := len(first)
	peak := make([]float64, d)
	for k, v := range first {
		peak[k] = math.Abs(v)
	}
	for i, x := range sol.X {
		k := i % d
		peak[k] = max(peak[k], math.Abs(x))
		permitted := s.permitted(k, math.Abs(x))
		if s.Absolute == nil {
			permitted += s.Relative / 1000 * peak[k]
		}
		if e := sol.Error[i]; e > worst*permitted {
			worst, at = e/permitted, i
		}
	}
	return worst, at
}

// permitted returns what the tolerances permit in component k, of size x.
func (s *Settings) permitted(k int, x float64) float64 {
	e := s.Relative * x
	switch len(s.Absolute) {
	case 0:
	case 1:
		e += s.Absolute[0]
	default:
		e += s.Absolute[k]
	}
	return e
}

// smallest returns the size of component k below which its absolute tolerance
// permits more than the relative one.
func (s *Settings) smallest(k int) float64 {
	if s.Absolute == nil {
		return 0
	}
	relative := s.Relative
	if relative == 0 {
		relative = loosest
	}
	return s.permitted(k, 0) / relative
}

func scaled(x []float64, c float64) []float64 {
	var out []float64
	for _, v := range x {
		out = append(out, c*v)
	}
	return out
}

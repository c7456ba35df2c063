package reference

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/probode/probode/pkg/internal/progress"
	"github.com/probode/probode/pkg/probode"
)

const (
	// looser is the tolerance of the looser integration divided by the tolerance of the
	// accurate integration. The difference between the two results is nearly equal to the
	// error of the looser integration, because the accurate integration has a much smaller
	// error.
	looser = 16.0
	// looserStiff replaces `looser` for implicit steps, whose errors depend less on the
	// tolerance.
	looserStiff = 64.0
	// The claimed error is the constant `doubt` times the difference between the two
	// results.
	doubt = 10.0
	// doubtStiff replaces `doubt` for implicit steps, because both integrations may suffer
	// from order reduction.
	doubtStiff = 30.0
	// The claimed relative error of every component is at least the constant `share`
	// times the largest claimed relative error.
	share = 0.3
	// lost is the relative difference above which the solution is taken to have no correct
	// digit.
	lost = 0.1
	// The claimed error is at least the constant `least` times the permitted error of a
	// step.
	least = 0.1
	// The size of a component is taken to be at least the constant `faded` times its
	// largest absolute value so far.
	faded = 1e-6
	// The integration is divided into periods. A period that begins at t₀ + s ends at t₀
	// + `longer` × s. During the integration the error may grow and later decrease.
	// Therefore the claimed error depends only on the differences in the current period
	// and in the two periods before it.
	longer = 1.15
	// The integrations are compared at the requested times and at up to `checks` − 1
	// additional times.
	checks = 12
)

// checkpoints returns additional times at which the integrations are compared. An
// additional time lies in a wide gap between two given times, or between the time `start`
// and the first given time.
func checkpoints(start float64, times []float64) []float64 {
	var out []float64
	width := (times[len(times)-1] - start) / checks
	for i := 1.0; i < checks; i++ {
		at := start + i*width
		next, _ := slices.BinarySearch(times, at) // a valid index, since the last time lies beyond at
		if times[next]-at > width/4 && (next == 0 || at-times[next-1] > width/4) {
			out = append(out, at)
		}
	}
	return out
}

// twice integrates the problem p twice, with different tolerances. The more accurate
// result is the solution, and the difference between the two results is a measure of the
// error of the solution.
func (sol *Solution) twice(ctx context.Context, p *probode.Problem, c *schedule, s Settings) error {
	d := p.Dim()
	other, x := make([]float64, len(c.index)*d), make([]float64, len(c.index)*d)
	before := sol.implicit
	stop, release := progress.NewStop(ctx)
	defer release()
	once := func(run int, s Settings, nudge bool, out []float64) error {
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("stopped at t = %.6g: %w", c.t[0], err)
		}
		scale := make([]float64, d)
		for {
			e := newIntegration(p, s, run, stop)
			copy(e.scale, scale)
			if nudge {
				e.nudge = slices.Repeat([]float64{1}, d)
			}
			err := e.run(c, out)
			sol.steps += e.steps
			sol.rejected += e.rejected
			sol.evaluations += e.evals
			sol.implicit += e.implicitOnes
			if errors.Is(err, errStopped) {
				err = fmt.Errorf("stopped at t = %.6g: %w", e.t, ctx.Err())
			}
			if err != nil || !e.learn() {
				return err
			}
			scale = e.scale
		}
	}
	if err := once(1, s, false, x); err != nil {
		return err
	}
	loose, factor, doubt := s, looser, doubt
	if sol.implicit > before {
		factor, doubt = looserStiff, doubtStiff
	}
	if s.Relative > 0 { // the result of the looser integration must not become meaningless
		factor = min(factor, loosest/s.Relative)
	}
	loose.Relative = factor * s.Relative
	loose.Absolute = scaled(s.Absolute, factor)
	err := once(0, loose, true, other)
	if errors.Is(err, probode.ErrField) {
		// The looser integration moves the arguments of f by one unit in the last place,
		// so the arguments may lie outside the domain of f. An example is √(1 − x²) at x
		// = 1.
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

// claim computes the claimed error of x by comparing x with the argument `other`, and
// then overwrites `other` with the claimed error. When the difference between the two
// results changes sign, it is small for a moment, although the error may be large.
// Therefore the claimed error of a component depends on the largest recent difference in
// this component. No component is assumed to have a much smaller relative error than the
// other components. The argument `first` holds the initial state.
func claim(c *schedule, s Settings, doubt float64, first, other, x []float64) {
	if len(c.index) == 0 {
		return
	}
	start, d := c.t[0], len(x)/len(c.index)
	differences, sizes := newRecentMax(d), newRecentMax(d)
	worst, peak, ever := make([]float64, d), make([]float64, d), make([]float64, d)
	for k, v := range first {
		ever[k] = math.Abs(v)
	}
	period := 0.0 // beginning of the current period, counted from the start
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
		// A component that has decayed, for example to 1e-200 or to a value below its
		// absolute tolerance, may have no correct digit although the other components are
		// accurate.
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

// A recentMax holds, for each component, the largest |v| in the current period and in
// each of the two periods before it.
type recentMax [3][]float64

func newRecentMax(d int) *recentMax {
	return &recentMax{make([]float64, d), make([]float64, d), make([]float64, d)}
}

// shift begins a new period.
func (r *recentMax) shift() {
	r[0], r[1], r[2] = r[2], r[0], r[1]
	clear(r[0])
}

// add records the value v of component k, and returns the largest |v| of this component
// in the three periods.
func (r *recentMax) add(k int, v float64) float64 {
	r[0][k] = max(r[0][k], math.Abs(v))
	return max(r[0][k], r[1][k], r[2][k])
}

// global repeats the integration with smaller and smaller tolerances for the error of a
// step, until the global error is as small as the settings s require.
func (sol *Solution) global(ctx context.Context, p *probode.Problem, c *schedule, s Settings) error {
	local := s
	local.Relative, local.Absolute = min(s.Relative/10, coarsest), scaled(s.Absolute, 0.1)
	first := make([]float64, p.Dim())
	p.Initial(first, s.Theta)
	best, stalled := math.Inf(1), 0
	missed := func(worst float64, at int, why string) error {
		d, e := p.Dim(), sol.Error[at]
		return fmt.Errorf("the error of %s at t = %.6g may be %.2g, %.2g times the allowed one; %s: want a larger tolerance, such as an absolute one of %.1g",
			p.StateName(at%d), sol.Times[at/d], e, worst, why, 10*e) // the claimed error differs between tolerances
	}
	var before error // for when the next integration fails
	for {
		if s.Relative > 0 {
			local.Relative = max(local.Relative, 1e-15)
		}
		if err := sol.twice(ctx, p, c, local); err != nil {
			// An integration with larger tolerances has reached the last time, so this
			// failure does not mean that the solution ends.
			if stuck := stuckError(""); before != nil && errors.As(err, &stuck) {
				return before
			}
			return err
		}
		worst, at := sol.excess(first, s)
		if worst <= 1 {
			return nil
		}
		before = missed(worst, at, "smaller tolerances are close to the rounding error and make the steps too short or too numerous")
		if stalled++; worst < best/2 {
			best, stalled = worst, 0
		}
		if stalled == 2 {
			return missed(worst, at, "shorter steps do not help")
		}
		// Global errors are roughly proportional to the tolerance for the error of a
		// step.
		shrink := min(0.2, max(1e-3, 0.3/worst))
		local.Relative *= shrink
		local.Absolute = scaled(local.Absolute, shrink)
	}
}

// excess divides each element of sol.Error by the permitted error, and returns the
// largest ratio and its index. The argument `first` contains the initial state.
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

func scaled(x []float64, c float64) []float64 {
	var out []float64
	for _, v := range x {
		out = append(out, c*v)
	}
	return out
}

package assess

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/bayes"
	"github.com/probode/probode/pkg/probode/internal/pieces"
)

// The reference has an error of its own. It is good enough for a verdict if D, see
// Certificate, between it and a more accurate solver is at most a tenth of the
// threshold, at every mode of the reference posterior and at a hundred draws of it:
// what is accurate at a mode need not be so in the tails.

const (
	// ownDraws is the number of draws of the reference posterior at which its own
	// error is looked at.
	ownDraws = 100
	// mostFailed is the share of the weighed draws at which the reference may fail
	// without there being doubt about the posterior that is left.
	mostFailed = 0.01
	// manySteps is the number of equal steps, over the longest of the spans, in which
	// the reference has to agree with the classical Runge–Kutta method. These see
	// every pulse of f that lasts for half a step, which a solver that chooses its own
	// steps may step over, with any tolerance.
	manySteps = 1 << 16
	// manyRounded is what rounding may make of as many steps.
	manyRounded = manySteps * 0x1p-52
)

// A Trust says how accurate the reference is.
type Trust struct {
	// D is the largest, over Points modes and draws, between the reference and a
	// more accurate solver; NaN if nothing is known.
	D      float64
	Points int
	// Unknown is the number of points at which one of both failed, and Failed the
	// share of the weighed draws at which the reference did.
	Unknown int
	Failed  float64
	// Wanted is the setting of the reference that would do, where this one does
	// not, and Found tells whether there is one.
	Wanted Solver
	Found  bool
	// Unseen is D between the reference and very many equal steps, at the modes: what
	// the reference has stepped over. Zero where nothing was found.
	Unseen float64
	// Lost is about the share of the reference posterior in which none of the draws
	// are that stand for it, though there is a mode or it is next to them. No weights
	// bring that back.
	Lost float64
	// Seconds is the time that the reference took: to weigh draws, and for this.
	Seconds float64
}

// enough reports whether the reference is accurate enough for a verdict.
func (t Trust) enough(threshold float64) bool {
	return t.D <= threshold/10 && t.Unknown == 0 && !(t.Failed > mostFailed) && t.Unseen == 0 && t.Lost < mostLost
}

// String says what is wrong with the reference.
func (t Trust) say(threshold float64) string {
	what := fmt.Sprintf("the reference's own error is D = %.2g, where at most %.2g is wanted", t.D, threshold/10)
	switch {
	case t.Failed > mostFailed:
		what = fmt.Sprintf("the reference fails at %.1f %% of the draws", 100*t.Failed)
	case t.Unknown > 0:
		what = fmt.Sprintf("the reference's own error is not known at %d of %d modes and draws, where it or a more accurate solver fails", t.Unknown, t.Points)
	}
	if t.Unseen > 0 {
		return fmt.Sprintf("the reference steps over something that %d equal steps see (D = %.2g): declare what breaks f as events", manySteps, t.Unseen)
	}
	if t.Lost >= mostLost {
		return fmt.Sprintf("the reference posterior has parts, with about %.2g of the mass, in which no draws of any solver are that was tried: smaller steps, or a method that does not lose them", t.Lost)
	}
	cure := "no smaller tolerance or step that was tried would do: declare what breaks f as events"
	switch {
	case t.Found:
		cure = fmt.Sprintf("%v would do", t.Wanted)
	case t.Failed > mostFailed || t.Unknown > 0:
		cure += ", or keep the parameters from where the solution ends"
	}
	return what + ": " + cure
}

// finer returns a solver more accurate than s: with a hundredth of the tolerance, a
// tenth of the step, or the reference. An accurate solver may have taken a hundredth of
// its tolerance itself, where it did not believe its first solution; so that nothing is
// compared with itself, the finer one takes a thousandth.
func (s Solver) finer() Solver {
	switch {
	case s.Accurate:
		tol := s.Tolerance.Relative
		if tol == 0 {
			tol = 1e-10
		}
		if s.Tolerance.Relative = max(tol/1000, 1e-13); s.Tolerance.Relative >= tol {
			s.Tolerance.Relative = 10 * tol // there is nothing finer: how it differs from less bounds its error
		}
	case s.controlled():
		s.Tolerance.Relative /= 100
		s.Tolerance.Absolute = slices.Clone(s.Tolerance.Absolute)
		for k := range s.Tolerance.Absolute {
			s.Tolerance.Absolute[k] /= 100
		}
	case s.StepSize > 0:
		s.StepSize /= 10
	default:
		s = Solver{Accurate: true}
	}
	return s
}

// distances returns D between two solvers at each of the points, on all cores; NaN
// where one of them fails. Relative differences below rounding count as none.
func (a *assessor) distances(points [][]float64, s, finer Solver, rounding float64) ([]float64, error) {
	out := make([]float64, len(points))
	_, err := pieces.Each(a.ctx, a.s.Chains.Workers, len(points), nil, func() func(int) error {
		x, err1 := newExpecter(a.ctx, a.p, s)
		y, err2 := newExpecter(a.ctx, a.p, finer)
		data, _ := observed(a.p)
		return func(i int) error {
			out[i] = math.NaN()
			if err1 != nil || err2 != nil {
				return nil // such as a step that no grid can have
			}
			m, _, err := x.at(points[i])
			if err != nil {
				return a.ctx.Err()
			}
			better, _, err := y.at(points[i])
			if err != nil {
				return a.ctx.Err()
			}
			var d float64
			for k := range data {
				o := &data[k]
				o.bind(a.p, points[i], better)
				// What both expect alike may be certain, and have no information.
				if delta := m[o.at] - better[o.at]; math.Abs(delta) > rounding*math.Abs(better[o.at]) {
					d += information(o.l, better[o.at], o.own) * delta * delta
				}
			}
			out[i] = math.Sqrt(d)
			return nil
		}
	})
	return out, err
}

// check looks at the reference's own error, at its modes and at draws.
func (a *assessor) check() error {
	a.say("the reference's own error")
	begin := time.Now()
	var points [][]float64
	if a.reference != nil {
		for _, m := range a.reference.Modes {
			if m.Mass > spoken {
				points = append(points, m.Theta)
			}
		}
	}
	few := a.source.resampled(ownDraws)
	points, draws := append(points, few...), len(few)
	by := a.solver()
	d, err := a.distances(points, by, by.finer(), 0)
	if err != nil {
		return err
	}
	t := &a.out.Reference
	t.D, t.Points, t.Unknown, t.Found, t.Failed = math.NaN(), len(points), 0, false, a.source.failed()
	for _, v := range d {
		if math.IsNaN(v) {
			t.Unknown++
		} else if !(v <= t.D) {
			t.D = v
		}
	}
	if err := a.unseen(t, points[:len(points)-draws], d, by); err != nil {
		return err
	}
	if lost := a.source.unsolved(10); t.Failed > mostFailed {
		// What would do has to do there, too.
		points = append(points, lost...)
		for range lost {
			d = append(d, math.NaN())
		}
	}
	if t.Unseen == 0 && t.Lost < mostLost && !t.enough(a.out.Threshold) {
		if err := a.sufficient(t, points, d); err != nil {
			return err
		}
	}
	t.Seconds += time.Since(begin).Seconds()
	return nil
}

// unseen looks, at the modes, whether the reference agrees with very many equal steps,
// but for the error of its own there.
func (a *assessor) unseen(t *Trust, modes [][]float64, own []float64, by Solver) error {
	t.Unseen = 0
	if len(modes) == 0 {
		return nil
	}
	modes = modes[:min(len(modes), 3)]
	d, err := a.distances(modes, by, many(a.p, 1), manyRounded)
	if err != nil {
		return err
	}
	rest, err := a.distances(modes, many(a.p, 4), many(a.p, 1), manyRounded)
	if err != nil {
		return err
	}
	for i, v := range d {
		if v > a.out.Threshold/10 && steppedOver(v, rest[i]) && !(v < 3*own[i]) {
			t.Unseen = math.Max(t.Unseen, v)
		}
	}
	return nil
}

// many is the classical Runge–Kutta method with very many equal steps over the longest
// of the spans, a factor fewer.
func many(p *bayes.Posterior, fewer float64) Solver {
	longest := 0.0
	for _, x := range p.Experiments {
		longest = math.Max(longest, x.Problem.Span[1]-x.Problem.Span[0])
	}
	return Solver{Method: probode.RungeKutta{}, StepSize: fewer * longest / manySteps}
}

// steppedOver tells whether the reference has stepped over something, from its D to
// very many steps and that of a quarter as many. A jump of f leaves an error of the
// first order in steps, to be told from a pulse by the quarter, which is three times as
// far from all of them as the reference is. Where so many explicit steps fail, as for a
// stiff problem, nothing is said. A pulse may be one of the state, too, as of a state
// that runs like a clock.
func steppedOver(d, rest float64) bool { return d > 0.6*rest }

// sufficient searches for a setting of the reference that would do, at the points at
// which it is worst.
func (a *assessor) sufficient(t *Trust, points [][]float64, d []float64) error {
	const few = 10
	order := make([]int, len(points))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int {
		x, y := nanOr(d[i], math.Inf(1)), nanOr(d[j], math.Inf(1))
		switch {
		case x > y:
			return -1
		case x < y:
			return 1
		}
		return 0
	})
	var worst [][]float64
	for _, i := range order[:min(few, len(order))] {
		worst = append(worst, points[i])
	}
	s := a.solver()
	for range 8 {
		if s.Accurate {
			tol := s.Tolerance.Relative
			if tol == 0 {
				tol = 1e-10
			}
			if s.Tolerance = (probode.Tolerance{Relative: tol / 10}); tol/10 < 0.99e-12 {
				return nil // there is nothing to tell it from
			}
		} else {
			s.StepSize /= 2
		}
		d, err := a.distances(worst, s, s.finer(), 0)
		if err != nil {
			return err
		}
		if !slices.ContainsFunc(d, func(v float64) bool { return !(v <= a.out.Threshold/10) }) {
			t.Wanted, t.Found = s, true
			return nil
		}
	}
	return nil
}

// resampled returns up to n different draws of the accurate posterior: those of the
// weighed ones at which the cumulative weight passes (i + ½)/n.
func (d *draws) resampled(n int) [][]float64 {
	all := d.few.Pooled()
	weights := make([]float64, len(all))
	for i := range weights {
		weights[i] = 1
	}
	if d.weights != nil {
		weights = slices.Concat(d.weights...)
	}
	var sum, at float64
	for _, w := range weights {
		sum += w
	}
	var out [][]float64
	next := 0
	for i, w := range weights {
		at += w
		if next < n && at > (float64(next)+0.5)/float64(n)*sum {
			if len(out) == 0 || !slices.Equal(out[len(out)-1], all[i]) {
				out = append(out, all[i])
			}
			for next < n && at > (float64(next)+0.5)/float64(n)*sum {
				next++
			}
		}
	}
	return out
}

// unsolved returns up to n of the weighed draws at which the reference failed.
func (d *draws) unsolved(n int) (out [][]float64) {
	for c, all := range d.raw {
		for k, w := range all {
			if math.IsInf(w, -1) && len(out) < n {
				out = append(out, d.few.Draws[c][k])
			}
		}
	}
	return out
}

// failed returns the share of the weighed draws at which the reference failed.
func (d *draws) failed() float64 {
	n, lost := 0, 0
	for _, c := range d.raw {
		for _, w := range c {
			n++
			if math.IsInf(w, -1) {
				lost++
			}
		}
	}
	return float64(lost) / math.Max(float64(n), 1)
}

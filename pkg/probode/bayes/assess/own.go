package assess

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/probode/probode/pkg/probode/bayes/certify"
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
	Wanted certify.Solver
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
		return fmt.Sprintf("the reference steps over something that %d equal steps see (D = %.2g): declare what breaks f as events", certify.ManySteps, t.Unseen)
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
	d, err := certify.OwnError(a.ctx, a.p, by, points, a.s.Chains.Workers)
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
	modes := points[:min(len(points)-draws, 3)]
	if t.Unseen, err = certify.Unseen(a.ctx, a.p, by, modes, d, a.out.Threshold/10, a.s.Chains.Workers); err != nil {
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
	var err error
	t.Wanted, t.Found, err = certify.Sufficient(a.ctx, a.p, a.solver(), worst, a.out.Threshold/10, a.s.Chains.Workers)
	return err
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

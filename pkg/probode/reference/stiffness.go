package reference

import (
	"cmp"
	"math"

	"github.com/probode/probode/pkg/probode/internal/vector"
)

// The code in this file chooses between the explicit and the implicit family of rules.
// Solve uses one family, and sometimes tries the other for a few steps. A trial begins
// earlier if the other family is likely to need less work. For a stiff problem, stability
// limits the steps of an explicit rule to a few times 1/ρ, even if the tolerance is
// large. Here ρ is the spectral radius of the Jacobian. For a problem that is not stiff,
// the steps of an implicit rule must be as short as those of an explicit rule, but the
// explicit rule needs less work for each step. After a trial, the family with the larger
// ratio of step length to work is used.

const (
	firstWait = 30  // steps; the first ones are short for other reasons
	lastWait  = 300 // a family that has lost often is rarely tried
	enough    = 8   // hits that start a trial
	trialRun  = 5   // steps; each may be up to ten times as long as the one before
)

// gauge estimates ρ at the end of an explicit step. At the end of a step, f is known at
// two neighbouring states. One is the result of the step, and the other is the last state
// at which the step evaluated f. The two states differ most in the stiffest direction.
// The estimate is infinite if the two states differ only by rounding errors.
func (e *integration) gauge() {
	var df, dx float64
	for k, f := range e.f0 {
		size := max(math.Abs(e.x[k]), 1e-3*e.peak[k]) + math.SmallestNonzeroFloat64
		df = max(df, math.Abs(f-e.endF[k])/size)
		dx = max(dx, math.Abs(e.x[k]-e.endX[k])/size)
	}
	e.stiff.rho = math.Inf(1)
	if dx > 1e-12 && vector.Finite(e.endF) {
		e.stiff.rho = df / dx
	}
}

// radius returns the row-sum norm of the Jacobian, which is an upper bound on its
// spectral radius.
func (r *rule) radius() float64 {
	var norm float64
	for i := range r.jac.D {
		lo, hi := r.jac.Columns(i)
		var sum float64
		for j := lo; j < hi; j++ {
			sum += math.Abs(r.jac.At(i, j))
		}
		norm = max(norm, sum)
	}
	return norm
}

// rate returns the progress of a rule, in time units per call of f.
func (r *rule) rate() float64 { return r.natural / r.work[r.k] }

// use switches to the given family, if that is possible, and reports whether it did so.
func (e *integration) use(f family) bool {
	if e.rules[f] == nil && f == implicit {
		run := 0
		if e.second {
			run = 1
		}
		e.rules[f] = e.newImplicit(run)
	}
	r := e.rules[f]
	if r == nil {
		return false
	}
	r.natural, r.renew = e.rule.natural, e.t
	e.rule, e.fresh = r, false
	e.stiff.hits, e.stiff.since, e.stiff.bad = 0, 0, 0
	return true
}

// consider decides after a step of length H whether to begin or end a trial. Outside a
// trial, the method ignores explicit steps that an output time or MaxStep has shortened,
// because stiffness did not limit these steps.
func (e *integration) consider(H float64, cut bool) {
	s := &e.stiff
	if cut && e.rule.family == explicit && !s.trial {
		return
	}
	s.since++
	s.bad = 0
	if e.set.fixed != either {
		return
	}
	s.wait = cmp.Or(s.wait, firstWait)
	if s.trial {
		if s.since >= trialRun {
			e.decide()
		}
		return
	}
	reason := false
	if e.rule.family == explicit {
		reason = H*s.rho > 2
	} else {
		reason = e.rule.natural*e.rule.radius() < 1
	}
	if reason {
		s.hits++
	} else {
		s.hits--
	}
	s.hits = min(max(s.hits, 0), 2*enough)
	if s.since < s.wait || s.hits < enough && s.since < 8*s.wait {
		return
	}
	if e.rule.family == explicit {
		// If the matrices are large, a trial of the implicit family is expensive. The
		// trial is therefore delayed until the work since the last change of family is at
		// least as large as the cost of the trial.
		var work [4]float64
		e.implicitWork(work[:], implicitSubsteps[:len(work)])
		if trialRun*work[len(work)-1] > float64(s.since)*e.rule.work[e.rule.k] {
			return
		}
	}
	rate := e.rule.rate()
	if e.use(explicit + implicit - e.rule.family) {
		s.trial, s.rate = true, rate
	} else {
		s.wait = lastWait
	}
}

// disappointed counts a rejected step. Many rejected steps are also a sign of stiffness.
// For some tolerances, every second explicit step of a stiff problem is rejected.
func (e *integration) disappointed() {
	s := &e.stiff
	switch {
	case s.trial:
		if s.bad++; s.bad > 2*trialRun {
			e.decide()
		}
	case e.rule.family == explicit:
		s.hits += 2
	}
}

// decide ends a trial. If the family on trial was faster, the integration continues with
// this family. Otherwise the integration returns to the earlier family, and waits longer
// before the next trial.
func (e *integration) decide() {
	s := &e.stiff
	s.trial = false
	if e.rule.rate() > 1.2*s.rate {
		s.hits, s.since, s.wait = 0, 0, firstWait
		return
	}
	e.use(explicit + implicit - e.rule.family)
	e.rule.natural = s.rate * e.rule.work[e.rule.k] // as it was before
	s.wait = min(2*s.wait, lastWait)
}

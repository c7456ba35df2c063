package reference

import (
	"math"

	"github.com/probode/probode/pkg/probode/internal/linalg"
)

// Which family of steps is the better one is found by trying the other where
// there is reason to: an explicit rule pays for stiffness by steps of a few
// times 1/ρ, ρ the spectral radius of the Jacobian, whatever the accuracy; an
// implicit one is dear where its steps are as short as that. What decides is
// the length of a step over its work.

// A stiffness watches for reasons.
type stiffness struct {
	rho   float64 // of the last explicit step
	hits  int     // steps that were a reason, of late
	since int     // steps since the last change of family
	wait  int     // steps before the next trial
	trial bool    // the present family is on trial
	rate  float64 // that of the other family, to be beaten
	bad   int     // rejected steps since the last accepted one
}

const (
	firstWait = 30  // steps: those at the start are short for other reasons
	lastWait  = 300 // a family that has lost often is tried seldom
	enough    = 8   // steps that are a reason
	trialRun  = 5   // steps; they get longer by up to ten times in each
)

// gauge estimates ρ at the end of an explicit step: there f is known at two
// neighbouring points, the result and where the last row had ended, which
// differ by what is stiffest most of all. ρ is infinite where they do not
// differ by more than rounding.
func (e *integration) gauge() {
	var df, dx float64
	for k, f := range e.f0 {
		size := max(math.Abs(e.x[k]), 1e-3*e.peak[k]) + math.SmallestNonzeroFloat64
		df = max(df, math.Abs(f-e.endF[k])/size)
		dx = max(dx, math.Abs(e.x[k]-e.endX[k])/size)
	}
	e.stiff.rho = math.Inf(1)
	if dx > 1e-12 && linalg.Finite(e.endF) {
		e.stiff.rho = df / dx
	}
}

// radius returns an estimate of the spectral radius of the Jacobian, its norm
// at most.
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

// rate is the progress of a rule, in units of time per call of f.
func (r *rule) rate() float64 { return r.natural / r.work[r.k] }

// use changes the family, if the other one can be had, and reports whether.
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

// consider looks after a step H whether to change the family. An explicit step
// that was cut short by an output time could have been longer: stiffness is not what
// limits it.
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
	if s.wait == 0 {
		s.wait = firstWait
	}
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
		// A trial of large matrices has to wait for its share of the work.
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

// disappointed counts a rejected step, which stiffness gives reason for, too:
// with some tolerances every other step of an explicit rule is rejected.
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

// decide ends a trial. A family that won is kept for some time at least, one
// that lost is tried again later.
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

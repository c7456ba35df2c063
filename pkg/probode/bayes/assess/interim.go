package assess

import (
	"math"
	"time"

	"gonum.org/v1/gonum/stat/distuv"
)

// With Settings.Auto an assessment adds draws while a step is undecided. An interim
// analysis judges all steps; then the chains of deterministic inference get as many draws
// as would decide by the present standard errors, at least as many as there are, up to
// four analyses and as far as the budget goes. Who analyses often enough finds effects
// that do not exist, so the analyses share the error probability: each is made with the
// confidence
//
//	1 − (1 − Confidence)/4,
//
// which is 2.50 standard errors in place of 1.96 at 95 % [Bonferroni], however many are
// made in the end. The chains go on where they ended, so that all numbers are those that
// as many draws from the beginning would have given.

const (
	// mostLooks is the largest number of interim analyses.
	mostLooks = 4
	// growth is the budget in draws, in units of those of the first analysis, if none is
	// given.
	growth = 8
)

// decisive returns the number of Monte Carlo standard errors that a number must be away
// from the threshold for a verdict.
func (a *Report) decisive() float64 {
	if a.Confidence == 0 {
		return decisive // the report was not made by Run
	}
	return distuv.UnitNormal.Quantile(1 - (1-a.Confidence)/2/float64(a.Looks))
}

// interim adds draws until all steps are decided, or the budget ends.
func (a *assessment) interim() error {
	if !a.plan.s.Auto || a.y == nil {
		return nil
	}
	for ; ; a.out.Looked++ {
		a.judge()
		if a.out.Looked == mostLooks || a.plan.s.MaxTime > 0 && time.Since(a.begin) > a.plan.s.MaxTime {
			return nil
		}
		want, source := a.wanted()
		if len(want) == 0 {
			return nil
		}
		if a.owner() < 0 {
			if _, err := a.more(a.y.source, source); err != nil {
				return err
			}
		}
		for i := a.plan.finest(); i >= 0; i-- {
			if n, ok := want[i]; ok {
				if err := a.extend(i, n); err != nil {
					return err
				}
			}
		}
		khat, err := a.weigh(a.y.source)
		if err != nil {
			return err
		}
		if err := a.measureBy(a.yardstick(a.y.source, khat, a.y.missed, a.y.by)); err != nil {
			return err
		}
	}
}

// owner returns the step whose draws stand for the accurate posterior, −1 if it is another
// solver.
func (a *assessment) owner() int {
	for i, d := range a.runs {
		if d == a.y.source {
			return i
		}
	}
	return -1
}

// wanted returns the sizes that steps are to have for the next analysis, and that of the
// draws that stand for the accurate posterior. These get as many as the step that needs
// most, since every step is compared with them.
func (a *assessment) wanted() (want map[int]int, source int) {
	want = map[int]int{} // in units of the draws of the first analysis
	most := 0
	for i := range a.out.Steps {
		if n := a.needs(i); n > 0 {
			want[i] = n
			most = max(most, n)
		}
	}
	if most == 0 {
		return nil, 0
	}
	source = min(most, a.budget(a.y.source))
	if own := a.owner(); own >= 0 && source > a.y.source.size() {
		want[own] = max(want[own], source)
	}
	return want, source
}

// budget returns the largest size.
func (a *assessment) budget(d *draws) int {
	if a.plan.s.MaxDraws == 0 {
		return growth
	}
	return max(1, a.plan.s.MaxDraws/d.first)
}

// needs returns the size that step i is to have for the next analysis, zero if it is
// decided or draws do not decide.
func (a *assessment) needs(i int) int {
	d := a.runs[i]
	if d == nil || d.summed.Verdict() != Undecided || !a.out.trusted() || !(a.y.khat <= a.y.limit) {
		return 0
	}
	size, budget := d.size(), a.budget(d)
	if size >= budget {
		if s := a.y.source; s == d || s.size() >= a.budget(s) {
			return 0
		}
		return size // only the draws that stand for the accurate posterior can grow
	}
	want := 2 * size
	if n := d.summed.DrawsNeeded(a.out.Threshold); !math.IsInf(n, 1) {
		want = max(want, int(math.Min(math.Ceil(1.2*n/float64(d.first)), float64(budget))))
	}
	if a.out.Looked == mostLooks-1 {
		want = budget // the last analysis
	}
	return min(want, budget)
}

// extend adds draws to step i, and weighs them.
func (a *assessment) extend(i, size int) error {
	d, st := a.runs[i], &a.out.Steps[i]
	changed, err := a.more(d, size)
	if err != nil || !changed {
		return err
	}
	if st.KHat, _ = a.weigh(d); a.ctx.Err() != nil {
		return a.ctx.Err()
	}
	st.KHatLimit, st.Deterministic = d.limit(a.assessed), d.summed
	weighModes(st.Modes, a.modes.steps[i].modes, d, a.assessed)
	return nil
}

package assess

import (
	"math"
	"time"
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

// interim adds draws until all steps are decided, or the budget ends.
func (a *assessment) interim() error {
	if !a.plan.s.Auto || a.y == nil {
		return nil
	}
	for ; ; a.looked++ {
		j := a.judge()
		if a.looked == mostLooks || a.plan.s.MaxTime > 0 && time.Since(a.begin) > a.plan.s.MaxTime || !j.allowed {
			return nil
		}
		want := a.wanted()
		if len(want) == 0 {
			return nil
		}
		for _, d := range append([]*draws{a.y.draws}, a.trusted()...) {
			if changed, err := a.more(d, want[d]); err != nil {
				return err
			} else if changed {
				if err := a.weigh(d); err != nil && a.ctx.Err() != nil {
					return a.ctx.Err()
				}
				d.pair.visit(d.visited, a.mixed(d))
			}
		}
		for i, d := range a.runs {
			if d != nil {
				a.out.Steps[i].Deterministic = d.summed
			}
		}
		if err := a.measureBy(a.standard(a.y.draws, a.y.by)); err != nil {
			return err
		}
	}
}

// trusted returns the deterministic runs of the ladder, that of the smallest step first.
func (a *assessment) trusted() (all []*draws) {
	for i := a.finest(); i >= 0; i-- {
		if a.runs[i] != nil {
			all = append(all, a.runs[i])
		}
	}
	return all
}

// wanted returns the sizes of the runs for the next analysis, in units of the draws of
// the first one. The draws that represent the accurate posterior get as many as the
// step that needs most, because every step is compared with them.
func (a *assessment) wanted() map[*draws]int {
	want, most := map[*draws]int{}, 0
	for _, d := range a.trusted() {
		if n := a.needs(d); n > 0 {
			want[d] = n
			most = max(most, n)
		}
	}
	if most > 0 {
		want[a.y.draws] = max(want[a.y.draws], min(most, a.budget(a.y.draws)))
	}
	return want
}

// budget returns the largest size.
func (a *assessment) budget(d *draws) int {
	if a.plan.s.MaxDraws == 0 {
		return growth
	}
	return max(1, a.plan.s.MaxDraws/d.first)
}

// needs returns the size of a run for the next analysis, zero if it is decided or if
// more draws would not decide.
func (a *assessment) needs(d *draws) int {
	if d.summed.Verdict != Undecided {
		return 0
	}
	size, budget := d.size(), a.budget(d)
	if size >= budget {
		if y := a.y.draws; y == d || y.size() >= a.budget(y) {
			return 0
		}
		return size // only the draws of the accurate posterior can increase
	}
	want := 2 * size
	if n := d.summed.needed(a.out.Threshold); !math.IsInf(n, 1) {
		want = max(want, int(math.Min(math.Ceil(1.2*n/float64(d.first)), float64(budget))))
	}
	if a.looked == mostLooks-1 {
		want = budget // the last analysis
	}
	return min(want, budget)
}

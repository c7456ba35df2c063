package assess

import (
	"errors"
	"math"
	"time"
)

// With Settings.Auto an assessment adds draws as long as the verdict on some step is
// Undecided. In each interim analysis all steps are judged. The number of draws that an
// undecided step needs for a verdict is predicted from the current standard errors. The
// chains for an undecided step are then extended to the predicted number of draws, or to
// twice the previous number if that is more. There are up to four analyses, if the budget
// allows. Repeated analyses are more likely than a single one to report an effect that
// does not exist, so the error probability is divided among them. Each analysis uses the
// confidence level 1 − (1 − Confidence)/4 [Bonferroni], no matter how many analyses are
// made in the end. For example, if Confidence is 95 %, an interval extends 2.50 standard
// errors to either side of the estimate. With a single analysis, the interval would
// extend 1.96 standard errors to either side. The chains continue where they stopped, so
// the results are the same as with a single long run.

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
			if d.shared {
				continue
			}
			changed, err := a.more(d, want[d])
			if errors.Is(err, errTime) {
				break
			}
			if err != nil {
				return err
			} else if changed {
				if err := a.weigh(d); err != nil && a.ctx.Err() != nil {
					return a.ctx.Err()
				}
				d.pair.visit(d.visited, a.mixed(d))
			}
		}
		for i, d := range a.runs {
			if d != nil && d.shared {
				if d, err := a.weighted(a.y.draws, i, d.raw); err == nil {
					a.runs[i] = d
				} else if a.ctx.Err() != nil {
					return a.ctx.Err()
				}
			}
			if d := a.runs[i]; d != nil {
				a.out.Steps[i].Deterministic = d.summed
			}
		}
		if err := a.measureBy(a.standard(a.y.draws, a.y.by)); err != nil {
			return err
		}
	}
}

func (a *assessment) trusted() (all []*draws) {
	for i := a.finest(); i >= 0; i-- {
		if a.runs[i] != nil {
			all = append(all, a.runs[i])
		}
	}
	return all
}

// wanted returns the size of each run for the next analysis, in multiples of the initial
// one. Every step is compared with the run of the reference, which gets the most draws.
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

func (a *assessment) budget(d *draws) int {
	if a.plan.s.MaxDraws == 0 {
		return growth
	}
	return max(1, a.plan.s.MaxDraws/d.first)
}

// needs returns zero if there is a verdict on the run, or if it cannot grow.
func (a *assessment) needs(d *draws) int {
	if d.summed.Verdict != Undecided {
		return 0
	}
	size, budget := d.size(), a.budget(d)
	if size >= budget {
		if y := a.y.draws; y == d || y.size() >= a.budget(y) {
			return 0
		}
		return size // only the reference posterior can get more draws
	}
	want := 2 * size
	if n := d.summed.needed(a.out.Threshold); !math.IsInf(n, 1) {
		want = max(want, int(math.Min(math.Ceil(1.2*n/float64(d.first)), float64(budget))))
	}
	if a.looked == mostLooks-1 {
		want = budget // this is the last analysis
	}
	return min(want, budget)
}

package assess

import (
	"fmt"
	"math"
	"strings"
	"time"

	"gonum.org/v1/gonum/stat/distuv"
)

// With Settings.Auto an assessment goes on with more draws while a step is undecided:
// it looks, adds to the chains of classical inference what would decide by the
// standard errors at hand, at least as many as there are, and looks again, up to
// four times and as far as the budget goes. Who looks often enough sees in the end
// what is not there, so the looks share the error: each is judged with the confidence
//
//	1 − (1 − Confidence)/4,
//
// for standard errors of 2.50 in the place of 1.96 at 95 % [Bonferroni], however many
// there are in the end. The chains are those that there were, and all numbers are
// those that as many draws from the beginning would have given.

const (
	// mostLooks is the largest number of looks.
	mostLooks = 4
	// growth is the budget in draws, in units of the first look's, if none is given.
	growth = 8
)

// decisive returns the number of Monte Carlo standard errors that a number must be
// away from the threshold for a verdict.
func (a *Report) decisive() float64 {
	if a.Confidence == 0 {
		return decisive // no report of Run's
	}
	return distuv.UnitNormal.Quantile(1 - (1-a.Confidence)/2/float64(a.Looks))
}

// look goes on until all steps are decided, or the budget ends.
func (a *assessor) look() error {
	if !a.s.Auto || a.source == nil {
		return nil
	}
	for ; ; a.out.Looked++ {
		a.settle()
		if a.out.Looked == mostLooks || a.s.MaxTime > 0 && time.Since(a.begin) > a.s.MaxTime {
			return nil
		}
		// Of the source there are as many more as of the step that wants most, since
		// every step is set against it.
		want := map[int]int{} // by step, in units of the draws of its first look
		most := 0
		for i := range a.out.Steps {
			if n := a.wanted(i); n > 0 {
				want[i] = n
				most = max(most, n)
			}
		}
		if most == 0 {
			return nil
		}
		source := a.source
		own := -1 // the step whose draws the source is
		for i, d := range a.runs {
			if d == source {
				own = i
			}
		}
		if n := min(most, a.budget(source)); own >= 0 {
			if n > source.size() {
				want[own] = max(want[own], n)
			}
		} else if n > source.size() {
			if _, err := a.more(source, n); err != nil {
				return err
			}
		}
		for i := a.finest(); i >= 0; i-- {
			if n, ok := want[i]; ok {
				if err := a.again(i, n); err != nil {
					return err
				}
			}
		}
		khat, err := a.weigh(source)
		if err != nil {
			return err
		}
		a.use(source, khat, a.out.ReferenceBy)
		if err := a.check(); err != nil {
			return err
		}
	}
}

// size returns the number of draws, in units of those of the first look.
func (d *draws) size() int { return len(d.all.Draws[0]) / d.first }

// budget returns the largest size.
func (a *assessor) budget(d *draws) int {
	if a.s.MaxDraws == 0 {
		return growth
	}
	return max(1, a.s.MaxDraws/d.first)
}

// wanted returns the size that step i is to have at the next look, zero if it is
// decided, or no draws would decide about it.
func (a *assessor) wanted(i int) int {
	d, inf := a.runs[i], a.out.Steps[i].Deterministic
	if d == nil || inf.Verdict() != Undecided || !a.out.trusted() || !(a.out.KHat <= a.out.khatLimit()) {
		return 0
	}
	size, budget := d.size(), a.budget(d)
	if size >= budget {
		if s := a.source; s == d || s.size() >= a.budget(s) {
			return 0
		}
		return size // only the source can grow
	}
	want := 2 * size
	if n := inf.DrawsNeeded(a.out.Threshold); !math.IsInf(n, 1) {
		want = max(want, int(math.Min(math.Ceil(1.2*n/float64(d.first)), float64(budget))))
	}
	if a.out.Looked == mostLooks-1 {
		want = budget // the last
	}
	return min(want, budget)
}

// more goes on with the chains of d to the given size.
func (a *assessor) more(d *draws, size int) (changed bool, err error) {
	if size <= d.size() {
		return false, nil
	}
	a.say("more draws, %s", setting(d.p))
	r, err := d.result.More(a.ctx, size*d.first)
	if err != nil {
		return false, fmt.Errorf("more draws, %s: %w", setting(d.p), err)
	}
	return true, a.take(d, r)
}

// again goes on with those of step i, and weighs them.
func (a *assessor) again(i, size int) error {
	d, st := a.runs[i], &a.out.Steps[i]
	changed, err := a.more(d, size)
	if err != nil || !changed {
		return err
	}
	if st.KHat, _ = a.weigh(d); a.ctx.Err() != nil {
		return a.ctx.Err()
	}
	st.KHatLimit, st.Deterministic = a.limit(d), d.summed
	a.weighModes(i, d)
	return nil
}

// known reports whether the accurate posterior is, as far as the weights tell.
func (a *Report) known() bool {
	return a.KHat <= a.khatLimit() && (a.KHatLimit == 0 || a.Worth >= fewest)
}

// khatLimit returns the largest k̂ that can be trusted.
func (a *Report) khatLimit() float64 {
	if a.KHatLimit == 0 {
		return khatLimit
	}
	return a.KHatLimit
}

// weighed reports whether the weights of a step's draws can be trusted.
func (st *Step) weighed() bool {
	if st.KHatLimit == 0 {
		return st.KHat <= khatLimit
	}
	return st.KHat <= st.KHatLimit
}

// basis says what the verdict rests on.
func (a *Report) basis() string {
	if a.Confidence == 0 {
		return ""
	}
	var b strings.Builder
	fmt.Fprintf(&b, "Thresholds: bias %.3g sd, sd within %.3g %%; confidence %.6g %% for each number", a.Threshold, 100*a.Threshold, 100*a.Confidence)
	if a.Looks > 1 {
		fmt.Fprintf(&b, ", shared by up to %d looks, of which there were %d", a.Looks, a.Looked)
	}
	least, most, chains := math.MaxInt, 0, 0
	for _, st := range a.Steps {
		if d := st.Deterministic; d != nil {
			least, most, chains = min(least, d.Draws), max(most, d.Draws), d.Chains
		}
	}
	if most > 0 {
		draws := fmt.Sprint(most)
		if least < most {
			draws = fmt.Sprintf("%d to %d", least, most)
		}
		fmt.Fprintf(&b, "; %d chains of %s draws", chains, draws)
	}
	var heavy []string
	for _, q := range a.Params {
		if q.Quantiles {
			heavy = append(heavy, q.Name)
		}
	}
	if heavy != nil {
		fmt.Fprintf(&b, "; judged by median and central 68 %% interval, since their tails are heavy: %s", strings.Join(heavy, ", "))
	}
	b.WriteString(".\n")
	for _, st := range a.Steps {
		if d := st.Deterministic; d != nil && st.Size() > a.Largest {
			if n := d.DrawsNeeded(a.Threshold); n < 100*float64(d.Draws) {
				fmt.Fprintf(&b, "At %v about %s draws of each chain would decide.\n", &st, twoDigits(n))
			}
		}
	}
	return b.String()
}

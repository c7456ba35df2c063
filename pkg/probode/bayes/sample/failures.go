package sample

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/bayes"
	"github.com/probode/probode/pkg/probode/bayes/shape"
	"github.com/probode/probode/pkg/probode/mcmc"
)

// mostFailures is the number of points that failures keeps.
const mostFailures = 20

// failures keeps the last points after burn-in at which the equations could not be solved.
// No draw lies where the solver fails, and neither the draws nor their diagnostics show
// that such a region exists.
type failures struct {
	d      int
	burnIn int
	steps  int       // iterations of the chain
	n      int       // failures since the end of the burn-in
	points []float64 // for each kept failure, the point and the position of the chain
}

func newFailures(d, burnIn int) *failures {
	return &failures{d: d, burnIn: burnIn, points: make([]float64, 2*d*mostFailures)}
}

// at returns the point of failure i, and the position of the chain after the iteration.
func (f *failures) at(i int) (point, position []float64) {
	both := f.points[2*f.d*(i%mostFailures):][:2*f.d]
	return both[:f.d], both[f.d:]
}

// add notes that the equations could not be solved at theta.
func (f *failures) add(theta []float64) {
	if f.steps > f.burnIn {
		point, _ := f.at(f.n)
		copy(point, theta)
		f.n++
	}
}

// step makes an iteration of the chain, and notes where the chain was when solves failed.
func (f *failures) step(k mcmc.Kernel, iterate func()) {
	before := f.n
	f.steps++
	iterate()
	for i := max(before, f.n-mostFailures); i < f.n; i++ {
		_, position := f.at(i)
		copy(position, k.Position())
	}
}

func (f *failures) State(a *mcmc.Archive) {
	a.Int(&f.steps)
	a.Int(&f.n)
	a.Floats(f.points)
}

// missing describes a region where the solver of p fails although the log density is not
// more than `margin` below that of the positions of the chain: a large region counts even
// if its density is lower than that at the draws. The densities are those of shape.Lender,
// which does not fail where p's solver takes too many steps. Where the solution ends, the
// density is zero. Where shape.Lender fails for another reason, the density is not known, and
// missing says so. The result is empty if there are no such regions.
func (f *failures) missing(p *bayes.Posterior) string {
	if f.n == 0 {
		return ""
	}
	// Cancelling a run must not change its notes, so the context is not that of the run.
	e, err := bayes.NewDensity(context.Background(), p.SolvedBy(shape.Lender))
	if err != nil {
		return ""
	}
	u := make([]float64, f.d)
	density := func(theta []float64) (lp float64, known bool) {
		if e.Unconstrain(u, theta) != nil {
			return math.Inf(-1), true
		}
		lp, err := e.LogPosterior(u, nil)
		if err != nil {
			return math.Inf(-1), errors.Is(err, probode.ErrEnds)
		}
		return lp, true
	}
	const margin = 5
	first := max(0, f.n-mostFailures)
	lowest := math.Inf(1)
	for i := first; i < f.n; i++ {
		_, position := f.at(i)
		if lp, known := density(position); known {
			lowest = min(lowest, lp-margin)
		}
	}
	if math.IsInf(lowest, 1) {
		lowest = math.Inf(-1) // nothing is known of the draws, so any density counts
	}
	highest, count, open := lowest, 0, 0
	var where, unknown []float64
	for i := first; i < f.n; i++ {
		point, _ := f.at(i)
		lp, known := density(point)
		if !known {
			open, unknown = open+1, point
		}
		if lp > lowest {
			count++
		}
		if lp > highest {
			highest, where = lp, point
		}
	}
	if where == nil && unknown != nil {
		return fmt.Sprintf("warning: the solver fails at %s, and so does another one (at %d of the last %d failures): it is not known whether the draws lack a part of the posterior", p.Format(unknown), open, f.n-first)
	}
	if where == nil {
		return ""
	}
	return fmt.Sprintf("warning: the solver fails at %s, where the density is not negligible (nor is it at %d of the last %d failures): the draws lack this region", p.Format(where), count, f.n-first)
}

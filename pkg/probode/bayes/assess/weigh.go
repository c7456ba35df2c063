package assess

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/bayes"
	"github.com/probode/probode/pkg/probode/mcmc"
	"github.com/probode/probode/pkg/probode/mcmc/diag"
)

// draws are those of one run.
type draws struct {
	p      *bayes.Posterior
	result bayes.Result
	first  int // draws of each chain before any were added
	summed *Inference
	all    *mcmc.Chains
	few    *mcmc.Chains // evenly spaced ones, to be weighed
	three  [][]float64

	// raw are the log weights of few as they are, of those that have been
	// computed; weights are the smoothed ones, of mean 1; nil before.
	raw, weights [][]float64

	// in and fewIn are the modes of the reference posterior that all and few
	// belong to, nil if it has one only.
	in, fewIn [][]int

	// center and log are what the draws since the weighed one before add to
	// the errors of centre and log spread of all draws, by measure, quantity, chain
	// and weighed draw: see measure.stretches.
	center, log [measures][][][]float64

	effects [measures][]shift // that the weights tell, by quantity
}

// weigh solves accurately at few draws of d, where that has not been done, and
// finds what the weights say of its error.
func (a *assessor) weigh(d *draws) (khat float64, err error) {
	begin := time.Now()
	defer func() { a.out.Reference.Seconds += time.Since(begin).Seconds() }()
	if err := a.rawWeights(d); err != nil {
		return math.Inf(1), err
	}
	smooth, khat := diag.ParetoSmooth(slices.Concat(d.raw...))
	log := make([][]float64, len(d.raw))
	for c := range d.raw {
		log[c], smooth = smooth[:len(d.raw[c])], smooth[len(d.raw[c]):]
	}
	d.weights = normalised(log)
	for by := range measures {
		d.effects[by] = nil
		for j, q := range a.quantities {
			d.effects[by] = append(d.effects[by], by.paired(d.few.Parameter(q.param), d.weights, belong(d.fewIn, q.part), d.center[by][j], d.log[by][j]))
		}
	}
	return khat, nil
}

// rawWeights computes the log weights of the draws in few that have none yet.
func (a *assessor) rawWeights(d *draws) error {
	from := 0
	if d.raw != nil {
		from = len(d.raw[0])
	} else {
		d.raw = make([][]float64, len(d.few.Draws))
	}
	rest := *d.few
	rest.Draws, rest.Generated = nil, nil
	for c := range d.few.Draws {
		rest.Draws, rest.Generated = append(rest.Draws, d.few.Draws[c][from:]), append(rest.Generated, d.few.Generated[c][from:])
	}
	if len(rest.Draws[0]) == 0 {
		return nil
	}
	w, err := bayes.Reweight(a.ctx, d.p, &rest, a.s.Accurate, a.s.Chains.Workers)
	if err != nil {
		return err
	}
	var values []int // the log likelihoods among what was generated
	for i, name := range rest.Quantities {
		if strings.HasPrefix(name, "log_lik.") {
			values = append(values, i)
		}
	}
	for c := range w.Draws {
		for k, g := range w.Generated[c] {
			log := 0.0
			for _, i := range values {
				log += g[i] - rest.Generated[c][k][i]
			}
			if math.IsNaN(log) {
				log = math.Inf(-1)
			}
			d.raw[c] = append(d.raw[c], log)
		}
	}
	return nil
}

// normalised returns weights of mean 1.
func normalised(log [][]float64) [][]float64 {
	top, n := math.Inf(-1), 0
	for _, c := range log {
		for _, v := range c {
			top = math.Max(top, v)
			n++
		}
	}
	var sum float64
	out := make([][]float64, len(log))
	for i, c := range log {
		for _, v := range c {
			w := math.Exp(v - top)
			out[i] = append(out[i], w)
			sum += w
		}
	}
	for _, c := range out {
		for k := range c {
			c[k] *= float64(n) / sum
		}
	}
	return out
}

// limit returns the k̂ up to which the weights of d can be trusted.
func (a *assessor) limit(d *draws) float64 { return diag.KHatLimit(a.effective(d)) }

// effective returns the smallest effective sample size of the assessed parameters
// among the weighed draws of d.
func (a *assessor) effective(d *draws) float64 {
	least := math.Inf(1)
	for _, k := range a.assessed {
		least = math.Min(least, nanOr(diag.BulkESS(d.few.Parameter(k)), 0))
	}
	return least
}

// usable reports whether the weights of d can be trusted: k̂ is within its limit, and
// the weighed draws are worth enough effective ones.
func (a *assessor) usable(d *draws, khat float64) bool {
	return khat <= a.limit(d) && a.worth(d) >= fewest
}

// worth returns how many effective draws the weighed ones are worth.
func (a *assessor) worth(d *draws) float64 { return a.effective(d) * kish(d.weights) }

// accurate returns the draws of parameter k among the weighed ones, with those that
// have next to no weight at the middle of the others: the tails are those of the
// accurate posterior, which has no part in a mode that is made by the solver.
func (d *draws) accurate(k int) [][]float64 {
	const least = 0.01 // of the mean weight
	x := d.few.Parameter(k)
	middle := newQuantiles(slices.Concat(x...), slices.Concat(d.weights...)).at(0.5)
	for c := range x {
		for n := range x[c] {
			if d.weights[c][n] < least {
				x[c][n] = middle
			}
		}
	}
	return x
}

// kish returns the share of unweighted draws that weights of mean 1 are worth.
func kish(weights [][]float64) float64 {
	var n, squares float64
	for _, c := range weights {
		for _, w := range c {
			n++
			squares += w * w
		}
	}
	return n / squares
}

// use has the draws d stand for the accurate posterior: what each parameter is judged
// by follows from their tails.
func (a *assessor) use(d *draws, khat float64, by string) {
	a.source, a.out.KHat, a.out.KHatLimit, a.out.ReferenceBy = d, khat, a.limit(d), by
	a.out.Worth = a.worth(d)
	for j, k := range a.assessed {
		q := &a.out.Params[j]
		q.Quantiles, q.TailIndex = diag.HeavyTails(d.accurate(k))
	}
	a.exact = map[quantity]moments{}
	for j, q := range a.quantities {
		// The centre of all draws, less the bias that the weighed ones show.
		m, e := a.found(d.summed, j), d.effects[a.measure(j)][j]
		m.mean, m.sd, m.meanSE, m.logSE = m.mean-e.Bias, m.sd/e.Ratio, e.meanSE, e.logSE
		if q.part >= 0 {
			a.exact[q] = m
			continue
		}
		p := &a.out.Params[j]
		p.Mean, p.MeanSE, p.SD, p.SDSE = m.mean, m.meanSE, m.sd, m.sd*m.logSE
	}
}

// accurate finds the accurate posterior: from the smallest step, or from a solver
// that is nearer, if that one is so far off that its weights cannot be trusted or
// add more to the Monte Carlo error than the chains have.
func (a *assessor) accurate(fine *draws) error {
	finest := &a.out.Steps[a.finest()]
	f := a.finest()
	best := a.out.Steps[f].KHat
	// loss is the largest error of a centre, in units of what the chain alone has.
	loss := func(d *draws) (most float64) {
		for j := range a.assessed {
			most = math.Max(most, d.effects[a.measure(j)][j].BiasSE/a.found(d.summed, j).meanSE)
		}
		return most
	}
	why := fmt.Sprintf("since those of %v are too far off (k̂ = %.2f)", finest, best)
	least := math.Inf(1) // mass that was lost
	if fine.weights != nil {
		a.use(fine, best, fmt.Sprintf("the draws of %v, weighed", finest))
		var err error
		if least, err = a.lost(fine); err != nil {
			return err
		}
		a.out.Reference.Lost = least
		switch {
		case least >= mostLost:
			why = fmt.Sprintf("since those of %v have lost a part of the reference posterior", finest)
		case a.out.known():
			if !(loss(fine) > 1) {
				return a.step()
			}
			why = fmt.Sprintf("since those of %v have weights too uneven (k̂ = %.2f)", finest, best)
		}
	}
	before := pathError(a.ctx, a.of(f), a.out.Steps[f].Mode, a.s.Accurate)
	for n, q := range a.finer() {
		// A path that is no better is not worth a chain.
		if !(pathError(a.ctx, q, a.out.Steps[f].Mode, a.s.Accurate) < before/3) {
			continue
		}
		if err := a.ctx.Err(); err != nil {
			return err
		}
		var err error
		if q.Modes, err = q.FindModes(a.ctx, bayes.ModeSearch{Seed: a.s.Chains.Seed, Workers: a.s.Chains.Workers, From: a.known}); err != nil {
			continue
		}
		d, err := a.sample(q, bayes.Deterministic{}, a.seed(1000+uint64(n)))
		if err != nil {
			if a.ctx.Err() != nil {
				return err
			}
			continue
		}
		khat, err := a.weigh(d)
		if err != nil {
			if a.ctx.Err() != nil {
				return err
			}
			continue
		}
		lost, err := a.lost(d)
		if err != nil {
			return err
		}
		good := a.usable(d, khat) && lost < mostLost
		if good || lost < mostLost && least >= mostLost || (khat < best || math.IsNaN(best)) && !(lost >= mostLost && least < mostLost) {
			best, least, a.out.Reference.Lost = khat, lost, lost
			a.use(d, khat, fmt.Sprintf("the draws of %v with %s, weighed, %s", q.Method, setting(q), why))
		}
		if good {
			break
		}
	}
	return a.step()
}

// errors computes the error of the path at each step.
func (a *assessor) errors() error {
	for i := range a.out.Steps {
		st := &a.out.Steps[i]
		st.Error = pathError(a.ctx, a.of(i), a.out.Steps[a.finest()].Mode, a.s.Accurate)
	}
	for i := range a.finest() {
		c, f := &a.out.Steps[i], &a.out.Steps[i+1]
		c.Order = math.Log(c.Error/f.Error) / math.Log(c.Size()/f.Size())
	}
	return a.ctx.Err()
}

// pathError returns the error of the classical solution at theta and the times
// of the data: see Step.Error. It is NaN if one of the solvers fails.
func pathError(ctx context.Context, p *bayes.Posterior, theta []float64, by probode.Setup) float64 {
	coarse, err := bayes.NewDensity(p)
	if err != nil {
		return math.NaN()
	}
	defer coarse.Bind(ctx)()
	fine, err := bayes.NewDensity(p.SolvedBy(by))
	if err != nil {
		return math.NaN()
	}
	defer fine.Bind(ctx)()
	if _, err := coarse.LogLikelihood(theta, nil); err != nil {
		return math.NaN()
	}
	if _, err := fine.LogLikelihood(theta, nil); err != nil {
		return math.NaN()
	}
	var sum float64
	n := 0
	for i, x := range p.Experiments {
		d, state, exact := x.Problem.Dim(), coarse.States(i), fine.States(i)
		scale := make([]float64, d)
		for k, x := range exact {
			scale[k%d] = max(scale[k%d], math.Abs(x))
		}
		for k, x := range exact {
			if c := scale[k%d]; c > 0 {
				e := (state[k] - x) / c
				sum += e * e
				n++
			}
		}
	}
	return math.Sqrt(sum / float64(n))
}

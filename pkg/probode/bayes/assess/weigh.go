package assess

import (
	"context"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/bayes"
	"github.com/probode/probode/pkg/probode/mcmc"
	"github.com/probode/probode/pkg/probode/mcmc/diag"
)

// draws are those of one deterministic run.
type draws struct {
	p      *bayes.Posterior
	summed *Inference
	all    *mcmc.Chains
	few    *mcmc.Chains // evenly spaced ones, to be weighed
	three  [][]float64

	// mean and log are what the draws since the weighed one before add to
	// the errors of mean and log sd of all draws, by assessed parameter, chain
	// and weighed draw: see influence.
	mean, log [][][]float64
}

// influence cuts each chain of x into n stretches and returns what each of them
// adds to the mean and to the logarithm of the standard deviation, in units in
// which these are the means over the stretches: the sums of the influence
// functions x − m and ½ ((x − m)²/v − 1).
func influence(x [][]float64, n int) (mean, log [][]float64) {
	m, v := stat.PopMeanVariance(slices.Concat(x...), nil)
	mean, log = make([][]float64, len(x)), make([][]float64, len(x))
	for i, c := range x {
		unit := float64(n) / float64(len(c))
		from := 0
		for k := range n {
			var a, b float64
			to := (k + 1) * len(c) / n
			for _, y := range c[from:to] {
				a += (y - m) * unit
				b += 0.5 * ((y-m)*(y-m)/v - 1) * unit
			}
			mean[i], log[i] = append(mean[i], a), append(log[i], b)
			from = to
		}
	}
	return mean, log
}

// weigh solves accurately at few draws of d and returns what the weights say of
// its error.
func (a *assessor) weigh(d *draws) ([]shift, float64, error) {
	w, err := bayes.Reweight(a.ctx, d.p, d.few, a.s.Accurate)
	if err != nil {
		return nil, math.Inf(1), err
	}
	weights := normalised(w.LogWeights)
	var out []shift
	for j, k := range a.assessed {
		out = append(out, paired(d.few.Parameter(k), weights, d.mean[j], d.log[j]))
	}
	return out, w.KHat, nil
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

// A shift is an effect with Bias in the units of the parameter, and the standard
// errors that it leaves to the accurate mean and to the logarithm of the accurate
// standard deviation.
type shift struct {
	Effect
	meanSE, logSE float64
}

// paired compares the draws x with the same draws under weights of mean 1: the
// difference of the means and the ratio of the standard deviations. Both are
// smooth functions of means over the draws, so that their errors are those of
// the means of their influence functions [Hampel 1974],
//
//	φ = (x − m) − w (x − m_w),
//	ψ = ½ ((x − m)²/v − 1) − ½ w ((x − m_w)²/v_w − 1)   of log √(v/v_w),
//
// over chains with all their autocorrelation.
//
// The accurate mean is the mean of all draws less this difference, and so with
// the logarithm of the standard deviation. Between the two there is covariance, as
// x is among all draws: what counts is the influence of the draws since the
// weighed one before, mean and log, less φ and ψ. If all draws are weighed, that
// is w (x − m_w).
func paired(x, w, mean, log [][]float64) shift {
	all, weights := slices.Concat(x...), slices.Concat(w...)
	m, v := stat.PopMeanVariance(all, nil)
	mw, vw := stat.PopMeanVariance(all, weights)
	var phi, psi, restPhi, restPsi [][]float64
	for i := range x {
		n := len(x[i])
		f, g, rf, rg := make([]float64, n), make([]float64, n), make([]float64, n), make([]float64, n)
		for k, y := range x[i] {
			q, qw := y-m, y-mw
			f[k] = q - w[i][k]*qw
			g[k] = 0.5*(q*q/v-1) - 0.5*w[i][k]*(qw*qw/vw-1)
			rf[k], rg[k] = mean[i][k]-f[k], log[i][k]-g[k]
		}
		phi, psi, restPhi, restPsi = append(phi, f), append(psi, g), append(restPhi, rf), append(restPsi, rg)
	}
	ratio := math.Sqrt(v / vw)
	return shift{
		Effect: Effect{Bias: m - mw, BiasSE: meanSE(phi), Ratio: ratio, RatioSE: ratio * meanSE(psi), Paired: true},
		meanSE: meanSE(restPhi), logSE: meanSE(restPsi),
	}
}

// meanSE is diag.MCSEMean for numbers that may all be equal.
func meanSE(x [][]float64) float64 {
	se := diag.MCSEMean(x)
	if math.IsNaN(se) {
		if all := slices.Concat(x...); slices.Max(all) == slices.Min(all) {
			return 0
		}
	}
	return se
}

// accurate finds the accurate posterior: from the smallest step, or from a solver
// that is nearer, if that one is so far off that its weights cannot be trusted or
// add more to the Monte Carlo error than the chains have.
func (a *assessor) accurate(fine *draws) error {
	h := a.out.Steps[a.finest()].StepSize
	type candidate struct {
		m probode.Method
		h float64
	}
	use := func(d *draws, effects []shift, khat float64, by string) {
		a.out.KHat, a.out.ReferenceBy, a.source = khat, by, d
		for j, k := range a.assessed {
			// The mean of all draws, less the bias that the weighed ones show.
			q, m, e := &a.out.Params[j], d.summed.Summary[k], effects[j]
			q.Mean, q.MeanSE = m.Mean-e.Bias, e.meanSE
			q.SD = m.SD / e.Ratio
			q.SDSE = q.SD * e.logSE
		}
	}
	f := a.finest()
	best := a.out.Steps[f].KHat
	if a.paired[f] != nil {
		use(fine, a.paired[f], best, fmt.Sprintf("the draws of h = %.4g, weighed", h))
	}
	// loss is the largest error of a mean, in units of what the chain alone has.
	loss := func(d *draws, effects []shift) (most float64) {
		for j, k := range a.assessed {
			most = math.Max(most, effects[j].BiasSE/d.summed.Summary[k].MCSE)
		}
		return most
	}
	why := fmt.Sprintf("since those of h = %.4g are too far off (k̂ = %.2f)", h, best)
	if best <= khatLimit {
		if !(loss(fine, a.paired[f]) > 1) {
			return a.step()
		}
		why = fmt.Sprintf("since those of h = %.4g have weights too uneven (k̂ = %.2f)", h, best)
	}
	before := pathError(a.ctx, a.at(h), a.out.Steps[f].Mode, a.s.Accurate)
	dp := probode.RungeKutta{Tableau: probode.DormandPrince}
	for n, c := range []candidate{{dp, h}, {dp, h / 4}, {a.p.Method, h / 4}, {a.p.Method, h / 16}} {
		q := a.at(c.h)
		q.Method = c.m
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
		effects, khat, err := a.weigh(d)
		if err != nil {
			if a.ctx.Err() != nil {
				return err
			}
			continue
		}
		if khat < best || math.IsNaN(best) {
			best = khat
			use(d, effects, khat, fmt.Sprintf("the draws of %v with h = %.4g, weighed, %s", c.m, c.h, why))
		}
		if khat <= khatLimit {
			break
		}
	}
	return a.step()
}

// errors computes the error of the path at each step.
func (a *assessor) errors() error {
	for i := range a.out.Steps {
		st := &a.out.Steps[i]
		st.Error = pathError(a.ctx, a.at(st.StepSize), a.out.Steps[a.finest()].Mode, a.s.Accurate)
	}
	for i := range a.finest() {
		c, f := &a.out.Steps[i], &a.out.Steps[i+1]
		c.Order = math.Log(c.Error/f.Error) / math.Log(c.StepSize/f.StepSize)
	}
	return a.ctx.Err()
}

// pathError returns the error of the classical solution at theta and the times
// of the data: see Step.Error. It is NaN if one of the solvers fails.
func pathError(ctx context.Context, p *bayes.Posterior, theta []float64, by bayes.AccurateSolver) float64 {
	coarse, err := bayes.NewDensity(p)
	if err != nil {
		return math.NaN()
	}
	defer coarse.Bind(ctx)()
	fine, err := by.Density(p)
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

package assess

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/gonum/stat"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/bayes"
	"github.com/probode/probode/pkg/probode/mcmc"
	"github.com/probode/probode/pkg/probode/mcmc/diag"
)

// Does the error of the solver matter for the posterior? Assess looks at the
// question from three sides, at each step h of a ladder: the posterior p_h of
// someone who trusts the solver, that of someone who has its error in the
// model, and the accurate posterior p, the same for all h. The first two come
// from chains. The third has none of its own: draws θᵢ of p_h are weighed by
//
//	wᵢ ∝ p(Y | x(θᵢ)) / p(Y | Z_h(θᵢ)),   x the accurate solution,
//
// and their weighted means are those of p. It does not only cost less than
// another chain. The difference of the two means over the same draws,
//
//	bias = mean θᵢ − mean wᵢθᵢ   (mean wᵢ = 1),
//
// has a Monte Carlo error that vanishes with the bias, where the difference of
// two chains would be lost in their noise.

// Settings says what Assess is to do. The zero value is ready for use.
type Settings struct {
	// Steps are the sizes of step to be assessed, in any order; nil means
	// Posterior.StepSize and its half, quarter and eighth.
	Steps []float64

	// Sampler is the inference with the solver's error in the model; nil
	// means PCNWithinGibbs.
	Sampler bayes.Sampler

	// Threshold is the size of an error that does not matter: a bias below
	// Threshold standard deviations of the accurate posterior, and a standard
	// deviation that is not larger or smaller than the accurate one by a
	// factor of more than 1 + Threshold. Zero means 0.1.
	Threshold float64

	// Chains are the settings of each run; Start, Names, Generated, Only,
	// Progress has no meaning here. If Draws and MinESS are both
	// zero, each run goes on until the effective sample size is 4000, at
	// most to 20 000 draws of each chain.
	Chains mcmc.Settings

	// Weighed is the number of draws of each step, of all chains together,
	// for which the equations are solved accurately, at least 50. Zero means
	// 4000.
	Weighed int

	// Accurate says how. Its Workers and Progress have no meaning here.
	Accurate bayes.AccurateSolver

	// Calibrate says how α is found. Zero Paths means 400.
	Calibrate probode.CalibrateSettings

	// Progress, if not nil, is called from time to time with the number of
	// the pieces of work that are done, of total, and what is being done.
	Progress func(done, total int, doing string)
}

// An Report is the answer of Assess. After an interruption it holds what had
// been done.
type Report struct {
	Model     string // names of the problems
	Method    probode.Method
	Threshold float64

	// Params are the parameters that are assessed: those of the model but
	// for an unknown α, which has no accurate value.
	Params []Parameter

	// ReferenceBy says in words from which draws the accurate posterior was
	// had, and KHat is the k̂ of their weights: above 0.7 they cannot be
	// trusted.
	ReferenceBy string
	KHat        float64

	// Steps are the sizes of step, the largest first.
	Steps []Step

	// Largest is the largest step with which the solver's error does not
	// matter for a parameter of those it was asked for, nor does it with any
	// smaller one; zero if there is none. It speaks of deterministic
	// inference, as do the Largest of Params.
	Largest float64

	// Warnings say in words what else is to be known, and what to do.
	Warnings []string
}

// An Parameter is a parameter in the accurate posterior.
type Parameter struct {
	Name           string
	Mean, SD       float64
	MeanSE, SDSE   float64 // Monte Carlo standard errors
	Largest        float64 // step with which the solver's error does not matter; zero for none
	UndecidedAbove bool    // whether it matters at the next larger step is not known
}

// A Step is what was found for one step.
type Step struct {
	StepSize float64
	Exact    bool // every observation is at a grid point
	Err      string

	// Mode is the mode of the deterministic posterior, and Error the error
	// of the classical solution, at the mode of the smallest step and the
	// times of the data: the root of the mean square, each component in
	// units of its largest value. Order is the observed one between this step
	// and the next smaller one, log(Error ratio)/log(step ratio).
	Mode         []float64
	Error, Order float64

	// Alpha is the noise scale of the probabilistic inference: α* at the
	// mode, the known value of the Posterior, or, if α is a parameter,
	// its posterior mean. AlphaStar is α* at the mode with its standard
	// error, and AlphaAt are those at three draws of the deterministic
	// posterior; NaN and nil where α is sampled.
	Alpha, AlphaStar, AlphaSE float64
	AlphaAt                   []float64

	// KHat is that of the weights which take the deterministic draws of this
	// step to the accurate posterior.
	KHat float64

	// Deterministic and Probabilistic are the two inferences, nil if they
	// were not made.
	Deterministic, Probabilistic *Inference
}

// An Inference is a run at one step, set against the accurate posterior.
type Inference struct {
	Sampler string
	Summary diag.Summary // of all parameters, an unknown α included
	Effects []Effect     // in the order of Report.Params

	Draws, Chains int
	// Solves is the work, burn-in included: the steps that solvers took, in
	// units of those of one solution of all the equations with this step.
	Solves int
	// Failed is the share of the evaluations after burn-in that failed, of
	// the likelihood or of pieces of paths.
	Failed  float64
	Seconds float64
	// ESSPerSecond is the smallest bulk effective sample size of the assessed
	// parameters per second.
	ESSPerSecond float64
}

// An Effect is what the solver's error does to one parameter.
type Effect struct {
	Bias   float64 // (mean − accurate mean) / accurate sd
	BiasSE float64 // its Monte Carlo standard error
	Ratio  float64 // sd / accurate sd
	// RatioSE is the Monte Carlo standard error of Ratio.
	RatioSE float64
	// Paired says that the numbers come from one set of draws, with and
	// without weights. The error of Bias then is not that of the means.
	Paired  bool
	Verdict Verdict
}

// A Verdict on an error.
type Verdict int

const (
	// Undecided: the Monte Carlo error is too large to tell, or not known, as
	// the chains have not mixed or the accurate posterior is out of reach.
	Undecided Verdict = iota
	// Negligible: the error is below the threshold, by more than two
	// standard errors.
	Negligible
	// Matters: it is above, by more than two standard errors.
	Matters
)

func (v Verdict) String() string { return [...]string{"undecided", "negligible", "matters"}[v] }

const (
	// decisive is the number of Monte Carlo standard errors that a number
	// must be away from the threshold. A true effect at the threshold itself
	// is then misjudged in one case of forty.
	decisive = 2
	// khatLimit is where the error of weighted means begins to exceed what
	// their standard errors say (Vehtari et al. 2024).
	khatLimit = 0.7
	// mixed and fewest are the R̂ above and the effective draws below which
	// standard errors are not believed.
	mixed, fewest = 1.05, 50
)

// Run answers whether the numerical error of p.Method matters for the
// posterior, and at which step. At each of s.Steps it
//
//   - finds the mode of the deterministic posterior and calibrates α there, and
//     at three draws, unless p.Alpha is a parameter, which is then sampled, or
//     known and not zero;
//   - samples by Deterministic and by s.Sampler;
//   - sets means and standard deviations against those of the accurate posterior,
//     of probode.Reference: the deterministic draws of the smallest step,
//     weighed. If they are too far off for that (k̂ > 0.7), other solvers are
//     tried; see Report.ReferenceBy.
//
// All numbers but times are decided by s.Chains.Seed. The error says what is
// wrong with p or s, that nothing could be sampled at the smallest step, or that
// ctx ended; the Report then holds what had been done, nil if nothing.
func Run(ctx context.Context, p *bayes.Posterior, s Settings) (*Report, error) {
	if ctx == nil {
		return nil, errors.New("assess: the context is nil")
	}
	a, err := newAssessor(ctx, p, s)
	if err != nil {
		return nil, err
	}
	if err := a.run(); err != nil {
		if a.out.Steps[a.finest()].Deterministic == nil {
			return nil, err
		}
		a.conclude()
		return a.out, err
	}
	a.conclude()
	return a.out, nil
}

// An assessor is an assessment under way.
type assessor struct {
	ctx         context.Context
	p           *bayes.Posterior
	s           Settings
	out         *Report
	assessed    []int // indices of the assessed parameters
	modes       []*bayes.Mode
	paired      [][]shift
	notes       [][]string // of the calibrations, by step
	source      *draws     // that the accurate posterior was had from
	done, total int
}

func newAssessor(ctx context.Context, p *bayes.Posterior, s Settings) (*assessor, error) {
	if !(s.Threshold >= 0) || math.IsInf(s.Threshold, 1) {
		panic(fmt.Sprintf("assess: Threshold of Settings is %g: want a number > 0, or 0 for 0.1", s.Threshold))
	}
	if s.Weighed < 0 || s.Weighed > 0 && s.Weighed < fewest {
		panic(fmt.Sprintf("assess: Weighed of Settings is %d: want at least %d, or 0 for 4000", s.Weighed, fewest))
	}
	if p == nil {
		return nil, errors.New("assess: the Posterior is nil")
	}
	if p.StepSize == 0 && len(s.Steps) > 0 {
		q := *p
		q.StepSize = s.Steps[0]
		p = &q
	}
	if _, err := bayes.NewDensity(p); err != nil {
		return nil, err
	}
	if s.Threshold == 0 {
		s.Threshold = 0.1
	}
	if s.Sampler == nil {
		s.Sampler = bayes.PCNWithinGibbs{}
	}
	if s.Steps == nil {
		s.Steps = []float64{p.StepSize, p.StepSize / 2, p.StepSize / 4, p.StepSize / 8}
	}
	if s.Chains.Draws == 0 && s.Chains.MinESS == 0 {
		s.Chains.Draws, s.Chains.MinESS, s.Chains.MaxDraws = 2500, 4000, 20000
	}
	if s.Weighed == 0 {
		s.Weighed = 4000
	}
	if s.Calibrate.Paths == 0 {
		s.Calibrate.Paths = 400
	}
	s.Chains.Start, s.Chains.Names, s.Chains.Generated, s.Chains.Only = nil, nil, nil, nil
	s.Accurate.Workers, s.Accurate.Progress = s.Chains.Workers, nil
	if _, err := s.Accurate.Density(p); err != nil {
		return nil, err
	}
	s.Calibrate.Seed, s.Calibrate.Workers, s.Calibrate.Progress = s.Chains.Seed, s.Chains.Workers, nil

	a := &assessor{ctx: ctx, p: p, s: s, out: &Report{Method: p.Method, Threshold: s.Threshold, KHat: math.NaN()}}
	var titles []string
	for _, x := range p.Experiments {
		if !slices.Contains(titles, x.Problem.Name) {
			titles = append(titles, x.Problem.Name)
		}
	}
	a.out.Model = strings.Join(titles, ", ")
	for k, q := range p.Params {
		if q.Name != p.Alpha.Name {
			a.assessed = append(a.assessed, k)
			a.out.Params = append(a.out.Params, Parameter{Name: q.Name, Mean: math.NaN(), SD: math.NaN(), MeanSE: math.NaN(), SDSE: math.NaN()})
		}
	}

	// The steps that divide the span.
	for _, h := range slices.Backward(slices.Sorted(slices.Values(s.Steps))) {
		q := a.at(h)
		e, err := bayes.NewDensity(q)
		if err != nil {
			return nil, fmt.Errorf("%w (in Steps)", err)
		}
		if u, ok := e.Grid(0).Uniform(); ok {
			h = u
		}
		if n := len(a.out.Steps); n > 0 && math.Abs(a.out.Steps[n-1].StepSize-h) < 1e-9*h {
			continue
		}
		exact := true
		for i, x := range p.Experiments {
			if _, err := e.Grid(i).Index(x.Data.T); err != nil {
				exact = false
			}
		}
		nan := math.NaN()
		a.out.Steps = append(a.out.Steps, Step{StepSize: h, Exact: exact, Error: nan, Order: nan, Alpha: nan, AlphaStar: nan, AlphaSE: nan, KHat: nan})
	}
	if len(a.out.Steps) == 0 {
		return nil, errors.New("assess: no Steps to assess")
	}
	a.modes = make([]*bayes.Mode, len(a.out.Steps))
	a.paired = make([][]shift, len(a.out.Steps))
	a.notes = make([][]string, len(a.out.Steps))
	a.total = 5*len(a.out.Steps) + 1
	return a, nil
}

func (a *assessor) finest() int { return len(a.out.Steps) - 1 }

// at returns the posterior with the step h.
func (a *assessor) at(h float64) *bayes.Posterior {
	q := *a.p
	q.StepSize = h
	return &q
}

// say reports progress.
func (a *assessor) say(format string, args ...any) {
	if a.s.Progress != nil {
		a.s.Progress(a.done, a.total, fmt.Sprintf(format, args...))
	}
}

// step is called at the end of a piece of work.
func (a *assessor) step() error {
	a.done = min(a.done+1, a.total)
	return a.ctx.Err()
}

// run does the work, from the smallest step, on which the accurate posterior
// rests, to the largest.
func (a *assessor) run() error {
	if err := a.findModes(); err != nil {
		return err
	}
	var fine *draws
	for i := a.finest(); i >= 0; i-- {
		st := &a.out.Steps[i]
		if a.modes[i] == nil {
			a.done += 2
			continue
		}
		d, err := a.deterministic(i)
		switch {
		case a.ctx.Err() != nil:
			return err
		case err != nil && i == a.finest():
			return err
		case err != nil:
			st.Err = err.Error()
			a.done += 2
		}
		if i == a.finest() {
			fine = d
			if err := a.accurate(fine); err != nil {
				return err
			}
			if err := a.errors(); err != nil {
				return err
			}
		}
	}
	for i := a.finest(); i >= 0; i-- {
		st := &a.out.Steps[i]
		if st.Deterministic == nil {
			a.done += 3
			continue
		}
		if err := a.probabilistic(i); err != nil {
			if a.ctx.Err() != nil {
				return err
			}
			st.Err = err.Error()
		}
	}
	a.done = a.total
	a.say("done")
	return nil
}

// findModes finds the modes. Each search begins at the modes found for other
// steps, too, so that the steps are compared in the same place and not in the
// local modes which searches of their own might end in.
func (a *assessor) findModes() error {
	var known [][]float64
	find := func(i int) error {
		st := &a.out.Steps[i]
		a.say("mode, h = %.4g", st.StepSize)
		m, err := a.at(st.StepSize).FindMode(a.ctx, a.s.Chains.Seed, known...)
		if err != nil {
			return fmt.Errorf("h = %.4g: %w", st.StepSize, err)
		}
		a.modes[i], st.Mode = m, m.Theta
		known = append(known, m.Theta)
		return nil
	}
	for i := a.finest(); i >= 0; i-- {
		if err := find(i); err != nil {
			if i == a.finest() || a.ctx.Err() != nil {
				return err
			}
			a.out.Steps[i].Err = err.Error()
		}
		a.done++
	}
	return find(a.finest())
}

// draws are those of one deterministic run.
type draws struct {
	p      *bayes.Posterior
	summed *Inference
	few    *mcmc.Chains // evenly spaced ones, to be weighed
	three  [][]float64

	// mean and log are what the draws since the weighed one before add to
	// the errors of mean and log sd of all draws, by assessed parameter, chain
	// and weighed draw: see influence.
	mean, log [][][]float64
}

// sample runs one sampler and keeps of its draws what is needed.
func (a *assessor) sample(p *bayes.Posterior, sampler bayes.Sampler, seed uint64) (*draws, error) {
	s := a.s.Chains
	s.Seed = seed
	s.Progress = func(g mcmc.Progress) { a.say("%v, h = %.4g: %v", sampler, p.StepSize, g) }
	r, err := bayes.Measure(a.ctx, p, sampler, s)
	if err != nil {
		return nil, fmt.Errorf("%v, h = %.4g: %w", sampler, p.StepSize, err)
	}
	c := r.Chains
	d := &draws{p: p, few: &mcmc.Chains{Names: c.Names, Quantities: c.Quantities}, summed: &Inference{
		Sampler: sampler.String(), Summary: c.Summary(), Draws: len(c.Draws[0]), Chains: len(c.Draws),
		Solves: int(math.Round(r.Work)), Seconds: r.Seconds,
	}}
	var failed, proposed int
	for _, st := range c.Stats {
		failed += st.Failed + st.Latent.Failed
		proposed += st.Proposed + st.Latent.Proposed
	}
	if proposed > 0 {
		d.summed.Failed = float64(failed) / float64(proposed)
	}
	ess := math.Inf(1)
	for _, k := range a.assessed {
		ess = math.Min(ess, d.summed.Summary[k].BulkESS)
	}
	d.summed.ESSPerSecond = ess / d.summed.Seconds
	n := min(len(c.Draws[0]), max(8, a.s.Weighed/len(c.Draws)))
	for i := range c.Draws {
		var x, g [][]float64
		for k := range n {
			at := (k+1)*len(c.Draws[i])/n - 1
			x, g = append(x, slices.Clone(c.Draws[i][at])), append(g, slices.Clone(c.Generated[i][at]))
		}
		d.few.Draws, d.few.Generated = append(d.few.Draws, x), append(d.few.Generated, g)
	}
	for _, k := range a.assessed {
		mean, log := influence(c.Parameter(k), n)
		d.mean, d.log = append(d.mean, mean), append(d.log, log)
	}
	for k := range 3 {
		chain := c.Draws[k%len(c.Draws)]
		d.three = append(d.three, slices.Clone(chain[(k+1)*len(chain)/3-1]))
	}
	return d, nil
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

// seed gives each run numbers of its own, so that the runs are independent.
func (a *assessor) seed(key ...uint64) uint64 {
	return probode.Stream(a.s.Chains.Seed, append([]uint64{0x617373657373}, key...)...).Uint64()
}

// deterministic samples at step i, and weighs the draws.
func (a *assessor) deterministic(i int) (*draws, error) {
	st := &a.out.Steps[i]
	p := a.at(st.StepSize)
	p.Mode = a.modes[i]
	d, err := a.sample(p, bayes.Deterministic{}, a.seed(uint64(i)))
	if err != nil {
		return nil, err
	}
	if err := a.step(); err != nil {
		return nil, err
	}
	a.say("accurate solutions, h = %.4g", st.StepSize)
	effects, khat, err := a.weigh(d)
	if err != nil {
		if a.ctx.Err() != nil {
			return nil, err
		}
		khat = math.Inf(1)
	}
	st.KHat, a.paired[i] = khat, effects
	st.Deterministic = d.summed

	if a.p.Alpha.Name == "" {
		a.say("alpha, h = %.4g", st.StepSize)
		c, err := p.CalibrateAlpha(a.ctx, st.Mode, a.s.Calibrate)
		if err != nil {
			return d, err
		}
		a.notes[i] = c.Warnings
		st.AlphaStar, st.AlphaSE, st.Alpha = c.Alpha, c.SE, c.Alpha
		if v := a.p.Alpha.Value; v > 0 {
			st.Alpha = v
		}
		for _, theta := range d.three {
			v := math.NaN()
			if c, err := p.CalibrateAlpha(a.ctx, theta, a.s.Calibrate); err == nil {
				v = c.Alpha
			} else if a.ctx.Err() != nil {
				return d, err
			}
			st.AlphaAt = append(st.AlphaAt, v)
		}
	}
	return d, a.step()
}

// probabilistic samples at step i with the solver's error in the model.
func (a *assessor) probabilistic(i int) error {
	st := &a.out.Steps[i]
	p := a.at(st.StepSize)
	p.Mode = a.modes[i]
	if a.p.Alpha.Name == "" {
		if math.IsNaN(st.Alpha) {
			a.done += 2
			return nil // α could not be calibrated, which Err says
		}
		p.Alpha = bayes.Known(st.Alpha)
	}
	d, err := a.sample(p, a.s.Sampler, a.seed(uint64(i), 1))
	if err != nil {
		return err
	}
	if a.p.Alpha.Name != "" {
		st.Alpha = d.summed.Summary[slices.IndexFunc(p.Params, func(q bayes.Param) bool { return q.Name == a.p.Alpha.Name })].Mean
	}
	st.Probabilistic = d.summed
	a.done = min(a.done+1, a.total)
	return a.step()
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
		if q.Mode, err = q.FindMode(a.ctx, a.s.Chains.Seed, a.out.Steps[f].Mode); err != nil {
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

// conclude sets what was sampled against the accurate posterior.
func (a *assessor) conclude() {
	for i := range a.out.Steps {
		st := &a.out.Steps[i]
		if st.Deterministic != nil {
			var own []shift
			if st.KHat <= khatLimit {
				own = a.paired[i]
			}
			a.effects(st.Deterministic, own)
		}
		if st.Probabilistic != nil {
			a.effects(st.Probabilistic, nil)
		}
	}
	a.out.largest()
	a.warn()
}

// sound reports whether the standard errors of m can be believed.
func sound(m diag.Marginal) bool { return m.RHat <= mixed && m.BulkESS >= fewest }

func (a *assessor) effects(inf *Inference, own []shift) {
	inf.Effects = nil
	for j, k := range a.assessed {
		q, m := a.out.Params[j], inf.Summary[k]
		e := Effect{
			Bias: (m.Mean - q.Mean) / q.SD, BiasSE: math.Hypot(m.MCSE, q.MeanSE) / q.SD,
			Ratio: m.SD / q.SD,
		}
		e.RatioSE = e.Ratio * math.Hypot(m.MCSESD/m.SD, q.SDSE/q.SD)
		// Of two estimates, one from the difference of two runs and one from
		// the weights of this one, the one with the smaller error.
		if own != nil && own[j].BiasSE/q.SD < e.BiasSE {
			e = own[j].Effect
			e.Bias, e.BiasSE = e.Bias/q.SD, e.BiasSE/q.SD
		}
		// Chains that have not mixed leave neither the accurate mean nor the
		// unit of all biases, the accurate sd, known.
		if a.out.KHat <= khatLimit && sound(m) && sound(a.source.summed.Summary[k]) {
			e.Verdict = e.judge(a.out.Threshold)
		}
		inf.Effects = append(inf.Effects, e)
	}
}

// judge returns the verdict, Undecided also if a number is NaN.
func (e Effect) judge(threshold float64) Verdict {
	bias, biasSE := math.Abs(e.Bias), decisive*e.BiasSE
	ratio, ratioSE := math.Abs(math.Log(e.Ratio)), decisive*e.RatioSE/e.Ratio
	limit := math.Log1p(threshold)
	switch {
	case bias-biasSE > threshold || ratio-ratioSE > limit:
		return Matters
	case bias+biasSE < threshold && ratio+ratioSE < limit:
		return Negligible
	}
	return Undecided
}

// more returns by which factor the number of draws would have to grow for a
// decision, if the numbers stay as they are.
func (e Effect) more(threshold float64) float64 {
	bias := decisive * e.BiasSE / math.Abs(math.Abs(e.Bias)-threshold)
	ratio := decisive * e.RatioSE / e.Ratio / math.Abs(math.Abs(math.Log(e.Ratio))-math.Log1p(threshold))
	if math.Abs(e.Bias) > threshold || math.Abs(math.Log(e.Ratio)) > math.Log1p(threshold) {
		// One that is above decides for itself.
		f := math.Inf(1)
		if math.Abs(e.Bias) > threshold {
			f = bias
		}
		if math.Abs(math.Log(e.Ratio)) > math.Log1p(threshold) {
			f = math.Min(f, ratio)
		}
		return f * f
	}
	f := math.Max(bias, ratio)
	return f * f
}

// Verdict returns the verdict on all parameters: Matters if the error matters
// for one of them, Negligible if for none.
func (inf *Inference) Verdict() Verdict {
	all := Negligible
	for _, e := range inf.Effects {
		switch e.Verdict {
		case Matters:
			return Matters
		case Undecided:
			all = Undecided
		}
	}
	return all
}

// largest finds the largest steps that are small enough.
func (a *Report) largest() {
	for j := range a.Params {
		q := &a.Params[j]
		for i := len(a.Steps) - 1; i >= 0; i-- {
			d := a.Steps[i].Deterministic
			if d == nil {
				break
			}
			if v := d.Effects[j].Verdict; v != Negligible {
				q.UndecidedAbove = v == Undecided
				break
			}
			q.Largest = a.Steps[i].StepSize
		}
	}
	a.Largest = math.Inf(1)
	for _, q := range a.Params {
		a.Largest = math.Min(a.Largest, q.Largest)
	}
}

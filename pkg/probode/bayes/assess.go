package bayes

import (
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"gonum.org/v1/gonum/stat"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/mcmc"
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

// AssessSettings says what Assess is to do. The zero value is ready for use.
type AssessSettings struct {
	// Steps are the sizes of step to be assessed, in any order; nil means
	// Posterior.Step and its half, quarter and eighth.
	Steps []float64

	// Scheme is the inference with the solver's error in the model; nil
	// means PCNWithinGibbs.
	Scheme Scheme

	// Threshold is the size of an error that does not matter: a bias below
	// Threshold standard deviations of the accurate posterior, and a standard
	// deviation that is not larger or smaller than the accurate one by a
	// factor of more than 1 + Threshold. Zero means 0.1.
	Threshold float64

	// Chains are the settings of each run; Start, Names, Generated, Only,
	// Meta and Progress have no meaning here. If Draws and MinESS are both
	// zero, each run goes on until the effective sample size is 4000, at
	// most to 20 000 draws of each chain.
	Chains mcmc.Settings

	// Weighed is the number of draws of each step, of all chains together,
	// for which the equations are solved accurately. Zero means 4000.
	Weighed int

	// Accurate says how. Its Workers and Progress have no meaning here.
	Accurate AccurateSolver

	// Calibrate says how α is found. Zero Paths means 400.
	Calibrate probode.CalibrateSettings

	// Progress, if not nil, is called from time to time with the number of
	// the pieces of work that are done, of total, and what is being done.
	Progress func(done, total int, doing string)
}

// An Assessment is the answer of Assess. After an interruption it holds what had
// been done.
type Assessment struct {
	Model     string // names of the problems
	Method    probode.Method
	Threshold float64

	// Params are the parameters that are assessed: those of the model but
	// for an unknown α, which has no accurate value.
	Params []AccurateMarginal

	// AccurateBy says in words from which draws the accurate posterior was
	// had, and KHat is the k̂ of their weights: above 0.7 they cannot be
	// trusted.
	AccurateBy string
	KHat       float64

	// Steps are the sizes of step, the largest first.
	Steps []StepAssessment

	// Largest is the largest step with which the solver's error does not
	// matter for a parameter of those it was asked for, nor does it with any
	// smaller one; zero if there is none. It speaks of deterministic
	// inference, as do the Largest of Params.
	Largest float64

	// Warnings say in words what else is to be known, and what to do.
	Warnings []string

	// sigmas are the parameters that measure the size of the errors of
	// observation, −1 if these fall with it.
	sigmas map[string]float64
}

// An AccurateMarginal is a parameter in the accurate posterior.
type AccurateMarginal struct {
	Name           string
	Mean, SD       float64
	MeanSE, SDSE   float64 // Monte Carlo standard errors
	Largest        float64 // step with which the solver's error does not matter; zero for none
	UndecidedAbove bool    // whether it matters at the next larger step is not known
}

// A StepAssessment is what was found for one step.
type StepAssessment struct {
	Step  float64
	Exact bool // every observation is at a grid point
	Err   string

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
	Scheme  string
	Summary mcmc.Summary // of all parameters, an unknown α included
	Effects []Effect     // in the order of Assessment.Params

	Draws, Chains int
	Solves        int // solutions of the equations, burn-in included
	Failed        int // of these, failed
	Seconds       float64
	// ESSPerSecond is the smallest bulk effective sample size of the assessed
	// parameters per second.
	ESSPerSecond float64

	sdSE []float64
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
	// Undecided: the Monte Carlo error is too large to tell.
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

// Assess answers whether the numerical error of p.Method matters for the
// posterior, and at which step. At each of s.Steps it
//
//   - finds the mode of the deterministic posterior and calibrates α there, and
//     at three draws, unless p.Alpha is a parameter, which is then sampled, or
//     known and not zero;
//   - samples by Deterministic and by s.Scheme;
//   - sets means and standard deviations against those of the accurate posterior,
//     of probode.Reference: the deterministic draws of the smallest step,
//     weighed. If they are too far off for that (k̂ > 0.7), other solvers are
//     tried; see Assessment.AccurateBy.
//
// All numbers but times are decided by s.Chains.Seed. The error says what is
// wrong with p or s, that nothing could be sampled at the smallest step, or that
// ctx ended; the Assessment then holds what had been done, nil if nothing.
func Assess(ctx context.Context, p *Posterior, s AssessSettings) (*Assessment, error) {
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
	p           *Posterior
	s           AssessSettings
	out         *Assessment
	assessed    []int // indices of the assessed parameters
	modes       []*Mode
	paired      [][]Effect
	done, total int
}

func newAssessor(ctx context.Context, p *Posterior, s AssessSettings) (*assessor, error) {
	if p.Step == 0 && len(s.Steps) > 0 {
		q := *p
		q.Step = s.Steps[0]
		p = &q
	}
	e, err := newEvaluator(p)
	if err != nil {
		return nil, err
	}
	if s.Threshold == 0 {
		s.Threshold = 0.1
	}
	if s.Scheme == nil {
		s.Scheme = PCNWithinGibbs{}
	}
	if s.Steps == nil {
		s.Steps = []float64{p.Step, p.Step / 2, p.Step / 4, p.Step / 8}
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
	if s.Threshold < 0 || s.Weighed < 0 {
		panic("bayes: negative Threshold or Weighed in AssessSettings")
	}
	s.Chains.Start, s.Chains.Names, s.Chains.Generated, s.Chains.Only, s.Chains.Meta = nil, nil, nil, nil, nil
	s.Accurate.Workers, s.Accurate.Progress = s.Chains.Workers, nil
	if _, err := s.Accurate.evaluator(p); err != nil {
		return nil, err
	}
	s.Calibrate.Seed, s.Calibrate.Workers, s.Calibrate.Progress = s.Chains.Seed, s.Chains.Workers, nil

	a := &assessor{ctx: ctx, p: p, s: s, out: &Assessment{Method: p.Method, Threshold: s.Threshold, KHat: math.NaN(), sigmas: map[string]float64{}}}
	var titles []string
	for _, x := range p.Experiments {
		if !slices.Contains(titles, x.Problem.Name) {
			titles = append(titles, x.Problem.Name)
		}
	}
	a.out.Model = strings.Join(titles, ", ")
	for k, q := range p.Params {
		if k != e.alpha {
			a.assessed = append(a.assessed, k)
			a.out.Params = append(a.out.Params, AccurateMarginal{Name: q.Name, Mean: math.NaN(), SD: math.NaN(), MeanSE: math.NaN(), SDSE: math.NaN()})
		}
	}
	for _, r := range e.runs {
		for _, l := range r.laws {
			a.noteSigma(l.Likelihood)
		}
	}

	// The steps that divide the span.
	for _, h := range slices.Backward(slices.Sorted(slices.Values(s.Steps))) {
		q := a.at(h)
		e, err := newEvaluator(q)
		if err != nil {
			return nil, fmt.Errorf("%w (in Steps)", err)
		}
		h = e.runs[0].solver.Step()
		if n := len(a.out.Steps); n > 0 && math.Abs(a.out.Steps[n-1].Step-h) < 1e-9*h {
			continue
		}
		exact := true
		for _, r := range e.runs {
			if _, err := r.solver.Index(r.x.Data.T); err != nil {
				exact = false
			}
		}
		nan := math.NaN()
		a.out.Steps = append(a.out.Steps, StepAssessment{Step: h, Exact: exact, Error: nan, Order: nan, Alpha: nan, AlphaStar: nan, AlphaSE: nan, KHat: nan})
	}
	if len(a.out.Steps) == 0 {
		return nil, errors.New("bayes: no Steps to assess")
	}
	a.modes = make([]*Mode, len(a.out.Steps))
	a.paired = make([][]Effect, len(a.out.Steps))
	a.total = 5*len(a.out.Steps) + 1
	return a, nil
}

// noteSigma remembers which parameters say how large the errors of observation
// are: such a one can take the solver's error upon itself.
func (a *assessor) noteSigma(l Likelihood) {
	for i, v := range l.Own() {
		sign := 1.0
		switch l.(type) {
		case NegativeBinomial:
			sign = -1 // the variance falls with φ
		case StudentT:
			if i == 0 {
				sign = -1 // the tails fall with ν
			}
		}
		if v.Name != "" {
			a.out.sigmas[v.Name] = sign
		}
	}
}

func (a *assessor) finest() int { return len(a.out.Steps) - 1 }

// at returns the posterior with the step h.
func (a *assessor) at(h float64) *Posterior {
	q := *a.p
	q.Step = h
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
		a.say("mode, h = %.4g", st.Step)
		m, err := a.at(st.Step).FindMode(a.ctx, a.s.Chains.Seed, known...)
		if err != nil {
			return fmt.Errorf("h = %.4g: %w", st.Step, err)
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
	p      *Posterior
	summed *Inference
	few    *mcmc.Chains // evenly spaced ones, to be weighed
	three  [][]float64
}

// sample runs one scheme and keeps of its draws what is needed.
func (a *assessor) sample(p *Posterior, scheme Scheme, seed uint64) (*draws, error) {
	s := a.s.Chains
	s.Seed = seed
	s.Progress = func(g mcmc.Progress) { a.say("%v, h = %.4g: %v", scheme, p.Step, g) }
	begin := time.Now()
	c, err := Sample(a.ctx, p, scheme, s)
	if err != nil {
		return nil, fmt.Errorf("%v, h = %.4g: %w", scheme, p.Step, err)
	}
	seconds := time.Since(begin).Seconds()
	inf := &Inference{Scheme: scheme.String(), Summary: c.Summary(), Chains: len(c.Draws), Draws: len(c.Draws[0]), Seconds: seconds}
	for k := range c.Names {
		inf.sdSE = append(inf.sdSE, mcmc.MCSESD(c.Parameter(k)))
	}
	for i := range c.Stats {
		for _, t := range []mcmc.Stats{c.BurnIn[i], c.Stats[i]} {
			inf.Solves += t.Proposed + t.Latent.Proposed
			inf.Failed += t.Failed + t.Latent.Failed
		}
	}
	least := math.Inf(1)
	for _, k := range a.assessed {
		least = math.Min(least, inf.Summary[k].BulkESS)
	}
	inf.ESSPerSecond = least / seconds

	d := &draws{p: p, summed: inf, few: &mcmc.Chains{Names: c.Names, Quantities: c.Quantities}}
	n := min(len(c.Draws[0]), max(8, a.s.Weighed/len(c.Draws)))
	for i := range c.Draws {
		var x, g [][]float64
		for k := range n {
			at := (k+1)*len(c.Draws[i])/n - 1
			x, g = append(x, slices.Clone(c.Draws[i][at])), append(g, slices.Clone(c.Generated[i][at]))
		}
		d.few.Draws, d.few.Generated = append(d.few.Draws, x), append(d.few.Generated, g)
	}
	for k := range 3 {
		chain := c.Draws[k%len(c.Draws)]
		d.three = append(d.three, slices.Clone(chain[(k+1)*len(chain)/3-1]))
	}
	return d, nil
}

// seed gives each step numbers of its own, so that the runs are independent.
func (a *assessor) seed(key ...uint64) uint64 {
	return probode.Stream(a.s.Chains.Seed, append([]uint64{0x617373657373}, key...)...).Uint64()
}

// deterministic samples at step i, and weighs the draws.
func (a *assessor) deterministic(i int) (*draws, error) {
	st := &a.out.Steps[i]
	p := a.at(st.Step)
	p.mode = a.modes[i]
	d, err := a.sample(p, Deterministic{}, a.seed(uint64(i)))
	if err != nil {
		return nil, err
	}
	if err := a.step(); err != nil {
		return nil, err
	}
	a.say("accurate solutions, h = %.4g", st.Step)
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
		a.say("alpha, h = %.4g", st.Step)
		alpha, se, err := a.alpha(p, st.Mode)
		if err != nil {
			return d, err
		}
		st.AlphaStar, st.AlphaSE, st.Alpha = alpha, se, alpha
		if v := a.p.Alpha.Value; v > 0 {
			st.Alpha = v
		}
		for _, theta := range d.three {
			v, _, err := a.alpha(p, theta)
			if err != nil {
				if a.ctx.Err() != nil {
					return d, err
				}
				v = math.NaN()
			}
			st.AlphaAt = append(st.AlphaAt, v)
		}
	}
	return d, a.step()
}

// alpha returns α* at theta, and its standard error: of several experiments the
// geometric mean, as the method wants one α for all.
func (a *assessor) alpha(p *Posterior, theta []float64) (alpha, se float64, err error) {
	cs, err := p.CalibrateAlpha(a.ctx, theta, a.s.Calibrate)
	if err != nil {
		return 0, 0, err
	}
	var sum, square float64
	n := float64(len(cs))
	for _, c := range cs {
		sum += math.Log(c.Alpha)
		square += (c.SE / c.Alpha) * (c.SE / c.Alpha)
	}
	alpha = math.Exp(sum / n)
	return alpha, alpha * math.Sqrt(square) / n, nil
}

// probabilistic samples at step i with the solver's error in the model.
func (a *assessor) probabilistic(i int) error {
	st := &a.out.Steps[i]
	p := a.at(st.Step)
	p.mode = a.modes[i]
	if a.p.Alpha.Name == "" {
		if math.IsNaN(st.Alpha) {
			a.done += 2
			return nil // α could not be calibrated, which Err says
		}
		p.Alpha = Known(st.Alpha)
	}
	d, err := a.sample(p, a.s.Scheme, a.seed(uint64(i)))
	if err != nil {
		return err
	}
	if a.p.Alpha.Name != "" {
		st.Alpha = d.summed.Summary[p.index(a.p.Alpha.Name)].Mean
	}
	st.Probabilistic = d.summed
	a.done = min(a.done+1, a.total)
	return a.step()
}

// weigh solves accurately at few draws of d and returns what the weights say of
// its error, in the units of the parameters: Bias is not divided by anything.
func (a *assessor) weigh(d *draws) ([]Effect, float64, error) {
	w, err := Reweight(a.ctx, d.p, d.few, a.s.Accurate)
	if err != nil {
		return nil, math.Inf(1), err
	}
	weights := normalised(w.LogWeights)
	var out []Effect
	for _, k := range a.assessed {
		out = append(out, paired(d.few.Parameter(k), weights))
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

// paired compares the draws x with the same draws under weights of mean 1: the
// difference of the means and the ratio of the standard deviations. Both are
// smooth functions of means over the draws, so that their errors are those of
// the means of their influence functions [Hampel 1974],
//
//	φ = (x − m) − w (x − m_w),
//	ψ = ½ ((x − m)²/v − 1) − ½ w ((x − m_w)²/v_w − 1)   of log √(v/v_w),
//
// over chains with all their autocorrelation.
func paired(x, w [][]float64) Effect {
	all, weights := slices.Concat(x...), slices.Concat(w...)
	m, v := stat.PopMeanVariance(all, nil)
	mw, vw := stat.PopMeanVariance(all, weights)
	phi, psi := make([][]float64, len(x)), make([][]float64, len(x))
	for i := range x {
		for k, y := range x[i] {
			q, qw := y-m, y-mw
			phi[i] = append(phi[i], q-w[i][k]*qw)
			psi[i] = append(psi[i], 0.5*(q*q/v-1)-0.5*w[i][k]*(qw*qw/vw-1))
		}
	}
	ratio := math.Sqrt(v / vw)
	return Effect{Bias: m - mw, BiasSE: meanSE(phi), Ratio: ratio, RatioSE: ratio * meanSE(psi), Paired: true}
}

// meanSE is mcmc.MCSEMean for numbers that may all be equal.
func meanSE(x [][]float64) float64 {
	se := mcmc.MCSEMean(x)
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
	h := a.out.Steps[a.finest()].Step
	type candidate struct {
		m probode.Method
		h float64
	}
	use := func(d *draws, effects []Effect, khat float64, by string) {
		a.out.KHat, a.out.AccurateBy = khat, by
		for j, k := range a.assessed {
			// The mean of all draws, less the bias that the weighed ones show.
			q, m, e := &a.out.Params[j], d.summed.Summary[k], effects[j]
			q.Mean, q.MeanSE = m.Mean-e.Bias, math.Hypot(m.MCSE, e.BiasSE)
			q.SD = m.SD / e.Ratio
			q.SDSE = q.SD * math.Hypot(d.summed.sdSE[k]/m.SD, e.RatioSE/e.Ratio)
		}
	}
	f := a.finest()
	best := a.out.Steps[f].KHat
	if a.paired[f] != nil {
		use(fine, a.paired[f], best, fmt.Sprintf("the draws of h = %.4g, weighed", h))
	}
	// loss is the largest error of a mean, in units of what the chain alone has.
	loss := func(d *draws, effects []Effect) (most float64) {
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
		if q.mode, err = q.FindMode(a.ctx, a.s.Chains.Seed, a.out.Steps[f].Mode); err != nil {
			continue
		}
		d, err := a.sample(q, Deterministic{}, a.seed(1000+uint64(n)))
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
		st.Error = pathError(a.ctx, a.at(st.Step), a.out.Steps[a.finest()].Mode, a.s.Accurate)
	}
	for i := range a.finest() {
		c, f := &a.out.Steps[i], &a.out.Steps[i+1]
		c.Order = math.Log(c.Error/f.Error) / math.Log(c.Step/f.Step)
	}
	return a.ctx.Err()
}

// pathError returns the error of the classical solution at theta and the times
// of the data: see StepAssessment.Error. It is NaN if one of the solvers fails.
func pathError(ctx context.Context, p *Posterior, theta []float64, by AccurateSolver) float64 {
	coarse, err := newEvaluator(p)
	if err != nil {
		return math.NaN()
	}
	fine, err := by.evaluator(p)
	if err != nil {
		return math.NaN()
	}
	if _, err := coarse.logLikelihood(theta, nil); err != nil {
		return math.NaN()
	}
	if _, err := by.logLikelihood(ctx, fine, theta); err != nil {
		return math.NaN()
	}
	var sum float64
	n := 0
	for i, r := range coarse.runs {
		d, exact := r.x.Problem.Dim(), fine.runs[i].state
		scale := make([]float64, d)
		for k, x := range exact {
			scale[k%d] = max(scale[k%d], math.Abs(x))
		}
		for k, x := range exact {
			if c := scale[k%d]; c > 0 {
				e := (r.state[k] - x) / c
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
			var own []Effect
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
	a.out.warn(a.p)
}

func (a *assessor) effects(inf *Inference, own []Effect) {
	inf.Effects = nil
	for j, k := range a.assessed {
		q, m := a.out.Params[j], inf.Summary[k]
		e := Effect{
			Bias: (m.Mean - q.Mean) / q.SD, BiasSE: math.Hypot(m.MCSE, q.MeanSE) / q.SD,
			Ratio: m.SD / q.SD,
		}
		e.RatioSE = e.Ratio * math.Hypot(inf.sdSE[k]/m.SD, q.SDSE/q.SD)
		// Of two estimates, one from the difference of two runs and one from
		// the weights of this one, the one with the smaller error.
		if own != nil && own[j].BiasSE/q.SD < e.BiasSE {
			e = own[j]
			e.Bias, e.BiasSE = e.Bias/q.SD, e.BiasSE/q.SD
		}
		if m.RHat <= mixed && m.BulkESS >= fewest && a.out.KHat <= khatLimit {
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
func (a *Assessment) largest() {
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
			q.Largest = a.Steps[i].Step
		}
	}
	a.Largest = math.Inf(1)
	for _, q := range a.Params {
		a.Largest = math.Min(a.Largest, q.Largest)
	}
}

// nominal returns the order that the method is chosen for: for Adams–Moulton
// that of the implicit equation, solved in whatever way.
func nominal(m probode.Method) int {
	if am, ok := m.(probode.AdamsMoulton); ok {
		return probode.AdamsMoulton{Steps: am.Steps}.Order()
	}
	return m.Order()
}

// warn says what is to be known beside the numbers, and what to do about it.
func (a *Assessment) warn(p *Posterior) {
	a.Warnings = nil
	say := func(format string, args ...any) { a.Warnings = append(a.Warnings, fmt.Sprintf(format, args...)) }

	if !(a.KHat <= khatLimit) {
		say("the accurate posterior is not known: k̂ = %.2f for %s, above %.1f, so that no verdict is given: add smaller steps, or take a method of higher order", a.KHat, a.AccurateBy, khatLimit)
	}
	for _, st := range a.Steps {
		if st.Err != "" {
			say("nothing is known at h = %.4g: %s", st.Step, st.Err)
		}
	}
	a.warnChains(say)
	a.warnOrder(say)
	a.warnAlpha(p, say)

	// An unknown σ fits the solver's error as if it were the data's.
	var taken, names []string
	for j, q := range a.Params {
		sign, ok := a.sigmas[q.Name]
		if !ok {
			continue
		}
		for _, st := range a.Steps {
			if st.Deterministic == nil || st.Deterministic.Effects[j].Verdict != Matters {
				continue
			}
			if e := st.Deterministic.Effects[j]; sign*e.Bias > a.Threshold+decisive*e.BiasSE {
				taken = append(taken, fmt.Sprintf("%s is %.3g at h = %.4g and accurately %.3g", q.Name, st.Deterministic.marginal(q.Name).Mean, st.Step, q.Mean))
				names = append(names, q.Name)
				break
			}
		}
	}
	if taken != nil {
		say("an unknown size of the data's errors hides a bad solver, whose error it takes for theirs (%s): intervals get wider and the fit still looks honest; judge the step by %s, too",
			strings.Join(taken, "; "), strings.Join(names, ", "))
	}
	var off []string
	for _, st := range a.Steps {
		if !st.Exact {
			off = append(off, fmt.Sprintf("%.4g", st.Step))
		}
	}
	if off != nil {
		say("with h = %s some observations lie between grid points, where the path is interpolated with the method's order: that is part of the error assessed; a step that divides the times of the data does without", strings.Join(off, ", "))
	}
}

func (a *Assessment) warnChains(say func(string, ...any)) {
	for _, st := range a.Steps {
		for _, inf := range []*Inference{st.Deterministic, st.Probabilistic} {
			if inf == nil {
				continue
			}
			where := fmt.Sprintf("%s, h = %.4g", inf.Scheme, st.Step)
			var rhat, few []string
			worst, least := 0.0, math.Inf(1)
			for _, m := range inf.Summary {
				if !(m.RHat <= 1.01) {
					rhat = append(rhat, m.Name)
					worst = math.Max(worst, m.RHat)
				}
				if ess := math.Min(m.BulkESS, m.TailESS); !(ess >= float64(100*inf.Chains)) {
					few = append(few, m.Name)
					least = math.Min(least, ess)
				}
			}
			switch {
			case few != nil && rhat != nil:
				say("%s: too few effective draws, %.0f where 100 a chain are wanted, and R̂ up to %.3f (%s): more draws (Draws, MinESS), a longer burn-in, or a look at the traces for several modes", where, least, worst, strings.Join(few, ", "))
			case few != nil:
				say("%s: too few effective draws, %.0f where 100 a chain are wanted (%s): run longer (Draws, MinESS)", where, least, strings.Join(few, ", "))
			case rhat != nil:
				say("%s: the chains may not have mixed: R̂ up to %.3f (%s): more draws or a longer burn-in", where, worst, strings.Join(rhat, ", "))
			}
			if share := float64(inf.Failed) / float64(inf.Solves); share > 0.01 {
				say("%s: %.1f %% of the solves failed, which cuts a piece out of the posterior: a smaller step, an implicit method, or a prior that excludes what cannot be solved", where, 100*share)
			}
		}
	}
}

func (a *Assessment) warnOrder(say func(string, ...any)) {
	want := nominal(a.Method)
	// Between the two smallest steps of which both errors are clear of the
	// accurate solution's own.
	for i := len(a.Steps) - 2; i >= 0; i-- {
		c, f := a.Steps[i], a.Steps[i+1]
		if math.IsNaN(c.Order) || f.Error < 1e-8 {
			continue
		}
		switch {
		case c.Error > 0.1:
			say("at h = %.4g the path at the mode is off by %.0f %% of its size: the steps are too large for the error to follow its order, and α to mean anything; add smaller steps", c.Step, 100*c.Error)
		case c.Order < float64(want)-0.5:
			cure := "take smaller steps; if the order stays away, f is not smooth enough for the method, or its Jacobian is wrong (Problem.CheckJacobian)"
			if am, ok := a.Method.(probode.AdamsMoulton); ok && am.Linearize == probode.Current && am.Steps > 1 {
				cure = "to linearise once at the current state leaves order 2 of any higher one; take Linearize: Newton or Predictor"
			}
			say("order lost: from h = %.4g to %.4g the error of the path falls like h^%.1f, where %v should give h^%d: %s", c.Step, f.Step, c.Order, a.Method, want, cure)
		}
		break
	}
	if order, se, i := a.ShiftOrder(); !math.IsNaN(order) && order+decisive*se < float64(want)-0.5 {
		say("order lost in the posterior: from h = %.4g to %.4g its shift falls like h^%.1f ± %.1f, where %v should give h^%d", a.Steps[i].Step, a.Steps[i+1].Step, order, se, a.Method, want)
	}
}

// ShiftOrder returns the order at which the shift of the deterministic posterior
// falls between Steps[i] and Steps[i+1], the two smallest of which the shifts are
// known well enough,
//
//	log(bᵢ/bᵢ₊₁) / log(hᵢ/hᵢ₊₁),   b = √(sum of the squared biases),
//
// and its Monte Carlo standard error; NaN if there are none. Of shifts above
// one standard deviation, or ones that are less than three standard errors from
// zero, no order is taken.
func (a *Assessment) ShiftOrder() (order, se float64, i int) {
	norm := func(inf *Inference) (b, se float64) {
		var v float64
		for _, e := range inf.Effects {
			b += e.Bias * e.Bias
			v += e.Bias * e.Bias * e.BiasSE * e.BiasSE
		}
		b = math.Sqrt(b)
		return b, math.Sqrt(v) / b
	}
	for i := len(a.Steps) - 2; i >= 0; i-- {
		c, f := a.Steps[i], a.Steps[i+1]
		if c.Deterministic == nil || f.Deterministic == nil || !(a.KHat <= khatLimit) {
			continue
		}
		b, bse := norm(c.Deterministic)
		d, dse := norm(f.Deterministic)
		if !(b < 1 && d < 1 && b > 3*bse && d > 3*dse) {
			continue
		}
		unit := math.Log(c.Step / f.Step)
		return math.Log(b/d) / unit, math.Hypot(bse/b, dse/d) / unit, i
	}
	return math.NaN(), math.NaN(), 0
}

const (
	// alphaSteps and alphaTheta are the factors by which α* may differ
	// between neighbouring steps, and between the mode and draws of the
	// posterior. The noise goes with its root.
	alphaSteps, alphaTheta = 2, 4
)

func (a *Assessment) warnAlpha(p *Posterior, say func(string, ...any)) {
	ratio := func(x, y float64) float64 { return math.Exp(math.Abs(math.Log(x / y))) }
	for i := range len(a.Steps) - 1 {
		c, f := a.Steps[i], a.Steps[i+1]
		se := math.Hypot(c.AlphaSE/c.AlphaStar, f.AlphaSE/f.AlphaStar)
		if r := ratio(c.AlphaStar, f.AlphaStar); r > alphaSteps*math.Exp(decisive*nanOr(se, 0)) {
			say("α is not stable in h: α* is %.3g at h = %.4g and %.3g at h = %.4g, a factor of more than %d: at the larger step the error has not the size that the order foretells, and an α of one step is wrong for another",
				c.AlphaStar, c.Step, f.AlphaStar, f.Step, alphaSteps)
		}
	}
	for _, st := range a.Steps {
		worst := 1.0
		at := math.NaN()
		for _, v := range st.AlphaAt {
			if r := ratio(v, st.AlphaStar); r > worst {
				worst, at = r, v
			}
		}
		if worst > alphaTheta {
			say("α depends on θ: at h = %.4g α* is %.3g at the mode and %.3g at another draw of the posterior, a factor of more than %d: one α for all is a compromise; give α a prior, or take a smaller step", st.Step, st.AlphaStar, at, alphaTheta)
		}
		if v := st.Alpha; p.Alpha.Name == "" && p.Alpha.Value > 0 && ratio(v, st.AlphaStar) > alphaTheta {
			say("the given α = %.3g is not the size of the error at h = %.4g, for which α* is %.3g: leave Alpha at zero to have it calibrated", v, st.Step, st.AlphaStar)
		}
	}
}

func nanOr(v, other float64) float64 {
	if math.IsNaN(v) {
		return other
	}
	return v
}

// Answer returns the verdict in a few sentences.
func (a *Assessment) Answer() string {
	var b strings.Builder
	limit := fmt.Sprintf("bias below %.3g posterior sd, sd within %.0f %%, for every parameter", a.Threshold, 100*a.Threshold)
	top := a.Steps[0].Step
	switch known := a.KHat <= khatLimit; {
	case !known:
		b.WriteString("Whether the solver's error matters cannot be told: the accurate posterior is out of reach of these steps.\n")
	case a.Largest == top:
		fmt.Fprintf(&b, "The solver's error does not matter at any of the steps, up to h = %.4g (%s).\n", a.Largest, limit)
	case a.Largest > 0:
		fmt.Fprintf(&b, "The solver's error does not matter up to h = %.4g (%s).\n", a.Largest, limit)
	default:
		v := Undecided
		if d := a.Steps[len(a.Steps)-1].Deterministic; d != nil {
			v = d.Verdict()
		}
		if v == Matters {
			fmt.Fprintf(&b, "The solver's error matters at every one of the steps, down to h = %.4g (it would not with: %s).\n", a.Steps[len(a.Steps)-1].Step, limit)
		} else {
			fmt.Fprintf(&b, "No step is known to be small enough (%s).\n", limit)
		}
	}
	if !(a.KHat <= khatLimit) {
		return b.String()
	}
	// The next larger step: what is wrong with it.
	for i := len(a.Steps) - 1; i >= 0; i-- {
		st := a.Steps[i]
		if st.Step <= a.Largest || st.Deterministic == nil {
			continue
		}
		d := st.Deterministic
		j, v := d.worst(a.Threshold)
		e := d.Effects[j]
		what := fmt.Sprintf("%s is off by %s sd, and its sd is %s of the accurate one", a.Params[j].Name, plusMinus(e.Bias, e.BiasSE, true), plusMinus(e.Ratio, e.RatioSE, false))
		if v == Matters {
			fmt.Fprintf(&b, "At h = %.4g it matters: %s.\n", st.Step, what)
			if i == len(a.Steps)-1 {
				shrink := math.Max(math.Abs(e.Bias), math.Abs(math.Log(e.Ratio))) / a.Threshold
				fmt.Fprintf(&b, "If that falls with the order of the method, %d, a step of about %.1g would do.\n", a.Method.Order(), st.Step*math.Pow(shrink, -1/float64(a.Method.Order())))
			}
		} else {
			fmt.Fprintf(&b, "At h = %.4g it is undecided: %s; %s.\n", st.Step, what, d.needed(j, a.Params[j].Name, a.Threshold))
		}
		if q := st.Probabilistic; q != nil {
			f := q.Effects[j]
			fmt.Fprintf(&b, "There the probabilistic solver (α = %.3g) has %s off by %s of the accurate sd, with an sd %s times as large.\n", st.Alpha, a.Params[j].Name, plusMinus(f.Bias, f.BiasSE, true), plusMinus(f.Ratio, f.RatioSE, false))
		}
		break
	}
	return b.String()
}

// worst returns the parameter that decides the verdict: the one farthest beyond
// the threshold if the error matters. Of an undecided step it is the one that
// wants fewest draws of those beyond, as one of these is enough, and else the one
// that wants most, as all are needed.
func (inf *Inference) worst(threshold float64) (int, Verdict) {
	v := inf.Verdict()
	at, size := 0, math.Inf(-1)
	for j, e := range inf.Effects {
		if e.Verdict != v {
			continue
		}
		s := math.Max(math.Abs(e.Bias)/threshold, math.Abs(math.Log(e.Ratio))/math.Log1p(threshold))
		if v == Undecided {
			more := e.more(threshold)
			if s > 1 {
				s = 1e9 / more
			} else {
				s = 1e-9 * more
			}
		}
		if s > size || math.IsNaN(s) {
			at, size = j, s
		}
	}
	return at, v
}

// marginal returns the draws' own numbers of a parameter.
func (inf *Inference) marginal(name string) mcmc.Marginal {
	return inf.Summary[slices.IndexFunc(inf.Summary, func(m mcmc.Marginal) bool { return m.Name == name })]
}

// needed says in words how many draws would decide about parameter j.
func (inf *Inference) needed(j int, name string, threshold float64) string {
	e := inf.Effects[j]
	m := inf.marginal(name)
	if !(m.RHat <= mixed && m.BulkESS >= fewest) {
		return "the chains have not mixed, so that nothing can be said of the draws that are needed"
	}
	f := e.more(threshold)
	switch {
	case math.IsNaN(f) || f > 100:
		return "it lies at the threshold itself, where no reasonable number of draws decides"
	case e.Paired:
		return fmt.Sprintf("to tell, Weighed would have to be about %.1f times as large, and there have to be that many draws", math.Max(f, 1.1))
	}
	return fmt.Sprintf("to tell takes about %s draws of each chain", twoDigits(math.Max(f, 1.1)*float64(inf.Draws)))
}

func twoDigits(v float64) string {
	unit := math.Pow(10, math.Floor(math.Log10(v))-1)
	return fmt.Sprintf("%.0f", math.Ceil(v/unit)*unit)
}

// plusMinus writes a number with its standard error, to two digits of that.
func plusMinus(v, se float64, signed bool) string {
	if math.IsNaN(v) || math.IsNaN(se) {
		return "?"
	}
	digits := 2
	if se > 0 {
		digits = min(4, max(2, 1-int(math.Floor(math.Log10(se)))))
	}
	if signed {
		return fmt.Sprintf("%+.*f ± %.*f", digits, v, digits, se)
	}
	return fmt.Sprintf("%.*f ± %.*f", digits, v, digits, se)
}

// String returns the answer, the tables and the warnings.
func (a *Assessment) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%v on %s\n\n%s\n%s", a.Method, a.Model, a.Answer(), a.Tables())
	if a.Warnings != nil {
		b.WriteByte('\n')
	}
	for _, w := range a.Warnings {
		fmt.Fprintf(&b, "caution: %s\n", w)
	}
	return b.String()
}

// Tables returns the numbers as tables for a terminal: of the steps, of the
// effects on each parameter, and of the accurate posterior.
func (a *Assessment) Tables() string {
	var b strings.Builder
	rows := [][]string{{"h", "α", "path error", "order", "k̂", "inference", "solves", "s", "ESS/s", "verdict"}}
	for _, st := range a.Steps {
		head := []string{fmt.Sprintf("%.4g", st.Step), number("%.3g", st.Alpha), number("%.2g", st.Error), number("%.1f", st.Order), number("%.2f", st.KHat)}
		for _, inf := range []*Inference{st.Deterministic, st.Probabilistic} {
			if inf == nil {
				continue
			}
			rows = append(rows, append(head, inf.Scheme, fmt.Sprint(inf.Solves), fmt.Sprintf("%.1f", inf.Seconds), fmt.Sprintf("%.0f", inf.ESSPerSecond), inf.Verdict().String()))
			head = make([]string, 5)
		}
		if st.Deterministic == nil {
			rows = append(rows, append(head, "–", "", "", "", "unknown"))
		}
	}
	writeTable(&b, rows)

	for _, kind := range []struct {
		title string
		of    func(Effect) string
	}{
		{"bias, in accurate sd", func(e Effect) string { return plusMinus(e.Bias, e.BiasSE, true) }},
		{"sd / accurate sd", func(e Effect) string { return plusMinus(e.Ratio, e.RatioSE, false) }},
	} {
		rows := [][]string{{kind.title, "inference"}}
		for _, st := range a.Steps {
			rows[0] = append(rows[0], fmt.Sprintf("h = %.4g", st.Step))
		}
		for j, q := range a.Params {
			name := q.Name
			for _, pick := range []func(StepAssessment) *Inference{
				func(st StepAssessment) *Inference { return st.Deterministic },
				func(st StepAssessment) *Inference { return st.Probabilistic },
			} {
				row, scheme := []string{name, ""}, ""
				for _, st := range a.Steps {
					cell := "–"
					if inf := pick(st); inf != nil {
						cell, scheme = kind.of(inf.Effects[j]), inf.Scheme
					}
					row = append(row, cell)
				}
				if row[1] = scheme; scheme == "" {
					continue
				}
				rows = append(rows, row)
				name = ""
			}
		}
		b.WriteByte('\n')
		writeTable(&b, rows)
	}

	rows = [][]string{{"accurate posterior", "mean", "sd", "largest step that is small enough"}}
	for _, q := range a.Params {
		largest := "none"
		if q.Largest > 0 {
			largest = fmt.Sprintf("%.4g", q.Largest)
		}
		if q.UndecidedAbove {
			largest += " (the next: undecided)"
		}
		rows = append(rows, []string{q.Name, number("%.4g", q.Mean), number("%.3g", q.SD), largest})
	}
	b.WriteByte('\n')
	writeTable(&b, rows)
	fmt.Fprintf(&b, "from %s; k̂ = %.2f\n", a.AccurateBy, a.KHat)
	return b.String()
}

func number(format string, v float64) string {
	if math.IsNaN(v) {
		return "–"
	}
	return fmt.Sprintf(format, v)
}

// writeTable writes rows with the columns under one another: the first and that of
// the inference to the left, numbers to the right.
func writeTable(b *strings.Builder, rows [][]string) {
	width := func(s string) int {
		// The hat of k̂ is a combining character, which takes no room.
		return utf8.RuneCountInString(s) - strings.Count(s, "\u0302")
	}
	var widths []int
	for _, row := range rows {
		for i, cell := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], width(cell))
		}
	}
	for _, row := range rows {
		line := ""
		for i, cell := range row {
			pad := strings.Repeat(" ", widths[i]-width(cell))
			if i == 0 || rows[0][i] == "inference" {
				line += cell + pad
			} else {
				line += pad + cell
			}
			line += "  "
		}
		b.WriteString(strings.TrimRight(line, " "))
		b.WriteByte('\n')
	}
}

// WriteCSV writes a row for each step, inference and parameter.
func (a *Assessment) WriteCSV(w io.Writer) error {
	out := csv.NewWriter(w)
	out.Write([]string{"step", "scheme", "parameter", "alpha", "mean", "sd", "accurate_mean", "accurate_sd",
		"bias", "bias_se", "sd_ratio", "sd_ratio_se", "verdict", "rhat", "bulk_ess", "draws", "solves", "failed", "seconds", "path_error", "khat"})
	for _, st := range a.Steps {
		for _, inf := range []*Inference{st.Deterministic, st.Probabilistic} {
			if inf == nil {
				continue
			}
			for j, q := range a.Params {
				e := inf.Effects[j]
				m := inf.marginal(q.Name)
				row := []string{fmt.Sprint(st.Step), inf.Scheme, q.Name}
				for _, v := range []float64{st.Alpha, m.Mean, m.SD, q.Mean, q.SD, e.Bias, e.BiasSE, e.Ratio, e.RatioSE} {
					row = append(row, fmt.Sprintf("%.6g", v))
				}
				row = append(row, e.Verdict.String(), fmt.Sprintf("%.4f", m.RHat), fmt.Sprintf("%.0f", m.BulkESS), fmt.Sprint(inf.Draws*inf.Chains),
					fmt.Sprint(inf.Solves), fmt.Sprint(inf.Failed), fmt.Sprintf("%.3f", inf.Seconds), fmt.Sprintf("%.4g", st.Error), fmt.Sprintf("%.3f", st.KHat))
				out.Write(row)
			}
		}
	}
	out.Flush()
	return out.Error()
}

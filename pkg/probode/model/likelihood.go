package model

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/probode/probode/pkg/internal/text"
	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/bayes"
	"github.com/probode/probode/pkg/probode/internal/pieces"
	"github.com/probode/probode/pkg/probode/methods"
)

// LikelihoodSettings are the settings with which a LogLikelihood solves its models. By
// default, the error of the log-likelihood is below 10⁻⁷, unless rounding errors are
// larger.
type LikelihoodSettings struct {
	// Tolerance bounds the local error of each step. The zero value means that the
	// tolerance is chosen automatically: each experiment is solved with the relative
	// tolerance 10⁻⁵, and then with tolerances that are smaller by powers of 16, until the
	// error of the experiment's log-likelihood is at most 10⁻⁷/n, where n is the number of
	// experiments. The sequence also ends when rounding errors dominate.
	//
	// Each tolerance is used twice, the second time with every step in two halves: see
	// probode.Adaptive.InParts. The result is that of the half steps. Its error is estimated
	// as a seventh of the difference between the two log-likelihoods, as for a method of
	// order three; for a method of lower order, as that order says. The error of most methods
	// decreases faster, so that the estimate is usually too large by a factor of about ten. It
	// is never below the effect of rounding errors.
	Tolerance probode.Tolerance

	// Method is the solver; nil means methods.Auto.
	Method probode.Method

	// MaxStep is the largest allowed step: see probode.Adaptive.
	MaxStep float64

	// If StepSize is positive, the solver takes equal steps of at most this size between
	// consecutive observation times. If StepSize is set, Tolerance and MaxStep must be
	// zero. StepSize does not affect the search for steady states.
	StepSize float64

	// Workers is the number of experiments that are solved at the same time; zero means
	// one for each processor. The results do not depend on Workers.
	Workers int

	// Progress, if not nil, is called with the number of experiments done so far and the
	// total number of experiments. Calls do not overlap.
	Progress func(done, total int)
}

// A solve says how an experiment is solved if the settings specify no tolerance. The zero
// value stands for the settings.
type solve struct {
	relative float64 // tolerance
	parts    int     // see probode.Adaptive.InParts
}

func (s *LikelihoodSettings) mesh(how solve) probode.Mesh {
	if s.StepSize > 0 {
		return probode.Through(s.StepSize)
	}
	m := probode.Adaptive{Tolerance: s.Tolerance, Max: s.MaxStep}
	if how.relative > 0 {
		m.Relative = how.relative
	}
	return m.InParts(how.parts)
}

const (
	first = 1e-5  // the relative tolerance of the first solve
	least = 1e-14 // the smallest one
	// roundings is a typical relative rounding error of a prediction.
	roundings = 0x1p-48
)

// A LogLikelihood computes the log-likelihood of the data of a File, and its gradient.
// The log-likelihood includes all normalising constants, but no priors. Each experiment
// has its own bayes.Density. Only one goroutine may use a LogLikelihood at a time.
type LogLikelihood struct {
	p     *File
	set   LikelihoodSettings
	free  []int     // components of Params that are estimated
	fixed []float64 // the θ for which the parts were made; only components that are not estimated matter
	parts []*part
	aim   float64 // the largest permitted error of one part's log-likelihood
}

type part struct {
	*compiledInstance
	free      []int // components of Params that are estimated and used here
	model     bayes.Model
	places    []place
	densities map[solve]*bayes.Density
}

// Timed reports whether the right-hand side of an experiment depends on time between
// events. Solvers may then step over a pulse that is shorter than their steps.
func (l *LogLikelihood) Timed() bool {
	return slices.ContainsFunc(l.parts, func(q *part) bool {
		return slices.ContainsFunc(q.model.Experiments, func(x bayes.Experiment) bool { return x.Problem != nil && !x.Problem.Autonomous })
	})
}

// An Evaluation holds the log-likelihood at one value of θ.
type Evaluation struct {
	LogLikelihood float64

	// Error is an estimate of the error in LogLikelihood due to the solver. The estimates
	// of all experiments are added. LikelihoodSettings.Tolerance describes the estimate
	// for one experiment. Error is NaN if LikelihoodSettings specifies a Tolerance or a
	// StepSize.
	Error float64

	// Gradient is the gradient with respect to the values of the estimated parameters on
	// the linear scale. ScaleGradient is the gradient with respect to the estimated
	// parameters, each on its own scale. The components of Gradient and ScaleGradient are
	// in the order of LogLikelihood.Estimated. Gradient and ScaleGradient are set only if
	// the argument `gradient` of At is true.
	Gradient, ScaleGradient []float64

	// The elements of Instances are in the order of File.Instances.
	Instances []InstanceValue
}

// An InstanceValue is the contribution of one experiment to a log-likelihood.
type InstanceValue struct {
	Model, Condition, Preequilibration string
	LogLikelihood                      float64
	Tolerance                          probode.Tolerance // tolerance of the last solve
	Error                              float64           // as in Evaluation
	Observables                        []ObservableValue

	// Simulated contains the predicted value of each measurement. Noise contains the
	// standard deviation, or the scale, of the distribution of each measurement. The
	// elements of Simulated and Noise are sorted by time. Elements with equal times have
	// the same order as in the file.
	Simulated, Noise []float64
	// Residuals contains for each measurement its difference from Simulated on the scale of
	// the observable, divided by the standard deviation of its distribution, or by the
	// scale of a Student-t distribution. For a measurement of which only
	// an interval is known, it is the distance of Simulated from the interval.
	Residuals []float64

	gradient []float64 // by parameter of the part
	by       solve
	terms    []float64 // of LogLikelihood, one for each measurement
	rounding float64   // the error of LogLikelihood that rounding errors may cause
}

// An ObservableValue is the contribution of one observable of an experiment to a
// log-likelihood. Observables are in the order in which they first appear in the rows.
type ObservableValue struct {
	Observable    string
	Points        int
	LogLikelihood float64
}

// LogLikelihood returns an object that computes the log-likelihood of the data in the
// file. It is an error if p has no data, or if the settings are invalid.
func (p *File) LogLikelihood(s LikelihoodSettings) (*LogLikelihood, error) {
	switch {
	case s.Tolerance.Relative != 0 && !(s.Tolerance.Relative >= 1e-15 && s.Tolerance.Relative < 1):
		return nil, fmt.Errorf("the relative tolerance is %g: want a number in [1e-15, 1), or 0", s.Tolerance.Relative)
	case !(s.MaxStep >= 0):
		return nil, fmt.Errorf("the maximum step size is %g: want a number ≥ 0", s.MaxStep)
	case !(s.StepSize >= 0) || math.IsInf(s.StepSize, 1):
		return nil, fmt.Errorf("the step size is %g: want a finite number ≥ 0", s.StepSize)
	case s.StepSize > 0 && (s.Tolerance.Relative != 0 || s.Tolerance.Absolute != nil || s.MaxStep != 0):
		return nil, fmt.Errorf("a fixed step size cannot be combined with a tolerance or a maximum step size: choose either equal steps or error control")
	case s.Workers < 0:
		return nil, fmt.Errorf("the number of workers is %d: want a number ≥ 0", s.Workers)
	}
	if s.Method == nil {
		s.Method = methods.Auto{}
	}
	l := &LogLikelihood{p: p, set: s, free: p.estimated()}
	list, err := p.Instances()
	if err != nil {
		return nil, err
	}
	for _, e := range list {
		if len(e.rows) == 0 {
			continue
		}
		c, err := p.compile(e)
		if err != nil {
			return nil, err
		}
		q := &part{compiledInstance: c}
		seen := map[string]bool{}
		for i := range e.rows {
			addSymbols(seen, e.rows[i].formulas()...)
		}
		for _, i := range l.free {
			if slices.Contains(c.moves, i) || seen[c.params[i]] {
				q.free = append(q.free, i)
			}
		}
		l.parts = append(l.parts, q)
	}
	if len(l.parts) == 0 {
		return nil, fmt.Errorf("%s has no measurements: a likelihood requires data", text.Clip(p.Name))
	}
	l.aim = 1e-7 / float64(len(l.parts))
	return l, nil
}

// Estimated returns the estimated parameters, in the same order as in
// Evaluation.Gradient.
func (l *LogLikelihood) Estimated() []Parameter {
	list := make([]Parameter, len(l.free))
	for i, j := range l.free {
		list[i] = l.p.Params[j]
	}
	return list
}

// Idle returns the names of the estimated parameters on which the likelihood does not
// depend, for example because each condition with data multiplies the parameter by zero.
func (l *LogLikelihood) Idle() (names []string) {
	used := map[int]bool{}
	for _, q := range l.parts {
		for _, i := range q.free {
			used[i] = true
		}
	}
	for _, i := range l.free {
		if !used[i] {
			names = append(names, l.p.Params[i].ID)
		}
	}
	return names
}

// At returns the log-likelihood at theta, and also its gradient if the argument `gradient`
// is true. The argument `theta` holds the values of all parameters on the linear scale, in
// the order of File.Params.
//
// At computes the exact gradient of the numerical solution on a fixed grid. The error of
// this gradient is about as large as the error of the solution. If the time of an event
// or a switch depends on parameters, the gradient takes this dependence into account. If
// a measurement coincides with an event whose time depends on parameters, the gradient is
// one-sided, or an error if the event has a trigger. A one-sided gradient is valid for
// changes of the parameters that move the event to an earlier time.
//
// It is an error if the solver fails, or if the model defines no density for a
// measurement, for example because the noise is not positive.
func (l *LogLikelihood) At(ctx context.Context, theta []float64, gradient bool) (*Evaluation, error) {
	if len(theta) != len(l.p.Params) {
		return nil, fmt.Errorf("found %d values: want %d, one for each parameter", len(theta), len(l.p.Params))
	}
	theta = slices.Clone(theta)
	if err := l.p.complete(theta); err != nil {
		return nil, err
	}
	l.fix(theta)
	v := &Evaluation{Instances: make([]InstanceValue, len(l.parts))}
	if _, err := pieces.Each(ctx, l.set.Workers, len(l.parts), l.set.Progress, func() func(int) error {
		return func(i int) (err error) {
			v.Instances[i], err = l.experiment(ctx, l.parts[i], theta, gradient)
			return err
		}
	}); err != nil {
		return nil, err
	}
	if gradient {
		v.Gradient = make([]float64, len(l.free))
		v.ScaleGradient = make([]float64, len(l.free))
	}
	for i := range v.Instances {
		e := &v.Instances[i]
		v.LogLikelihood += e.LogLikelihood
		v.Error += e.Error
		for k, g := range e.gradient {
			v.Gradient[slices.Index(l.free, l.parts[i].free[k])] += g
		}
	}
	for i, g := range v.Gradient {
		v.ScaleGradient[i] = g * l.p.Params[l.free[i]].Scale.slope(theta[l.free[i]])
	}
	return v, nil
}

func (l *LogLikelihood) fix(theta []float64) {
	same := l.fixed != nil
	for i, q := range l.p.Params {
		same = same && (q.Estimate || theta[i] == l.fixed[i])
	}
	if same {
		return
	}
	for _, q := range l.parts {
		x, places := l.p.observed(q.compiledInstance, theta, q.free, true)
		params := []bayes.Param{}
		for _, j := range q.free {
			params = append(params, bayes.Param{Name: l.p.Params[j].ID, Prior: flat{at: theta[j]}, MayBeUnused: true})
		}
		q.model, q.places, q.densities = bayes.Model{Params: params, Experiments: x}, places, map[solve]*bayes.Density{}
	}
	l.fixed = theta
}

// A flat prior adds nothing to the log-likelihood. The prior is flat in θ or, if the
// field `on` is Log, in ln θ.
type flat struct {
	at float64 // the median of θ
	on Scale
}

func (f flat) LogProb(x float64) float64 {
	if f.on == Log {
		return -math.Log(x)
	}
	return 0
}

func (f flat) Quantile(p float64) float64 {
	switch {
	case f.on == Log:
		return f.at * p / (1 - p)
	case p == 0 || p == 1:
		return math.Inf(int(2*p - 1))
	}
	return f.at + (1+math.Abs(f.at))*(p-0.5)
}

// experiment returns the contribution of a part to the log-likelihood. The method uses
// the tolerance in the settings. If the settings specify no tolerance, the method makes
// the steps finer until the error is small enough: see LikelihoodSettings.Tolerance.
func (l *LogLikelihood) experiment(ctx context.Context, q *part, theta []float64, gradient bool) (InstanceValue, error) {
	if s := &l.set; s.Tolerance.Relative != 0 || s.Tolerance.Absolute != nil || s.StepSize > 0 {
		v, err := l.value(ctx, q, solve{}, theta, gradient)
		v.Error = math.NaN()
		return v, err
	}
	best, stalled := InstanceValue{Error: math.Inf(1)}, 0
	// Stiffness reduces the order of Radau5 to three [HW96, §IV.15].
	gain := math.Exp2(min(float64(l.set.Method.Order()), 3)) - 1
	for tol := first; tol >= least && stalled < 2 && best.Error > l.aim; {
		coarse, err := l.value(ctx, q, solve{tol, 1}, theta, false)
		now := coarse
		if err == nil {
			now, err = l.value(ctx, q, solve{tol, 2}, theta, false)
		}
		if err != nil {
			if ctx.Err() != nil || best.terms == nil {
				return now, err
			}
			break // the tolerance cannot be met
		}
		now.Error = max(now.distance(&coarse)/gain, now.rounding)
		if best.terms != nil { // the distance may be small by chance
			now.Error = max(now.Error, best.Error*tol/best.by.relative/4)
		}
		if best.terms == nil || now.Error < best.Error {
			best, stalled = now, 0
		} else {
			best.Error = max(best.Error, best.distance(&now)/2)
			stalled++ // rounding errors dominate
		}
		tol /= math.Pow(16, min(max(math.Ceil(math.Log2(best.Error/l.aim)/4), 1), 3))
	}
	if gradient {
		e := best.Error
		best, err := l.value(ctx, q, best.by, theta, true)
		best.Error = e
		return best, err
	}
	return best, nil
}

// distance returns the difference between two values, but at least the root of the sum of
// the squares of the differences between their terms, which may cancel by chance.
func (v *InstanceValue) distance(w *InstanceValue) float64 {
	var sum, squares float64
	for i, term := range v.terms {
		d := term - w.terms[i]
		sum += d
		squares += d * d
	}
	return max(math.Abs(sum), math.Sqrt(squares))
}

// density returns the bayes.Density of the part q. The argument `free` is the point at
// which the density will first be evaluated.
func (l *LogLikelihood) density(ctx context.Context, q *part, how solve, free []float64) (*bayes.Density, error) {
	if d := q.densities[how]; d != nil {
		return d, nil
	}
	d, err := bayes.NewDensity(ctx, &bayes.Posterior{Model: q.model, Setup: probode.Setup{Method: l.set.Method, Mesh: l.set.mesh(how)}, GridAt: free})
	if err == nil {
		q.densities[how] = d
	}
	return d, err
}

// value solves the part q, and returns its contribution to the log-likelihood.
func (l *LogLikelihood) value(ctx context.Context, q *part, how solve, theta []float64, gradient bool) (v InstanceValue, err error) {
	v = InstanceValue{Model: q.e.model.Name, Condition: q.e.Condition, Preequilibration: q.e.preequilibration,
		Tolerance: l.set.Tolerance, Simulated: make([]float64, len(q.places)), Noise: make([]float64, len(q.places)), Residuals: make([]float64, len(q.places)), by: how}
	if how.relative > 0 {
		v.Tolerance.Relative = how.relative
	}
	free := make([]float64, len(q.free))
	for i, j := range q.free {
		free[i] = theta[j]
	}
	q.within(ctx)
	defer func() {
		if because := q.unsettled(); err != nil && because != nil {
			err = because
		}
	}()
	d, err := l.density(ctx, q, how, free)
	if err != nil {
		return v, err
	}
	defer d.Bind(ctx)()
	if gradient && len(free) > 0 {
		v.gradient = make([]float64, len(free))
		if _, err := d.LikelihoodGradient(v.gradient, nil, free, nil); err != nil {
			return v, err
		}
	} else if _, err := d.LogLikelihood(free, nil); err != nil {
		return v, err
	}
	expected := d.Expected()
	for i, at := range q.places {
		row, f := &q.e.rows[i], expected[at.at]
		own := make([]float64, len(at.own))
		for k, o := range at.own {
			if own[k] = o.value; o.at >= 0 {
				own[k] = expected[o.at]
			}
		}
		if what := row.impossible(f, own); what != "" {
			return v, &impossibleError{q.e.model.Name, q.e.Condition, row.id, row.time, what}
		}
		v.Simulated[i], v.Noise[i] = f, row.spread(f, own)
		v.Residuals[i] = row.residual(f, v.Noise[i])
		term := row.logProb(f, own)
		v.add(row.id, term)
		v.terms = append(v.terms, term)
		v.rounding += 0x1p-52*math.Abs(term) + math.Abs(row.logProb(f*(1-roundings), own)-term)
	}
	return v, nil
}

// ChiSquare returns the mean of the squares of all residuals. If the model describes the
// data, it is about 1.
func (v *Evaluation) ChiSquare() float64 {
	sum, n := 0., 0
	for _, e := range v.Instances {
		for _, r := range e.Residuals {
			sum += r * r
			n++
		}
	}
	return sum / float64(n)
}

func (v *InstanceValue) add(observable string, density float64) {
	v.LogLikelihood += density
	for i := range v.Observables {
		if o := &v.Observables[i]; o.Observable == observable {
			o.Points++
			o.LogLikelihood += density
			return
		}
	}
	v.Observables = append(v.Observables, ObservableValue{observable, 1, density})
}

// An impossibleError is returned if a measurement has no density under the model. For
// example, the noise is zero or the prediction for a count is negative.
type impossibleError struct {
	model, condition, observable string
	time                         float64
	what                         string
}

func (e *impossibleError) Error() string {
	at := e.model
	if e.condition != "" {
		at += ", condition " + text.Clip(e.condition)
	}
	return fmt.Sprintf("%s: %s at time %g: %s", text.Clip(at), text.Clip(e.observable), e.time, e.what)
}

// impossible explains why a measurement has no density under the model, or returns "". m
// is the value of the row's formula, and `own` the other parameters of its distribution.
func (r *row) impossible(m float64, own []float64) string {
	if n := r.distribution; n == binomialNoise && (!(own[0] >= r.value) || own[0] != math.Trunc(own[0]) || math.IsInf(own[0], 1)) {
		return fmt.Sprintf("the data have %g successes in %g trials: want a whole number of trials, and no more successes than trials", r.value, own[0])
	}
	for _, s := range own {
		if !(s > 0) || math.IsInf(s, 1) {
			return fmt.Sprintf("a noise parameter is %g: want a finite number > 0", s)
		}
	}
	switch {
	case m-m != 0:
		return fmt.Sprintf("the model predicts %g: want a finite number", m)
	case r.scale != Lin && !(m > 0):
		return fmt.Sprintf("the model predicts %g: want a positive number on the scale %s", m, r.scale)
	case r.distribution == binomialNoise && (m > own[0] || m == own[0] && r.value < m):
		return fmt.Sprintf("the model predicts %g successes in %g trials: want fewer successes than trials", m, own[0])
	case r.distribution.counts() && !(m > 0 || m == 0 && r.value == 0):
		return fmt.Sprintf("the model predicts a count of %g: want a positive number", m)
	}
	return ""
}

// residual returns (y − m)/spread on the scale of the observable; see
// InstanceValue.Residuals.
func (r *row) residual(m, spread float64) float64 {
	d := r.scale.of(r.value) - r.scale.of(m)
	w := r.within
	if w == nil {
		w = r.unknown(r.value)
	}
	if w != nil {
		switch d = 0; {
		case m > w[1]:
			d = r.scale.of(w[1]) - r.scale.of(m)
		case m < w[0]:
			d = r.scale.of(w[0]) - r.scale.of(m)
		}
	}
	if r.distribution == laplaceNoise {
		spread *= math.Sqrt2
	}
	if d == 0 {
		return 0 // the spread of a count of zero is zero
	}
	return d / spread
}

// spread returns the typical size of deviations from m: the standard deviation of a
// count, or else the last element of `own`.
func (r *row) spread(m float64, own []float64) float64 {
	switch r.distribution {
	case poissonNoise:
		return math.Sqrt(m)
	case negativeBinomialNoise:
		return math.Sqrt(m + m*m/own[0])
	case binomialNoise:
		return math.Sqrt(m * (1 - m/own[0]))
	}
	return own[len(own)-1]
}

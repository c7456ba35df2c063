package model

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/probode/probode/pkg/internal/text"
	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/bayes"
	"github.com/probode/probode/pkg/probode/bayes/shape"
	"github.com/probode/probode/pkg/probode/internal/pieces"
	"github.com/probode/probode/pkg/probode/methods"
)

// FitSettings are the settings of Fit.
type FitSettings struct {
	Starts     int    // drawn starts, ≥ 0
	Seed       uint64 // seed of the starts
	Iterations int    // largest number in each search; zero means 300
	// From contains additional starts, which are used before the randomly drawn starts;
	// each of them holds the values of all parameters on the linear scale. Values outside
	// the bounds are moved to the bounds.
	From [][]float64
	// If Map is true, the log densities of the priors are added to the log-likelihood.
	// Each prior density is that of the quantity to which the prior applies: for
	// parameterScaleNormal, for example, this is the parameter's value on its scale.
	Map bool
	// Tolerance is the tolerance of the solver during the search; the zero value means a
	// relative tolerance of 10⁻⁴. The final log-likelihoods are computed with an error of
	// at most 10⁻⁷ for any Tolerance.
	Tolerance probode.Tolerance
	// Workers is the number of searches that run at the same time; zero means one for
	// each processor. The results do not depend on Workers.
	Workers  int
	Progress func(done, total int) // as in LikelihoodSettings, but it counts searches
}

// An Optimum describes the point at which a search has ended.
type Optimum struct {
	Start         int // the number of the search, from 0
	LogLikelihood float64
	LogPrior      float64   // 0 unless FitSettings.Map is set
	Error         float64   // as in Evaluation
	Theta         []float64 // values of all parameters on the linear scale
	// Slope is the largest slope of the log-likelihood (or, with Map, of the log
	// posterior density) on the scales of the parameters: the largest component of its
	// gradient. Components that point outwards at a bound on which Theta lies are
	// excluded. If Theta lies at kinks, Slope is the mean slope between Theta and the
	// maximum of the expansion around Theta.
	Slope float64
	// Left is the further rise of the objective that the expansion at Theta predicts.
	// Kinks is the number of measurements that have Laplace errors and are equal to the
	// model's value. The likelihood has a kink where a measurement with Laplace errors is
	// equal to the model's value. An optimum usually lies at one or more kinks, just as a
	// median lies at a data point.
	Left  float64
	Kinks int

	Iterations, Evaluations int

	// Reason says why the search ended. Converged is true if Theta is an optimum: Slope is
	// at most 0.01, and Left at most 10⁻⁶.
	Reason    string
	Converged bool
	Err       error // why there is no point; if not nil, only Start of the other fields is meaningful
}

// The method value() returns the objective that a search maximises, the log-likelihood
// plus the log prior density.
func (o *Optimum) value() float64 { return o.LogLikelihood + o.LogPrior }

// Fit maximises the log-likelihood, or with Map the log posterior density, within the
// bounds of the parameters and the supports of their priors. The starts form a Latin
// hypercube sample: each parameter is drawn from its initialisation prior, or uniformly
// on its scale between its bounds. If a parameter has neither an initialisation prior nor
// bounds, searches begin near its nominal value. Fit returns an Optimum for each start,
// ordered from the best to the worst, with failed searches at the end.
//
// Each search uses Fisher scoring with exact derivatives within a trust region, on the
// scales of the parameters and within their bounds: see shape.Ascent. All searches begin
// with the solver tolerance in the settings. Searches whose final value is near that of
// the best search continue with the tighter tolerance that accurate optima need. The
// expansions of the log-likelihood include the kinks that Laplace errors cause.
//
// Every second search begins at the best of five random points: its start, and four
// points that are drawn independently. If the likelihood cannot be computed at any of
// these points, more points are drawn, up to a total of 25. During a search the
// log-likelihood is taken to be −∞ wherever it cannot be computed.
//
// If ctx ends, Fit returns the results so far and the error of ctx. The result of a search
// that was stopped is the point that it had reached: Fit computes the likelihood there and
// then returns. If a search had no point yet, its Err is the error of ctx.
//
// Source for Fisher scoring: Osborne (1992), International Statistical Review 60, 99.
func (p *File) Fit(ctx context.Context, s FitSettings) ([]Optimum, error) {
	total := s.Starts + len(s.From)
	switch {
	case s.Starts < 0 || total < 1:
		return nil, fmt.Errorf("%d starts: want at least 1", s.Starts)
	case s.Iterations < 0 || s.Workers < 0:
		return nil, fmt.Errorf("the settings have Iterations %d and Workers %d: want numbers ≥ 0", s.Iterations, s.Workers)
	}
	problem, err := p.newFit(s)
	if err != nil {
		return nil, err
	}
	ends := make([]end, total)
	count := func(done, _ int) {
		if s.Progress != nil {
			s.Progress(done, total)
		}
	}
	// All searches begin even if ctx has ended, because each result has to report that
	// ctx has ended.
	each := func(progress func(done, total int), do func(f *search, e *end)) error {
		_, err := pieces.Each(context.WithoutCancel(ctx), s.Workers, total, progress, func() func(int) error {
			f, err := problem.search(ctx)
			return func(i int) error {
				if err == nil {
					do(f, &ends[i])
				}
				return err
			}
		})
		return err
	}
	starts := problem.starts()
	for i := range ends {
		ends[i].Start, ends[i].from = i, starts[i]
	}
	if err := each(count, (*search).rough); err != nil {
		return nil, err
	}
	best := math.Inf(-1)
	for i := range ends {
		if ends[i].Err == nil {
			best = max(best, ends[i].ascent.Value)
		}
	}
	if err := each(nil, func(f *search, e *end) { f.finish(e, best-e.ascent.Value) }); err != nil {
		return nil, err
	}
	list := make([]Optimum, total)
	for i := range ends {
		list[i] = ends[i].Optimum
	}
	slices.SortStableFunc(list, better)
	return list, ctx.Err()
}

// Size returns the number of estimated parameters and the number of measurements.
func (p *File) Size() (parameters, measurements int) {
	for _, m := range p.Models {
		measurements += len(m.Data)
	}
	return len(p.estimated()), measurements
}

// The function better() defines the order of optima: the best come first, and the optima
// of failed searches come last. Equally good optima are sorted by the index of the start
// that led to them.
func better(a, b Optimum) int {
	switch {
	case a.Err == nil && b.Err == nil && a.value() != b.value():
		return cmp.Compare(b.value(), a.value())
	case (a.Err == nil) != (b.Err == nil):
		if a.Err == nil {
			return -1
		}
		return 1
	}
	return a.Start - b.Start
}

// The type fitting holds the data that all searches of one call of Fit share.
type fitting struct {
	p     *File
	set   FitSettings
	free  []int // components of Params that are estimated
	boxes []box
	theta []float64 // the values of the parameters that are not estimated
}

func (p *File) newFit(s FitSettings) (*fitting, error) {
	if s.Iterations == 0 {
		s.Iterations = 300
	}
	if s.Tolerance.Relative == 0 && s.Tolerance.Absolute == nil {
		s.Tolerance.Relative = 1e-4
	}
	l, err := p.LogLikelihood(LikelihoodSettings{Tolerance: s.Tolerance, Workers: 1})
	if err != nil {
		return nil, err
	}
	f := &fitting{p: p, set: s, free: l.free, theta: l.Nominal()}
	if len(f.free) == 0 {
		return nil, fmt.Errorf("%s: no parameter is estimated", text.Clip(p.Name))
	}
	for _, from := range s.From {
		if len(from) != len(p.Params) {
			return nil, fmt.Errorf("a start has %d values: want %d, one for each parameter", len(from), len(p.Params))
		}
	}
	for _, j := range f.free {
		b, err := newBox(&p.Params[j], s.Map)
		if err != nil {
			return nil, err
		}
		f.boxes = append(f.boxes, b)
		f.theta[j] = 0 // the searches set this element
	}
	return f, p.complete(f.theta)
}

// The method starts() returns the points at which the searches begin, in the coordinates
// of the searches.
func (f *fitting) starts() [][]float64 {
	var list [][]float64
	for _, theta := range f.set.From {
		list = append(list, f.within(theta))
	}
	n := f.set.Starts
	random := rand.New(rand.NewPCG(f.set.Seed, 0x6879706572637562))
	drawn := make([][]float64, n)
	for i := range drawn {
		drawn[i] = make([]float64, len(f.boxes))
	}
	for k := range f.boxes {
		for i, stratum := range random.Perm(n) {
			drawn[i][k] = f.boxes[k].at((float64(stratum) + random.Float64()) / float64(n))
		}
	}
	return append(list, drawn...)
}

// A box is the range of one parameter. The coordinates of a search are values on the
// scale of the parameter, divided by the field unit, so that a change by 1 is a typical
// change.
type box struct {
	scale      Scale
	unit       float64
	low, high  float64 // bounds of the coordinate or ends of the support of its prior, ±∞ for none
	start      Prior
	closed     bool // both bounds are finite
	from, span float64
	prior      *scalePrior // nil if it is not part of what is maximised
}

func newBox(q *Parameter, withPrior bool) (box, error) {
	b := box{scale: q.Scale, unit: 1, low: math.Inf(-1), high: math.Inf(1), start: q.start}
	if !math.IsNaN(q.Lower) {
		b.low = q.Scale.of(q.Lower)
	}
	if !math.IsNaN(q.Upper) {
		b.high = q.Scale.of(q.Upper)
	}
	b.closed = b.low-b.low == 0 && b.high-b.high == 0
	if !b.closed && q.Prior.Type != "" {
		// A value outside the support of the prior, such as a negative standard
		// deviation, is impossible, even if the objective does not include the prior.
		d, err := newScalePrior(q)
		if err != nil {
			return b, err
		}
		b.low, b.high = max(b.low, q.Scale.of(d.Quantile(0))), min(b.high, q.Scale.of(d.Quantile(1)))
	}
	at := q.Scale.of(q.Nominal)
	switch {
	case b.closed && !(b.low < b.high):
		return b, fmt.Errorf("parameter %s has the bounds %g and %g: want the lower one first", text.Clip(q.ID), q.Lower, q.Upper)
	case b.closed:
		b.from, b.span = b.low, b.high-b.low
	case b.start.Type == "" && at-at == 0:
		// If a parameter has no bounds, searches begin near its nominal value.
		b.from, b.span = at-1, 2
		if q.Scale == Lin {
			b.from, b.span = at-math.Abs(at)-0.1, 2*math.Abs(at)+0.2
		}
	case b.start.Type == "":
		return b, fmt.Errorf("parameter %s has no bounds, no nominal value and no initialisation prior: want one of them, to choose where searches begin", text.Clip(q.ID))
	}
	switch width := priorWidth(q); {
	case q.Scale == Log:
		b.unit = math.Ln10
	case q.Scale == Lin && !b.closed && width > 0:
		// The nominal value indicates the location of the parameter but not its width:
		// the nominal value of a standard normal score, for example, is 0.
		b.unit = width / 4
	case q.Scale == Lin && b.span > 0:
		b.unit = b.span / 4
	}
	b.low, b.high, b.from, b.span = b.low/b.unit, b.high/b.unit, b.from/b.unit, b.span/b.unit
	if withPrior && q.Prior.Type != "" {
		d, err := newScalePrior(q)
		if err != nil {
			return b, err
		}
		b.prior = &d
	}
	return b, nil
}

// priorWidth returns the width of the central 90 % interval of the prior of q, or 0 if q
// has no prior.
func priorWidth(q *Parameter) float64 {
	if q.Prior.Type == "" {
		return 0
	}
	d, err := newScalePrior(q)
	if err != nil {
		return 0
	}
	width := d.Quantile(0.95) - d.Quantile(0.05)
	if math.IsInf(width, 0) || math.IsNaN(width) {
		return 0
	}
	return width
}

// The method at() returns the u-quantile of the distribution of the starts, as a
// coordinate. If the parameter has two finite bounds, the result lies slightly inside
// them; otherwise a value beyond an end of the range is reflected at this end.
func (b *box) at(u float64) float64 {
	v := b.from + b.span*u
	if f := familyNamed(b.start.Type); f.name != "" {
		v = f.of(b.start.A, b.start.B).Quantile(u)
		if f.on != "" {
			v = b.scale.of(f.on.linear(v))
		}
		v /= b.unit
	}
	if !b.closed {
		if v < b.low {
			v = 2*b.low - v
		}
		if v > b.high {
			v = 2*b.high - v
		}
		return min(max(v, b.low), b.high)
	}
	if v != v {
		v = b.low
	}
	inside := 1e-3 * (b.high - b.low)
	return min(max(v, b.low+inside), b.high-inside)
}

// The method linear() converts a coordinate to the value on the linear scale.
func (b *box) linear(x float64) float64 { return b.scale.linear(x * b.unit) }

// logPrior returns the log density of the prior at a value on the linear scale.
func (b *box) logPrior(v float64) float64 {
	if b.prior == nil {
		return 0
	}
	if !(v >= b.prior.Min && v <= b.prior.Max) {
		return math.Inf(-1)
	}
	return b.prior.Of.LogProb(b.prior.On.of(v))
}

// A fitPrior is the prior of a parameter in a search. If the box of the parameter has
// no prior, the density is constant on the scale that the search uses.
type fitPrior struct {
	flat
	box *box
}

func (f fitPrior) LogProb(x float64) float64 { return f.flat.LogProb(x) + f.box.logPrior(x) }

// A search maximises the total log-likelihood of all experiments.
type search struct {
	*fitting
	ctx         context.Context
	fine        *LogLikelihood
	posterior   bayes.Posterior // on the scales of the parameters
	partOf      []*part         // for each experiment of posterior, the part of fine from which it comes
	surface     *shape.Surface
	held        int // coordinate that Adjust does not move; −1 for none
	evaluations int
	failed      error // the last error
}

// The method search() returns a new search, which only one goroutine may use.
func (f *fitting) search(ctx context.Context) (*search, error) {
	s := &search{fitting: f, ctx: ctx, held: -1}
	var err error
	if s.fine, err = f.p.LogLikelihood(LikelihoodSettings{Workers: 1}); err != nil {
		return nil, err
	}
	for _, q := range s.fine.parts {
		x, _, err := f.p.observed(q.compiledInstance, f.theta, f.free, true)
		if err != nil {
			return nil, err
		}
		s.posterior.Experiments = append(s.posterior.Experiments, x...)
		for range x {
			s.partOf = append(s.partOf, q)
		}
	}
	for i, j := range f.free {
		b := &f.boxes[i]
		at := 1.0 // any value at which the density is positive
		if b.prior != nil {
			at = b.prior.Quantile(0.5)
		}
		to := bayes.Param{Name: f.p.Params[j].ID, Prior: fitPrior{flat{at: at}, b}, Natural: true}
		if b.scale != Lin {
			to.Prior, to.Natural = fitPrior{flat{at: at, on: Log}, b}, false
		}
		s.posterior.Params = append(s.posterior.Params, to)
	}
	s.posterior.Method = methods.Radau{}
	return s, nil
}

// The method solved() prepares the search for solving the equations on the given mesh,
// and reports whether that succeeded. The first solve will be at the point x.
func (f *search) solved(mesh probode.Mesh, x []float64) bool {
	p := f.posterior
	p.Mesh, p.GridAt = mesh, f.linear(x)
	for _, q := range f.fine.parts {
		q.within(f.ctx)
	}
	d, err := bayes.NewDensity(f.ctx, &p)
	if err != nil {
		f.failed = err
		return false
	}
	d.Bind(f.ctx)
	f.surface = shape.NewSurface(d)
	return true
}

// The method coarse() returns the mesh with the tolerance in the settings. The number of
// steps is limited, because searches also try values of θ for which a solve would take a
// very long time.
func (f *fitting) coarse() probode.Mesh { return steps{Tolerance: f.set.Tolerance, most: 2e4} }

// The method linear() returns the values of the estimated parameters on the linear scale.
func (f *fitting) linear(x []float64) []float64 {
	theta := slices.Clone(x)
	for i := range f.boxes {
		theta[i] = f.boxes[i].linear(x[i])
	}
	return theta
}

// The method all() returns the values of all parameters on the linear scale.
func (f *fitting) all(x []float64) []float64 {
	theta := slices.Clone(f.theta)
	for i, v := range f.linear(x) {
		theta[f.free[i]] = v
	}
	return theta
}

// Value implements shape.Function. The method returns the log-likelihood or, if Map is
// set, the sum of the log-likelihood and the log densities of the priors.
func (f *search) Value(x []float64) float64 {
	f.evaluations++
	return f.surface.Value(f.coordinates(x))
}

// Adjust implements shape.Adjuster.
func (f *search) Adjust(x []float64, value float64) float64 {
	u, low, high := f.coordinates(x), make([]float64, len(x)), make([]float64, len(x))
	for i := range f.boxes {
		b := &f.boxes[i]
		if low[i], high[i] = b.low*b.steep(), b.high*b.steep(); i == f.held {
			low[i], high[i] = u[i], u[i]
		}
	}
	value = f.surface.Adjust(u, value, low, high)
	for i := range f.boxes {
		if b := &f.boxes[i]; u[i] != x[i]*b.steep() {
			x[i] = min(max(u[i]/b.steep(), b.low), b.high)
		}
	}
	return value
}

// Expand implements shape.Function, with exact derivatives.
func (f *search) Expand(p *shape.Point) bool {
	f.evaluations++
	q := shape.Point{X: f.coordinates(p.X)}
	if !f.surface.Expand(&q) {
		return false
	}
	for i := range f.boxes {
		unit := f.boxes[i].steep()
		q.Gradient.SetVec(i, unit*q.Gradient.AtVec(i))
		for _, row := range q.J {
			row[i] *= unit
		}
		for j := range i + 1 {
			for _, m := range []*mat.SymDense{q.Information, q.Curvature} {
				if m != nil {
					m.SetSym(i, j, unit*f.boxes[j].steep()*m.At(i, j))
				}
			}
		}
	}
	q.X = p.X
	q.Value = p.Value
	*p = q
	return true
}

// The method steep() returns the amount by which a coordinate of the surface changes if
// the corresponding coordinate of the search changes by 1. The coordinate of the surface
// is the value on the linear scale or its natural logarithm.
func (b *box) steep() float64 {
	if b.scale == Log10 {
		return math.Ln10 * b.unit
	}
	return b.unit
}

// The method coordinates() converts coordinates of the search to coordinates of the
// surface.
func (f *search) coordinates(x []float64) []float64 {
	u := slices.Clone(x)
	for i := range f.boxes {
		u[i] *= f.boxes[i].steep()
	}
	return u
}

// Follow returns false, so the derivatives are recomputed at each point. Exact
// derivatives cost little more than a value.
func (f *search) Follow(*shape.Point, []float64) bool { return false }

// Bend implements shape.Bender. Only profiles use this method, because their points lie
// along ridges that are narrow and curved.
func (f *search) Bend(p *shape.Point, d []float64) []float64 {
	if f.held < 0 {
		return nil
	}
	f.evaluations++
	v := f.surface.Nonlinear(f.coordinates(p.X), f.coordinates(d))
	for i := range v {
		v[i] *= f.boxes[i].steep()
	}
	return v
}

const (
	// A search continues until the predicted rise in log-likelihood is below the
	// constant rise. After a call of refine(), it continues until the predicted rise is
	// below fineRise. A search has converged if Optimum.Left ≤ short and Optimum.Slope ≤
	// flatSlope.
	rise, fineRise, short, flatSlope = 1e-4, 1e-9, 1e-6, 1e-2
	// Let b be the log-likelihood at the end of the best search. A search that ended
	// below b − reach is not refined. A search that ended between b − reach and b −
	// nearBest continues for only a few iterations after it was refined. A few iterations
	// are enough at an optimum, but not on a long ridge.
	nearBest, few, reach = 2, 20, 20
	// A measurement counts as equal to the model's value if the absolute residual, in
	// units of the noise scale, is less than the constant met.
	met = 1e-6
)

// The type end holds the point that a search has reached; the search may still continue.
type end struct {
	Optimum
	from   []float64
	ascent shape.Ascent
}

// The method rough() runs a search with the solver tolerance in the settings.
func (f *search) rough(e *end) {
	f.evaluations = 0
	a := &e.ascent
	a.Tolerance = rise
	for _, b := range f.boxes {
		a.Low, a.High = append(a.Low, b.low), append(a.High, b.high)
	}
	if e.Err = f.begin(e); e.Err != nil {
		return
	}
	f.climb(e, f.set.Iterations)
	e.Evaluations = f.evaluations
}

// The method begin() sets the point at which the search begins. For every second start
// that is drawn at random, the search begins at the best of several points, because the
// likelihood may be almost constant over a large part of the box, and no search can leave
// that part. An example is an oscillator observed with an unknown scale: for parameters
// without oscillations, the best scale is often zero. The other searches begin at e.from,
// because the best of several points is more often near a broad local optimum. If the
// likelihood cannot be computed at any of these points, begin() draws more points.
func (f *search) begin(e *end) error {
	const most = 25
	points := 1
	if drawn := e.Start - len(f.set.From); drawn >= 0 && drawn%2 == 1 {
		points = 5
	}
	random := rand.New(rand.NewPCG(f.set.Seed, uint64(e.Start)))
	a, x := &e.ascent, e.from
	for try := range most {
		if err := f.ctx.Err(); err != nil {
			return err
		}
		if f.solved(f.coarse(), x) {
			value := f.Value(x)
			if math.IsInf(value, -1) {
				f.failed = errors.New("the log-likelihood is −∞")
			} else if value = f.Adjust(x, value); a.X == nil || value > a.Value {
				a.X, a.Value = x, value
			}
		}
		if a.X != nil && try >= points-1 {
			break
		}
		x = make([]float64, len(f.boxes))
		for i := range x {
			x[i] = f.boxes[i].at(random.Float64())
		}
	}
	if a.X == nil {
		if _, err := f.fine.At(f.ctx, f.all(e.from), false); err != nil {
			f.failed = err
		}
		return fmt.Errorf("found no start at which the likelihood can be computed: %w", f.failed)
	}
	if !f.solved(f.coarse(), a.X) {
		return f.failed
	}
	return nil
}

// The method finish() completes the Optimum of a search. The argument `below` is the
// difference between the best value of all searches and the value of this search. If this
// difference is less than the constant reach, the search first continues with the tighter
// tolerances that accurate optima need, unless f.ctx has ended.
func (f *search) finish(e *end, below float64) {
	if e.Err != nil {
		return
	}
	f.evaluations = 0
	a := &e.ascent
	refined := below < reach && f.ctx.Err() == nil
	if refined {
		most := f.set.Iterations
		if below > nearBest {
			most = min(most, e.Iterations+few)
		}
		if e.Err = f.refine(a); e.Err == nil {
			f.climb(e, most)
		}
	}
	stopped := f.ctx.Err() != nil
	if stopped { // the likelihood at the point is computed all the same
		defer func(ctx context.Context) { f.ctx = ctx }(f.ctx)
		f.ctx, e.Err = context.WithoutCancel(f.ctx), nil
	}
	if (stopped || !refined) && !f.solved(f.coarse(), a.X) {
		e.Err = f.failed
	}
	if e.Err != nil {
		return
	}
	e.Theta = f.all(a.X)
	v, err := f.fine.At(f.ctx, e.Theta, false)
	if err != nil {
		e.Err = err
		return
	}
	e.LogLikelihood, e.Error, e.Left, e.Slope = v.LogLikelihood, v.Error, math.Inf(1), math.Inf(1)
	for i, v := range f.linear(a.X) {
		e.LogPrior += f.boxes[i].logPrior(v)
	}
	if a.Known || f.Expand(&a.Point) {
		e.Left, e.Slope = a.Left(1)
	}
	for _, u := range a.U {
		if math.Abs(u) < met {
			e.Kinks++
		}
	}
	e.Evaluations += f.evaluations
	e.Converged = e.Left <= short && e.Slope <= flatSlope
	switch {
	case !e.Converged && stopped:
		e.Reason = "stopped: no optimum yet"
	case !e.Converged && e.Iterations == f.set.Iterations:
		e.Reason = "too many iterations: no optimum yet"
	case !e.Converged && below > nearBest:
		e.Reason = fmt.Sprintf("left more than %d below the best", nearBest)
	case !e.Converged:
		e.Reason = "no progress: no optimum"
	case e.Kinks == 0:
		e.Reason = "optimum"
	case e.Kinks == 1:
		e.Reason = "optimum at 1 kink"
	default:
		e.Reason = fmt.Sprintf("optimum at %d kinks", e.Kinks)
	}
}

// The method refine() tightens the tolerances to those that an accurate optimum near the
// current point needs. The search then continues with the new tolerances.
func (f *search) refine(a *shape.Ascent) error {
	v, err := f.fine.At(f.ctx, f.all(a.X), false)
	if err != nil {
		return err
	}
	mesh := byProblem{}
	for i, q := range f.partOf {
		mesh[f.posterior.Experiments[i].Problem] = steps{Tolerance: v.Instances[slices.Index(f.fine.parts, q)].Tolerance, most: 1e5}
	}
	if !f.solved(mesh, a.X) {
		return f.failed
	}
	a.Value = f.Value(a.X)
	a.Tolerance, a.Radius, a.Known, a.Done = fineRise, 0, false, false
	return nil
}

// byProblem is a Mesh with its own tolerance for each problem.
type byProblem map[*probode.Problem]steps

// Bind calls the Bind method of the underlying mesh for p.
func (b byProblem) Bind(ctx context.Context, s probode.Setup, p *probode.Problem, at, times []float64) (probode.Path, error) {
	return b[p].Bind(ctx, s, p, at, times)
}

func (b byProblem) String() string { return "tolerances by experiment" }

// The method climb() iterates until the ascent is done, the search has made the given
// number of iterations, or f.ctx ends.
func (f *search) climb(e *end, most int) {
	for ; !e.ascent.Done && e.Iterations < most && f.ctx.Err() == nil; e.Iterations++ {
		e.ascent.Step(f)
	}
}

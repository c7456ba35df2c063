package model

import (
	"context"
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
	Starts     int    // ≥ 1
	Seed       uint64 // seed of the starts
	Iterations int    // largest number in each search; zero means 500

	// Tolerance is the tolerance of the solver during the search; the zero value means a
	// relative tolerance of 10⁻⁵. For every Tolerance, the final log-likelihoods are
	// computed to 10⁻⁷.
	Tolerance probode.Tolerance
	Method    probode.Method // nil means Radau of order 5

	// Workers is the number of searches that run at the same time; zero means one for
	// each processor. Results do not depend on it.
	Workers  int
	Progress func(done, total int) // as in LikelihoodSettings, but it counts searches
}

// An Optimum is the point at which a search has ended.
type Optimum struct {
	Start         int // the number of the search, from 0
	LogLikelihood float64
	Error         float64   // as in Evaluation
	Theta         []float64 // linear values of all parameters

	// Left is the further rise in log-likelihood that the expansion at Theta predicts.
	// Kinks is the number of measurements with Laplace errors that equal the model's
	// values. At such a point the likelihood has a kink. An optimum is usually at kinks,
	// just as a median lies at a data point.
	Left  float64
	Kinks int

	Iterations, Evaluations int

	// Reason says why the search ended. Converged is true if Theta is an optimum, which
	// means that Left is below 10⁻⁶.
	Reason    string
	Converged bool

	Err error // why the search failed; if not nil, only Start of the other fields is meaningful
}

// Fit maximises the log-likelihood, without priors, within the bounds of the parameters.
// Each start is drawn from the initialisation priors of the parameters, or uniformly on
// their scales between their bounds. For a parameter that has neither, searches begin
// near the nominal value. Fit returns an Optimum for each start, the best first and
// failed searches last.
//
// Each search uses Fisher's scoring with exact gradients and Levenberg–Marquardt damping,
// on the scales of the parameters and within their bounds (see shape.Climb). It begins
// with the tolerance in the settings, and ends with the tighter tolerance that accurate
// optima need. Its expansions contain the kinks of Laplace errors.
//
// If the likelihood cannot be computed at a start, another start is drawn, at most 20
// times. During a search the log-likelihood is −∞ wherever it cannot be computed.
//
// If ctx ends, Fit returns the results so far and the error of ctx. That error is also
// the Err of each unfinished search.
//
// Source: Osborne (1992), Int. Stat. Rev. 60, 99, for Fisher's scoring.
func (p *File) Fit(ctx context.Context, s FitSettings) ([]Optimum, error) {
	switch {
	case s.Starts < 1:
		return nil, fmt.Errorf("%d starts: want at least 1", s.Starts)
	case s.Iterations < 0 || s.Workers < 0:
		return nil, fmt.Errorf("%d iterations and %d workers: want numbers ≥ 0", s.Iterations, s.Workers)
	}
	if s.Iterations == 0 {
		s.Iterations = 500
	}
	if s.Tolerance.Relative == 0 && s.Tolerance.Absolute == nil {
		s.Tolerance.Relative = 1e-5
	}
	rough, err := p.LogLikelihood(LikelihoodSettings{Tolerance: s.Tolerance, Method: s.Method, Workers: 1})
	if err != nil {
		return nil, err
	}
	if len(rough.free) == 0 {
		return nil, fmt.Errorf("%s: no parameter is estimated", text.Clip(p.Name))
	}
	boxes := make([]box, len(rough.free))
	for i, j := range rough.free {
		if boxes[i], err = newBox(&p.Params[j]); err != nil {
			return nil, err
		}
	}
	theta := rough.Nominal()
	for _, j := range rough.free {
		theta[j] = 0 // the searches set this element
	}
	if err := p.complete(theta); err != nil {
		return nil, err
	}
	list := make([]Optimum, s.Starts)
	// All searches begin even if ctx has ended, because each result must report the end
	// of ctx.
	if _, err := pieces.Each(context.WithoutCancel(ctx), s.Workers, s.Starts, s.Progress, func() func(int) error {
		f, err := newSearch(ctx, p, boxes, theta, s)
		return func(i int) error {
			if err == nil {
				list[i] = f.run(i)
			}
			return err
		}
	}); err != nil {
		return nil, err
	}
	slices.SortStableFunc(list, func(a, b Optimum) int {
		switch {
		case a.Err != nil || b.Err != nil:
			if (a.Err == nil) != (b.Err == nil) {
				if a.Err == nil {
					return -1
				}
				return 1
			}
			return a.Start - b.Start
		case a.LogLikelihood > b.LogLikelihood:
			return -1
		case a.LogLikelihood < b.LogLikelihood:
			return 1
		}
		return a.Start - b.Start
	})
	return list, ctx.Err()
}

// A box is the range of one parameter on its scale.
type box struct {
	scale      Scale
	low, high  float64
	start      Prior
	closed     bool // both bounds are finite
	from, span float64
}

func newBox(q *Parameter) (box, error) {
	b := box{scale: q.Scale, low: math.Inf(-1), high: math.Inf(1), start: q.start}
	if !math.IsNaN(q.Lower) {
		b.low = q.Scale.of(q.Lower)
	}
	if !math.IsNaN(q.Upper) {
		b.high = q.Scale.of(q.Upper)
	}
	b.closed = b.low-b.low == 0 && b.high-b.high == 0
	switch {
	case b.closed && !(b.low < b.high):
		return b, fmt.Errorf("parameter %s: bounds %g and %g: want the lower below the upper", text.Clip(q.ID), q.Lower, q.Upper)
	case b.closed:
		b.from, b.span = b.low, b.high-b.low
	case b.start.Type == "" && q.Nominal-q.Nominal == 0 && !math.IsInf(q.Scale.of(q.Nominal), 0):
		// Without bounds, searches begin near the nominal value.
		at := q.Scale.of(q.Nominal)
		b.from, b.span = at-1, 2
		if q.Scale == Lin {
			b.from, b.span = at-math.Abs(at)-0.1, 2*math.Abs(at)+0.2
		}
	case b.start.Type == "":
		return b, fmt.Errorf("parameter %s has no bounds, no nominal value and no initialisation prior: want one of them, to choose where searches begin", text.Clip(q.ID))
	}
	return b, nil
}

// draw returns a random start, a little inside the bounds if both are finite.
func (b *box) draw(r *rand.Rand) float64 {
	u, a, c := r.Float64(), b.start.A, b.start.B
	normal, laplace := r.NormFloat64(), r.ExpFloat64()
	if r.Float64() < 0.5 {
		laplace = -laplace
	}
	var v float64 // value on the scale
	switch b.start.Type {
	case "uniform":
		v = b.scale.of(a + (c-a)*u)
	case "normal":
		v = b.scale.of(a + c*normal)
	case "laplace":
		v = b.scale.of(a + c*laplace)
	case "logNormal":
		v = b.scale.of(math.Exp(a + c*normal))
	case "logLaplace":
		v = b.scale.of(math.Exp(a + c*laplace))
	case "parameterScaleUniform":
		v = a + (c-a)*u
	case "parameterScaleNormal":
		v = a + c*normal
	case "parameterScaleLaplace":
		v = a + c*laplace
	default:
		v = b.from + b.span*u
	}
	if !b.closed {
		return v
	}
	if v != v {
		v = b.low
	}
	inside := 1e-3 * (b.high - b.low)
	return min(max(v, b.low+inside), b.high-inside)
}

// A search climbs the log-likelihood of all experiments.
type search struct {
	ctx         context.Context
	fine        *LogLikelihood
	posterior   bayes.Posterior // with flat priors on the scales of the parameters
	partOf      []*part         // for each experiment of posterior, the part of fine from which it comes
	settings    LikelihoodSettings
	boxes       []box
	theta       []float64 // with the values of the parameters that are not estimated
	set         FitSettings
	surface     *shape.Surface
	evaluations int
	failed      error // the last error
}

func newSearch(ctx context.Context, p *File, boxes []box, theta []float64, s FitSettings) (*search, error) {
	f := &search{ctx: ctx, boxes: boxes, theta: theta, set: s, settings: LikelihoodSettings{Tolerance: s.Tolerance}}
	var err error
	if f.fine, err = p.LogLikelihood(LikelihoodSettings{Workers: 1}); err != nil {
		return nil, err
	}
	for _, q := range f.fine.parts {
		x, _, err := p.observed(q.compiled, theta, f.fine.free, true)
		if err != nil {
			return nil, err
		}
		f.posterior.Experiments = append(f.posterior.Experiments, x...)
		for range x {
			f.partOf = append(f.partOf, q)
		}
	}
	for _, j := range f.fine.free {
		q := &p.Params[j]
		to := bayes.Param{Name: q.ID, Prior: flat{at: 1}, Natural: true}
		if q.Scale != Lin {
			to = bayes.Param{Name: q.ID, Prior: flat{at: 1, on: Log}}
		}
		f.posterior.Params = append(f.posterior.Params, to)
	}
	f.posterior.Method = s.Method
	if s.Method == nil {
		f.posterior.Method = methods.Radau{}
	}
	return f, nil
}

// solved makes later solves use the given mesh, and reports whether this succeeded. The
// first of these solves will be at x.
func (f *search) solved(mesh probode.Mesh, x []float64) bool {
	p := f.posterior
	p.Mesh, p.GridAt = mesh, f.free(x)
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
	f.surface.Exact = true
	return true
}

// unit returns the change of a coordinate of the surface when the parameter changes by 1
// on its scale. The coordinate is the linear value or its natural logarithm.
func (b *box) unit() float64 {
	if b.scale == Log10 {
		return math.Ln10
	}
	return 1
}

// free returns the linear values of the parameters that are estimated.
func (f *search) free(x []float64) []float64 {
	theta := slices.Clone(x)
	for i, b := range f.boxes {
		theta[i] = b.scale.linear(x[i])
	}
	return theta
}

// all returns the linear values of all parameters.
func (f *search) all(x []float64) []float64 {
	theta := slices.Clone(f.theta)
	for i, v := range f.free(x) {
		theta[f.fine.free[i]] = v
	}
	return theta
}

// Value implements shape.Function: it returns the log-likelihood.
func (f *search) Value(x []float64) float64 {
	f.evaluations++
	return f.surface.Value(f.coordinates(x))
}

// Expand implements shape.Function, with exact derivatives.
func (f *search) Expand(p *shape.Point) bool {
	f.evaluations++
	q := shape.Point{X: f.coordinates(p.X)}
	if !f.surface.Expand(&q) {
		return false
	}
	for i := range f.boxes {
		unit := f.boxes[i].unit()
		q.Gradient.SetVec(i, unit*q.Gradient.AtVec(i))
		for _, row := range q.J {
			row[i] *= unit
		}
		for j := range i + 1 {
			for _, m := range []*mat.SymDense{q.Information, q.Curvature} {
				if m != nil {
					m.SetSym(i, j, unit*f.boxes[j].unit()*m.At(i, j))
				}
			}
		}
	}
	q.X = p.X
	q.Value = p.Value
	*p = q
	return true
}

// coordinates converts values on the scales of the parameters to coordinates of the
// surface.
func (f *search) coordinates(x []float64) []float64 {
	u := slices.Clone(x)
	for i, b := range f.boxes {
		u[i] *= b.unit()
	}
	return u
}

// Follow returns false, so the derivatives are recomputed at each point. Exact
// derivatives cost little more than a value.
func (f *search) Follow(*shape.Point, []float64) bool { return false }

const (
	// A search continues until the predicted rise in log-likelihood is below rise. After
	// refine, it continues until the predicted rise is below fineRise. A search has
	// converged if Optimum.Left is below short.
	rise, fineRise, short = 1e-6, 1e-8, 1e-6
	// A measurement counts as equal to the model's value if the absolute residual, in units
	// of the noise scale, is below met.
	met = 1e-6
	// slack is the damping with which Left is computed. It excludes higher points that
	// are more than ten standard deviations away, or more than a hundred units away along
	// a parameter that the data do not determine.
	slack = 1e-2
)

func (f *search) run(start int) Optimum {
	o := Optimum{Start: start}
	f.evaluations = 0
	random := rand.New(rand.NewPCG(f.set.Seed, uint64(start)))
	var c shape.Climb
	for _, b := range f.boxes {
		c.X, c.Low, c.High = append(c.X, 0), append(c.Low, b.low), append(c.High, b.high)
	}
	for try := 0; ; try++ {
		if o.Err = f.ctx.Err(); o.Err != nil {
			return o
		}
		for i := range c.X {
			c.X[i] = f.boxes[i].draw(random)
		}
		if f.solved(f.settings.mesh(0), c.X) {
			if c.Value = f.Value(c.X); !math.IsInf(c.Value, -1) {
				break
			}
			if _, f.failed = f.fine.At(f.ctx, f.all(c.X), false); f.failed == nil {
				f.failed = fmt.Errorf("the log-likelihood is −∞")
			}
		}
		if try == 20 {
			o.Err = fmt.Errorf("found no start at which the likelihood can be computed: %w", f.failed)
			return o
		}
	}
	c.Tolerance = 2 * rise
	f.climb(&c, &o)
	// Because of the solver's error, the optimum of the accurate likelihood is slightly
	// different.
	if o.Err = f.refine(&c); o.Err != nil {
		return o
	}
	f.climb(&c, &o)
	if o.Err = f.ctx.Err(); o.Err != nil {
		return o
	}
	o.Theta = f.all(c.X)
	v, err := f.fine.At(f.ctx, o.Theta, false)
	if err != nil {
		o.Err = err
		return o
	}
	o.Evaluations, o.LogLikelihood, o.Error, o.Left = f.evaluations, v.LogLikelihood, v.Error, math.Inf(1)
	if c.Known || f.Expand(&c.Point) {
		_, gain, _ := c.Newton(slack)
		o.Left = gain / 2
	}
	for _, u := range c.U {
		if math.Abs(u) < met {
			o.Kinks++
		}
	}
	o.Converged = o.Left < short
	switch {
	case !o.Converged && o.Iterations == f.set.Iterations:
		o.Reason = "too many iterations: no optimum yet"
	case !o.Converged:
		o.Reason = "no progress: no optimum"
	case o.Kinks == 0:
		o.Reason = "optimum"
	case o.Kinks == 1:
		o.Reason = "optimum at 1 kink"
	default:
		o.Reason = fmt.Sprintf("optimum at %d kinks", o.Kinks)
	}
	return o
}

// refine tightens the tolerances to those that accurate optima need at the current point.
// The search then continues with them.
func (f *search) refine(c *shape.Climb) error {
	v, err := f.fine.At(f.ctx, f.all(c.X), false)
	if err != nil {
		return err
	}
	mesh := byProblem{}
	for i, q := range f.partOf {
		mesh[f.posterior.Experiments[i].Problem] = steps{Tolerance: v.Instances[slices.Index(f.fine.parts, q)].Tolerance}
	}
	if !f.solved(mesh, c.X) {
		return f.failed
	}
	c.Value = f.Value(c.X)
	c.Tolerance, c.Known, c.Done = 2*fineRise, false, false
	return nil
}

// byProblem is a Mesh with a separate tolerance for each problem.
type byProblem map[*probode.Problem]steps

// Bind calls the Bind method of the steps for p.
func (b byProblem) Bind(ctx context.Context, s probode.Setup, p *probode.Problem, at, times []float64) (probode.Path, error) {
	return b[p].Bind(ctx, s, p, at, times)
}

func (b byProblem) String() string { return "tolerances by experiment" }

// climb iterates until the climb is done, no iterations are left, or f.ctx ends.
func (f *search) climb(c *shape.Climb, o *Optimum) {
	for ; !c.Done && o.Iterations < f.set.Iterations && f.ctx.Err() == nil; o.Iterations++ {
		c.Step(f, false)
	}
}

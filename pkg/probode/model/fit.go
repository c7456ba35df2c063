package model

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/probode/probode/pkg/internal/text"
	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/bayes/shape"
	"github.com/probode/probode/pkg/probode/internal/pieces"
)

// FitSettings says how Fit searches.
type FitSettings struct {
	Starts     int    // ≥ 1
	Seed       uint64 // of the starts
	Iterations int    // of a search at most; zero means 500

	// Tolerance of the steps of the solver during the search; the zero value
	// means a Relative of 10⁻⁵. The optima are then computed to 10⁻⁷ whatever
	// it is.
	Tolerance probode.Tolerance
	Method    probode.Method // nil means Radau of order 5

	// Workers is the number of searches at a time; zero means one for each
	// processor. It changes no result.
	Workers  int
	Progress func(done, total int) // as in LikelihoodSettings, of starts
}

// An Optimum is where a search has ended.
type Optimum struct {
	Start         int // the number of the search, from 0
	LogLikelihood float64
	Error         float64   // as in Value
	Theta         []float64 // linear values of all parameters

	// Left is the rise in log-likelihood that the expansion at Theta still promises.
	// Kinks is the number of measurements with Laplace errors that the model meets: the
	// likelihood has a kink at each, and an optimum usually lies at kinks, as a median
	// is one of the data.
	Left  float64
	Kinks int

	Iterations, Evaluations int

	// Reason is why the search ended. Converged says that it is an optimum: Left is
	// below 10⁻⁶.
	Reason    string
	Converged bool

	Err error // why the search failed, and everything else is of no value
}

// Fit maximises the log-likelihood, without priors, within the bounds of the
// parameters, from starts drawn from their initialisation priors, or uniformly
// on their scales between their bounds. It returns an Optimum for each start,
// the best first, those that failed last.
//
// Each search is Fisher's scoring with exact gradients, damped as Levenberg and Marquardt
// do, on the scales of the parameters between their bounds: see shape.Climb. It goes first
// with the tolerance of the search and then to the accuracy of the optima. Kinks of Laplace
// errors stay in its expansions as they are.
//
// A start where the likelihood cannot be computed is drawn again, at most 20
// times; during a search such points count as infinitely bad.
//
// Fit stops with what it has when ctx ends: searches that were under way have
// that for Err.
//
// Source: Osborne (1992), Int. Stat. Rev. 60, 99, for Fisher's scoring.
func (p *Problem) Fit(ctx context.Context, s FitSettings) ([]Optimum, error) {
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
	rough, err := p.Likelihood(LikelihoodSettings{Tolerance: s.Tolerance, Method: s.Method, Workers: 1})
	if err != nil {
		return nil, err
	}
	if len(rough.free) == 0 {
		return nil, fmt.Errorf("%s: no parameter is estimated", text.Clip(p.Name))
	}
	fine, err := p.Likelihood(LikelihoodSettings{Workers: 1})
	if err != nil {
		return nil, err
	}
	boxes := make([]box, len(rough.free))
	for i, j := range rough.free {
		if boxes[i], err = newBox(&p.Params[j]); err != nil {
			return nil, err
		}
	}
	rough.expands, fine.expands = true, true
	list := make([]Optimum, s.Starts)
	// A search that ctx has ended has something to show, and so they all begin.
	if _, err := pieces.Each(context.WithoutCancel(ctx), s.Workers, s.Starts, s.Progress, func() func(int) error {
		return func(i int) error {
			f := search{ctx: ctx, l: rough, fine: fine, boxes: boxes, set: s}
			list[i] = f.run(i)
			return nil
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

func newBox(q *Param) (box, error) {
	b := box{scale: q.Scale, low: q.Scale.Of(q.Lower), high: q.Scale.Of(q.Upper), start: q.Start}
	b.closed = b.low-b.low == 0 && b.high-b.high == 0
	switch {
	case b.closed && !(b.low < b.high):
		return b, fmt.Errorf("parameter %s: bounds %g and %g: want the lower below the upper", text.Clip(q.ID), q.Lower, q.Upper)
	case b.closed:
		b.from, b.span = b.low, b.high-b.low
	case b.start.Type == "" && q.Nominal-q.Nominal == 0 && !math.IsInf(q.Scale.Of(q.Nominal), 0):
		// Without bounds searches begin about the nominal value.
		at := q.Scale.Of(q.Nominal)
		b.from, b.span = at-1, 2
		if q.Scale == Lin {
			b.from, b.span = at-math.Abs(at)-0.1, 2*math.Abs(at)+0.2
		}
	case b.start.Type == "":
		return b, fmt.Errorf("parameter %s has neither bounds nor a nominal value nor an initialisation prior: want one of them for starts", text.Clip(q.ID))
	}
	return b, nil
}

// draw returns a start, a little inside the bounds.
func (b *box) draw(r *rand.Rand) float64 {
	u, a, c := r.Float64(), b.start.A, b.start.B
	normal, laplace := r.NormFloat64(), r.ExpFloat64()
	if r.Float64() < 0.5 {
		laplace = -laplace
	}
	var v float64 // on the scale
	switch b.start.Type {
	case "uniform":
		v = b.scale.Of(a + (c-a)*u)
	case "normal":
		v = b.scale.Of(a + c*normal)
	case "laplace":
		v = b.scale.Of(a + c*laplace)
	case "logNormal":
		v = b.scale.Of(math.Exp(a + c*normal))
	case "logLaplace":
		v = b.scale.Of(math.Exp(a + c*laplace))
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

// A search is one climb of the log-likelihood, by the values of the parameters that are
// estimated on their scales.
type search struct {
	ctx         context.Context
	l, fine     *Likelihood
	boxes       []box
	set         FitSettings
	evaluations int
	failed      error // the last
}

// theta returns the linear values of all parameters.
func (f *search) theta(x []float64) []float64 {
	theta := f.l.Nominal()
	for i, j := range f.l.free {
		theta[j] = f.boxes[i].scale.linear(x[i])
	}
	return theta
}

// Value is the log-likelihood, for shape.Function.
func (f *search) Value(x []float64) float64 {
	f.evaluations++
	v, err := f.l.At(f.ctx, f.theta(x), false)
	if err != nil {
		f.failed = err
		return math.Inf(-1)
	}
	return v.LogLikelihood
}

// Expand is the expansion by exact derivatives, for shape.Function.
func (f *search) Expand(p *shape.Point) bool {
	f.evaluations++
	v, err := f.l.At(f.ctx, f.theta(p.X), true)
	if err != nil {
		f.failed = err
		return false
	}
	sum := flat(len(p.X))
	for i := range v.Experiments {
		o := v.Experiments[i].near
		sum.Gradient.AddVec(sum.Gradient, o.Gradient)
		sum.Information.AddSym(sum.Information, o.Information)
		sum.Curvature.AddSym(sum.Curvature, o.Curvature)
		sum.U, sum.J = append(sum.U, o.U...), append(sum.J, o.J...)
	}
	sum.X, sum.Value = p.X, v.LogLikelihood
	*p = *sum
	return true
}

// Follow asks for new derivatives: the exact ones cost little more than a value.
func (f *search) Follow(*shape.Point, []float64) bool { return false }

const (
	// rise is the rise in log-likelihood below which a search ends, first with the
	// tolerance of the search and then with the accuracy of the optima; short is what an
	// optimum may be short of.
	rise, fineRise, short = 1e-6, 1e-8, 1e-6
	// met is the residual, in units of the noise scale, at which a measurement is met.
	met = 1e-6
	// slack is the damping with which a rise is promised: nothing is promised farther
	// away than ten standard deviations, or a hundred on a scale that nothing determines.
	slack = 1e-2
)

func (f *search) run(start int) Optimum {
	o := Optimum{Start: start}
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
		if c.Value = f.Value(c.X); !math.IsInf(c.Value, -1) {
			break
		}
		if try == 20 {
			o.Err = fmt.Errorf("no start at which the likelihood can be computed: %w", f.failed)
			return o
		}
	}
	c.Tolerance = 2 * rise
	f.climb(&c, &o)
	// The likelihood that is right has its optimum elsewhere, by the error of the other.
	f.l = f.fine
	if c.Value = f.Value(c.X); math.IsInf(c.Value, -1) {
		o.Err = f.failed
		return o
	}
	c.Tolerance, c.Known, c.Done = 2*fineRise, false, false
	f.climb(&c, &o)
	if o.Err = f.ctx.Err(); o.Err == nil && c.Failed {
		o.Err = f.failed
	}
	if o.Err != nil {
		return o
	}
	o.Theta = f.theta(c.X)
	v, err := f.l.At(f.ctx, o.Theta, false)
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

// climb goes on until no step rises, or no iteration is left.
func (f *search) climb(c *shape.Climb, o *Optimum) {
	for ; !c.Done && o.Iterations < f.set.Iterations && f.ctx.Err() == nil; o.Iterations++ {
		c.Step(f, false)
	}
}

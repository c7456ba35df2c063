package model

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/optimize"

	"github.com/probode/probode/pkg/internal/text"
	"github.com/probode/probode/pkg/probode"
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

	// Gradient is the largest derivative on the scale of a parameter, without those
	// that only bounds stop. Kinks is the number of measurements with Laplace errors
	// that the model meets; at each the mean of the derivatives of both sides is
	// taken that makes the gradient least, so that at an optimum it is zero.
	Gradient float64
	Kinks    int

	Iterations, Evaluations int

	// Reason is why the search ended, in words of package optimize where there are
	// no kinks; Converged says that it is a good one.
	Reason    string
	Converged bool

	Err error // why the search failed, and everything else is of no value
}

// Fit maximises the log-likelihood, without priors, within the bounds of the
// parameters, from starts drawn from their initialisation priors, or uniformly
// on their scales between their bounds. It returns an Optimum for each start,
// the best first, those that failed last.
//
// Each search is BFGS with exact gradients [NW06, §6.1] in z, where
//
//	value on scale = lower + (upper − lower)(1 + sin z)/2
//
// keeps the bounds, and z is the value on the scale where one bound is missing.
// With Laplace errors, where the likelihood has kinks, it is sequential quadratic
// programming for sums of absolute values [Fletcher 1981] on the scales themselves,
// first with the tolerance of the search and then to the accuracy of the optima. The
// search has found an optimum if the likelihood with linearised residuals, and the
// curvature of Fisher's information, promises less than 10⁻⁶ more.
//
// A start where the likelihood cannot be computed is drawn again, at most 20
// times; during a search such points count as infinitely bad.
//
// Fit stops with what it has when ctx ends: searches that were under way have
// that for Err.
//
// Source: Nocedal & Wright (2006), Numerical Optimization; James & Roos (1975),
// Comput. Phys. Commun. 10, 343, for the bounds; Fletcher (1981), Numerical methods
// for nonlinear exact penalty functions.
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
	kinks := rough.bends() && fine.bends()
	list := make([]Optimum, s.Starts)
	// A search that ctx has ended has something to show, and so they all begin.
	if _, err := pieces.Each(context.WithoutCancel(ctx), s.Workers, s.Starts, s.Progress, func() func(int) error {
		return func(i int) error {
			f := search{ctx: ctx, p: p, rough: rough, fine: fine, boxes: boxes, set: s, kinks: kinks}
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

// value returns the value on the scale at z, and its derivative.
func (b *box) value(z float64) (u, slope float64) {
	if !b.closed {
		return z, 1
	}
	sin, cos := math.Sincos(z)
	return min(max(b.low+(b.high-b.low)*(1+sin)/2, b.low), b.high), (b.high - b.low) * cos / 2
}

// draw returns the z of a start.
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
	// The derivative of sin vanishes at the bounds: begin a little inside.
	w := (v - b.low) / (b.high - b.low)
	if w != w {
		w = 0
	}
	return math.Asin(2*min(max(w, 1e-3), 1-1e-3) - 1)
}

// A search is one run of the optimiser.
type search struct {
	ctx         context.Context
	p           *Problem
	rough, fine *Likelihood
	boxes       []box
	set         FitSettings
	kinks       bool // of the likelihood
	evaluations int
	failed      error // the last
}

// worst stands for the negative log-likelihood of what cannot be computed.
const worst = 1e300

// theta returns all parameters at z, linear.
func (f *search) theta(z []float64) []float64 {
	theta := f.rough.Nominal()
	for i, j := range f.rough.free {
		u, _ := f.boxes[i].value(z[i])
		theta[j] = f.boxes[i].scale.linear(u)
	}
	return theta
}

func (f *search) at(z []float64, gradient bool) *Value {
	f.evaluations++
	v, err := f.rough.At(f.ctx, f.theta(z), gradient)
	if err != nil {
		f.failed = err
		return nil
	}
	return v
}

func (f *search) run(start int) Optimum {
	o := Optimum{Start: start}
	random := rand.New(rand.NewPCG(f.set.Seed, uint64(start)))
	z := make([]float64, len(f.boxes))
	for try := 0; ; try++ {
		if o.Err = f.ctx.Err(); o.Err != nil {
			return o
		}
		for i := range z {
			z[i] = f.boxes[i].draw(random)
		}
		if f.at(z, false) != nil {
			break
		}
		if try == 20 {
			o.Err = fmt.Errorf("no start at which the likelihood can be computed: %w", f.failed)
			return o
		}
	}
	if f.kinks {
		f.kinked(&o, z)
		return o
	}
	problem := optimize.Problem{
		Func: func(z []float64) float64 {
			if v := f.at(z, false); v != nil {
				return -v.LogLikelihood
			}
			return worst
		},
		Grad: func(dst, z []float64) {
			clear(dst)
			if v := f.at(z, true); v != nil {
				for i := range dst {
					_, slope := f.boxes[i].value(z[i])
					dst[i] = -v.ScaleGradient[i] * slope
				}
			}
		},
		Status: func() (optimize.Status, error) {
			if err := f.ctx.Err(); err != nil {
				return optimize.Failure, err
			}
			return optimize.NotTerminated, nil
		},
	}
	// At a kink, as a formula with abs or max has, what BFGS has learnt is of no use:
	// it begins again from there as long as that helps.
	var result *optimize.Result
	var err error
	for left, before := f.set.Iterations, math.Inf(1); left > 0; {
		result, err = optimize.Minimize(problem, z, &optimize.Settings{
			GradientThreshold: 1e-5,
			MajorIterations:   left,
			Converger:         &optimize.FunctionConverge{Absolute: 1e-7, Relative: 1e-10, Iterations: 10},
		}, &optimize.BFGS{Linesearcher: &optimize.Bisection{}})
		if result == nil {
			break
		}
		left -= max(1, result.MajorIterations)
		o.Iterations += result.MajorIterations
		z = result.X
		if err == nil && result.Status != optimize.Failure || !(result.F < before-1e-6) {
			break
		}
		before = result.F
	}
	if e := f.ctx.Err(); e != nil {
		o.Err = e
		return o
	}
	if result == nil {
		o.Err = err
		return o
	}
	o.Evaluations, o.Reason = f.evaluations, reason(result.Status, err)
	o.Converged = err == nil && (result.Status == optimize.GradientThreshold || result.Status == optimize.FunctionConvergence ||
		result.Status == optimize.Success || result.Status == optimize.MethodConverge)
	o.Theta = f.theta(result.X)
	v, err := f.fine.At(f.ctx, o.Theta, true)
	if err != nil {
		o.Err = err
		return o
	}
	o.LogLikelihood, o.Error = v.LogLikelihood, v.Error
	for i, g := range v.ScaleGradient {
		b := &f.boxes[i]
		u, _ := b.value(result.X[i])
		near := 1e-3 * (b.high - b.low)
		if b.closed && (g < 0 && u-b.low < near || g > 0 && b.high-u < near) {
			continue
		}
		o.Gradient = max(o.Gradient, math.Abs(g))
	}
	return o
}

// reason says in words why the optimiser stopped.
func reason(s optimize.Status, err error) string {
	switch {
	case errors.Is(err, optimize.ErrLinesearcherFailure), errors.Is(err, optimize.ErrNoProgress):
		return "no progress along the line"
	case err != nil:
		return text.Clip(err.Error())
	}
	return s.String()
}

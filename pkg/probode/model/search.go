package model

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/bayes"
	"github.com/probode/probode/pkg/probode/bayes/shape"
)

type search struct {
	*fitting
	*shape.Surface // nil before the first solution
	ctx            context.Context
	fine           *LogLikelihood
	posterior      bayes.Posterior // on the scales of the parameters
	failed         error           // the last error
}

const (
	// A search ends when the predicted rise is below `rise`, or after refine below
	// fineRise. It has converged if Optimum.Left ≤ short and Optimum.Slope ≤ flatSlope.
	rise, fineRise, short, flatSlope = 1e-4, 1e-9, 1e-6, 1e-2
	// A search goes on with tighter tolerances only within `reach` of the best one, and
	// further than nearBest below it only for `few` iterations: enough at an optimum, but
	// not on a long ridge.
	nearBest, few, reach = 2, 20, 20
	// A residual below `met` times the noise scale counts as zero.
	met = 1e-6
)

func (f *fitting) search(ctx context.Context) (*search, error) {
	s := &search{fitting: f, ctx: ctx}
	var err error
	if s.fine, err = f.p.LogLikelihood(LikelihoodSettings{Workers: 1}); err != nil {
		return nil, err
	}
	for _, q := range s.fine.parts {
		x, _ := f.p.observed(q.compiledInstance, f.theta, f.free, true)
		s.posterior.Experiments = append(s.posterior.Experiments, x...)
	}
	for i, j := range f.free {
		b := &f.boxes[i]
		at := 1.0 // any value at which the density is positive
		if b.prior != nil {
			at = b.prior.Quantile(0.5)
		}
		s.posterior.Params = append(s.posterior.Params, bayes.Param{Name: f.p.Params[j].ID, Prior: fitPrior{flat{at, b.on}, b}, Natural: b.on == Lin, MayBeUnused: true})
	}
	s.posterior.Method = s.fine.set.Method
	return s, nil
}

// solved prepares the search for a mesh that is first used at x, and reports whether it
// can be.
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
	if f.Surface == nil {
		f.Surface = shape.NewSurface(d)
		for i, b := range f.boxes {
			f.Low[i], f.High[i] = b.low, b.high
		}
	}
	f.Use(d)
	return true
}

// coarse limits the number of steps, because searches try values of θ for which a solve
// would take a very long time.
func (f *fitting) coarse() probode.Mesh {
	return probode.Adaptive{Tolerance: f.set.Tolerance, MaxSteps: 2e4}
}

// around begins an ascent in the units of the boxes, with what the likelihood can do for
// it.
func (f *search) around(x []float64, value float64) *shape.Ascent {
	a := f.Ascent(slices.Clone(x), value)
	a.Unit, a.Adjust, a.Bend = nil, f.Settle, f.Nonlinear
	for _, b := range f.boxes {
		a.Unit = append(a.Unit, b.unit)
	}
	return &a
}

// Follow returns false, because an expansion with exact derivatives takes little more
// time than a value.
func (f *search) Follow(*shape.Point, []float64) bool { return false }

type end struct {
	Optimum
	from     []float64
	ascent   shape.Ascent
	finished bool // the Optimum is complete
}

func (f *search) rough(e *end) {
	if e.Err = f.begin(e); e.Err != nil {
		return
	}
	e.ascent = *f.around(e.ascent.X, e.ascent.Value)
	e.ascent.Climb(f.ctx, f, rise, f.set.Iterations)
	e.Evaluations = f.Evaluations
}

// begin takes the best of five points for every second search with a random start. In a
// large region in which the likelihood is almost constant, a search may get stuck: if the
// observable is an unknown factor times a state of an oscillator, the best factor where
// nothing oscillates is often zero. The best of five points tends to end at a broad local
// optimum, so the other searches begin at e.from. If the likelihood cannot be computed
// there, up to 25 points are tried.
func (f *search) begin(e *end) error {
	const most = 25
	points := 1
	if drawn := e.Start - len(f.set.From); drawn >= 0 && drawn%2 == 1 {
		points = 5
	}
	random := rand.New(rand.NewPCG(f.set.Seed, uint64(e.Start)))
	a, x := &e.ascent, e.from
	for try := range most {
		if f.ctx.Err() != nil {
			break
		}
		if f.solved(f.coarse(), x) {
			value := f.Value(x)
			if math.IsInf(value, -1) {
				f.failed = errors.New("the log-likelihood is −∞")
			} else if value = f.Settle(x, value); a.X == nil || value > a.Value {
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
	switch {
	case f.ctx.Err() != nil && a.X == nil:
		return f.ctx.Err()
	case f.ctx.Err() != nil:
		return nil // the search keeps the point that it has reached
	case a.X == nil:
		if _, err := f.fine.At(f.ctx, f.all(e.from), false); err != nil {
			f.failed = err
		}
		return fmt.Errorf("found no starting point at which the likelihood can be computed: %w", f.failed)
	}
	if !f.solved(f.coarse(), a.X) {
		return f.failed
	}
	return nil
}

// finish completes the Optimum, with tighter tolerances if the search is within `reach`
// of the best, `below` which it ended. If f.ctx is done, the Optimum stays incomplete:
// see stopped.
func (f *search) finish(e *end, below float64) {
	if e.Err != nil {
		return
	}
	v, err := f.accurate(e, below)
	if f.ctx.Err() != nil {
		return
	}
	e.finished = true
	if e.Err = err; err != nil {
		return
	}
	f.describe(e)
	e.LogLikelihood, e.Error = v.LogLikelihood, v.Error
	switch {
	case e.Converged:
	case e.Iterations == f.set.Iterations:
		e.Reason = "too many iterations: no optimum yet"
	case below > nearBest:
		e.Reason = fmt.Sprintf("left more than %d below the best", nearBest)
	default:
		e.Reason = "no progress: no optimum"
	}
}

// accurate goes on with tighter tolerances, and returns the accurate value at the end,
// with the expansion if that can be computed.
func (f *search) accurate(e *end, below float64) (*Evaluation, error) {
	a := &e.ascent
	if below < reach {
		most := f.set.Iterations
		if below > nearBest {
			most = min(most, a.Steps+few)
		}
		if err := f.refine(a); err != nil {
			return nil, err
		}
		a.Adjust, a.Bend = f.Settle, f.Nonlinear
		a.Climb(f.ctx, f, fineRise, most-a.Steps)
	} else if !f.solved(f.coarse(), a.X) {
		return nil, f.failed
	}
	v, err := f.fine.At(f.ctx, f.all(a.X), false)
	if err == nil && !a.Known {
		a.Known = f.Expand(&a.Point)
	}
	e.Evaluations += f.Evaluations
	return v, err
}

func (f *fitting) stopped(e *end) {
	f.describe(e)
	e.LogLikelihood, e.Error = e.ascent.Value-e.LogPrior, math.NaN()
	if !e.Converged {
		e.Reason = "stopped: no optimum yet"
	}
}

// describe fills the fields that follow from the last point and the expansion there;
// Reason only at an optimum.
func (f *fitting) describe(e *end) {
	a := &e.ascent
	e.Theta, e.LogPrior, e.Left, e.Slope, e.Iterations = f.all(a.X), 0, math.Inf(1), math.Inf(1), a.Steps
	for i, v := range f.linear(a.X) {
		e.LogPrior += f.boxes[i].logPrior(v)
	}
	if e.Flat = nil; a.Known {
		e.Left, e.Slope = a.Left(1)
		for i, j := range f.free {
			if a.Information.At(i, i) < 2*short {
				e.Flat = append(e.Flat, f.p.Params[j].ID)
			}
		}
	}
	for _, u := range a.U {
		if math.Abs(u) < met {
			e.Kinks++
		}
	}
	e.Converged = e.Left <= short && e.Slope <= flatSlope
	switch {
	case !e.Converged:
	case e.Kinks == 0:
		e.Reason = "optimum"
	case e.Kinks == 1:
		e.Reason = "optimum at 1 kink"
	default:
		e.Reason = fmt.Sprintf("optimum at %d kinks", e.Kinks)
	}
}

// refine goes on with tolerances that are tight enough for an accurate optimum near the
// current point.
func (f *search) refine(a *shape.Ascent) error {
	v, err := f.fine.At(f.ctx, f.all(a.X), false)
	if err != nil {
		return err
	}
	mesh := probode.Adaptive{Tolerance: probode.Tolerance{Relative: cmp.Or(f.set.Tolerance.Relative, first)}, MaxSteps: 1e5}
	for _, e := range v.Instances {
		mesh.Relative = min(mesh.Relative, e.Tolerance.Relative)
	}
	if !f.solved(mesh, a.X) {
		return f.failed
	}
	value := f.Value(a.X)
	if err := f.ctx.Err(); err != nil {
		return err // the value at the coarse tolerance stays
	}
	a.Value = value
	return nil
}

package model

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/probode/probode/pkg/internal/text"
	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/internal/pieces"
)

// FitSettings are the settings of Fit.
type FitSettings struct {
	Starts     int    // drawn starts, ≥ 0
	Seed       uint64 // seed of the starts
	Iterations int    // largest number in each search; zero means 300
	// From contains additional starting points, which are used before the randomly drawn
	// ones. Each starting point consists of the values of all parameters on the linear
	// scale. Values outside the bounds are moved to the bounds.
	From [][]float64
	// If Map is true, the log densities of the priors are added to the log-likelihood. A
	// prior that is defined on the scale of the parameter, such as parameterScaleNormal,
	// contributes its density on that scale.
	Map bool
	// Tolerance is the tolerance of the solver during the search; the zero value means a
	// relative tolerance of 10⁻⁶. Tolerance does not affect the accuracy of the final
	// log-likelihoods: their error is at most 10⁻⁷, unless rounding errors are larger.
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
	Error         float64   // as in Evaluation; NaN after a search that was stopped, whose tolerance is that of the search
	Theta         []float64 // values of all parameters on the linear scale
	// Slope is the largest absolute value of a component of the gradient with respect to the
	// coordinates of the search. A coordinate is a parameter value, converted to the
	// parameter's scale and divided by the size of a typical change. Slope uses the gradient
	// of the log-likelihood or, if Map is set, the gradient of the log posterior density. If
	// Theta lies on a bound, Slope ignores components of the gradient that point beyond this
	// bound. If some measurements have Laplace errors, Slope is the ratio of Left to the
	// distance between Theta and the predicted maximum.
	Slope float64
	// Left is an estimate of how much the objective could still increase. The estimate
	// comes from an expansion of the objective around Theta. Kinks is the number of
	// measurements that have Laplace errors and are equal to the model's value. The
	// likelihood has a kink where a measurement with Laplace errors is equal to the
	// model's value. With Laplace errors, an optimum usually lies at one or more kinks of
	// the likelihood, just as a median lies at a data point.
	Left  float64
	Kinks int
	// Flat contains the IDs of the parameters that have no effect on the likelihood near
	// Theta, as on a plateau: it changes by less than 10⁻⁶ if one of them makes a typical
	// change.
	Flat []string

	Iterations, Evaluations int

	// Reason says why the search ended. Converged is true if Theta is an optimum: Slope
	// is at most 0.01, and Left is at most 10⁻⁶.
	Reason    string
	Converged bool
	Err       error // why there is no point; if not nil, only Start of the other fields is meaningful
}

func (o *Optimum) value() float64 { return o.LogLikelihood + o.LogPrior }

// Fit maximises the log-likelihood or, if Map is set, the log posterior density, within
// the bounds of the parameters and the supports of their priors. The starting points form
// a Latin hypercube sample. A parameter with an initialisation prior is drawn from this
// prior. A parameter with two bounds but no initialisation prior is drawn uniformly on
// its scale, between the bounds. If a parameter has neither an initialisation prior nor
// two bounds, searches begin near its nominal value or, if it has none, at draws from its
// prior. Fit returns an Optimum for each start, ordered from the best to the worst, with
// failed searches at the end.
//
// Each search uses Fisher scoring in a trust region, with exact derivatives: see
// shape.Ascent. Where a step does not rise as predicted, the search bends it along the
// curved ridge. A search changes each parameter on the scale of this parameter, and stays
// within the bounds. All searches begin with the solver tolerance in the settings. If the
// objective of a search is less than 20 below the highest objective of all searches, the
// search continues with tighter tolerances, so that the optimum is accurate. The
// expansions of the log-likelihood include the kinks that Laplace errors cause.
//
// For every second point of the sample, four further points are drawn independently, and
// the search begins at the best of the five points. If necessary, Fit draws up to 25
// points for a search, until it finds a point at which the likelihood can be computed.
// During a search the log-likelihood is taken to be −∞ wherever it cannot be computed.
//
// If ctx is done, Fit returns the results so far and the error of ctx. Nothing is solved
// after that: if a search is stopped, its result is the last point that it reached, with
// the likelihood that the search computed there. If ctx is done before a search has
// reached any point, Err of its Optimum is the error of ctx. If ctx has a deadline, the
// searches at the tolerance in the settings end when a fifth of the time is left. The
// rest of the time is for tighter tolerances, at the highest points first.
//
// Sources: for Fisher scoring, Osborne (1992), International Statistical Review 60, 99;
// for curved ridges, Transtrum & Sethna (2012), arXiv:1201.5885.
func (p *File) Fit(ctx context.Context, s FitSettings) ([]Optimum, error) {
	total := s.Starts + len(s.From)
	switch {
	case s.Starts < 0 || total < 1:
		return nil, fmt.Errorf("%d starts: want at least 1", s.Starts)
	case s.Iterations < 0 || s.Workers < 0:
		return nil, fmt.Errorf("the settings Iterations and Workers are %d and %d: want numbers ≥ 0", s.Iterations, s.Workers)
	}
	problem, err := p.newFit(s)
	if err != nil {
		return nil, err
	}
	ends := make([]end, total)
	starts := problem.starts()
	for i := range ends {
		ends[i].Start, ends[i].from = i, starts[i]
	}
	coarse := ctx
	if deadline, ok := ctx.Deadline(); ok {
		var end context.CancelFunc
		coarse, end = context.WithDeadline(ctx, deadline.Add(-time.Until(deadline)/5))
		defer end()
	}
	err = problem.each(coarse, total, s.Progress, func(f *search, i int) error {
		f.rough(&ends[i])
		return nil
	})
	cut := coarse.Err()
	if err != nil && err != cut {
		return nil, err
	}
	for i := range ends {
		e := &ends[i]
		if e.Err == nil && e.ascent.X == nil {
			e.Err = cut // the search has not begun
		}
		if e.Err != nil {
			e.ascent.Value = math.Inf(-1)
		}
	}
	slices.SortStableFunc(ends, func(a, b end) int { return cmp.Compare(b.ascent.Value, a.ascent.Value) })
	best := ends[0].ascent.Value // the searches change it
	err = problem.each(ctx, total, nil, func(f *search, i int) error {
		f.finish(&ends[i], best-ends[i].ascent.Value)
		return nil
	})
	if err != nil && err != ctx.Err() {
		return nil, err
	}
	list := make([]Optimum, total)
	for i := range ends {
		if e := &ends[i]; e.Err == nil && !e.finished {
			problem.stopped(e)
		}
		list[i] = ends[i].Optimum
	}
	slices.SortStableFunc(list, better)
	return list, cmp.Or(ctx.Err(), cut)
}

// Size returns the number of estimated parameters and the number of measurements.
func (p *File) Size() (parameters, measurements int) {
	for _, m := range p.Models {
		measurements += len(m.Data)
	}
	return len(p.estimated()), measurements
}

// better puts failed searches last, and breaks ties by the index of the start.
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
		s.Tolerance.Relative = 1e-6
	}
	l, err := p.LogLikelihood(LikelihoodSettings{Tolerance: s.Tolerance, Workers: 1})
	if err != nil {
		return nil, err
	}
	f := &fitting{p: p, set: s, free: l.free, theta: p.Nominal()}
	if len(f.free) == 0 {
		return nil, fmt.Errorf("%s: no parameter is estimated", text.Clip(p.Name))
	}
	for _, from := range s.From {
		if len(from) != len(p.Params) {
			return nil, fmt.Errorf("a starting point has %d values: want %d, one for each parameter", len(from), len(p.Params))
		}
		for _, j := range f.free {
			if math.IsNaN(from[j]) {
				return nil, fmt.Errorf("a starting point has no value of %s: want a number", text.Clip(p.Params[j].ID))
			}
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

// each calls do(s, i) for i = 0, …, n − 1, on several goroutines with a search each,
// until ctx is done. For each i the search has a new Surface.
func (f *fitting) each(ctx context.Context, n int, progress func(done, total int), do func(s *search, i int) error) error {
	_, err := pieces.Each(ctx, f.set.Workers, n, progress, func() func(int) error {
		s, err := f.search(ctx)
		return func(i int) error {
			if err != nil {
				return err
			}
			s.Surface = nil
			return do(s, i)
		}
	})
	return err
}

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

func (f *fitting) linear(x []float64) []float64 {
	theta := slices.Clone(x)
	for i := range f.boxes {
		theta[i] = f.boxes[i].linear(x[i])
	}
	return theta
}

func (f *fitting) all(x []float64) []float64 {
	theta := slices.Clone(f.theta)
	for i, v := range f.linear(x) {
		theta[f.free[i]] = v
	}
	return theta
}

func (f *fitting) within(theta []float64) []float64 {
	x := make([]float64, len(f.boxes))
	for i, j := range f.free {
		b := &f.boxes[i]
		x[i] = min(max(b.on.of(theta[j]), b.low), b.high)
	}
	return x
}

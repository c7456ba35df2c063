package certify

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/bayes"
	"github.com/probode/probode/pkg/probode/reference"
)

// A Solver is a setting of a solver: a method with a step size, a method under
// error control, or the accurate one. The zero value is that of the Posterior.
type Solver struct {
	// Method is nil for that of the Posterior.
	Method probode.Method

	// StepSize, if positive, is that of equal steps.
	StepSize float64

	// Tolerance, if it is not zero, has the steps chosen by error control, again
	// at every θ, as a likelihood around an adaptive solver does: the solution
	// then jumps where a step is taken or rejected. With Accurate it is the
	// relative one of the reference solution.
	Tolerance probode.Tolerance

	// Accurate stands for reference.Solve.
	Accurate bool
}

func (s Solver) String() string {
	how := ""
	switch {
	case s.Accurate:
		return reference.Accurate{Tolerance: s.Tolerance}.String()
	case s.Controlled():
		how = s.Tolerance.String()
	case s.StepSize > 0:
		how = fmt.Sprintf("h = %.4g", s.StepSize)
	default:
		how = "as in the posterior"
	}
	if s.Method == nil {
		return how
	}
	return fmt.Sprintf("%v, %s", s.Method, how)
}

// Controlled reports whether error control chooses the steps again at every θ.
func (s Solver) Controlled() bool {
	return !s.Accurate && (s.Tolerance.Relative != 0 || s.Tolerance.Absolute != nil)
}

// density returns the density of p by s.
func (s Solver) density(p *bayes.Posterior) (*bayes.Density, error) {
	q := *p
	switch {
	case s.Accurate:
		return bayes.NewDensity(q.SolvedBy(probode.Setup{Mesh: reference.Accurate{Tolerance: s.Tolerance}}))
	case s.Controlled():
		q.Mesh, q.GridAt = probode.Adaptive{Tolerance: s.Tolerance}, nil
	case s.StepSize > 0:
		q.Setup = q.WithStepSize(s.StepSize)
	}
	if s.Method != nil {
		q.Method = s.Method
	}
	return bayes.NewDensity(&q)
}

// shortest returns the length of the shortest of the spans.
func shortest(p *bayes.Posterior) float64 {
	h := math.Inf(1)
	for _, x := range p.Experiments {
		if x.Problem != nil {
			h = math.Min(h, x.Problem.Span[1]-x.Problem.Span[0])
		}
	}
	return h
}

// An expecter computes what a solver expects of the data. It serves one goroutine.
type expecter struct {
	ctx context.Context
	p   *bayes.Posterior
	s   Solver
	e   *bayes.Density

	surface *bayes.Surface // of e
}

func newExpecter(ctx context.Context, p *bayes.Posterior, s Solver) (*expecter, error) {
	e, err := s.density(p)
	if err != nil {
		return nil, err
	}
	x := &expecter{ctx: ctx, p: p, s: s, e: e, surface: bayes.NewSurface(e)}
	x.surface.Exact, x.surface.Draws = true, 2000
	return x, nil
}

// at returns the expected values of the data at theta, by experiment, row and
// column, and the log likelihood.
func (x *expecter) at(theta []float64) (expected []float64, ll float64, err error) {
	if err := x.ctx.Err(); err != nil {
		return nil, math.Inf(-1), err
	}
	e := x.e
	defer e.Bind(x.ctx)()
	if ll, err = e.LogLikelihood(theta, nil); err != nil {
		return nil, ll, err
	}
	expected = append([]float64(nil), e.Expected()...)
	for _, m := range expected {
		if math.IsNaN(m) || math.IsInf(m, 0) {
			return nil, math.Inf(-1), errNotFinite
		}
	}
	return expected, ll, nil
}

var errNotFinite = errors.New("certify: an expected value of the data is not finite")

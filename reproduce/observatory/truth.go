package main

import (
	"context"
	"fmt"
	"math"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/adams"
	"github.com/probode/probode/pkg/probode/reference"
)

// A truth has accurate states at twenty times, first for the nominal θ, and then for the
// random ones that assess calibrations.
type truth struct {
	p     *probode.Problem
	kind  string
	times []float64
	theta [][]float64
	x     [][]float64 // for each θ; nil if there is no accurate solution
	err   [][]float64
	size  []float64 // size of each component, at the problem's own θ
	steps int       // number of steps of the coarsest uniform grid
}

const observed = 20 // times

// newTruth draws other θ log-normally around the nominal, with sd 0.1.
func newTruth(ctx context.Context, s *subject, others int, seed uint64) (*truth, error) {
	t := &truth{p: s.problem(), kind: s.kind}
	p := t.p
	for i := range observed {
		t.times = append(t.times, p.Span[0]+(p.Span[1]-p.Span[0])*float64(i+1)/observed)
	}
	t.times[observed-1] = p.Span[1]
	rng := probode.Stream(seed, 1)
	for i := range others + 1 {
		theta := append([]float64(nil), p.Theta...)
		if i > 0 {
			for k := range theta {
				theta[k] *= math.Exp(0.1 * rng.NormFloat64())
			}
		}
		ref, err := reference.Solve(ctx, p, t.times, reference.Settings{Tolerance: probode.Tolerance{Relative: 1e-12}, Theta: theta})
		if err != nil {
			if i == 0 || ctx.Err() != nil {
				return nil, err
			}
			ref = &reference.Solution{}
		}
		t.theta, t.x, t.err = append(t.theta, theta), append(t.x, ref.X), append(t.err, ref.Error)
	}
	d := p.Dim()
	t.size = make([]float64, d)
	for i, x := range t.x[0] {
		t.size[i%d] = max(t.size[i%d], math.Abs(x))
	}
	return t, t.coarsest()
}

// coarsest has 20 times a power of two steps, with which AM1 has a root mean square error
// of at most 10 % of each component. Two grids are two and four times as fine.
func (t *truth) coarsest() error {
	const most = 20 << 9
	for n := observed; n <= most; n *= 2 {
		s, err := t.solver(t.p, adams.Moulton{Steps: 1}, probode.Uniform((t.p.Span[1]-t.p.Span[0])/float64(n)))
		if err != nil {
			continue
		}
		if e, err := t.relative(s); err == nil && e <= 0.1 {
			t.steps = n
			return nil
		}
	}
	return fmt.Errorf("%s: the error of AM1 is above 10 %% even with %d steps: use a shorter time span", t.p.Name, most)
}

func (t *truth) solver(p *probode.Problem, m probode.Method, mesh probode.Mesh) (*probode.Solver, error) {
	g, err := probode.Setup{Method: m, Mesh: mesh}.Grid(context.Background(), t.p, t.p.Theta, t.times)
	if err != nil {
		return nil, err
	}
	return probode.NewSolver(p, m, g, 0)
}

// relative is to the largest magnitude of each component.
func (t *truth) relative(s *probode.Solver) (float64, error) {
	z := make([]float64, s.PathLen())
	if err := s.Solve(z, t.p.Theta, nil); err != nil {
		return 0, err
	}
	index, err := s.Grid().Index(t.times)
	if err != nil {
		return 0, err
	}
	d := t.p.Dim()
	var sum float64
	for i, at := range index {
		for k := range d {
			e := (z[at*d+k] - t.x[0][i*d+k]) / t.size[k]
			sum += e * e
		}
	}
	return math.Sqrt(sum / float64(len(index)*d)), nil
}

package sample

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/probode/probode/pkg/probode/bayes"
	"github.com/probode/probode/pkg/probode/bayes/shape"
)

const (
	mostSteps    = 200 // of a climb
	sameDistance = 0.5 // standard deviations between ends that count as one mode
	widestSD     = 10  // the largest standard deviation of a shape in any direction
)

// climb looks for modes, starting from the given points. Unlike modes.Find, climb() does
// not search the whole support of the prior, and it computes the shapes of the modes from
// the Fisher information. The search takes only a few solves for each parameter.
func climb(ctx context.Context, p *bayes.Posterior, from [][]float64) (*bayes.Modes, error) {
	out := &bayes.Modes{SearchCounts: bayes.SearchCounts{Searches: len(from), Given: len(from)}}
	var failed error
	for _, theta := range from {
		m, information, err := ascend(ctx, p, theta)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err != nil {
			failed = err
			continue
		}
		same := func(k *bayes.Mode) bool { return shape.Distance(k.U, m.U, information) < sameDistance }
		if i := slices.IndexFunc(out.Modes, same); i >= 0 {
			out.Modes[i].Found++
			continue
		}
		out.Modes = append(out.Modes, m)
	}
	if len(out.Modes) == 0 {
		return nil, fmt.Errorf("sample: no mode was found by climbing from %d points: %w", len(from), failed)
	}
	slices.SortStableFunc(out.Modes, func(a, b *bayes.Mode) int { return cmp.Compare(b.LogMass, a.LogMass) })
	var sum float64
	for _, m := range out.Modes {
		m.Mass = math.Exp(m.LogMass - out.Modes[0].LogMass)
		sum += m.Mass
	}
	for _, m := range out.Modes {
		m.Mass /= sum
		if m.Found == 1 {
			out.Once++
		}
	}
	return out, nil
}

// ascend climbs from theta to a mode, and returns the mode and the Fisher information at
// this mode. The climb uses the cheapest solver whose error at theta is at most 0.1
// posterior standard deviations. If no candidate is accurate enough, the climb uses the
// solver of p.
func ascend(ctx context.Context, p *bayes.Posterior, theta []float64) (*bayes.Mode, *mat.SymDense, error) {
	q, _, err := accurateEnough(ctx, p, &bayes.Modes{Modes: []*bayes.Mode{{Theta: theta, U: theta}}}, 10*mattersD, nil)
	if err != nil {
		return nil, nil, err
	}
	e, err := bayes.NewDensity(ctx, cmp.Or(q, p))
	if err != nil {
		return nil, nil, err
	}
	defer e.Bind(ctx)()
	u := make([]float64, e.Dim())
	if err := e.Unconstrain(u, theta); err != nil {
		return nil, nil, err
	}
	f := shape.NewSurface(e)
	c := f.Ascent(u, f.Value(u))
	if math.IsInf(c.Value, -1) {
		return nil, nil, errors.New("the density at a starting point is zero or cannot be computed")
	}
	for c.Steps < mostSteps && !c.Done && ctx.Err() == nil {
		c.Step(f)
	}
	if c.Failed || c.Information == nil {
		return nil, nil, errors.New("the derivatives of the density cannot be computed")
	}
	m := &bayes.Mode{Theta: make([]float64, e.Dim()), U: c.X, LogP: c.Value, Found: 1}
	e.Constrain(m.Theta, m.U)
	logDet := invert(m, c.Information)
	m.LogMass = m.LogP + logDet/2 + float64(e.Dim())/2*math.Log(2*math.Pi)
	return m, c.Information, nil
}

// invert sets the shape of a mode to the inverse of the Fisher information at this mode,
// and returns the logarithm of the determinant of the shape. If the standard deviation in
// some direction is above widestSD, it is reduced to widestSD, and Cov remains nil.
func invert(m *bayes.Mode, information *mat.SymDense) (logDet float64) {
	d := len(m.U)
	var eigen mat.EigenSym
	if !eigen.Factorize(information, true) {
		return 0
	}
	var vectors mat.Dense
	eigen.VectorsTo(&vectors)
	m.Shape = mat.NewSymDense(d, nil)
	whole := true
	for i, v := range eigen.Values(nil) {
		if v < 1/(widestSD*widestSD) {
			v, whole = 1/(widestSD*widestSD), false
		}
		m.Shape.SymRankOne(m.Shape, 1/v, vectors.ColView(i))
		logDet -= math.Log(v)
	}
	if whole {
		m.Cov = m.Shape
	}
	return logDet
}

package filter

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sort"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/internal/vector"
)

// Settings holds the options of Solve.
type Settings struct {
	EK
	// Mesh generates the grid: see probode.Mesh.
	Mesh probode.Mesh
	// Times are the times at which the solution is needed. Some types of Mesh place a
	// grid point at each element of Times.
	Times []float64

	// Alpha is the diffusion κ² of the prior. If Alpha is zero, the diffusion is
	// estimated from the residuals of all steps by maximum likelihood. A diffusion that
	// is the same in all steps has no effect on the mean, unless Jacobian is Cubature.
	Alpha float64
	// If PerComponent is true, a diffusion is estimated for each block of the filter: see
	// EK.Width.
	PerComponent bool
	// If Varying is true, the diffusion of each step is estimated from the residual of
	// that step. If Alpha is also set, each estimate is multiplied by Alpha.
	Varying bool

	// If Forward is true, Solve returns the filtering distributions: the distribution at
	// each time is conditional on the equation being satisfied at the grid points up to
	// that time. If Forward is false, Solve returns the smoothing distributions, which
	// are conditional on the equation being satisfied at all grid points.
	Forward bool
}

// A Solution is the posterior distribution of the solution of a problem. Time series are
// indexed [component][time]. The standard deviations do not include rounding errors.
type Solution struct {
	problem *probode.Problem
	grid    *probode.Grid

	// T holds the grid points. Mean and SD hold the mean and the standard deviation at
	// each grid point.
	T        []float64
	Mean, SD [][]float64
	// Diffusion is κ² for each component of the state. If Settings.Varying is true, the
	// diffusion of a step is the product of Diffusion and the estimate for that step.
	// Diffusion is 0 for a component that is Noiseless.
	Diffusion []float64

	run   *recording
	path  []float64 // the means of all components
	roots []float64 // κ unit^{q+1/2} of each chain
}

// Solve computes the posterior distribution of the solution of p. Solve returns an error
// if a step fails or if ctx is cancelled.
func Solve(ctx context.Context, p *probode.Problem, s Settings) (*Solution, error) {
	if n := p.Dim() / s.order(); s.PerComponent && s.width(n) == n && n > 1 {
		return nil, fmt.Errorf("filter: PerComponent cannot be used with %v, which couples the components: set Width, or use the Jacobian Zero", s.EK)
	}
	if !(s.Alpha >= 0) || math.IsInf(s.Alpha, 1) {
		return nil, fmt.Errorf("filter: Alpha is %g: want a finite number ≥ 0", s.Alpha)
	}
	theta, err := p.Parameters(nil)
	if err != nil {
		return nil, err
	}
	g, err := probode.Setup{Method: s.EK, Mesh: s.Mesh}.Grid(ctx, p, theta, s.Times)
	if err != nil {
		return nil, err
	}
	m := &pass{EK: s.EK, kappa: math.Sqrt(s.Alpha), perComponent: s.PerComponent, varying: s.Varying, kept: true, linked: !s.Forward}
	if s.Varying && s.Alpha == 0 {
		m.kappa = 1
	}
	solver, err := probode.NewSolver(p, m, g, 0)
	if err != nil {
		return nil, err
	}
	defer solver.Bind(ctx)()
	path := make([]float64, solver.PathLen())
	if err := solver.Solve(path, theta, nil); err != nil {
		return nil, err
	}
	if err := m.run.finish(path, theta); err != nil {
		return nil, err
	}
	out := &Solution{problem: p, grid: solver.Grid(), T: slices.Clone(solver.Times()), run: m.run, path: path}
	if s.Alpha == 0 && !s.Varying {
		if err := m.run.decided(); err != nil {
			return nil, err
		}
	}
	out.calibrate(m.run, &s)
	for _, c := range m.run.chains {
		if !s.Forward {
			c.smooth()
		}
	}
	out.describe()
	return out, nil
}

// decided refuses a diffusion that follows from rounding errors: in residuals of very
// short steps, such as the first ones under error control, or if their squares underflow.
func (s *recording) decided() error {
	const tiny = 1e-290 // smaller squares have lost digits
	total := floats.Sum(s.square)
	var lengths, squares []float64
	for i, p := range s.chains[0].points {
		if p.h == 0 { // not a step
			continue
		}
		var square float64
		for k, c := range s.chains {
			r := c.residual(i)
			if vector.MaxAbs(r) > 0 && (total < tiny || s.pass.perComponent && s.square[k] < tiny) {
				return errors.New("filter: the squares of the residuals underflow: use other units, or set Alpha")
			}
			square += vector.Dot(r, r)
		}
		lengths, squares = append(lengths, p.h), append(squares, square/math.Pow(p.h, float64(2*s.Q+1)))
	}
	// `half` is the weighted median of the step lengths, with weights proportional to
	// these lengths. Steps of length `half` or more cover at least half of the time span.
	sorted := slices.Sorted(slices.Values(lengths))
	half := stat.Quantile(0.5, stat.Empirical, sorted, sorted)
	var short float64
	for i, h := range lengths {
		if h < half/100 {
			short += squares[i]
		}
	}
	if short > 0.99*floats.Sum(squares) {
		return fmt.Errorf("filter: steps shorter than %.2g dominate the diffusion, perhaps by rounding errors: want Alpha, Varying, or steps of similar length", half/100)
	}
	return nil
}

func (s *Solution) calibrate(run *recording, set *Settings) {
	w := run.blocks[0].w
	s.Diffusion = make([]float64, s.problem.Dim())
	for k := range run.blocks {
		alpha := set.Alpha
		switch {
		case alpha > 0:
		case set.Varying:
			alpha = 1
		case set.PerComponent:
			alpha = run.square[k] / float64(run.steps*w)
		default:
			alpha = floats.Sum(run.square) / float64(run.steps*w*len(run.blocks))
		}
		for _, c := range run.parts[k] {
			s.Diffusion[c] = alpha
		}
		s.roots = append(s.roots, math.Sqrt(alpha)*run.blocks[k].root)
	}
}

func (s *Solution) describe() {
	d, points := s.problem.Dim(), s.run.chains[0].points
	s.Mean, s.SD = make([][]float64, d), make([][]float64, d)
	for k := range d {
		s.Mean[k], s.SD[k] = make([]float64, len(s.T)), make([]float64, len(s.T))
	}
	sd := make([]float64, d)
	next := len(points) - 1
	for i := len(s.T) - 1; i >= 0; i-- { // a grid point between two events has no point
		for next > 0 && points[next].index > i {
			next--
		}
		mean := s.path[i*d : (i+1)*d]
		if points[next].index > i { // before an event at the start
			clear(sd)
		} else {
			for n, c := range s.run.chains {
				c.recall(next)
				s.spread(mean, sd, n, c.belief(next))
			}
		}
		for k, v := range mean {
			s.Mean[k][i], s.SD[k][i] = v, sd[k]
		}
	}
}

// spread is for chain n, whose block holds the distribution at the required time. The
// normal variates are standard normal if `of` is empty.
func (s *Solution) spread(mean, sd []float64, n int, of belief) {
	b := s.run.blocks[n]
	for j, k := range s.run.parts[n] {
		level := b.level(j, b.unit)
		z, own := b.z[j], b.errors(j)
		if of.mean != nil {
			z += vector.Dot(own, of.mean)
			clear(b.full)
			for k, x := range own {
				vector.AddScaled(b.full[:k+1], x, of.factor[k*b.rows:])
			}
			own = b.full[:b.rows]
		}
		mean[k] = z * level
		sd[k] = length(own) * level * s.roots[n]
	}
}

// At returns the mean and the standard deviation of the state at time t, which need not
// be a grid point. At the time of an event, the result describes the state after the
// event.
func (s *Solution) At(t float64) (mean, sd []float64) {
	if !(t >= s.T[0] && t <= s.T[len(s.T)-1]) {
		panic(fmt.Sprintf("filter: time %g is outside the span [%g, %g]", t, s.T[0], s.T[len(s.T)-1]))
	}
	d, points := s.problem.Dim(), s.run.chains[0].points
	mean, sd = make([]float64, d), make([]float64, d)
	copy(mean, s.path[(sort.Search(len(s.T), func(i int) bool { return s.T[i] > t })-1)*d:])
	last := sort.Search(len(points), func(i int) bool { return s.T[points[i].index] > t }) - 1 // before or at t
	for n, c := range s.run.chains {
		c.recall(last)
		of := c.belief(last)
		if h := t - s.T[points[last].index]; h > 0 {
			c.predict(h)
			c.disperse(points[last+1].sigma)
			c.reduce(false)
			c.arrive()
			c.settle(0)
			if s.run.pass.linked {
				z, r, rows := slices.Clone(c.z), slices.Clone(c.r), c.rows
				var l link
				c.relink(&l, last+1, s.T[points[last+1].index]-t)
				of = belief{}.resized(rows)
				l.back(of, c.belief(last+1), new([]float64))
				c.rows = rows
				copy(c.z, z)
				copy(c.r, r)
			}
		}
		s.spread(mean, sd, n, of)
	}
	return mean, sd
}

// Draw writes a path from the posterior distribution to dst, as a row-major len(T)×d
// matrix. The path is drawn backwards in time [T22], even if Settings.Forward is true.
func (s *Solution) Draw(dst []float64, rng *rand.Rand) {
	d := s.problem.Dim()
	if len(dst) != len(s.T)*d {
		panic(fmt.Sprintf("filter: dst has length %d: want %d·%d, one number for each time and component", len(dst), len(s.T), d))
	}
	copy(dst, s.path)
	for n, c := range s.run.chains {
		root := s.roots[n]
		end, last := len(s.T), len(c.points)-1
		u, earlier := normals(nil, c.points[last].rows, root, rng), []float64(nil)
		for i := last; ; i-- {
			c.recall(i)
			p := &c.points[i]
			for j := p.index; j < end; j++ {
				for m, k := range s.run.parts[n] {
					dst[j*d+k] = (c.z[m] + vector.Dot(u, c.errors(m))) * c.level(m, c.unit)
				}
			}
			if end = p.index; i == 0 {
				break
			}
			var l link
			if !s.run.pass.linked && p.h > 0 { // the links of steps have not been kept
				c.recall(i - 1)
				c.relink(&l, i, p.h)
			} else {
				l = c.stored(i)
			}
			earlier = resize(earlier, l.before)
			u = normals(u, l.rest, root, rng)
			l.back(belief{mean: earlier}, belief{mean: u}, nil)
			u, earlier = earlier, u
		}
	}
}

func normals(v []float64, n int, sd float64, rng *rand.Rand) []float64 {
	for range n {
		v = append(v, sd*rng.NormFloat64())
	}
	return v
}

// Ensemble returns n paths drawn from the solution, in the same form as the results of
// probode.Integrate, so that they can be plotted. The fields Mean and SD of the result
// are copied from the solution, not computed from the paths.
func (s *Solution) Ensemble(n int, seed uint64) *probode.Ensemble {
	e := &probode.Ensemble{Problem: s.problem, Grid: s.grid, T: s.T, Mean: s.Mean, SD: s.SD, Deterministic: s.Mean, N: n}
	for i := range n {
		path := make([]float64, len(s.T)*s.problem.Dim())
		s.Draw(path, probode.Stream(seed, uint64(i)))
		e.Paths = append(e.Paths, path)
	}
	return e
}

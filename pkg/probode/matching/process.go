package matching

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/bayes"
)

// Settings holds the options of GaussianProcess.
type Settings struct {
	// Kernels holds a kernel for each component. If Kernels is nil, the kernel of each
	// component is fitted to the data of that component.
	Kernels []Kernel

	// Between is the number of points that are added between consecutive observation
	// times. The derivative x′ is matched with f at the observation times and at the added
	// points.
	Between int

	// Mismatch is the variance γ of a Gaussian error in the equation x′ = f, as in [D13]
	// and [W19]. If Mismatch is zero, x′ must be equal to f at all points, as in [Y21].
	Mismatch float64

	// Temper is the temperature β, which must be at least 1. The densities of the process
	// and of x′ − f are raised to the power 1/β. Zero means the value used in [Y21],
	// which is the number of values of the path divided by the number of observations.
	Temper float64
}

// GaussianProcess returns the gradient-matching posterior of a model with one experiment.
// This posterior uses a Gaussian process as the prior for each component of the path at
// the points t:
//
//	x = mean + √β L ξ,   L Lᵀ = C,   ξ ~ N(0, I).
//
// Given x, the derivative of the process has the distribution N(D x, K), with D = C′C⁻¹
// and K = C″ − C′C⁻¹C′ᵀ + γI. The posterior treats the differential equation as an
// observation that the derivative of the process is equal to f. Up to a constant, the log
// density of the posterior is
//
//	log p(θ, ξ | Y) = log p(Y | x, θ) + log p(θ) − ½|ξ|² − ½(f(x, θ) − Dx)ᵀ K⁻¹ (f(x, θ) − Dx)/β.
//
// Any sampler of (θ, ξ) can draw from this posterior. The posterior uses an extended
// Problem, which adds one scaled residual for each component to the state vector. The data
// of the posterior contain the value zero for every residual. The posterior does not impose
// the condition that x begins at the initial state of the problem.
func GaussianProcess(m bayes.Model, s Settings) (*bayes.Posterior, error) {
	x, err := single(m)
	if err != nil {
		return nil, err
	}
	p, d := *x.Problem, x.Problem.Dim()
	if s.Between < 0 || s.Mismatch < 0 || s.Temper < 0 || s.Temper > 0 && s.Temper < 1 {
		return nil, fmt.Errorf("matching: Between is %d, Mismatch is %g and Temper is %g: want numbers ≥ 0, and a Temper that is either 0 or at least 1", s.Between, s.Mismatch, s.Temper)
	}
	columns := len(x.Data.Y[0])
	names := slices.Clone(x.Data.Names)
	for k := len(names); k < columns; k++ {
		names = append(names, p.StateName(k))
	}
	if s.Kernels == nil {
		for k := range d {
			kernel, err := componentKernel(x, names, p.StateName(k))
			if err != nil {
				return nil, fmt.Errorf("matching: %s: %w", p.StateName(k), err)
			}
			s.Kernels = append(s.Kernels, kernel)
		}
	}
	for _, k := range s.Kernels {
		if len(s.Kernels) != d || !(k.SD > 0) || !(k.Length > 0) || math.IsNaN(k.Mean) {
			return nil, fmt.Errorf("matching: the kernels are %v: want %d kernels, with SD > 0 and Length > 0", s.Kernels, d)
		}
	}

	// The additional points between the observation times are added to the data as rows
	// of missing values. The residuals of each component are added to the data as a column
	// of zeros.
	data := &bayes.Data{Time: x.Data.Time}
	count := 0
	for i, t := range x.Data.T {
		for j := range s.Between + 1 {
			row := append(slices.Repeat([]float64{math.NaN()}, columns), make([]float64, d)...)
			at := t
			if j > 0 {
				if i == len(x.Data.T)-1 {
					break
				}
				at += (x.Data.T[i+1] - t) * float64(j) / float64(s.Between+1)
			} else {
				copy(row, x.Data.Y[i])
			}
			for k := range columns {
				if !math.IsNaN(row[k]) {
					count++
				}
			}
			data.T, data.Y = append(data.T, at), append(data.Y, row)
		}
	}
	if s.Temper == 0 {
		s.Temper = max(1, float64(d*len(data.T))/float64(max(count, 1)))
	}

	states := make([]string, 2*d)
	for k := range d {
		states[k], states[d+k] = p.StateName(k), "residual of "+p.StateName(k)
	}
	data.Names = append(names, states[d:]...)
	field := x.Problem
	p.States, p.X0, p.Start, p.StartTheta = states, make([]float64, 2*d), nil, nil
	copy(p.X0, x.Problem.X0)
	p.F = func(dst []float64, t float64, x, theta []float64) {
		clear(dst[d:])
		field.F(dst[:d], t, x[:d], theta)
	}
	p.FJ, p.FTheta, p.Pullback, p.Band = nil, nil, nil, nil
	each := x.Errors
	if len(each) == 1 {
		each = slices.Repeat(each, columns)
	}
	x.Problem, x.Data = &p, data
	x.Errors = append(slices.Clone(each), slices.Repeat([]bayes.Likelihood{bayes.Gaussian{Sigma: bayes.Known(1)}}, d)...)
	if observe := x.Observe; observe != nil {
		x.ObserveSlopes = nil
		x.Observe = func(dst []float64, t float64, x, theta []float64) {
			observe(dst[:columns], t, x[:d], theta)
			copy(dst[columns:], x[d:])
		}
	}
	m.Experiments = []bayes.Experiment{x}
	return &bayes.Posterior{Model: m, Setup: probode.Setup{Mesh: process{s, field}, Alpha: 1}}, nil
}

// single refuses several experiments, events, and fewer than two times.
func single(m bayes.Model) (x bayes.Experiment, err error) {
	if len(m.Experiments) != 1 {
		return x, fmt.Errorf("matching: the model has %d experiments: want 1", len(m.Experiments))
	}
	x = m.Experiments[0]
	switch {
	case len(x.Problem.Events) > 0:
		return x, errors.New("matching: the problem has events: want a problem without events")
	case x.Data == nil || len(x.Data.T) < 2:
		return x, errors.New("matching: the data have fewer than two observation times")
	}
	return x, nil
}

func componentKernel(x bayes.Experiment, names []string, state string) (Kernel, error) {
	column := slices.Index(names, state)
	if column < 0 || x.Observe != nil {
		return Kernel{}, errors.New("the component is not observed directly: set Settings.Kernels")
	}
	var t, y []float64
	for i, row := range x.Data.Y {
		if v := row[column]; !math.IsNaN(v) {
			t, y = append(t, x.Data.T[i]), append(y, v)
		}
	}
	return fitKernel(t, y)
}

type process struct {
	Settings
	field *probode.Problem
}

func (process) String() string { return "gradient matching with Gaussian processes" }

func (process) NeedsMethod() bool { return false }

func (m process) Bind(_ context.Context, _ probode.Setup, _ *probode.Problem, _, times []float64) (probode.Path, error) {
	n := len(times)
	q := &path{p: m.field, times: times}
	for _, k := range m.Kernels {
		c, mixed, slope := mat.NewSymDense(n, nil), mat.NewDense(n, n, nil), mat.NewSymDense(n, nil)
		for i, t := range times {
			for j, u := range times {
				state, cross, left := k.at(t, u)
				if i == j {
					// Multiplying the variances by 1 + 1e-9 keeps the factorisations
					// stable.
					state *= 1 + 1e-9
					left = left*(1+1e-9) + m.Mismatch
				}
				mixed.Set(i, j, cross)
				c.SetSym(i, j, state)
				slope.SetSym(i, j, left)
			}
		}
		tempered := math.Sqrt(m.Temper)
		var chol mat.Cholesky
		var root, residual mat.TriDense
		if !chol.Factorize(c) {
			return nil, fmt.Errorf("matching: the covariance at %d points is singular: use fewer points or a Length below %.4g", n, k.Length)
		}
		chol.LTo(&root)
		var across, b mat.Dense // L⁻¹C′ᵀ and K^−½ C′ L⁻ᵀ
		err := across.Solve(&root, mixed.T())
		slope.SymRankK(slope, -1, across.T())
		if !chol.Factorize(slope) {
			return nil, fmt.Errorf("matching: the covariance of the derivatives at %d points is singular: use fewer points, a Length below %.4g, or a Mismatch > 0", n, k.Length)
		}
		chol.LTo(&residual)
		var inverse mat.TriDense
		if err := errors.Join(err, b.Solve(&residual, across.T()), inverse.InverseTri(&residual)); err != nil {
			return nil, fmt.Errorf("matching: %w", err)
		}
		part := component{mean: k.Mean, root: new(mat.Dense), slope: &b, scaled: new(mat.Dense)}
		part.root.Scale(tempered, &root)
		part.scaled.Scale(1/tempered, &inverse)
		q.parts = append(q.parts, part)
	}
	return q.Clone(), nil
}

// component has the values `mean + root ξ`, and the residuals `scaled f − slope ξ` of its
// equation.
type component struct {
	mean                float64
	root, slope, scaled *mat.Dense
}

type path struct {
	p     *probode.Problem
	times []float64
	parts []component

	adjoint *probode.Adjoint
	x, f    []float64 // of the last solve, row-major
	lambda  []float64 // the gradient with respect to f, then to x, row-major
	b, c    *mat.VecDense
}

func (q *path) Clone() probode.Path {
	c := *q
	n, d := len(q.times), len(q.parts)
	c.adjoint = probode.NewAdjoint(q.p)
	c.x, c.f, c.lambda = make([]float64, n*d), make([]float64, n*d), make([]float64, 2*n*d)
	c.b, c.c = mat.NewVecDense(n, nil), mat.NewVecDense(n, nil)
	return &c
}

func (q *path) NoiseLen() int { return len(q.x) }
func (q *path) Work() int     { return len(q.times) }

func (q *path) normals(xi []float64, k int) *mat.VecDense {
	n := len(q.times)
	return mat.NewVecDense(n, xi[k*n:(k+1)*n])
}

func (q *path) States(_ context.Context, dst, theta, xi []float64) error {
	d := len(q.parts)
	if xi == nil {
		xi = make([]float64, q.NoiseLen())
	}
	for k, part := range q.parts {
		q.b.MulVec(part.root, q.normals(xi, k))
		for i, v := range q.b.RawVector().Data {
			q.x[i*d+k] = part.mean + v
		}
	}
	for i, t := range q.times {
		q.p.F(q.f[i*d:(i+1)*d], t, q.x[i*d:(i+1)*d], theta)
		copy(dst[2*i*d:], q.x[i*d:(i+1)*d])
	}
	f := mat.NewDense(len(q.times), d, q.f)
	for k, part := range q.parts {
		q.b.MulVec(part.slope, q.normals(xi, k))
		q.c.MulVec(part.scaled, f.ColView(k))
		for i := range q.times {
			v := q.c.AtVec(i) - q.b.AtVec(i)
			if !(math.Abs(v) <= probode.TooLarge) {
				return fmt.Errorf("matching: f at t = %.6g: %w", q.times[i], probode.ErrDiverged)
			}
			dst[(2*i+1)*d+k] = v
		}
	}
	return nil
}

func (q *path) Gradient(_ context.Context, g *probode.Gradient, w, theta, xi []float64) error {
	n, d := len(q.times), len(q.parts)
	weights := mat.NewDense(n, 2*d, w) // of the states and of the residuals
	df, dx := mat.NewDense(n, d, q.lambda[:n*d]), mat.NewDense(n, d, q.lambda[n*d:])
	dx.Copy(weights.Slice(0, n, 0, d))
	for k, part := range q.parts {
		q.c.MulVec(part.scaled.T(), weights.ColView(d+k))
		df.SetCol(k, q.c.RawVector().Data)
	}
	clear(g.Theta)
	q.adjoint.Theta = g.Theta
	for i, t := range q.times {
		q.adjoint.Field(dx.RawRowView(i), df.RawRowView(i), t, 0, q.x[i*d:(i+1)*d], theta)
	}
	g.Alpha = 0 // nothing depends on it
	for k, part := range q.parts {
		if g.Xi != nil {
			own := q.normals(g.Xi, k)
			own.MulVec(part.root.T(), dx.ColView(k))
			q.c.MulVec(part.slope.T(), weights.ColView(d+k))
			own.SubVec(own, q.c)
		}
	}
	return nil
}

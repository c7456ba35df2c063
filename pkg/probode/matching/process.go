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
	"github.com/probode/probode/pkg/probode/methods"
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

// A Density is the gradient-matching density of a model with one experiment. The prior of
// each component of the path at the points t is a Gaussian process:
//
//	x = mean + √β L ξ,   L Lᵀ = C,   ξ ~ N(0, I).
//
// Given x, the derivative of the process has the distribution N(D x, K), with D = C′C⁻¹
// and K = C″ − C′C⁻¹C′ᵀ + γI. The density treats the differential equation as an
// observation that the derivative of the process is equal to f. Up to a constant, its
// logarithm is
//
//	log p(θ, ξ | Y) = log p(Y | x, θ) + log p(θ) − ½|ξ|² − ½(f(x, θ) − Dx)ᵀ K⁻¹ (f(x, θ) − Dx)/β.
//
// The density does not impose the condition that x begins at the initial state of the
// problem. A Density has its own workspace, so two goroutines must not use it at the same
// time.
type Density struct {
	e     *bayes.Density // of the priors and the observations
	x     *bayes.Experiment
	param []int // index in θ of each element of the problem's θ, −1 if known
	parts []component

	adjoint           *probode.Adjoint
	theta, own        []float64 // θ, and the gradient with respect to the problem's θ
	states, f, dx, df *mat.Dense
	b, c              *mat.VecDense
	residuals         []float64 // of the last evaluation, by component
}

// GaussianProcess returns the gradient-matching density of a model with one experiment.
func GaussianProcess(m bayes.Model, s Settings) (*Density, error) {
	x, err := single(m)
	if err != nil {
		return nil, err
	}
	p, d := x.Problem, x.Problem.Dim()
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
	// of missing values.
	data := &bayes.Data{Names: x.Data.Names, Time: x.Data.Time}
	count := 0
	for i, t := range x.Data.T {
		data.T, data.Y = append(data.T, t), append(data.Y, x.Data.Y[i])
		for _, y := range x.Data.Y[i] {
			if !math.IsNaN(y) {
				count++
			}
		}
		for j := 1; j <= s.Between && i < len(x.Data.T)-1; j++ {
			data.T = append(data.T, t+(x.Data.T[i+1]-t)*float64(j)/float64(s.Between+1))
			data.Y = append(data.Y, slices.Repeat([]float64{math.NaN()}, columns))
		}
	}
	if s.Temper == 0 {
		s.Temper = max(1, float64(d*len(data.T))/float64(max(count, 1)))
	}
	x.Data = data
	m.Experiments = []bayes.Experiment{x}
	// The density of the observations solves nothing, so any Setup will do.
	e, err := bayes.NewDensity(context.Background(), &bayes.Posterior{Model: m, Setup: probode.Setup{Method: methods.RungeKutta{}, Mesh: probode.Uniform(p.Span[1] - p.Span[0])}})
	if err != nil {
		return nil, err
	}
	q := &Density{e: e, x: &m.Experiments[0]}
	for k := range p.Theta {
		name := p.ParamName(k)
		if x.Params != nil {
			name = x.Params[k]
		}
		q.param = append(q.param, slices.Index(e.Posterior().Names(), name))
	}
	for _, k := range s.Kernels {
		part, err := s.component(k, data.T)
		if err != nil {
			return nil, err
		}
		q.parts = append(q.parts, part)
	}
	return q.clone(), nil
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

// component has the values `mean + root ξ`, and the residuals `scaled f − slope ξ` of its
// equation.
type component struct {
	mean                float64
	root, slope, scaled *mat.Dense
}

func (s *Settings) component(k Kernel, times []float64) (part component, err error) {
	n := len(times)
	c, mixed, slope := mat.NewSymDense(n, nil), mat.NewDense(n, n, nil), mat.NewSymDense(n, nil)
	for i, t := range times {
		for j, u := range times {
			state, cross, left := k.at(t, u)
			if i == j {
				// Multiplying the variances by 1 + 1e-9 keeps the factorisations
				// stable.
				state *= 1 + 1e-9
				left = left*(1+1e-9) + s.Mismatch
			}
			mixed.Set(i, j, cross)
			c.SetSym(i, j, state)
			slope.SetSym(i, j, left)
		}
	}
	tempered := math.Sqrt(s.Temper)
	var chol mat.Cholesky
	var root, residual mat.TriDense
	if !chol.Factorize(c) {
		return part, fmt.Errorf("matching: the covariance at %d points is singular: use fewer points or a Length below %.4g", n, k.Length)
	}
	chol.LTo(&root)
	var across, b mat.Dense // L⁻¹C′ᵀ and K^−½ C′ L⁻ᵀ
	err = across.Solve(&root, mixed.T())
	slope.SymRankK(slope, -1, across.T())
	if !chol.Factorize(slope) {
		return part, fmt.Errorf("matching: the covariance of the derivatives at %d points is singular: use fewer points, a Length below %.4g, or a Mismatch > 0", n, k.Length)
	}
	chol.LTo(&residual)
	var inverse mat.TriDense
	if err := errors.Join(err, b.Solve(&residual, across.T()), inverse.InverseTri(&residual)); err != nil {
		return part, fmt.Errorf("matching: %w", err)
	}
	part = component{mean: k.Mean, root: new(mat.Dense), slope: &b, scaled: new(mat.Dense)}
	part.root.Scale(tempered, &root)
	part.scaled.Scale(1/tempered, &inverse)
	return part, nil
}

func (q *Density) clone() *Density {
	c := *q
	n, d := len(q.x.Data.T), len(q.parts)
	c.e, c.adjoint = q.e.Clone(), probode.NewAdjoint(q.x.Problem)
	c.theta, c.own = make([]float64, q.e.Dim()), make([]float64, len(q.param))
	for _, m := range []**mat.Dense{&c.states, &c.f, &c.dx, &c.df} {
		*m = mat.NewDense(n, d, nil)
	}
	c.b, c.c, c.residuals = mat.NewVecDense(n, nil), mat.NewVecDense(n, nil), make([]float64, n*d)
	return &c
}

// Dim returns the number of parameters θ plus the number of elements of ξ.
func (q *Density) Dim() int { return q.e.Dim() + len(q.x.Data.T)*len(q.parts) }

// LogDensity returns the log density at x, which consists of θ on the unconstrained scale
// and ξ, and writes its gradient to grad.
func (q *Density) LogDensity(grad, x []float64) (float64, error) {
	return q.gradient(grad, x, true)
}

// gradient stores the residuals, whose squares are a part of the log density. Without
// `matched` it leaves this part out of grad.
func (q *Density) gradient(grad, x []float64, matched bool) (float64, error) {
	p, n := q.e.Dim(), len(q.x.Data.T)
	clear(grad)
	lp := q.e.Constrain(q.theta, x[:p])
	if math.IsInf(lp, -1) {
		return lp, nil
	}
	normals := func(v []float64, k int) *mat.VecDense { return mat.NewVecDense(n, v[p+k*n:p+(k+1)*n]) }
	for k, part := range q.parts {
		q.b.MulVec(part.root, normals(x, k))
		for i, v := range q.b.RawVector().Data {
			q.states.Set(i, k, part.mean+v)
		}
	}
	lp += q.e.Part(0).StateGradient(q.dx.RawMatrix().Data, grad[:p], q.states.RawMatrix().Data, q.theta)
	theta := q.e.Part(0).Theta(q.theta)
	for i, t := range q.x.Data.T {
		q.x.Problem.F(q.f.RawRowView(i), t, q.states.RawRowView(i), theta)
	}
	q.df.Zero()
	for k, part := range q.parts {
		xi, residual := normals(x, k), mat.NewVecDense(n, q.residuals[k*n:(k+1)*n])
		q.b.MulVec(part.slope, xi)
		residual.MulVec(part.scaled, q.f.ColView(k))
		residual.SubVec(residual, q.b)
		lp -= (mat.Dot(residual, residual) + mat.Dot(xi, xi)) / 2
		own := normals(grad, k)
		own.ScaleVec(-1, xi)
		if !matched {
			continue
		}
		q.c.MulVec(part.scaled.T(), residual)
		q.c.ScaleVec(-1, q.c)
		q.df.SetCol(k, q.c.RawVector().Data)
		q.c.MulVec(part.slope.T(), residual)
		own.AddVec(own, q.c)
	}
	if math.IsNaN(lp) || math.IsInf(lp, 0) {
		return math.Inf(-1), fmt.Errorf("matching: %w", probode.ErrDiverged)
	}
	clear(q.own)
	q.adjoint.Theta = q.own
	for i, t := range q.x.Data.T {
		q.adjoint.Field(q.dx.RawRowView(i), q.df.RawRowView(i), t, 0, q.states.RawRowView(i), theta)
	}
	for k, v := range q.own {
		if i := q.param[k]; i >= 0 {
			grad[i] += v
		}
	}
	slopes := make([]float64, p)
	q.e.Slopes(slopes, x[:p])
	for k, v := range slopes {
		grad[k] = grad[k]*v + q.e.PriorSlope(k, x[k])
	}
	for k, part := range q.parts {
		q.c.MulVec(part.root.T(), q.dx.ColView(k))
		own := normals(grad, k)
		own.AddVec(own, q.c)
	}
	return lp, nil
}

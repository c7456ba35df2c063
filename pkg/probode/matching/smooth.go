package matching

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/optimize"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/bayes"
	"github.com/probode/probode/pkg/probode/field"
)

// SmoothSettings holds the options of Smooth.
type SmoothSettings struct {
	// Lambda is the weight λ of the penalty. With a small λ the spline follows the data
	// and θ is biased; with a large λ the spline approaches a solution of the
	// differential equation.
	Lambda float64

	// Pieces is the number of cubic pieces of the spline between consecutive observation
	// times. Zero means 4. With a large λ and too few pieces, θ is biased, because the
	// spline cannot follow the solution. To find out whether there are enough pieces,
	// double Pieces and compare the results.
	Pieces int

	// Start is the θ at which the search begins; nil means the θ of the problem.
	Start []float64
}

// A Smoothing is the result of Smooth.
type Smoothing struct {
	Theta []float64
	// Misfit is Σ (y − x(t))²/σ², where y is a datum at time t, σ is its standard
	// deviation, and x is the spline.
	Misfit float64

	spline *spline
}

// States writes the d components of the spline at time t to dst.
func (s *Smoothing) States(dst []float64, t float64) {
	s.spline.at(dst, t)
}

// Smooth fits θ by generalised smoothing [R07]. For each θ, a cubic spline x is fitted to
// the data and to the differential equation:
//
//	x(θ) minimises  Σ (y − x(t))²/σ² + λ Σₖ ∫ (x′ₖ − fₖ(t, x; θ))² dt.
//
// The estimate of θ minimises Σ (y − x(t))²/σ², where x is the spline fitted for this θ.
// The model must have one experiment without events, whose data are components of the
// state with Gaussian errors of known standard deviation.
func Smooth(ctx context.Context, m bayes.Model, s SmoothSettings) (*Smoothing, error) {
	x, err := single(m)
	switch {
	case err != nil:
		return nil, err
	case !(s.Lambda > 0):
		return nil, fmt.Errorf("matching: Lambda is %g: want a positive number", s.Lambda)
	case s.Pieces < 0:
		return nil, fmt.Errorf("matching: Pieces is %d: want a number ≥ 0", s.Pieces)
	case x.Observe != nil:
		return nil, errors.New("matching: Observe is not nil: want nil, because the data must be components of the state")
	}
	s.Pieces = cmp.Or(s.Pieces, 4)
	start := s.Start
	if start == nil {
		start = x.Problem.Theta
	}
	q, err := newSpline(x, s)
	if err == nil && len(q.data) < len(start) {
		err = fmt.Errorf("matching: there are %d observations: want at least %d, the number of parameters", len(q.data), len(start))
	}
	if err != nil {
		return nil, err
	}
	// The weight of the penalty is multiplied by ten after each fit, up to s.Lambda. The
	// first spline fits the data, and the last one approximately solves the equation.
	for q.lambda = min(1, s.Lambda); q.lambda < s.Lambda; q.lambda *= 10 {
		q.fit(start)
	}
	q.lambda = s.Lambda
	found, err := optimize.Minimize(optimize.Problem{Func: func(theta []float64) float64 {
		if ctx.Err() != nil || !q.fit(theta) {
			return math.Inf(1)
		}
		return q.misfit()
	}}, start, nil, &optimize.NelderMead{})
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case found == nil || math.IsInf(found.F, 0):
		return nil, fmt.Errorf("matching: no spline could be fitted at θ = %.4g: try another Start", start)
	case err != nil:
		return nil, fmt.Errorf("matching: the search stopped with an error at θ = %.4g: %w", found.X, err)
	case !q.fit(found.X):
		return nil, fmt.Errorf("matching: the fit of the spline at θ = %.4g has not reached a minimum after %d steps: try another Lambda or Start", found.X, fitSteps)
	}
	return &Smoothing{Theta: found.X, Misfit: q.misfit(), spline: q}, nil
}

type spline struct {
	p      *probode.Problem
	lambda float64
	knots  []float64 // with the ends four times
	c      []float64 // the coefficients, row-major, a row for each basis function
	data   []datum
	nodes  [][2]float64 // times and weights of the quadrature
}

type datum struct {
	t, y, sd float64
	k        int // component
}

func newSpline(x bayes.Experiment, s SmoothSettings) (*spline, error) {
	t := x.Data.T
	q := &spline{p: x.Problem, lambda: s.Lambda, knots: slices.Repeat(t[:1], 3)}
	for i := range len(t) - 1 {
		for j := range s.Pieces {
			q.knots = append(q.knots, t[i]+(t[i+1]-t[i])*float64(j)/float64(s.Pieces))
		}
	}
	q.knots = append(q.knots, slices.Repeat(t[len(t)-1:], 4)...)
	// The three-point Gauss rule approximates the integral over each piece.
	for i := 3; i < len(q.knots)-4; i++ {
		a, h := q.knots[i], q.knots[i+1]-q.knots[i]
		for j, w := range []float64{5. / 18, 8. / 18, 5. / 18} {
			q.nodes = append(q.nodes, [2]float64{a + h*(0.5+math.Sqrt(0.15)*float64(j-1)), w * h})
		}
	}
	q.c = make([]float64, (len(q.knots)-4)*q.p.Dim())
	for column := range x.Data.Y[0] {
		k := column
		if column < len(x.Data.Names) {
			k = -1
			for i := range q.p.Dim() {
				if q.p.StateName(i) == x.Data.Names[column] {
					k = i
				}
			}
		}
		g, ok := x.Errors[min(column, len(x.Errors)-1)].(bayes.Gaussian)
		if k < 0 || k >= q.p.Dim() || !ok || g.Sigma.Name != "" || !(g.Sigma.Value > 0) {
			return nil, fmt.Errorf("matching: column %d of the data is not supported: want a component of the state that is measured with Gaussian errors of known standard deviation", column+1)
		}
		for i, row := range x.Data.Y {
			if y := row[column]; !math.IsNaN(y) {
				q.data = append(q.data, datum{t[i], y, g.Sigma.Value, k})
			}
		}
	}
	return q, nil
}

// basis is the Cox–de Boor recursion for the four functions that are not zero at t, from
// index `at` on.
func (q *spline) basis(t float64) (at int, b, db [4]float64) {
	i, _ := slices.BinarySearch(q.knots, t)
	for i = min(max(i, 4), len(q.knots)-4) - 1; i+5 < len(q.knots) && q.knots[i+1] <= t; i++ {
	}
	b[0] = 1
	for order := 1; order <= 3; order++ {
		var left float64 // what the function on the left passes on
		for j := range order {
			lo, hi := q.knots[i+1+j-order], q.knots[i+1+j]
			share := b[j] / (hi - lo)
			if order == 3 {
				db[j] -= 3 * share
				db[j+1] += 3 * share
			}
			b[j], left = left+(hi-t)*share, (t-lo)*share
		}
		b[order] = left
	}
	return i - 3, b, db
}

func (q *spline) at(dst []float64, t float64) {
	first, b, _ := q.basis(t)
	clear(dst)
	for j, v := range b {
		floats.AddScaled(dst, v, q.c[(first+j)*len(dst):][:len(dst)])
	}
}

func (q *spline) misfit() (sum float64) {
	x := make([]float64, q.p.Dim())
	for _, y := range q.data {
		q.at(x, y.t)
		r := (y.y - x[y.k]) / y.sd
		sum += r * r
	}
	return sum
}

const fitSteps = 200

// fit is Gauss–Newton with Levenberg–Marquardt damping from the current coefficients. It
// reports whether it has found a minimum.
func (q *spline) fit(theta []float64) bool {
	d, n := q.p.Dim(), len(q.c)
	lin, jac := field.NewLinearizer(q.p.Field()), q.p.Field().NewJacobian()
	x, f := make([]float64, d), make([]float64, d)
	// system returns the value of the criterion for the coefficients c. If info is not nil,
	// the function also adds half of the gradient of the criterion to grad, and the Fisher
	// information to info.
	system := func(c []float64, grad []float64, info *mat.SymBandDense) (sum float64) {
		add := func(r, weight float64, at int, row []float64) {
			sum += weight * r * r
			if info == nil {
				return
			}
			for i, v := range row {
				grad[at+i] += weight * r * v
				for j := range i + 1 {
					info.SetSymBand(at+j, at+i, info.At(at+j, at+i)+weight*v*row[j])
				}
			}
		}
		row := make([]float64, 4*d)
		for _, y := range q.data {
			at, b, _ := q.basis(y.t)
			clear(row)
			r := -y.y
			for j, v := range b {
				row[j*d+y.k] = v
				r += v * c[(at+j)*d+y.k]
			}
			add(r, 1/(y.sd*y.sd), at*d, row)
		}
		for _, node := range q.nodes {
			at, b, db := q.basis(node[0])
			for k := range d {
				x[k] = 0
				for j, v := range b {
					x[k] += v * c[(at+j)*d+k]
				}
			}
			if info == nil {
				q.p.F(f, node[0], x, theta)
			} else {
				lin.FJ(f, jac, node[0], x, theta)
			}
			for k := range d {
				r := -f[k]
				for j, v := range db {
					r += v * c[(at+j)*d+k]
					for l := range d {
						if info != nil {
							row[j*d+l] = -jac.At(k, l) * b[j]
						}
					}
					row[j*d+k] += v
				}
				add(r, q.lambda*node[1], at*d, row)
			}
		}
		return sum
	}
	damping := 1e-3
	grad, next, step := make([]float64, n), make([]float64, n), mat.NewVecDense(n, nil)
	for range fitSteps {
		info := mat.NewSymBandDense(n, 4*d-1, nil)
		clear(grad)
		value := system(q.c, grad, info)
		if math.IsNaN(value) || math.IsInf(value, 0) {
			return false
		}
		for {
			damped := mat.NewSymBandDense(n, 4*d-1, slices.Clone(info.RawSymBand().Data))
			for i := range n {
				damped.SetSymBand(i, i, damped.At(i, i)*(1+damping)+1e-12)
			}
			var chol mat.BandCholesky
			after := math.NaN()
			if chol.Factorize(damped) && chol.SolveVecTo(step, mat.NewVecDense(n, grad)) == nil {
				for i, v := range q.c {
					next[i] = v - step.AtVec(i)
				}
				after = system(next, nil, nil)
			}
			if after <= value {
				copy(q.c, next)
				damping = max(damping/10, 1e-12)
				if value-after <= 1e-12*value {
					return true
				}
				break
			}
			if damping *= 10; damping > 1e12 {
				return mat.Norm(step, 2) < 1e-8*mat.Norm(mat.NewVecDense(n, q.c), 2)
			}
		}
	}
	return false
}

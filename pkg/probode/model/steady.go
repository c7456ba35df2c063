package model

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/lapack"
	lapackgonum "gonum.org/v1/gonum/lapack/gonum"
	"gonum.org/v1/gonum/mat"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/field"
	"github.com/probode/probode/pkg/probode/methods"
)

// A steadyFinder finds the steady state that the solution approaches, and its
// derivatives. It keeps the last one, because many solves need it at the same θ. Any
// number of goroutines may use it.
type steadyFinder struct {
	q     *probode.Problem
	along []int // elements of θ on which the states depend

	// period, if not nil, returns the time after which the experiment repeats, and its
	// derivatives. The steady state is then the state at the beginning of every period.
	period func(theta []float64) (t float64, slope []float64)

	mutex sync.Mutex
	ctx   context.Context // the context that ends the search
	theta []float64       // θ at which the last steady state was found; nil if there is none
	x     []float64
	slope []float64 // d×len(theta); nil if it was not needed
	err   error
}

func newSteadyFinder(q *probode.Problem, along []int) *steadyFinder {
	return &steadyFinder{q: q, along: along, ctx: context.Background()}
}

func (r *steadyFinder) within(ctx context.Context) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.ctx = ctx
}

func (r *steadyFinder) failed() error {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	return r.err
}

// state returns NaN if there is no steady state, and its derivatives if `slopes` is true.
func (r *steadyFinder) state(theta []float64, slopes bool) (x, slope []float64) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	moved := !slices.Equal(theta, r.theta)
	if moved || slopes && r.slope == nil {
		r.theta = slices.Clone(theta)
		switch {
		case r.period != nil:
			r.x, r.slope, r.err = r.periodic(theta)
		case moved:
			r.x, r.slope, r.err = r.find(theta, false)
		}
		if slopes && r.err == nil && r.period == nil {
			if r.slope = r.implicit(theta, r.x); r.slope == nil {
				r.x, r.slope, r.err = r.find(theta, true)
			}
		}
		if r.err != nil {
			r.x = nanRow(r.q.Dim())
			r.slope = nanRow(r.q.Dim() * len(theta))
			if errors.Is(r.err, context.Canceled) || errors.Is(r.err, context.DeadlineExceeded) {
				r.theta = nil // the next call searches again
			}
		}
	}
	return r.x, r.slope
}

const (
	restTolerance = 1e-10
	// The state is steady if no component has changed over the last two spans by more
	// than `settled` times its largest absolute value so far.
	settled = 1e-11
	// The search ends with an error at the time restLast after the start.
	restLast = 1e14
)

// find solves over spans that end 1, 10, 100, … after the start, until states and
// derivatives have not changed over two spans. All events at known times are in the first
// span, so that none of them is at the end of one span and at the start of the next.
func (r *steadyFinder) find(theta []float64, slopes bool) (x, slope []float64, err error) {
	d, n, start := r.q.Dim(), len(theta), r.q.Span[0]
	now := *r.q
	now.Span = [2]float64{start, max(start, lastSwitch(r.q, theta, start+restLast)) + 1}
	peak, quiet := make([]float64, d), 0
	for {
		x2, slope2, err := r.solve(methods.Radau{}, &now, theta, slopes)
		if err != nil {
			return nil, nil, err
		}
		if calm(x, x2, slope, slope2, peak) {
			quiet++
		} else {
			quiet = 0
		}
		if x, slope = x2, slope2; quiet >= 2 {
			return x, slope, nil
		}
		if now.Span[1]-start >= restLast {
			return nil, nil, fmt.Errorf("%s: the model did not reach a steady state within %g time units", r.q.Name, restLast)
		}
		now.Span = [2]float64{now.Span[1], start + 10*(now.Span[1]-start)}
		now.Start = func(x0, _ []float64) { copy(x0, x) }
		now.StartTheta = func(dst, _ []float64) { copy(dst[:d*n], slope) }
		now.Events = slices.Clone(now.Events)
		for k := range now.Events {
			now.Events[k].AtStart = false
		}
	}
}

// periodic solves φ(x) = x by Newton's method, where φ(x) is the state one period after x.
// The derivatives follow from (I − ∂φ/∂x) dx = ∂φ/∂θ dθ.
func (r *steadyFinder) periodic(theta []float64) (x, slope []float64, err error) {
	const most, plain = 60, 3 // iterations; the first ones bring x near the steady state
	d, n, start := r.q.Dim(), len(theta), r.q.Span[0]
	length, slopes := r.period(theta)
	if !(length > 0 && length <= math.MaxFloat64) {
		return nil, nil, fmt.Errorf("%s: the interval of the doses is %g: want a finite number > 0", r.q.Name, length)
	}
	q := r.q.Wrapped(field.Wrap{More: d})
	q.Span = [2]float64{start, start + length}
	q.Start = func(x0, all []float64) { copy(x0, all[n:]) }
	q.StartTheta = func(dst, _ []float64) {
		for k := range d {
			dst[k*(n+d)+n+k] = 1
		}
	}
	whole := &steadyFinder{q: q, along: slices.Clone(r.along), ctx: r.ctx}
	for k := range d {
		whole.along = append(whole.along, n+k)
	}
	all, f, peak := append(slices.Clone(theta), make([]float64, d)...), make([]float64, d), make([]float64, d)
	x = all[n:]
	r.q.Initial(x, theta)
	for i := range most {
		end, jac, err := whole.solve(methods.Auto{}, q, all, i >= plain)
		if err != nil {
			return nil, nil, err
		}
		if i < plain {
			calm(nil, end, nil, nil, peak)
			copy(x, end)
			continue
		}
		q.F(f, math.Nextafter(q.Span[1], start), end, all)
		a, right := mat.NewDense(d, d, nil), mat.NewDense(d, n+1, nil)
		for k := range d {
			for j := range d {
				a.Set(k, j, -jac[k*(n+d)+n+j])
			}
			a.Set(k, k, 1+a.At(k, k))
			for j := range n {
				right.Set(k, j, jac[k*(n+d)+j]+f[k]*slopes[j])
			}
			right.Set(k, n, end[k]-x[k])
		}
		var dx mat.Dense
		if err := dx.Solve(a, right); err != nil {
			return nil, nil, fmt.Errorf("%s: the doses lead to no steady state", r.q.Name)
		}
		done := true
		for k := range d {
			peak[k] = max(peak[k], math.Abs(end[k]))
			done = done && math.Abs(dx.At(k, n)) <= 100*restTolerance*peak[k]
			x[k] += dx.At(k, n)
		}
		if done {
			slope = make([]float64, d*n)
			for i := range slope {
				slope[i] = dx.At(i/n, i%n)
			}
			return slices.Clone(x), slope, nil
		}
	}
	return nil, nil, fmt.Errorf("%s: the doses lead to no steady state within %d intervals", r.q.Name, most)
}

// lastSwitch returns −Inf if no event comes before `end`. A state at rest triggers no
// events.
func lastSwitch(q *probode.Problem, theta []float64, end float64) float64 {
	last := math.Inf(-1)
	for _, e := range q.Events {
		t := e.Time
		switch {
		case e.Trigger != nil:
			continue
		case e.When != nil:
			t = e.When(theta)
		}
		if t < end {
			last = max(last, t)
		}
	}
	return last
}

// solve is by Radau over spans of any length, where steps soon exceed all times of the
// model. An interval between doses often needs no implicit steps.
func (r *steadyFinder) solve(m probode.Method, q *probode.Problem, theta []float64, slopes bool) (x, slope []float64, err error) {
	mesh := probode.Adaptive{Tolerance: probode.Tolerance{Relative: restTolerance}}
	path, err := probode.Setup{Method: m, Mesh: mesh}.Bind(r.ctx, q, theta, q.Span[1:])
	if err != nil {
		return nil, nil, err
	}
	d, n, along := q.Dim(), len(theta), len(r.along)
	x = make([]float64, d)
	if !slopes {
		return x, nil, path.States(r.ctx, x, theta, nil)
	}
	if path, err = path.(probode.Holdable).Hold(r.ctx, theta); err != nil {
		return nil, nil, err
	}
	directions, dx := make([]float64, along*n), make([]float64, along*d)
	for i, j := range r.along {
		directions[i*n+j] = 1
	}
	if err := path.(probode.Tangential).Tangents(r.ctx, x, dx, theta, directions, nil); err != nil {
		return nil, nil, err
	}
	slope = make([]float64, d*n)
	for i, j := range r.along {
		for k := range d {
			slope[k*n+j] = dx[i*d+k]
		}
	}
	return x, slope, nil
}

// realParts does what mat.Eigen does for up to 75 rows. mat.Eigen also computes
// eigenvectors, and would make the playground 2.5 % larger.
func realParts(a *mat.Dense) ([]float64, error) {
	h := mat.DenseCopyOf(a).RawMatrix()
	n := h.Rows
	re, im, scale, work := make([]float64, n), make([]float64, n), make([]float64, n), make([]float64, n)
	var l lapackgonum.Implementation
	first, last := l.Dgebal(lapack.PermuteScale, n, h.Data, h.Stride, scale)
	l.Dgehd2(n, first, last, h.Data, h.Stride, make([]float64, n-1), work)
	for i := range re { // the eigenvalues that Dgebal has found
		re[i] = h.Data[i*h.Stride+i]
	}
	if l.Dlahqr(false, false, n, first, last, h.Data, h.Stride, re[:last+1], im[:last+1], 0, n-1, nil, 1) != 0 {
		return nil, errors.New("the eigenvalues were not found")
	}
	return re, nil
}

// implicit computes the derivatives of x, f(x, θ) = 0, from J dx = −∂f/∂θ dθ. J is
// singular if linear combinations ℓᵀx are conserved, and each of them adds the equation
// ℓᵀdx = ℓᵀdx₀. The result is nil if it could be wrong: f depends on time, J has an
// eigenvalue with a positive real part, or is nearly singular for another reason.
// Derivatives by integration take far longer.
func (r *steadyFinder) implicit(theta, x []float64) []float64 {
	const small = 1e-9 // relative size of singular values and residuals that count as zero
	q, d, n := r.q, r.q.Dim(), len(theta)
	if !q.Autonomous || n == 0 {
		return nil
	}
	f, jac, slopes := make([]float64, d), q.Field().NewJacobian(), make([]float64, d*n)
	q.FJ(f, jac.A, q.Span[0], x, theta)
	q.FTheta(slopes, q.Span[0], x, theta)
	unit, row := make([]float64, d), make([]float64, d) // sizes of the states and of the equations
	for k, v := range x {
		if unit[k] = math.Abs(v); v == 0 {
			unit[k] = 1
		}
	}
	a := mat.NewDense(d, d, nil)
	for i := range d {
		for j := range d {
			a.Set(i, j, jac.At(i, j)*unit[j]/unit[i])
			row[i] = max(row[i], math.Abs(a.At(i, j)))
		}
		if row[i] == 0 {
			row[i] = 1
		}
	}
	growth, err := realParts(a)
	if err != nil || !(slices.Max(growth) <= small*slices.Max(row)) {
		return nil
	}
	for i := range d {
		for j := range d {
			a.Set(i, j, a.At(i, j)/row[i])
		}
	}
	var svd mat.SVD
	if !svd.Factorize(a, mat.SVDFull) {
		return nil
	}
	values := svd.Values(nil)
	rank := d
	for rank > 0 && values[rank-1] <= small*values[0] {
		rank--
	}
	var left mat.Dense
	svd.UTo(&left)
	laws := make([][]float64, d-rank) // in terms of the states
	for m := range laws {
		laws[m] = make([]float64, d)
		for k := range d {
			laws[m][k] = left.At(k, rank+m) / (row[k] * unit[k])
		}
		if len(q.Events) > 0 || !r.conserved(laws[m], theta, x) {
			return nil
		}
	}
	start := make([]float64, d*n)
	if rank < d {
		q.StartTheta(start, theta)
	}
	all, right := mat.NewDense(2*d-rank, d, nil), mat.NewDense(2*d-rank, n, nil)
	for i := range d {
		for j := range d {
			all.Set(i, j, a.At(i, j))
		}
		for j := range n {
			right.Set(i, j, -slopes[i*n+j]/(unit[i]*row[i]))
		}
	}
	for m, law := range laws {
		var size float64
		for k, v := range law {
			size = max(size, math.Abs(v*unit[k]))
		}
		for k, v := range law {
			all.Set(d+m, k, v*unit[k]/size)
			for j := range n {
				right.Set(d+m, j, right.At(d+m, j)+v/size*start[k*n+j])
			}
		}
	}
	var dx mat.Dense
	if dx.Solve(all, right) != nil {
		return nil
	}
	for k := range d {
		for j := range n {
			slopes[k*n+j] = dx.At(k, j) * unit[k]
		}
	}
	return slopes
}

// conserved takes lawᵀx as constant if lawᵀf is zero up to rounding at three random
// states.
func (r *steadyFinder) conserved(law, theta, x []float64) bool {
	rng := rand.New(rand.NewPCG(1, 1))
	f, at := make([]float64, len(x)), make([]float64, len(x))
	for range 3 {
		for k, v := range x {
			at[k] = (v + 0.1*floats.Norm(x, math.Inf(1))) * (0.5 + rng.Float64())
		}
		r.q.F(f, r.q.Span[0], at, theta)
		var sum, size float64
		for k, v := range law {
			sum, size = sum+v*f[k], size+math.Abs(v*f[k])
		}
		if !(math.Abs(sum) <= 1e-9*size) {
			return false
		}
	}
	return true
}

// calm reports whether changes relative to the largest absolute values so far, which it
// updates in peak, are at most `settled` for states and a thousand times that for
// derivatives.
func calm(x, x2, slope, slope2, peak []float64) bool {
	same, n := x != nil, len(slope2)/len(x2)
	for k, v := range x2 {
		peak[k] = max(peak[k], math.Abs(v))
		same = same && math.Abs(v-x[k]) <= settled*peak[k]
		for i := k * n; same && i < (k+1)*n; i++ {
			same = math.Abs(slope2[i]-slope[i]) <= 1e3*settled*(math.Abs(slope2[i])+peak[k])
		}
	}
	return same
}

// atRest returns a problem whose solution is the steady state.
func (r *steadyFinder) atRest(length float64) *probode.Problem {
	s := *r.q
	s.Name += ", steady state"
	s.Span, s.Events, s.Band, s.Autonomous = [2]float64{s.Span[0], s.Span[0] + length}, nil, nil, true
	s.Start = func(x0, theta []float64) {
		x, _ := r.state(theta, false)
		copy(x0, x)
	}
	s.StartTheta = func(dst, theta []float64) {
		_, slope := r.state(theta, true)
		copy(dst, slope)
	}
	s.F = func(dst []float64, _ float64, _, _ []float64) { clear(dst) }
	s.FJ = func(f, jac []float64, _ float64, _, _ []float64) { clear(f); clear(jac) }
	s.FTheta = func(dst []float64, _ float64, _, _ []float64) { clear(dst) }
	s.Pullback = func(_, _, _ []float64, _ float64, _, _ []float64) float64 { return 0 }
	return &s
}

func nanRow(n int) []float64 {
	row := make([]float64, n)
	for i := range row {
		row[i] = math.NaN()
	}
	return row
}

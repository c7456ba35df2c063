package model

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sort"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/methods"
)

// A run is how an experiment is solved: on a grid of an error-controlled run
// of its own at every θ, so that the times of data are points of it.
type run struct {
	method probode.Method
	probode.Tolerance
	max, step float64 // MaxStep and StepSize of LikelihoodSettings
}

// most is the number of values of derivatives of a path that are held at once.
const most = 1 << 22

// mesh returns the rule for the grid of q.
func (r run) mesh(q *probode.Problem) probode.Mesh {
	mesh := probode.Frozen{Tolerance: r.Tolerance}
	switch {
	case r.step > 0:
		return probode.Through(r.step)
	case r.max > 0 && !math.IsInf(r.max, 1):
		mesh.Max = r.max
	case r.max == 0 && !q.Autonomous:
		// A pulse in f(t) that is no piecewise, such as a Gaussian, must not
		// fall between two steps.
		mesh.Max = (q.Span[1] - q.Span[0]) / 128
	}
	return mesh
}

// solve returns the states of q at the given times, increasing and in the span,
// len(times)×d, and their derivatives along M directions of θ, M×len(theta), at
// those very times, len(times)×d×M. when are the derivatives of the times of
// the events of q.
func (r run) solve(ctx context.Context, q *probode.Problem, theta, directions []float64, when []*program, times []float64) (x, dx []float64, err error) {
	d, n := q.Dim(), len(theta)
	g, err := probode.Setup{Method: r.method, Mesh: r.mesh(q)}.Grid(ctx, q, theta, times)
	if err != nil {
		return nil, nil, err
	}
	s, err := probode.NewSolver(q, r.method, g, 0)
	if err != nil {
		return nil, nil, err
	}
	defer s.Bind(ctx)()
	z := make([]float64, s.PathLen())
	x = make([]float64, len(times)*d)
	read := func() ([]int, error) {
		index, err := s.Grid().Index(times)
		for k, i := range index {
			copy(x[k*d:(k+1)*d], z[i*d:])
		}
		return index, err
	}
	if len(directions) == 0 {
		if err = s.Solve(z, theta, nil); err == nil {
			_, err = read()
		}
		return x, nil, err
	}

	all := len(directions) / n
	dx = make([]float64, len(times)*d*all)
	each := max(1, min(all, most/len(z)))
	var dz []float64
	for first := 0; first < all; first += each {
		m := min(each, all-first)
		if len(dz) != m*len(z) {
			dz = make([]float64, m*len(z))
		}
		part := directions[first*n : (first+m)*n]
		if err := s.SolveTangents(z, dz, theta, part, nil); err != nil {
			return nil, nil, err
		}
		index, err := read()
		if err != nil {
			return nil, nil, err
		}
		for k, i := range index {
			for c := range d {
				copy(dx[(k*d+c)*all+first:][:m], dz[(i*d+c)*m:])
			}
		}
		fix(q, s.Grid(), theta, part, when, index, x, dx[first:], all)
	}
	return x, dx, nil
}

// fix turns derivatives at grid points, which move with events, into those at
// the times where these are:
//
//	dx/dθ at fixed t = dx/dθ at the moving point − f(t, x) dt/dθ.
//
// dx begins with that of the first of the directions, of which there are all in
// a row.
func fix(q *probode.Problem, g *probode.Grid, theta, directions []float64, when []*program, index []int, x, dx []float64, all int) {
	n, d := len(theta), q.Dim()
	m := len(directions) / n
	// The events in the order of the grid, as it keeps them.
	type mark struct {
		time   float64
		inside bool
		slope  []float64 // by direction
	}
	var marks []mark
	moving := false
	for k := range q.Events {
		e := &q.Events[k]
		w := mark{time: e.Time, slope: make([]float64, m)}
		if e.When != nil {
			w.time, moving = e.When(theta), true
		}
		w.inside = w.time >= q.Span[0] && w.time <= q.Span[1]
		if e.When != nil && w.inside {
			slopes := make([]float64, when[k].outputs)
			when[k].eval1(slopes, theta[:len(slopes)])
			for i := range m {
				for j, v := range slopes {
					if along := directions[i*n+j]; along != 0 {
						w.slope[i] += v * along
					}
				}
			}
		}
		if e.When != nil || w.inside {
			marks = append(marks, w)
		}
	}
	if !moving {
		return
	}
	sort.SliceStable(marks, func(a, b int) bool { return marks[a].time < marks[b].time })
	t, f := g.Times(), make([]float64, d)
	for j, at := 0, 0; at < len(t); j++ {
		from, to := g.Segment(min(at, len(t)-2))
		left, right := make([]float64, m), make([]float64, m)
		if j > 0 {
			left = marks[j-1].slope
		}
		if j < len(marks) {
			right = marks[j].slope
		}
		for k, i := range index {
			if i < from || i > to {
				continue
			}
			w, now := 0., t[i]
			if t[to] > t[from] {
				w = (t[i] - t[from]) / (t[to] - t[from])
			}
			if i == from && j > 0 && marks[j-1].inside {
				now = math.Nextafter(now, math.Inf(1))
			} else if i == to && j < len(marks) && marks[j].inside {
				now = math.Nextafter(now, math.Inf(-1))
			}
			q.F(f, now, x[k*d:(k+1)*d], theta)
			for c := range d {
				for b := range m {
					if dt := (1-w)*left[b] + w*right[b]; dt != 0 {
						dx[(k*d+c)*all+b] -= f[c] * dt
					}
				}
			}
		}
		at = to + 1
	}
}

// settled bounds the change of a steady state over the last two of the spans,
// each ten times the one before, relative to the largest value of each state.
const settled = 1e-11

// steady returns the state to which q comes from its start, and its derivatives
// along directions, d×M, by solving on to the times 1, 10, 100, … after the start until over
// two of these spans neither changes.
func (r run) steady(ctx context.Context, q *probode.Problem, theta, directions []float64, when []*program) (x, dx []float64, err error) {
	if r.step > 0 {
		r = run{method: methods.Radau{}, Tolerance: relative(1e-10)}
	}
	const last = 1e14
	d, n, m := q.Dim(), len(theta), 0
	if n > 0 {
		m = len(directions) / n
	}
	now := *q
	start := q.Span[0]
	now.Span = [2]float64{start, start + 1}
	at, along := theta, directions
	peak, quiet := make([]float64, d), 0
	for {
		x2, dx2, err := r.solve(ctx, &now, at, along, when, now.Span[1:])
		if err != nil {
			return nil, nil, err
		}
		if calm(x, x2, dx, dx2, peak, m) {
			quiet++
		} else {
			quiet = 0
		}
		if x, dx = x2, dx2; quiet >= 2 {
			return x, dx, nil
		}
		if now.Span[1]-start >= last {
			return nil, nil, fmt.Errorf("%s: no steady state by time %g", q.Name, last)
		}
		// From here on, with the state as d more components of θ.
		restart := *q
		restart.Span = [2]float64{now.Span[1], start + 10*(now.Span[1]-start)}
		restart.Theta = make([]float64, n+d)
		restart.Params = nil
		restart.Start = func(x0, theta []float64) { copy(x0, theta[n:]) }
		restart.F = func(dst []float64, t float64, x, theta []float64) { q.F(dst, t, x, theta[:n:n]) }
		restart.FJ = func(f, jac []float64, t float64, x, theta []float64) { q.FJ(f, jac, t, x, theta[:n:n]) }
		restart.FTheta = nil
		if q.FTheta != nil {
			restart.FTheta = func(dst []float64, t float64, x, theta []float64) {
				q.FTheta(dst[:n*d], t, x, theta[:n:n])
				widen(dst, d, n, n+d)
			}
		}
		now = restart
		at = append(slices.Clone(theta), x...)
		along = extend(directions, dx, n, d, m)
	}
}

// extend returns the M directions in n parameters with the derivatives of a
// state, d×M, as d components more.
func extend(directions, dx []float64, n, d, m int) []float64 {
	wide := make([]float64, m*(n+d))
	for i := range m {
		row := wide[i*(n+d) : (i+1)*(n+d)]
		copy(row, directions[i*n:(i+1)*n])
		for k := range d {
			row[n+k] = dx[k*m+i]
		}
	}
	return wide
}

// start writes the initial state behind the steady state of preequilibration,
// NaN if there is none.
func (c *compiled) start(x0, theta []float64) {
	if rest(c.pre, x0, theta) {
		c.ode.Start(x0, append(slices.Clone(theta), x0...))
	}
}

// rest writes the steady state of q, NaN if there is none, and reports whether
// there is one.
func rest(q *probode.Problem, x0, theta []float64) bool {
	r := run{method: methods.Radau{}, Tolerance: relative(1e-10)}
	x, _, err := r.steady(context.Background(), q, theta, nil, nil)
	if err != nil {
		for k := range x0 {
			x0[k] = math.NaN()
		}
		return false
	}
	copy(x0, x)
	return true
}

// atRest returns a problem that begins at the steady state of q, NaN if it has
// none, and stays there.
func atRest(q *probode.Problem) *probode.Problem {
	s := *q
	s.Name += ", steady state"
	s.Span, s.Events, s.Band, s.Autonomous = [2]float64{q.Span[0], q.Span[0] + 1}, nil, nil, true
	s.Start = func(x0, theta []float64) { rest(q, x0, theta) }
	s.F = func(dst []float64, _ float64, _, _ []float64) { clear(dst) }
	s.FJ = func(f, jac []float64, _ float64, _, _ []float64) { clear(f); clear(jac) }
	s.FTheta = func(dst []float64, _ float64, _, _ []float64) { clear(dst) }
	return &s
}

func isCancel(err error) bool {
	return errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}

// calm says whether states and their derivatives, M of them each, are what
// they were before, and updates the largest size of each.
func calm(x, x2, dx, dx2, peak []float64, m int) bool {
	same := x != nil
	for k, v := range x2 {
		peak[k] = max(peak[k], math.Abs(v))
		same = same && math.Abs(v-x[k]) <= settled*peak[k]
		for i := k * m; same && i < (k+1)*m; i++ {
			same = math.Abs(dx2[i]-dx[i]) <= 1e3*settled*(math.Abs(dx2[i])+peak[k])
		}
	}
	return same
}

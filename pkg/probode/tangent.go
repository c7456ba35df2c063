package probode

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/probode/probode/pkg/probode/field"
	"github.com/probode/probode/pkg/probode/internal/vector"
)

// The code in this file computes the derivative of a path. For fixed ξ and a fixed grid,
// the path Z(θ, ξ) is a smooth function of θ. The gradient of a function of the path,
// such as a likelihood, follows from the derivative of the path. The derivative of the
// path is computed along with the path, step by step.

// Tangents are M directions in which a step is differentiated.
type Tangents struct {
	M     int
	Theta []float64 // derivative of θ, M×p row-major
	X     []float64 // derivative of the state at the beginning of the step, M×d

	// Time holds the M derivatives of Step.T, and Length holds the M derivatives of the
	// length of the step. Time and Length are nil if event times do not depend on θ.
	Time, Length []float64
	// Scale is an M×n matrix of the derivatives of the scales of the n normal variates.
	// Scale is nil if the scales are constant.
	Scale []float64
}

// Direction returns direction m: the derivatives of θ, of the state, of Step.T and of
// the length of the step.
func (t *Tangents) Direction(m int) (theta, x []float64, time, length float64) {
	if t.Time != nil {
		time, length = t.Time[m], t.Length[m]
	}
	p, d := len(t.Theta)/t.M, len(t.X)/t.M
	return t.Theta[m*p : (m+1)*p], t.X[m*d : (m+1)*d], time, length
}

// AddNoise computes the derivative of `scale` × ξ in direction m, and adds it to dst.
func (t *Tangents) AddNoise(dst []float64, m int, xi []float64) {
	if t.Scale == nil {
		return
	}
	for k, v := range xi {
		dst[k] += t.Scale[m*len(xi)+k] * v
	}
}

// SolveTangents computes the same path as Solve, and also the derivative of Z along M
// directions in θ, with ξ and α fixed. The derivative is written to dz. The argument
// `dtheta` holds the directions as a row-major M×p matrix. The elements of dz are
//
//	dz[m*len(z) + i*d+k] = Σⱼ ∂Z_{ik}/∂θⱼ · dtheta[m*p+j].
//
// If dtheta is the identity matrix, the result is ∂Z/∂θ. If event times depend on θ, the
// grid points between events also depend on θ, and the result is the derivative of the
// state at the moving grid points.
//
// With Problem.FJ and Problem.FTheta the derivative is exact up to rounding. If FJ or
// FTheta is missing, finite differences of F are used instead, and the relative error is
// about 10⁻⁷. If the Stepper of the method has no Differentiate, the derivative in each
// direction is a central difference of two solutions.
//
// If F takes little time, each direction costs as much as three to six solves with an
// explicit method, and about as much as one solve with most implicit methods. For d ≤ 3,
// the steps of adams.Moulton are especially fast, so each direction costs as much as 2 to
// 12 solves.
func (s *Solver) SolveTangents(z, dz, theta, dtheta, xi []float64) error {
	p, m := len(s.p.Theta), 0
	if p > 0 {
		m = len(dtheta) / p
	}
	if len(dtheta) != m*p || len(dz) != m*s.PathLen() {
		panic(fmt.Sprintf("probode: dtheta has length %d and dz has length %d: want lengths M·%d and M·%d, where M is the number of directions", len(dtheta), len(dz), p, s.PathLen()))
	}
	if m == 0 {
		return s.Solve(z, theta, xi)
	}
	if err := s.apart(theta); err != nil {
		return err
	}
	if s.step.Differentiate == nil {
		return Differences(z, dz, theta, dtheta, func(z, theta []float64) error { return s.Solve(z, theta, xi) })
	}
	if s.tangents == nil || s.tangents.M != m {
		s.tangents = newTangentRun(s, m)
	}
	s.tangents.dz, s.tangents.Theta, s.follower = dz, dtheta, s.tangents
	defer func() { s.follower = nil }()
	return s.exists(func() error { return s.Solve(z, theta, xi) }, dz)
}

// apart returns an error if two events happen at the same time, up to rounding, but θ moves
// them differently. The derivative of a path then depends on f between the two events, and
// no time between them exists at which f could be evaluated.
func (s *Solver) apart(theta []float64) error {
	if !s.g.moving {
		return nil
	}
	if err := s.MoveTo(theta); err != nil {
		return err
	}
	for j := 1; j < len(s.g.events); j++ {
		a, b := s.g.events[j-1], s.g.events[j]
		if !a.inside || !b.inside || b.time-a.time > 8*epsilon*math.Abs(b.time) || a.event.When == nil && b.event.When == nil {
			continue
		}
		at := slices.Clone(theta)
		for k, v := range theta {
			h := cmp.Or(field.Central*math.Abs(v), field.Central)
			at[k] = v + h
			gap := b.event.at(at) - a.event.at(at)
			at[k] = v - h
			if gap -= b.event.at(at) - a.event.at(at); math.Abs(gap) > 1e-3*h {
				return fmt.Errorf("%s: the solution has no derivative at t = %.6g, because %s and %s happen at the same time and %s moves them apart", s.p.Title(), b.time, a.title, b.title, s.p.ParamName(k))
			}
			at[k] = v
		}
	}
	return nil
}

// exists computes derivatives of a path with the function compute, and
// returns an error if they do not exist. The slices `to` hold the derivatives.
func (s *Solver) exists(compute func() error, to ...[]float64) error {
	r := s.replaced
	r.T = math.NaN()
	if err := compute(); err != nil {
		return err
	}
	if at := r.T; at == at {
		var first [][]float64
		for _, v := range to {
			first = append(first, slices.Clone(v))
		}
		r.Short = true
		err := compute()
		if r.Short = false; err != nil {
			return err
		}
		for k, list := range to {
			small := 1e-9 * vector.MaxAbs(list)
			for i, v := range list {
				if w := first[k][i]; !(math.Abs(v-w) <= 1e-3*max(math.Abs(v), math.Abs(w))+small) {
					return fmt.Errorf("%s, %v: the derivative of the solution with respect to the parameters does not exist: a derivative of f is infinite at t = %g", s.p.Title(), s.m, at)
				}
			}
		}
	}
	for _, list := range to {
		if !vector.Finite(list) {
			return fmt.Errorf("%s, %v: a derivative of the solution with respect to the parameters is NaN or infinite", s.p.Title(), s.m)
		}
	}
	return nil
}

// Differences computes states and their derivatives, like Path.Tangents. The derivatives
// are central differences of states, which computes the states for θ and writes them to
// dst.
func Differences(dst, ddst, theta, dtheta []float64, states func(dst, theta []float64) error) error {
	p := len(theta)
	at, left := make([]float64, p), make([]float64, len(dst))
	for k := range len(ddst) / len(dst) {
		along, slopes := dtheta[k*p:(k+1)*p], ddst[k*len(dst):(k+1)*len(dst)]
		eps := field.Central * reachOf(theta, along)
		if math.IsInf(eps, 1) {
			clear(slopes)
			continue
		}
		for side, to := range [2][]float64{dst, left} {
			copy(at, theta)
			vector.AddScaled(at, eps*float64(1-2*side), along)
			if err := states(to, at); err != nil {
				return err
			}
		}
		for i := range slopes {
			slopes[i] = (dst[i] - left[i]) / (2 * eps)
		}
	}
	return states(dst, theta)
}

// reachOf returns the largest number r for which adding r × along to theta changes no
// component by more than 100 %.
func reachOf(theta, along []float64) float64 {
	var most float64
	for k, v := range along {
		size := cmp.Or(math.Abs(theta[k]), 1)
		most = max(most, math.Abs(v)/size)
	}
	return 1 / most
}

// A tangentRun computes derivatives while a Solver computes a path.
type tangentRun struct {
	Tangents
	s     *Solver
	dz    []float64
	next  []float64 // M×d
	marks []float64 // derivatives of the times of events, in order of time, a row of M each
	time  []float64 // workspace of Time, Length and Scale
	len   []float64
	scale []float64

	x, theta, left, right []float64
}

func newTangentRun(s *Solver, m int) *tangentRun {
	d, p := s.d, len(s.p.Theta)
	return &tangentRun{Tangents: Tangents{M: m, X: make([]float64, m*d)}, s: s, next: make([]float64, m*d),
		marks: make([]float64, m*len(s.g.events)), time: make([]float64, m), len: make([]float64, m), scale: make([]float64, m*max(d, s.noise.Normals)),
		x: make([]float64, d), theta: make([]float64, p), left: make([]float64, d), right: make([]float64, d)}
}

// start sets the derivatives of the initial state and of the event times. The derivatives
// of the event times are central differences. If Problem.StartTheta is nil, the
// derivative of the initial state is also a central difference.
func (w *tangentRun) start(theta []float64) {
	d := w.s.d
	clear(w.marks)
	clear(w.X)
	exact := w.s.p.StartTheta != nil
	if exact {
		p := len(theta)
		slopes := make([]float64, d*p) // ∂x₀/∂θ, mostly zeros
		w.s.p.StartTheta(slopes, theta)
		for k, v := range slopes {
			if v == 0 {
				continue
			}
			for m := range w.M {
				w.X[m*d+k/p] += v * w.Theta[m*p+k%p]
			}
		}
	}
	for m := range w.M {
		along, dx, _, _ := w.Direction(m)
		eps := field.Central * reachOf(theta, along)
		if math.IsInf(eps, 1) {
			continue
		}
		for _, side := range [2]float64{eps, -eps} {
			copy(w.theta, theta)
			vector.AddScaled(w.theta, side, along)
			if w.s.p.Start != nil && !exact {
				w.s.p.Initial(w.x, w.theta)
				vector.AddScaled(dx, 0.5/side, w.x)
			}
			for j, e := range w.s.g.events {
				if e.event.When != nil && e.inside {
					w.marks[j*w.M+m] += 0.5 / side * e.event.When(w.theta)
				}
			}
		}
	}
	w.Time, w.Length = nil, nil
	if w.s.g.moving {
		w.Time, w.Length = w.time, w.len
	}
	w.store(0, d)
}

// store copies the derivative of the state at grid point i from X to dz.
func (w *tangentRun) store(i, d int) {
	for m := range w.M {
		to := row(w.dz, m*len(w.s.g.t)+i, d)
		for k, v := range row(w.X, m, d) {
			to[k] = v
		}
	}
}

// step updates the derivatives after step i. The argument xi holds the normal variates of
// the step, and is nil for a step without noise.
func (w *tangentRun) step(i, seg int, z, theta, xi []float64) error {
	s := w.s
	if s.g.t[i] == s.g.t[i+1] {
		w.store(i+1, s.d)
		return nil
	}
	w.Scale = nil
	if w.Time != nil {
		part := &s.g.seg[seg]
		a, b := part.frac[i-part.from], part.frac[i+1-part.from]
		for m := range w.M {
			from, to := w.ends(seg, m)
			w.time[m], w.len[m] = from+a*(to-from), (b-a)*(to-from)
		}
		if xi != nil && s.scaling != ScaleLocal {
			w.Scale = w.scale[:w.M*len(xi)]
			for m := range w.M {
				for k := range xi {
					w.Scale[m*len(xi)+k] = s.scale[k] * s.noise.Exponent * w.len[m] / s.g.H(i)
				}
			}
		}
	}
	if err := s.step.Differentiate(w.next, s.taken(i, z, theta, xi, w.x), &w.Tangents); err != nil {
		return err
	}
	w.X, w.next = w.next, w.X
	w.store(i+1, s.d)
	return nil
}

// ends returns the derivatives, in direction m, of the times at which a segment begins
// and ends.
func (w *tangentRun) ends(seg, m int) (from, to float64) {
	if seg > 0 {
		from = w.marks[(seg-1)*w.M+m]
	}
	if seg < len(w.s.g.events) {
		to = w.marks[seg*w.M+m]
	}
	return from, to
}

// times differentiates the times of all grid points in direction m, and writes the
// derivatives to dst.
func (w *tangentRun) times(dst []float64, m int) {
	for seg := range w.s.g.seg {
		part := &w.s.g.seg[seg]
		from, to := w.ends(seg, m)
		for i, a := range part.frac {
			dst[part.from+i] = from + a*(to-from)
		}
	}
}

// jump updates the derivatives after event j. The event changes the state x at time t to
// the state at grid point i+1.
func (w *tangentRun) jump(j, i int, x, theta []float64, t float64) {
	s := w.s
	e := s.g.events[j]
	if !e.inside || e.event.Jump == nil {
		w.store(i+1, s.d)
		return
	}
	floor := cmp.Or(1e-3*vector.MaxAbs(x), 1)
	for m := range w.M {
		along, dx, _, _ := w.Direction(m)
		dt := w.marks[j*w.M+m]
		most := 1 / reachOf(theta, along)
		for k, v := range dx {
			most = max(most, math.Abs(v)/max(math.Abs(x[k]), floor))
		}
		if dt != 0 {
			most = max(most, math.Abs(dt)/(s.g.span[1]-s.g.span[0]))
		}
		if most == 0 {
			continue
		}
		eps := field.Central / most
		for _, side := range [2]float64{eps, -eps} {
			to := w.right
			if side < 0 {
				to = w.left
			}
			copy(to, x)
			vector.AddScaled(to, side, dx)
			copy(w.theta, theta)
			vector.AddScaled(w.theta, side, along)
			e.event.Jump(to, t+side*dt, w.theta)
		}
		for k := range dx {
			dx[k] = (w.right[k] - w.left[k]) / (2 * eps)
		}
	}
	w.store(i+1, s.d)
}

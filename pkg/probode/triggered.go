package probode

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/probode/probode/pkg/internal/memory"
	"github.com/probode/probode/pkg/probode/field"
	"github.com/probode/probode/pkg/probode/internal/trigger"
	"github.com/probode/probode/pkg/probode/internal/vector"
)

// errOtherEvents is returned if the events at the current θ differ from the events at the
// θ that was passed to Hold.
var errOtherEvents = errors.New("the events differ from those at the θ for which the steps were chosen: call Hold at this θ")

// The code in this file computes the derivative of a path of a problem with triggers. A
// run locates the times τ of the events. located makes a new problem that has an event at
// each of the times τ, and has τ as additional parameters. If the grid points move with
// τ, the states are a smooth function of (θ, τ). For each θ, the times τ solve the
// equations
//
//	gₙ(τₙ, x(τₙ; θ, τ), θ) = 0,   n = 1, 2, …
//
// Here gₙ is the trigger of event n, and x(τₙ) is the numerical solution just before this
// event. The n-th equation depends only on the times up to τₙ, so the derivative of the
// equations with respect to τ is a lower triangular matrix. The derivatives are those of
// the numerical solution on the moving grid, and include the jumps at the events.

// located returns a copy of p in which the events with triggers happen at the same times
// as in a run. If an event happened because its trigger crossed zero, the time of the
// event is an additional parameter of the copy. The additional parameters follow the
// parameters of p. The result `crossings` lists the events whose times are additional
// parameters. The slice which[n] lists the triggers that become positive at event n of
// the copy. The argument `met` contains the indices of the firings at the times of
// observations; the value is true if neither the state nor f jumps.
func (p *Problem) located(fired []trigger.Firing, met map[int]bool) (q *Problem, crossings []crossing, which map[int][]int) {
	var names []string
	var times []float64
	for i, f := range fired {
		if f.Cause == trigger.Crossing {
			smooth, seen := met[i]
			crossings = append(crossings, crossing{f, smooth, seen && !smooth})
			names, times = append(names, fmt.Sprintf("time %d", len(times)+1)), append(times, f.Time)
		}
	}
	q, which = p.widened(names, times), map[int][]int{}
	known, index := q.Events, make([]int, len(p.Events))
	var triggered []Event
	q.Events = nil
	for k, e := range known {
		if index[k] = len(q.Events); e.Trigger != nil {
			triggered = append(triggered, e)
		} else {
			q.Events = append(q.Events, e)
		}
	}
	chosen := func(first []Event, which []int) (jump Event) {
		for _, k := range which {
			first = append(first, triggered[k])
		}
		jump.Jump, jump.JumpPullback = joined(first)
		return jump
	}
	for _, f := range fired {
		switch f.Cause {
		case trigger.Crossing:
		case trigger.Start:
			start, after := q.Start, chosen(nil, f.Which).Jump
			q.StartTheta = nil
			q.Start = func(x0, theta []float64) {
				start(x0, theta)
				after(x0, p.Span[0], theta)
			}
		default:
			e := &q.Events[index[f.Cause]]
			both := chosen([]Event{*e}, f.Which)
			e.Jump, e.JumpPullback = both.Jump, both.JumpPullback
			which[index[f.Cause]] = f.Which
		}
	}
	for n, f := range crossings {
		which[len(q.Events)] = f.Which
		e := chosen(nil, f.Which)
		e.Name, e.SeenAfter = triggered[f.Which[0]].Name, !f.smooth
		e.When = func(theta []float64) float64 { return theta[len(p.Theta)+n] }
		q.Events = append(q.Events, e)
	}
	return q, crossings, which
}

// A crossing is an event that happens because its trigger crosses zero.
type crossing struct {
	trigger.Firing
	smooth bool // neither the state nor f jumps, and an observation is made at its time
	kink   bool // the state or f jumps, and an observation is made at its time
}

// joined returns two functions: `jump` applies the jumps of all events one after the
// other, and `pullback` pulls gradients back through the same jumps.
func joined(all []Event) (jump func(x []float64, t float64, theta []float64), pullback func(lambda, dtheta, x []float64, t float64, theta []float64) float64) {
	all = slices.DeleteFunc(all, func(e Event) bool { return e.Jump == nil })
	jump = func(x []float64, t float64, theta []float64) {
		for k := range all {
			all[k].Jump(x, t, theta)
		}
	}
	if slices.ContainsFunc(all, func(e Event) bool { return e.JumpPullback == nil }) {
		return jump, nil
	}
	return jump, func(lambda, dtheta, x []float64, t float64, theta []float64) (dt float64) {
		before := make([][]float64, len(all))
		for k := range all {
			before[k] = slices.Clone(x)
			x = slices.Clone(x)
			all[k].Jump(x, t, theta)
		}
		for k := len(all) - 1; k >= 0; k-- {
			dt += all[k].JumpPullback(lambda, dtheta, before[k], t, theta)
		}
		return dt
	}
}

// A locatedPath is a Path of a problem in which triggers determine the times of events. A
// locatedPath has derivatives, but no noise.
type locatedPath struct {
	path      *gridPath
	p         *Problem // as given
	crossings []crossing
	which     map[int][]int // the triggers that become positive at each event
	triggers  []*Event      // of p
	titles    []string
	first     []float64 // (θ, τ) at which the grid was made
	at        []float64 // (θ, τ) of the last solve
	slopes    []float64 // ∂gₙ/∂τₘ there
	sizes     []float64 // the largest absolute value of each component of the state
	work      int
}

func newLocatedPath(path *gridPath, p *Problem, first []float64, crossings []crossing, which map[int][]int) *locatedPath {
	l := &locatedPath{path: path, p: p, crossings: crossings, which: which, first: first, at: make([]float64, len(first)), slopes: make([]float64, len(crossings)*len(crossings)), sizes: make([]float64, p.Dim())}
	for k := range p.Events {
		if p.Events[k].Trigger != nil {
			l.triggers, l.titles = append(l.triggers, &p.Events[k]), append(l.titles, p.Events[k].title(k))
		}
	}
	return l
}

func (l *locatedPath) NoiseLen() int { return 0 }
func (l *locatedPath) Work() int     { return l.work }

func (l *locatedPath) Clone() Path {
	return newLocatedPath(l.path.Clone().(*gridPath), l.p, l.first, l.crossings, l.which)
}

// end returns the grid point just before event n.
func (l *locatedPath) end(n int) int {
	g, events := l.path.solver.g, l.path.solver.p.Events
	for j, m := range g.events {
		if m.number == len(events)-len(l.crossings)+n {
			return g.seg[j].to
		}
	}
	panic("probode: the time of an event is not a grid point")
}

// trigger returns the trigger that determines the time of event n.
func (l *locatedPath) trigger(n int) func(t float64, x, theta []float64) float64 {
	return l.triggers[l.crossings[n].Which[0]].Trigger
}

// along returns directional derivatives of triggers. The argument `directions` holds
// directions in (θ, τ). The trigger of each event is differentiated at the grid point
// just before the event.
func (l *locatedPath) along(directions []float64) ([]float64, error) {
	s, wide, d := l.path.solver, len(l.first), l.p.Dim()
	m := len(directions) / wide
	if err := memory.Check(fmt.Sprintf("the derivatives of %d times of events", m), len(l.path.z), max(1, m)); err != nil {
		return nil, fmt.Errorf("%s: %w", l.p.Title(), err)
	}
	dz := make([]float64, m*len(l.path.z))
	if err := s.SolveTangents(l.path.z, dz, l.at, directions, nil); err != nil {
		return nil, err
	}
	l.work += (1 + m) * s.Steps()
	clear(l.sizes)
	for i, v := range l.path.z {
		l.sizes[i%d] = max(l.sizes[i%d], math.Abs(v))
	}
	out := make([]float64, len(l.crossings)*m)
	for n := range l.crossings {
		i := l.end(n)
		for k := range m {
			dx := row(row(dz, k, len(l.path.z)), i, d)
			out[n*m+k] = l.slope(n, row(l.path.z, i, d), dx, directions[k*wide:(k+1)*wide])
		}
	}
	return out, nil
}

// slope computes a directional derivative of the trigger of event n by a central
// difference. The arguments dx and `along` are the direction: dx is the change of the
// state x, and `along` is the change of (θ, τ).
func (l *locatedPath) slope(n int, x, dx, along []float64) (sum float64) {
	p, at, theta := len(l.p.Theta), make([]float64, len(x)), make([]float64, len(l.p.Theta))
	least := cmp.Or(1e-3*vector.MaxAbs(l.sizes), 1) // of a component that is 0 throughout
	most := max(1/reachOf(l.at[:p], along[:p]), math.Abs(along[p+n])/(l.p.Span[1]-l.p.Span[0]))
	for c, v := range x {
		size := cmp.Or(max(math.Abs(v), 1e-3*l.sizes[c]), least) // the state may be near 0 at the event
		most = max(most, math.Abs(dx[c])/size)
	}
	if most == 0 {
		return 0
	}
	for _, eps := range [2]float64{field.Central / most, -field.Central / most} {
		copy(at, x)
		vector.AddScaled(at, eps, dx)
		copy(theta, l.at)
		vector.AddScaled(theta, eps, along[:p])
		sum += 0.5 / eps * l.trigger(n)(l.at[p+n]+eps*along[p+n], at, theta)
	}
	return sum
}

// place solves for the times of the events at θ by Newton's method.
func (l *locatedPath) place(theta []float64) error {
	p, count, span := len(l.p.Theta), len(l.crossings), l.p.Span
	copy(l.at, l.first)
	copy(l.at, theta)
	if l.work = 0; count == 0 {
		return nil
	}
	wide := len(l.first)
	unit := make([]float64, count*wide)
	for n := range count {
		unit[n*wide+p+n] = 1
	}
	change, length := make([]float64, count), span[1]-span[0]
	for range 30 {
		slopes, err := l.along(unit)
		if err != nil {
			return err
		}
		copy(l.slopes, slopes)
		most := 0.0
		for n := range count {
			change[n] = -l.trigger(n)(l.at[p+n], row(l.path.z, l.end(n), l.p.Dim()), l.at[:p:p])
		}
		if err := l.solve(change); err != nil {
			return err
		}
		for n, v := range change {
			l.at[p+n] += v
			most = max(most, math.Abs(v))
		}
		from, least := span[0], 2*epsilon*max(math.Abs(span[0]), math.Abs(span[1]))
		for n := range count {
			t := l.at[p+n]
			switch {
			case t <= from && from-t < 1e-9*length:
				t = from + least // the trigger becomes positive at once
			case t > span[1] && t-span[1] < 1e-9*length:
				t = span[1]
			}
			if !(t > from && t <= span[1]) {
				return fmt.Errorf("%s: the time of %s becomes %.6g, which is outside the span or not after the previous event: %w", l.p.Title(), l.title(n), t, errOtherEvents)
			}
			l.at[p+n], from = t, t
		}
		if most <= 1e-9*length {
			return nil
		}
	}
	return fmt.Errorf("%s: the times of %d events with triggers were not found at this θ: %w", l.p.Title(), count, errOtherEvents)
}

func (l *locatedPath) title(n int) string { return l.titles[l.crossings[n].Which[0]] }

// solve replaces r by the solution v of Σₘ ∂gₙ/∂τₘ vₘ = rₙ.
func (l *locatedPath) solve(r []float64) error {
	count := len(r)
	for n := range r {
		for m := range n {
			r[n] -= l.slopes[n*count+m] * r[m]
		}
		slope := l.slopes[n*count+n]
		if r[n] /= slope; !(slope > 0) || math.IsInf(r[n], 0) || r[n] != r[n] {
			return fmt.Errorf("%s: at t = %.6g the trigger of %s touches 0 without crossing it, or crosses it downwards (slope %.3g): the time of this event has no derivative", l.p.Title(), l.at[len(l.p.Theta)+n], l.title(n), slope)
		}
	}
	return nil
}

func (l *locatedPath) States(ctx context.Context, dst, theta, _ []float64) error {
	l.path.follow(ctx)
	if err := l.place(theta); err != nil {
		return err
	}
	if err := l.path.States(ctx, dst, l.at, nil); err != nil {
		return err
	}
	l.work += l.path.Work()
	return l.same()
}

func (l *locatedPath) Tangents(ctx context.Context, dst, ddst, theta, dtheta, _ []float64) error {
	l.path.follow(ctx)
	if err := l.place(theta); err != nil {
		return err
	}
	p, wide, count := len(l.p.Theta), len(l.first), len(l.crossings)
	m := 0
	if p > 0 {
		m = len(dtheta) / p
	}
	all := make([]float64, m*wide)
	for k := range m {
		copy(all[k*wide:], dtheta[k*p:(k+1)*p])
	}
	if count > 0 && m > 0 {
		moves, err := l.along(all)
		if err != nil {
			return err
		}
		times := make([]float64, count)
		for k := range m {
			for n := range times {
				times[n] = -moves[n*m+k]
			}
			if err := l.solve(times); err != nil {
				return err
			}
			for n, v := range times {
				if err := l.kink(n, math.Abs(v)*reachOf(theta, dtheta[k*p:(k+1)*p])); err != nil {
					return err
				}
			}
			copy(all[k*wide+p:(k+1)*wide], times)
		}
	}
	if err := l.path.Tangents(ctx, dst, ddst, l.at, all, nil); err != nil {
		return err
	}
	l.work += (1 + m) * l.path.Work()
	return l.same()
}

// Gradient implements Reversible. Let L be a function of the path, let λ be the gradient
// of L with respect to τ at fixed θ, and let S be the matrix ∂gₙ/∂τₘ. Let μ be the
// solution of Sᵀμ = λ. Since g(τ(θ), θ) = 0 for all θ, the gradient of L with respect to
// θ is the gradient of L at fixed τ minus the gradient of Σ μₙgₙ at fixed τ.
func (l *locatedPath) Gradient(ctx context.Context, g *Gradient, w, _, _ []float64) error {
	p := len(l.p.Theta)
	all := Gradient{Theta: make([]float64, len(l.first))} // with respect to (θ, τ)
	if err := l.path.Gradient(ctx, &all, w, l.at, nil); err != nil {
		return err
	}
	copy(g.Theta, all.Theta)
	g.Alpha = 0
	for n, c := range l.crossings {
		if !c.kink {
			continue
		}
		one, slopes := make([]float64, len(l.crossings)), make([]float64, p)
		one[n] = 1
		if err := l.moves(slopes, one); err != nil {
			return err
		}
		for k, v := range slopes {
			if err := l.kink(n, math.Abs(v)*cmp.Or(math.Abs(l.at[k]), 1)); err != nil {
				return err
			}
		}
	}
	return l.moves(g.Theta, slices.Clone(all.Theta[p:]))
}

// kink returns an error if an observation is made at the time of event n, the state or f
// jumps there, and the time moves. The argument `move` is the derivative of the time with
// respect to the logarithm of a parameter.
func (l *locatedPath) kink(n int, move float64) error {
	if !l.crossings[n].kink || !(move > 1e-9*(l.p.Span[1]-l.p.Span[0])) {
		return nil
	}
	return fmt.Errorf("%s: the solution has no derivative at t = %.6g, because an observation is made exactly when %s happens", l.p.Title(), l.at[len(l.p.Theta)+n], l.title(n))
}

// moves adds to dtheta the gradient of Σ λₙτₙ with respect to θ, and overwrites λ.
func (l *locatedPath) moves(dtheta, lambda []float64) error {
	if len(lambda) == 0 {
		return nil
	}
	d, mu := l.p.Dim(), lambda
	weights, dx, along := make([]float64, len(l.path.z)), make([]float64, d), make([]float64, len(l.first))
	for n := len(mu) - 1; n >= 0; n-- {
		mu[n] /= l.slopes[n*len(mu)+n]
		for m := range n {
			mu[m] -= l.slopes[n*len(mu)+m] * mu[n]
		}
		i := l.end(n)
		x := row(l.path.z, i, d)
		for c := range dx {
			dx[c] = 1
			weights[i*d+c] += mu[n] * l.slope(n, x, dx, along)
			dx[c] = 0
		}
		for k := range dtheta {
			along[k] = 1
			dtheta[k] -= mu[n] * l.slope(n, x, dx, along)
			along[k] = 0
		}
	}
	all := Gradient{Theta: make([]float64, len(l.first))} // with respect to (θ, τ)
	if err := l.path.solver.Gradient(&all, weights, l.path.z, l.at, nil); err != nil {
		return err
	}
	vector.AddScaled(dtheta, -1, all.Theta[:len(dtheta)])
	return nil
}

// same checks the path that was computed last. The method returns an error if a trigger
// becomes positive without causing an event.
func (l *locatedPath) same() error {
	g, z, d := l.path.solver.g, l.path.z, l.p.Dim()
	theta := l.at[:len(l.p.Theta):len(l.p.Theta)]
	armed := make([]bool, len(l.triggers)) // the trigger is known not to be positive
	for j, seg := range g.seg {
		for i := seg.from; i <= seg.to; i++ {
			var known []int // the triggers that become positive here
			if i == seg.to && j < len(g.events) {
				known = l.which[g.events[j].number]
			}
			for k, e := range l.triggers {
				up := e.Trigger(g.t[i], row(z, i, d), theta) > 0
				if up && armed[k] && i > seg.from && !slices.Contains(known, k) {
					return fmt.Errorf("%s: %s also happens shortly before t = %.6g: %w", l.p.Title(), l.titles[k], g.t[i], errOtherEvents)
				}
				armed[k] = !up && (i > seg.from || i == 0) // just after an event rounding may decide
			}
		}
	}
	return nil
}

// Package pole keeps a solver from stepping across a pole of f. Where a denominator of f
// changes its sign, f may be infinite, and the solution does not continue on the other
// side. A step across the zero need not notice: the values of f on both sides can agree, as
// those of −x/(P + x) do if P is tiny.
package pole

import (
	"fmt"
	"math"
	"slices"

	"github.com/probode/probode/pkg/internal/text"
	"github.com/probode/probode/pkg/probode/internal/vector"
)

// A Guard knows the last point of a solution, and refuses points from which a pole of f
// separates it. A nil Guard refuses nothing.
type Guard struct {
	f     func(dst []float64, t float64, x, theta []float64)
	names []string
	theta []float64

	on   bool
	a, b *point // the last point of the solution, and the one that is compared with it
	free []bool // since Begin, f stayed finite where this denominator was zero
	met  string // says which pole was met after the last point, and where; "" if none was

	lo, hi, at *point // workspace of infinite
	far        [2][]float64
	most       []float64
}

// A point is a point of a solution, with f and then the denominators there.
type point struct {
	t        float64
	x, all   []float64
	f, zeros []float64 // parts of all; zeros holds the denominators
}

// New returns a Guard for a problem of dimension d, or nil if there are no poles. The names
// say what is infinite at the poles.
func New(d int, names []string) *Guard {
	if len(names) == 0 {
		return nil
	}
	g := &Guard{names: names, free: make([]bool, len(names)), most: make([]float64, d)}
	for _, p := range []**point{&g.a, &g.b, &g.lo, &g.hi, &g.at} {
		all := make([]float64, d+len(names))
		*p = &point{x: make([]float64, d), all: all, f: all[:d:d], zeros: all[d:]}
	}
	for i := range g.far {
		g.far[i] = make([]float64, d)
	}
	return g
}

// Begin makes (t, x) the last point of the solution. No pole separates it from an earlier
// point.
func (g *Guard) Begin(t float64, x, theta []float64) {
	if g == nil {
		return
	}
	g.on, g.met, g.theta, g.b.t = true, "", theta, math.NaN()
	clear(g.free) // f may have another form here
	g.put(g.a, t, x)
}

// End ends the solution: F then refuses nothing.
func (g *Guard) End() {
	if g != nil {
		g.on = false
	}
}

// Pass reports whether no pole separates (t, x) from the last point of the solution. If
// so, (t, x) becomes the last point.
func (g *Guard) Pass(t float64, x []float64) bool {
	if g == nil {
		return true
	}
	if t != g.b.t || !slices.Equal(x, g.b.x) { // F was not called there last
		g.put(g.b, t, x)
	}
	if g.separated() || !vector.Finite(g.b.f) {
		return false // 0/0 may be finite nearby
	}
	g.a, g.b, g.met = g.b, g.a, ""
	return true
}

// Watch returns a function that writes f(t, x; θ), or NaN if a pole separates (t, x) from
// the last point of the solution. The function f also writes the denominators behind f:
// functions of (t, x, θ) that are zero at the poles.
func (g *Guard) Watch(f func(dst []float64, t float64, x, theta []float64)) func(dst []float64, t float64, x, theta []float64) {
	if g == nil {
		return f
	}
	g.f = f
	return g.evaluate
}

func (g *Guard) evaluate(dst []float64, t float64, x, theta []float64) {
	if !g.on {
		g.f(dst, t, x, theta)
		return
	}
	g.put(g.b, t, x)
	if copy(dst, g.b.f); g.separated() {
		dst[0] = math.NaN()
	}
}

// Met returns a text about the pole that was met after the last point of the solution, or
// "" if there is none.
func (g *Guard) Met() string {
	if g == nil || g.met == "" {
		return ""
	}
	return g.met + ": the solution may end there"
}

// Stuck returns a text about the pole before which a solution got stuck, or "". It is the
// pole that was met after the last point, or one that is about to be met. The argument
// `span` is the length of the time span.
func (g *Guard) Stuck(span float64) string {
	if g == nil || g.met != "" {
		return g.Met()
	}
	ahead := 0x1p-32 * max(math.Abs(g.a.t), span)
	for i, v := range g.a.x {
		g.at.x[i] = v + ahead*g.a.f[i]
	}
	g.put(g.b, g.a.t+ahead, g.at.x)
	g.separated()
	return g.Met()
}

func opposite(a, b float64) bool { return a < 0 && b > 0 || a > 0 && b < 0 }

// put evaluates f and the denominators at (t, x).
func (g *Guard) put(p *point, t float64, x []float64) {
	p.t = t
	copy(p.x, x)
	g.f(p.all, t, x, g.theta)
}

func (p *point) set(q *point) {
	p.t = q.t
	copy(p.x, q.x)
	copy(p.all, q.all)
}

func (g *Guard) meet(k int, what string, p *point) bool {
	g.met = fmt.Sprintf("%s %s t = %.6g, x = %s", g.names[k], what, p.t, text.Vector(p.x))
	return true
}

// separated reports whether f has a pole between a and b.
func (g *Guard) separated() bool {
	for k, v := range g.b.zeros {
		if opposite(v, g.a.zeros[k]) && !g.free[k] && vector.Finite(g.b.x) {
			if g.infinite(k) {
				return true
			}
			g.free[k] = true // the numerator is zero, too, as in V/(exp(V) − 1)
		}
	}
	return false
}

// infinite reports whether f is infinite or undefined where denominator k is zero on the
// line from a to b, and sets met.
//
// The zero is located as closely as the sign can be told. Then f is compared at distances
// s, 4s and 16s from it, where s is the smallest distance at which the denominator is not
// made of rounding errors, times a margin: f grows in proportion to 1/s at a pole.
func (g *Guard) infinite(k int) bool {
	const least, closest, farthest, margin, growth = 0x1p-16, 0x1p-100, 0x1p-6, 0x1p6, 3
	a, b, lo, hi, at := g.a, g.b, g.lo, g.hi, g.at
	if !vector.Finite(b.f) {
		return g.meet(k, "is not defined beyond", a)
	}
	lo.set(a)
	hi.set(b)
	up, gap := b.zeros[k], 1.0
	for n := 0; gap > closest; n++ {
		part := 0.5
		if below := lo.zeros[k]; n%3 != 2 { // the root of the secant, and at times the middle
			part = min(max(below/(below-hi.zeros[k]), least), 1-least)
		}
		t := lo.t + part*(hi.t-lo.t)
		moved := t != lo.t && t != hi.t
		for i, v := range lo.x {
			at.x[i] = v + part*(hi.x[i]-v)
			moved = moved || at.x[i] != v && at.x[i] != hi.x[i]
		}
		if !moved {
			break
		}
		g.put(at, t, at.x)
		switch v := at.zeros[k]; {
		case v == 0:
			lo.set(at)
			hi.set(at)
			gap = 0
		case opposite(v, up):
			lo, at, gap = at, lo, gap*(1-part)
		default:
			hi, at, gap = at, hi, gap*part
		}
	}
	gap = max(gap, closest)
	// move evaluates denominator k at the distance s behind a point.
	move := func(s float64, p *point) float64 {
		for i, v := range p.x {
			at.x[i] = v + s*(b.x[i]-a.x[i])
		}
		g.put(at, p.t+s*(b.t-a.t), at.x)
		return at.zeros[k]
	}
	grows := func(s float64, p *point) bool {
		v, twice := move(s, p), move(2*s, p)
		return opposite(v, -s*up) && twice/v > 1.5 && move(4*s, p)/twice > 1.5
	}
	for !grows(-gap, lo) || !grows(gap, hi) {
		if gap *= 4; gap > farthest { // the denominator jumps, or the step is as short as rounding errors
			return math.Abs(lo.zeros[k]) < math.Abs(a.zeros[k])/2 && g.meet(k, "has a pole at", lo)
		}
	}
	gap = min(gap*margin, farthest)
	for i := range g.most {
		g.most[i] = max(math.Abs(a.f[i]), math.Abs(b.f[i]))
	}
	for _, side := range [2]struct {
		p *point
		s float64
	}{{lo, -gap}, {hi, gap}} {
		for i, f := range g.far {
			move(side.s*[2]float64{16, 4}[i], side.p)
			copy(f, at.f)
		}
		move(side.s, side.p)
		if !vector.Finite(at.f) {
			return g.meet(k, "is not defined at", lo)
		}
		for i, near := range at.f {
			farther, farthest := math.Abs(g.far[1][i]), math.Abs(g.far[0][i])
			if math.Abs(near) > max(g.most[i], growth*farther) && farther > growth*farthest {
				return g.meet(k, "has a pole at", lo)
			}
		}
	}
	return false
}

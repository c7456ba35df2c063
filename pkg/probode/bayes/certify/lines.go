package certify

import (
	"cmp"
	"math"
	"slices"
)

// fallen is a difference in log density. If the log density at the mode exceeds the log
// density at a point by at least `fallen`, the density at this point is taken to be
// negligible.
const fallen = 8

// A probe is a point on a line through a mode. A probe holds the distance t from the
// mode, in standard deviations. A probe also holds the log densities under both setups,
// relative to their values at the mode. The log density under a setup is −∞ if that setup
// cannot solve the equations.
type probe struct {
	t            float64
	theta        []float64
	fine, coarse float64
	failed       bool // both setups fail, although the density of the prior is positive
}

// counts reports whether at least one of the two densities is not negligible.
func (p probe) counts() bool { return max(p.fine, p.coarse) > -fallen }

// differs reports whether the log densities differ by 1 or more.
func (p probe) differs() bool { return p.coarse != p.fine && !(math.Abs(p.coarse-p.fine) < 1) }

// unsolved reports whether both densities are zero.
func (p probe) unsolved() bool { return math.IsInf(max(p.fine, p.coarse), -1) }

// effect returns the difference between the two densities, each divided by its value at
// the mode.
func (p probe) effect() float64 { return math.Abs(math.Exp(p.coarse) - math.Exp(p.fine)) }

// A line holds points on a straight line through a mode, and the mode itself.
type line []probe

// sort sorts the points by t.
func (l line) sort() { slices.SortFunc(l, func(a, b probe) int { return cmp.Compare(a.t, b.t) }) }

// effect returns the largest value of probe.effect among the points on the line.
func (l line) effect() (most float64) {
	for _, p := range l {
		most = max(most, p.effect())
	}
	return most
}

// worst returns the point with the largest value of probe.effect. If the setups differ at
// some points of the line (see probe.differs), only these points are considered.
func (l line) worst() probe {
	from := l
	if slices.ContainsFunc(l, probe.differs) {
		from = slices.DeleteFunc(slices.Clone(l), func(p probe) bool { return !p.differs() })
	}
	return slices.MaxFunc(from, func(a, b probe) int { return cmp.Compare(a.effect(), b.effect()) })
}

// The points a and b lie on a line through the mode. densities returns the densities
// under both setups at a point between a and b. The argument t is the distance of this
// point from the mode. The log density of the reference is interpolated linearly in t²,
// which is exact for a Gaussian. The difference between the two log densities is
// interpolated linearly in t. If a setup fails at a or at b, the density under that setup
// is taken to be zero between a and b.
func densities(a, b probe, t float64) (fine, coarse float64) {
	between := func(from, to, share float64) float64 {
		if math.IsInf(from, 0) || math.IsInf(to, 0) {
			return math.Inf(-1)
		}
		return from + (to-from)*share
	}
	linear, square := (t-a.t)/(b.t-a.t), (t*t-a.t*a.t)/(b.t*b.t-a.t*a.t)
	f, c := between(a.fine, b.fine, square), between(a.coarse, b.coarse, square)
	if !math.IsInf(f, 0) && !math.IsInf(c, 0) {
		c = f + between(a.coarse-a.fine, b.coarse-b.fine, linear)
	}
	return math.Exp(f), math.Exp(c)
}

// shift returns the absolute difference between the means of a function of t under the
// two densities. This difference is divided by the smaller of two numbers: the argument
// `most`, and the standard deviation of the function under the reference density.
func (l line) shift(of func(t float64) float64, most float64) float64 {
	const n = 40 // nodes of the midpoint rule between two points
	var fine, coarse [3]float64
	for i, b := range l[1:] {
		a := l[i]
		dt := (b.t - a.t) / n
		for j := range n {
			t := a.t + (float64(j)+0.5)*dt
			f, c := densities(a, b, t)
			v := of(t)
			for k, power := range [3]float64{1, v, v * v} {
				fine[k] += dt * f * power
				coarse[k] += dt * c * power
			}
		}
	}
	mean := fine[1] / fine[0]
	sd := math.Sqrt(max(0, fine[2]/fine[0]-mean*mean))
	return math.Abs(coarse[1]/coarse[0]-mean) / min(most, sd)
}

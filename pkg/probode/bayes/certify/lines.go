package certify

import (
	"cmp"
	"math"
	"slices"
)

// A density is negligible if its logarithm is at least `fallen` below that at the mode.
const fallen = 8

// A probe is a point t standard deviations from the mode, with both log densities
// relative to the mode, or −∞ without a solution.
type probe struct {
	t            float64
	theta        []float64
	fine, coarse float64
	failed       bool // both setups fail, although the density of the prior is positive
}

func (p probe) counts() bool { return max(p.fine, p.coarse) > -fallen }

func (p probe) differs() bool { return p.coarse != p.fine && !(math.Abs(p.coarse-p.fine) < 1) }

func (p probe) unsolved() bool { return math.IsInf(max(p.fine, p.coarse), -1) }

// effect compares the densities relative to the mode.
func (p probe) effect() float64 { return math.Abs(math.Exp(p.coarse) - math.Exp(p.fine)) }

type line []probe

func (l line) sort() { slices.SortFunc(l, func(a, b probe) int { return cmp.Compare(a.t, b.t) }) }

func (l line) effect() (most float64) {
	for _, p := range l {
		most = max(most, p.effect())
	}
	return most
}

// worst looks only at points that differ (see probe.differs), if there are any.
func (l line) worst() probe {
	from := l
	if slices.ContainsFunc(l, probe.differs) {
		from = slices.DeleteFunc(slices.Clone(l), func(p probe) bool { return !p.differs() })
	}
	return slices.MaxFunc(from, func(a, b probe) int { return cmp.Compare(a.effect(), b.effect()) })
}

// densities interpolates between a and b: the reference linearly in t², which is exact
// for a Gaussian, and the difference linearly in t. A setup that fails at an end has
// density zero.
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

// shift returns the difference between the means of a function of t, divided by `most` or
// its sd under the reference, whichever is smaller.
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

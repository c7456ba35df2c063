package shape

import (
	"cmp"
	"context"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"
)

// An Ascent maximises a Function by a trust-region method with the Fisher information as
// the curvature. Each step goes to the maximum of a quadratic expansion, subject to the
// bounds. A radius limits the length of the step. After a step, Function.Follow corrects
// the derivatives if it can. The derivatives are computed again if Follow cannot correct
// them, or if the corrected derivatives predicted the last rise poorly.
//
// If the log density has kinks, each step goes to the maximum of an expansion that has
// the same kinks. The modes of a density with kinks usually lie at kinks, just as a
// sample median lies at a data point. If a mode lies at a kink, the gradient at the mode
// is not zero, but the expansion predicts no further rise.
//
// Sources: Moré (1983), Recent developments in algorithms and software for trust region
// methods; and, for the bounds, Bertsekas (1982), SIAM Journal on Control and
// Optimization 20, 221.
type Ascent struct {
	Point

	Low, High []float64 // bounds of the coordinates, ±∞ for none
	Unit      []float64 // natural units of the coordinates; nil means 1 for each
	radius    float64   // in these units; zero means 1 at the first step
	Tolerance float64   // predicted rise at or below which the ascent is done

	// Adjust, if not nil, maximises the function over some coordinates at little cost. It is
	// called after Value at the same x, and the argument `value` is the result of Value.
	// Adjust changes x, and returns the value of the function at the new x.
	Adjust func(x []float64, value float64) float64

	// Bend, if not nil, helps to follow a narrow and curved ridge. The locations of the data
	// (see Surface) are not exactly linear in the coordinates. Bend returns −Jᵀ I r″, a
	// correction to the gradient for the nonlinearity of the locations, or nil if r″ cannot
	// be computed. The vector r″ holds the second derivatives of the locations in the
	// direction d. The last call of Expand was at x.
	Bend func(x, d []float64) []float64

	Known  bool // the expansion is valid at X
	Done   bool
	Failed bool    // the derivatives could not be computed
	Gain   float64 // rise that was predicted for the last step
	Steps  int

	fresh   bool // the derivatives were computed at X
	damping float64
	// rest is an estimate of H − F, where H is the matrix of negative second derivatives,
	// and F is the Fisher information. The estimate of H − F is derived from changes in the
	// gradient. The field `corrected` is true if F + `rest` would have predicted the last
	// rise of the log density better than F alone. If `corrected` is true, the next step
	// uses F + `rest` as the curvature.
	rest      *mat.SymDense
	corrected bool
	from      []float64 // the last point, and the gradient there; nil at the first one
	slopes    *mat.VecDense
}

// Ascent returns an ascent that begins at x. The argument `value` is the log density at
// x. The ascent ends within about 0.03 standard deviations of the mode.
func (s *Surface) Ascent(x []float64, value float64) Ascent {
	return Ascent{Point: Point{X: x, Value: value}, Low: s.Low, High: s.High, Unit: s.unit, Tolerance: 5e-4}
}

// Step takes one step uphill. If the value of the function does not increase, Step tries
// a shorter step.
func (a *Ascent) Step(f Function) {
	const (
		shortest   = 1e-9
		negligible = 1e-2 // times Tolerance: such a rise is lost among the errors of the solver
	)
	a.Steps++
	a.radius = cmp.Or(a.radius, 1)
	if !a.Known && !a.expand(f) {
		return
	}
	trial := make([]float64, len(a.X))
	for a.radius > shortest {
		d, rise := a.Within(a.radius)
		length := a.length(d)
		a.Gain = rise
		if rise <= a.Tolerance && length < 0.99*a.radius || rise <= negligible*a.Tolerance || length == 0 {
			// Near the maximum, a change in the gradient may be mostly numerical error. A
			// curvature estimated from numerical errors may prevent a further rise.
			if a.fresh && !a.corrected {
				break
			}
			if a.corrected = false; !a.fresh && !a.expand(f) {
				return
			}
			continue
		}
		for k, v := range d {
			trial[k] = min(max(a.X[k]+v, a.Low[k]), a.High[k])
		}
		value := a.valueAt(f, trial)
		if !(value > a.Value) && !a.fresh {
			// The derivatives may be inaccurate: after the last step, they were corrected
			// but not computed again.
			if !a.expand(f) {
				return
			}
			continue
		}
		ratio := (value - a.Value) / rise
		if !(ratio > 0.25) {
			if to := a.bent(d, a.damping); to != nil {
				if at := a.valueAt(f, to); at > max(value, a.Value) {
					trial, value = to, at
					ratio = (value - a.Value) / rise
				}
			}
		}
		switch {
		case !(ratio > 0.25):
			a.radius = length / 4
		case ratio > 0.75 && length > 0.8*a.radius:
			a.radius *= 2
		}
		if value > a.Value {
			a.move(f, trial, value, ratio)
			return
		}
	}
	a.Done = true
}

func (a *Ascent) valueAt(f Function, x []float64) float64 {
	value := f.Value(x)
	if a.Adjust != nil && !math.IsInf(value, -1) {
		value = a.Adjust(x, value)
	}
	return value
}

// Climb takes up to `most` steps from X, until the predicted rise is at most `tolerance`
// or ctx is done. The last predicted rise is computed from the derivatives at the final
// point. Climb may be called again, with a smaller tolerance or after f has changed.
func (a *Ascent) Climb(ctx context.Context, f Function, tolerance float64, most int) {
	a.Tolerance, a.radius, a.Known, a.Done = tolerance, 0, false, false
	for ; most > 0 && !a.Done && ctx.Err() == nil; most-- {
		a.Step(f)
	}
}

func (a *Ascent) expand(f Function) bool {
	a.Known = f.Expand(&a.Point)
	a.fresh = a.Known
	if !a.Known {
		a.Done, a.Failed = true, true
		return false
	}
	a.learn()
	return true
}

// move takes `ratio`, the actual rise divided by the predicted one.
func (a *Ascent) move(f Function, to []float64, value, ratio float64) {
	a.choose(to, value-a.Value)
	before := slices.Clone(a.X)
	a.from, a.slopes = nil, nil
	if a.fresh {
		a.from, a.slopes = before, mat.VecDenseCopyOf(a.Gradient)
	}
	copy(a.X, to)
	a.Value = value
	// Corrected derivatives are discarded if the actual rise was less than a tenth of the
	// predicted one.
	a.Known = (a.fresh || ratio >= 0.1) && f.Follow(&a.Point, before)
	if a.Known {
		a.from = nil
	}
	a.fresh = false
}

// learn makes `rest` satisfy (Information + rest) d = −Δg for the last step d [Dennis,
// Gay & Welsch (1981), ACM Trans. Math. Softw. 7, 348].
func (a *Ascent) learn() {
	n := len(a.X)
	if a.rest == nil {
		a.rest = mat.NewSymDense(n, nil)
	}
	if a.from == nil || a.U != nil {
		return
	}
	step, change, miss, old := mat.NewVecDense(n, nil), mat.NewVecDense(n, nil), mat.NewVecDense(n, nil), mat.NewVecDense(n, nil)
	for k, x := range a.X {
		step.SetVec(k, x-a.from[k])
	}
	change.SubVec(a.slopes, a.Gradient)
	miss.MulVec(a.Information, step)
	miss.SubVec(change, miss) // what rest times step should be
	along := mat.Dot(change, step)
	if !(along > 1e-8*mat.Norm(change, 2)*mat.Norm(step, 2)) {
		return
	}
	old.MulVec(a.rest, step)
	if of, is := math.Abs(mat.Dot(step, old)), math.Abs(mat.Dot(step, miss)); is < of {
		a.rest.ScaleSym(is/of, a.rest)
		old.ScaleVec(is/of, old)
	}
	miss.SubVec(miss, old)
	a.rest.RankTwo(a.rest, 1/along, miss, change)
	a.rest.SymRankOne(a.rest, -mat.Dot(miss, step)/(along*along), change)
}

// choose uses `rest` if it would have improved the last prediction.
func (a *Ascent) choose(x []float64, rise float64) {
	if a.rest == nil {
		return
	}
	d := mat.NewVecDense(len(x), nil)
	for k := range x {
		d.SetVec(k, x[k]-a.X[k])
	}
	plain := mat.Dot(d, a.Gradient) - mat.Inner(d, a.Information, d)/2
	a.corrected = math.Abs(plain-mat.Inner(d, a.rest, d)/2-rise) < math.Abs(plain-rise)
}

// Within returns the step from X to the maximum of the expansion, subject to the bounds.
// The argument `radius` limits the length of the step. If the density has kinks, `radius`
// limits each component of the step instead. Within also returns the rise that the
// expansion predicts for this step.
func (a *Ascent) Within(radius float64) (d []float64, rise float64) {
	n := len(a.X)
	low, high, unit := make([]float64, n), make([]float64, n), make([]float64, n)
	for k, x := range a.X {
		low[k], high[k], unit[k] = min(0, a.Low[k]-x), max(0, a.High[k]-x), 1
	}
	copy(unit, a.Unit)
	if a.U != nil {
		for k, x := range a.X {
			low[k], high[k] = x+max(low[k], -radius*unit[k]), x+min(high[k], radius*unit[k])
		}
		d, rise, ok := a.bentStep(slack, low, high)
		if !ok {
			return make([]float64, n), 0
		}
		return d, rise
	}
	g, curvature, negative := slices.Clone(a.Gradient.RawVector().Data), mat.NewSymDense(n, nil), 0.0
	for i, u := range unit {
		g[i] *= u
		low[i] /= u
		high[i] /= u
		var sum float64
		for j, v := range unit {
			bend := a.Information.At(i, j)
			if a.corrected {
				bend += a.rest.At(i, j)
				sum += math.Abs(u * v * a.rest.At(i, j))
			}
			curvature.SetSym(i, j, u*v*bend)
		}
		negative = max(negative, sum)
	}
	d = a.damped(curvature, g, negative, radius, low, high)
	x := mat.NewVecDense(n, d)
	rise = mat.Dot(x, mat.NewVecDense(n, g)) - mat.Inner(x, curvature, x)/2
	for k := range d {
		d[k] *= unit[k]
	}
	return d, rise
}

// damped works in coordinates divided by their units; `negative` bounds the negative
// eigenvalues of the curvature.
func (a *Ascent) damped(curvature *mat.SymDense, g []float64, negative, radius float64, low, high []float64) []float64 {
	var largest float64
	for k := range g {
		largest = max(largest, curvature.At(k, k))
	}
	// The damping that gives the longest permitted step lies between the values of the
	// variables `least` and `most`.
	least, most := 1e-13*largest+1e-300, norm(g)/radius+negative
	d, ok := boxed(curvature, g, least, low, high)
	if ok && norm(d) <= radius {
		return d
	}
	damping := min(max(a.damping, 2*least), most)
	for range 30 {
		d, ok = boxed(curvature, g, damping, low, high)
		length := norm(d)
		if ok && length <= radius {
			if most = damping; length > 0.8*radius {
				break
			}
		} else {
			least = damping
		}
		if most <= 1.1*least {
			d, _ = boxed(curvature, g, most, low, high)
			break
		}
		if damping = math.Sqrt(least * most); most > 1e4*least {
			// As the damping grows, the length of the step decreases no faster than about
			// 1/damping.
			damping = min(max(damping, least*10), most/10)
		}
	}
	a.damping = damping
	return d
}

// Left returns the rise of the log density that Within predicts for the given radius.
// Left also returns the slope at X, which is the largest component of the gradient in
// absolute value, for coordinates in their units. If X has reached a bound, components of the gradient that point beyond
// this bound are ignored. If the density has kinks, the slope is the predicted rise
// divided by the distance to the predicted maximum. Distances below 10⁻⁶ are replaced by
// 10⁻⁶.
func (a *Ascent) Left(radius float64) (rise, slope float64) {
	const near = 1e-9 // of a bound
	d, rise := a.Within(radius)
	if a.U != nil {
		return rise, rise / max(a.length(d), 1e-6)
	}
	for k, x := range a.X {
		u := a.unit(k)
		if g := a.Gradient.AtVec(k); !(x <= a.Low[k]+near*u && g < 0 || x >= a.High[k]-near*u && g > 0) {
			slope = max(slope, u*math.Abs(g))
		}
	}
	return rise, slope
}

func (a *Ascent) length(d []float64) float64 {
	scaled := slices.Clone(d)
	for k, u := range a.Unit {
		scaled[k] /= u
	}
	return norm(scaled)
}

func (a *Ascent) unit(k int) float64 {
	if a.Unit == nil {
		return 1
	}
	return a.Unit[k]
}

// boxed is boxed in coordinates divided by their units.
func (a *Ascent) boxed(h *mat.SymDense, g []float64, lambda float64, low, high []float64) (d []float64, ok bool) {
	n := len(g)
	curvature, v := mat.NewSymDense(n, nil), make([]float64, 3*n)
	for i := range n {
		u := a.unit(i)
		v[i], v[n+i], v[2*n+i] = u*g[i], low[i]/u, high[i]/u
		for j := i; j < n; j++ {
			curvature.SetSym(i, j, u*a.unit(j)*h.At(i, j))
		}
	}
	d, ok = boxed(curvature, v[:n], lambda, v[n:2*n], v[2*n:])
	for k := range d {
		d[k] *= a.unit(k)
	}
	return d, ok
}

func norm(v []float64) float64 { return mat.Norm(mat.NewVecDense(len(v), v), 2) }

// boxed maximises gᵀd − ½ dᵀ(H + λI)d for low ≤ d ≤ high, low ≤ 0 ≤ high, by active sets:
// on a face towards the maximum up to the first bound, and from a maximum it releases the
// coordinate with the largest predicted rise. Groups that H does not couple come one
// after another: many scales of one observable each would otherwise cost the cube of
// their number.
func boxed(h *mat.SymDense, g []float64, lambda float64, low, high []float64) (d []float64, ok bool) {
	d = make([]float64, len(g))
	for _, group := range groups(h) {
		n := len(group)
		part, v := mat.NewSymDense(n, nil), make([]float64, 3*n)
		for i, k := range group {
			v[i], v[n+i], v[2*n+i] = g[k], low[k], high[k]
			for j := i; j < n; j++ {
				part.SetSym(i, j, h.At(k, group[j]))
			}
		}
		own, ok := coupled(part, v[:n], lambda, v[n:2*n], v[2*n:])
		for i, k := range group {
			d[k] = own[i]
		}
		if !ok {
			return d, false
		}
	}
	return d, true
}

// groups returns the smallest sets of coordinates that h does not couple, each in
// ascending order.
func groups(h *mat.SymDense) (all [][]int) {
	left := make([]int, h.SymmetricDim())
	for k := range left {
		left[k] = k
	}
	for len(left) > 0 {
		group := []int{left[0]}
		left = left[1:]
		for at := 0; at < len(group); at++ {
			var rest []int
			for _, k := range left {
				if h.At(group[at], k) != 0 {
					group = append(group, k)
				} else {
					rest = append(rest, k)
				}
			}
			left = rest
		}
		slices.Sort(group)
		all = append(all, group)
	}
	return all
}

func coupled(h *mat.SymDense, g []float64, lambda float64, low, high []float64) (d []float64, ok bool) {
	n := len(g)
	d = make([]float64, n)
	free := make([]bool, n)
	for k := range free {
		free[k] = low[k] < high[k] && !(low[k] == 0 && g[k] <= 0 || high[k] == 0 && g[k] >= 0)
	}
	slope := func(k int) float64 {
		s := g[k] - lambda*d[k]
		for j, v := range d {
			s -= h.At(k, j) * v
		}
		return s
	}
	for range 4 * (n + 1) {
		hit, ok := onFace(d, h, lambda, low, high, free, slope)
		if !ok {
			return d, false
		}
		if hit >= 0 {
			free[hit] = false
			continue
		}
		best, steepest := -1, 0.0
		for k, is := range free {
			if s := slope(k); !is && low[k] < high[k] && (d[k] <= low[k] && s > 0 || d[k] >= high[k] && s < 0) {
				if gain := s * s / (h.At(k, k) + lambda); gain > steepest {
					best, steepest = k, gain
				}
			}
		}
		if best < 0 || steepest < 1e-14*math.Abs(mat.Dot(mat.NewVecDense(n, g), mat.NewVecDense(n, d))) {
			break
		}
		free[best] = true
	}
	return d, !slices.ContainsFunc(d, func(v float64) bool { return v-v != 0 })
}

// onFace moves d to the maximum over the free coordinates, or to the first bound, which
// it returns (else −1). ok is false if the curvature is not positive.
func onFace(d []float64, h *mat.SymDense, lambda float64, low, high []float64, free []bool, slope func(k int) float64) (hit int, ok bool) {
	var in []int
	for k, is := range free {
		if is {
			in = append(in, k)
		}
	}
	m := len(in)
	if m == 0 {
		return -1, true
	}
	part, step := mat.NewSymDense(m, nil), mat.NewVecDense(m, nil)
	for i, k := range in {
		step.SetVec(i, slope(k))
		for j := i; j < m; j++ {
			part.SetSym(i, j, h.At(k, in[j]))
		}
		part.SetSym(i, i, part.At(i, i)+lambda)
	}
	var chol mat.Cholesky
	if !chol.Factorize(part) {
		return -1, false
	}
	_ = chol.SolveVecTo(step, step) // a large condition number is no failure
	t, hit, bound := 1.0, -1, 0.0
	for i, k := range in {
		to := d[k] + step.AtVec(i)
		if v := min(max(to, low[k]), high[k]); v != to {
			if s := (v - d[k]) / step.AtVec(i); s < t {
				t, hit, bound = max(s, 0), k, v
			}
		}
	}
	for i, k := range in {
		d[k] = min(max(d[k]+t*step.AtVec(i), low[k]), high[k])
	}
	if hit >= 0 {
		d[hit] = bound
	}
	return hit, true
}

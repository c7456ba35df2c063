package probode

import (
	"fmt"
	"math"

	"github.com/probode/probode/pkg/probode/internal/vector"
)

// Between grid points, a path is interpolated by a polynomial through neighbouring grid
// points. Let q be the order of the method. With q+1 points, the O(h^{q+1}) error of the
// interpolation decreases faster than the O(h^q) error at the grid points. Runge–Kutta
// methods, however, have very small error constants. At practical step sizes, the error
// of the interpolation would be larger than the error of these methods. With q+2 points,
// the error of the interpolation is small enough for all methods up to order 4. The error
// of the path is then O(h^q) at all times, so steps need not end at the observation
// times. Hermite interpolation needs fewer points, but needs f at each of them. On a
// stiff problem, a small error of the state causes a large error of f.

// An Interpolator computes the states of paths at given times, which need not be grid
// points. The value of an Interpolator at time t is the Lagrange polynomial
//
//	Z(t) = Σⱼ wⱼ(t) Zⱼ,   wⱼ(t) = ∏_{m≠j} (t − t_m)/(t_j − t_m),
//
// through q+2 neighbouring grid points, where q = Method.Order(). About half of the
// points lie before t and the others after t, except near the ends of a segment. The
// interpolation adds an error of O(h^{q+2}) to the O(h^q) error of the method, and does
// not evaluate f. At a time within 10⁻⁹ h of a grid point, the value is the state at that
// point.
//
// With DormandPrince, the error of the interpolation may be larger than the error of the
// method. For example, on LotkaVolterra20 with h = 0.1 the root mean square error is 8e-9
// at the grid points and 5e-8 between them.
//
// The polynomial may take values outside the range of its points: with large steps, a
// component that is positive at all grid points may be negative between them.
//
// The polynomial uses only points of the segment that contains t, so no event lies
// between these points. If a segment has fewer than q+2 points, all of its points are
// used, and the result is less accurate. If events lie close together, use a mesh of type
// Through, whose grid contains the observation times.
//
// An Interpolator is valid only for the grid of its Solver. If event times do not depend
// on θ, an Interpolator never changes. Clones of a Solver can share an Interpolator that
// never changes, even in different goroutines. If event times depend on θ, an
// Interpolator can be used only for the path that its own Solver computed last.
type Interpolator struct {
	g       *Grid
	d       int // of the state
	shown   int // the components of the interpolated states: see Problem.Hybrid
	degree  int
	times   []float64
	first   []int
	weights [][]float64 // nil at a grid point
	slope   []float64   // of scatter, on a moving grid
}

// Interpolator returns an Interpolator for the given times on the grid of s. The times
// may be in any order. The value nil stands for the times of all grid points.
// Interpolator returns an error if a time is NaN or outside [t₀, t₁].
func (s *Solver) Interpolator(times []float64) (*Interpolator, error) {
	g := s.g
	if times == nil {
		times = g.t
	}
	p := &Interpolator{g: g, d: s.d, shown: s.p.visible(), degree: s.m.Order() + 1, times: times, first: make([]int, len(times)), weights: make([][]float64, len(times))}
	for n, t := range times {
		// near allows for two rounding errors of t and two of the grid times, in addition to
		// 10⁻⁹ h.
		near, last := 4*epsilon*math.Abs(t), len(g.t)-1
		if !(t >= g.t[0]-g.near(0)-near && t <= g.t[last]+g.near(last)+near) || math.IsInf(t, 0) {
			return nil, fmt.Errorf("%s: time %g is outside the span [%g, %g]", s.p.Title(), t, g.t[0], g.t[last])
		}
		p.weights[n] = make([]float64, 0, p.degree+1)
		p.place(n)
	}
	return p, nil
}

// place finds the grid points and weights for the time with index n.
func (p *Interpolator) place(n int) {
	t, g := p.times[n], p.g
	i, ok := g.find(t)
	if ok {
		p.first[n], p.weights[n] = i, p.weights[n][:0]
		return
	}
	// Events divide the grid into segments. Segment j contains t.
	j := g.segment(i)
	for j > 0 && t < g.t[g.seg[j].from] {
		j--
	}
	for j < len(g.seg)-1 && t > g.t[g.seg[j].to] {
		j++
	}
	from, last := g.seg[j].from, g.seg[j].to
	i = min(max(i, from), last)
	if i < last && math.Abs(g.t[i+1]-t) < math.Abs(g.t[i]-t) {
		i++
	}
	degree := min(p.degree, last-from)
	// About half of the interpolation points lie before t, and the others after t. The
	// unit of time is the length of the step that contains t. To avoid cancellation if t
	// is much larger than h, times are measured from the nearest grid point.
	h := g.H(max(from, min(i, last-1)))
	u := (t - g.t[i]) / h
	first := min(max(from, i+int(math.Round(min(max(u, -1), 1)-float64(degree)/2))), last-degree)
	w := p.weights[n][:degree+1]
	for j := range w {
		w[j] = 1
		at := (g.t[first+j] - g.t[i]) / h
		for m := range w {
			if m != j {
				node := (g.t[first+m] - g.t[i]) / h
				w[j] *= (u - node) / (at - node)
			}
		}
	}
	p.first[n], p.weights[n] = first, w
}

// At writes the interpolated states of the path z to dst in row-major order: dst[n*d+k]
// is component k at the time with index n. At panics if the length of an argument is
// wrong.
func (p *Interpolator) At(dst, z []float64) {
	if len(dst) != len(p.first)*p.shown {
		panic(fmt.Sprintf("probode: dst has length %d: want %d·%d, one number for each time and component", len(dst), len(p.first), p.shown))
	}
	for n := range p.first {
		p.Row(row(dst, n, p.shown), z, n)
	}
}

// Row writes to dst the state of the path z at the time with index n. The length of dst
// must be d.
func (p *Interpolator) Row(dst, z []float64, n int) {
	if len(dst) != p.shown || len(z) != len(p.g.t)*p.d {
		panic(fmt.Sprintf("probode: dst and z have lengths %d and %d: want %d and %d", len(dst), len(z), p.shown, len(p.g.t)*p.d))
	}
	if p.g.moving {
		p.place(n)
	}
	i, w := p.first[n], p.weights[n]
	if len(w) == 0 {
		copy(dst, row(z, i, p.d))
		return
	}
	clear(dst)
	for j, c := range w {
		for k, v := range row(z, i+j, p.d)[:len(dst)] {
			dst[k] += c * v
		}
	}
}

// The state at a requested time is interpolated from several grid points. Last returns the
// index of the last of these grid points, for the time with index n. Row can be called as soon as the path has been computed up to
// the grid point Last(n). This grid point may lie a few steps after the requested time.
func (p *Interpolator) Last(n int) int { return p.first[n] + max(0, len(p.weights[n])-1) }

// If event times depend on θ, the grid points move with θ. This movement changes the
// interpolated states at fixed times. Let P be the polynomial through the points (t_j,
// Z_j). The derivative of P(t) with respect to t_j is −P′(t_j) w_j(t). This formula holds
// because the derivative is a polynomial in t that is equal to −P′(t_j) at t_j, and zero
// at the other points.

// still subtracts from ddst the part that is due to the motion of the grid points. Before
// the call, ddst holds the derivatives of the states at moving points; after the call,
// ddst holds the derivatives at fixed times. The argument `dt` holds the derivatives of
// the grid times. All derivatives are directional derivatives with respect to θ.
func (p *Interpolator) still(ddst, z, dt []float64) {
	rate := make([]float64, p.shown)
	for n := range p.first {
		p.each(n, func(i int, w float64) {
			if dt[i] != 0 {
				p.rate(rate, z, n, i)
				vector.AddScaled(row(ddst, n, p.shown), -w*dt[i], rate)
			}
		})
	}
}

// The state at the time with index n is interpolated from one or more grid points. each
// calls do with the index and the weight of each of these grid points.
func (p *Interpolator) each(n int, do func(i int, w float64)) {
	if len(p.weights[n]) == 0 {
		do(p.first[n], 1)
	}
	for j, w := range p.weights[n] {
		do(p.first[n]+j, w)
	}
}

// scatter applies the transposes of the linear maps that are defined by At() and still().
// The argument w is the gradient of a function with respect to the interpolated states.
// The method adds to dz the gradient of this function with respect to the path z. If dt
// is not nil, the method also adds to dt the gradient with respect to the grid times.
func (p *Interpolator) scatter(dz, dt, w, z []float64) {
	if dt != nil && p.slope == nil {
		p.slope = make([]float64, p.shown)
	}
	for n := range p.first {
		from := row(w, n, p.shown)
		if vector.Zero(from) {
			continue
		}
		p.each(n, func(i int, c float64) {
			vector.AddScaled(row(dz, i, p.d)[:p.shown], c, from)
			if dt != nil {
				p.rate(p.slope, z, n, i)
				dt[i] -= c * vector.Dot(from, p.slope)
			}
		})
	}
}

// rate writes P′(tᵢ) = Σ_j (Z_j − Zᵢ) ℓ_j′(tᵢ) to dst, where P is the polynomial that is
// used at the time with index n. If the time with index n coincides with grid point i, P
// is the polynomial that is used near this grid point.
func (p *Interpolator) rate(dst, z []float64, n, i int) {
	seg := &p.g.seg[p.g.segment(i)]
	degree := min(p.degree, seg.to-seg.from)
	first := p.first[n]
	if len(p.weights[n]) == 0 {
		first = min(max(seg.from, i-degree/2), seg.to-degree)
	}
	clear(dst)
	t := p.g.t
	for j := first; j <= first+degree; j++ {
		if t[j] == t[i] {
			continue // j = i, or the segment has length zero
		}
		slope := 1 / (t[j] - t[i])
		for m := first; m <= first+degree; m++ {
			if m != j && m != i {
				slope *= (t[i] - t[m]) / (t[j] - t[m])
			}
		}
		for k := range dst {
			dst[k] += slope * (z[j*p.d+k] - z[i*p.d+k])
		}
	}
}

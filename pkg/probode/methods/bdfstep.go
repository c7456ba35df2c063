package methods

import (
	"math"

	"github.com/probode/probode/pkg/probode"
)

// A bdf makes the steps of BDF. With z = Z_{i+1} − ψ the equation of a step is
// that of the one stage of an implicit method from ψ, z = γ h f(t_{i+1}, ψ + z),
// and solved as such.
type bdf struct {
	*implicit // of the present step: its table has γ in it
	method    BDF
	start     *implicit         // makes the first steps
	first     int               // the number of them
	doubling  *probode.Doubling // estimates their errors
	uniform   bool
	ordered   bool // the grid says the orders
	choosing  bool // an error-controlled run is to choose them

	begin int                  // grid point at which the segment begins
	last  int                  // the last step that was made
	past  [bdfWindow][]float64 // the state at grid point i in row i mod 8
	k     int                  // order of the present step, 0 for one of the start
	gamma float64
	known [bdfWindow]float64 // weights of ψ
	guess [bdfWindow]float64 // weights of a value extrapolated

	psi, noise, scaled, other []float64

	next, since, fails int // of Choose

	slopes *bdfTangent
}

// bdfWindow is more than the number of states that are looked at, a power of two.
const bdfWindow = 8

// jump is the ratio of steps, 1 + √2, from which on BDF2 is unstable on steps
// that grow by it again and again [HNW93, §III.5].
const jump = 1 + math.Sqrt2

func (b *bdf) row(i int) []float64 { return b.past[i&(bdfWindow-1)] }

func (b *bdf) Start(i int, _, _ []float64) error {
	b.begin, b.last = i, i-1
	b.next, b.since, b.fails = 1, 0, 0
	return nil
}

// origin returns the grid point before which step i sees nothing.
func (b *bdf) origin(i int) int {
	if b.uniform || b.first == 0 {
		return b.begin
	}
	for j := i; j > b.begin && j > i-b.first; j-- {
		if b.g.H(j) > jump*b.g.H(j-1) {
			return j
		}
	}
	return b.begin
}

// order returns the order of step i, 0 for one of the start.
func (b *bdf) order(i int) int {
	switch seen := i - b.origin(i); {
	case seen < b.first:
		return 0
	case b.choosing:
		return min(b.next, seen+1)
	case b.ordered:
		return min(max(b.g.Order(i), 1), seen+1)
	default:
		return b.method.top()
	}
}

// quiet reports whether step i carries no noise.
func (b *bdf) quiet(i int) bool { return b.begin == 0 && i < b.method.start() }

// node returns (t_{i+1} − t_{i+1−j})/h.
func (b *bdf) node(i, j int) float64 {
	if b.uniform {
		return float64(j)
	}
	t := b.g.Times()
	return (t[i+1] - t[i+1-j]) / (t[i+1] - t[i])
}

// gammaOf returns γ of order k for step i.
func (b *bdf) gammaOf(i, k int) float64 {
	var sum float64
	for j := k; j > 0; j-- {
		sum += 1 / b.node(i, j)
	}
	return 1 / sum
}

// extrapolate sets w to the weights of the last n states in the value at
// t_{i+1} of the polynomial through them. The states are weighted as w[0] times
// the last one and −w[m] times the m-th difference between neighbours, so that
// where nothing moves nothing does to the last bit.
func (b *bdf) extrapolate(w *[bdfWindow]float64, i, n int, divided bool) {
	for j := 1; j <= n; j++ {
		v, s := 1.0, b.node(i, j)
		for m := 1; m <= n; m++ {
			if m != j {
				v *= b.node(i, m) / (b.node(i, m) - s)
			}
		}
		if divided {
			v *= b.gamma / s
		}
		w[j-1] = v
	}
	for j := n - 2; j > 0; j-- {
		w[j] += w[j+1]
	}
	w[0] = 1
}

// combine sets dst to the combination of the last n rows with the weights w.
func combine(dst []float64, rows *[bdfWindow][]float64, w *[bdfWindow]float64, i, n int) {
	const mask = bdfWindow - 1
	copy(dst, rows[i&mask])
	for m := 1; m < n; m++ {
		c, young, old := w[m], rows[(i+1-m)&mask], rows[(i-m)&mask]
		for k := range dst {
			dst[k] -= c * (young[k] - old[k])
		}
	}
}

// set finds the formula of step i, of order k, and ψ.
func (b *bdf) set(i int) {
	if !b.uniform || b.gamma == 0 {
		b.gamma = b.gammaOf(i, b.k)
		b.extrapolate(&b.known, i, b.k, true)
	}
	b.form(i, b.gamma)
	combine(b.psi, &b.past, &b.known, i, b.k)
}

// form makes the equation of step i that with γ.
func (b *bdf) form(i int, gamma float64) {
	b.t, b.h = b.g.Times()[i+1], b.g.H(i)
	b.table.a[0][0], b.table.modes[0].re = gamma, 1/gamma
}

// center takes f and J at (t_{i+1}, y), and the factors of Γ.
func (b *bdf) center(y, theta []float64) error {
	b.eval.FJ(b.f0, b.jac, b.t, y, theta)
	if !b.factorize() {
		return probode.ErrSingular
	}
	return nil
}

// setNoise sets noise to Γ⁻¹ J times the scaled normals.
func (b *bdf) setNoise(xi, scale []float64) {
	clear(b.noise)
	for k, v := range xi {
		b.scaled[k] = scale[k] * v
	}
	b.jac.AddMul(b.noise, 1, b.scaled)
	b.real[0].Solve(b.noise)
}

func (b *bdf) Step(dst []float64, i int, x, theta, xi, scale []float64) error {
	b.last = i
	copy(b.row(i), x)
	if b.k = b.order(i); b.k > 0 {
		b.set(i)
	} else if err := b.start.Step(dst, i, x, theta, nil, nil); err != nil {
		return err
	}
	clear(b.noise)
	if xi != nil && !b.quiet(i) {
		if b.k == 0 {
			b.form(i, b.equal())
		}
		if err := b.center(x, theta); err != nil {
			return err
		}
		b.setNoise(xi, scale)
	}
	if b.k > 0 {
		if err := b.solveEquation(i, x, theta); err != nil {
			return err
		}
		for k, v := range b.z {
			dst[k] = b.psi[k] + v
		}
	}
	for k, v := range b.noise {
		dst[k] += v
	}
	return nil
}

// equal is γ of equal steps.
func (b *bdf) equal() float64 {
	var sum float64
	for j := b.method.top(); j > 0; j-- {
		sum += 1 / float64(j)
	}
	return 1 / sum
}

// solveEquation sets z to Z_{i+1} − ψ without noise: from the value that the past
// suggests, where the Jacobian is nearly that of the solution, or if that leads
// nowhere from x. Where a component would change its sign it begins from x, too:
// if it is one that cannot, as a concentration, the other side may have a solution
// of its own, as that of Robertson's problem, which runs away.
func (b *bdf) solveEquation(i int, x, theta []float64) error {
	b.forecast(b.other, i, b.k+1)
	same := true
	for k, v := range b.other {
		same = same && v*x[k] >= 0
	}
	if same && b.solveFrom(b.other, theta) == nil {
		return nil
	}
	err := b.solveFrom(x, theta)
	if err == nil {
		return nil
	}
	if b.full == nil {
		if b.full = newFullNewton(b.implicit); b.full == nil {
			return err
		}
	}
	for k, v := range b.psi {
		b.z[k] = x[k] - v
	}
	b.eq = equations{b.psi, theta, false}
	return b.full.iterate(b.implicit, b.z)
}

// solveFrom iterates from Z_{i+1} = y.
func (b *bdf) solveFrom(y, theta []float64) error {
	if err := b.center(y, theta); err != nil {
		return err
	}
	for k, v := range b.psi {
		b.z[k] = y[k] - v
	}
	b.eq = equations{b.psi, theta, true} // f is that of center
	return b.iterate(b.z, &b.eq)
}

// forecast sets dst to what the polynomial through the last n states says of
// t_{i+1}, of fewer where there are not as many, and returns their number.
func (b *bdf) forecast(dst []float64, i, n int) int {
	n = min(n, i-b.origin(i)+1)
	b.extrapolate(&b.guess, i, n, false)
	combine(dst, &b.past, &b.guess, i, n)
	return n
}

// LocalError is the leading term of the error: a formula of order k errs by
// γ/s_{k+1} times what a polynomial through the k+1 last states, the oldest at a
// distance of s_{k+1} steps, misses the next one by [HNW93, §III.5]. In the first
// step, where there is no past, the derivative of that polynomial is f.
func (b *bdf) LocalError(dst []float64, i int, x, next, theta []float64) error {
	if b.k == 0 {
		return b.doubled(dst, i, x, next, theta)
	}
	if i > b.origin(i) {
		b.estimate(dst, i, b.k, next)
		return nil
	}
	b.p.F(dst, b.g.Times()[i], x, theta)
	for k, f := range dst {
		dst[k] = (next[k] - x[k] - b.g.H(i)*f) / 2
	}
	return nil
}

// doubled is the error of a step of the start, by step doubling. The estimate of
// Radau5's embedded formula, of order 3, would be larger than the errors of all
// steps that follow, and so would be noise that is scaled by it.
func (b *bdf) doubled(dst []float64, i int, x, next, theta []float64) (err error) {
	if b.doubling == nil {
		if b.doubling, err = probode.NewDoubling(b.p, Radau{}); err != nil {
			return err
		}
	}
	t := b.g.Times()
	return b.doubling.LocalError(dst, t[i], t[i+1], x, next, theta)
}

// estimate writes the error of order k in step i, or of the highest order below
// for which there are states, into dst.
func (b *bdf) estimate(dst []float64, i, k int, next []float64) {
	n := b.forecast(dst, i, k+1)
	c := b.gammaOf(i, n-1) / b.node(i, n)
	for k, v := range next {
		dst[k] = c * (v - dst[k])
	}
}

// Memory is the grid point of the start and as many states as the predictor of
// the next step looks back to, and the choice of a higher order.
func (b *bdf) Memory() int { return 1 + b.method.top()*b.d }

func (b *bdf) Save(dst []float64) {
	dst[0] = float64(b.begin)
	for j := range b.method.top() {
		copy(dst[1+j*b.d:], b.row(b.last-j))
	}
}

func (b *bdf) Restore(i int, src []float64) {
	b.begin, b.last = int(src[0]), i-1
	for j := range b.method.top() {
		copy(b.row(i-1-j), src[1+j*b.d:1+(j+1)*b.d])
	}
}

// Recall takes the states of the path.
func (b *bdf) Recall(from, i int, z, _ []float64) {
	b.begin, b.last = from, i-1
	for j := max(from, i-bdfWindow+1); j < i; j++ {
		copy(b.row(j), z[j*b.d:(j+1)*b.d])
	}
}

// Implicit shows the equation of a step.
func (b *bdf) Implicit(s *probode.ImplicitStep, i int, x, theta []float64) error {
	b.last = i
	copy(b.row(i), x)
	if b.k = b.order(i); b.k == 0 {
		return probode.ErrStarting
	}
	b.set(i)
	if err := b.center(x, theta); err != nil {
		return err
	}
	s.T, s.Inv, s.Solved = b.t, 1/(b.gamma*b.h), true
	if _, to := b.g.Segment(i); i+1 == to && to < b.g.Steps() {
		s.T = math.Nextafter(s.T, math.Inf(-1))
	}
	if s.J == nil {
		s.J = b.p.NewJacobian()
	}
	copy(s.J.A, b.jac.A)
	s.Center = append(s.Center[:0], x...)
	s.FCenter = append(s.FCenter[:0], b.f0...)
	s.Known = append(s.Known[:0], b.psi...)
	for k := range s.Known {
		s.Known[k] *= s.Inv
	}
	b.forecast(b.other, i, b.k+1)
	s.Forecast = append(s.Forecast[:0], b.other...)
	if err := b.solveEquation(i, x, theta); err != nil {
		return err
	}
	s.Mean = append(s.Mean[:0], b.psi...)
	for k, v := range b.z {
		s.Mean[k] += v
	}
	return nil
}

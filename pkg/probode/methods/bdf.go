package methods

import (
	"cmp"
	"fmt"
	"math"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/field"
	"github.com/probode/probode/pkg/probode/internal/discrepancy"
	"github.com/probode/probode/pkg/probode/internal/vector"
)

// BDF is the family of backward differentiation formulas. P is the polynomial through the
// next state and the last k states. At the end of the step, the derivative of P equals f,
// that is, P′(t_{i+1}) = f(t_{i+1}, Z_{i+1}), so that
//
//	Z_{i+1} = ψᵢ + γᵢ h f(t_{i+1}, Z_{i+1}),   1/γᵢ = Σ_{j=1}^k h/(t_{i+1} − t_{i+1−j}),
//
// where ψᵢ is a linear combination of Zᵢ, …, Z_{i+1−k} [HNW93, §III.1, III.5]. The
// coefficients are computed from the actual step lengths (variable coefficients); past
// states are not interpolated to equally spaced times. CVODE, LSODA and ode15s, with
// which many published models were fitted, also use backward differentiation formulas.
// The rules by which CVODE, LSODA and ode15s choose the step length differ slightly from
// those of BDF. CVODE, LSODA and ode15s keep the Jacobian over many steps, and stop
// Newton's iteration when its error is below a fraction of the tolerance. BDF does the
// same where the steps are chosen anew for every θ, in the runs of probode.Adaptive. On a
// grid, BDF solves the equation of each step up to rounding errors, so that Z is a smooth
// function of (θ, ξ).
//
// Orders 1 and 2 are A-stable. Orders 3, 4 and 5 damp components whose eigenvalues lie
// within 86°, 73° and 52° of the negative real axis, respectively. At some step sizes,
// orders 3 to 5 amplify weakly damped oscillations; use Radau for problems with such
// oscillations. Long steps also damp components that should grow, so a solution that
// starts within the tolerance of an unstable equilibrium may stay there. At loose
// tolerances small positive states may become negative. In some problems, such as
// Robertson's, the path diverges once a state is negative.
//
// A tolerance bounds the error of a step. Where nothing damps the errors of earlier steps,
// they add up to about as many tolerances as there are steps, because BDF has no result that
// is more accurate than its estimate. At a tolerance of 1e-10 the error on problem B1 of
// DETEST is 2000 tolerances after 2200 steps of BDF, 1700 with CVODE's, and 2 with DP5.
//
// # Start
//
// With Steps = k ≥ 2, Radau5 takes the first k steps of a segment, because a Radau5 step
// has a smaller error than a BDF step of the same length. If a step is more than 1 + √2
// times as long as the previous step, Radau5 takes k steps, beginning with this long
// step. BDF2 would be unstable if the step length kept growing by factors of more than
// 1 + √2. With Steps = 0 and error control, each segment begins with order 1, as in
// CVODE, LSODA and ode15s.
//
// # Noise
//
// The noise model is that of [T18, equations 9 to 11] for implicit methods: the equation
// of the step holds up to a random discrepancy with covariance α h^{2k−1} J Jᵀ,
//
//	Z_{i+1} = μ + √α h^{k−1/2} Γ⁻¹ J ξᵢ,   Γ = I/(γᵢh) − J,   ξᵢ ~ N(0, I),
//
// where μ is the solution of the equation without noise, and J is evaluated at (t_{i+1},
// Zᵢ). The noise of adams.Moulton of the same order has the same form. Later steps use
// the earlier, noisy states, so a k-step formula amplifies the noise of a single step. If
// f = 0 and all steps have the same length, the noise of one step is multiplied by 1/γ in
// the limit of many further steps. The factor 1/γ is 1, 1.5, 1.83, 2.08 and 2.28 for
// k = 1 to 5. Local errors are also multiplied by 1/γ. The first k steps of a path have
// no noise. On grids of error-controlled runs the noise is scaled by local error
// estimates, as for any other method: see probode.ScaleLocal.
type BDF struct {
	// Steps is k, the order of the formula, from 1 to 5. Zero means that an
	// error-controlled run chooses the order of each step, from 1 to 5. The grid stores
	// the orders together with the steps. On a grid that was not made by an
	// error-controlled run, zero means order 5.
	Steps int
}

// bdfMost is the highest order of the formulas that BDF uses.
const bdfMost = 5

// top returns the order of the formula, or 5 if the order is variable.
func (m BDF) top() int {
	if m.Steps < 0 || m.Steps > bdfMost {
		panic(fmt.Sprintf("methods: the number of steps of BDF is %d: want 1 to %d, or 0 for a variable order", m.Steps, bdfMost))
	}
	return cmp.Or(m.Steps, bdfMost)
}

func (m BDF) String() string {
	if m.top(); m.Steps == 0 {
		return "BDF"
	}
	return fmt.Sprintf("BDF%d", m.Steps)
}

func (m BDF) Order() int { return m.top() }

func (m BDF) Noise(d int) probode.Noise {
	return probode.Noise{Normals: d, Exponent: float64(m.top()) - 0.5, Quiet: m.start()}
}

// start returns the number of steps that must be taken by another method before a formula
// of fixed order can be used.
func (m BDF) start() int {
	if m.top() == 1 {
		return 0
	}
	return m.top()
}

func (m BDF) Stepper(p *probode.Problem, g *probode.Grid) (*probode.Stepper, error) {
	b, err := newBDF(m, p, g)
	if err != nil {
		return nil, err
	}
	return &probode.Stepper{Start: b.begin, Step: b.take,
		Memory: 1 + m.top()*(1+b.d), Save: b.save, Restore: b.restore,
		LocalError: b.localError, Choose: b.choose, Differentiate: b.differentiate, Reverse: b.backwards, Implicit: b.equation}, nil
}

func newBDF(m BDF, p *probode.Problem, g *probode.Grid) (*bdf, error) {
	b := &bdf{method: m, first: m.start(), choosing: m.Steps == 0 && g == nil}
	var err error
	if b.implicit, err = newImplicit(p, &collocation{stages: 1, a: [][]float64{{1}}, c: []float64{0}, d: []float64{1},
		modes: []mode{{re: 1, left: []complex128{1}, right: []complex128{1}}}}); err != nil {
		return nil, err
	}
	ordered := b.choosing
	for i := 0; m.Steps == 0 && g != nil && i < g.Steps() && !ordered; i++ {
		ordered = g.Order(i) > 0
	}
	if ordered {
		b.first = 0
	}
	if b.first > 0 {
		if b.start, err = newImplicit(p, radau3); err != nil {
			return nil, err
		}
	}
	for j := range b.past {
		b.past[j] = make([]float64, b.d)
	}
	for _, v := range []*[]float64{&b.psi, &b.other, &b.ahead} {
		*v = make([]float64, b.d)
	}
	b.noise = discrepancy.New(b.eval, b.f0, b.jac, b.real[0])
	if g != nil && g.Local() == nil {
		if err := b.checkGrid(g); err != nil {
			return nil, err
		}
	}
	return b, nil
}

// bdf takes the steps of BDF. With z = Z_{i+1} − ψ the equation of a step is z = γ h
// f(t_{i+1}, ψ + z). The embedded `implicit` solves the equation as the stage equation of
// a one-stage method that starts at ψ. The steps of a segment are counted from i = 0.
type bdf struct {
	*implicit // solves the equation of the current step; its table contains γ
	method    BDF
	start     *implicit                                  // takes the first steps
	first     int                                        // the number of steps that start takes
	doubling  func(dst []float64, s *probode.Step) error // estimates the errors of the starting steps
	choosing  bool                                       // an error-controlled run chooses the orders
	plain     probode.Step                               // a step without noise

	n     int                  // the number of known states
	now   int                  // the number of the current step
	past  [bdfWindow][]float64 // the state at the beginning of step i, in row i mod 8
	times [bdfWindow]float64   // the time at the beginning of step i, in element i mod 8
	k     int                  // order of the current step, 0 for a starting step
	gamma float64              // of order `of`
	of    int
	known [bdfWindow]float64 // weights of ψ
	guess [bdfWindow]float64 // weights of an extrapolated value

	nodes    [bdfWindow]float64            // see place
	lagrange [bdfWindow][bdfWindow]float64 // see polynomial
	rows     int                           // the number of rows of lagrange that are known
	even     bool                          // the coefficients are those of equal steps

	psi, other []float64
	noise      *discrepancy.Noise

	ahead []float64 // the extrapolated value at which the iteration starts
	from  int       // the number of states used in the extrapolation

	since, fails int // used by choose

	slopes *bdfTangent
	back   *bdfReverse
}

// bdfWindow is a power of two that is larger than the number of states that a step uses.
const bdfWindow = 8

// jump is 1 + √2. BDF2 is unstable if every step is more than 1 + √2 times as long as the
// step before it [HNW93, §III.5].
const jump = 1 + math.Sqrt2

func (b *bdf) row(i int) []float64 { return b.past[i&(bdfWindow-1)] }

func (b *bdf) begin(s *probode.Step) error {
	b.n, b.since, b.fails, b.kept = 0, 0, 0, keptJacobian{}
	if b.choosing {
		s.Order = 1
	}
	if b.back != nil {
		for _, v := range b.back.past {
			clear(v)
		}
	}
	return nil
}

// step stores the state and the time at which a step begins, and returns the number i of
// the step. A step at an earlier time than the last one takes its place.
func (b *bdf) step(s *probode.Step) (i int) {
	const mask = bdfWindow - 1
	for b.n > 0 && b.times[(b.n-1)&mask] >= s.T {
		b.n--
	}
	i = b.n
	b.times[i&mask] = s.T
	copy(b.row(i), s.X)
	b.n, b.now = b.n+1, i
	return i
}

// origin returns the number of the earliest step whose state may be used in step i, which
// ends at time end.
func (b *bdf) origin(i int, end float64) int {
	if b.first == 0 {
		return 0
	}
	const mask = bdfWindow - 1
	for j := i; j > 0 && j > i-b.first; j-- {
		t := b.times[j&mask]
		if end-t > jump*(t-b.times[(j-1)&mask]) {
			return j
		}
		end = t
	}
	return 0
}

// order returns the order of step i, or 0 for a starting step.
func (b *bdf) order(i int, s *probode.Step) int {
	switch seen := i - b.origin(i, s.End); {
	case seen < b.first:
		return 0
	case b.first == 0 && b.method.Steps == 0:
		return min(max(s.Order, 1), seen+1)
	default:
		return b.method.top()
	}
}

// place computes the nodes of step i: nodes[j] is (t_{i+1} − t_{i+1−j})/h, for all past
// states that the step may use. Lengths that differ only by rounding are equal.
func (b *bdf) place(i int, end float64) {
	const mask = bdfWindow - 1
	t := b.times[i&mask]
	h := end - t
	near, n, even := 1e-9*h+4*0x1p-52*math.Abs(end), min(i, b.method.top()), true
	for j := 1; j <= n && even; j++ {
		before := b.times[(i-j)&mask]
		even = math.Abs(t-before-h) <= near
		t = before
	}
	if even && b.even && n == b.method.top() {
		return // the nodes are known
	}
	b.even, b.rows, b.gamma = even && n == b.method.top(), 0, 0
	for j := 1; j <= n+1; j++ {
		if b.nodes[j] = float64(j); !even {
			b.nodes[j] = (end - b.times[(i+1-j)&mask]) / h
		}
	}
}

// gammaOf returns γ for order k.
func (b *bdf) gammaOf(k int) float64 {
	var sum float64
	for j := k; j > 0; j-- {
		sum += 1 / b.nodes[j]
	}
	return 1 / sum
}

// The value at t_{i+1} of the polynomial through the last n states is a weighted sum of
// the n states. polynomial returns the n weights. The weight of state j is ∏ s_m/(s_m −
// s_j) over all m ≠ j, where the s_m are the nodes. The n weights are computed from the
// weights for n − 1 states. All weights are stored, because a step uses polynomials
// through different numbers of states.
func (b *bdf) polynomial(n int) *[bdfWindow]float64 {
	for ; b.rows < n; b.rows++ {
		m := b.rows + 1
		old, row := &b.lagrange[b.rows], &b.lagrange[m]
		v, s := 1.0, b.nodes[m]
		for j := 1; j < m; j++ {
			row[j-1] = old[j-1] * (s / (s - b.nodes[j]))
			v *= b.nodes[j] / (b.nodes[j] - s)
		}
		row[m-1] = v
	}
	return &b.lagrange[n]
}

// extrapolate sets w to the weights that combine applies to the last n states. If the
// argument `divided` is false, combine() computes the value at t_{i+1} of the polynomial
// through the n states; if `divided` is true, combine() computes ψ. combine multiplies
// the differences between successive states by the weights w[1], …, w[n−1], and subtracts
// the products from the last state. All differences of a constant component are zero, so
// rounding errors cannot change the component.
func (b *bdf) extrapolate(w *[bdfWindow]float64, n int, divided bool) {
	*w = *b.polynomial(n)
	if divided {
		for j := 1; j <= n; j++ {
			w[j-1] *= b.gamma / b.nodes[j]
		}
	}
	for j := n - 2; j > 0; j-- {
		w[j] += w[j+1]
	}
	w[0] = 1
}

// combine sets dst to a linear combination of the last n rows. The weights w multiply the
// differences between successive rows: see extrapolate.
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

// set computes the coefficients and ψ of step i, whose formula has order k.
func (b *bdf) set(i int, s *probode.Step) {
	b.coefficients(i, s)
	combine(b.psi, &b.past, &b.known, i, b.k)
}

func (b *bdf) coefficients(i int, s *probode.Step) {
	if b.place(i, s.End); b.gamma == 0 || b.of != b.k {
		b.of, b.gamma = b.k, b.gammaOf(b.k)
		b.extrapolate(&b.known, b.k, true)
	}
	b.form(s, b.gamma)
}

// form sets up the equation of the step with the given γ.
func (b *bdf) form(s *probode.Step, gamma float64) {
	b.t, b.h = s.End, s.H
	b.table.a[0][0], b.table.modes[0].re = gamma, 1/gamma
}

func (b *bdf) take(s *probode.Step) error {
	i := b.step(s)
	if b.k = b.order(i, s); b.k > 0 {
		b.set(i, s)
	} else if err := b.start.make(s.Next, s.T, s.H, s.X, s.Theta); err != nil {
		return err
	}
	clear(b.noise.U)
	if s.Xi != nil {
		if b.k == 0 {
			b.form(s, b.equal())
		}
		if err := b.center(b.t, s.X, s.Theta); err != nil {
			return err
		}
		b.noise.Set(s.Xi, s.Scale)
	}
	if b.k > 0 {
		if err := b.solveEquation(i, s); err != nil {
			return err
		}
		for k, v := range b.z {
			s.Next[k] = b.psi[k] + v
		}
	}
	vector.AddScaled(s.Next, 1, b.noise.U)
	return nil
}

// equal returns γ for equal steps.
func (b *bdf) equal() float64 {
	var sum float64
	for j := b.method.top(); j > 0; j-- {
		sum += 1 / float64(j)
	}
	return 1 / sum
}

// solveEquation computes Z_{i+1} − ψ for a step without noise, and stores the result in
// z. The iteration starts from the value extrapolated from past states, because the
// Jacobian at this value is nearly the same as at the solution. If the iteration fails,
// it starts again from the current state x. If a component changes sign between x and the
// extrapolated value, the iteration starts from x instead. From a starting value with the
// wrong sign, the iteration could converge to a second solution of the equation, such as
// a negative concentration. In Robertson's problem the path diverges once a concentration
// is negative. Where the state needs to be no more accurate than the tolerance, this
// iteration is only made if approach fails.
func (b *bdf) solveEquation(i int, s *probode.Step) error {
	x, theta := s.X, s.Theta
	b.from = b.forecast(b.ahead, i, b.k+1, s)
	same := true
	for k, v := range b.ahead {
		same = same && v*x[k] >= 0
	}
	if y := b.ahead; s.Permitted != nil {
		if !same {
			y = x
		}
		for k, v := range b.psi {
			b.initial[k] = y[k] - v
		}
		b.eq = equations{b.psi, theta, true} // center computes f
		if b.approach(b.t, y, s.Permitted) {
			s.Rough = true
			return nil
		}
	}
	if same && b.solveFrom(b.ahead, theta) == nil {
		return nil
	}
	err := b.solveFrom(x, theta)
	if err == nil {
		return nil
	}
	if b.newton() == nil {
		return err
	}
	for k, v := range b.psi {
		b.z[k] = x[k] - v
	}
	b.eq = equations{b.psi, theta, false}
	return b.full.iterate(b.implicit, b.z)
}

// solveFrom starts the iteration at Z_{i+1} = y.
func (b *bdf) solveFrom(y, theta []float64) error {
	if err := b.center(b.t, y, theta); err != nil {
		return err
	}
	for k, v := range b.psi {
		b.z[k] = y[k] - v
	}
	b.eq = equations{b.psi, theta, true} // center has computed f
	return b.iterate(b.z, &b.eq)
}

// forecast sets dst to the value at t_{i+1} of the polynomial through the last n states.
// If there are fewer than n states, the method uses all states. The result is the number
// of states that were used.
func (b *bdf) forecast(dst []float64, i, n int, s *probode.Step) int {
	n = min(n, i-b.origin(i, s.End)+1)
	b.extrapolate(&b.guess, n, false)
	combine(dst, &b.past, &b.guess, i, n)
	return n
}

// localError estimates the leading term of the local error. For a formula of order k the
// leading term is γ/s_{k+1} times the difference between the next state and the
// polynomial through the last k+1 states. Here s_{k+1} is the time from the oldest of the
// k+1 states to the end of the step, divided by the step length [HNW93, §III.5]. In the
// first step there are no earlier states, so the polynomial is the straight line with
// slope f through the current state.
func (b *bdf) localError(dst []float64, s *probode.Step) error {
	i := b.now
	if b.k == 0 {
		return b.doubled(dst, s)
	}
	if i > b.origin(i, s.End) {
		b.estimate(dst, i, b.k, s)
		return nil
	}
	b.p.F(dst, s.T, s.X, s.Theta)
	for k, f := range dst {
		dst[k] = (s.Next[k] - s.X[k] - s.H*f) / 2
	}
	return nil
}

// doubled uses step doubling to estimate the error of a starting step. A starting step is
// a step of Radau5, whose embedded formula has only order 3. An error estimate of order 3
// would be larger than the errors of all later steps, so noise in proportion to the
// estimate would be too large.
func (b *bdf) doubled(dst []float64, s *probode.Step) error {
	if b.doubling == nil {
		step, err := probode.Doubled{Method: Radau{}}.Stepper(b.p, nil)
		if err != nil {
			return err
		}
		b.doubling = step.LocalError
	}
	return b.doubling(dst, s)
}

// estimate writes to dst the error estimate for order k in step i. If there are too few
// past states for order k, it uses the highest possible order.
func (b *bdf) estimate(dst []float64, i, k int, s *probode.Step) {
	n := b.from
	if k == b.k {
		copy(dst, b.ahead)
	} else {
		n = b.forecast(dst, i, k+1, s)
	}
	c := b.gamma
	if n-1 != b.k {
		c = b.gammaOf(n - 1)
	}
	c /= b.nodes[n]
	for k, v := range s.Next {
		dst[k] = c * (v - dst[k])
	}
}

// save stores the number of known states, and the states that the next step needs for the
// predictor and for the choice of a higher order.
func (b *bdf) save(dst []float64) {
	dst[0] = float64(b.n)
	for j := 1; j <= b.method.top(); j++ {
		own := dst[1+(j-1)*(1+b.d):]
		own[0] = b.times[(b.n-j)&(bdfWindow-1)]
		copy(own[1:1+b.d], b.row(b.n-j))
	}
}

func (b *bdf) restore(src []float64) {
	b.n = int(src[0])
	for j := 1; j <= b.method.top(); j++ {
		own := src[1+(j-1)*(1+b.d):]
		b.times[(b.n-j)&(bdfWindow-1)] = own[0]
		copy(b.row(b.n-j), own[1:1+b.d])
	}
}

// equation stores the equation of the step in e.
func (b *bdf) equation(e *probode.ImplicitStep, s *probode.Step) error {
	i := b.step(s)
	if b.k = b.order(i, s); b.k == 0 {
		return probode.ErrStarting
	}
	b.set(i, s)
	if err := b.center(b.t, s.X, s.Theta); err != nil {
		return err
	}
	e.Inv, e.Solved = 1/(b.gamma*b.h), true
	if e.J == nil {
		e.J = b.p.Field().NewJacobian()
	}
	copy(e.J.A, b.jac.A)
	e.Center = append(e.Center[:0], s.X...)
	e.FCenter = append(e.FCenter[:0], b.f0...)
	e.Known = append(e.Known[:0], b.psi...)
	for k := range e.Known {
		e.Known[k] *= e.Inv
	}
	if err := b.solveEquation(i, s); err != nil {
		return err
	}
	e.Forecast = append(e.Forecast[:0], b.ahead...)
	e.Mean = append(e.Mean[:0], b.psi...)
	vector.AddScaled(e.Mean, 1, b.z)
	return nil
}

// The errors of a k-step formula obey a recursion that depends on the ratios of
// successive step lengths. If the steps grow too fast for too long, the errors grow, even
// for f = 0. Error control detects growing errors. On a grid supplied by the user there
// is no error control, so checkGrid checks the grid in advance.

// checkGrid checks a grid supplied by the user. checkGrid returns an error if the grid
// consists only of starting steps, because Radau5 would then take every step. Let eᵢ be
// the errors of a path with f = 0 and a local error of ±1 in each step, and let
// dᵢ = eᵢ − eᵢ₋₁. checkGrid also returns an error if |dᵢ| exceeds 10⁴. The recursion for
// eᵢ has the characteristic root 1, because a constant error satisfies the recursion; the
// recursion for dᵢ does not have this root:
//
//	d_{i+1} = ±1 − Σ_{m=1}^{k−1} T_m d_{i+1−m}.
//
// With equal steps, |dᵢ| stays below 20 for all orders.
func (b *bdf) checkGrid(g *probode.Grid) error {
	const most, mask = 1e4, bdfWindow - 1
	if b.first == 0 {
		return nil
	}
	if n := g.Steps(); n <= b.first {
		return fmt.Errorf("%v needs %d starting steps, but the grid has only %d steps: use a smaller step", b.method, b.first, n)
	}
	if _, uniform := g.Uniform(); uniform {
		return nil
	}
	var d [bdfWindow]float64
	signs := uint64(0x9e3779b97f4a7c15)
	x := make([]float64, b.d)
	for j := range g.Steps() {
		s := probode.Step{T: g.Times()[j], End: g.Times()[j+1], X: x}
		if s.T == s.End {
			continue // an event
		}
		if from, _ := g.Segment(j); from == j {
			b.n = 0
		}
		i := b.step(&s)
		b.k = b.order(i, &s)
		v := float64(1)
		if signs = signs<<1 | signs>>63; signs&1 == 0 {
			v = -1
		}
		if b.k > 0 {
			b.coefficients(i, &s)
			for m := 1; m < b.k; m++ {
				v -= b.known[m] * d[(i-m)&mask]
			}
		}
		if d[i&mask] = v; math.Abs(v) > most {
			return fmt.Errorf("with %v, errors grow by a factor of more than %g before t = %g, because the steps grow too fast: want steps under error control, or a one-step method", b.method, most, s.End)
		}
	}
	b.n = 0
	return nil
}

// A bdfTangent holds the derivatives of the past states, one M×d matrix for each state.
// The derivatives of the state at grid point i are in row i mod 8.
type bdfTangent struct {
	past [bdfWindow][]float64
	psi  []float64
	at   *field.Differentiator // at the beginning of the step, for the noise
}

// differentiate computes the derivatives of the next state from the equation of the step
// and from the noise. The coefficients do not depend on θ, because the ratios of the step
// lengths do not depend on θ.
func (b *bdf) differentiate(dnext []float64, s *probode.Step, tg *probode.Tangents) error {
	if b.tangent == nil {
		b.newTangent()
		b.slopes = &bdfTangent{at: field.NewDifferentiator(b.p.Field(), true)}
	}
	w, i := b.slopes, b.now
	if len(w.psi) != tg.M*b.d {
		w.psi = make([]float64, tg.M*b.d)
		for j := range w.past {
			w.past[j] = make([]float64, tg.M*b.d)
		}
	}
	copy(w.past[i&(bdfWindow-1)], tg.X)
	if b.k == 0 {
		if err := b.start.differentiate(dnext, b.quiet(s), tg); err != nil {
			return err
		}
	} else {
		combine(w.psi, &w.past, &b.known, i, b.k)
		for k, v := range b.z {
			b.at[k] = b.psi[k] + v
		}
		e := b.tangent
		e.at[0].At(b.t, b.at, s.Theta, nil)
		for m := range tg.M {
			dtheta, _, dt, dh := tg.Direction(m)
			e.x, e.h = w.psi[m*b.d:(m+1)*b.d], dh
			e.at[0].Along(e.g, e.x, dtheta, dt+dh)
			if err := b.solveTangent(); err != nil {
				return err
			}
			to := dnext[m*b.d : (m+1)*b.d]
			for k, v := range e.z {
				to[k] = e.x[k] + v
			}
		}
	}
	if s.Xi == nil {
		return nil
	}
	return b.noise.Differentiate(dnext, w.at, b.table.modes[0].re/b.h, b.t, s, tg)
}

// quiet returns s without its noise.
func (b *bdf) quiet(s *probode.Step) *probode.Step {
	b.plain = *s
	b.plain.Xi, b.plain.Scale = nil, nil
	return &b.plain
}

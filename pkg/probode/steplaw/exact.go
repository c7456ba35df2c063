package steplaw

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
)

// The exact law of an implicit step. In derivative space the discrepancy r is
// penalised as a Gaussian would be, but r is not linear in the state, so the
// law of the state is not Gaussian. With J, Γ and μ those of the linearised
// step, write a state as
//
//	z = μ + Lζ,   L = √α h^{s+1/2} Γ⁻¹J,   u(z) = (√α h^{s+1/2} J)⁻¹ r(z).
//
// Then the Gaussian approximation is ζ ~ N(0, I), the exact density is
// exp(−½‖u‖²), and the one has relative to the other the density
//
//	exp(−Φ(ζ)),   Φ(ζ) = ½‖u‖² − ½‖ζ‖².
//
// Replacing r by its linearisation makes u = ζ and Φ = 0. So Φ holds the
// difference between r and its linearisation and nothing else, and the
// preconditioned Crank–Nicolson move, which is reversible for N(0, I), is
// accepted or rejected on that difference alone [Cotter et al. 2013; T18,
// §2.4].
//
// The move reaches badly where the law has heavier tails than the
// approximation: there e^{−Φ} is not bounded, and from far out every contraction
// is refused. So it takes turns with a random walk, which is accepted or
// rejected on ½‖u‖² and does not care.

// ExactLaw asks for draws of p(z) ∝ exp(−½ r(z)ᵀ H⁻¹ r(z)) itself. In every
// step a chain starts from ζ = ξᵢ, a draw of the Gaussian approximation, and
// makes Sweeps moves. A move of preconditioned Crank–Nicolson is
//
//	ζ′ = √(1−β²) ζ + β η,   η ~ N(0, I),
//
// accepted with probability min(1, exp(Φ(ζ) − Φ(ζ′))), where Φ is the
// difference between ½rᵀH⁻¹r and its value for the linearised r. The zero value
// has the defaults; Sweeps < 0 and a Beta outside [0, 1] panic.
//
// The chain is exact in the limit of many sweeps and is the Gaussian law with
// none. With the defaults, backward Euler and α = 0.2, one-step draws of V in
// the FitzHugh–Nagumo problem were compared with StepLaw.Sample in 32 steps
// along a path. At h = 0.1 and 0.2 the distribution functions agree to 0.017,
// the Monte Carlo error of 10⁴ draws, where that of the approximation is off by
// up to 0.43 and 0.95. At h = 0.3, where the median step is off by 0.18, they
// agree to 0.024 but for one step with 0.07. Crank–Nicolson moves alone leave
// errors up to 0.15 there after four times the sweeps, and nothing shows it.
//
// What the chain does badly is to find what lies far from the rest. At h = 0.3
// some steps have a far shelf of small r with a percent of the mass and up to
// half of the variance; the default sweeps miss most of it and understate that
// variance by up to a half, and 1600 find it. How it went on another problem,
// Ensemble.Exact tells in part; in one and two dimensions StepLaw is an
// independent check.
//
// The exact law needs H⁻¹, so that det J = 0 is an error, ErrSingularH, and it
// exists only if its density can be normalised, else ErrImproper. Its mean is
// not the root of r. Newton and Current have the same exact law, as they take
// J at the same state; only the start of the chain differs. In standard
// deviations the Gaussian mean is off by O(h^{s+5/2}) with Newton, but by
// O(h^{3/2−s}) with Current, which for s ≥ 2 is worse the smaller the step.
// With α = 0 the step is the classical one.
type ExactLaw struct {
	// Sweeps is the number of moves in a step; zero means 100.
	Sweeps int
	// Beta is β, 0 < β ≤ 1, of all moves. Zero means a cycle of four: β = 1,
	// which forgets the past at once where the law is close to Gaussian, a
	// random walk with steps of 1.5/√d in each component of ζ, β = 1/2, and a
	// random walk with steps of 4/√d.
	Beta float64
}

const defaultSweeps = 100

// A move is ζ′ = keep·ζ + size·η. It is reversible for N(0, I) with
// keep² + size² = 1, and for Lebesgue measure with keep = 1.
type move struct {
	keep, size float64
	walk       bool
}

func crankNicolson(beta float64) move { return move{keep: math.Sqrt(1 - beta*beta), size: beta} }

func defaultMoves(d int) []move {
	walk := 1 / math.Sqrt(float64(d))
	return []move{crankNicolson(1), {1, 1.5 * walk, true}, crankNicolson(0.5), {1, 4 * walk, true}}
}

var (
	// ErrSingularH: H = α h^{2s+1} JJᵀ has no inverse, because det J = 0 to
	// within rounding. A conserved quantity of the problem has that effect.
	ErrSingularH = errors.New("det J = 0, and the exact law needs the inverse of H = αh²ˢ⁺¹JJᵀ: use the Gaussian law (Exact: nil), which does not, or eliminate what the problem conserves")
	// ErrImproper: the integral of exp(−½ rᵀH⁻¹r) is infinite.
	ErrImproper = errors.New("the exact density cannot be normalised, r(z) does not grow along a direction: try a smaller step, or the Gaussian law (Exact: nil)")
)

// exactStep is the exact law of one step in the coordinates ζ.
type exactStep struct {
	f     func(dst []float64, t float64, x, theta []float64)
	t     float64 // t_{i+1}
	theta []float64
	scale float64 // √α h^{s+1/2}

	mu    []float64
	jac   *jacobian // J of the noise
	gamma *lu       // Γ
	negJ  *lu       // −J, the factors of 0·I − J

	// Φ is computed from the remainder of the linearisation about base, not
	// from r: r is a small difference of terms of size z/h, and its rounding
	// errors would swamp the noise of a method of high order at a small step.
	// fbase is f(t_{i+1}, base) + r(μ); the latter is zero but for a Newton
	// iteration that was ended early.
	base, fbase []float64

	z, u []float64 // of the last call of phi
}

func newExactStep(a *adamsMoulton) exactStep {
	e := exactStep{f: a.p.F, jac: newJacobian(a.d, a.p.Band)}
	e.gamma, e.negJ = newLU(e.jac), newLU(e.jac)
	for _, v := range []*[]float64{&e.mu, &e.base, &e.fbase, &e.z, &e.u} {
		*v = make([]float64, a.d)
	}
	return e
}

// set takes over the step that a.prepare(i, …) has prepared. The error
// ErrSingularH leaves what belongs to the Gaussian law in order.
func (e *exactStep) set(a *adamsMoulton, i int, theta []float64) error {
	e.t, e.theta, e.scale = a.t[i+1], theta, a.scale
	copy(e.jac.a, a.jac.a)
	copy(e.base, a.c)
	copy(e.fbase, a.fc)
	if a.lin == Current {
		a.remember(i, a.c) // c is Zᵢ
	}
	inv := a.inv
	e.gamma.factorize(inv, e.jac) // succeeds, as it did in prepare
	if err := a.advance(i, e.mu, theta, nil); err != nil {
		return err
	}
	if !finite(e.mu) {
		return ErrDiverged
	}
	if a.lin == Newton {
		copy(e.base, e.mu)
		e.f(e.fbase, e.t, e.base, theta)
		a.residual(a.u, e.base, e.fbase)
		for k, v := range a.u {
			// Below rounding of its terms r(μ) is taken for zero, which it is
			// for the unrounded μ.
			if math.Abs(v) > 4*epsilon*(inv*math.Abs(e.mu[k])+math.Abs(a.known[k])+math.Abs(e.fbase[k])) {
				e.fbase[k] += v
			}
		}
	}
	// A singular J does not give a pivot of zero but one of rounding errors.
	// They are 10⁻¹⁶ of the terms whose difference the pivot is, or 10⁻⁸ with
	// J by differences; a pivot is trusted when it is 10⁴ or 10² times that.
	// Unlike a condition number the ratio does not see the units of the state.
	least := 1e-12
	if a.p.FJ == nil {
		least = 1e-6
	}
	if !e.negJ.factorize(0, e.jac) || !(e.negJ.cancellation() >= least) {
		return ErrSingularH
	}
	return nil
}

const epsilon = 0x1p-52

// cancellation returns the least ratio of a pivot to the sum of the sizes of
// the terms |a_ii| + Σ_k |l_ik u_ki| from which elimination computed it. In a
// band, where multipliers are not kept beside their rows, 1 bounds them.
func (f *lu) cancellation() float64 {
	if f.d == 2 && !f.banded {
		// The inverse is kept, whose determinant cancels as that of the matrix.
		p, q := f.a[0]*f.a[3], f.a[1]*f.a[2]
		return math.Abs(p-q) / (math.Abs(p) + math.Abs(q))
	}
	least := 1.0
	for i := range f.d {
		var pivot, terms float64
		if f.banded {
			pivot = 1 / math.Abs(f.a[i*f.stride+f.low])
			for k := max(0, i-f.up); k < i; k++ {
				terms += math.Abs(f.a[k*f.stride+i-k+f.low])
			}
		} else {
			pivot = 1 / math.Abs(f.a[i*f.d+i])
			for k := range i {
				terms += math.Abs(f.a[i*f.d+k] * f.a[k*f.d+i])
			}
		}
		least = min(least, pivot/(pivot+terms))
	}
	return least
}

// place sets dst to z = μ + Lζ.
func (e *exactStep) place(dst, zeta []float64) {
	clear(dst)
	e.jac.addMul(dst, e.scale, zeta)
	e.gamma.solve(dst)
	for k, v := range e.mu {
		dst[k] += v
	}
}

// phi returns Φ(ζ), +Inf where f is not finite, and leaves the state in e.z.
//
// From r(z) = Γ(z−μ) − (f(z) − f(b) − J(z−b) − r(μ)) follows u = ζ − δ with
// √α h^{s+1/2} δ = J⁻¹(f(z) − f(b) − r(μ)) − (z−b), and Φ = ½‖δ‖² − ζ·δ.
func (e *exactStep) phi(zeta []float64) float64 {
	e.place(e.z, zeta)
	e.f(e.u, e.t, e.z, e.theta)
	for k, v := range e.fbase {
		e.u[k] = v - e.u[k]
	}
	e.negJ.solve(e.u)
	var sum float64
	for k, v := range e.u {
		delta := (v - (e.z[k] - e.base[k])) / e.scale
		sum += delta * (delta/2 - zeta[k])
	}
	if sum-sum != 0 {
		return math.Inf(1)
	}
	return sum
}

// exactSampler draws the steps of a path.
type exactSampler struct {
	exactStep
	a           *adamsMoulton
	sweeps      int
	moves       []move
	pcg         rand.PCG
	rng         *rand.Rand
	zeta, moved []float64
	report      *ExactReport // nil: nobody asks
}

// exactKey keeps the stream of the chain apart from those of ξ, whose second
// key is the number of a block.
const exactKey = math.MaxUint64

func newExactSampler(a *adamsMoulton, law ExactLaw) *exactSampler {
	if law.Sweeps < 0 {
		panic(fmt.Sprintf("probode: ExactLaw with %d sweeps: want at least 1, or 0 for the default", law.Sweeps))
	}
	if !(law.Beta >= 0 && law.Beta <= 1) {
		panic(fmt.Sprintf("probode: ExactLaw with Beta %g: want one in (0, 1], or 0 for the default", law.Beta))
	}
	x := &exactSampler{exactStep: newExactStep(a), a: a, sweeps: law.Sweeps,
		zeta: make([]float64, a.d), moved: make([]float64, a.d)}
	if x.sweeps == 0 {
		x.sweeps = defaultSweeps
	}
	x.moves = defaultMoves(a.d)
	if law.Beta > 0 {
		x.moves = []move{crankNicolson(law.Beta)}
	}
	x.rng = rand.New(&x.pcg)
	return x
}

// seed makes what follows depend on (seed, path) and ξ only.
func (x *exactSampler) seed(seed, path uint64) { seedStream(&x.pcg, seed, path, exactKey) }

// step finishes the step that a.prepare(i, …) has prepared.
func (x *exactSampler) step(i int, next, theta, xi []float64) error {
	if err := x.set(x.a, i, theta); err != nil {
		return err
	}
	copy(x.zeta, xi)
	phi := x.phi(x.zeta)
	copy(next, x.z)
	accepted, tried := 0, 0
	for n := range x.sweeps {
		m := x.moves[n%len(x.moves)]
		for k, v := range x.zeta {
			x.moved[k] = m.keep*v + m.size*x.rng.NormFloat64()
		}
		to := x.phi(x.moved)
		gain := phi - to
		if m.walk {
			gain += (square(x.zeta) - square(x.moved)) / 2
		}
		// The comparison fails for the NaN of ∞ − ∞.
		if gain >= 0 || x.rng.Float64() < math.Exp(gain) {
			phi = to
			x.zeta, x.moved = x.moved, x.zeta
			copy(next, x.z)
			if !m.walk {
				accepted++
			}
		}
		if !m.walk {
			tried++
		}
		if x.report != nil && n >= x.sweeps/2 {
			x.report.add(i, x.zeta)
		}
	}
	if math.IsInf(phi, 1) {
		return ErrDiverged
	}
	if x.report != nil {
		x.report.end(i, accepted, tried, xi, x.zeta)
	}
	return nil
}

// An ExactReport says for every step how far its law is from the Gaussian
// approximation, pooled over the paths of an ensemble. Step i leads from T[i]
// to T[i+1]. If the approximation were exact, Accept would be 1 and the
// standardised noise ζ = L⁻¹(Z_{i+1} − μ) of components of Shift 0, SD 1 and
// Skewness 0. Entries of steps that no path made, as those of the start-up,
// are NaN.
type ExactReport struct {
	// T is the grid, one element more than there are steps.
	T []float64
	// Accept[i] is the share of accepted moves among those of preconditioned
	// Crank–Nicolson.
	Accept []float64
	// Shift[k][i], SD[k][i] and Skewness[k][i] are mean, standard deviation
	// and skewness of ζ_k, taken over paths and over the states of the chain
	// in the second half of the sweeps. They are accurate to about 1/√n for n
	// paths. A component of ζ belongs to one of ξ, not to one of the state, and
	// paths that are shifted to opposite sides cancel in Shift and add to SD.
	Shift, SD, Skewness [][]float64
	// Memory[i] is the correlation of the start of the chain with its end,
	// over paths and components: 0 if the sweeps were enough to forget the
	// start, with a Monte Carlo error of about 1/√(nd).
	Memory []float64
	// MultipleRoots are the steps along path 0 in which StepLaw.Roots finds
	// that r(z) = 0 has several solutions. A chain then may stay with the one
	// it began at.
	MultipleRoots []int
	// Searched is the number of steps of path 0 that were looked at: all, or
	// 256 evenly spread.
	Searched int

	paths, states, accepted, tried []int // per step
	// Sums per step and component: ζ, ζ² and ζ³ over the states of the second
	// half, and ξ, ζ and ξζ over the ends of the chains. As ζ is of the size of
	// 1, plain sums lose no digits that matter.
	sum [6][]float64
}

func newExactReport(t []float64, d int) *ExactReport {
	n := len(t) - 1
	r := &ExactReport{T: t}
	for _, v := range []*[]int{&r.paths, &r.states, &r.accepted, &r.tried} {
		*v = make([]int, n)
	}
	for k := range r.sum {
		r.sum[k] = make([]float64, n*d)
	}
	return r
}

// add counts one state of a chain in step i.
func (r *ExactReport) add(i int, zeta []float64) {
	r.states[i]++
	at := i * len(zeta)
	for k, v := range zeta {
		r.sum[0][at+k] += v
		r.sum[1][at+k] += v * v
		r.sum[2][at+k] += v * v * v
	}
}

// end counts one chain in step i, from xi to zeta.
func (r *ExactReport) end(i, accepted, tried int, xi, zeta []float64) {
	r.paths[i]++
	r.accepted[i] += accepted
	r.tried[i] += tried
	at := i * len(zeta)
	for k, v := range zeta {
		r.sum[3][at+k] += xi[k]
		r.sum[4][at+k] += v
		r.sum[5][at+k] += xi[k] * v
	}
}

// merge adds the sums of o.
func (r *ExactReport) merge(o *ExactReport) {
	for i := range r.paths {
		r.paths[i] += o.paths[i]
		r.states[i] += o.states[i]
		r.accepted[i] += o.accepted[i]
		r.tried[i] += o.tried[i]
	}
	for m := range r.sum {
		for k, v := range o.sum[m] {
			r.sum[m][k] += v
		}
	}
}

// finish computes the exported fields from the sums.
func (r *ExactReport) finish() {
	n := len(r.paths)
	d := len(r.sum[0]) / n
	r.Accept, r.Memory = make([]float64, n), make([]float64, n)
	r.Shift, r.SD, r.Skewness = newSeries(d, n), newSeries(d, n), newSeries(d, n)
	for i := range n {
		r.Accept[i] = float64(r.accepted[i]) / float64(r.tried[i])
		states, paths := float64(r.states[i]), float64(r.paths[i])
		for k := range d {
			at := i*d + k
			// 0/0 makes the NaN of steps that were not made.
			m1, m2, m3 := r.sum[0][at]/states, r.sum[1][at]/states, r.sum[2][at]/states
			variance := m2 - m1*m1
			sd := math.Sqrt(variance)
			r.Shift[k][i], r.SD[k][i] = m1, sd
			r.Skewness[k][i] = (m3 - m1*(3*variance+m1*m1)) / (variance * sd)
			cov := r.sum[5][at]/paths - r.sum[3][at]/paths*r.sum[4][at]/paths
			r.Memory[i] += cov / (sd * float64(d))
		}
	}
}

func newSeries(d, n int) [][]float64 {
	s := make([][]float64, d)
	for k := range s {
		s[k] = make([]float64, n)
	}
	return s
}

// Departure returns how far the law of step i is from its Gaussian
// approximation, in standard deviations of the latter: the largest of |Shift|
// and |SD − 1| over the components, NaN for a step that no path made.
func (r *ExactReport) Departure(i int) float64 {
	var most float64
	for k := range r.Shift {
		most = max(most, math.Abs(r.Shift[k][i]), math.Abs(r.SD[k][i]-1)) // NaN stays NaN
	}
	return most
}

// Worst returns at most n steps, those with the largest Departure first.
func (r *ExactReport) Worst(n int) []int {
	var steps []int
	for i := range r.paths {
		if r.paths[i] > 0 {
			steps = append(steps, i)
		}
	}
	slices.SortStableFunc(steps, func(i, j int) int {
		switch a, b := r.Departure(i), r.Departure(j); {
		case a > b:
			return -1
		case a < b:
			return 1
		}
		return 0
	})
	return steps[:min(max(0, n), len(steps))]
}

// String says in words where the Gaussian approximation holds, and whether
// the sampler may be trusted.
func (r *ExactReport) String() string {
	steps := r.Worst(len(r.paths))
	if len(steps) == 0 {
		return "Exact law: no step was made.\n"
	}
	var b strings.Builder
	worst := steps[0]
	fmt.Fprintf(&b, "The Gaussian approximation is off by %.2g of its standard deviations in the median step, and by %.2g in the worst, at t = %.4g.\n",
		r.Departure(steps[len(steps)/2]), r.Departure(worst), r.T[worst])
	list(&b, "It should not be used where it is off by more than 1/2:", r.T, steps, len(steps), func(i int) bool { return r.Departure(i) > .5 })
	list(&b, "Fewer than one move in ten was accepted, the law is far from Gaussian:", r.T, steps, len(steps), func(i int) bool { return r.Accept[i] < .1 })
	// 4.5 standard errors: for a thousand steps a false alarm in 150 reports.
	list(&b, "The chain has not forgotten its start, more sweeps are needed:", r.T, steps, len(steps), func(i int) bool {
		return r.Memory[i] > max(.1, 4.5/math.Sqrt(float64(r.paths[i]*len(r.Shift))))
	})
	if len(r.MultipleRoots) > 0 {
		list(&b, "r(z) = 0 has several solutions, the chain may keep to one:", r.T, r.MultipleRoots, r.Searched, func(int) bool { return true })
	}
	return b.String()
}

// list writes those of steps that are so as a line of at most eight stretches
// of time.
func list(b *strings.Builder, text string, t []float64, steps []int, of int, so func(int) bool) {
	var which []int
	for _, i := range steps {
		if so(i) {
			which = append(which, i)
		}
	}
	if len(which) == 0 {
		return
	}
	slices.Sort(which)
	fmt.Fprintf(b, "%s %d of %d steps, t =", text, len(which), of)
	for n, from := 0, 0; from < len(which); n++ {
		if n == 8 {
			b.WriteString(" …")
			break
		}
		to := from
		for to+1 < len(which) && which[to+1] == which[to]+1 {
			to++
		}
		if to > from {
			fmt.Fprintf(b, " %.4g–%.4g", t[which[from]], t[which[to]])
		} else {
			fmt.Fprintf(b, " %.4g", t[which[from]])
		}
		from = to + 1
	}
	b.WriteString("\n")
}

// scout looks along path 0 for what the sampler cannot see: several roots of
// r, which it returns in a report to begin with, and a density that cannot be
// normalised, which is an error. At most 256 steps are searched, so that the
// search costs no more than a few hundred steps of Newton's method each. If
// the path fails, the search ends there; the ensemble counts the failure.
func (x *exactSampler) scout(theta []float64, seed uint64) (*ExactReport, error) {
	s := x.a.Solver
	r := newExactReport(s.t, s.d)
	if s.scale == 0 {
		return r, nil
	}
	z, xi := make([]float64, s.PathLen()), make([]float64, s.NoiseLen())
	last := s.Steps()
	if err := s.SolvePath(z, theta, xi, seed, 0); err != nil {
		last = 0
		if e := (*SolveError)(nil); errors.As(err, &e) {
			last = e.Step
		}
	}
	const most = 256
	n := min(most, last-s.first)
	for k := range n {
		i := s.first + k*(last-s.first)/n
		law, err := s.StepLaw(i, z, theta)
		if err == nil {
			err = law.Normalizable()
		}
		if err != nil {
			return nil, err
		}
		if len(law.Roots()) > 1 {
			r.MultipleRoots = append(r.MultipleRoots, i)
		}
		r.Searched++
	}
	return r, nil
}

// Package reference computes accurate solutions, with an upper estimate of
// their error, to compare others with.
package reference

import (
	"context"
	"fmt"
	"math"

	"github.com/probode/probode/pkg/probode"
)

// Settings says how Solve integrates. The zero value suits
// problems that are not stiff.
type Settings struct {
	// Tolerance bounds the estimated error of one step in each component,
	// relative to the component: to its size at the two ends of the step, or
	// to 10⁻⁶ of its largest size so far where that is more. Zero means
	// 1e-14; smaller than 1e-15 is below what rounding permits.
	Tolerance float64

	// Stiff takes linearly implicit steps, which use the Jacobian.
	Stiff bool

	// Theta is θ; nil means the problem's own.
	Theta []float64

	// MaxSteps bounds the number of steps between the start and the last
	// time, beyond the one that each time needs. Zero means 1e6.
	MaxSteps int
}

// A Solution is an accurate solution at chosen times.
type Solution struct {
	// Times are the times that were asked for, and X the states there,
	// row-major: X[i*d+k] is component k at Times[i].
	Times, X []float64

	// Error estimates the global error of X, with which it shares the shape:
	// Error[i*d+k] is the largest difference in component k, over the times
	// up to Times[i], between two integrations with different steps. Where it
	// is zero the two agree to the last bit. For stiff problems take it for an
	// order of magnitude: both integrations lose orders in the same way.
	Error []float64

	// Steps, Rejected and Evaluations count the accepted steps, the rejected
	// steps and the calls of F and FJ, of both integrations together. A
	// Jacobian by differences counts as one call.
	Steps, Rejected, Evaluations int
}

// Solve solves p to nearly full precision at the given times, which must
// increase and lie in the span; the first may be t₀. Each is hit exactly.
//
// It extrapolates the midpoint rule: basic solutions T_{j,1} over one step H,
// with nⱼ substeps of h = H/nⱼ, have an error in even powers of h, so that the
// scheme
//
//	T_{j,k+1} = T_{j,k} + (T_{j,k} − T_{j−1,k}) / ((nⱼ/n_{j−k})² − 1)
//
// gains two orders with each column. The number of rows, and with it the
// order, and the step H are chosen as they go, for the least work. For stiff
// problems the rule is linearly implicit. The integration is done twice, with
// Tolerance, and with half of it and other nⱼ; the second is returned, and
// their difference estimates its error.
//
// The error names the time and what to try if the step size falls below what
// rounding permits, if f is not finite, or after too many steps; it is
// ctx.Err(), wrapped, if ctx ends first. The result is nil then.
//
// Sources: Gragg (1965), SIAM J. Numer. Anal. 2, 384; Bulirsch & Stoer (1966),
// Numer. Math. 8, 1; Deuflhard (1983), Numer. Math. 41, 399, for the control
// of order and step, as in Hairer, Nørsett & Wanner, Solving Ordinary
// Differential Equations I, II.9; Bader & Deuflhard (1983), Numer. Math. 41,
// 373, for the linearly implicit rule, as in Hairer & Wanner II, IV.9.
func Solve(ctx context.Context, p *probode.Problem, times []float64, s Settings) (*Solution, error) {
	if err := p.Validate(); err != nil {
		return nil, err
	}
	if s.Tolerance == 0 {
		s.Tolerance = 1e-14
	}
	if s.MaxSteps == 0 {
		s.MaxSteps = 1e6
	}
	if s.Theta == nil {
		s.Theta = p.Theta
	}
	switch {
	case s.MaxSteps < 0:
		panic(fmt.Sprintf("reference: Settings with MaxSteps %d: want ≥ 0", s.MaxSteps))
	case len(s.Theta) != len(p.Theta):
		panic(fmt.Sprintf("reference: Settings with %d components of Theta: %s has %d", len(s.Theta), p.Name, len(p.Theta)))
	case !(s.Tolerance >= 1e-15 && s.Tolerance < 1):
		return nil, fmt.Errorf("%s: reference: Tolerance is %g: want a number in [1e-15, 1)", p.Name, s.Tolerance)
	}
	// A grid that was computed may end a rounding error behind the span.
	slack := 1e-12 * (p.Span[1] - p.Span[0])
	for i, t := range times {
		if !(t >= p.Span[0] && t <= p.Span[1]+slack) {
			return nil, fmt.Errorf("%s: reference: times[%d] is %g: want times in the span [%g, %g]", p.Name, i, t, p.Span[0], p.Span[1])
		}
		if i > 0 && !(t > times[i-1]) {
			return nil, fmt.Errorf("%s: reference: times[%d] is %g after %g: want increasing times", p.Name, i, t, times[i-1])
		}
	}

	d := p.Dim()
	sol := &Solution{
		Times: append([]float64(nil), times...),
		X:     make([]float64, len(times)*d),
		Error: make([]float64, len(times)*d),
	}
	for run, x := range [][]float64{sol.Error, sol.X} {
		e := newExtrapolator(p, s, run)
		err := e.integrate(ctx, times, x)
		sol.Steps += e.steps
		sol.Rejected += e.rejected
		sol.Evaluations += e.evals
		if err != nil {
			return nil, fmt.Errorf("%s: reference: %w", p.Name, err)
		}
	}
	for i, x := range sol.X {
		sol.Error[i] = math.Abs(sol.Error[i] - x)
		if i >= d {
			sol.Error[i] = max(sol.Error[i], sol.Error[i-d])
		}
	}
	return sol, nil
}

// Numbers of substeps of the rows. The explicit sequence is the cheapest that
// has even numbers; with more than eight rows its weights would multiply
// rounding errors by hundreds. The linearly implicit one needs odd multiples
// of 2, so that the components that are stiff beyond all bounds enter each row
// with the same sign, and grows faster, which keeps the weights small (Bader &
// Deuflhard 1983).
var (
	explicitSubsteps = []int{2, 4, 6, 8, 10, 12, 14, 16}
	implicitSubsteps = []int{2, 6, 10, 14, 22, 34, 50, 74}
)

// An extrapolator carries one integration. The state is held to twice the
// working precision, as x + low, and all else as increments over the step,
// which are small against x: the rounding errors of many steps do not add up
// to more than those in the arguments of f.
type extrapolator struct {
	p        *probode.Problem
	theta    []float64
	stiff    bool
	tol      float64
	maxSteps int
	fj       *probode.Linearizer
	n        []int
	work     []float64 // evaluations for the rows up to and including j

	t, tLow float64
	x, low  []float64
	peak    []float64 // largest |x| so far
	f0      []float64 // f(t, x)
	ft      []float64 // ∂f/∂t, if f depends on t and the rule asks for it
	jac     *probode.Matrix
	lu      *probode.LU

	tab                [][]float64 // the last row of the extrapolation scheme
	delta, prev, f, at []float64

	steps, rejected, evals int
}

// newExtrapolator sets up integration 0 or 1: the second has half of the
// tolerance and lacks the first row, so that it is another one also where
// output times dictate the steps.
func newExtrapolator(p *probode.Problem, s Settings, run int) *extrapolator {
	d := p.Dim()
	vec := func() []float64 { return make([]float64, d) }
	e := &extrapolator{
		p: p, theta: s.Theta, stiff: s.Stiff, tol: s.Tolerance / float64(1+run), maxSteps: s.MaxSteps, n: explicitSubsteps,
		x: vec(), low: vec(), peak: vec(), f0: vec(), delta: vec(), prev: vec(), f: vec(), at: vec(),
	}
	if e.stiff {
		e.n = implicitSubsteps
		e.fj = probode.NewLinearizer(p)
		e.jac = p.NewJacobian()
		e.lu = probode.NewLU(e.jac)
		if !p.Autonomous {
			e.ft = vec()
		}
	}
	e.n = e.n[run:]
	e.work = make([]float64, len(e.n))
	sum := 1.0
	for j, n := range e.n {
		// A factorisation counts as one evaluation more.
		sum += float64(n)
		if e.stiff {
			sum++
		}
		e.work[j] = sum
		e.tab = append(e.tab, vec())
	}
	return e
}

// explicit writes the increment of x over a step H by the midpoint rule with
// n substeps into dst. Since n is even, its error has only even powers of h.
func (e *extrapolator) explicit(dst []float64, H float64, n int) {
	h := H / float64(n)
	prev := e.prev
	for k, f := range e.f0 {
		prev[k] = 0
		dst[k] = h * f
	}
	for i := 1; i < n; i++ {
		e.eval(dst, float64(i)*h)
		for k, f := range e.f {
			prev[k], dst[k] = dst[k], prev[k]+2*h*f
		}
	}
}

// implicit is explicit with the rule
//
//	y_{i+1} − y_{i−1} = 2h f(tᵢ, yᵢ) + hJ (y_{i+1} − 2yᵢ + y_{i−1}),
//
// J = ∂f/∂x at the beginning of the step, which is as symmetric in time and so
// has only even powers of h in its error, too. It is solved for the increments
// Δᵢ = y_{i+1} − yᵢ, with c = 1/h:
//
//	Δ₀ = (cI − J)⁻¹ (f(t₀, y₀) + h ∂f/∂t)
//	Δᵢ = Δ_{i−1} + 2 (cI − J)⁻¹ (f(tᵢ, yᵢ) − cΔ_{i−1})
//
// The result is the mean of y_{n−1} and y_{n+1}, which damps the components
// that the rule alone only reflects. ∂f/∂t comes in if t is taken for one more
// component of the state, and need not be accurate. implicit reports whether
// cI − J was regular.
func (e *extrapolator) implicit(dst []float64, H float64, n int) bool {
	h := H / float64(n)
	c := 1 / h
	if !e.lu.Factorize(c, e.jac) {
		return false
	}
	delta := e.delta
	copy(delta, e.f0)
	for k, v := range e.ft {
		delta[k] += h * v
	}
	e.lu.Solve(delta)
	copy(dst, delta)
	for i := 1; ; i++ {
		e.eval(dst, float64(i)*h)
		for k := range e.f {
			e.f[k] -= c * delta[k]
		}
		e.lu.Solve(e.f)
		if i == n {
			break
		}
		for k, v := range e.f {
			delta[k] += 2 * v
			dst[k] += delta[k]
		}
	}
	for k, v := range e.f {
		dst[k] += v
	}
	return true
}

// eval sets e.f to f(t + dt, x + dx).
func (e *extrapolator) eval(dx []float64, dt float64) {
	for k, x := range e.x {
		e.at[k] = x + (e.low[k] + dx[k])
	}
	e.p.F(e.f, e.t+(e.tLow+dt), e.at, e.theta)
	e.evals++
}

// row adds row j, with T_{j,1} over a step H, to the scheme, after which
// tab[0] is T_{j,j} and tab[1] is T_{j,j−1}. It reports whether all is finite.
func (e *extrapolator) row(j int, H float64) bool {
	if !e.stiff {
		e.explicit(e.tab[j], H, e.n[j])
	} else if !e.implicit(e.tab[j], H, e.n[j]) {
		return false
	}
	for m := j - 1; m >= 0; m-- {
		r := float64(e.n[j]) / float64(e.n[m])
		w := 1 / (r*r - 1)
		a, b := e.tab[m], e.tab[m+1]
		for k, v := range b {
			a[k] = v + (v-a[k])*w
		}
	}
	return finite(e.tab[0])
}

// distance returns the largest component of T_{j,j} − T_{j,j−1}, an estimate
// of the error of the latter, in units of what Tolerance says.
func (e *extrapolator) distance(tol float64) float64 {
	var floor float64
	for k, dx := range e.tab[0] {
		floor = max(floor, e.peak[k], math.Abs(e.x[k]+dx))
	}
	// A component that has been zero so far has no size of its own yet.
	floor = floor*e.tol + math.SmallestNonzeroFloat64
	var dist float64
	for k, dx := range e.tab[0] {
		now, then := math.Abs(e.x[k]), math.Abs(e.x[k]+dx)
		size := max(now, then, 1e-6*e.peak[k], floor)
		// No step is so short that its increment could be had to more than
		// the working precision.
		dist = max(dist, math.Abs(dx-e.tab[1][k])/(tol*size+0x1p-50*math.Abs(dx)))
	}
	return dist
}

// advance takes tab[0] as the increment over a step H.
func (e *extrapolator) advance(H float64) {
	for k, dx := range e.tab[0] {
		e.x[k], e.low[k] = twoSum(e.x[k], e.low[k]+dx)
		e.peak[k] = max(e.peak[k], math.Abs(e.x[k]))
	}
	e.t, e.tLow = twoSum(e.t, e.tLow+H)
	e.steps++
}

// differentiate sets f0, jac and ft at (t, x). The last is a difference over a
// small part of the step, which ends within rest.
func (e *extrapolator) differentiate(step, rest float64) error {
	e.evals++
	if !e.stiff {
		e.p.F(e.f0, e.t, e.x, e.theta)
	} else {
		e.fj.FJ(e.f0, e.jac, e.t, e.x, e.theta)
	}
	if !finite(e.f0) || e.stiff && !finite(e.jac.a) {
		return fmt.Errorf("f or its Jacobian is not finite at t = %.6g, x = %.4g: want a state where the model makes sense", e.t, e.x)
	}
	if e.ft != nil {
		if step == 0 {
			step = rest
		}
		dt := 0x1p-13 * min(step, rest)
		e.p.F(e.ft, e.t+(e.tLow+dt), e.x, e.theta)
		e.evals++
		for k, f := range e.f0 {
			e.ft[k] = (e.ft[k] - f) / dt
		}
	}
	return nil
}

// twoSum returns the rounded sum of a and b and its rounding error (Knuth).
func twoSum(a, b float64) (sum, err float64) {
	sum = a + b
	v := sum - a
	return sum, (a - (sum - v)) + (b - v)
}

// integrate writes the states at the times into out.
func (e *extrapolator) integrate(ctx context.Context, times, out []float64) error {
	const (
		safety  = 0.94 // on the step, and
		aim     = 0.65 // on the distance that it is to give
		longest = 10   // growth of the step from one to the next
	)
	d, n, last := len(e.x), e.n, len(e.n)-1
	e.p.Initial(e.x, e.theta)
	if !finite(e.x) {
		return fmt.Errorf("the initial state %.4g is not finite", e.x)
	}
	for k, x := range e.x {
		e.peak[k] = math.Abs(x)
	}
	e.t = e.p.Span[0]
	span := e.p.Span[1] - e.p.Span[0]
	// Where every step is cut short by an output time, the natural step has to
	// be measured by steps on trial, once in each length that it covers.
	renew := e.t

	best := make([]float64, len(n)) // the step that row j would like
	cost := make([]float64, len(n)) // work over step
	k := last / 2                   // the row that is expected to converge
	var natural float64             // the step that accuracy permits
	for i, target := range times {
		fresh := false // f0 and jac belong to (t, x)
		for {
			rest := (target - e.t) - e.tLow
			if rest <= 0 {
				break
			}
			if e.steps >= e.maxSteps+i {
				return e.fault(fmt.Sprintf("more than %d steps", e.maxSteps))
			}
			if (e.steps+e.rejected)%64 == 0 {
				if err := ctx.Err(); err != nil {
					return fmt.Errorf("stopped at t = %.6g: %w", e.t, err)
				}
			}
			if !fresh {
				if err := e.differentiate(natural, rest); err != nil {
					return err
				}
				fresh = true
			}
			if natural == 0 {
				natural = 0.01 * min(span, maxAbs(e.x)/maxAbs(e.f0))
				if !(natural > 0) { // at the origin, or at rest
					natural = 1e-4 * span
				}
			}
			if natural < 1e-25*span || e.t+natural == e.t {
				return e.fault(fmt.Sprintf("the step fell to %.2g", natural))
			}

			// A step that an output time cuts short may err in proportion to
			// its length, so that many output times do no harm.
			H, tol, cut := natural, e.tol, false
			if e.t >= renew {
				if left := e.p.Span[1] - e.t; left > rest {
					H = min(H, left)
				} else {
					H = min(H, rest)
				}
			} else if rest <= natural {
				H, cut = rest, true
				tol *= H / natural
				if e.stiff {
					// Rounding errors of stiff components do not get smaller
					// with the step.
					tol = max(tol, 0x1p-50)
				}
			}
			accepted := false
			j := 0
			for ; ; j++ {
				if !e.row(j, H) {
					natural = min(natural/2, H/4)
					break
				}
				if j == 0 {
					continue
				}
				err := e.distance(tol)
				factor := float64(longest)
				if err > 0 {
					factor = min(factor, max(0.02, safety*math.Pow(aim/err, 1/float64(2*j+1))))
				}
				best[j] = H * factor
				cost[j] = e.work[j] / best[j]
				first := k - 1
				if cut {
					first = 2
				}
				if j >= first && err <= 1 {
					accepted = true
					break
				}
				// Is there hope that row k+1 converges, at the latest?
				hope := math.Inf(1)
				switch j {
				case k - 1:
					hope = float64(n[k+1]*n[k]) / float64(n[0]*n[0])
				case k:
					hope = float64(n[k+1]) / float64(n[0])
				case k + 1:
					hope = 0
				}
				if !(err <= hope*hope) {
					if cut {
						natural = min(natural/2, best[j]*2)
						break
					}
					if j > k-1 && k > 2 && cost[k-1] < 0.9*cost[k] {
						k--
					}
					natural = min(best[min(j, k)], 0.9*H)
					break
				}
			}
			if !accepted {
				e.rejected++
				continue
			}
			if H <= rest {
				e.advance(H)
				fresh = false
				if H == rest {
					e.t, e.tLow = target, 0
				}
			}
			if cut {
				break
			}
			// The order with the least work per unit of time.
			next := j
			switch {
			case j == k-1:
				if j < 2 || cost[j] < 0.9*cost[j-1] {
					next = k
				}
			default:
				next = k
				if cost[k-1] < 0.8*cost[k] {
					next = k - 1
				} else if j == k && cost[k] < 0.9*cost[k-1] || j == k+1 && cost[k+1] < 0.9*cost[k] {
					next = k + 1
				}
			}
			next = min(max(next, 2), last-1)
			if next <= j {
				natural = best[next]
			} else {
				natural = best[j] * e.work[next] / e.work[j]
			}
			k = next
			renew = e.t + natural
		}
		for c := range d {
			out[i*d+c] = e.x[c] + e.low[c]
		}
	}
	return nil
}

// fault says what happened at the present time and what to try.
func (e *extrapolator) fault(what string) error {
	if e.stiff {
		return fmt.Errorf("%s at t = %.6g, x = %.4g: the solution may end here; otherwise try a larger Tolerance or MaxSteps", what, e.t, e.x)
	}
	return fmt.Errorf("%s at t = %.6g, x = %.4g: set Stiff if the problem is stiff; otherwise the solution may end here, or try a larger Tolerance or MaxSteps", what, e.t, e.x)
}

// TrueError returns the Indicator that takes the difference to an accurate
// solution.
func TrueError(r Settings) probode.Indicator {
	return func(ctx context.Context, s *probode.Solver, theta []float64) (*probode.ErrorEstimate, error) {
		r.Theta = theta
		ref, err := Solve(ctx, s.Problem(), s.Times(), r)
		if err != nil {
			return nil, err
		}
		z := make([]float64, s.PathLen())
		if err := s.Solve(z, theta, nil); err != nil {
			return nil, err
		}
		for i, x := range ref.X {
			z[i] -= x
		}
		return &probode.ErrorEstimate{E: z, Accuracy: ref.Error}, nil
	}
}

func maxAbs(x []float64) float64 {
	var m float64
	for _, v := range x {
		m = max(m, math.Abs(v))
	}
	return m
}

// finite reports whether every element of x is a finite number.
func finite(x []float64) bool {
	for _, v := range x {
		if v-v != 0 { // NaN for NaN and ±Inf
			return false
		}
	}
	return true
}

const epsilon = 0x1p-52

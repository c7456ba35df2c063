package steplaw

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/adams"
	"github.com/probode/probode/pkg/probode/internal/vector"
)

// Exact draws paths whose steps have the exact distribution p(z) ∝ exp(−½ r(z)ᵀ H⁻¹
// r(z)). In every step a Markov chain starts from ζ = ξᵢ, which is a draw from the
// Gaussian approximation that Method uses. Sweeps gives the number of moves of the chain.
// A preconditioned Crank–Nicolson move is
//
//	ζ′ = √(1−β²) ζ + β η,   η ~ N(0, I).
//
// The move is accepted with probability min(1, exp(Φ(ζ) − Φ(ζ′))), where Φ is the
// difference between ½rᵀH⁻¹r and its value for the linearised r. The chain repeats a
// cycle of four moves. Moves 1 and 3 of a cycle are Crank–Nicolson moves with β = 1 and
// β = 1/2. Moves 2 and 4 of a cycle are random walks with steps of 1.5/√d and 4/√d in
// each component of ζ. With β = 1, the proposal ζ′ is independent of ζ, and is usually
// accepted if the distribution is close to Gaussian.
//
// Without any sweeps, the distribution of the chain would be the Gaussian approximation.
// As the number of sweeps grows, the distribution of the chain tends to the exact
// distribution. The default settings were tested with backward Euler and α = 0.2 in 32
// single steps along a path of the FitzHugh–Nagumo problem. In each step, 10⁴ draws of
// the voltage V were compared with quadrature. The Monte Carlo error of a distribution
// function is about 0.017 with 10⁴ draws. At h = 0.1 and h = 0.2, the distribution
// functions of the draws differ from the exact ones by at most 0.017. The distribution
// function of the Gaussian approximation is off by up to 0.43 at h = 0.1 and by up to
// 0.95 at h = 0.2. At h = 0.3, the distribution function of the Gaussian approximation
// has a median error of 0.18 over the 32 steps. At h = 0.3, the distribution functions of
// the draws are off by at most 0.024 in all steps but one; in that step the error is
// 0.07. Without the random walks, the error at h = 0.3 would still be up to 0.15 after
// four times the default number of sweeps, and nothing in the results would reveal this
// error.
//
// The chain rarely reaches probability mass that lies far from the bulk of the
// distribution. At h = 0.3, the distribution of some steps has a second region of small
// r, which is far from the bulk. The region far from the bulk contains less than two
// percent of the mass, but accounts for up to half of the variance. With the default
// number of sweeps, the chain misses most of the mass far from the bulk, and the variance
// of the draws is up to 50 % too small. With 1600 sweeps, the chain also finds the mass
// far from the bulk. In one and two dimensions, compare the draws with the Moments of a
// Law, which are computed without a Markov chain.
//
// If det J = 0, H has no inverse, and the error is ErrSingularH. If the density cannot be
// normalised, the exact distribution does not exist, and the error is ErrImproper. The
// mean of the exact distribution differs from the root of r. Newton and Current have the
// same exact distribution, because they evaluate J at the same state; only the start of
// the chain differs. With Newton, the mean of the Gaussian approximation has an error of
// O(h^{s+5/2}) standard deviations. With Current, the mean of the Gaussian approximation
// has an error of O(h^{3/2−s}) standard deviations, which grows as h decreases if s ≥ 2.
// In the first steps of a multistep method, Exact does the same as Method.
//
// A chain uses random numbers in addition to ξ. The path jumps if a small change of θ or
// ξ causes the chain to reject a move that it accepted before. Exact can only draw
// ensembles and does not implement probode.Method, because inference needs paths that
// depend smoothly on θ and ξ.
type Exact struct {
	Method adams.Moulton

	// Sweeps is the number of moves of the Markov chain in each step of a path; zero
	// means 100.
	Sweeps int
}

const defaultSweeps = 100

// String returns a short name such as "AM0 (newton, exact)".
func (m Exact) String() string {
	return strings.TrimSuffix(m.Method.String(), ")") + ", exact)"
}

// A method makes a stepper for each worker; `sampler` is the last one.
type method struct {
	Exact
	sampler *sampler
}

func (m *method) Order() int                { return m.Method.Order() }
func (m *method) Noise(d int) probode.Noise { return m.Method.Noise(d) }

func (m *method) Stepper(p *probode.Problem, g *probode.Grid) (*probode.Stepper, error) {
	if m.Sweeps < 0 {
		return nil, fmt.Errorf("the number of sweeps is %d: want at least 1, or 0 for the default", m.Sweeps)
	}
	inner, err := m.Method.Stepper(p, g)
	if err != nil {
		return nil, err
	}
	d := p.Dim()
	x := &sampler{gaussian: inner, p: p, g: g, quiet: m.Noise(d).Quiet, target: newTarget(p),
		sweeps: cmp.Or(m.Sweeps, defaultSweeps), moves: moves(d), zeta: make([]float64, d), moved: make([]float64, d)}
	m.sampler = x
	return &probode.Stepper{Start: inner.Start, Step: x.take, Memory: inner.Memory, Save: inner.Save, Restore: inner.Restore, LocalError: inner.LocalError, Implicit: inner.Implicit}, nil
}

// A move proposes keep × ζ + size × η. It is reversible for N(0, I) if keep² + size² = 1,
// and for Lebesgue measure if keep = 1.
type move struct {
	keep, size float64
	walk       bool
}

func crankNicolson(beta float64) move { return move{keep: math.Sqrt(1 - beta*beta), size: beta} }

func moves(d int) []move {
	walk := 1 / math.Sqrt(float64(d))
	return []move{crankNicolson(1), {1, 1.5 * walk, true}, crankNicolson(0.5), {1, 4 * walk, true}}
}

type sampler struct {
	gaussian    *probode.Stepper // of Exact.Method
	plain       probode.Step     // a step without noise
	p           *probode.Problem
	g           *probode.Grid
	quiet       int // steps at the beginning without noise
	step        probode.ImplicitStep
	target      *target
	sweeps      int
	moves       []move
	rng         *rand.Rand
	path        uint64
	zeta, moved []float64
	tally       *tally // of the current block of paths
}

// exactKey is far above the second keys of the streams of ξ, indices of blocks.
const exactKey = math.MaxUint64

// begin has random numbers that depend only on seed and path.
func (x *sampler) begin(seed, path uint64) {
	x.rng, x.path = probode.Stream(seed, path, exactKey), path
}

func (x *sampler) take(s *probode.Step) error {
	if s.Xi == nil || vector.Dot(s.Scale, s.Scale) == 0 {
		x.plain = *s
		x.plain.Xi, x.plain.Scale = nil, nil
		return x.gaussian.Step(&x.plain)
	}
	err := x.gaussian.Implicit(&x.step, s)
	if err == probode.ErrStarting {
		return x.gaussian.Step(s)
	}
	if err == nil {
		err = x.target.set(&x.step, x.g.End(s.Index), s.Theta, s.Scale)
	}
	if x.path == 0 && (err == nil || err == ErrSingularH) && x.searches(s.Index) {
		err = x.search(s)
	}
	if err != nil {
		return err
	}
	return x.draw(s.Next, s.Index, s.Xi)
}

func (x *sampler) draw(next []float64, i int, xi []float64) error {
	copy(x.zeta, xi)
	phi := x.target.phi(x.zeta)
	copy(next, x.target.z)
	for n := range x.sweeps {
		m := x.moves[n%len(x.moves)]
		for k, v := range x.zeta {
			x.moved[k] = m.keep*v + m.size*x.rng.NormFloat64()
		}
		to := x.target.phi(x.moved)
		gain := phi - to
		if m.walk {
			gain += (vector.Dot(x.zeta, x.zeta) - vector.Dot(x.moved, x.moved)) / 2
		}
		// If phi and `to` are both infinite, `gain` is NaN, and the move is rejected.
		if gain >= 0 || x.rng.Float64() < math.Exp(gain) {
			phi = to
			x.zeta, x.moved = x.moved, x.zeta
			copy(next, x.target.z)
		}
		if n >= x.sweeps/2 {
			x.tally.add(i, x.zeta)
		}
	}
	if math.IsInf(phi, 1) {
		return probode.ErrDiverged
	}
	return nil
}

// mostSearched limits the steps that are checked: for d > 1 each costs hundreds of
// evaluations of f.
const mostSearched = 256

// searches is about at most mostSearched evenly spaced steps of path 0.
func (x *sampler) searches(i int) bool {
	m, steps := i-x.quiet, x.g.Steps()-x.quiet
	n := min(mostSearched, steps)
	if m < 0 || n < 1 {
		return false
	}
	k := (m*n + steps - 1) / steps
	return k < n && k*steps/n == m
}

// search checks that the density can be normalised, which the chain would not notice.
func (x *sampler) search(step *probode.Step) error {
	s, err := newLaw(x.gaussian, x.p, x.g, step)
	if err != nil {
		return err
	}
	if err := s.normalizable(); err != nil {
		x.tally.refused = fmt.Errorf("step %d at t = %.6g: %w", step.Index, s.T, err)
		return err
	}
	return nil
}

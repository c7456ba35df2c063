package mcmc

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/lapack/lapack64"
	"gonum.org/v1/gonum/mat"

	"github.com/probode/probode/pkg/internal/moments"
)

// AdaptiveMetropolis is a Gaussian random walk whose covariance is learned from the
// earlier positions of the chain. After n iterations, AdaptiveMetropolis proposes to move
// from x to y, where d is the number of dimensions:
//
//	y = x + N(0, Vₙ)
//	Vₙ = s × diag(Scale²)          n < AdaptAfter
//	Vₙ = s × (Cₘ + ε I)            n ≥ AdaptAfter
//
// Here Cₘ is the sample covariance (divisor m − 1) of the positions after each of the
// first m iterations, including burn-in and repeated positions. The number m is the
// largest of AdaptAfter, AdaptAfter + Every, AdaptAfter + 2 Every, … that does not exceed
// n. The factor s = 2.38²/d is optimal for a high-dimensional Gaussian target if the
// proposal has the shape of the target (Roberts, Gelman and Gilks 1997).
//
// As long as the proposal adapts, the chain is not a Markov chain and does not leave the
// target exactly invariant. Nevertheless, averages over the chain converge to the right
// values, because Cₘ changes by only O(1/m) per iteration. Haario, Saksman and Tamminen
// (2001) prove convergence for bounded densities with bounded support. If exact
// invariance matters, set StopAfter to the length of the burn-in.
//
// With Pull, a move is with probability ½ a walk of size e^σ times that above, and otherwise
//
//	y = m + √(1−b²) (x − m) + b √w L z    z ~ N(0, I),  L Lᵀ = C = Vₙ/s
//	w = (ν + q(x))/χ²                      q(x) = ‖L⁻¹(x − m)‖², χ² of ν + d degrees of freedom
//
// where m is the mean of the positions. This move is reversible with respect to the Student
// t distribution with ν = 5, location m and scale matrix C, whose heavy tails keep the
// chain from getting stuck [after Rudolf & Sprungk 2018; Kamatani 2018]. If the target is
// nearly Gaussian, successive draws are almost independent: with fifteen moves for each
// draw, in fifteen dimensions, they are worth three times those of walks alone. The sizes σ
// and b are tuned so that .234 (in one dimension .44) and .3 of the moves are accepted
// [Andrieu & Thoms 2008].
//
// The zero value is ready to use for coordinates with standard deviations of about one.
type AdaptiveMetropolis struct {
	// Scale contains a guess for the standard deviation of each coordinate of the target.
	// Every guess must be positive. Nil means 1 for all. A guess that is too low is
	// better than one that is too high. If the first steps are too short, a chain can
	// still learn the right scale. If the first steps are too long, almost all of them
	// are rejected, and the chain learns nothing.
	Scale []float64

	// Mean and Cov, if not nil, are guesses for the mean and the covariance of the target,
	// such as a mode and the covariance of the Gaussian approximation there. Cov replaces
	// diag(Scale²), and later counts as much as d(d+1)/2 positions in Cₘ.
	Mean []float64
	Cov  mat.Symmetric

	// Pull adds moves towards the mean, and tunes the sizes of the moves. There are no such
	// moves until Mean is given or the covariance is adapted. Half of the weight of the
	// earlier positions is forgotten whenever their number doubles, because a chain may
	// begin far from the bulk of the target.
	Pull bool

	// AdaptAfter is the number of iterations before the covariance is first adapted. Zero
	// means 1000 or, with Pull, the larger of 20 and 10 d. A negative value means that
	// nothing is ever adapted.
	AdaptAfter int

	// Every is the number of iterations between updates of the covariance. Zero means 10.
	Every int

	// StopAfter is the number of iterations after which adaptation stops. Zero means
	// never.
	StopAfter int

	// Epsilon is ε, a variance. Epsilon keeps the proposal covariance from becoming
	// singular, and should be far below the variance of any coordinate. Zero means 1e-8,
	// which suits standard deviations of about 1e-3 or more.
	Epsilon float64
}

// Until returns the same rule, which learns only during the first burnIn iterations.
func (a AdaptiveMetropolis) Until(burnIn int) AdaptiveMetropolis {
	if a.StopAfter = burnIn; burnIn <= 0 {
		a.AdaptAfter, a.StopAfter = -1, 0
	}
	return a
}

// New returns the proposal for one chain in d dimensions.
//
// New panics if d < 1, or if Every, StopAfter or Epsilon is negative. A Scale that is not
// nil must hold d positive numbers, Mean must have d elements, and Cov must be a positive
// definite matrix of order d; otherwise New panics.
func (a AdaptiveMetropolis) New(d int) *Proposal {
	switch {
	case d < 1:
		panic(fmt.Sprintf("mcmc: the number of dimensions is %d: want at least 1", d))
	case a.Scale != nil && len(a.Scale) != d:
		panic(fmt.Sprintf("mcmc: there are %d proposal scales: want %d, one for each dimension", len(a.Scale), d))
	case a.Mean != nil && len(a.Mean) != d || a.Cov != nil && a.Cov.SymmetricDim() != d:
		panic(fmt.Sprintf("mcmc: Mean or Cov of AdaptiveMetropolis does not have dimension %d", d))
	case a.Every < 0 || a.StopAfter < 0 || a.Epsilon < 0:
		panic("mcmc: a setting of AdaptiveMetropolis is negative")
	}
	first := 1000
	if a.Pull {
		first = max(20, 10*d)
	}
	a.AdaptAfter = cmp.Or(a.AdaptAfter, first)
	a.Every = cmp.Or(a.Every, 10)
	a.Epsilon = cmp.Or(a.Epsilon, 1e-8)
	p := &Proposal{
		rule:  a,
		size:  2.38 * 2.38 / float64(d),
		seen:  moments.NewMatrix(d),
		cov:   mat.NewSymDense(d, nil),
		spare: mat.NewSymDense(d, nil),
		z:     make([]float64, d),
	}
	p.scatter = mat.NewSymDense(d, p.seen.Scatter)
	if a.Pull {
		p.pull = &pull{mean: slices.Clone(a.Mean), known: a.Mean != nil, b: math.Log(0.7)}
		if a.Mean == nil {
			p.pull.mean = make([]float64, d)
		}
	}
	for i := range d {
		sd := 1.0
		if a.Scale != nil {
			sd = a.Scale[i]
		}
		v := p.size * sd * sd
		if !(sd > 0 && v > 0) || math.IsInf(v, 1) {
			panic(fmt.Sprintf("mcmc: proposal scale %d is %v: want a positive finite number", i, sd))
		}
		p.cov.SetSym(i, i, v)
	}
	if a.Cov != nil {
		p.cov.CopySym(a.Cov)
		p.cov.ScaleSym(p.size, p.cov)
	}
	if p.refactor(); p.factor.N == 0 {
		panic("mcmc: Cov of AdaptiveMetropolis is not positive definite")
	}
	return p
}

// A Proposal proposes the moves of one chain, and learns from the positions of the chain.
type Proposal struct {
	rule AdaptiveMetropolis // with the defaults filled in
	size float64            // s

	n       int            // positions observed
	seen    moments.Matrix // mean and scatter of the positions
	scatter *mat.SymDense  // a view of Σ (x − mean)(x − mean)ᵀ

	factor     blas64.Triangular // U, UᵀU = Vₙ
	cov, spare *mat.SymDense     // for computing the next factor, and holding the current one
	z          []float64

	pull *pull // nil without such moves
}

// pull holds the sizes of both kinds of moves.
type pull struct {
	mean         []float64
	known        bool    // the mean is
	last         bool    // the last move was a pull
	sigma, b     float64 // logarithms of e^σ and b
	walks, pulls float64 // how often they were tuned
}

const pullDegrees = 5 // ν

// Propose sets dst to the result of a random move from x; it does not change x. Propose
// returns log q(x | dst) − log q(dst | x), which is zero for a walk. The kernel adds this to
// the log ratio of the target densities.
func (p *Proposal) Propose(dst, x []float64, rng *rand.Rand) float64 {
	if len(dst) != len(p.z) || len(x) != len(p.z) {
		panic("mcmc: the position has the wrong length")
	}
	size := 1.0
	if p.pull != nil {
		if p.pull.last = p.pull.known && rng.Uint64()>>63 == 0; p.pull.last {
			return p.proposePull(dst, x, rng)
		}
		size = math.Exp(p.pull.sigma)
	}
	p.draw(rng)
	for i, v := range p.z {
		dst[i] = x[i] + size*v
	}
	return 0
}

// draw draws z from N(0, Vₙ).
func (p *Proposal) draw(rng *rand.Rand) {
	for i := range p.z {
		p.z[i] = rng.NormFloat64()
	}
	blas64.Trmv(blas.Trans, p.factor, blas64.Vector{N: len(p.z), Inc: 1, Data: p.z})
}

// proposePull draws the scale w from its distribution given x, an inverse gamma
// distribution. Given w, the move is reversible with respect to a Gaussian. So
// q(x|y)/q(y|x) = t(x)/t(y).
func (p *Proposal) proposePull(dst, x []float64, rng *rand.Rand) float64 {
	d := len(x)
	qx := p.distance(x)
	var chi2 float64
	for range pullDegrees + d {
		v := rng.NormFloat64()
		chi2 += v * v
	}
	p.draw(rng)
	b := math.Exp(p.pull.b)
	keep, f := math.Sqrt(1-b*b), b*math.Sqrt((pullDegrees+qx)/chi2/p.size)
	for i, v := range p.z {
		dst[i] = p.pull.mean[i] + keep*(x[i]-p.pull.mean[i]) + f*v
	}
	return (pullDegrees + float64(d)) / 2 * (math.Log1p(p.distance(dst)/pullDegrees) - math.Log1p(qx/pullDegrees))
}

// distance returns q(x).
func (p *Proposal) distance(x []float64) float64 {
	for i, v := range x {
		p.z[i] = v - p.pull.mean[i]
	}
	v := blas64.Vector{N: len(p.z), Inc: 1, Data: p.z}
	blas64.Trsv(blas.Trans, p.factor, v)
	return p.size * blas64.Dot(v, v)
}

// Observe passes the outcome of the move to the proposal: the position of the chain after
// the move, and the acceptance probability of the move. Call Observe once per iteration,
// whether or not the move was accepted.
func (p *Proposal) Observe(x []float64, probability float64) {
	if len(x) != len(p.z) {
		panic("mcmc: the position has the wrong length")
	}
	if p.rule.AdaptAfter < 0 || p.rule.StopAfter > 0 && p.n >= p.rule.StopAfter {
		return
	}
	p.n++
	p.seen.Add(x)
	if p.pull != nil {
		p.pull.tune(probability, len(x))
		if p.n&(p.n-1) == 0 {
			p.seen.N /= 2
			floats.Scale(0.5, p.seen.Scatter)
		}
	}

	since := p.n - p.rule.AdaptAfter
	if p.n < 2 || since < 0 || since%p.rule.Every != 0 {
		return
	}
	weight := 0.0
	if p.rule.Cov != nil {
		weight = float64(len(x)*(len(x)+1)) / 2
	}
	p.cov.ScaleSym(p.size/(p.seen.N-1+weight), p.scatter)
	for i := range p.z {
		p.cov.SetSym(i, i, p.cov.At(i, i)+p.size*p.rule.Epsilon)
		for j := i; weight > 0 && j < len(p.z); j++ {
			p.cov.SetSym(i, j, p.cov.At(i, j)+p.size*weight/(p.seen.N-1+weight)*p.rule.Cov.At(i, j))
		}
	}
	p.refactor()
	if p.pull != nil {
		copy(p.pull.mean, p.seen.Mean)
		p.pull.known = true
	}
}

// tune changes a size by stochastic approximation.
func (m *pull) tune(probability float64, d int) {
	if m.last {
		m.pulls++
		m.b = min(0, max(m.b+(probability-0.3)/math.Sqrt(m.pulls), math.Log(0.001)))
		return
	}
	rate := 0.234
	if d == 1 {
		rate = 0.44
	}
	m.walks++
	m.sigma += (probability - rate) / math.Sqrt(m.walks)
}

// refactor overwrites cov. If cov is singular by rounding, or has overflowed, the old
// covariance stays.
func (p *Proposal) refactor() {
	if math.IsInf(p.cov.Trace(), 1) {
		return
	}
	if u, ok := lapack64.Potrf(p.cov.RawSymmetric()); ok {
		p.factor = u
		p.cov, p.spare = p.spare, p.cov
	}
}

// State stores in the Archive `a` everything that the proposal has learned or, if `a` is
// open for reading, restores it. It includes the Cholesky factor: p.seen may contain
// positions that were observed later.
func (p *Proposal) State(a *Archive) {
	a.Int(&p.n)
	a.Float(&p.seen.N)
	a.Floats(p.seen.Mean)
	a.Floats(p.seen.Scatter)
	a.Floats(p.factor.Data)
	if m := p.pull; m != nil {
		known := 0
		if m.known {
			known = 1
		}
		a.Int(&known)
		m.known = known == 1
		a.Floats(m.mean)
		for _, v := range []*float64{&m.sigma, &m.b, &m.walks, &m.pulls} {
			a.Float(v)
		}
	}
}

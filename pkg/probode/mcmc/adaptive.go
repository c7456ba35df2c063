package mcmc

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
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
// The zero value is ready to use for coordinates with standard deviations of about one.
type AdaptiveMetropolis struct {
	// Scale contains a guess for the standard deviation of each coordinate of the target.
	// Every guess must be positive. Nil means 1 for all. A guess that is too low is
	// better than one that is too high. If the first steps are too short, a chain can
	// still learn the right scale. If the first steps are too long, almost all of them
	// are rejected, and the chain learns nothing.
	Scale []float64

	// AdaptAfter is the number of iterations before the covariance is first adapted. Zero
	// means 1000. A negative value means that the covariance is never adapted, which
	// gives a plain random walk.
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

var _ Rule = AdaptiveMetropolis{}

// New returns the proposal for one chain in d dimensions. New ignores the argument
// `burnIn`, because StopAfter determines when adaptation ends.
//
// New panics if d < 1, or if Every, StopAfter or Epsilon is negative. A Scale that is not
// nil must hold d positive numbers; otherwise New panics.
func (a AdaptiveMetropolis) New(d, burnIn int) Proposal {
	switch {
	case d < 1:
		panic(fmt.Sprintf("mcmc: the number of dimensions is %d: want at least 1", d))
	case a.Scale != nil && len(a.Scale) != d:
		panic(fmt.Sprintf("mcmc: there are %d proposal scales: want %d, one for each dimension", len(a.Scale), d))
	case a.Every < 0 || a.StopAfter < 0 || a.Epsilon < 0:
		panic("mcmc: a setting of AdaptiveMetropolis is negative")
	}
	a.AdaptAfter = cmp.Or(a.AdaptAfter, 1000)
	a.Every = cmp.Or(a.Every, 10)
	a.Epsilon = cmp.Or(a.Epsilon, 1e-8)
	p := &adaptive{
		rule:  a,
		size:  2.38 * 2.38 / float64(d),
		seen:  moments.NewMatrix(d),
		cov:   mat.NewSymDense(d, nil),
		spare: mat.NewSymDense(d, nil),
		z:     make([]float64, d),
	}
	p.scatter = mat.NewSymDense(d, p.seen.Scatter)
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
	p.refactor()
	return p
}

// adaptive is symmetric.
type adaptive struct {
	rule AdaptiveMetropolis // with the defaults filled in
	size float64            // s

	n       int            // positions observed
	seen    moments.Matrix // mean and scatter of the positions
	scatter *mat.SymDense  // a view of Σ (x − mean)(x − mean)ᵀ

	factor     blas64.Triangular // U, UᵀU = Vₙ
	cov, spare *mat.SymDense     // for computing the next factor, and holding the current one
	z          []float64
}

func (p *adaptive) Propose(dst, x []float64, rng *rand.Rand) float64 {
	if len(dst) != len(p.z) || len(x) != len(p.z) {
		panic("mcmc: the position has the wrong length")
	}
	for i := range p.z {
		p.z[i] = rng.NormFloat64()
	}
	blas64.Trmv(blas.Trans, p.factor, blas64.Vector{N: len(p.z), Inc: 1, Data: p.z})
	for i, v := range p.z {
		dst[i] = x[i] + v
	}
	return 0
}

func (p *adaptive) Observe(x []float64, _ float64) {
	if len(x) != len(p.z) {
		panic("mcmc: the position has the wrong length")
	}
	if p.rule.AdaptAfter < 0 || p.rule.StopAfter > 0 && p.n >= p.rule.StopAfter {
		return
	}
	p.n++
	n := float64(p.n)
	p.seen.Add(x)

	since := p.n - p.rule.AdaptAfter
	if p.n < 2 || since < 0 || since%p.rule.Every != 0 {
		return
	}
	p.cov.ScaleSym(p.size/(n-1), p.scatter)
	for i := range p.z {
		p.cov.SetSym(i, i, p.cov.At(i, i)+p.size*p.rule.Epsilon)
	}
	p.refactor()
}

// refactor overwrites cov. If cov is singular by rounding, or has overflowed, the old
// covariance stays.
func (p *adaptive) refactor() {
	if math.IsInf(p.cov.Trace(), 1) {
		return
	}
	if u, ok := lapack64.Potrf(p.cov.RawSymmetric()); ok {
		p.factor = u
		p.cov, p.spare = p.spare, p.cov
	}
}

// State includes the Cholesky factor: p.seen may contain positions that were observed
// later.
func (p *adaptive) State(a *Archive) {
	a.Int(&p.n)
	a.Float(&p.seen.N)
	a.Floats(p.seen.Mean)
	a.Floats(p.seen.Scatter)
	a.Floats(p.factor.Data)
}

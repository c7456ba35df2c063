package mcmc

import (
	"fmt"
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// SplitHMC is Hamiltonian Monte Carlo for a target π close to a known Gaussian
// distribution, such as a posterior given a large amount of data. In coordinates in which
// this Gaussian is N(0, I), its part of Hamilton's equations is solved exactly: the pair
// of position z and momentum p is rotated through an angle,
//
//	z → z cos φ + p sin φ,   p → p cos φ − z sin φ.
//
// Only the rest of the density, π(z) e^(z²/2), changes the momentum, by kicks between
// turns [Beskos et al. 2011; Shahbaba et al. 2014]. If π is the Gaussian, every move is
// accepted. One evaluation of the gradient then gives a nearly independent draw in any
// number of dimensions, whereas NUTS needs seven or more evaluations.
//
// The path of an iteration turns through an angle drawn uniformly from 60° to 120°,
// because successive draws are least correlated when the angle is 90°. It is divided into
// equal parts, as many as are needed to keep the angle of each part below a maximum.
// During burn-in this maximum is tuned by dual averaging so that the mean acceptance
// probability approaches Accept. Nothing else is learned. If π is far from the Gaussian,
// the parts become small or few moves are accepted, and NUTS is better.
//
// One iteration evaluates the target once for each part, at most 100 times, and allocates
// no memory of its own.
type SplitHMC struct {
	Target GradientDensity

	// BurnIn is the number of iterations during which the kernel learns. It should equal
	// Settings.BurnIn of the run.
	BurnIn int

	// Mean and Cov are those of the Gaussian.
	Mean []float64
	Cov  mat.Symmetric

	// Accept is the mean probability of acceptance to which the angle is tuned. Zero means
	// 0.7.
	Accept float64

	n     int
	x     []float64 // position
	at    phase     // the same in whitened coordinates; g is the gradient of the rest
	end   phase     // of a path
	white *whitening
	angle stepSize // the largest of a part
	stats Stats
	place []float64 // the point at which the target is evaluated
}

var _ Kernel = (*SplitHMC)(nil)

// mostParts bounds the number of parts of a path.
const mostParts = 100

// Init places the chain at a copy of x and discards everything that the kernel has
// learned.
func (k *SplitHMC) Init(x []float64, _ *rand.Rand) error {
	d := len(x)
	if k.Target == nil || len(k.Mean) != d || k.Cov == nil || k.Cov.SymmetricDim() != d || k.BurnIn < 0 || !(k.Accept >= 0 && k.Accept < 1) {
		panic(fmt.Sprintf("mcmc: SplitHMC needs a Target, Mean and Cov of dimension %d, BurnIn ≥ 0, and Accept from 0 to 1", d))
	}
	if k.Accept == 0 {
		k.Accept = 0.7
	}
	k.white = newWhitening(k.Mean, k.Cov, false)
	vector := func() []float64 { return make([]float64, d) }
	k.x, k.place = vector(), vector()
	k.at, k.end = phase{z: vector(), p: vector(), g: vector()}, phase{z: vector(), p: vector(), g: vector()}
	k.n, k.stats, k.angle = 0, Stats{}, newStepSize(math.Pi/4)
	copy(k.x, x)
	k.white.to(k.at.z, x)
	if k.evaluate(&k.at); math.IsInf(k.at.logp, 0) || math.IsNaN(k.at.logp) {
		if _, err := k.Target(k.at.g, x); err != nil {
			return fmt.Errorf("mcmc: target at %v: %w", x, err)
		}
		return fmt.Errorf("mcmc: log density at %v is %v, or its gradient is not finite: want finite numbers", x, k.at.logp)
	}
	return nil
}

// evaluate sets the log density of s and the gradient of the rest at its position. The log
// density is NaN if the target cannot be evaluated.
func (k *SplitHMC) evaluate(s *phase) {
	k.white.from(k.place, s.z)
	var err error
	if s.logp, err = k.Target(s.g, k.place); err != nil || math.IsInf(s.logp, 1) {
		s.logp = math.NaN()
	}
	k.white.gradient(s.g)
	floats.Add(s.g, s.z)
	if sum := floats.Sum(s.g); !math.IsInf(s.logp, -1) && (math.IsNaN(sum) || math.IsInf(sum, 0)) {
		s.logp = math.NaN()
	}
}

// Step makes one iteration.
func (k *SplitHMC) Step(rng *rand.Rand) {
	k.n++
	k.stats.Proposed++
	whole := math.Pi / 3 * (1 + rng.Float64())
	parts := math.Ceil(min(mostParts, max(1, whole/k.angle.size)))
	s := &k.end
	copy(s.z, k.at.z)
	copy(s.g, k.at.g)
	for i := range s.p {
		s.p[i] = rng.NormFloat64()
	}
	start := floats.Dot(s.p, s.p)/2 - k.at.logp
	growth := 0.
	for i := 0.; i < parts && !math.IsNaN(growth) && !math.IsInf(growth, 0); i++ {
		k.turn(s, whole/parts)
		growth = floats.Dot(s.p, s.p)/2 - s.logp - start
	}
	accept := 0.
	switch {
	case math.IsNaN(growth):
		k.stats.Failed++
	default:
		accept = math.Exp(min(0, -growth))
	}
	if rng.Float64() < accept {
		k.at, k.end = k.end, k.at
		k.white.from(k.x, k.at.z)
		k.stats.Accepted++
	}
	if k.n <= k.BurnIn {
		if k.angle.update(accept, k.Accept); k.n == k.BurnIn {
			k.angle.finish()
		}
	}
}

// turn advances by one part of a path: a half kick, a rotation by the angle φ, and
// another half kick.
func (k *SplitHMC) turn(s *phase, φ float64) {
	floats.AddScaled(s.p, φ/2, s.g)
	rotate(s.z, s.p, φ)
	if k.evaluate(s); !math.IsNaN(s.logp) {
		floats.AddScaled(s.p, φ/2, s.g)
	}
}

// Position returns the position of the chain, a view valid until the next Step.
func (k *SplitHMC) Position() []float64 { return k.x }

// Stats returns the counts since Init. Failed counts the iterations in which the target
// could not be evaluated at a point of the path.
func (k *SplitHMC) Stats() Stats { return k.stats }

// LogDensity returns the log density at the position.
func (k *SplitHMC) LogDensity() float64 { return k.at.logp }

// Evaluate recomputes the log density at the position. See store.Evaluator.
func (k *SplitHMC) Evaluate() []float64 {
	copy(k.end.z, k.at.z)
	k.evaluate(&k.end)
	return []float64{k.end.logp}
}

// State writes or reads the position and what has been learned.
func (k *SplitHMC) State(a *Archive) {
	a.Int(&k.n)
	a.Floats(k.x)
	a.Floats(k.at.z)
	a.Floats(k.at.g)
	a.Float(&k.at.logp)
	a.Stats(&k.stats)
	k.angle.state(a)
}

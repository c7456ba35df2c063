package mcmc

import (
	"fmt"
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// Hamiltonian is Hamiltonian Monte Carlo for targets that are nearly Gaussian, in any
// number of dimensions, such as a posterior given a large amount of data. The first
// len(Mean) coordinates have a Gaussian approximation. The others, for example random
// numbers about which the data say little, are nearly independent and N(0, 1).
//
// In coordinates z in which the target is nearly N(0, I), let its density be e^−φ(z) with
// respect to N(0, I). Each iteration draws a momentum p ~ N(0, I) and follows Hamilton's
// equations for
//
//	H(z, p) = φ(z) + ½ zᵀz + ½ pᵀp
//
// in steps of length ε, which are reversible and preserve volume:
//
//	p ← p − ½ε ∇φ(z),   (z, p) ← (z cos ε + p sin ε, p cos ε − z sin ε),   p ← p − ½ε ∇φ(z)
//
// The last point is accepted with probability min(1, e^−ΔH). A rotation preserves ½zᵀz +
// ½pᵀp, so errors come only from φ, and the number of coordinates in which φ is constant
// does not matter [Beskos, Pinski, Sanz-Serna & Stuart 2011; Shahbaba et al. 2014]. A path
// turns by about a right angle, at which successive draws are least correlated. If the
// target is close to its approximation, one step is enough, and one evaluation of the
// gradient gives a nearly independent draw, whereas NUTS needs seven or more.
//
// Without the steps of p the path is a rotation, which needs no gradient. If half of
// these proposals would have been accepted in the last part of the burn-in, most
// iterations use them: they are preconditioned Crank–Nicolson moves about the
// approximation [Rudolf & Sprungk 2018]. The other iterations keep the chain from getting
// stuck in a tail. If Learned is zero, the kernel uses no such proposals.
//
// All learning happens in the burn-in. The step length is tuned by dual averaging. If the
// target is far from its approximation, the steps become short or few moves are accepted,
// and NUTS is better. Apart from calls of Target, an iteration allocates no memory.
type Hamiltonian struct {
	// Target is the log density, with respect to volume for the first len(Mean)
	// coordinates and with respect to N(0, I) for the others. If grad is nil, only the
	// value is needed.
	Target GradientDensity

	// BurnIn is the number of iterations during which the kernel learns. It should equal
	// Settings.BurnIn of the run.
	BurnIn int

	// Mean and Information describe the Gaussian approximation, such as a mode and the
	// Fisher information there. During burn-in the kernel corrects the mean and
	// covariance of the first Learned coordinates, conditional on the others. Learned
	// may be zero.
	Mean        []float64
	Information mat.Symmetric
	Learned     int

	n        int // iterations made
	x        []float64
	z, force []float64 // the position in whitened coordinates, and −∇φ there
	known    bool      // force is known
	logp     float64   // of Target at x
	upper    blas64.Triangular
	white    *whitening // of the Learned coordinates
	learn    *learner
	step     stepSize
	turns    float64 // sum of the probabilities of accepting a rotation, in the last part of the burn-in
	stats    Stats

	q, p, g, y []float64 // position, momentum and force of the path, and q as Target takes it
}

var _ Kernel = (*Hamiltonian)(nil)

const (
	pathAngle    = 1.7 // the angle by which a path turns: a little more than a quarter of a circle
	shortestLeap = pathAngle / 32
	leapRate     = 0.8    // the mean probability of acceptance to which the steps are tuned
	manyTurns    = 0.5    // share of accepted rotations above which most iterations make them
	pathShare    = 1. / 6 // share of iterations that follow a path if most make rotations
	wider        = 1.15   // factor of the learned scales, so that rotations reach into the tails
)

// Init places the chain at a copy of x, with a kernel that has learned nothing.
func (k *Hamiltonian) Init(x []float64, rng *rand.Rand) error {
	d := len(k.Mean)
	if k.Target == nil || k.Information == nil || d == 0 || d > len(x) || k.Information.SymmetricDim() != d || k.Learned < 0 || k.Learned > d || k.BurnIn < 0 {
		panic(fmt.Sprintf("mcmc: Hamiltonian in %d dimensions with a Mean of length %d and with %d Learned coordinates: want a Target, a Mean, Information of the same dimension, 0 ≤ Learned ≤ this dimension, and BurnIn ≥ 0", len(x), d, k.Learned))
	}
	var chol mat.Cholesky
	if !chol.Factorize(k.Information) {
		panic("mcmc: Information of Hamiltonian is not positive definite")
	}
	k.upper = chol.RawU().(*mat.TriDense).RawTriangular()
	full := 0 < k.Learned && k.Learned <= mostDense
	k.white = newWhitening(make([]float64, k.Learned), nil, full)
	k.learn = newLearner(k.Learned, k.BurnIn, full, false)
	if k.Learned == 0 {
		k.learn.until = k.BurnIn // without scales that were learned and widened, rotations rarely leave a tail
	}
	k.n, k.turns, k.stats = 0, 0, Stats{}
	for _, v := range []*[]float64{&k.x, &k.z, &k.force, &k.q, &k.p, &k.g, &k.y} {
		*v = make([]float64, len(x))
	}
	copy(k.x, x)
	k.whiten()
	var err error
	k.logp, err = k.evaluate(k.force, k.z)
	k.known = true
	k.step = newStepSize(pathAngle / 4)
	return startError(x[:d], k.logp, err)
}

// whiten sets z from x.
func (k *Hamiltonian) whiten() {
	d, l := len(k.Mean), k.Learned
	copy(k.z, k.x)
	floats.Sub(k.z[:d], k.Mean)
	blas64.Trmv(blas.NoTrans, k.upper, vectorOf(k.z[:d]))
	copy(k.y, k.z[:l])
	k.white.to(k.z[:l], k.y[:l])
}

// place sets x to the point with the whitened coordinates z.
func (k *Hamiltonian) place(x, z []float64) {
	d, l := len(k.Mean), k.Learned
	copy(x, z)
	k.white.from(x[:l], z[:l])
	blas64.Trsv(blas.NoTrans, k.upper, vectorOf(x[:d]))
	floats.Add(x[:d], k.Mean)
}

// evaluate writes −∇φ at z to force, unless force is nil, and returns the log density, or
// NaN and an error.
func (k *Hamiltonian) evaluate(force, z []float64) (float64, error) {
	k.place(k.y, z)
	logp, err := k.Target.checked(force, k.y)
	if force != nil {
		d, l := len(k.Mean), k.Learned
		blas64.Trsv(blas.Trans, k.upper, vectorOf(force[:d]))
		k.white.gradient(force[:l])
		floats.Add(force[:d], z[:d])
	}
	return logp, err
}

// energy returns H for the position z, with the log density logp, and the momentum p.
func (k *Hamiltonian) energy(z, p []float64, logp float64) float64 {
	rest := z[len(k.Mean):]
	return floats.Dot(p, p)/2 + floats.Dot(rest, rest)/2 - logp
}

// rotate turns (q, p) by an angle.
func rotate(q, p []float64, angle float64) {
	sin, cos := math.Sincos(angle)
	for i, v := range q {
		q[i], p[i] = cos*v+sin*p[i], cos*p[i]-sin*v
	}
}

// Step makes one iteration.
func (k *Hamiltonian) Step(rng *rand.Rand) {
	k.n++
	if k.n > k.BurnIn && k.turning() && rng.Float64() > pathShare {
		k.move(0, 0, rng)
		return
	}
	if k.n > k.learn.until && k.n <= k.BurnIn {
		k.turns += k.move(0, 0, rng)
	}
	size := k.step.size
	accept := k.move(int(math.Round(pathAngle/size)), size, rng)
	if k.n > k.BurnIn {
		return
	}
	k.step.update(accept, leapRate)
	if k.Learned > 0 && k.learn.add(k.n, k.z[:k.Learned]) {
		k.learn.apply(k.white, nil)
		floats.Scale(wider, k.white.scale)
		k.whiten()
		k.known = false
		k.step = newStepSize(k.step.size / 2)
	}
	longest := pathAngle
	if k.n == k.BurnIn {
		k.step.finish()
		if k.turning() {
			longest /= 3 // the paths lead out of tails, where longer steps are rejected
		}
	}
	k.step.size = min(max(k.step.size, shortestLeap), longest)
}

// turning reports whether most iterations are rotations.
func (k *Hamiltonian) turning() bool {
	return k.turns > manyTurns*float64(k.BurnIn-k.learn.until)
}

// move proposes a path of several steps, or only a rotation if there are no steps, and
// returns the probability of accepting it.
func (k *Hamiltonian) move(steps int, size float64, rng *rand.Rand) float64 {
	k.stats.Proposed++
	copy(k.q, k.z)
	for i := range k.p {
		k.p[i] = rng.NormFloat64()
	}
	start := k.energy(k.q, k.p, k.logp)
	// A random path length avoids paths that last exactly one period of a coordinate.
	length := 0.8 + 0.4*rng.Float64()
	var logp float64
	var err error
	if steps == 0 {
		rotate(k.q, k.p, length*math.Pi/2)
		logp, err = k.evaluate(nil, k.q)
	} else {
		logp, err = k.follow(steps, size*length)
	}
	ratio := start - k.energy(k.q, k.p, logp)
	if err != nil {
		k.stats.Failed++
		ratio = math.Inf(-1)
	}
	if ratio >= -rng.ExpFloat64() {
		k.stats.Accepted++
		k.z, k.q = k.q, k.z
		k.force, k.g = k.g, k.force
		k.logp, k.known = logp, steps > 0
		k.place(k.x, k.z)
	}
	return math.Exp(min(0, ratio))
}

// follow moves (q, p) along a path, and returns the log density at its end. It stops
// early if the path reaches a point at which the density is zero or undefined.
func (k *Hamiltonian) follow(steps int, size float64) (logp float64, err error) {
	if !k.known {
		k.evaluate(k.force, k.z)
		k.known = true
	}
	copy(k.g, k.force)
	floats.AddScaled(k.p, size/2, k.g)
	for i := range steps {
		rotate(k.q, k.p, size)
		if logp, err = k.evaluate(k.g, k.q); err != nil || math.IsInf(logp, -1) {
			return logp, err
		}
		kick := size
		if i == steps-1 {
			kick = size / 2
		}
		floats.AddScaled(k.p, kick, k.g)
	}
	return logp, nil
}

// Position returns the position of the chain. The slice is valid until the next Step.
func (k *Hamiltonian) Position() []float64 { return k.x }

// Stats returns the counts since Init. Failed counts the moves along which the target could
// not be evaluated; they are rejected.
func (k *Hamiltonian) Stats() Stats { return k.stats }

// LogDensity returns the value of Target at the position.
func (k *Hamiltonian) LogDensity() float64 { return k.logp }

// Evaluate recomputes the value of Target at the position. See store.Evaluator.
func (k *Hamiltonian) Evaluate() []float64 {
	logp, _ := k.evaluate(nil, k.z)
	return []float64{logp}
}

// Leap returns the length of the steps, and reports whether most iterations are
// rotations.
func (k *Hamiltonian) Leap() (size float64, turning bool) {
	return k.step.size, k.turning()
}

// State writes or reads the position and what has been learned.
func (k *Hamiltonian) State(a *Archive) {
	a.Int(&k.n)
	a.Floats(k.x)
	a.Floats(k.z)
	a.Float(&k.logp)
	a.Float(&k.turns)
	a.Stats(&k.stats)
	k.step.state(a)
	k.white.state(a)
	if k.n < k.BurnIn {
		k.learn.state(a)
	}
	if a.Reading() {
		k.known = false // the gradient at z is computed anew
	}
}

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

// Hamiltonian is a Hamiltonian Monte Carlo kernel for nearly Gaussian targets in any
// number of dimensions, such as posteriors given a large amount of data. Mean and
// Information define a Gaussian approximation to the distribution of the first len(Mean)
// coordinates. The other coordinates, for example random numbers about which the data say
// little, are nearly independent and N(0, 1).
//
// Let z be coordinates in which the target is nearly N(0, I), and let e^−φ(z) be the
// density of the target with respect to N(0, I). Each iteration draws a momentum p ~ N(0,
// I) and follows Hamilton's equations for
//
//	H(z, p) = φ(z) + ½ zᵀz + ½ pᵀp
//
// in steps of length ε. Each step is reversible and preserves volume:
//
//	p ← p − ½ε ∇φ(z),   (z, p) ← (z cos ε + p sin ε, p cos ε − z sin ε),   p ← p − ½ε ∇φ(z)
//
// The last point is accepted with probability min(1, e^−ΔH). A rotation preserves ½zᵀz +
// ½pᵀp, so only φ contributes to the error in H. Therefore, coordinates in which φ is
// constant do not reduce the acceptance rate [Beskos, Pinski, Sanz-Serna & Stuart 2011;
// Shahbaba et al. 2014]. Each path rotates (z, p) by about 90°, because successive draws
// are then least correlated. If the target is close to its Gaussian approximation, a path
// of one step gives a nearly independent draw. A path of one step needs one evaluation of
// the gradient, whereas NUTS needs at least three evaluations for each nearly independent
// draw.
//
// If ∇φ is not used to update p, the path is a rotation and needs no gradient. A rotation
// is a preconditioned Crank–Nicolson move about the Gaussian approximation [Rudolf &
// Sprungk 2018]. A chain that uses only rotations gets stuck in the tails, where
// rotations are rarely accepted. If Learned is not zero, some iterations use a rotation,
// and the others use a path with gradients. The share of rotations is the mean acceptance
// probability of rotations in the last part of the burn-in, but at most 0.9.
//
// The kernel is tuned only during the burn-in. The step length is tuned by stochastic
// approximation [Robbins & Monro 1951]. NUTS is better for targets that are far from
// their Gaussian approximation, because Hamiltonian then takes short steps or accepts few
// moves. An iteration allocates no memory, except in calls of Target.
type Hamiltonian struct {
	// Target is the log density of the target distribution. The dominating measure is
	// Lebesgue measure for the first len(Mean) coordinates and N(0, I) for the other
	// coordinates. If the argument `grad` is nil, Target need not compute the gradient.
	Target GradientDensity

	// BurnIn is the number of iterations during which the kernel is tuned. BurnIn should
	// equal Settings.BurnIn of the run.
	BurnIn int

	// Mean and Information are the mean and the inverse covariance of the Gaussian
	// approximation, such as a mode and the Fisher information at this mode. During the
	// burn-in, the kernel corrects the approximation to the conditional distribution of
	// the first Learned coordinates given the other coordinates. Learned may be zero.
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
	leap     float64 // length of the steps
	tuning   tuning
	turns    float64 // sum of the probabilities of accepting a rotation, in the last part of the burn-in
	stats    Stats

	q, p, g, y []float64 // position, momentum and force of the path, and q as Target takes it
}

var _ Kernel = (*Hamiltonian)(nil)

const (
	pathAngle   = 1.7  // the angle by which a path turns: a little more than a quarter of a circle
	mostLeaps   = 32   // in a path
	fewestLeaps = 4    // if there are rotations: paths lead out of the tails, where long steps are rejected
	leapRate    = 0.9  // the mean probability of acceptance to which the steps are tuned
	mostTurns   = 0.9  // share of rotations
	wider       = 1.15 // factor of the learned scales, so that rotations reach into the tails
)

type tuning struct {
	n    float64 // iterations since the whitening changed
	log  float64 // of the next step
	mean float64 // of the values of log, with weights n
}

func (t *tuning) update(accept, longest float64) {
	const gain, power = 2, 0.6
	t.n++
	t.log += gain * math.Pow(t.n, -power) * (accept - leapRate)
	t.log = min(max(t.log, math.Log(pathAngle/mostLeaps)), math.Log(longest))
	t.mean += 2 / (t.n + 1) * (t.log - t.mean)
}

// leaps returns the most efficient number of steps, from `fewest` to mostLeaps. The sd σ
// of ΔH is proportional to the square of the step, the mean acceptance a is erfc(σ/√8)
// [Beskos, Pillai, Roberts, Sanz-Serna & Stuart 2013], and the cost is proportional to
// the number of steps. The effective sample size is taken to be proportional to a³, not
// a: if few paths are accepted, those rarely lead out of a tail.
func (t *tuning) leaps(fewest int) int {
	best, most := fewest, 0.
	for n := fewest; n <= mostLeaps; n++ {
		longer := pathAngle / (float64(n) * math.Exp(t.mean))
		a := math.Erfc(math.Erfcinv(leapRate) * longer * longer)
		if rate := a * a * a / float64(n); rate > most {
			best, most = n, rate
		}
	}
	return best
}

// Init sets the position of the chain to a copy of x, and discards everything that the
// kernel has learned.
func (k *Hamiltonian) Init(x []float64, rng *rand.Rand) error {
	d := len(k.Mean)
	if k.Target == nil || k.Information == nil || d == 0 || d > len(x) || k.Information.SymmetricDim() != d || k.Learned < 0 || k.Learned > d || k.BurnIn < 0 {
		panic(fmt.Sprintf("mcmc: Hamiltonian has dimension %d, a Mean of length n = %d, and Learned = %d: want a Target, an n × n matrix Information, BurnIn ≥ 0, 1 ≤ n ≤ dimension, and 0 ≤ Learned ≤ n", len(x), d, k.Learned))
	}
	var chol mat.Cholesky
	if !chol.Factorize(k.Information) {
		panic("mcmc: the matrix Information of Hamiltonian is not positive definite")
	}
	k.upper = chol.RawU().(*mat.TriDense).RawTriangular()
	full := 0 < k.Learned && k.Learned <= mostDense
	k.white = newWhitening(make([]float64, k.Learned), nil, full)
	k.learn = newLearner(k.Learned, k.BurnIn, full, false)
	if k.Learned == 0 {
		k.learn.until = k.BurnIn // no rotations: without scales that were learned and widened they rarely leave a tail
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
	k.leap = pathAngle / fewestLeaps
	k.tuning = tuning{log: math.Log(k.leap)}
	return startError(x[:d], k.logp, err)
}

func (k *Hamiltonian) whiten() {
	d, l := len(k.Mean), k.Learned
	copy(k.z, k.x)
	floats.Sub(k.z[:d], k.Mean)
	blas64.Trmv(blas.NoTrans, k.upper, vectorOf(k.z[:d]))
	copy(k.y, k.z[:l])
	k.white.to(k.z[:l], k.y[:l])
}

func (k *Hamiltonian) place(x, z []float64) {
	d, l := len(k.Mean), k.Learned
	copy(x, z)
	k.white.from(x[:l], z[:l])
	blas64.Trsv(blas.NoTrans, k.upper, vectorOf(x[:d]))
	floats.Add(x[:d], k.Mean)
}

// evaluate stores −∇φ(z) in `force` unless that is nil. Without a value, it is NaN and an
// error.
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

// energy returns H; `logp` is the log density at z.
func (k *Hamiltonian) energy(z, p []float64, logp float64) float64 {
	rest := z[len(k.Mean):]
	return floats.Dot(p, p)/2 + floats.Dot(rest, rest)/2 - logp
}

func rotate(q, p []float64, angle float64) {
	sin, cos := math.Sincos(angle)
	for i, v := range q {
		q[i], p[i] = cos*v+sin*p[i], cos*p[i]-sin*v
	}
}

// Step makes one iteration.
func (k *Hamiltonian) Step(rng *rand.Rand) {
	k.n++
	if k.n > k.BurnIn {
		if share := k.turning(); share > 0 && rng.Float64() < share {
			k.move(0, 0, rng)
		} else {
			k.move(int(math.Round(pathAngle/k.leap)), k.leap, rng)
		}
		return
	}
	fewest := 1
	if k.Learned > 0 {
		fewest = fewestLeaps
	}
	if k.n > k.learn.until {
		k.turns += k.move(0, 0, rng)
	}
	k.tuning.update(k.move(int(math.Round(pathAngle/k.leap)), k.leap, rng), pathAngle/float64(fewest))
	k.leap = math.Exp(k.tuning.log)
	if k.Learned > 0 && k.learn.add(k.n, k.z[:k.Learned]) {
		k.learn.apply(k.white, nil)
		floats.Scale(wider, k.white.scale)
		k.whiten()
		k.known = false
		k.tuning = tuning{log: k.tuning.log}
	}
	if k.n == k.BurnIn {
		k.leap = pathAngle / float64(k.tuning.leaps(fewest))
	}
}

func (k *Hamiltonian) turning() float64 {
	if k.turns == 0 {
		return 0
	}
	return min(mostTurns, k.turns/float64(k.BurnIn-k.learn.until))
}

// move proposes the end of a path or, with no steps, of a rotation. It returns the
// acceptance probability.
func (k *Hamiltonian) move(steps int, size float64, rng *rand.Rand) float64 {
	k.stats.Proposed++
	copy(k.q, k.z)
	for i := range k.p {
		k.p[i] = rng.NormFloat64()
	}
	start := k.energy(k.q, k.p, k.logp)
	// The length of the path is random, because a fixed length might be a full period of
	// some coordinate.
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

// follow ends a path early where the density is zero or undefined.
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

// Stats returns the counts of moves since Init. Failed counts the moves that were
// rejected because the target could not be evaluated.
func (k *Hamiltonian) Stats() Stats { return k.stats }

// LogDensity returns the value of Target at the position of the chain.
func (k *Hamiltonian) LogDensity() float64 { return k.logp }

// Evaluate recomputes the value of Target at the position of the chain. See
// store.Evaluator.
func (k *Hamiltonian) Evaluate() []float64 {
	logp, _ := k.evaluate(nil, k.z)
	return []float64{logp}
}

// Leap returns the step length and the fraction of iterations that use a rotation. Both
// results are constant after the burn-in.
func (k *Hamiltonian) Leap() (size, turning float64) {
	return k.leap, k.turning()
}

// State stores or restores the position of the chain and everything that the kernel has
// learned.
func (k *Hamiltonian) State(a *Archive) {
	a.Int(&k.n)
	a.Floats(k.x)
	a.Floats(k.z)
	a.Float(&k.logp)
	a.Float(&k.turns)
	a.Stats(&k.stats)
	for _, v := range []*float64{&k.leap, &k.tuning.n, &k.tuning.log, &k.tuning.mean} {
		a.Float(v)
	}
	k.white.state(a)
	if k.n < k.BurnIn {
		k.learn.state(a)
	}
	if a.Reading() {
		k.known = false // the gradient at z is computed anew
	}
}

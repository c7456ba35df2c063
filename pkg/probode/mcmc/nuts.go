package mcmc

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// NUTS is the no-U-turn sampler. This kernel is suitable for targets that have a gradient
// and many or strongly correlated coordinates. Each iteration draws a momentum p ~ N(0,
// M), and follows Hamilton's equations for
//
//	H(x, p) = −log π(x) + ½ pᵀ M⁻¹ p
//
// by leapfrog steps. The path doubles in length, forwards or backwards at random, until
// it makes a U-turn. The next position is drawn from the points of the path by
// multinomial sampling with weights e^−H and a bias towards the newer half of the path.
// The generalised U-turn criterion is applied to the whole path, and to each half
// together with the nearest point of the other half [Hoffman & Gelman 2014; Betancourt
// 2017].
//
// The kernel is tuned only during the burn-in. The step size is tuned by dual averaging
// so that the mean acceptance probability approaches Accept. The inverse of M is
// estimated from the draws in windows that double in length. The kernel estimates a full
// covariance matrix if there are at most 100 dimensions, or if CovAt is given. Otherwise
// the kernel estimates only the standard deviations of the coordinates. If Cov is given,
// the coordinates are first transformed so that Cov becomes the unit matrix. The target is
// then nearly N(0, I), and a step of length ε follows Hamilton's equations for N(0, I)
// exactly, as in [Hamiltonian]: it rotates position and momentum by the angle ε, and only the
// rest of the gradient changes the momentum. The steps can then be two or three times as
// long. At the longest step, 1.4, a path in a Gaussian target turns back after three steps.
//
// A path is divergent if H grows by more than 1000, or if the target cannot be evaluated.
// If paths are divergent, the step is too long in some region of the target, and the
// draws may not represent that region. The quantities in [NUTSQuantities] record, for
// example, whether the path to a draw was divergent. Chains.Warnings checks these
// quantities.
//
// One iteration takes at most 2^MaxDepth − 1 leapfrog steps. Each leapfrog step evaluates
// the target once. An iteration allocates no memory, except while the target is
// evaluated.
type NUTS struct {
	Target GradientDensity

	// BurnIn is the number of iterations during which the kernel is tuned. BurnIn should
	// equal Settings.BurnIn of the run.
	BurnIn int

	// Mean and Cov are initial guesses for the mean and covariance of the target, such as
	// a mode and the inverse of the Fisher information at this mode. A nil Cov stands for
	// the unit matrix, and a nil Mean for the starting point.
	Mean []float64
	Cov  mat.Symmetric

	// CovAt, if not nil, returns a guess for the covariance of the target, such as the
	// inverse of the Fisher information at x. The guess depends only on the shape of the
	// target near x. CovAt returns nil if it has no guess. CovAt is called at the mean of
	// the draws of each window, because the shape at a mode can differ from the shape of
	// the region that contains most of the probability mass. If CovAt returns a guess,
	// the draws of the window are used only to correct this guess. If CovAt is given, the
	// windows begin early, so that few paths are computed before the first call of CovAt.
	CovAt func(x []float64) mat.Symmetric

	// Accept is the desired mean acceptance probability. Zero means 0.8. With a
	// larger value of Accept the steps are shorter, and fewer paths are divergent.
	Accept float64

	// MaxDepth is the largest number of doublings of a path. Zero means 10.
	MaxDepth int

	n     int       // iterations made
	x     []float64 // position
	at    draw      // the same in whitened coordinates
	white *whitening
	learn *learner
	step  stepSize
	stats Stats
	last  path // the path of the last iteration

	// The following fields are the workspace of an iteration.
	rng         *rand.Rand
	back, front phase     // the two end points of the path
	whole, half tree      // the path, and the new half by which the path is doubled
	right       []tree    // for each depth, the second half of the steps that build() adds
	place       []float64 // the point at which the target is evaluated
}

var _ interface {
	Kernel
	Generator
} = (*NUTS)(nil)

const (
	longestTurn = 1.4  // the longest step that rotates: two of them turn by less than 180°, three by more
	mostEnergy  = 1000 // the growth of H at which a path is divergent
	soonDepth   = 6    // the largest number of doublings before the first window or, with CovAt, before the end of the last
)

// NUTSQuantities returns the names of the quantities that a NUTS kernel generates. To
// store these quantities with the draws, set Settings.Generated to the result of
// NUTSQuantities. The names are those of CmdStan:
//
//	accept_stat__   mean probability of acceptance along the path
//	stepsize__      length of the leapfrog steps
//	treedepth__     number of doublings of the path
//	n_leapfrog__    number of leapfrog steps
//	divergent__     1 if the path was divergent
//	energy__        H at the draw
func NUTSQuantities() []string {
	return []string{"accept_stat__", "stepsize__", "treedepth__", "n_leapfrog__", "divergent__", "energy__"}
}

type path struct {
	start               float64 // H at its first point
	accept              float64 // Σ min(1, e^(start − H)) over the leapfrog steps
	step, energy        float64
	depth, leaps        int
	divergent, unsolved bool
}

// A phase is a point in phase space, in whitened coordinates.
type phase struct {
	z, p, g []float64 // position, momentum, gradient
	logp    float64
}

type draw struct {
	z, g         []float64
	logp, energy float64
}

// A tree is a part of a path with 2ⁿ points.
type tree struct {
	first, last []float64 // momenta at its ends
	sum         []float64 // sum of the momenta at all its points
	weight      float64   // log Σ e^(start − H)
	draw        draw      // one of its points, drawn with these weights
}

// Init sets the position of the chain to a copy of x, and discards everything that the
// kernel has learned.
func (k *NUTS) Init(x []float64, rng *rand.Rand) error {
	d := len(x)
	if k.Target == nil || k.Mean != nil && len(k.Mean) != d || k.Cov != nil && k.Cov.SymmetricDim() != d {
		panic(fmt.Sprintf("mcmc: NUTS has no Target, or its Mean or Cov does not have dimension %d", d))
	}
	if !(k.Accept >= 0 && k.Accept < 1) || k.MaxDepth < 0 || k.MaxDepth > 30 || k.BurnIn < 0 {
		panic(fmt.Sprintf("mcmc: NUTS has Accept %g, MaxDepth %d and BurnIn %d: want Accept below 1, MaxDepth at most 30, and BurnIn ≥ 0", k.Accept, k.MaxDepth, k.BurnIn))
	}
	k.Accept = cmp.Or(k.Accept, 0.8)
	k.MaxDepth = cmp.Or(k.MaxDepth, 10)
	mean := k.Mean
	if mean == nil {
		mean = x
	}
	full := d <= mostDense || k.CovAt != nil
	k.white = newWhitening(mean, k.Cov, full)
	k.learn = newLearner(d, k.BurnIn, full, k.CovAt != nil)
	k.workspace(d)
	k.n, k.stats, k.last = 0, Stats{}, path{}
	copy(k.x, x)
	k.white.to(k.at.z, x)
	var err error
	k.at.logp, err = k.evaluate(k.at.g, k.at.z)
	if err = startError(x, k.at.logp, err); err != nil {
		return err
	}
	k.step = newStepSize(k.firstStep(1, rng), k.longest())
	return nil
}

func (k *NUTS) workspace(d int) {
	vector := func() []float64 { return make([]float64, d) }
	point := func() draw { return draw{z: vector(), g: vector()} }
	grove := func() tree { return tree{first: vector(), last: vector(), sum: vector(), draw: point()} }
	k.x, k.place, k.at = vector(), vector(), point()
	k.back, k.front = phase{z: vector(), p: vector(), g: vector()}, phase{z: vector(), p: vector(), g: vector()}
	k.whole, k.half = grove(), grove()
	k.right = make([]tree, k.MaxDepth)
	for i := range k.right {
		k.right[i] = grove()
	}
}

func (k *NUTS) evaluate(g, z []float64) (float64, error) {
	k.white.from(k.place, z)
	logp, err := k.Target.checked(g, k.place)
	k.white.gradient(g)
	return logp, err
}

func (k *NUTS) leap(s *phase, step float64) float64 {
	k.kick(s, step/2)
	if k.rotates() {
		rotate(s.z, s.p, step)
	} else {
		floats.AddScaled(s.z, step, s.p)
	}
	var err error
	if s.logp, err = k.evaluate(s.g, s.z); err != nil || math.IsInf(s.logp, -1) {
		k.last.unsolved = k.last.unsolved || err != nil
		return math.Inf(1)
	}
	k.kick(s, step/2)
	return floats.Dot(s.p, s.p)/2 - s.logp
}

func (k *NUTS) rotates() bool { return k.Cov != nil }

// longest returns the longest step.
func (k *NUTS) longest() float64 {
	if k.rotates() {
		return longestTurn
	}
	return math.Inf(1)
}

// kick changes the momentum by the gradient or, if the steps rotate, by the part of the
// gradient that is not that of N(0, I).
func (k *NUTS) kick(s *phase, time float64) {
	floats.AddScaled(s.p, time, s.g)
	if k.rotates() {
		floats.AddScaled(s.p, time, s.z)
	}
}

func (k *NUTS) begin(s *phase, rng *rand.Rand) float64 {
	copy(s.z, k.at.z)
	copy(s.g, k.at.g)
	s.logp = k.at.logp
	for i := range s.p {
		s.p[i] = rng.NormFloat64()
	}
	return floats.Dot(s.p, s.p)/2 - s.logp
}

// firstStep doubles or halves until the acceptance of a single leapfrog step crosses 0.8.
func (k *NUTS) firstStep(step float64, rng *rand.Rand) float64 {
	good := func() bool {
		start := k.begin(&k.back, rng)
		return start-k.leap(&k.back, step) > math.Log(0.8)
	}
	factor := 0.5
	if good() {
		factor = 2
	}
	for range 50 {
		step *= factor
		if step >= k.longest() || good() != (factor > 1) {
			break
		}
	}
	return min(step, k.longest())
}

// Step makes one iteration.
func (k *NUTS) Step(rng *rand.Rand) {
	k.n++
	k.rng = rng
	k.last = path{step: k.step.size}
	w := &k.whole
	k.last.start = k.begin(&k.back, rng)
	copy(k.front.z, k.back.z)
	copy(k.front.p, k.back.p)
	copy(k.front.g, k.back.g)
	for _, v := range [][]float64{w.first, w.last, w.sum} {
		copy(v, k.back.p)
	}
	w.weight = 0
	k.take(&w.draw, &k.back, k.last.start)

	deepest, moved := k.MaxDepth, false
	if k.n <= k.learn.from || k.CovAt != nil && k.n <= k.learn.until {
		deepest = min(deepest, soonDepth)
	}
	for goes := true; goes && k.last.depth < deepest; {
		forward := rng.Uint64()>>63 == 0
		end, step := &k.front, k.step.size
		if !forward {
			end, step = &k.back, -step
		}
		ok := k.build(&k.half, end, k.last.depth, step)
		k.last.depth++
		if !ok {
			break
		}
		// The bias towards points of the new half makes the moves longer.
		if k.half.weight-w.weight >= -rng.ExpFloat64() {
			w.draw, k.half.draw = k.half.draw, w.draw
			moved = true
		}
		if forward {
			goes = straight(w.first, w.last, w.sum, &k.half)
			copy(w.last, k.half.last)
		} else {
			goes = straight(w.last, w.first, w.sum, &k.half)
			copy(w.first, k.half.last)
		}
		w.weight = logAdd(w.weight, k.half.weight)
		floats.Add(w.sum, k.half.sum)
	}
	k.at, w.draw = w.draw, k.at
	k.last.energy = k.at.energy
	k.white.from(k.x, k.at.z)
	k.count(moved)
	k.adapt()
}

func (k *NUTS) count(moved bool) {
	k.stats.Proposed++
	if moved {
		k.stats.Accepted++
	}
	if k.last.unsolved {
		k.stats.Failed++
	}
}

func (k *NUTS) take(d *draw, s *phase, energy float64) {
	copy(d.z, s.z)
	copy(d.g, s.g)
	d.logp, d.energy = s.logp, energy
}

// build adds 2^depth leapfrog steps at one end, with the momenta after the first and the
// last in t. It returns false, and stops early, at a U-turn or a divergence.
func (k *NUTS) build(t *tree, end *phase, depth int, step float64) bool {
	if depth == 0 {
		energy := k.leap(end, step)
		k.last.leaps++
		if t.weight = k.last.start - energy; math.IsNaN(t.weight) || -t.weight > mostEnergy {
			k.last.divergent = true
			return false
		}
		k.last.accept += math.Exp(min(0, t.weight))
		for _, v := range [][]float64{t.first, t.last, t.sum} {
			copy(v, end.p)
		}
		k.take(&t.draw, end, energy)
		return true
	}
	r := &k.right[depth-1]
	if !k.build(t, end, depth-1, step) || !k.build(r, end, depth-1, step) {
		return false
	}
	weight := logAdd(t.weight, r.weight)
	if r.weight-weight >= -k.rng.ExpFloat64() {
		t.draw, r.draw = r.draw, t.draw
	}
	t.weight = weight
	goes := straight(t.first, t.last, t.sum, r)
	copy(t.last, r.last)
	floats.Add(t.sum, r.sum)
	return goes
}

// straight applies the generalised U-turn criterion to the whole path, and to each half
// with the nearest point of the other half. The first half has the end momenta `outer`
// and `inner` and the sum `sum`; r is the second half.
func straight(outer, inner, sum []float64, r *tree) bool {
	along := func(end, sum, more []float64) bool { return floats.Dot(end, sum)+floats.Dot(end, more) > 0 }
	return along(outer, sum, r.sum) && along(r.last, sum, r.sum) &&
		along(outer, sum, r.first) && along(r.first, sum, r.first) &&
		along(inner, r.sum, inner) && along(r.last, r.sum, inner)
}

func logAdd(a, b float64) float64 {
	a, b = max(a, b), min(a, b)
	if math.IsInf(a, -1) {
		return a
	}
	return a + math.Log1p(math.Exp(b-a))
}

func (k *NUTS) adapt() {
	if k.n > k.BurnIn {
		return
	}
	k.step.update(k.last.acceptance(), k.Accept)
	if k.learn.add(k.n, k.at.z) {
		k.learn.apply(k.white, k.CovAt)
		k.white.to(k.at.z, k.x)
		// Compute the gradient in the new whitened coordinates.
		k.white.from(k.x, k.at.z)
		k.at.logp, _ = k.evaluate(k.at.g, k.at.z)
		k.step = newStepSize(k.firstStep(k.step.size, k.rng), k.longest())
	}
	if k.n == k.BurnIn {
		k.step.finish()
	}
}

func (p *path) acceptance() float64 { return p.accept / float64(max(1, p.leaps)) }

// Position returns the position of the chain. The returned slice is valid until the next
// call of Step.
func (k *NUTS) Position() []float64 { return k.x }

// Stats returns the counts of moves since Init. Accepted counts the iterations that
// changed the position. Failed counts the iterations in which the target could not be
// evaluated at a point of the path.
func (k *NUTS) Stats() Stats { return k.stats }

// LogDensity returns the log density at the position.
func (k *NUTS) LogDensity() float64 { return k.at.logp }

// Generate writes the quantities of the last iteration to dst, in the order of
// NUTSQuantities.
func (k *NUTS) Generate(dst []float64) {
	divergent := 0.
	if k.last.divergent {
		divergent = 1
	}
	copy(dst, []float64{k.last.acceptance(), k.last.step, float64(k.last.depth), float64(k.last.leaps), divergent, k.last.energy})
}

// Evaluate recomputes the log density at the position. See store.Evaluator.
func (k *NUTS) Evaluate() []float64 {
	logp, _ := k.evaluate(k.back.g, k.at.z)
	return []float64{logp}
}

// State stores or restores the position of the chain and everything that the kernel has
// learned. The quantities that Generate writes are not part of the state, because they
// describe only the last iteration.
func (k *NUTS) State(a *Archive) {
	a.Int(&k.n)
	a.Floats(k.x)
	a.Floats(k.at.z)
	a.Floats(k.at.g)
	a.Float(&k.at.logp)
	a.Stats(&k.stats)
	k.step.state(a)
	k.white.state(a)
	if k.n < k.BurnIn {
		k.learn.state(a)
	}
}

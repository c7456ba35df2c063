package mcmc

import (
	"fmt"
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/mat"

	"github.com/probode/probode/pkg/internal/moments"
	"github.com/probode/probode/pkg/probode/internal/vector"
)

// AdaptiveMixture is the [Rule] for targets with up to about twenty-five correlated
// coordinates. It needs no manual tuning. Let m and C = A Aᵀ be the current estimates of
// the mean and covariance of the target. The columns of A are the principal axes of the
// correlation matrix, scaled by the standard deviations of the coordinates. Each
// iteration makes one of three moves:
//
//	walk   y = x + s A z                                z ~ N(0, I)
//	line   y = x + sₖ Aₖ z                              z ~ N(0, 1), along column k, drawn at random
//	pull   y = m + √(1−b²) (x − m) + b √w A z           z ~ N(0, I)
//	       w = (ν + q(x)) / χ²,  q(x) = ‖A⁻¹(x − m)‖²   χ² of ν + d degrees of freedom
//
// The move `pull` is reversible with respect to the Student t distribution with ν = 5
// degrees of freedom, location m and scale matrix C. If the target is nearly Gaussian,
// `pull` moves make successive draws almost independent. If the target is far from
// Gaussian, the heavy tails of the t distribution keep the chain from getting stuck
// [after Rudolf & Sprungk 2018; Kamatani 2018]. The move `walk` works for targets that
// are far from Gaussian. The move `line` works before the shape of the target is known,
// because its size is tuned separately for each column of A.
//
// The proposal is tuned only during the burn-in. The estimates m and C are computed from
// windows of iterations. If one window ends at iteration n, the next ends at iteration
// 1.2 n. An estimate uses only the last two windows, because the chain may begin far from
// the bulk of the target. The covariance of a few correlated positions is a poor estimate
// of the covariance of the target. Therefore each new C is a weighted mean of two
// matrices: the covariance of the positions in the windows, and the previous C rescaled
// by the tuned sizes sₖ. In this mean, the previous C counts as much as d(d+1)/2
// positions. If Cov was given, the previous C counts as much as d²(d+1)/2 positions.
// Stochastic approximation [Andrieu & Thoms 2008] tunes the sizes s, sₖ and b. The target
// acceptance rates are 0.234 for s (0.44 in one dimension), 0.44 for sₖ and 0.3 for b.
// Each of the three moves has the probability 0.15 plus a share of the other 0.55. The
// share of a move is proportional to its mean squared jump distance in the metric C⁻¹. A
// rejected proposal counts as a jump of length zero. After the burn-in the proposal does
// not change, so the draws are those of an ordinary Markov chain. Without burn-in nothing
// is learned.
//
// The less is known about the target beforehand, the longer the burn-in must be. If Cov
// is approximately c times the covariance of the target, with c ≥ 1, a burn-in of 1000
// iterations suffices in twenty dimensions. If Cov is too large or too small by factors
// of two to three in several directions, the burn-in needs 10 000 iterations. Without
// Cov, a burn-in of 1000 iterations suffices in three dimensions even if the scales are
// wrong by a factor of a hundred. If the scales are about right but the covariance has
// condition number 10⁶, the burn-in needs 5000 iterations in eight dimensions and 20 000
// in twenty. If the target has the shape of a funnel, the chains mix as badly as any
// random walk with a single scale. The posterior of a hierarchical model in centred form
// with few groups, for example, has the shape of a funnel. For a target with the shape of
// a funnel, use other coordinates.
//
// The zero value is ready to use for coordinates with standard deviations of about one.
type AdaptiveMixture struct {
	// Mean and Cov are initial guesses for the mean and covariance of the target, such as
	// a mode and the covariance of the Gaussian approximation at this mode. If Mean is
	// nil, the chain makes no `pull` moves until it has estimated the mean. A nil Cov
	// stands for the unit matrix.
	Mean []float64
	Cov  mat.Symmetric
}

var _ Rule = AdaptiveMixture{}

// The moves of the mixture.
const (
	walk = iota
	line
	pull
	moveKinds
)

const (
	pullDegrees   = 5    // ν
	leastChance   = 0.15 // of each move
	firstWindow   = 20   // iterations, but at least perDimension of them per dimension
	perDimension  = 10
	windowsEnd    = 0.85 // share of the burn-in during which C is learned; afterwards only the sizes are tuned
	lineTrust     = 100  // number of line moves after which the deviation of a size has the weight ½
	smallestAxis  = 1e-7 // relative to the largest, after scaling to unit variances
	rateWalk      = 0.234
	rateLine      = 0.44
	ratePull      = 0.3
	smallestPull  = -6.9 // log of 0.001
	windowsGrowth = 1.2
)

// New returns the proposal of one chain. New panics if d < 1, if burnIn is negative, if a
// non-nil Mean or Cov does not have dimension d, or if a variance in Cov is not positive
// and finite.
func (r AdaptiveMixture) New(d, burnIn int) Proposal {
	switch {
	case d < 1 || burnIn < 0:
		panic(fmt.Sprintf("mcmc: the number of dimensions is %d and the burn-in is %d: want at least 1 dimension, and a burn-in ≥ 0", d, burnIn))
	case r.Mean != nil && len(r.Mean) != d || r.Cov != nil && r.Cov.SymmetricDim() != d:
		panic(fmt.Sprintf("mcmc: Mean or Cov of AdaptiveMixture does not have dimension %d", d))
	}
	p := &mixture{
		burnIn: burnIn, centred: r.Mean != nil, guided: r.Cov != nil, mean: make([]float64, d),
		axes: make([]float64, d*d), white: make([]float64, d*d),
		logLine: make([]float64, d), lines: make([]float64, d),
		z: make([]float64, d), dev: make([]float64, d),
	}
	copy(p.mean, r.Mean)
	for i := range p.windows {
		p.windows[i] = moments.NewMatrix(d)
	}
	for k := range p.chance {
		p.chance[k] = 1. / moveKinds
	}
	cov := mat.NewSymDense(d, nil)
	for i := range d {
		cov.SetSym(i, i, 1)
	}
	if r.Cov != nil {
		cov.CopySym(r.Cov)
	}
	if !p.setShape(cov) {
		panic("mcmc: Cov of AdaptiveMixture is not a covariance matrix")
	}
	p.next = max(firstWindow, perDimension*d)
	return p
}

type mixture struct {
	burnIn, n int  // iterations during which it learns, and those made so far
	centred   bool // the mean is known
	guided    bool // the covariance was given
	mean      []float64
	axes      []float64 // A; column k is direction k
	white     []float64 // A⁻¹

	logWalk, logPull float64 // log s and log b
	logLine          []float64
	tuned            [moveKinds]float64 // how often each size was tuned since it was set
	lines            []float64

	chance [moveKinds]float64
	gain   [moveKinds]float64 // Σ probability × squared distance, of this window
	tried  [moveKinds]float64

	next    int               // iteration at which the window ends
	windows [2]moments.Matrix // the last one and this one

	// The move that was proposed:
	kind, direction int
	distance        float64 // squared, in units of C
	z, dev          []float64
}

func (p *mixture) Propose(dst, x []float64, rng *rand.Rand) float64 {
	d := len(p.mean)
	if len(dst) != d || len(x) != d {
		panic("mcmc: the position has the wrong length")
	}
	p.kind = walk
	switch u := rng.Float64(); {
	case u < p.chance[line]:
		p.kind = line
	case u < p.chance[line]+p.chance[pull] && p.centred:
		p.kind = pull
	}
	if p.kind == line {
		p.direction = rng.IntN(d)
		f := math.Exp(p.logLine[p.direction]) * rng.NormFloat64()
		for i := range d {
			dst[i] = x[i] + f*p.axes[i*d+p.direction]
		}
		p.distance = f * f
		return 0
	}
	for k := range p.z {
		p.z[k] = rng.NormFloat64()
	}
	if p.kind == walk {
		f := math.Exp(p.logWalk)
		p.distance = 0
		for i := range d {
			dst[i] = x[i] + f*vector.Dot(p.axes[i*d:(i+1)*d], p.z)
			p.distance += f * f * p.z[i] * p.z[i]
		}
		return 0
	}
	// The t distribution is a mixture of Gaussians whose covariance is scaled by w. Given
	// x, the scale w is drawn from its conditional distribution, an inverse gamma
	// distribution. Given w, the move is reversible with respect to the Gaussian. So
	// q(x|y)/q(y|x) = t(x)/t(y).
	qx := p.squaredDistance(x)
	var chi2 float64
	for range pullDegrees + d {
		v := rng.NormFloat64()
		chi2 += v * v
	}
	b := math.Exp(p.logPull)
	keep, f := math.Sqrt(1-b*b), b*math.Sqrt((pullDegrees+qx)/chi2)
	for i := range d {
		dst[i] = p.mean[i] + keep*(x[i]-p.mean[i]) + f*vector.Dot(p.axes[i*d:(i+1)*d], p.z)
	}
	qy := p.squaredDistance(dst)
	p.distance = 0
	for k := range d {
		v := 0.0
		for i, a := range p.white[k*d : (k+1)*d] {
			v += a * (dst[i] - x[i])
		}
		p.distance += v * v
	}
	return (pullDegrees + float64(d)) / 2 * (math.Log1p(qy/pullDegrees) - math.Log1p(qx/pullDegrees))
}

func (p *mixture) squaredDistance(x []float64) float64 {
	d := len(p.mean)
	for i, v := range x {
		p.dev[i] = v - p.mean[i]
	}
	var sum float64
	for k := range d {
		v := vector.Dot(p.white[k*d:(k+1)*d], p.dev)
		sum += v * v
	}
	return sum
}

func (p *mixture) Observe(x []float64, probability float64) {
	if len(x) != len(p.mean) {
		panic("mcmc: the position has the wrong length")
	}
	if p.n >= p.burnIn {
		return
	}
	p.n++
	tune := func(size, count *float64, rate float64) {
		*count++
		*size += (probability - rate) / math.Sqrt(*count)
	}
	switch p.kind {
	case walk:
		rate := rateWalk
		if len(x) == 1 {
			rate = rateLine
		}
		tune(&p.logWalk, &p.tuned[walk], rate)
	case line:
		tune(&p.logLine[p.direction], &p.lines[p.direction], rateLine)
	case pull:
		tune(&p.logPull, &p.tuned[pull], ratePull)
		p.logPull = min(0, max(p.logPull, smallestPull))
	}
	p.gain[p.kind] += probability * p.distance
	p.tried[p.kind]++

	end := int(windowsEnd * float64(p.burnIn))
	if p.n > end {
		if p.n == p.burnIn {
			p.choose()
		}
		return
	}
	p.windows[1].Add(x)
	if p.n == p.next || p.n == end {
		p.learn()
		p.choose()
		p.next = int(math.Ceil(windowsGrowth * float64(p.n)))
		if windowsGrowth*float64(p.next) > float64(end) {
			p.next = end // one long window instead of a short one at the end
		}
	}
}

// learn weighs two covariances: that of the last two windows, and the old one with its
// axes rescaled by the tuned step sizes of the line moves.
func (p *mixture) learn() {
	d := len(p.mean)
	last, this := &p.windows[0], &p.windows[1]
	n := last.N + this.N
	cov := mat.NewSymDense(d, nil)
	// For a Gaussian target, a line move has the acceptance rate 0.44 if its size is
	// about 2.38 times the conditional standard deviation. The logarithm of the size
	// tuned for a column of A is the sum of two terms: the mean over all columns, and a
	// deviation from this mean. The mean is used unchanged. The deviation of a column is
	// multiplied by a weight that grows with the number of line moves tried along this
	// column. Without this weight, random errors of the tuned sizes would spoil a good
	// estimate of the shape.
	before := make([]float64, d)
	var common float64
	for _, l := range p.logLine {
		common += (l - math.Log(2.38)) / float64(d)
	}
	for k, l := range p.logLine {
		own := l - math.Log(2.38) - common
		before[k] = math.Exp(2 * (common + own*p.lines[k]/(p.lines[k]+lineTrust)))
	}
	weight := float64(d*(d+1)) / 2
	if p.guided {
		weight *= float64(d)
	}
	for i := range d {
		p.mean[i] = (last.N*last.Mean[i] + this.N*this.Mean[i]) / n
		for j := i; j < d; j++ {
			s := last.Scatter[i*d+j] + this.Scatter[i*d+j] + last.N*this.N/n*(this.Mean[i]-last.Mean[i])*(this.Mean[j]-last.Mean[j])
			for k, v := range before {
				s += weight * v * p.axes[i*d+k] * p.axes[j*d+k]
			}
			cov.SetSym(i, j, s/(n+weight))
		}
	}
	p.centred = true
	p.setShape(cov)
	p.windows[0], p.windows[1] = p.windows[1], p.windows[0]
	p.windows[1].Clear()
}

// choose gives each move leastChance, and of the rest a share proportional to its mean
// squared jump distance.
func (p *mixture) choose() {
	var worth [moveKinds]float64
	var sum float64
	for k := range worth {
		if p.tried[k] > 0 {
			worth[k] = p.gain[k] / p.tried[k]
		}
		sum += worth[k]
	}
	if sum > 0 && !math.IsInf(sum, 1) {
		for k, w := range worth {
			p.chance[k] = leastChance + (1-moveKinds*leastChance)*w/sum
		}
	}
	p.gain, p.tried = [moveKinds]float64{}, [moveKinds]float64{}
}

// setShape sets A to the principal axes of cov, computed with all variances scaled to 1,
// so that different units lose no accuracy. It returns false if cov is no covariance.
func (p *mixture) setShape(cov *mat.SymDense) bool {
	d := len(p.mean)
	sd := make([]float64, d)
	for i := range sd {
		if sd[i] = math.Sqrt(cov.At(i, i)); !(sd[i] > 0) || math.IsInf(sd[i], 1) {
			return false
		}
	}
	scaled := mat.NewSymDense(d, nil)
	for i := range d {
		for j := i; j < d; j++ {
			scaled.SetSym(i, j, cov.At(i, j)/(sd[i]*sd[j]))
		}
	}
	var eigen mat.EigenSym
	if !eigen.Factorize(scaled, true) {
		return false
	}
	var q mat.Dense
	eigen.VectorsTo(&q)
	values := eigen.Values(nil) // increasing
	for k, v := range values {
		root := math.Sqrt(max(v, smallestAxis*smallestAxis*values[d-1]))
		for i := range d {
			p.axes[i*d+k] = sd[i] * q.At(i, k) * root
			p.white[k*d+i] = q.At(i, k) / (sd[i] * root)
		}
	}
	p.logWalk = math.Log(2.38 / math.Sqrt(float64(d)))
	p.logPull = math.Log(0.7)
	for k := range p.logLine {
		p.logLine[k] = math.Log(2.38)
	}
	p.tuned = [moveKinds]float64{}
	clear(p.lines)
	return true
}

func (p *mixture) State(a *Archive) {
	a.Int(&p.n)
	a.Int(&p.next)
	centred := 0
	if p.centred {
		centred = 1
	}
	a.Int(&centred)
	p.centred = centred == 1
	for _, v := range [][]float64{p.mean, p.axes, p.white, p.logLine, p.lines, p.tuned[:], p.chance[:], p.gain[:], p.tried[:]} {
		a.Floats(v)
	}
	a.Float(&p.logWalk)
	a.Float(&p.logPull)
	for i := range p.windows {
		w := &p.windows[i]
		a.Float(&w.N)
		a.Floats(w.Mean)
		a.Floats(w.Scatter)
	}
}

package mcmc

import (
	"fmt"
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/mat"
)

// ModeJumping is the [Rule] for a target with several known modes. Mode k has the
// location mₖ, the covariance Cₖ = LₖLₖᵀ and the weight wₖ. Mode j is the mode nearest to
// x, that is, the mode with the largest value of wₖ N(x; mₖ, Cₖ). Each iteration makes
// one of three moves:
//
//	walk   y = x + sⱼ Lⱼ z                       z ~ N(0, I)
//	leap   y = mₖ + Lₖ Lⱼ⁻¹ (x − mⱼ)             k ≠ j in proportion to wₖ
//	draw   y ~ Σ wₖ t(mₖ, Cₖ)                    Student's t distribution with 5 degrees of freedom
//
// The move `leap` takes a point to the corresponding point of another mode [after
// Tjelmeland & Hegstad 2001]. If the modes are nearly Gaussian, most leaps are accepted,
// even in many dimensions. The move `draw` proposes a point that is independent of x.
// Draws reach other modes even if the modes are not nearly Gaussian. All three moves are
// accepted or rejected by the Metropolis–Hastings rule, so the weights, locations and
// covariances of the modes need not be exact. During burn-in the sizes sⱼ are tuned to
// give an acceptance rate of 0.3.
type ModeJumping struct {
	Modes []GaussianMode
}

// A GaussianMode describes a mode by the Gaussian approximation around it.
type GaussianMode struct {
	Mean   []float64
	Cov    mat.Symmetric
	Weight float64 // > 0; weights need not add up to 1
}

var _ Rule = ModeJumping{}

const (
	leapShare   = 0.15 // of the moves
	drawShare   = 0.15
	drawDegrees = 5
	rateNear    = 0.3
)

// New returns the proposal. New panics if there are no modes. New also panics if any mode
// has the wrong number of coordinates, a covariance that is not positive definite, or a
// weight that is not positive.
func (r ModeJumping) New(d, burnIn int) Proposal {
	if len(r.Modes) == 0 {
		panic("mcmc: ModeJumping has no Modes")
	}
	p := &jumping{left: burnIn, z: make([]float64, d), w: make([]float64, d)}
	var total float64
	for _, m := range r.Modes {
		total += m.Weight
	}
	for i, m := range r.Modes {
		var chol mat.Cholesky
		if len(m.Mean) != d || !(m.Weight > 0) || !chol.Factorize(m.Cov) {
			panic(fmt.Sprintf("mcmc: mode %d of ModeJumping has %d coordinates and weight %g: want %d coordinates, a weight > 0 and a positive definite covariance", i+1, len(m.Mean), m.Weight, d))
		}
		g := &modeAtWork{mean: m.Mean, l: new(mat.TriDense), logDet: chol.LogDet() / 2, weight: m.Weight / total}
		chol.LTo(g.l)
		p.modes = append(p.modes, g)
		p.size = append(p.size, math.Log(2.4/math.Sqrt(float64(d))))
		p.tries = append(p.tries, 0)
	}
	return p
}

type modeAtWork struct {
	mean           []float64
	l              *mat.TriDense
	logDet, weight float64 // log det L
}

func (g *modeAtWork) whiten(dst, x []float64) float64 {
	var square float64
	for i := range dst {
		v := x[i] - g.mean[i]
		for k := range i {
			v -= g.l.At(i, k) * dst[k]
		}
		dst[i] = v / g.l.At(i, i)
		square += dst[i] * dst[i]
	}
	return square
}

// place sets dst to at + s L z.
func (g *modeAtWork) place(dst, at, z []float64, s float64) {
	for i := range dst {
		v := 0.0
		for k := range i + 1 {
			v += g.l.At(i, k) * z[k]
		}
		dst[i] = at[i] + s*v
	}
}

type jumping struct {
	modes []*modeAtWork
	size  []float64 // log s of each mode
	tries []int
	z, w  []float64
	left  int // iterations of burn-in
	last  int // the mode of the last move, if that was a walk; else −1
}

// nearest returns the mode whose weighted Gaussian density is largest.
func (p *jumping) nearest(x []float64) int {
	best, at := math.Inf(-1), 0
	for k, g := range p.modes {
		if f := math.Log(g.weight) - g.logDet - g.whiten(p.w, x)/2; f > best {
			best, at = f, k
		}
	}
	return at
}

// density is that of the mixture of t distributions from which `draw` proposes, up to a
// constant.
func (p *jumping) density(x []float64) float64 {
	n := float64(len(x))
	var sum float64
	top := math.Inf(-1)
	for _, g := range p.modes {
		f := math.Log(g.weight) - g.logDet - (drawDegrees+n)/2*math.Log1p(g.whiten(p.w, x)/drawDegrees)
		if f > top {
			sum = sum*math.Exp(top-f) + 1
			top = f
		} else {
			sum += math.Exp(f - top)
		}
	}
	return top + math.Log(sum)
}

// walkDensity is that of a Gaussian step with covariance sₖ² Cₖ, up to a constant.
func (p *jumping) walkDensity(k int, x, y []float64) float64 {
	g, s := p.modes[k], math.Exp(p.size[k])
	for i := range p.z {
		p.z[i] = g.mean[i] + (y[i] - x[i])
	}
	return -g.whiten(p.w, p.z)/(2*s*s) - g.logDet - float64(len(x))*p.size[k]
}

func (p *jumping) Propose(dst, x []float64, rng *rand.Rand) float64 {
	if len(dst) != len(p.z) || len(x) != len(p.z) {
		panic("mcmc: the position has the wrong length")
	}
	u := rng.Float64()
	pick := rng.Float64()
	for i := range p.z {
		p.z[i] = rng.NormFloat64()
	}
	p.last = -1
	switch {
	case u < drawShare:
		var chi float64
		for range drawDegrees {
			v := rng.NormFloat64()
			chi += v * v
		}
		k := 0
		for k < len(p.modes)-1 && pick > p.modes[k].weight {
			pick -= p.modes[k].weight
			k++
		}
		g := p.modes[k]
		g.place(dst, g.mean, p.z, math.Sqrt(drawDegrees/chi))
		return p.density(x) - p.density(dst)
	case u < drawShare+leapShare && len(p.modes) > 1:
		j := p.nearest(x)
		from := p.modes[j]
		pick *= 1 - from.weight
		k := -1
		for i, g := range p.modes {
			if i == j {
				continue
			}
			k = i
			if pick -= g.weight; pick < 0 {
				break
			}
		}
		to := p.modes[k]
		from.whiten(p.z, x)
		to.place(dst, to.mean, p.z, 1)
		if p.nearest(dst) != k {
			return math.Inf(-1) // there is no way back
		}
		// The leap from mode j to mode k has probability wₖ/(1 − wⱼ). The reverse leap
		// has probability wⱼ/(1 − wₖ). The leap multiplies volumes by det Lₖ/det Lⱼ.
		return math.Log(from.weight/(1-to.weight)) - math.Log(to.weight/(1-from.weight)) + to.logDet - from.logDet
	}
	j := p.nearest(x)
	p.last = j
	p.modes[j].place(dst, x, p.z, math.Exp(p.size[j]))
	k := p.nearest(dst)
	if k == j {
		return 0
	}
	return p.walkDensity(k, dst, x) - p.walkDensity(j, x, dst)
}

func (p *jumping) Observe(_ []float64, probability float64) {
	if p.left <= 0 {
		return
	}
	p.left--
	if p.last >= 0 {
		p.tries[p.last]++
		p.size[p.last] += (probability - rateNear) * 4 / math.Pow(float64(p.tries[p.last]), 0.6)
	}
}

func (p *jumping) State(a *Archive) {
	a.Floats(p.size)
	for k := range p.tries {
		a.Int(&p.tries[k])
	}
	a.Int(&p.left)
	a.Int(&p.last)
}

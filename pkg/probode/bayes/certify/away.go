package certify

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/bayes"
	"github.com/probode/probode/pkg/probode/bayes/compare"
	"github.com/probode/probode/pkg/probode/internal/pieces"
)

// The functions in this file compare two setups away from a mode. The number D is
// computed at a mode. D describes the shift of the posterior only if the difference
// between the expected data of the two setups is the same at all likely parameter values.
// But a solver that is unstable at large rates cuts off the part of the posterior with
// large rates. Computations at the mode cannot reveal that a part of the posterior is
// missing.
//
// The densities under both setups are therefore evaluated along lines through the mode.
// There is one line for each parameter. On each line one parameter varies, and the other
// parameters take their conditional means under the Gaussian approximation. One more
// line, the diagonal, combines the directions in which the densities differ most. On each
// line, the means of parameters under both densities are computed by quadrature. The
// densities are also compared at draws from the prior, to find differences that the lines
// miss. Each draw represents an equal share of the prior mass. For d parameters, these
// comparisons need at most 50 + 20 d solves, counting both setups.
//
// For most draws from a wide prior, the likelihood is negligible. An accurate reference
// solver can take a minute even at a draw with a negligible likelihood. Therefore, if the
// compared setup gives a negligible likelihood, the cheaper setup shape.Lender is tried
// before the reference. If shape.Lender also gives a negligible likelihood, the reference
// is not used.
//
// Each line is straight in the normal scores z = Φ⁻¹(F(θ)), where F is the distribution
// function of the prior. The prior of z is N(0, I), so a range of a few units is wide
// enough even if the prior of θ has heavy tails.

const (
	firstStep  = 1.5 // in standard deviations; each further step doubles the distance
	onSide     = 5   // points on each side of a line
	priorDraws = 20
	outermost  = 6   // largest |z| of a point
	nothing    = -30 // a draw with less than e⁻³⁰ of the mass does not move a mean
)

type look struct {
	fine, coarse *compare.Solver
	lent         *compare.Solver // evaluator of shape.Lender; nil if the reference is not an accurate solver
	at           *expansion
	params       []bayes.Param

	z    []float64     // scores of the mode
	cov  *mat.SymDense // of the scores, in the Gaussian approximation
	free []bool        // coordinates that stay on the unconstrained scale

	fineTop, coarseTop float64 // log densities of the scores at the mode

	unsolved []float64 // the first point on a line at which both setups fail, nil if there is none
}

// each gives each worker its own copy of k.
func (k *look) each(n int, do func(k *look, i int)) {
	pieces.Each(k.fine.Context(), 0, n, nil, func() func(int) error {
		own := *k
		own.fine, own.coarse = k.fine.Clone(), k.coarse.Clone()
		if k.lent != nil {
			own.lent = k.lent.Clone()
		}
		return func(i int) error {
			do(&own, i)
			return nil
		}
	})
}

func newLook(l *expansion, coarse *compare.Solver, ll float64) *look {
	n := len(l.X)
	k := &look{fine: l.x, coarse: coarse, at: l, params: l.x.Density.Posterior().Params,
		z: make([]float64, n), cov: mat.NewSymDense(n, nil), free: make([]bool, n)}
	scale := make([]float64, n) // dz/du
	for i, q := range k.params {
		k.z[i] = score(q.Prior, l.theta[i])
		scale[i] = l.dtheta[i] * math.Exp(q.Prior.LogProb(l.theta[i])-distuv.UnitNormal.LogProb(k.z[i]))
		// If the mode is too far out in the tail of the prior, the normal score of the
		// mode cannot be used.
		if !(math.Abs(k.z[i]) < outermost && scale[i] != 0) || math.IsInf(scale[i], 0) || math.IsNaN(scale[i]) {
			k.free[i], k.z[i], scale[i] = true, l.X[i], 1
		}
	}
	for i := range n {
		for j := range i + 1 {
			k.cov.SetSym(i, j, l.cov.At(i, j)*scale[i]*scale[j])
		}
	}
	_, prior := k.place(k.z)
	k.fineTop = prior + l.Value - l.x.Density.Constrain(make([]float64, n), l.X)
	k.coarseTop = prior + ll
	return k
}

// score returns the normal score of x, by bisection.
func score(d bayes.Distribution, x float64) float64 {
	low, high := -8., 8.
	for range 60 {
		if mid := (low + high) / 2; quantile(d, mid) < x {
			low = mid
		} else {
			high = mid
		}
	}
	return (low + high) / 2
}

func quantile(d bayes.Distribution, z float64) float64 { return d.Quantile(distuv.UnitNormal.CDF(z)) }

// place returns the parameters with the normal scores z, and the log prior density of z.
func (k *look) place(z []float64) (theta []float64, prior float64) {
	theta, slopes := make([]float64, len(z)), make([]float64, len(z))
	u := slices.Clone(k.at.X)
	for i, free := range k.free {
		if free {
			u[i] = z[i]
		}
	}
	k.fine.Density.Constrain(theta, u)
	k.fine.Density.Slopes(slopes, u)
	for i, q := range k.params {
		if k.free[i] {
			prior += q.Prior.LogProb(theta[i]) + math.Log(math.Abs(slopes[i]))
			continue
		}
		theta[i] = quantile(q.Prior, z[i])
		prior += distuv.UnitNormal.LogProb(z[i])
	}
	return theta, prior
}

// probe solves with both setups, t standard deviations from the mode. Where one fails,
// its density is zero, as in a sampler. Both fail where the exact solution does not
// exist, and such points do not count.
func (k *look) probe(direction []float64, t float64) probe {
	z := slices.Clone(k.z)
	floats.AddScaled(z, t, direction)
	theta, prior := k.place(z)
	p := probe{t: t, theta: theta, fine: prior + k.fine.LogLikelihood(theta) - k.fineTop, coarse: prior + k.coarse.LogLikelihood(theta) - k.coarseTop}
	p.failed = p.unsolved() && !math.IsInf(prior, -1)
	return p
}

// side goes away from the mode until both densities are negligible, and bisects to where
// they begin to differ, or both fail.
func (k *look) side(direction []float64, sign float64) line {
	most := math.Inf(1)
	for i, v := range direction {
		if v *= sign; !k.free[i] && v != 0 {
			most = min(most, (math.Copysign(outermost, v)-k.z[i])/v)
		}
	}
	var out line
	for t := firstStep; len(out) < onSide; t *= 2 {
		p := k.probe(direction, sign*min(t, most))
		if out = append(out, p); !p.counts() || t >= most {
			break
		}
	}
	for len(out) < onSide {
		i := slices.IndexFunc(out, func(p probe) bool { return p.differs() || p.unsolved() })
		inner := probe{}
		if i > 0 {
			inner = out[i-1]
		}
		if i < 0 || !inner.counts() {
			break
		}
		out = slices.Insert(out, i, k.probe(direction, (inner.t+out[i].t)/2))
	}
	return out
}

// along returns the line on which parameter i varies and the others take their
// conditional means. |towards| is the largest difference on it, and negative if that is
// below the mode.
func (k *look) along(i int) (l line, direction []float64, towards float64) {
	direction = mat.Row(nil, i, k.cov)
	floats.Scale(1/math.Sqrt(k.cov.At(i, i)), direction)
	low, high := k.side(direction, -1), k.side(direction, 1)
	if towards = high.effect(); low.effect() > towards {
		towards = -low.effect()
	}
	l = slices.Concat(low, line{{theta: k.at.theta}}, high)
	l.sort()
	return l, direction, towards
}

// diagonal returns the line through the mode in the direction C w, or nil for w = 0.
// Opposite to C w both densities are taken to be Gaussian.
func (k *look) diagonal(w []float64) line {
	v := mat.NewVecDense(len(w), nil)
	v.MulVec(k.cov, mat.NewVecDense(len(w), w))
	direction := v.RawVector().Data
	length := math.Sqrt(floats.Dot(direction, w))
	if !(length > 0) {
		return nil
	}
	floats.Scale(1/length, direction)
	l := append(k.side(direction, 1), probe{theta: k.at.theta})
	for t := firstStep; t < 4; t *= 2 {
		l = append(l, probe{t: -t, fine: -t * t / 2, coarse: -t * t / 2})
	}
	l.sort()
	return l
}

// away returns the largest shift of the parameters, in standard deviations, on the lines
// and at the draws, and the point at which the densities differ most there.
func (k *look) away(params []int) (shift float64, where probe) {
	note := func(by float64, l line) {
		if !(by <= shift) {
			shift, where = by, l.worst()
		}
		if i := slices.IndexFunc(l, func(p probe) bool { return p.failed }); i >= 0 && k.unsolved == nil {
			k.unsolved = l[i].theta
		}
	}
	unit := func(t float64) float64 { return t }
	towards := make([]float64, len(k.z))
	lines, directions, effects := make([]line, len(params)), make([][]float64, len(params)), make([]float64, len(params))
	k.each(len(params), func(k *look, n int) { lines[n], directions[n], effects[n] = k.along(params[n]) })
	if k.fine.Context().Err() != nil {
		return math.NaN(), probe{}
	}
	for n, i := range params {
		l, direction := lines[n], directions[n]
		towards[i] = effects[n] / math.Sqrt(k.cov.At(i, i))
		note(l.shift(unit, 1), l)
		if k.free[i] {
			continue
		}
		// Heavy tails influence the mean more strongly on the natural scale than on the
		// scale of the scores.
		note(l.shift(func(t float64) float64 { return quantile(k.params[i].Prior, k.z[i]+t*direction[i]) }, math.Inf(1)), l)
	}
	if len(params) > 1 {
		if l := k.diagonal(towards); l != nil {
			note(l.shift(unit, 1), l)
		}
	}
	note(k.draws(params))
	return shift, where
}

// draws compares weighted means over a stratified sample of the prior and the mode, which
// has the mass of its Gaussian approximation, in standard deviations.
func (k *look) draws(params []int) (shift float64, all line) {
	d := len(k.z)
	var chol mat.Cholesky
	if !chol.Factorize(k.at.cov) {
		return math.NaN(), line{{theta: k.at.theta}}
	}
	mass := k.at.Value + float64(d)/2*math.Log(2*math.Pi) + chol.LogDet()/2 + math.Log(priorDraws)
	rng := probode.Stream(0x61776179)
	all = make(line, priorDraws)
	for i := range all {
		all[i].theta = make([]float64, d)
	}
	for j, q := range k.params {
		for i, stratum := range rng.Perm(priorDraws) {
			all[i].theta[j] = q.Prior.Quantile((float64(stratum) + rng.Float64()) / priorDraws)
		}
	}
	k.each(priorDraws, func(k *look, i int) {
		p := &all[i]
		p.coarse = min(k.coarse.LogLikelihood(p.theta)-mass-(k.coarseTop-k.fineTop), 300)
		if k.lent != nil && p.coarse < nothing {
			// If shape.Lender fails, its log likelihood is −∞, and the reference is used.
			if p.fine = k.lent.LogLikelihood(p.theta) - mass; p.fine < nothing && !math.IsInf(p.fine, -1) {
				return
			}
		}
		p.fine = min(k.fine.LogLikelihood(p.theta)-mass, 300)
	})
	u := make([][]float64, priorDraws)
	for i, p := range all {
		if u[i] = make([]float64, d); k.fine.Density.Unconstrain(u[i], p.theta) != nil {
			copy(u[i], k.at.X) // the draw is on the edge of the support
		}
	}
	for _, i := range params {
		var fine, coarse float64 // means
		fines, coarses := 1., 1. // masses
		for n, p := range all {
			far := (u[n][i] - k.at.X[i]) / k.at.sd[i]
			fines, fine = fines+math.Exp(p.fine), fine+far*math.Exp(p.fine)
			coarses, coarse = coarses+math.Exp(p.coarse), coarse+far*math.Exp(p.coarse)
		}
		if by := math.Abs(coarse/coarses - fine/fines); !(by <= shift) {
			shift = by
		}
	}
	return shift, all
}

package bayes

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/mat"

	"github.com/probode/probode/pkg/probode"
)

// Where the noise of the solver is large, θ and ξ depend on each other so
// strongly that moving one with the other fixed gets nowhere. What the data can
// tell of ξ is how it drifts: its sums over stretches of time,
//
//	v_b = Σ_{i∈b} ξᵢ/√n_b,
//
// one of each component for each block b of n_b steps, which are independent
// N(0, 1) before there are data. The posterior of (θ, v) is close to a Gaussian
// that Fisher's scoring finds with some hundreds of solves, and proposals from
// it are nearly independent draws.

// A shape is that Gaussian, N(m, (UᵀU)⁻¹), for θ on the unconstrained scale and
// the rest of ξ zero.
type shape struct {
	blocks []block
	mean   []float64
	u      blas64.Triangular // upper factor of the precision
}

// A block is one component of ξ over a stretch of steps.
type block struct {
	from, to, by int     // elements of ξ
	scale        float64 // 1/√n
}

// cut returns count blocks of time for each experiment, or as many as it has
// steps that use ξ.
func cut(e *Density, count int) []block {
	var blocks []block
	at := 0
	for _, r := range e.runs {
		d := r.solver.Normals()
		first := r.solver.Startup()
		n := r.solver.Steps() - first
		c := min(count, n)
		for b := range c {
			from, to := first+b*n/c, first+(b+1)*n/c
			for k := range d {
				blocks = append(blocks, block{at + from*d + k, at + to*d, d, 1 / math.Sqrt(float64(to-from))})
			}
		}
		at += r.solver.NoiseLen()
	}
	return blocks
}

// sum returns v_b. Two running sums do not wait for each other.
func (b *block) sum(xi []float64) float64 {
	xi = xi[b.from:b.to]
	var even, odd float64
	k, by := 0, b.by
	for ; k+by < len(xi); k += 2 * by {
		even += xi[k]
		odd += xi[k+by]
	}
	if k < len(xi) {
		even += xi[k]
	}
	return (even + odd) * b.scale
}

// add adds to v_b.
func (b *block) add(xi []float64, dv float64) {
	dv *= b.scale
	xi = xi[b.from:b.to]
	for k := 0; k < len(xi); k += b.by {
		xi[k] += dv
	}
}

// findShape looks for the shape, from u for θ and v = 0. It returns nil where
// there is none to be found, for the density is not smooth or does not
// determine all parameters.
func findShape(ctx context.Context, e *Density, u []float64, blocks []block) *shape {
	s := newScoring(e, blocks)
	d := len(u)
	x := make([]float64, d+len(blocks))
	copy(x, u)
	at := s.density(x)
	trial := make([]float64, len(x))
	var chol mat.Cholesky
	for range 30 {
		if ctx.Err() != nil || !s.expand(x) || !chol.Factorize(s.precision) || chol.Cond() > 1e14 {
			return nil
		}
		step := mat.NewVecDense(len(x), nil)
		if chol.SolveVecTo(step, s.gradient) != nil {
			return nil
		}
		gain := mat.Dot(step, s.gradient)
		if gain < 0.01 { // the mode is 0.1 standard deviations away
			break
		}
		found := false
		for t := 1.0; t > 1e-4 && !found; t /= 2 {
			for k := range x {
				trial[k] = x[k] + t*step.AtVec(k)
			}
			if f := s.density(trial); f > at+1e-4*t*gain {
				copy(x, trial)
				at, found = f, true
			}
		}
		if !found {
			break // as good as rounding and differences allow
		}
	}
	for _, v := range x {
		if math.IsNaN(v) {
			return nil
		}
	}
	return &shape{blocks, x, chol.RawU().(*mat.TriDense).RawTriangular()}
}

// scoring is the work of findShape: the gradient of the log density of (θ, v),
// and its expected curvature.
type scoring struct {
	e         *Density
	blocks    []block
	theta, xi []float64
	step      []float64 // of the differences
	precision *mat.SymDense
	gradient  *mat.VecDense
	forward   bool       // differences: half the work, for a rough gradient
	draws     int        // of each value of the data, for the information
	jac       *mat.Dense // of the locations, of the last expand
	full      []float64
	which     []int
}

func newScoring(e *Density, blocks []block) *scoring {
	n := len(e.p.Params) + len(blocks)
	s := &scoring{e: e, blocks: blocks, draws: 256,
		theta: make([]float64, len(e.p.Params)), xi: make([]float64, e.noise), step: make([]float64, n),
		precision: mat.NewSymDense(n, nil), gradient: mat.NewVecDense(n, nil)}
	for k := range s.step {
		s.step[k] = 1e-2 // of a N(0, 1)
	}
	for k, t := range e.transforms {
		// The posterior may be much narrower than the prior.
		prior := e.p.Params[k].Prior
		s.step[k] = 1e-5 * math.Abs(t.from(prior.Quantile(0.75))-t.from(prior.Quantile(0.25)))
		if !(s.step[k] > 0) || math.IsInf(s.step[k], 1) {
			s.step[k] = 1e-5
		}
	}
	return s
}

// density returns the log density at x, and leaves what is expected of the data
// in the evaluator; −∞ where it cannot be evaluated.
func (s *scoring) density(x []float64) float64 {
	d := len(s.theta)
	lp := s.e.Constrain(s.theta, x[:d])
	if math.IsInf(lp, 0) {
		return math.Inf(-1)
	}
	clear(s.xi)
	for i := range s.blocks {
		v := x[d+i]
		s.blocks[i].add(s.xi, v)
		lp -= v * v / 2
	}
	ll, err := s.e.LogLikelihood(s.theta, s.xi)
	if err != nil || math.IsNaN(ll) {
		return math.Inf(-1)
	}
	return lp + ll
}

// locations appends to dst what the distribution of each value of the data depends on:
// what is expected of it, and own parameters that are unknown.
func (s *scoring) locations(dst []float64) []float64 {
	for _, r := range s.e.runs {
		c := len(r.errors)
		for n := range r.x.Data.T {
			for k, l := range r.errors {
				dst = append(dst, r.fit[n*c+k])
				for i, p := range l.param {
					if p >= 0 {
						dst = append(dst, l.own[i])
					}
				}
			}
		}
	}
	return dst
}

// expand sets gradient and precision at x and reports whether it could.
func (s *scoring) expand(x []float64) bool {
	if math.IsInf(s.density(x), 0) {
		return false
	}
	base := s.locations(nil)
	score, cells := s.information()

	d := len(s.theta)
	jac := mat.NewDense(len(base), len(x), nil)
	s.jac = jac
	var plus, minus []float64
	for k, at := range x {
		h := s.step[k]
		x[k] = at + h
		up := s.density(x)
		plus = s.locations(plus[:0])
		width, lower := h, base
		if !s.forward || math.IsInf(up, 0) {
			x[k] = at - h
			down := s.density(x)
			minus = s.locations(minus[:0])
			width, lower = 2*h, minus
			switch {
			case math.IsInf(down, 0) && math.IsInf(up, 0):
				x[k] = at
				return false
			case math.IsInf(down, 0): // at a wall
				width, lower = h, base
			case math.IsInf(up, 0):
				width, lower = h, minus
				plus = append(plus[:0], base...)
			}
		}
		x[k] = at
		for i := range base {
			jac.Set(i, k, (plus[i]-lower[i])/width)
		}
	}
	scaled := mat.NewDense(len(base), len(x), nil)
	for _, c := range cells {
		rows := jac.Slice(c.at, c.at+c.n, 0, len(x))
		scaled.Slice(c.at, c.at+c.n, 0, len(x)).(*mat.Dense).Mul(mat.NewDense(c.n, c.n, c.info), rows)
	}
	var full mat.Dense
	full.Mul(jac.T(), scaled)
	s.gradient.MulVec(jac.T(), mat.NewVecDense(len(score), score))
	for i := range x {
		for k := i; k < len(x); k++ {
			s.precision.SetSym(i, k, full.At(i, k))
		}
	}
	// The priors.
	add := func(k int, gradient, curvature float64) {
		s.gradient.SetVec(k, s.gradient.AtVec(k)+gradient)
		s.precision.SetSym(k, k, s.precision.At(k, k)+curvature)
	}
	lp := s.e.Constrain(s.theta, x[:d])
	for k := range d {
		at, h := x[k], 100*s.step[k]
		x[k] = at + h
		up := s.e.Constrain(s.theta, x[:d])
		x[k] = at - h
		down := s.e.Constrain(s.theta, x[:d])
		x[k] = at
		if g, c := (up-down)/(2*h), (2*lp-up-down)/(h*h); !math.IsInf(up, 0) && !math.IsInf(down, 0) {
			add(k, g, max(0, c))
		}
	}
	for k := d; k < len(x); k++ {
		add(k, -x[k], 1)
	}
	for k := range x {
		if v := s.gradient.AtVec(k) + s.precision.At(k, k); math.IsNaN(v) || math.IsInf(v, 0) {
			return false
		}
	}
	return true
}

// A cell is what one value of the data tells of its locations, those from at to
// at+n−1: Fisher's information, n×n.
type cell struct {
	at, n int
	info  []float64
}

// information returns the gradient of the log likelihood in the locations, and
// Fisher's information there, the mean of the squared gradient over data that
// the distributions draw.
func (s *scoring) information() (score []float64, cells []cell) {
	rng := probode.Stream(0x73636f7265)
	for _, r := range s.e.runs {
		c := len(r.errors)
		for n, row := range r.x.Data.Y {
			for k, y := range row {
				l, m := &r.errors[k], r.fit[n*c+k]
				q := 1
				for _, p := range l.param {
					if p >= 0 {
						q++
					}
				}
				g, f := make([]float64, q), make([]float64, q*q)
				if s.closed(f, l, m) {
					if math.IsNaN(y) {
						clear(f)
					} else if !l.gradient(g, y, m, 1/math.Sqrt(f[0])) {
						clear(g)
					}
					cells = append(cells, cell{len(score), q, f})
					score = append(score, g...)
					continue
				}
				ys := make([]float64, s.draws)
				var spread float64
				for i := range ys {
					ys[i] = l.Rand(m, l.own, rng)
					spread += math.Abs(ys[i]-m) / float64(s.draws)
				}
				if !math.IsNaN(y) {
					count := 0.0
					for _, yi := range ys {
						if !l.gradient(g, yi, m, spread) {
							continue
						}
						count++
						for i := range q {
							for j := range q {
								f[i*q+j] += g[i] * g[j]
							}
						}
					}
					for i := range f {
						f[i] /= max(1, count)
					}
					if !l.gradient(g, y, m, spread) {
						clear(g)
					}
				}
				cells = append(cells, cell{len(score), q, f})
				score = append(score, g...)
			}
		}
	}
	return score, cells
}

// closed writes the information on m and the own numbers that are unknown, if l has
// it in closed form.
func (s *scoring) closed(dst []float64, l *columnErrors, m float64) bool {
	by, ok := l.Likelihood.(Informer)
	if !ok {
		return false
	}
	if _, ok := description(l.Likelihood); !ok {
		return false
	}
	n := 1 + len(l.own)
	s.full = append(s.full[:0], make([]float64, n*n)...)
	if !by.Information(s.full, m, l.own) {
		return false
	}
	s.which = append(s.which[:0], 0)
	for i, p := range l.param {
		if p >= 0 {
			s.which = append(s.which, 1+i)
		}
	}
	for a, i := range s.which {
		for b, j := range s.which {
			v := s.full[i*n+j]
			if math.IsNaN(v) || math.IsInf(v, 0) {
				return false
			}
			dst[a*len(s.which)+b] = v
		}
	}
	return true
}

// gradient writes the derivatives of log p(y | m, own) in m and in the own
// parameters that are unknown, and reports whether they are finite.
func (l *columnErrors) gradient(dst []float64, y, m, spread float64) bool {
	h := 1e-5 * (math.Abs(m) + spread)
	if m > 0 {
		h = min(h, m/2) // which may have to be positive
	}
	dst[0] = (l.LogProb(y, m+h, l.own) - l.LogProb(y, m-h, l.own)) / (2 * h)
	q := 1
	for i, p := range l.param {
		if p < 0 {
			continue
		}
		at := l.own[i]
		h := 1e-5 * math.Abs(at)
		if h == 0 {
			h = 1e-5
		}
		l.own[i] = at + h
		up := l.LogProb(y, m, l.own)
		l.own[i] = at - h
		dst[q] = (up - l.LogProb(y, m, l.own)) / (2 * h)
		l.own[i] = at
		q++
	}
	for _, g := range dst {
		if math.IsNaN(g) || math.IsInf(g, 0) {
			return false
		}
	}
	return true
}

// A both proposes moves of θ and ξ at once.
type both interface {
	// propose writes the move from (u, xi) to (uNew, next) and returns
	// log q of the way back less log q of the way there, with the log ratio
	// of the priors of ξ.
	propose(uNew, u, next, xi []float64, b float64, c chance, rng *rand.Rand) float64
}

// A joint is the both of one chain. On x = (θ, v) it is
// autoregressive about the shape,
//
//	y = m + √(1−b²) (x − m) + b U⁻¹ z,   z ~ N(0, I),
//
// which is reversible for N(m, (UᵀU)⁻¹); the rest of ξ makes a pCN move of step
// b, reversible for its prior.
type joint struct {
	*shape
	w, y blas64.Vector
}

func newJoint(s *shape) *joint {
	n := len(s.mean)
	return &joint{s, blas64.Vector{N: n, Inc: 1, Data: make([]float64, n)}, blas64.Vector{N: n, Inc: 1, Data: make([]float64, n)}}
}

func (j *joint) propose(uNew, u, next, xi []float64, b float64, c chance, rng *rand.Rand) float64 {
	d := len(u)
	w, y := j.w.Data, j.y.Data
	var logq float64
	for k, m := range j.mean {
		if k < d {
			w[k] = u[k] - m
			continue
		}
		v := j.blocks[k-d].sum(xi)
		w[k] = v - m
		logq += v * v / 2
	}
	blas64.Trmv(blas.NoTrans, j.u, j.w)
	logq -= blas64.Dot(j.w, j.w) / 2
	c.perturb(y, w, b, rng)
	logq += blas64.Dot(j.y, j.y) / 2
	blas64.Trsv(blas.NoTrans, j.u, j.y)
	c.perturb(next, xi, b, rng)
	for k, m := range j.mean {
		x := y[k] + m
		if k < d {
			uNew[k] = x
			continue
		}
		i := k - d
		j.blocks[i].add(next, x-j.blocks[i].sum(next))
		logq -= x * x / 2
	}
	return logq
}

// Prepare looks for the shape that joint moves want.
func (s PCNWithinGibbs) Prepare(ctx context.Context, p *Posterior, mode func() (*Mode, error)) (Sampler, []string, error) {
	e, err := newDensity(p)
	if err != nil {
		return nil, nil, err
	}
	defer e.Bind(ctx)()
	blocks := s.Blocks
	if blocks == 0 {
		n := 0
		for _, r := range e.runs {
			n += r.solver.Normals()
		}
		if blocks = min(64/n, 40); blocks < 4 {
			blocks = 0 // the search would cost more than it gains
		}
	}
	if blocks <= 0 {
		return s, nil, nil
	}
	// An error other than the end of ctx is no reason to stop here: the caller
	// knows where to begin.
	m, err := mode()
	if err == nil && m.U != nil {
		s.shape = findShape(ctx, e, m.U, cut(e, blocks))
	}
	if err := ctx.Err(); err != nil {
		return nil, nil, err
	}
	if err := e.Err(); err != nil {
		return nil, nil, err
	}
	if s.shape == nil {
		return s, []string{"θ and ξ are not moved at once: no Gaussian approximation of their posterior was found"}, nil
	}
	theta := make([]float64, len(p.Params))
	e.Constrain(theta, s.shape.mean[:len(theta)])
	return s, []string{fmt.Sprintf("θ and ξ are moved at once too, by a Gaussian approximation around %s with %d numbers for ξ", p.format(theta), len(s.shape.blocks))}, nil
}

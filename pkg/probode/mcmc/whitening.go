package mcmc

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/probode/probode/pkg/internal/moments"
)

// A whitening is x = mean + L (scale ∘ z), with unit covariance of z if that of x is L
// diag(scale²) Lᵀ.
type whitening struct {
	mean, scale []float64
	factor      *mat.TriDense // L, lower triangular; nil for the unit matrix
	given       bool          // factor is an argument, so it is not a part of the state
}

// newWhitening takes nil for the unit matrix, and panics unless cov is positive definite.
// `full` says whether all of L will be estimated from draws.
func newWhitening(mean []float64, cov mat.Symmetric, full bool) *whitening {
	d := len(mean)
	w := &whitening{mean: append([]float64(nil), mean...), scale: make([]float64, d)}
	for i := range w.scale {
		w.scale[i] = 1
	}
	if cov == nil && !full {
		return w
	}
	w.given = !full
	w.factor = mat.NewTriDense(d, mat.Lower, nil)
	if cov == nil {
		for i := range d {
			w.factor.SetTri(i, i, 1)
		}
		return w
	}
	var chol mat.Cholesky
	if !chol.Factorize(cov) {
		panic(fmt.Sprintf("mcmc: the %d-dimensional covariance Cov is not positive definite", d))
	}
	chol.LTo(w.factor)
	return w
}

func (w *whitening) from(x, z []float64) {
	floats.MulTo(x, w.scale, z)
	if w.factor != nil {
		blas64.Trmv(blas.NoTrans, w.factor.RawTriangular(), vectorOf(x))
	}
	floats.Add(x, w.mean)
}

func (w *whitening) to(z, x []float64) {
	floats.SubTo(z, x, w.mean)
	if w.factor != nil {
		blas64.Trsv(blas.NoTrans, w.factor.RawTriangular(), vectorOf(z))
	}
	floats.Div(z, w.scale)
}

func (w *whitening) gradient(g []float64) {
	if w.factor != nil {
		blas64.Trmv(blas.Trans, w.factor.RawTriangular(), vectorOf(g))
	}
	floats.Mul(g, w.scale)
}

func vectorOf(v []float64) blas64.Vector { return blas64.Vector{N: len(v), Inc: 1, Data: v} }

func (w *whitening) state(a *Archive) {
	a.Floats(w.mean)
	a.Floats(w.scale)
	if w.factor != nil && !w.given {
		a.Floats(w.factor.RawTriangular().Data)
	}
}

// mostDense is the largest dimension of a full covariance that is estimated from draws alone.
const mostDense = 100

// A learner estimates a covariance from windows of draws, as Stan does: none at first,
// then each twice as long as the last, and a rest in which only the step size is tuned.
type learner struct {
	from, until int             // iterations before the first window and at the end of the last
	end, length int             // of the current window
	full        *moments.Matrix // of the whitened draws; nil in many dimensions
	diagonal    moments.Vector  // used instead
}

// newLearner estimates only scales unless `full`. Its first windows are short if the
// shape of the target is approximately `known`.
func newLearner(d, burnIn int, full, known bool) *learner {
	l := &learner{from: 75, until: burnIn - 50, length: 25}
	if burnIn < 150 {
		l.from, l.until = 15*burnIn/100, 90*burnIn/100
		l.length = l.until - l.from
	}
	if known {
		l.from, l.length = min(5, l.from), 5
	}
	l.next()
	if full {
		m := moments.NewMatrix(d)
		l.full = &m
	} else {
		l.diagonal = moments.NewVector(d)
	}
	return l
}

// next begins a window, which lasts to the end if one of twice its length would not fit
// after it.
func (l *learner) next() {
	l.end = max(l.end, l.from) + l.length
	if l.end+2*l.length > l.until {
		l.end = l.until
	}
}

// add reports whether the window is complete.
func (l *learner) add(n int, z []float64) bool {
	if n <= l.from || n > l.until {
		return false
	}
	if l.full != nil {
		l.full.Add(z)
	} else {
		l.diagonal.Add(z)
	}
	return n == l.end
}

// apply puts the covariance between the old one, or that of covAt at the mean of the
// window, and that of the n draws in d dimensions. This is poor unless n is much larger
// than d, and shrunk: see james. Correlations are also multiplied by n/(n + d(d+1)/2 + 5). An
// accurate covariance therefore changes little.
func (l *learner) apply(w *whitening, covAt func(x []float64) mat.Symmetric) {
	d := len(w.mean)
	shift := make([]float64, d)
	n, mean := float64(l.diagonal.N), l.diagonal.Mean
	if l.full != nil {
		n, mean = l.full.N, l.full.Mean
	}
	w.from(shift, mean)
	if covAt != nil {
		l.rebase(w, covAt(shift))
	}
	scales, squares := make([]float64, d), 0. // logarithms, and the sum of their squares
	for i := range scales {
		m2 := 0.
		if l.full != nil {
			m2 = l.full.Scatter[i*d+i]
		} else {
			m2 = l.diagonal.M2[i]
		}
		if log := math.Log(m2/(n-1)) / 2; log-log == 0 { // otherwise the chain did not move
			scales[i] = log
			squares += log * log
		}
	}
	shrink := james(n, d, squares)
	for i, log := range scales {
		scales[i] = math.Exp(shrink * log)
	}
	if l.full == nil {
		floats.Mul(w.scale, scales)
		l.diagonal = moments.NewVector(d)
	} else {
		l.correct(w.factor, scales)
		l.full.Clear()
	}
	copy(w.mean, shift)
	l.length *= 2
	l.next()
}

// james returns the factor of James and Stein for m numbers that are estimated from n draws
// and have the given sum of squares. Their errors have a variance of about 3/n, because the
// products of coordinates are correlated from draw to draw, even where coordinates are not.
func james(n float64, m int, squares float64) float64 {
	return 1 - 1/max(1, n/3*squares/float64(m))
}

// rebase changes nothing if cov is nil, not positive definite or not finite.
func (l *learner) rebase(w *whitening, cov mat.Symmetric) {
	var chol mat.Cholesky
	if cov == nil || !chol.Factorize(cov) || math.IsInf(chol.Cond(), 1) {
		return
	}
	d := len(w.mean)
	var between, scatter mat.Dense // between maps the old coordinates to the new ones
	between.Mul(w.factor, mat.NewDiagDense(d, w.scale))
	chol.LTo(w.factor)
	for i := range w.scale {
		w.scale[i] = 1
	}
	if err := between.Solve(w.factor, &between); err != nil {
		l.full.Clear() // the shape is nearly singular, so the draws cannot correct it
		return
	}
	scatter.Product(&between, mat.NewDense(d, d, l.full.Scatter), between.T())
	copy(l.full.Scatter, scatter.RawMatrix().Data)
}

// correct multiplies L by the Cholesky factor for the estimated scales and the shrunk
// correlations of the window.
func (l *learner) correct(factor *mat.TriDense, scales []float64) {
	d, n, squares := len(scales), l.full.N, 0.
	cov := mat.NewSymDense(d, nil)
	for i := range d {
		for j := range i {
			square := l.full.Scatter[i*d+i] * l.full.Scatter[j*d+j]
			if r := l.full.Scatter[i*d+j] / math.Sqrt(square); !math.IsNaN(r) {
				cov.SetSym(i, j, r)
				squares += r * r
			}
		}
	}
	shrink := james(n, max(1, d*(d-1)/2), squares) * n / (n + float64(d*(d+1)/2) + 5)
	for i := range d {
		for j := range i {
			cov.SetSym(i, j, shrink*cov.At(i, j)*scales[i]*scales[j])
		}
		cov.SetSym(i, i, scales[i]*scales[i])
	}
	var chol mat.Cholesky
	if chol.Factorize(cov) {
		var lower, product mat.TriDense
		chol.LTo(&lower)
		product.MulTri(factor, &lower)
		factor.Copy(&product)
	}
}

func (l *learner) state(a *Archive) {
	a.Int(&l.end)
	a.Int(&l.length)
	if l.full != nil {
		a.Float(&l.full.N)
		a.Floats(l.full.Mean)
		a.Floats(l.full.Scatter)
		return
	}
	a.Int(&l.diagonal.N)
	a.Floats(l.diagonal.Mean)
	a.Floats(l.diagonal.M2)
}

// A stepSize is tuned by dual averaging [Nesterov 2009; Hoffman & Gelman 2014].
type stepSize struct {
	size   float64 // of the next iteration
	mean   float64 // the weighted mean of log size, which becomes the size in the end
	excess float64 // the mean of how far the acceptance was below its target
	centre float64 // towards which log size is pulled: ten times the first size
	most   float64 // the largest log size
	n      float64
}

func newStepSize(size, most float64) stepSize {
	return stepSize{size: size, centre: math.Log(10 * size), most: math.Log(most)}
}

func (s *stepSize) update(accept, target float64) {
	const gamma, delay, kappa = 0.05, 10, 0.75 // the numbers of Hoffman & Gelman
	s.n++
	eta := 1 / (s.n + delay)
	s.excess = (1-eta)*s.excess + eta*(target-accept)
	log := min(s.most, s.centre-s.excess*math.Sqrt(s.n)/gamma)
	weight := math.Pow(s.n, -kappa)
	s.mean = weight*log + (1-weight)*s.mean
	s.size = math.Exp(log)
}

func (s *stepSize) finish() {
	if s.n > 0 {
		s.size = math.Exp(s.mean)
	}
}

func (s *stepSize) state(a *Archive) {
	for _, v := range []*float64{&s.size, &s.mean, &s.excess, &s.centre, &s.most, &s.n} {
		a.Float(v)
	}
}

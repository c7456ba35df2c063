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

// A whitening maps whitened coordinates z to x = mean + L (scale ∘ z). If the covariance
// of x is L diag(scale²) Lᵀ, then the covariance of z is the unit matrix.
type whitening struct {
	mean, scale []float64
	factor      *mat.TriDense // L, lower triangular; nil for the unit matrix
	given       bool          // factor is an argument, so it is not a part of the state
}

// newWhitening returns the whitening for a mean and a covariance. A nil cov stands for
// the unit matrix. If cov is not positive definite, newWhitening panics. The argument
// `full` says whether all elements of L will be estimated from draws.
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

// from sets x to the point with the whitened coordinates z.
func (w *whitening) from(x, z []float64) {
	floats.MulTo(x, w.scale, z)
	if w.factor != nil {
		blas64.Trmv(blas.NoTrans, w.factor.RawTriangular(), vectorOf(x))
	}
	floats.Add(x, w.mean)
}

// to sets z to the whitened coordinates of x.
func (w *whitening) to(z, x []float64) {
	floats.SubTo(z, x, w.mean)
	if w.factor != nil {
		blas64.Trsv(blas.NoTrans, w.factor.RawTriangular(), vectorOf(z))
	}
	floats.Div(z, w.scale)
}

// gradient converts a gradient in x to the gradient in z.
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

// mostDense is the largest dimension in which a full covariance matrix is estimated from
// draws alone.
const mostDense = 100

// A learner estimates the covariance of a target from windows of its draws, as Stan does.
// The first iterations of the burn-in belong to no window. Each window is twice as long
// as the one before it, and after the last window only the step size is tuned.
type learner struct {
	from, until int             // iterations before the first window and at the end of the last
	end, length int             // of the current window
	full        *moments.Matrix // of the whitened draws; nil in many dimensions
	diagonal    moments.Vector  // used instead
}

// newLearner returns a learner. If the argument `full` is true, the learner estimates a
// full covariance matrix; otherwise it estimates only the scales. The argument `known`
// says whether the shape of the target is approximately known; if so, the first windows
// are short.
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

// next begins a window of the current length. If too few iterations remain for another
// window of twice the current length, the new window lasts until learning ends.
func (l *learner) next() {
	l.end = max(l.end, l.from) + l.length
	if l.end+2*l.length > l.until {
		l.end = l.until
	}
}

// add adds the whitened draw of iteration n to the window, and reports whether the window
// is complete.
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

// apply computes a new covariance for the whitening, and begins the next window. The new
// covariance lies between the old one and the covariance of the draws in the window. If
// covAt returns a covariance at the mean of the window, this covariance replaces the old
// one.
//
// The covariance estimated from a window of n draws is poor unless n is much larger than
// the dimension d. The estimated covariance is therefore shrunk before it is used. The
// logarithms of the scales of the whitened draws are multiplied by n/(n + 5), and their
// correlations by n/(n + d(d+1)/2 + 5). An accurate old covariance therefore changes
// little.
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
	scales := make([]float64, d)
	for i := range scales {
		m2 := 0.
		if l.full != nil {
			m2 = l.full.Scatter[i*d+i]
		} else {
			m2 = l.diagonal.M2[i]
		}
		scales[i] = math.Pow(m2/(n-1), 0.5*n/(n+5))
		if !(scales[i] > 0) || math.IsInf(scales[i], 1) {
			scales[i] = 1 // the chain did not move
		}
	}
	if l.full == nil {
		floats.Mul(w.scale, scales)
		l.diagonal = moments.NewVector(d)
	} else {
		l.correct(w.factor, scales, n/(n+float64(d*(d+1)/2)+5))
		l.full.Clear()
	}
	copy(w.mean, shift)
	l.length *= 2
	l.next()
}

// rebase sets the covariance of the whitening to cov, and converts the moments of the
// window to the new whitened coordinates. If cov is nil, not positive definite or not
// finite, nothing changes.
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

// correct multiplies a factor L by the Cholesky factor of an estimated covariance of the
// whitened draws. The argument `scales` holds the estimated standard deviations. The
// estimated correlations are the sample correlations of the window, multiplied by the
// argument `weight`.
func (l *learner) correct(factor *mat.TriDense, scales []float64, weight float64) {
	d := len(scales)
	cov := mat.NewSymDense(d, nil)
	for i := range d {
		cov.SetSym(i, i, scales[i]*scales[i])
		for j := range i {
			square := l.full.Scatter[i*d+i] * l.full.Scatter[j*d+j]
			if r := l.full.Scatter[i*d+j] / math.Sqrt(square); !math.IsNaN(r) {
				cov.SetSym(i, j, weight*r*scales[i]*scales[j])
			}
		}
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

// A stepSize tunes the length of leapfrog steps by dual averaging [Nesterov 2009; Hoffman
// & Gelman 2014].
type stepSize struct {
	size   float64 // of the next iteration
	mean   float64 // the weighted mean of log size, which becomes the size in the end
	excess float64 // the mean of how far the acceptance was below its target
	centre float64 // towards which log size is pulled: ten times the first size
	n      float64
}

func newStepSize(size float64) stepSize {
	return stepSize{size: size, centre: math.Log(10 * size)}
}

// update changes the step size after an iteration with the given mean acceptance
// probability.
func (s *stepSize) update(accept, target float64) {
	const gamma, delay, kappa = 0.05, 10, 0.75 // the numbers of Hoffman & Gelman
	s.n++
	eta := 1 / (s.n + delay)
	s.excess = (1-eta)*s.excess + eta*(target-accept)
	log := s.centre - s.excess*math.Sqrt(s.n)/gamma
	weight := math.Pow(s.n, -kappa)
	s.mean = weight*log + (1-weight)*s.mean
	s.size = math.Exp(log)
}

// finish ends the tuning.
func (s *stepSize) finish() {
	if s.n > 0 {
		s.size = math.Exp(s.mean)
	}
}

func (s *stepSize) state(a *Archive) {
	for _, v := range []*float64{&s.size, &s.mean, &s.excess, &s.centre, &s.n} {
		a.Float(v)
	}
}

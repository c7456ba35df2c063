package certify

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/probode/probode/pkg/probode/bayes"
	"github.com/probode/probode/pkg/probode/bayes/shape"
)

// A linearised is a posterior near one θ, on the unconstrained scale u, as if the
// expected values m of the data were linear there and their errors Gaussian with
// the Fisher information of the likelihood:
//
//	precision = Gᵀ W G + that of the likelihood's own parameters + that of the prior,
//
// G = ∂m/∂u and W the diagonal matrix of informations.
type linearised struct {
	p        *bayes.Posterior
	data     []datum
	own      []int     // parameters of likelihoods
	theta, u []float64 // where
	m        []float64 // expected values there
	weight   []float64 // W, by datum
	sure     []bool    // data that are certain here, as a count of zero is where none is expected
	jac      *mat.Dense
	gradient *mat.VecDense // of the log posterior
	crossed  *mat.SymDense // what is between own parameters and others in C⁻¹; nil if nothing is
	saddle   bool          // with that between them the log density rises somewhere
	cov      *mat.SymDense
	sd       []float64 // roots of its diagonal
	dtheta   []float64 // dθ/du, by parameter
	chol     mat.Cholesky
	logp     float64
	kinks    *shape.Point // the log density with its kinks, if it has any
	curved   []float64    // then by datum: the curvature in m, in the mean over the posterior
}

// linearise expands the posterior by x at u. widths are the half widths of the
// differences where derivatives have to be taken by them, nil for 1e-4.
func linearise(x *expecter, by *bayes.Density, u, widths []float64) (*linearised, error) {
	d := len(u)
	l := &linearised{p: x.p, theta: make([]float64, d), u: slices.Clone(u)}
	l.data, l.own = observed(x.p)
	lp := by.Constrain(l.theta, u)
	if math.IsInf(lp, -1) {
		return nil, errors.New("certify: the density of the prior is zero")
	}
	m, ll, err := x.at(l.theta)
	if err != nil {
		return nil, err
	}
	defer x.e.Hold(l.theta)() // differences by a solver that adapts
	if math.IsNaN(ll) || math.IsInf(ll, 0) {
		return nil, errors.New("certify: the likelihood is zero")
	}
	l.m, l.logp = m, lp+ll

	score := make([]float64, len(l.data))
	l.weight, l.sure = make([]float64, len(l.data)), make([]bool, len(l.data))
	for i := range l.data {
		o := &l.data[i]
		o.bind(x.p, l.theta, m)
		w := information(o.l, m[o.at], o.own)
		if finite := w >= 0 && !math.IsInf(w, 1); !finite && o.l.LogProb(o.y, m[o.at], o.own) == 0 {
			w, l.sure[i] = 0, true
		} else if !finite {
			return nil, fmt.Errorf("certify: the information of %T on the expected value %g is %g: want a finite number ≥ 0", o.l, m[o.at], w)
		}
		l.weight[i] = w
		if w > 0 {
			score[i] = slope(o.l, o.y, m[o.at], o.own, 1e-4/math.Sqrt(w))
		}
	}

	l.gradient = mat.NewVecDense(d, nil)
	precision := mat.NewSymDense(d, nil)
	theta, v := make([]float64, d), slices.Clone(u)
	const h = 1e-3
	for k := range d {
		var f, at [3]float64
		for i := range f {
			v[k] = u[k] + float64(i-1)*h
			f[i] = by.Constrain(theta, v)
			at[i] = theta[k]
		}
		l.dtheta = append(l.dtheta, (at[2]-at[0])/(2*h))
		v[k] = u[k]
		l.gradient.SetVec(k, (f[2]-f[0])/(2*h))
		// A prior with tails so heavy that it has no precision here adds none.
		if c := -(f[2] - 2*f[1] + f[0]) / (h * h); c > 0 {
			precision.SetSym(k, k, c)
		}
	}
	if !l.tangents(x) {
		if err := l.differences(x, by, widths); err != nil {
			return nil, err
		}
	}
	// The likelihood's own parameters, with the expected values as they are.
	at := func(i int, a float64, j int, b float64) float64 {
		v[i] += a
		v[j] += b
		by.Constrain(theta, v)
		copy(v, u)
		return l.logLikelihood(m, theta)
	}
	for n, i := range l.own {
		plus, zero, minus := at(i, h, i, 0), at(i, 0, i, 0), at(i, -h, i, 0)
		l.gradient.SetVec(i, l.gradient.AtVec(i)+(plus-minus)/(2*h))
		precision.SetSym(i, i, precision.At(i, i)+max(0, -(plus-2*zero+minus)/(h*h)))
		for _, j := range l.own[:n] {
			c := -(at(i, h, j, h) - at(i, h, j, -h) - at(i, -h, j, h) + at(i, -h, j, -h)) / (4 * h * h)
			precision.SetSym(i, j, precision.At(i, j)+c)
		}
	}
	crossed := mat.NewSymDense(d, nil)
	for n := range l.own {
		l.cross(crossed, by, n, h)
	}
	for i := range l.data {
		l.data[i].bind(x.p, l.theta, m)
		row := l.jac.RowView(i)
		l.gradient.AddScaledVec(l.gradient, score[i], row)
		precision.SymRankOne(precision, l.weight[i], row)
	}
	for k := range d {
		// What nothing determines is flat up to ten on the unconstrained scale.
		precision.SetSym(k, k, precision.At(k, k)+1e-4)
	}
	both := mat.NewSymDense(d, nil)
	if both.AddSym(crossed, precision); l.chol.Factorize(both) {
		l.crossed = crossed
	} else if !l.chol.Factorize(precision) {
		return nil, errors.New("certify: the posterior has no Gaussian shape there: its precision is not positive definite")
	}
	if l.crossed == nil {
		l.saddle = l.rises(x, by, both)
	}
	l.cov = mat.NewSymDense(d, nil)
	if err := l.chol.InverseTo(l.cov); err != nil {
		return nil, fmt.Errorf("certify: the posterior has no Gaussian shape there: %w", err)
	}
	l.bend(precision, score)
	for k := range d {
		l.sd = append(l.sd, math.Sqrt(l.cov.At(k, k)))
	}
	return l, nil
}

// rises reports whether the log density rises, in the mean of both sides, along the
// direction in which the given precision, which is not positive definite, has it rise most
// in the lengths of the information. It may have it wrong: not all that is between two
// parameters of the likelihood is in it.
func (l *linearised) rises(x *expecter, by *bayes.Density, both *mat.SymDense) bool {
	n := len(l.u)
	var lower mat.TriDense
	l.chol.LTo(&lower)
	var half, scaled mat.Dense
	if half.Solve(&lower, both) != nil || scaled.Solve(&lower, half.T()) != nil {
		return false
	}
	sym := mat.NewSymDense(n, nil)
	for i := range n {
		for j := range i + 1 {
			sym.SetSym(i, j, (scaled.At(i, j)+scaled.At(j, i))/2)
		}
	}
	var eigen mat.EigenSym
	if !eigen.Factorize(sym, true) {
		return false
	}
	var axes mat.Dense
	eigen.VectorsTo(&axes)
	way := mat.NewVecDense(n, nil)
	if way.SolveVec(lower.T(), axes.ColView(0)) != nil {
		return false
	}
	fall, u, theta := 0.0, make([]float64, n), make([]float64, n)
	for _, side := range []float64{-1, 1} {
		for k := range u {
			u[k] = l.u[k] + side*way.AtVec(k)
		}
		lp := by.Constrain(theta, u)
		_, ll, err := x.at(theta)
		if err != nil || math.IsNaN(lp+ll) {
			return false
		}
		fall += l.logp - lp - ll
	}
	return fall < 0
}

// cross subtracts from precision the mixed derivatives of the log likelihood along
// own parameter n and the others, Σᵢ ∂²log p(yᵢ | mᵢ)/∂own∂m ∂mᵢ/∂u. They are zero
// on the average over data; at a mode they are the pull of the prior on the
// others, which gives more if σ grows. Where the log density has kinks the average has
// to do, for at a mode some of these derivatives are anything between two numbers.
func (l *linearised) cross(precision *mat.SymDense, by *bayes.Density, n int, h float64) {
	k := l.own[n]
	theta, v := make([]float64, len(l.u)), slices.Clone(l.u)
	for side, sign := range []float64{-1, 1} {
		v[k] = l.u[k] + sign*h
		by.Constrain(theta, v)
		for i := range l.data {
			o := &l.data[i]
			o.bind(l.p, theta, l.m)
			if _, bent := o.kink(l.m); l.weight[i] == 0 || bent {
				continue
			}
			s := slope(o.l, o.y, l.m[o.at], o.own, 1e-4/math.Sqrt(l.weight[i])) / (2 * h)
			if side == 0 {
				s = -s
			}
			for j := range l.u {
				if !slices.Contains(l.own, j) {
					precision.SetSym(j, k, precision.At(j, k)-s*l.jac.At(i, j))
				}
			}
		}
	}
}

// logLikelihood returns that of the expected values m, with the likelihoods' own
// numbers from theta.
func (l *linearised) logLikelihood(m, theta []float64) (sum float64) {
	for i := range l.data {
		o := &l.data[i]
		if o.twin {
			continue
		}
		o.bind(l.p, theta, m)
		sum += o.l.LogProb(o.y, m[o.at], o.own)
	}
	return sum
}

// widths are those of differences that suit the posterior itself.
func (l *linearised) widths() []float64 {
	out := make([]float64, len(l.sd))
	for k, sd := range l.sd {
		out[k] = min(0.01*sd, 0.01)
	}
	return out
}

// climb goes by Fisher scoring from u to the mode of the posterior by x. found
// tells whether it got there, to a hundredth of a standard deviation.
func climb(x *expecter, by *bayes.Density, u []float64) (l *linearised, found bool, err error) {
	if l, err = linearise(x, by, u, nil); err != nil {
		return nil, false, err
	}
	d := len(u)
	theta, next, step := make([]float64, d), make([]float64, d), mat.NewVecDense(d, nil)
	for range 50 {
		var gain float64 // twice what the step promises
		if l.kinks != nil {
			step, gain, _ = (&shape.Climb{Point: *l.kinks}).Newton(0)
		} else if err := l.chol.SolveVecTo(step, l.gradient); err != nil && step.Len() == 0 {
			return nil, false, err
		} else {
			gain = mat.Dot(step, l.gradient)
		}
		if math.Sqrt(math.Abs(gain)) < 0.01 {
			// The last stride, unlooked at, is below what is asked for.
			return l, !l.saddle, nil
		}
		length := 1.0
		for k := range d { // no leap over half of the scale
			length = min(length, 2/max(math.Abs(step.AtVec(k)), 1e-300))
		}
		moved := false
		for range 12 {
			for k := range d {
				next[k] = l.u[k] + length*step.AtVec(k)
			}
			lp := by.Constrain(theta, next)
			if !math.IsInf(lp, -1) {
				if _, ll, err := x.at(theta); err == nil && lp+ll > l.logp {
					moved = true
					break
				} else if x.ctx.Err() != nil {
					return nil, false, x.ctx.Err()
				}
			}
			length /= 3
		}
		if !moved {
			return l, false, nil
		}
		to, err := linearise(x, by, next, l.widths())
		if err != nil {
			if x.ctx.Err() != nil {
				return nil, false, x.ctx.Err()
			}
			return l, false, nil
		}
		l = to
	}
	return l, false, nil
}

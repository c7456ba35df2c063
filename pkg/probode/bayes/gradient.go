package bayes

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/internal/vector"
)

// This file computes the gradient of the log density. The gradient is a product of three
// factors. The first factor to be computed is the derivative of the likelihood with
// respect to the expected values. The second is the derivative of the expected values
// with respect to the states (see Experiment.ObserveSlopes). The third is the derivative
// of the states with respect to θ and ξ.

// Gradient returns the same value as LogPosterior, and also computes the gradient of this
// value. The derivatives with respect to u are written to du, and those with respect to ξ
// to dxi, which may be nil. As in LogPosterior, the density of ξ is not included.
//
// At a kink of the likelihood the derivative is the mean of the two one-sided
// derivatives. If the log density is −∞ or an error occurs, du and dxi are zero. The
// error is errors.ErrUnsupported if the path has no derivatives, as with
// reference.Accurate. If the solver chooses the steps anew at every θ, Gradient holds the
// steps at u, unless Hold already holds steps.
func (e *Density) Gradient(du, dxi, u, xi []float64) (float64, error) {
	clear(du)
	clear(dxi)
	lp := e.Constrain(e.theta, u)
	if math.IsInf(lp, -1) {
		return lp, nil
	}
	ll, err := e.LikelihoodGradient(du, dxi, e.theta, xi)
	if err != nil || math.IsInf(ll, -1) {
		return ll, err
	}
	for k, t := range e.transforms {
		du[k] = du[k]*t.slope(u[k]) + e.PriorSlope(k, u[k])
	}
	return lp + ll, nil
}

// LikelihoodGradient returns the same value as LogLikelihood. The derivatives with
// respect to θ are written to dtheta, and those with respect to ξ to dxi, which may be
// nil. Kinks and errors are treated as in Gradient.
func (e *Density) LikelihoodGradient(dtheta, dxi, theta, xi []float64) (float64, error) {
	if len(dtheta) != len(e.p.Params) || dxi != nil && len(dxi) != e.noise {
		panic(fmt.Sprintf("bayes: dtheta and dxi have lengths %d and %d: want %d and %d (dxi may also be nil)", len(dtheta), len(dxi), len(e.p.Params), e.noise))
	}
	e.ll, e.err = math.Inf(-1), e.fault
	clear(dtheta)
	clear(dxi)
	if e.fault == nil {
		e.differentiate(dtheta, dxi, theta, xi)
		e.report(theta)
	}
	if e.err != nil || math.IsInf(e.ll, -1) {
		e.ll = math.Inf(-1)
		clear(dtheta)
		clear(dxi)
	}
	return e.ll, e.err
}

func (e *Density) differentiate(dtheta, dxi, theta, xi []float64) {
	e.at = e.parts[0]
	defer e.recovered(theta)
	var sum float64
	for _, r := range e.parts {
		e.at = r
		if r.back == nil {
			r.back = newBackward(r, len(theta))
		}
		var noise []float64
		r.back.Xi = nil
		if r.noise > 0 && xi != nil {
			noise, xi = xi[:r.noise], xi[r.noise:]
		}
		if r.noise > 0 && dxi != nil {
			r.back.Xi, dxi = dxi[:r.noise], dxi[r.noise:]
		}
		var ll float64
		if ll, e.err = r.differentiate(dtheta, theta, noise); e.err != nil || math.IsInf(ll, -1) {
			return
		}
		sum += ll
	}
	e.ll = sum
}

type backwardPass struct {
	probode.Gradient // of the path
	weights          []float64
	scores, slopes   []float64
	moved            []int // the elements of the problem's θ that are parameters
}

func newBackward(r *Part, p int) *backwardPass {
	d, c := r.dim, len(r.errors)
	b := &backwardPass{weights: make([]float64, len(r.state)), scores: make([]float64, c), slopes: make([]float64, c*(d+p))}
	b.Theta = make([]float64, len(r.theta))
	for k, i := range r.param {
		if i >= 0 {
			b.moved = append(b.moved, k)
		}
	}
	return b
}

// differentiate adds to dtheta, and writes the derivatives with respect to ξ to back.Xi.
func (r *Part) differentiate(dtheta, theta, xi []float64) (ll float64, err error) {
	e, b := r.e, r.back
	e.bind(r, theta)
	held, err := r.hold()
	if err != nil {
		return 0, e.note(err)
	}
	if held {
		defer func() { r.held = nil }()
	}
	path, ok := r.now().(probode.Reversible)
	scaled := e.alpha >= 0 && xi != nil // α is a parameter
	if !ok || b.Xi == nil && !scaled && r.forward() {
		return r.differentiateForward(dtheta, theta, xi)
	}
	if _, err := e.solve(r, theta, xi); err != nil {
		return 0, err
	}
	if ll = r.weigh(dtheta, theta); math.IsInf(ll, -1) {
		return ll, nil
	}
	if err := path.Gradient(e.ctx, &b.Gradient, b.weights, r.theta, xi); err != nil {
		return 0, e.note(err)
	}
	e.work += backwardWork * path.Work()
	for _, k := range b.moved {
		dtheta[r.param[k]] += b.Theta[k]
	}
	if scaled {
		if math.IsNaN(b.Alpha) {
			return 0, errors.ErrUnsupported
		}
		dtheta[e.alpha] += b.Alpha
	}
	return ll, nil
}

// backwardWork is the cost of a backward pass in paths.
const backwardWork = 2

// forward reports whether forward differentiation with respect to parameters costs no
// more.
func (r *Part) forward() bool {
	p := r.x.Problem
	exact := p.Pullback != nil || p.FJ != nil && p.FTheta != nil
	return !exact || len(r.back.moved) <= backwardWork
}

// differentiateForward has no derivatives with respect to ξ.
func (r *Part) differentiateForward(dtheta, theta, xi []float64) (ll float64, err error) {
	e, b := r.e, r.back
	path, ok := r.now().(probode.Tangential)
	if !ok || b.Xi != nil || e.alpha >= 0 && xi != nil {
		return 0, fmt.Errorf("%s: the derivatives of the solution are not available (%w)", r.x.Problem.Title(), errors.ErrUnsupported)
	}
	e.bind(r, theta)
	p, n, m := len(r.theta), len(r.state), len(b.moved)
	along, states := make([]float64, m*p), make([]float64, m*n)
	for i, k := range b.moved {
		along[i*p+k] = 1
	}
	err = path.Tangents(e.ctx, r.state, states, r.theta, along, xi)
	e.work += (1 + m) * path.Work()
	if err != nil {
		return 0, e.note(err)
	}
	if ll = r.weigh(dtheta, theta); math.IsInf(ll, -1) {
		return ll, nil
	}
	for i, k := range b.moved {
		dtheta[r.param[k]] += floats.Dot(b.weights, states[i*n:(i+1)*n])
	}
	return ll, nil
}

// weigh writes the derivatives with respect to the states to back.weights, and adds those
// at fixed states to dtheta. It returns −∞ if one is not finite.
func (r *Part) weigh(dtheta, theta []float64) float64 {
	b, d := r.back, r.dim
	w := d + len(theta)
	clear(b.weights)
	ll := r.logLikelihood(theta)
	if math.IsInf(ll, -1) {
		return ll
	}
	for n := range r.x.Data.T {
		r.row0 = n
		if !r.scores(b.scores, dtheta, n) {
			return math.Inf(-1)
		}
		if !slices.ContainsFunc(b.scores, func(v float64) bool { return v != 0 }) {
			continue
		}
		r.observeSlopes(b.slopes, n, theta)
		for k, v := range b.scores {
			if v != 0 {
				row := b.slopes[k*w : (k+1)*w]
				floats.AddScaled(b.weights[n*d:(n+1)*d], v, row[:d])
				floats.AddScaled(dtheta, v, row[d:])
			}
		}
	}
	return ll
}

// scores differentiates row n with respect to its expected values, adds to dtheta for the
// likelihood's parameters, and reports whether all is finite.
func (r *Part) scores(dst, dtheta []float64, n int) bool {
	c := len(r.errors)
	clear(dst)
	for k, y := range r.x.Data.Y[n] {
		if math.IsNaN(y) {
			continue
		}
		l, m := &r.errors[k], r.fit[n*c+k]
		l.at(r.x.Data.T[n], r.fit[n*c:])
		spread := cmp.Or(math.Abs(y-m), 1)
		score := l.score
		if !l.gradient(score, y, m, spread) {
			return false
		}
		dst[k] += score[0]
		score = score[1:]
		for i := range l.own {
			if !l.open(i) {
				continue
			}
			if of := l.param[i]; of >= 0 {
				dtheta[of] += score[0]
			} else {
				dst[l.column[i]] += score[0]
			}
			score = score[1:]
		}
	}
	return true
}

// observeSlopes has the order of Experiment.ObserveSlopes, and takes central differences
// if that is nil.
func (r *Part) observeSlopes(dst []float64, n int, theta []float64) {
	d := r.dim
	x, t, w := r.state[n*d:(n+1)*d], r.x.Data.T[n], d+len(theta)
	clear(dst)
	switch {
	case r.x.Observe == nil:
		for k, i := range r.pick {
			dst[k*w+i] = 1
		}
		return
	case r.x.ObserveSlopes != nil:
		r.x.ObserveSlopes(dst, t, x, theta)
		return
	}
	floor := cmp.Or(1e-3*vector.MaxAbs(x), 1)
	at := r.differ.at
	copy(at, x)
	copy(at[d:], theta)
	for j, v := range at {
		move := func(y []float64, h float64) {
			at[j] = v + h
			r.x.Observe(y, t, at[:d], at[d:])
			at[j] = v
		}
		switch size := math.Abs(v); {
		case j < d && size < floor:
			r.differ.shrink(dst[j:], w, floor, move)
		case size == 0:
			r.differ.central(dst[j:], w, 1, move)
		default:
			r.differ.central(dst[j:], w, size, move)
		}
	}
}

// PriorSlope returns the derivative of PriorLogProb with respect to u.
func (e *Density) PriorSlope(k int, u float64) float64 {
	theta, _ := e.transforms[k].to(u)
	slope, curve := e.transforms[k].slopes(u)
	if s, ok := logSlope(e.p.Params[k].Prior, theta); ok {
		return curve + s*slope
	}
	// The derivative is computed by a fourth-order finite difference. The error of this
	// derivative is about 1e-12 times the log density, provided that the log density is
	// smooth on the scale of the step h.
	h := 1e-3
	if e.transforms[k] == identity {
		h *= e.PriorQuantile(k, 0.75) - e.PriorQuantile(k, 0.25)
	}
	at := func(h float64) float64 { return e.PriorLogProb(k, u+h) - e.PriorLogProb(k, u-h) }
	for range 30 { // within 2h of an end of the support, a smaller h is needed
		if s := (8*at(h) - at(2*h)) / (12 * h); !math.IsNaN(s) && !math.IsInf(s, 0) {
			return s
		}
		h /= 2
	}
	return 0
}

// logSlope reports whether the closed form is known.
func logSlope(d Distribution, x float64) (slope float64, ok bool) {
	switch d := d.(type) {
	case distuv.Uniform:
		return 0, true
	case distuv.Normal:
		return d.ScoreInput(x), true
	case distuv.Exponential:
		return -d.Rate, true
	case distuv.LogNormal:
		return -(1 + (math.Log(x)-d.Mu)/(d.Sigma*d.Sigma)) / x, true
	case distuv.Gamma:
		return share(d.Alpha-1, x) - d.Beta, true
	case distuv.InverseGamma:
		return (d.Beta/x - d.Alpha - 1) / x, true
	case distuv.Beta:
		return share(d.Alpha-1, x) - share(d.Beta-1, 1-x), true
	case distuv.StudentsT:
		z := (x - d.Mu) / d.Sigma
		return -(d.Nu + 1) * z / (d.Nu + z*z) / d.Sigma, true
	case Truncated:
		return logSlope(d.Of, x)
	}
	return 0, false
}

// share returns a/x, and 0 for a = 0 even if x was rounded to 0.
func share(a, x float64) float64 {
	if a == 0 {
		return 0
	}
	return a / x
}

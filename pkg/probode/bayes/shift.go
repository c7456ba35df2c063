package bayes

import (
	"errors"
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"
)

// A Shift says by how much the posterior of another solver is moved at a mode, to
// first order.
type Shift struct {
	// D is the difference between what two solvers expect of the data, in units of
	// the errors of observation: D² = Σ δᵢ² Iᵢ, with Fisher's information Iᵢ of the
	// likelihood, 1/σᵢ² for Gaussian errors, there. No parameter of the equations
	// is moved by more than D posterior standard deviations, √2 D where the size
	// of the errors is unknown.
	D float64

	// Delta is the shift of each parameter on the unconstrained scale, in
	// posterior standard deviations there, and Unknown says that the likelihood
	// has parameters of its own among them.
	Delta   []float64
	Unknown bool
}

// Shift compares what coarse and e expect of the data at u, a mode of the
// posterior of e on the unconstrained scale:
//
//	Δ = C Gᵀ (s_coarse − s),   C = (Gᵀ I G + prior precision)⁻¹,
//
// with G the derivative of what is expected, of the coarse solver, I Fisher's
// information and s the derivative of the log likelihood in what is expected. It
// takes two solves, and 2 d of the coarse solver for G. It is an error if they
// fail, or if the data and the prior do not determine all parameters.
func (e *Density) Shift(coarse *Density, u []float64) (*Shift, error) {
	if len(e.fit) != len(coarse.fit) {
		return nil, fmt.Errorf("bayes: densities of %d and %d values of data: want the same model", len(e.fit), len(coarse.fit))
	}
	if _, err := e.LogPosterior(u, nil); err != nil {
		return nil, err
	}
	s := newScoring(coarse, nil)
	if !s.expand(append([]float64(nil), u...)) {
		return nil, errors.New("bayes: the coarse solver cannot be differentiated at the mode")
	}
	if math.IsInf(s.density(u), 0) { // leaves what the coarse solver expects
		return nil, errors.New("bayes: the coarse solver fails at the mode")
	}
	out := &Shift{Delta: make([]float64, len(u))}
	at, _ := s.information()
	delta := make([]float64, len(coarse.fit))
	for i, m := range coarse.fit {
		delta[i] = m - e.fit[i]
	}
	copy(coarse.fit, e.fit)
	there, cells := s.information()
	for i, c := range cells {
		out.D += delta[i] * delta[i] * c.info[0]
		out.Unknown = out.Unknown || c.n > 1
	}
	out.D = math.Sqrt(out.D)
	diff := mat.NewVecDense(len(at), nil)
	for i := range at {
		diff.SetVec(i, at[i]-there[i])
	}
	var chol mat.Cholesky
	var right, moved mat.VecDense
	right.MulVec(s.jac.T(), diff)
	if !chol.Factorize(s.precision) || chol.SolveVecTo(&moved, &right) != nil {
		return nil, errors.New("bayes: data and prior do not determine all parameters at the mode")
	}
	cov := mat.NewSymDense(len(u), nil)
	if err := chol.InverseTo(cov); err != nil {
		return nil, errors.New("bayes: data and prior do not determine all parameters at the mode")
	}
	for k := range out.Delta {
		out.Delta[k] = moved.AtVec(k) / math.Sqrt(cov.At(k, k))
	}
	return out, nil
}

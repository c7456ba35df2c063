package steplaw

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/probode/probode/pkg/probode"
	"github.com/probode/probode/pkg/probode/field"
	"github.com/probode/probode/pkg/probode/internal/vector"
	"github.com/probode/probode/pkg/probode/linalg"
)

// A Law gives two densities of the state Z_{i+1} after one step of an implicit method,
// given the earlier states: the exact density and its Gaussian approximation. A Law is
// used for figures and tests. In one and two dimensions, a Law also computes moments of
// the exact distribution by quadrature, without a Markov chain.
//
// A Law has its own workspace and must not be used by two goroutines at the same time.
type Law struct {
	T float64   // tᵢ, the beginning of the step
	Z []float64 // Zᵢ

	// Mean and Cov are the mean μ and the covariance LLᵀ of the Gaussian approximation.
	// If all components have noise, LLᵀ is α h^{2s+1} Γ⁻¹JJᵀΓ⁻ᵀ [T18, §2.4].
	Mean []float64
	Cov  *mat.SymDense

	problem  *probode.Problem
	d        int
	at       *probode.SolveError // says where an error occurred; nil in a path
	inv      float64             // (h β₋₁)⁻¹
	known    []float64           // the part of r that does not depend on z
	forecast []float64           // Adams–Bashforth value, from which roots are searched
	target   *target
	singular error // ErrSingularH, wrapped, or nil
	logDet   float64
	eval     *field.Linearizer
	scratch  *linalg.LU
	moving   *linalg.Matrix
	w        []float64

	roots [][]float64
	cells *division
}

// New returns the distribution of the state after step i of s, which leads from tᵢ to
// t_{i+1}. The distribution is conditional on the parameters theta and on the states up
// to Zᵢ, which are in rows 0, …, i of z. With an s-step method, the distribution depends
// only on the rows i−s, …, i of z.
//
// The method must be adams.Moulton or another method whose Stepper has Implicit. The noise
// of step i must be scaled by ScaleStep. The length of step i
// must be positive: an event is stored as a step of length zero. Step i must not be one
// of the first steps of a multistep method. The error is a *probode.SolveError if Γ is
// singular or Newton's method does not converge. New panics if a slice has the wrong
// length or if i is out of range.
//
// If J is singular, New returns no error, because the Gaussian approximation still
// exists. Moments returns an error if J is singular.
func New(s *probode.Solver, i int, z, theta []float64) (*Law, error) {
	p, d := s.Problem(), s.Problem().Dim()
	switch {
	case i < 0 || i >= s.Steps():
		panic(fmt.Sprintf("steplaw: the index of the step is %d: want an index in [0, %d)", i, s.Steps()))
	case len(z) < (i+1)*d:
		panic(fmt.Sprintf("steplaw: z has length %d: want at least (i+1)·d = %d", len(z), (i+1)*d))
	case len(theta) != len(p.Theta):
		panic(fmt.Sprintf("steplaw: theta has length %d: want %d, the length of Problem.Theta", len(theta), len(p.Theta)))
	}
	refuse := func(why error) error { return fmt.Errorf("%s, %v: %w", p.Title(), s.Method(), why) }
	if s.Scaling() != probode.ScaleStep {
		return nil, refuse(errors.New("the noise is scaled by local error estimates, so the exact distribution of the step is Gaussian: use ScaleStep"))
	}
	if err := s.MoveTo(theta); err != nil {
		return nil, err
	}
	if s.Times()[i] == s.Times()[i+1] {
		return nil, refuse(fmt.Errorf("step %d at t = %g has length 0, because it stands for an event: choose a step of positive length", i, s.Times()[i]))
	}
	stepper, one, err := s.Stepper(i, z, theta)
	if err != nil {
		return nil, err
	}
	switch {
	case stepper.Implicit == nil:
		return nil, refuse(errors.New("the Stepper of the method has no Implicit: use a method such as adams.Moulton"))
	case vector.Dot(one.Scale, one.Scale) == 0:
		return nil, refuse(errors.New("the noise is zero, so the step is deterministic: use alpha > 0"))
	}
	step, err := newLaw(stepper, p, s.Grid(), one)
	switch {
	case errors.Is(err, probode.ErrStarting):
		return nil, refuse(fmt.Errorf("step %d at t = %g: %w", i, s.Times()[i], err))
	case err != nil:
		return nil, s.Fail(i, theta, z[i*d:(i+1)*d], err)
	}
	errors.As(s.Fail(i, theta, step.Z, nil), &step.at)
	if step.singular != nil {
		step.singular = step.fail(step.singular)
	}
	return step, nil
}

// newLaw takes the values of earlier steps from `from`.
func newLaw(from *probode.Stepper, p *probode.Problem, g *probode.Grid, one *probode.Step) (*Law, error) {
	var m probode.ImplicitStep
	if err := from.Implicit(&m, one); err != nil {
		return nil, err
	}
	d := p.Dim()
	s := &Law{problem: p, T: one.T, Z: slices.Clone(one.X),
		Cov: mat.NewSymDense(d, nil), d: d, inv: m.Inv, known: m.Known, forecast: m.Forecast,
		target: newTarget(p), eval: field.NewLinearizer(p.Field()), moving: p.Field().NewJacobian(), w: make([]float64, d)}
	s.scratch = linalg.NewLU(s.moving)
	if err := s.target.set(&m, g.End(one.Index), slices.Clone(one.Theta), one.Scale); err == ErrSingularH {
		s.singular = err
	} else if err != nil {
		return nil, err
	}
	s.Mean = s.target.mu
	columns := mat.NewDense(d, d, nil) // row k holds column k of L
	unit := make([]float64, d)
	for k := range d {
		unit[k] = 1
		s.target.offset(columns.RawRowView(k), unit)
		unit[k] = 0
	}
	s.Cov.SymOuterK(1, columns.T())
	s.logDet = s.target.pivots.logDet
	for _, v := range one.Scale {
		s.logDet += math.Log(v)
	}
	gamma := newElimination(s.moving)
	gamma.eliminate(m.Inv, m.J)
	s.logDet -= gamma.logDet
	return s, nil
}

func (s *Law) fail(err error) error {
	if s.at == nil { // the step belongs to a path, whose error says where
		return err
	}
	e := *s.at
	e.Err = err
	return &e
}

// Residual writes the residual of the implicit equation into dst [T18, equation 9]:
//
//	r(z) = β₋₁⁻¹ (h⁻¹(z − Zᵢ) − Σ_{j=0}^{s−1} β_j F_{i−j}) − f(t_{i+1}, z)
func (s *Law) Residual(dst, z []float64) {
	s.checkLen(dst)
	s.checkLen(z)
	s.target.p.F(dst, s.target.t, z, s.target.theta)
	for k, f := range dst {
		dst[k] = s.inv*z[k] - s.known[k] - f
	}
}

// LogDensity returns −½ r(z)ᵀ H⁻¹ r(z), which is the exact log density without the
// normalising constant. Moments contains the normalising constant. The result is NaN if H
// is singular.
func (s *Law) LogDensity(z []float64) float64 {
	s.checkLen(z)
	if s.singular != nil {
		return math.NaN()
	}
	s.Residual(s.w, z)
	s.target.negJ.Solve(s.w)
	for k, v := range s.target.scale {
		s.w[k] /= v
	}
	return -vector.Dot(s.w, s.w) / 2
}

// LogGaussian returns the normalised log density of the Gaussian approximation N(Mean,
// Cov) at z. The result is NaN if Cov is singular.
func (s *Law) LogGaussian(z []float64) float64 {
	s.checkLen(z)
	if s.singular != nil {
		return math.NaN()
	}
	s.standardize(s.w, z)
	return -vector.Dot(s.w, s.w)/2 - float64(s.d)/2*math.Log(2*math.Pi) - s.logDet
}

// standardize writes ζ = L⁻¹(z − μ). Since J and Γ commute, Sζ = J⁻¹Γ(z−μ) = (hβ₋₁)⁻¹
// J⁻¹(z−μ) − (z−μ).
func (s *Law) standardize(dst, z []float64) {
	for k, v := range s.Mean {
		dst[k] = z[k] - v
	}
	s.target.negJ.Solve(dst)
	for k, v := range s.Mean {
		dst[k] = -(s.inv*dst[k] + (z[k] - v)) / s.target.scale[k]
	}
}

// logRelative returns −½‖u‖², the log density up to a constant. Far from μ, the
// difference of Φ and ½‖ζ‖² would lose all digits.
func (s *Law) logRelative(zeta []float64) float64 {
	s.target.depart(zeta)
	var sum float64
	for k, delta := range s.target.delta {
		sum += (zeta[k] - delta) * (zeta[k] - delta)
	}
	if sum-sum != 0 {
		return math.Inf(-1)
	}
	return -sum / 2
}

func (s *Law) checkLen(z []float64) {
	if len(z) != s.d {
		panic(fmt.Sprintf("steplaw: state has length %d: want d = %d", len(z), s.d))
	}
}

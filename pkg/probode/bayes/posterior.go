package bayes

import (
	"errors"
	"fmt"
	"math"

	"github.com/probode/probode/pkg/probode"
)

// A Posterior is a model with its data: an ODE with parameters θ, the method,
// step and noise scale that solve it, a prior and a likelihood.
type Posterior struct {
	Problem *probode.Problem
	Method  probode.Method
	Step    float64 // h; must divide the span
	Alpha   float64 // noise scale α ≥ 0, see probode.Calibrate

	Prior      Prior
	Likelihood Likelihood
	Data       *Data
}

// A Prior is the law of θ before the data.
type Prior interface {
	// LogProb returns the log density at theta up to a constant: −Inf outside
	// of the support, where the ODE is then not solved.
	LogProb(theta []float64) float64
}

// Independent is a Prior of independent components. The distributions of
// gonum.org/v1/gonum/stat/distuv serve as elements.
type Independent []interface{ LogProb(float64) float64 }

var _ Prior = Independent{}

// LogProb returns the sum of the log densities of the components.
func (p Independent) LogProb(theta []float64) float64 {
	if len(theta) != len(p) {
		panic(fmt.Sprintf("bayes: prior of %d components for %d parameters", len(p), len(theta)))
	}
	var sum float64
	for k, m := range p {
		sum += m.LogProb(theta[k])
		if math.IsInf(sum, -1) {
			break
		}
	}
	return sum
}

// A Likelihood is the law of one observation y, the values at one time, given
// the state x at that time.
type Likelihood interface {
	// LogProb returns the log density of y given x up to a constant that does
	// not depend on x. An element of y that is NaN is missing and contributes
	// nothing. y has as many elements as the data has columns.
	LogProb(y, x []float64) float64
}

// Gaussian is the Likelihood of independent errors of one size,
//
//	y_k ~ N(x_c, σ²),   c = Components[k].
type Gaussian struct {
	// Sigma is the standard deviation σ > 0 (not the variance).
	Sigma float64
	// Components says which component of the state, counted from 0, each
	// column of the data observes; nil means the first, second, ….
	Components []int
}

var _ Likelihood = Gaussian{}

// LogProb returns Σ_k log N(y_k; x_c, σ²).
func (g Gaussian) LogProb(y, x []float64) float64 {
	var sum float64
	n := 0
	for k, v := range y {
		if math.IsNaN(v) {
			continue
		}
		c := k
		if g.Components != nil {
			c = g.Components[k]
		}
		r := v - x[c]
		sum += r * r
		n++
	}
	return -0.5*sum/(g.Sigma*g.Sigma) - float64(n)*(math.Log(g.Sigma)+0.5*math.Log(2*math.Pi))
}

func (g Gaussian) validate(columns, dim int) error {
	if !(g.Sigma > 0) || math.IsInf(g.Sigma, 1) {
		return fmt.Errorf("Gaussian likelihood: Sigma is %g: want a finite number > 0", g.Sigma)
	}
	if g.Components == nil {
		if columns > dim {
			return fmt.Errorf("Gaussian likelihood: the data has %d columns and the state %d components: say in Components which are observed", columns, dim)
		}
		return nil
	}
	if len(g.Components) != columns {
		return fmt.Errorf("Gaussian likelihood: %d Components for %d columns of data", len(g.Components), columns)
	}
	for _, c := range g.Components {
		if c < 0 || c >= dim {
			return fmt.Errorf("Gaussian likelihood: component %d: want 0 to %d", c, dim-1)
		}
	}
	return nil
}

// errMissing is returned for a Posterior that lacks a part.
var errMissing = errors.New("bayes: want Problem, Method, Prior, Likelihood and Data in a Posterior")

// A path evaluates the likelihood of one chain: it owns a Solver and the path
// that was solved last.
type path struct {
	post   *Posterior
	solver *probode.Solver
	z      []float64
	index  []int // grid points of the observations
}

// newPath checks p and returns its evaluator.
func newPath(p *Posterior) (*path, error) {
	if p.Problem == nil || p.Method == nil || p.Prior == nil || p.Likelihood == nil || p.Data == nil {
		return nil, errMissing
	}
	if am, ok := p.Method.(probode.AdamsMoulton); ok && am.Exact != nil {
		return nil, fmt.Errorf("bayes: %v: the exact law needs more randomness than ξ and does not depend on θ continuously: use the Gaussian law (Exact: nil) for inference", p.Method)
	}
	if err := p.Data.validate(); err != nil {
		return nil, fmt.Errorf("bayes: %w", err)
	}
	if v, ok := p.Likelihood.(interface{ validate(columns, dim int) error }); ok {
		if err := v.validate(p.Data.columns(), p.Problem.Dim()); err != nil {
			return nil, fmt.Errorf("bayes: %w", err)
		}
	}
	solver, err := probode.NewSolver(p.Problem, p.Method, p.Step, p.Alpha)
	if err != nil {
		return nil, fmt.Errorf("bayes: %w", err)
	}
	index, err := solver.Index(p.Data.T)
	if err != nil {
		return nil, fmt.Errorf("bayes: observations: %w: choose a step that meets all of them", err)
	}
	return &path{post: p, solver: solver, z: make([]float64, solver.PathLen()), index: index}, nil
}

// logLikelihood solves for (θ, ξ) and returns log p(Y | Z(θ, ξ)). The error is
// that of a failed solve.
func (e *path) logLikelihood(theta, xi []float64) (float64, error) {
	if err := e.solver.Solve(e.z, theta, xi); err != nil {
		return math.Inf(-1), err
	}
	d := e.post.Problem.Dim()
	var sum float64
	for n, i := range e.index {
		sum += e.post.Likelihood.LogProb(e.post.Data.Y[n], e.z[i*d:(i+1)*d])
	}
	return sum, nil
}

package shape

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/probode/probode/pkg/probode/bayes"
)

// A Surface is the log posterior density of a Density as a function that can be
// expanded about a point. All derivatives of a posterior are computed here. It is a
// Function of the unconstrained parameters.
//
// The distribution of each value of the data depends on its locations: the expected
// value, and the unknown numbers of its likelihood. Let J be the derivative of the
// locations, s their score, and I Fisher's information. Then the gradient is Jᵀs and the
// information is JᵀIJ, plus the contributions of the priors.
//
// J comes from differences between solves, or from derivatives of the path (see Exact).
// In a model of many experiments, a change of one coordinate requires new solves only for
// the experiments whose equations depend on it. A change in the size of the measurement
// errors requires none. After each step of a climb, J is corrected so that it reproduces
// the change of the locations in the step [Broyden 1965]. This is done for each
// experiment separately, and only in the coordinates on which it depends [Schubert 1970].
// That needs no solve.
type Surface struct {
	// Low and High are the bounds of the coordinates. They are ±∞ unless a coordinate is
	// moved on the natural scale of its parameter (see Param.Natural).
	Low, High []float64

	// Steps are the step sizes of the differences, one for each coordinate. NewSurface
	// sets them to 10⁻⁵ of the width of the priors, because posteriors may be much
	// narrower.
	Steps []float64

	// Forward uses one-sided differences, which take half the work but give only a rough
	// gradient.
	Forward bool

	// Exact uses derivatives of the path if the method has them. They are more accurate
	// than differences, but cost more. On models with 3 to 50 parameters, they took 1.1
	// to 7 times as long as central differences, and 3 to 12 times as long as one-sided
	// ones. So differences are the default. Some solvers, such as the accurate one, have
	// no derivatives. The derivatives then come from a Dormand–Prince method with steps
	// chosen at the point, provided that this method predicts nearly the same data there.
	Exact bool

	// Progress, if not nil, is called before the derivatives with respect to each
	// coordinate are computed.
	Progress func(done, total int)

	// Draws is the number of draws from which Fisher's information of one value of the
	// data is estimated if it has no closed form. NewSurface sets it to 256.
	Draws int

	e         *bayes.Density
	blocks    []Block
	theta, xi []float64
	precision *mat.SymDense
	gradient  *mat.VecDense
	parts     []part
	lent      *bayes.Density // the density whose derivatives are used instead; nil if there is none
	asked     bool           // lent has been set, or is known to be nil
}

// A part is one experiment in a Surface.
type part struct {
	cols   []int  // coordinates on which the part depends
	solved []bool // whether each of cols occurs in its equations
	noise  int    // index in ξ at which its part begins

	state []float64    // states at the point of the last locate
	base  []float64    // locations
	cells []bayes.Cell // cells of the data
	jac   []float64    // derivative of the locations in cols, row by row; nil before it is computed

	before, was []float64 // base and jac at the previous point
}

// row returns the derivatives of a location.
func (p *part) row(location int) []float64 {
	w := len(p.cols)
	return p.jac[location*w : (location+1)*w]
}

// NewSurface returns the surface of e, and uses e for its solves. If blocks are given,
// its coordinates are (θ, v), where v are the scaled sums of ξ over the blocks, which are
// N(0, 1) under the prior.
func NewSurface(e *bayes.Density, blocks ...Block) *Surface {
	d := e.Dim()
	n := d + len(blocks)
	s := &Surface{e: e, blocks: blocks, Draws: 256,
		theta: make([]float64, d), Steps: make([]float64, n), Low: make([]float64, n), High: make([]float64, n),
		precision: mat.NewSymDense(n, nil), gradient: mat.NewVecDense(n, nil)}
	if len(blocks) > 0 {
		s.xi = make([]float64, e.NoiseLen())
	}
	for k := range s.Steps {
		s.Steps[k] = 1e-3 // the width of N(0, 1) is 1
		s.Low[k], s.High[k] = math.Inf(-1), math.Inf(1)
	}
	for k := range d {
		// The posterior may be much narrower than the prior.
		s.Steps[k] = 1e-5 * math.Abs(e.PriorQuantile(k, 0.75)-e.PriorQuantile(k, 0.25))
		if !(s.Steps[k] > 0) || math.IsInf(s.Steps[k], 1) {
			s.Steps[k] = 1e-5
		}
		if p := e.Posterior().Params[k]; p.Natural {
			// The bound itself is outside.
			const inside = 1e-3
			prior := p.Prior
			s.Low[k], s.High[k] = prior.Quantile(0)+inside*s.Steps[k], prior.Quantile(1)-inside*s.Steps[k]
		}
	}
	at := 0
	for i := range e.Posterior().Experiments {
		r := e.Part(i)
		p := part{noise: at, cells: r.Cells()}
		at += r.NoiseLen()
		for k := range d {
			if any, solved := r.Depends(k, len(blocks) > 0); any {
				p.cols, p.solved = append(p.cols, k), append(p.solved, solved)
			}
		}
		for i, b := range blocks {
			if b.From >= p.noise && b.From < at {
				p.cols, p.solved = append(p.cols, d+i), append(p.solved, true)
			}
		}
		s.parts = append(s.parts, p)
	}
	return s
}

// Use makes s use e, another density of the same posterior, from now on.
func (s *Surface) Use(e *bayes.Density) { s.e = e }

// place sets θ and ξ from x, and returns the log density of the prior.
func (s *Surface) place(x []float64) float64 {
	d := len(s.theta)
	lp := s.e.Constrain(s.theta, x[:d])
	clear(s.xi)
	for i := range s.blocks {
		v := x[d+i]
		s.blocks[i].Add(s.xi, v)
		lp -= v * v / 2
	}
	return lp
}

// Value returns the log density at x, or −∞ if it cannot be evaluated. The Density then
// holds the expected values of the data.
func (s *Surface) Value(x []float64) float64 {
	lp := s.place(x)
	if math.IsInf(lp, 0) {
		return math.Inf(-1)
	}
	ll, err := s.e.LogLikelihood(s.theta, s.xi)
	if err != nil || math.IsNaN(ll) {
		return math.Inf(-1)
	}
	return lp + ll
}

func finite(all ...float64) bool {
	return !slices.ContainsFunc(all, func(v float64) bool { return math.IsNaN(v) || math.IsInf(v, 0) })
}

package shape

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/probode/probode/pkg/probode/bayes"
)

// A Surface is a Function whose value is the log posterior density of a Density, and
// whose coordinates are the unconstrained parameters.
//
// The distribution of each data value depends on numbers called its locations: the
// expected value and the unknown parameters of the likelihood. Let J be the derivative of
// the locations with respect to the coordinates, and let s and I be the score and the
// Fisher information with respect to the locations. Then the gradient is Jᵀs and the
// information is JᵀIJ, plus the contributions of the priors.
//
// J is computed from derivatives of the path if ∂f/∂θ is known, and otherwise from
// differences between solutions. An accurate solver provides no derivatives of its
// solutions. The Surface of an accurate solver uses the derivatives of an adaptive Radau
// method, if both methods predict nearly the same data.
//
// In a model with many experiments, a change of one coordinate requires new solves only
// for the experiments whose equations depend on this coordinate. A change in the size of
// the measurement errors requires no new solve. If J is computed by finite differences,
// each step of an ascent corrects J to agree with the observed change of the locations
// [Broyden 1965]. The correction needs no solve. The Jacobian of each experiment is
// corrected separately, and only for the coordinates on which the experiment depends
// [Schubert 1970].
type Surface struct {
	// Low and High are the bounds of the coordinates. The bounds are ±∞ for all
	// coordinates except the parameters on their natural scale (see Param.Natural).
	Low, High []float64

	// Steps are the increments used in finite differences, one for each coordinate.
	// NewSurface sets the increment for a parameter to 10⁻⁵ times the interquartile range
	// of its prior. The factor is small because the posterior may be much narrower than
	// the prior. For the sums of ξ over blocks, NewSurface sets the increments to 10⁻³.
	Steps []float64

	// Forward selects one-sided differences, which need half as many solves but give only
	// a rough gradient.
	Forward bool

	// Normal, if not nil, is a unit vector: expansions are those within the plane that is
	// perpendicular to it.
	Normal []float64

	// Progress, if not nil, is called before the derivatives with respect to each
	// coordinate are computed.
	Progress func(done, total int)

	// Evaluations counts the computations of the log density and of its derivatives.
	Evaluations int

	// Draws is the number of draws used to estimate a Fisher information that has no
	// closed form. NewSurface sets it to 256.
	Draws int

	e         *bayes.Density
	blocks    []Block
	theta, xi []float64
	precision *mat.SymDense
	gradient  *mat.VecDense
	parts     []part
	unit      []float64 // natural units of the coordinates
	sloped    bool      // ∂f/∂θ is known
	exact     bool      // the last derivatives are those of a path
	lent      bool      // of another method

	// last is the point at which Value last solved the equations. The field `by` is the
	// Density of the last solve. The field `work` is the value of by.Work() after the last
	// solve.
	last []float64
	by   *bayes.Density
	work int
}

type part struct {
	cols   []int  // coordinates on which the part depends
	solved []bool // whether each of cols occurs in its equations
	noise  int    // index in ξ at which its part begins

	state []float64    // states at the point of the last locate
	base  []float64    // locations
	cells []bayes.Cell // cells of the data
	jac   []float64    // derivative of the locations in cols, row by row; nil before it is computed

	before, was    []float64 // base and jac at the previous point
	origin, slopes []float64 // base and jac at the point of the last Expand
}

// row is with respect to the coordinates `cols`.
func (p *part) row(location int) []float64 {
	w := len(p.cols)
	return p.jac[location*w : (location+1)*w]
}

// NewSurface returns the surface of the log density e, and uses e for all solves. If
// blocks are given, the coordinates are (θ, v), where v are the scaled sums of ξ over the
// blocks. The prior of each element of v is N(0, 1).
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
		s.unit = append(s.unit, 1)
	}
	for k := range d {
		width := math.Abs(e.PriorQuantile(k, 0.75) - e.PriorQuantile(k, 0.25))
		if !(width > 0) || math.IsInf(width, 1) {
			width = 1
		}
		s.Steps[k] = 1e-5 * width // the posterior may be much narrower than the prior
		p := e.Posterior().Params[k]
		low, high := p.Prior.Quantile(0), p.Prior.Quantile(1)
		if s.unit[k] = width; !p.Natural && (low-low == 0 || high-high == 0) {
			s.unit[k] = min(width, 1) // the coordinate is a logarithm
		}
		if p.Natural {
			const inside = 1e-3 // the bound itself is outside
			s.Low[k], s.High[k] = low+inside*s.Steps[k], high-inside*s.Steps[k]
		}
	}
	at := 0
	s.sloped = true
	for i, x := range e.Posterior().Experiments {
		r := e.Part(i)
		p := part{noise: at, cells: r.Cells()}
		at += r.NoiseLen()
		for k := range d {
			if any, solved := r.Depends(k, len(blocks) > 0); any {
				p.cols, p.solved = append(p.cols, k), append(p.solved, solved)
				s.sloped = s.sloped && (!solved || x.Problem.FTheta != nil && e.Posterior().Integral == nil)
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

// Use replaces the density of s by e, which must be a density of the same posterior.
func (s *Surface) Use(e *bayes.Density) { s.e = e }

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

// Value returns the log density at x, or −∞ if it cannot be evaluated. Value also stores
// the expected values of the data at x in the Density.
func (s *Surface) Value(x []float64) float64 {
	s.Evaluations++
	lp := s.place(x)
	if math.IsInf(lp, 0) {
		return math.Inf(-1)
	}
	ll, err := s.e.LogLikelihood(s.theta, s.xi)
	if err != nil || math.IsNaN(ll) {
		return math.Inf(-1)
	}
	s.last, s.by, s.work = append(s.last[:0], x...), s.e, s.e.Work()
	return lp + ll
}

// again is Value(x) without a solve if the last one was at x.
func (s *Surface) again(x []float64) float64 {
	if s.by == s.e && s.work == s.e.Work() && slices.Equal(x, s.last) {
		return s.unmoved(x)
	}
	return s.Value(x)
}

func (s *Surface) unmoved(x []float64) float64 {
	sum := s.place(x)
	for i := range s.parts {
		ll, err := s.e.Part(i).Observe(s.theta)
		if err != nil || math.IsNaN(ll) {
			return math.Inf(-1)
		}
		sum += ll
	}
	return sum
}

func finite(all ...float64) bool {
	return !slices.ContainsFunc(all, func(v float64) bool { return math.IsNaN(v) || math.IsInf(v, 0) })
}
